"""The strict mode of OpenAI: closed objects in which every member is required.

The rules: `anyOf` alone of all that combines schemas, never at the root; no keyword that bounds a
length or a number of members; `$ref` without anything beside it; null for absent members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.providers.fitting import checked_pattern
from openapi_tools.providers.lengths import with_length
from openapi_tools.providers.provider_names import ANYTHING, ENTRIES, KEY, VALUE, labels
from openapi_tools.providers.shaping import CannotExpress
from openapi_tools.providers.wording import described, told, with_default

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.providers.simple_forms import Form

MOST_MEMBERS = 5_000
MOST_LEVELS = 10
MOST_CHARACTERS = 120_000
MOST_VALUES = 1_000
MOST_COUNTED = 10_000
"""Characters; regular expressions that count further are refused by many engines."""

_FORMATS = {
    "string": frozenset(
        {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
    )
}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_NULL = {"type": "null"}


class Strict:
    """The dialect of the strict mode's schemas; see `Dialect` for its methods."""

    null_for_absent = True

    def takes_name(self, name: str) -> bool:
        """Take every name."""
        return bool(name)

    def with_null(self, schema: Form) -> Form:
        """Add the type null; to anything but a scalar as one more alternative."""
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
        kinds = schema.get("type")
        if kinds is None or kinds in ("object", "array"):
            words = {key: schema[key] for key in ("description",) if key in schema}
            rest = {key: value for key, value in schema.items() if key not in words}
            return {**words, "anyOf": [rest, _NULL]}
        both = {**schema, "type": [*(kinds if isinstance(kinds, list) else [kinds]), "null"]}
        return {**both, "enum": [*schema["enum"], None]} if "enum" in schema else both

    def null(self) -> Form:
        """Name the type."""
        return dict(_NULL)

    def enum(self, values: list[Any], *, beside_strings: bool) -> Form:
        """Keep the scalars; label other values by strings."""
        if beside_strings and any(isinstance(value, dict | list) for value in values):
            raise CannotExpress("an `enum` of such values beside strings cannot be said")
        kept = [
            label if isinstance(value, dict | list) else value
            for label, value in labels(values).items()
        ]
        kinds = list(dict.fromkeys(map(_kind, kept)))
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": kept}

    def string(self, form: Form) -> Form:
        """Say the length by the pattern; a greater one is told in words."""
        least, most, pattern = (
            form.get("minLength", 0),
            form.get("maxLength"),
            checked_pattern(form),
        )
        if _is_uncounted(form):
            most = None
        if most is not None and most < least:
            raise CannotExpress("it accepts nothing", empty=True)
        if least or most is not None:
            counted = with_length(pattern, least, most)
            if counted is None:
                raise CannotExpress("its length and its `pattern` cannot be said in one")
            pattern = counted
        return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}

    def number(self, form: Form) -> Form:
        """Keep the bounds."""
        kept = {key: form[key] for key in _BOUNDS if key in form}
        return {"type": form.get("type", "number"), **kept}

    def object(self, members: dict[str, Form], required: list[str], counts: Form) -> Form:  # noqa: ARG002 -- all are
        """Close the object and require every member."""
        if counts:
            raise CannotExpress("the number of its members cannot be said")
        return {
            "type": "object",
            "properties": members,
            "required": list(members),
            "additionalProperties": False,
        }

    def words(self, schema: Form, form: Form) -> Form:
        """Describe the default too: null stands for it."""
        words = with_default(told(schema, form, _FORMATS), form)
        if schema.get("type") == "string" and _is_uncounted(form) and "enum" not in schema:
            return described(words, f"At most {form['maxLength']} characters.")
        return words

    def anything(self) -> dict[str, Form]:
        """Refer to itself; an object is written as its entries."""
        itself = {"$ref": f"#/$defs/{ANYTHING}"}
        pair = self.object({KEY: {"type": "string"}, VALUE: itself}, [], {})
        entries = {"type": "array", "items": pair}
        kinds = ("string", "number", "boolean", "null")
        parts: list[Form] = [{"type": name} for name in kinds]
        parts.append({"type": "array", "items": itself})
        parts.append(self.object({ENTRIES: entries}, [], {}))
        return {ANYTHING: {"anyOf": parts}}


def _is_uncounted(form: Form) -> bool:
    most: int = form.get("maxLength", 0)
    return most > MOST_COUNTED


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, int) else "number"


class Tally(NamedTuple):
    """The sizes that count against the limits.

    Attributes:
        members: Of all objects together.
        levels: Nested schemas; the target of a `$ref` counts separately.
        characters: Of names of members and of the values of enumerations.
        values: Of all enumerations together.
    """

    members: int
    levels: int
    characters: int
    values: int


def check_limits(schema: Form, tallies: dict[int, Any]) -> None:
    """Do nothing when a schema keeps the limits of the strict mode.

    Args:
        schema: As the strict mode wants it.
        tallies: What was counted before, by the id of the schema; kept by the caller with those.

    Raises:
        CannotExpress: It does not; it says which limit.
    """
    definitions: dict[str, Form] = schema.get("$defs", {})
    parts = [*schema["properties"].values(), *definitions.values()]
    counted = _together([_counted(part, tallies) for part in parts])
    names = sum(map(len, (*schema["properties"], *definitions)))
    found = Tally(
        counted.members + len(schema["properties"]),
        counted.levels + 1,
        counted.characters + names,
        counted.values,
    )
    limits = Tally(MOST_MEMBERS, MOST_LEVELS, MOST_CHARACTERS, MOST_VALUES)
    for what, count, limit in zip(Tally._fields, found, limits, strict=True):
        if count > limit:
            raise CannotExpress(f"it has {count} {what}; {limit} are allowed", final=True)


def _counted(part: Form, tallies: dict[int, Any]) -> Tally:
    known = tallies.get(id(part))
    if known is None:
        known = tallies[id(part)] = (part, _tally(part))
    tally: Tally = known[1]
    return tally


def _tally(schema: Form) -> Tally:
    members: dict[str, Form] = schema.get("properties", {})
    inner = [*members.values(), *([schema["items"]] if "items" in schema else [])]
    below = _together([_tally(part) for part in inner])
    beside = _together([_tally(part) for part in schema.get("anyOf", ())])
    values = schema.get("enum", ())
    characters = sum(map(len, members)) + sum(len(str(value)) for value in values)
    return Tally(
        members=len(members) + below.members + beside.members,
        levels=max(below.levels + bool(inner), beside.levels),
        characters=characters + below.characters + beside.characters,
        values=len(values) + below.values + beside.values,
    )


def _together(parts: Iterable[Tally]) -> Tally:
    members, levels, characters, values = 0, 0, 0, 0
    for part in parts:
        members += part.members
        levels = max(levels, part.levels)
        characters += part.characters
        values += part.values
    return Tally(members, levels, characters, values)
