"""A server configuration on the command line: one of its APIs, as a user with roles sees it.

Nothing here needs the extra `serve`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import print_note
from openapi_tools.common.options import close_names, expand_variables
from openapi_tools.configuration.toml_tables import has_apis
from openapi_tools.errors import CallError, OpenAPIToolsError, SettingsError, join_first
from openapi_tools.loading.load import load_tools
from openapi_tools.serving.serving_tables import RoleTable, read_serving, user_credential
from openapi_tools.toolsets.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from openapi_tools.configuration.config_file import ConfigFile
    from openapi_tools.serving.serving_tables import AuthTable, Serving
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool import OperationTool

_LISTED = 20  # APIs in a message


@dataclass(frozen=True, slots=True)
class ServerUser:
    """A user of a server, as `--as`, `--scope` and `--claim` describe one."""

    name: str
    scopes: frozenset[str]
    claims: Mapping[str, Any]
    is_static: bool

    def has_role(self, role: RoleTable) -> bool:
        """Return whether the user has a role."""
        return role.fits(self.name, self.scopes, self.claims)


@dataclass(frozen=True, slots=True)
class ServerView:
    """One API of a server configuration, and the user who looks at it; None sees every tool."""

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
        user = [] if self.user is None else ["--as", self.user.name]
        return ["--api", self.api, *user]

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
        names, visible = [tool.name for tool in toolset], set[str]()
        for served in self._list_served_tools(toolset, roles, settings):
            for name, tool in zip(names, served, strict=True):
                if any(role.shows(tool, self.api) for role in roles):
                    visible.add(name)
        return toolset.only(lambda tool: tool.name in visible)

    def _list_served_tools(
        self, toolset: Toolset, roles: Iterable[RoleTable], settings: Settings
    ) -> Iterator[list[OperationTool]]:
        # Roles name tools as clients see them, which depends on the path: where two APIs have a
        # tool of the same name, its name begins with that of the API.
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
                    print_note(f"note: the roles are applied without the tools of {name}: {error}")
        parts = {name: parts[name] for name in names if name in parts}
        union, start = Toolset.union(*parts.values(), names=list(parts)), 0
        for name, part in parts.items():
            if name == self.api:
                yield list(union)[start : start + len(part)]
            start += len(part)

    def _credentials_for(self, toolset: Toolset, tool: OperationTool) -> dict[str, Any] | None:
        table, user = self.serving.apis[self.api].users, self.user
        if table is None or user is None:
            return None
        identity = table.read if tool.read_only else table.write
        location, schemes = f"apis.{self.api}.users", toolset.security_schemes
        if identity.mode == "static" and user.name in identity.tokens:
            value = expand_variables(identity.tokens[user.name], f"{location}.tokens")
            return user_credential(identity.choose_scheme(schemes, location), value, schemes)
        reason = f"mode {identity.mode}), which only the server can get"
        if identity.mode == "static":
            reason = f"mode static) and has none for {user.name}"
        raise CallError(
            "credentials",
            f"{self.api} uses each user's own credential ([{location}], {reason}; the request was "
            "not sent. Set one with --credential, or leave out --as for "
            f"[apis.{self.api}.credentials].",
        )

    def context_credentials(
        self, toolset: Toolset
    ) -> Callable[[OperationTool], dict[str, Any] | None]:
        """Return `credentials` of a `Context`: those of the user for each call."""
        self._note_users()
        return lambda tool: self._credentials_for(toolset, tool)

    def _note_users(self) -> None:
        if self.user is None and self.serving.apis[self.api].users is not None:
            print_note(
                f"note: over HTTP {self.api} gets each user's own credential "
                f"([apis.{self.api}.users]); this call uses [apis.{self.api}.credentials]. "
                "--as USER uses that of a user in mode static."
            )


def view_api(
    path: Path, options: Mapping[str, Any], prefers: Callable[[ConfigFile], bool] | None = None
) -> ServerView | None:
    """Return the view of an API, and report on standard error which roles its user has, once.

    Args:
        path: A configuration; None is returned if it is not one of a server.
        options: Those of the command, by the names of commands.toml.
        prefers: Whether an API may be chosen without `--api`, if no other may; None allows any.

    Raises:
        click.UsageError: There is no such API or user, or it is not clear which one.
        SettingsError: The file, or the API's table, is not valid.
    """
    if not has_apis(path):
        return None
    # A command may ask several times, and a note about roles must not be repeated.
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
        print_note(_describe_roles(serving.serve.roles, person))
    elif scopes or claims:
        raise click.UsageError("--scope and --claim describe the user of --as; add --as USER.")
    views[path] = view
    return view


def _choose_api(path: Path, serving: Serving, api: str | None) -> str:
    names = [*serving.files, *serving.faults]
    if api is None:
        listed = join_first(names, _LISTED)
        reason = f"configures {len(names)} APIs; choose one with --api ({listed})."
        raise click.UsageError(f"{path} {reason}")
    if api not in names:
        close = close_names(api, names)
        hint = f"; it configures {', '.join(names[:_LISTED])}." if close == "." else close
        raise click.UsageError(f"--api: {path} has no API {api!r:.60}{hint}")
    if api in serving.faults:
        raise SettingsError(serving.faults[api])
    return api


def _find_user(
    serving: Serving, name: str, scopes: Sequence[str], claims: Sequence[str]
) -> ServerUser:
    auth = serving.serve.auth
    if auth is None:
        raise click.UsageError("--as: the server has no users, as [serve.auth] is missing.")
    if name in auth.tokens:
        if scopes or claims:
            reason = f"{name!r:.60} has a static token, with all scopes of [serve.auth], no claims"
            raise click.UsageError(f"--scope and --claim are for users of an issuer; {reason}.")
        return ServerUser(name, frozenset(auth.scopes), {}, is_static=True)
    issuer, _, subject = name.rpartition("|")
    if not auth.issuer or issuer != auth.issuer or not subject:
        raise click.UsageError(_describe_unknown_user(name, auth))
    # Every token that the server accepts has these claims.
    required: dict[str, Any] = {"iss": auth.issuer, "sub": subject, "aud": [auth.audience]}
    return ServerUser(
        name, frozenset([*auth.scopes, *scopes]), required | _parse_claims(claims), is_static=False
    )


def _describe_unknown_user(name: str, auth: AuthTable) -> str:
    close = close_names(name, auth.tokens)
    if close != ".":
        return f"--as: unknown user {name!r:.100}{close}"
    forms = []
    if auth.tokens:
        forms.append(f"the name of a static token ({', '.join(list(auth.tokens)[:_LISTED])})")
    if auth.issuer:
        forms.append(f"'{auth.issuer}|SUBJECT'")
    return f"--as: unknown user {name!r:.100}; expected {' or '.join(forms)}."


def _parse_claims(pairs: Sequence[str]) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--claim: {pair!r:.100} is not of the form NAME=VALUE.")
        claims.setdefault(name, []).append(value)
    return claims


def _describe_roles(roles: Mapping[str, RoleTable], user: ServerUser) -> str:
    if not roles:
        return f"the server has no roles, so {user.name} sees every tool."
    names = [name for name, role in roles.items() if user.has_role(role)]
    noun = "role" if len(names) == 1 else "roles"
    line = f"{user.name} has the {noun} {', '.join(names)}"
    if not names:
        line = f"{user.name} has no role, so the server shows no tools"
    possible = [] if user.is_static else [*_list_possible_roles(roles, user)]
    return f"{line}{'; not ' if possible else ''}{', '.join(possible)}."


def _list_possible_roles(roles: Mapping[str, RoleTable], user: ServerUser) -> Iterator[str]:
    # A role depends on scopes and claims only: those that are missing are tried together.
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
