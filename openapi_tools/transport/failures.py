"""The errors of calls: messages for a model, without secrets, and whether to call again."""

from __future__ import annotations

import logging
import math
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx

from openapi_tools.common.http_rules import is_read_request, is_repeatable
from openapi_tools.errors import CallError
from openapi_tools.redaction import excerpt
from openapi_tools.transport.connections import TlsError
from openapi_tools.transport.proxies import ProxyFaultError

logger = logging.getLogger("openapi_tools")

_CUT_OFF = ("disconnected", "received")  # words about well-formed responses that end too early
_BAD_LOCATION = "Invalid URL in location header"  # which httpx reads also where it follows none
_EXCERPT_CHARS = 200

# A user's transport, and httpx with odd input, raise more than httpx's own errors. A call must
# end with an error result all the same. Not `Exception`: errors of cancellation scopes must
# pass.
TRANSPORT_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError),
    *(OSError, RuntimeError, TypeError, ValueError),
)
"""Built-in errors of transports; only OSError and EOFError are the network's."""

# A day; some servers send a time stamp as `Retry-After`.
_LONGEST_DELAY = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


def describe_request(request: httpx.Request) -> str:
    """Return method and path without the query: `"GET /pets/7"`."""
    return f"{request.method} {request_path(request)}"


def request_path(request: httpx.Request) -> str:
    """Return the path of a request as it was sent, without the query."""
    return excerpt(
        request.url.raw_path.partition(b"?")[0].decode("ascii", "replace"), _EXCERPT_CHARS
    )


def timeout_error(
    request: httpx.Request, seconds: float, *, waiting: bool = False, proxy: str = ""
) -> CallError:
    """Return the error for a call whose time is over.

    Args:
        request: The request.
        seconds: The time of the call.
        waiting: It was still waiting for a slot.
        proxy: The address of a proxy that had not made the connection.
    """
    reason = f"{describe_request(request)} timed out after {seconds:g} s"
    if proxy:
        reason += f"; it was not sent, because the proxy {proxy} had not connected."
        return CallError("timeout", reason, retryable=True)
    if waiting:
        reason += "; it was not sent, because too many other calls are running."
        return CallError("timeout", reason, retryable=True)
    return CallError(
        "timeout", reason + _describe_outcome(request), retryable=is_repeatable(request)
    )


def protocol_error(request: httpx.Request, what: str) -> CallError:
    """Return the error for a response that breaks HTTP; `what` is what the server did wrong."""
    reason = f"{describe_request(request)}: the server {what}{_describe_outcome(request)}"
    return CallError("protocol", reason, retryable=False)


def make_call_error(error: Exception, request: httpx.Request, seconds: float) -> CallError:
    """Return the error for an exception of the HTTP client; the call had so many seconds."""
    call = describe_request(request)
    match error:
        # The order matters: several of these classes are subclasses of `HTTPError` further
        # down.
        case httpx.TimeoutException() | TimeoutError():
            call_error = timeout_error(request, seconds)
        case httpx.DecodingError():
            call_error = CallError(
                "decode", f"{call}: the content coding of the response is not valid."
            )
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol():
            call_error = CallError("protocol", f"{call} cannot be sent over HTTP.")
        case httpx.ConnectError() | httpx.ProxyError():
            call_error = _connection_error(error, request)
        case httpx.InvalidURL():  # of a `Location`: the request's own address was read long before
            call_error = redirect_error(request, "a location", "it is not a URL")
        case httpx.RemoteProtocolError() if str(error).startswith(_BAD_LOCATION):
            call_error = redirect_error(request, "a location", "it is not a URL")
        case httpx.RemoteProtocolError() if not any(word in str(error) for word in _CUT_OFF):
            call_error = protocol_error(request, "sent a response that is not valid HTTP")
        case httpx.HTTPError() | httpx.StreamError() | OSError() | EOFError():
            reason = f"{call}: the connection was lost before the response was complete"
            retryable = is_repeatable(request)
            call_error = CallError(
                "connection", reason + _describe_outcome(request), retryable=retryable
            )
        case _:  # a bug, here or in a user's transport
            logger.error("%s failed in the HTTP client", call, exc_info=error)
            reason = f"{call} failed in the HTTP client ({type(error).__name__}); see the log."
            call_error = CallError("protocol", reason, retryable=False)
    return call_error


def redirect_error(
    request: httpx.Request, to: str, why: str, *, status: int | None = None
) -> CallError:
    """Return the error for a redirect that is not followed; `to` holds no secrets."""
    reason = f"{describe_request(request)} was redirected to {to} and not followed: {why}"
    # After a 301 or 302 nobody knows; 307 and 308 ask for the request to be sent elsewhere.
    reason += _describe_outcome(request) if status in (301, 302) else "."
    error = CallError("redirect", reason, retryable=False)
    if status is not None:
        error.facts["status"] = status
    return error


def _connection_error(error: Exception, request: httpx.Request) -> CallError:
    address = excerpt(request.url.netloc.decode("ascii", "replace"), _EXCERPT_CHARS)
    cause = excerpt(" ".join(str(error).split()), _EXCERPT_CHARS)
    reason = f"{describe_request(request)}: no connection to {address}"
    if isinstance(error, httpx.ProxyError):
        reason += " through the proxy"
    if isinstance(error, ProxyFaultError):
        reason += f" {excerpt(error.address, _EXCERPT_CHARS)}"
    reason += f" ({cause})." if cause else "."
    return CallError("connection", reason, retryable=is_transient(error))


def is_transient(error: Exception) -> bool:
    """Whether a failure to connect may pass soon; a wrong certificate does not."""
    if isinstance(error, ProxyFaultError):
        return not error.is_lasting
    return not isinstance(error, TlsError)


def _describe_outcome(request: httpx.Request) -> str:
    return "." if is_read_request(request) else "; it may have run."


def retry_after(headers: httpx.Headers, *, now: float | None = None) -> float | None:
    """Return the seconds that a server asks to wait, at most a day (RFC 9110, 10.2.3), or None."""
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_DELAY)
    try:
        date = parsedate_to_datetime(text[:60])
        end = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait = end - (time.time() if now is None else now)
    return min(max(wait, 0.0), _LONGEST_DELAY) if math.isfinite(wait) else None
