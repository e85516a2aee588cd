"""Authorization servers: endpoints, and bounded requests to them; errors are CallErrors."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx

from openapi_tools._version import __version__
from openapi_tools.auth.oauth2 import AUTHORIZATION_CODE, CLIENT_CREDENTIALS, DEVICE, USER_FLOWS
from openapi_tools.auth.origin_policy import is_protected
from openapi_tools.errors import CallError
from openapi_tools.redaction import Secret, excerpt
from openapi_tools.requests import origin_of
from openapi_tools.transport.content_codings import CODINGS, Decoder
from openapi_tools.transport.failures import TRANSPORT_FAULTS, make_call_error, retry_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.auth.origin_policy import OriginPolicy
    from openapi_tools.model import SecurityScheme

PATIENCE = 30.0  # seconds for one exchange, to the last byte
# Metadata have some 10 kB, a response with the longest tokens 50 kB.
_LARGEST_BODY = 1024 * 1024
_TOO_MANY = 429
_MOST_FIELDS = 100
_FORM_FIELDS = frozenset({"access_token", "device_code", "error"})  # by which a form is recognised
SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
LOGIN_ENDPOINTS = {
    AUTHORIZATION_CODE: ("authorization_url", "authorizationUrl"),
    DEVICE: ("device_authorization_url", "deviceAuthorizationUrl"),
}
"""Where a login begins, by flow: the field of `OAuth2`, and the key of a document."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The parts of a toolset that token requests use."""

    transport: httpx.AsyncBaseTransport
    is_allowed: Callable[[str], bool]  # whether the origin policy lets a secret go to a URL
    learn: Callable[..., None]  # masks new secrets
    api_origin: str
    base_url: str = ""

    @classmethod
    def for_call(
        cls, transport: httpx.AsyncBaseTransport, policy: OriginPolicy, learn: Callable[..., None]
    ) -> Self:
        """Return the channel of a call."""
        origins, server = policy.origins - {""}, policy.server
        return cls(
            transport, lambda url: origin_of(url) in origins, learn, origin_of(server), server
        )

    def resolve(self, url: str) -> str:
        """Return the absolute form of a URL (OpenAPI 3.1.2, 4.6.1); empty for an invalid one."""
        try:
            return urljoin(self.base_url or f"{self.api_origin}/", url)
        except ValueError:
            return ""


class TokenForm(NamedTuple):
    """The body of a token request, and the header that authenticates the client."""

    body: Secret
    authorization: Secret | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A JSON object or form; `wait` is the `Retry-After` in seconds, None without one."""

    status: int
    properties: dict[str, Any] = field(repr=False)
    wait: float | None = None


async def request_json(channel: Channel, url: str, form: TokenForm | None = None) -> Reply:
    """POST a form, or GET without one, and return the JSON object or form of the response."""
    request = _make_request(url, form)
    # One deadline for the exchange; the transport's own timeout restarts with every byte.
    request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"))
    try:
        async with asyncio.timeout(PATIENCE):
            return await _receive_reply(channel.transport, request)
    except CallError as error:
        call_error = error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *TRANSPORT_FAULTS) as error:
        call_error = make_call_error(error, request, PATIENCE)
    # The request may have fetched a token twice, but has not run the operation.
    reason = call_error.reason.replace("; it may have run", "")
    origin = origin_of(str(request.url))
    raised = CallError(call_error.kind, f"the authorization server {origin}: {reason}")
    raised.facts |= call_error.facts
    if call_error.kind in ("connection", "timeout"):
        raised.facts["retryable"] = True
    raise raised


def _make_request(url: str, form: TokenForm | None) -> httpx.Request:
    # A frame of its own, which never raises: no traceback shows its variables, which are plain
    # secrets.
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


async def _receive_reply(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> Reply:
    response = await transport.handle_async_request(request)
    try:
        wait = retry_after(response.headers)
        _check_status(response.status_code, wait)
        raw = await _read_body(response)
    finally:
        await response.aclose()
    value = _read_object(raw, is_form_allowed=request.method == "POST")
    if value is not None:
        return Reply(response.status_code, value, wait)
    reason = (
        f"its response ({response.status_code}) is neither a JSON object nor a form with a token."
    )
    raise CallError("protocol", reason, retryable=False)


def _read_object(raw: bytes, *, is_form_allowed: bool) -> dict[str, Any] | None:
    # RFC 6749, section 5.1, has JSON. GitHub and others send a form, under any media type.
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
    fields: dict[str, Any] = dict(pairs)
    is_token_form = not _FORM_FIELDS.isdisjoint(fields)
    return fields if is_token_form and len(fields) == len(pairs) else None


def _check_status(status: int, wait: float | None) -> None:
    if status in _REDIRECTS:
        reason = f"it redirected the request ({status}), and secrets are not sent elsewhere."
        raise CallError("redirect", reason, retryable=False)
    if status == _TOO_MANY:
        error = CallError("rate_limited", "it returned 429: too many requests.", retryable=True)
        if wait is not None:
            error.facts["retry_after"] = wait
        raise error
    if status >= 500:  # noqa: PLR2004 -- the server's own failures
        raise CallError("connection", f"it returned {status}.", retryable=True)


async def _read_body(response: httpx.Response) -> bytes:
    decoder = Decoder(response.headers.get("Content-Encoding", ""), _LARGEST_BODY)
    body = bytearray()
    try:
        async for chunk in response.stream:  # type: ignore[union-attr] # an async one here
            for piece in decoder.feed(chunk):
                body += piece
        decoder.finish()
    except CallError as error:
        if error.kind != "too_large":  # whose message names a setting for the API's responses
            raise
        body += bytes(_LARGEST_BODY + 1)
    if len(body) > _LARGEST_BODY:
        reason = f"its response is larger than {_LARGEST_BODY} bytes."
        raise CallError("too_large", reason, retryable=False)
    return bytes(body)


def scheme_error(scheme: str, reason: str, *, path: str | PathLike[str] = "") -> CallError:
    """Return the error for the credential of a scheme; the reason may name the file at a path."""
    error = CallError("credentials", f"security scheme {scheme!r}: {reason}")
    error.path = str(path)
    return error


class Endpoints:
    """The endpoints for one scheme; CallError if one is missing or must not get secrets."""

    def __init__(self, config: OAuth2, scheme: SecurityScheme, name: str) -> None:
        self._config, self._scheme, self._name = config, scheme, name
        self._metadata: dict[str, Any] = {}

    async def find_token_url(
        self, channel: Channel, flow: str | None, *, refresh: bool = False
    ) -> str:
        """Return the token endpoint of a flow, None for the user's; a secret may be sent there."""
        declared = self._document_url(flow, refresh=refresh)
        return await self._find_endpoint(channel, "token_url", declared)

    async def find_login_url(self, channel: Channel, flow: str) -> str:
        """Return the endpoint where a login begins; a client secret may go to that for devices."""
        field_name, key = LOGIN_ENDPOINTS[flow]
        declared = _string_or_empty(self._scheme.flows.get(flow, {}).get(key))
        return await self._find_endpoint(channel, field_name, declared, is_secret=flow == DEVICE)

    def _document_url(self, flow: str | None, *, refresh: bool) -> str:
        flows = self._scheme.flows
        order = (flow,) if flow is not None else (*USER_FLOWS, CLIENT_CREDENTIALS)
        keys = ("refreshUrl", "tokenUrl") if refresh else ("tokenUrl",)
        urls = (
            _string_or_empty(flows[name].get(key))
            for key in keys
            for name in order
            if name in flows
        )
        return next(filter(None, urls), "")

    async def _find_endpoint(
        self, channel: Channel, field_name: str, declared: str, *, is_secret: bool = True
    ) -> str:
        name = field_name.replace("_url", "_endpoint")
        title = name.replace("_", " ")
        if url := getattr(self._config, field_name):
            return self._check_url(url, title)
        # Metadata come from the authorization server itself; the document may be out of date,
        # or somebody else's. So a secret goes to the document's URL only if the server has no
        # metadata.
        url = "" if is_secret and self.discovery_url else declared
        if self.discovery_url:
            url = _string_or_empty((await self.fetch_metadata(channel)).get(name)) or url
        if not url:
            raise scheme_error(
                self._name, f"the document has no {title}; set OAuth2({field_name}=…)."
            )
        url = self._check_url(channel.resolve(url), title)
        if is_secret and not self._config.openid_connect_url and not channel.is_allowed(url):
            endpoint_origin, api_origin = origin_of(url), channel.api_origin
            reason = (
                f"the document names a token endpoint at {endpoint_origin}, but its credentials "
                f"are for {api_origin}; nothing was sent. To allow it, set OAuth2(token_url=…) or "
                f"Settings(credential_origins=({api_origin!r}, {endpoint_origin!r}))."
            )
            raise scheme_error(self._name, reason)
        return url

    @property
    def discovery_url(self) -> str:
        """The URL of the server's metadata; may be empty."""
        return self._config.openid_connect_url or self._scheme.openid_connect_url

    async def fetch_metadata(self, channel: Channel) -> dict[str, Any]:
        """Return the server's metadata (RFC 8414, section 2), fetched once."""
        if not self._metadata:
            url = self._check_url(channel.resolve(self.discovery_url), "OpenID Connect URL")
            # Documents often have the issuer in place of the metadata's URL.
            if "/.well-known/" not in url:
                url = metadata_urls(url)[0]
            reply = await request_json(channel, url)
            self._check_metadata(reply, url)
            self._metadata = reply.properties
        return self._metadata

    def _check_metadata(self, reply: Reply, url: str) -> None:
        at = origin_of(url)
        if reply.status not in SUCCESS:
            raise scheme_error(self._name, f"{at} returned {reply.status} instead of its metadata.")
        issuer = _string_or_empty(reply.properties.get("issuer"))
        if not is_protected(issuer) or url not in metadata_urls(issuer):
            issuer_text = repr(excerpt(issuer, 100)) if issuer else "none"
            reason = (
                f"the metadata at {at} has the issuer {issuer_text}, which does not match its URL "
            )
            reason += "(OpenID Connect Discovery, section 4.3); set OAuth2(token_url=…)."
            raise scheme_error(self._name, reason)

    def _check_url(self, url: str, title: str) -> str:
        if is_protected(url):
            return url
        reason = f"its {title} is not of the form https://host/path"
        raise scheme_error(
            self._name, f"{reason}; secrets are sent over https only, or to this machine."
        )


def _string_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


# RFC 8414 puts the well-known part between host and path, OpenID Connect behind the path.
# Servers do either for both, with or without the last slash.
def metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return the URLs of an issuer's metadata (OpenID Connect Discovery, 4.1; RFC 8414, 3.1)."""
    bare = issuer.rstrip("/")
    parts = urlsplit(issuer)
    well_known = f"{parts.scheme}://{parts.netloc}/.well-known"
    whole, path = "" if parts.path == "/" else parts.path, urlsplit(bare).path
    return (
        f"{bare}/.well-known/openid-configuration",
        f"{well_known}/oauth-authorization-server{whole}",
        f"{well_known}/oauth-authorization-server{path}",
        f"{well_known}/openid-configuration{path}",
    )
