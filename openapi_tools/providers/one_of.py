"""Alternatives of which exactly one may fit, where a provider only knows "at least one".

`oneOf` becomes `anyOf` where no value fits two alternatives. Where some value does, an alternative
loses what it shares with another one: members that tell the other apart, or the empty array.

Spec: JSON Schema 2020-12, Core, section 10.2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.providers.simple_forms import kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.providers.containers import Fits
    from openapi_tools.providers.simple_forms import Form, Forms

_NUMBERS = {"integer", "number"}
_DEEPEST = 3
_MOST = 16


class Apart:
    """Tells the alternatives of one input schema apart.

    Args:
        forms: Its forms, in which `oneOf` is read like `anyOf`.
        fits: Tells whether a value fits one of them.
    """

    def __init__(self, forms: Forms, fits: Fits) -> None:
        self._forms = forms
        self._fits = fits

    def narrowed(self, form: Form, others: Iterable[Form], depth: int = _DEEPEST) -> Form | None:
        """Return a form without what others accept too; None when nothing is left of it.

        Args:
            form: Its objects have declared members only.
            others: Those of other alternatives.
            depth: How far to look inside.
        """
        rivals = list(others)
        if "enum" in form:
            values = [v for v in form["enum"] if not any(self._fits(other, v) for other in rivals)]
            return {**form, "enum": values} if values else None
        left: Form | None = form
        if rivals and "type" not in form and (implied := kind(form)) is not None:
            left = {**form, "type": implied}  # what else it accepts cannot be told apart
        for other in rivals:
            if left is not None and not self._disjoint(left, other, depth):
                left = self._without(left, other, depth)
        return left

    def _disjoint(self, form: Form, other: Form, depth: int) -> bool:
        if "enum" in form:
            return not any(self._fits(other, value) for value in form["enum"])
        if "enum" in other:
            return not any(self._fits(form, value) for value in other["enum"])
        one, two = kind(form), other.get("type")
        if one is None or one == kind(other):
            return one is not None and self._disjoint_kinds(form, other, depth)
        if two is None:
            return False  # without a type it accepts what its keywords do not speak of
        numbers = {one, two} <= _NUMBERS
        return not numbers or _beyond(form, other, "minimum", "maximum")

    def _disjoint_kinds(self, form: Form, other: Form, depth: int) -> bool:
        """Tell whether two forms of one type have no value in common."""
        match kind(form):
            case "object":
                return self._disjoint_objects(form, other, depth)
            case "array":
                return self._disjoint_arrays(form, other, depth)
            case "string":
                return _beyond(form, other, "minLength", "maxLength")
        return _beyond(form, other, "minimum", "maximum")

    def _disjoint_objects(self, form: Form, other: Form, depth: int) -> bool:
        mine, theirs = form.get("properties", {}), other.get("properties", {})
        needed, wanted = form.get("required", ()), other.get("required", ())
        known = {*mine, *needed}
        if not _takes_others(form) and any(name not in known for name in wanted):
            return True
        if _is_closed(other) and any(name not in theirs for name in needed):
            return True
        shared = [name for name in dict.fromkeys([*needed, *wanted]) if name in mine]
        return any(
            self._disjoint_schemas(mine[name], theirs[name], depth - 1)
            for name in shared
            if name in theirs
        )

    def _disjoint_arrays(self, form: Form, other: Form, depth: int) -> bool:
        if _beyond(form, other, "minItems", "maxItems"):
            return True
        some = form.get("minItems", 0) > 0 or other.get("minItems", 0) > 0
        return some and self._disjoint_items(form, other, depth)

    def _disjoint_items(self, form: Form, other: Form, depth: int) -> bool:
        if "items" not in form or "items" not in other:
            return False
        plain = "prefixItems" not in form and "prefixItems" not in other
        return plain and self._disjoint_schemas(form["items"], other["items"], depth - 1)

    def _disjoint_schemas(self, one: Any, other: Any, depth: int) -> bool:
        if depth < 0 or one is other:
            return False
        mine, theirs = self._forms.options(one), self._forms.options(other)
        if len(mine) * len(theirs) > _MOST:
            return False
        return all(self._disjoint(form, two, depth) for form in mine for two in theirs)

    def _without(self, form: Form, other: Form, depth: int) -> Form | None:
        """Return a form without what another one accepts; None when that cannot be said."""
        match kind(form):
            case "object" if kind(other) == "object":
                return _without_marks(form, other) or self._marked(form, other, depth - 1)
            case "array" if self._disjoint_items(form, other, depth):
                return {**form, "minItems": 1}
        return None

    def _marked(self, form: Form, other: Form, depth: int) -> Form | None:
        """Return an object with a member that the other one does not have like that."""
        mine, theirs = form.get("properties", {}), other.get("properties", {})
        shared = [name for name in mine if name in theirs] if depth >= 0 else []
        needed = form.get("required", [])
        for name in sorted(shared, key=lambda name: name not in needed):
            others = self._forms.options(theirs[name])
            options = self._forms.options(mine[name])
            if len(options) * len(others) > _MOST:
                continue
            told = [self.narrowed(option, others, depth) for option in options]
            left = [option for option in told if option is not None]
            if left:
                member = mine[name] if left == options else {"anyOf": left}
                required = needed if name in needed else [*needed, name]
                return {**form, "properties": {**mine, name: member}, "required": required}
        return None


def _without_marks(form: Form, other: Form) -> Form | None:
    """Return an object without the members that another one cannot be without."""
    mine = form.get("properties", {})
    marks = [name for name in other.get("required", ()) if name not in form.get("required", ())]
    if not marks or _takes_others(form):
        return None
    members = {name: schema for name, schema in mine.items() if name not in marks}
    return {**form, "properties": members, "additionalProperties": False}


def _takes_others(form: Form) -> bool:
    """Tell whether a profile's object may have members that are not declared."""
    rest = form.get("additionalProperties", not form.get("properties"))
    return rest is not False or "patternProperties" in form


def _is_closed(form: Form) -> bool:
    return form.get("additionalProperties") is False and "patternProperties" not in form


def _beyond(one: Form, other: Form, least: str, most: str) -> bool:
    """Tell whether the bounds of two forms have nothing in common."""
    return any(
        least in low and most in high and low[least] > high[most]
        for low, high in ((one, other), (other, one))
    )
