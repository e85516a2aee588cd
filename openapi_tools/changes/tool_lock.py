"""The tool lock: each tool as it was when it was accepted, and what has changed since.

A lock is a sorted JSON file without timestamps or paths of this machine, or the manifest of a
generated package. What changed and whether it may break a caller is judged as `generate --check`
and `diff` do. People read what changed in words; a model reads kinds and numbers, as the words may
be an attack.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from openapi_tools.changes.canonical_forms import canonical_record
from openapi_tools.changes.change_counts import count_changes
from openapi_tools.changes.tool_changes import (
    ToolChange,
    find_changes,
    find_scheme_changes,
    find_scheme_differences,
)
from openapi_tools.codegen.output_state import read_inside, read_manifest, sha256_of
from openapi_tools.codegen.package_data import ToolRecord, read_records, read_schemes
from openapi_tools.common.json_values import digest_of, join_pointer
from openapi_tools.errors import OutputError, SettingsError, join_first
from openapi_tools.model import Operation, SecurityScheme, Skipped
from openapi_tools.state.atomic_files import replace_file

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping

    from openapi_tools.toolsets.toolset import Toolset

LOCK_NAME = "openapi-tools.lock"
Policy = Literal["note", "quarantine", "refuse"]
_MOST_BYTES = 256 * 1024 * 1024
_MOST_NAMED = 5
_TYPE_CHANGED = "a value changed its type"
_UNUSABLE = "the document has it in a form that cannot be called; `openapi-tools list -v` says why."
_DUMP_OPTIONS: Any = {"mode": "json", "exclude_defaults": True}
_OPERATIONS, _SCHEMES = TypeAdapter(Operation), TypeAdapter(dict[str, SecurityScheme])


class LockChange(NamedTuple):
    """What changed of one tool; `verdict` says it in a few words, `lines` say it whole.

    `accepted` is the tool's name in the lock, empty for a new one; `counts` has kinds and numbers.
    """

    tool: str
    breaking: bool
    lines: tuple[str, ...]
    verdict: str
    accepted: str = ""
    counts: str = ""


class _LockEntry(NamedTuple):
    """One tool as it is compared; `data` is what the hash is of."""

    record: ToolRecord
    schemes: Mapping[str, SecurityScheme]
    data: dict[str, Any]

    @property
    def sha256(self) -> str:
        """The hash of name, description, schema and wire plan, whatever the order of keys."""
        return digest_of([self.record.name, self.data])


@dataclass(frozen=True, slots=True)
class ToolLock:
    """The accepted tools, by name; `path` is that of the file."""

    entries: Mapping[str, _LockEntry]
    path: Path = Path(LOCK_NAME)
    is_package: bool = False


def make_lock(toolset: Toolset, path: Path = Path(LOCK_NAME)) -> ToolLock:
    """Return the lock of a toolset's tools as they are now."""
    return ToolLock(_make_entries(toolset, toolset.security_schemes), path)


def read_lock(path: str | os.PathLike[str]) -> ToolLock:
    """Return the lock in a file, or that of a generated package, by its manifest.

    Raises:
        SettingsError: It cannot be read, or it is neither.
    """
    file = Path(path)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{file}: larger than {_MOST_BYTES:,} bytes, so not a lock.")
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "`openapi-tools lock SPEC` writes it"
        raise SettingsError(f"{file}: the lock does not exist; {hint}.") from None
    except OSError as error:
        raise SettingsError(f"{file}: the lock cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file}: this lock is not JSON ({error!s:.100}).") from None
    match data:
        case {"lock": 1, "tools": dict(tools)}:
            return ToolLock({name: _read_entry(file, name, tools[name]) for name in tools}, file)
    sources = _package_sources(file)
    if records := read_records(sources):
        return ToolLock(
            _make_entries(records.values(), read_schemes(sources)), file, is_package=True
        )
    raise SettingsError(f"{file}: this is neither a lock nor the manifest of a Python package.")


def _package_sources(manifest_file: Path) -> dict[str, str]:
    manifest = read_manifest(manifest_file.read_bytes())
    sources = {}
    for path, expected_digest in manifest.files.items() if manifest is not None else ():
        if path.endswith(".py"):
            try:
                data = read_inside(manifest_file.parent, path)
            except (OSError, OutputError):
                data = None
            if data is None or sha256_of(data) != expected_digest:
                what = "is missing" if data is None else "was edited by hand"
                hint = "restore it, or review it and generate the package again"
                raise SettingsError(f"{manifest_file.parent / path}: this file {what}; {hint}.")
            sources[path] = data.decode()
    return sources


def _read_entry(file: Path, name: str, data: Any) -> _LockEntry:
    try:
        fields = {key: data[key] for key in ("description", "input_schema", "operation", "schemes")}
        schema, operation = fields["input_schema"], _OPERATIONS.validate_python(fields["operation"])
        record = ToolRecord(name, str(fields["description"]), schema, operation)
        entry = _LockEntry(record, _SCHEMES.validate_python(fields["schemes"]), fields)
        is_whole = isinstance(schema, dict) and data["sha256"] == entry.sha256
    except (KeyError, TypeError, ValidationError):
        is_whole = False
    if not is_whole:
        hint = "restore it, or remove the file and lock again"
        raise SettingsError(f"{file}: the entry of {name!r:.80} was changed by hand; {hint}.")
    return entry


def _make_entries(
    tools: Iterable[Any], schemes: Mapping[str, SecurityScheme]
) -> dict[str, _LockEntry]:
    entries = {}
    for tool in tools:
        scheme_names = {name for names in tool.operation.security for name in names}
        tool_schemes = {name: scheme for name, scheme in schemes.items() if name in scheme_names}
        # Sorted as in the file.
        schema = json.loads(json.dumps(tool.input_schema, sort_keys=True))
        record = ToolRecord(tool.name, tool.description, schema, tool.operation)
        entries[tool.name] = _LockEntry(record, tool_schemes, _entry_data(record, tool_schemes))
    return entries


def _entry_data(record: ToolRecord, schemes: Mapping[str, SecurityScheme]) -> dict[str, Any]:
    return {
        "description": record.description,
        "input_schema": record.input_schema,
        "operation": _OPERATIONS.dump_python(record.operation, **_DUMP_OPTIONS),
        "schemes": _SCHEMES.dump_python(dict(schemes), **_DUMP_OPTIONS),
    }


def find_lock_changes(lock: ToolLock, current: ToolLock) -> list[LockChange]:
    """Return what changed between two locks: one for each tool, breaking ones first.

    An order without a meaning is no change: that of properties, of parts of a body, of media types.
    """
    sides = lock.entries, current.entries
    old, new = (_changed_entries(side, other) for side, other in (sides, sides[::-1]))
    old_schemes, new_schemes = (
        {n: s for e in side.values() for n, s in e.schemes.items()} for side in sides
    )
    records = [
        {name: canonical_record(e.record) for name, e in side.items()} for side in (old, new)
    ]
    shared_records = (record for name, record in records[1].items() if name in old)
    parts: dict[str, list[Any]] = {}
    for part in [
        *find_changes(*records),
        *find_scheme_changes(old_schemes, new_schemes, shared_records),
    ]:
        parts.setdefault(part.tool, []).append(part)
    for name in new:
        # Values may differ where Python compares them as equal: 1 and true.
        parts.setdefault(
            name, [ToolChange("operation", name, breaking=True, details=(_TYPE_CHANGED,))]
        )
    lock_changes = (_make_change(name, some, old, new) for name, some in parts.items())
    return sorted(lock_changes, key=lambda item: not item.breaking)


def _changed_entries(
    entries: Mapping[str, _LockEntry], other_entries: Mapping[str, _LockEntry]
) -> dict[str, _LockEntry]:
    return {
        name: entry
        for name, entry in entries.items()
        if name not in other_entries or not _is_same(entry, other_entries[name])
    }


def _is_same(entry: _LockEntry, other: _LockEntry) -> bool:
    if entry.sha256 == other.sha256:
        return True
    records = (canonical_record(entry.record), canonical_record(other.record))
    hashes = {_hash_of(each, e.schemes) for each, e in zip(records, (entry, other), strict=True)}
    return len(hashes) == 1


def _hash_of(record: ToolRecord, schemes: Mapping[str, SecurityScheme]) -> str:
    return digest_of([record.name, _entry_data(record, schemes)])


def _make_change(
    name: str, parts: list[Any], old: Mapping[str, _LockEntry], new: Mapping[str, _LockEntry]
) -> LockChange:
    breaking = any(part.breaking for part in parts)
    labels = {"description": "description: ", "operation": "operation: "}
    lines = tuple(labels.get(part.kind, "") + line for part in parts for line in part.details)
    kind = next((p.kind for p in parts if p.kind in ("added", "removed")), "changed")
    effect = "it may break callers" if breaking else "existing callers keep working"
    verdict = (
        "is new" if kind == "added" else f"{'is gone' if kind == 'removed' else kind}; {effect}"
    )
    before = next((part.before for part in parts if part.before), "")
    old_name = before or (name if name in old else "")
    counts = _count_entry_changes(old.get(old_name), new.get(name))
    if before:
        verdict, counts = (
            f"was {before}; {effect}",
            ", ".join(filter(None, ("the name changed", counts))),
        )
    return LockChange(name, breaking, lines, verdict, old_name, counts)


def _count_entry_changes(old: _LockEntry | None, new: _LockEntry | None) -> str:
    if old is None or new is None:
        return ""
    schemes = find_scheme_differences(old.schemes, new.schemes, new.record.operation)
    records = canonical_record(old.record), canonical_record(new.record)
    return count_changes(*records, schemes)


def apply_lock(
    toolset: Toolset, lock: ToolLock, policy: Policy = "quarantine"
) -> tuple[Toolset, list[LockChange]]:
    """Return the tools that a lock lets pass, and what has changed since it was written.

    Args:
        toolset: The tools of a document.
        lock: As `read_lock` returns it.
        policy: `note` lets all pass; `quarantine` leaves out changed and new tools, and a call of
            one is refused with the kinds of change; both say what changed in `warnings`. `refuse`
            raises. A tool that differs by an order only passes with its accepted description.

    Raises:
        SettingsError: Something has changed, and the policy is `refuse`.
    """
    changes = find_lock_changes(lock, make_lock(toolset))
    if changes and policy == "refuse":
        reasons = "; ".join(map(describe_lock_change, changes[:_MOST_NAMED]))
        rest = f"; and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
        raise SettingsError(f"{lock.path.name}: {reasons}{rest}. {_advice(lock)}")
    if policy == "note":
        return toolset.with_tools(
            toolset, _warnings(lock, changes)
        ) if changes else toolset, changes
    changes_by_tool = {change.tool: change for change in changes}
    quarantined = {
        tool.name: changes_by_tool[tool.name] for tool in toolset if tool.name in changes_by_tool
    }
    passing = [_as_accepted(tool, lock) for tool in toolset if tool.name not in quarantined]
    skipped = [replace(item, notice=_UNUSABLE) for item in toolset.skipped]
    skipped += (_skip_tool(toolset[name], change, lock) for name, change in quarantined.items())
    if not changes and not skipped and passing == list(toolset):
        return toolset, changes
    return toolset.with_tools(passing, _warnings(lock, changes, quarantined), skipped), changes


def _warnings(
    lock: ToolLock, changes: Iterable[LockChange], quarantined: Collection[str] = ()
) -> list[str]:
    warnings = []
    for change in changes:
        state = "quarantined: " if change.tool in quarantined else ""
        warnings.append(f"{lock.path.name}: {state}{describe_lock_change(change)}.")
    return warnings


def _as_accepted(tool: Any, lock: ToolLock) -> Any:
    description = lock.entries[tool.name].record.description
    return tool if tool.description == description else tool.with_description(description)


def _skip_tool(tool: Any, change: LockChange, lock: ToolLock) -> Skipped:
    pointer = join_pointer(("paths", tool.path, tool.method.lower()))
    # The name of a new tool is a word of the document, too.
    subject = f"{change.accepted} is" if change.accepted else "a new tool is"
    differs = f", as it differs from {lock.path.name}: {change.counts}" if change.counts else ""
    effect = "it may break callers" if change.breaking else "existing callers keep working"
    reason = f"{subject} quarantined{differs}; {effect}. {_advice(lock, change.accepted)}"
    name = change.accepted or tool.name
    return Skipped(pointer, reason, tool.method, tool.path, name, tool.operation_id, reason)


def _advice(lock: ToolLock, name: str = "") -> str:
    if lock.is_package:
        return "A person must review it, then generate the package again."
    option = "" if lock.path.name == LOCK_NAME else f" --lock {lock.path.name}"
    argument = f" {name}" if name else ""
    return (
        f"A person must review it, then run `openapi-tools lock SPEC{argument}{option} --accept`."
    )


def describe_lock_change(change: LockChange) -> str:
    """Return a change on one line."""
    lines = join_first(change.lines, _MOST_NAMED)
    return f"{change.tool} {change.verdict}" + (f" ({lines})" if lines else "")


def accept_changes(lock: ToolLock, current: ToolLock, names: Iterable[str] = ()) -> ToolLock:
    """Return a lock with the tools of another: all of them, or those named.

    Raises:
        SettingsError: Neither lock has a tool of a name.
    """
    accepted_names = set(names) or {*lock.entries, *current.entries}
    for name in accepted_names - {*lock.entries, *current.entries}:
        raise SettingsError(f"{name!r:.80} is neither a tool now nor in {lock.path.name}.")
    remaining = {name: entry for name, entry in lock.entries.items() if name not in accepted_names}
    return ToolLock(
        remaining | {n: e for n, e in current.entries.items() if n in accepted_names}, lock.path
    )


def write_lock(lock: ToolLock) -> None:
    """Write a lock at its path; a reader sees the former file or the new one, never a part.

    Raises:
        OutputError: It cannot be written.
    """
    entries = {name: {"sha256": e.sha256, **e.data} for name, e in lock.entries.items()}
    lock_data = {"generator": "openapi-tools", "lock": 1, "tools": entries}
    text = json.dumps(lock_data, indent=1, sort_keys=True) + "\n"
    try:
        replace_file(lock.path, text.encode(), mode=0o666)  # but for the umask: it is no secret
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(lock.path)) from None
