"""A look at the outline of a large document that tells whether all of its operations are sound.

What takes long is to make objects of a document and to walk over them, so only those are made here
that say whether `Checks` would find something. If it may, the document is read as any other is.

Spec: OpenAPI 3.2.0, sections 4.8 to 4.13; Swagger 2.0.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Raw, defstruct
from msgspec.json import Decoder
from pydantic_core import from_json

from openapi_tools.errors import DocumentError
from openapi_tools.loader import scanning, versions
from openapi_tools.loader.checks import fits, plain_variables
from openapi_tools.loader.kept import Usable
from openapi_tools.loader.naming import tool_names
from openapi_tools.loader.operations import Declared, as_text
from openapi_tools.loader.parameters import is_sendable, locations
from openapi_tools.loader.tools import described

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi_tools.loader.outline import Parts
    from openapi_tools.loader.references import Resource
    from openapi_tools.runtime.settings import Settings

_NULL = b"null"
_ODD = re.compile(r"[~%/]|[^\x20-\x7e]")
"""In the name of a component, what a reference may write in several ways."""
_BATCH = 64
_COMPONENTS = ("schemas", "parameters", "requestBodies", "headers")
"""Those that requests are made from."""


class Unsure(Exception):  # noqa: N818 -- no error: the document is looked at more closely
    """Something may be wrong."""


class _Ref:
    """The value of a `$ref`."""

    __slots__ = ("text",)

    def __init__(self, text: Any) -> None:
        self.text = text


class _Operation(NamedTuple):
    """An operation of an outline; `slices` are its members, `shared` those of its path item."""

    operation_id: str
    method: str
    path: str
    member: str
    slices: dict[str, Raw]
    shared: dict[str, Any]


def glance(entry: Resource, settings: Settings) -> Usable | None:
    """Return a document's operations, or None where one may not be sound.

    Args:
        entry: The document; its root is an outline.
        settings: What tools look like.
    """
    try:
        return _Glance(entry.root).usable(entry, settings)
    except (Unsure, DocumentError, ValueError, RecursionError):
        return None


class _Glance:
    """Looks at one document."""

    def __init__(self, root: Parts) -> None:
        self._dialect = versions.read_dialect(root, "")
        self._paths = root.table.get("paths", {})
        self._places = _places(root.table, swagger=self._dialect.swagger)
        self._refs: dict[Any, _Ref] = {}
        self._fresh: list[Any] = []
        self._named: dict[Any, Any] = {}
        self._texts: dict[bytes, int] = {}  # lists of parameters; what says the same is one

    def usable(self, entry: Resource, settings: Settings) -> Usable:
        """Return the operations.

        Raises:
            Unsure: One may not be sound.
            ValueError: As above.
        """
        operations = self._operations()
        numbers = self._numbers(operations)
        self._check(operations, numbers)
        names = tool_names(operations, settings.prefix)
        paths: Any = entry.root.get("paths")
        declared = []
        for (_, method, path, member, slices, shared), lists in zip(
            operations, numbers, strict=True
        ):
            item = paths.part(path, shared)
            node = item.part(member, slices)
            declared.append(Declared(method, path, member, node, item, entry, lists))
        good = list(zip(names, declared, strict=True))
        return Usable(good, [], [], _descriptions(operations, settings.description_chars))

    def _operations(self) -> list[_Operation]:
        """Return all operations in the document's order."""
        methods = {method: method.upper() for method in self._dialect.methods}
        items = [(path, item) for path, item in self._paths.items() if not path.startswith("x-")]
        if any("$ref" in item or "additionalOperations" in item for _, item in items):
            raise Unsure
        found = [(path, key, item) for path, item in items for key in item if key in methods]
        slices = [item[key] for _, key, item in found]
        if not {dict}.issuperset(map(type, slices)):
            raise Unsure
        ids = map(as_text, _column(slices, "operationId"))
        return [
            _Operation(name, methods[key], path, key, item[key], item)
            for name, (path, key, item) in zip(ids, found, strict=True)
        ]

    def _numbers(self, operations: Sequence[_Operation]) -> list[tuple[int, int]]:
        """Return numbers for the lists of parameters of each operation: its path's, and its own.

        Raises:
            Unsure: Something is no list.
        """
        number = self._texts.setdefault
        items = {id(each.shared): each.shared.get("parameters") for each in operations}
        if not {list, type(None)}.issuperset(map(type, items.values())):
            raise Unsure
        above = {
            key: number(_NULL if found is None else _array(found), len(self._texts))
            for key, found in items.items()
        }
        own = [
            number(bytes(each.slices.get("parameters", _NULL)), len(self._texts))
            for each in operations
        ]
        return [(above[id(each.shared)], at) for each, at in zip(operations, own, strict=True)]

    def _check(self, operations: Sequence[_Operation], numbers: Sequence[tuple[int, int]]) -> None:
        """Look at all that operations say of requests, and at what that refers to.

        Raises:
            Unsure: Something may be wrong with it.
            ValueError: As above.
        """
        names = self._path_names()
        if not self._dialect.swagger:
            bodies = [each.slices.get("requestBody", _NULL) for each in operations]
            for some in _batches(bodies):
                self._decode(list[Node | None], some)
        self._follow()
        last, variables = "", None
        for each, (above, own) in zip(operations, numbers, strict=True):
            if each.path is not last:
                last, variables = each.path, plain_variables(each.path)
            theirs, mine = names[above], names[own]
            both = [*dict.fromkeys(theirs + mine)] if theirs and mine else theirs or mine
            if not fits(variables, both):
                raise Unsure

    def _path_names(self) -> list[list[str]]:
        """Return the names of the path parameters in each list, by its number."""
        names: list[list[str]] = []
        for some in _batches(list(self._texts)):
            lists = self._decode(list[list[Parameter] | None], some)
            names += self._names([listed or [] for listed in lists])
        return names

    def _names(self, lists: list[list[Any]]) -> list[list[str]]:
        """Return the names of path parameters in each list; look at all others, too."""
        named = self._named
        refs = {each.ref.text for each in chain.from_iterable(lists) if each.ref} - named.keys()
        nodes = self._decode(list[Parameter], _array(self._referred(refs)))
        named |= zip(refs, nodes, strict=True)
        full = [[named[each.ref.text] if each.ref else each for each in listed] for listed in lists]
        places = locations(self._dialect)
        for place, name in {(each.location, each.name) for each in chain.from_iterable(full)}:
            if place not in places or not name or not is_sendable(name):
                raise Unsure
        return [[each.name for each in listed if each.location == "path"] for listed in full]

    def _follow(self) -> None:
        """Look at all components that are reached from what was looked at."""
        while fresh := self._fresh:  # a look at all that is known would be one at each level
            self._fresh = []
            for some in _batches(self._referred(fresh)):
                if any(node.ref for node in self._decode(list[Node], some)):
                    raise Unsure

    def _referred(self, refs: Iterable[Any]) -> list[Raw]:
        """Return the components that references lead to."""
        try:
            pairs = [(place, name) for place, _, name in [ref.rpartition("/") for ref in refs]]
            found = [self._places[place][name] for place, name in pairs]
        except (AttributeError, KeyError):  # no text, or another place
            raise Unsure from None
        if _ODD.search("".join([name for _, name in pairs])):
            raise Unsure
        return found

    def _decode(self, kind: Any, data: bytes) -> Any:
        """Return some JSON as one of the kinds below; note its references."""
        return Decoder(kind, dec_hook=self._noted).decode(data)

    def _noted(self, _: type, text: Any) -> _Ref:
        """Return a reference, the same for all that are alike."""
        found = self._refs.get(text)
        if found is None:
            found = self._refs[text] = _Ref(text)
            self._fresh.append(text)
        return found


_One = "Node | bool | None"
_HELD = {
    **dict.fromkeys(scanning.HOLDING, _One),
    **dict.fromkeys(scanning.LISTS, f"list[{_One}]"),
    **dict.fromkeys(scanning.MAPS, f"dict[str, {_One}]"),
    "items": f"{_One} | list[{_One}]",
}
Node: Any = defstruct(
    "Node",
    [("ref", _Ref, None), *[(f"{key}_", kind, None) for key, kind in _HELD.items()]],
    rename={"ref": "$ref", **{f"{key}_": key for key in _HELD}},
    module=__name__,
    gc=False,
)
"""What any object is decoded to that a request is made from: it has the members that `scanning`
looks into, and is as strict or stricter about what they hold."""
Parameter: Any = defstruct(
    "Parameter",
    [("location", str, ""), ("name", str, "")],
    bases=(Node,),
    rename={"location": "in"},
    module=__name__,
    gc=False,
)
"""The same for a parameter."""


def _places(table: dict[str, Any], *, swagger: bool) -> dict[str, dict[str, Raw]]:
    """Return the components by what references to them begin with."""
    if swagger:
        found = {f"#/{kind}": table.get(kind) for kind in ("definitions", "parameters")}
    else:
        components = table.get("components", {})
        found = {f"#/components/{kind}": components.get(kind) for kind in _COMPONENTS}
    return {place: members for place, members in found.items() if isinstance(members, dict)}


def _array(slices: Iterable[Any]) -> bytes:
    """Return slices of JSON as one array."""
    return b"[%b]" % b",".join(slices)


def _batches(slices: Sequence[Any]) -> Iterator[bytes]:
    """Yield slices of JSON as arrays of some, so that what is made of them takes little memory."""
    for start in range(0, len(slices), _BATCH):
        yield _array(slices[start : start + _BATCH])


def _column(rows: Iterable[dict[str, Raw]], name: str) -> list[Any]:
    """Return one member of each row, None where it is missing."""
    found: list[Any] = from_json(_array([row.get(name, _NULL) for row in rows]))
    return found


def _descriptions(operations: Sequence[_Operation], limit: int) -> list[str]:
    """Return what a model is told of each operation."""
    slices = [each.slices for each in operations]
    columns = [_column(slices, name) for name in ("summary", "description", "deprecated")]
    return [
        described(
            summary or each.shared.get("summary"),
            text or each.shared.get("description"),
            each,
            limit,
            deprecated=mark is True,
        )
        for each, summary, text, mark in zip(operations, *columns, strict=True)
    ]
