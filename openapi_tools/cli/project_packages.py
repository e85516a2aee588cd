"""The packages that `[tool.openapi-tools.generate]` of a pyproject.toml lists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.tool_loading import build_selection, parse_source
from openapi_tools.common.options import resolve_paths
from openapi_tools.errors import SettingsError
from openapi_tools.tools.session import make_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi_tools.common.options import Select

    Job = tuple[str, dict[str, Any]]  # the table in pyproject.toml, arguments of generate_package

_FILE = "pyproject.toml"
_TABLE = "tool.openapi-tools.generate"
_KEYS = {
    **dict.fromkeys(("spec", "config", "output", "layout"), "a string"),
    **dict.fromkeys(("tags", "methods", "match", "overlays"), "a list of strings"),
    "settings": "a table",
    "target": "a string",
}
_CHOICES = {"target": ("python", "exathena", "skill"), "layout": ("package", "module")}


def read_project_jobs() -> list[Job]:
    """Return the packages that the nearest pyproject.toml lists, from here upwards."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / _FILE
        if path.is_file():
            return [_read_job(name, entry, folder) for name, entry in _read_table(path).items()]
    raise click.UsageError(
        f"pass SPEC and --output, or add a table [{_TABLE}] to {_FILE}; there is no {_FILE} here."
    )


def _read_table(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            node: Any = tomllib.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}.") from None
    for key in _TABLE.split("."):
        node = node.get(key, {}) if isinstance(node, dict) else {}
    if not isinstance(node, dict) or not node:
        raise click.UsageError(
            f"pass SPEC and --output, or list packages under [{_TABLE}.NAME] in {path}."
        )
    return node


def _read_job(name: str, entry: Any, folder: Path) -> Job:
    table = f"[{_TABLE}.{name}]"
    if not isinstance(entry, dict) or not name:
        raise click.UsageError(f"{table} must be a table with a name, 'spec' and 'output'.")
    for key, value in entry.items():
        _check_key(key, value, table)
    for key in ("spec", "output"):
        if not entry.get(key) and not (key == "spec" and "config" in entry):
            raise click.UsageError(f"{table}: {key!r} is missing.")
    spec = entry.get("spec")
    try:
        settings = make_settings(resolve_paths(entry.get("settings", {}), folder))
    except SettingsError as error:
        raise click.UsageError(f"{table}: settings: {error}") from None
    return f"{table}: ", {
        **{key: entry[key] for key in _CHOICES if key in entry},
        **{key: folder / entry[key] for key in ("output", "config") if key in entry},
        "source": None if spec is None else parse_source(_resolve_location(spec, folder)),
        "name": name,
        "settings": settings,
        "select": combine_filters([entry.get(key) for key in ("tags", "methods", "match")]),
        "overlays": [_resolve_location(each, folder) for each in entry.get("overlays", ())],
    }


def combine_filters(filters: Sequence[Any]) -> Select | None:
    """Return the selection of tags, methods and patterns; None if none of them is set."""
    return None if all(each is None for each in filters) else build_selection(*filters)


def _resolve_location(location: str, folder: Path) -> str:
    return location if "://" in location else str(folder / location)


def _check_key(key: str, value: Any, table: str) -> None:
    if key not in _KEYS:
        raise click.UsageError(
            f"{table}: unknown key {key!r:.60}; expected one of {', '.join(_KEYS)}."
        )
    expected = _KEYS[key]
    if expected == "a list of strings":
        is_valid = isinstance(value, list) and all(isinstance(item, str) for item in value)
    else:
        is_valid = isinstance(value, str if expected == "a string" else dict)
    if key in _CHOICES:
        is_valid, expected = value in _CHOICES[key], f"one of {', '.join(_CHOICES[key])}"
    if not is_valid:
        raise click.UsageError(f"{table}: {key!r} must be {expected}.")
