"""What hypothesis draws: a schema and a changed version of it, for questions about both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = "abc"
_SCALARS: list[Any] = [0, 1, 1.0, 1.5, 2, 3, 4, 6, True, False, None, "", "a", "b", "ab", "abc"]
VALUES: list[Any] = [
    *_SCALARS,
    *([first] for first in _SCALARS[:12]),
    *([first, second] for first in (1, 2, "a") for second in (1, 2, "a", None)),
    *({name: value} for name in NAMES for value in _SCALARS[:13]),
    *({"a": first, "b": second} for first in (1, 2, "a", None) for second in (1, 2, "a")),
    *([], {}, {"a": 1, "b": 1, "c": 1}, {"ab": 1}, {"ab": "a"}, {"a": {"a": 1}}, {"a": {"b": "a"}}),
    *({"b": {"a": 1}}, [[1]], [{"a": 1}], [1, 2, 3], [1, 1, 1], {"a": [1]}, {"a": []}, [{}, {}]),
    *({"c": {"c": {"c": 1}}}, {"a": {"a": {}}}, {"a": {"c": "a"}, "b": 1}, [["a"], "a"]),
]
"""Values of which some fit what `pairs` draws."""

_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_COUNTS = st.integers(0, 2)
_BOUNDS = st.sampled_from([0, 1, 1.5, 2, 3])
_SIMPLE = st.sampled_from(
    [
        *({}, True, False, {"type": "string"}, {"type": "integer"}, {"const": 1}, {"not": {}}),
        *({"enum": [1, "a"]}, {"type": "null"}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}),
    ]
)
_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(_TYPES) | st.lists(st.sampled_from(_TYPES), min_size=1, unique=True),
    "enum": st.lists(st.sampled_from(VALUES), min_size=1, max_size=4),
    "const": st.sampled_from(VALUES),
    "minimum": _BOUNDS,
    "maximum": _BOUNDS,
    "exclusiveMinimum": _BOUNDS,
    "exclusiveMaximum": _BOUNDS,
    "multipleOf": st.sampled_from([1, 1.5, 2, 3, 4]),
    "minLength": _COUNTS,
    "maxLength": _COUNTS,
    "pattern": st.sampled_from(["a", "b", "^a"]),
    "minItems": _COUNTS,
    "maxItems": _COUNTS,
    "uniqueItems": st.booleans(),
    "minProperties": _COUNTS,
    "maxProperties": _COUNTS,
    "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    "dependentRequired": st.just({"a": ["b"]}) | st.just({"b": ["a", "c"]}),
    "minContains": _COUNTS,
    "maxContains": _COUNTS,
    "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B"]),
    "description": st.sampled_from(["x", "y"]),
}
_ONE = (
    *("additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = {"properties": NAMES, "patternProperties": ("a", "^b"), "dependentSchemas": NAMES}
_GROUPS = (
    ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum"),
    (*("type", "properties", "required", "additionalProperties", "patternProperties", "anyOf"),
     "$ref"),
    ("type", "properties", "minProperties", "maxProperties", "dependentRequired", "oneOf", "const"),
    ("type", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    ("anyOf", "oneOf", "allOf", "$ref", "type", "not", "enum"),
    (*_PLAIN, *_ONE, *_LISTS, *_MAPS),
)  # fmt: skip
_OTHERS = frozenset(
    {
        *("additionalProperties", "allOf", "anyOf", "dependentSchemas", "if", "oneOf", "$ref"),
        *("patternProperties", "unevaluatedProperties"),
    }
)


@st.composite
def pairs(draw: Draw) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a schema with the definitions A and B, and a version of it with some changes."""
    old = _schema(draw, 2)
    old["$defs"] = {name: _schema(draw, 1) for name in "AB"}
    new = _draw_change(draw, {key: value for key, value in old.items() if key != "$defs"})
    new["$defs"] = {
        name: _draw_change(draw, part) if draw(st.booleans()) else part
        for name, part in old["$defs"].items()
    }
    # Validators go round and round where a reference leads back to the same value.
    return _without_cycles(old), _without_cycles(new)


def close_schema(schema):
    """Return a schema that refuses properties which its objects neither describe nor speak of.

    Only outside of `allOf`, `oneOf` and the like, where parts do not know each other's properties.
    """
    closed = {name: _close_schema(part) for name, part in schema["$defs"].items()}
    definitions = {f"{name}closed": part for name, part in closed.items()}
    return {**_close_schema(schema), "$defs": {**schema["$defs"], **definitions}}


def _close_schema(schema):
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    if schema.keys() - {"description"} == {"$ref"}:
        out["$ref"] += "closed"
    if schema.get("properties") and _OTHERS.isdisjoint(schema):
        out["additionalProperties"] = False
    if "properties" in schema:
        out["properties"] = {name: _close_schema(p) for name, p in schema["properties"].items()}
    if "items" in schema:
        out["items"] = _close_schema(schema["items"])
    if "prefixItems" in schema:
        out["prefixItems"] = [_close_schema(part) for part in schema["prefixItems"]]
    if "anyOf" in schema and {"properties", "$ref", "allOf"}.isdisjoint(schema):
        out["anyOf"] = [_close_schema(part) for part in schema["anyOf"]]
    return out


def _schema(draw, depth):
    group = draw(st.sampled_from(_GROUPS))
    keywords = draw(st.lists(st.sampled_from(group), max_size=4, unique=True))
    return {keyword: _value(draw, keyword, depth) for keyword in keywords}


def _draw_below(draw, depth):
    return _schema(draw, depth - 1) if depth > 0 and draw(st.booleans()) else draw(_SIMPLE)


def _value(draw, keyword, depth):
    if keyword in _PLAIN:
        return draw(_PLAIN[keyword])
    if keyword in _ONE:
        return _draw_below(draw, depth)
    if keyword in _LISTS:
        return [_draw_below(draw, depth) for _ in range(draw(st.integers(1, 3)))]
    names = draw(st.lists(st.sampled_from(_MAPS[keyword]), min_size=1, max_size=2, unique=True))
    return {name: _draw_below(draw, depth) for name in names}


def _draw_change(draw, schema):
    """Return a version of a schema: some keywords are gone, others, or changed inside."""
    if not isinstance(schema, dict):
        return schema
    out = {}
    for keyword, value in schema.items():
        # Most keywords stay, so that a pair has a chance to differ in one place only.
        what = draw(st.sampled_from(["same", "same", "inside", "inside", "gone", "other"]))
        if what == "other":
            out[keyword] = _value(draw, keyword, 1)
        elif what != "gone":
            out[keyword] = value if what == "same" else _draw_inside(draw, keyword, value)
    match draw(st.sampled_from(["", "", "", "more", "anyOf", "allOf"])):
        case "more":
            return _schema(draw, 1) | out
        case "anyOf":
            return {"anyOf": [out, draw(_SIMPLE)]}
        case "allOf":
            return {"allOf": [out]}
    return out


def _draw_inside(draw, keyword, value):
    if keyword in _ONE:
        return _draw_change(draw, value)
    if keyword in _LISTS:
        parts = [_draw_change(draw, part) if draw(st.booleans()) else part for part in value]
        change = draw(st.sampled_from(["", "turned", "longer", "shorter"]))
        if change == "shorter" and len(parts) > 1:
            return parts[1:]
        return parts[::-1] if change == "turned" else parts + [draw(_SIMPLE)] * (change == "longer")
    if keyword in _MAPS:
        extra = {draw(st.sampled_from(_MAPS[keyword])): draw(_SIMPLE)}
        parts = {name: _draw_change(draw, part) for name, part in value.items()}
        return extra | parts if draw(st.booleans()) else parts
    if keyword == "enum":
        return value + draw(_PLAIN["enum"])
    return value


def _without_cycles(schema):
    """Return the schema, with definitions that allow anything where they lead to themselves."""
    parts = schema["$defs"]
    circular = any(_returns(part, parts, frozenset()) for part in (schema, *parts.values()))
    return {**schema, "$defs": {"A": {}, "B": {}}} if circular else schema


def _returns(node, definitions, passed):
    """Return whether a value is handed round in a cycle of references."""
    if not isinstance(node, dict):
        return False
    name = node.get("$ref", "").removeprefix("#/$defs/")
    if name and (name in passed or _returns(definitions[name], definitions, passed | {name})):
        return True
    nodes = [node[keyword] for keyword in ("not", "if", "then", "else") if keyword in node]
    for keyword in ("anyOf", "oneOf", "allOf"):
        nodes += node.get(keyword, ())
    nodes += node.get("dependentSchemas", {}).values()
    return any(_returns(part, definitions, passed) for part in nodes)
