"""The configuration of a server: the table `[serve]`, and a table `[apis.NAME]` for each API."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, field_validator

from openapi_tools.errors import SettingsError
from openapi_tools.serving.auth_tables import (  # noqa: TC001 -- pydantic reads them
    AuthTable,
    RoleTable,
    UsersTable,
)
from openapi_tools.shaping import config_tables
from openapi_tools.shaping.config_tables import Configuration, Table
from openapi_tools.shaping.configuration import ConfigFile, checked_table, placed, read_tables

if TYPE_CHECKING:
    import os

    from openapi_tools.shaping.configuration import Lines

Mode = Literal["tools", "search", "code", "auto"]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,23}")
_TAKEN = ("healthz", "metrics", "readyz")


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
        """Whether no sessions are kept; a client with a handshake is asked in its session."""
        return not self.ask if self.stateless is None else self.stateless

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if path.removeprefix("/") in _TAKEN:
            raise ValueError(f"{path} is a page of the server's own.")
        return path


class ApiTable(Configuration):
    """One API: the keys of a configuration, and how it is served."""

    source: str = Field(default="", validate_default=True)
    mode: Mode | None = None
    users: UsersTable | None = None

    @field_validator("source")
    @classmethod
    def _check_source(cls, source: str) -> str:
        if not source:
            raise ValueError("name the document: a URL or a path.")
        return source


config_tables.TABLES["limits"] = LimitsTable


class Serving(NamedTuple):
    """A server's configuration; `faults` has the reason for each API that cannot be read."""

    serve: ServeTable
    apis: dict[str, ApiTable]
    faults: dict[str, str]
    files: dict[str, ConfigFile]
    over_http: bool  # it has a table `[serve]`


def has_apis(path: str | os.PathLike[str]) -> bool:
    """Tell whether a configuration is that of a server; SettingsError if it cannot be read."""
    return not {"apis", "serve"}.isdisjoint(read_tables(Path(path))[0])


def read_serving(path: str | os.PathLike[str]) -> Serving:
    """Return the configuration of a server from a TOML file; a wrong API is in `faults`.

    Raises:
        SettingsError: The file, its table `[serve]` or a name is wrong, or APIs are missing.
    """
    file = Path(path)
    data, lines = read_tables(file)
    tables = data.get("apis")
    for key in data:
        if key not in ("apis", "serve"):
            reason = f"a server's file has [serve] and [apis.NAME], and no {key!r:.60} beside them."
            raise SettingsError(placed(str(file), lines, (key,), reason))
    if not isinstance(tables, dict) or not tables:
        raise SettingsError(f"{file}: APIs are missing; add a table [apis.NAME] with a source.")
    serve = checked_table(ServeTable, data.get("serve", {}), str(file), lines, ("serve",))
    found = Serving(serve, {}, {}, {}, "serve" in data)
    for name, table in tables.items():
        if not _NAME.fullmatch(name) or name in _TAKEN or f"/{name}/mcp" == serve.path:
            reason = "take letters, digits, _ and -, a letter first, at most 24; no page's name."
            raise SettingsError(placed(str(file), lines, ("apis", name), reason))
        _add(found, name, table, file, lines)
    return found


def _add(found: Serving, name: str, table: Any, file: Path, lines: Lines) -> None:
    above = ("apis", name)
    try:
        api = checked_table(ApiTable, table, str(file), lines, above)
    except SettingsError as error:
        found.faults[name] = error.reason
        return
    if api.mode is not None and not found.serve.paths:
        reason = "this is for a path of its own: set `paths = true` in [serve], or `mode` there."
        found.faults[name] = placed(str(file), lines, (*above, "mode"), reason)
        return
    own = {keys[2:]: number for keys, number in lines.items() if keys[:2] == above}
    found.apis[name] = api
    found.files[name] = ConfigFile(api, str(file), file.parent, own)
