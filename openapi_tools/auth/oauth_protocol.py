"""What authlib knows of OAuth 2, behind typed functions.

Its request functions are used, not its HTTP clients: those come with a client of their own, which
takes no transport of this package, and believe more of an answer than a hostile server deserves.

Spec: RFC 6749, RFC 7636 (PKCE), RFC 8414 (metadata), RFC 8628 (devices).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, quote, urlsplit

from openapi_tools.errors import CallError
from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.auth.oauth2 import OAuth2

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_OWN_FIELDS = frozenset(
    {
        *("client_id", "code_challenge", "code_challenge_method"),
        *("redirect_uri", "response_type", "scope", "state"),
    }
)
_VERIFIER_LENGTH = 64
_STATE_LENGTH = 43


class Form:
    """The body of a request to a token endpoint, with the header that proves the client.

    Attributes:
        body: The form, as it is sent.
        authorization: The header's value; None when the client is named in the form.
    """

    __slots__ = ("authorization", "body")

    def __init__(self, body: Secret, authorization: Secret | None) -> None:
        self.body = body
        self.authorization = authorization


def token_form(config: OAuth2, grant: str, parameters: Mapping[str, str]) -> Form:
    """Return a token request.

    Args:
        config: Who asks; its `extra` parameters are added.
        grant: The `grant_type`.
        parameters: The grant's own; empty ones are left out.
    """
    from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped] # has none
        prepare_token_request,
    )

    wanted = {name: value for name, value in parameters.items() if value}
    return _proven(config, prepare_token_request(grant, "", **wanted))


def plain_form(config: OAuth2, parameters: Mapping[str, str]) -> Form:
    """Return a request that is no token request, for instance of a device.

    Args:
        config: As in `token_form`.
        parameters: As in `token_form`.
    """
    from authlib.common.urls import add_params_to_qs  # type: ignore[import-untyped] # has none

    return _proven(config, add_params_to_qs("", [pair for pair in parameters.items() if pair[1]]))


def _proven(config: OAuth2, body: str) -> Form:
    """Add the further parameters and the proof of who the client is."""
    from authlib.common.urls import add_params_to_qs
    from authlib.oauth2.auth import ClientAuth  # type: ignore[import-untyped] # has none

    body = add_params_to_qs(body, list(config.parameters().items()))
    if not config.client_id:
        return Form(Secret(body), None)
    in_header = config.client_auth == "client_secret_basic"
    parts = [config.client_id, config.revealed("client_secret")]
    if in_header:
        # RFC 6749, section 2.3.1, with %20 for a space: not every server knows the plus sign.
        parts = [quote(part, safe="") for part in parts]
    client = ClientAuth(*parts, config.client_auth)
    _, headers, body = client.prepare("POST", "", {}, body)
    header = headers.get("Authorization")
    return Form(Secret(body), Secret(header) if header else None)


def authorization_url(url: str, config: OAuth2, **parameters: str) -> str:
    """Return where a person agrees to what the client asks for.

    Args:
        url: The authorization endpoint.
        config: Who asks.
        parameters: `redirect_uri`, `scope`, `state` and `verifier`.

    Raises:
        CallError: The endpoint's own query holds what only this request may say.
    """
    from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
    from authlib.oauth2.rfc7636 import (  # type: ignore[import-untyped] # has none
        create_s256_code_challenge,
    )

    taken = _OWN_FIELDS.intersection(parse_qs(urlsplit(url).query, keep_blank_values=True))
    if taken:
        reason = f"the authorization endpoint's address already holds {', '.join(sorted(taken))}"
        raise CallError("credentials", f"{reason}; give another one.")
    challenge = create_s256_code_challenge(parameters.pop("verifier"))
    made = prepare_grant_uri(
        url,
        config.client_id,
        "code",
        **parameters,
        code_challenge=challenge,
        code_challenge_method="S256",
    )
    return cast("str", made)


def new_state() -> str:
    """Return a text that nobody guesses."""
    return _random(_STATE_LENGTH)


def new_verifier() -> str:
    """Return a code verifier (RFC 7636, section 4.1)."""
    return _random(_VERIFIER_LENGTH)


def _random(length: int) -> str:
    from authlib.common.security import generate_token  # type: ignore[import-untyped] # has none

    return cast("str", generate_token(length))


def metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return where an issuer describes itself.

    Spec: OpenID Connect Discovery 1.0, section 4.1; RFC 8414, section 3.1.

    Args:
        issuer: As the description says it.
    """
    from authlib.oauth2.rfc8414 import (  # type: ignore[import-untyped] # has none
        get_well_known_url,
    )
    from authlib.oidc.discovery import (  # type: ignore[import-untyped] # has none
        get_well_known_url as get_openid_url,
    )

    bare = issuer.rstrip("/")
    return (
        get_openid_url(issuer, external=True),
        get_well_known_url(issuer, external=True),
        get_well_known_url(bare, external=True),
        get_well_known_url(bare, external=True, suffix="openid-configuration"),
    )
