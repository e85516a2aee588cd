"""The users of a server: who may call, which tools they see, and their credentials at APIs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.serving.inbound_auth import Inbound
from openapi_tools.serving.team_server import Access
from openapi_tools.serving.user_credentials import UserCredentials
from openapi_tools.serving.user_login import BACK, START, Logins
from openapi_tools.shared_state import MemoryState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp

    from openapi_tools.serving.auth_tables import AuthTable
    from openapi_tools.serving.inbound_auth import User
    from openapi_tools.serving.serving_tables import ApiTable, ServeTable
    from openapi_tools.shared_state import SharedState
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_OPEN = ("/healthz", "/readyz", START, BACK)


class UserAccess(Access):
    """Lets in whom `[serve.auth]` names."""

    def __init__(
        self,
        serve: ServeTable,
        auth: AuthTable,
        tables: Mapping[str, ApiTable],
        state: SharedState | None,
    ) -> None:
        self._inbound, self._tables = Inbound(auth, serve.roles), tables
        self._state = state or MemoryState()
        self._is_split = serve.workers > 1 and state is None
        url = auth.resource_url.rstrip("/").removesuffix(serve.path)
        self._logins = Logins(self._inbound, self._state, url)
        self.settings, self.is_closed = self._inbound.settings, True
        self.routes = self._logins.routes()
        self._shown = self._inbound.visible(lambda tool: _served(tool)[0])

    def admit(self, name: str, toolset: Toolset) -> Toolset:
        """Take the tools of an API that was loaded; SettingsError where its users do not fit."""
        table, credentials = self._tables[name].users, None
        if table is not None:
            credentials = UserCredentials(table, toolset, self._state, name=name)
            if self._logins.add(credentials) and self._is_split:
                reason = "mode login with several workers needs redis in [serve]"
                raise SettingsError(f"apis.{name}.users: {reason}.")
        for session in toolset.sessions:
            session.served = name, credentials
        return toolset

    def name_of(self, request: ServerRequestContext[Any]) -> str:
        """Return the name of the user of a request."""
        user = Inbound.user_of(request)
        return "" if user is None else user.name

    async def members_of(self, request: ServerRequestContext[Any]) -> dict[str, Any]:
        """Return the credentials of the user of a request, by tool."""
        credentials = partial(_credentials, Inbound.user_of(request))
        return {"credentials": credentials, "logged_in": self._logins.logged_in}

    def sees(self, tool: OperationTool, request: ServerRequestContext[Any]) -> bool:
        """Tell whether the user of a request may use a tool."""
        return self._shown(tool, request)

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Return an application that lets in requests with a good token."""
        return self._inbound.guard(app, open_paths=_OPEN)

    async def aclose(self) -> None:
        """Close the connections to the issuer."""
        await self._inbound.aclose()


def _served(tool: OperationTool) -> tuple[str, UserCredentials | None]:
    """Return the name of a tool's API, and the credentials of its users."""
    session: Any = tool.session
    found: tuple[str, UserCredentials | None] = session.served
    return found


async def _credentials(user: User | None, tool: OperationTool) -> Mapping[str, Any] | None:
    known = _served(tool)[1]
    return None if known is None else await known.for_user(user, tool)
