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

import inspect
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, DeniedError, InputError, SettingsError
from openapi_tools.runtime.calls import ToolCall
from openapi_tools.runtime.context import member_of
from openapi_tools.runtime.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.runtime.tool import OperationTool

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

        Args:
            call: Its arguments fit the tool.
            context: What belongs to the call.
            check: Returns a changed call once its arguments fit the tool, or raises.

        Raises:
            CallError: A guardrail refuses.
            InputError: A guardrail's arguments do not fit.
        """
        for guard in sorted(self.inputs, key=lambda guard: isinstance(guard, Approval)):
            shown = call.model_copy(deep=True)
            verdict = await _asked(guard, shown, context)
            if isinstance(verdict, ToolResult):
                return verdict
            changed = _changed(shown, verdict, guard)
            if changed.arguments != call.arguments:
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
                result = verdict
            elif verdict is not None:
                raise _unusable(guard, verdict)
        return result

    async def explain(self, error: Exception, context: Any) -> ToolResult | None:
        """Return the result that one of the functions gives for a failure; None when none does."""
        for function in self.errors:
            try:
                verdict = await _awaited(function(error, context))
            except Exception:
                logger.exception("%s failed; the failure is given as it is", _name(function))
                continue
            if isinstance(verdict, ToolResult):
                return verdict
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
        if await _awaited(approve(call)) is not True:
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

    Args:
        rule: A `Select`, a function of the tool, True or False for all or none, or None for every
            tool that is not `read_only`.

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


async def _asked(guard: Callable[..., Any], subject: Any, context: Any) -> Any:
    """Return a guardrail's verdict.

    Raises:
        CallError: It refuses; one that fails refuses as well, as nobody knows what it would say.
    """
    try:
        return await _awaited(guard(subject, context))
    except (CallError, InputError):
        raise
    except PermissionError as error:
        raise DeniedError(str(error) or f"{_name(guard)} refuses the call.") from error
    except Exception as error:
        logger.exception("%s failed; the call is refused", _name(guard))
        kind = type(error).__name__
        raise DeniedError(f"{_name(guard)} failed ({kind}); the call was refused.") from error


async def _awaited(value: Any | Awaitable[Any]) -> Any:
    return await value if inspect.isawaitable(value) else value


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
