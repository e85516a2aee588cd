"""Security schemes: a credential as a part of a request (RFC 9110, 11; RFC 6750, 7616 and 7617)."""

from __future__ import annotations

import base64
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from openapi_tools.auth.oauth2 import OAuth2, reveal_secret
from openapi_tools.common.options import expand_variables
from openapi_tools.common.visible_text import strip_hidden
from openapi_tools.errors import CredentialsError
from openapi_tools.redaction import MASK, Redactor
from openapi_tools.requests import RequestAuth

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from openapi_tools.auth.authorization_server import Channel
    from openapi_tools.model import SecurityScheme
    from openapi_tools.state.shared_state import SharedState

    Ask = Callable[["TokenContext"], Awaitable[RequestAuth]]

_TOKEN_TYPES = ("oauth2", "openIdConnect")
_LOCATIONS = ("header", "query", "cookie")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate, for `mutualTLS`: PEM files, and the password of the private key.

    The certificate's file also contains its chain, and the key if `key` is None.
    """

    cert: str | Path
    key: str | Path | None = None
    password: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A security scheme, and what its credentials need.

    Attributes:
        name: The name of the scheme in the document.
        declared: The scheme as the document has it.
        redactor: Learns the secrets.
        ca_file: Certificate authorities, for a client certificate's connections.
        state: Where processes share tokens.
        user: Whose credential it is; empty for the toolset's own.
    """

    name: str
    declared: SecurityScheme
    redactor: Redactor
    ca_file: Path | None = None
    state: SharedState | None = None
    user: str = ""

    @property
    def uses_authorization(self) -> bool:
        """Whether the header `Authorization` holds its credential."""
        return self.declared.type in ("http", *_TOKEN_TYPES)

    def error(self, reason: str) -> CredentialsError:
        """Return the error for a credential, without its value."""
        return CredentialsError(f"the credential for {self.name!r} {reason}", scheme=self.name)


@dataclass(frozen=True, slots=True, eq=False)
class TokenContext:
    """What a source of credentials gets for one call; `stale` was refused with 401."""

    channel: Callable[[], Channel]
    redactor: Redactor
    scopes: tuple[str, ...] = ()
    stale: RequestAuth | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Credential:
    """What a credential adds to requests: masked, and either fixed or fetched for each call."""

    masked: RequestAuth
    fixed: RequestAuth | None = field(default=None, repr=False)
    ask: Ask | None = field(default=None, repr=False)


def make_credential(scheme: Scheme, credential: Any, *, expand: bool = True) -> Credential:
    """Return a credential; `expand` reads `${NAME}` in strings, which must be the user's own."""
    masked = _mask_auth(scheme)
    if (config := _read_oauth2(scheme, credential)) is not None:  # it expands its own variables
        return Credential(masked, ask=_make_token_source(scheme, config))
    if callable(getattr(credential, "token", None)) and not _is_auth(credential):
        return Credential(masked, ask=_ask_tokens(credential))
    credential = expand_variables(credential, scheme.name) if expand else credential
    if callable(credential) and not _is_auth(credential):
        return Credential(masked, ask=_ask_function(scheme, credential))
    return Credential(masked, _make_auth(scheme, credential))


def cache_key(scheme: Scheme, value: Any) -> Any:
    """Return a credential in a form that compares by value, if it has one."""
    config = _read_oauth2(scheme, value, expand=False)
    if config is not None:
        return config
    if scheme.declared.type == "mutualTLS" and not _is_context(value):
        return _read_certificate(scheme, value)
    return value


def describe_credential(name: str, declared: SecurityScheme | None) -> str:
    """Return the name and the kind of a credential, for a message."""
    match declared:
        case None:
            return strip_hidden(f"{name!r:.100} (which the document does not define)")
        case _ if declared.type == "apiKey":
            what = f"API key, {declared.location} {declared.name!r:.60}"
        case _ if declared.scheme in ("basic", "digest"):
            what = f"HTTP {declared.scheme}, user and password"
        case _ if declared.type == "http":
            what = f"HTTP {declared.scheme:.60}"
        case _ if declared.type in _TOKEN_TYPES:
            what = f"{'OAuth2' if declared.type == 'oauth2' else 'OpenID Connect'}, a token"
        case _:
            is_tls = declared.type == "mutualTLS"
            what = "a client certificate" if is_tls else f"{declared.type:.60}"
    return strip_hidden(f"{name!r:.100} ({what})")


def _mask_auth(scheme: Scheme) -> RequestAuth:
    declared = scheme.declared
    if declared.type == "apiKey":
        return _place_key(scheme, MASK)
    if scheme.uses_authorization:
        word = declared.scheme if declared.type == "http" else "bearer"
        return RequestAuth(headers=(("Authorization", f"{word.capitalize()} {MASK}"),))
    if declared.type == "mutualTLS":
        return RequestAuth()
    kind = f"{declared.type} {declared.scheme}".strip()
    reason = f"security scheme {scheme.name!r} is {kind!r}, which is not supported."
    raise CredentialsError(reason, scheme=scheme.name)


def _make_auth(scheme: Scheme, value: Any) -> RequestAuth:
    declared = scheme.declared
    if _is_auth(value):
        return RequestAuth(httpx_auth=value)
    if declared.type == "mutualTLS" and _is_context(value):
        return RequestAuth(certificate=value)
    if declared.type == "apiKey":
        secret = _read_string(scheme, value)
        scheme.redactor.learn(secret, secret.partition(" ")[2])  # after a word, as in `Token …`
        return _place_key(scheme, secret)
    if declared.type == "mutualTLS" or declared.scheme == "digest":
        return _make_network_auth(scheme, value)
    if declared.scheme == "basic":
        pair = ":".join(_read_user_and_password(scheme, value))
        return _authorization_header(scheme, "Basic", base64.b64encode(pair.encode()).decode())
    word = "Bearer" if declared.type != "http" else declared.scheme.capitalize()
    secret = _read_string(scheme, value)
    # Users paste the whole header; `Bearer Bearer …` is a 401 that no message explains.
    if secret.lower().startswith(f"{word.lower()} "):
        secret = secret[len(word) :].strip()
    return _authorization_header(scheme, word, secret)


def _authorization_header(scheme: Scheme, word: str, secret: str) -> RequestAuth:
    scheme.redactor.learn(secret)
    return RequestAuth(headers=(("Authorization", f"{word} {secret}"),))


def _place_key(scheme: Scheme, secret: str) -> RequestAuth:
    declared = scheme.declared
    if declared.location not in _LOCATIONS or not declared.name:
        where = f"{declared.location!r} with the name {declared.name!r}"
        reason = f"security scheme {scheme.name!r} has its key in {where}; "
        reason += "expected 'header', 'query' or 'cookie' and a name."
        raise CredentialsError(reason, scheme=scheme.name)
    keys = {declared.location: ((declared.name, secret),)}
    header, query, cookie = (keys.get(location, ()) for location in _LOCATIONS)
    return RequestAuth(header, query, cookie)


def _make_network_auth(scheme: Scheme, value: Any) -> RequestAuth:
    if scheme.declared.type != "mutualTLS":
        user, password = _read_user_and_password(scheme, value)
        digest: RequestAuth = _import_network_auth().digest_auth(user, password)
        return digest
    certificate, passphrase = _read_certificate(scheme, value), None
    if certificate.password is not None:
        passphrase = _read_string(scheme, certificate.password)
        scheme.redactor.learn(passphrase)
    auth: RequestAuth = _import_network_auth().certificate_auth(
        certificate.cert, certificate.key, password=passphrase, ca_file=scheme.ca_file
    )
    return auth


def _import_network_auth() -> Any:
    # Start-up time: a load without calls needs neither ssl nor httpx, which take 50 ms to import.
    from openapi_tools.auth import network_auth

    return network_auth


def _is_context(value: Any) -> TypeGuard[ssl.SSLContext]:
    module = sys.modules.get("ssl")  # every context needs it
    return module is not None and isinstance(value, module.SSLContext)


def _read_certificate(scheme: Scheme, value: Any) -> ClientCertificate:
    try:
        if isinstance(value, Mapping):
            value = ClientCertificate(**value)
        elif isinstance(value, list | tuple):
            value = ClientCertificate(*value)
    except TypeError:
        raise scheme.error("takes cert, key and password only.") from None
    return value if isinstance(value, ClientCertificate) else ClientCertificate(value)


def _is_auth(value: Any) -> bool:
    # An `httpx.Auth`; to import httpx would make a load without calls slower.
    return hasattr(value, "async_auth_flow") and not isinstance(value, type)


def _read_oauth2(scheme: Scheme, value: Any, *, expand: bool = True) -> OAuth2 | None:
    if not scheme.uses_authorization or isinstance(value, str | list | tuple):
        return None
    if isinstance(value, Mapping):
        return OAuth2.from_mapping(value, expand=expand)
    return value if isinstance(value, OAuth2) else None


def _make_token_source(scheme: Scheme, config: OAuth2) -> Ask:
    tokens = _import_network_auth().make_token_source(
        config, scheme.declared, scheme.name, state=scheme.state, user=scheme.user
    )
    scheme.redactor.learn(*tokens.secrets())
    return _ask_tokens(tokens)


def _ask_tokens(tokens: Any) -> Ask:

    async def ask(context: TokenContext) -> RequestAuth:
        stale = None
        if context.stale is not None:
            stale = next((v[7:] for _, v in context.stale.headers if v[:7] == "Bearer "), None)
        token = await tokens.token(context.channel(), scopes=context.scopes, stale=stale)
        context.redactor.learn(token)
        return RequestAuth(headers=(("Authorization", f"Bearer {token}"),))

    return ask


def _ask_function(scheme: Scheme, function: Callable[[], Any]) -> Ask:
    async def ask(context: TokenContext) -> RequestAuth:
        value = function()
        if inspect.isawaitable(value):
            value = await value
        if value is None or (callable(value) and not _is_auth(value)):
            reason = f"the function for {scheme.name!r} returned no credential."
            raise CredentialsError(reason, scheme=scheme.name)
        # The value is a secret of this call only.
        return _make_auth(replace(scheme, redactor=context.redactor), value)

    return ask


def _read_user_and_password(scheme: Scheme, value: Any) -> tuple[str, str]:
    if isinstance(value, tuple | list) and len(value) == 2:  # noqa: PLR2004 -- a pair
        user, password = (_read_string(scheme, part, empty=True) for part in value)
    else:
        user, colon, password = _read_string(scheme, value).partition(":")
        if not colon:
            reason = f"security scheme {scheme.name!r} is {scheme.declared.scheme}; "
            reason += "pass (user, password) or 'user:password'."
            raise CredentialsError(reason, scheme=scheme.name)
    scheme.redactor.learn(password, f"{user}:{password}")
    return user, password


def _read_string(scheme: Scheme, value: Any, *, empty: bool = False) -> str:
    text = reveal_secret(value)
    if not isinstance(text, str):
        raise scheme.error(f"must be a string, not {type(value).__name__}.")
    # A file or a variable often ends in a line break, which no header can hold.
    text = text.strip()
    if not text and not empty:
        raise scheme.error("is empty.")
    # Environment variables with bytes that are no UTF-8 come with surrogates (PEP 383).
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise scheme.error("has a lone surrogate, which cannot be sent.")
    if any(character < " " or character == "\x7f" for character in text):
        raise scheme.error("contains a line break or control character.")
    return text
