"""Exchanges with authorization servers: bounded, without redirects, cookies and environment.

Failures are `CallError`s.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import httpx

from openapi_tools._version import __version__
from openapi_tools.errors import CallError
from openapi_tools.http_rules import read_url
from openapi_tools.redaction import MASK
from openapi_tools.requests.server_urls import origin_of
from openapi_tools.transport.content_encoding import CODINGS, Decoder
from openapi_tools.transport.transport_errors import TRANSPORT_FAULTS, failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.auth.credentials import OriginPolicy
    from openapi_tools.auth.grants import Form

PATIENCE = 30.0
"""Seconds for one exchange, to the last byte."""
_LARGEST = 1024 * 1024
_REDIRECTS = range(300, 400)
_TOO_MANY = 429
_LONGEST_WAIT = 3600


@dataclass(frozen=True, slots=True)
class Channel:
    """The parts of a toolset that token requests use.

    Attributes:
        transport: Of the running event loop, with the toolset's network policy.
        may_go: Whether the origin policy lets a secret go to a URL.
        learn: Takes new secrets, to be masked.
        api_origin: Origin of the API, for instance `"https://api.example.com"`.
        base_url: Server address; base of a document's relative URLs.
    """

    transport: httpx.AsyncBaseTransport
    may_go: Callable[[str], bool]
    learn: Callable[..., None]
    api_origin: str
    base_url: str = ""

    @classmethod
    def over(
        cls, transport: httpx.AsyncBaseTransport, policy: OriginPolicy, learn: Callable[..., None]
    ) -> Self:
        """Return the channel of a request."""
        return cls(
            transport,
            lambda url: bool(origin_of(url)) and origin_of(url) in policy.origins,
            learn,
            api_origin=origin_of(policy.server),
            base_url=policy.server,
        )


class Reply:
    """A JSON answer; its `repr` shows no member.

    Attributes:
        status: Of the answer.
        members: The object; may be empty for an error.
        wait: Seconds until the next request, if the server said so.
    """

    __slots__ = ("members", "status", "wait")

    def __init__(self, status: int, members: dict[str, Any], wait: float | None = None) -> None:
        self.status = status
        self.members = members
        self.wait = wait

    def __repr__(self) -> str:
        return f"Reply({self.status}, {MASK})"


async def post(channel: Channel, url: str, form: Form) -> Reply:
    """Send a form and return the JSON object that is the answer."""
    return await _exchange(channel, _request("POST", url, form))


async def get(channel: Channel, url: str) -> Reply:
    """Fetch a JSON object."""
    return await _exchange(channel, _request("GET", url))


def _request(method: str, url: str, form: Form | None = None) -> httpx.Request:
    """Return a request; secrets are in plain sight in this frame only, which raises nothing."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": CODINGS,
        "User-Agent": f"openapi-tools/{__version__}",
    }
    if form is None:
        return httpx.Request(method, url, headers=headers)
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    if form.authorization is not None:
        headers["Authorization"] = form.authorization.reveal()
    return httpx.Request(method, url, content=form.body.reveal().encode("ascii"), headers=headers)


async def _exchange(channel: Channel, request: httpx.Request) -> Reply:
    # The deadline covers all of it; the transport's own would begin anew with every byte.
    request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"))
    try:
        async with asyncio.timeout(PATIENCE):
            return await _answered(channel.transport, request)
    except CallError as error:
        raise _at(request, error) from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *TRANSPORT_FAULTS) as error:
        raise _at(request, failure(error, request, PATIENCE)) from None


def _at(request: httpx.Request, error: CallError) -> CallError:
    """Return an error that names the authorization server."""
    facts = {"retryable": True} if error.kind in ("connection", "timeout") else {}
    # The request may have fetched a token twice, but has not run the operation.
    said = error.reason.replace("; it may have run", "")
    reason = f"the authorization server {origin_of(str(request.url))}: {said}"
    return CallError(error.kind, reason, **{**error.facts, **facts})


async def _answered(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> Reply:
    response = await transport.handle_async_request(request)
    try:
        _check_status(response)
        raw = await _read(response)
    finally:
        await response.aclose()
    return Reply(response.status_code, _object(raw, response.status_code), _wait(response))


def _check_status(response: httpx.Response) -> None:
    """Raise for redirects, rate limits and server errors, without reading the body."""
    status = response.status_code
    if status in _REDIRECTS:
        reason = f"it answered {status}, a redirect, which secrets do not follow."
        raise CallError("redirect", reason, retryable=False)
    if status == _TOO_MANY:
        wait = _wait(response)
        known = {} if wait is None else {"retry_after": wait}
        reason = "it answered 429: too many requests."
        raise CallError("rate_limited", reason, **known, retryable=True)
    if status >= 500:  # noqa: PLR2004 -- the server's own failures
        raise CallError("connection", f"it failed with status {status}.", retryable=True)


async def _read(response: httpx.Response) -> bytes:
    decoder = Decoder(response.headers.get("Content-Encoding", ""), _LARGEST)
    body = bytearray()
    try:
        async for chunk in response.stream:  # type: ignore[union-attr] # an async one here
            for piece in decoder.feed(chunk):
                body += piece
            if len(body) > _LARGEST:
                raise _large()
        decoder.finish()
    except CallError as error:
        # The decoder speaks of a setting for the API's answers.
        raise (_large() if error.kind == "too_large" else error) from None
    return bytes(body)


def _large() -> CallError:
    return CallError("too_large", f"its answer is larger than {_LARGEST} bytes.", retryable=False)


def _object(raw: bytes, status: int) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    reason = f"it answered {status} without a JSON object."
    raise CallError("protocol", reason, retryable=False)


def _wait(response: httpx.Response) -> float | None:
    """Return the seconds of `Retry-After`; dates are ignored."""
    text = response.headers.get("Retry-After", "").strip()
    if not text.isdecimal() or len(text) > len(str(_LONGEST_WAIT)):
        return None
    return float(min(int(text), _LONGEST_WAIT))


def is_protected(url: str) -> bool:
    """Whether a URL is safe to carry secrets: https, or this machine itself.

    Spec: RFC 6749, section 3.2; RFC 8252, section 7.3 for this machine.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        sent = read_url(url)
    except ValueError:
        return False
    if sent.host != host or not url.isprintable() or " " in url:
        return False  # the client would go elsewhere
    if not origin_of(url) or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
