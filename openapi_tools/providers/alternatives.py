"""The forms of a schema: `$ref`, `allOf`, `anyOf`, `oneOf`, `const` and lists of types worked out.

A provider knows "at least one" only. `oneOf` becomes `anyOf` where no value fits two alternatives;
where some value does, an alternative loses what it shares with another one: members that tell the
other apart, or the empty array.

Spec: JSON Schema 2020-12, Core, section 10.2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import UNIONS, is_type, reachable_definitions
from openapi_tools.json_values import contains_value, omit_keys, resolve_reference
from openapi_tools.providers.forms import IN_PLACE, WORDS, CannotExpress, by_type, kind, meet
from openapi_tools.providers.identity_cache import IdentityCache
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.providers.forms import Form

    Fits = Callable[[Form, Any], bool]

_DEEPEST = 64
_DEEPEST_APART = 3
_MOST = 1024
_MOST_RIVALS = 256
_MOST_PAIRS = 16
BY_VALUE = WORDS | {"enum", "type"}
"""Keywords that decide about a value without a validator."""
_NUMBERS = {"integer", "number"}


class Forms:
    """Works out the alternatives of schemas inside one input schema, the `root`.

    Without `fits`, and in `plain`, `oneOf` is `anyOf`; `lost` is set where an alternative accepts
    nothing of its own.
    """

    def __init__(self, root: dict[str, Any], fits: Fits | None = None) -> None:
        self._root = root
        self._known: IdentityCache[list[Form]] = IdentityCache()
        self.plain = self if fits is None else Forms(root)
        self.lost = False
        self._apart = None if fits is None else _Apart(self.plain, fits)

    def options(self, node: Any, depth: int = 0) -> list[Form]:
        """Return the alternatives of a schema, none when it accepts nothing."""
        if depth > _DEEPEST:
            raise CannotExpress("its alternatives are nested too deep")
        if not isinstance(node, dict):
            return [{}] if node is True else []
        if node.keys().isdisjoint(IN_PLACE):
            return by_type(node)
        return self._known.find(node, lambda node: self._options(node, depth))

    def _options(self, node: Form, depth: int) -> list[Form]:
        forms = self.base(node, depth)
        for keyword in UNIONS:
            if keyword in node:
                parts = self.branches(forms, node[keyword], keyword, depth)
                forms = [form for part in parts for form in part]
        rest = node.get("unevaluatedProperties", True)
        return forms if rest is True else [{"additionalProperties": rest, **form} for form in forms]

    def base(self, node: Form, depth: int = 0) -> list[Form]:
        """Return the alternatives of a schema but for its unions; its words go with the unions."""
        words = () if node.keys().isdisjoint(UNIONS) else WORDS
        left_out = {*IN_PLACE, *words, "unevaluatedProperties"}
        forms = by_type(omit_keys(node, left_out))
        parts = [resolve_reference(self._root, node["$ref"])] if "$ref" in node else []
        for part in (*parts, *node.get("allOf", ())):
            if part is not None:  # a `$ref` that leads nowhere refuses nothing
                forms = _both(forms, self.options(part, depth + 1))
        return forms

    def branches(
        self, base: list[Form], branches: list[Any], keyword: str, depth: int = 0
    ) -> list[list[Form]]:
        """Return the alternatives of each branch of a union, met with those of its base."""
        told = [self.options(branch, depth + 1) for branch in branches]
        if sum(map(len, told)) > _MOST:
            raise CannotExpress("it has too many alternatives")
        met = [_both(base, forms) for forms in told]
        if keyword != "oneOf" or self._apart is None:
            return met
        if sum(map(len, met)) > _MOST_RIVALS:
            raise CannotExpress("it has too many alternatives to tell them apart")
        rivals = [_both(base, self.plain.options(branch, depth + 1)) for branch in branches]
        found: list[list[Form]] = []
        for index, forms in enumerate(met):
            others = [form for i, part in enumerate(rivals) if i != index for form in part]
            narrowed = [self._apart.narrowed(form, others) for form in forms]
            found.append([form for form in narrowed if form is not None])
            pairs = zip(forms, narrowed, strict=True)
            self.lost |= any(left is None and "enum" not in form for form, left in pairs)
        return found


def _both(some: list[Form], others: list[Form]) -> list[Form]:
    if len(some) * len(others) > _MOST:
        raise CannotExpress("it has too many alternatives")
    met = (meet(one, other) for one in some for other in others)
    return [form for form in met if form is not None]


class _Apart:
    """Tells the alternatives of one input schema apart; its forms read `oneOf` like `anyOf`."""

    def __init__(self, forms: Forms, fits: Fits) -> None:
        self._forms = forms
        self._fits = fits

    def narrowed(self, form: Form, rivals: list[Form], depth: int = _DEEPEST_APART) -> Form | None:
        """Return a form without what others accept too; None when nothing is left of it."""
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
        for one, two in ((form, other), (other, form)):
            if "enum" in one:
                return not any(self._fits(two, value) for value in one["enum"])
        own, declared = kind(form), other.get("type")
        if own is None:
            return False
        if own != kind(other) and not {own, declared} <= _NUMBERS:
            return declared is not None  # a form without a type accepts values of the others
        if own == "object":
            return self._disjoint_objects(form, other, depth)
        if own == "array":
            some = form.get("minItems", 0) > 0 or other.get("minItems", 0) > 0
            apart = some and self._disjoint_items(form, other, depth)
            return apart or _beyond(form, other, "minItems", "maxItems")
        bounds = ("minLength", "maxLength") if own == "string" else ("minimum", "maximum")
        return _beyond(form, other, *bounds)

    def _disjoint_objects(self, form: Form, other: Form, depth: int) -> bool:
        mine, theirs = form.get("properties", {}), other.get("properties", {})
        needed, wanted = form.get("required", ()), other.get("required", ())
        known = {*mine, *needed}
        if not _takes_others(form) and any(name not in known for name in wanted):
            return True
        closed = other.get("additionalProperties") is False and "patternProperties" not in other
        if closed and any(name not in theirs for name in needed):
            return True
        return any(
            self._disjoint_schemas(mine[name], theirs[name], depth - 1)
            for name in dict.fromkeys([*needed, *wanted])
            if name in mine and name in theirs
        )

    def _disjoint_items(self, form: Form, other: Form, depth: int) -> bool:
        if "items" not in form or "items" not in other:
            return False
        plain = "prefixItems" not in form and "prefixItems" not in other
        return plain and self._disjoint_schemas(form["items"], other["items"], depth - 1)

    def _disjoint_schemas(self, one: Any, other: Any, depth: int) -> bool:
        if depth < 0 or one is other:
            return False
        mine, theirs = self._forms.options(one), self._forms.options(other)
        if len(mine) * len(theirs) > _MOST_PAIRS:
            return False
        return all(self._disjoint(form, two, depth) for form in mine for two in theirs)

    def _without(self, form: Form, other: Form, depth: int) -> Form | None:
        """Return a form minus the values that another one accepts; None if not expressible."""
        match kind(form):
            case "object" if kind(other) == "object":
                return _without_marks(form, other) or self._marked(form, other, depth - 1)
            case "array" if self._disjoint_items(form, other, depth):
                return {**form, "minItems": 1}
        return None

    def _marked(self, form: Form, other: Form, depth: int) -> Form | None:
        """Return an object form with a required member that tells it from the other form."""
        mine, theirs = form.get("properties", {}), other.get("properties", {})
        shared = [name for name in mine if name in theirs] if depth >= 0 else []
        needed = form.get("required", [])
        for name in sorted(shared, key=lambda name: name not in needed):
            others = self._forms.options(theirs[name])
            options = self._forms.options(mine[name])
            if len(options) * len(others) > _MOST_PAIRS:
                continue
            told = [self.narrowed(option, others, depth) for option in options]
            left = [option for option in told if option is not None]
            if left:
                member = mine[name] if left == options else {"anyOf": left}
                required = needed if name in needed else [*needed, name]
                return {**form, "properties": {**mine, name: member}, "required": required}
        return None


def _without_marks(form: Form, other: Form) -> Form | None:
    """Return an object form without the members that another form requires."""
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


def _beyond(one: Form, other: Form, least: str, most: str) -> bool:
    return any(
        least in low and most in high and low[least] > high[most]
        for low, high in ((one, other), (other, one))
    )


class Fitting:
    """Decides about the forms of one input schema, of which it needs the `$defs`."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._judges: IdentityCache[Callable[[Any], bool]] = IdentityCache()

    def fits(self, form: Form, value: Any) -> bool:
        """Tell whether a form accepts a value, without a validator where that is plain."""
        if "enum" in form and not contains_value(form["enum"], value):
            return False
        if "type" in form and not is_type(value, form["type"]):
            return False
        return form.keys() <= BY_VALUE or self.accepts(form, value)

    def accepts(self, schema: Any, value: Any) -> bool:
        """Tell whether any schema accepts a value; yes, where finding out takes too long."""
        if not isinstance(schema, dict):
            return bool(schema)
        judge = self._judges.find(
            schema,
            lambda part: (
                Checker({**part, "$defs": reachable_definitions(part, self._definitions)}).fits
            ),
        )
        return judge(value)
