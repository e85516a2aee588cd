"""A server's file on the command line: one of its APIs, and what a user's roles show of it.

Nothing here needs the extra `serve`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import remark
from openapi_tools.errors import CallError, OpenAPIToolsError, SettingsError
from openapi_tools.loading.load import load_tools
from openapi_tools.options import close_names, from_environment
from openapi_tools.serving.serving_tables import RoleTable, read_serving, user_credential
from openapi_tools.tools.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from openapi_tools.serving.serving_tables import AuthTable, Serving
    from openapi_tools.settings import Settings
    from openapi_tools.shaping.configuration import ConfigFile
    from openapi_tools.tools.tool import OperationTool

_NAMED = 20  # APIs in a message


@dataclass(frozen=True, slots=True)
class ServerUser:
    """A user of a server as `--as`, `--scope` and `--claim` describe one."""

    name: str
    scopes: frozenset[str]
    claims: Mapping[str, Any]
    is_static: bool

    def has_role(self, role: RoleTable) -> bool:
        """Tell whether the user has a role."""
        return role.fits(self.name, self.scopes, self.claims)


@dataclass(frozen=True, slots=True)
class ServerView:
    """One API of a server's file, and the user who looks at it; None sees every tool."""

    serving: Serving
    api: str
    user: ServerUser | None = None

    @property
    def config(self) -> ConfigFile:
        """The API's configuration."""
        return self.serving.files[self.api]

    @property
    def arguments(self) -> list[str]:
        """The options of a command line with the same view."""
        own = ["--api", self.api]
        if self.user is None:
            return own
        return [*own, "--as", self.user.name]

    def limit(self, toolset: Toolset, settings: Settings) -> Toolset:
        """Return the tools of the API that the server shows to the user.

        Args:
            toolset: The tools of the API.
            settings: How documents of other APIs are read, where roles need their names.
        """
        toolset.session.served = self
        if self.user is None or not self.serving.serve.roles:
            return toolset
        roles = [role for role in self.serving.serve.roles.values() if self.user.has_role(role)]
        own, visible = [tool.name for tool in toolset], set[str]()
        for served in self._served_tools(toolset, roles, settings):
            for name, tool in zip(own, served, strict=True):
                if any(role.shows(tool, self.api) for role in roles):
                    visible.add(name)
        return toolset.only(lambda tool: tool.name in visible)

    def _served_tools(
        self, toolset: Toolset, roles: Iterable[RoleTable], settings: Settings
    ) -> Iterator[list[OperationTool]]:
        """Yield the tools of each path of the server, in their order and with its names.

        Roles name tools as clients see them: those of equal names begin with that of their API.
        """
        names = sorted(self.serving.files)
        if len(names) == 1 or not any(role.tools for role in roles):
            yield list(toolset)
            return
        if self.serving.serve.paths:  # the API's own path
            yield list(toolset)
        parts = {self.api: toolset}
        for name in names:
            config: Any = self.serving.files[name]
            if name != self.api:
                try:
                    parts[name] = load_tools(config=config, settings=settings)
                except OpenAPIToolsError as error:
                    remark(f"note: the roles are read without the tools of {name}: {error}")
        parts = {name: parts[name] for name in names if name in parts}
        union, start = Toolset.union(*parts.values(), names=list(parts)), 0
        for name, part in parts.items():
            if name == self.api:
                yield list(union)[start : start + len(part)]
            start += len(part)

    def credentials_of(self, toolset: Toolset, tool: OperationTool) -> dict[str, Any] | None:
        """Return the user's own credential for a call; None where the API's own is used.

        Raises:
            CallError: The server has another one for this user, which is not to be had here.
        """
        table, user = self.serving.apis[self.api].users, self.user
        if table is None or user is None:
            return None
        identity = table.read if tool.read_only else table.write
        location, schemes = f"apis.{self.api}.users", toolset.security_schemes
        if identity.mode == "static" and user.name in identity.tokens:
            value = from_environment(identity.tokens[user.name], f"{location}.tokens")
            return user_credential(identity.choose_scheme(schemes, location), value, schemes)
        reason = f"mode {identity.mode}), which only the server gets"
        if identity.mode == "static":
            reason = f"mode static) and has none for {user.name}"
        raise CallError(
            "credentials",
            f"{self.api} takes each user's own credential ([{location}], {reason}; the request was "
            "not sent. Give one with --credential, or leave out --as for "
            f"[apis.{self.api}.credentials].",
        )

    def note_users(self) -> None:
        """Say on standard error that the server calls the API with another credential."""
        if self.user is None and self.serving.apis[self.api].users is not None:
            remark(
                f"note: over HTTP {self.api} gets each user's own credential "
                f"([apis.{self.api}.users]); this call uses [apis.{self.api}.credentials]. "
                "--as USER takes one of mode static."
            )


def credentials_for(
    toolset: Toolset, *, are_given: bool
) -> Callable[[OperationTool], dict[str, Any] | None] | None:
    """Return `credentials` of a `Context`, those of the user of a server; None for all others.

    Args:
        toolset: The tools that are called.
        are_given: Whether the command line names credentials, which override the server's.
    """
    view = toolset.session.served
    if are_given or not isinstance(view, ServerView):
        return None
    view.note_users()
    return lambda tool: view.credentials_of(toolset, tool)


def view_api(
    path: Path, options: Mapping[str, Any], prefers: Callable[[ConfigFile], bool] | None = None
) -> ServerView:
    """Return the view of an API, and say on standard error which roles its user has, once.

    Args:
        path: The server's file.
        options: Those of the command, by the names of options.toml.
        prefers: Tells which API is meant where it is the only such one; None for any.

    Raises:
        click.UsageError: The API or the user cannot be meant.
        SettingsError: The file, or the API's table, is wrong.
    """
    views: dict[Path, ServerView] = click.get_current_context().meta.setdefault(__name__, {})
    if path in views:
        return views[path]
    serving, api, user = read_serving(path), options["api"], options.get("as_user")
    names = [*serving.files, *serving.faults]
    if prefers is not None:
        names = [name for name, file in serving.files.items() if prefers(file)]
    view = ServerView(
        serving, _choose_api(path, serving, names[0] if api is None and len(names) == 1 else api)
    )
    scopes, claims = options.get("as_scopes") or (), options.get("as_claims") or ()
    if user is not None:
        person = _find_user(serving, user, scopes, claims)
        view = replace(view, user=person)
        remark(_describe_roles(serving.serve.roles, person))
    elif scopes or claims:
        raise click.UsageError("--scope and --claim describe the user of --as; add --as USER.")
    views[path] = view
    return view


def _choose_api(path: Path, serving: Serving, api: str | None) -> str:
    names = [*serving.files, *serving.faults]
    if api is None:
        listed = ", ".join(names[:_NAMED]) + ", …" * (len(names) > _NAMED)
        reason = f"configures {len(names)} APIs; choose one with --api ({listed})."
        raise click.UsageError(f"{path} {reason}")
    if api not in names:
        close = close_names(api, names)
        there = f"; it configures {', '.join(names[:_NAMED])}." if close == "." else close
        raise click.UsageError(f"--api: {path} has no API {api!r:.60}{there}")
    if api in serving.faults:
        raise SettingsError(serving.faults[api])
    return api


def _find_user(
    serving: Serving, name: str, scopes: Sequence[str], claims: Sequence[str]
) -> ServerUser:
    """Return a user of a server by name; UsageError for a name that no token of it can have."""
    auth = serving.serve.auth
    if auth is None:
        raise click.UsageError("--as: without [serve.auth] the server knows no users.")
    if name in auth.tokens:
        if scopes or claims:
            reason = f"{name!r:.60} has a static token: all of [serve.auth] scopes, and no claims"
            raise click.UsageError(f"--scope and --claim are for users of an issuer; {reason}.")
        return ServerUser(name, frozenset(auth.scopes), {}, is_static=True)
    issuer, _, subject = name.rpartition("|")
    if not auth.issuer or issuer != auth.issuer or not subject:
        raise click.UsageError(_unknown_user(name, auth))
    # As a token that the server lets in has them.
    held: dict[str, Any] = {"iss": auth.issuer, "sub": subject, "aud": [auth.audience]}
    return ServerUser(
        name, frozenset([*auth.scopes, *scopes]), held | _read_claims(claims), is_static=False
    )


def _unknown_user(name: str, auth: AuthTable) -> str:
    close = close_names(name, auth.tokens)
    if close != ".":
        return f"--as: the server knows no user {name!r:.100}{close}"
    ways = []
    if auth.tokens:
        ways.append(f"the name of a static token ({', '.join(list(auth.tokens)[:_NAMED])})")
    if auth.issuer:
        ways.append(f"'{auth.issuer}|SUBJECT'")
    return f"--as: the server knows no user {name!r:.100}; give {' or '.join(ways)}."


def _read_claims(pairs: Sequence[str]) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--claim: {pair!r:.100} is not of the form NAME=VALUE.")
        claims.setdefault(name, []).append(value)
    return claims


def _describe_roles(roles: Mapping[str, RoleTable], user: ServerUser) -> str:
    """Return a line about the roles of a user, and those that another claim or scope would give."""
    if not roles:
        return f"the server has no roles, so {user.name} sees every tool."
    held = [name for name, role in roles.items() if user.has_role(role)]
    line = f"{user.name} has the role{'s' * (len(held) > 1)} {', '.join(held)}"
    if not held:
        line = f"{user.name} has no role, so the server shows no tools"
    possible = [] if user.is_static else [*_possible_roles(roles, user)]
    return f"{line}{'; not ' if possible else ''}{', '.join(possible)}."


def _possible_roles(roles: Mapping[str, RoleTable], user: ServerUser) -> Iterator[str]:
    """Yield roles that the user does not have, with the options that would give them."""
    for name, role in roles.items():
        scopes = [scope for scope in role.scopes or () if scope not in user.scopes]
        claims = {
            claim: values if isinstance(values, str) else values[0]
            for claim, values in (role.claims or {}).items()
            if values and not user.has_role(RoleTable(claims={claim: values}))
        }
        other = replace(user, scopes=user.scopes.union(scopes), claims={**user.claims, **claims})
        if other.has_role(role) and not user.has_role(role):
            options = [f"--scope {scope}" for scope in scopes]
            options += [f"--claim {claim}={value}" for claim, value in claims.items()]
            yield f"{name} ({' '.join(options)})"
