"""The OAuth 2 configuration of a scheme, and the choice of a flow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from openapi_tools.common.options import VARIABLE, expand_variables, similar_names
from openapi_tools.errors import (
    CredentialsError,
    NotPicklableError,
    format_count,
    strip_traceback,
)
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
_FLOWS_BY_GRANT = {
    "client_credentials": CLIENT_CREDENTIALS,
    "authorization_code": AUTHORIZATION_CODE,
    "device_code": DEVICE,
}
_CLIENT_AUTH = ("client_secret_basic", "client_secret_post", "none")
_SECRETS = ("client_secret", "refresh_token", "access_token", "password")
_URLS = ("token_url", "authorization_url", "device_authorization_url", "openid_connect_url")
# A second `grant_type` or `redirect_uri` would let `extra` change which grant is asked for.
_RESERVED = (
    *("grant_type", "client_id", "client_secret", "scope", "username", "password"),
    *("code", "code_verifier", "device_code", "redirect_uri", "refresh_token", "state"),
)
_URL = re.compile(r"https?://[^\s/?#@]+([/?][^\s#]*)?", re.IGNORECASE)
# `scope-token` of RFC 6749, section 3.3.
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OAuth2:
    """How to get tokens for an `oauth2` or `openIdConnect` scheme.

    Pass `client_id` and `client_secret` for a program with its own rights (client credentials), a
    `refresh_token` or a `token_file` for what a person has agreed to.

    Spec: RFC 6749, section 4; RFC 8628 for devices.

    Attributes:
        client_id: The client's name at the authorization server.
        client_secret: A string, a `pydantic.SecretStr`, or `"${NAME}"` for an environment
            variable, as every other secret.
        scopes: Requested with every token, `"read write"` or a list; by default those that the
            called operations require. An empty list requests none.
        token_url: Replaces the document's; a URL given here may receive the secrets, wherever it
            leads.
        authorization_url: Where a person agrees; replaces the document's.
        device_authorization_url: Where a device begins; replaces the document's.
        openid_connect_url: Where the server has its metadata; replaces the document's.
        refresh_token: The refresh token of an earlier login.
        access_token: The token of an earlier login; used until it expires or is refused.
        username: For the password flow, where the document has it or `token_url` is given.
        password: As above.
        flow: `"clientCredentials"`, `"password"`, `"authorizationCode"` or
            `"deviceAuthorization"`; by default what the fields and the document make possible.
        client_auth: `"client_secret_basic"`, `"client_secret_post"` or `"none"`; by default the
            first with a secret, the last without.
        extra: Further parameters of token requests, for instance `{"audience": "…"}`; masked.
        token_file: Store tokens in this file, and read them from there.

    Raises:
        CredentialsError: A field has the wrong type; its value is not shown.
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
            self._normalize_fields()
        except CredentialsError as error:
            for name in (*_SECRETS, "extra"):  # a traceback shows this value
                self._set(name, None)
            raise strip_traceback(error)  # noqa: B904 -- the same one

    def _normalize_fields(self) -> None:
        for name in ("client_id", "username"):
            self._set(name, _read_string(name, getattr(self, name)))
        for name in _SECRETS:
            self._set(name, _read_secret(name, getattr(self, name)))
        for name in _URLS:
            _check_url(name, getattr(self, name))
        self._set("scopes", _read_scopes(self.scopes))
        self._set("extra", _read_extra(self.extra))
        self._set("flow", _read_flow(self.flow))
        self._set(
            "client_auth", _read_client_auth(self.client_auth, self.client_secret is not None)
        )
        if self.token_file is not None:
            if not isinstance(self.token_file, str | os.PathLike):
                _refuse(f"token_file must be a path, not {type(self.token_file).__name__}.")
            self._set("token_file", Path(self.token_file).expanduser())
        if bool(self.username) != (self.password is not None):
            _refuse("username and password belong together; set both or none.")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def from_mapping(cls, members: Mapping[str, Any], *, expand: bool = True) -> Self:
        """Return the configuration in a mapping; with `expand`, `${NAME}` is read."""
        if not isinstance(members, Mapping):
            _refuse(f"the configuration must be a mapping, not {type(members).__name__}.")
        names = {item.name for item in fields(cls)}
        unknown = [name for name in members if name not in names]
        if unknown:
            # An unknown name may be a secret in the wrong place: only a similar known one is shown.
            close = similar_names(unknown[0], sorted(names), most=1)
            hint = (
                f"; did you mean {close[0]!r}?"
                if close
                else f"; expected one of {', '.join(sorted(names))}."
            )
            _refuse(f"{format_count(len(unknown), 'unknown key')}{hint}")
        if not expand:
            members = {
                name: Secret(value) if isinstance(value, str) and VARIABLE.search(value) else value
                for name, value in members.items()
            }
        return cls(**members)

    def reveal(self, name: str) -> str:
        """Return the value of a secret field; `""` if it is not set."""
        value = getattr(self, name)
        return value.reveal() if isinstance(value, Secret) else ""

    @property
    def has_token(self) -> bool:
        """Whether a login, or the user, gave a token."""
        return bool(self.access_token or self.refresh_token or self.token_file)

    def parameters(self) -> dict[str, str]:
        """Return the values of `extra`."""
        return {name: value.reveal() for name, value in self.extra.items()}

    def secrets(self) -> tuple[str, ...]:
        """Return every secret in it, for a redactor."""
        secrets = [self.reveal(name) for name in _SECRETS]
        return tuple(text for text in (*secrets, *self.parameters().values()) if text)

    def __repr__(self) -> str:
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value not in (None, "", (), {}):
                is_open = item.name not in (*_SECRETS, "extra")
                # The query of a URL may hold a key.
                text = value.partition("?")[0] if item.name in _URLS else value
                parts.append(f"{item.name}={text!r}" if is_open else f"{item.name}={MASK}")
        return f"OAuth2({', '.join(parts)})"

    # Immutable, and a copy would be one more place that holds the secrets.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    # The generated one would fail at `extra`, which is a dict.
    def __hash__(self) -> int:
        return hash((self.client_id, self.token_url, self.token_file))

    def __reduce__(self) -> NoReturn:
        reason = "OAuth2 contains secrets and cannot be pickled; create it in each process."
        raise NotPicklableError(reason)


def reveal_secret(value: Any) -> Any:
    """Return the value of a `Secret` or a `pydantic.SecretStr`; other values are returned as is."""
    reveal = getattr(value, "reveal", None) or getattr(value, "get_secret_value", None)
    return reveal() if callable(reveal) else value


def _refuse(reason: str) -> NoReturn:
    raise CredentialsError(f"OAuth2: {reason}")


def _read_string(name: str, value: object) -> str:
    text = reveal_secret(value)
    if not isinstance(value, Secret):  # which was read from the environment already
        text = expand_variables(text, f"OAuth2 {name}")
    if not isinstance(text, str):
        _refuse(f"{name} must be a string, not {type(value).__name__}.")
    text = text.strip()
    if any(not character.isprintable() for character in text):
        _refuse(f"{name} contains a line break or control character.")
    return text


def _read_secret(name: str, value: object) -> Secret | None:
    if value is None or isinstance(value, Secret):
        return value
    text = _read_string(name, value)
    if not text:
        _refuse(f"{name} is empty.")
    return Secret(text)


def _check_url(name: str, url: object) -> None:
    if not isinstance(url, str):
        _refuse(f"{name} must be a string, not {type(url).__name__}.")
    if url and not _URL.fullmatch(url):
        _refuse(f"{name} must be an http or https URL without user and fragment.")


def _read_scopes(scopes: object) -> tuple[str, ...] | None:
    if scopes is None:
        return None
    names = scopes.split() if isinstance(scopes, str) else scopes
    if not isinstance(names, Iterable) or isinstance(names, Mapping | bytes):
        _refuse("scopes must be a string, 'read write', or a list of strings.")
    unique = tuple(dict.fromkeys(names))
    if not all(isinstance(name, str) and _SCOPE.fullmatch(name) for name in unique):
        _refuse("a scope must be a string without spaces, quotes and control characters.")
    return unique


def _read_extra(extra: object) -> dict[str, Secret]:
    if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
        _refuse("extra must be a mapping of strings.")
    reserved = sorted(name for name in extra if name in _RESERVED)
    if reserved:
        _refuse(f"extra must not contain {', '.join(reserved)}; the other fields set them.")
    values = {name: _read_string(f"extra[{name!r:.60}]", extra[name]) for name in extra}
    return {name: Secret(value) for name, value in values.items()}


def _read_flow(value: object) -> str | None:
    flow = _FLOWS_BY_GRANT.get(value, value) if isinstance(value, str) else value
    if flow is not None and flow not in _FLOWS:
        _refuse(f"flow must be one of {', '.join(_FLOWS)}.")
    return flow


def _read_client_auth(value: object, has_secret: bool) -> str:
    if value is None:
        return _CLIENT_AUTH[0] if has_secret else _CLIENT_AUTH[-1]
    if value not in _CLIENT_AUTH:
        _refuse(f"client_auth must be one of {', '.join(_CLIENT_AUTH)}.")
    if value != "none" and not has_secret:
        _refuse(f"client_auth {value!r} needs a client_secret.")
    return str(value)


def choose_flow(config: OAuth2, scheme: SecurityScheme, name: str) -> str | None:
    """Return the flow that fetches tokens, None when only a login gives some; CredentialsError."""
    # Many documents say only that a bearer token is needed.
    if scheme.type not in ("oauth2", "openIdConnect") and scheme.scheme != "bearer":
        raise _scheme_error(name, f"is {scheme.type!r}, which does not use OAuth2(…).")
    flow = config.flow or _infer_flow(config, scheme, name)
    if flow == CLIENT_CREDENTIALS and not config.client_id:
        raise _scheme_error(
            name, "needs OAuth2(client_id=…, client_secret=…) for client credentials."
        )
    if flow == PASSWORD and not config.username:
        raise _scheme_error(name, "needs OAuth2(username=…, password=…) for the password flow.")
    if flow in (CLIENT_CREDENTIALS, PASSWORD) or config.has_token:
        return flow
    login = f"openapi-tools login SPEC {name} --client-id ID --token-file FILE"
    raise _scheme_error(
        name,
        "cannot get a token with this OAuth2(…): set client_id and client_secret if the document "
        f"has client credentials, or a refresh_token, or a token_file that `{login}` writes.",
    )


def _infer_flow(config: OAuth2, scheme: SecurityScheme, name: str) -> str | None:
    has_token_url = bool(config.token_url)
    if config.username:
        if PASSWORD in scheme.flows or has_token_url:
            return PASSWORD
        raise _scheme_error(name, "has no password flow in the document; to use it, set token_url.")
    is_own = CLIENT_CREDENTIALS in scheme.flows or has_token_url or scheme.type == "openIdConnect"
    is_own = is_own or bool(config.openid_connect_url)
    if config.client_secret is None or not is_own:
        return None
    # A client's own rights never replace a user's.
    is_person = config.has_token and (
        any(flow in scheme.flows for flow in USER_FLOWS) or CLIENT_CREDENTIALS not in scheme.flows
    )
    return None if is_person else CLIENT_CREDENTIALS


def _scheme_error(name: str, reason: str) -> CredentialsError:
    return CredentialsError(f"security scheme {name!r} {reason}", scheme=name)
