"""Values that match a schema, the same ones every time."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from openapi_tools.common.json_values import as_dict, as_list, follow_references
from openapi_tools.validation.check_cost import import_validators

Path = tuple[str, ...]
_DEEPEST = 12
_MOST_SCHEMAS = 5000
_OPTIONAL_UNTIL = 2  # the depth from which on objects have no optional properties
_MOST_ITEMS = 16
# A `minLength` of millions asks for a sample that nobody reads.
_LONGEST, _MOST_ATOMS = 4096, 256
_GREATEST = 1e308
_DEEPEST_OBJECT = 3  # of those that `object_paths` lists
_MOST_OBJECTS = 200

# Documentation values: RFC 2606 (names), RFC 5737 and RFC 3849 (addresses).
_FORMATS = {
    **dict.fromkeys(("byte", "base64url"), "c2FtcGxl"),
    "date": "2024-01-31",
    "date-time": "2024-01-31T12:00:00Z",
    "duration": "P1D",
    **dict.fromkeys(("email", "idn-email"), "user@example.com"),
    **dict.fromkeys(("hostname", "idn-hostname"), "example.com"),
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    **dict.fromkeys(("iri", "uri", "url"), "https://example.com/"),
    **dict.fromkeys(("json-pointer", "uri-reference"), "/sample"),
    "regex": ".*",
    "relative-json-pointer": "1/sample",
    "time": "12:00:00Z",
    "uri-template": "https://example.com/{id}",
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
}
_FILE = {"base64": "c2FtcGxl", "filename": "sample.txt"}  # for the schema of an upload
_ATOM = re.compile(r"(\[[^\]]*+(?:\]|\Z)|\\.|.)(?:([*+?])|\{(\d++)[\d,]*+\})?")
# A group of a pattern without others inside, and its first branch.
_GROUP = re.compile(r"\((?:\?:)?([^()|]*+)(?:\|[^()]*+)?\)")
# Strings that fit most of the patterns in published documents: numbers, codes, colors, hashes.
_OTHER_TEXTS = ("1", "10", "1.0", "a", "A", "AA", "AAA", "#aabbcc", "0" * 32, "a1", "/", "")


def sample(schema: Any, document: Mapping[str, Any]) -> Any:
    """Return a value that matches a Schema Object of any version; `$ref` lead into the document.

    The schema's own values come first. Objects get required properties, and near the top
    optional ones; recursion ends in the shortest value. Common strings are tried for a `pattern`.

    Spec: OpenAPI 3.1.2, section 4.24 (Schema Object).
    """
    return Sampler(document).sample(schema, 0)


class Sampler:
    """Makes values that fit schemas, from a bounded number of them.

    Args:
        document: The document that `$ref` leads into.
        brief: Whether values have only required parts, and `…` for strings.

    Attributes:
        avoids_empty: Whether an object or array without required parts gets one nevertheless.
    """

    def __init__(self, document: Mapping[str, Any], *, brief: bool = False) -> None:
        self.document = document
        self.brief = brief
        self.avoids_empty = False
        self._schemas_left = _MOST_SCHEMAS

    def add_value(self, target: dict[str, Any], path: Path) -> None:
        """Add a value at a path of names, if the schema has that path."""
        node: Any = self.document
        for name in path:
            properties = self._properties(node)
            if name not in properties or not isinstance(target, dict):
                return
            node = properties[name]
            self.avoids_empty = name is path[-1]
            value = target[name] if name in target else self.sample(node, 1)
            target[name] = target = {**value} if isinstance(value, dict) else value

    def object_paths(self) -> list[tuple[Path, Mapping[str, Any]]]:
        """Return the objects inside the arguments, outermost first: their paths and properties."""
        paths: list[tuple[Path, Mapping[str, Any]]] = [((), self._properties(self.document))]
        for path, properties in paths:  # grows while it is walked
            if len(path) < _DEEPEST_OBJECT and len(paths) < _MOST_OBJECTS:
                paths += [
                    ((*path, name), self._properties(part)) for name, part in properties.items()
                ]
        return paths[1:]

    def _properties(self, node: Any) -> Mapping[str, Any]:
        return as_dict(self._merge_schemas(self._resolve_node(node), 0).get("properties"))

    def sample(self, node: Any, depth: int) -> Any:
        """Return a value that fits a schema."""
        schema = self._resolve_node(node)
        if self.brief and schema.get("format") == "password":
            return "…"
        if not _stated_values(schema):
            if depth > _DEEPEST or self._schemas_left <= 0:
                return None
            schema = self._merge_schemas(schema, depth)
        stated = _stated_values(schema)
        return stated[0] if stated else self._sample_by_type(schema, depth)

    def _resolve_node(self, node: Any) -> Mapping[str, Any]:
        self._schemas_left -= 1
        return follow_references(self.document, node)

    def _merge_schemas(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        # The first branch of a union is as good as any: a sample has to fit one.
        merged = {key: schema[key] for key in schema if key not in ("allOf", "oneOf", "anyOf")}
        unions = (as_list(schema.get(key)) for key in ("oneOf", "anyOf"))
        choices = ([part for part in union if part != {"type": "null"}] for union in unions)
        branches = [part for union in choices for part in union[:1]]
        if isinstance(properties := merged.get("properties"), Mapping):
            nodes = map(self._resolve_node, (schema, *branches, *as_list(schema.get("oneOf"))))
            required = [{*map(str, as_list(node.get("required")))} for node in nodes]
            # Properties that only the alternatives after the first one require.
            excluded = set().union(*required).difference(*required[: len(branches) + 1])
            merged["properties"] = {
                name: properties[name] for name in properties if name not in excluded
            }
        parts = [
            *as_list(schema.get("allOf")),
            *self._discriminator_schemas(schema, branches),
            *branches,
        ]
        for part in parts if depth <= _DEEPEST and self._schemas_left > 0 else ():
            inner = self._merge_schemas(self._resolve_node(part), depth + 1)
            for key in merged.keys() & inner.keys() & {"properties", "required"}:
                ours, theirs = merged[key], inner[key]
                if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
                    merged[key] = {**theirs, **ours}
                elif isinstance(ours, list) and isinstance(theirs, list):
                    merged[key] = [*theirs, *ours]
            merged = {**inner, **merged}
        return merged

    def _discriminator_schemas(self, schema: Mapping[str, Any], branches: list[Any]) -> list[Any]:
        # Spec: OpenAPI 3.1.2, section 4.25 (Discriminator Object).
        discriminator, branch = (
            as_dict(schema.get("discriminator")),
            branches[0] if branches else None,
        )
        name = discriminator.get("propertyName")
        reference = isinstance(branch, Mapping) and branch.get("$ref")
        if not isinstance(reference, str) or not isinstance(name, str):
            return []
        properties = as_dict(self._resolve_node(branch).get("properties"))
        if _stated_values(self._resolve_node(properties.get(name))):
            return [{"required": [name]}]
        short = reference.rpartition("/")[2]
        mapping = as_dict(discriminator.get("mapping")).items()
        value = next((key for key, to in mapping if to in (reference, short)), short)
        return [{"properties": {name: {"const": value}}, "required": [name]}]

    def _sample_by_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        match _schema_type(schema):
            case "object":
                return self._sample_object(schema, depth)
            case "array":
                return self._sample_array(schema, depth)
            case "integer" | "number" as kind:
                return _sample_number(schema, whole=kind == "integer")
            case "boolean":
                return True
            case "null":
                return None
        return (
            _FORMATS.get(str(schema.get("format")), "…") if self.brief else _sample_string(schema)
        )

    def _sample_object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = [name for name in as_list(schema.get("required")) if isinstance(name, str)]
        properties = as_dict(schema.get("properties"))
        if not self.brief and properties.keys() > _FILE.keys() and "content_type" in properties:
            return dict(_FILE)
        sample = {}
        for name, entry in properties.items():
            is_included = name in required or (depth < _OPTIONAL_UNTIL and not self.brief)
            if is_included and (
                self.brief or self._resolve_node(entry).get("writeOnly") is not True
            ):
                sample[name] = self.sample(entry, depth + 1)
        if self.avoids_empty and not sample and depth <= _OPTIONAL_UNTIL:
            sample = {name: self.sample(properties[name], depth + 1) for name in [*properties][:1]}
        sample |= {name: "sample" for name in required if name not in properties}
        for number in range(
            len(sample), min(_count_keyword(schema, "minProperties", 0), _MOST_ITEMS)
        ):
            other = schema.get("additionalProperties", {"type": "string"})
            sample[f"member{number + 1}"] = self.sample(other, depth + 1)
        return sample

    def _sample_array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        has_item = depth <= _OPTIONAL_UNTIL or (self.avoids_empty and not self.brief)
        count = max(_count_keyword(schema, "minItems", 0), int(has_item))
        count = min(count, _count_keyword(schema, "maxItems", count), _MOST_ITEMS)
        shapes = as_list(schema.get("prefixItems"))[:count]
        shapes = shapes + [schema.get("items", {"type": "string"})] * (count - len(shapes))
        items = [self.sample(shape, depth + 1) for shape in shapes]
        return _make_distinct(items) if schema.get("uniqueItems") is True else items


def _stated_values(schema: Mapping[str, Any]) -> list[Any]:
    for key in ("example", "const"):
        if key in schema:
            return [schema[key]]
    for key in ("examples", "enum"):
        if as_list(schema.get(key)):
            return as_list(schema.get(key))[:1]
    return [schema["default"]] if schema.get("default") is not None else []


def _schema_type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    if isinstance(kind, str):
        return kind
    if not schema or {"properties", "additionalProperties", "required"} & set(schema):
        return "object"
    if {"items", "prefixItems"} & set(schema):
        return "array"
    return "number" if {"minimum", "maximum"} & set(schema) else "string"


def _make_distinct(items: list[Any]) -> list[Any]:
    for place, item in enumerate(items):
        if place and isinstance(item, str):
            items[place] = f"{item}{place + 1}"
        elif isinstance(item, int | float) and not isinstance(item, bool):
            items[place] = item + place
    return items


def _sample_number(schema: Mapping[str, Any], *, whole: bool) -> float:
    least, most = _number_bounds(schema, whole=whole)
    step = _finite_number(schema.get("multipleOf"), 0)
    preferred = step if step > 0 else 1
    if least <= preferred <= most:
        value = preferred
    elif math.isfinite(least):
        value = math.ceil(least / step) * step if step > 0 else least
    else:
        value = math.floor(most / step) * step if step > 0 else most
    return int(value) if value == int(value) else value


def _number_bounds(schema: Mapping[str, Any], *, whole: bool) -> tuple[float, float]:
    # Spec: OpenAPI 3.0 writes exclusive bounds as booleans, 3.1 as numbers.
    least = _finite_number(schema.get("minimum"), -math.inf)
    most = _finite_number(schema.get("maximum"), math.inf)
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    over = least if over is True else _finite_number(over, -math.inf)
    under = most if under is True else _finite_number(under, math.inf)
    span = min(most, under) - max(least, over)
    inside = 1 if whole else min(1.0, span / 2)
    return max(least, over + inside), min(most, under - inside)


def _sample_string(schema: Mapping[str, Any]) -> str:
    text = _FORMATS.get(str(schema.get("format")), "sample")
    text = text.ljust(min(_count_keyword(schema, "minLength", 0), _LONGEST), "x")
    text = text[: _count_keyword(schema, "maxLength", len(text))]
    if not isinstance(schema.get("pattern"), str):
        return text
    keywords = {key: schema[key] for key in ("pattern", "minLength", "maxLength") if key in schema}
    try:  # with an engine for regular expressions that cannot hang
        fits = import_validators().validator_for(keywords).is_valid
    except (ValueError, import_validators().ValidationError):
        return text
    pattern = keywords["pattern"]
    strings = (_spell_pattern(each) for each in (pattern, _take_first_branch(pattern)))
    return next(filter(fits, (text, *_FORMATS.values(), *_OTHER_TEXTS, *strings)), text)


def _take_first_branch(pattern: str) -> str:
    pattern = pattern[:_LONGEST]
    for _ in range(_DEEPEST):
        pattern = _GROUP.sub(r"\1", pattern)
    return pattern.partition("|")[0]


def _spell_pattern(pattern: str) -> str:
    # Simple patterns only; the engine checks the result.
    text = ""
    for atom, sign, count in _ATOM.findall(pattern.strip("^$"))[:_MOST_ATOMS]:
        char = atom.lstrip("[\\")[:1]
        char = {"d": "0", "w": "a", "s": " "}.get(char, char) if "\\" in atom[:2] else char
        text += char * (min(int(count), _LONGEST) if count else sign not in ("*", "?"))
    return text


def _count_keyword(schema: Mapping[str, Any], key: str, default: int) -> int:
    value = schema.get(key)
    usable = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if usable and value is not None else default


def _finite_number(value: Any, default: float) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    # Python cannot compare a larger integer as a number with a fraction.
    return value if usable and abs(value) < _GREATEST else default
