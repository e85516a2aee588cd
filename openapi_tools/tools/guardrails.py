"""What users hang into a call: guardrails before and after it, and functions for failures.

An input guardrail is called with the call and its context and may be async. It returns

- None or True: the call may go on; what it changed in the call's arguments counts,
- a `ToolCall` or a mapping: the arguments to go on with,
- a `ToolResult`: the answer, without asking the API,
- False, or it raises: the call is refused, with the error type `denied`.

Changed arguments are checked like any others; name and id of a call stay.

An output guardrail is called with the result, of whatever kind, and the context; it returns None or
the result to give instead. Raising withholds the result: `denied` again.

A function for failures is called with the exception and the context, and returns None or the result
to give instead. An error answer of the API comes as a `CallError`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, DeniedError, InputError, SettingsError
from openapi_tools.result import ToolResult
from openapi_tools.tools.context import member_of, with_approve
from openapi_tools.tools.tool_call import ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.tools.tool import OperationTool

logger = logging.getLogger("openapi_tools")


@dataclass(slots=True, eq=False)
class Guards:
    """What is hung into the calls of one tool.

    Attributes:
        inputs: Input guardrails, in the order in which they were added.
        outputs: Output guardrails.
        errors: Functions for failures; the first that gives a result decides.
    """

    inputs: list[Callable[..., Any]] = field(default_factory=list)
    outputs: list[Callable[..., Any]] = field(default_factory=list)
    errors: list[Callable[..., Any]] = field(default_factory=list)

    async def admit(
        self, call: ToolCall, context: Any, check: Callable[[ToolCall], ToolCall]
    ) -> ToolCall | ToolResult:
        """Return the call to make, or the answer to give instead.

        Approval is asked last, so that what was approved is what is sent.

        Raises:
            CallError: A guardrail refuses.
            InputError: A guardrail's arguments do not fit.
        """
        for guard in sorted(self.inputs, key=lambda guard: isinstance(guard, Approval)):
            shown = call.model_copy(deep=True)
            verdict = await _asked(guard, shown, context)
            if isinstance(guard, Approval):
                continue
            if isinstance(verdict, ToolResult):
                return usable(verdict, _name(guard))
            changed = _changed(shown, verdict, guard)
            if not _same(changed.arguments, call.arguments):
                call = check(call.model_copy(update={"arguments": changed.arguments}))
        return call

    async def release(self, result: ToolResult, context: Any) -> ToolResult:
        """Return what is given in place of a result, or the result.

        Raises:
            CallError: A guardrail withholds it.
        """
        for guard in self.outputs:
            verdict = await _asked(guard, result, context)
            if isinstance(verdict, ToolResult):
                result = usable(verdict, _name(guard))
            elif verdict is not None:
                raise _unusable(guard, verdict)
        return result

    async def explain(self, error: Exception, context: Any) -> ToolResult | None:
        """Return the result that one of the functions gives for a failure; None when none does."""
        for function in self.errors:
            try:
                verdict = await _given(function, error, context)
                if isinstance(verdict, ToolResult):
                    return usable(verdict, _name(function))
            except Exception:
                logger.exception("%s failed; the failure is given as it is", _name(function))
        return None


class Approval:
    """An input guardrail that asks whoever the context names.

    Args:
        rule: Which tools it is for.
    """

    def __init__(self, rule: Callable[[OperationTool], bool]) -> None:
        self.takes = rule

    async def __call__(self, call: ToolCall, context: Any) -> None:
        """Do nothing when the call is approved.

        Raises:
            DeniedError: It is not, or there is nobody to ask.
        """
        approve = member_of(context, "approve")
        if not callable(approve):
            raise DeniedError(f"{call.name} needs approval, and there is nobody to ask.")
        if await _given(approve, call) is not True:
            raise DeniedError(f"{call.name} was not approved.")


def require_approval(rule: Any = None) -> Approval:
    """Return an input guardrail that lets a call pass once `context.approve(call)` says True.

    Args:
        rule: Which tools it is for: a `Select`, a function of the tool, or None for every tool
            that is not `read_only`.
    """
    return Approval(rule_of(rule))


def rule_of(rule: Any) -> Callable[[OperationTool], bool]:
    """Return a rule about tools as a function.

    Raises:
        SettingsError: It is none of these.
    """
    if rule is None:
        return lambda tool: not tool.read_only
    if isinstance(rule, bool):
        return lambda _: rule
    if callable(takes := getattr(rule, "takes", None)):  # a Select, which stands above this module
        return lambda tool: bool(takes(tool))
    if callable(rule):
        return lambda tool: bool(rule(tool))
    raise SettingsError(f"a rule is a Select or a function, not {type(rule).__name__}.")


async def ask(question: Callable[..., Any] | None, subject: Any) -> Any:
    """Return what somebody says who is asked about a call.

    Raises:
        CallError: It refuses, or fails.
    """
    return None if question is None else await _asked(question, subject)


async def _asked(guard: Callable[..., Any], *subjects: Any) -> Any:
    """Return a guardrail's verdict."""
    try:
        return await _given(guard, *subjects)
    except (CallError, InputError):
        raise
    except PermissionError as error:
        raise DeniedError(str(error) or f"{_name(guard)} refuses the call.") from error
    except Exception as error:
        logger.exception("%s failed; the call is refused", _name(guard))
        kind = type(error).__name__
        raise DeniedError(f"{_name(guard)} failed ({kind}); the call was refused.") from error


async def _given(function: Callable[..., Any], *subjects: Any) -> Any:
    """Return what a function gives, awaited if that is needed."""
    try:
        verdict = function(*subjects)
    except asyncio.CancelledError:
        raise RuntimeError("it says that it was cancelled") from None
    return await settled(verdict) if inspect.isawaitable(verdict) else verdict


async def settled(waiting: Awaitable[Any]) -> Any:
    """Return what something gives that is waited for.

    Raises:
        RuntimeError: It was cancelled, and this call is not.
    """
    try:
        return await waiting
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
    raise RuntimeError("what it waited for was cancelled")


def usable(result: ToolResult, name: str) -> ToolResult:
    """Return a result that code of the user's made, once it is sure that it can be shown.

    Raises:
        DeniedError: They are no JSON.
    """
    try:
        json.dumps([result.output, result.error], allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        logger.exception("%s gives a result that is no JSON", name)
        raise DeniedError(f"{name} gives a result that is no JSON; it was withheld.") from error
    return result


def approved(context: Any, tool: OperationTool, shown: Mapping[str, Any]) -> Any:
    """Return a context like another one, in which a call that a person was shown is approved.

    Where guardrails have changed the arguments since, the other context is asked.
    """

    def approve(call: ToolCall) -> Any:
        ask = member_of(context, "approve")
        return _same(call.arguments, tool.check(dict(shown))) or (callable(ask) and ask(call))

    return with_approve(context, approve)


def question_of(tool: OperationTool, call: ToolCall, room: int = 1000) -> str:
    """Return what a person is asked about a call.

    Every argument is named, and a long one is cut, so that none hides another. All is ASCII: no
    character of a model or a document can rewrite what a terminal or a dialog shows.
    """
    each = max(room // max(len(call.arguments), 1), 40)
    lines = [f"  {json.dumps(name)}: {_cut(v, each)}" for name, v in call.arguments.items()]
    operation = json.dumps(f"{tool.method} {tool.path}")[1:-1]
    return "\n".join([f"Call {tool.name} ({operation})?", *lines])


def _cut(value: Any, room: int) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= room else f"{text[:room]}... ({len(text)} characters)"


def _same(arguments: Any, others: Any) -> bool:
    """Tell whether two values are the same JSON, in which 1 is not true."""
    said = [json.dumps(one, sort_keys=True, default=repr) for one in (arguments, others)]
    return said[0] == said[1]


def _changed(call: ToolCall, verdict: Any, guard: Callable[..., Any]) -> ToolCall:
    """Return the call as a guardrail wants it."""
    if verdict is None or verdict is True:
        return call
    if verdict is False:
        raise DeniedError(f"{_name(guard)} refuses the call.")
    if isinstance(verdict, ToolCall):
        verdict = verdict.arguments
    if isinstance(verdict, Mapping):
        return call.model_copy(update={"arguments": dict(verdict)})
    raise _unusable(guard, verdict)


def _unusable(guard: Callable[..., Any], verdict: Any) -> DeniedError:
    logger.error("%s gives %s, which is no verdict", _name(guard), type(verdict).__name__)
    return DeniedError(f"{_name(guard)} gives no verdict; the call was refused.")


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
