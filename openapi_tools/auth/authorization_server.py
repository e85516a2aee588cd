"""Authorization servers: endpoints, and bounded exchanges with them; failures are `CallError`s."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx

from openapi_tools._version import __version__
from openapi_tools.auth.oauth2 import AUTHORIZATION_CODE, CLIENT_CREDENTIALS, DEVICE, USER_FLOWS
from openapi_tools.errors import CallError
from openapi_tools.http_rules import read_url
from openapi_tools.redaction import Secret, excerpt
from openapi_tools.requests import origin_of
from openapi_tools.transport.content_codings import CODINGS, Decoder
from openapi_tools.transport.failures import TRANSPORT_FAULTS, make_call_error, retry_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from openapi_tools.auth import OriginPolicy
    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.model import SecurityScheme

PATIENCE = 30.0  # seconds for one exchange, to the last byte
_LARGEST = 1024 * 1024
_TOO_MANY = 429
_MOST_FIELDS = 100
_OF_FORMS = frozenset({"access_token", "device_code", "error"})  # by which a form is recognised
SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
STARTS = {
    AUTHORIZATION_CODE: ("authorization_url", "authorizationUrl"),
    DEVICE: ("device_authorization_url", "deviceAuthorizationUrl"),
}
"""Where a login begins: the members of `OAuth2` and of a document."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The parts of a toolset that token requests use."""

    transport: httpx.AsyncBaseTransport
    may_go: Callable[[str], bool]  # whether the origin policy lets a secret go to a URL
    learn: Callable[..., None]  # masks new secrets
    api_origin: str
    base_url: str = ""

    @classmethod
    def over(
        cls, transport: httpx.AsyncBaseTransport, policy: OriginPolicy, learn: Callable[..., None]
    ) -> Self:
        """Return the channel of a request."""
        origins, server = policy.origins - {""}, policy.server
        return cls(
            transport, lambda url: origin_of(url) in origins, learn, origin_of(server), server
        )

    def absolute(self, url: str) -> str:
        """Return a document's URL as an absolute one (OpenAPI 3.1.2, section 4.6.1), or nothing."""
        try:
            return urljoin(self.base_url or f"{self.api_origin}/", url)
        except ValueError:
            return ""


class Form(NamedTuple):
    """The body of a token request, and the header that authenticates the client."""

    body: Secret
    authorization: Secret | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A JSON object or form; `wait` is the `Retry-After` in seconds, None without one."""

    status: int
    members: dict[str, Any] = field(repr=False)
    wait: float | None = None


async def exchange(channel: Channel, url: str, form: Form | None = None) -> Reply:
    """POST a form, or GET without one, and return the members of the response."""
    request = _request(url, form)
    # One deadline for the exchange; the transport's own timeout restarts with every byte.
    request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"))
    try:
        async with asyncio.timeout(PATIENCE):
            return await _answered(channel.transport, request)
    except CallError as error:
        fault = error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *TRANSPORT_FAULTS) as error:
        fault = make_call_error(error, request, PATIENCE)
    facts = dict(fault.facts)
    if fault.kind in ("connection", "timeout"):
        facts["retryable"] = True
    # The request may have fetched a token twice, but has not run the operation.
    said = fault.reason.replace("; it may have run", "")
    at = origin_of(str(request.url))
    raise CallError(fault.kind, f"the authorization server {at}: {said}", **facts)


def _request(url: str, form: Form | None) -> httpx.Request:
    """Return a request; only this frame, which never raises, holds plain secrets."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": CODINGS,
        "User-Agent": f"openapi-tools/{__version__}",
    }
    if form is None:
        return httpx.Request("GET", url, headers=headers)
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    if form.authorization is not None:
        headers["Authorization"] = form.authorization.reveal()
    return httpx.Request("POST", url, content=form.body.reveal().encode("ascii"), headers=headers)


async def _answered(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> Reply:
    response = await transport.handle_async_request(request)
    try:
        wait = retry_after(response.headers)
        _check_status(response.status_code, wait)
        raw = await _read(response)
    finally:
        await response.aclose()
    value = _read_members(raw, is_form_allowed=request.method == "POST")
    if value is not None:
        return Reply(response.status_code, value, wait)
    reason = f"it answered {response.status_code} without a JSON object or a token's form."
    raise CallError("protocol", reason, retryable=False)


def _read_members(raw: bytes, *, is_form_allowed: bool) -> dict[str, Any] | None:
    """Return the members of a JSON object, or of a form; None for neither.

    GitHub and others answer with a form, under any media type (RFC 6749, section 5.1 has JSON).
    """
    try:
        value = json.loads(raw)
    except RecursionError:
        return None
    except ValueError:
        return _read_form(raw) if is_form_allowed else None
    return value if isinstance(value, dict) else None


def _read_form(raw: bytes) -> dict[str, Any] | None:
    try:
        text = raw.decode("utf-8-sig").strip()
        pairs = parse_qsl(text, True, strict_parsing=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    members: dict[str, Any] = dict(pairs)
    is_answer = not _OF_FORMS.isdisjoint(members)
    return members if is_answer and len(members) == len(pairs) else None


def _check_status(status: int, wait: float | None) -> None:
    if status in _REDIRECTS:
        reason = f"it answered {status}, a redirect, which secrets do not follow."
        raise CallError("redirect", reason, retryable=False)
    if status == _TOO_MANY:
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
        decoder.finish()
    except CallError as error:
        if error.kind != "too_large":  # whose message names a setting for the API's answers
            raise
        body += bytes(_LARGEST + 1)
    if len(body) > _LARGEST:
        reason = f"its answer is larger than {_LARGEST} bytes."
        raise CallError("too_large", reason, retryable=False)
    return bytes(body)


def is_protected(url: str) -> bool:
    """Whether a URL is safe for secrets: https, or this machine (RFC 8252, section 7.3)."""
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
    """Tell whether only this machine reaches an address."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def fault(scheme: str, reason: str, *, path: str | PathLike[str] = "") -> CallError:
    """Return the error for the credential of a scheme; the reason may name the file at a path."""
    error = CallError("credentials", f"security scheme {scheme!r}: {reason}")
    error.path = str(path)
    return error


class Endpoints:
    """The endpoints for one scheme; a missing or forbidden one is a `CallError`."""

    def __init__(self, config: OAuth2, scheme: SecurityScheme, name: str) -> None:
        self._config, self._scheme, self._name = config, scheme, name
        self._metadata: dict[str, Any] = {}

    async def token(self, channel: Channel, flow: str | None, *, refresh: bool = False) -> str:
        """Return the token endpoint of a flow, None for the user's; a secret may be sent there."""
        declared = self._declared(flow, refresh=refresh)
        return await self._endpoint(channel, "token_url", declared)

    async def start(self, channel: Channel, flow: str) -> str:
        """Return the endpoint where a login begins; a client secret may go to that for devices."""
        member, key = STARTS[flow]
        declared = _text(self._scheme.flows.get(flow, {}).get(key))
        return await self._endpoint(channel, member, declared, is_secret=flow == DEVICE)

    def _declared(self, flow: str | None, *, refresh: bool) -> str:
        flows = self._scheme.flows
        order = (flow,) if flow is not None else (*USER_FLOWS, CLIENT_CREDENTIALS)
        keys = ("refreshUrl", "tokenUrl") if refresh else ("tokenUrl",)
        urls = (_text(flows[name].get(key)) for key in keys for name in order if name in flows)
        return next(filter(None, urls), "")

    async def _endpoint(
        self, channel: Channel, member: str, declared: str, *, is_secret: bool = True
    ) -> str:
        """Return the user's URL, else the metadata's or the document's if a secret may go there."""
        name = member.replace("_url", "_endpoint")
        told = name.replace("_", " ")
        if url := getattr(self._config, member):
            return self._protected(url, told)
        url = "" if is_secret and self.discovery_url else declared
        if self.discovery_url:
            url = _text((await self.metadata(channel)).get(name)) or url
        if not url:
            raise fault(self._name, f"the document names no {told}; give OAuth2({member}=…).")
        url = self._protected(channel.absolute(url), told)
        if is_secret and not self._config.openid_connect_url and not channel.may_go(url):
            there, here = origin_of(url), channel.api_origin
            reason = f"the document names a token endpoint at {there}, but its credentials are for "
            reason += f"{here}; nothing was sent. To allow it give OAuth2(token_url=…) or "
            reason += f"Settings(credential_origins=({here!r}, {there!r}))."
            raise fault(self._name, reason)
        return url

    @property
    def discovery_url(self) -> str:
        """The URL of the server's metadata; may be empty."""
        return self._config.openid_connect_url or self._scheme.openid_connect_url

    async def metadata(self, channel: Channel) -> dict[str, Any]:
        """Return the server's metadata (RFC 8414, section 2), fetched once."""
        if not self._metadata:
            url = self._protected(channel.absolute(self.discovery_url), "OpenID Connect address")
            if "/.well-known/" not in url:
                url = metadata_urls(url)[0]
            reply = await exchange(channel, url)
            self._check(reply, url)
            self._metadata = reply.members
        return self._metadata

    def _check(self, reply: Reply, url: str) -> None:
        at = origin_of(url)
        if reply.status not in SUCCESS:
            raise fault(self._name, f"{at} answered {reply.status} instead of describing itself.")
        issuer = _text(reply.members.get("issuer"))
        if not is_protected(issuer) or url not in metadata_urls(issuer):
            shown = repr(excerpt(issuer, 100)) if issuer else "none"
            reason = f"{at} describes the issuer {shown}, which does not belong to the address "
            reason += "that was asked (OpenID Connect Discovery, section 4.3); "
            raise fault(self._name, f"{reason}give OAuth2(token_url=…).")

    def _protected(self, url: str, what: str) -> str:
        if is_protected(url):
            return url
        reason = f"its {what} is not an https address of the form https://host/path"
        raise fault(self._name, f"{reason}; secrets go nowhere else but to this machine.")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return the URLs of an issuer's metadata (OpenID Connect Discovery, 4.1; RFC 8414, 3.1)."""
    bare = issuer.rstrip("/")
    parts = urlsplit(issuer)
    known = f"{parts.scheme}://{parts.netloc}/.well-known"
    whole, path = "" if parts.path == "/" else parts.path, urlsplit(bare).path
    return (
        f"{bare}/.well-known/openid-configuration",
        f"{known}/oauth-authorization-server{whole}",
        f"{known}/oauth-authorization-server{path}",
        f"{known}/openid-configuration{path}",
    )
