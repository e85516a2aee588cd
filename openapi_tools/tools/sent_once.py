"""One write for one key: a step of a workflow that runs again gets the first answer.

Where the API takes a key in a header (`Settings(idempotency_header=…)`), it sees to that. Else the
shared state keeps a mark before the write is sent, and its result afterwards: a process that ends
in between leaves the mark, and the call is not made again, as it may have run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.json_values import compact
from openapi_tools.options import member_of
from openapi_tools.result import ToolResult
from openapi_tools.shared_state import LEASE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.shared_state import SharedState
    from openapi_tools.tools.execution import PreparedCall
    from openapi_tools.tools.tool import OperationTool

logger = logging.getLogger("openapi_tools")

KEPT = 86_400.0
"""Seconds for which a key is remembered."""
_LONGEST = 1_000
_REFUSED, _FAULTS, _UNAVAILABLE = 400, 500, 503


def key_of(context: Any) -> str:
    """Return the idempotency key of a context that has one; InputError for an unusable one."""
    key = member_of(context, "idempotency_key")
    if isinstance(key, str) and 0 < len(key) <= _LONGEST:
        return key
    raise InputError(f"'idempotency_key' must be a text of 1 to {_LONGEST} characters.")


@dataclass(frozen=True, slots=True)
class Once:
    """One write with a key: `place` is where the state keeps it."""

    state: SharedState
    place: str
    arguments: str
    repeatable: bool  # to send it twice does what once does

    async def known(self, *, alone: bool = False) -> ToolResult | None:
        """Return the result of an earlier call with the key; None for the first one.

        Raises:
            InputError: That call had other arguments.
            CallError: It may have run, and ended without a result, as this call is `alone`; or no
                state can be reached.
        """
        if (kept := await self.state.get(self.place)) is None:
            return None
        mark = json.loads(kept)
        if mark["arguments"] != self.arguments:
            raise InputError(
                "this idempotency key was used for a call with other arguments; give each write "
                "a key of its own. It was not sent."
            )
        if (result := mark["result"]) is not None:
            metadata = {**result["metadata"], "replayed": True}
            return ToolResult.ok(result["output"], metadata, header_note=result["header_note"])
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
        async with self.state.alone(f"{self.place}:turn", LEASE):
            if (known := await self.known(alone=True)) is not None:
                return known
            await self._keep(None)
            try:
                result = await send()
            except OpenAPIToolsError as error:
                if _is_unsent(error):
                    await self.state.remove(self.place)
                raise
            await self._ended(result)
            return result

    async def _ended(self, result: ToolResult) -> None:
        status = (result.error or {}).get("status") or 0
        try:
            if result.success:
                await self._keep(result)
            elif _REFUSED <= status < _FAULTS or status == _UNAVAILABLE:
                await self.state.remove(self.place)
        except OpenAPIToolsError:
            logger.exception("the result of a write could not be kept; its key is not used again")

    async def _keep(self, result: ToolResult | None) -> None:
        names = ("output", "metadata", "header_note")
        known = None if result is None else {name: getattr(result, name) for name in names}
        mark = {"arguments": self.arguments, "result": known}
        await self.state.put(self.place, compact(mark), KEPT)


def _is_unsent(error: OpenAPIToolsError) -> bool:
    """Tell whether a call that must not be repeated was never sent."""
    return (
        not isinstance(error, CallError) or not error.attempts or bool(error.facts.get("retryable"))
    )


def once_for(tool: OperationTool, server: str, prepared: PreparedCall, context: Any) -> Once | None:
    """Return how a write with a key is sent once; None where the API or its method sees to that.

    Raises:
        InputError: The key is unusable, or nothing can keep the promise.
    """
    settings, key = tool.settings, key_of(context)
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
    place, arguments = f"once:{_digest(names)}", _digest(prepared.arguments)
    return Once(settings.state, place, arguments, repeatable=tool.idempotent)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
