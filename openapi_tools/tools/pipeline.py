"""A call: the model's input is accepted, checked and guarded, and the result passed back."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools import errors
from openapi_tools.forks import importing
from openapi_tools.observability import UNOBSERVED, report_unknown
from openapi_tools.options import with_members
from openapi_tools.redaction import excerpt, redact_error
from openapi_tools.result import ToolCall, ToolResult, read_call, read_id, without_secrets
from openapi_tools.tools.execution import Execution
from openapi_tools.tools.guardrails import usable
from openapi_tools.tools.own_names import own_names, with_tool_names
from openapi_tools.tools.session import PLAIN, PerCall, Session, open_session
from openapi_tools.tools.tool import OperationTool, called
from openapi_tools.validation import measure_value
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.json_strings import parsing_notes
from openapi_tools.validation.tool_input import (
    CALL_ID,
    accept_input,
    accept_small_input,
    call_id_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.providers.restore import Restorer
    from openapi_tools.tools.toolset import Toolset

_READ_AT_ONCE = 2_000  # characters of arguments that are restored within some milliseconds

logger = logging.getLogger("openapi_tools")


class _Input(NamedTuple):
    """A model's input, with the id of its call, its context, options, and its schema's profile."""

    given: object
    call_id: str
    context: Any
    profile: str | None
    own: PerCall


_passing: ContextVar[tuple[Any, PerCall] | None] = ContextVar("openapi_tools_passing", default=None)
"""The caller whose tool makes a call by its `run`, a user's perhaps, and the call's options."""


class Caller:
    """Calls one tool; `own_hooks` tells that its class overrides a step of a call."""

    def __init__(
        self, tool: OperationTool, session: Session | None = None, *, own_hooks: bool = False
    ) -> None:
        self._tool = tool
        self._name = tool.name
        self._operation: Operation | None = None
        self._session = session or open_session()
        self._observers = self._session.observers
        self._checker: Checker | None = None
        self._hooked = own_hooks
        self._execution: Execution | None = None
        self._restorers: dict[str, Restorer | None] = {}

    async def result(
        self, given: object, context: Any = None, profile: str | None = None, own: PerCall = PLAIN
    ) -> ToolResult:
        """Return the answer, or an error result; nothing is raised but cancellation."""
        if own.is_poll:
            return await self._resumed(own, context)
        call_id = call_id_in(given)
        given_input = _Input(given, call_id, context, profile, own)
        return (await self._outcome(self._observed(given_input))).for_call(call_id)

    async def answer(self, given: object, context: Any = None) -> ToolResult:
        """Return the answer to a call object, as `result` does."""
        return (await self._outcome(self._called(given, context))).for_call(read_id(given))

    async def _called(self, given: object, context: Any) -> ToolResult:
        call = read_call(given)
        if call.name == self._name:
            return await self.result({**call.arguments, CALL_ID: call.id}, context)
        named = excerpt(repr(call.name), 100)
        raise errors.InputError(f"the call is for {named}; this tool is {self._name}.")

    async def _observed(self, given: _Input) -> ToolResult:
        tool = self._tool
        plain = not self._hooked and tool.guards is None
        if self._operation is None:
            # A user's own tool class may have no operation.
            self._operation = operation_of(tool) if self._hooked else tool.operation
        if self._operation is None:
            return await self._guarded(given)
        observation = self._observers.observe(self._name, self._operation, call_id=given.call_id)
        if plain and observation is UNOBSERVED:
            return await self._sent(given)
        with observation:
            result = await (self._outcome(self._sent(given)) if plain else self._guarded(given))
            observation.report_result(result)
        return result

    async def _outcome(
        self, step: Awaitable[ToolResult], explain: Callable[..., Any] | None = None
    ) -> ToolResult:
        """Return the result of a step; an exception as an error result or explained."""
        try:
            return self._checked(await step)
        except Exception as error:
            if not isinstance(error, errors.OpenAPIToolsError):
                # The traceback goes to the log only.
                logger.exception("%s failed unexpectedly", self._name)
            redact_error(error, self._session.redactor)
            failure = errors.bare(error)
        return self.failure(failure) if explain is None else await explain(failure)

    def _checked(self, result: Any) -> ToolResult:
        if not isinstance(result, ToolResult):
            raise TypeError(f"a ToolResult is needed, not {type(result).__name__}")
        return usable(result, self._name) if self._hooked else result

    async def _guarded(self, given: _Input) -> ToolResult:
        tool = self._tool

        async def explain(error: Exception) -> ToolResult:
            return await self._outcome(tool.on_error(error, given.context))

        result = await self._outcome(self._answered(given), explain)
        result = await self._outcome(tool.on_output(result, given.context), explain)
        # A guardrail may give one result to many calls.
        return without_secrets(result, self._session.redactor).model_copy()

    async def _answered(self, given: _Input) -> ToolResult:
        tool = self._tool
        arguments, notes = await self._fitted(given)
        call = ToolCall(id=given.call_id, name=self._name, arguments=arguments)
        admitted = await tool.on_invoke(call, given.context)
        if isinstance(admitted, ToolResult):
            return admitted
        if admitted is not None and not isinstance(admitted, ToolCall):
            raise errors.DeniedError(f"{tool.name} was refused: its on_invoke gives no call.")
        own = given.own
        if isinstance(admitted, ToolCall) and admitted.changes is not None:
            own = replace(own, changes=admitted.changes)
        token = _passing.set((self, own))
        try:
            result = self._checked(await tool.run(admitted or call, given.context))
        finally:
            _passing.reset(token)
        result = _with_notes(result, notes)
        if result.is_error:
            raise AnswerError(result)
        return result

    async def run(self, call: ToolCall, context: Any) -> ToolResult:
        """Call the API without guardrails, as `OperationTool.run` does."""
        passing = _passing.get()
        own = passing[1] if passing is not None and passing[0] is self else PLAIN
        return await self._sent(_Input(call.arguments, call.id, context, None, own))

    async def _sent(self, given: _Input) -> ToolResult:
        arguments, notes = await self._fitted(given)
        execution = self._execution or self._ready()
        result = await execution.result(arguments, given.context, given.call_id, given.own)
        return _with_notes(result, notes)

    async def _resumed(self, own: PerCall, context: Any) -> ToolResult:
        """Return the state or the result of long work; output guardrails see it."""
        tool = self._tool
        with self._observers.observe(self._name, tool.operation) as observation:
            result = await self._outcome(self._ready().result({}, context, "", own))
            if self._hooked or tool.guards is not None:
                result = await self._outcome(tool.on_output(result, context))
                result = without_secrets(result, self._session.redactor).model_copy()
            observation.report_result(result)
        return result

    def _ready(self) -> Execution:
        if self._execution is None:
            self._execution = Execution(self._tool, self._session)
        return self._execution

    async def _fitted(self, given: _Input) -> tuple[dict[str, Any], list[str]]:
        """Return arguments that fit, and notes on them; a large input is checked in a thread."""
        small = accept_small_input(given.given, self._session.settings)
        if small is None:
            return await asyncio.to_thread(self._accepted, given.given, given.profile)
        if not given.profile and self._fits(small):
            return small, []
        if (
            measure_value(small).characters > _READ_AT_ONCE
        ):  # its strings may hold thousands of values
            return await asyncio.to_thread(self._fit, small, given.profile)
        return self._fit(small, given.profile)

    def check(self, given: object, profile: str | None = None) -> dict[str, Any]:
        """Return arguments that fit, as `OperationTool.check` does."""
        return self._accepted(given, profile)[0]

    def _accepted(self, given: object, profile: str | None) -> tuple[dict[str, Any], list[str]]:
        return self._fit(accept_input(given, self._session.settings), profile)

    def _fit(
        self, arguments: dict[str, Any], profile: str | None
    ) -> tuple[dict[str, Any], list[str]]:
        if profile:
            arguments = self._restored(arguments, profile)
        if self._fits(arguments):
            return arguments, []
        arguments = self._under_tool_names(arguments)
        # For example null for an absent argument, as profiles ask of models, and JSON in strings.
        restored = self._restored(arguments, "")
        if notes := parsing_notes(arguments, restored):
            restored = accept_input(
                restored, self._session.settings
            )  # what was read has limits, too
        repaired = self._tool.repaired(restored)
        if self._fits(repaired):
            return repaired, notes
        self._schema_checker().check(restored if notes else arguments, example=True)
        return arguments, []

    def _fits(self, arguments: dict[str, Any]) -> bool:
        return self._schema_checker().fits(arguments)

    def _schema_checker(self) -> Checker:
        if self._checker is None:
            self._checker = Checker(self._tool.input_schema)
        return self._checker

    def _under_tool_names(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments in which the API's own names are the tool's."""
        operation = operation_of(self._tool)
        if operation is None:
            return arguments
        properties = self._tool.input_schema.get("properties", {})
        return with_tool_names(arguments, own_names(operation, properties)) or arguments

    def _restored(self, arguments: dict[str, Any], profile: str) -> dict[str, Any]:
        if profile not in self._restorers:
            with importing:
                from openapi_tools.providers.definitions import restorer

            self._restorers[profile] = restorer(self._tool, profile)
        known = self._restorers[profile]
        return arguments if known is None else known.restored(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request of a call, as `OperationTool.preview` does."""
        return self._ready().preview(self.check(arguments))

    def failure(self, error: Exception) -> ToolResult:
        """Return an exception as an error result."""
        match error:
            case AnswerError():
                return error.result
            case errors.CallError():
                sent = {"attempts": error.attempts} if error.attempts else None
                return ToolResult.failed(error.kind, error.reason, metadata=sent, facts=error.facts)
            case errors.InputError():
                return ToolResult.failed("invalid_input", str(error))
            case errors.CredentialsError():
                return ToolResult.failed("credentials", str(error))
            case errors.OpenAPIToolsError():
                # Without the source of a document, which may be a path of this machine.
                place = getattr(error, "pointer", "")
                reason = f"{place}: {error.reason}" if place else error.reason
                message = f"{self._name} cannot be called: {reason}"
                return ToolResult.failed("invalid_input", message)
        message = f"{self._name} failed unexpectedly ({type(error).__name__}); see the log."
        return ToolResult.failed("protocol", message)


class AnswerError(errors.CallError):
    """An error answer of the API; `result` holds it."""

    def __init__(self, result: ToolResult) -> None:
        facts = dict(result.error or {})
        kind, reason = facts.pop("type", "protocol"), facts.pop("message", str(result))
        super().__init__(kind, reason, **facts)
        self.result = result


def _with_notes(result: ToolResult, notes: list[str]) -> ToolResult:
    if notes:
        result = result.model_copy(deep=True)  # a user's own tool may give one to many calls
        result.metadata["notes"] = [*result.metadata.get("notes", ()), *notes]
    return result


def call_id_in(given: object) -> str:
    """Return the call id in an input; empty without one."""
    try:
        return call_id_of(given)
    except Exception:
        logger.exception("the input's call id cannot be read")
        return ""


def operation_of(tool: OperationTool) -> Operation | None:
    """Return the operation of a tool; None for a user's own tool without one."""
    try:
        return tool.operation
    except (AttributeError, NotImplementedError):
        return None


async def answer_call(
    toolset: Toolset,
    given: tuple[Any, Any],
    *,
    profile: str | None,
    context: Any,
    wait: float | None = None,
    fields: str | None = None,
    own: PerCall = PLAIN,
) -> ToolResult:
    """Call a tool by name and arguments or by a tool call, as `Toolset.call` does."""
    context = context if fields is None else with_members(context, fields=fields)
    name, arguments = given[0], {} if given[1] is None else given[1]
    if not isinstance(name, str):
        try:
            call = read_call(name)
        except errors.InputError as error:
            return ToolResult.failed("invalid_input", str(error)).for_call(read_id(name))
        name, arguments = call.name, {**call.arguments, CALL_ID: call.id}
    try:
        tool = toolset[name]
    except KeyError as error:
        report_unknown(context, name)
        return ToolResult.failed("invalid_input", error.args[0]).for_call(call_id_in(arguments))
    if wait is not None and toolset.called is not toolset:
        wait, context = None, with_members(context, wait=wait)
    if wait is None and own is PLAIN:
        return await tool.execute(arguments, context=context, profile=profile)
    own = own if wait is None else PerCall(wait)
    return await called(tool, arguments, own, context, profile)
