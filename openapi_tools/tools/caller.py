"""What happens to a call, in order: check, guard, approve, send, read.

`Caller.run` is that list; `Caller.execute` puts guardrails, events and error results around it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from openapi_tools.common.options import context_value
from openapi_tools.errors import CallError, DeniedError, OpenAPIToolsError, strip_traceback
from openapi_tools.observability import TELEMETRY, UNOBSERVED, current_observation
from openapi_tools.observability.events import logger as events_logger
from openapi_tools.redaction import redact_error
from openapi_tools.requests.builder import describe_files
from openapi_tools.responses.reader import read_response
from openapi_tools.result import ToolCall, ToolResult, without_secrets
from openapi_tools.tools import call_failures
from openapi_tools.tools.argument_reader import (
    ArgumentReader,
    CheckedArguments,
    add_notes,
    find_operation,
)
from openapi_tools.tools.call import DEFAULT_OPTIONS, Call, CallOptions, guarded_call
from openapi_tools.tools.call_context import choose_response, find_keyed_write
from openapi_tools.tools.call_credentials import apply_user_credentials, resolve_credentials
from openapi_tools.tools.endpoint import Endpoint
from openapi_tools.tools.guardrails import ask, check_usable, is_approval_needed
from openapi_tools.tools.session import open_session
from openapi_tools.tools.tool_call_reader import read_call_for, read_id
from openapi_tools.tools.write_preview import find_changes
from openapi_tools.transport.failures import timeout_error
from openapi_tools.validation.check_cost import measure_value
from openapi_tools.validation.tool_input import CALL_ID, accept_small_input, call_id_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.observability import Observation
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool_protocol import Tool
    from openapi_tools.transport import Attempts

logger = logging.getLogger("openapi_tools")

_UNOBSERVED_CALL = nullcontext()
_Value = TypeVar("_Value")

_MAX_INLINE_REPAIR = 2_000  # characters of arguments; more are repaired in a thread
_MAX_INLINE_READ = 32 * 1024  # bytes of a response; more take milliseconds, so a thread reads them
_GRACE = 0.25  # seconds beyond the deadline of a call, to read what had arrived by then
_STORE_GRACE = 5.0  # longer than a shared state tries before it gives up


class Caller:
    """Makes the calls of one tool.

    Args:
        tool: The tool.
        session: The session of its document; by default a new one with the default settings.
        has_own_steps: The tool's class overrides a step of a call.
    """

    def __init__(
        self, tool: Tool, session: Session | None = None, *, has_own_steps: bool = False
    ) -> None:
        self._tool = tool
        self._name = tool.name
        self._session = session or open_session()
        self._observers = self._session.observers
        self._has_own_steps = has_own_steps
        self._reader = ArgumentReader(tool, self._session.settings)
        self._operation: Operation | None = None

    @cached_property
    def _endpoint(self) -> Endpoint:
        return Endpoint(self._tool, self._session)

    async def execute(self, call: Call) -> ToolResult:
        """Make a call and return its result; nothing is raised but cancellation."""
        if call.options.is_poll:
            return await self._resume(call)
        call.id = read_call_id(call.input)
        try:
            observation = self._begin_observation(call)
        except Exception as error:  # noqa: BLE001 -- every failure is an error result
            return self._failed_result(error).for_call(call.id)
        is_guarded = self._has_own_steps or self._tool.guards is not None
        with observation or _UNOBSERVED_CALL:
            try:
                result = await (self._run_guarded(call) if is_guarded else self.run(call))
            except Exception as error:  # noqa: BLE001 -- as above
                result = self._failed_result(error)
            if observation is not None:
                observation.report_result(result)
        return result.for_call(call.id)

    async def execute_tool_call(self, value: object, context: Any) -> ToolResult:
        """Make the call in a tool call of any coordinator, as `execute` does."""
        try:
            tool_call = read_call_for(self._name, value)
        except Exception as error:  # noqa: BLE001 -- as above
            result = self._failed_result(error)
        else:
            arguments = {**tool_call.arguments, CALL_ID: tool_call.id}
            result = await self.execute(Call(self._tool, arguments, context))
        return result.for_call(read_id(value))

    async def _run_guarded(self, call: Call) -> ToolResult:
        tool, context = self._tool, call.context

        async def explain(error: Exception) -> ToolResult:
            return await self._run_step(tool.on_error(error, context))

        result = await self._run_step(self._run_after_guardrail(call), explain)
        result = await self._run_step(tool.on_output(result, context), explain)
        # A guardrail may give one result to many calls.
        return without_secrets(result, self._session.redactor).model_copy()

    async def _run_after_guardrail(self, call: Call) -> ToolResult:
        tool = self._tool
        call.arguments, notes = await self._check_arguments(call)
        tool_call = ToolCall(id=call.id, name=self._name, arguments=call.arguments)
        admitted = await tool.on_invoke(tool_call, call.context)
        if isinstance(admitted, ToolResult):
            return admitted
        if admitted is not None and not isinstance(admitted, ToolCall):
            raise DeniedError(f"{tool.name} was refused: its on_invoke returned no ToolCall.")
        tool_call = tool_call if admitted is None else admitted
        call.changes = tool_call.changes
        token = guarded_call.set(call)
        try:
            result = add_notes(self._check_result(await tool.run(tool_call, call.context)), notes)
        finally:
            guarded_call.reset(token)
        if result.is_error:
            raise call_failures.ResponseError(result)
        return result

    async def run_tool_call(self, tool_call: ToolCall, context: Any) -> ToolResult:
        """Call the API without guardrails, as `OperationTool.run` does."""
        call = Call(self._tool, tool_call.arguments, context, id=tool_call.id)
        # A user's own `run` may call this one several times, even at once: each needs a `Call`.
        origin = guarded_call.get()
        if origin is None or origin.tool is not self._tool:
            return await self.run(call)
        call.options, call.changes = origin.options, origin.changes
        result = await self.run(call)
        origin.follow_up = call.follow_up
        return result

    async def run(self, call: Call) -> ToolResult:
        """Call the API without guardrails; raise OpenAPIToolsErrors, which hold no secret."""
        call.arguments, notes = await self._check_arguments(call)
        endpoint, settings = self._endpoint, self._session.settings
        call.redactor = self._session.redactor.for_call()
        call.user_credentials = endpoint.credentials
        try:
            if call.context is not None:
                await apply_user_credentials(call)
            endpoint.add_configured_values(call)
            if call.context is None and call.options is DEFAULT_OPTIONS:
                call.wait, call.shaper, write = endpoint.operation.wait, endpoint.shaper, None
            else:
                await choose_response(call, endpoint)
                write = find_keyed_write(call, endpoint)
            if settings.dry_run:  # before secrets are read, as a preview needs none
                preview = await endpoint.preview_request(call)
                return add_notes(ToolResult.ok(preview.as_data(), {"dry_run": True}), notes)
            if endpoint.operation.fixed:
                endpoint.fixed.read()  # before a person is asked: a variable may not be set
            if settings.approve is not None:
                # A write that was sent needs no second approval.
                if write is not None and (earlier := await write.find_result()) is not None:
                    return add_notes(earlier, notes)
                await self._ask_for_approval(call, settings.approve)
            if write is None:
                result = await self.send(call)
                if call.follow_up is not None:
                    result = await self._wait_until_done(result, call)
            else:
                result = await write.send(partial(self._send_until_done, call))
        except OpenAPIToolsError as error:
            call_failures.hide_secrets(error, call)
            raise
        return add_notes(result, notes) if notes else result

    async def send(self, call: Call) -> ToolResult:
        """Send the request, after a 401 again with newer credentials, and read the response."""
        # One deadline covers tokens, retries and the whole response.
        endpoint, address = self._endpoint, call.options.address
        label = endpoint.label if not address else endpoint.label_of(address)
        async with endpoint.sender.attempts(label, endpoint.operation.timeout) as attempts:
            is_shared = call.user_credentials is endpoint.credentials
            shared = endpoint.shared_credentials if is_shared else None
            call.credentials = shared or await resolve_credentials(call, endpoint, attempts)
            call.request = await endpoint.build_request(call)
            call.response = await attempts.send(call.request, endpoint.send_options(call))
            # Fixed credentials would be refused again.
            if call.response.status == HTTPStatus.UNAUTHORIZED and call.credentials.renewable:
                stale = call.credentials
                call.credentials = await resolve_credentials(call, endpoint, attempts, stale=stale)
                if call.credentials.auth != stale.auth:
                    call.request = await endpoint.build_request(call)
                    call.response = await attempts.send(call.request, endpoint.send_options(call))
        try:
            return await self._read_response(call, attempts)
        finally:
            call.response.discard_file()

    def check(self, value: object, profile: str | None = None) -> dict[str, Any]:
        """Return arguments that fit, as `OperationTool.check` does."""
        return self._reader.read(value, profile).values

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request of a call, as `OperationTool.preview` does."""
        call = Call(self._tool, arguments, arguments=self.check(arguments))
        call.redactor, call.user_credentials = self._session.redactor, self._endpoint.credentials
        self._endpoint.add_configured_values(call)
        return self._endpoint.build_masked_request(call)[0]

    def error_result(self, error: Exception) -> ToolResult:
        """Return an exception as an error result."""
        return call_failures.error_result(error, self._name)

    def _begin_observation(self, call: Call) -> Observation | None:
        observers = self._observers
        if not (
            observers.subscribers
            or observers.is_configured
            or TELEMETRY in sys.modules
            or events_logger.isEnabledFor(logging.DEBUG)
            or current_observation()
            is not UNOBSERVED  # an outer call, which must not get our requests
        ):
            return None
        if self._operation is None:
            # The class of a user's own tool may have no operation.
            tool = self._tool
            self._operation = find_operation(tool) if self._has_own_steps else tool.operation
        if self._operation is None:
            return None
        return observers.observe(self._name, self._operation, call_id=call.id)

    def _failed_result(self, error: Exception) -> ToolResult:
        return self.error_result(self._clean_error(error))

    def _clean_error(self, error: Exception) -> Exception:
        if not isinstance(error, OpenAPIToolsError):
            # The traceback goes to the log only.
            logger.error("%s failed unexpectedly", self._name, exc_info=error)
        redact_error(error, self._session.redactor)
        return strip_traceback(error)

    async def _run_step(
        self,
        step: Awaitable[Any],
        explain: Callable[[Exception], Awaitable[ToolResult]] | None = None,
    ) -> ToolResult:
        # A step may run code of the user, so its result is checked and its errors are caught.
        try:
            return self._check_result(await step)
        except Exception as error:  # noqa: BLE001 -- as above
            failure = self._clean_error(error)
        return self.error_result(failure) if explain is None else await explain(failure)

    def _check_result(self, result: Any) -> ToolResult:
        if not isinstance(result, ToolResult):
            raise TypeError(f"expected a ToolResult, not {type(result).__name__}")
        return check_usable(result, self._name) if self._has_own_steps else result

    async def _resume(self, call: Call) -> ToolResult:
        tool = self._tool
        with self._observers.observe(self._name, tool.operation) as observation:
            result = await self._run_step(self.run(call))
            if self._has_own_steps or tool.guards is not None:
                result = await self._run_step(tool.on_output(result, call.context))
                result = without_secrets(result, self._session.redactor).model_copy()
            observation.report_result(result)
        return result

    async def _check_arguments(self, call: Call) -> CheckedArguments:
        if call.options.is_poll:
            return CheckedArguments({}, [])
        reader, profile = self._reader, call.profile
        small = accept_small_input(call.input, self._session.settings)
        # A large input would hold up the event loop, and with it all other calls.
        if small is None:
            return await asyncio.to_thread(reader.read, call.input, profile)
        # Most calls end here: nothing is copied or repaired.
        if not profile and reader.fits_small(small):
            return CheckedArguments(small, [])
        # Strings may hold thousands of values, as JSON text.
        if measure_value(small).characters > _MAX_INLINE_REPAIR:
            return await asyncio.to_thread(reader.repair, small, profile)
        return reader.repair(small, profile)

    async def _ask_for_approval(self, call: Call, approve: Callable[..., Any]) -> None:
        tool = self._tool
        if not is_approval_needed(tool, self._session.settings):
            return
        if call.most_bytes:
            raise DeniedError("a read that needs approval is not sent before a write.")
        if call.changes is None:
            call.changes = await find_changes(tool, call.arguments, call.context)
        preview = await self._endpoint.preview_request(call, for_person=True)
        if (changes := call.changes) is not None:
            preview = replace(preview, changes=changes.lines, undo=changes.undo)
        if await ask(approve, preview) is not True:
            raise DeniedError(f"{tool.name} was not approved; it was not sent.")

    async def _read_response(self, call: Call, attempts: Attempts) -> ToolResult:
        response, session, endpoint = call.response, self._session, self._endpoint
        settings, shaper = session.settings, call.shaper
        call.follow_up = follow_up = endpoint.find_follow_up(call)
        keep = None
        if endpoint.files is not None:
            is_remote = context_value(call.context, "remote") is True
            keep = partial(endpoint.files.keep, for_remote=is_remote)
        read = partial(
            read_response,
            response,
            endpoint.operation,
            settings,
            redactor=call.redactor,
            keep=keep,
            read_follow_up=None if follow_up is None else follow_up.read,
            shaper=shaper,
        )
        # JMESPath takes time for large values, and a store of the user's own may be a server's.
        is_slow = len(response.content) > _MAX_INLINE_READ or response.file is not None
        is_slow = is_slow or (shaper is not None and bool(shaper.fields))
        is_slow = is_slow or settings.files is not None
        result = await self._run_in_thread(call, attempts, read) if is_slow else read()
        if note := call.credentials.note:
            result.metadata["notes"] = [*result.metadata.get("notes", ()), note]
        # A 404 after any other status is about a resource, not about a wrong base URL.
        session.has_responded = session.has_responded or response.status != HTTPStatus.NOT_FOUND
        if not result.success:
            result = call_failures.explain_failure(result, call, session)
        check = session.check_exchange
        if check is not None and call.request is not None and not call.options.address:
            check_exchange = partial(check, describe_files(call.request), response)
            problems = await self._run_in_thread(call, attempts, check_exchange)
            result.metadata["response_problems"] = call.redactor.data(problems)
        if session.recorder is not None:
            record = partial(session.recorder.record, self._tool, response.request, response)
            await self._run_in_thread(call, attempts, record)
        return result

    async def _run_in_thread(
        self, call: Call, attempts: Attempts, work: Callable[[], _Value]
    ) -> _Value:
        # The response has arrived: a store that hangs for a while must not turn it into an error.
        grace = _GRACE if self._session.settings.files is None else _STORE_GRACE
        try:
            async with asyncio.timeout_at(attempts.deadline + grace):
                return await asyncio.to_thread(work)
        except TimeoutError:
            raise timeout_error(call.response.request, attempts.seconds) from None

    async def _send_until_done(self, call: Call) -> ToolResult:
        return await self._wait_until_done(await self.send(call), call)

    async def _wait_until_done(self, result: ToolResult, call: Call) -> ToolResult:
        if not getattr(call.follow_up, "long_operation", None):
            return result

        async def poll(url: str, is_poll: bool) -> tuple[ToolResult, Any]:
            call.options = CallOptions(address=url, is_poll=is_poll)
            try:
                return await self.send(call), call.follow_up
            except CallError as error:
                call_failures.hide_secrets(error, call)
                return ToolResult.failed(error.kind, error.reason, facts=error.facts), None

        wait = self._session.settings.wait if call.wait is None else call.wait
        follow_ups = self._endpoint.follow_ups
        return await follow_ups.wait_until_done(result, call.follow_up, poll, wait)


def read_call_id(value: object) -> str:
    """Return the call id in an input; empty if it has none."""
    try:
        return call_id_of(value)
    except Exception:  # the input's class may have code of its own
        logger.exception("the input's call id cannot be read")
        return ""
