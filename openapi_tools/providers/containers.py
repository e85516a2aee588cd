"""Objects, arrays and strings: properties, items and lengths, and names that each provider takes.

Where a provider knows `pattern` but no bounds of a string's length, the pattern has to say it. With
several counts in it to choose, fewer strings may match than the bounds would allow, never more.

Spec: JSON Schema 2020-12, Core, sections 10.2 and 10.3; Validation, sections 6.3 to 6.5.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import map_subschemas
from openapi_tools.common.json_values import is_equal
from openapi_tools.common.visible_text import quote_name
from openapi_tools.providers.forms import CannotExpress, refuse_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.providers.forms import Form
    from openapi_tools.providers.identity_cache import IdentityCache

    Fits = Callable[[Form, Any], bool]
    Takes = Callable[[str], object]

KEY, VALUE = "key", "value"
"""The properties of a pair: a map whose keys are unknown becomes an array of such objects."""
ENTRIES = (
    "entries"  # the only property of an object that may be any JSON object; it holds its pairs
)
ANYTHING = "_anything"  # the definition of any JSON value; no component's name starts so

_MOST_VARIANTS = 16
_VALUE = {"type": ["string", "number", "boolean", "object", "array"]}
# What Gemini's functions take as the name of a property.
_PORTABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_OTHER = re.compile(r"[^a-zA-Z0-9_]+")
_LONGEST = 64
_ANY = r"[\s\S]"
_TOKEN = re.compile(  # the start of a group, `|`, or a part that ends, with its count
    r"(?P<open>\((?:\?:)?(?!\?))|(?P<bar>\|)"
    r"|(?:\)|(?P<one>\\[dDwWsStnrfv]|\\[^a-zA-Z0-9]|\[\^?(?:\\.|[^\]\\])+\]|[^\\\[\](){}|*+?^$]))"
    r"(?:\{(?P<least>\d+)(?P<comma>,(?P<most>\d*))?\}|(?P<sign>[*+?]))?(?![*+?{])"
)
_QUANTIFIERS = {"*": (0, inf), "+": (1, inf), "?": (0, 1)}
_END = re.compile(r"(?<!\\)(?:\\\\)*\$$")


class OpenProperties(NamedTuple):
    """Schemas of the names and of the values of properties that an object does not declare."""

    key: Any
    value: Any


class ObjectProperties(NamedTuple):
    """The properties of an object: declared ones, undeclared ones, and how many in all."""

    declared: dict[str, Any]
    required: frozenset[str]
    open_properties: OpenProperties | None
    least: int
    most: int | None


def find_properties(form: Form, fits: Fits) -> ObjectProperties:
    """Return the properties of an object.

    Raises:
        CannotExpress: They depend on one another.
    """
    refuse_keywords(form, "if", "dependentSchemas")
    dependent: dict[str, list[str]] = form.get("dependentRequired", {})
    declared = dict(form.get("properties", {}))
    required = set(form.get("required", ()))
    for _ in dependent:
        required.update(*(names for name, names in dependent.items() if name in required))
    for name in sorted(required - declared.keys()):
        declared[name] = form.get("additionalProperties", True)
    for pattern, schema in form.get("patternProperties", {}).items():
        for name, declared_schema in declared.items():
            if fits({"pattern": pattern}, name):
                is_declared = name in form.get("properties", {})
                declared[name] = {"allOf": [declared_schema, schema]} if is_declared else schema
    refused = {name for name, schema in declared.items() if schema is False}
    if "propertyNames" in form:
        names = {"allOf": [{"type": "string"}, form["propertyNames"]]}
        refused.update(name for name in declared if not fits(names, name))
    refused |= {name for name, names in dependent.items() if not required.issuperset(names)}
    if "not" in form:
        refused |= _find_refused(form["not"], required)
    if refused & required:
        raise CannotExpress("it requires a property that it forbids", empty=True)
    kept = {name: schema for name, schema in declared.items() if name not in refused}
    least, most = form.get("minProperties", 0), form.get("maxProperties")
    # Properties without a name could have one of those that are refused.
    return ObjectProperties(
        kept, frozenset(required), None if refused else _find_open_properties(form), least, most
    )


def _find_refused(schema: Any, required: set[str]) -> set[str]:
    plain = isinstance(schema, dict) and schema.get("type", "object") == "object"
    keywords = schema.keys() - {"type"} if plain else set()
    if keywords == {"anyOf"}:
        return set[str]().union(*(_find_refused(branch, required) for branch in schema["anyOf"]))
    if keywords != {"required"}:
        raise CannotExpress("`not` cannot be expressed")
    optional = [name for name in schema["required"] if name not in required]
    if not optional:
        raise CannotExpress("`not` refuses a required property", empty=True)
    return {optional[-1]}


def _find_open_properties(form: Form) -> OpenProperties | None:
    rest, patterns = form.get("additionalProperties", True), form.get("patternProperties", {})
    names: Any = {"type": "string"}
    if len(patterns) > 1:
        if not form.get("properties"):
            raise CannotExpress("several `patternProperties` cannot be expressed")
        return None
    for pattern, schema in patterns.items():
        names, rest = {"type": "string", "pattern": pattern}, schema
    is_silent = not patterns and "additionalProperties" not in form
    if rest is False or (form.get("properties") and is_silent):
        return None
    if "propertyNames" in form:
        names = {"allOf": [names, form["propertyNames"]]}
    return OpenProperties(names, rest)


def require_one_more(form: Form, properties: ObjectProperties, accepts: Fits) -> list[Form]:
    """Return one form for each optional property that an object may add to be large enough."""
    optional = [name for name in properties.declared if name not in properties.required]
    missing = properties.least - len(properties.required)
    if missing > len(optional):
        raise CannotExpress("it accepts nothing", empty=True)
    if missing > 1 or properties.open_properties is not None or len(optional) > _MOST_VARIANTS:
        raise CannotExpress("its number of properties cannot be expressed")
    rest = {key: value for key, value in form.items() if key != "minProperties"}
    return [
        {
            **rest,
            "properties": {
                **properties.declared,
                name: _exclude_null(properties.declared[name], accepts),
            },
            "required": [*properties.required, name],
        }
        for name in optional
    ]


def _exclude_null(schema: Any, accepts: Fits) -> Any:
    if schema is True or not accepts(schema, None):
        return _VALUE if schema is True else schema
    if "$ref" in schema:
        raise CannotExpress("its number of properties cannot be expressed")
    return {"allOf": [schema, _VALUE]}


def find_items(form: Form) -> tuple[Any, int, int | None]:
    """Return the schema of an array's items, and how many it has at least and at most."""
    refuse_keywords(form, "contains")
    schema = form.get("items", form.get("unevaluatedItems", True))
    least, most = form.get("minItems", 0), form.get("maxItems")
    prefix = form.get("prefixItems")
    if prefix:
        if not all(is_equal(prefix[0], item) for item in prefix):
            raise CannotExpress("`prefixItems` cannot be expressed")
        if not (schema is True or is_equal(schema, prefix[0])):
            most = min(len(prefix), len(prefix) if most is None else most)
        schema = prefix[0]
    if schema is False:
        schema, most = True, 0
    if most is not None and most < least:
        raise CannotExpress("it accepts nothing", empty=True)
    if form.get("uniqueItems") is True and least > 1:
        raise CannotExpress("`uniqueItems` of several items cannot be expressed")
    return schema, least, most


def array_schema(items: Form, least: int, most: int | None) -> Form:
    """Return the schema of an array with bounds on the number of its items."""
    counts = {"minItems": least or None, "maxItems": most}
    bounds = {key: count for key, count in counts.items() if count is not None}
    return {"type": "array", "items": items, **bounds}


def are_pairs(value: Any) -> bool:
    """Return whether a value may be a map written as pairs."""
    return isinstance(value, list) and all(
        isinstance(pair, dict) and pair.keys() == {KEY, VALUE} and isinstance(pair[KEY], str)
        for pair in value
    )


def is_portable(name: str) -> bool:
    """Return whether every provider takes a property's name unchanged."""
    return _PORTABLE.fullmatch(name) is not None


def portable_names(name: str) -> tuple[str, str]:
    """Return two names for a property that providers take: a short one, and a unique one."""
    base = _OTHER.sub("_", name).rstrip("_") or "_"
    if base[0].isdigit():
        base = f"_{base}"
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    sure = f"{base[: _LONGEST - len(mark) - 1]}_{mark}"
    return (base if len(base) <= _LONGEST else sure), sure


def choose_names(names: Iterable[str], takes: Takes) -> dict[str, str]:
    """Return new names for the properties whose names a provider does not take."""
    declared = list(names)
    taken = set(declared)
    chosen: dict[str, str] = {}
    for name in declared:
        if not takes(name):
            short, sure = portable_names(name)
            chosen[name] = sure if short in taken else short
            taken.add(chosen[name])
    return chosen


def open_properties_name(names: Iterable[str]) -> str:
    """Return the name of the property that holds the undeclared ones."""
    name, declared = "additional_properties", set(names)
    while name in declared:
        name += "_"
    return name


def describe_renamed(schema: Any, name: str) -> Form:
    """Return the schema of a renamed property, whose description says its name in the API."""
    if not isinstance(schema, dict):
        schema = {} if schema else {"not": {}}
    description = f"Sent as {quote_name(name)}. {schema.get('description', '')}".strip()
    return {**({"anyOf": [schema]} if "$ref" in schema else schema), "description": description}


def rename_properties(node: Any, takes: Takes, cache: IdentityCache[Any]) -> Any:
    """Return a schema with names that a provider takes; the same one where it has no others."""
    if not isinstance(node, dict):
        return node
    return cache.find(node, lambda node: _rename_properties(node, takes, cache))


def _rename_properties(node: Form, takes: Takes, cache: IdentityCache[Any]) -> Form:
    new = dict(map_subschemas(node, lambda part, _: rename_properties(part, takes, cache)))
    declared = new.get("properties")
    names = choose_names(declared, takes) if isinstance(declared, dict) else {}
    if names:
        new["properties"] = {
            names.get(name, name): describe_renamed(part, name) if name in names else part
            for name, part in new["properties"].items()
        }
    if isinstance(node.get("required"), list):
        new["required"] = [
            names.get(name, name if takes(name) else portable_names(name)[0])
            for name in node["required"]
        ]
    return node if new == node else new


def label_values(values: Iterable[Any]) -> dict[str, Any]:
    """Map string labels to the values of an enumeration, for providers that allow only strings."""
    listed = list(values)
    taken = {value for value in listed if isinstance(value, str) and value}
    named: dict[str, Any] = {}
    for value in listed:
        label = value
        if not isinstance(value, str) or not value:
            label = "(empty)" if value == "" else json.dumps(value, ensure_ascii=False)
            while label in taken:
                label = f"({label})"
        taken.add(label)
        named[label] = value
    return named


class _PatternPart(NamedTuple):
    """A character class, or a group that `text` opens, with its repetition."""

    text: str
    least: int = 1
    most: float = 1
    choices: tuple[tuple[_PatternPart, ...], ...] = ()

    def max_count(self, limit: float) -> float:
        return max(self.least, min(self.most, limit))

    def width(self, limit: float) -> tuple[int, float]:
        """Return how many characters it has, least and most."""
        widths = [_total_width(choice, limit) for choice in self.choices] or [(1, 1)]
        high, most = max(high for _, high in widths), self.max_count(limit)
        return min(low for low, _ in widths) * self.least, high * most if high and most else 0

    def to_pattern(self, limit: float) -> str:
        inner = "|".join(_join_parts(choice, limit) for choice in self.choices)
        text = f"{self.text}{inner})" if self.choices else self.text
        most = self.max_count(limit)
        return text if (self.least, most) == (1, 1) else text + _quantifier(self.least, most)


_Sequence = tuple[_PatternPart, ...]


def bound_length(pattern: str | None, least: int, most: float) -> str | None:
    """Return a pattern that also bounds the length, to `inf` without a limit; None if none can."""
    if pattern is None:
        return f"^{_ANY}{_quantifier(least, most)}$"
    parts = _parse_pattern(pattern)
    if parts is None:
        return None
    low, high = _total_width(parts)
    if low >= least and high <= most:
        return pattern
    longer = parts if low >= least else _add_characters(parts, least - low)
    if longer is None:
        return None
    if most == inf:
        return f"^{_join_parts(longer)}$"
    # The largest limit of all counts with which nothing longer matches.
    limits = range(int(most) + 1)
    fitting = bisect_right(limits, most, key=lambda limit: _total_width(longer, limit)[1])
    return f"^{_join_parts(longer, fitting - 1)}$" if fitting else None


def _add_characters(parts: _Sequence, count: int) -> _Sequence | None:
    free = [part for part in parts if part.width(inf) == (part.least, part.most)]
    free = [part for part in free if part.least != part.most]
    if len(free) != 1 or free[0].most < free[0].least + count:
        return None
    longer = free[0]._replace(least=free[0].least + count)
    return tuple(longer if part is free[0] else part for part in parts)


def _total_width(parts: _Sequence, limit: float = inf) -> tuple[int, float]:
    widths = [part.width(limit) for part in parts]
    return sum(low for low, _ in widths), sum(high for _, high in widths)


def _join_parts(parts: _Sequence, limit: float = inf) -> str:
    return "".join(part.to_pattern(limit) for part in parts)


def _quantifier(least: int, most: float) -> str:
    sign = next((sign for sign, counts in _QUANTIFIERS.items() if counts == (least, most)), "")
    if sign or least == most:
        return sign or f"{{{least}}}"
    return f"{{{least},{'' if most == inf else most}}}"


def _parse_pattern(pattern: str) -> _Sequence | None:
    start, end = pattern.startswith("^"), _END.search(pattern) is not None
    inner = pattern[start : len(pattern) - end]
    around = _PatternPart(_ANY, 0, inf)  # a pattern that is not held at an end goes on there
    groups: list[tuple[str, list[_Sequence]]] = [("", [()])]  # those that are open
    place = 0
    while place < len(inner):
        token = _TOKEN.match(inner, place)
        if token is None or (token["bar"] and len(groups) == 1):
            return None
        place = token.end()
        if token["open"]:
            groups.append((token["open"], [()]))
        elif token["bar"]:
            groups[-1][1].append(())
        else:
            text, choices = (token["one"], []) if token["one"] else groups.pop()
            if not groups:
                return None
            groups[-1][1][-1] += (_PatternPart(text, *_repetition(token), tuple(choices)),)
    parts = groups[0][1][0]
    whole = (*(() if start else (around,)), *parts, *(() if end else (around,)))
    return whole if len(groups) == 1 else None


def _repetition(token: re.Match[str]) -> tuple[int, float]:
    if token["sign"]:
        return _QUANTIFIERS[token["sign"]]
    least = int(token["least"] or 1)
    if token["most"]:
        return least, int(token["most"])
    return least, inf if token["comma"] else least
