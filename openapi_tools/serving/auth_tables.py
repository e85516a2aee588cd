"""A configuration's tables about users: `[serve.auth]`, `[serve.roles.*]`, `[apis.*.users]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from openapi_tools.auth.authorization_server import is_protected
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.options import VARIABLE
from openapi_tools.shaping import config_tables
from openapi_tools.shaping.config_tables import Table

_NAME = re.compile(r"[^|\s]{1,200}")
# With public keys only: where HS256 is allowed, the public key is the secret.
_ALGORITHM = re.compile(r"(RS|PS|ES)(256|384|512)|EdDSA|Ed25519")


def _checked(fits: Any, reason: str) -> AfterValidator:
    def check(text: str) -> str:
        if text and not fits(text):
            raise ValueError(reason)
        return text

    return AfterValidator(check)


_SECRET = "name an environment variable, '${NAME}', and no secret, here."  # noqa: S105
_Variable = Annotated[str, _checked(VARIABLE.fullmatch, _SECRET)]
_Url = Annotated[str, _checked(is_protected, "give an https URL, or one of this machine.")]
_Algorithm = Annotated[str, _checked(_ALGORITHM.fullmatch, "this is not one with a public key.")]
_User = Annotated[str, _checked(_NAME.fullmatch, "give a name without blanks and '|'.")]


class AuthTable(Table):
    """Whose tokens let a request in; docs/users.md describes each key."""

    issuer: _Url = ""
    audience: str = ""
    resource: _Url = ""
    jwks_url: _Url = ""
    algorithms: tuple[_Algorithm, ...] = Field(
        default=("RS256", "PS256", "ES256", "EdDSA", "Ed25519"), min_length=1
    )
    scopes: tuple[str, ...] = ()
    tokens: dict[_User, _Variable] = Field(default_factory=dict)
    introspection_url: _Url = ""
    client_id: str = ""
    client_secret: _Variable = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.issuer and not self.tokens:
            raise ValueError("give issuer and audience, or tokens.")
        if self.issuer and not self.audience:
            raise ValueError("audience is missing: the name of this server in the issuer's tokens.")
        if self.issuer and not self.resource_url:
            raise ValueError("audience is not a URL; give this server's own URL as resource, too.")
        return self

    @property
    def resource_url(self) -> str:
        """The URL of this server for clients (RFC 9728); empty if unknown."""
        return self.resource or (self.audience if is_protected(self.audience) else "")

    def client(self, **members: Any) -> OAuth2:
        """Return this server as a client of the issuer."""
        return OAuth2(client_id=self.client_id, client_secret=self.client_secret or None, **members)


class RoleTable(Table):
    """The users that every given condition fits, and the tools that they may use."""

    claims: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    users: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    read_only: bool = False

    def fits(self, name: str, scopes: Iterable[str], claims: Mapping[str, Any]) -> bool:
        """Tell whether a user has the role."""
        return (
            (not self.users or name in self.users)
            and set(self.scopes) <= set(scopes)
            and all(_has(claims, path, wanted) for path, wanted in self.claims.items())
        )

    def shows(self, tool: Any, api: str) -> bool:
        """Tell whether the role may use a tool of an API."""
        return (
            (not self.apis or any(fnmatchcase(api, pattern) for pattern in self.apis))
            and (not self.tools or any(fnmatchcase(tool.name, pattern) for pattern in self.tools))
            and (not self.read_only or tool.read_only)
        )


class IdentityTable(Table):
    """How an API is told who calls."""

    mode: Literal["exchange", "pass_through", "login", "static"]
    scheme: str = ""
    audience: str = ""
    resource: str = ""
    scopes: tuple[str, ...] = ()
    token_url: _Url = ""
    authorization_url: _Url = ""
    openid_connect_url: _Url = ""
    client_id: str = ""
    client_secret: _Variable = ""
    tokens: dict[str, _Variable] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        needs = {"pass_through": "audience", "static": "tokens", "login": "client_id"}
        wanted = needs.get(self.mode, "")
        if wanted and not getattr(self, wanted):
            raise ValueError(f"mode {self.mode} needs {wanted}.")
        if self.mode == "exchange" and not (self.token_url or self.openid_connect_url):
            raise ValueError("mode exchange needs token_url or openid_connect_url.")
        return self

    def client(self) -> OAuth2:
        """Return this server as a client of the API's authorization server."""
        names = ("client_id", "scopes", "token_url", "authorization_url", "openid_connect_url")
        secret = self.client_secret or None
        return OAuth2(client_secret=secret, **{name: getattr(self, name) for name in names})


class UsersTable(Table):
    """The identities for reads and for writes; keys beside `read` and `write` are for both."""

    read: IdentityTable
    write: IdentityTable

    @model_validator(mode="before")
    @classmethod
    def _split(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        shared = {key: value for key, value in given.items() if key not in ("read", "write")}
        parts = {key: given.get(key, {}) for key in ("read", "write")}
        return {k: {**shared, **p} if isinstance(p, dict) else p for k, p in parts.items()}


config_tables.TABLES |= {"auth": AuthTable, "roles": RoleTable, "users": IdentityTable}


def _has(claims: Mapping[str, Any], path: str, wanted: str | tuple[str, ...]) -> bool:
    """Tell whether a claim is, or lists, a wanted text; dots lead into objects."""
    value: Any = claims
    for part in [path] if path in claims else path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    held = value if isinstance(value, list) else [value]
    texts = {text for text in held if isinstance(text, str)}
    return not texts.isdisjoint([wanted] if isinstance(wanted, str) else wanted)
