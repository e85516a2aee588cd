"""Rules of `lint` about tools, a score, and overlays that mend what can be mended mechanically.

Each rule yields findings with the JSON Pointer of the place in the document; the document is walked
as plain data, beside the tools that were made of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from openapi_tools.errors import counted
from openapi_tools.json_values import (
    ASSERTION_KEYWORDS,
    as_dict,
    as_list,
    as_string,
    dump_json_bytes,
    follow_references,
    join_pointer,
    pointer_token,
    resolve_pointer,
    resolve_reference,
    split_pointer,
)
from openapi_tools.openapi_core import Finding, operation_at
from openapi_tools.requests.path_notations import read_template
from openapi_tools.visible_text import short_name, snake_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.model import Skipped
    from openapi_tools.tools.toolset import Toolset

    Node = Mapping[str, Any]
    Reload = Callable[[dict[str, Any]], Toolset]

LOSSES = {"error": 1.0, "warning": 0.3, "hint": 0.1, "note": 0.0}  # of an operation's one point
_NO_SERVER = "no server is named; add one"
_LARGEST = 8_000
_SHOWN = 5
_DEEPEST = 4
_MOST_ROUNDS = 20
_TELLING = ASSERTION_KEYWORDS | {"format", "items", "additionalProperties", "properties"}
_FEW = 4  # members of an object that is no more than a list with its total, next page and links
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_ESCAPED = re.compile(r"['\\\x00-\x1f\x80-\x9f\u2028\u2029]")
_LONGEST = 4_096  # characters of a target
_UNTARGETED = re.compile(r"[\x00-\x07\x0b\x0e-\x1f]")  # python-jsonpath refuses their escapes


class _Place(NamedTuple):
    """An operation as the document has it, and its tool."""

    keys: tuple[str, ...]
    node: Node
    item: Node
    tool: Any

    def says(self, rule: str, severity: str, message: str) -> Finding:
        return Finding(join_pointer(self.keys), message, severity, rule)


def tool_findings(toolset: Toolset) -> list[Finding]:
    """Return what a document lacks for its tools, in the order of the document.

    Spec: OpenAPI 3.2.0, section 4.10 (Operation Object).
    """
    root = toolset.document
    places = list(_places(toolset))
    found = [*_about_document(root, places)]
    seen: set[str] = set()
    for place in places:
        for rule in (_id, _words, _arguments, _variables, _pages):
            found += rule(place, root)
        for key in ("parameters", "requestBody"):
            start = join_pointer((*place.keys, key))
            for spot, node in _walk(root, start, place.node.get(key), seen):
                found += _ambiguous(root, spot, node)
    return found


def score(findings: Iterable[Finding], operations: int) -> int:
    """Return 0 to 100: the share of the operations' points that findings leave.

    Each operation has one point; a finding in it takes some of that, as `LOSSES` says. Findings
    elsewhere take as much from the sum.
    """
    losses: dict[str, float] = {}
    for item in findings:
        keys = split_pointer(item.pointer)
        place = join_pointer(keys[:3]) if keys[:1] == ("paths",) and len(keys) > 1 else ""
        losses[place] = losses.get(place, 0.0) + LOSSES[item.severity]
    lost = sum(min(value, 1.0) if place else value for place, value in losses.items())
    return round(100 * max(0.0, 1 - lost / max(operations, 1)))


def _places(toolset: Toolset) -> Iterator[_Place]:
    """Yield the operations of tools, but for those of other files."""
    for tool in toolset:
        place = str(getattr(tool, "pointer", "/paths//"))
        item, node = operation_at(toolset.document, place)
        if node:
            yield _Place(split_pointer(place), node, item, tool)


def _about_document(root: Node, places: list[_Place]) -> Iterator[Finding]:
    holders = [root, *(place.node for place in places)]
    if places and not any(holder.get("security") for holder in holders):
        message = "no operation requires a credential; declare 'security' if the API wants one."
        yield Finding("", message, "warning", "no-security")
    urls = [server.url for place in places for server in place.tool.operation.servers]
    if places and not any("//" in url for url in urls):
        own = next((url for url in urls if url != "/"), "")
        why = f"the server {own!r:.80} has no host; add it" if own else _NO_SERVER
        yield Finding("", f"{why}, or every user has to give --base-url.", "warning", "no-server")


def _id(place: _Place, _root: Node) -> Iterator[Finding]:
    given, name = place.node.get("operationId"), _name(place)
    if not isinstance(given, str) or not given:
        message = f"without an operationId the tool is called {name!r}; give a short verb and noun."
        yield place.says("missing-id", "warning", message)
    elif name not in (snake_case(given), short_name(given, place.tool.method, place.keys[1])):
        message = f"the operationId {given!r:.80} gives the name {name!r}: it is taken, too long "
        message += "or has no letters; give a better one."
        yield place.says("generated-name", "hint", message)


def _name(place: _Place) -> str:
    """Return the tool's name without the prefix of the settings."""
    name: str = place.tool.form[0]
    return name.removeprefix(place.tool.session.settings.prefix)


def _words(place: _Place, _root: Node) -> Iterator[Finding]:
    if not any(h.get(key) for h in (place.node, place.item) for key in ("summary", "description")):
        message = "neither summary nor description; say in a sentence when to use it."
        yield place.says("missing-description", "warning", message)


def _arguments(place: _Place, _root: Node) -> Iterator[Finding]:
    tool = place.tool
    schema = tool.input_schema
    properties = schema.get("properties", {})
    bare = [
        n
        for n, part in properties.items()
        if not follow_references(schema, part).get("description")
    ]
    if bare:
        names = ", ".join(bare[:_SHOWN]) + ", …" * (len(bare) > _SHOWN)
        among = f"{len(bare)} of {counted(len(properties), 'argument')}"
        message = f"{among} without a description: {names}."
        yield place.says("undescribed-arguments", "hint", message)
    size = len(dump_json_bytes([tool.name, tool.description, schema]))
    if size > _LARGEST:
        message = f"the definition has {size:,} bytes, more than {_LARGEST:,}; hide arguments in a "
        yield place.says("large-definition", "warning", f"{message}configuration or shorten texts.")


def _undeclared(place: _Place, root: Node) -> list[str]:
    """Return the variables of a path for which there is no parameter."""
    holders = (place.item.get("parameters"), place.node.get("parameters"))
    listed = [
        follow_references(root, part) for some in holders if isinstance(some, list) for part in some
    ]
    if any("in" not in part for part in listed):  # it is in another file
        return []
    names = [part.get("name") for part in listed if part.get("in") == "path"]
    declared = frozenset(name for name in names if isinstance(name, str))
    path = read_template(place.keys[1], declared).path.partition("#")[0].partition("?")[0]
    return [name for name in read_template(path, declared).variables if name not in declared]


def _variables(place: _Place, root: Node) -> Iterator[Finding]:
    for name in _undeclared(place, root):
        message = f"{{{name}}} in the path is not declared; add a parameter with 'in: path'."
        yield place.says("undeclared-variable", "warning", message)


def _pages(place: _Place, _root: Node) -> Iterator[Finding]:
    tool = place.tool
    if tool.method != "GET" or tool.operation.paging is not None or place.keys[1].endswith("}"):
        return
    if _is_list(tool.answer_schema or {}):
        message = "it answers with a list, without an argument for pages; add 'limit' and 'page' "
        yield place.says("no-paging", "hint", f"{message}or 'cursor', or shape it with max_items.")


def _is_list(schema: Node) -> bool:
    """Tell whether answers are a list, or an object that holds one and little else."""
    node = follow_references(schema, schema)
    if node.get("type") == "array":
        return True
    members = [follow_references(schema, part) for part in node.get("properties", {}).values()]
    lists = [part for part in members if part.get("type") == "array"]
    return len(members) <= _FEW and len(lists) == 1


def _walk(root: Any, start: str, node: Any, seen: set[str]) -> Iterator[tuple[str, Node]]:
    """Yield the objects from a place on, also behind local references, each with its pointer."""
    waiting = [(start, node)]
    while waiting:
        place, part = waiting.pop()
        if place in seen or not isinstance(part, dict | list):
            continue
        seen.add(place)
        if isinstance(part, dict):
            yield place, part
            reference = part.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/"):
                waiting.append((unquote(reference[1:]), resolve_reference(root, reference)))
        members = part.items() if isinstance(part, dict) else enumerate(part)
        waiting += [(f"{place}{pointer_token(key)}", value) for key, value in members]


def _ambiguous(root: Node, place: str, node: Node) -> Iterator[Finding]:
    """Yield a finding for a union that has two members which no value can tell apart."""
    for keyword in ("oneOf", "anyOf"):
        members = node.get(keyword)
        if "discriminator" in node or not isinstance(members, list):
            continue
        parts = [follow_references(root, member) for member in members]
        pairs = combinations(enumerate(parts), 2)
        same = ((a, b) for (a, one), (b, two) in pairs if not _apart(one, two, root))
        if pair := next(same, None):
            message = f"no value tells the alternatives {pair[0]} and {pair[1]} apart; add a "
            message += "discriminator, or a required member with a fixed value."
            yield Finding(f"{place}/{keyword}", message, "hint", "ambiguous-union")


def _apart(one: Node, other: Node, root: Node, depth: int = 0) -> bool:
    """Tell whether a value may fit one schema and not the other, as far as is easily seen."""
    if depth > _DEEPEST or {"allOf", "anyOf", "oneOf", "not"} & (one.keys() | other.keys()):
        return True
    mine, theirs = as_dict(one.get("properties")), as_dict(other.get("properties"))
    if not mine or not theirs:
        kept = [{k: v for k, v in node.items() if k in _TELLING} for node in (one, other)]
        return kept[0] != kept[1]
    names, others = ({*map(str, as_list(node.get("required")))} for node in (one, other))
    shared = [name for name in names if name in mine and name in theirs]
    pairs = (
        (follow_references(root, mine[name]), follow_references(root, theirs[name]))
        for name in shared
    )
    return names != others or any(_apart(*pair, root, depth + 1) for pair in pairs)


def overlay_of(toolset: Toolset, reload: Reload) -> tuple[dict[str, Any], tuple[Skipped, ...]]:
    """Return an overlay that mends a document, and the operations that it leaves skipped.

    It has no actions where nothing can be mended. Faulty parts are removed, and their place filled
    where that is safe: undeclared variables of paths become texts, tools keep their names as ids.

    Args:
        toolset: The tools of the document.
        reload: Loads the document with an overlay more.

    Spec: Overlay Specification 1.0.0.
    """
    actions: list[dict[str, Any]] = []
    for number in range(1, _MOST_ROUNDS):
        if not (made := _removals(toolset, number)):
            break
        actions += made
        toolset = reload(_overlay(actions))
    actions += _updates(toolset)
    return _overlay(actions), toolset.skipped


def _overlay(actions: list[dict[str, Any]]) -> dict[str, Any]:
    info = {"title": "Mends for tools, by `openapi-tools lint --fix`", "version": "1.0.0"}
    return {"overlay": "1.0.0", "info": info, "actions": actions}


def _removals(toolset: Toolset, number: int) -> list[dict[str, Any]]:
    """Return actions that remove the faulty parts of skipped operations."""
    root, found = toolset.document, dict[tuple[Any, ...], str]()
    for entry in toolset.skipped:
        for keys in _faulty(root, entry):
            found.setdefault(keys, f"Round {number}, skipped: {entry.reason}"[:300])
    # The last items of a list go first: then no item moves before its turn.
    ordered = sorted(found, key=lambda keys: [(isinstance(k, str), k) for k in keys], reverse=True)
    targets = ((_json_path(keys), found[keys]) for keys in ordered)
    return [{"target": path, "description": why, "remove": True} for path, why in targets]


def _faulty(root: Any, entry: Skipped) -> Iterator[tuple[Any, ...]]:
    """Yield the places of the parts to remove: broken references, else the faulty part itself."""
    keys = _walked(root, split_pointer(entry.pointer))
    if not keys:  # behind a reference
        return
    is_inner = keys[-1] in ("parameters", "requestBody", "content")
    broken = list(_broken(root, join_pointer(keys), entry.reason)) if is_inner else []
    is_operation = len(keys) == len(("paths", "path", "get"))
    if is_operation and isinstance(resolve_pointer(root, entry.pointer), dict):
        return  # its path is at fault, which is not for a machine to change
    yield from filter(_has_target, broken or [keys])


def _walked(root: Any, steps: tuple[str, ...]) -> tuple[Any, ...]:
    """Return keys of a place, with numbers for items of lists; empty where it does not exist."""
    keys: list[Any] = []
    for step in steps:
        key = int(step) if isinstance(root, list) and step.isdecimal() else step
        try:
            root = root[key]
        except (KeyError, IndexError, TypeError):
            return ()
        keys.append(key)
    return tuple(keys)


def _broken(root: Any, start: str, reason: str) -> Iterator[tuple[Any, ...]]:
    """Yield the places of references below a place that lead nowhere, or that a reason names."""
    for place, node in _walk(root, start, resolve_pointer(root, start), set()):
        ref = node.get("$ref")
        if not isinstance(ref, str) or (
            ref.startswith("#/") and resolve_reference(root, ref) is not None
        ):
            continue
        if ref.startswith("#") or ref in reason:
            yield _walked(root, (*split_pointer(place), "$ref"))


def _updates(toolset: Toolset) -> Iterator[dict[str, Any]]:
    """Yield one action for each operation that lacks an id, words or parameters of its path."""
    root = toolset.document
    ids = Counter(str(place.node.get("operationId")) for place in _places(toolset))
    for place in _places(toolset):
        made: dict[str, Any] = {}
        given = place.node.get("operationId")
        if any(item.rule in ("missing-id", "generated-name") for item in _id(place, root)):
            made["operationId"] = _name(place)
        if any(_words(place, root)) and isinstance(given, str) and ids[given] == 1:
            made["description"] = f"{' '.join(_HUMPS.findall(given)).lower().capitalize()}."
        elif not place.node.get("description") and as_string(place.node.get("summary")):
            made["description"] = place.node["summary"]
        if names := _undeclared(place, root):
            kind = {"type": "string"} if "swagger" in root else {"schema": {"type": "string"}}
            made["parameters"] = [
                {"name": name, "in": "path", "required": True, **kind} for name in names
            ]
        if made and _has_target(place.keys):
            yield {"target": _json_path(place.keys), "update": made}


def _has_target(keys: tuple[Any, ...]) -> bool:
    is_short = len(_json_path(keys)) <= _LONGEST
    return is_short and not any(_UNTARGETED.search(str(key)) for key in keys)


def _json_path(keys: Iterable[Any]) -> str:
    """Return a normalized path (RFC 9535, section 2.7)."""
    steps = (f"[{k}]" if isinstance(k, int) else f"['{_ESCAPED.sub(_code, k)}']" for k in keys)
    return f"${''.join(steps)}"


def _code(match: re.Match[str]) -> str:
    char = match.group()
    return r"\'" if char == "'" else json.dumps(char)[1:-1]
