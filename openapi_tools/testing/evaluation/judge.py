"""Compare the calls of a run with what its case expects and forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from openapi_tools.common.json_values import dump_json, is_equal, join_pointer
from openapi_tools.errors import format_count
from openapi_tools.redaction import MASK, excerpt, redact_data
from openapi_tools.responses.json_queries import evaluate
from openapi_tools.testing.evaluation.cases import find_forbidden
from openapi_tools.validation.check_cost import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openapi_tools.testing.evaluation.case_tables import EvalCase, ExpectedCall
    from openapi_tools.testing.evaluation.recorded_tools import ToolUse

FaultType = Literal[
    "wrong_tool",
    "wrong_arguments",
    "refused",
    "missing_call",
    "forbidden_tool",
    "forbidden_write",
    "too_many_calls",
    "too_many_turns",
    "too_many_tokens",
    "state",
    "model_error",
]
FAULT_TYPES: tuple[FaultType, ...] = get_args(FaultType)
_LONGEST_REASON = 300  # characters
_LONGEST_VALUE = 80


class CaseFault(NamedTuple):
    """A mistake of a model.

    Attributes:
        type: One of `FAULT_TYPES`.
        message: A sentence.
    """

    type: FaultType
    message: str


def find_call_faults(
    case: EvalCase, uses: Sequence[ToolUse], *, is_finished: bool
) -> list[CaseFault]:
    """Return the faults of the calls of a run.

    Args:
        case: What is expected and forbidden.
        uses: The calls, in order.
        is_finished: Whether the model ended the run; if it failed, expectations are not judged.
    """
    faults = []
    if is_finished:
        faults += [*_judge_expected(case, uses), *_judge_refusals(case, uses)]
    faults += _judge_forbidden(case, uses)
    return list(dict.fromkeys(faults))


def _judge_expected(case: EvalCase, uses: Sequence[ToolUse]) -> Iterator[CaseFault]:
    expected = case.expect.calls
    is_exact = case.expect.order == "exact"
    matches = _match_in_order(expected, uses) if is_exact else _match_in_any_order(expected, uses)
    claimed = set(matches.values())
    names = {call.tool for call in expected}
    unexpected = [
        use
        for use in uses
        if not use.is_known or (use.tool not in names and not find_forbidden(case, use.tool))
    ]
    for index, call in enumerate(expected):
        if index in matches:
            continue
        attempts = [
            use
            for at, use in enumerate(uses)
            if at not in claimed and use.tool == call.tool and use.is_known
        ]
        is_called = any(uses[at].tool == call.tool for at in claimed)
        if is_called and not attempts:
            yield CaseFault("missing_call", f"{call.tool} was not called often enough.")
        else:
            yield _explain_missing(call, attempts, unexpected)


def _explain_missing(
    call: ExpectedCall, attempts: list[ToolUse], unexpected: list[ToolUse]
) -> CaseFault:
    # From the reason that is closest to what was expected to the farthest.
    fitting = [use for use in attempts if not _find_mismatch(call, use)]
    if refusals := [use.refusal for use in fitting if use.is_refused]:
        return CaseFault("refused", describe_refusal(call.tool, refusals[-1]))
    if fitting:
        return CaseFault("wrong_tool", f"{call.tool} was called, but not in the expected order.")
    if attempts:
        mismatches = [_find_mismatch(call, use) for use in attempts]
        return CaseFault("wrong_arguments", f"{call.tool}: {mismatches[-1]}")
    if unexpected:
        use = unexpected.pop(0)
        unknown = "" if use.is_known else ", which was not offered"
        return CaseFault(
            "wrong_tool",
            f"{call.tool} was expected, but {excerpt(use.tool, 64)} was called{unknown}.",
        )
    return CaseFault("missing_call", f"{call.tool} was not called.")


def describe_refusal(tool: str, refusal: str) -> str:
    """Return why a call of a tool failed, in one line."""
    name, reason = excerpt(tool, 64), excerpt(refusal.partition("\n")[0], _LONGEST_REASON)
    return reason if reason.startswith(name) else f"{name}: {reason}"


def _judge_refusals(case: EvalCase, uses: Sequence[ToolUse]) -> Iterator[CaseFault]:
    names = {call.tool for call in case.expect.calls}
    for at, use in enumerate(uses):
        later = [other for other in uses[at + 1 :] if not other.refusal]
        if not use.is_known:
            if not (names or later):
                yield CaseFault("wrong_tool", f"{excerpt(use.tool, 64)} was not offered.")
            continue
        # A call that the model corrects later is no fault, nor is one that the case denies.
        is_corrected = any(other.tool == use.tool for other in later)
        is_denied = use.is_denied and use.tool not in names
        if use.is_refused and not is_corrected and not is_denied:
            yield CaseFault("refused", describe_refusal(use.tool, use.refusal))


def _judge_forbidden(case: EvalCase, uses: Sequence[ToolUse]) -> Iterator[CaseFault]:
    for use in uses:
        if not use.is_known:
            continue
        suffix = " (it was refused)." if use.refusal else "."
        if pattern := find_forbidden(case, use.tool):
            matched = "" if pattern == use.tool else f" by {pattern!r:.100}"
            yield CaseFault("forbidden_tool", f"{use.tool} is forbidden{matched}{suffix}")
        if use.is_write and not case.forbid.writes:
            yield CaseFault("forbidden_write", f"{use.tool} changes something{suffix}")


def _is_match(call: ExpectedCall, use: ToolUse) -> bool:
    is_called = use.is_known and not use.refusal and use.tool == call.tool
    return is_called and not _find_mismatch(call, use)


def _match_in_any_order(
    expected: Sequence[ExpectedCall], uses: Sequence[ToolUse]
) -> dict[int, int]:
    # One call may meet several expectations: Kuhn's algorithm finds the largest matching.
    fitting = [[at for at, use in enumerate(uses) if _is_match(call, use)] for call in expected]
    owners: dict[int, int] = {}

    def assign(index: int, visited: set[int]) -> bool:
        for at in fitting[index]:
            if at not in visited:
                visited.add(at)
                if at not in owners or assign(owners[at], visited):
                    owners[at] = index
                    return True
        return False

    for index in range(len(expected)):
        assign(index, set())
    return {index: at for at, index in owners.items()}


def _match_in_order(expected: Sequence[ExpectedCall], uses: Sequence[ToolUse]) -> dict[int, int]:
    # The longest common subsequence, so that one missing call does not make all later ones wrong.
    lengths = [[0] * (len(uses) + 1) for _ in range(len(expected) + 1)]
    for index in reversed(range(len(expected))):
        for at in reversed(range(len(uses))):
            is_match = _is_match(expected[index], uses[at])
            lengths[index][at] = max(
                lengths[index + 1][at + 1] + is_match,
                lengths[index + 1][at],
                lengths[index][at + 1],
            )
    matches: dict[int, int] = {}
    index = at = 0
    while index < len(expected) and at < len(uses):
        is_match = _is_match(expected[index], uses[at])
        if is_match and lengths[index][at] == lengths[index + 1][at + 1] + 1:
            matches[index] = at
            index, at = index + 1, at + 1
        elif lengths[index + 1][at] >= lengths[index][at + 1]:
            index += 1
        else:
            at += 1
    return matches


def _find_mismatch(call: ExpectedCall, use: ToolUse) -> str:
    masked = use.masked_arguments()
    for name, value in call.arguments.items():
        if name not in use.arguments:
            return f"{name} is missing, expected {_format_value(value)}."
        if not is_equal(use.arguments[name], value):
            is_secret = not is_equal(masked.get(name), use.arguments[name])
            expected_text = MASK if is_secret else _format_value(value)
            return f"{name} is {_format_value(masked.get(name))}, expected {expected_text}."
    return _find_schema_mismatch(call, use) or _find_expression_mismatch(call, use)


def _find_schema_mismatch(call: ExpectedCall, use: ToolUse) -> str:
    if call.argument_schema is True:
        return ""
    validator = compile_schema(call.argument_schema)
    fault = next(validator.iter_errors(use.arguments), None)
    if fault is None:
        return ""
    place = join_pointer(fault.instance_path)
    has_secret = not is_equal(use.masked_arguments(), use.arguments)
    message = "does not match the schema" if has_secret else excerpt(fault.message, _LONGEST_REASON)
    return f"{place}: {message}." if place else f"{message}."


def _find_expression_mismatch(call: ExpectedCall, use: ToolUse) -> str:
    return "" if call.jmespath is None else find_untrue(call.jmespath, use.arguments)


def find_untrue(expression: str, value: Any) -> str:
    """Return why a JMESPath expression is not true of a value; empty if it is."""
    try:
        result = evaluate(expression, value)
    except ValueError as error:
        return f"{expression} cannot be applied: {error}."
    return "" if result is True else f"{expression} is {_format_value(result)}, not true."


def _format_value(value: Any) -> str:
    return excerpt(dump_json(redact_data(value)), _LONGEST_VALUE)


async def find_state_faults(case: EvalCase, read: Callable[[str], Any]) -> list[CaseFault]:
    """Return the faults of the mock's state; `read` returns the status and value of a path."""
    faults = []
    for request, expression in case.expect.state.items():
        status, value = await read(request.partition(" ")[2])
        is_usable = 200 <= status < 300 or status == 404  # noqa: PLR2004 -- HTTP's
        reason = find_untrue(expression, value) if is_usable else f"the mock returned {status}."
        if reason:
            faults.append(CaseFault("state", f"{request}: {reason}"))
    return faults


def describe_excess(fault_type: FaultType, limit: int) -> CaseFault:
    """Return the fault of a run that was ended because it exceeded a limit."""
    noun = {"too_many_calls": "call", "too_many_turns": "turn"}.get(fault_type, "token")
    return CaseFault(fault_type, f"more than {format_count(limit, noun)}.")
