"""The configuration file of an API: its source, its selection, and the shapes of its tools.

`openapi-tools.toml`, or the table `[tool.openapi-tools]` of a pyproject.toml. Everything in it is
plain data: nothing is a template, and nothing is executed.
"""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from openapi_tools.common.options import (
    Select,
    close_names,
    expand_variables,
    explain_skipped,
    find_variables,
    resolve_paths,
)
from openapi_tools.configuration import config_tables
from openapi_tools.configuration.config_tables import Configuration, SelectTable, ToolTable
from openapi_tools.configuration.toml_tables import Lines, locate_message, read_tables
from openapi_tools.configuration.tool_shape import ShapeFault, ToolShape, find_shape_faults
from openapi_tools.errors import SettingsError
from openapi_tools.model import AnswerShape
from openapi_tools.settings import Settings

_Model = TypeVar("_Model", bound=BaseModel)
# By a tool's name, with the keys of its table.
Shapes = dict[str, tuple[ToolShape, tuple[str, ...]]]

_MOST_KEYS = 8
_KINDS = {"dict_type": "a table", "model_type": "a table", "string_type": "a string"}
_KINDS |= {"tuple_type": "a list"}
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration, the folder that its paths are relative to, and its lines for messages."""

    data: Configuration
    name: str
    folder: Path
    _lines: Lines

    def fail(self, place: tuple[str, ...], reason: str) -> NoReturn:
        """Raise SettingsError with the file, the line and the keys of a fault."""
        raise SettingsError(locate_message(self.name, self._lines, place, reason))

    def _resolve_address(self, text: str) -> str | Path:
        return text if "://" in text else self.folder / text

    def apply_overrides(
        self, source: Any, settings: Any, credentials: Mapping[str, Any], overlays: Any
    ) -> tuple[Any, ...]:
        """Return source, settings, credentials and overlays: the caller's override the file's."""
        overrides = {n: getattr(settings, n) for n in getattr(settings, "model_fields_set", ())}
        values = self._read_settings() | overrides
        if overrides.get("files") is not None:  # another store than the file's folder
            values["download_dir"] = overrides.get("download_dir")
        if source is None and self.data.source:
            source = self._resolve_address(self.data.source)
        own_credentials = {
            n: value
            for n, value in self.data.credentials.items()
            if not _find_unset_variables(value)
        }
        if self.data.overlays and isinstance(overlays, list | tuple):
            overlays = [*map(self._resolve_address, self.data.overlays), *overlays]
        return source, Settings(**values), {**own_credentials, **credentials}, overlays

    def check_schemes(self, schemes: Iterable[str]) -> None:
        """Raise SettingsError for a credential of a scheme that the document does not have."""
        names = list(schemes)
        for name, value in self.data.credentials.items():
            if name not in names and not isinstance(value, Mapping):
                reason = f"the document has no security scheme {name!r:.80}"
                self.fail(("credentials", name), f"{reason}{close_names(name, names)}")

    def unset_variables(self, credentials: Mapping[str, Any]) -> dict[str, str]:
        """Return environment variables that are not set, by the scheme that reads them.

        Args:
            credentials: Those of the caller, which override the file's.
        """
        return {
            name: missing[0]
            for name, value in self.data.credentials.items()
            if name not in credentials and (missing := _find_unset_variables(value))
        }

    def remarks(self, credentials: Mapping[str, Any]) -> list[str]:
        """Return a warning for each variable that is not set, and for secrets in `defaults`."""
        fixed = [
            f"{self.name}: tools.{key}.fixed.{name}: {missing[0]} is not set; such calls fail."
            for key, table in self.data.tools.items()
            for name, value in table.fixed.items()
            if (missing := _find_unset_variables(value))
        ]
        literal = [
            f"{self.name}: tools.{key}.defaults.{name}: {variables[0]} is not read, because "
            "models see defaults; set the value in `fixed`."
            for key, table in self.data.tools.items()
            for name, value in table.defaults.items()
            if (variables := find_variables(value))
        ]
        unset = [
            f"{self.name}: credentials.{name}: {variable} is not set; calls go without it."
            for name, variable in self.unset_variables(credentials).items()
        ]
        return [*fixed, *literal, *unset]

    def _read_settings(self) -> dict[str, Any]:
        data, values = self.data, resolve_paths(self.data.settings, self.folder)
        if data.prefix:
            values["prefix"] = data.prefix
        if data.base_url:
            try:
                values["base_url"] = expand_variables(data.base_url, "base_url", secret=False)
            except SettingsError as error:
                self.fail(("base_url",), error.reason.partition(": ")[2])
        try:
            Settings(**values)
        except SettingsError as error:
            name, _, reason = str(error).partition(": ")
            name = name.partition(".")[0]
            place = (name,) if name in data.model_fields_set else ("settings", name)
            self.fail(place, reason)
        return values

    def select(self) -> Select | None:
        """Return the selection; None when the file has none."""
        table = self.data.select
        selection = {} if table is None else self._read_selection(table)
        if self.data.read_only:
            selection["read_only"] = True
        return Select.parse(selection) if selection else None

    def _read_selection(self, table: SelectTable) -> dict[str, Any]:
        selection = table.model_dump(exclude_none=True, exclude={"exclude"})
        if table.names and self.data.prefix:
            selection["names"] = (*table.names, *(self.data.prefix + name for name in table.names))
        if table.exclude is not None:
            selection["exclude"] = self._read_selection(table.exclude)
        return selection

    def shapes(self, tools: Iterable[Any], skipped: Sequence[Any] = ()) -> Shapes:
        """Return the shape and the keys for each tool that the file names."""
        listed = list(tools)
        shapes: Shapes = {}
        tables = self.data.tools.items()
        # A table for one tool overrides one for a pattern.
        for key, table in sorted(tables, key=lambda pair: not _is_pattern(pair[0])):
            place, shape = ("tools", key), table.create_shape(self.data.prefix)
            named = self._find_named_tools(key, table, listed, skipped)
            partial = _is_pattern(key) and (shape.has_arguments or shape.paging is not None)
            if partial:
                properties = ChainMap(
                    *(tool.own_schema()["properties"] for tool in reversed(named))
                )
                self.check(find_shape_faults(shape, {"properties": properties}), place)
            for tool in named:
                limited = shape.limit_to(tool.own_schema()["properties"]) if partial else shape
                above = shapes.get(tool.name, (ToolShape(), place))[0]
                shapes[tool.name] = (limited.merge_over(above), place)
        return self._apply_response_shape(shapes, listed)

    def _apply_response_shape(self, shapes: Shapes, tools: list[Any]) -> Shapes:
        if self.data.answers is None:
            return shapes
        usual = ToolShape(answer=AnswerShape(**self.data.answers.model_dump()))
        for tool in tools:
            shape, place = shapes.get(tool.name, (ToolShape(), ("answers",)))
            shapes[tool.name] = shape.merge_over(usual), place
        return shapes

    def _find_named_tools(
        self, key: str, table: ToolTable, tools: list[Any], skipped: Sequence[Any]
    ) -> list[Any]:
        prefix = self.data.prefix
        if _is_pattern(key):
            if table.name:
                self.fail(("tools", key, "name"), "several tools cannot have the same name.")
            matches = [t for t in tools if fnmatchcase(t.name.removeprefix(prefix), key)]
            # First without the prefix, as the file is written against the document's own names.
            matches = matches or [t for t in tools if fnmatchcase(t.name, key)]
        else:
            named = (t for t in tools if key in (t.name, t.name.removeprefix(prefix)))
            by_operation = (t for t in tools if key in (t.operation_id, f"{t.method} {t.path}"))
            matches = list(islice(chain(named, by_operation), 1))
        if not matches:
            names = [tool.name.removeprefix(prefix) for tool in tools]
            why = explain_skipped(key, skipped) or explain_skipped(prefix + key, skipped)
            end = f": {why}" if why else close_names(key, names)
            self.fail(("tools", key), f"the document has no such tool{end}")
        return matches

    def is_for_one_tool(self, place: tuple[str, ...]) -> bool:
        """Return whether the table at a place is for one tool, not for a pattern of names."""
        return not _is_pattern(place[-1])

    def check(self, faults: Iterable[ShapeFault], place: tuple[str, ...]) -> None:
        """Raise SettingsError for the first fault of a shape."""
        for fault in faults:
            self.fail((*place, *fault.place), fault.reason)


def _find_unset_variables(value: Any) -> list[str]:
    return [name for name in find_variables(value) if not os.environ.get(name)]


def list_variables(path: str | os.PathLike[str]) -> list[str]:
    """Return the environment variables that a configuration, or a server's file, names.

    Raises:
        SettingsError: The file cannot be read, or is not TOML.
    """
    tables, _ = read_tables(Path(path))
    return list(dict.fromkeys(find_variables(tables)))


def _is_pattern(key: str) -> bool:
    return " " not in key and _GLOB.search(key) is not None


def read_configuration(config: str | os.PathLike[str] | Mapping[str, Any]) -> ConfigFile:
    """Return a configuration from a TOML file or a mapping; SettingsError names the place."""
    if isinstance(config, Mapping):
        data, lines, name, folder = dict(config), Lines(), "config", Path.cwd()
    else:
        data, lines = read_tables(Path(config))
        name, folder = str(Path(config)), Path(config).parent
    return ConfigFile(validate_table(Configuration, data, name, lines), name, folder, lines)


def validate_table(
    kind: type[_Model], data: Any, name: str, lines: Lines, above: tuple[str, ...] = ()
) -> _Model:
    """Return a table of a kind that stands below some keys; SettingsError names the place."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
    place = tuple(str(step) for step in fault["loc"][:_MOST_KEYS])
    raise SettingsError(
        locate_message(name, lines, (*above, *place), _describe_fault(fault, place, kind))
    )


def _describe_fault(fault: Any, place: tuple[str, ...], kind: type[BaseModel]) -> str:
    if fault["type"] == "extra_forbidden":
        if place in (("apis",), ("serve",)):
            use = "`serve`, `install` and the commands that take --api"
            reason = f"this is a server configuration, which is for {use}"
            return f"{reason}; use the configuration of one API here."
        tables = config_tables.TABLES
        table = next((tables[key] for key in reversed(place[:-1]) if key in tables), kind)
        close, names = close_names(place[-1], table.model_fields), ", ".join(table.model_fields)
        return f"unknown key{f'; expected one of {names}.' if close == '.' else close}"
    if fault["type"] in _KINDS:
        return f"this must be {_KINDS[fault['type']]}."
    text = str(fault["msg"]).removeprefix("Value error, ")
    return text if text.endswith(".") else f"{text[:1].lower()}{text[1:]}."
