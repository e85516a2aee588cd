"""Pages on which a user logs in at an API in a browser: started by a link, ended by a callback.

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
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import TypeAdapter

from openapi_tools.auth import OriginPolicy
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.login import Login, authorization_url, read_authorization_response
from openapi_tools.errors import CallError, SettingsError, requiring
from openapi_tools.json_values import digest_of
from openapi_tools.model import SecurityScheme
from openapi_tools.redaction import Secret
from openapi_tools.requests import origin_of
from openapi_tools.serving.signing_keys import BadTokenError, issuer_metadata
from openapi_tools.shared_state import LEASE, SECRET, read_record, state_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from openapi_tools.auth.login import LoginPlan
    from openapi_tools.serving.inbound_auth import Inbound
    from openapi_tools.serving.user_credentials import Identity, UserCredentials
    from openapi_tools.shared_state import SharedState

    Record = dict[str, str]

with requiring("serve"):
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route

logger = logging.getLogger("openapi_tools.serving")

START, BACK = "/login", "/login/callback"
_SECONDS = 600.0  # for a whole login
_LOOKS, _PAUSE = 110, 0.5  # for the end of a login: 55 seconds
_COOKIE, _FORM_COOKIE = "openapi-tools-login", "openapi-tools-form"
_LONGEST_FORM, _MOST_FIELDS = 64 * 1024, 10
_FLOW = re.compile(r"[A-Za-z0-9_-]{43}")
_RECORD = TypeAdapter(dict[str, str])
_MEMBERS = {"flow": {"user", "identity", "login"}}
_MEMBERS["state"] = {*_MEMBERS["flow"], "step", "verifier", "cookie"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
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
    "<p>To log in at {api}, show that you are {user}:</p><p><label>Your token "
    'for this server <input type="password" name="token" autocomplete="off" required></label>'
    "</p><button>Go on</button></form>"
)
_GONE = "This link has expired or was used. Make the call again to get another one."
_FAILED = "<p>The login failed: {reason}</p>"
_FOREIGN = "The form was not sent by this page. Open the link of the call again."


class Logins:
    """The logins of users at APIs; the browser's user has to be the one whose call needs it.

    Args:
        inbound: Tells the users of this server.
        state: Keeps what goes on, and the tokens.
        url: The address below which browsers reach the pages.
    """

    def __init__(self, inbound: Inbound, state: SharedState, url: str) -> None:
        self._inbound, self._state, self._url = inbound, state, url.rstrip("/")
        self._is_secure = self._url.startswith("https:")
        self._known: dict[str, Identity] = {}

    def add(self, credentials: UserCredentials) -> bool:
        """Let the users of an API log in, and tell whether they have to.

        Raises:
            SettingsError: The user of a browser cannot be told.
        """
        table, credentials.ask_for_login = self._inbound.table, self.begin
        both = (credentials.read, credentials.write)
        wanted = {each.id: each for each in both if each.table.mode == "login"}
        needs = f"apis.{credentials.read.name}.users: mode login needs"
        if wanted and table.issuer and not table.client_id:
            raise SettingsError(f"{needs} client_id in [serve.auth], to tell who logs in.")
        if wanted and not self._url:
            raise SettingsError(f"{needs} resource in [serve.auth], this server's URL.")
        self._known |= wanted
        return bool(wanted)

    def routes(self) -> list[Route]:
        """Return the routes of the pages, which need no token: `START` and `BACK`."""
        start = Route(START, self._safe(self._start), methods=["GET", "POST"])
        return [start, Route(BACK, self._safe(self._back), methods=["GET"])]

    def _safe(
        self, step: Callable[[Request], Awaitable[Response]]
    ) -> Callable[..., Awaitable[Response]]:
        """Return a page that says why it failed."""

        async def page(request: Request) -> Response:
            try:
                _check_window(request)
                return await step(request)
            except (BadTokenError, CallError) as error:
                reason = error.reason if isinstance(error, BadTokenError) else "login"
                self._inbound.refusals.note(reason, f"a login failed: {error}")
                is_away = isinstance(error, CallError) and bool(error.facts.get("retryable"))
                response = _page(_FAILED, 503 if is_away else 403, reason=str(error))
                response.headers.update({"Retry-After": "30"} if is_away else {})
                return response

        return page

    async def begin(self, user: str, identity: Identity) -> CallError:
        """Return the error of a call that needs a login; its `login` has `id` and `url`."""
        key = _key("open", json.dumps([identity.id, user]))
        flow = (await self._state.get(key) or b"").decode(errors="replace")
        if not _FLOW.fullmatch(flow):  # there is none, or it is damaged
            flow = secrets.token_urlsafe(32)
            record = {"user": user, "identity": identity.id, "login": _digest(flow)[:32]}
            await self._put("flow", flow, record)
            await self._state.put(key, flow.encode(), _SECONDS / 2)
        url = f"{self._url}{START}?{urlencode({'flow': flow})}"
        reason = f"{identity.name} needs your login: open {url} in a browser, then call again"
        told = {"url": url, "id": _digest(flow)[:32]}
        return CallError("credentials", f"{reason}. It was not sent.", login=told)

    async def logged_in(self, login: str) -> bool:
        """Wait for the end of a login, by its `id`; tell whether it came."""
        for _ in range(_LOOKS):
            if await self._state.get(_key("done", login)) is not None:
                return True
            await asyncio.sleep(_PAUSE)
        return False

    async def _start(self, request: Request) -> Response:
        """Begin to tell the browser's user: a link may have been sent to another person."""
        flow = request.query_params.get("flow", "")
        record = await self._get("flow", flow)
        if record is None:
            return self._refuse_link()
        if record["user"] not in self._inbound.table.tokens:
            return await self._sent(record, "user", secrets.token_urlsafe(32))
        if request.method != "POST":
            return self._show_form(request, flow, record)
        form = await self._read_form(request, flow)
        await self._check_user(record, form.get("token", "").strip())
        return await self._sent(record, "api", secrets.token_urlsafe(32))

    def _refuse_link(self) -> Response:
        self._inbound.refusals.note("login", "the link of a login is unknown, used or expired")
        return _page(_GONE, 404)

    def _show_form(self, request: Request, flow: str, record: Record) -> Response:
        """Return the form, bound to a cookie that no other site's request carries."""
        cookie = request.cookies.get(self._cookie(_FORM_COOKIE)) or secrets.token_urlsafe(32)
        api, user = self._known[record["identity"]].name, record["user"]
        page = _page(_FORM, form=_form_key(cookie, flow), api=api, user=user)
        page.headers.update(_FORM_HEADERS)
        self._set_cookie(page, _FORM_COOKIE, cookie, "strict")
        return page

    async def _read_form(self, request: Request, flow: str) -> Record:
        """Return the fields of a form; BadTokenError for one that another page sends.

        Otherwise that page could have this browser log in as its own user (login CSRF).
        """
        sites, origins = (request.headers.getlist(n) for n in ("sec-fetch-site", "origin"))
        is_own = set(origins) <= {origin_of(self._url)} and set(sites) <= {"same-origin"}
        if not is_own:
            raise BadTokenError(_FOREIGN, "login_form")
        form = _fields(await request.body())
        cookie = request.cookies.get(self._cookie(_FORM_COOKIE), "")
        expected, key = _form_key(cookie, flow).encode(), form.get("form", "").encode()
        if not cookie or not hmac.compare_digest(expected, key):
            raise BadTokenError(_FOREIGN, "login_form")
        return form

    async def _check_user(self, record: Record, token: str) -> None:
        access = await self._inbound.verify(token)
        if access.user.name != record["user"]:
            reason = "you are another user than the one whose call needs this login"
            raise BadTokenError(reason, "login_user")

    async def _sent(self, record: Record, step: str, cookie: str) -> Response:
        """Send the browser to an authorization server: this server's, then the API's."""
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        kept = {**record, "step": step, "verifier": verifier, "cookie": _digest(cookie)}
        async with self._login(kept) as (_, plan):
            told = {"state": Secret(state), "verifier": Secret(verifier)}
            url = authorization_url(plan.config, self._url + BACK, **told)
        if step == "user":  # RFC 8707, section 2.1
            url += f"&{urlencode({'resource': self._inbound.table.audience})}"
        await self._put("state", state, kept)
        answer = RedirectResponse(url, 303, _HEADERS)
        self._set_cookie(answer, _COOKIE, cookie, "lax")  # the callback comes from another site
        return answer

    def _cookie(self, name: str) -> str:
        return f"__Host-{name}" if self._is_secure else name

    def _set_cookie(
        self, response: Response, name: str, value: str, samesite: Literal["lax", "strict"]
    ) -> None:
        # `__Host-` keeps other hosts from setting it, and needs the path `/`.
        path = "/" if self._is_secure else urlsplit(self._url).path + START
        response.set_cookie(
            self._cookie(name),
            value,
            int(_SECONDS),
            path=path,
            secure=self._is_secure,
            httponly=True,
            samesite=samesite,
        )

    async def _back(self, request: Request) -> Response:
        state, answer = read_authorization_response(request.url.query) or ("", None)
        cookie = request.cookies.get(self._cookie(_COOKIE), "")
        async with self._state.lock(_key("state", state), LEASE):
            record = await self._get("state", state)
            is_own = record is not None and hmac.compare_digest(record["cookie"], _digest(cookie))
            if record is None or answer is None or not is_own:
                return self._refuse_link()
            await self._state.remove(_key("state", state))
        back, verifier = self._url + BACK, Secret(record["verifier"])
        async with self._login(record) as (login, plan):
            stored = await login.redeem_code(plan, answer, verifier=verifier, redirect_uri=back)
        if record["step"] == "user":
            await self._check_user(record, stored.token.access.reveal())
            return await self._sent(record, "api", cookie)
        identity = self._known[record["identity"]]
        await identity.tokens(self._state, record["user"]).save(stored)
        await self._state.remove(_key("open", json.dumps([identity.id, record["user"]])))
        await self._state.put(_key("done", record["login"]), b"1", _SECONDS)
        logger.info("%s logged in at %s", ascii(record["user"]), identity.name)
        return _page("You are logged in. Close this window, and make the call again.")

    @asynccontextmanager
    async def _login(self, record: Record) -> AsyncIterator[tuple[Login, LoginPlan]]:
        """Yield the login of a step, and its endpoints."""
        identity, table = self._known[record["identity"]], self._inbound.table
        if record["step"] == "user":
            place = (await issuer_metadata(table.issuer, self._inbound.sender))["url"]
            members: Any = {"scopes": table.scopes, "openid_connect_url": place}
            config = table.client(extra={"resource": table.audience}, **members)
            sender, declared = self._inbound.sender, SecurityScheme("openIdConnect")
            bounds = OriginPolicy(table.issuer, frozenset({origin_of(table.issuer)}))
        else:
            sender, bounds = identity.session.sender, identity.session.home()
            config, declared = identity.config, identity.declared
        async with sender.attempts("the login") as attempts:
            learn = partial(identity.session.redactor.learn, passing=True)
            channel = Channel.for_call(attempts.transport, bounds, learn)
            login = Login(config, declared, name=identity.scheme, channel=channel)
            plan = await login.make_plan(device=False)
            if plan.elsewhere and not config.openid_connect_url:
                reason = f"name {' and '.join(plan.elsewhere)} in apis.{identity.name}.users"
                raise CallError("credentials", f"the document leads elsewhere; {reason}.")
            yield login, plan

    async def _put(self, kind: str, name: str, record: Record) -> None:
        await self._state.put(_key(kind, name), json.dumps(record).encode(), _SECONDS)

    async def _get(self, kind: str, name: str) -> Record | None:
        """Return the record of a name, for an API that this server still has."""
        raw, record = await self._state.get(_key(kind, name)), dict[str, str]()
        if raw is not None:
            try:
                record = read_record(raw, _RECORD)
            except ValueError as error:
                logger.warning("the record of a login is damaged: %s", error)
        is_whole = _MEMBERS[kind] <= record.keys() and record["identity"] in self._known
        return record if is_whole else None


def _check_window(request: Request) -> None:
    """Refuse frames, images and scripts of other pages: a person looks at a login."""
    if request.headers.get("sec-fetch-dest", "document") != "document":
        raise BadTokenError("open the link in a window of its own", "login_form")


def _fields(body: bytes) -> Record:
    """Return the fields of a form; BadTokenError for a large one."""
    # Anyone may send forms: to read one of megabytes would keep the event loop busy.
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
    return state_key(f"{SECRET}login:{kind}", "", digest_of(name))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _page(body: str, status: int = 200, **facts: str) -> HTMLResponse:
    shown = body.format(**{name: html.escape(text) for name, text in facts.items()})
    return HTMLResponse(_PAGE.format(body=shown), status, _HEADERS)
