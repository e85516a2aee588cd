"""One write for one key.

A step of a workflow that runs again gets the answer of its first write. Where the API takes a key
in a header (`Settings(idempotency_header=…)`), it sees to that. Else the shared state keeps a mark
before the write is sent, and its result afterwards: a process that ends in between leaves the mark,
and the call is not made again, as it may have run.

Spec: RFC 9110, section 15.5.13 (412).
"""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.json_values import digest_of, dump_json_bytes
from openapi_tools.options import member_of
from openapi_tools.result import ToolResult
from openapi_tools.shared_state import LEASE, read_record, state_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.shared_state import SharedState
    from openapi_tools.tools.prepared_call import PreparedCall
    from openapi_tools.tools.tool import OperationTool

logger = logging.getLogger("openapi_tools")

_REMEMBERED = 86_400.0  # seconds for a key
_LONGEST = 1_000
_REFUSED, _FAULTS, _UNAVAILABLE = 400, 500, 503


@dataclass(frozen=True, slots=True)
class _KeptResult:
    output: Any
    metadata: dict[str, Any]
    header_note: str


@dataclass(frozen=True, slots=True)
class _WriteRecord:
    arguments: str
    result: _KeptResult | None


_RECORD = TypeAdapter(_WriteRecord)


@dataclass(frozen=True, slots=True)
class Once:
    """One write with a key: `place` is where the state keeps it."""

    state: SharedState
    place: str
    arguments: str
    repeatable: bool  # to send it twice does what once does

    async def known(self, *, alone: bool = False) -> ToolResult | None:
        """Return the result of an earlier call with the key; None for the first one.

        InputError if that call had other arguments. CallError if it may have run and ended without
        a result, as this call is `alone`.
        """
        if (kept := await self.state.get(self.place)) is None:
            return None
        try:
            record = read_record(kept, _RECORD)
        except ValueError as error:  # it was written, so an earlier call may have run
            logger.warning("the record of a write is damaged: %s", error)
            record = _WriteRecord(self.arguments, None)
        if record.arguments != self.arguments:
            raise InputError(
                "this idempotency key was used for a call with other arguments; give each write "
                "a key of its own. It was not sent."
            )
        if (result := record.result) is not None:
            metadata = {**result.metadata, "replayed": True}
            return ToolResult.ok(result.output, metadata, header_note=result.header_note)
        if self.repeatable or not alone:
            return None
        raise CallError(
            "connection",
            "an earlier call with this idempotency key may have run, and its answer is not known; "
            "it was not sent again. Look at what is there, then call with another key.",
            retryable=False,
        )

    async def send(self, send: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Return the result of an earlier call, or send this one and remember its result."""
        async with self.state.lock(f"{self.place}:turn", LEASE):
            if (known := await self.known(alone=True)) is not None:
                return known
            await self._keep(None)
            try:
                result = await send()
            except OpenAPIToolsError as error:
                # A call that must not be repeated was never sent.
                facts = error.facts if isinstance(error, CallError) and error.attempts else None
                if facts is None or facts.get("retryable"):
                    await self._forget()
                raise
            await self._ended(result)
            return result

    async def _ended(self, result: ToolResult) -> None:
        status = (result.error or {}).get("status") or 0
        if result.success:
            # Whatever fails here: the API has done the write, and that is what the model hears.
            try:
                await self._keep(result)
            except (OpenAPIToolsError, OSError, ValueError) as error:
                logger.warning("the result of a write could not be kept: %s", error)
        elif _REFUSED <= status < _FAULTS or status == _UNAVAILABLE:
            await self._forget()

    async def _forget(self) -> None:
        """Remove the record of a call that did nothing; its error stays what it is."""
        try:
            await self.state.remove(self.place)
        except (OpenAPIToolsError, OSError) as error:
            logger.warning("the key of a write that failed stays in use: %s", error)

    async def _keep(self, result: ToolResult | None) -> None:
        names = ("output", "metadata", "header_note")
        known = None if result is None else {name: getattr(result, name) for name in names}
        mark = {"arguments": self.arguments, "result": known}
        await self.state.put(self.place, dump_json_bytes(mark), _REMEMBERED)


def once_for(tool: OperationTool, server: str, prepared: PreparedCall, context: Any) -> Once | None:
    """Return how a write with a key is sent once; None where the API or its method sees to that.

    InputError for an unusable key, or where nothing can keep the promise.
    """
    settings, key = tool.settings, member_of(context, "idempotency_key")
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST:
        raise InputError(f"'idempotency_key' must be a text of 1 to {_LONGEST} characters.")
    if prepared.key:
        prepared.key = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([key, tool.name])))
    if prepared.key or tool.read_only or settings.dry_run:
        return None
    if settings.state is None and tool.idempotent:
        return None
    if settings.state is None:
        raise InputError(
            "'idempotency_key' needs the header in which the API takes a key, "
            "Settings(idempotency_header=…), or Settings(state=…). It was not sent."
        )
    names = [server, tool.name, tool.method, tool.path, prepared.user, key]
    place = state_key("once", prepared.user, digest_of(names))
    arguments = digest_of(prepared.arguments)
    return Once(settings.state, place, arguments, repeatable=tool.idempotent)
