"""Where secrets may go: the origins of a call's credentials, and URLs that are safe for them."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from openapi_tools.requests import origin_of


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """The origins to which credentials may go, and the server of a call.

    Attributes:
        server: The URL of the call's server.
        origins: Where credentials may go.
        source: The origin of the document's URL.
        lenient: The call may be sent without credentials.
        client_adds_credentials: The user's client adds credentials by itself.
        is_named: The setting `credential_origins` names the origins.
    """

    server: str
    origins: frozenset[str]
    source: str = ""
    lenient: bool = False
    client_adds_credentials: bool = False
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


def is_protected(url: str) -> bool:
    """Whether a URL is safe for secrets: https, or this machine (RFC 8252, section 7.3)."""
    # Start-up time: it imports httpx, which a load without calls does not need.
    from openapi_tools.transport.urls import read_url

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        parsed = read_url(url)
    except ValueError:
        return False
    if parsed.host != host or not url.isprintable() or " " in url:
        return False  # the client would go elsewhere
    if not origin_of(url) or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"
