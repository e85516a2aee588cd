"""`openapi-tools eval`: does a model choose the right tools and arguments?"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.credential_options import read_secret
from openapi_tools.cli.eval_report import make_report
from openapi_tools.cli.output import print_note
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.reports import print_report
from openapi_tools.cli.tool_loading import (
    load_configured,
    load_source,
    load_spec,
    parse_source,
    select_tools,
)
from openapi_tools.configuration.config_file import read_configuration
from openapi_tools.errors import OutputError, SettingsError
from openapi_tools.testing.evaluation.cases import read_cases
from openapi_tools.testing.evaluation.evaluate import evaluate
from openapi_tools.testing.evaluation.models import ChatEndpoint, load_model
from openapi_tools.testing.evaluation.runner import MODES
from openapi_tools.testing.evaluation.transcripts import write_transcript
from openapi_tools.testing.evaluation.workflow_cases import make_replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openapi_tools.testing.evaluation.cases import CaseSource
    from openapi_tools.testing.evaluation.evaluate import Evaluation
    from openapi_tools.toolsets.toolset import Toolset

_REPLAY = "replay"
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 60


def evaluate_model(  # noqa: PLR0913 -- one for each option
    spec: str | None,
    *,
    cases: Path,
    model: str,
    model_dir: Path | None,
    model_name: str,
    model_key: str | None,
    mode: str,
    compare: Sequence[str],
    repeat: int,
    seed: int,
    at_least: float | None,
    turn_timeout: float,
    transcripts: Path | None,
    report_format: str,
    wants_json: bool,
) -> int:
    """Run a model on the cases of a file against a mock of SPEC."""
    source = read_cases(cases)
    # Whatever a model prints, even while it is imported, is not part of the report.
    with contextlib.redirect_stdout(sys.stderr):
        function = _find_model(model, folder=model_dir, name=model_name, key=model_key)
    if function is None:
        _check_replay(source, {mode, *compare})
    evaluations: dict[str, Evaluation] = {}
    for name, variant_mode, toolset in list(_list_variants(spec, mode, compare)):
        with show_progress(f"Running the cases: {name}"), contextlib.redirect_stdout(sys.stderr):
            evaluations[name] = asyncio.run(
                evaluate(
                    toolset,
                    source,
                    function or make_replay(source.workflows, toolset, source.name),
                    mode=variant_mode,
                    repeat=repeat,
                    seed=seed,
                    seconds=turn_timeout,
                )
            )
    if transcripts is not None:
        _write_transcripts(transcripts, evaluations)
    report = make_report(spec, evaluations)
    print_report(report, "json" if wants_json else report_format)
    rate = next(iter(evaluations.values())).rate
    if at_least is None or rate >= at_least:
        return 0
    print_note(f"{rate:.0%} of the runs passed, less than {at_least:.0%}.")
    return 1


def _check_replay(source: CaseSource, modes: set[str]) -> None:
    if not source.workflows:
        raise click.UsageError("--model replay follows an Arazzo document; --cases has none.")
    if {"search", "code"} & modes:
        raise click.UsageError("--model replay calls the tools themselves: use --mode tools.")


def _find_model(
    model: str, *, folder: Path | None, name: str, key: str | None
) -> Callable[..., Any] | None:
    if model == _REPLAY:
        return None  # made of the workflows, for each toolset
    if "://" not in model:
        return load_model(model, folder or Path())
    secret = read_secret(key, "--model-key") if key else None
    return ChatEndpoint(model, name=name, key=secret)


def _list_variants(
    spec: str | None, mode: str, compare: Sequence[str]
) -> Iterator[tuple[str, str, Toolset]]:
    toolset = select_tools(load_spec(spec))
    yield mode, mode, toolset
    for variant in dict.fromkeys(compare):
        if variant in MODES:
            yield variant, variant, toolset
        elif variant.endswith(".toml"):
            yield variant, mode, select_tools(_load_variant(spec, Path(variant)))
        else:
            reason = f"--compare takes {', '.join(MODES)} or a configuration file (.toml)"
            raise click.UsageError(f"{reason}, not {variant!r:.100}.")


def _load_variant(spec: str | None, config: Path) -> Toolset:
    try:
        names_source = bool(read_configuration(config).data.source)
    except SettingsError:  # a server's file, or an invalid one, which loading reports
        names_source = True
    is_document = spec is not None and not spec.endswith(".toml")
    if names_source or not is_document:
        return load_source(config)
    return load_configured(parse_source(spec), config)


def _write_transcripts(folder: Path, evaluations: Mapping[str, Evaluation]) -> None:
    for variant, evaluation in evaluations.items():
        below = folder / _file_name(variant) if len(evaluations) > 1 else folder
        for number, (name, runs) in enumerate(evaluation.runs.items(), start=1):
            for run in runs:
                seed = f"-{run.seed}" if len(runs) > 1 else ""
                path = below / f"{number:02}-{_file_name(name)}{seed}.md"
                _write_file(path, write_transcript(run))


def _write_file(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        reason = f"cannot be written ({error.strerror})."
        raise OutputError(reason, path=str(path)) from None


def _file_name(text: str) -> str:
    return _UNUSUAL.sub("-", text)[:_LONGEST_NAME].strip("-.") or "case"
