"""What hypothesis draws: inputs for a JSON Schema, and values that are no input at all.

`hypothesis_jsonschema.from_schema` reads no recursive schemas and needs seconds for large ones; the
input schemas of tools are a subset that this reads in one pass. What it draws is judged by a
validator, so a keyword that is not understood here costs a retry, not a wrong input.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from hypothesis import assume
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[Any]], Any]

DEPTH = 5
"""From here on only what a schema requires is drawn."""
OPTIONAL_MEMBERS = 6
"""Most optional members of one object."""
TRIES = 4

_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_IMPLIED = (
    ({"properties", "additionalProperties", "required", "patternProperties"}, "object"),
    ({"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}, "array"),
    ({"minLength", "maxLength", "pattern", "format", "contentEncoding"}, "string"),
    ({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}, "number"),
)
_FORMATS: dict[str, st.SearchStrategy[str]] = {
    "byte": st.binary(max_size=12).map(lambda data: __import__("base64").b64encode(data).decode()),
    "date": st.dates().map(str),
    "date-time": st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    "email": st.from_regex(r"[a-z]{1,8}@[a-z]{1,8}\.org", fullmatch=True),
    "int64": st.integers(0, 2**63).map(str),
    "uri": st.from_regex(r"https://[a-z]{1,8}\.org/[a-z?=&%25#+]{0,8}", fullmatch=True),
    "uuid": st.uuids().map(str),
}
_TRICKY = "aZ09-._~ /?#[]@!$&'()*+,;=%|\\\"<>{}^`é€🚀\t"
_SIGNS = "+&=%;,/?#|[] \"'."
TEXT = st.one_of(
    st.text(alphabet="abcxyz019", max_size=8),
    st.text(alphabet=_TRICKY, max_size=8),
    st.text(alphabet=_SIGNS, max_size=5),
    st.text(max_size=6),
    st.sampled_from(["", ".", "..", "a/../b", "%2e%2e", "a,b", "a b", "null", "true", "1", "1.0"]),
)
NUMBERS = st.one_of(
    st.integers(-1000, 1000),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def inputs(schema):
    """Draw an input that a tool's schema accepts; the test case is rejected when none is found."""
    return _inputs(_Drawn(schema))


class _Drawn:
    """A schema that is not shown: hypothesis prints what a strategy was made of."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.is_valid = _validator(schema)

    def __repr__(self) -> str:
        return "…"


@st.composite
def _inputs(draw: Draw, drawn: _Drawn) -> dict[str, Any]:
    drawer = _Drawer(draw, drawn.schema.get("$defs", {}))
    for attempt in range(TRIES):
        # Each retry draws less: what is optional is often what did not fit.
        value = drawer.value(drawn.schema, attempt * 2)
        if isinstance(value, dict) and drawn.is_valid(value):
            return value
    assume(condition=False)
    raise AssertionError


def _validator(schema):
    """Return a test; one that nothing passes where a pattern needs more room than an engine has."""
    try:
        return jsonschema_rs.Draft202012Validator(schema).is_valid
    except jsonschema_rs.ValidationError:
        return lambda _: False


class _Drawer:
    """Draws values for the schemas of one tool."""

    def __init__(self, draw: Draw, definitions: dict[str, Any]) -> None:
        self._draw = draw
        self._definitions = definitions

    def value(self, schema: Any, depth: int) -> Any:
        """Draw a value; `depth` is how deep it lies in the input."""
        if not isinstance(schema, dict) or not schema.keys() - {"description", "title"}:
            return self._draw(JSON if depth < DEPTH else TEXT)
        schema = self._plain(schema, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._draw(st.sampled_from(schema["enum"]))
        kinds = schema.get("type") or _implied(schema)
        kind = kinds if isinstance(kinds, str) else self._draw(st.sampled_from(kinds))
        return getattr(self, f"_{kind}")(schema, depth)

    def _plain(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return a schema without references and combinations: one way to satisfy it."""
        for _ in range(20):
            parts: list[Any] = []
            if "$ref" in schema:
                parts.append(self._definitions[schema["$ref"].removeprefix("#/$defs/")])
            parts += schema.get("allOf", ())
            for key in ("oneOf", "anyOf"):
                if key in schema:
                    parts.append(self._branch(schema[key], depth))
            if not parts:
                break
            done = ("$ref", "allOf", "oneOf", "anyOf")
            schema = {key: value for key, value in schema.items() if key not in done}
            for part in parts:
                schema = _merged(schema, part if isinstance(part, dict) else {})
        return schema

    def _branch(self, branches: list[Any], depth: int) -> Any:
        """Choose a branch; deep down one that ends."""
        if depth < DEPTH:
            return self._draw(st.sampled_from(branches))
        return min(branches, key=lambda branch: len(str(self._shown(branch))))

    def _shown(self, branch: Any) -> Any:
        if isinstance(branch, dict) and "$ref" in branch:
            return self._definitions[branch["$ref"].removeprefix("#/$defs/")]
        return branch

    def _null(self, _schema: dict[str, Any], _depth: int) -> None:
        return None

    def _boolean(self, _schema: dict[str, Any], _depth: int) -> bool:
        return bool(self._draw(st.booleans()))

    def _integer(self, schema: dict[str, Any], _depth: int) -> int:
        step = int(schema.get("multipleOf", 1)) or 1
        low, high = _bounds(schema)
        first = math.ceil(low / step) if low is not None else None
        last = math.floor(high / step) if high is not None else None
        if "exclusiveMinimum" in schema and first is not None and first * step <= low:
            first += 1
        if "exclusiveMaximum" in schema and last is not None and last * step >= high:
            last -= 1
        first = first if first is not None else min(-1000, last if last is not None else 0)
        last = last if last is not None else max(first, 0) + 10_000
        return int(self._draw(st.integers(first, max(first, last)))) * step

    def _number(self, schema: dict[str, Any], depth: int) -> float:
        if "multipleOf" in schema or self._draw(st.booleans()):
            return self._integer({**schema, "multipleOf": schema.get("multipleOf", 1)}, depth)
        low, high = _bounds(schema)
        low = float(low) if low is not None else min(-1e6, high if high is not None else 0.0)
        high = float(high) if high is not None else max(low, 0.0) + 1e6
        return float(self._draw(st.floats(low, max(low, high), allow_nan=False)))

    def _string(self, schema: dict[str, Any], _depth: int) -> str:
        shortest = schema.get("minLength", 0)
        longest = max(schema.get("maxLength", shortest + 12), shortest)
        if "pattern" in schema:
            return self._matching(schema["pattern"], shortest, schema.get("maxLength", 1000))
        known = _FORMATS.get(schema.get("format", ""))
        if known is not None and "maxLength" not in schema and not shortest:
            return str(self._draw(known))
        text = str(self._draw(TEXT))[:longest]
        if len(text) < shortest:
            text += str(self._draw(st.text(alphabet="ab-1", min_size=shortest, max_size=shortest)))
        return text[:longest]

    def _matching(self, pattern: str, shortest: int, longest: int) -> str:
        """Draw a text that a regular expression matches, where Python reads it."""
        try:
            if re.search(r"\{\d*,?\d{4,}\}", pattern):  # hypothesis draws no text of that length
                return str(self._draw(TEXT))
            strategy = st.from_regex(
                re.compile(pattern.replace("$", r"\Z"), re.ASCII), fullmatch=True
            )
            for _ in range(3):
                text = str(self._draw(strategy))
                if shortest <= len(text) <= longest:
                    return text
        except re.error:
            pass
        return str(self._draw(TEXT))[:longest]

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        fewest = schema.get("minItems", 0)
        most = min(schema.get("maxItems", fewest + 3), fewest + 3) if depth < DEPTH else fewest
        count = self._draw(st.integers(fewest, max(fewest, most)))
        first = schema.get("prefixItems", ())
        rest = schema.get("items", True)
        if rest is False:
            count = min(count, len(first))
        schemas = [*first, *([rest] * count)][:count]
        items = [self.value(item, depth + 1) for item in schemas]
        if schema.get("uniqueItems"):
            items = [item for index, item in enumerate(items) if item not in items[:index]]
        return items

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        members = schema.get("properties", {})
        required = list(dict.fromkeys(schema.get("required", ())))
        optional = [name for name in members if name not in required and members[name] is not False]
        chosen = required + self._some(optional, depth, schema.get("minProperties", 0))
        made = {name: self.value(members.get(name, True), depth + 1) for name in chosen}
        return made | self._others(schema, depth, len(made))

    def _some(self, optional: list[str], depth: int, fewest: int) -> list[str]:
        """Choose some optional members, in the schema's order."""
        most = min(OPTIONAL_MEMBERS, len(optional)) if depth < DEPTH else 0
        count = self._draw(st.integers(min(fewest, len(optional)), max(fewest, most)))
        picked = self._draw(st.permutations(range(len(optional)))) if len(optional) < 40 else ()
        if not picked and optional:
            start = self._draw(st.integers(0, len(optional) - 1))
            picked = [(start + step * 7) % len(optional) for step in range(count)]
        return [optional[index] for index in sorted(set(picked[:count]))]

    def _others(self, schema: dict[str, Any], depth: int, have: int) -> dict[str, Any]:
        """Draw members that the schema allows without naming them."""
        fewest = max(schema.get("minProperties", 0) - have, 0)
        most = max(fewest, 2 if depth < DEPTH and not schema.get("properties") else 0)
        if "maxProperties" in schema:
            most = max(fewest, min(most, schema["maxProperties"] - have))
        made = {}
        for _ in range(self._draw(st.integers(fewest, most)) if most > 0 else 0):
            patterns = schema.get("patternProperties", {})
            if patterns:
                pattern = self._draw(st.sampled_from(sorted(patterns)))
                made[self._matching(pattern, 0, 64)] = self.value(patterns[pattern], depth + 1)
            elif schema.get("additionalProperties", True) is not False:
                names = schema.get("propertyNames", {})
                name = self.value({"type": "string", **names}, depth)
                made[name] = self.value(schema.get("additionalProperties", True), depth + 1)
        return made


def _implied(schema):
    """Return the type that a schema's keywords are about."""
    return next((kind for keys, kind in _IMPLIED if keys & schema.keys()), _TYPES)


def _bounds(schema):
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    return max(lows, default=None), min(highs, default=None)


def _merged(first, second):
    """Put two schemas together, roughly: what does not fit is found by the validator."""
    out = {**first, **second}
    if "properties" in first and "properties" in second:
        out["properties"] = dict(first["properties"])
        for name, member in second["properties"].items():
            old = out["properties"].get(name, member)
            both = isinstance(old, dict) and isinstance(member, dict)
            out["properties"][name] = _merged(old, member) if both else member
    if "required" in first and "required" in second:
        out["required"] = [*first["required"], *second["required"]]
    if "enum" in first and "enum" in second:
        out["enum"] = [value for value in first["enum"] if value in second["enum"]] or out["enum"]
    if isinstance(first.get("type"), str) and isinstance(second.get("type"), list):
        out["type"] = first["type"]
    if "allOf" in first and "allOf" in second:
        out["allOf"] = [*first["allOf"], *second["allOf"]]
    for key in ("oneOf", "anyOf", "$ref"):
        if key in first and key in second:
            rest = {name: second[name] for name in ("oneOf", "anyOf", "$ref") if name in second}
            out[key] = first[key]
            out["allOf"] = [*out.get("allOf", ()), rest]
            break
    return out


@st.composite
def all_of_parts(draw: Draw) -> list[dict[str, Any]]:
    """Draw schemas about one kind of value that say something about the same keyword."""
    keywords = draw(
        st.sampled_from([_OF_NUMBERS, _OF_STRINGS, _OF_OBJECTS, _OF_OBJECTS, _OF_ARRAYS])
    )
    shared = draw(st.sampled_from(sorted(keywords)))
    parts = []
    for _ in range(draw(st.integers(2, 3))):
        names = [shared, *draw(st.lists(st.sampled_from(sorted(keywords)), max_size=2))]
        part = {name: draw(st.sampled_from(keywords[name])) for name in names}
        parts.append(part if draw(st.integers(0, 9)) else {**part, "description": "Words."})
    return parts


_OF_NUMBERS: dict[str, list[Any]] = {
    "type": ["integer", "number", ["integer", "null"], ["number", "string"], "boolean"],
    "minimum": [0, 1, 3],
    "maximum": [2, 3, 5],
    "exclusiveMinimum": [0, 2],
    "multipleOf": [1, 2, 3],
    "enum": [[0, 1, 2], [False, 2, None], [1, 3], [True, "a"]],
    "const": [1, True],
    "anyOf": [[{"type": "integer"}, {"minimum": 3}], [{"maximum": 2}, {"type": "string"}]],
    "not": [{"type": "integer"}, {"maximum": 1}],
}
_OF_STRINGS: dict[str, list[Any]] = {
    "type": ["string", ["string", "null"], ["string", "integer"]],
    "minLength": [0, 1, 2],
    "maxLength": [1, 2, 3],
    "pattern": ["^a", "b$"],
    "format": ["date", "uuid"],
    "enum": [["a", "ab"], ["ab", "b", None]],
}
_MEMBER: list[Any] = [{"type": "integer"}, {"minimum": 2}, {"maximum": 3}, True, False]
_OF_OBJECTS: dict[str, list[Any]] = {
    "type": ["object", ["object", "null"]],
    "properties": [{name: member} for name in "ab" for member in _MEMBER[:4]]
    + [{"a": {"minimum": 1, "type": "integer"}, "b": {"minimum": 3}}, {"a": {"enum": [1, 2]}}],
    "required": [["a"], ["b"], ["a", "c"]],
    "additionalProperties": _MEMBER,
    "unevaluatedProperties": _MEMBER,
    "patternProperties": [{"^a": {"maximum": 3}}, {"^a": {"minimum": 1}},
                          {"b|c": {"type": "integer"}}],
    "minProperties": [1, 2],
    "maxProperties": [1, 2],
    "oneOf": [[{"required": ["a"]}, {"required": ["b"]}],
              [{"required": ["c"]}, {"maxProperties": 1}]],
}  # fmt: skip
_OF_ARRAYS: dict[str, list[Any]] = {
    "type": ["array", ["array", "null"]],
    "items": _MEMBER,
    "prefixItems": [[{"type": "integer"}], [{"minimum": 2}, {"maximum": 3}]],
    "contains": [{"type": "integer"}, {"minimum": 3}],
    "minContains": [0, 2],
    "minItems": [1, 2],
    "maxItems": [1, 2],
    "uniqueItems": [True, False],
}
_MEMBERS: list[Any] = [0, 1, 1.5, 2, 3, 4, 6, True, None, "a"]
NEAR_PARTS: list[Any] = [
    *_MEMBERS,
    *(False, 5, "", "b", "ab", "aab", "abab", "ba"),
    *({name: member} for name in "abc" for member in _MEMBERS[1:6]),
    *({"a": first, "b": second} for first in (1, 2, 4) for second in (0, 3, "a")),
    *({"a": 2, "b": 3, "c": 4}, {"a": 1, "c": 1}, {"b": 2, "c": "a"}, {"ab": 5}, {}),
    *([first] for first in _MEMBERS),
    *([first, second] for first in (1, 2, "a") for second in (2, 3, "a")),
    *([1, 2, 3], [3, 3, 3], []),
]
"""Values of which some fit the schemas of `all_of_parts`."""
