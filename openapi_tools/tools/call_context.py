"""What the context of a call sets besides credentials: waiting, a shape, an idempotency key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import context_value
from openapi_tools.errors import InputError
from openapi_tools.model import AnswerShape
from openapi_tools.responses.response_shape import remove_limits
from openapi_tools.result import Context
from openapi_tools.tools.idempotency import KeyedWrite, keyed_write

if TYPE_CHECKING:
    from openapi_tools.tools.call import Call
    from openapi_tools.tools.endpoint import Endpoint


async def choose_response(call: Call, endpoint: Endpoint) -> None:
    """Set how long a call waits for a result, and how its response is read."""
    call.wait, call.shaper = _seconds_to_wait(call), endpoint.shaper
    if call.context is not None:
        call.returns_all = context_value(call.context, "whole") is True
        call.most_bytes = context_value(call.context, "most_bytes") or 0
        await _choose_shaper(call, endpoint)
    if call.returns_all or call.options.is_page:
        call.shaper = remove_limits(call.shaper)


def find_keyed_write(call: Call, endpoint: Endpoint) -> KeyedWrite | None:
    """Return how a write with an idempotency key is sent once; None for any other call."""
    if context_value(call.context, "idempotency_key") is None:
        return None
    return keyed_write(call, endpoint.policy.server)


def _seconds_to_wait(call: Call) -> float | None:
    seconds = call.options.wait
    if seconds is None:
        seconds = context_value(call.context, "wait")
    if seconds is None:
        return call.tool.operation.wait
    if isinstance(seconds, int | float) and 0 <= seconds < math.inf:
        return seconds
    raise InputError(f"'wait' must be a number of seconds, not {seconds!r:.60}.")


async def _choose_shaper(call: Call, endpoint: Endpoint) -> None:
    shape, fields = _find_shape(call.context)
    if shape is None and fields is None:
        return
    default_wait = 0 if endpoint.is_read else call.tool.settings.wait
    # The response at the end of a long-running operation may be another operation's.
    is_documented = not (default_wait if call.wait is None else call.wait)
    call.shaper = await endpoint.shapes.shaper_for_call(shape, fields, is_known=is_documented)


def _find_shape(context: Any) -> tuple[Any, Any]:
    shape, fields = context_value(context, "answer"), context_value(context, "fields")
    if not isinstance(context, Context | Mapping):  # attributes of other objects may differ
        fields = fields if isinstance(fields, str) else None
        shape = shape if isinstance(shape, AnswerShape | Mapping) else None
    return shape, fields
