"""Rules of `lint` about tools, and a score.

Each rule yields findings with the JSON Pointer of the place in the document; the document is walked
as plain data, beside the tools built from it.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from openapi_tools.common.json_schema import ASSERTION_KEYWORDS
from openapi_tools.common.json_values import (
    as_dict,
    as_list,
    dump_json_bytes,
    follow_references,
    join_pointer,
    pointer_token,
    resolve_reference,
    split_pointer,
)
from openapi_tools.common.visible_text import short_name, snake_case
from openapi_tools.conformance.argument_words import find_unclear_arguments
from openapi_tools.conformance.confusable_tools import MOST_COMPARED, find_confusions
from openapi_tools.conformance.findings import Finding
from openapi_tools.conformance.routes import operation_at
from openapi_tools.errors import format_count, join_first
from openapi_tools.requests.path_notations import read_template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi_tools.conformance.confusable_tools import Confusions
    from openapi_tools.toolsets.toolset import Toolset

    Node = Mapping[str, Any]

LOSSES = {"error": 1.0, "warning": 0.3, "hint": 0.1, "note": 0.0}  # of an operation's one point
_NO_SERVER = "the document has no server; add one"
_LARGEST = 8_000
_MOST_SHOWN = 5
_LONGEST_ID = 80
_DEEPEST = 4
_TELLING_KEYWORDS = ASSERTION_KEYWORDS | {"format", "items", "additionalProperties", "properties"}
_MOST_PAIRS = 100_000  # pairs of alternatives that are compared in all unions of a document
_MOST_LIST_PROPERTIES = (
    4  # properties of an object that is no more than a list with its total, next page and links
)


class LintedOperation(NamedTuple):
    """An operation as the document has it, and its tool."""

    keys: tuple[str, ...]
    node: Node
    item: Node
    tool: Any

    def make_finding(
        self, rule: str, severity: str, message: str, details: tuple[str, ...] = ()
    ) -> Finding:
        """Return a finding about this operation."""
        return Finding(join_pointer(self.keys), message, severity, rule, details)


def find_tool_problems(toolset: Toolset) -> list[Finding]:
    """Return what is missing in a document for its tools, in the order of the document.

    Spec: OpenAPI 3.2.0, section 4.10 (Operation Object).
    """
    root = toolset.document
    places = list(linted_operations(toolset))
    findings = [*_check_document(root, places)]
    confusions = find_confusions(toolset)
    seen: set[str] = set()
    pairs_left = iter(range(_MOST_PAIRS))
    for place in places:
        findings += _check_confusions(place, confusions)
        for rule in (
            check_id,
            check_description,
            _check_arguments,
            _check_argument_words,
            _check_variables,
            _check_paging,
        ):
            findings += rule(place, root)
        for key in ("parameters", "requestBody"):
            start = join_pointer((*place.keys, key))
            for pointer, node in walk_objects(root, start, place.node.get(key), seen):
                findings += _check_unions(root, pointer, node, pairs_left)
    return findings


def score_document(findings: Iterable[Finding], operations: int) -> int:
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


def linted_operations(toolset: Toolset) -> Iterator[LintedOperation]:
    """Yield the operations of tools, but for those of other files."""
    for tool in toolset:
        place = str(getattr(tool, "pointer", "/paths//"))
        item, node = operation_at(toolset.document, place)
        if node:
            yield LintedOperation(split_pointer(place), node, item, tool)


def _check_document(root: Node, places: list[LintedOperation]) -> Iterator[Finding]:
    holders = [root, *(place.node for place in places)]
    if places and not any(holder.get("security") for holder in holders):
        message = "no operation requires a credential; declare 'security' if the API needs one."
        yield Finding("", message, "warning", "no-security")
    urls = [server.url for place in places for server in place.tool.operation.servers]
    if len(places) > MOST_COMPARED:
        message = f"more than {MOST_COMPARED:,} tools are not compared with one another."
        yield Finding("", message, "note", "confusable-tools")
    if places and not any("//" in url for url in urls):
        server_url = next((url for url in urls if url != "/"), "")
        reason = f"the server {server_url!r:.80} has no host; add it" if server_url else _NO_SERVER
        yield Finding("", f"{reason}, or every user must set --base-url.", "warning", "no-server")


def check_id(place: LintedOperation, _root: Node) -> Iterator[Finding]:
    """Yield a finding if the operationId is missing, or is not the tool's name."""
    operation_id, name = place.node.get("operationId"), tool_name(place)
    if not isinstance(operation_id, str) or not operation_id:
        message = (
            f"without an operationId the tool is called {name!r}; "
            "add one with a short verb and noun."
        )
        yield place.make_finding("missing-id", "warning", message, (name,))
    elif name not in (
        snake_case(operation_id),
        short_name(operation_id, place.tool.method, place.keys[1]),
    ):
        message = (
            f"the operationId {operation_id!r:.80} gives the name {name!r}: it is taken, too long "
        )
        message += "or has no letters; choose a better one."
        yield place.make_finding("generated-name", "hint", message, (operation_id[:_LONGEST_ID],))


def tool_name(place: LintedOperation) -> str:
    """Return the tool's name without the prefix of the settings."""
    name: str = place.tool.form[0]
    return name.removeprefix(place.tool.session.settings.prefix)


def check_description(place: LintedOperation, _root: Node) -> Iterator[Finding]:
    """Yield a finding if there is neither a summary nor a description."""
    if not any(h.get(key) for h in (place.node, place.item) for key in ("summary", "description")):
        message = "neither summary nor description; add a sentence that says when to use it."
        yield place.make_finding("missing-description", "warning", message)


def _check_arguments(place: LintedOperation, _root: Node) -> Iterator[Finding]:
    tool = place.tool
    schema = tool.input_schema
    properties = schema.get("properties", {})
    undescribed = [
        n
        for n, part in properties.items()
        if not follow_references(schema, part).get("description")
    ]
    if undescribed:
        names = join_first(undescribed, _MOST_SHOWN)
        share = f"{len(undescribed)} of {format_count(len(properties), 'argument')}"
        message = f"{share} without a description: {names}."
        yield place.make_finding("undescribed-arguments", "hint", message, tuple(undescribed))
    size = len(dump_json_bytes([tool.name, tool.description, schema]))
    if size > _LARGEST:
        message = f"the definition has {size:,} bytes, more than {_LARGEST:,}; hide arguments in a "
        yield place.make_finding(
            "large-definition",
            "warning",
            f"{message}configuration or shorten descriptions.",
            (f"{size:,} bytes",),
        )


def _check_argument_words(place: LintedOperation, _root: Node) -> Iterator[Finding]:
    if names := find_unclear_arguments(place.tool):
        message = (
            f"nothing says what {', '.join(names)} takes; add a description, an enum or an example."
        )
        yield place.make_finding("unclear-argument", "hint", message, tuple(names))


def _check_confusions(place: LintedOperation, confusions: Confusions) -> Iterator[Finding]:
    name = place.tool.name
    if others := confusions.confusable.get(name):
        message = (
            f"a reader cannot tell it from {_list_names(others)}; "
            "say in the summary what each is for."
        )
        yield place.make_finding("confusable-tools", "hint", message, tuple(others))
    if hits := confusions.unreachable.get(name):
        message = (
            f"a search for its name or summary finds eight others first, such as {hits[0]}; "
            "add words to its summary that only it has."
        )
        yield place.make_finding("unreachable-tool", "hint", message, tuple(hits[:1]))


def _list_names(names: Sequence[str]) -> str:
    left_out = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return f"{', '.join(names[:_MOST_SHOWN])}{left_out}"


def undeclared_variables(place: LintedOperation, root: Node) -> list[str]:
    """Return the variables of a path for which there is no parameter."""
    holders = (place.item.get("parameters"), place.node.get("parameters"))
    parameters = [
        follow_references(root, part) for some in holders if isinstance(some, list) for part in some
    ]
    if any("in" not in part for part in parameters):  # it is in another file
        return []
    names = [part.get("name") for part in parameters if part.get("in") == "path"]
    declared = frozenset(name for name in names if isinstance(name, str))
    path = read_template(place.keys[1], declared).path.partition("#")[0].partition("?")[0]
    return [name for name in read_template(path, declared).variables if name not in declared]


def _check_variables(place: LintedOperation, root: Node) -> Iterator[Finding]:
    for name in undeclared_variables(place, root):
        message = f"{{{name}}} in the path is not declared; add a parameter with 'in: path'."
        yield place.make_finding("undeclared-variable", "warning", message)


def _check_paging(place: LintedOperation, _root: Node) -> Iterator[Finding]:
    tool = place.tool
    if tool.method != "GET" or tool.operation.paging is not None or place.keys[1].endswith("}"):
        return
    if _is_list(tool.answer_schema or {}):
        message = "it returns a list, but has no argument for pages; add 'limit' and 'page' "
        yield place.make_finding(
            "no-paging", "hint", f"{message}or 'cursor', or shape it with max_items."
        )


def _is_list(schema: Node) -> bool:
    node = follow_references(schema, schema)
    if node.get("type") == "array":
        return True
    properties = [follow_references(schema, part) for part in node.get("properties", {}).values()]
    lists = [part for part in properties if part.get("type") == "array"]
    return len(properties) <= _MOST_LIST_PROPERTIES and len(lists) == 1


def walk_objects(root: Any, start: str, node: Any, seen: set[str]) -> Iterator[tuple[str, Node]]:
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
        entries = part.items() if isinstance(part, dict) else enumerate(part)
        waiting += [(f"{place}{pointer_token(key)}", value) for key, value in entries]


def _check_unions(
    root: Node, place: str, node: Node, pairs_left: Iterator[int]
) -> Iterator[Finding]:
    for keyword in ("oneOf", "anyOf"):
        alternatives = node.get(keyword)
        if "discriminator" in node or not isinstance(alternatives, list):
            continue
        parts = [follow_references(root, alternative) for alternative in alternatives]
        pairs = zip(pairs_left, combinations(enumerate(parts), 2), strict=False)
        indistinguishable = (
            (a, b) for _, ((a, one), (b, two)) in pairs if not _can_tell_apart(one, two, root)
        )
        if pair := next(indistinguishable, None):
            message = f"no value tells the alternatives {pair[0]} and {pair[1]} apart; add a "
            message += "discriminator, or a required property with a constant value."
            yield Finding(f"{place}/{keyword}", message, "hint", "ambiguous-union")


def _can_tell_apart(one: Node, other: Node, root: Node, depth: int = 0) -> bool:
    if depth > _DEEPEST or {"allOf", "anyOf", "oneOf", "not"} & (one.keys() | other.keys()):
        return True
    properties, other_properties = as_dict(one.get("properties")), as_dict(other.get("properties"))
    if not properties or not other_properties:
        telling_parts = [
            {k: v for k, v in node.items() if k in _TELLING_KEYWORDS} for node in (one, other)
        ]
        return telling_parts[0] != telling_parts[1]
    names, other_names = ({*map(str, as_list(node.get("required")))} for node in (one, other))
    shared = [name for name in names if name in properties and name in other_properties]
    pairs = (
        (follow_references(root, properties[name]), follow_references(root, other_properties[name]))
        for name in shared
    )
    return names != other_names or any(_can_tell_apart(*pair, root, depth + 1) for pair in pairs)
