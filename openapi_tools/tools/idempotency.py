"""One write for each idempotency key.

A step of a workflow that runs again gets the result of its first write. Where the API takes a key
in a header (`Settings(idempotency_header=…)`), the API sees to that. Otherwise the shared state
gets a record before the write is sent, and its result afterwards. A write that has begun is
finished though its caller has left, as a repeat then gets its result. If a process ends in between,
the record has no result, and the call is not made again, as it may have run.

Spec: RFC 9110, section 15.5.13 (412).
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from openapi_tools.common.json_values import digest_of, dump_json_bytes
from openapi_tools.common.options import context_value
from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.result import ToolResult
from openapi_tools.state.shared_state import LEASE, lock_value, read_record, state_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.state.shared_state import SharedState
    from openapi_tools.tools.call import Call

logger = logging.getLogger("openapi_tools")

# As long as Stripe and others remember a key.
_LIFETIME = 86_400.0  # seconds for which a key is remembered
_LONGEST_KEY = 1_000
_CLIENT_ERRORS, _SERVER_ERRORS, _UNAVAILABLE = 400, 500, 503


@dataclass(frozen=True, slots=True)
class _StoredResult:
    output: Any
    metadata: dict[str, Any]
    header_note: str


@dataclass(frozen=True, slots=True)
class _WriteRecord:
    arguments: str
    result: _StoredResult | None


_RECORD = TypeAdapter(_WriteRecord)
# The event loop keeps weak references only, and a caller that has left holds none.
_writes: set[asyncio.Future[ToolResult]] = set()


@dataclass(frozen=True, slots=True)
class KeyedWrite:
    """One write with an idempotency key.

    Attributes:
        state: The state that stores the record.
        record_key: The key of the record in the state.
        arguments: The digest of the arguments.
        is_repeatable: Whether sending the write twice has the same effect as once.
    """

    state: SharedState
    record_key: str
    arguments: str
    is_repeatable: bool

    async def find_result(self) -> ToolResult | None:
        """Return the result of an earlier call with the key; None for the first one.

        A record without a result may be of a call that is under way: `send` waits for it.

        Raises:
            InputError: That call had other arguments.
        """
        stored = await self.state.get(self.record_key)
        return None if stored is None else self._read_result(stored)

    def _read_result(self, stored: bytes) -> ToolResult | None:
        try:
            record = read_record(stored, _RECORD)
        except ValueError as error:  # it was written, so an earlier call may have run
            logger.warning("the record of a write is damaged: %s", error)
            record = _WriteRecord(self.arguments, None)
        if record.arguments != self.arguments:
            raise InputError(
                "this idempotency key was used for a call with other arguments; the request was "
                "not sent. Use a new key for each write."
            )
        if (result := record.result) is None:
            return None
        metadata = {**result.metadata, "replayed": True}
        return ToolResult.ok(result.output, metadata, header_note=result.header_note)

    async def send(self, send: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Return the result of an earlier call, or send this one and remember its result."""
        write = asyncio.ensure_future(self._send_once(send))
        _writes.add(write)
        write.add_done_callback(_end_write)
        return await asyncio.shield(write)

    async def _send_once(self, send: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        record = self._make_record(None)
        lock = lock_value(self.state, self.record_key, record, lifetime=_LIFETIME, seconds=LEASE)
        async with lock as stored:
            if stored is not None:
                if (earlier := self._read_result(stored)) is not None:
                    return earlier
                await self._begin_again(record)
            try:
                result = await send()
            except OpenAPIToolsError as error:
                # Without attempts nothing was sent; a retryable failure did nothing.
                facts = error.facts if isinstance(error, CallError) and error.attempts else None
                if facts is None or facts.get("retryable"):
                    await self._remove_record()
                raise
            await self._remember(result)
            return result

    async def _remember(self, result: ToolResult) -> None:
        status = (result.error or {}).get("status") or 0
        if result.success:
            # Whatever fails here, the API has done the write, so the model gets its result.
            try:
                await self.state.put(self.record_key, self._make_record(result), _LIFETIME)
            except (OpenAPIToolsError, OSError, ValueError) as error:
                logger.warning("the result of a write could not be stored: %s", error)
        # Nothing was done, so a corrected call may use the key again. Any other status may mean
        # anything.
        elif _CLIENT_ERRORS <= status < _SERVER_ERRORS or status == _UNAVAILABLE:
            await self._remove_record()

    async def _remove_record(self) -> None:
        # The call did nothing. Its caller gets its error, not one of the state.
        try:
            await self.state.remove(self.record_key)
        except (OpenAPIToolsError, OSError) as error:
            logger.warning("the key of a write that failed stays in use: %s", error)

    async def _begin_again(self, record: bytes) -> None:
        # No other call with the key is under way, so an earlier one ended without a result.
        if not self.is_repeatable:
            raise CallError(
                "connection",
                "an earlier call with this idempotency key may have run, but its result is "
                "unknown; this call was not sent. Check the state of the API, then call with "
                "another key.",
                retryable=False,
            )
        await self.state.put(self.record_key, record, _LIFETIME)

    def _make_record(self, result: ToolResult | None) -> bytes:
        names = ("output", "metadata", "header_note")
        stored = None if result is None else {name: getattr(result, name) for name in names}
        # A state whose connection was lost may find the record that it has just stored: only by
        # the name of the call is that one no earlier call's.
        record = {"arguments": self.arguments, "result": stored, "call": uuid.uuid4().hex}
        return dump_json_bytes(record)


def _end_write(write: asyncio.Future[ToolResult]) -> None:
    _writes.discard(write)
    if not write.cancelled():
        write.exception()  # retrieved, as asyncio would log it if the caller has left


def keyed_write(call: Call, server: str) -> KeyedWrite | None:
    """Return how a write with a key is sent once; None if the API or the method ensures that.

    Raises:
        InputError: The key is unusable, or nothing can keep the promise.
    """
    tool, key = call.tool, context_value(call.context, "idempotency_key")
    settings = tool.settings
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        raise InputError(f"'idempotency_key' must be a string of 1 to {_LONGEST_KEY} characters.")
    if call.idempotency_key:
        name = json.dumps([key, tool.name])
        # A UUID, as many APIs ask for that form; with the tool's name, as one key of a
        # workflow's step may be given to several tools.
        call.idempotency_key = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    if call.idempotency_key or tool.read_only or settings.dry_run:
        return None
    # Without a state in the settings, `write_state` is that of the server that makes the call.
    state = settings.state or context_value(call.context, "write_state")
    if state is None and tool.idempotent:
        return None
    if state is None:
        raise InputError(
            "'idempotency_key' needs Settings(idempotency_header=…), the header in which the API "
            "takes a key, or Settings(state=…); the request was not sent."
        )
    # The server is part of it, so that production does not get the results of a test server.
    digest = digest_of([server, tool.name, tool.method, tool.path, call.user, key])
    record_key = state_key("once", call.user, digest)
    arguments = digest_of(call.arguments)
    return KeyedWrite(state, record_key, arguments, is_repeatable=tool.idempotent)
