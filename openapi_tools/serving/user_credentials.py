"""The users of a server: who may call, and their credentials at each API.

A credential is exchanged, passed through, obtained by a login, or configured.

Spec: RFC 8693 (token exchange); MCP 2026-07-28, basic/authorization, on passing tokens through.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from openapi_tools.auth.authorization_server import Endpoints
from openapi_tools.auth.token_requests import RefusedError, TokenEndpoint
from openapi_tools.auth.tokens import StoredToken
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.redaction import Redactor, Secret
from openapi_tools.serving.inbound_auth import AuthMiddleware, TokenAuthenticator
from openapi_tools.serving.user_identity import UserIdentity
from openapi_tools.serving.user_login import CALLBACK, START, Logins
from openapi_tools.state.shared_state import MemoryState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request

    from openapi_tools.auth.authorization_server import Channel
    from openapi_tools.serving import serving_tables as tables
    from openapi_tools.serving.inbound_auth import CallingUser
    from openapi_tools.serving.user_identity import AskForLogin
    from openapi_tools.state.shared_state import SharedState
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset


logger = logging.getLogger("openapi_tools")

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
_ASSUMED_LIFETIME = 300.0  # seconds, of an exchanged token without `expires_in`
# Probes have no token, and browsers get one only by the login pages.
_OPEN_PATHS = ("/healthz", "/readyz", START, CALLBACK)


class UserAccess:
    """Admits the users that `[serve.auth]` names, and finds their credentials."""

    def __init__(
        self,
        serve: tables.ServeTable,
        auth: tables.AuthTable,
        apis: Mapping[str, tables.ApiTable],
        state: SharedState | None,
    ) -> None:
        self._inbound, self._apis = TokenAuthenticator(auth, serve.roles), apis
        self._state = state or MemoryState()
        self._workers_share_nothing = serve.workers > 1 and state is None
        url = auth.resource_url.rstrip("/").removesuffix(serve.path)
        self._logins = Logins(self._inbound, self._state, url)
        self.settings, self.routes = self._inbound.settings, self._logins.routes()
        self.guard = partial(AuthMiddleware, inbound=self._inbound, open_paths=_OPEN_PATHS)
        self.aclose, self.refusals = self._inbound.aclose, self._inbound.refusals
        self.views = self.may_use, self._inbound.roles_of

    def admit(self, name: str, toolset: Toolset) -> Toolset:
        """Take a loaded API; SettingsError if its table `users` does not match the document."""
        table, credentials = self._apis[name].users, None
        if table is not None:
            credentials = UserCredentials(
                table, toolset, self._state, self._logins.ask_for_login, name=name
            )
            if (
                self._logins.add(credentials.read, credentials.write)
                and self._workers_share_nothing
            ):
                reason = "mode login with several workers needs redis in [serve]"
                raise SettingsError(f"apis.{name}.users: {reason}.")
        for session in toolset.sessions:
            session.served = name, credentials
        return toolset

    def may_use(self, tool: OperationTool, request: ServerRequestContext[Any]) -> bool:
        """Return whether the user of a request may use a tool."""
        return self._inbound.may_see(tool, _served_api(tool)[0], request)

    def visible_names(self, tools: Iterable[OperationTool], page: Request) -> set[tuple[str, str]]:
        """Return the API and the name of each tool that the user of a page may use."""
        request: Any = _PageRequest(page)
        return {(_served_api(tool)[0], tool.name) for tool in tools if self.may_use(tool, request)}

    def name_of(self, request: ServerRequestContext[Any]) -> str:
        """Return the name of the user of a request."""
        user = TokenAuthenticator.find_user(request)
        return "" if user is None else user.name

    def context_fields(self, request: ServerRequestContext[Any]) -> dict[str, Any]:
        """Return the fields of a call's `Context` for its user: credentials by tool, and logins."""
        credentials = partial(_find_credentials, TokenAuthenticator.find_user(request))
        return {"credentials": credentials, "logged_in": self._logins.wait_for_login}


class _PageRequest(NamedTuple):
    """A request for a page in the form of a request of MCP, whose `request` is the HTTP request."""

    request: Request


def _served_api(tool: OperationTool) -> tuple[str, UserCredentials | None]:
    session: Any = tool.session
    served: tuple[str, UserCredentials | None] = session.served
    return served


async def _find_credentials(
    user: CallingUser | None, tool: OperationTool
) -> Mapping[str, Any] | None:
    credentials = _served_api(tool)[1]
    return None if credentials is None else await credentials.credentials_of(user, tool)


class UserCredentials:
    """The credentials of an API's users, by its table `[apis.NAME.users]`.

    Raises:
        SettingsError: The table does not match the document, or a variable is not set.
    """

    def __init__(
        self,
        table: tables.UsersTable,
        toolset: Toolset,
        state: SharedState,
        ask_for_login: AskForLogin,
        *,
        name: str = "api",
    ) -> None:
        self.read = UserIdentity(table.read, name, toolset)
        self.write = UserIdentity(table.write, name, toolset)
        self._state, self._sessions, self._ask_for_login = state, toolset.sessions, ask_for_login

    async def credentials_of(
        self, user: CallingUser | None, tool: OperationTool
    ) -> dict[str, Any] | None:
        """Return the credentials of a user for a call; None for a tool of another API.

        Raises:
            CallError: The user has none, or is unknown; nothing is sent.
        """
        if tool.session not in self._sessions:
            return None
        identity = self.read if tool.read_only else self.write
        mode = identity.table.mode
        if user is None:
            raise identity.refusal("needs a user, but this request has none")
        if mode == "static":
            if user.name not in identity.static:
                raise identity.refusal("has no credential for this user")
            return identity.credential(identity.static[user.name])
        if mode == "pass_through":
            # Spec: MCP, token passthrough: a token is sent only to the audience it was issued for.
            if identity.table.audience.rstrip("/") not in user.audiences:
                reason = "accepts tokens for its own audience only; yours is for another"
                raise identity.refusal(reason)
            return identity.credential(user.token.reveal())
        return identity.credential(UserTokens(self._state, self._ask_for_login, identity, user))


class UserTokens:
    """The tokens of one user at one API, requested by this user's calls."""

    __hash__ = None  # type: ignore[assignment] # so that no credential is cached for another user

    def __init__(
        self,
        state: SharedState,
        ask_for_login: AskForLogin,
        identity: UserIdentity,
        user: CallingUser,
    ) -> None:
        self._ask_for_login, self._identity, self._user = ask_for_login, identity, user
        self._is_login = identity.table.mode == "login"
        # An exchanged token has the rights of the token that it was exchanged for.
        exchanged = "" if self._is_login else user.token.reveal()
        self._stored_tokens = identity.tokens(state, user.name, exchanged)

    async def token(
        self, channel: Channel, *, scopes: Iterable[str] = (), stale: str | None = None
    ) -> str:
        """Return an access token of the user that is not the stale one; CallError."""
        del scopes  # those of the table are requested
        # The API's own origin, where the user has logged in: an operation may be at another server.
        origin = self._identity.origin
        stored = await self._stored_tokens.load(origin)
        if not _is_usable(stored, stale):
            # A refresh token may be good for one use only (RFC 9700, section 4.14.2).
            async with self._stored_tokens.lock(origin):
                stored = await self._stored_tokens.load(origin)  # by another call or process
                if not _is_usable(stored, stale):
                    stored = await self._renew_token(channel, stored)
                    await self._save_token(stored)
        channel.learn(*stored.token.secrets())
        return stored.token.access.reveal()

    async def _save_token(self, stored: StoredToken) -> None:
        # If it cannot be stored, this call still has it.
        try:
            await self._stored_tokens.save(stored)
        except CallError as error:
            logger.warning(
                "a new token for %s cannot be stored: %s", self._identity.name, error.reason
            )

    async def _renew_token(self, channel: Channel, stored: StoredToken | None) -> StoredToken:
        if not self._is_login:
            return await self._exchange_token(channel)
        refresh = None if stored is None else stored.token.refresh
        if refresh is not None:
            try:
                return await self._request_token(
                    channel,
                    "refresh_token",
                    secrets={"refresh_token": refresh},
                    refresh_token=refresh,
                )
            except RefusedError as error:
                if error.code != "invalid_grant":
                    raise
        await self._stored_tokens.remove(self._identity.origin)
        raise await self._ask_for_login(self._user.name, self._identity)

    async def _exchange_token(self, channel: Channel) -> StoredToken:
        # Spec: RFC 8693, section 2.
        table = self._identity.table
        stored = await self._request_token(
            channel,
            _EXCHANGE,
            secrets={"subject_token": self._user.token},
            scopes=frozenset(table.scopes),
            parameters={
                "audience": table.audience,
                "resource": table.resource,
                "subject_token_type": _ACCESS,
            },
        )
        if stored.token.expires_at is not None:
            return stored
        # A token that never expires would outlive the rights of the user's own token.
        expires_at = stored.token.issued_at + _ASSUMED_LIFETIME
        return replace(stored, token=replace(stored.token, expires_at=expires_at))

    async def _request_token(
        self,
        channel: Channel,
        grant_type: str,
        *,
        secrets: Mapping[str, Secret],
        parameters: Mapping[str, str] | None = None,
        scopes: frozenset[str] | None = None,
        refresh_token: Secret | None = None,
    ) -> StoredToken:
        identity, config = self._identity, self._identity.config
        endpoints = Endpoints(config, identity.declared, identity.scheme)
        url = await endpoints.find_token_url(channel, None, refresh=grant_type == "refresh_token")
        redactor = Redactor()
        redactor.learn(*config.secrets(), self._user.token.reveal(), temporary=True)
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


def _is_usable(stored: StoredToken | None, stale: str | None) -> TypeGuard[StoredToken]:
    if stored is None:
        return False
    return stored.token.access.reveal() != stale and not stored.token.is_due(time.time())
