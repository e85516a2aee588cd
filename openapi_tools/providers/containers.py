"""Objects and arrays: their members and items, and names that each provider takes for members.

Spec: JSON Schema 2020-12, Core, sections 10.2 and 10.3; Validation, sections 6.4 and 6.5.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import rebuilt, same
from openapi_tools.providers.simple_forms import CannotExpress, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.providers.alternatives import Fits
    from openapi_tools.providers.simple_forms import ById, Form

    Takes = Callable[[str], object]

KEY, VALUE = "key", "value"
"""The members of a pair: a map becomes an array of such objects where its keys cannot be told."""
ENTRIES = "entries"  # the only member of an object that may be any JSON object; it holds its pairs
ANYTHING = "_anything"  # the definition of any JSON value; no component's name starts so

_MOST_VARIANTS = 16
_VALUE = {"type": ["string", "number", "boolean", "object", "array"]}
_PORTABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_OTHER = re.compile(r"[^a-zA-Z0-9_]+")
_LONGEST = 64


class Others(NamedTuple):
    """Schemas of the names and of the values of members that an object does not declare."""

    key: Any
    value: Any


class Members(NamedTuple):
    """The members of an object: declared ones, `others` without a name, and how many in all."""

    declared: dict[str, Any]
    required: frozenset[str]
    others: Others | None
    least: int
    most: int | None


def members_of(form: Form, fits: Fits) -> Members:
    """Return the members of an object; CannotExpress where they depend on one another."""
    refuse(form, "if", "dependentSchemas")
    dependent: dict[str, list[str]] = form.get("dependentRequired", {})
    declared = dict(form.get("properties", {}))
    required = set(form.get("required", ()))
    for _ in dependent:
        required.update(*(needed for name, needed in dependent.items() if name in required))
    for name in sorted(required - declared.keys()):
        declared[name] = form.get("additionalProperties", True)
    for pattern, schema in form.get("patternProperties", {}).items():
        for name, own in declared.items():
            if fits({"pattern": pattern}, name):
                spoken = name in form.get("properties", {})
                declared[name] = {"allOf": [own, schema]} if spoken else schema
    refused = {name for name, schema in declared.items() if schema is False}
    if "propertyNames" in form:
        names = {"allOf": [{"type": "string"}, form["propertyNames"]]}
        refused.update(name for name in declared if not fits(names, name))
    refused |= {name for name, needed in dependent.items() if not required.issuperset(needed)}
    if "not" in form:
        refused |= _unwanted(form["not"], required)
    if refused & required:
        raise CannotExpress("it must have a member that it may not have", empty=True)
    kept = {name: schema for name, schema in declared.items() if name not in refused}
    least, most = form.get("minProperties", 0), form.get("maxProperties")
    # Members without a name could have one of those that are refused.
    return Members(kept, frozenset(required), None if refused else _others(form), least, most)


def _unwanted(schema: Any, required: set[str]) -> set[str]:
    """Return the members to leave out, so that no object fits a `not` schema."""
    plain = isinstance(schema, dict) and schema.get("type", "object") == "object"
    keywords = schema.keys() - {"type"} if plain else set()
    if keywords == {"anyOf"}:
        return set[str]().union(*(_unwanted(branch, required) for branch in schema["anyOf"]))
    if keywords != {"required"}:
        raise CannotExpress("`not` cannot be said")
    optional = [name for name in schema["required"] if name not in required]
    if not optional:
        raise CannotExpress("`not` refuses a required member", empty=True)
    return {optional[-1]}


def _others(form: Form) -> Others | None:
    """Return the members without a name; an object that declares some has them where it says so."""
    rest, patterns = form.get("additionalProperties", True), form.get("patternProperties", {})
    names: Any = {"type": "string"}
    if len(patterns) > 1:
        if not form.get("properties"):
            raise CannotExpress("several `patternProperties` cannot be said")
        return None
    for pattern, schema in patterns.items():
        names, rest = {"type": "string", "pattern": pattern}, schema
    is_silent = not patterns and "additionalProperties" not in form
    if rest is False or (form.get("properties") and is_silent):
        return None
    if "propertyNames" in form:
        names = {"allOf": [names, form["propertyNames"]]}
    return Others(names, rest)


def with_one_more(form: Form, members: Members, accepts: Fits) -> list[Form]:
    """Return one form for each optional member that may be the missing one."""
    optional = [name for name in members.declared if name not in members.required]
    missing = members.least - len(members.required)
    if missing > len(optional):
        raise CannotExpress("it accepts nothing", empty=True)
    if missing > 1 or members.others is not None or len(optional) > _MOST_VARIANTS:
        raise CannotExpress("the number of its members cannot be said")
    rest = {key: value for key, value in form.items() if key != "minProperties"}
    return [
        {
            **rest,
            "properties": {**members.declared, name: _present(members.declared[name], accepts)},
            "required": [*members.required, name],
        }
        for name in optional
    ]


def _present(schema: Any, accepts: Fits) -> Any:
    """Return the schema of a member that is there: null would say that it is absent."""
    if schema is True or not accepts(schema, None):
        return _VALUE if schema is True else schema
    if "$ref" in schema:
        raise CannotExpress("the number of its members cannot be said")
    return {"allOf": [schema, _VALUE]}


def items_of(form: Form) -> tuple[Any, int, int | None]:
    """Return the schema of an array's items, and how many it has at least and at most."""
    refuse(form, "contains")
    schema = form.get("items", form.get("unevaluatedItems", True))
    least, most = form.get("minItems", 0), form.get("maxItems")
    prefix = form.get("prefixItems")
    if prefix:
        if not all(same(prefix[0], item) for item in prefix):
            raise CannotExpress("`prefixItems` cannot be said")
        if not (schema is True or same(schema, prefix[0])):
            most = min(len(prefix), len(prefix) if most is None else most)
        schema = prefix[0]
    if schema is False:
        schema, most = True, 0
    if most is not None and most < least:
        raise CannotExpress("it accepts nothing", empty=True)
    if form.get("uniqueItems") is True and least > 1:
        raise CannotExpress("that several items differ cannot be said")
    return schema, least, most


def array_of(items: Form, least: int, most: int | None) -> Form:
    """Return the schema of an array with bounds on the number of its items."""
    counts = {"minItems": least or None, "maxItems": most}
    bounds = {key: count for key, count in counts.items() if count is not None}
    return {"type": "array", "items": items, **bounds}


def are_pairs(value: Any) -> bool:
    """Tell whether a value may be a map written as pairs."""
    return isinstance(value, list) and all(
        isinstance(pair, dict) and pair.keys() == {KEY, VALUE} and isinstance(pair[KEY], str)
        for pair in value
    )


def is_portable(name: str) -> bool:
    """Tell whether every provider takes a member's name unchanged."""
    return _PORTABLE.fullmatch(name) is not None


def portable_forms(name: str) -> tuple[str, str]:
    """Return the names that a member with an unusual one may get: a short one, and a sure one."""
    words = _OTHER.sub("_", name).rstrip("_") or "_"
    if words[0].isdigit():
        words = f"_{words}"
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    sure = f"{words[: _LONGEST - len(mark) - 1]}_{mark}"
    return (words if len(words) <= _LONGEST else sure), sure


def renamed(names: Iterable[str], takes: Takes) -> dict[str, str]:
    """Return new names for those declared members whose names a provider does not take."""
    declared = list(names)
    taken = set(declared)
    found: dict[str, str] = {}
    for name in declared:
        if not takes(name):
            short, sure = portable_forms(name)
            found[name] = sure if short in taken else short
            taken.add(found[name])
    return found


def extras_name(names: Iterable[str]) -> str:
    """Return the name of the member that holds those which an object does not declare."""
    name, declared = "additional_properties", set(names)
    while name in declared:
        name += "_"
    return name


def called(schema: Any, name: str) -> Form:
    """Return the schema of a member that has another name for the provider, with its own name."""
    schema = schema if isinstance(schema, dict) else {} if schema else {"not": {}}
    words = f"Sent as `{name}`. {schema.get('description', '')}".strip()
    return {**({"anyOf": [schema]} if "$ref" in schema else schema), "description": words}


def with_names(node: Any, takes: Takes, known: ById[Any]) -> Any:
    """Return a schema with names that a provider takes; the same one where it has no others."""
    if not isinstance(node, dict):
        return node
    return known.find(node, lambda node: _with_names(node, takes, known))


def _with_names(node: Form, takes: Takes, known: ById[Any]) -> Form:
    new = dict(rebuilt(node, lambda part, _: with_names(part, takes, known)))
    declared = new.get("properties")
    names = renamed(declared, takes) if isinstance(declared, dict) else {}
    if names:
        new["properties"] = {
            names.get(name, name): called(part, name) if name in names else part
            for name, part in new["properties"].items()
        }
    if isinstance(node.get("required"), list):
        new["required"] = [
            names.get(name, name if takes(name) else portable_forms(name)[0])
            for name in node["required"]
        ]
    return node if new == node else new


def labels(values: Iterable[Any]) -> dict[str, Any]:
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
