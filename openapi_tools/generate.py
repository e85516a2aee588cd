"""Generate a package of tools from a document: `generate_package`, the steps in order."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openapi_tools.auth import check_credentials
from openapi_tools.changes.tool_changes import ToolChange, find_changes, find_scheme_changes
from openapi_tools.codegen.output_state import (
    EXATHENA,
    LAYOUTS,
    SKILL,
    add_manifest,
    find_manifest,
    manifest_name,
    read_manifest,
    read_output,
)
from openapi_tools.codegen.package_data import (
    UnreadableTool,
    collect_package_data,
    document_info,
    read_records,
    read_schemes,
)
from openapi_tools.codegen.package_plan import api_name, is_api_name, slug
from openapi_tools.codegen.render import render_files
from openapi_tools.codegen.secret_warnings import secret_warnings, variable_warnings
from openapi_tools.codegen.skill_folder import build_skill_folder
from openapi_tools.codegen.skill_text import MOST_NAME, is_skill_name
from openapi_tools.codegen.writer import plan_files, write_files
from openapi_tools.common.json_values import PausedGC
from openapi_tools.common.options import Select
from openapi_tools.common.setting_fields import setting_names
from openapi_tools.common.visible_text import StableNames
from openapi_tools.errors import (
    DocumentError,
    OpenAPIToolsError,
    OutputError,
    SettingsError,
    strip_traceback,
)
from openapi_tools.loading import configured_tools, load
from openapi_tools.loading.document_reader import EMPTY_OPTIONS, DocumentReader, LoadOptions
from openapi_tools.loading.tool_operations import find_operations
from openapi_tools.tools.session import make_settings

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from openapi_tools.codegen.output_state import Manifest
    from openapi_tools.codegen.package_data import PackageData
    from openapi_tools.configuration.config_file import ConfigFile
    from openapi_tools.model import Skipped
    from openapi_tools.settings import Settings
    from openapi_tools.toolsets.toolset import Toolset

_HELD = {*setting_names("tools", "document"), "base_url"}
# Settings of `generate` are about reading; in a configuration they are about calls, too.
_READING_AND_CALLING = setting_names("document and calls")
# Tools of a package offer handles and paths once they are loaded with these settings.
_WITHOUT_FILES = {"download_dir": None, "file_roots": (), "files": None}
_NAMED = 20
_ADVICE = {
    EXATHENA: "configure it where the tools run",
    SKILL: "set it where the command is run",
}
TARGETS = ("python", EXATHENA, SKILL)  # what tools are written as


@dataclass(frozen=True, slots=True)
class Report:
    """The changes that generating a package made, or would make.

    Attributes:
        api: Name of the API: its package is `<api>_tools`.
        output: The folder.
        tools: Names of the tools, in the document's order.
        changes: How the tools differ from those of the existing package; empty for a new one.
        written: Files that are new or have new content.
        unchanged: Files that were up to date.
        removed: Files of the existing package that are no longer generated.
        kept: Such files that remain because they were edited.
        edited: Generated files that were edited by hand.
        skipped: Operations that did not become tools.
        warnings: Remarks on the document, the settings and possible secrets.
    """

    api: str
    output: Path
    tools: tuple[str, ...]
    changes: tuple[ToolChange, ...]
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    edited: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    _before: Mapping[str, str] = field(default_factory=dict, repr=False)
    _after: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each generated file."""
        return {path: len(text.encode()) for path, text in self._after.items()}

    @property
    def drifted(self) -> bool:
        """Whether the existing files were out of date."""
        return bool(self.written or self.removed or self.kept)

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff from the existing files to the generated ones."""
        for path in sorted({*self.written, *self.removed}):
            old, new = (side.get(path, "").split("\n") for side in (self._before, self._after))
            yield from difflib.unified_diff(old, new, path, path, lineterm="")


def generate_package(  # noqa: PLR0913 -- one for each option
    source: str | os.PathLike[str] | bytes | Mapping[str, Any] | None,
    output: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    credentials: Mapping[str, Any] | None = None,
    name: str = "",
    select: Select | None = None,
    target: Literal["python", "exathena", "skill"] = "python",
    layout: Literal["package", "module"] = "package",
    check: bool = False,
    force: bool = False,
    overlays: Sequence[str | os.PathLike[str] | bytes | Mapping[str, Any]] = (),
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Report:
    """Write the tools of an OpenAPI document as a Python package, Elixir for ExAthena, or a skill.

    Args:
        source: As for `load_tools`.
        output: Folder of the distribution or single module; a package there keeps its names.
        settings: How the document is read and the tools are shaped.
        credentials: As for `load_tools`; they fetch the document, and are never written.
        name: Name of the API, words of `a-z0-9` joined by `_`; from the document's title if empty.
        select: Which operations become tools; all by default.
        target: `"python"`; `"exathena"` for a Mix project with a module for each tool; `"skill"`
            for a folder of the Agent Skills format, which has the name of the skill.
        layout: For Python: `"package"` for a distribution, `"module"` for one file.
        check: Report only, and write nothing.
        force: Overwrite generated files that were edited by hand.
        overlays: As for `load_tools`.
        config: As for `load_tools`.

    Raises:
        SourceError, CredentialsError, DocumentError: As for `load_tools`; or none is usable.
        SettingsError: A name, target or layout is wrong; no tool is left.
        OutputError: The files cannot or may not be written; the existing ones are unchanged.
    """
    form = _manifest_layout(target, layout, Path(output))
    try:
        options = LoadOptions(
            source, make_settings({} if settings is None else settings), credentials, overlays
        )
        toolset, data, file = _load_package(options, select, config, name, (output, form))
    except OpenAPIToolsError as error:
        source, credentials, overlays, options = "", None, (), EMPTY_OPTIONS  # for tracebacks
        raise strip_traceback(error)  # noqa: B904 -- the same one
    data, files = _render_package_files(toolset, data, file, form=form, output=Path(output))
    report = _write_package(Path(output), files, data, form=form, check=check, force=force)
    unused = _option_warnings(settings, file, form)
    return replace(report, warnings=(*toolset.warnings, *unused, *_secret_warnings(data, form)))


def _secret_warnings(data: PackageData, form: str) -> Iterator[str]:
    yield from secret_warnings(data.records)
    if form == SKILL:
        yield from variable_warnings(data)


def _manifest_layout(target: str, layout: str, output: Path) -> str:
    for name, value, choices in (("target", target, TARGETS), ("layout", layout, LAYOUTS)):
        if value not in choices:
            raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    if target != TARGETS[0] and layout != LAYOUTS[0]:
        raise SettingsError(
            f"layout {layout!r} is for the target python; {target!r} has only one layout."
        )
    if target == SKILL:
        _check_skill_name(output)
    return layout if target == TARGETS[0] else target


def _check_skill_name(output: Path) -> None:
    folder = _folder_name(output)
    if not is_skill_name(folder):
        example = slug(folder).replace("_", "-")[:MOST_NAME].strip("-") or "museum-api"
        reason = (
            f"a skill has the name of its folder, and {folder!r:.100} cannot be one; use a-z, 0-9 "
            f"and single hyphens, at most {MOST_NAME} characters, as {example}."
        )
        raise OutputError(reason, path=str(output))


def _folder_name(output: Path) -> str:
    return output.name if output.name not in ("", "..") else output.resolve().name


def _render_package_files(
    toolset: Toolset, data: PackageData, file: ConfigFile | None, *, form: str, output: Path
) -> tuple[PackageData, dict[str, str]]:
    with PausedGC():
        if form == EXATHENA:
            # Start-up time: most packages are in Python.
            from openapi_tools.codegen.elixir_project import build_project

            data, files = build_project(data)
        elif form == SKILL:
            files = build_skill_folder(toolset, data, file, name=_folder_name(output))
        else:
            files = render_files(data, layout=form)
        return data, add_manifest(files, data, layout=form)


def _refuse_empty_package(skipped: Sequence[Skipped], standing: Sequence[str]) -> None:
    if skipped:
        reasons = [f"{s.method} {s.path} at {s.pointer}: {s.reason}" for s in skipped[:_NAMED]]
        rest = f" … {len(skipped) - _NAMED} more." if len(skipped) > _NAMED else ""
        reason = (
            f"none of its {len(skipped)} operations can become a tool. {' '.join(reasons)}{rest}"
        )
        raise DocumentError(reason)
    if standing:
        reason = f"it has no operations; the package of {len(standing)} tools is unchanged. "
        raise DocumentError(f"{reason}Delete it if it is no longer needed.")


def _load_package(
    options: LoadOptions, select: Select | None, config: Any, name: str, place: tuple[Any, str]
) -> tuple[Toolset, PackageData, ConfigFile | None]:
    select, user_credentials = Select.parse(select), check_credentials(options.credentials)
    options, file = configured_tools.read_options(
        replace(options, credentials=user_credentials), config
    )
    settings, credentials = options.settings, options.credentials
    plain = replace(options, settings=settings.model_copy(update=_WITHOUT_FILES))
    document = DocumentReader(plain, find_duplicates=True).read()
    manifest = find_manifest(
        Path(place[0]), manifest_name(_choose_api_name(name, document.root), place[1])
    )
    kept_names = (
        StableNames()
        if manifest is None or place[1] == SKILL  # its command reads the document alone
        else StableNames(frozenset(manifest.tools), manifest.short_names)
    )
    with PausedGC():
        operations = find_operations(document, strict=False, kept=kept_names)
    # A package is the same whoever generates it: keys stay arguments until it is loaded with them.
    toolset = load.make_toolset(operations, credentials, hides_keys=False)
    chosen = toolset
    if file is not None:
        chosen = configured_tools.apply_configuration(
            toolset, file, user_credentials, selects=select is None
        )
    chosen = chosen.select(select) if select is not None else chosen
    if len(toolset) and not len(chosen):
        # A slip in a tag must not empty an existing package.
        raise SettingsError(
            f"none of the document's {len(toolset)} tools is selected; change the selection."
        )
    api, servers = _choose_api_name(name, chosen.document), document.root_servers()
    with PausedGC():
        data = collect_package_data(chosen, api=api, settings=settings, servers=servers)
    return chosen, data, file


def _choose_api_name(name: str, document: Any) -> str:
    if not name:
        return api_name(document_info(document)[0])
    if not isinstance(name, str) or not is_api_name(name):
        reason = (
            "cannot be part of a package's name; use words of a-z and 0-9 joined by _, a-z first"
        )
        raise SettingsError(f"name: {name!r:.100} {reason}, at most 40 in all, not 'openapi'.")
    return name


def _write_package(
    output: Path,
    files: Mapping[str, str],
    data: PackageData,
    *,
    form: str,
    check: bool,
    force: bool,
) -> Report:
    manifest = manifest_name(data.api, form)
    before = read_output(output, manifest=manifest)
    manifest_data = read_manifest(before.get(manifest, ""))  # None for none, and for a spoilt one
    if not data.records:
        _refuse_empty_package(
            data.skipped, manifest_data.tools if manifest_data is not None else ()
        )
    _check_output(output, data.api, form, force=force)
    if check:
        done = plan_files(output, files, manifest=manifest)
    else:
        done = write_files(output, files, manifest=manifest, force=force)
    names = tuple(record.name for record in data.records)
    changes = (
        () if manifest_data is None else tuple(_find_tool_changes(before, manifest_data, data))
    )
    states = done[:5]  # of the files, named alike in both
    return Report(
        data.api,
        output,
        names,
        changes,
        *states,
        skipped=data.skipped,
        _before=before,
        _after=files,
    )


def _find_tool_changes(
    before: Mapping[str, str], listed: Manifest, data: PackageData
) -> Iterator[ToolChange]:
    new = {record.name: record for record in data.records}
    if listed.layout in (EXATHENA, SKILL):
        yield from find_changes(dict.fromkeys(listed.tools), new)
        return
    faults: list[UnreadableTool] = []
    sources = {path: text for path, text in before.items() if path.endswith(".py")}
    old = read_records(sources, unreadable=faults)
    unread_tools = set(listed.tools) - old.keys()  # their files are spoilt or gone
    for change in find_changes(old, new, unreadable=faults):
        if change.kind != "added" or change.tool not in unread_tools:
            yield change
    kept_records = (record for record in data.records if record.name in old)
    yield from find_scheme_changes(read_schemes(sources), data.schemes, kept_records)


def _option_warnings(
    settings: Settings | None, file: ConfigFile | None, form: str
) -> Iterator[str]:
    advice = _ADVICE.get(form, "pass it to its load()")
    names = make_settings({} if settings is None else settings).model_fields_set
    for name in sorted(names - _HELD - _READING_AND_CALLING):
        yield f"settings: {name} has no effect on a package; {advice}."
    if file is None:
        return
    for name in sorted(file.data.settings.keys() - _HELD):
        yield f"{file.name}: settings.{name} has no effect on a package; {advice}."
    if file.data.credentials:
        yield f"{file.name}: credentials are never written to a package; {advice}."
    if file.data.lock:
        yield f"{file.name}: lock has no effect on a package; its manifest is a lock."


def _check_output(output: Path, api: str, form: str, *, force: bool) -> None:
    for other in (form, *sorted({*LAYOUTS, EXATHENA, SKILL} - {form})):
        name = manifest_name(api, other)
        manifest = find_manifest(output, name)
        if manifest is None:
            continue
        if other == form and manifest.api != api and not force:
            reason = f"the package of the API {manifest.api!r:.60} is here, not of {api!r}; "
            hint = (
                "use that name, choose another folder, or overwrite it with --force (force=True)."
            )
            raise OutputError(reason + hint, path=str(output))
        if other != form and (manifest.api, manifest.layout) == (api, other):
            reason = f"the API {api!r} is here in the layout {other!r}; "
            hint = "remove it, or choose another folder."
            raise OutputError(reason + hint, path=str(output))
