"""`[tool.openapi-tools.generate]` of pyproject.toml: the packages that a project generates."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.errors import SettingsError

if TYPE_CHECKING:
    from openapi_tools.settings import Settings

_FILE = "pyproject.toml"
_TABLE = "tool.openapi-tools.generate"
_TEXTS = ("spec", "output", "layout", "templates")
_LISTS = ("tags", "methods", "match")
_CHOICES = {"target": ("python", "exathena"), "layout": ("package", "module")}


@dataclass(frozen=True, slots=True)
class Job:
    """One package to generate.

    Attributes:
        name: Of the API; from the document's title when empty.
        spec: A URL, a path, or `-`.
        output: Folder of the distribution, or of the single module.
        target: `python` or `exathena`.
        layout: `package` or `module`.
        templates: Folder with templates of the user's.
        tags: As `--tag`.
        methods: As `--method`.
        match: As `--match`.
        settings: As for `generate_package`.
        place: The table that lists it; empty on the command line.
    """

    name: str
    spec: str
    output: Path
    target: str = "python"
    layout: str = "package"
    templates: Path | None = None
    tags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    match: tuple[str, ...] = ()
    settings: Settings | None = None
    place: str = ""


def read_jobs() -> list[Job]:
    """Return the packages that the nearest pyproject.toml lists, from here upwards.

    Raises:
        click.UsageError: There is no such file or table, or it says something else.
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / _FILE
        if path.is_file():
            return [_job(name, entry, folder) for name, entry in _table(path).items()]
    message = f"give SPEC and --output, or a [{_TABLE}] table in {_FILE}; there is no {_FILE} here."
    raise click.UsageError(message)


def _table(path: Path) -> dict[str, Any]:
    """Return the table, which is not empty."""
    try:
        with path.open("rb") as file:
            node: Any = tomllib.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}.") from None
    for key in _TABLE.split("."):
        node = node.get(key, {}) if isinstance(node, dict) else {}
    if not isinstance(node, dict) or not node:
        message = f"give SPEC and --output, or list packages under [{_TABLE}.NAME] in {path}."
        raise click.UsageError(message)
    return node


def _job(name: str, entry: Any, folder: Path) -> Job:
    """Return one package; paths are relative to the file that names them."""
    place = f"[{_TABLE}.{name}]"
    if not isinstance(entry, dict) or not name:
        raise click.UsageError(f"{place} must be a table with 'spec' and 'output', and a name.")
    for key, value in entry.items():
        _check(key, value, place)
    for key in ("spec", "output"):
        if not entry.get(key):
            raise click.UsageError(f"{place} lacks {key!r}.")
    known = {key: tuple(entry[key]) for key in _LISTS if key in entry}
    spec = entry["spec"]
    return Job(
        name=name,
        spec=spec if "://" in spec else str(folder / spec),
        output=folder / entry["output"],
        target=entry.get("target", _CHOICES["target"][0]),
        layout=entry.get("layout", _CHOICES["layout"][0]),
        templates=folder / entry["templates"] if "templates" in entry else None,
        settings=_settings(entry.get("settings", {}), place, folder),
        place=place,
        **known,
    )


def _settings(members: dict[str, Any], place: str, folder: Path) -> Settings:
    """Return the settings of a package."""
    from openapi_tools.settings import Settings

    root = members.get("ref_root")
    try:
        return Settings(**members | ({"ref_root": folder / root} if isinstance(root, str) else {}))
    except SettingsError as error:
        raise click.UsageError(f"{place}: settings: {error}") from None


def _check(key: str, value: Any, place: str) -> None:
    """Refuse what is unknown or of a wrong kind."""
    if key in (*_TEXTS, "target"):
        right, kind = isinstance(value, str), "a text"
    elif key in _LISTS:
        right = isinstance(value, list) and all(isinstance(item, str) for item in value)
        kind = "a list of texts"
    elif key == "settings":
        right, kind = isinstance(value, dict), "a table"
    else:
        known = ", ".join((*_TEXTS, *_LISTS, "settings", "target"))
        raise click.UsageError(f"{place} has no {key!r:.60}; there are {known}.")
    if key in _CHOICES:
        right, kind = value in _CHOICES[key], f"one of {', '.join(_CHOICES[key])}"
    if not right:
        raise click.UsageError(f"{place}: {key!r} must be {kind}.")
