"""A call, from the model's input to the result: accept, validate, guard, build, send, read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import (
    CallError,
    CredentialsError,
    DeniedError,
    InputError,
    OpenAPIToolsError,
)
from openapi_tools.runtime.arguments import CALL_ID, Checker, accept, call_id_of
from openapi_tools.runtime.calls import ToolCall, read_call, read_id
from openapi_tools.runtime.context import member_of
from openapi_tools.runtime.guards import usable
from openapi_tools.runtime.request import build_request
from openapi_tools.runtime.response import read_answer
from openapi_tools.runtime.result import ToolResult
from openapi_tools.runtime.session import open_session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from openapi_tools.runtime.session import Session
    from openapi_tools.runtime.shaping.back import Restorer
    from openapi_tools.runtime.tool import OperationTool

logger = logging.getLogger("openapi_tools")


class Caller:
    """Calls one tool: accept, check, guard, build, send, read, guard.

    Args:
        tool: What is called.
        session: What it shares with other tools; one of its own by default.
        own_hooks: The tool has its own idea of a step of a call.
    """

    __slots__ = ("_checker", "_hooked", "_restorers", "_session", "_tool")

    def __init__(
        self, tool: OperationTool, session: Session | None = None, *, own_hooks: bool = False
    ) -> None:
        self._tool = tool
        self._session = session or open_session()
        self._checker: Checker | None = None
        self._hooked = own_hooks
        self._restorers: dict[str, Restorer | None] = {}

    async def result(
        self, given: object, context: Any = None, profile: str | None = None
    ) -> ToolResult:
        """Return the answer, or an error result; nothing is raised but cancellation."""
        call_id = call_id_in(given)
        if not self._hooked and self._tool.guards is None:
            result = await self._outcome(self._sent(given, context, profile))
            return result.for_call(call_id)
        result = await self._guarded(given, call_id, context, profile)
        # A guardrail may give one result to many calls.
        return result.model_copy().for_call(call_id)

    async def answer(self, given: object, context: Any = None) -> ToolResult:
        """Return the answer to a call object, as `result` does."""
        return (await self._outcome(self._called(given, context))).for_call(read_id(given))

    async def _outcome(
        self, step: Awaitable[ToolResult], explain: Callable[..., Any] | None = None
    ) -> ToolResult:
        """Return what a step gives; what fails is explained, or said as an error result."""
        try:
            return self._checked(await step)
        except Exception as error:  # noqa: BLE001 -- a call never raises
            failure = error
        return self._failure(failure) if explain is None else await explain(failure)

    def _checked(self, result: Any) -> ToolResult:
        """Return a result; what a step of the user's own gives may be none, or none to be shown.

        Raises:
            TypeError: It is none.
            DeniedError: It cannot be shown.
        """
        if not isinstance(result, ToolResult):
            raise TypeError(f"a ToolResult is needed, not {type(result).__name__}")
        return usable(result, self._tool.name) if self._hooked else result

    async def _called(self, given: object, context: Any) -> ToolResult:
        call = read_call(given)
        if call.name == self._tool.name:
            return await self.result({**call.arguments, CALL_ID: call.id}, context)
        raise InputError(f"the call is for {call.name!r:.100}; this tool is {self._tool.name}.")

    async def _guarded(
        self, given: object, call_id: str, context: Any, profile: str | None
    ) -> ToolResult:
        """Return the answer, past the guardrails; functions for failures see whatever fails."""
        tool = self._tool

        async def explain(error: Exception) -> ToolResult:
            return await self._outcome(tool.on_error(error, context))

        answered = self._answered(given, call_id, context, profile)
        result = await self._outcome(answered, explain)
        return await self._outcome(tool.on_output(result, context), explain)

    async def _answered(
        self, given: object, call_id: str, context: Any, profile: str | None
    ) -> ToolResult:
        tool = self._tool
        arguments = self.check(given, profile)
        call = ToolCall(id=call_id, name=tool.name, arguments=arguments)
        admitted = await tool.on_invoke(call, context)
        if isinstance(admitted, ToolResult):
            return admitted
        if admitted is not None and not isinstance(admitted, ToolCall):
            raise DeniedError(f"{tool.name} was refused: its on_invoke gives no call.")
        result = self._checked(await tool.run(call if admitted is None else admitted, context))
        if result.is_error:
            raise AnswerError(result)
        return result

    async def admit(self, call: ToolCall, context: Any) -> ToolCall | ToolResult:
        """Do what `OperationTool.on_invoke` says."""
        guards = self._tool.guards
        return call if guards is None else await guards.admit(call, context, self._fitting)

    def _fitting(self, call: ToolCall) -> ToolCall:
        """Return a call with arguments that fit."""
        return call.model_copy(update={"arguments": self.check(call.arguments)})

    async def run(self, call: ToolCall, context: Any) -> ToolResult:
        """Do what `OperationTool.run` says."""
        return await self._sent(call.arguments, context)

    async def release(self, result: ToolResult, context: Any) -> ToolResult:
        """Do what `OperationTool.on_output` says."""
        guards = self._tool.guards
        return result if guards is None else await guards.release(result, context)

    async def explain(self, error: Exception, context: Any) -> ToolResult:
        """Do what `OperationTool.on_error` says."""
        guards = self._tool.guards
        explained = None if guards is None else await guards.explain(error, context)
        return explained or self._failure(error)

    async def _sent(self, given: object, context: Any, profile: str | None = None) -> ToolResult:
        """Return what the API answers to an input."""
        session, operation = self._session, self._tool.operation
        arguments = self.check(given, profile)
        credentials = session.credentials
        if context is not None:
            credentials = credentials.overlaid(member_of(context, "credentials"))
        additions = credentials.additions(operation)
        request = build_request(
            operation, arguments, settings=session.settings, additions=additions
        )
        answer = await session.sender.send(request)
        result = read_answer(answer, operation, session.settings)
        if result.error is not None and result.error["type"] == "auth":
            result = _with_missing(result, credentials.missing(operation))
        if session.check_answer is not None:
            result.metadata["answer_problems"] = session.check_answer(request, answer)
        return result

    def _failure(self, error: Exception) -> ToolResult:
        """Return what an exception means as an error result."""
        match error:
            case AnswerError():
                return error.result
            case CallError():
                return ToolResult.failed(error.kind, error.reason, facts=error.facts)
            case InputError():
                return ToolResult.failed("invalid_input", str(error))
            case CredentialsError():
                return ToolResult.failed("credentials", str(error))
            case OpenAPIToolsError():
                message = f"{self._tool.name} cannot be called: {error}"
                return ToolResult.failed("invalid_input", message)
        logger.error("%s failed unexpectedly", self._tool.name, exc_info=error)
        message = f"{self._tool.name} failed unexpectedly ({type(error).__name__}); see the log."
        return ToolResult.failed("protocol", message)

    def check(self, given: object, profile: str | None = None) -> dict[str, Any]:
        """Do what `OperationTool.check` says."""
        arguments = accept(given, self._session.settings)
        if profile is not None:
            arguments = self._restored(arguments, profile)
        if self._checker is None:
            self._checker = Checker(self._tool.input_schema)
        if self._checker.fits(arguments):
            return arguments
        # Null for what is absent, say: what a profile asks of models that were told of one.
        repaired = self._restored(arguments, "")
        if self._checker.fits(repaired):
            return repaired
        self._checker.check(arguments)
        return arguments

    def _restored(self, arguments: dict[str, Any], profile: str) -> dict[str, Any]:
        """Return arguments as the input schema takes them.

        Args:
            arguments: By the schema of a profile, as far as the model kept to it.
            profile: Its name; empty where none is known, and only what cannot have been meant
                otherwise is undone.

        Raises:
            SettingsError: There is no such profile.
        """
        if profile not in self._restorers:
            from openapi_tools.runtime.profiles import restorer

            self._restorers[profile] = restorer(self._tool.input_schema, profile)
        known = self._restorers[profile]
        return arguments if known is None else known.restored(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Do what `OperationTool.preview` says."""
        accepted, operation = self.check(arguments), self._tool.operation
        additions = self._session.credentials.additions(operation, masked=True)
        return build_request(
            operation, accepted, settings=self._session.settings, additions=additions
        )


class AnswerError(CallError):
    """What the API answered is an error.

    Attributes:
        result: The answer.
    """

    def __init__(self, result: ToolResult) -> None:
        facts = dict(result.error or {})
        kind, reason = facts.pop("type", "protocol"), facts.pop("message", str(result))
        super().__init__(kind, reason, **facts)
        self.result = result


def call_id_in(given: object) -> str:
    """Return the id of the call that an input carries; empty when it has none or does not say.

    Args:
        given: What the coordinator handed over; code of its own may run, and fail.
    """
    try:
        return call_id_of(given)
    except Exception:
        logger.exception("the input's call id cannot be read")
        return ""


def _with_missing(result: ToolResult, schemes: tuple[str, ...]) -> ToolResult:
    """Return a refusal that also names the schemes for which no credential was given."""
    if not schemes or result.error is None:
        return result
    facts = dict(result.error)
    kind, message = facts.pop("type"), facts.pop("message")
    names = " or ".join(f"{name!r:.100}" for name in schemes)
    message = f"{message} (no credential was given for {names})"
    return ToolResult.failed(kind, message, metadata=result.metadata, facts=facts)
