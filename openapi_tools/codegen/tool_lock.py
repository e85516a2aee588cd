"""The tool lock: each tool as it was when it was accepted, and what has changed since.

A lock is a file of JSON, sorted, without times and places of this machine, or the manifest of a
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

from openapi_tools.codegen.canonical_forms import canonical_record
from openapi_tools.codegen.change_counts import count_changes
from openapi_tools.codegen.changes import Change as ToolChange
from openapi_tools.codegen.changes import changes, scheme_changes, scheme_differences
from openapi_tools.codegen.output_state import digest, read_inside, read_manifest
from openapi_tools.codegen.package_data import Record, read_records, read_schemes
from openapi_tools.errors import OutputError, SettingsError
from openapi_tools.json_values import digest_of, join_pointer
from openapi_tools.model import Operation, SecurityScheme, Skipped
from openapi_tools.shaping.atomic_files import replace_file

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping

    from openapi_tools.tools.toolset import Toolset

NAME = "openapi-tools.lock"
Policy = Literal["note", "quarantine", "refuse"]
_MOST_BYTES = 256 * 1024 * 1024
_NAMED = 5
_VALUES = "a value changed its type"
_UNREAD = "the document has it in a form that cannot be called; `openapi-tools list -v` says why."
_SHORT: Any = {"mode": "json", "exclude_defaults": True}
_OPERATIONS, _SCHEMES = TypeAdapter(Operation), TypeAdapter(dict[str, SecurityScheme])


class Change(NamedTuple):
    """What changed of one tool; `verdict` says it in a few words, `lines` say it whole.

    `accepted` is the tool's name in the lock, empty for a new one; `counts` has kinds and numbers.
    """

    tool: str
    breaking: bool
    lines: tuple[str, ...]
    verdict: str
    accepted: str = ""
    counts: str = ""


class _Entry(NamedTuple):
    """One tool as it is compared; `data` is what the hash is of."""

    record: Record
    schemes: Mapping[str, SecurityScheme]
    data: dict[str, Any]

    @property
    def sha256(self) -> str:
        """The hash of name, description, schema and wire plan; order of members apart."""
        return digest_of([self.record.name, self.data])


@dataclass(frozen=True, slots=True)
class Lock:
    """The accepted tools, by name; `path` is that of the file."""

    entries: Mapping[str, _Entry]
    path: Path = Path(NAME)
    is_package: bool = False


def lock_of(toolset: Toolset, path: Path = Path(NAME)) -> Lock:
    """Return the lock of a toolset's tools as they are now."""
    return Lock(_entries(toolset, toolset.security_schemes), path)


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """Return the lock in a file, or that of a generated package, by its manifest.

    Raises:
        SettingsError: It cannot be read, or it is neither.
    """
    place = Path(path)
    try:
        if place.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{place}: larger than {_MOST_BYTES:,} bytes, so not a lock.")
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "`openapi-tools lock SPEC` writes it"
        raise SettingsError(f"{place}: the lock does not exist; {hint}.") from None
    except OSError as error:
        raise SettingsError(f"{place}: the lock cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{place}: this lock is not JSON ({error!s:.100}).") from None
    match found:
        case {"lock": 1, "tools": dict(tools)}:
            return Lock({name: _read(place, name, tools[name]) for name in tools}, place)
    sources = _package_sources(place)
    if records := read_records(sources):
        return Lock(_entries(records.values(), read_schemes(sources)), place, is_package=True)
    raise SettingsError(f"{place}: this is neither a lock nor the manifest of a Python package.")


def _package_sources(place: Path) -> dict[str, str]:
    """Return the Python files of a package, which have to be those that were generated."""
    manifest = read_manifest(place.read_bytes())
    found = {}
    for path, known in manifest.files.items() if manifest is not None else ():
        if path.endswith(".py"):
            try:
                data = read_inside(place.parent, path)
            except (OSError, OutputError):
                data = None
            if data is None or digest(data) != known:
                what = "is missing" if data is None else "was edited by hand"
                hint = "restore it, or review it and generate the package again"
                raise SettingsError(f"{place.parent / path}: this file {what}; {hint}.")
            found[path] = data.decode()
    return found


def _read(place: Path, name: str, data: Any) -> _Entry:
    try:
        known = {key: data[key] for key in ("description", "input_schema", "operation", "schemes")}
        schema, operation = known["input_schema"], _OPERATIONS.validate_python(known["operation"])
        record = Record(name, str(known["description"]), schema, operation)
        entry = _Entry(record, _SCHEMES.validate_python(known["schemes"]), known)
        is_whole = isinstance(schema, dict) and data["sha256"] == entry.sha256
    except (KeyError, TypeError, ValidationError):
        is_whole = False
    if not is_whole:
        hint = "restore it, or remove the file and lock again"
        raise SettingsError(f"{place}: the entry of {name!r:.80} was changed by hand; {hint}.")
    return entry


def _entries(tools: Iterable[Any], schemes: Mapping[str, SecurityScheme]) -> dict[str, _Entry]:
    found = {}
    for tool in tools:
        used = {name for names in tool.operation.security for name in names}
        own = {name: scheme for name, scheme in schemes.items() if name in used}
        # Sorted as in the file.
        schema = json.loads(json.dumps(tool.input_schema, sort_keys=True))
        record = Record(tool.name, tool.description, schema, tool.operation)
        found[tool.name] = _Entry(record, own, _data(record, own))
    return found


def _data(record: Record, schemes: Mapping[str, SecurityScheme]) -> dict[str, Any]:
    return {
        "description": record.description,
        "input_schema": record.input_schema,
        "operation": _OPERATIONS.dump_python(record.operation, **_SHORT),
        "schemes": _SCHEMES.dump_python(dict(schemes), **_SHORT),
    }


def changes_since(lock: Lock, now: Lock) -> list[Change]:
    """Return what changed between two locks: one for each tool, breaking ones first.

    An order without a meaning is no change: that of properties, of parts of a body, of media types.
    """
    sides = lock.entries, now.entries
    old, new = (_differing(side, other) for side, other in (sides, sides[::-1]))
    was, is_now = ({n: s for e in side.values() for n, s in e.schemes.items()} for side in sides)
    records = [
        {name: canonical_record(e.record) for name, e in side.items()} for side in (old, new)
    ]
    known = (record for name, record in records[1].items() if name in old)
    parts: dict[str, list[Any]] = {}
    for part in [*changes(*records), *scheme_changes(was, is_now, known)]:
        parts.setdefault(part.tool, []).append(part)
    for name in new:
        # Values may differ where Python compares them as equal: 1 and true.
        parts.setdefault(name, [ToolChange("operation", name, breaking=True, details=(_VALUES,))])
    found = (_change(name, some, old, new) for name, some in parts.items())
    return sorted(found, key=lambda item: not item.breaking)


def _differing(entries: Mapping[str, _Entry], others: Mapping[str, _Entry]) -> dict[str, _Entry]:
    return {
        name: entry
        for name, entry in entries.items()
        if name not in others or not _is_same(entry, others[name])
    }


def _is_same(entry: _Entry, other: _Entry) -> bool:
    if entry.sha256 == other.sha256:
        return True
    records = (canonical_record(entry.record), canonical_record(other.record))
    hashes = {_hash_of(each, e.schemes) for each, e in zip(records, (entry, other), strict=True)}
    return len(hashes) == 1


def _hash_of(record: Record, schemes: Mapping[str, SecurityScheme]) -> str:
    return digest_of([record.name, _data(record, schemes)])


def _change(
    name: str, parts: list[Any], old: Mapping[str, _Entry], new: Mapping[str, _Entry]
) -> Change:
    breaking = any(part.breaking for part in parts)
    labels = {"description": "description: ", "operation": "operation: "}
    lines = tuple(labels.get(part.kind, "") + line for part in parts for line in part.details)
    kind = next((p.kind for p in parts if p.kind in ("added", "removed")), "changed")
    may = "it may break callers" if breaking else "it breaks no caller"
    verdict = "is new" if kind == "added" else f"{'is gone' if kind == 'removed' else kind}; {may}"
    before = next((part.before for part in parts if part.before), "")
    known = before or (name if name in old else "")
    counts = _counts(old.get(known), new.get(name))
    if before:
        verdict, counts = (
            f"was {before}; {may}",
            ", ".join(filter(None, ("the name changed", counts))),
        )
    return Change(name, breaking, lines, verdict, known, counts)


def _counts(old: _Entry | None, new: _Entry | None) -> str:
    if old is None or new is None:
        return ""
    schemes = scheme_differences(old.schemes, new.schemes, new.record.operation)
    records = canonical_record(old.record), canonical_record(new.record)
    return count_changes(*records, schemes)


def locked(
    toolset: Toolset, lock: Lock, policy: Policy = "quarantine"
) -> tuple[Toolset, list[Change]]:
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
    found = changes_since(lock, lock_of(toolset))
    if found and policy == "refuse":
        reasons = "; ".join(map(in_words, found[:_NAMED]))
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise SettingsError(f"{lock.path.name}: {reasons}{more}. {_way(lock)}")
    if policy == "note":
        return toolset.with_tools(toolset, _remarks(lock, found)) if found else toolset, found
    changed = {change.tool: change for change in found}
    out = {tool.name: changed[tool.name] for tool in toolset if tool.name in changed}
    passing = [_as_accepted(tool, lock) for tool in toolset if tool.name not in out]
    skipped = [replace(item, notice=_UNREAD) for item in toolset.skipped]
    skipped += (_skipped(toolset[name], change, lock) for name, change in out.items())
    if not found and not skipped and passing == list(toolset):
        return toolset, found
    return toolset.with_tools(passing, _remarks(lock, found, out), skipped), found


def _remarks(lock: Lock, found: Iterable[Change], out: Collection[str] = ()) -> list[str]:
    """Return the warnings for people, with the words of the document."""
    states = ("quarantined: " * (change.tool in out) + in_words(change) for change in found)
    return [f"{lock.path.name}: {state}." for state in states]


def _as_accepted(tool: Any, lock: Lock) -> Any:
    description = lock.entries[tool.name].record.description
    return tool if tool.description == description else tool.with_description(description)


def _skipped(tool: Any, change: Change, lock: Lock) -> Skipped:
    place = join_pointer(("paths", tool.path, tool.method.lower()))
    # The name of a new tool is a word of the document, too.
    subject = f"{change.accepted} is" if change.accepted else "a new tool is"
    differs = f", as it differs from {lock.path.name}: {change.counts}" if change.counts else ""
    may = "it may break callers" if change.breaking else "it breaks no caller"
    reason = f"{subject} quarantined{differs}; {may}. {_way(lock, change.accepted)}"
    name = change.accepted or tool.name
    return Skipped(place, reason, tool.method, tool.path, name, tool.operation_id, reason)


def _way(lock: Lock, name: str = "") -> str:
    if lock.is_package:
        return "A person has to look at it, then generate the package again."
    option = "" if lock.path.name == NAME else f" --lock {lock.path.name}"
    named = f" {name}" if name else ""
    return (
        f"A person has to look at it, then run `openapi-tools lock SPEC{named}{option} --accept`."
    )


def in_words(change: Change) -> str:
    """Return a change on one line."""
    lines = ", ".join(change.lines[:_NAMED]) + ", …" * (len(change.lines) > _NAMED)
    return f"{change.tool} {change.verdict}" + (f" ({lines})" if lines else "")


def accepted(lock: Lock, now: Lock, names: Iterable[str] = ()) -> Lock:
    """Return a lock with the tools of another: all of them, or those named.

    Raises:
        SettingsError: Neither lock has a tool of a name.
    """
    wanted = set(names) or {*lock.entries, *now.entries}
    for name in wanted - {*lock.entries, *now.entries}:
        raise SettingsError(f"{name!r:.80} is neither a tool now nor in {lock.path.name}.")
    left = {name: entry for name, entry in lock.entries.items() if name not in wanted}
    return Lock(left | {n: e for n, e in now.entries.items() if n in wanted}, lock.path)


def write_lock(lock: Lock) -> None:
    """Write a lock at its path; a reader sees the former file or the new one, never a part.

    Raises:
        OutputError: It cannot be written.
    """
    entries = {name: {"sha256": e.sha256, **e.data} for name, e in lock.entries.items()}
    members = {"generator": "openapi-tools", "lock": 1, "tools": entries}
    text = json.dumps(members, indent=1, sort_keys=True) + "\n"
    try:
        replace_file(lock.path, text.encode(), mode=0o666)  # but for the umask: it is no secret
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(lock.path)) from None
