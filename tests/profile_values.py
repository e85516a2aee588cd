"""Tools for provider profiles, and values as a model under a provider's schema makes them."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from openapi_tools.json_values import same
from openapi_tools.providers.restore import Restorer
from openapi_tools.tools.tool import OperationTool

DEEPEST = 6
TEXT, WHOLE, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


def text(**keywords):
    return {"type": "string", **keywords}


def array(items, **keywords):
    return {"type": "array", "items": items, **keywords}


def object_of(members, **keywords):
    return {"type": "object", "properties": members, **keywords}


class Written(OperationTool):
    """A tool that was written by hand, with any schema."""

    description, annotations = "A tool.", {"readOnlyHint": True}

    def __init__(self, schema, name="t"):
        super().__init__()
        self.given, self.called = schema, name

    @property
    def name(self):
        return self.called

    @property
    def input_schema(self):
        return self.given


def tool_with(member, *, required=True, **definitions):
    """Return a tool with one argument `x`."""
    schema = object_of({"x": member}, additionalProperties=False)
    if required:
        schema["required"] = ["x"]
    return Written({**schema, "$defs": definitions} if definitions else schema)


class ImpossibleError(Exception):
    """No value was found that fits a schema; perhaps there is none."""


def values(schema, rounds=4):
    """Return values of one schema: the least, those of every alternative in turn, all of null."""
    made = [_Maker(schema, full=False, turn=0).value(schema, 0)]
    made += [_Maker(schema, full=True, turn=turn).value(schema, 0) for turn in range(rounds)]
    made.append(_Maker(schema, full=True, turn=0, null=True).value(schema, 0))
    return made


def read_literally(schema):
    """Return a schema in which `nullable` and closed objects are told as JSON Schema tells them."""
    if isinstance(schema, list):
        return [read_literally(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        key: {name: read_literally(part) for name, part in value.items()}
        if key in ("properties", "$defs")
        else value
        if key in ("enum", "default", "example")
        else read_literally(value)
        for key, value in schema.items()
    }
    if out.get("type") == "object":
        out.setdefault("additionalProperties", False)
    if out.pop("nullable", False):
        definitions = {"$defs": out.pop("$defs")} if "$defs" in out else {}
        return {"anyOf": [out, {"type": "null"}], **definitions}
    return out


class _Maker:
    def __init__(self, root, *, full, turn, null=False):
        self.definitions = root.get("$defs", {})
        self.full, self.turn, self.null = full, turn, null

    def value(self, schema: dict[str, Any], depth: int) -> Any:
        if depth > 60:
            raise ImpossibleError(schema)
        if "$ref" in schema:
            return self.value(self.definitions[schema["$ref"][8:]], depth + 1)
        if self.null and depth and accepts_null(schema):
            return None
        if "anyOf" in schema:
            parts = schema["anyOf"]
            turn = 0 if depth > DEEPEST else self.turn
            simple = sorted(parts, key=lambda part: part.get("type") in ("array", "object", None))
            parts = simple if depth > DEEPEST else parts
            return self.value(parts[turn % len(parts)], depth + 1)
        if "enum" in schema:
            return schema["enum"][self.turn % len(schema["enum"])]
        kind = schema["type"]
        if isinstance(kind, list):
            kind = kind[self.turn % len(kind)]
        return getattr(self, f"_{kind}")(schema, depth)

    def _object(self, schema, depth):
        wanted = self.full and depth <= DEEPEST
        required = schema.get("required", ())
        made = {
            name: self._member(member, depth)
            for name, member in schema["properties"].items()
            if wanted or name in required
        }
        for name in list(schema["properties"])[: schema.get("minProperties", 0)]:
            made.setdefault(name, self.value(schema["properties"][name], depth + 1))
        most = schema.get("maxProperties", len(made))
        optional = [name for name in made if name not in required]
        for name in optional[: len(made) - most]:
            del made[name]
        return made

    def _member(self, member, depth):
        if not self.full and accepts_null(member):
            return None
        if depth > DEEPEST and accepts_null(member):
            return None
        return self.value(member, depth + 1)

    def _array(self, schema, depth):
        count = schema.get("minItems", 0)
        if self.full and depth <= DEEPEST:
            count = max(count, min(1 + self.turn % 2, schema.get("maxItems", 2)))
        return [self.value(schema["items"], depth + 1) for _ in range(count)]

    def _string(self, schema, depth):
        return text_for(schema.get("pattern"), schema.get("minLength", 0), schema.get("maxLength"))

    def _number(self, schema, depth):
        return number(schema)

    def _integer(self, schema, depth):
        return int(number(schema))

    def _boolean(self, schema, depth):
        return bool(self.turn % 2)

    def _null(self, schema, depth):
        return None


def accepts_null(schema):
    """Tell whether a provider's schema takes null."""
    kinds = schema.get("type")
    return (
        schema.get("nullable") is True
        or kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(accepts_null(part) for part in schema.get("anyOf", ()))
    )


def number(schema):
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    step = schema.get("multipleOf", 1)
    for value in (least, most, 0, step, 1, 2, (least or 0) + step, (most or 0) - step, 0.5):
        if value is not None and jsonschema_rs.is_valid(schema, value):
            return value
    raise ImpossibleError(schema)


@cache
def text_for(pattern, least, most):
    if pattern is None:
        if most is not None and most < least:
            raise ImpossibleError(least)
        return "x" * least
    schema = {"pattern": pattern, "minLength": least}
    schema |= {} if most is None else {"maxLength": most}
    fits = jsonschema_rs.validator_for(schema).is_valid
    for candidate in ("", "a", "1", "a" * 40, "https://example.com/", "1.0", "a/b", "0" * 40):
        if fits(candidate):
            return candidate
    quiet = settings(max_examples=300, suppress_health_check=list(HealthCheck), database=None)
    try:
        return find(st.from_regex(pattern), fits, settings=quiet)
    except NoSuchExample:
        raise ImpossibleError(schema) from None


def repair(arguments, schema):
    """Return what a call without a profile makes of arguments; None where nothing is undone."""
    repaired = Restorer(schema).restored(arguments)
    return None if same(repaired, arguments) else repaired
