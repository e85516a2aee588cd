"""Find schemas in a document by their keys: what they declare, and where a change belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from openapi_tools.common.json_values import as_dict, as_list, as_string, split_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

Keys = tuple[str | int, ...]
_LONGEST_CHAIN = 32  # references
_DEEPEST = 8  # `$ref`s, branches and `allOf`s inside one another


class SchemaPlaces:
    """The schemas of a document, by the keys that lead to them.

    Spec: OpenAPI 3.2.0, section 4.24 (Schema Object); OpenAPI 2.0, Schema Object.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        version = as_string(document.get("openapi"))
        self.has_null_type = bool(version) and not version.startswith("3.0")
        """Whether `null` is a type (from 3.1 on)."""
        self.nullable = "nullable" if version else "x-nullable"
        """The keyword for null before 3.1."""

    def node_at(self, keys: Keys) -> Any:
        """Return the value at a place, or None."""
        node: Any = self.document
        for key in keys:
            try:
                node = node[key]
            except (KeyError, IndexError, TypeError):
                return None
        return node

    def follow(self, keys: Keys) -> Keys | None:
        """Return the place at the end of a chain of references; None outside the document."""
        for _ in range(_LONGEST_CHAIN):
            node = self.node_at(keys)
            if not isinstance(node, Mapping):
                return None
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return keys
            if not reference.startswith("#/"):
                return None
            keys = self._find_keys(split_pointer(unquote(reference[1:])))
        return None

    def _find_keys(self, steps: tuple[str, ...]) -> Keys:
        keys: list[str | int] = []
        node: Any = self.document
        for step in steps:
            key = int(step) if isinstance(node, list) and step.isdecimal() else step
            keys.append(key)
            try:
                node = node[key]
            except (KeyError, IndexError, TypeError):
                node = None
        return tuple(keys)

    def find_branch(self, keys: Keys, types: list[str]) -> Keys | None:
        """Return the place of the schema that describes values of these types.

        Among the branches of `oneOf` or `anyOf`, it is the only one that allows a type; None if
        several do, or none.
        """
        place = self.follow(keys)
        if place is None:
            return None
        node = as_dict(self.node_at(place))
        for keyword in ("oneOf", "anyOf"):
            branches = as_list(node.get(keyword))
            fitting = [
                (*place, keyword, number)
                for number in range(len(branches))
                if self._may_fit((*place, keyword, number), types)
            ]
            if branches:
                return self.find_branch(fitting[0], types) if len(fitting) == 1 else None
        return place

    def _may_fit(self, keys: Keys, types: list[str]) -> bool:
        place = self.follow(keys)
        declared = self.types_at(place) if place is not None else set()
        return not declared or any(fits_type(each, declared) for each in types)

    def types_at(self, keys: Keys) -> set[str]:
        """Return the types that a schema declares, without null; an empty set for any."""
        node = as_dict(self.node_at(keys))
        kind = node.get("type")
        names = [kind] if isinstance(kind, str) else as_list(kind)
        return {name for name in names if isinstance(name, str) and name != "null"}

    def allows_null(self, keys: Keys, depth: int = 0) -> bool:
        """Return whether a schema allows null, or says nothing about types."""
        node = self.node_at(keys)
        if not isinstance(node, Mapping) or depth > _DEEPEST:
            return True
        if node.get("nullable") is True or node.get("x-nullable") is True:
            return True
        if "$ref" in node:
            place = self.follow(keys)
            return place is None or self.allows_null(place, depth + 1)
        kinds = as_list(node.get("type")) or [node.get("type")]
        if "enum" in node or kinds != [None]:
            return None in as_list(node.get("enum")) or "null" in kinds
        return self._branches_allow_null(keys, depth)

    def _branches_allow_null(self, keys: Keys, depth: int) -> bool:
        node = as_dict(self.node_at(keys))
        for keyword, decide in (("oneOf", any), ("anyOf", any), ("allOf", all)):
            count = len(as_list(node.get(keyword)))
            branches = (self.allows_null((*keys, keyword, n), depth + 1) for n in range(count))
            if count and not decide(branches):
                return False
        return True

    def properties_at(self, keys: Keys) -> dict[str, Keys]:
        """Return the places of the properties that a schema and its `allOf` declare, by name."""
        places: dict[str, Keys] = {}
        for part in self._iter_parts(keys):
            node = as_dict(self.node_at(part))
            for name in as_dict(node.get("properties")):
                places.setdefault(str(name), (*part, "properties", name))
        return places

    def required_at(self, keys: Keys) -> Iterator[tuple[str, Keys]]:
        """Yield the required properties of a schema, each with the place of its name."""
        for part in self._iter_parts(keys):
            for number, name in enumerate(as_list(as_dict(self.node_at(part)).get("required"))):
                if isinstance(name, str):
                    yield name, (*part, "required", number)

    def holder_of_properties(self, keys: Keys) -> Keys | None:
        """Return the schema that a new property belongs to; None for a map or free-form object."""
        parts = list(self._iter_parts(keys))
        nodes = [as_dict(self.node_at(part)) for part in parts]
        if any(isinstance(node.get("additionalProperties"), Mapping) for node in nodes):
            return None
        if any("patternProperties" in node for node in nodes):
            return None
        with_properties = [
            part for part, node in zip(parts, nodes, strict=True) if node.get("properties")
        ]
        return with_properties[0] if with_properties else None

    def _iter_parts(self, keys: Keys, depth: int = 0) -> Iterator[Keys]:
        place = self.follow(keys)
        if place is None or depth > _DEEPEST:
            return
        yield place
        for number in range(len(as_list(as_dict(self.node_at(place)).get("allOf")))):
            yield from self._iter_parts((*place, "allOf", number), depth + 1)


def fits_type(name: str, declared: set[str]) -> bool:
    """Return whether a value of a type fits the declared types; an empty set means any."""
    return not declared or name in declared or (name == "integer" and "number" in declared)
