"""Recognises from a document how to ask for the next page of an operation's answer.

The signs are names of arguments and of an answer's members, not a list of APIs. An operation
without plain signs has no paging.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools import http_rules
from openapi_tools.json_values import UNIONS, Node, as_dict, as_list, schema_types
from openapi_tools.model import Operation, Paging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Arguments. The weak names need more signs than the others.
_PAGES = frozenset({"page", "pageno", "pagenum", "pagenumber", "pageindex", "currentpage"})
_OFFSETS = frozenset({"offset", "skip", "pageoffset", "startat", "startindex", "firstresult"})
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
_IDS = frozenset({"startingafter", "after", "afterid"})  # they may take the id of the last item
_WEAK_SIZES = frozenset({"size", "count", "take", "first", "rows", "n", "num", "results"})

# Members of answers.
_ADDRESS = re.compile(r"(?:odata)?next(?:page|results?|records)?(?:link|ur[il]|href)")
_WRAPPERS = frozenset({"data", "embedded", "result", "results", "response", "payload"})
_COMBINING = {"allOf", *UNIONS}
_DEEPEST = 4
_MOST = 2000  # schemas of an answer that are looked into


def step_of(name: str) -> str:
    """Return a member's name as JMESPath."""
    return name if _NAME.fullmatch(name) else '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'


@dataclass(slots=True)
class Outline:
    """The documented members of an answer; `kind` is a type of JSON, empty where it is unknown."""

    kind: str = ""
    format: str = ""
    members: dict[str, Outline] = field(default_factory=dict)
    item: Outline | None = None

    def at(self, path: Iterable[str]) -> Outline:
        """Return the member at a path; an empty outline without one."""
        found = self
        for name in path:
            found = found.members.get(name, Outline())
        return found


def outline_of(node: Any, resource: Any, follow: Callable[..., Any]) -> Outline:
    """Return the outline of a Schema Object; references that lead nowhere are left out."""
    room = [_MOST]

    def look(node: Any, resource: Any, depth: int) -> Outline:
        found = Outline()
        room[0] -= 1
        target = follow(node, resource) if depth <= _DEEPEST and room[0] >= 0 else None
        if target is None or not isinstance(target.node, dict):
            return found
        node, resource = target.node, target.resource
        found.kind, found.format = _kind(node), str(node.get("format", ""))
        for part in _parts(node):
            other = look(part, resource, depth + 1)
            found.kind, found.item = found.kind or other.kind, found.item or other.item
            found.members.update(other.members)
        for name, schema in as_dict(node["properties"]).items() if "properties" in node else ():
            found.members[name] = look(schema, resource, depth + 1)
        if "items" in node:
            found.item = look(node["items"], resource, depth + 1)
        return found

    return look(node, resource, 0)


def _kind(node: Node) -> str:
    kinds = node.get("type")
    kinds = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    if len(kinds) == 1 and isinstance(kinds[0], str):
        return kinds[0]
    return "object" if "properties" in node else "array" if "items" in node else ""


def _parts(node: Node) -> Iterator[Any]:
    """Yield the schemas that apply to the same value; of a union only where one is not null."""
    if node.keys().isdisjoint(_COMBINING):  # most are plain
        return
    yield from as_list(node.get("allOf"))
    for keyword in UNIONS:
        parts = [part for part in as_list(node.get(keyword)) if part != {"type": "null"}]
        if len(parts) == 1:
            yield parts[0]


class Documented(NamedTuple):
    """Facts about answers: their outline, whether they name `Link`, and `x-ms-pageable`."""

    outline: Outline
    links: bool = False
    pageable: Any = None


def documented(node: Any, resource: Any, follow: Callable[..., Any]) -> Documented:
    """Return the facts in an Operation Object; `follow` returns None for a bad reference."""
    pageable = node.get("x-ms-pageable")
    for status, given in as_dict(node.get("responses")).items():
        target = follow(given, resource) if str(status).startswith("2") else None
        if target is None or not isinstance(target.node, dict):
            continue
        headers, schema = target.node.get("headers"), _schema_of(target.node)
        links = any(name.lower() == "link" for name in as_dict(headers))
        outline = Outline("other" if schema is None and target.node.get("content") else "")
        if schema is not None:
            outline = outline_of(schema, target.resource, follow)
            is_open = outline.kind == "object" and not outline.members
            outline.kind = "" if is_open else outline.kind
        return Documented(outline, links, pageable)
    return Documented(Outline(), pageable=pageable)


def _schema_of(answer: Node) -> Any:
    """Return the schema of an answer's JSON; OpenAPI 2 has no media types there."""
    for kind, value in as_dict(answer.get("content")).items():
        if isinstance(value, dict) and (http_rules.is_json(kind) or kind == "*/*"):
            return value.get("schema")
    return answer.get("schema")


class _Candidate(NamedTuple):
    """An argument: its folded name on the wire, its own name, and the types of its values."""

    wire: str
    argument: str
    kinds: set[str]


class Recognition:
    """Recognises how to ask for an operation's pages; `schemas` are those of its arguments."""

    def __init__(
        self,
        operation: Operation,
        schemas: Mapping[str, Any],
        known: Documented,
        resolve: Callable[[Any], Any],
    ) -> None:
        self._known, self._outline = known, known.outline
        self._writes = operation.method == "POST"
        named = [(p.name, p.argument) for p in operation.parameters if p.location == "query"]
        if operation.method in ("POST", "QUERY") and operation.body is not None:
            named += [(p.name, p.argument) for p in operation.body.properties]
        self._arguments = [
            _Candidate(http_rules.folded(w), a, schema_types(schemas.get(a))) for w, a in named
        ]
        for _, argument in named:
            self._arguments += _inner_candidates(argument, resolve(schemas.get(argument)))
        segments = [http_rules.folded(part) for part in operation.path.split("/") if part]
        self._segment = segments[-1] if segments else ""
        self._items = _list_in(self._outline, self._segment)
        self._size = self._number(http_rules.SIZES) or self._number(_WEAK_SIZES, is_weak=True)
        self._members: dict[str, tuple[str, ...]] = {}
        for path in _paths(self._outline):
            self._members.setdefault(http_rules.folded(path[-1]), path)

    def result(self) -> Paging | None:
        """Return how to ask for pages; None without plain signs."""
        # A schema without a list is not that of a page.
        if self._outline.kind and self._items is None:
            return None
        if self._writes:
            return self._cursor(_CURSORS)
        return (
            self._pageable()
            or self._cursor(_CURSORS)
            or self._cursor(_WEAK_CURSORS)
            or self._last_id()
            or self._numbered()
            or self._plain_cursor()
            or self._linked()
            or self._limited()
        )

    def _made(
        self, style: str, argument: _Candidate | None = None, after: tuple[str, ...] = ()
    ) -> Paging:
        size = self._size if self._size != argument else None
        steps = (*after, "href") if "href" in self._outline.at(after).members else after
        return Paging(
            style,
            argument.argument if argument else "",
            size.argument if size else "",
            self._items or "",
            ".".join(map(step_of, steps)),
        )

    def _pageable(self) -> Paging | None:
        """Read `x-ms-pageable`; with a null `nextLinkName` one answer has all items."""
        given = self._known.pageable
        name = given.get("nextLinkName") if isinstance(given, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= http_rules.LONGEST_MEMBER:
            return None
        item = given.get("itemName", "value")
        self._items = step_of(item) if isinstance(item, str) and item else self._items
        return self._made("link", after=(name,))

    def _cursor(self, names: Iterable[str]) -> Paging | None:
        for argument in self._of(names):
            path = self._next(argument)
            is_weak = argument.wire in _WEAK_CURSORS
            is_number = argument.kinds & {"integer", "number"} and argument.wire in _PAGES
            if path and not is_number and not (is_weak and self._is_address(path)):
                return self._made("cursor", argument, path)
        return None

    def _last_id(self) -> Paging | None:
        """Recognise a cursor that is the last item's id, where a flag says if there is more."""
        found = next(iter(self._of(_IDS)), None)
        if found is None or not self._items or http_rules.FLAGS.isdisjoint(self._members):
            return None
        if "lastid" in self._members:
            return self._made("cursor", found, self._members["lastid"])
        item = self._outline.at(name.strip('"') for name in self._items.split(".")).item
        if item is None or "id" not in item.members:
            return None
        return replace(self._made("cursor", found), next=f"{self._items}[-1].id")

    def _numbered(self) -> Paging | None:
        if self._items is None and self._size is None:
            return None
        for style, names in (("page", _PAGES), ("offset", _OFFSETS)):
            if argument := self._number(names):
                return self._made(style, argument, self._next(argument))
        is_counted = self._size is not None or any(map(http_rules.TOTALS.fullmatch, self._members))
        argument = self._number(_WEAK_OFFSETS, is_weak=True) if is_counted else None
        return self._made("offset", argument, self._next(argument)) if argument else None

    def _plain_cursor(self) -> Paging | None:
        found = next(iter(self._of(_CURSORS - _IDS)), None)
        return self._made("cursor", found) if found else None

    def _linked(self) -> Paging | None:
        for name, path in self._members.items():
            parent = http_rules.folded(path[-2]) if len(path) > 1 else "links"
            is_text = self._outline.at(path).kind in ("string", "") or self._is_address(path)
            plain = name == "next" and parent in ("links", "paging", "pagination") and is_text
            if plain or _ADDRESS.fullmatch(name):
                return self._made("link", after=path)
        # A single resource may hold a list, and its answer a link.
        is_list = self._size or self._segment == http_rules.folded(self._items or self._segment)
        has_link = self._known.links and self._items is not None and is_list
        return self._made("link") if has_link else None

    def _limited(self) -> Paging | None:
        size = self._number(http_rules.SIZES)
        return self._made("limit", size) if size and self._items is not None else None

    def _next(self, argument: _Candidate) -> tuple[str, ...]:
        """Return the place of the next cursor, number or address; empty without one."""
        own = argument.wire
        found = [path for name, path in self._members.items() if http_rules.NEXT.fullmatch(name)]
        if own in http_rules.SAME and own in self._members:
            found.append(self._members[own])
        # A plain `next` may hold an address; a name with the cursor's word is plainer.
        found.sort(
            key=lambda at: (http_rules.folded(at[-1]) in ("next", "nextpage"), self._is_address(at))
        )
        after = self._members.get("after", ())
        return next(iter(found), after if len(after) > 1 else ())

    def _is_address(self, path: tuple[str, ...]) -> bool:
        at = self._outline.at(path)
        named = _ADDRESS.fullmatch(http_rules.folded(path[-1])) is not None
        return named or at.format in ("uri", "url") or "href" in at.members

    def _of(self, names: Iterable[str]) -> list[_Candidate]:
        return [argument for argument in self._arguments if argument.wire in names]

    def _number(self, names: Iterable[str], *, is_weak: bool = False) -> _Candidate | None:
        """Return the argument that takes a number; a plain name may be declared as a string."""
        for argument in self._of(names):
            others = argument.kinds - {"integer", "number"}
            is_number = bool(argument.kinds) and not others
            if is_number or (not is_weak and others <= {"string"}):
                return argument
        return None


def _inner_candidates(argument: str, schema: Any) -> Iterator[_Candidate]:
    """Yield the properties of an object argument, as `q.page` (Flask-AppBuilder's lists)."""
    properties = as_dict(schema).get("properties")
    for name, node in as_dict(properties).items():
        if "." not in name:
            yield _Candidate(http_rules.folded(name), f"{argument}.{name}", schema_types(node))


def _list_in(outline: Outline, segment: str) -> str | None:
    """Return the JMESPath of an answer's list, empty for the answer itself; None without one."""
    if outline.kind == "array":
        return ""
    lists = [name for name, member in outline.members.items() if member.kind == "array"]
    of_objects = [name for name in lists if _may_have_objects(outline.members[name])]
    lists = of_objects or lists
    for name in (segment, *http_rules.LISTS):
        if found := [each for each in lists if http_rules.folded(each) == name]:
            return step_of(found[0])
    if len(lists) == 1:
        return step_of(lists[0])
    for name, member in outline.members.items():
        if http_rules.folded(name) in _WRAPPERS and member.kind != "array":
            inner = _list_in(member, segment)
            if inner:
                return f"{step_of(name)}.{inner}"
    return None


def _may_have_objects(outline: Outline) -> bool:
    # Without a type, or deeper than the outline goes, items may be objects.
    return outline.item is None or outline.item.kind in ("", "object")


def _paths(outline: Outline, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the members that may tell about pages, by their names, the outermost first."""
    yield from ((name,) for name in outline.members)
    for name, member in outline.members.items():
        if depth < 2 and http_rules.folded(name) in http_rules.CONTAINERS:  # noqa: PLR2004 -- `paging.cursors.after`
            yield from ((name, *path) for path in _paths(member, depth + 1))
