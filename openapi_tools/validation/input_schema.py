"""The part of a tool's input schema that can be checked.

Published documents hold keywords that no validator takes: regular expressions of another dialect,
types that do not exist, limits of the wrong type. Those are left out, each with a note, so that the
rest is still checked. Nothing is ever looked up outside the schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import (
    ASSERTIONS,
    ONE_SCHEMA,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    pointer_token,
    resolve,
)
from openapi_tools.validation.engine import (
    LARGEST_PATTERN,
    UNUSABLE,
    Judge,
    compile_schema,
    groups,
    pattern_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import UnionType

    from openapi_tools.validation.engine import Node, Schema

_COMPILED = ASSERTIONS | {"maxContains", "minContains"}
_SHAPES: tuple[tuple[frozenset[str], type | UnionType], ...] = (
    (SCHEMA_LISTS, list),
    (SCHEMA_MAPS, dict),
    (ONE_SCHEMA, dict | bool),
)
_COSTLY = frozenset(
    {"anyOf", "contains", "dependentRequired", "dependentSchemas", "if", "multipleOf", "not"}
    | {"oneOf", "pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties"}
    | {"uniqueItems"}
)
"""Keywords that may take long for a large value."""
_DEEPEST = 200
"""Nesting of JSON values inside a schema; jsonschema-rs gives up at 250."""
_LARGEST = 20_000
"""The most schemas inside a schema; shared ones count once for each use."""
_POINTER = 200
_PATTERNS = 4_000_000
"""Bytes of all compiled patterns of a schema; compiling that many takes some 40 ms."""
_COUNTED = re.compile(r"\{\d")
"""A part of a pattern that the engine refuses for its size, after a long time."""


def prepare(schema: Node, *, cheap: bool = False) -> Judge:
    """Return the part of a schema that can be checked, with its validator.

    If it has to be cheap, keywords that may take long for a large value are left out, too.

    Spec: JSON Schema 2020-12, Core and Validation; `format` is an annotation here.
    """
    for usable in (None, _is_usable):
        copy = _Copy(schema, usable, cheap)
        try:
            validator = compile_schema(copy.schema)
        except UNUSABLE as error:
            reason = str(error).partition("\n")[0]
        else:
            return Judge(copy.schema, validator, tuple(copy.notes))
    note = f"the schema cannot be checked as a whole ({reason:.100})"
    return Judge(copy.schema, None, (*copy.notes, note))


def _is_usable(keyword: str, value: object) -> bool:
    try:
        compile_schema({keyword: value})
    except UNUSABLE:
        return False
    return True


def _is_costly(keyword: str, value: Any) -> bool:
    if keyword in ("enum", "const"):
        literals = value if isinstance(value, list) else [value]
        return any(isinstance(literal, list | dict) for literal in literals)
    return keyword in _COSTLY


@dataclass(slots=True)
class _Copy:
    """The part of a schema that is checked; `usable` tells whether a keyword can be compiled."""

    original: Node
    usable: Callable[[str, object], bool] | None
    cheap: bool
    schema: Node = field(init=False)
    notes: list[str] = field(default_factory=list)
    _references: list[tuple[Node, str]] = field(default_factory=list)
    _left_out: list[tuple[Node, str]] = field(default_factory=list)
    _here: tuple[Node, str] = field(default_factory=lambda: ({}, ""))
    _count: int = 0
    _pattern_room: int = _PATTERNS

    def __post_init__(self) -> None:
        copied = self._schema(self.original, "", 0)
        self.schema = copied if isinstance(copied, dict) else {}
        for node, pointer in self._references:
            if not isinstance(resolve(self.schema, node["$ref"]), dict | bool):
                self._here = (node, "$ref")
                self._leave_out(pointer, "leads to nothing in the schema")
                del node["$ref"]
        if self._left_out:
            _weaken(self.schema, self._left_out)

    def _leave_out(self, pointer: str, reason: str) -> None:
        self.notes.append(f"{pointer[:_POINTER]}: {reason}; not checked")
        self._left_out.append(self._here)

    def _schema(self, node: object, pointer: str, depth: int) -> Schema:
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            self._leave_out(pointer, "is not a schema")
            return True
        self._count += 1
        if depth > _DEEPEST or self._count > _LARGEST:
            if self._count <= _LARGEST + 1:
                self._leave_out(pointer, "is nested too deep, or the schema is too large")
            else:
                self._left_out.append(self._here)
            return True
        outer = self._here
        copied: Node = {}
        for keyword, value in node.items():
            self._here = (copied, keyword)
            for part in self._keyword(keyword, value, f"{pointer}/{keyword}", depth + 1):
                copied[keyword] = part
        self._here = outer
        if "$ref" in copied:
            self._references.append((copied, f"{pointer}/$ref"))
        return copied

    def _keyword(self, keyword: str, value: Any, pointer: str, depth: int) -> Iterator[Any]:
        """Give the copy of a keyword's value, or nothing when the keyword is left out."""
        if fault := self._fault(keyword, value):
            self._leave_out(pointer, fault)
        elif keyword in ONE_SCHEMA:
            yield self._schema(value, pointer, depth)
        elif keyword in SCHEMA_LISTS:
            yield [self._schema(v, f"{pointer}/{i}", depth + 1) for i, v in enumerate(value)]
        elif keyword in SCHEMA_MAPS:
            yield dict(self._members(keyword, value, pointer, depth + 1))
        elif keyword in _COMPILED or keyword == "$ref":
            yield value

    def _fault(self, keyword: str, value: Any) -> str:
        """Return why a keyword is left out; empty when it is not."""
        shape = next((shape for words, shape in _SHAPES if keyword in words), None)
        if shape is not None and not (isinstance(value, shape) and value != []):
            return "holds no schema where there should be some"
        if keyword == "$ref" and not (isinstance(value, str) and f"{value}/".startswith("#/")):
            return "leads out of the schema"
        if keyword == "$dynamicRef":
            return "is not followed"
        if self.cheap and _is_costly(keyword, value):
            return "may take long"
        return "" if self._is_usable(keyword, value) else "has a value that cannot be checked"

    def _is_usable(self, keyword: str, value: Any) -> bool:
        if keyword == "pattern" and isinstance(value, str):
            return self._has_room_for(value)
        return keyword not in _COMPILED or self.usable is None or self.usable(keyword, value)

    def _has_room_for(self, pattern: str) -> bool:
        """Tell whether a pattern can be compiled beside those before it."""
        if self._pattern_room <= 0:
            return False
        size = pattern_size(pattern)
        self._pattern_room -= size or (LARGEST_PATTERN if _COUNTED.search(pattern) else 0)
        return size > 0

    def _members(
        self, keyword: str, value: dict[Any, Any], pointer: str, depth: int
    ) -> Iterator[tuple[str, Schema]]:
        for name, member in value.items():
            place = pointer + pointer_token(name)
            if not isinstance(name, str):
                self._leave_out(place, "has a name that is not a string")
            elif keyword == "patternProperties" and not self._has_room_for(name):
                self._leave_out(place, "has a name that cannot be checked")
            else:
                yield name, self._schema(member, place, depth)


def _weaken(root: Node, left_out: list[tuple[Node, str]]) -> None:
    """Remove the keywords that would refuse more values now that other parts are missing."""
    # `left_out` has the schemas that miss a part, each with the keyword of that part.
    for node, keyword in left_out:
        if keyword in ("properties", "patternProperties"):
            _drop(node, "additionalProperties", "unevaluatedProperties")
        if keyword == "prefixItems":
            _drop(node, "items", "unevaluatedItems")
    nodes, parents = [root], {id(root): list[int]()}
    for node in nodes:  # which grows
        for child in (child for _, group in groups(node, root) for child in group):
            if id(child) not in parents:
                nodes.append(child)
                parents[id(child)] = []
            parents[id(child)].append(id(node))
    weak = {id(node) for node, _ in left_out}
    reached = list(weak)
    for one in reached:
        above = set(parents.get(one, ())) - weak
        weak |= above
        reached += above
    for node in nodes:
        _weaken_one(node, root, weak)


def _drop(node: Node, *keywords: str) -> None:
    for keyword in keywords:
        node.pop(keyword, None)


def _weaken_one(node: Node, root: Node, weak: set[int]) -> None:
    def is_weak(*keywords: str) -> bool:
        parts = {keyword: node[keyword] for keyword in keywords if keyword in node}
        return any(id(child) in weak for _, group in groups(parts, root) for child in group)

    if is_weak("oneOf"):
        node["allOf"] = [*node.get("allOf", ()), {"anyOf": node.pop("oneOf")}]
    if is_weak("not"):
        _drop(node, "not")
    if is_weak("if"):
        _drop(node, "if", "then", "else")
    if is_weak("contains"):
        _drop(node, "maxContains")
    if is_weak("$ref", "allOf", "anyOf", "if", "then", "else", "dependentSchemas"):
        _drop(node, "unevaluatedItems", "unevaluatedProperties")
