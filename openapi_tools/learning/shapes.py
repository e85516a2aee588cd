"""The shapes of JSON values: types, names and counts, without the values themselves.

Models read an overlay, and its names and enum values come from the API, so only those that look
like identifiers are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from openapi_tools.learning.deviations import MOST_SOURCES

_DEEPEST = 12
_MOST_NAMES = 200  # properties of an object
_MOST_ITEMS = 1_000  # of an array
_MOST_SYMBOLS = 64  # different ones at a place
_NAME = re.compile(r"[A-Za-z_$@][\w.$@-]{0,63}", re.ASCII)
_ADDRESS = re.compile(r"[^@]@(?!odata\.)", re.ASCII)  # of a person; OData has `name@odata.type`
_SYMBOL = re.compile(r"[A-Za-z][\w.:-]{0,31}", re.ASCII)
# In keys such as `user-123` or a hexadecimal digest: their object is a map, not a record.
_KEY_OF_A_MAP = re.compile(r"\d{3}|[0-9a-f]{8}", re.ASCII)
_LEAST_OF_A_MAP = 5  # names
_SHARE_SEEN_ONCE = 0.8  # of the names of a map


def is_name(text: str) -> bool:
    """Return whether a string may be the name of a property in an overlay."""
    if not _NAME.fullmatch(text) or _ADDRESS.search(text):
        return False
    return not _KEY_OF_A_MAP.search(text)


def is_symbol(text: str) -> bool:
    """Return whether a string may be a value of an enumeration in an overlay."""
    return bool(_SYMBOL.fullmatch(text)) and not _KEY_OF_A_MAP.search(text)


@dataclass(slots=True)
class Shape:
    """What all values at one place of a response have in common.

    Attributes:
        count: Number of values.
        types: Number of values of each JSON Schema type.
        symbols: How often each string occurred that may be an enum value.
        properties: The shapes of an object's properties.
        items: The shape of an array's items.
        sources: The first exchanges with a value that is not null.
        sources_of_null: The first exchanges with null.
    """

    count: int = 0
    types: Counter[str] = field(default_factory=Counter)
    symbols: Counter[str] = field(default_factory=Counter)
    properties: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None
    sources: list[str] = field(default_factory=list)
    sources_of_null: list[str] = field(default_factory=list)

    def add(self, value: Any, source: str, depth: int = 0) -> None:
        """Add a value of an exchange."""
        kind = json_type(value)
        self.count += 1
        self.types[kind] += 1
        _remember(self.sources_of_null if kind == "null" else self.sources, source)
        if isinstance(value, str):
            self._add_string(value)
        elif isinstance(value, dict) and depth < _DEEPEST:
            for name, part in value.items():
                if name in self.properties or len(self.properties) < _MOST_NAMES:
                    self.properties.setdefault(name, Shape()).add(part, source, depth + 1)
        elif isinstance(value, list) and depth < _DEEPEST:
            self.items = self.items or Shape()
            for part in value[:_MOST_ITEMS]:
                self.items.add(part, source, depth + 1)

    def _add_string(self, text: str) -> None:
        is_kept = is_symbol(text) and (text in self.symbols or len(self.symbols) < _MOST_SYMBOLS)
        if is_kept:
            self.symbols[text] += 1

    def merge(self, other: Shape) -> None:
        """Add the shape of another place with the same schema."""
        self.count += other.count
        self.types += other.types
        self.symbols += other.symbols
        for source in other.sources:
            _remember(self.sources, source)
        for source in other.sources_of_null:
            _remember(self.sources_of_null, source)
        for name, shape in other.properties.items():
            self.properties.setdefault(name, Shape()).merge(shape)
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.merge(other.items)

    def split_nulls(self) -> tuple[Shape, Shape]:
        """Return the shapes of the nulls and of the other values, whose schemas may differ."""
        nulls = self.types["null"]
        types = Counter({name: self.types[name] for name in self.types if name != "null"})
        values = replace(self, count=self.count - nulls, types=types, sources_of_null=[])
        return Shape(types=Counter(null=nulls), sources_of_null=self.sources_of_null), values

    @property
    def value_types(self) -> list[str]:
        """The types without null, and without integer where it is also a number."""
        types = [name for name in self.types if name != "null" and self.types[name]]
        return [name for name in types if name != "integer" or "number" not in types]

    def is_map(self, names: list[str]) -> bool:
        """Return whether these names are keys of a map, of which most were seen only once."""
        if any(not is_name(name) for name in names):
            return True
        objects = self.types["object"]
        once = sum(self.properties[name].count == 1 for name in names)
        return (
            objects > 1 and len(names) >= _LEAST_OF_A_MAP and once >= _SHARE_SEEN_ONCE * len(names)
        )

    def to_schema(self) -> dict[str, Any]:
        """Return a JSON Schema with the types and the names of properties."""
        types = self.value_types
        schema: dict[str, Any] = {"type": types[0]} if len(types) == 1 else {}
        names = list(self.properties)
        if types == ["object"] and names and not self.is_map(names):
            schema["properties"] = {name: self.properties[name].to_schema() for name in names}
        if types == ["array"]:
            schema["items"] = self.items.to_schema() if self.items else {}
        return schema


def _remember(sources: list[str], source: str) -> None:
    if source not in sources and len(sources) < MOST_SOURCES:
        sources.append(source)


def json_type(value: Any) -> str:
    """Return the type of a JSON value as JSON Schema names it; `1.0` is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names = {float: "number", str: "string", dict: "object", list: "array"}
    return names[type(value)]
