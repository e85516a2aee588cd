"""The users of a server: who may call, and their credentials at each API.

Those are exchanged, passed on, from a login, or configured.

Spec: RFC 8693 (token exchange); MCP 2026-07-28, basic/authorization, on passing tokens through.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from openapi_tools.auth.authorization_server import Endpoints
from openapi_tools.auth.token_requests import RefusedError, TokenEndpoint
from openapi_tools.auth.token_store import SharedTokenStore, StoredToken
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.model import SecurityScheme
from openapi_tools.options import from_environment
from openapi_tools.redaction import Redactor, Secret
from openapi_tools.requests import origin_of
from openapi_tools.serving.inbound_auth import Guard, Inbound
from openapi_tools.serving.serving_tables import user_credential
from openapi_tools.serving.user_login import BACK, START, Logins
from openapi_tools.shared_state import MemoryState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request

    from openapi_tools.auth.authorization_server import Channel
    from openapi_tools.serving import serving_tables as tables
    from openapi_tools.serving.inbound_auth import User
    from openapi_tools.shared_state import SharedState
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

    Ask = Callable[[str, "Identity"], Awaitable[CallError]]

logger = logging.getLogger("openapi_tools")

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
_UNKNOWN = 300.0  # seconds for which an exchanged token without an end is used
_OPEN = ("/healthz", "/readyz", START, BACK)
_BEARER = SecurityScheme("http", scheme="bearer")


class UserAccess:
    """Lets in whom `[serve.auth]` names."""

    def __init__(
        self,
        serve: tables.ServeTable,
        auth: tables.AuthTable,
        apis: Mapping[str, tables.ApiTable],
        state: SharedState | None,
    ) -> None:
        self._inbound, self._apis = Inbound(auth, serve.roles), apis
        self._state = state or MemoryState()
        self._is_split = serve.workers > 1 and state is None
        url = auth.resource_url.rstrip("/").removesuffix(serve.path)
        self._logins = Logins(self._inbound, self._state, url)
        self.settings, self.routes = self._inbound.settings, self._logins.routes()
        self.guard = partial(Guard, inbound=self._inbound, open_paths=_OPEN)
        self.aclose, self.refusals = self._inbound.aclose, self._inbound.refusals
        self.views = self.sees, self._inbound.group

    def admit(self, name: str, toolset: Toolset) -> Toolset:
        """Take the tools of an API that was loaded; SettingsError where its users do not fit."""
        table, credentials = self._apis[name].users, None
        if table is not None:
            credentials = UserCredentials(table, toolset, self._state, name=name)
            if self._logins.add(credentials) and self._is_split:
                reason = "mode login with several workers needs redis in [serve]"
                raise SettingsError(f"apis.{name}.users: {reason}.")
        for session in toolset.sessions:
            session.served = name, credentials
        return toolset

    def sees(self, tool: OperationTool, request: ServerRequestContext[Any]) -> bool:
        """Tell whether the user of a request may use a tool."""
        return self._inbound.sees(tool, _served(tool)[0], request)

    def names_seen(self, tools: Iterable[OperationTool], page: Request) -> set[tuple[str, str]]:
        """Return the API and the name of each tool that the user of a page may use."""
        request: Any = _PageRequest(page)
        return {(_served(tool)[0], tool.name) for tool in tools if self.sees(tool, request)}

    def name_of(self, request: ServerRequestContext[Any]) -> str:
        """Return the name of the user of a request."""
        user = Inbound.user_of(request)
        return "" if user is None else user.name

    def members_of(self, request: ServerRequestContext[Any]) -> dict[str, Any]:
        """Return the members of a call's `Context` with the credentials of its user, by tool."""
        credentials = partial(_credentials, Inbound.user_of(request))
        return {"credentials": credentials, "logged_in": self._logins.logged_in}


class _PageRequest(NamedTuple):
    """A request over HTTP, where one of MCP is read for its user."""

    request: Request


def _served(tool: OperationTool) -> tuple[str, UserCredentials | None]:
    """Return the name of a tool's API, and the credentials of its users."""
    session: Any = tool.session
    found: tuple[str, UserCredentials | None] = session.served
    return found


async def _credentials(user: User | None, tool: OperationTool) -> Mapping[str, Any] | None:
    known = _served(tool)[1]
    return None if known is None else await known.for_user(user, tool)


class Identity:
    """How one API learns the user of a call, for reads or for writes."""

    def __init__(self, table: tables.IdentityTable, name: str, toolset: Toolset) -> None:
        self.table, self.name, self.session = table, name, toolset.session
        schemes = toolset.security_schemes
        self.scheme = table.choose_scheme(schemes, f"apis.{name}.users")
        self.declared, self._schemes = schemes.get(self.scheme, _BEARER), schemes
        self.config = table.client()
        self.static: Mapping[str, str] = from_environment(table.tokens, f"apis.{name}.users.tokens")
        told = [name, self.scheme, table.mode, table.audience, table.resource, table.client_id]
        self.id = json.dumps([*told, *table.scopes])

    @property
    def origin(self) -> str:
        """The origin of the API; CallError without any."""
        return origin_of(self.session.home().server)

    def credential(self, given: Any) -> dict[str, Any]:
        """Return a credential as `Context.credentials` takes it."""
        return user_credential(self.scheme, given, self._schemes)

    def refusal(self, reason: str) -> CallError:
        """Return the error of a call that is not sent."""
        return CallError("credentials", f"{self.name} {reason}. It was not sent.")

    def tokens(self, state: SharedState, user: str, token: str = "") -> SharedTokenStore:
        """Return the place of a user's tokens in the shared state, or of those for one token."""
        return SharedTokenStore(state, self.config, self.id, user, token)


class UserCredentials:
    """The credentials of an API's users, by its table `[apis.NAME.users]`.

    Raises:
        SettingsError: The table does not fit the document, or a variable is not set.
    """

    ask_for_login: Ask  # set by `Logins`

    def __init__(
        self, table: tables.UsersTable, toolset: Toolset, state: SharedState, *, name: str = "api"
    ) -> None:
        self.read = Identity(table.read, name, toolset)
        self.write = Identity(table.write, name, toolset)
        self.state, self._sessions = state, toolset.sessions

    async def for_user(self, user: User | None, tool: OperationTool) -> dict[str, Any] | None:
        """Return the credentials of a user for a call; None for a tool of another API.

        Raises:
            CallError: The user has none, or is unknown; nothing is sent then.
        """
        if tool.session not in self._sessions:
            return None
        identity = self.read if tool.read_only else self.write
        mode = identity.table.mode
        if user is None:
            raise identity.refusal("is called for a user, and this request has none")
        if mode == "static":
            if user.name not in identity.static:
                raise identity.refusal("has no credential for this user")
            return identity.credential(identity.static[user.name])
        if mode == "pass_through":
            # Spec: a token goes no further than the audience that it was issued for.
            if identity.table.audience.rstrip("/") not in user.audiences:
                reason = "takes tokens of its own audience, and yours has another"
                raise identity.refusal(reason)
            return identity.credential(user.token.reveal())
        return identity.credential(UserTokens(self, identity, user))


class UserTokens:
    """The tokens of one user at one API, asked for by this user's calls."""

    __hash__ = None  # type: ignore[assignment] # so that no credential is remembered for another

    def __init__(self, owner: UserCredentials, identity: Identity, user: User) -> None:
        self._owner, self._identity, self._user = owner, identity, user
        self._is_login = identity.table.mode == "login"
        # An exchanged token may do what the token that it was given for may do.
        exchanged = "" if self._is_login else user.token.reveal()
        self._kept = identity.tokens(owner.state, user.name, exchanged)

    async def token(
        self, channel: Channel, *, scopes: Iterable[str] = (), stale: str | None = None
    ) -> str:
        """Return an access token of the user, another one than the stale one; CallError."""
        del scopes  # those of the table are asked for
        # An operation may be at another server than its API, where the user has logged in.
        origin = self._identity.origin
        stored = await self._kept.load(origin)
        if not _is_good(stored, stale):
            async with self._kept.lock(origin):
                stored = await self._kept.load(origin)  # of another call or process
                if not _is_good(stored, stale):
                    stored = await self._renewed(channel, stored)
                    await self._save(stored)
        channel.learn(*stored.token.secrets())
        return stored.token.access.reveal()

    async def _save(self, stored: StoredToken) -> None:
        """Keep a token that the authorization server gave; this call has it in any case."""
        try:
            await self._kept.save(stored)
        except CallError as error:
            logger.warning("a new token for %s is not kept: %s", self._identity.name, error.reason)

    async def _renewed(self, channel: Channel, stored: StoredToken | None) -> StoredToken:
        if not self._is_login:
            return await self._exchanged(channel)
        refresh = None if stored is None else stored.token.refresh
        if refresh is not None:
            try:
                return await self._asked(
                    channel,
                    "refresh_token",
                    secrets={"refresh_token": refresh},
                    refresh_token=refresh,
                )
            except RefusedError as error:
                if error.code != "invalid_grant":
                    raise
        await self._kept.remove(self._identity.origin)
        raise await self._owner.ask_for_login(self._user.name, self._identity)

    async def _exchanged(self, channel: Channel) -> StoredToken:
        """Return a token for the API in exchange for the user's (RFC 8693, section 2)."""
        table = self._identity.table
        stored = await self._asked(
            channel,
            _EXCHANGE,
            parameters={
                "audience": table.audience,
                "resource": table.resource,
                "subject_token_type": _ACCESS,
            },
            secrets={"subject_token": self._user.token},
            scopes=frozenset(table.scopes),
        )
        if stored.token.expires_at is not None:
            return stored
        ends = stored.token.issued_at + _UNKNOWN
        return replace(stored, token=replace(stored.token, expires_at=ends))

    async def _asked(
        self,
        channel: Channel,
        grant_type: str,
        *,
        parameters: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret],
        scopes: frozenset[str] | None = None,
        refresh_token: Secret | None = None,
    ) -> StoredToken:
        identity, config = self._identity, self._identity.config
        endpoints = Endpoints(config, identity.declared, identity.scheme)
        url = await endpoints.find_token_url(channel, None, refresh=grant_type == "refresh_token")
        redactor = Redactor()
        redactor.learn(*config.secrets(), self._user.token.reveal(), passing=True)
        token = await TokenEndpoint(config, redactor).request_token(
            channel,
            url,
            grant_type,
            parameters=parameters,
            secrets=secrets,
            scopes=scopes,
            refresh_token=refresh_token,
        )
        return StoredToken(identity.origin, identity.scheme, config.client_id, url, token)


def _is_good(stored: StoredToken | None, stale: str | None) -> TypeGuard[StoredToken]:
    if stored is None:
        return False
    return stored.token.access.reveal() != stale and not stored.token.is_due(time.time())
