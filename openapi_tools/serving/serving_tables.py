"""The configuration of a server: `[serve]`, its users, and a table `[apis.NAME]` for each API."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import translate
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator, model_validator

from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.origin_policy import is_protected
from openapi_tools.common.options import VARIABLE
from openapi_tools.configuration import config_tables
from openapi_tools.configuration.config_file import ConfigFile, validate_table
from openapi_tools.configuration.config_tables import Configuration
from openapi_tools.configuration.toml_tables import locate_message, read_tables
from openapi_tools.errors import SettingsError
from openapi_tools.responses.response_tables import Table

if TYPE_CHECKING:
    import os

    from openapi_tools.configuration.toml_tables import Lines
    from openapi_tools.model import SecurityScheme

Mode = Literal["tools", "search", "code", "auto"]
# Short, as it begins the names of tools, of which providers take 64 characters.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,23}")
_RESERVED_NAMES = ("healthz", "metrics", "readyz")
_USER_NAME = re.compile(r"[^|\s]{1,200}")
# With public keys only: where HS256 is allowed, the public key is the secret.
_ALGORITHM = re.compile(r"(RS|PS|ES)(256|384|512)|EdDSA|Ed25519")


def _check(fits: Any, reason: str) -> AfterValidator:
    def check(text: str) -> str:
        if text and not fits(text):
            raise ValueError(reason)
        return text

    return AfterValidator(check)


_SECRET = "write a reference to an environment variable, '${NAME}', not the secret."  # noqa: S105
_Variable = Annotated[str, _check(VARIABLE.fullmatch, _SECRET)]
_Url = Annotated[str, _check(is_protected, "use an https URL, or a loopback address.")]
_Algorithm = Annotated[str, _check(_ALGORITHM.fullmatch, "this is not a public-key algorithm.")]
_User = Annotated[str, _check(_USER_NAME.fullmatch, "use a name without spaces and '|'.")]


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

    @field_validator("scopes")
    @classmethod
    def _check_scopes(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if not scopes:
            raise ValueError("an empty list admits nobody; remove the key if no scope is required.")
        return scopes

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.issuer and not self.tokens:
            raise ValueError("set issuer and audience, or tokens.")
        if self.issuer and not self.audience:
            raise ValueError("audience is missing: the name of this server in the issuer's tokens.")
        if self.issuer and not self.resource_url:
            raise ValueError("audience is not a URL; set resource to this server's own URL, too.")
        return self

    @property
    def resource_url(self) -> str:
        """The URL of this server for clients (RFC 9728); empty if unknown."""
        return self.resource or (self.audience if is_protected(self.audience) else "")

    def client(
        self,
        *,
        scopes: tuple[str, ...] | None = None,
        openid_connect_url: str = "",
        extra: Mapping[str, str] | None = None,
    ) -> OAuth2:
        """Return this server as a client of the issuer."""
        return OAuth2(
            client_id=self.client_id,
            client_secret=self.client_secret or None,
            scopes=scopes,
            openid_connect_url=openid_connect_url,
            extra=extra or {},
        )


class RoleTable(Table):
    """The users who meet all conditions, and the tools that they may use.

    A missing key sets no limit. An empty list, or an empty table of claims, matches nobody and
    nothing.
    """

    claims: dict[str, str | tuple[str, ...]] | None = None
    users: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    apis: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    read_only: bool = False

    def fits(self, name: str, scopes: Iterable[str], claims: Mapping[str, Any]) -> bool:
        """Whether a user has the role."""
        fits_claims = (
            _claim_matches(claims, path, expected) for path, expected in (self.claims or {}).items()
        )
        return (
            (self.users is None or name in self.users)
            and (self.scopes is None or (self.scopes != () and set(self.scopes) <= set(scopes)))
            and (self.claims is None or (self.claims != {} and all(fits_claims)))
        )

    @property
    def has_condition(self) -> bool:
        """Whether some users may not have the role."""
        return not (self.users is None and self.scopes is None and self.claims is None)

    def shows(self, tool: Any, api: str) -> bool:
        """Whether the role may use a tool of an API."""
        matches_api, matches_tool = self._matchers
        return (
            (not self.read_only or tool.read_only) and matches_api(api) and matches_tool(tool.name)
        )

    @cached_property
    def _matchers(self) -> tuple[Callable[[str], bool], Callable[[str], bool]]:
        return _matcher(self.apis), _matcher(self.tools)


def _matcher(patterns: tuple[str, ...] | None) -> Callable[[str], bool]:
    # None sets no limit, and an empty list matches nothing.
    if not patterns:
        return lambda _: patterns is None
    # One expression, as fnmatch's own cache holds 256 compiled patterns only.
    matches = re.compile("|".join(map(translate, patterns))).match
    return lambda name: matches(name) is not None


class IdentityTable(Table):
    """How an API authenticates the user of a call."""

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
        required = needs.get(self.mode, "")
        if required and not getattr(self, required):
            raise ValueError(f"mode {self.mode} needs {required}.")
        if self.mode == "exchange" and not (self.token_url or self.openid_connect_url):
            raise ValueError("mode exchange needs token_url or openid_connect_url.")
        return self

    def choose_scheme(self, schemes: Mapping[str, SecurityScheme], location: str) -> str:
        """Return the name of the document's security scheme for the users.

        Raises:
            SettingsError: It is not in the document, or several fit; `location` starts the message.
        """
        fitting = [
            name
            for name, scheme in schemes.items()
            if scheme.type in ("oauth2", "openIdConnect") or scheme.scheme == "bearer"
        ]
        possible = list(schemes) if self.mode == "static" else fitting
        if self.scheme:
            if self.scheme not in possible:
                reason = f"scheme {self.scheme!r:.60} is not one of {possible}."
                raise SettingsError(f"{location}: {reason}")
            return self.scheme
        names = fitting or possible
        if len(names) > 1 or (schemes and not names):
            raise SettingsError(f"{location}: set scheme to one of {names or [*schemes]}.")
        return names[0] if names else "users"

    def client(self) -> OAuth2:
        """Return this server as a client of the API's authorization server."""
        names = ("client_id", "scopes", "token_url", "authorization_url", "openid_connect_url")
        secret = self.client_secret or None
        return OAuth2(client_secret=secret, **{name: getattr(self, name) for name in names})


def user_credential(scheme: str, value: Any, schemes: Collection[str]) -> dict[str, Any]:
    """Return a credential as `Context.credentials` takes it; a bearer token without a scheme."""
    return {scheme: value if scheme in schemes else {"scheme": "bearer", "value": value}}


class UsersTable(Table):
    """The identities for reads and for writes; keys beside `read` and `write` are for both."""

    read: IdentityTable
    write: IdentityTable

    @model_validator(mode="before")
    @classmethod
    def _split(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        shared = {key: value for key, value in table.items() if key not in ("read", "write")}
        parts = {key: table.get(key, {}) for key in ("read", "write")}
        return {k: {**shared, **p} if isinstance(p, dict) else p for k, p in parts.items()}


class LimitsTable(Table):
    """Limits on clients; docs/serve.md describes each key."""

    body_bytes: int = Field(default=4 * 1024 * 1024, ge=1024)
    body_seconds: float = Field(default=30.0, gt=0, le=3600)
    idle_seconds: float = Field(default=30.0, gt=0, le=3600)
    connections: int = Field(default=1000, ge=1)


class ServeTable(Table):
    """How a server is reached and watched; docs/serve.md describes each key."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    allow_hosts: tuple[str, ...] = ()
    path: str = Field(default="/mcp", pattern=r"^(/[A-Za-z0-9._~-]+)+$")
    paths: bool = False
    mode: Mode = "auto"
    workers: int = Field(default=1, ge=1, le=256)
    stateless: bool | None = None
    max_sessions: int | None = Field(default=None, ge=1)
    strict: bool = False
    insecure: bool = False
    ask: bool = False
    refresh: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    grace: int = Field(default=10, ge=0, le=3600)
    redis: str = ""
    log: Literal["text", "json"] = "text"
    audit: str = "stderr"
    audit_arguments: bool = False
    limits: LimitsTable = Field(default_factory=LimitsTable)
    auth: AuthTable | None = None
    roles: dict[str, RoleTable] = Field(default_factory=dict)

    @property
    def is_stateless(self) -> bool:
        """Whether there are no sessions; asking a client with a handshake needs one."""
        return not self.ask if self.stateless is None else self.stateless

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if path.removeprefix("/") in _RESERVED_NAMES:
            raise ValueError(f"{path} is reserved for the server itself.")
        return path


def role_warnings(serve: ServeTable, apis: Collection[str]) -> Iterator[str]:
    """Yield warnings of roles that all users have, or that name unknown users or APIs."""
    tokens = serve.auth.tokens if serve.auth is not None else {}
    for name, role in serve.roles.items():
        if not role.has_condition:
            reason = "has no users, scopes or claims, so all users have this role"
            yield f"serve.roles.{name} {reason}; add a condition to restrict it."
        for user in role.users or ():
            if user not in tokens and "|" not in user:  # a user of an issuer is ISSUER|SUBJECT
                yield f"serve.roles.{name}.users: no token in serve.auth.tokens is called {user!r}."
        for pattern in role.apis or ():
            if not any(map(_matcher((pattern,)), apis)):
                yield f"serve.roles.{name}.apis: no API matches {pattern!r}."


class ApiTable(Configuration):
    """One API: the keys of a configuration, and how it is served."""

    source: str = Field(default="", validate_default=True)
    mode: Mode | None = None
    users: Annotated[UsersTable, WithJsonSchema({"type": "object"})] | None = None

    @field_validator("source")
    @classmethod
    def _check_source(cls, source: str) -> str:
        if not source:
            raise ValueError("name the document: a URL or a path.")
        return source


config_tables.TABLES |= {"auth": AuthTable, "roles": RoleTable, "users": IdentityTable}
config_tables.TABLES["limits"] = LimitsTable


class ConfigurationFile(Configuration):
    """A file for one document or for a server, for the JSON Schema that editors use."""

    serve: ServeTable | None = None
    apis: dict[str, ApiTable] = Field(default_factory=dict)


def configuration_schema() -> dict[str, Any]:
    """Return the JSON Schema of a configuration file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ConfigurationFile.model_json_schema(),
    }


class Serving(NamedTuple):
    """A server's configuration; `faults` has the reason for each API whose table is invalid."""

    serve: ServeTable
    apis: dict[str, ApiTable]
    faults: dict[str, str]
    files: dict[str, ConfigFile]
    over_http: bool  # it has a table `[serve]`


def read_serving(path: str | os.PathLike[str]) -> Serving:
    """Read the configuration of a server from a TOML file; an invalid API is in `faults`.

    Raises:
        SettingsError: The file, its table `[serve]` or a name is invalid, or APIs are missing.
    """
    file = Path(path)
    data, lines = read_tables(file)
    tables = data.get("apis")
    for key in data:
        if key not in ("apis", "serve"):
            hint = "a server configuration has only the tables [serve] and [apis.NAME]."
            reason = f"unknown key {key!r:.60}; {hint}"
            raise SettingsError(locate_message(str(file), lines, (key,), reason))
    if not isinstance(tables, dict) or not tables:
        raise SettingsError(f"{file}: no API is configured; add a table [apis.NAME] with a source.")
    serve = validate_table(ServeTable, data.get("serve", {}), str(file), lines, ("serve",))
    serving = Serving(serve, {}, {}, {}, "serve" in data)
    for name, table in tables.items():
        if not _NAME.fullmatch(name) or name in _RESERVED_NAMES or f"/{name}/mcp" == serve.path:
            reason = "a name has at most 24 letters, digits, _ and -, and starts with a letter; "
            reason += f"{', '.join(_RESERVED_NAMES)} are reserved."
            raise SettingsError(locate_message(str(file), lines, ("apis", name), reason))
        _add_api(serving, name, table, file, lines)
    return serving


def _add_api(serving: Serving, name: str, table: Any, file: Path, lines: Lines) -> None:
    above = ("apis", name)
    try:
        api = validate_table(ApiTable, table, str(file), lines, above)
    except SettingsError as error:
        serving.faults[name] = error.reason
        return
    if api.mode is not None and not serving.serve.paths:
        reason = "an API has its own mode on its own path only: set `paths = true` in [serve]."
        serving.faults[name] = locate_message(str(file), lines, (*above, "mode"), reason)
        return
    api_lines = {keys[2:]: number for keys, number in lines.items() if keys[:2] == above}
    serving.apis[name] = api
    serving.files[name] = ConfigFile(api, str(file), file.parent, api_lines)


def _claim_matches(claims: Mapping[str, Any], path: str, expected: str | tuple[str, ...]) -> bool:
    # True if the claim is the expected string, or a list with it; dots lead into objects.
    value: Any = claims
    for part in [path] if path in claims else path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    texts = {text for text in values if isinstance(text, str)}
    return not texts.isdisjoint([expected] if isinstance(expected, str) else expected)
