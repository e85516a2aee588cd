"""The forms of a schema: `$ref`, `allOf`, `anyOf`, `oneOf`, `const` and lists of types resolved.

Providers support `anyOf` only, and `oneOf` is read as `anyOf`, as a load reads that of documents.
The sources of a file argument exclude each other: an alternative of an object loses the properties
that another one requires.

Spec: JSON Schema 2020-12, Core, section 10.2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import UNIONS, is_type, reachable_definitions
from openapi_tools.common.json_values import contains_value, omit_keys, resolve_reference
from openapi_tools.providers.forms import (
    ANNOTATIONS,
    IN_PLACE,
    CannotExpress,
    form_type,
    intersect_forms,
    split_types,
)
from openapi_tools.providers.identity_cache import IdentityCache
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.providers.forms import Form

_DEEPEST = 64
# Unions inside unions multiply: each form is compared with those of all other branches.
_MOST = 1024
_MOST_RIVALS = 256
BY_VALUE = ANNOTATIONS | {"enum", "type"}
"""Keywords that decide about a value without a validator."""


class Alternatives:
    """Finds the alternatives of schemas inside one input schema, the `root`."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._options_by_schema: IdentityCache[list[Form]] = IdentityCache()

    def options(self, node: Any, depth: int = 0) -> list[Form]:
        """Return the alternatives of a schema, none when it accepts nothing."""
        if depth > _DEEPEST:
            raise CannotExpress("its alternatives are nested too deeply")
        if not isinstance(node, dict):
            return [{}] if node is True else []
        if node.keys().isdisjoint(IN_PLACE):
            return split_types(node)
        return self._options_by_schema.find(node, lambda node: self._find_options(node, depth))

    def _find_options(self, node: Form, depth: int) -> list[Form]:
        forms = self.base_forms(node, depth)
        for keyword in UNIONS:
            if keyword in node:
                parts = self.branch_forms(forms, node[keyword], keyword, depth)
                forms = [form for part in parts for form in part]
        rest = node.get("unevaluatedProperties", True)
        return forms if rest is True else [{"additionalProperties": rest, **form} for form in forms]

    def base_forms(self, node: Form, depth: int = 0) -> list[Form]:
        """Return the alternatives of a schema but for its unions; its words go with the unions."""
        annotations = () if node.keys().isdisjoint(UNIONS) else ANNOTATIONS
        left_out = {*IN_PLACE, *annotations, "unevaluatedProperties"}
        forms = split_types(omit_keys(node, left_out))
        parts = [resolve_reference(self._root, node["$ref"])] if "$ref" in node else []
        for part in (*parts, *node.get("allOf", ())):
            if part is not None:  # a `$ref` that leads nowhere refuses nothing
                forms = _intersect_all(forms, self.options(part, depth + 1))
        return forms

    def branch_forms(
        self, base: list[Form], branches: list[Any], keyword: str, depth: int = 0
    ) -> list[list[Form]]:
        """Return the alternatives of each branch of a union, met with those of its base."""
        options = [self.options(branch, depth + 1) for branch in branches]
        if sum(map(len, options)) > _MOST:
            raise CannotExpress("it has too many alternatives")
        branch_forms = [_intersect_all(base, forms) for forms in options]
        if keyword != "oneOf":
            return branch_forms
        if sum(map(len, branch_forms)) > _MOST_RIVALS:
            raise CannotExpress("it has too many alternatives to tell them apart")
        narrowed: list[list[Form]] = []
        for index, forms in enumerate(branch_forms):
            rivals = [form for i, part in enumerate(branch_forms) if i != index for form in part]
            narrowed.append([_omit_properties_of_rivals(form, rivals) for form in forms])
        return narrowed


def _intersect_all(left: list[Form], right: list[Form]) -> list[Form]:
    if len(left) * len(right) > _MOST:
        raise CannotExpress("it has too many alternatives")
    met = (intersect_forms(one, other) for one in left for other in right)
    return [form for form in met if form is not None]


def _omit_properties_of_rivals(form: Form, rivals: list[Form]) -> Form:
    for other in rivals:
        form = _omit_properties_required_by(form, other)
    return form


def _omit_properties_required_by(form: Form, other: Form) -> Form:
    marks = [name for name in other.get("required", ()) if name not in form.get("required", ())]
    if form_type(form) != "object" or not marks or _is_open(form):
        return form
    kept = {name: node for name, node in form.get("properties", {}).items() if name not in marks}
    return {**form, "properties": kept, "additionalProperties": False}


def _is_open(form: Form) -> bool:
    rest = form.get("additionalProperties", not form.get("properties"))
    return rest is not False or "patternProperties" in form


class FormChecker:
    """Decides about the forms of one input schema, of which it needs the `$defs`."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._checkers: IdentityCache[Callable[[Any], bool]] = IdentityCache()

    def fits(self, form: Form, value: Any) -> bool:
        """Return whether a form accepts a value, without a validator where that is plain."""
        if "enum" in form and not contains_value(form["enum"], value):
            return False
        if "type" in form and not is_type(value, form["type"]):
            return False
        return form.keys() <= BY_VALUE or self.accepts(form, value)

    def accepts(self, schema: Any, value: Any) -> bool:
        """Return whether any schema accepts a value; yes, where finding out takes too long."""
        if not isinstance(schema, dict):
            return bool(schema)
        is_valid = self._checkers.find(
            schema,
            lambda part: (
                Checker({**part, "$defs": reachable_definitions(part, self._definitions)}).fits
            ),
        )
        return is_valid(value)
