"""Gemini's subset of schemas: one type each, enumerations of strings, objects that are not closed.

The rules: `anyOf` alone of all that combines schemas; `nullable` for null; inclusive bounds; no
`additionalProperties`; names of members of letters, digits and `_`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from openapi_tools.providers.fitting import checked_pattern
from openapi_tools.providers.provider_names import (
    ANYTHING,
    ENTRIES,
    KEY,
    VALUE,
    is_portable,
    labels,
)
from openapi_tools.providers.shaping import CannotExpress
from openapi_tools.providers.simple_forms import is_a
from openapi_tools.providers.wording import told

if TYPE_CHECKING:
    from openapi_tools.providers.simple_forms import Form

_FORMATS = {
    "string": frozenset({"date-time"}),
    "number": frozenset({"double", "float"}),
    "integer": frozenset({"int32", "int64"}),
}
_SCALARS = ("string", "number", "boolean")
_LEVELS = 3


class Gemini:
    """The dialect of Gemini's schemas; see `Dialect` for its methods."""

    null_for_absent = False

    def takes_name(self, name: str) -> bool:
        """Take a portable name."""
        return is_portable(name)

    def with_null(self, schema: Form) -> Form:
        """Mark the schema; a `$ref` stands alone."""
        return {**({"anyOf": [schema]} if "$ref" in schema else schema), "nullable": True}

    def null(self) -> Form:
        """Name the only value."""
        return self.enum([None], beside_strings=False)

    def enum(self, values: list[Any], *, beside_strings: bool) -> Form:
        """Label every value by a string; true and false are a type."""
        others = [value for value in values if not isinstance(value, str)]
        if {*map(str, values)} == {"True", "False"} and len(others) == len(values):
            return {"type": "boolean"}
        if not beside_strings or not others:
            return {"type": "string", "enum": list(labels(values))}
        if not all(is_a(value, "number") for value in others):
            raise CannotExpress("an `enum` of such values beside strings cannot be said")
        texts = [value for value in values if isinstance(value, str)]
        parts: list[Form] = [{"type": "string", "enum": list(labels(texts))}] if texts else []
        for number in others:
            whole = "integer" if isinstance(number, int) else "number"
            parts.append({"type": whole, "minimum": number, "maximum": number})
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def string(self, form: Form) -> Form:
        """Keep the length and the pattern."""
        kept: Form = {key: form[key] for key in ("minLength", "maxLength") if key in form}
        if (pattern := checked_pattern(form)) is not None:
            kept["pattern"] = pattern
        return {"type": "string", **kept}

    def number(self, form: Form) -> Form:
        """Keep the bounds; those that are exclusive become the next number inside."""
        step = form.get("multipleOf")
        whole = form.get("type") == "integer" or step == 1
        if step is not None and not (whole and 1 % step == 0):
            raise CannotExpress("`multipleOf` cannot be said")
        schema: Form = {"type": "integer" if whole else "number"}
        for bound, exclusive, inwards, pick in (
            ("minimum", "exclusiveMinimum", math.inf, max),
            ("maximum", "exclusiveMaximum", -math.inf, min),
        ):
            limits = [form[bound]] if bound in form else []
            if exclusive in form:
                limits.append(_inside(form[exclusive], inwards, whole=whole))
            if limits:
                schema[bound] = pick(limits)
        return schema

    def object(self, members: dict[str, Form], required: list[str], counts: Form) -> Form:
        """Declare the members; an object that has none stays so."""
        needed = {"required": required} if required else {}
        return {"type": "object", "properties": members, **needed, **counts}

    def words(self, schema: Form, form: Form) -> Form:
        """Keep a default of the same type, and one example."""
        words = told(schema, form, _FORMATS)
        kind = schema.get("type")
        if "enum" in schema or kind not in (*_SCALARS, "integer"):
            return words
        examples = form.get("examples", ())
        given = {"default": form.get("default"), "example": examples[0] if examples else None}
        return {**words, **{key: value for key, value in given.items() if is_a(value, kind)}}

    def anything(self) -> dict[str, Form]:
        """Refer to the next level, as few cycles are allowed; the last level has scalars only."""
        names = [ANYTHING, *(f"{ANYTHING}_{level}" for level in range(2, _LEVELS + 1))]
        found: dict[str, Form] = {}
        inner: Form | None = None
        for name in reversed(names):
            parts: list[Form] = [{"type": kind} for kind in _SCALARS]
            if inner is not None:
                pair = self.object({KEY: {"type": "string"}, VALUE: inner}, [KEY, VALUE], {})
                entries = {"type": "array", "items": pair}
                parts.append({"type": "array", "items": inner})
                parts.append(self.object({ENTRIES: entries}, [ENTRIES], {}))
            found[name] = {"anyOf": parts, "nullable": True}
            inner = {"$ref": f"#/$defs/{name}"}
        return found


def _inside(limit: float, inwards: float, *, whole: bool) -> float:
    """Return the next number beyond an exclusive bound."""
    if not whole:
        return math.nextafter(limit, inwards)
    return math.floor(limit) + 1 if inwards > 0 else math.ceil(limit) - 1
