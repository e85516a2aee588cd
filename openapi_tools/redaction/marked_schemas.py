"""Values that a schema marks as secret, by `format: password` or `writeOnly`.

Spec: OpenAPI 3.1.2, section 4.4 (`password` hides a value); JSON Schema 2020-12, Validation,
section 9.4 (`writeOnly`: a value that is never read back).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import IN_PLACE_KEYWORDS, iter_subschemas
from openapi_tools.common.json_values import resolve_reference, split_pointer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    Node = Mapping[str, Any]

EXTENSION = "openapi_tools.marked_values"
"""The key of a request's `extensions` under which a transport finds its tool's `MarkedValues`."""
_MOST = 2_000  # schemas that are looked at for one value, and values that are remembered
# What `not` describes is what the value is not.
_APPLIED = IN_PLACE_KEYWORDS - {"not"}
_OTHER_KEYWORDS = ("patternProperties", "additionalProperties", "unevaluatedProperties")
_SEPARATORS = re.compile(r"[\[\].]+")


def _is_marked(node: Node) -> bool:
    return node.get("format") == "password" or node.get("writeOnly") is True


def _schemas_in(node: Node, keywords: Collection[str]) -> Iterator[Node]:
    return (part for part in iter_subschemas(node, keywords) if isinstance(part, Mapping))


@dataclass(slots=True, eq=False)
class MarkedSchema:
    """All schemas that apply to one value, and those of the values in it.

    Schemas of a union count together: a value is secret where any of them says so.
    """

    _root: Node
    _nodes: list[Node]
    # Shared by all values of one root, by the schemas that apply: a cycle of `$ref` ends here.
    _places: dict[tuple[int, ...], MarkedSchema] = field(default_factory=dict)

    @classmethod
    def from_schema(cls, root: Any) -> MarkedSchema | None:
        """Return the schema of a value; None where no part of it is marked."""
        if not isinstance(root, Mapping) or not _has_marks(root):
            return None
        return cls(root, list(_applicable_schemas(root, [root])))

    @property
    def is_secret(self) -> bool:
        """Whether the value itself is marked."""
        return any(map(_is_marked, self._nodes))

    @property
    def applies(self) -> bool:
        """Whether any schema says something about the value."""
        return bool(self._nodes)

    @property
    def listed_names(self) -> frozenset[str]:
        """The names of properties that the schemas list."""
        return frozenset(name for node in self._nodes for name in _listed_properties(node))

    def property_schema(self, name: str | None) -> MarkedSchema:
        """Return the schema of a property; with None, of those that are not listed.

        Patterns are not applied, as those of a document may take very long: a property that is not
        listed has the schemas of all patterns.
        """
        if self.is_secret:  # and so is all that is in it
            return self
        return self._combine_schemas(
            chain.from_iterable(_property_schemas(n, name) for n in self._nodes)
        )

    def item_schema(self, index: int | None) -> MarkedSchema:
        """Return the schema of an item; with None, of every one."""
        if self.is_secret:
            return self
        return self._combine_schemas(
            chain.from_iterable(_item_schemas(n, index) for n in self._nodes)
        )

    def find_schema(self, pointer: str) -> MarkedSchema:
        """Return the schema of the value at a JSON Pointer; every item counts for any."""
        place = self
        for key in split_pointer(pointer):
            items = place.item_schema(None)
            is_item = items.applies and key not in place.listed_names
            place = items if is_item else place.property_schema(key)
        return place

    def secret_names(self) -> frozenset[str]:
        """Return the names of properties at any depth whose values are marked, wholly or inside.

        A name counts for what has none of its own: items, and properties that are not listed.
        """
        names: set[str] = set()
        seen: dict[int, MarkedSchema] = {}
        waiting = [self]
        while waiting and len(seen) < _MOST:
            place = waiting.pop()
            if id(place) in seen:
                continue
            seen[id(place)] = place
            inner = {name: place.property_schema(name) for name in place.listed_names}
            names |= {name for name, part in inner.items() if part.holds_unnamed()}
            waiting += [*inner.values(), place.item_schema(None), place.property_schema(None)]
        return frozenset(names)

    def holds_unnamed(self) -> bool:
        """Whether the value is marked, or a value in it that no listed property names."""
        seen: dict[int, MarkedSchema] = {}
        waiting = [self]
        while waiting and len(seen) < _MOST:
            place = waiting.pop()
            if place.is_secret:
                return True
            if id(place) not in seen and place.applies:
                seen[id(place)] = place
                waiting += [place.item_schema(None), place.property_schema(None)]
        return False

    def _combine_schemas(self, nodes: Iterable[Node]) -> MarkedSchema:
        applied = list(_applicable_schemas(self._root, nodes))
        key = tuple(map(id, applied))
        place = self._places.get(key)
        if place is None:
            place = MarkedSchema(self._root, applied, self._places)
            if len(self._places) < _MOST:
                self._places[key] = place
        return place


def _listed_properties(node: Node) -> Node:
    listed = node.get("properties")
    return listed if isinstance(listed, Mapping) else {}


def _property_schemas(node: Node, name: str | None) -> Iterator[Node]:
    if name is not None and name in (listed := _listed_properties(node)):
        return (part for part in (listed[name],) if isinstance(part, Mapping))
    return _schemas_in(node, _OTHER_KEYWORDS)


def _item_schemas(node: Node, index: int | None) -> Iterator[Node]:
    first = list(_schemas_in(node, ["prefixItems"]))
    yield from first if index is None else first[index : index + 1]
    if index is None or index >= len(first):
        yield from _schemas_in(node, ["items"])
    yield from _schemas_in(node, ["contains"])
    yield from _schemas_in(node, ["unevaluatedItems"])


def is_named(name: str, names: Collection[str]) -> bool:
    """Whether a name on the wire is one of some, or leads to one: `user[pin]`, `user.pin`."""
    plain = name.lower()
    return plain in names or any(part in names for part in _SEPARATORS.split(plain))


def _applicable_schemas(root: Node, nodes: Iterable[Node]) -> Iterator[Node]:
    waiting, seen = list(nodes), set[int]()
    while waiting and len(seen) < _MOST:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            target = resolve_reference(root, reference.removeprefix("#"))
            waiting += [target] if isinstance(target, Mapping) else []
        waiting += _schemas_in(node, _APPLIED)


def _has_marks(root: Node) -> bool:
    waiting: list[Any] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if _is_marked(part):
                return True
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return False
