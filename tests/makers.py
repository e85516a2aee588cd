"""Values that fit a JSON Schema, as subclasses choose among what it allows.

What a keyword rules out is left to a validator: a value is near, and perhaps not inside.
"""

import re
from functools import cache

import jsonschema_rs
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from openapi_tools.validation.samples import sample

UNIONS = ("anyOf", "oneOf")
MANY = 2**31
BOUNDS = {"minimum": max, "exclusiveMinimum": max, "multipleOf": max}
BOUNDS |= {"maximum": min, "exclusiveMaximum": min}
_DEEPEST = 60
_IMPLIED = {
    "object": {"properties", "additionalProperties", "required", "patternProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"},
    "string": {"minLength", "maxLength", "pattern", "format", "contentEncoding"},
    "number": {*BOUNDS},
}
_CLASSES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class ImpossibleError(Exception):
    """No value was found that fits a schema; perhaps there is none."""


class RuledOutError(ImpossibleError):
    """The keywords around a schema let none of its values through."""


class Maker:
    """Makes a value for several schemas at once; `depth` is how deep it lies in the whole."""

    deepest = 6
    """From here on the values end soon."""

    def __init__(self, root):
        self.definitions = root.get("$defs", {})

    def value(self, schemas, depth):
        if depth > _DEEPEST:
            raise ImpossibleError("it never ends")
        parts = list(self._parts(schemas, depth))
        listed = [*_all(parts, "enum"), *([value] for value in _all(parts, "const"))]
        kinds = _kinds(parts)
        if listed:
            return self.pick(_common(listed, kinds))
        if not kinds:
            return self.anything(depth)
        return getattr(self, f"_{self.pick(kinds)}")(parts, depth)

    def _parts(self, schemas, depth):
        """Yield schemas and all that they combine, one alternative of each union."""
        for schema in schemas:
            if schema is False or (isinstance(schema, dict) and schema.get("not") == {}):
                raise RuledOutError("nothing is allowed")
            if depth > _DEEPEST:
                raise ImpossibleError("it never ends")
            if isinstance(schema, dict):
                yield schema
                inner = [*schema.get("allOf", ())]
                inner += [self._resolve(schema)] if "$ref" in schema else []
                inner += [self._branch(schema[key], depth) for key in UNIONS if key in schema]
                yield from self._parts(inner, depth + 1)

    def _resolve(self, schema):
        """Return what a reference leads to."""
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        return self.definitions[schema["$ref"].removeprefix("#/$defs/")]

    def _branch(self, branches, depth):
        if depth <= self.deepest:
            return self.pick(branches)
        return min(branches, key=lambda branch: len(str(self._resolve(branch))))

    def _object(self, parts, depth):
        names = list(dict.fromkeys(_collect(parts, "required")))
        properties = dict.fromkeys(_collect(parts, "properties"))
        free = [
            name
            for name in properties
            if name not in names and False not in _schemas_at(parts, name)
        ]
        least, most = _limits(parts, "Properties")
        names += self.optional(free, max(0, least - len(names)), depth)[: max(0, most - len(names))]
        names += self.extra_names(parts, max(0, least - len(names)), most - len(names), depth)
        return {name: self.value(_schemas_at(parts, name), depth + 1) for name in names}

    def _array(self, parts, depth):
        least, most = _limits(parts, "Items")
        if any(part.get("items") is False for part in parts):
            most = min(most, max(len(part.get("prefixItems", ())) for part in parts))
        count = self.length(least, max(least, most), depth)
        items = [self.value(_item(parts, index), depth + 1) for index in range(count)]
        if any(part.get("uniqueItems") for part in parts):
            items = [item for index, item in enumerate(items) if item not in items[:index]]
        return items

    def _string(self, parts, _depth):
        pattern, form = (next(iter(_all(parts, key)), None) for key in ("pattern", "format"))
        return self.text(pattern, *_limits(parts, "Length"), form)

    def _number(self, parts, _depth, **limits):
        bounds = {key: best(_all(parts, key)) for key, best in BOUNDS.items() if _all(parts, key)}
        return self.number({**limits, **bounds})

    def _integer(self, parts, depth):
        return self._number(parts, depth, type="integer")

    def _boolean(self, _parts, _depth):
        return self.pick([False, True])

    def _null(self, _parts, _depth):
        return None


class Turns(Maker):
    """Chooses by turns: each choice is the first one, then the second one, and so on.

    `full` values have all properties, `bare` ones null where it is accepted and the shortest texts.
    """

    def __init__(self, root, turn=0, *, full=False, bare=False, deepest=6):
        super().__init__(root)
        self.turn, self.full, self.bare, self.deepest = turn, full, bare, deepest

    def value(self, schemas, depth):
        ends = depth > self.deepest or (depth and self.bare)
        return None if ends and all(map(accepts_null, schemas)) else super().value(schemas, depth)

    def pick(self, options):
        return options[self.turn % len(options)]

    def anything(self, _depth):
        return self.text(None, 0, MANY)

    def optional(self, names, least, depth):
        return names if self.full and depth <= self.deepest else names[:least]

    def extra_names(self, _parts, least, _most, _depth):
        return [f"x{index}" for index in range(least)]

    def length(self, least, most, depth):
        count = 1 + self.turn % 2 if self.full and depth <= self.deepest else 0
        return max(least, min(count, most))

    def text(self, pattern, least, most, _format=None):
        if not pattern and not self.bare:
            least = max(least, min(4, most))  # which is base64, too
        try:
            return text_for(pattern, least, most)
        except jsonschema_rs.ValidationError:  # the API alone can read the pattern
            return text_for(None, least, most)

    def number(self, schema):
        least = schema.get("minimum", schema.get("exclusiveMinimum"))
        most = schema.get("maximum", schema.get("exclusiveMaximum"))
        step = schema.get("multipleOf", 1)
        for value in (least, most, 0, step, 1, 2, (least or 0) + step, (most or 0) - step, 0.5):
            if value is not None and jsonschema_rs.is_valid(schema, value):
                return int(value) if schema.get("type") == "integer" else value
        raise ImpossibleError(schema)


def accepts_null(schema):
    """Return whether a schema takes null, as far as can be seen without its references."""
    return isinstance(schema, dict) and (
        schema.get("nullable") is True
        or "null" in _types_of(schema)
        or any(map(accepts_null, schema.get("anyOf", ())))
    )


@cache
def text_for(pattern, least, most):
    """Return a text of a pattern and a length."""
    if most < least:
        raise ImpossibleError(least)
    if pattern is None:
        return "x" * least
    schema = {"pattern": pattern, "minLength": least}
    schema |= {} if most == MANY else {"maxLength": most}
    fits = jsonschema_rs.validator_for(schema).is_valid
    usual = ("", "a", "1", "a" * 40, "https://example.com/", "1.0", "a/b", "0" * 40)
    for candidate in (*usual, sample({"type": "string", **schema}, {})):
        if fits(candidate):
            return candidate
    quiet = settings(max_examples=300, suppress_health_check=list(HealthCheck), database=None)
    try:
        return find(st.from_regex(pattern), fits, settings=quiet)
    except NoSuchExample:
        raise ImpossibleError(schema) from None


def _types_of(schema):
    kinds = schema.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def _kinds(parts):
    """Return the types that all of some schemas take; none where none says which."""
    declared = [_types_of(part) for part in parts if "type" in part]
    if not declared:
        keys = set().union(*parts)
        return [kind for kind, words in _IMPLIED.items() if keys & words][:1]
    wide = [{*kinds, "integer"} if "number" in kinds else {*kinds} for kinds in declared]
    all_kinds = dict.fromkeys(kind for kinds in declared for kind in kinds)
    result = [kind for kind in all_kinds if all(kind in kinds for kinds in wide)]
    if not result:
        raise RuledOutError("no type is left")
    return result


def _common(listed, kinds):
    """Return the values that all lists have, and that may be of some types."""
    classes = tuple(_CLASSES.get(kind, (int, float)) for kind in kinds) or object
    common = [value for value in listed[0] if all(value in values for values in listed)]
    common = [value for value in common if isinstance(value, classes)]
    if not common:
        raise RuledOutError("no value is in all lists")
    return common


def _all(parts, key):
    return [part[key] for part in parts if key in part]


def _collect(parts, key):
    return [item for items in _all(parts, key) for item in items]


def _limits(parts, what):
    """Return the least and the most length of texts, arrays or objects."""
    return max([0, *_all(parts, f"min{what}")]), min([MANY, *_all(parts, f"max{what}")])


def _schemas_at(parts, name):
    """Return what schemas say of a property."""
    return [schema for part in parts for schema in _property_schemas(part, name)]


def _property_schemas(part, name):
    patterns = part.get("patternProperties", {}).items()
    schemas = [schema for pattern, schema in patterns if _matches(pattern, name)]
    if name in part.get("properties", {}):
        schemas.append(part["properties"][name])
    return schemas or [part.get("additionalProperties", True)]


def _matches(pattern, text):
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _item(parts, index):
    """Return what schemas say of an item."""
    return [
        part["prefixItems"][index]
        if index < len(part.get("prefixItems", ()))
        else part.get("items", True)
        for part in parts
    ]
