"""Failures of the transport as error results.

Of a request only the method and the path without query enter a message; of an exception only the
operating system's own words.
"""

from __future__ import annotations

import logging

import httpx

from openapi_tools.errors import CallError
from openapi_tools.http_rules import reads, repeats
from openapi_tools.redaction import excerpt
from openapi_tools.transport.sockets import TlsError

logger = logging.getLogger("openapi_tools")

_CUT_OFF = ("disconnected", "received")
_BAD_LOCATION = "Invalid URL in location header"  # which httpx reads also where it follows none
_PATH = 200
_REASON = 200

TRANSPORT_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Built-in errors that transports raise besides those of httpx.

Only OSError and EOFError are the network's; the others are mistakes of a program.
"""


def named(request: httpx.Request) -> str:
    """Return method and path without the query: `"GET /pets/7"`."""
    return f"{request.method} {path_of(request)}"


def path_of(request: httpx.Request) -> str:
    """Return the path of a request as it was sent, without the query."""
    return excerpt(request.url.raw_path.partition(b"?")[0].decode("ascii", "replace"), _PATH)


def timed_out(request: httpx.Request, seconds: float, *, waiting: bool = False) -> CallError:
    """Return the error for a call whose time is over.

    Args:
        request: Its request.
        seconds: The time it had.
        waiting: It still waited for its turn.
    """
    reason = f"{named(request)} timed out after {seconds:g} s"
    if waiting:
        reason += "; it was not sent, too many other calls are under way."
        return CallError("timeout", reason, retryable=True)
    return CallError("timeout", reason + _outcome(request), retryable=repeats(request))


def closed_client(request: httpx.Request) -> CallError:
    """Return the error for a call with a client that its owner has closed."""
    reason = f"{named(request)} was not sent: the client given for the tools is closed."
    return CallError("connection", reason, retryable=False)


def broken_protocol(request: httpx.Request, what: str) -> CallError:
    """Return the error for an answer that breaks HTTP; `what` is the server's mistake."""
    reason = f"{named(request)}: the server {what}{_outcome(request)}"
    return CallError("protocol", reason, retryable=False)


def failure(error: Exception, request: httpx.Request, seconds: float) -> CallError:
    """Return the error for an exception of the HTTP client or its transport.

    Args:
        error: As it was raised.
        request: The request of the call.
        seconds: The time that the call had.
    """
    if isinstance(error, httpx.InvalidURL):
        # Of a `Location` such as `javascript:…`, which httpx always reads; the request's own
        # address was read long before.
        return not_followed(request, "a place", "it is not an address")
    of_the_network = (httpx.HTTPError, httpx.StreamError, OSError, EOFError)
    if isinstance(error, of_the_network):
        return _network_failure(error, request, seconds)
    return _mistake(error, request)


def _network_failure(error: Exception, request: httpx.Request, seconds: float) -> CallError:
    """Return the error for one of httpx or of the operating system."""
    unsendable = (httpx.LocalProtocolError, httpx.UnsupportedProtocol)
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return timed_out(request, seconds)
    if isinstance(error, httpx.DecodingError):
        return CallError("decode", f"{named(request)}: the answer's coding is broken.")
    if isinstance(error, unsendable):
        return CallError("protocol", f"{named(request)} cannot be sent over HTTP.")
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        return _unconnected(error, request)
    if isinstance(error, httpx.RemoteProtocolError):
        return _broken_answer(error, request)
    return _disconnected(request)


def _broken_answer(error: Exception, request: httpx.Request) -> CallError:
    """Return the error for an answer that the HTTP client refuses."""
    if str(error).startswith(_BAD_LOCATION):
        return not_followed(request, "a place", "it is not an address")
    if _was_cut_off(error):
        return _disconnected(request)
    return broken_protocol(request, "sent an answer that breaks HTTP")


def not_followed(
    request: httpx.Request, to: str, why: str, *, status: int | None = None
) -> CallError:
    """Return the error for a redirect that is not followed.

    Args:
        request: The redirected request.
        to: The redirect's target, without secrets.
        why: The reason.
        status: Of the redirect, where known.
    """
    reason = f"{named(request)} was redirected to {to} and not followed: {why}."
    known = {} if status is None else {"status": status}
    return CallError("redirect", reason, **known, retryable=False)


def in_answer(error: CallError, request: httpx.Request, status: int) -> CallError:
    """Return an error of an answer's content, with the request and the answer's status."""
    reason = f"{named(request)} answered {status}, but {error.reason}"
    return CallError(error.kind, reason, **{"status": status, **error.facts})


def _mistake(error: Exception, request: httpx.Request) -> CallError:
    """Return the error for a mistake of a program, after logging it."""
    logger.error("%s failed in the HTTP client", named(request), exc_info=error)
    reason = f"{named(request)} failed in the HTTP client ({type(error).__name__}); see the log."
    return CallError("protocol", reason, retryable=False)


def _was_cut_off(error: Exception) -> bool:
    """Whether a server closed the connection too early, its answer well-formed until then."""
    return any(word in str(error) for word in _CUT_OFF)


def _unconnected(error: Exception, request: httpx.Request) -> CallError:
    """Return the error for a connection that was never made, with the system's reason."""
    address = excerpt(request.url.netloc.decode("ascii", "replace"), _PATH)
    cause = excerpt(" ".join(str(error).split()), _REASON)
    reason = f"{named(request)}: no connection to {address}"
    reason += f" ({cause})." if cause else "."
    # A certificate does not improve in a moment.
    return CallError("connection", reason, retryable=not isinstance(error, TlsError))


def _disconnected(request: httpx.Request) -> CallError:
    reason = f"{named(request)}: the connection broke before the answer was complete"
    retryable = repeats(request)
    return CallError("connection", reason + _outcome(request), retryable=retryable)


def _outcome(request: httpx.Request) -> str:
    """End a sentence; warn when a second call may act a second time."""
    return "." if reads(request) else "; it may have run."
