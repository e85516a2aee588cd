"""Run a model on cases, and sum up the results."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import type_name
from openapi_tools.errors import SettingsError, describe_choices
from openapi_tools.testing.evaluation.cases import read_cases, resolve_cases
from openapi_tools.testing.evaluation.runner import MODES, CaseRun, CaseRunner

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from openapi_tools.testing.evaluation.cases import CaseSource
    from openapi_tools.toolsets.toolset import Toolset

_STANDARD_DEVIATIONS = 1.959964  # of a normal distribution, for 95 %
_DIGITS = 4  # of a rate
_TABLE_FAULTS = ("wrong_tool", "wrong_arguments", "missing_call", "state")
_MOST_REASONS = 5


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of a model's runs; `as_data()` is the JSON report.

    Attributes:
        mode: How the model reached the tools: `tools`, `search` or `code`.
        repeat: Runs of each case.
        runs: The runs of each case, by its name.
    """

    mode: str
    repeat: int
    runs: dict[str, list[CaseRun]] = field(default_factory=dict)

    @property
    def all_runs(self) -> list[CaseRun]:
        """The runs of all cases."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def rate(self) -> float:
        """The share of runs without a fault."""
        return _rate(self.all_runs)

    def as_data(self) -> dict[str, Any]:
        """Return the report as JSON data; with repeated cases, rates have intervals."""
        runs = self.all_runs
        summary: dict[str, Any] = {
            "cases": len(self.runs),
            "passed": sum(all(run.passed for run in runs) for runs in self.runs.values()),
            "rate": round(self.rate, _DIGITS),
            "tokens": sum(sum(run.tokens) for run in runs),
            "seconds": round(sum(run.seconds for run in runs), 3),
        }
        if self.repeat > 1:
            summary |= {"runs": len(runs), "interval": _interval(runs)}
        cases = [self._case_data(name, runs) for name, runs in self.runs.items()]
        return {"summary": summary, "cases": cases}

    def _case_data(self, name: str, runs: list[CaseRun]) -> dict[str, Any]:
        if self.repeat == 1:
            return {"name": name, **_run_data(runs[0])}
        # Several runs: each different fault, the means of the numbers, and the runs themselves.
        listed = [_run_data(run) for run in runs]
        faults = {tuple(fault.items()): fault for data in listed for fault in data["faults"]}
        tokens = {
            kind: _mean([data["tokens"][kind] for data in listed]) for kind in listed[0]["tokens"]
        }
        return {
            "name": name,
            "passed": all(run.passed for run in runs),
            "faults": list(faults.values()),
            "calls": _mean([run.calls for run in runs]),
            "turns": _mean([run.turns for run in runs]),
            "tokens": tokens,
            "rate": round(_rate(runs), _DIGITS),
            "interval": _interval(runs),
            "runs": [{"seed": run.seed, **data} for run, data in zip(runs, listed, strict=True)],
        }

    def table_row(self) -> dict[str, Any]:
        """Return the row of a comparison: counts of all runs."""
        runs = self.all_runs
        faults: Counter[str] = Counter(fault.type for run in runs for fault in run.faults)
        reasons = Counter(reason for run in runs for reason in run.refusals)
        row: dict[str, Any] = {"runs": len(runs), "passed": sum(run.passed for run in runs)}
        row |= {"rate": round(self.rate, _DIGITS), "interval": _interval(runs)}
        row |= {fault_type: faults[fault_type] for fault_type in _TABLE_FAULTS}
        row |= {
            "refused": sum(len(run.refusals) for run in runs),
            "refused_because": dict(reasons.most_common(_MOST_REASONS)),
            "forbidden": faults["forbidden_tool"] + faults["forbidden_write"],
            "over_limit": sum(faults[f"too_many_{noun}"] for noun in ("calls", "turns", "tokens")),
            "model_error": faults["model_error"],
            "turns": sum(run.turns for run in runs),
            "tokens": {
                kind: sum(getattr(run.tokens, kind) for run in runs)
                for kind in ("definitions", "input", "output")
            },
            "seconds": round(sum(run.seconds for run in runs), 3),
        }
        return row


def _run_data(run: CaseRun) -> dict[str, Any]:
    return {
        "passed": run.passed,
        "faults": [fault._asdict() for fault in run.faults],
        "calls": run.calls,
        "turns": run.turns,
        "tokens": run.tokens._asdict(),
    }


def _mean(numbers: list[int]) -> int:
    return round(sum(numbers) / len(numbers))


def _rate(runs: list[CaseRun]) -> float:
    return sum(run.passed for run in runs) / len(runs)


def _interval(runs: list[CaseRun]) -> list[float]:
    # Wilson's score interval also holds for few runs and for rates near 0 and 1.
    count, share = len(runs), sum(run.passed for run in runs) / len(runs)
    square = _STANDARD_DEVIATIONS**2 / count
    middle = share + square / 2
    spread = _STANDARD_DEVIATIONS * math.sqrt(share * (1 - share) / count + square / (4 * count))
    bounds = (middle - spread) / (1 + square), (middle + spread) / (1 + square)
    return [round(min(max(bound, 0.0), 1.0), _DIGITS) for bound in bounds]


async def evaluate(
    toolset: Toolset,
    cases: str | os.PathLike[str] | Mapping[str, Any] | list[Any] | CaseSource,
    model: Callable[..., Any],
    *,
    mode: str = "tools",
    repeat: int = 1,
    seed: int = 0,
    seconds: float = 60.0,
) -> Evaluation:
    """Run a model on cases against a mock that judges its calls, and return the results.

    Only the model itself may use the network. The toolset is not changed: its tools are copied
    without their credentials.

    Args:
        toolset: The tools of one document.
        cases: A file, its parsed data, or a list of cases.
        model: `async (messages, tools) -> message`, in the form of OpenAI's chat API; a parameter
            `seed` is optional.
        mode: `tools` for all definitions, `search` for `meta_tools()`, `code` for `code_tools()`.
        repeat: Runs of each case.
        seed: The seed of a case's first run; each further run adds 1.
        seconds: The timeout for one message of the model.

    Raises:
        InvalidCases: The cases break their format, or do not fit the tools.
        SourceError: The file of cases cannot be read.
        SettingsError: An argument is not valid, or the tools are not of one document.
        MissingExtraError: openapi-core, or for `code` the sandbox, is not installed.
    """
    if mode not in MODES:
        raise SettingsError(f"mode: {describe_choices(MODES)}, not {mode!r:.40}.")
    if not callable(model):
        raise SettingsError(f"model: expected a function, not {type_name(model)}.")
    if repeat < 1 or seconds <= 0:
        raise SettingsError("repeat and seconds must be above 0.")
    tools = toolset.called
    resolved = resolve_cases(read_cases(cases), tools)
    runner = CaseRunner(tools, model, mode=mode, seconds=seconds)
    try:
        runs = {
            case.name: [await runner.run(case, seed=seed + index) for index in range(repeat)]
            for case in resolved
        }
    finally:
        await runner.aclose()
    return Evaluation(mode, repeat, runs)
