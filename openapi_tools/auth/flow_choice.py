"""Which way to a token is meant, when nobody said so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.auth.oauth2 import AUTHORIZATION_CODE, CLIENT_CREDENTIALS, DEVICE, PASSWORD
from openapi_tools.errors import CredentialsError

if TYPE_CHECKING:
    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.model import SecurityScheme

_OF_PERSONS = frozenset({AUTHORIZATION_CODE, DEVICE, PASSWORD, "implicit"})


def chosen_flow(config: OAuth2, scheme: SecurityScheme, name: str) -> str | None:
    """Return the flow by which tokens are fetched; None when only a login brings some.

    A client's own rights never take the place of a person's: where the document has flows for
    persons and such a token is given, client credentials must be asked for by `flow`.

    Args:
        config: As the user gave it.
        scheme: The document's.
        name: Of the scheme, for messages.

    Raises:
        CredentialsError: What is given leads to no token.
    """
    # Many documents say no more than that a bearer token is wanted.
    if scheme.type not in ("oauth2", "openIdConnect") and scheme.scheme != "bearer":
        raise _refusal(name, f"is {scheme.type!r}, which takes no OAuth2(…).")
    flow = config.flow or _guessed(config, scheme, name)
    if flow == CLIENT_CREDENTIALS and not config.client_id:
        raise _refusal(name, "needs OAuth2(client_id=…, client_secret=…) for client credentials.")
    if flow == PASSWORD and not config.username:
        raise _refusal(name, "needs OAuth2(username=…, password=…) for the password flow.")
    if flow in (CLIENT_CREDENTIALS, PASSWORD) or _has_token(config):
        return flow
    login = f"openapi-tools login SPEC {name} --token-file FILE"
    raise _refusal(
        name,
        "gets no token from what OAuth2(…) holds: give client_id and client_secret where the "
        f"document has client credentials, or a refresh_token, or log in: {login}",
    )


def _guessed(config: OAuth2, scheme: SecurityScheme, name: str) -> str | None:
    named = bool(config.token_url)
    if config.username:
        if PASSWORD in scheme.flows or named:
            return PASSWORD
        raise _refusal(name, "has no password flow in the document; to use it give token_url.")
    is_own = CLIENT_CREDENTIALS in scheme.flows or named or scheme.type == "openIdConnect"
    is_own = is_own or bool(config.openid_connect_url)
    if config.client_secret is None or not is_own:
        return None
    is_person = _has_token(config) and (
        not _OF_PERSONS.isdisjoint(scheme.flows) or CLIENT_CREDENTIALS not in scheme.flows
    )
    return None if is_person else CLIENT_CREDENTIALS


def _has_token(config: OAuth2) -> bool:
    return bool(config.access_token or config.refresh_token or config.token_file)


def _refusal(name: str, reason: str) -> CredentialsError:
    return CredentialsError(f"security scheme {name!r} {reason}", scheme=name)
