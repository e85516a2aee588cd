"""The schema dialects of providers: OpenAI's strict mode, and Gemini."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import DEFINITIONS_PREFIX, is_type
from openapi_tools.common.visible_text import is_visible
from openapi_tools.providers.containers import (
    ANYTHING,
    ENTRIES,
    KEY,
    VALUE,
    bound_length,
    is_portable,
    label_values,
)
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.validation.check_cost import compile_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.providers.forms import Form
    from openapi_tools.providers.identity_cache import IdentityCache

MOST_COUNTED = 10_000  # characters; many engines refuse patterns that count further

HARD = frozenset(  # keywords that go first where a provider cannot express a schema
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "dependentSchemas"}
    | {"dependentRequired", "minProperties", "multipleOf", "patternProperties", "prefixItems"}
    | {"propertyNames", "unevaluatedItems", "unevaluatedProperties", "uniqueItems"}
)

# The formats that OpenAI's strict mode accepts; another one refuses the whole request.
_STRICT_FORMATS = {
    "string": {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
}
_GEMINI_FORMATS = {
    "string": {"date-time"},
    "number": {"double", "float"},
    "integer": {"int32", "int64"},
}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_NULL = {"type": "null"}
_SCALARS = ("string", "number", "boolean")
# Gemini supports little recursion, so any JSON is written out level by level.
_LEVELS = 3
_LONGEST = 200
_LONGEST_SCHEMA = 1_000


class Strict:
    """OpenAI's strict mode: closed objects in which every property is required.

    The rules: `anyOf` alone of all that combines schemas, never at the root; no keyword that bounds
    a length or a number of properties; `$ref` alone; null for absent properties.
    """

    null_for_absent = True  # whether every property is required, and null means absent
    takes_name = staticmethod(is_visible)  # whether a property's name is allowed

    def with_null(self, schema: Form) -> Form:
        """Return a schema that also accepts null; none that is given here or below does."""
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
        kinds = schema.get("type")
        # Lists of types are for scalars only in strict mode.
        if kinds is None or kinds in ("object", "array"):
            description = {key: schema[key] for key in ("description",) if key in schema}
            rest = {key: value for key, value in schema.items() if key not in description}
            return {**description, "anyOf": [rest, _NULL]}
        both = {**schema, "type": [*(kinds if isinstance(kinds, list) else [kinds]), "null"]}
        return {**both, "enum": [*schema["enum"], None]} if "enum" in schema else both

    def null(self) -> Form:
        """Return a schema that accepts nothing but null."""
        return dict(_NULL)

    def enum(self, values: list[Any], *, beside_strings: bool) -> Form:
        """Return a schema of values; labels are none beside a schema that accepts any string."""
        if beside_strings and any(isinstance(value, dict | list) for value in values):
            raise CannotExpress("an `enum` of such values beside strings cannot be expressed")
        kept = [
            label if isinstance(value, dict | list) else value
            for label, value in label_values(values).items()
        ]
        kinds = list(dict.fromkeys(map(_type_of_value, kept)))
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": kept}

    def string(self, form: Form) -> Form:
        """Return a schema of strings, whose pattern says the length; a greater one is described."""
        least, most, pattern = (
            form.get("minLength", 0),
            form.get("maxLength"),
            _checkable_pattern(form),
        )
        if most is not None and most <= MOST_COUNTED and most < least:
            raise CannotExpress("it accepts nothing", empty=True)
        limit = math.inf if most is None or most > MOST_COUNTED else most
        if least or limit < math.inf:
            pattern = bound_length(pattern, least, limit)
            if pattern is None:
                raise CannotExpress("its length and its `pattern` cannot be combined")
        return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}

    def number(self, form: Form) -> Form:
        """Return a schema of numbers or of integers."""
        kept = {key: form[key] for key in _BOUNDS if key in form}
        return {"type": form.get("type", "number"), **kept}

    def object(self, properties: dict[str, Form], required: list[str], counts: Form) -> Form:  # noqa: ARG002 -- all are
        """Return a schema of objects; `counts` bounds how many properties they have."""
        if counts:
            raise CannotExpress("its number of properties cannot be expressed")
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def annotations(self, schema: Form, form: Form) -> Form:
        """Return the keywords that describe a form, also its default: null stands for it."""
        annotations = _describing_keywords(schema, form, _STRICT_FORMATS)
        default = form.get("default")
        if default is not None:
            text = json.dumps(default, ensure_ascii=False)
            if len(text) <= _LONGEST:
                annotations = _describe(annotations, f"Default: {text}.")
        longest = form.get("maxLength", 0)
        if schema.get("type") == "string" and longest > MOST_COUNTED and "enum" not in schema:
            return _describe(annotations, f"At most {longest} characters.")
        return annotations

    def anything(self) -> dict[str, Form]:
        """Return the definitions of any JSON value, whose objects are written as their entries."""
        itself = {"$ref": DEFINITIONS_PREFIX + ANYTHING}
        pair = self.object({KEY: {"type": "string"}, VALUE: itself}, [], {})
        entries = {"type": "array", "items": pair}
        parts: list[Form] = [{"type": name} for name in (*_SCALARS, "null")]
        parts.append({"type": "array", "items": itself})
        parts.append(self.object({ENTRIES: entries}, [], {}))
        return {ANYTHING: {"anyOf": parts}}


class Gemini:
    """Gemini's subset: one type each, enumerations of strings, objects that are not closed.

    The rules: of the keywords that combine schemas only `anyOf`; `nullable` for null; inclusive
    bounds; no `additionalProperties`; property names of letters, digits and `_`. The methods are
    those of `Strict`.
    """

    null_for_absent = False
    takes_name = staticmethod(is_portable)

    def with_null(self, schema: Form) -> Form:
        """Mark the schema; a `$ref` stands alone."""
        return {**({"anyOf": [schema]} if "$ref" in schema else schema), "nullable": True}

    def null(self) -> Form:
        """Name the only value."""
        return self.enum([None], beside_strings=False)

    def enum(self, values: list[Any], *, beside_strings: bool) -> Form:
        """Label every value by a string; true and false are a type."""
        non_strings = [value for value in values if not isinstance(value, str)]
        if {*map(str, values)} == {"True", "False"} and len(non_strings) == len(values):
            return {"type": "boolean"}
        if not beside_strings or not non_strings:
            return {"type": "string", "enum": list(label_values(values))}
        if not all(is_type(value, "number") for value in non_strings):
            raise CannotExpress("an `enum` of such values beside strings cannot be expressed")
        texts = [value for value in values if isinstance(value, str)]
        parts: list[Form] = [{"type": "string", "enum": list(label_values(texts))}] if texts else []
        for number in non_strings:
            whole = "integer" if isinstance(number, int) else "number"
            parts.append({"type": whole, "minimum": number, "maximum": number})
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def string(self, form: Form) -> Form:
        """Keep the length and the pattern."""
        kept: Form = {key: form[key] for key in ("minLength", "maxLength") if key in form}
        if (pattern := _checkable_pattern(form)) is not None:
            kept["pattern"] = pattern
        return {"type": "string", **kept}

    def number(self, form: Form) -> Form:
        """Keep the bounds; those that are exclusive become the next number inside."""
        step = form.get("multipleOf")
        whole = form.get("type") == "integer" or step == 1
        if step is not None and not (whole and 1 % step == 0):
            raise CannotExpress("`multipleOf` cannot be expressed")
        schema: Form = {"type": "integer" if whole else "number"}
        for bound, exclusive, inwards, pick in (
            ("minimum", "exclusiveMinimum", math.inf, max),
            ("maximum", "exclusiveMaximum", -math.inf, min),
        ):
            limits = [form[bound]] if bound in form else []
            if exclusive in form:
                limits.append(_next_number(form[exclusive], inwards, whole=whole))
            if limits:
                schema[bound] = pick(limits)
        return schema

    def object(self, properties: dict[str, Form], required: list[str], counts: Form) -> Form:
        """Declare the properties; an object that has none stays so."""
        needed = {"required": required} if required else {}
        return {"type": "object", "properties": properties, **needed, **counts}

    def annotations(self, schema: Form, form: Form) -> Form:
        """Keep a default of the same type, and one example."""
        annotations = _describing_keywords(schema, form, _GEMINI_FORMATS)
        kind = schema.get("type")
        if "enum" in schema or kind not in (*_SCALARS, "integer"):
            return annotations
        examples = form.get("examples", ())
        values = {"default": form.get("default"), "example": examples[0] if examples else None}
        return {
            **annotations,
            **{key: value for key, value in values.items() if is_type(value, kind)},
        }

    def anything(self) -> dict[str, Form]:
        """Refer to the next level, as few cycles are allowed; the last level has scalars only."""
        names = [ANYTHING, *(f"{ANYTHING}_{level}" for level in range(2, _LEVELS + 1))]
        definitions: dict[str, Form] = {}
        inner: Form | None = None
        for name in reversed(names):
            parts: list[Form] = [{"type": kind} for kind in _SCALARS]
            if inner is not None:
                pair = self.object({KEY: {"type": "string"}, VALUE: inner}, [KEY, VALUE], {})
                entries = {"type": "array", "items": pair}
                parts.append({"type": "array", "items": inner})
                parts.append(self.object({ENTRIES: entries}, [ENTRIES], {}))
            definitions[name] = {"anyOf": parts, "nullable": True}
            inner = {"$ref": DEFINITIONS_PREFIX + name}
        return definitions


def _type_of_value(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, int) else "number"


def _next_number(limit: float, inwards: float, *, whole: bool) -> float:
    if not whole:
        return math.nextafter(limit, inwards)
    return math.floor(limit) + 1 if inwards > 0 else math.ceil(limit) - 1


def _checkable_pattern(form: Form) -> str | None:
    # Providers refuse those too: the ones that look around, count too far, or are faulty.
    pattern = form.get("pattern")
    return pattern if isinstance(pattern, str) and _is_checked(pattern) else None


@lru_cache(maxsize=1024)
def _is_checked(pattern: str) -> bool:
    try:
        compile_schema({"pattern": pattern})
    except ValueError:
        return False
    return True


def _describing_keywords(schema: Form, form: Form, formats: dict[str, set[str]]) -> Form:
    description = form.get("description", "")
    declared = schema.get("type", "")
    types = [
        kind for kind in (declared if isinstance(declared, list) else [declared]) if kind != "null"
    ]
    kind = types[0] if len(types) == 1 else ""
    annotations: Form = {}
    named = form.get("format")
    if isinstance(named, str):
        if named in formats.get(kind, ()) and "enum" not in schema:
            annotations["format"] = named
        elif named not in description:
            description = _join_sentences(description, f"Format: {named}.")
    if description:
        annotations["description"] = description
    pattern = form.get("pattern", "")
    if pattern and kind == "string" and not schema.keys() & {"pattern", "enum"}:
        return _describe(annotations, f"Pattern: `{pattern[:_LONGEST]}`.")
    return annotations


def iter_looser_schemas(schema: Form) -> Iterator[Form]:
    """Yield schemas that accept more and describe the rest in words, the closest one first."""
    hard = {key: schema[key] for key in schema if key in HARD}
    rest = {key: schema[key] for key in schema if key not in HARD}
    if "prefixItems" in hard:  # `items` is about the items after these
        hard |= {"items": rest.pop("items")} if "items" in rest else {}
    description = {key: rest[key] for key in ("description",) if key in rest}
    whole = {key: schema[key] for key in schema if key not in description}
    for loose, part in ((rest, hard), (description, whole)):
        text = json.dumps(part, ensure_ascii=False, default=str)
        if part:
            yield _describe(loose, f"JSON Schema: {text[:_LONGEST_SCHEMA]}.")


def _describe(annotations: Form, sentence: str) -> Form:
    return {
        **annotations,
        "description": _join_sentences(annotations.get("description", ""), sentence),
    }


def _join_sentences(text: str, sentence: str) -> str:
    if not text:
        return sentence
    return (
        f"{text} {sentence}" if text.endswith((".", "!", "?", ":", "`")) else f"{text}. {sentence}"
    )


class _Tally(NamedTuple):
    """The sizes that count against the limits of the strict mode."""

    properties: int
    levels: int
    characters: int
    values: int


_COUNTED = frozenset({"properties", "$defs", "enum", "items", "anyOf"})
_NOTHING = _Tally(0, 0, 0, 0)
# OpenAI's documentation of structured outputs, "Supported schemas": a request beyond one of
# these is refused as a whole.
MOST_STRICT = _Tally(properties=5_000, levels=10, characters=120_000, values=1_000)


def check_strict(schema: Form, tallies: IdentityCache[Any]) -> None:
    """Raise CannotExpress, naming the limit, for a schema beyond those of the strict mode."""
    tally = _tally(schema, tallies)
    for name, count, limit in zip(_Tally._fields, tally, MOST_STRICT, strict=True):
        if count > limit:
            raise CannotExpress(f"it has {count} {name}; {limit} are allowed", final=True)


def _tally(schema: Form, tallies: IdentityCache[_Tally]) -> _Tally:
    if _COUNTED.isdisjoint(schema):
        return _NOTHING
    properties, definitions = schema.get("properties", {}), schema.get("$defs", {})
    values = schema.get("enum", ())
    characters = sum(map(len, (*properties, *definitions))) + sum(len(str(v)) for v in values)
    in_all, levels, listed = len(properties), 0, len(values)
    items = [schema["items"]] if "items" in schema else []
    below = (*properties.values(), *definitions.values(), *items)
    for deeper, parts in ((1, below), (0, schema.get("anyOf", ()))):
        for part in parts:
            tally = tallies.find(part, lambda part: _tally(part, tallies))
            in_all += tally.properties
            levels = max(levels, tally.levels + deeper)
            characters += tally.characters
            listed += tally.values
    return _Tally(in_all, levels, characters, listed)
