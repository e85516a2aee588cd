"""Inputs for every alternative of every union in an input schema, each made for that one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema_rs
from profile_values import ImpossibleError, number, text_for

if TYPE_CHECKING:
    from collections.abc import Iterator

UNIONS = ("anyOf", "oneOf")
TURNS = 12
_DEEPEST = 40
_NAMED = ("properties", "patternProperties")
_LISTED = (*UNIONS, "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties")


class RuledOutError(ImpossibleError):
    """The keywords around an alternative let none of its values through."""


class Alternative(NamedTuple):
    """One alternative of a union: the way to it, and its JSON Pointer."""

    steps: tuple[tuple[str, Any], ...]
    pointer: str


def alternatives(schema, seen):
    """Yield all alternatives that a schema leads to."""
    waiting: list[tuple[Any, tuple[tuple[str, Any], ...]]] = [(schema, ())]
    for node, steps in waiting:  # which grows: nearest first
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        for keyword, key, child in _children(node, schema):
            further = (*steps, (keyword, key))
            waiting.append((child, further))
            if keyword in UNIONS:
                yield Alternative(further, "".join(f"/{word}/{step}" for word, step in further))


def _children(node, root):
    for keyword in _NAMED:
        yield from ((keyword, name, child) for name, child in node.get(keyword, {}).items())
    for keyword in _LISTED:
        yield from ((keyword, index, child) for index, child in enumerate(node.get(keyword, ())))
    yield from ((keyword, "", node[keyword]) for keyword in _SINGLE if keyword in node)
    if "$ref" in node:
        yield "$ref", node["$ref"], root["$defs"][node["$ref"][8:]]


def inputs_for(schema, alternative):
    """Yield inputs with a value of one alternative; other unions take turns."""
    steered = _steered(schema, alternative.steps, schema)
    failed: list[ImpossibleError] = []
    for turn in range(TURNS):
        try:
            yield _Maker(schema, turn).value([steered], 0)
        except ImpossibleError as error:
            failed.append(error)
    if len(failed) == TURNS and isinstance(failed[0], RuledOutError):
        raise failed[0]


def _steered(node, steps, root):
    """Return a schema whose values go along some steps."""
    if not steps:
        return node if isinstance(node, dict) else {}
    (keyword, key), rest = steps[0], steps[1:]
    out = dict(node)
    if keyword == "$ref":
        target = _steered(root["$defs"][out.pop("$ref")[8:]], rest, root)
        return {"allOf": [out, target]}
    child = node[keyword] if key == "" else node[keyword][key]
    inner = _steered(child, rest, root)
    if keyword in UNIONS:
        del out[keyword]
        return {"allOf": [out, inner]}
    if keyword == "allOf":
        parts = [inner if index == key else part for index, part in enumerate(node["allOf"])]
        return {**out, "allOf": parts}
    if keyword in ("items", "prefixItems"):
        least = key + 1 if keyword == "prefixItems" else len(node.get("prefixItems", ())) + 1
        listed = [*node.get("prefixItems", ())]
        listed[least - 1 :] = [inner]
        out["prefixItems"] = listed
        return {**out, "minItems": max(least, node.get("minItems", 0))}
    name = key if keyword == "properties" else text_for(key or None, 1, None)
    out["properties"] = {**node.get("properties", {}), name: inner}
    return {**out, "required": [*node.get("required", ()), name]}


class _Maker:
    """Makes the smallest value that fits several schemas at once, or nearly does."""

    def __init__(self, root: dict[str, Any], turn: int) -> None:
        self._definitions = root.get("$defs", {})
        self._turn = turn

    def value(self, schemas: list[Any], depth: int) -> Any:
        """Return a value that is to fit all of some schemas."""
        if depth > _DEEPEST:
            raise ImpossibleError("it never ends")
        parts = list(self._parts(schemas, depth))
        values = [part["enum"] for part in parts if "enum" in part]
        values += [[part["const"]] for part in parts if "const" in part]
        if values:
            common = [value for value in values[0] if all(value in others for others in values)]
            common = [
                value for value in common if any(_is_of(value, kind) for kind in _kinds(parts))
            ]
            if not common:
                raise RuledOutError("no value is in all lists")
            return common[self._turn % len(common)]
        kinds = _kinds(parts)
        kind = kinds[self._turn % len(kinds)]
        return getattr(self, f"_{kind}")(parts, depth)

    def _parts(self, schemas: list[Any], depth: int) -> Iterator[dict[str, Any]]:
        """Yield schemas without what combines others, one alternative of each union."""
        for schema in schemas:
            if schema is False or (isinstance(schema, dict) and schema.get("not") == {}):
                raise RuledOutError("nothing is allowed")
            if depth > _DEEPEST:
                raise ImpossibleError("it never ends")
            if isinstance(schema, dict):
                yield schema
                inner = [*schema.get("allOf", ())]
                if "$ref" in schema:
                    inner.append(self._definitions[schema["$ref"][8:]])
                for keyword in UNIONS:
                    if keyword in schema:
                        branches = schema[keyword]
                        inner.append(branches[self._turn % len(branches)])
                yield from self._parts(inner, depth + 1)

    def _object(self, parts: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        names = list(dict.fromkeys(name for part in parts for name in part.get("required", ())))
        known = [name for part in parts for name in part.get("properties", ())]
        least = max((part.get("minProperties", 0) for part in parts), default=0)
        names += [name for name in known if name not in names][: max(0, least - len(names))]
        names += [f"x{index}" for index in range(max(0, least - len(names)))]
        return {name: self.value(_members(parts, name), depth + 1) for name in names}

    def _array(self, parts: list[dict[str, Any]], depth: int) -> list[Any]:
        count = max((part.get("minItems", 0) for part in parts), default=0)
        return [self.value(_items(parts, index), depth + 1) for index in range(count)]

    def _string(self, parts: list[dict[str, Any]], _depth: int) -> str:
        patterns = [part["pattern"] for part in parts if "pattern" in part]
        most = min((part["maxLength"] for part in parts if "maxLength" in part), default=None)
        least = max((part.get("minLength", 0) for part in parts), default=0)
        least = max(least, 4 if most is None else min(4, most))  # which is base64, too
        try:
            return text_for(patterns[0] if patterns else None, least, most)
        except jsonschema_rs.ValidationError:  # the API alone can read the pattern
            return text_for(None, least, most)

    def _number(self, parts: list[dict[str, Any]], _depth: int) -> float:
        bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
        return number({key: part[key] for part in parts for key in bounds if key in part})

    def _integer(self, parts: list[dict[str, Any]], depth: int) -> int:
        return int(self._number(parts, depth))

    def _boolean(self, _parts: list[dict[str, Any]], _depth: int) -> bool:
        return bool(self._turn % 2)

    def _null(self, _parts: list[dict[str, Any]], _depth: int) -> None:
        return None


def _members(parts, name):
    """Return what schemas say of a member."""
    return [
        part["properties"][name]
        if name in part.get("properties", {})
        else part.get("additionalProperties", True)
        for part in parts
    ]


def _items(parts, index):
    """Return what schemas say of an item."""
    return [
        part["prefixItems"][index]
        if index < len(part.get("prefixItems", ()))
        else part.get("items", True)
        for part in parts
    ]


_IMPLIED = {
    "object": ("properties", "required", "additionalProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def _kinds(parts):
    """Return the types that all of some schemas take; one where none says which."""
    found: list[str] | None = None
    for part in parts:
        if "type" in part:
            named = part["type"] if isinstance(part["type"], list) else [part["type"]]
            named = [*named, "integer"] if "number" in named else named
            found = [kind for kind in found if kind in named] if found is not None else named
    if found == []:
        raise RuledOutError("no type is left")
    if found is not None:
        return found
    implied = (
        kind for kind, words in _IMPLIED.items() if any(w in p for p in parts for w in words)
    )
    return [next(implied, "string")]


def _is_of(value, kind):
    """Tell whether a value may be of a type; a guess is enough for values that are listed."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds.get(kind, (int, float)))
