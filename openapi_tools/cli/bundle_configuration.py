"""The configuration in a bundle: its author's, with the documents and files that it names.

Paths of this machine, and values that look like secrets, are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from openapi_tools.changes import tool_lock
from openapi_tools.codegen.api_files import name_credentials, write_document
from openapi_tools.codegen.mcp_bundle import Variable
from openapi_tools.codegen.render import describe_scheme
from openapi_tools.codegen.secret_warnings import looks_like_secret
from openapi_tools.common.http_rules import names_secret
from openapi_tools.common.options import find_variables
from openapi_tools.common.setting_fields import holds_paths, setting_names
from openapi_tools.errors import SettingsError, SourceError
from openapi_tools.redaction import redact_data

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from openapi_tools.codegen.package_plan import Names
    from openapi_tools.model import SecurityScheme
    from openapi_tools.toolsets.toolset import Toolset

_WITH_USER = re.compile(r"://[^/?#@\s]*@")
_KEYS = ("key", "access_key", "code", "auth")  # in queries
_BEARER_TYPES = ("oauth2", "openIdConnect")


@dataclass(frozen=True, slots=True)
class BundledApi:
    """One API of a bundle.

    Attributes:
        name: Its name in the configuration.
        stem: The beginning of the names of its files, which no other API has.
        prefix: The beginning of the names of its variables.
        toolset: Its tools, with the settings of the command.
        table: Its table in the author's configuration.
        place: Where that table is, for messages.
        folder: The folder that paths in the table are relative to.
        address: The URL of its document; empty if the document is in the bundle.
        overlays: The overlays of the command.
        option_schemes: The security schemes whose credentials are options of the command.
        variables: The environment variables that `write_table` found.
        files: The files that `write_table` copied, by name.
    """

    name: str
    stem: str
    prefix: str
    toolset: Toolset
    table: Mapping[str, Any]
    place: str
    folder: Path
    address: str = ""
    overlays: Sequence[str | Path] = ()
    option_schemes: Collection[str] = ()
    variables: list[Variable] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def write_table(self, variable_names: Names) -> dict[str, Any]:
        """Return the table for the bundle, and fill `files` and `variables` with what it names.

        No two APIs share a variable that this names: a key is for one API.

        Raises:
            SettingsError: The table names paths of this machine, or has a secret.
            SourceError: A file that it names cannot be read.
        """
        self._refuse_paths()
        table = {key: value for key, value in self.table.items() if key != "overlays"}
        refuse_secrets(table, self.place)
        self._refuse_secret_urls()
        if self.address:
            table["source"] = self.address
            if overlays := [*self._copy_overlays()]:
                table["overlays"] = overlays
            if lock := table.get("lock"):
                table["lock"] = self._copy_lock(self.folder / lock)
        else:
            table["source"] = f"{self.stem}.json"
            self.files[table["source"]] = write_document(self.toolset.bundled)
            if table.pop("lock", ""):
                # The lock was checked on this machine, and would not match the bundled document.
                names = [tool.form[0] for tool in self.toolset]  # type: ignore[attr-defined]  # loaded tools
                table["select"] = {"names": names}
        self._describe_other_variables(table)
        table["credentials"] = self._name_credentials(variable_names)
        return table

    def _refuse_paths(self) -> None:
        for name in self.table.get("settings", {}):
            if name in setting_names() and holds_paths(name):
                reason = f"settings.{name} names a file or folder of this machine; remove it."
                raise SettingsError(f"{self.place}: {reason}")

    def _refuse_secret_urls(self) -> None:
        for url in (self.address, *map(str, self.overlays)):
            if "://" in url and _holds_secret("", url):
                reason = "has a password or a secret, which a bundle must not contain"
                hint = "pass a file, which is copied into the bundle"
                raise SettingsError(f"the URL {redact_data(url):.200} {reason}; {hint}.")

    def _copy_overlays(self) -> Iterator[str]:
        # Only for a document at a URL, which each start reads again; others have them applied.
        names: Iterable[str] = self.table.get("overlays", ())
        listed = (name if "://" in name else self.folder / name for name in names)
        for number, overlay in enumerate([*listed, *self.overlays], start=1):
            stem = f"{self.stem}-overlay-{number}"
            yield overlay if isinstance(overlay, str) else self._copy_file(overlay, stem)

    def _copy_file(self, path: Path, stem: str) -> str:
        name = f"{stem}{path.suffix}"
        try:
            self.files[name] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise SourceError(f"cannot be read ({reason}).", source=str(path)) from None
        return name

    def _copy_lock(self, path: Path) -> str:
        if tool_lock.read_lock(path).is_package:
            reason = "lock names a generated package; write a lock file with `openapi-tools lock`."
            raise SettingsError(f"{self.place}: {reason}")
        return self._copy_file(path, f"{self.stem}.lock")

    def _describe_other_variables(self, table: Mapping[str, Any]) -> None:
        rest = {key: value for key, value in table.items() if key != "credentials"}
        for name in dict.fromkeys(find_variables(rest)):
            is_address = name in find_variables(rest.get("base_url"))
            text = "The address of the API." if is_address else "A value of each call."
            self.variables.append(Variable(name, name, text, is_secret=not is_address))

    def _name_credentials(self, names: Names) -> dict[str, Any]:
        schemes = self.toolset.security_schemes
        credentials: dict[str, Any] = dict(self.table.get("credentials", {}))
        operations = (tool.operation for tool in self.toolset)
        for name, _, value in name_credentials(self.prefix, operations, schemes, names):
            if name not in self.option_schemes:
                credentials.setdefault(name, value)
        for name, value in credentials.items():
            self.variables.extend(self._describe_credential(name, schemes.get(name), value))
        return credentials

    def _describe_credential(
        self, name: str, scheme: SecurityScheme | None, value: Any
    ) -> Iterator[Variable]:
        kind = "" if scheme is None else f" ({describe_scheme(scheme)})"
        variables, is_pair = find_variables(value), isinstance(value, list)
        for position, variable in enumerate(variables):
            is_user = is_pair and position == 0 and len(variables) > 1
            part = "Credential"
            if is_pair:
                part = "User" if is_user else "Password"
            yield Variable(
                variable,
                name if len(variables) == 1 else f"{name}: {part.lower()}",
                f"{part} of the API for {name}{kind}.",
                is_secret=not is_user,
                is_required=self._is_always_required(name),
            )

    def _is_always_required(self, scheme: str) -> bool:
        return all(
            tool.operation.security and all(scheme in each for each in tool.operation.security)
            for tool in self.toolset
        )


def find_option_schemes(
    schemes: Mapping[str, SecurityScheme], options: Mapping[str, Any]
) -> set[str]:
    """Return the security schemes whose credentials are options of a command."""
    names = {pair.partition("=")[0] for pair in options.get("credentials", ())}
    for name, scheme in schemes.items():
        is_bearer = scheme.type in _BEARER_TYPES or scheme.scheme == "bearer"
        if (options.get("bearer") and is_bearer) or (
            options.get("basic") and scheme.scheme == "basic"
        ):
            names.add(name)
    return names


def refuse_secrets(value: Any, place: str, name: str = "") -> None:
    """Check that no string in a value is, or contains, a secret.

    Args:
        value: JSON data.
        place: Where the value is, for messages.
        name: The dotted keys that lead to it.

    Raises:
        SettingsError: A string looks like a secret.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            refuse_secrets(part, place, f"{name}.{key}".strip("."))
    elif isinstance(value, list | tuple):
        for part in value:
            refuse_secrets(part, place, name)
    elif isinstance(value, str) and _holds_secret(name.rpartition(".")[2], value):
        reason = f"{name} looks like a secret, which a bundle must not contain".strip()
        raise SettingsError(f"{place}: {reason}; write a reference, '${{NAME}}'.")


def _holds_secret(key: str, text: str) -> bool:
    if find_variables(text):
        return False
    if "://" not in text:
        return looks_like_secret(key, text)
    pairs = parse_qsl(re.split(r"[?#]", text, maxsplit=1)[-1])
    return (
        bool(_WITH_USER.search(text))
        or looks_like_secret("", text)
        or any(_is_secret_pair(*pair) for pair in pairs)
    )


def _is_secret_pair(name: str, value: str) -> bool:
    # Signed addresses and those with keys of their own; `key` alone may name anything.
    is_key = name.lower() in _KEYS
    return names_secret(name) or looks_like_secret("secret" if is_key else name, value)
