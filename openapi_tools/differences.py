"""What changes for the tools between two documents, or two MCP servers' lists: one dict a cause.

`codegen/changes.py` finds and judges how a tool differs. This module gives each such difference to
the part of the document that causes it. Where several changed parts reach a tool, each is applied
to the old document alone, with the tools that it reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from openapi_tools.codegen.changes import compared, detail, renames, scheme_differences
from openapi_tools.codegen.compatibility import Difference
from openapi_tools.codegen.package_data import Record
from openapi_tools.errors import OpenAPIToolsError, SourceError
from openapi_tools.json_values import as_dict, follow, keys_of, pointer, resolve, same
from openapi_tools.loading.load import load_tools
from openapi_tools.model import Operation, SecurityScheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi_tools.model import Skipped
    from openapi_tools.settings import Settings
    from openapi_tools.tools.toolset import Toolset

    Part = tuple[str, Difference]
    Place = tuple[str, ...]
    Key = tuple[str, str, str]

_ROOT = {
    "server": ("servers", "host", "basePath", "schemes"),
    "security": ("security",),
    "media types": ("consumes", "produces"),
    "version": ("openapi", "swagger", "jsonSchemaDialect"),
}
_OF_PATH = ("parameters", "servers", "summary", "description")
_GROUPS = ("definitions", "parameters", "responses", "securityDefinitions")  # of Swagger 2.0
_KINDS = {
    **dict.fromkeys(("definitions", "schemas"), "schema"),
    **dict.fromkeys(("securityDefinitions", "securitySchemes"), "security"),
    "parameters": "parameter",
    "requestBodies": "body",
    "responses": "answer",
}


class _Side(NamedTuple):
    """One version: its tools as data, and the document and its settings if there is one."""

    records: dict[str, Record]
    schemes: Mapping[str, SecurityScheme]
    document: dict[str, Any]
    skipped: tuple[Skipped, ...] = ()
    settings: Settings | None = None


class _Cause(NamedTuple):
    """A changed part of the document: the kind of it, and the places that changed together."""

    kind: str
    places: tuple[Place, ...]
    subject: str = ""


def differences_of(old: Toolset | Any, new: Toolset | Any) -> list[dict[str, Any]]:
    """Return what changes for the tools between two versions: one dict for each cause.

    Answers' schemas are not compared, but the lines about answers in descriptions are.

    Args:
        old: The tools of a document; or an MCP server's answer to `tools/list` as plain data.
        new: The same, of the later version.

    Returns:
        Breaking differences first. Each dict has `kind` (`added`, `removed`, `renamed`,
        `operation`, `path`, `schema`, `parameter`, `body`, `server`, `security`, …), `breaking`,
        `cause` (a JSON Pointer into the new document; of a removed tool into the old one),
        `message` (one line), `details` (a line for each difference), `tools` (their names), and
        `tool`: the name where it is one tool only, otherwise empty.

    Raises:
        SourceError: A value is neither.
        DocumentError: A tool cannot be built.
    """
    before, after = _side(old), _side(new)
    gone = {name: r for name, r in before.records.items() if name not in after.records}
    fresh = {name: r for name, r in after.records.items() if name not in before.records}
    names = renames(gone, fresh)
    pairs = {
        name: (before.records[was], record)
        for name, record in after.records.items()
        if (was := names.get(name, name)) in before.records
    }
    found = [_finding(*pair) for pair in _Causes(before, after, pairs).found().items()]
    for kind, lone, other in (("added", fresh, before), ("removed", gone, after)):
        for name, record in lone.items():
            if name not in (*names, *names.values()):
                said = Difference("", _told(record, other), kind == "removed")
                cause = _Cause(kind, (_place(record),), name)
                found.append(_finding(cause, {name: [("operation", said)]}))
    return sorted(found, key=lambda item: not item["breaking"])


def listed_tools(answer: Any) -> list[dict[str, Any]] | None:
    """Return the tools of an MCP server's answer to `tools/list`; None for another value.

    Spec: Model Context Protocol 2025-11-25, Server Features, Tools.
    """
    found = answer.get("result", answer) if isinstance(answer, dict) else answer
    found = found.get("tools") if isinstance(found, dict) else found
    if not isinstance(found, list):
        return None
    is_listed = all(isinstance(as_dict(tool).get("name"), str) for tool in found)
    return found if is_listed else None


def _side(given: Any) -> _Side:
    if hasattr(given, "security_schemes"):
        made = (Record(t.name, t.description, t.input_schema, t.operation) for t in given)
        records, document = {record.name: record for record in made}, as_dict(given.document)
        more = given.skipped, given.session.settings
        return _Side(records, given.security_schemes, document, *more)
    if (tools := listed_tools(given)) is None:
        raise SourceError("is neither tools nor an MCP server's answer to `tools/list`.")
    return _Side({tool["name"]: _record(tool) for tool in tools}, {}, {})


def _record(tool: dict[str, Any]) -> Record:
    hints = {k: v for k, v in as_dict(tool.get("annotations")).items() if isinstance(v, bool)}
    schema, words = as_dict(tool.get("inputSchema")), tool.get("description") or ""
    return Record(tool["name"], str(words), schema, Operation("", "", hints=hints))


def _place(record: Record) -> Place:
    call = record.operation
    return ("paths", call.path, call.method.lower()) if call.method else ("tools", record.name)


def _told(record: Record, other: _Side) -> str:
    """Return the call of an added or removed tool, and why the other version skips it."""
    call = record.operation
    reasons = [s.reason for s in other.skipped if (s.method, s.path) == (call.method, call.path)]
    line = f"{call.method} {call.path}".strip()
    return f"{line}, skipped in the other version: {reasons[0]}" if reasons else line


def _finding(cause: _Cause, parts: dict[str, list[Part]]) -> dict[str, Any]:
    # The places differ from tool to tool, so the lines of one tool tell enough.
    worst = max(parts.values(), key=lambda some: (any(p.breaking for _, p in some), len(some)))
    lines, is_renamed = _lines(worst), any(p.what == "name" for _, p in worst)
    more = f"; and {len(lines) - 1} more" if len(lines) > 1 else ""
    return {
        "kind": "renamed" if is_renamed else cause.kind,
        "breaking": any(part.breaking for some in parts.values() for _, part in some),
        "cause": pointer(cause.places[0]) if cause.places else "",
        "message": f"{cause.subject}: {lines[0]}{more}" if lines and lines[0] else cause.subject,
        "details": lines,
        "tools": list(parts),
        "tool": next(iter(parts)) if len(parts) == 1 else "",
    }


def _lines(parts: list[Part]) -> list[str]:
    """Return differences as lines, breaking ones first, without those that follow from others."""
    shown = any(kind == "schema" for kind, _ in parts)
    ordered = sorted(parts, key=lambda pair: not pair[1].breaking)
    told = (
        f"description {detail(part)}" if kind == "description" else detail(part)
        for kind, part in ordered
        if part.breaking or not (shown and part.what.startswith(("parameter", "body", "the order")))
    )
    return list(dict.fromkeys(told))


def _parts(before: _Side, after: _Side, old: Record, new: Record) -> list[Part]:
    schemes = scheme_differences(before.schemes, after.schemes, new.operation)
    renamed = [Difference("", "name", breaking=True, before=old.name, after=new.name)]
    found = [("operation", part) for part in renamed * (old.name != new.name) + schemes]
    return found + [(kind, part) for kind, some in compared(old, new).items() for part in some]


def _key(kind: str, part: Difference) -> Key:
    """Return the subject of a difference: the URL of a server may be resolved in one version."""
    is_server = part.what.startswith(("server ", "the alternatives"))
    return kind, part.place, "server" if is_server else part.what


class _Causes:
    """Gives the differences of tools to the changed parts of the document."""

    def __init__(self, before: _Side, after: _Side, pairs: Mapping[str, Any]) -> None:
        self.before, self.after, self.pairs = before, after, pairs
        self.roots = (before.document, after.document)
        self.shared = list(_shared(*self.roots)) if all(self.roots) else []
        self.direct: dict[tuple[int, str], set[str]] = {}

    def found(self) -> dict[_Cause, dict[str, list[Part]]]:
        """Return the differences by cause: parts that several tools share first."""
        found = {name: _parts(self.before, self.after, *pair) for name, pair in self.pairs.items()}
        left = {name: list(parts) for name, parts in found.items() if parts}
        reached = {name: list(self._reaching(name)) for name in left}
        made: dict[_Cause, dict[str, list[Part]]] = {cause: {} for cause in self.shared}
        for cause in self.shared:
            names = [name for name in left if cause in reached[name]]
            unclear = [name for name in names if len(reached[name]) > 1 or self._is_own(name)]
            keys = self._applied(cause, unclear) if unclear else {}
            for name in names:
                known = keys.get(name, set())
                mine = [p for p in found[name] if name not in unclear or _key(*p) in known]
                made[cause] |= {name: mine} if mine else {}
        for name, parts in left.items():
            told = [p for cause in reached[name] for p in made[cause].get(name, ())]
            if rest := [part for part in parts if part not in told]:
                cause = self._cause_of_rest(name, rest, reached[name])
                made.setdefault(cause, {}).setdefault(name, []).extend(rest)
        return {cause: parts for cause, parts in made.items() if parts}

    def _cause_of_rest(self, name: str, rest: list[Part], reached: list[_Cause]) -> _Cause:
        if not all(self.roots) or self._is_own(name) or any(p.what == "name" for _, p in rest):
            kind = "operation" if all(self.roots) else "tool"
            return _Cause(kind, (_place(self.pairs[name][1]),), name)
        # Changed parts that act together; or another file, with one finding for equal differences.
        return reached[0] if reached else _Cause("elsewhere", (), "another document")

    def _nodes(self, name: str) -> Iterator[Mapping[str, Any]]:
        """Yield both path items of a tool, the operation as the member `""`."""
        for record, root in zip(self.pairs[name], self.roots, strict=True):
            item = follow(root, as_dict(root.get("paths")).get(record.operation.path))
            yield {**item, "": item.get(record.operation.method.lower())}

    def _is_own(self, name: str) -> bool:
        """Tell whether the document changes the operation itself, or moves it."""
        (old, new), (one, other) = self.pairs[name], self._nodes(name)
        return _place(old) != _place(new) or one[""] is None or not same(one[""], other[""])

    def _reaching(self, name: str) -> Iterator[_Cause]:
        refs, path = set[str](), self.pairs[name][0].operation.path
        for item, root in zip(self._nodes(name), self.roots, strict=True):
            refs |= self._refs([item.get("parameters"), item[""]], root)
        for cause in self.shared:
            first = cause.places[0]
            # A scheme also hides arguments of operations that do not use it.
            is_of_all = len(first) == 1 or cause.kind == "security"
            if is_of_all or first[:2] == ("paths", path) or pointer(first) in refs:
                yield cause

    def _refs(self, node: Any, root: dict[str, Any]) -> set[str]:
        """Return the components that a node reaches, as JSON Pointers."""
        found, waiting = set[str](), list(_direct(node))
        while waiting:
            reference = waiting.pop()
            if reference not in found:
                found.add(reference)
                key = (id(root), reference)
                if key not in self.direct:
                    self.direct[key] = set(_direct(resolve(root, reference)))
                waiting += self.direct[key]
        depth = 2 if "swagger" in root else 3
        return {pointer(keys_of(unquote(ref[1:]))[:depth]) for ref in found}

    def _applied(self, cause: _Cause, names: list[str]) -> dict[str, set[Key]]:
        """Return what differs in tools where a part of the old document is as in the new one."""
        old, new = self.roots
        paths, wanted = as_dict(old.get("paths")), [self.pairs[n][0].operation.path for n in names]
        base = {**old, "paths": {path: paths[path] for path in paths if path in wanted}}
        for place in _holders(new):
            known = as_dict(resolve(new, f"#{pointer(place)}"))
            base = _put(base, place, {**known, **as_dict(resolve(old, f"#{pointer(place)}"))})
        changed = base
        for place in cause.places:
            changed = _put(changed, place, resolve(new, f"#{pointer(place)}"))
        try:
            settings = self.before.settings
            one, other = (_side(load_tools(r, settings=settings)) for r in (base, changed))
        except OpenAPIToolsError:  # the part does not fit the rest
            return {}
        ones, others = ({_place(r): r for r in side.records.values()} for side in (one, other))
        keys = {
            place: {_key(*part) for part in _parts(one, other, ones[place], others[place])}
            for place in ones.keys() & others.keys()
        }
        return {name: keys.get(_place(self.pairs[name][0]), set()) for name in names}


def _holders(root: dict[str, Any]) -> list[Place]:
    groups = [(key,) for key in _GROUPS if isinstance(root.get(key), dict)]
    return [*groups, *(("components", key) for key in as_dict(root.get("components")))]


def _direct(root: Any) -> Iterator[str]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/"):
                yield reference
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _put(root: dict[str, Any], place: Iterable[str], value: Any) -> dict[str, Any]:
    """Return a copy of a document with another value at a place; without it for None."""
    head, *rest = place
    inner = _put(as_dict(root.get(head)), rest, value) if rest else value
    left = {key: known for key, known in root.items() if key != head}
    return left if inner is None else {**root, head: inner}


def _shared(old: dict[str, Any], new: dict[str, Any]) -> Iterator[_Cause]:
    """Yield the changed parts of a document that several operations may share."""
    for kind, keys in _ROOT.items():
        if changed := [key for key in keys if not same(old.get(key), new.get(key))]:
            places = tuple((key,) for key in changed)
            yield _Cause(kind, places, f"the document's {changed[0]}")
    for holder in _holders(new):
        before, after = (as_dict(resolve(root, f"#{pointer(holder)}")) for root in (old, new))
        for name in after:
            if name in before and not same(before[name], after[name]):
                kind = _KINDS.get(holder[-1], "component")
                yield _Cause(kind, ((*holder, name),), f"{kind} {name}")
    before, after = (as_dict(root.get("paths")) for root in (old, new))
    for path in [path for path in after if path in before]:
        one, other = as_dict(before[path]), as_dict(after[path])
        changed = [key for key in _OF_PATH if not same(one.get(key), other.get(key))]
        if changed:
            yield _Cause("path", tuple(("paths", path, key) for key in changed), path)
