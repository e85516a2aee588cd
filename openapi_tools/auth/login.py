"""Interactive login, in a browser or on another device (RFC 6749, 7636, 8252, 8628 and 9207)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from openapi_tools.auth.authorization_server import (
    LOGIN_ENDPOINTS,
    Endpoints,
    request_json,
    scheme_error,
)
from openapi_tools.auth.oauth2 import AUTHORIZATION_CODE, DEVICE, OAuth2
from openapi_tools.auth.origin_policy import is_protected
from openapi_tools.auth.token_requests import RefusedError, TokenEndpoint, make_form, read_seconds
from openapi_tools.auth.tokens import StoredToken, Token
from openapi_tools.errors import CallError
from openapi_tools.redaction import Redactor, Secret, excerpt
from openapi_tools.requests import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.auth.authorization_server import Channel, Reply
    from openapi_tools.model import SecurityScheme

_SLOW_DOWN = 5.0  # seconds that `slow_down` adds to the interval (RFC 8628, section 3.5)
# RFC 8628, section 3.2: 5 s if the server names no interval.
_INTERVAL, _LONGEST_INTERVAL = 5.0, 60.0
_LONGEST_CODE = 64
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_CALLBACK_PATH = "/callback"
# Not `localhost`, which may resolve to another interface (RFC 8252, section 8.3).
_CALLBACK_HOST = "127.0.0.1"
# Browsers send some 2 kB of headers; anything longer is not the redirect.
_MAX_HEAD_BYTES = 16 * 1024
_CONNECTION_TIMEOUT = 10.0  # seconds
_REQUEST_LINE = re.compile(rb"GET (?P<target>/[\x21-\x7e]*) HTTP/1\.[01]\r\n")
_HOST_HEADER = re.compile(rb"\r\nhost:(?P<host>[^\r\n]*+)(?=\r\n)", re.IGNORECASE)
_PAGE = """HTTP/1.1 {status}
Content-Type: text/html; charset=utf-8
Content-Length: {length}
Cache-Control: no-store
Content-Security-Policy: default-src 'none'; frame-ancestors 'none'
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
Connection: close

{body}""".replace("\n", "\r\n")
_BODY = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>openapi-tools</title>'
    "<p>{text}</p></html>"
)


@dataclass(frozen=True, slots=True)
class LoginPlan:
    """A login's configuration with every endpoint, for the user to confirm before it begins."""

    config: OAuth2
    issuer: str  # empty if unknown
    requires_issuer: bool  # in the authorization response (RFC 9207)
    foreign_urls: tuple[str, ...]  # of the document, not at the API's origin: the user has to agree


class DeviceCode(NamedTuple):
    """URL to open, and code to type, on another device."""

    url: str
    user_code: str


class AuthorizationResponse(NamedTuple):
    """An authorization response: a code, or else a cleaned error code; and its `iss`."""

    code: Secret | None
    error: str
    issuer: str | None


class Login:
    """One login for one scheme."""

    def __init__(
        self, config: OAuth2, scheme: SecurityScheme, *, name: str, channel: Channel
    ) -> None:
        self._config, self._scheme, self._name, self._channel = config, scheme, name, channel
        self._redactor = Redactor()
        self._redactor.learn(*config.secrets())

    async def make_plan(self, *, device: bool) -> LoginPlan:
        """Return the endpoints of the login; no secret is sent."""
        # Nothing is sent to the endpoints before the user has seen them.
        channel = replace(self._channel, is_allowed=lambda _: True)
        endpoints = Endpoints(self._config, self._scheme, self._name)
        flow = DEVICE if device else AUTHORIZATION_CODE
        urls: dict[str, Any] = {"token_url": await endpoints.find_token_url(channel, flow)}
        urls[LOGIN_ENDPOINTS[flow][0]] = await endpoints.find_login_url(channel, flow)
        issuer, requires_issuer = "", False
        if endpoints.discovery_url:
            metadata = await endpoints.fetch_metadata(channel)
            issuer = metadata["issuer"]
            requires_issuer = metadata.get("authorization_response_iss_parameter_supported") is True
        foreign_urls = tuple(
            url
            for field_name, url in urls.items()
            if not getattr(self._config, field_name) and not self._channel.is_allowed(url)
        )
        return LoginPlan(replace(self._config, **urls), issuer, requires_issuer, foreign_urls)

    async def log_in_by_browser(
        self,
        plan: LoginPlan,
        *,
        port: int,
        show: Callable[[str], None],
        report: Callable[[str], None],
    ) -> StoredToken:
        """Show the URL for a browser, and return the token; OSError if the port is in use."""
        state, verifier = Secret(secrets.token_urlsafe(32)), Secret(secrets.token_urlsafe(48))
        async with CallbackServer(state, port=port, report=report) as callback:
            show(authorization_url(plan.config, callback.url, state=state, verifier=verifier))
            response = await callback.wait_for_response()
        return await self.redeem_code(plan, response, verifier=verifier, redirect_uri=callback.url)

    async def redeem_code(
        self,
        plan: LoginPlan,
        response: AuthorizationResponse,
        *,
        verifier: Secret,
        redirect_uri: str,
    ) -> StoredToken:
        """Return the token for the code in a response that came to `redirect_uri`."""
        self._redactor.learn(verifier.reveal(), temporary=True)
        self._check_issuer(plan, response.issuer)
        if response.code is None:
            raise scheme_error(self._name, f"the authorization server refused: {response.error}.")
        self._redactor.learn(response.code.reveal(), temporary=True)
        code_parameters = {"code": response.code, "code_verifier": verifier}
        endpoint, url = TokenEndpoint(plan.config, self._redactor), plan.config.token_url
        token = await endpoint.request_token(
            self._channel,
            url,
            "authorization_code",
            parameters={"redirect_uri": redirect_uri},
            secrets=code_parameters,
        )
        return self._make_entry(plan, token)

    def _check_issuer(self, plan: LoginPlan, issuer: str | None) -> None:
        # RFC 9207, section 2.4: a response of another server is an attack.
        if issuer is None:
            if plan.requires_issuer:
                reason = "the response has no issuer (iss), which this server promises."
                raise scheme_error(self._name, reason)
            return
        expected = plan.issuer or origin_of(plan.config.authorization_url)
        if (issuer if plan.issuer else origin_of(issuer)) != expected:
            reason = "the response comes from another authorization server (iss)."
            raise scheme_error(self._name, reason)

    async def log_in_by_device(
        self, plan: LoginPlan, *, show: Callable[[DeviceCode], None]
    ) -> StoredToken:
        """Return the token of a user who consents on another device; `show` gets the code."""
        config, url = plan.config, plan.config.device_authorization_url
        form = make_form(config, {"scope": " ".join(config.scopes or ())})
        reply = await request_json(self._channel, url, form)
        endpoint = TokenEndpoint(config, self._redactor)
        endpoint.raise_for_error(reply, url)
        code, device_code = self._read_device_code(reply)
        self._redactor.learn(code.reveal(), temporary=True)
        show(device_code)
        # `expires_in` is required (RFC 8628, section 3.2), but not every server sends it.
        seconds = read_seconds(reply.properties.get("expires_in"), largest=86400.0) or 1800.0
        try:
            async with asyncio.timeout(seconds):
                return self._make_entry(
                    plan, await self._poll_for_token(plan, endpoint, code, reply)
                )
        except TimeoutError:
            raise scheme_error(
                self._name, "the code expired before it was approved; log in again."
            ) from None

    def _read_device_code(self, reply: Reply) -> tuple[Secret, DeviceCode]:
        # RFC 8628, section 3.2.
        properties = reply.properties
        # Google wrote `verification_url` before there was a standard.
        url = properties.get("verification_uri") or properties.get("verification_url")
        texts = (properties.get("device_code"), properties.get("user_code"), url)
        usable = all(isinstance(text, str) and text.isprintable() and text for text in texts)
        code, user_code, url = map(str, texts)
        if not usable or not is_protected(url) or len(user_code) > _LONGEST_CODE:
            raise scheme_error(
                self._name, "the authorization server returned no usable device code."
            )
        return Secret(code), DeviceCode(url, user_code)

    async def _poll_for_token(
        self, plan: LoginPlan, endpoint: TokenEndpoint, code: Secret, reply: Reply
    ) -> Token:
        # RFC 8628, section 3.5.
        interval = read_seconds(reply.properties.get("interval"), largest=60.0) or _INTERVAL
        url, code_parameters = plan.config.token_url, {"device_code": code}
        while True:
            await asyncio.sleep(interval)
            try:
                return await endpoint.request_token(
                    self._channel, url, _DEVICE_GRANT, secrets=code_parameters
                )
            except RefusedError as error:
                if error.code == "slow_down":
                    interval += _SLOW_DOWN
                elif error.code != "authorization_pending":
                    raise
            except CallError as error:
                if error.kind not in ("connection", "timeout", "rate_limited"):
                    raise
                # RFC 8628, section 3.5, asks for an exponential pause after a timeout.
                interval = min(interval * 2, _LONGEST_INTERVAL)

    def _make_entry(self, plan: LoginPlan, token: Token) -> StoredToken:
        config = plan.config
        return StoredToken(
            self._channel.api_origin, self._name, config.client_id, config.token_url, token
        )


def authorization_url(config: OAuth2, redirect_uri: str, *, state: Secret, verifier: Secret) -> str:
    """Return the URL at which a user consents."""
    parts = urlsplit(config.authorization_url)
    fields = {
        "response_type": "code",
        "client_id": config.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(config.scopes or ()),
        "state": state.reveal(),
        "code_challenge": code_challenge(verifier.reveal()),
        "code_challenge_method": "S256",
    }
    if duplicates := fields.keys() & parse_qs(parts.query, keep_blank_values=True):
        reason = (
            f"the URL of the authorization endpoint already has {', '.join(sorted(duplicates))}"
        )
        raise CallError("credentials", f"{reason}; set another one.")
    query = urlencode({name: value for name, value in fields.items() if value})
    return parts._replace(query=f"{parts.query}&{query}".lstrip("&")).geturl()


def code_challenge(verifier: str) -> str:
    """Return the challenge for a code verifier (RFC 7636, section 4.2: S256)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class CallbackServer:
    """The loopback server for a browser's code, as a context manager; it takes one response."""

    def __init__(self, state: Secret, *, port: int, report: Callable[[str], None]) -> None:
        self._state, self._port, self._report = state, port, report

    async def __aenter__(self) -> Self:
        self._response: asyncio.Future[AuthorizationResponse] = (
            asyncio.get_running_loop().create_future()
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(
            self._handle_connection, _CALLBACK_HOST, self._port, limit=_MAX_HEAD_BYTES
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        if self._tasks:
            # The browser still has to receive the page.
            await asyncio.wait(self._tasks, timeout=1)
        for task in self._tasks:
            task.cancel()

    @property
    def url(self) -> str:
        """The redirect URI."""
        return f"http://{_CALLBACK_HOST}:{self._port}{_CALLBACK_PATH}"

    async def wait_for_response(self) -> AuthorizationResponse:
        """Wait for the response with the right state, and return it."""
        # Cancelling a caller must not cancel the future, which a later response still sets.
        return await asyncio.shield(self._response)

    async def _handle_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        connection_errors = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        try:
            with contextlib.suppress(*connection_errors):
                async with asyncio.timeout(_CONNECTION_TIMEOUT):
                    await self._respond(await reader.readuntil(b"\r\n\r\n"), writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _respond(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        response = self._read_response(head)
        status, text = "404 Not Found", "This is not the expected response."
        if response is not None:
            status = "200 OK"
            text = "The login is complete. Close this window and go back to the terminal."
            if not self._response.done():
                self._response.set_result(response)
        body = _BODY.format(text=text)  # holds no part of the request
        writer.write(_PAGE.format(status=status, length=len(body), body=body).encode("ascii"))
        await writer.drain()

    def _read_response(self, head: bytes) -> AuthorizationResponse | None:
        # RFC 6749, section 4.1.2. None for any other request.
        line = _REQUEST_LINE.match(head)
        hosts = [host.strip(b" \t") for host in _HOST_HEADER.findall(head)]
        # A page of another site can send a browser here, but only with its own host name.
        if line is None or hosts != [f"{_CALLBACK_HOST}:{self._port}".encode()]:
            return None
        try:
            parts = urlsplit(line["target"].decode("ascii"))
        except ValueError:  # not an address
            return None
        if (
            parts.path != _CALLBACK_PATH
            or (parsed := read_authorization_response(parts.query)) is None
        ):
            return None
        state, response = parsed
        if not secrets.compare_digest(state.encode(), self._state.reveal().encode()):
            self._report("a response with a wrong state was ignored.")
            return None
        return response


def read_authorization_response(query: str) -> tuple[str, AuthorizationResponse] | None:
    """Return the state and the response in a query (RFC 6749, 4.1.2); None for too many fields."""
    try:
        fields = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    # A parameter sent twice is not used: RFC 6749, section 3.1, forbids it, and two parsers
    # might each take another one.
    single = {name: values[0] for name, values in fields.items() if len(values) == 1}
    code = single.get("code")
    error = excerpt(re.sub(r"[^A-Za-z0-9_.-]", "", single.get("error", "")), 64)
    if not code and not error:
        error = "no_code"
    response = AuthorizationResponse(Secret(code) if code else None, error, single.get("iss"))
    return single.get("state", ""), response
