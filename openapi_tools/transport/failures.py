"""Failures of a call: as errors for a model, without secrets, and which calls are tried again."""

from __future__ import annotations

import logging
import math
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx

from openapi_tools.errors import CallError
from openapi_tools.http_rules import reads, repeats
from openapi_tools.redaction import excerpt
from openapi_tools.transport.connections import TlsError
from openapi_tools.transport.proxies import ProxyFaultError

logger = logging.getLogger("openapi_tools")

_CUT_OFF = ("disconnected", "received")  # of well-formed answers that end too early
_BAD_LOCATION = "Invalid URL in location header"  # which httpx reads also where it follows none
_SHOWN = 200

TRANSPORT_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError),
    *(OSError, RuntimeError, TypeError, ValueError),
)
"""Built-in errors of transports; only OSError and EOFError are the network's."""

_LONGEST_ASKED = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


def describe_request(request: httpx.Request) -> str:
    """Return method and path without the query: `"GET /pets/7"`."""
    return f"{request.method} {request_path(request)}"


def request_path(request: httpx.Request) -> str:
    """Return the path of a request as it was sent, without the query."""
    return excerpt(request.url.raw_path.partition(b"?")[0].decode("ascii", "replace"), _SHOWN)


def timeout_error(
    request: httpx.Request, seconds: float, *, waiting: bool = False, proxy: str = ""
) -> CallError:
    """Return the error for a call whose time is over, maybe still waiting for its turn.

    `proxy` is the address of one that had not made the connection.
    """
    reason = f"{describe_request(request)} timed out after {seconds:g} s"
    if proxy:
        reason += f"; it was not sent, the proxy {proxy} had not made a connection."
        return CallError("timeout", reason, retryable=True)
    if waiting:
        reason += "; it was not sent, too many other calls are under way."
        return CallError("timeout", reason, retryable=True)
    return CallError("timeout", reason + _describe_outcome(request), retryable=repeats(request))


def protocol_error(request: httpx.Request, what: str) -> CallError:
    """Return the error for an answer that breaks HTTP; `what` is the server's mistake."""
    reason = f"{describe_request(request)}: the server {what}{_describe_outcome(request)}"
    return CallError("protocol", reason, retryable=False)


def make_call_error(error: Exception, request: httpx.Request, seconds: float) -> CallError:
    """Return the error for an exception of the HTTP client; the call had so many seconds."""
    call = describe_request(request)
    match error:
        case httpx.TimeoutException() | TimeoutError():
            found = timeout_error(request, seconds)
        case httpx.DecodingError():
            found = CallError("decode", f"{call}: the answer's coding is broken.")
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol():
            found = CallError("protocol", f"{call} cannot be sent over HTTP.")
        case httpx.ConnectError() | httpx.ProxyError():
            found = _connection_error(error, request)
        case httpx.InvalidURL():  # of a `Location`: the request's own address was read long before
            found = redirect_error(request, "a place", "it is not an address")
        case httpx.RemoteProtocolError() if str(error).startswith(_BAD_LOCATION):
            found = redirect_error(request, "a place", "it is not an address")
        case httpx.RemoteProtocolError() if not any(word in str(error) for word in _CUT_OFF):
            found = protocol_error(request, "sent an answer that breaks HTTP")
        case httpx.HTTPError() | httpx.StreamError() | OSError() | EOFError():
            reason = f"{call}: the connection broke before the answer was complete"
            retryable = repeats(request)
            found = CallError(
                "connection", reason + _describe_outcome(request), retryable=retryable
            )
        case _:  # a mistake of a program
            logger.error("%s failed in the HTTP client", call, exc_info=error)
            reason = f"{call} failed in the HTTP client ({type(error).__name__}); see the log."
            found = CallError("protocol", reason, retryable=False)
    return found


def redirect_error(
    request: httpx.Request, to: str, why: str, *, status: int | None = None
) -> CallError:
    """Return the error for a redirect that is not followed; `to` holds no secrets."""
    reason = f"{describe_request(request)} was redirected to {to} and not followed: {why}"
    # After a 301 or 302 nobody knows; 307 and 308 ask for the request to be sent elsewhere.
    reason += _describe_outcome(request) if status in (301, 302) else "."
    known = {} if status is None else {"status": status}
    return CallError("redirect", reason, **known, retryable=False)


def _connection_error(error: Exception, request: httpx.Request) -> CallError:
    address = excerpt(request.url.netloc.decode("ascii", "replace"), _SHOWN)
    cause = excerpt(" ".join(str(error).split()), _SHOWN)
    reason = f"{describe_request(request)}: no connection to {address}"
    if isinstance(error, httpx.ProxyError):
        reason += " through the proxy"
    if isinstance(error, ProxyFaultError):
        reason += f" {excerpt(error.address, _SHOWN)}"
    reason += f" ({cause})." if cause else "."
    return CallError("connection", reason, retryable=is_transient(error))


def is_transient(error: Exception) -> bool:
    """Whether a failure to connect may be over in a moment; certificates do not improve."""
    if isinstance(error, ProxyFaultError):
        return not error.is_lasting
    return not isinstance(error, TlsError)


def _describe_outcome(request: httpx.Request) -> str:
    """End a sentence; warn when a second call may act a second time."""
    return "." if reads(request) else "; it may have run."


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
