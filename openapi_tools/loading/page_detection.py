"""Detect from a document how to request the next page of an operation's response.

The signs are names of arguments and of a response's properties, not a list of APIs. An operation
without clear signs has no paging.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common import http_rules, page_names
from openapi_tools.common.json_schema import UNIONS, schema_types
from openapi_tools.common.json_values import Node, as_dict, as_list
from openapi_tools.common.visible_text import LONGEST_FOLDED, fold_name
from openapi_tools.model import Operation, Paging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Follow = Callable[[Any, Any], Any]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Arguments. The weak names need more signs than the others.
_PAGES = frozenset({"page", "pageno", "pagenum", "pagenumber", "pageindex", "currentpage"})
_OFFSETS = frozenset({"offset", "skip", "pageoffset", "startat", "startindex", "firstresult"})
# `start` and `from` are also dates, `after` and `next` also filters.
_WEAK_OFFSETS = frozenset({"start", "from"})
_CURSORS = frozenset(
    {"cursor", "pagecursor", "pageafter", "startingafter", "pagetoken", "nextpagetoken"}
    | {"nexttoken", "nextcursor", "continuation", "continuationtoken", "marker", "cursormark"}
    | {"startcursor", "aftercursor", "exclusivestartkey", "scrollid", "skiptoken", "nextmarker"}
    | {"paginationtoken", "pagingtoken", "bookmark"}
)
_WEAK_CURSORS = frozenset(
    {"after", "afterid", "next", "continue", "start", "from", "page", "pageid"}
)
# Stripe's pages: `starting_after` takes the id of the last item, and `has_more` says if there
# is more.
_IDS = frozenset({"startingafter", "after", "afterid"})  # they may take the id of the last item
_WEAK_SIZES = frozenset({"size", "count", "take", "first", "rows", "n", "num", "results"})

# Properties of responses.
_ADDRESS = re.compile(r"(?:odata)?next(?:page|results?|records)?(?:link|ur[il]|href)")
_WRAPPERS = frozenset({"data", "embedded", "result", "results", "response", "payload"})
_COMBINING = {"allOf", *UNIONS}
_DEEPEST = 4  # levels of a response that are looked into
_DEEPEST_CONTAINER = 2  # as in `paging.cursors.after`
# Deep responses are looked at in every load, and pages are near the top.
_MOST_SCHEMAS = 2000  # of a response that are looked into


def detect_paging(
    operation: Operation,
    schemas: Mapping[str, Any],
    *,
    node: Node,
    resource: Any,
    follow: Follow,
    resolve: Callable[[Any], Any],
) -> Paging | None:
    """Return how to ask for an operation's pages; None without clear signs.

    Args:
        operation: How it is called.
        schemas: Those of its arguments, by name.
        node: Its Operation Object.
        resource: The document of that.
        follow: Follows a reference in a document; None for one that leads nowhere.
        resolve: Returns the content of a converted schema that may be a reference.
    """
    arguments = _list_arguments(operation, schemas, resolve)
    if operation.method == "POST":
        # Only a cursor shows that a POST lists: numbers in a body may be those of what it creates.
        if not any(argument.wire in _CURSORS for argument in arguments):
            return None
        detector = _Detector(operation, arguments, _read_response_facts(node, resource, follow))
        return detector.detect_cursor(_CURSORS) if detector.may_list else None
    detector = _Detector(operation, arguments, _read_response_facts(node, resource, follow))
    return detector.detect() if detector.may_list else None


class _PageArgument(NamedTuple):
    """An argument: its folded name on the wire, its own name, and its schema."""

    wire: str
    name: str
    schema: Any

    @property
    def types(self) -> set[str]:
        return schema_types(self.schema)


def _list_arguments(
    operation: Operation, schemas: Mapping[str, Any], resolve: Callable[[Any], Any]
) -> list[_PageArgument]:
    names = [(p.name, p.argument) for p in operation.parameters if p.location == "query"]
    if operation.method in ("POST", "QUERY") and operation.body is not None:
        names += [(p.name, p.argument) for p in operation.body.properties]
    arguments = [_PageArgument(fold_name(wire), name, schemas.get(name)) for wire, name in names]
    # After all others, so that an argument of its own comes before a property of the same name.
    for _, name in names:
        arguments += _list_inner_arguments(name, resolve(schemas.get(name)))
    return arguments


def _list_inner_arguments(argument: str, schema: Any) -> Iterator[_PageArgument]:
    properties = as_dict(schema).get("properties")
    for name, node in as_dict(properties).items():
        if "." not in name:
            yield _PageArgument(fold_name(name), f"{argument}.{name}", node)


@dataclass(slots=True)
class _ResponseOutline:
    """The documented properties of a response; `type` is JSON's, empty where it is unknown."""

    type: str = ""
    format: str = ""
    properties: dict[str, _ResponseOutline] = field(default_factory=dict)
    item: _ResponseOutline | None = None

    def find(self, path: Iterable[str]) -> _ResponseOutline:
        """Return the property at a path; an empty outline without one."""
        outline = self
        for name in path:
            outline = outline.properties.get(name, _ResponseOutline())
        return outline


def _make_outline(node: Any, resource: Any, follow: Follow) -> _ResponseOutline:
    budget = [_MOST_SCHEMAS]

    def outline_of(node: Any, resource: Any, depth: int) -> _ResponseOutline:
        outline = _ResponseOutline()
        budget[0] -= 1
        target = follow(node, resource) if depth <= _DEEPEST and budget[0] >= 0 else None
        if target is None or not isinstance(target.node, dict):
            return outline
        node, resource = target.node, target.resource
        outline.type, outline.format = _type_of(node), str(node.get("format", ""))
        for branch in _branches(node):
            other = outline_of(branch, resource, depth + 1)
            outline.type, outline.item = outline.type or other.type, outline.item or other.item
            outline.properties.update(other.properties)
        for name, schema in as_dict(node["properties"]).items() if "properties" in node else ():
            outline.properties[name] = outline_of(schema, resource, depth + 1)
        if "items" in node:
            outline.item = outline_of(node["items"], resource, depth + 1)
        return outline

    return outline_of(node, resource, 0)


def _type_of(node: Node) -> str:
    types = node.get("type")
    types = [each for each in types if each != "null"] if isinstance(types, list) else [types]
    if len(types) == 1 and isinstance(types[0], str):
        return types[0]
    if "properties" in node:
        return "object"
    return "array" if "items" in node else ""


def _branches(node: Node) -> Iterator[Any]:
    if node.keys().isdisjoint(_COMBINING):  # most are plain
        return
    yield from as_list(node.get("allOf"))
    for keyword in UNIONS:
        branches = [each for each in as_list(node.get(keyword)) if each != {"type": "null"}]
        if len(branches) == 1:
            yield branches[0]


class _ResponseFacts(NamedTuple):
    """Facts about responses: their outline, whether they have `Link`, and `x-ms-pageable`."""

    outline: _ResponseOutline
    has_link: bool = False
    pageable: Any = None


def _read_response_facts(node: Node, resource: Any, follow: Follow) -> _ResponseFacts:
    pageable = node.get("x-ms-pageable")
    for status, response in as_dict(node.get("responses")).items():
        target = follow(response, resource) if str(status).startswith("2") else None
        if target is None or not isinstance(target.node, dict):
            continue
        headers, schema = target.node.get("headers"), _json_schema_of(target.node)
        has_link = any(name.lower() == "link" for name in as_dict(headers))
        outline = _ResponseOutline("other" if schema is None and target.node.get("content") else "")
        if schema is not None:
            outline = _make_outline(schema, target.resource, follow)
            is_open = outline.type == "object" and not outline.properties
            outline.type = "" if is_open else outline.type
        return _ResponseFacts(outline, has_link, pageable)
    return _ResponseFacts(_ResponseOutline(), pageable=pageable)


def _json_schema_of(response: Node) -> Any:
    for kind, value in as_dict(response.get("content")).items():
        if isinstance(value, dict) and (http_rules.is_json(kind) or kind == "*/*"):
            return value.get("schema")
    return response.get("schema")


class _Detector:
    """Detects the paging of one operation from its arguments and its responses."""

    def __init__(
        self, operation: Operation, arguments: list[_PageArgument], facts: _ResponseFacts
    ) -> None:
        self._arguments = arguments
        self._facts, self._outline = facts, facts.outline
        segments = [fold_name(part) for part in operation.path.split("/") if part]
        self._segment = segments[-1] if segments else ""
        self._items = _find_list(self._outline, self._segment)
        self._size = self._find_number(page_names.SIZE_NAMES) or self._find_number(
            _WEAK_SIZES, is_weak=True
        )
        self._properties: dict[str, tuple[str, ...]] = {}
        for path in _property_paths(self._outline):
            self._properties.setdefault(fold_name(path[-1]), path)

    @property
    def may_list(self) -> bool:
        """Whether responses may be pages: a documented one without a list is none."""
        return not self._outline.type or self._items is not None

    def detect(self) -> Paging | None:
        """Return the paging by the clearest sign."""
        # From the author's own statement down to a bare limit, which only shows that pages exist.
        return (
            self._detect_pageable()
            or self.detect_cursor(_CURSORS)
            or self.detect_cursor(_WEAK_CURSORS)
            or self._detect_last_id()
            or self._detect_number()
            or self._detect_undocumented_cursor()
            or self._detect_link()
            or self._detect_limit()
        )

    def _paging(
        self, style: str, argument: _PageArgument | None = None, after: tuple[str, ...] = ()
    ) -> Paging:
        size = self._size if self._size != argument else None
        steps = (*after, "href") if "href" in self._outline.find(after).properties else after
        return Paging(
            style,
            argument.name if argument else "",
            size.name if size else "",
            self._items or "",
            ".".join(map(quote_step, steps)),
        )

    def _detect_pageable(self) -> Paging | None:
        # AutoRest's extension, which Azure's documents have. With a null `nextLinkName` one
        # response has all items.
        pageable = self._facts.pageable
        name = pageable.get("nextLinkName") if isinstance(pageable, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_FOLDED:
            return None
        item = pageable.get("itemName", "value")
        self._items = quote_step(item) if isinstance(item, str) and item else self._items
        return self._paging("link", after=(name,))

    def detect_cursor(self, names: Iterable[str]) -> Paging | None:
        """Return the paging by an argument with one of some names, and where its value comes."""
        for argument in self._arguments_named(names):
            path = self._find_next(argument)
            is_weak = argument.wire in _WEAK_CURSORS
            is_number = argument.types & {"integer", "number"} and argument.wire in _PAGES
            if path and not is_number and not (is_weak and self._is_address(path)):
                return self._paging("cursor", argument, path)
        return None

    def _detect_last_id(self) -> Paging | None:
        argument = next(iter(self._arguments_named(_IDS)), None)
        if (
            argument is None
            or not self._items
            or page_names.MORE_FLAGS.isdisjoint(self._properties)
        ):
            return None
        if "lastid" in self._properties:
            return self._paging("cursor", argument, self._properties["lastid"])
        item = self._outline.find(name.strip('"') for name in self._items.split(".")).item
        if item is None or "id" not in item.properties:
            return None
        return replace(self._paging("cursor", argument), next=f"{self._items}[-1].id")

    def _detect_number(self) -> Paging | None:
        if self._items is None and self._size is None:
            return None
        for style, names in (("page", _PAGES), ("offset", _OFFSETS)):
            if argument := self._find_number(names):
                return self._paging(style, argument, self._find_next(argument))
        totals = map(page_names.TOTAL_NAME.fullmatch, self._properties)
        is_counted = self._size is not None or any(totals)
        argument = self._find_number(_WEAK_OFFSETS, is_weak=True) if is_counted else None
        return self._paging("offset", argument, self._find_next(argument)) if argument else None

    def _detect_undocumented_cursor(self) -> Paging | None:
        argument = next(iter(self._arguments_named(_CURSORS - _IDS)), None)
        return self._paging("cursor", argument) if argument else None

    def _detect_link(self) -> Paging | None:
        for name, path in self._properties.items():
            parent = fold_name(path[-2]) if len(path) > 1 else "links"
            is_string = self._outline.find(path).type in ("string", "") or self._is_address(path)
            is_next = name == "next" and parent in ("links", "paging", "pagination")
            if (is_next and is_string) or _ADDRESS.fullmatch(name):
                return self._paging("link", after=path)
        # A single resource may hold a list, and its response a link.
        is_list = self._size or self._segment == fold_name(self._items or self._segment)
        has_link = self._facts.has_link and self._items is not None and is_list
        return self._paging("link") if has_link else None

    def _detect_limit(self) -> Paging | None:
        size = self._find_number(page_names.SIZE_NAMES)
        return self._paging("limit", size) if size and self._items is not None else None

    def _find_next(self, argument: _PageArgument) -> tuple[str, ...]:
        wire, next_name = argument.wire, page_names.NEXT_NAME
        paths = [path for name, path in self._properties.items() if next_name.fullmatch(name)]
        if wire in page_names.CURSOR_NAMES and wire in self._properties:
            paths.append(self._properties[wire])
        # A plain `next` may hold an address; a name with the cursor's word is plainer.
        paths.sort(
            key=lambda path: (
                fold_name(path[-1]) in ("next", "nextpage"),
                self._is_address(path),
            )
        )
        after = self._properties.get("after", ())
        return next(iter(paths), after if len(after) > 1 else ())

    def _is_address(self, path: tuple[str, ...]) -> bool:
        outline = self._outline.find(path)
        has_name = _ADDRESS.fullmatch(fold_name(path[-1])) is not None
        return has_name or outline.format in ("uri", "url") or "href" in outline.properties

    def _arguments_named(self, names: Iterable[str]) -> list[_PageArgument]:
        return [argument for argument in self._arguments if argument.wire in names]

    def _find_number(self, names: Iterable[str], *, is_weak: bool = False) -> _PageArgument | None:
        for argument in self._arguments_named(names):
            other_types = argument.types - {"integer", "number"}
            is_number = bool(argument.types) and not other_types
            if is_number or (not is_weak and other_types <= {"string"}):
                return argument
        return None


def _find_list(outline: _ResponseOutline, segment: str) -> str | None:
    if outline.type == "array":
        return ""
    lists = [name for name, each in outline.properties.items() if each.type == "array"]
    types = {name: _item_type(outline.properties[name]) for name in lists}
    of_objects = [name for name in lists if types[name] == "object"]
    # A list whose items have no type may be one of objects, but only its name can tell.
    candidates = [name for name in lists if types[name] in ("", "object")] if of_objects else lists
    for folded in (segment, *page_names.LIST_NAMES):
        if names := [name for name in candidates if fold_name(name) == folded]:
            return quote_step(names[0])
    if len(likeliest := of_objects or lists) == 1:
        return quote_step(likeliest[0])
    for name, wrapped in outline.properties.items():
        if fold_name(name) in _WRAPPERS and wrapped.type != "array":
            inner = _find_list(wrapped, segment)
            if inner:
                return f"{quote_step(name)}.{inner}"
    return None


def _item_type(outline: _ResponseOutline) -> str:
    # Empty where it is unknown: without a type, or deeper than the outline goes.
    return "" if outline.item is None else outline.item.type


def _property_paths(outline: _ResponseOutline, depth: int = 0) -> Iterator[tuple[str, ...]]:
    yield from ((name,) for name in outline.properties)
    for name, inner in outline.properties.items():
        if depth < _DEEPEST_CONTAINER and fold_name(name) in page_names.PAGE_CONTAINERS:
            yield from ((name, *path) for path in _property_paths(inner, depth + 1))


def quote_step(name: str) -> str:
    """Return a property's name as a step of JMESPath."""
    return name if _NAME.fullmatch(name) else '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
