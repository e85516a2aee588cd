"""The tool lock: each tool as it was when it was accepted, and what has changed since.

A lock is a file of JSON, sorted, without times and places of this machine, or the manifest of a
generated package. What changed and whether it may break a caller is judged as `generate --check`
and `diff` do.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from openapi_tools.codegen.changes import changes, scheme_changes
from openapi_tools.codegen.output_state import read_output
from openapi_tools.codegen.package_data import Record, read_records, read_schemes
from openapi_tools.errors import OutputError, SettingsError
from openapi_tools.json_values import digest_of, pointer
from openapi_tools.model import Operation, SecurityScheme, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi_tools.tools.toolset import Toolset

NAME = "openapi-tools.lock"
Policy = Literal["note", "quarantine", "refuse"]
_MOST_BYTES = 256 * 1024 * 1024
_NAMED = 5
_PROSE = re.compile(r"(^|: )(description|title|examples?|default|\$comment)\b(?=:? ).*", re.DOTALL)
_SHORT: Any = {"mode": "json", "exclude_defaults": True}
_OPERATIONS, _SCHEMES = TypeAdapter(Operation), TypeAdapter(dict[str, SecurityScheme])


class Change(NamedTuple):
    """What changed of one tool; `verdict` says it in a few words, `lines` say it whole."""

    tool: str
    breaking: bool
    lines: tuple[str, ...]
    verdict: str


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
    files = read_output(place.parent, manifest=place.name)  # none without a manifest
    sources = {path: source for path, source in files.items() if path.endswith(".py")}
    if records := read_records(sources):
        return Lock(_entries(records.values(), read_schemes(sources)), place, is_package=True)
    raise SettingsError(f"{place}: this is neither a lock nor the manifest of a Python package.")


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
        data = {
            "description": tool.description,
            # Sorted as in the file, so that an order does not count as a change.
            "input_schema": json.loads(json.dumps(tool.input_schema, sort_keys=True)),
            "operation": _OPERATIONS.dump_python(tool.operation, **_SHORT),
            "schemes": _SCHEMES.dump_python(own, **_SHORT),
        }
        record = Record(tool.name, tool.description, data["input_schema"], tool.operation)
        found[tool.name] = _Entry(record, own, data)
    return found


def changes_since(lock: Lock, now: Lock) -> list[Change]:
    """Return what changed between two locks: one for each tool, breaking ones first."""
    hashes = {name: entry.sha256 for name, entry in lock.entries.items()}
    same = {name for name, entry in now.entries.items() if hashes.get(name) == entry.sha256}
    sides = [{n: e for n, e in each.entries.items() if n not in same} for each in (lock, now)]
    old, new = ({n: e.record for n, e in side.items()} for side in sides)
    was, is_now = ({n: s for e in side.values() for n, s in e.schemes.items()} for side in sides)
    kept = (record for name, record in new.items() if name in old)
    parts: dict[str, list[Any]] = {}
    for part in [*changes(old, new), *scheme_changes(was, is_now, kept)]:
        parts.setdefault(part.tool, []).append(part)
    return sorted((_change(*pair) for pair in parts.items()), key=lambda item: not item.breaking)


def _change(name: str, parts: list[Any]) -> Change:
    breaking = any(part.breaking for part in parts)
    said = {"description": "description: ", "operation": "operation: "}
    lines = tuple(said.get(part.kind, "") + line for part in parts for line in part.details)
    kind = next((p.kind for p in parts if p.kind in ("added", "removed")), "changed")
    may = "it may break callers" if breaking else "it breaks no caller"
    verdict = "is new" if kind == "added" else f"{'is gone' if kind == 'removed' else kind}; {may}"
    before = next((part.before for part in parts if part.before), "")
    return Change(name, breaking, lines, f"was {before}; {may}" if before else verdict)


def locked(
    toolset: Toolset, lock: Lock, policy: Policy = "quarantine"
) -> tuple[Toolset, list[Change]]:
    """Return the tools that a lock lets pass, and what has changed since it was written.

    Args:
        toolset: The tools of a document.
        lock: As `read_lock` returns it.
        policy: `note` lets all pass; `quarantine` leaves out changed and new tools, and a call of
            one is refused with the reason; both say so in `warnings`. `refuse` raises.

    Raises:
        SettingsError: Something has changed, and the policy is `refuse`.
    """
    found = changes_since(lock, lock_of(toolset))
    if not found:
        return toolset, found
    if policy == "refuse":
        told = "; ".join(map(in_words, found[:_NAMED]))
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise SettingsError(f"{lock.path.name}: {told}{more}. {_way(lock)}")
    out = {c.tool: c for c in found if policy != "note" and c.tool in toolset}
    skipped = [_skipped(toolset[name], change, lock) for name, change in out.items()]
    states = ["quarantined: " * (change.tool in out) + in_words(change) for change in found]
    remarks = [f"{lock.path.name}: {state}." for state in states]
    passing = (tool for tool in toolset if tool.name not in out)
    return toolset.with_tools(passing, remarks, skipped), found


def _skipped(tool: Any, change: Change, lock: Lock) -> Skipped:
    place = pointer(("paths", tool.path, tool.method.lower()))
    # A model reads this: it holds no words that were not accepted.
    safe = change._replace(lines=tuple(_PROSE.sub(r"\1\2 changed", line) for line in change.lines))
    reason = f"it is quarantined, as it differs from {lock.path.name}: {in_words(safe)}. "
    told = (tool.method, tool.path, tool.name, tool.operation_id)
    return Skipped(place, reason + _way(lock, tool.name), *told)


def _way(lock: Lock, name: str = "") -> str:
    if lock.is_package:
        return "Look at it, then generate the package again."
    option = "" if lock.path.name == NAME else f" --lock {lock.path.name}"
    named = f" {name}" if name else ""
    return f"Look at it, then run `openapi-tools lock SPEC{named}{option} --accept`."


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
    temporary = lock.path.with_name(f".{lock.path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(lock.path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(lock.path)) from None
