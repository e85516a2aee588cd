"""Security schemes: a credential as a part of a request (RFC 9110, 11; RFC 6750, 7616 and 7617)."""

from __future__ import annotations

import base64
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from openapi_tools.auth.oauth2 import OAuth2, revealed
from openapi_tools.errors import CredentialsError
from openapi_tools.options import from_environment
from openapi_tools.redaction import MASK, Redactor
from openapi_tools.requests import RequestAuth
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from openapi_tools.auth.authorization_server import Channel
    from openapi_tools.model import SecurityScheme
    from openapi_tools.shared_state import SharedState

    Ask = Callable[["TokenContext"], Awaitable[RequestAuth]]

_TOKEN_TYPES = ("oauth2", "openIdConnect")
_LOCATIONS = ("header", "query", "cookie")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate, for `mutualTLS`: PEM files, and the password of the private key.

    The certificate's file also holds its chain, and the key where `key` is None.
    """

    cert: str | Path
    key: str | Path | None = None
    password: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A security scheme, with the redactor and authorities that its credentials use."""

    name: str
    declared: SecurityScheme
    redactor: Redactor
    ca_file: Path | None = None
    state: SharedState | None = None
    user: str = ""  # whose credential it is; empty for the toolset's own

    @property
    def authorizes(self) -> bool:
        """Whether the header `Authorization` holds its credential."""
        return self.declared.type in ("http", *_TOKEN_TYPES)

    def refusal(self, reason: str) -> CredentialsError:
        """Return the error for a credential, which is not shown."""
        return CredentialsError(f"the credential for {self.name!r} {reason}", scheme=self.name)


@dataclass(frozen=True, slots=True, eq=False)
class TokenContext:
    """A credential request of one call; `stale` is the credential refused with 401."""

    channel: Callable[[], Channel]
    redactor: Redactor
    scopes: tuple[str, ...] = ()
    stale: RequestAuth | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Credential:
    """A user's part of a request: masked, and either fixed or asked for with each call."""

    masked: RequestAuth
    fixed: RequestAuth | None = field(default=None, repr=False)
    ask: Ask | None = field(default=None, repr=False)


def hold(scheme: Scheme, value: Any, *, expand: bool = True) -> Credential:
    """Return a credential; `expand` reads `${NAME}`, which only the user's own texts may have."""
    masked = _masked(scheme)
    if (config := _oauth2(scheme, value)) is not None:  # it expands its own variables
        return Credential(masked, ask=_tokens(scheme, config))
    if callable(getattr(value, "token", None)) and not _is_auth(value):
        return Credential(masked, ask=_asking(value))
    value = from_environment(value, scheme.name) if expand else value
    if callable(value) and not _is_auth(value):
        return Credential(masked, ask=_function(scheme, value))
    return Credential(masked, _added(scheme, value))


def lasting(scheme: Scheme, value: Any) -> Any:
    """Return a credential in a form that compares by value, if there is one."""
    config = _oauth2(scheme, value, expand=False)
    if config is not None:
        return config
    if scheme.declared.type == "mutualTLS" and not _is_context(value):
        return _client_certificate(scheme, value)
    return value


def describe_credential(name: str, declared: SecurityScheme | None) -> str:
    """Describe the credential of a scheme."""
    match declared:
        case None:
            return visible(f"{name!r:.100} (which the document does not define)")
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
    return visible(f"{name!r:.100} ({what})")


def _masked(scheme: Scheme) -> RequestAuth:
    """Return the part of a request, with `***` for the value."""
    declared = scheme.declared
    if declared.type == "apiKey":
        return _key(scheme, MASK)
    if scheme.authorizes:
        word = declared.scheme if declared.type == "http" else "bearer"
        return RequestAuth(headers=(("Authorization", f"{word.capitalize()} {MASK}"),))
    if declared.type == "mutualTLS":
        return RequestAuth()
    kind = f"{declared.type} {declared.scheme}".strip()
    reason = f"security scheme {scheme.name!r} is {kind!r}, not supported."
    raise CredentialsError(reason, scheme=scheme.name)


def _added(scheme: Scheme, value: Any) -> RequestAuth:
    declared = scheme.declared
    if _is_auth(value):
        return RequestAuth(httpx_auth=value)
    if declared.type == "mutualTLS":
        return RequestAuth(certificate=_certificate(scheme, value))
    if declared.type == "apiKey":
        secret = _text(scheme, value)
        scheme.redactor.learn(secret, secret.partition(" ")[2])  # after a word, as in `Token …`
        return _key(scheme, secret)
    if declared.scheme == "basic":
        pair = ":".join(_user_and_password(scheme, value))
        return _authorization(scheme, "Basic", base64.b64encode(pair.encode()).decode())
    if declared.scheme == "digest":
        from openapi_tools.transport.auth_flow import DigestAuth

        return RequestAuth(httpx_auth=DigestAuth(*_user_and_password(scheme, value)))
    word = "Bearer" if declared.type != "http" else declared.scheme.capitalize()
    secret = _text(scheme, value)
    if secret.lower().startswith(f"{word.lower()} "):
        secret = secret[len(word) :].strip()
    return _authorization(scheme, word, secret)


def _authorization(scheme: Scheme, word: str, secret: str) -> RequestAuth:
    scheme.redactor.learn(secret)
    return RequestAuth(headers=(("Authorization", f"{word} {secret}"),))


def _key(scheme: Scheme, secret: str) -> RequestAuth:
    declared = scheme.declared
    if declared.location not in _LOCATIONS or not declared.name:
        where = f"{declared.location!r} named {declared.name!r}"
        reason = f"security scheme {scheme.name!r} puts its key in {where}, which no request has."
        raise CredentialsError(reason, scheme=scheme.name)
    found = {declared.location: ((declared.name, secret),)}
    header, query, cookie = (found.get(location, ()) for location in _LOCATIONS)
    return RequestAuth(header, query, cookie)


def _certificate(scheme: Scheme, value: Any) -> ssl.SSLContext:
    from openapi_tools.transport.tls_contexts import client_tls_context

    if _is_context(value):
        return value
    given, password = _client_certificate(scheme, value), None
    if given.password is not None:
        password = _text(scheme, given.password)
        scheme.redactor.learn(password)
    return client_tls_context(given.cert, given.key, password=password, ca_file=scheme.ca_file)


def _is_context(value: Any) -> TypeGuard[ssl.SSLContext]:
    module = sys.modules.get("ssl")  # every context needs it
    return module is not None and isinstance(value, module.SSLContext)


def _client_certificate(scheme: Scheme, value: Any) -> ClientCertificate:
    try:
        if isinstance(value, Mapping):
            value = ClientCertificate(**value)
        elif isinstance(value, list | tuple):
            value = ClientCertificate(*value)
    except TypeError:
        raise scheme.refusal("has cert, key and password, nothing else.") from None
    return value if isinstance(value, ClientCertificate) else ClientCertificate(value)


def _is_auth(value: Any) -> bool:
    """Whether a value is an `httpx.Auth`; httpx is not imported for that."""
    return hasattr(value, "async_auth_flow") and not isinstance(value, type)


def _oauth2(scheme: Scheme, value: Any, *, expand: bool = True) -> OAuth2 | None:
    if not scheme.authorizes or isinstance(value, str | list | tuple):
        return None
    if isinstance(value, Mapping):
        return OAuth2.of(value, expand=expand)
    return value if isinstance(value, OAuth2) else None


def _tokens(scheme: Scheme, config: OAuth2) -> Ask:
    from openapi_tools.auth.access_tokens import Tokens

    shared = None if scheme.state is None else (scheme.state, scheme.user)
    tokens = Tokens(config, scheme.declared, scheme.name, shared)
    scheme.redactor.learn(*tokens.secrets())
    return _asking(tokens)


def _asking(tokens: Any) -> Ask:
    """Return what asks a source of bearer tokens, such as `Tokens`, for each call."""

    async def ask(context: TokenContext) -> RequestAuth:
        stale = None
        if context.stale is not None:
            stale = next((v[7:] for _, v in context.stale.headers if v[:7] == "Bearer "), None)
        token = await tokens.token(context.channel(), scopes=context.scopes, stale=stale)
        context.redactor.learn(token)
        return RequestAuth(headers=(("Authorization", f"Bearer {token}"),))

    return ask


def _function(scheme: Scheme, function: Callable[[], Any]) -> Ask:
    async def ask(context: TokenContext) -> RequestAuth:
        value = function()
        if inspect.isawaitable(value):
            value = await value
        if value is None or (callable(value) and not _is_auth(value)):
            reason = f"the function for {scheme.name!r} gives no credential."
            raise CredentialsError(reason, scheme=scheme.name)
        # The value is a secret of this call only.
        return _added(replace(scheme, redactor=context.redactor), value)

    return ask


def _user_and_password(scheme: Scheme, value: Any) -> tuple[str, str]:
    if isinstance(value, tuple | list) and len(value) == 2:  # noqa: PLR2004 -- a pair
        user, password = (_text(scheme, part, empty=True) for part in value)
    else:
        user, colon, password = _text(scheme, value).partition(":")
        if not colon:
            reason = f"security scheme {scheme.name!r} is {scheme.declared.scheme}; "
            reason += "give (user, password) or 'user:password'."
            raise CredentialsError(reason, scheme=scheme.name)
    scheme.redactor.learn(password, f"{user}:{password}")
    return user, password


def _text(scheme: Scheme, value: Any, *, empty: bool = False) -> str:
    text = revealed(value)
    if not isinstance(text, str):
        raise scheme.refusal(f"must be a text, not {type(value).__name__}.")
    text = text.strip()
    if not text and not empty:
        raise scheme.refusal("is empty.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise scheme.refusal("is not valid text.")
    if any(character < " " or character == "\x7f" for character in text):
        raise scheme.refusal("holds a line break or control character.")
    return text
