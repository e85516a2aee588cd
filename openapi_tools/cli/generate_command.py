"""`openapi-tools generate`: write a document's tools as a package, or say what has drifted."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import as_json, busy, clean, remark, say, skipped_data, tell_skipped
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import SettingsError, counted
from openapi_tools.tools.session import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.generate import Report
    from openapi_tools.settings import Settings
    from openapi_tools.tools.toolset import Toolset

_LISTED = 20
_FILE = "pyproject.toml"
_TABLE = "tool.openapi-tools.generate"
_TEXTS = ("spec", "config", "output", "layout", "templates")
_LISTS = ("tags", "methods", "match", "overlays")
_CHOICES = {"target": ("python", "exathena"), "layout": ("package", "module")}
_FOLDER = click.Path(path_type=Path)
_HUES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Job:
    """One package to generate: a row of pyproject.toml or the command's options."""

    name: str
    spec: str | None
    output: Path
    target: str = "python"
    layout: str = "package"
    templates: Path | None = None
    config: Path | None = None
    tags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    match: tuple[str, ...] = ()
    overlays: tuple[str | Path, ...] = ()
    settings: Settings | None = None
    place: str = ""


@shared.command("generate")
def generate(
    spec: str | None,
    *,
    html: Path | None,
    check: bool,
    wants_diff: bool,
    wants_json: bool,
    force: bool,
    **options: Any,
) -> int:
    """Write the tools of SPEC as a Python package into a folder, or as a page.

    Without SPEC, write every package that [tool.openapi-tools.generate] of pyproject.toml lists.
    """
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
        for job in _jobs(spec, **options):
            reports.append(_run(job, check=looks, force=force))
            if not wants_json:
                _tell(reports[-1], check=looks, wants_diff=wants_diff)
    finally:  # what was done before a fault is told
        if wants_json and reports:
            packages = [_as_data(report, wants_diff=wants_diff) for report in reports]
            say(as_json({"packages": packages}))
    return int(looks and (stale or any(report.drifted for report in reports)))


def _page(spec: str | None, html: Path, *, check: bool, output: str | None, **options: Any) -> bool:
    """Write the page, and tell whether that changes the file."""
    if spec == "-" and output:
        raise click.UsageError("standard input is read once; give --output or --html.")
    toolset = shared.load(shared.source_of(spec))
    filters = (options[name] for name in ("tags", "methods", "patterns"))
    return write_page(shared.selected(toolset, *filters), html, check=check)


def write_page(
    toolset: Toolset,
    file: Path,
    changes: list[dict[str, Any]] | None = None,
    *,
    check: bool = False,
) -> bool:
    """Write the page as one file unless it is only checked, and tell whether that changes it.

    Raises:
        click.ClickException: The file cannot be read or written.
    """
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


def _jobs(spec: str | None, *, output: str | None, **options: Any) -> list[Job]:
    """Return the packages to generate: SPEC, or those of pyproject.toml."""
    given = {name: value for name, value in options.items() if value}
    given |= {"overlays": tuple(named)} if (named := shared.given_overlays()) else {}
    config = shared.given_config()
    if spec is None and config is None:
        if output or given or shared.given_settings() or shared.given_credentials():
            raise click.UsageError("--output, --name, --bearer and the like need SPEC.")
        return _project_jobs()
    if not output:
        raise click.UsageError("SPEC needs --output, the folder of the package.")
    match = given.pop("patterns", ())
    job = Job(**{"name": "", **given}, spec=spec, output=Path(output), match=match, config=config)
    return [job]


def _run(job: Job, *, check: bool, force: bool) -> Report:
    from openapi_tools.generate import generate_package

    given = shared.given_settings()
    filters = job.tags, job.methods, job.match
    try:
        with busy(f"Generating {job.output.name}"):
            return generate_package(
                None if job.spec is None else shared.source_of(job.spec),
                job.output,
                settings=settings_of(given) if given else job.settings,
                credentials=shared.given_credentials(),
                name=job.name,
                select=shared.selection(*filters) if any(filters) else None,
                target=job.target,  # type: ignore[arg-type]  # the options allow no other
                layout=job.layout,  # type: ignore[arg-type]  # the options allow no other
                templates=job.templates,
                config=job.config,
                check=check,
                force=force,
                overlays=job.overlays,
            )
    except SettingsError as error:
        place = f"{job.place}: " if job.place else ""
        raise SettingsError(f"{place}{error}") from None


def _tell(report: Report, *, check: bool, wants_diff: bool) -> None:
    """Write what was done or would be, a line each."""
    from openapi_tools.codegen.changes import in_words

    state = "would change" if check else "written"
    state = state if report.drifted else "up to date"
    told = f"{report.api}: {state}, {counted(len(report.tools), 'tool')} in {_shown(report.output)}"
    say(clean(told, lines=False))
    changes = (line for change in report.changes for line in in_words(change).split("\n"))
    for line in (*changes, *_files(report, check=check)):
        say(f"  {clean(line)}")
    for line in report.diff() if wants_diff else ():
        say(click.style(clean(line), fg=_HUES.get(line[:1])))
    tell_skipped(report)


def _files(report: Report, *, check: bool) -> Iterator[str]:
    """Yield lines about files: the different ones, or their numbers."""
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
    from openapi_tools.codegen.changes import as_data

    return {
        "api": report.api,
        "output": _shown(report.output),
        "tools": list(report.tools),
        "drifted": report.drifted,
        "breaking": any(change.breaking for change in report.changes),
        "changes": [as_data(change) for change in report.changes],
        "files": {
            state: list(getattr(report, state))
            for state in ("written", "unchanged", "removed", "kept", "edited")
        },
        **skipped_data(report),
        **({"diff": list(report.diff())} if wants_diff else {}),
    }


def _project_jobs() -> list[Job]:
    """Return the packages that the nearest pyproject.toml lists, from here upwards."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / _FILE
        if path.is_file():
            return [_job(name, entry, folder) for name, entry in _project_table(path).items()]
    raise click.UsageError(
        f"give SPEC and --output, or a [{_TABLE}] table in {_FILE}; there is no {_FILE} here."
    )


def _project_table(path: Path) -> dict[str, Any]:
    """Return the table, which is not empty."""
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


def _job(name: str, entry: Any, folder: Path) -> Job:
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
    root = members.get("ref_root")
    try:
        settings = settings_of(
            members | ({"ref_root": folder / root} if isinstance(root, str) else {})
        )
    except SettingsError as error:
        raise click.UsageError(f"{place}: settings: {error}") from None
    return Job(
        name=name,
        spec=None if spec is None else _located(spec, folder),
        config=folder / entry["config"] if "config" in entry else None,
        output=folder / entry["output"],
        target=entry.get("target", _CHOICES["target"][0]),
        layout=entry.get("layout", _CHOICES["layout"][0]),
        templates=folder / entry["templates"] if "templates" in entry else None,
        settings=settings,
        place=place,
        overlays=tuple(_located(overlay, folder) for overlay in entry.get("overlays", ())),
        **{key: tuple(entry[key]) for key in _LISTS if key in entry and key != "overlays"},
    )


def _located(place: str, folder: Path) -> str:
    """Return a URL, or a path that is relative to a folder."""
    return place if "://" in place else str(folder / place)


def _check_member(key: str, value: Any, place: str) -> None:
    """Refuse unknown members and wrong types."""
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
