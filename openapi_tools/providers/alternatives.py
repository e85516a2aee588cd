"""The forms of a schema: `$ref`, `allOf`, `anyOf`, `oneOf`, `const` and lists of types resolved.

Providers support `anyOf` only. `oneOf` becomes `anyOf` where no value fits two alternatives. Where
a value does, an alternative loses what it shares with another one: the properties that distinguish
the other, or the empty array.

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

    Fits = Callable[[Form, Any], bool]

_DEEPEST = 64
# A discriminator is at most this deep; whole schemas would be compared with each other.
_DEEPEST_COMPARED = 3
# Unions inside unions multiply: each form is compared with those of all other branches.
_MOST = 1024
_MOST_RIVALS = 256
_MOST_PAIRS = 16
BY_VALUE = ANNOTATIONS | {"enum", "type"}
"""Keywords that decide about a value without a validator."""
_NUMBERS = {"integer", "number"}


class Alternatives:
    """Finds the alternatives of schemas inside one input schema, the `root`.

    Without `fits`, and in `plain`, `oneOf` is read as `anyOf`. `has_lost` is true after an
    alternative was dropped because the others accept all that it accepts.
    """

    def __init__(self, root: dict[str, Any], fits: Fits | None = None) -> None:
        self._root = root
        self._options_by_schema: IdentityCache[list[Form]] = IdentityCache()
        self.plain = self if fits is None else Alternatives(root)
        self.has_lost = False
        self._disjoint = None if fits is None else _DisjointBranches(self.plain, fits)

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
        words = () if node.keys().isdisjoint(UNIONS) else ANNOTATIONS
        left_out = {*IN_PLACE, *words, "unevaluatedProperties"}
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
        if keyword != "oneOf" or self._disjoint is None:
            return branch_forms
        if sum(map(len, branch_forms)) > _MOST_RIVALS:
            raise CannotExpress("it has too many alternatives to tell them apart")
        rivals = [
            _intersect_all(base, self.plain.options(branch, depth + 1)) for branch in branches
        ]
        narrowed_branches: list[list[Form]] = []
        for index, forms in enumerate(branch_forms):
            rival_forms = [form for i, part in enumerate(rivals) if i != index for form in part]
            narrowed = [self._disjoint.narrow(form, rival_forms) for form in forms]
            narrowed_branches.append([form for form in narrowed if form is not None])
            pairs = zip(forms, narrowed, strict=True)
            self.has_lost |= any(left is None and "enum" not in form for form, left in pairs)
        return narrowed_branches


def _intersect_all(left: list[Form], right: list[Form]) -> list[Form]:
    if len(left) * len(right) > _MOST:
        raise CannotExpress("it has too many alternatives")
    met = (intersect_forms(one, other) for one in left for other in right)
    return [form for form in met if form is not None]


class _DisjointBranches:
    """Makes the alternatives of a `oneOf` disjoint; its own forms read `oneOf` as `anyOf`."""

    def __init__(self, forms: Alternatives, fits: Fits) -> None:
        self._forms = forms
        self._fits = fits

    def narrow(self, form: Form, rivals: list[Form], depth: int = _DEEPEST_COMPARED) -> Form | None:
        """Return a form without what others accept too; None when nothing is left of it."""
        if "enum" in form:
            values = [v for v in form["enum"] if not any(self._fits(other, v) for other in rivals)]
            return {**form, "enum": values} if values else None
        remainder: Form | None = form
        if rivals and "type" not in form and (implied := form_type(form)) is not None:
            remainder = {**form, "type": implied}  # what else it accepts cannot be told apart
        for other in rivals:
            if remainder is not None and not self._are_disjoint(remainder, other, depth):
                remainder = self._subtract(remainder, other, depth)
        return remainder

    def _are_disjoint(self, form: Form, other: Form, depth: int) -> bool:
        for one, two in ((form, other), (other, form)):
            if "enum" in one:
                return not any(self._fits(two, value) for value in one["enum"])
        kind, other_kind = form_type(form), other.get("type")
        if kind is None:
            return False
        if kind != form_type(other) and not {kind, other_kind} <= _NUMBERS:
            return other_kind is not None  # a form without a type accepts values of the others
        if kind == "object":
            return self._are_disjoint_objects(form, other, depth)
        if kind == "array":
            some = form.get("minItems", 0) > 0 or other.get("minItems", 0) > 0
            apart = some and self._are_disjoint_items(form, other, depth)
            return apart or _has_disjoint_range(form, other, "minItems", "maxItems")
        bounds = ("minLength", "maxLength") if kind == "string" else ("minimum", "maximum")
        return _has_disjoint_range(form, other, *bounds)

    def _are_disjoint_objects(self, form: Form, other: Form, depth: int) -> bool:
        properties, other_properties = form.get("properties", {}), other.get("properties", {})
        required, other_required = form.get("required", ()), other.get("required", ())
        names = {*properties, *required}
        if not _is_open(form) and any(name not in names for name in other_required):
            return True
        closed = other.get("additionalProperties") is False and "patternProperties" not in other
        if closed and any(name not in other_properties for name in required):
            return True
        return any(
            self._are_disjoint_schemas(properties[name], other_properties[name], depth - 1)
            for name in dict.fromkeys([*required, *other_required])
            if name in properties and name in other_properties
        )

    def _are_disjoint_items(self, form: Form, other: Form, depth: int) -> bool:
        if "items" not in form or "items" not in other:
            return False
        plain = "prefixItems" not in form and "prefixItems" not in other
        return plain and self._are_disjoint_schemas(form["items"], other["items"], depth - 1)

    def _are_disjoint_schemas(self, one: Any, other: Any, depth: int) -> bool:
        if depth < 0 or one is other:
            return False
        options, other_options = self._forms.options(one), self._forms.options(other)
        if len(options) * len(other_options) > _MOST_PAIRS:
            return False
        return all(
            self._are_disjoint(form, two, depth) for form in options for two in other_options
        )

    def _subtract(self, form: Form, other: Form, depth: int) -> Form | None:
        match form_type(form):
            case "object" if form_type(other) == "object":
                return _omit_properties_required_by(form, other) or self._require_distinct_property(
                    form, other, depth - 1
                )
            case "array" if self._are_disjoint_items(form, other, depth):
                return {**form, "minItems": 1}
        return None

    def _require_distinct_property(self, form: Form, other: Form, depth: int) -> Form | None:
        properties, other_properties = form.get("properties", {}), other.get("properties", {})
        shared = [name for name in properties if name in other_properties] if depth >= 0 else []
        required_names = form.get("required", [])
        for name in sorted(shared, key=lambda name: name not in required_names):
            other_options = self._forms.options(other_properties[name])
            options = self._forms.options(properties[name])
            if len(options) * len(other_options) > _MOST_PAIRS:
                continue
            narrowed = [self.narrow(option, other_options, depth) for option in options]
            left = [option for option in narrowed if option is not None]
            if left:
                member = properties[name] if left == options else {"anyOf": left}
                required = required_names if name in required_names else [*required_names, name]
                return {**form, "properties": {**properties, name: member}, "required": required}
        return None


def _omit_properties_required_by(form: Form, other: Form) -> Form | None:
    properties = form.get("properties", {})
    marks = [name for name in other.get("required", ()) if name not in form.get("required", ())]
    if not marks or _is_open(form):
        return None
    kept = {name: schema for name, schema in properties.items() if name not in marks}
    return {**form, "properties": kept, "additionalProperties": False}


def _is_open(form: Form) -> bool:
    rest = form.get("additionalProperties", not form.get("properties"))
    return rest is not False or "patternProperties" in form


def _has_disjoint_range(one: Form, other: Form, least: str, most: str) -> bool:
    return any(
        least in low and most in high and low[least] > high[most]
        for low, high in ((one, other), (other, one))
    )


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
