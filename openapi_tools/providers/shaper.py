"""Shapes input schemas for providers: the part common to all that take a subset of JSON Schema.

Whatever fits the shaped schema is, once restored, accepted by the schema itself. A shaped object
has declared properties only: a provider makes no others.

Spec: JSON Schema 2020-12, Core and Validation.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import DEFINITIONS_PREFIX, UNIONS
from openapi_tools.common.json_values import pointer_token, unique_values
from openapi_tools.providers import containers
from openapi_tools.providers.alternatives import BY_VALUE, Alternatives, FormChecker
from openapi_tools.providers.containers import ANYTHING, KEY, VALUE
from openapi_tools.providers.dialects import HARD, iter_looser_schemas
from openapi_tools.providers.forms import (
    ANNOTATIONS,
    CannotExpress,
    form_type,
    is_anything,
    refuse_keywords,
)
from openapi_tools.providers.memory import Memory, ShapedSchema, ShapeEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openapi_tools.providers.containers import ObjectProperties, OpenProperties
    from openapi_tools.providers.dialects import Gemini, Strict
    from openapi_tools.providers.forms import Form

_MOST_SCHEMAS = 20_000
_MOST_ROUNDS = 50
_DEEPEST = 64
_LEGEND = 1_000
_FREE = {"$ref": DEFINITIONS_PREFIX + ANYTHING}


class SchemaShaper:
    """Makes one input schema fit a provider; below a depth of `levels` anything is accepted."""

    def __init__(
        self, schema: Form, dialect: Strict | Gemini, memory: Memory, levels: int | None = None
    ) -> None:
        self._schema = schema
        self._dialect = dialect
        self._memory = memory
        self._levels = levels
        self._definitions: Form = schema.get("$defs", {})
        self._fitting = FormChecker(self._definitions)
        self._fits = self._fitting.fits
        self._forms = Alternatives(schema)
        self._failed: dict[str, CannotExpress] = {}
        self._references: set[str] = set()
        self._open: set[int] = set()
        self._deepest = 0
        self._left = _MOST_SCHEMAS
        self.notes: list[str] = []
        memory.use_definitions(self._definitions)

    def shape(self) -> Form:
        """Return the schema in the provider's dialect.

        Raises:
            CannotExpress: The dialect has no schema for it.
        """
        for _ in range(_MOST_ROUNDS):
            failed = len(self._failed)
            self.notes.clear()
            self._references = set()
            root = self._shape_root()
            definitions = self._shape_definitions()
            if len(self._failed) == failed:
                return {**root, "$defs": definitions} if definitions else root
        raise CannotExpress("too many of its definitions cannot be expressed")

    def _shape_root(self) -> Form:
        hidden = {"$defs"} if self._levels is None else {"$defs", *HARD}
        schema = {key: value for key, value in self._schema.items() if key not in hidden}
        forms = self._forms.options(schema)
        if len(forms) != 1 or form_type(forms[0]) != "object":
            raise CannotExpress("the input is not a plain object")
        return self._shape_object(forms[0], "", whole=True)

    def _shape_definitions(self) -> dict[str, Form]:
        definitions: dict[str, Form] = {}
        waiting = sorted(self._references)
        while waiting:
            name = waiting.pop()
            if name == ANYTHING:
                definitions |= self._dialect.anything()
            elif name not in definitions and name not in self._failed:
                self._references = set()
                try:
                    place = f"/$defs{pointer_token(name)}"
                    definitions[name] = self._shape_once(self._definitions[name], place).whole
                except CannotExpress as error:
                    if error.final:
                        raise
                    self._failed[name] = error
                waiting += sorted(self._references)
        return {name: definitions[name] for name in sorted(definitions)}

    def _shape_once(self, node: Any, place: str) -> ShapedSchema:
        entry = self._memory.find_entry(node, self._levels)
        if entry is not None and entry.references.isdisjoint(self._failed):
            self._references |= entry.references
            return entry.shaped
        outer, self._references = self._references, set()
        notes = len(self.notes)
        self._deepest = 0
        try:
            shaped = self._shape_schema(node, place)
            if len(self.notes) == notes:
                entry = ShapeEntry(node, shaped, frozenset(self._references), self._deepest)
                self._memory.add_entry(entry, self._levels)
        finally:
            self._references |= outer
        return shaped

    def _shape_schema(self, node: Any, place: str) -> ShapedSchema:
        depth = len(self._open)
        self._deepest = max(self._deepest, depth)
        if self._levels is not None and depth >= self._levels:
            description = node.get("description") if isinstance(node, dict) else None
            node = {} if description is None else {"description": description}
        self._left -= 1
        if self._left < 0:
            raise CannotExpress("the schema is too large", place=place, final=True)
        if id(node) in self._open:
            raise CannotExpress("it refers to itself with other keywords", place=place)
        if depth >= _DEEPEST:  # merging makes new nodes, so a cycle has no known node
            reason = "it is nested too deeply, or refers to itself"
            raise CannotExpress(reason, place=place, final=True)
        self._open.add(id(node))
        try:
            return self._shape_checked(node, place)
        except CannotExpress as error:
            error.place = error.place or place
            if self._levels is None or error.final or error.empty:
                raise
            return self._shape_looser(node, error)
        finally:
            self._open.discard(id(node))

    def _shape_looser(self, node: Form, error: CannotExpress) -> ShapedSchema:
        self.notes.append(f"{error}; it is described in words")
        for looser in iter_looser_schemas(node):
            with suppress(CannotExpress):
                return self._shape_checked(looser, error.place)
        raise error

    def _shape_checked(self, node: Any, place: str) -> ShapedSchema:
        if is_anything(node):
            self._references.add(ANYTHING)
            return self._add_null(self._annotate(_FREE, node if isinstance(node, dict) else {}))
        if node is False:
            raise CannotExpress("it accepts nothing", empty=True)
        if self._is_reference(node):
            return self._add_null(self._annotate(self._reference_schema(node), node))
        forms = self._find_alternatives(node)
        if not forms:
            raise CannotExpress("it accepts nothing", empty=True)
        schema = self._shape_union(forms, place)
        null = any(form.get("type") == "null" and self._fits(form, None) for form in forms)
        if schema is None and not null:
            raise CannotExpress("it accepts nothing", empty=True)
        if schema is not None and len(forms) > 1:
            schema = self._annotate(schema, node)
        return self._add_null(schema, null=null)

    def _add_null(self, schema: Form | None, *, null: bool = False) -> ShapedSchema:
        if schema is None:
            return ShapedSchema(self._dialect.null(), self._dialect.null())
        optional = null or self._dialect.null_for_absent
        with_null = self._dialect.with_null(schema) if optional else schema
        return ShapedSchema(with_null if null else schema, with_null)

    def _is_reference(self, node: Form) -> bool:
        is_defined = node.get("$ref", "").removeprefix(DEFINITIONS_PREFIX) in self._definitions
        return is_defined and all(key == "$ref" or key in ANNOTATIONS for key in node)

    def _reference_schema(self, node: Form) -> Form:
        name = node["$ref"].removeprefix(DEFINITIONS_PREFIX)
        if name in self._failed:
            raise CannotExpress(f"in a schema that it refers to: {self._failed[name]}")
        self._references.add(name)
        return {"$ref": node["$ref"]}

    def _find_alternatives(self, node: Form) -> list[Form]:
        unions = [keyword for keyword in UNIONS if keyword in node]
        if len(unions) != 1 or "unevaluatedProperties" in node:
            return self._forms.options(node)
        branches = node[unions[0]]
        parts = self._forms.branch_forms(self._forms.base_forms(node), branches, unions[0])
        alternatives: list[Form] = []
        for branch, forms in zip(branches, parts, strict=True):
            whole = isinstance(branch, dict) and self._is_reference(branch)
            alternatives += [branch] if whole and forms == self._forms.options(branch) else forms
        return alternatives

    def _shape_union(self, forms: list[Form], place: str) -> Form | None:
        finite = [form for form in forms if "enum" in form]
        rest = [form for form in forms if "enum" not in form and form.get("type") != "null"]
        makers: list[Callable[[], Form]] = [partial(self._shape_form, form, place) for form in rest]
        if finite:
            strings = any("$ref" in form or form_type(form) in ("string", None) for form in rest)
            makers.insert(0, partial(self._shape_enumeration, finite, beside_strings=strings))
        parts = self._make_parts(makers, place)
        if len(parts) > 1:
            parts = unique_values(parts)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def _make_parts(self, makers: Sequence[Callable[[], Form]], place: str) -> list[Form]:
        parts: list[Form] = []
        failures: list[CannotExpress] = []
        for make in makers:
            try:
                parts.append(make())
            except CannotExpress as error:
                if error.final:
                    raise
                failures.append(error)
        if failures and not parts:
            raise next((error for error in failures if not error.empty), failures[0])
        self.notes += [
            f"#{error.place or place}: {error.reason}" for error in failures if not error.empty
        ]
        return parts

    def _shape_form(self, form: Form, place: str) -> Form:
        schema = (
            self._reference_schema(form) if "$ref" in form else self._shape_by_type(form, place)
        )
        return self._annotate(schema, form)

    def _shape_by_type(self, form: Form, place: str) -> Form:
        one = form_type(form)
        if one == "object":
            return self._shape_object(form, place)
        refuse_keywords(form, "not", "if")
        match one:
            case "array":
                items, least, most = containers.find_items(form)
                return containers.array_schema(
                    self._shape_schema(items, f"{place}/items").whole, least, most
                )
            case "boolean":
                return {"type": "boolean"}
            case "string":
                return self._dialect.string(form)
            case "integer" | "number":
                return self._dialect.number(form)
        self._references.add(ANYTHING)
        return _FREE

    def _shape_enumeration(self, forms: list[Form], *, beside_strings: bool) -> Form:
        values: list[Any] = []
        legend: list[str] = []
        for form in forms:
            other_keywords = {key: limit for key, limit in form.items() if key not in BY_VALUE}
            fitting = [
                v for v in form["enum"] if not other_keywords or self._fits(other_keywords, v)
            ]
            values += fitting
            meaning = form.get("description") or form.get("title")
            if len(forms) > 1 and len(fitting) == 1 and meaning not in (None, fitting[0]):
                legend.append(f"{fitting[0]}: {meaning}")
        if not values:
            raise CannotExpress("it accepts nothing", empty=True)
        schema = self._dialect.enum(unique_values(values), beside_strings=beside_strings)
        if legend:
            return {**schema, "description": "; ".join(legend)[:_LEGEND]}
        return self._annotate(schema, forms[0]) if len(forms) == 1 else schema

    def _shape_object(self, form: Form, place: str, *, whole: bool = False) -> Form:
        original = containers.find_properties(form, self._fits)
        if original.open_properties is not None and not original.declared and not whole:
            if original.least > 1:
                raise CannotExpress("its number of properties cannot be expressed")
            return self._pairs_schema(
                original.open_properties, place, original.least, original.most
            )
        if self._dialect.null_for_absent and original.least > len(original.required) and not whole:
            forms = containers.require_one_more(form, original, self._fitting.accepts)
            parts = self._make_parts(
                [partial(self._shape_object, one, place) for one in forms], place
            )
            return {"anyOf": parts}
        names = containers.choose_names(original.declared, self._dialect.takes_name)
        properties: dict[str, Form] = {}
        for name, node in original.declared.items():
            at = f"{place}/properties{pointer_token(name)}"
            try:
                shaped = self._shape_once(node, at) if whole else self._shape_schema(node, at)
            except CannotExpress as error:
                if name not in original.required and not error.final:
                    self.notes += [] if error.empty else [str(error)]
                    continue
                if error.final or self._levels is None:
                    raise
                shaped = self._shape_looser(node, error)
            schema = shaped.whole if name in original.required else shaped.optional
            properties[names.get(name, name)] = (
                containers.describe_renamed(schema, name) if name in names else schema
            )
        required = [
            names.get(name, name) for name in original.declared if name in original.required
        ]
        return self._add_open_properties(original, properties, required, place)

    def _add_open_properties(
        self,
        original: ObjectProperties,
        properties: dict[str, Form],
        required: list[str],
        place: str,
    ) -> Form:
        counts: Form = {}
        if original.least > len(required):
            counts["minProperties"] = original.least
        allowance = None if original.most is None else original.most - len(properties)
        if (
            original.open_properties is not None
            and not counts
            and (allowance is None or allowance > 0)
        ):
            pairs = self._pairs_schema(original.open_properties, place, 0, allowance)
            extra = self._add_null({**pairs, "description": "Properties with other names."})
            properties[containers.open_properties_name(original.declared)] = extra.optional
        if allowance is not None and allowance < 0:
            counts["maxProperties"] = original.most
        return self._dialect.object(properties, required, counts)

    def _pairs_schema(
        self, open_properties: OpenProperties, place: str, least: int, most: int | None
    ) -> Form:
        at = f"{place}/additionalProperties"
        pair = {
            KEY: self._shape_schema(open_properties.key, at).whole,
            VALUE: self._shape_schema(open_properties.value, at).whole,
        }
        return containers.array_schema(self._dialect.object(pair, [KEY, VALUE], {}), least, most)

    def _annotate(self, schema: Form, form: Form) -> Form:
        annotations = self._dialect.annotations(schema, form)
        if not annotations:
            return schema
        description, annotation = schema.get("description", ""), annotations.get("description", "")
        if "enum" in schema and annotation and description not in annotation:
            annotations["description"] = f"{annotation} {description}"
        return {"anyOf": [schema], **annotations} if "$ref" in schema else {**schema, **annotations}
