"""Guardrails before and after a call, functions for failures, and approval."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import as_dict, follow_references, is_equal
from openapi_tools.common.options import context_value, replace_context_values
from openapi_tools.errors import CallError, DeniedError, InputError, SettingsError
from openapi_tools.requests.excerpts import (
    describe_properties,
    escape_ascii,
    share_space,
    shorten_and_count,
)
from openapi_tools.result import Changes, ToolCall, ToolResult
from openapi_tools.tools.write_preview import find_changes
from openapi_tools.validation.check_cost import is_large

if TYPE_CHECKING:
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool_protocol import Tool

logger = logging.getLogger("openapi_tools")

_ADDRESS, _LINE = 200, 80  # characters of the method and path, and of a change at least


@dataclass(slots=True, eq=False)
class Guards:
    """The guardrails of one tool, in the order in which they were added."""

    inputs: list[Callable[..., Any]] = field(default_factory=list)
    outputs: list[Callable[..., Any]] = field(default_factory=list)
    errors: list[Callable[..., Any]] = field(default_factory=list)

    @property
    def needs_approval(self) -> bool:
        """Whether a guardrail of `require_approval` is among them."""
        return any(isinstance(guard, Approval) for guard in self.inputs)

    def copy(self) -> Guards:
        """Return the same guardrails, to which others can be added."""
        return Guards([*self.inputs], [*self.outputs], [*self.errors])

    def add_inputs(self, guards: Iterable[Callable[..., Any]], tool: Tool) -> None:
        """Add input guardrails; those of `require_approval` if their rule takes the tool."""
        self.inputs += (g for g in guards if not isinstance(g, Approval) or g.takes(tool))

    async def admit(self, call: ToolCall, context: Any, tool: Tool) -> ToolCall | ToolResult:
        """Return the call to make, or a result in place of it; approval comes last."""
        # A person approves what is sent, after all changes of the other guardrails.
        for guard in sorted(self.inputs, key=lambda guard: isinstance(guard, Approval)):
            if isinstance(guard, Approval) and callable(context_value(context, "approve")):
                call = call.with_changes(await find_changes(tool, call.arguments, context))
            copy = call.model_copy(deep=True)  # a guardrail may change it in place
            verdict = await ask(guard, copy, context)
            if isinstance(guard, Approval):
                continue
            if isinstance(verdict, ToolResult):
                return check_usable(verdict, _function_name(guard))
            arguments = _apply_verdict(copy, verdict, guard).arguments
            if not is_equal(arguments, call.arguments):
                call = call.model_copy(update={"arguments": tool.check(arguments)})
        return call

    async def release(self, result: ToolResult, context: Any) -> ToolResult:
        """Return the result or its replacement, or raise `CallError` where it is withheld."""
        for guard in self.outputs:
            verdict = await ask(guard, result, context)
            if isinstance(verdict, ToolResult):
                result = check_usable(verdict, _function_name(guard))
            elif verdict is not None:
                raise _verdict_error(guard, verdict)
        return result

    async def explain(self, error: Exception, context: Any) -> ToolResult | None:
        """Return the first result of the functions for failures; None without one."""
        for function in self.errors:
            try:
                verdict = await _call_function(function, error, context)
                if isinstance(verdict, ToolResult):
                    return check_usable(verdict, _function_name(function))
            except Exception:
                logger.exception("%s failed; its error is passed on", _function_name(function))
        return None


class Approval:
    """An input guardrail that lets a call pass once `context.approve(call)` says True.

    Args:
        rule: The tools whose calls need approval: a `Select`, a function of the tool, or None for
            every tool that is not `read_only`.
    """

    def __init__(self, rule: Any = None) -> None:
        self.takes = rule_of(rule)

    async def __call__(self, call: ToolCall, context: Any) -> None:
        """Raise a `DeniedError` unless the call is approved."""
        approve = context_value(context, "approve")
        if not callable(approve):
            raise DeniedError(f"{call.name} needs approval, but approval is not configured.")
        if await _call_function(approve, call) is not True:
            raise DeniedError(f"{call.name} was not approved.")


require_approval = Approval


def rule_of(rule: Any) -> Callable[[Tool], bool]:
    """Return a rule about tools as a function; raise `SettingsError` for other values."""
    if rule is None:
        return lambda tool: not tool.read_only
    if isinstance(rule, bool):
        return lambda _: rule
    if callable(takes := getattr(rule, "takes", rule)):
        return lambda tool: bool(takes(tool))
    raise SettingsError(f"a rule is a Select or a function, not {type(rule).__name__}.")


def is_approval_needed(tool: Tool, settings: Settings) -> bool:
    """Whether `Settings.approve` decides about the calls of a tool."""
    rule = settings.approve_for
    if callable(rule):
        return bool(rule(tool))
    if rule == "writes":
        return not tool.read_only
    if rule == "destructive":
        return tool.destructive
    return rule == "all" or rule in tool.operation.extensions


def asks_about(rule: Callable[[Tool], bool], tool: Tool, tools: Any) -> bool:
    """Whether a rule takes a tool, or one of those that the tool may call."""
    called = getattr(tools, "called", tools)
    is_taken = not tool.calls_another and rule(tool)
    return is_taken or (called is not tools and not tool.read_only and any(map(rule, called)))


async def ask(guard: Callable[..., Any], *subjects: Any) -> Any:
    """Call a guardrail or an approver; refusals and failures are `CallError`s."""
    try:
        return await _call_function(guard, *subjects)
    except (CallError, InputError):
        raise  # with the guardrail's own reason
    except PermissionError as error:
        raise DeniedError(str(error) or f"{_function_name(guard)} refused the call.") from error
    # A guardrail that fails lets nothing pass.
    except Exception as error:
        logger.exception("%s failed; the call is refused", _function_name(guard))
        kind = type(error).__name__
        raise DeniedError(
            f"{_function_name(guard)} failed ({kind}); the call was refused."
        ) from error


async def _call_function(function: Callable[..., Any], *subjects: Any) -> Any:
    try:
        verdict = function(*subjects)
    except asyncio.CancelledError:  # only the call's own cancellation passes
        raise RuntimeError("it says that it was cancelled") from None
    return await await_user_code(verdict) if inspect.isawaitable(verdict) else verdict


async def await_user_code(awaitable: Awaitable[Any]) -> Any:
    """Await a user's code; raise RuntimeError if it was cancelled by itself."""
    # A guardrail whose own task is cancelled must not look like the call's cancellation.
    try:
        return await awaitable
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
    raise RuntimeError("what it waited for was cancelled")


def check_usable(result: ToolResult, name: str) -> ToolResult:
    """Return a result that a user's code made; `DeniedError` where it is not JSON."""
    try:
        # `encode` finds lone surrogates, which no client can send.
        json.dumps([result.output, result.error], allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        logger.exception("%s returned a result that is not JSON", name)
        raise DeniedError(f"{name} returned a result that is not JSON; it was withheld.") from error
    return result


def with_approval(
    context: Any, tool: Tool, arguments: Mapping[str, Any], changes: Changes | None = None
) -> Any:
    """Return a context that approves a call with these arguments, which a person has seen.

    About any other call the original context is asked, and also if the state has changed since the
    person saw the `changes`.
    """

    def approve(call: ToolCall) -> Any:
        original = context_value(context, "approve")
        is_seen = call.name == tool.name and is_equal(call.arguments, tool.check(dict(arguments)))
        is_seen = is_seen and changes in (None, call.changes)
        return is_seen or (callable(original) and original(call))

    return replace_context_values(context, approve=approve)


def describe_question(tool: Tool, call: ToolCall, limit: int = 4_000) -> str:
    """Return the question about a call in ASCII: arguments, what changes, how to undo it.

    The arguments take `limit` characters: long strings and arrays are shortened. Where there are
    too many properties, those left out are named and counted.
    """
    address = f"{tool.method} {tool.path}".strip().replace(" ", "%20").replace("%20", " ", 1)
    lines = [f"Call {tool.name} ({shorten_and_count(escape_ascii(address), _ADDRESS)})?"]
    arguments = tool.marked_values.hide_arguments(call.arguments)
    arguments = _order_by_schema(arguments, tool.input_schema, tool.input_schema)
    lines += (f"  {line}" for line in describe_properties(arguments, limit))
    if call.changes is not None:
        changes = call.changes.lines
        shares = share_space(limit, list(map(len, changes)))
        short = map(shorten_and_count, changes, (max(share, _LINE) for share in shares))
        lines += ["What changes:", *(f"  {line}" for line in short)]
        lines.append(f"To undo it: {call.changes.undo}.")
    return "\n".join(lines)


async def make_question(tool: Tool, call: ToolCall) -> str:
    """Return the question about a call; that about a large one is made in a thread."""
    if is_large(call.arguments):
        return await asyncio.to_thread(describe_question, tool, call)
    return describe_question(tool, call)


def _order_by_schema(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    # Undeclared properties come last: they push no declared one out of the question.
    declared = as_dict(follow_references(root, schema).get("properties"))
    if not isinstance(value, dict) or not declared:
        return value
    first = {
        name: _order_by_schema(value[name], declared[name], root)
        for name in declared
        if name in value
    }
    return first | {name: inner for name, inner in value.items() if name not in first}


def _apply_verdict(call: ToolCall, verdict: Any, guard: Callable[..., Any]) -> ToolCall:
    if verdict is None or verdict is True:
        return call
    if verdict is False:
        raise DeniedError(f"{_function_name(guard)} refused the call.")
    if isinstance(verdict, ToolCall):
        verdict = verdict.arguments
    if isinstance(verdict, Mapping):
        return call.model_copy(update={"arguments": dict(verdict)})
    raise _verdict_error(guard, verdict)


def _verdict_error(guard: Callable[..., Any], verdict: Any) -> DeniedError:
    logger.error(
        "%s returned %s, which is not a verdict", _function_name(guard), type(verdict).__name__
    )
    return DeniedError(f"{_function_name(guard)} returned no verdict; the call was refused.")


def _function_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
