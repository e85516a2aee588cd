"""Credentials that need the network's modules: digest, client certificates, tokens of OAuth2.

`auth.schemes` imports this module for the first such credential only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.auth.token_source import TokenSource
from openapi_tools.requests import RequestAuth
from openapi_tools.transport.auth_flow import DigestAuth
from openapi_tools.transport.tls_contexts import client_tls_context

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.model import SecurityScheme
    from openapi_tools.state.shared_state import SharedState


def digest_auth(user: str, password: str) -> RequestAuth:
    """Return digest authentication (RFC 7616)."""
    return RequestAuth(httpx_auth=DigestAuth(user, password))


def certificate_auth(
    cert: str | Path, key: str | Path | None, *, password: str | None, ca_file: Path | None
) -> RequestAuth:
    """Return authentication by a client certificate; CredentialsError if it cannot be read."""
    context = client_tls_context(cert, key, password=password, ca_file=ca_file)
    return RequestAuth(certificate=context)


def make_token_source(
    config: OAuth2, declared: SecurityScheme, name: str, *, state: SharedState | None, user: str
) -> TokenSource:
    """Return the tokens of a scheme, which processes share in a state."""
    return TokenSource(config, declared, name, None if state is None else (state, user))
