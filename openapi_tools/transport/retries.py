"""Retries: of which calls, and when; and questions about work that an API has accepted.

Spec: RFC 9110, sections 9.2.2 (idempotent methods) and 10.2.3 (Retry-After).
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import tenacity

from openapi_tools.observability.observers import current

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    from tenacity import RetryCallState

    from openapi_tools.shaping.long_work import WorkReader
    from openapi_tools.transport.exchange import Exchange

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_UNSENT = 2
"""Retries of a call that was never sent: a server that refuses may be up in a moment."""
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 8.0
_FIRST_PAUSE, _LONGEST_PAUSE, _SHORTEST_PAUSE = 0.5, 15.0, 0.05
"""Seconds between questions about long work, where the API does not name them."""
_LONGEST_ASKED = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


async def retried(
    attempt: Callable[[], Awaitable[Exchange]],
    first: Exchange,
    *,
    retries: int,
    repeatable: bool,
    spend: Callable[[float], bool],
) -> Exchange:
    """Try a call again while that may help, and return the last attempt.

    `repeatable`: a second call does nothing twice. `spend` tells whether there are time and budget
    for another attempt after a wait in seconds.
    """
    jitter = tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def allows(state: RetryCallState) -> bool:
        exchange, count = _last(state), state.attempt_number
        if exchange.unsent:
            return count <= max(_UNSENT, retries)
        at_once = exchange.stale and count == 1
        return repeatable and (at_once or (count <= retries and _may_pass(exchange)))

    def wait(state: RetryCallState) -> float:
        if _last(state).stale:
            return 0.0
        asked = _asked(_last(state))
        return jitter(state) if asked is None else asked + jitter(state) * 0.1

    async def next_attempt() -> Exchange:
        return first if retrying.statistics["attempt_number"] == 1 else await attempt()

    retrying = tenacity.AsyncRetrying(
        retry=allows,
        wait=wait,
        stop=lambda state: not spend(state.upcoming_sleep),
        before_sleep=_tell,
        retry_error_callback=_last,
        sleep=asyncio.sleep,
    )
    exchange: Exchange = await retrying(next_attempt)
    return exchange


def _last(state: RetryCallState) -> Exchange:
    found: Exchange = state.outcome.result()  # type: ignore[union-attr] # it has ended
    return found


def _tell(state: RetryCallState) -> None:
    error, status, asked = _last(state).error, _last(state).status, _asked(_last(state))
    told: Any = {"status": status} if error is None else {"error_type": error.kind}
    current().retry(state.upcoming_sleep, retry_after=asked, **told)


def _may_pass(exchange: Exchange) -> bool:
    """Whether another attempt may succeed."""
    error = exchange.error
    if error is None:
        return exchange.status in RETRIED_STATUSES
    return error.kind == "connection" and error.facts.get("retryable") is not False


def _asked(exchange: Exchange) -> float | None:
    """Return the seconds that the server asks to wait, if it does."""
    if exchange.error is not None or exchange.response is None:
        return None
    return retry_after(exchange.response.headers)


def retry_after(headers: httpx.Headers, *, now: float | None = None) -> float | None:
    """Return the seconds that the server asks us to wait, at most a day; None where unreadable.

    Spec: RFC 9110, section 10.2.3.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_ASKED)
    try:
        date = parsedate_to_datetime(text[:60])
        end = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait = end - (time.time() if now is None else now)
    return min(max(wait, 0.0), _LONGEST_ASKED) if math.isfinite(wait) else None


async def to_end(
    known: tuple[Any, WorkReader], ask: Callable[..., Awaitable[tuple[Any, Any]]], wait: float
) -> tuple[Any, WorkReader]:
    """Ask for the state of work until it ends, and for its result; or until the time is over.

    Args:
        known: The result of the answer with which it began, and its reader.
        ask: Sends a request to an address; returns its result and reader, None for no answer.
        wait: Seconds.
    """
    loop = asyncio.get_running_loop()
    (result, reader), end, pause = known, loop.time() + wait, _FIRST_PAUSE
    asked = reader.pause
    while reader.goes_on and reader.work.url:
        rest = pause if asked is None else max(asked, _SHORTEST_PAUSE)
        if loop.time() + rest >= end:
            return result, reader
        current().retry(rest, status=result.metadata.get("status"), retry_after=asked)
        await asyncio.sleep(rest)
        pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            async with asyncio.timeout_at(end):
                answer, following = await ask(reader.work.url, is_poll=True)
        except TimeoutError:
            return result, reader
        asked = None if following is None else following.pause
        if following is not None and following.work:
            result, reader = answer, following
        elif not (answer.error or {}).get("retryable"):
            return answer, reader
    if reader.is_done and reader.work.url:
        result, _ = await ask(reader.work.url, is_poll=False)
    return result, reader
