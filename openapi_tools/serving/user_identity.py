"""How an API authenticates the users of a server, as a table `[apis.NAME.users]` says."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from openapi_tools.auth.shared_tokens import SharedTokenStore
from openapi_tools.common.options import expand_variables
from openapi_tools.errors import CallError
from openapi_tools.model import SecurityScheme
from openapi_tools.requests import origin_of
from openapi_tools.serving.serving_tables import user_credential

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.serving import serving_tables as tables
    from openapi_tools.state.shared_state import SharedState
    from openapi_tools.toolsets.toolset import Toolset

_BEARER = SecurityScheme("http", scheme="bearer")


class UserIdentity:
    """How one API authenticates the user of a call, for reads or for writes."""

    def __init__(self, table: tables.IdentityTable, name: str, toolset: Toolset) -> None:
        self.table, self.name, self.session = table, name, toolset.session
        schemes = toolset.security_schemes
        self.scheme = table.choose_scheme(schemes, f"apis.{name}.users")
        self.declared, self._schemes = schemes.get(self.scheme, _BEARER), schemes
        self.config = table.client()
        self.static: Mapping[str, str] = expand_variables(table.tokens, f"apis.{name}.users.tokens")
        facts = [name, self.scheme, table.mode, table.audience, table.resource, table.client_id]
        self.id = json.dumps([*facts, *table.scopes])

    @property
    def origin(self) -> str:
        """The origin of the API; CallError if it has none."""
        return origin_of(self.session.default_policy().server)

    def credential(self, value: Any) -> dict[str, Any]:
        """Return a credential as `Context.credentials` takes it."""
        return user_credential(self.scheme, value, self._schemes)

    def refusal(self, reason: str) -> CallError:
        """Return the error of a call that is not sent."""
        return CallError("credentials", f"{self.name} {reason}; the request was not sent.")

    def tokens(self, state: SharedState, user: str, token: str = "") -> SharedTokenStore:
        """Return a user's tokens in the shared state, or those that one token was exchanged for."""
        return SharedTokenStore(state, self.config, self.id, user, token)


AskForLogin = Callable[[str, UserIdentity], Awaitable[CallError]]
"""Takes the name of a user and an identity; returns the error of the call that needs a login."""
