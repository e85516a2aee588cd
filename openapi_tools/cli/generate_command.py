"""`openapi-tools generate`: write a document's tools as a package, or say what has drifted."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import as_json, busy, clean, remark, say, skipped_data, tell_skipped
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import SettingsError, counted
from openapi_tools.options import resolve_paths
from openapi_tools.tools.session import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.generate import Report
    from openapi_tools.options import Select
    from openapi_tools.tools.toolset import Toolset

    _Job = tuple[str, dict[str, Any]]  # its place in pyproject.toml, arguments of generate_package

_LISTED = 20
_FILE = "pyproject.toml"
_TABLE = "tool.openapi-tools.generate"
_MEMBERS = {
    **dict.fromkeys(("spec", "config", "output", "layout"), "a text"),
    **dict.fromkeys(("tags", "methods", "match", "overlays"), "a list of texts"),
    "settings": "a table",
    "target": "a text",
}
_CHOICES = {"target": ("python", "exathena"), "layout": ("package", "module")}
_HUES = {"+": "green", "-": "red", "@": "cyan"}


@shared.command("generate")
def generate(
    spec: str | None, *, html: Path | None, check: bool, force: bool, **options: Any
) -> int:
    """Write the tools of SPEC as a Python package into a folder, or as a page.

    Without SPEC, write every package that [tool.openapi-tools.generate] of pyproject.toml lists.
    """
    wants_diff, wants_json = options.pop("wants_diff"), options.pop("wants_json")
    looks = check or wants_diff
    if looks and force:
        raise click.UsageError("--check and --diff write nothing, so --force has nothing to do.")
    if html is not None and not options["output"] and (wants_diff or wants_json):
        raise click.UsageError("--diff and --json are about packages; give --output, too.")
    stale = html is not None and _page(spec, html, check=looks, **options)
    if html is not None and not options["output"]:
        return int(looks and stale)
    reports: list[Report] = []
    try:
        for place, arguments in _jobs(spec, **options):
            reports.append(_run(place, arguments, check=looks, force=force))
            if not wants_json:
                _tell(reports[-1], check=looks, wants_diff=wants_diff)
    finally:  # what was done before a fault is told
        if wants_json and reports:
            packages = [_as_data(report, wants_diff=wants_diff) for report in reports]
            say(as_json({"packages": packages}))
    return int(looks and (stale or any(report.drifted for report in reports)))


def _page(spec: str | None, html: Path, *, check: bool, output: str | None, **options: Any) -> bool:
    if spec == "-" and output:
        raise click.UsageError("standard input is read once; give --output or --html.")
    toolset = shared.load(shared.source_of(spec))
    filters = (options[name] for name in ("tags", "methods", "patterns"))
    return write_page(shared.selected(toolset, *filters), html, check=check)


def write_page(toolset: Toolset, file: Path, changes: Any = None, *, check: bool = False) -> bool:
    """Write the page as one file unless it is only checked, and tell whether that changes it."""
    with busy("Writing the page"):
        one_file = import_module("openapi_tools.browse.one_file")
        content: bytes = one_file.page(toolset, changes).encode()
    try:
        stale = not file.is_file() or file.read_bytes() != content
        if stale and not check:
            file.write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}.") from None
    state = ("would change" if check else "written") if stale else "up to date"
    remark(f"page: {state}, {counted(len(toolset), 'tool')} in {file}")
    return stale


def _jobs(spec: str | None, *, output: str | None, **options: Any) -> list[_Job]:
    filters = [options.pop(name) for name in ("tags", "methods", "patterns")]
    chosen = {name: value for name, value in options.items() if value}
    settings, credentials = shared.given_settings(), shared.given_credentials()
    overlays, config = shared.given_overlays(), shared.given_config()
    if spec is None and config is None:
        if output or chosen or any(filters) or overlays or settings or credentials:
            raise click.UsageError("--output, --name, --bearer and the like need SPEC.")
        return _project_jobs()
    if not output:
        raise click.UsageError("SPEC needs --output, the folder of the package.")
    given = {
        "settings": settings_of(settings) if settings else None,
        "credentials": credentials,
        "select": _selection(filters),
    }
    source = shared.source_of(spec)
    more = {"source": source, "output": Path(output), "overlays": overlays, "config": config}
    return [("", {**chosen, **given, **more})]


def _run(place: str, arguments: dict[str, Any], *, check: bool, force: bool) -> Report:
    from openapi_tools.generate import generate_package

    try:
        with busy(f"Generating {arguments['output'].name}"):
            return generate_package(**arguments, check=check, force=force)
    except SettingsError as error:
        raise SettingsError(f"{place}{error}") from None


def _tell(report: Report, *, check: bool, wants_diff: bool) -> None:
    from openapi_tools.codegen.changes import describe_change

    state = "would change" if check else "written"
    state = state if report.drifted else "up to date"
    told = f"{report.api}: {state}, {counted(len(report.tools), 'tool')} in {_shown(report.output)}"
    say(clean(told, lines=False))
    changes = (line for change in report.changes for line in describe_change(change).split("\n"))
    for line in (*changes, *_files(report, check=check)):
        say(f"  {clean(line)}")
    for line in report.diff() if wants_diff else ():
        say(click.style(clean(line), fg=_HUES.get(line[:1])))
    tell_skipped(report)


def _files(report: Report, *, check: bool) -> Iterator[str]:
    overwritten = [path for path in report.edited if path not in report.kept]
    changed = [path for path in report.written if path not in overwritten]
    if check:
        yield from _listed("would be written", changed)
        yield from _listed("would be removed", report.removed)
    elif report.drifted:
        touched = {"written": changed, "removed": report.removed, "unchanged": report.unchanged}
        yield ", ".join(f"{counted(len(p), 'file')} {state}" for state, p in touched.items() if p)
    yield from _listed(f"edited by hand{'' if check else ', overwritten'}", overwritten)
    yield from _listed("edited by hand, no longer generated, kept", report.kept)


def _listed(state: str, paths: Sequence[str]) -> Iterator[str]:
    for path in paths[:_LISTED]:
        yield f"{state}: {path}"
    if len(paths) > _LISTED:
        yield f"{state}: {len(paths) - _LISTED} more"


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _as_data(report: Report, *, wants_diff: bool) -> dict[str, Any]:
    from openapi_tools.codegen.changes import change_to_data

    return {
        "api": report.api,
        "output": _shown(report.output),
        "tools": list(report.tools),
        "drifted": report.drifted,
        "breaking": any(change.breaking for change in report.changes),
        "changes": [change_to_data(change) for change in report.changes],
        "files": {
            state: list(getattr(report, state))
            for state in ("written", "unchanged", "removed", "kept", "edited")
        },
        **skipped_data(report),
        **({"diff": list(report.diff())} if wants_diff else {}),
    }


def _project_jobs() -> list[_Job]:
    """Return the packages that the nearest pyproject.toml lists, from here upwards."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / _FILE
        if path.is_file():
            return [_job(name, entry, folder) for name, entry in _project_table(path).items()]
    raise click.UsageError(
        f"give SPEC and --output, or a [{_TABLE}] table in {_FILE}; there is no {_FILE} here."
    )


def _project_table(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            node: Any = tomllib.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}.") from None
    for key in _TABLE.split("."):
        node = node.get(key, {}) if isinstance(node, dict) else {}
    if not isinstance(node, dict) or not node:
        raise click.UsageError(
            f"give SPEC and --output, or list packages under [{_TABLE}.NAME] in {path}."
        )
    return node


def _job(name: str, entry: Any, folder: Path) -> _Job:
    """Return one package; paths are relative to the file that names them."""
    place = f"[{_TABLE}.{name}]"
    if not isinstance(entry, dict) or not name:
        raise click.UsageError(f"{place} must be a table with 'spec' and 'output', and a name.")
    for key, value in entry.items():
        _check_member(key, value, place)
    for key in ("spec", "output"):
        if not entry.get(key) and not (key == "spec" and "config" in entry):
            raise click.UsageError(f"{place} lacks {key!r}.")
    members, spec = entry.get("settings", {}), entry.get("spec")
    try:
        settings = settings_of(resolve_paths(members, folder))
    except SettingsError as error:
        raise click.UsageError(f"{place}: settings: {error}") from None
    filters = [entry.get(key) for key in ("tags", "methods", "match")]
    return f"{place}: ", {
        **{key: entry[key] for key in _CHOICES if key in entry},
        **{key: folder / entry[key] for key in ("output", "config") if key in entry},
        "source": None if spec is None else shared.source_of(_located(spec, folder)),
        "name": name,
        "settings": settings,
        "select": _selection(filters),
        "overlays": [_located(overlay, folder) for overlay in entry.get("overlays", ())],
    }


def _selection(filters: Sequence[Any]) -> Select | None:
    return None if all(each is None for each in filters) else shared.selection(*filters)


def _located(place: str, folder: Path) -> str:
    return place if "://" in place else str(folder / place)


def _check_member(key: str, value: Any, place: str) -> None:
    if key not in _MEMBERS:
        raise click.UsageError(f"{place} has no {key!r:.60}; there are {', '.join(_MEMBERS)}.")
    kind = _MEMBERS[key]
    if kind == "a list of texts":
        right = isinstance(value, list) and all(isinstance(item, str) for item in value)
    else:
        right = isinstance(value, str if kind == "a text" else dict)
    if key in _CHOICES:
        right, kind = value in _CHOICES[key], f"one of {', '.join(_CHOICES[key])}"
    if not right:
        raise click.UsageError(f"{place}: {key!r} must be {kind}.")
