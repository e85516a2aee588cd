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

from openapi_tools.auth.authorization_server import STARTS, Endpoints, exchange, fault, is_protected
from openapi_tools.auth.oauth2 import AUTHORIZATION_CODE, DEVICE, OAuth2
from openapi_tools.auth.tokens import Grants, RefusedError, Stored, Token, form_of, seconds_of
from openapi_tools.errors import CallError
from openapi_tools.redaction import Redactor, Secret, excerpt
from openapi_tools.requests import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.auth.authorization_server import Channel, Reply
    from openapi_tools.model import SecurityScheme

SLOWER = 5.0  # seconds that `slow_down` adds to the interval (RFC 8628, section 3.5)
_INTERVAL, _LONGEST_INTERVAL = 5.0, 60.0
_LONGEST_CODE = 64
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
PATH = "/callback"
HOST = "127.0.0.1"
_LARGEST = 16 * 1024
_PATIENCE = 10.0
_LINE = re.compile(rb"GET (?P<target>/[\x21-\x7e]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:(?P<host>[^\r\n]*+)(?=\r\n)", re.IGNORECASE)
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
class Plan:
    """A login's configuration with every endpoint, for the user to confirm before it begins."""

    config: OAuth2
    issuer: str  # empty if unknown
    names_itself: bool  # the answer has to name the issuer
    elsewhere: tuple[str, ...]  # endpoints of the document that need the user's consent


class DeviceCode(NamedTuple):
    """URL to open, and code to type, on another device."""

    url: str
    user_code: str


class CodeAnswer(NamedTuple):
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

    async def plan(self, *, device: bool) -> Plan:
        """Return the endpoints of the login; no secret is sent."""
        # Nothing is sent to the endpoints before the user has seen them.
        channel = replace(self._channel, may_go=lambda _: True)
        endpoints = Endpoints(self._config, self._scheme, self._name)
        flow = DEVICE if device else AUTHORIZATION_CODE
        found: dict[str, Any] = {"token_url": await endpoints.token(channel, flow)}
        found[STARTS[flow][0]] = await endpoints.start(channel, flow)
        issuer, names_itself = "", False
        if endpoints.discovery_url:
            metadata = await endpoints.metadata(channel)
            issuer = metadata["issuer"]
            names_itself = metadata.get("authorization_response_iss_parameter_supported") is True
        elsewhere = tuple(
            url
            for member, url in found.items()
            if not getattr(self._config, member) and not self._channel.may_go(url)
        )
        return Plan(replace(self._config, **found), issuer, names_itself, elsewhere)

    async def by_browser(
        self, plan: Plan, *, port: int, show: Callable[[str], None], tell: Callable[[str], None]
    ) -> Stored:
        """Show a browser's URL, and return the token of the consent; OSError for a taken port."""
        state, verifier = Secret(secrets.token_urlsafe(32)), Secret(secrets.token_urlsafe(48))
        async with Callback(state, port=port, tell=tell) as callback:
            show(authorization_url(plan.config, callback.url, state=state, verifier=verifier))
            answer = await callback.answer()
        return await self.redeemed(plan, answer, verifier=verifier, back=callback.url)

    async def redeemed(
        self, plan: Plan, answer: CodeAnswer, *, verifier: Secret, back: str
    ) -> Stored:
        """Return the token for the code of an answer that came to the URL `back`."""
        self._redactor.learn(verifier.reveal(), passing=True)
        self._check_issuer(plan, answer.issuer)
        if answer.code is None:
            raise fault(self._name, f"the authorization server refused: {answer.error}.")
        self._redactor.learn(answer.code.reveal(), passing=True)
        given = {"code": answer.code, "code_verifier": verifier}
        grants, url = Grants(plan.config, self._redactor), plan.config.token_url
        asked = grants.ask(
            self._channel, url, "authorization_code", secrets=given, redirect_uri=back
        )
        return self._stored(plan, await asked)

    def _check_issuer(self, plan: Plan, issuer: str | None) -> None:
        """Refuse the answer of another server (RFC 9207, section 2.4)."""
        if issuer is None:
            if plan.names_itself:
                reason = "the answer does not say who answers, though it has to (iss)."
                raise fault(self._name, reason)
            return
        expected = plan.issuer or origin_of(plan.config.authorization_url)
        if (issuer if plan.issuer else origin_of(issuer)) != expected:
            reason = "another authorization server answers than the one asked (iss)."
            raise fault(self._name, reason)

    async def by_device(self, plan: Plan, *, show: Callable[[DeviceCode], None]) -> Stored:
        """Return the token of a user who consents on another device; `show` gets the code."""
        config, url = plan.config, plan.config.device_authorization_url
        form = form_of(config, {"scope": " ".join(config.scopes or ())})
        reply = await exchange(self._channel, url, form)
        grants = Grants(config, self._redactor)
        grants.check(reply, url)
        code, shown = self._device_code(reply)
        self._redactor.learn(code.reveal(), passing=True)
        show(shown)
        seconds = seconds_of(reply.members.get("expires_in"), largest=86400.0) or 1800.0
        try:
            async with asyncio.timeout(seconds):
                return self._stored(plan, await self._polled(plan, grants, code, reply))
        except TimeoutError:
            raise fault(self._name, "the code expired before approval; begin again.") from None

    def _device_code(self, reply: Reply) -> tuple[Secret, DeviceCode]:
        """Return the codes of an answer (RFC 8628, section 3.2)."""
        members = reply.members
        # Google wrote `verification_url` before there was a standard.
        url = members.get("verification_uri") or members.get("verification_url")
        texts = (members.get("device_code"), members.get("user_code"), url)
        usable = all(isinstance(text, str) and text.isprintable() and text for text in texts)
        code, user_code, url = map(str, texts)
        if not usable or not is_protected(url) or len(user_code) > _LONGEST_CODE:
            raise fault(self._name, "the authorization server gives no usable device code.")
        return Secret(code), DeviceCode(url, user_code)

    async def _polled(self, plan: Plan, grants: Grants, code: Secret, reply: Reply) -> Token:
        """Ask until the user has decided (RFC 8628, section 3.5)."""
        interval = seconds_of(reply.members.get("interval"), largest=60.0) or _INTERVAL
        url, asked = plan.config.token_url, {"device_code": code}
        while True:
            await asyncio.sleep(interval)
            try:
                return await grants.ask(self._channel, url, _DEVICE_GRANT, secrets=asked)
            except RefusedError as error:
                if error.code == "slow_down":
                    interval += SLOWER
                elif error.code != "authorization_pending":
                    raise
            except CallError as error:
                if error.kind not in ("connection", "timeout", "rate_limited"):
                    raise
                interval = min(interval * 2, _LONGEST_INTERVAL)

    def _stored(self, plan: Plan, token: Token) -> Stored:
        config = plan.config
        return Stored(
            self._channel.api_origin, self._name, config.client_id, config.token_url, token
        )


def authorization_url(config: OAuth2, back: str, *, state: Secret, verifier: Secret) -> str:
    """Return the URL at which a user consents."""
    parts = urlsplit(config.authorization_url)
    fields = {
        "response_type": "code",
        "client_id": config.client_id,
        "redirect_uri": back,
        "scope": " ".join(config.scopes or ()),
        "state": state.reveal(),
        "code_challenge": code_challenge(verifier.reveal()),
        "code_challenge_method": "S256",
    }
    if taken := fields.keys() & parse_qs(parts.query, keep_blank_values=True):
        reason = f"the authorization endpoint's address already holds {', '.join(sorted(taken))}"
        raise CallError("credentials", f"{reason}; give another one.")
    own = urlencode({name: value for name, value in fields.items() if value})
    return parts._replace(query=f"{parts.query}&{own}".lstrip("&")).geturl()


def code_challenge(verifier: str) -> str:
    """Return the challenge that a code verifier answers (RFC 7636, section 4.2: S256)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class Callback:
    """The loopback server for a browser's code, as a context manager; it takes one right answer."""

    def __init__(self, state: Secret, *, port: int, tell: Callable[[str], None]) -> None:
        self._state, self._port, self._tell = state, port, tell

    async def __aenter__(self) -> Self:
        self._answer: asyncio.Future[CodeAnswer] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=_LARGEST)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        if self._tasks:
            # The page is on its way to the browser.
            await asyncio.wait(self._tasks, timeout=1)
        for task in self._tasks:
            task.cancel()

    @property
    def url(self) -> str:
        """The redirect URI."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def answer(self) -> CodeAnswer:
        """Wait for the right answer and return it."""
        return await asyncio.shield(self._answer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        over = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        try:
            with contextlib.suppress(*over):
                async with asyncio.timeout(_PATIENCE):
                    await self._respond(await reader.readuntil(b"\r\n\r\n"), writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _respond(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        found = self._read(head)
        status, text = "404 Not Found", "This is not the expected answer."
        if found is not None:
            status = "200 OK"
            text = "The answer has arrived. Close this window and go back to the terminal."
            if not self._answer.done():
                self._answer.set_result(found)
        body = _BODY.format(text=text)  # holds no part of the request
        writer.write(_PAGE.format(status=status, length=len(body), body=body).encode("ascii"))
        await writer.drain()

    def _read(self, head: bytes) -> CodeAnswer | None:
        """Return the answer in a request (RFC 6749, section 4.1.2); None for any other request."""
        line, hosts = _LINE.match(head), [host.strip(b" \t") for host in _HOST.findall(head)]
        # A page of another site can lead a browser here, but only under a name of its own.
        if line is None or hosts != [f"{HOST}:{self._port}".encode()]:
            return None
        try:
            parts = urlsplit(line["target"].decode("ascii"))
        except ValueError:  # not an address
            return None
        if parts.path != PATH or (found := read_answer(parts.query)) is None:
            return None
        given, answer = found
        if not secrets.compare_digest(given.encode(), self._state.reveal().encode()):
            self._tell("an answer with a wrong state was passed over.")
            return None
        return answer


def read_answer(query: str) -> tuple[str, CodeAnswer] | None:
    """Return the state and the answer in a query (RFC 6749, 4.1.2); None for a flood of fields."""
    try:
        fields = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    single = {name: values[0] for name, values in fields.items() if len(values) == 1}
    code = single.get("code")
    error = excerpt(re.sub(r"[^A-Za-z0-9_.-]", "", single.get("error", "")), 64)
    if not code and not error:
        error = "no_code"
    answer = CodeAnswer(Secret(code) if code else None, error, single.get("iss"))
    return single.get("state", ""), answer
