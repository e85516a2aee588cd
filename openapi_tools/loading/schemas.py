"""Schema Object of any version -> JSON Schema 2020-12.

A converted schema is self-contained but for `$ref`s into `#/$defs`, which `Schemas.closure`
returns. Malformed keywords and unknown types are left out.

Spec: JSON Schema 2020-12; OpenAPI 3.0.4 section 4.7.24, 3.1.1 section 4.8.24; Swagger 2.0 "Schema
Object".
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import TYPES, UNIONS, ensure_items
from openapi_tools.common.json_values import Node, as_boolean
from openapi_tools.common.visible_text import plain_text, short_hash, strip_hidden_in
from openapi_tools.errors import InvalidDocument
from openapi_tools.loading import all_of, keyword_values
from openapi_tools.loading.contradictions import (
    drop_unfitting_values,
    resolve_contradictions,
)
from openapi_tools.loading.enum_words import ENUM_EXTENSIONS, add_enum_words
from openapi_tools.loading.merge_patches import patch_schema
from openapi_tools.loading.schema_components import (
    build_closure,
    definition_name,
    find_uses,
    make_component,
    target_name,
)
from openapi_tools.loading.schema_examples import (
    DefinitionFinder,
    OpenDefinitionError,
)

if TYPE_CHECKING:
    from openapi_tools.loading.contradictions import Report
    from openapi_tools.loading.references import References, Resource, Target
    from openapi_tools.loading.schema_components import Closure, Component

MAX_DEPTH = 200  # schemas inside one another; deeper ones cannot be walked or shown
MAX_INLINED = 32  # components merged into one another through `allOf`; further ones stay references
MAX_INLINED_SCHEMAS = 500  # larger components are not merged, lest those that double explode

# Each has to be compiled, and generators may write a pattern for each property.
MAX_PATTERNS = 1_000  # different patterns of a document that are compared with its values
MAX_REMEMBERED = 200_000  # definitions in closures kept for other tools

# Keywords with which a component that is a reference means something else.
_LIMITING = keyword_values.APPLICATORS.union(keyword_values.READERS) - (
    keyword_values.ANNOTATIONS | {"example", "readOnly"}
)
_SETTLED = keyword_values.CHECKED_KEYWORDS | keyword_values.EXAMPLE_KEYWORDS
_OBJECT_LIMITS = frozenset({"properties", "additionalProperties"})


class Schemas:
    """Converts the schemas of one document, without the properties that are marked `hidden`."""

    def __init__(
        self, references: References, limit: int, *, ref_siblings: bool, hidden: str
    ) -> None:
        self._references = references
        self._ref_siblings = ref_siblings
        self._limit = limit
        self._text = cache(partial(plain_text, limit=limit))
        self._targets: dict[str, Target] = {}
        self._names: dict[tuple[int, str], str] = {}
        self._definitions: dict[str, Component] = {}
        self._patches: dict[str, str] = {}  # the definition of which each one is the patch form
        self._properties: dict[tuple[int, bytes], Node] = {}
        self._open: set[str] = set()
        self._values = DefinitionFinder(self.closed_definition)
        self._unsettled: list[Node] = []  # whose examples wait for definitions that are open
        self._closures: dict[frozenset[str], Closure] = {}
        self._free_definitions = MAX_REMEMBERED
        self._patterns: set[str] = set()
        self._added_items: dict[int, Node] = {}  # kept, so that an id stays its own
        self._hidden = hidden
        self._hidden_properties = all_of.HiddenProperties(references, hidden, self._has_limits)

    def convert(
        self, node: Any, resource: Resource, depth: int = 0, *, may_be_empty: bool = False
    ) -> Node:
        """Return a Schema Object or a boolean as JSON Schema 2020-12; `{}` for anything else."""
        if not isinstance(node, dict):
            return {"not": {}} if as_boolean(node) is False else {}
        if depth > MAX_DEPTH:
            reason = f"schemas are nested deeper than {MAX_DEPTH} levels."
            raise InvalidDocument(reason, source=resource.name)
        if "$ref" in node:
            return self._convert_reference(node, resource, depth)
        return self._convert_schema(node, resource, depth, may_be_empty=may_be_empty)

    def find_contradictions(
        self, node: Node, resource: Resource, *, may_be_empty: bool = False
    ) -> list[tuple[str, str]]:
        """Return the keywords of a Schema Object that its own values contradict, with messages."""
        messages: list[tuple[str, str]] = []

        def report(keyword: str, message: str) -> None:
            messages.append((keyword, message))

        if "$ref" in node:
            self._convert_reference(node, resource, 0, report)
        else:
            self._convert_schema(node, resource, 0, report, may_be_empty=may_be_empty)
        return messages

    def drop_unfitting_values(
        self, schema: Node, report: Report = keyword_values.ignore_report
    ) -> Node:
        """Return a converted schema to which examples were added; none is left that it refuses."""
        if "$ref" in schema and not self._open:
            whole = self.content(schema)
            settled = dict(whole)
            resolve_contradictions(settled, report=report)
            if settled.get("pattern") != whole.get("pattern"):
                schema = settled  # the component keeps its pattern for others
        elif "$ref" not in schema:
            schema = dict(schema)
            resolve_contradictions(schema, report=report)
        self._drop_unfitting_values(schema, report)
        return schema

    def declares_items(self, array: Node) -> bool:
        """Return whether a converted array has the document's own `items`, even `{}`."""
        return id(array["items"]) not in self._added_items

    def closure(self, uses: frozenset[str]) -> Closure:
        """Return the definitions that some names reach, in the order of their names."""
        closure = self._closures.get(uses)
        if closure is None:
            closure = build_closure(uses, self.definition)
            if self._free_definitions >= len(closure.definitions):
                self._free_definitions -= len(closure.definitions)
                self._closures[uses] = closure
        return closure

    def definition(self, name: str) -> Component:
        """Return one definition, converted when it is first asked for."""
        definition = self._definitions.get(name)
        if definition is None and name in self._patches:
            schema = self.patch(self.definition(self._patches[name]).schema)
            definition = self._definitions[name] = make_component(name, schema)
        if definition is None:
            target = self._targets[name]
            self._open.add(name)
            try:
                schema = self.convert(target.node, target.resource)
            finally:
                self._open.discard(name)
            definition = self._definitions[name] = make_component(name, schema)
            # Only now: whether an example fits may depend on definitions that were still being
            # converted.
            while self._unsettled and not self._open:
                self._drop_unfitting_values(self._unsettled.pop())
        return definition

    def patch(self, schema: Node) -> Node:
        """Return a converted schema as JSON Merge Patch takes it: null removes a property."""
        patched: Node = patch_schema(schema, self._patch_name)
        return patched

    def _patch_name(self, name: str) -> str:
        # The hash keeps it apart from components of the document, which are read later.
        patch_name = f"{name[:48]}_patch_{short_hash(f'merge patch of {name}')}"
        self._patches[patch_name] = name
        return patch_name

    def define(self, name: str, schema: Node) -> Node:
        """Return a reference to a definition that is no component; the first of a name stays."""
        self._definitions.setdefault(name, make_component(name, schema))
        return {"$ref": f"#/$defs/{name}"}

    def _drop_unfitting_values(
        self, out: Node, report: Report = keyword_values.ignore_report
    ) -> None:
        try:
            drop_unfitting_values(out, self._values, report)
        except OpenDefinitionError:
            self._unsettled.append(out)

    def closed_definition(self, name: str) -> Node:
        """Return the schema of a definition; OpenDefinitionError while one is converted."""
        # A definition that is converted while another one is open may keep an `allOf` apart.
        if self._open:
            raise OpenDefinitionError(name)
        return self.definition(name).schema

    def content(self, schema: Node) -> Node:
        """Return the schema behind a `$ref`, merged with its siblings if that is exact."""
        if "$ref" not in schema:
            return schema
        for _ in range(MAX_INLINED):
            if "$ref" not in schema:
                break
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            target = self.definition(target_name(schema)).schema
            merged = (
                all_of.merge(siblings, target)
                if siblings.keys() - keyword_values.ANNOTATIONS
                else {**target, **siblings}
            )
            if merged is None:
                break
            schema = merged
        return schema

    def shows_examples(self, schema: Node) -> bool:
        """Return whether a converted schema, or that behind its `$ref`, has examples."""
        return "examples" in (self.content(schema) if "$ref" in schema else schema)

    def is_recursive(self, schema: Node) -> bool:
        """Return whether a `$ref` leads to a definition that reaches itself."""
        if "$ref" not in schema:
            return False
        name = target_name(schema)
        return name in self.closure(self.definition(name).uses).definitions

    def _convert_reference(
        self,
        node: Node,
        resource: Resource,
        depth: int,
        report: Report = keyword_values.ignore_report,
    ) -> Node:
        converted: Node = {"$ref": f"#/$defs/{self._define_target(node, resource)}"}
        if len(node) == 1:
            return converted
        # 3.0 ignores keywords beside it, but descriptions and `nullable` are still meant.
        kept = node.keys() if self._ref_siblings else keyword_values.HARMLESS_SIBLINGS
        siblings = {key: node[key] for key in node if key in kept and key != "$ref"}
        if not siblings:
            return converted
        converted_siblings = self._convert_schema({**siblings, "nullable": False}, resource, depth)
        if keyword_values.is_nullable(siblings):
            out = {**converted_siblings, "anyOf": [converted, {"type": "null"}]}
        elif _OBJECT_LIMITS.isdisjoint(converted_siblings):
            out = {**converted, **converted_siblings}
        else:
            out = all_of.merge_all(
                {**converted_siblings, "allOf": [converted]}, self._inline_reference, report
            )
        if keyword_values.EXAMPLE_KEYWORDS.isdisjoint(out):
            return out
        return self.drop_unfitting_values(out, report)

    def _define_target(self, node: Node, resource: Resource) -> str:
        target = self._references.follow(node, resource, stops=self._has_limits)
        key = (id(target.resource), target.pointer)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = definition_name(target, self._references.entry)
            self._targets[name] = target
        return name

    def _has_limits(self, node: Node) -> bool:
        limits = _LIMITING.intersection(node) if self._ref_siblings else ()
        return keyword_values.is_nullable(node) or any(
            keyword_values.is_readable(key, node[key]) for key in limits
        )

    def _convert_schema(
        self,
        node: Node,
        resource: Resource,
        depth: int,
        report: Report = keyword_values.ignore_report,
        *,
        may_be_empty: bool = False,
    ) -> Node:
        out: Node = {}
        usual, readers = keyword_values.USUAL_CLASSES, keyword_values.READERS
        for key, value in node.items():
            if usual.get(key) is value.__class__:
                out[key] = value
            elif (read := readers.get(key)) is not None:
                if (kept := read(value)) is not keyword_values.ABSENT:
                    out[key] = kept
            elif key in keyword_values.APPLICATORS:
                self._convert_applicator(out, key, value, resource, depth + 1)
        if "description" in out:
            out["description"] = self._text(out["description"])
        kind, also_null = out.get("type", "string"), False
        # A fast path for most schemas: documents have tens of thousands.
        if kind.__class__ is str and kind in TYPES and keyword_values.TRANSLATED.isdisjoint(node):
            if _SETTLED.isdisjoint(out) and (kind != "array" or "items" in out):
                return out
        else:
            out = self._translate(out, node, resource, report)
            also_null = keyword_values.is_nullable(node)
        return self._finish(out, report, also_null=also_null, may_be_empty=may_be_empty)

    def _finish(self, out: Node, report: Report, *, also_null: bool, may_be_empty: bool) -> Node:
        is_settled = _SETTLED.isdisjoint(out)
        if not is_settled and keyword_values.may_have_contradictions(out):
            if "pattern" in out and len(self._patterns) <= MAX_PATTERNS:
                self._patterns.add(out["pattern"])
            resolve_contradictions(
                out,
                also_null=also_null,
                may_be_empty=may_be_empty,
                reads_pattern=len(self._patterns) <= MAX_PATTERNS,
                report=report,
            )
        if "items" not in out and "array" in out.get("type", ()):
            out = self._add_items(out)
        if also_null:
            out = keyword_values.make_nullable(out)
        if not is_settled and keyword_values.may_show_misfits(out):
            self._drop_unfitting_values(out, report)
        return out

    def _add_items(self, out: Node) -> Node:
        whole = ensure_items(out)
        if whole is not out:
            self._added_items[id(whole["items"])] = whole["items"]
        return whole

    def _convert_applicator(
        self, out: Node, key: str, value: Any, resource: Resource, depth: int
    ) -> None:
        if key in keyword_values.MAP_APPLICATORS:
            if isinstance(value, dict):
                out[key] = self._convert_map(key, value, resource, depth)
        elif isinstance(value, list) and (key in keyword_values.LIST_APPLICATORS or key == "items"):
            if value:  # as `items` it is the tuple of older drafts
                name = "prefixItems" if key == "items" else key
                may_be_empty = key in UNIONS  # `maxLength: 0` beside other alternatives
                out[name] = [
                    self.convert(part, resource, depth, may_be_empty=may_be_empty) for part in value
                ]
        elif key in keyword_values.SCHEMA_APPLICATORS:
            constant = as_boolean(value)
            if constant is not None:
                out[key] = constant
            elif value is None or isinstance(value, dict):
                out[key] = self.convert(value, resource, depth)

    def _convert_map(self, key: str, values: Node, resource: Resource, depth: int) -> Node:
        names = "".join(values)  # to look at all of them at once
        named = len(names) <= keyword_values.MAX_LABEL and names.isprintable()
        hides, mark = key == "properties", self._hidden
        convert = self.convert if depth > 1 or self._open else self._convert_property
        out = {}
        for name, value in values.items():
            if not named and not keyword_values.is_name(name):
                continue
            marked = hides and value.__class__ is dict and ("$ref" in value or mark in value)
            if marked and self._hidden_properties.is_hidden(value, resource):
                continue
            out[name] = convert(value, resource, depth)
        return out

    def _convert_property(self, node: Any, resource: Resource, depth: int) -> Node:
        key = (id(resource), resource.key(node))
        schema = self._properties.get(key)
        if schema is None:
            schema = self.convert(node, resource, depth)
            if not resource.has_local:  # an equal one could have other definitions around it
                self._properties[key] = schema
        return schema

    def _translate(self, out: Node, node: Node, resource: Resource, report: Report) -> Node:
        if "enum" in out and not ENUM_EXTENSIONS.isdisjoint(node):
            words = add_enum_words(out.get("description", ""), node, self._limit)
            out |= {"description": words} if words else {}
        keyword_values.modernize_keywords(out)
        if "discriminator" in node:
            keyword_values.explain_discriminator(out, strip_hidden_in(node["discriminator"]))
        if "allOf" in out:
            out = all_of.merge_all(out, self._inline_reference, report)
        if "required" in out:
            self._hidden_properties.drop_required(out, node, resource)
        return out

    def _inline_reference(self, branch: Node) -> Node:
        if branch.keys() != {"$ref"}:
            return branch
        name = target_name(branch)
        if name in self._open or len(self._open) > MAX_INLINED:
            return branch
        schema, _, _, most = self.definition(name)
        if most > MAX_INLINED_SCHEMAS and find_uses(schema).schemas > MAX_INLINED_SCHEMAS:
            return branch
        if schema.keys() & set(UNIONS) and all_of.is_own_base(
            self._targets[name], self._references.follow
        ):
            return {key: value for key, value in schema.items() if key not in UNIONS}
        if "$ref" in schema:
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            return (
                all_of.merge(siblings, self._inline_reference({"$ref": schema["$ref"]})) or branch
            )
        return schema
