"""OAuth 2 configuration of an `oauth2` or `openIdConnect` scheme, and the choice of a flow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from openapi_tools.errors import CredentialsError, NotPicklableError, bare
from openapi_tools.options import VARIABLE, from_environment, nearest
from openapi_tools.redaction import MASK, Secret

if TYPE_CHECKING:
    from pydantic import SecretStr

    from openapi_tools.model import SecurityScheme

CLIENT_CREDENTIALS = "clientCredentials"
PASSWORD = "password"  # noqa: S105 -- the name of a flow
AUTHORIZATION_CODE = "authorizationCode"
DEVICE = "deviceAuthorization"

USER_FLOWS = (AUTHORIZATION_CODE, DEVICE, PASSWORD, "implicit")
"""Flows whose tokens represent a user."""
_FLOWS = (CLIENT_CREDENTIALS, PASSWORD, AUTHORIZATION_CODE, DEVICE)
_GRANTS = {
    "client_credentials": CLIENT_CREDENTIALS,
    "authorization_code": AUTHORIZATION_CODE,
    "device_code": DEVICE,
}
_CLIENT_AUTH = ("client_secret_basic", "client_secret_post", "none")
_SECRETS = ("client_secret", "refresh_token", "access_token", "password")
_URLS = ("token_url", "authorization_url", "device_authorization_url", "openid_connect_url")
_RESERVED = (
    *("grant_type", "client_id", "client_secret", "scope", "username", "password"),
    *("code", "code_verifier", "device_code", "redirect_uri", "refresh_token", "state"),
)
_URL = re.compile(r"https?://[^\s/?#@]+([/?][^\s#]*)?", re.IGNORECASE)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OAuth2:
    """How to get tokens for an `oauth2` or `openIdConnect` scheme.

    Give `client_id` and `client_secret` for a program of its own rights (client credentials), a
    `refresh_token` or a `token_file` for what a person has agreed to.

    Spec: RFC 6749, section 4; RFC 8628 for devices.

    Attributes:
        client_id: The client's name at the authorization server.
        client_secret: A text, a `pydantic.SecretStr`, or `"${NAME}"` for an environment variable;
            so may every other secret be.
        scopes: Asked for with every token, `"read write"` or a list; by default those that the
            called operations require. An empty list asks for none.
        token_url: Replaces the document's; a URL given here may receive the secrets, wherever it
            leads.
        authorization_url: Where a person agrees; replaces the document's.
        device_authorization_url: Where a device begins; replaces the document's.
        openid_connect_url: Where the server describes itself; replaces the document's.
        refresh_token: From an earlier login.
        access_token: From an earlier login; used until it expires or is refused.
        username: For the password flow, where the document has it or `token_url` is given.
        password: As above.
        flow: `"clientCredentials"`, `"password"`, `"authorizationCode"` or
            `"deviceAuthorization"`; by default what the members and the document make possible.
        client_auth: `"client_secret_basic"`, `"client_secret_post"` or `"none"`; by default the
            first with a secret, the last without.
        extra: Further parameters of token requests, for instance `{"audience": "…"}`; masked.
        token_file: Keep tokens in this file, and take them from there.

    Raises:
        CredentialsError: A member of the wrong kind; its value is not shown.
    """

    client_id: str = ""
    client_secret: Secret | SecretStr | str | None = None
    scopes: Iterable[str] | str | None = None
    token_url: str = ""
    authorization_url: str = ""
    device_authorization_url: str = ""
    openid_connect_url: str = ""
    refresh_token: Secret | SecretStr | str | None = None
    access_token: Secret | SecretStr | str | None = None
    username: str = ""
    password: Secret | SecretStr | str | None = None
    flow: str | None = None
    client_auth: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    token_file: Path | str | None = None

    def __post_init__(self) -> None:
        try:
            self._settle()
        except CredentialsError as error:
            for name in (*_SECRETS, "extra"):  # a traceback shows this value
                self._set(name, None)
            raise bare(error)  # noqa: B904 -- the same one

    def _settle(self) -> None:
        for name in ("client_id", "username"):
            self._set(name, _text(name, getattr(self, name)))
        for name in _SECRETS:
            self._set(name, _secret(name, getattr(self, name)))
        for name in _URLS:
            _check_url(name, getattr(self, name))
        self._set("scopes", _scopes(self.scopes))
        self._set("extra", _extra(self.extra))
        self._set("flow", _flow(self.flow))
        self._set("client_auth", _client_auth(self.client_auth, self.client_secret is not None))
        if self.token_file is not None:
            if not isinstance(self.token_file, str | os.PathLike):
                _refuse(f"token_file is a path, not {type(self.token_file).__name__}.")
            self._set("token_file", Path(self.token_file).expanduser())
        if bool(self.username) != (self.password is not None):
            _refuse("username and password belong together; give both or none.")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(cls, members: Mapping[str, Any], *, expand: bool = True) -> Self:
        """Return the members of a configuration file; with `expand`, `${NAME}` is read."""
        if not isinstance(members, Mapping):
            _refuse(f"the members are a mapping, not {type(members).__name__}.")
        known = {member.name for member in fields(cls)}
        unknown = [name for name in members if name not in known]
        if unknown:
            # The name may be a secret in the wrong place, so only a near miss is shown.
            close = nearest(unknown[0], sorted(known), most=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; there are {sorted(known)}."
            _refuse(f"{len(unknown)} of the given members do not exist{hint}")
        if not expand:
            members = {
                name: Secret(value) if isinstance(value, str) and VARIABLE.search(value) else value
                for name, value in members.items()
            }
        return cls(**members)

    def revealed(self, name: str) -> str:
        """Return a secret member as text, `""` when it was not given."""
        value = getattr(self, name)
        return value.reveal() if isinstance(value, Secret) else ""

    @property
    def has_token(self) -> bool:
        """Whether a login, or the user, gave a token."""
        return bool(self.access_token or self.refresh_token or self.token_file)

    def parameters(self) -> dict[str, str]:
        """Return the members of `extra` as text."""
        return {name: value.reveal() for name, value in self.extra.items()}

    def secrets(self) -> tuple[str, ...]:
        """Return every secret in it, for a redactor."""
        given = [self.revealed(name) for name in _SECRETS]
        return tuple(text for text in (*given, *self.parameters().values()) if text)

    def __repr__(self) -> str:
        shown = []
        for member in fields(self):
            value = getattr(self, member.name)
            if value not in (None, "", (), {}):
                is_open = member.name not in (*_SECRETS, "extra")
                # The query of a URL may hold a key.
                said = value.partition("?")[0] if member.name in _URLS else value
                shown.append(f"{member.name}={said!r}" if is_open else f"{member.name}={MASK}")
        return f"OAuth2({', '.join(shown)})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __hash__(self) -> int:
        return hash((self.client_id, self.token_url, self.token_file))

    def __reduce__(self) -> NoReturn:
        reason = "OAuth2 holds secrets and is not pickled; make it where it is needed."
        raise NotPicklableError(reason)


def revealed(value: Any) -> Any:
    """Return the text in a `Secret` or a `pydantic.SecretStr`; other values stay."""
    reveal = getattr(value, "reveal", None) or getattr(value, "get_secret_value", None)
    return reveal() if callable(reveal) else value


def _refuse(reason: str) -> NoReturn:
    raise CredentialsError(f"OAuth2: {reason}")


def _text(name: str, value: object) -> str:
    """Return a text; `${NAME}` is read from the environment."""
    text = revealed(value)
    if not isinstance(value, Secret):  # which was read from the environment already
        text = from_environment(text, f"OAuth2 {name}")
    if not isinstance(text, str):
        _refuse(f"{name} must be a text, not {type(value).__name__}.")
    text = text.strip()
    if any(not character.isprintable() for character in text):
        _refuse(f"{name} holds a line break or control character.")
    return text


def _secret(name: str, value: object) -> Secret | None:
    if value is None or isinstance(value, Secret):
        return value
    text = _text(name, value)
    if not text:
        _refuse(f"{name} is empty.")
    return Secret(text)


def _check_url(name: str, url: object) -> None:
    if not isinstance(url, str):
        _refuse(f"{name} must be a text, not {type(url).__name__}.")
    if url and not _URL.fullmatch(url):
        _refuse(f"{name} is not an http(s) URL of host and path, without user and fragment.")


def _scopes(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = given.split() if isinstance(given, str) else given
    if not isinstance(names, Iterable) or isinstance(names, Mapping | bytes):
        _refuse("scopes are texts: 'read write' or a list of them.")
    kept = tuple(dict.fromkeys(names))
    if not all(isinstance(name, str) and _SCOPE.fullmatch(name) for name in kept):
        _refuse("every scope is a text without spaces, quotes and control characters.")
    return kept


def _extra(given: object) -> dict[str, Secret]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        _refuse("extra is a mapping of texts.")
    taken = sorted(name for name in given if name in _RESERVED)
    if taken:
        _refuse(f"extra cannot hold {', '.join(taken)}; those have their own place.")
    texts = {name: _text(f"a member of extra ({name!r:.60})", given[name]) for name in given}
    return {name: Secret(text) for name, text in texts.items()}


def _flow(given: object) -> str | None:
    flow = _GRANTS.get(given, given) if isinstance(given, str) else given
    if flow is not None and flow not in _FLOWS:
        _refuse(f"flow is one of {', '.join(_FLOWS)}.")
    return flow


def _client_auth(given: object, has_secret: bool) -> str:
    if given is None:
        return _CLIENT_AUTH[0] if has_secret else _CLIENT_AUTH[-1]
    if given not in _CLIENT_AUTH:
        _refuse(f"client_auth is one of {', '.join(_CLIENT_AUTH)}.")
    if given != "none" and not has_secret:
        _refuse(f"client_auth {given!r} needs a client_secret.")
    return str(given)


def chosen_flow(config: OAuth2, scheme: SecurityScheme, name: str) -> str | None:
    """Return the flow that fetches tokens, None when only a login gives some; CredentialsError."""
    # Many documents only say that a bearer token is wanted.
    if scheme.type not in ("oauth2", "openIdConnect") and scheme.scheme != "bearer":
        raise _refusal(name, f"is {scheme.type!r}, which takes no OAuth2(…).")
    flow = config.flow or _guessed(config, scheme, name)
    if flow == CLIENT_CREDENTIALS and not config.client_id:
        raise _refusal(name, "needs OAuth2(client_id=…, client_secret=…) for client credentials.")
    if flow == PASSWORD and not config.username:
        raise _refusal(name, "needs OAuth2(username=…, password=…) for the password flow.")
    if flow in (CLIENT_CREDENTIALS, PASSWORD) or config.has_token:
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
    # A client's own rights never replace a user's.
    is_person = config.has_token and (
        any(flow in scheme.flows for flow in USER_FLOWS) or CLIENT_CREDENTIALS not in scheme.flows
    )
    return None if is_person else CLIENT_CREDENTIALS


def _refusal(name: str, reason: str) -> CredentialsError:
    return CredentialsError(f"security scheme {name!r} {reason}", scheme=name)
