"""What an object or an array holds, where a provider knows few keywords that say so.

Spec: JSON Schema 2020-12, Core, sections 10.2 and 10.3; Validation, sections 6.4 and 6.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import same
from openapi_tools.providers.shaping import CannotExpress
from openapi_tools.providers.simple_forms import is_anything

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.providers.simple_forms import Form

    Fits = Callable[[Form, Any], bool]


_MOST_VARIANTS = 16
_VALUE = {"type": ["string", "number", "boolean", "object", "array"]}


class Others(NamedTuple):
    """Members that an object does not declare.

    Attributes:
        key: Schema of their names.
        value: Schema of their values.
    """

    key: Any
    value: Any


class Members(NamedTuple):
    """The members that an object may have.

    Attributes:
        declared: Their schemas by name.
        required: The names of those that it must have.
        others: Those without a name; None when there are none.
        least: How many it has at least.
        most: How many at most; None without a limit.
    """

    declared: dict[str, Any]
    required: frozenset[str]
    others: Others | None
    least: int
    most: int | None


class Items(NamedTuple):
    """The items that an array may have.

    Attributes:
        schema: Of each of them.
        least: How many it has at least.
        most: How many at most; None without a limit.
    """

    schema: Any
    least: int
    most: int | None


def members_of(form: Form, fits: Fits) -> Members:
    """Return the members of an object.

    Args:
        form: Of the type object, or without one.
        fits: Tells whether a value fits a form without unions.

    Raises:
        CannotExpress: The members depend on one another, or no object is accepted.
    """
    for keyword in ("if", "dependentSchemas"):
        if keyword in form:
            raise CannotExpress(f"`{keyword}` cannot be said")
    dependent = form.get("dependentRequired", {})
    declared = dict(form.get("properties", {}))
    required = _with_needed(set(form.get("required", ())), dependent)
    for name in sorted(required - declared.keys()):
        declared[name] = form.get("additionalProperties", True)
    _follow_patterns(declared, form, fits)
    refused = _refused(declared, form, fits)
    refused |= {name for name, needed in dependent.items() if not required.issuperset(needed)}
    if "not" in form:
        refused |= _unwanted(form["not"], required)
    if refused & required:
        raise CannotExpress("it must have a member that it may not have", empty=True)
    kept = {name: schema for name, schema in declared.items() if name not in refused}
    least, most = form.get("minProperties", 0), form.get("maxProperties")
    # Members without a name could have one of those that are refused.
    return Members(kept, frozenset(required), None if refused else _others(form), least, most)


def _with_needed(required: set[str], dependent: dict[str, list[str]]) -> set[str]:
    """Return the required members with those that they need in turn."""
    for _ in dependent:
        for name, needed in dependent.items():
            if name in required:
                required.update(needed)
    return required


def _refused(declared: dict[str, Any], form: Form, fits: Fits) -> set[str]:
    """Return the declared members that an object may not have."""
    refused = {name for name, schema in declared.items() if schema is False}
    if "propertyNames" in form:
        names = {"allOf": [{"type": "string"}, form["propertyNames"]]}
        refused.update(name for name in declared if not fits(names, name))
    return refused


def _follow_patterns(declared: dict[str, Any], form: Form, fits: Fits) -> None:
    """Let patterns of names apply to the declared members too."""
    for pattern, schema in form.get("patternProperties", {}).items():
        for name, own in declared.items():
            if fits({"pattern": pattern}, name):
                spoken = name in form.get("properties", {})
                declared[name] = {"allOf": [own, schema]} if spoken else schema


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
    if rest is False or (form.get("properties") and not patterns and _is_silent(form)):
        return None
    if "propertyNames" in form:
        names = {"allOf": [names, form["propertyNames"]]}
    return Others(names, rest)


def _is_silent(form: Form) -> bool:
    return "additionalProperties" not in form


def with_one_more(form: Form, members: Members, takes: Fits) -> list[Form]:
    """Return an object that needs one more member as one object for each that it may be.

    Args:
        form: The object.
        members: Its members.
        takes: Tells whether a value fits any schema.

    Raises:
        CannotExpress: It needs more than one, or they are too many.
    """
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
            "properties": {**members.declared, name: _present(members.declared[name], takes)},
            "required": [*members.required, name],
        }
        for name in optional
    ]


def _present(schema: Any, takes: Fits) -> Any:
    """Return the schema of a member that is there: null would say that it is absent."""
    if schema is True or not takes(schema, None):
        return _VALUE if schema is True else schema
    if "$ref" in schema:
        raise CannotExpress("the number of its members cannot be said")
    return {"allOf": [schema, _VALUE]}


def items_of(form: Form) -> Items:
    """Return the items of an array.

    Args:
        form: Of the type array, or without one.

    Raises:
        CannotExpress: They differ by their place, or depend on one another.
    """
    if "contains" in form:
        raise CannotExpress("`contains` cannot be said")
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
    return Items(schema, least, most)


def array_of(items: Form, least: int, most: int | None) -> Form:
    """Return the schema of an array with bounds on the number of its items."""
    schema: Form = {"type": "array", "items": items}
    if least:
        schema["minItems"] = least
    if most is not None:
        schema["maxItems"] = most
    return schema


def is_free(schema: Any) -> bool:
    """Tell whether a schema accepts every value."""
    return schema is True or (isinstance(schema, dict) and is_anything(schema))
