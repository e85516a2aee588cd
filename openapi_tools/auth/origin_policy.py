"""The origins to which credentials may go."""

from __future__ import annotations

from dataclasses import dataclass

from openapi_tools.requests import origin_of


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """The origins to which credentials may go, and the server of a call.

    Attributes:
        server: The URL of the call's server.
        origins: Where credentials may go.
        source: The origin of the document's URL.
        lenient: The call may be sent without credentials.
        client_brings: The user's client adds credentials by itself.
        is_named: The setting `credential_origins` names the origins.
    """

    server: str
    origins: frozenset[str]
    source: str = ""
    lenient: bool = False
    client_brings: bool = False
    is_named: bool = False

    @property
    def allows_server(self) -> bool:
        """Whether the server has one of the origins."""
        origin = origin_of(self.server)
        return bool(origin) and origin in self.origins

    def describe_refusal(self, subject: str = "the operation") -> str:
        """Return why credentials do not go to the server, and the setting that sends them."""
        origin = origin_of(self.server)
        reason = f"credentials are for {' or '.join(sorted(self.origins))}"
        if not self.origins and self.is_named:
            reason = "setting credential_origins is empty, so no credentials are sent"
        elif not self.origins:
            reason = "document lists no server to send credentials to"
            if self.source:
                reason = f"document came from {self.source}, and credentials are sent only there"
        origins = tuple(sorted({*self.origins, origin}))
        return (
            f"{subject} is served at {origin}, but the {reason}. "
            f"To send them there, set Settings(credential_origins={origins})."
        )
