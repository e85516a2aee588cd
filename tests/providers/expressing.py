"""Inputs as a model writes them by the schema that it is shown, in the form of any profile.

Written from what definitions look like; the package's way back is not used here.
"""

import json
from contextlib import suppress

from profile_rules import schema_of
from profile_values import read_literally

from openapi_tools.providers.containers import portable_names
from openapi_tools.validation.checker import Checker

KEY, VALUE, ENTRIES = "key", "value", "entries"


class InexpressibleError(Exception):
    """A value has no form by a schema."""


def expression_of(definition, profile):
    """Return how values are written by a definition for a profile."""
    strict = definition.value.get("function", definition.value).get("strict") is True
    schema = schema_of(profile, definition.value)
    return Expression(schema, subset=strict or profile == "gemini", null_for_absent=strict)


class Expression:
    """Writes values by one shown schema; `subset` is a profile whose objects are closed."""

    def __init__(self, schema, *, subset=False, null_for_absent=False):
        self.is_plain = not subset
        self.schema = read_literally(schema) if subset else schema
        self.definitions = self.schema.get("$defs", {})
        self.null_for_absent = null_for_absent
        self.checkers = {}

    def express(self, value):
        """Return a value in the form of the schema, which accepts it."""
        form = self.write(self.schema, value)
        if not self.fits(self.schema, form):
            raise InexpressibleError(form)
        return form

    def fits(self, node, form):
        if node is True or node == {}:
            return True
        entry = self.checkers.get(id(node))
        if entry is None:
            checker = Checker({**node, "$defs": self.definitions})
            entry = self.checkers[id(node)] = (node, checker)
        return entry[1].fits(form)

    def write(self, node, value):
        node = self.follow(node)
        if not isinstance(node, dict) or (self.is_plain and not isinstance(value, dict)):
            return value
        if "anyOf" in node:
            return self.of_union(node["anyOf"], value)
        if "enum" in node:
            return label_value(node["enum"], value)
        kinds = node.get("type", [])
        return self.of_kinds(node, kinds if isinstance(kinds, list) else [kinds], value)

    def follow(self, node):
        while isinstance(node, dict) and "$ref" in node:
            node = self.definitions[node["$ref"].removeprefix("#/$defs/")]
        return node

    def of_kinds(self, node, kinds, value):
        """Return a value in the form of one of some types."""
        if isinstance(value, dict) and "object" in kinds:
            return self.of_object(node, value)
        if isinstance(value, dict) and "array" in kinds:
            return [self.of_pair(node["items"], *pair) for pair in value.items()]
        if isinstance(value, list) and "array" in kinds:
            return [self.write(node.get("items", True), item) for item in value]
        is_text = isinstance(value, dict | list) and "string" in kinds
        return json.dumps(value) if is_text else value

    def of_union(self, branches, value):
        """Return the first form that an alternative accepts; JSON as text only without another."""
        forms = []
        for branch in branches:
            with suppress(InexpressibleError):
                form = self.write(branch, value)
                if self.fits(branch, form):
                    forms.append(form)
        if not forms:
            raise InexpressibleError(value)
        forms.sort(key=lambda form: isinstance(form, str) > isinstance(value, str))
        return forms[0]

    def of_pair(self, node, name, value):
        properties = self.follow(node).get("properties", {})
        if properties.keys() != {KEY, VALUE}:
            raise InexpressibleError(name)
        return {KEY: name, VALUE: self.write(properties[VALUE], value)}

    def of_object(self, node, value):
        properties = node.get("properties", {})
        if properties.keys() == {ENTRIES} and ENTRIES not in value:
            pairs = properties[ENTRIES]["items"]
            return {ENTRIES: [self.of_pair(pairs, *pair) for pair in value.items()]}
        form, rest = {}, {}
        for name, item in value.items():
            wire_name = next((n for n in (name, *portable_names(name)) if n in properties), None)
            if wire_name is None:
                rest[name] = item
            else:
                form[wire_name] = self.write(properties[wire_name], item)
        form |= self.of_rest(node, rest, form)
        if self.null_for_absent:
            form |= {name: None for name in properties if name not in form}
        return form

    def of_rest(self, node, rest, form):
        """Return properties that are not declared, as they are or as pairs of an extra property."""
        if not rest or node.get("additionalProperties", True) is not False:
            return rest
        extras = max(
            (n for n in node["properties"] if n.startswith("additional_properties")), default=None
        )
        if extras is None or extras in form:
            raise InexpressibleError(rest)
        return {extras: self.write(node["properties"][extras], rest)}


def label_value(values, value):
    """Return a value of an enumeration, or its label."""
    if any(type(one) is type(value) and one == value for one in values):
        return value
    label = "(empty)" if value == "" else json.dumps(value, ensure_ascii=False)
    while label not in values and len(label) < 10_000 and label.count("(") < 5:
        label = f"({label})"
    return label if label in values else value
