"""Pages on which a user logs in at an API in a browser, from a link to a callback.

Spec: RFC 6749, section 4.1, with PKCE (RFC 7636); MCP 2026-07-28, client/elicitation, on phishing;
RFC 6265bis, section 4.1.3 (`__Host-`); Fetch Metadata Request Headers.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html
import json
import logging
import re
import secrets
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import TypeAdapter

from openapi_tools.auth import OriginPolicy
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.login import Login, authorization_url, read_authorization_response
from openapi_tools.common.json_values import digest_of
from openapi_tools.errors import CallError, SettingsError, require_extra
from openapi_tools.model import SecurityScheme
from openapi_tools.redaction import Secret
from openapi_tools.requests import origin_of
from openapi_tools.serving.signing_keys import BadTokenError, fetch_issuer_metadata
from openapi_tools.state.shared_state import LEASE, SECRET, read_record, state_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from openapi_tools.auth.login import LoginPlan
    from openapi_tools.serving.inbound_auth import TokenAuthenticator
    from openapi_tools.serving.user_identity import UserIdentity
    from openapi_tools.state.shared_state import SharedState

    Record = dict[str, str]

with require_extra("serve"):
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route

logger = logging.getLogger("openapi_tools.serving")

START, CALLBACK = "/login", "/login/callback"
# RFC 6749, section 4.1.2, recommends ten minutes at most for a code.
_SECONDS = 600.0  # for a whole login
# Most MCP clients give up a request after 60 s.
_POLLS, _PAUSE = 110, 0.5  # a call waits 55 seconds for its login
_COOKIE, _FORM_COOKIE = "openapi-tools-login", "openapi-tools-form"
_LONGEST_FORM, _MOST_FIELDS = 64 * 1024, 10
_LOGIN_LENGTH = 32  # characters of a login's id
_FLOW = re.compile(r"[A-Za-z0-9_-]{43}")
_RECORD = TypeAdapter(dict[str, str])
_REQUIRED_FIELDS = {"flow": {"user", "identity", "login"}}
_REQUIRED_FIELDS["state"] = {*_REQUIRED_FIELDS["flow"], "step", "verifier", "cookie"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # For browsers without `frame-ancestors`.
    "X-Frame-Options": "DENY",
}
# Without a referrer, browsers send a form with `Origin: null` (Fetch, section 3.2).
_FORM_HEADERS = {**_HEADERS, "Referrer-Policy": "same-origin"}
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>Log in</title>{body}</html>'
)
_FORM = (
    '<form method="post"><input type="hidden" name="form" value="{form}">'
    "<p>To log in at {api}, confirm that you are {user}:</p><p><label>Your token "
    'for this server <input type="password" name="token" autocomplete="off" required></label>'
    "</p><button>Continue</button></form>"
)
_GONE = "This link has expired or was already used. Repeat the call to get a new one."
_FAILED = "<p>The login failed: {reason}</p>"
_FOREIGN = "The form was not sent from this page. Open the link of the call again."


class Logins:
    """The logins of users at APIs; only the user whose call needs a login can complete it.

    Args:
        inbound: Authenticates the users of this server.
        state: Stores the logins in progress and the tokens.
        url: The base URL of the pages, for browsers.
    """

    def __init__(self, inbound: TokenAuthenticator, state: SharedState, url: str) -> None:
        self._inbound, self._state, self._url = inbound, state, url.rstrip("/")
        self._is_secure = self._url.startswith("https:")
        self._identities: dict[str, UserIdentity] = {}

    def add(self, *identities: UserIdentity) -> bool:
        """Let the users of an API log in; return whether one of its identities needs that.

        Raises:
            SettingsError: The server cannot find out who the user of a browser is.
        """
        by_id = {each.id: each for each in identities if each.table.mode == "login"}
        if not by_id:
            return False
        table = self._inbound.table
        needs = f"apis.{identities[0].name}.users: mode login needs"
        if table.issuer and not table.client_id:
            raise SettingsError(f"{needs} client_id in [serve.auth], to find out who logs in.")
        if not self._url:
            raise SettingsError(f"{needs} resource in [serve.auth], this server's URL.")
        self._identities |= by_id
        return True

    def routes(self) -> list[Route]:
        """Return the routes of the pages, which need no token: `START` and `CALLBACK`."""
        start = Route(START, self._show_failures(self._handle_link), methods=["GET", "POST"])
        return [start, Route(CALLBACK, self._show_failures(self._handle_callback), methods=["GET"])]

    def _show_failures(
        self, step: Callable[[Request], Awaitable[Response]]
    ) -> Callable[..., Awaitable[Response]]:
        async def page(request: Request) -> Response:
            try:
                _refuse_embedding(request)
                return await step(request)
            except (BadTokenError, CallError) as error:
                reason = error.reason if isinstance(error, BadTokenError) else "login"
                self._inbound.refusals.note(reason, f"a login failed: {error}")
                is_away = isinstance(error, CallError) and bool(error.facts.get("retryable"))
                response = _render_page(_FAILED, 503 if is_away else 403, reason=str(error))
                response.headers.update({"Retry-After": "30"} if is_away else {})
                return response

        return page

    async def ask_for_login(self, user: str, identity: UserIdentity) -> CallError:
        """Return the error of a call that needs a login; its `login` has `id` and `url`."""
        key = _key("open", json.dumps([identity.id, user]))
        flow = (await self._state.get(key) or b"").decode(errors="replace")
        if not _FLOW.fullmatch(flow):  # missing or damaged
            flow = secrets.token_urlsafe(32)
            record = {"user": user, "identity": identity.id, "login": _digest(flow)[:_LOGIN_LENGTH]}
            await self._put_record("flow", flow, record)
            # Half as long, so that the link of a repeated call is good for five minutes at
            # least.
            await self._state.put(key, flow.encode(), _SECONDS / 2)
        url = f"{self._url}{START}?{urlencode({'flow': flow})}"
        reason = f"{identity.name} needs your login: open {url} in a browser, then call again"
        login = {"url": url, "id": _digest(flow)[:_LOGIN_LENGTH]}
        return CallError("credentials", f"{reason}. The request was not sent.", login=login)

    async def wait_for_login(self, login: str) -> bool:
        """Wait for the end of a login, by its `id`; return whether it came in time."""
        for _ in range(_POLLS):
            if await self._state.get(_key("done", login)) is not None:
                return True
            await asyncio.sleep(_PAUSE)
        return False

    async def _handle_link(self, request: Request) -> Response:
        # First find out who the browser's user is: the link may have been sent to someone else.
        flow = request.query_params.get("flow", "")
        record = await self._get_record("flow", flow)
        if record is None:
            return self._refuse_link()
        if record["user"] not in self._inbound.table.tokens:
            return await self._redirect(record, "user", secrets.token_urlsafe(32))
        if request.method != "POST":
            return self._show_form(request, flow, record)
        form = await self._read_form(request, flow)
        await self._check_user(record, form.get("token", "").strip())
        return await self._redirect(record, "api", secrets.token_urlsafe(32))

    def _refuse_link(self) -> Response:
        self._inbound.refusals.note("login", "the link of a login is unknown, used or expired")
        return _render_page(_GONE, 404)

    def _show_form(self, request: Request, flow: str, record: Record) -> Response:
        # The form is bound to a cookie that requests from other sites do not carry.
        cookie = request.cookies.get(self._cookie_name(_FORM_COOKIE)) or secrets.token_urlsafe(32)
        api, user = self._identities[record["identity"]].name, record["user"]
        page = _render_page(_FORM, form=_form_key(cookie, flow), api=api, user=user)
        page.headers.update(_FORM_HEADERS)
        self._set_cookie(page, _FORM_COOKIE, cookie, "strict")
        return page

    async def _read_form(self, request: Request, flow: str) -> Record:
        # A form of another page could make this browser log in as that page's user (login CSRF).
        sites, origins = (request.headers.getlist(n) for n in ("sec-fetch-site", "origin"))
        is_own = set(origins) <= {origin_of(self._url)} and set(sites) <= {"same-origin"}
        if not is_own:
            raise BadTokenError(_FOREIGN, "login_form")
        form = _read_fields(await request.body())
        cookie = request.cookies.get(self._cookie_name(_FORM_COOKIE), "")
        expected, key = _form_key(cookie, flow).encode(), form.get("form", "").encode()
        if not cookie or not hmac.compare_digest(expected, key):
            raise BadTokenError(_FOREIGN, "login_form")
        return form

    async def _check_user(self, record: Record, token: str) -> None:
        access = await self._inbound.verify_token(token)
        if access.user.name != record["user"]:
            reason = "this login belongs to the call of another user"
            raise BadTokenError(reason, "login_user")

    async def _redirect(self, record: Record, step: str, cookie: str) -> Response:
        # To this server's own authorization server first, which says who the user is; then to
        # that of the API.
        # The state begins with the login's id: opening a link repeatedly evicts only its attempts.
        state, verifier = record["login"] + secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        attempt = {**record, "step": step, "verifier": verifier, "cookie": _digest(cookie)}
        async with self._open_login(attempt) as (_, plan):
            url = authorization_url(
                plan.config, self._url + CALLBACK, state=Secret(state), verifier=Secret(verifier)
            )
        if step == "user":  # RFC 8707, section 2.1
            url += f"&{urlencode({'resource': self._inbound.table.audience})}"
        await self._put_record("state", state, attempt)
        response = RedirectResponse(url, 303, _HEADERS)
        self._set_cookie(response, _COOKIE, cookie, "lax")  # the callback comes from another site
        return response

    def _cookie_name(self, name: str) -> str:
        return f"__Host-{name}" if self._is_secure else name

    def _set_cookie(
        self, response: Response, name: str, value: str, samesite: Literal["lax", "strict"]
    ) -> None:
        # With the prefix `__Host-` other hosts cannot set it; the prefix requires the path `/`.
        path = "/" if self._is_secure else urlsplit(self._url).path + START
        response.set_cookie(
            self._cookie_name(name),
            value,
            int(_SECONDS),
            path=path,
            secure=self._is_secure,
            httponly=True,
            samesite=samesite,
        )

    async def _handle_callback(self, request: Request) -> Response:
        state, authorization = read_authorization_response(request.url.query) or ("", None)
        cookie = request.cookies.get(self._cookie_name(_COOKIE), "")
        async with self._state.lock(_key("state", state), LEASE):
            record = await self._get_record("state", state)
            is_own = record is not None and hmac.compare_digest(record["cookie"], _digest(cookie))
            if record is None or authorization is None or not is_own:
                return self._refuse_link()
            # Before the code is redeemed: a state is good for one response, also a failed one.
            await self._state.remove(_key("state", state))
        redirect_uri, verifier = self._url + CALLBACK, Secret(record["verifier"])
        async with self._open_login(record) as (login, plan):
            stored = await login.redeem_code(
                plan, authorization, verifier=verifier, redirect_uri=redirect_uri
            )
        if record["step"] == "user":
            await self._check_user(record, stored.token.access.reveal())
            return await self._redirect(record, "api", cookie)
        identity = self._identities[record["identity"]]
        await identity.tokens(self._state, record["user"]).save(stored)
        await self._state.remove(_key("open", json.dumps([identity.id, record["user"]])))
        await self._state.put(_key("done", record["login"]), b"1", _SECONDS)
        logger.info("%s logged in at %s", ascii(record["user"]), identity.name)
        return _render_page("You are logged in. Close this window, and repeat the call.")

    @asynccontextmanager
    async def _open_login(self, record: Record) -> AsyncIterator[tuple[Login, LoginPlan]]:
        identity, table = self._identities[record["identity"]], self._inbound.table
        if record["step"] == "user":
            metadata = await fetch_issuer_metadata(table.issuer, self._inbound.sender)
            config = table.client(
                scopes=table.scopes,
                openid_connect_url=metadata["url"],
                extra={"resource": table.audience},
            )
            sender, declared = self._inbound.sender, SecurityScheme("openIdConnect")
            bounds = OriginPolicy(table.issuer, frozenset({origin_of(table.issuer)}))
        else:
            sender, bounds = identity.session.sender, identity.session.default_policy()
            config, declared = identity.config, identity.declared
        async with sender.attempts("the login") as attempts:
            learn = partial(identity.session.redactor.learn, temporary=True)
            channel = Channel.for_call(attempts.transport, bounds, learn)
            login = Login(config, declared, name=identity.scheme, channel=channel)
            plan = await login.make_plan(device=False)
            if plan.foreign_urls and not config.openid_connect_url:
                reason = f"name {' and '.join(plan.foreign_urls)} in apis.{identity.name}.users"
                raise CallError(
                    "credentials", f"the document names endpoints at another origin; {reason}."
                )
            yield login, plan

    async def _put_record(self, kind: str, name: str, record: Record) -> None:
        await self._state.put(_key(kind, name), json.dumps(record).encode(), _SECONDS)

    async def _get_record(self, kind: str, name: str) -> Record | None:
        # None also if this server no longer has the API of the record.
        raw, record = await self._state.get(_key(kind, name)), dict[str, str]()
        if raw is not None:
            try:
                record = read_record(raw, _RECORD)
            except ValueError as error:
                logger.warning("the record of a login is damaged: %s", error)
        is_whole = (
            _REQUIRED_FIELDS[kind] <= record.keys() and record["identity"] in self._identities
        )
        return record if is_whole else None


def _refuse_embedding(request: Request) -> None:
    # A login is for a person who looks at it: not for frames, images or scripts of other pages.
    if request.headers.get("sec-fetch-dest", "document") != "document":
        raise BadTokenError("open the link in a new window", "login_form")


def _read_fields(body: bytes) -> Record:
    # Anyone may send forms, and parsing megabytes would block the event loop.
    if len(body) > _LONGEST_FORM:
        raise BadTokenError("the form is too large", "login_form")
    try:
        fields = parse_qs(body.decode("latin-1"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadTokenError("the form has too many fields", "login_form") from None
    return {name: "".join(values) for name, values in fields.items()}


def _form_key(cookie: str, flow: str) -> str:
    return _digest(f"{cookie} {flow}")


def _key(kind: str, name: str) -> str:
    owner = name[:_LOGIN_LENGTH] if kind == "state" else ""
    return state_key(f"{SECRET}login:{kind}", owner, digest_of(name))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _render_page(body: str, status: int = 200, **facts: str) -> HTMLResponse:
    content = body.format(**{name: html.escape(text) for name, text in facts.items()})
    return HTMLResponse(_PAGE.format(body=content), status, _HEADERS)
