"""Failures of a call: as errors for a model, without secrets, and which calls are tried again."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx
import tenacity

from openapi_tools.errors import CallError
from openapi_tools.http_rules import reads, repeats
from openapi_tools.observability import current
from openapi_tools.redaction import excerpt
from openapi_tools.transport.sockets import TlsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tenacity import RetryCallState

    from openapi_tools.transport.exchange import Exchange

logger = logging.getLogger("openapi_tools")

_CUT_OFF = ("disconnected", "received")  # of well-formed answers that end too early
_BAD_LOCATION = "Invalid URL in location header"  # which httpx reads also where it follows none
_PATH = 200
_REASON = 200

TRANSPORT_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError),
    *(OSError, RuntimeError, TypeError, ValueError),
)
"""Built-in errors of transports; only OSError and EOFError are the network's."""

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_UNSENT = 2  # retries of a call that was never sent: a server that refuses may be up in a moment
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 8.0
_LONGEST_ASKED = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


def named(request: httpx.Request) -> str:
    """Return method and path without the query: `"GET /pets/7"`."""
    return f"{request.method} {path_of(request)}"


def path_of(request: httpx.Request) -> str:
    """Return the path of a request as it was sent, without the query."""
    return excerpt(request.url.raw_path.partition(b"?")[0].decode("ascii", "replace"), _PATH)


def timed_out(request: httpx.Request, seconds: float, *, waiting: bool = False) -> CallError:
    """Return the error for a call whose time is over, maybe still waiting for its turn."""
    reason = f"{named(request)} timed out after {seconds:g} s"
    if waiting:
        reason += "; it was not sent, too many other calls are under way."
        return CallError("timeout", reason, retryable=True)
    return CallError("timeout", reason + _outcome(request), retryable=repeats(request))


def broken_protocol(request: httpx.Request, what: str) -> CallError:
    """Return the error for an answer that breaks HTTP; `what` is the server's mistake."""
    reason = f"{named(request)}: the server {what}{_outcome(request)}"
    return CallError("protocol", reason, retryable=False)


def failure(error: Exception, request: httpx.Request, seconds: float) -> CallError:
    """Return the error for an exception of the HTTP client; the call had so many seconds."""
    call = named(request)
    match error:
        case httpx.TimeoutException() | TimeoutError():
            found = timed_out(request, seconds)
        case httpx.DecodingError():
            found = CallError("decode", f"{call}: the answer's coding is broken.")
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol():
            found = CallError("protocol", f"{call} cannot be sent over HTTP.")
        case httpx.ConnectError() | httpx.ProxyError():
            found = _unconnected(error, request)
        case httpx.InvalidURL():  # of a `Location`: the request's own address was read long before
            found = not_followed(request, "a place", "it is not an address")
        case httpx.RemoteProtocolError() if str(error).startswith(_BAD_LOCATION):
            found = not_followed(request, "a place", "it is not an address")
        case httpx.RemoteProtocolError() if not any(word in str(error) for word in _CUT_OFF):
            found = broken_protocol(request, "sent an answer that breaks HTTP")
        case httpx.HTTPError() | httpx.StreamError() | OSError() | EOFError():
            reason = f"{call}: the connection broke before the answer was complete"
            retryable = repeats(request)
            found = CallError("connection", reason + _outcome(request), retryable=retryable)
        case _:  # a mistake of a program
            logger.error("%s failed in the HTTP client", call, exc_info=error)
            reason = f"{call} failed in the HTTP client ({type(error).__name__}); see the log."
            found = CallError("protocol", reason, retryable=False)
    return found


def not_followed(
    request: httpx.Request, to: str, why: str, *, status: int | None = None
) -> CallError:
    """Return the error for a redirect that is not followed; `to` holds no secrets."""
    reason = f"{named(request)} was redirected to {to} and not followed: {why}."
    known = {} if status is None else {"status": status}
    return CallError("redirect", reason, **known, retryable=False)


def _unconnected(error: Exception, request: httpx.Request) -> CallError:
    address = excerpt(request.url.netloc.decode("ascii", "replace"), _PATH)
    cause = excerpt(" ".join(str(error).split()), _REASON)
    reason = f"{named(request)}: no connection to {address}"
    reason += f" ({cause})." if cause else "."
    # A certificate does not improve in a moment.
    return CallError("connection", reason, retryable=not isinstance(error, TlsError))


def _outcome(request: httpx.Request) -> str:
    """End a sentence; warn when a second call may act a second time."""
    return "." if reads(request) else "; it may have run."


async def retried(
    attempt: Callable[[], Awaitable[Exchange]],
    first: Exchange,
    *,
    retries: int,
    repeatable: bool,
    spend: Callable[[float], bool],
) -> Exchange:
    """Try a call again while that may help and `spend(wait)` allows it; return the last attempt."""
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
    """Return the seconds that a server asks to wait, at most a day (RFC 9110, 10.2.3), or None."""
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
