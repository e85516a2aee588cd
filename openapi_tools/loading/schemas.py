"""Schema Object of any version -> JSON Schema 2020-12.

A converted schema is self-contained but for `$ref`s into `#/$defs`, which `Schemas.closure` gives.
Malformed keywords and unknown types are left out.

Spec: JSON Schema 2020-12; OpenAPI 3.0.4 section 4.7.24, 3.1.1 section 4.8.24; Swagger 2.0 "Schema
Object".
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import TYPES, UNIONS, ensure_items
from openapi_tools.errors import InvalidDocument
from openapi_tools.json_values import Node, as_boolean, as_list
from openapi_tools.loading import all_of, keyword_values
from openapi_tools.loading.enum_words import has_enum_words, with_enum_words
from openapi_tools.loading.hidden_properties import HiddenProperties
from openapi_tools.loading.merge_patches import patch_schema
from openapi_tools.loading.own_values import (
    CONCERNED,
    may_be_contradicted,
    settle_keywords,
    settle_values,
)
from openapi_tools.loading.schema_components import (
    closure_of,
    defined,
    definition_name,
    name_of,
    uses_of,
)
from openapi_tools.loading.shown_values import (
    SHOWN,
    Definitions,
    OpenDefinitionError,
    shows_only_plain,
)
from openapi_tools.visible_text import plain_text, short_hash, visible_in

if TYPE_CHECKING:
    from openapi_tools.loading.own_values import Report
    from openapi_tools.loading.references import References, Resource, Target
    from openapi_tools.loading.schema_components import Closure, Definition

MAX_DEPTH = 200  # schemas inside one another; deeper ones cannot be walked or shown
MAX_INLINED = 32  # components merged into one another through `allOf`; further ones stay references
MAX_INLINED_SCHEMAS = 500  # larger components are not merged, lest those that double explode

MAX_PATTERNS = 1_000  # different patterns of a document that are compared with its values
MAX_REMEMBERED = 200_000  # definitions in closures kept for other tools

_LIMITING = keyword_values.HOLDING.union(keyword_values.READERS) - (
    keyword_values.WORDS | {"example", "readOnly"}
)
"""Keywords with which a component that is a reference means something else."""
_USUAL = {"type": str, "description": str, "deprecated": bool, "uniqueItems": bool}
"""Keywords that stay unconverted if their value has this class."""
_SETTLED = CONCERNED | SHOWN
_OBJECT_LIMITS = frozenset({"properties", "additionalProperties"})


class Schemas:
    """Converts the schemas of one document, without the members that are marked `hidden`."""

    def __init__(
        self, references: References, words: int, *, ref_siblings: bool, hidden: str
    ) -> None:
        self._references = references
        self._ref_siblings = ref_siblings
        self._limit = words
        self._text = cache(partial(plain_text, limit=words))
        self._targets: dict[str, Target] = {}
        self._names: dict[tuple[int, str], str] = {}
        self._definitions: dict[str, Definition] = {}
        self._patches: dict[str, str] = {}  # the definition of which each one is the patch form
        self._members: dict[tuple[int, bytes], Node] = {}
        self._open: set[str] = set()
        self._values = Definitions(self.closed_definition)
        self._unsettled: list[Node] = []  # whose examples wait for definitions that are open
        self._closures: dict[frozenset[str], Closure] = {}
        self._room = MAX_REMEMBERED
        self._patterns: set[str] = set()
        self._added_items: dict[int, Node] = {}  # kept, so that an id stays its own
        self._hidden = hidden
        self._marked = HiddenProperties(references, hidden, self._limits)

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
            return self._reference(node, resource, depth)
        return self._schema(node, resource, depth, may_be_empty=may_be_empty)

    def contradictions(
        self, node: Node, resource: Resource, *, may_be_empty: bool = False
    ) -> list[tuple[str, str]]:
        """Return the keywords of a Schema Object that its own values contradict, with messages."""
        found: list[tuple[str, str]] = []

        def report(keyword: str, message: str) -> None:
            found.append((keyword, message))

        if "$ref" in node:
            self._reference(node, resource, 0, report)
        else:
            self._schema(node, resource, 0, report, may_be_empty=may_be_empty)
        return found

    def with_values(self, schema: Node, report: Report = keyword_values.ignore) -> Node:
        """Return a converted schema to which examples were added; none is left that it refuses."""
        if "$ref" in schema and not self._open:
            whole = self.content(schema)
            settled = dict(whole)
            settle_keywords(settled, report=report)
            if settled.get("pattern") != whole.get("pattern"):
                schema = settled  # the component keeps its pattern for others
        elif "$ref" not in schema:
            schema = dict(schema)
            settle_keywords(schema, report=report)
        self._settle_values(schema, report)
        return schema

    def declares_items(self, array: Node) -> bool:
        """Tell whether the document has the `items` of a converted array, even if they are `{}`."""
        return id(array["items"]) not in self._added_items

    def closure(self, uses: frozenset[str]) -> Closure:
        """Return the definitions that some names reach, in the order of their names."""
        found = self._closures.get(uses)
        if found is None:
            found = closure_of(uses, self.definition)
            if self._room >= len(found.definitions):
                self._room -= len(found.definitions)
                self._closures[uses] = found
        return found

    def definition(self, name: str) -> Definition:
        """Return one definition, converted when it is first asked for."""
        definition = self._definitions.get(name)
        if definition is None and name in self._patches:
            schema = self.patch(self.definition(self._patches[name]).schema)
            definition = self._definitions[name] = defined(name, schema)
        if definition is None:
            target = self._targets[name]
            self._open.add(name)
            try:
                schema = self.convert(target.node, target.resource)
            finally:
                self._open.discard(name)
            definition = self._definitions[name] = defined(name, schema)
            while self._unsettled and not self._open:
                self._settle_values(self._unsettled.pop())
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
        self._definitions.setdefault(name, defined(name, schema))
        return {"$ref": f"#/$defs/{name}"}

    def _settle_values(self, out: Node, report: Report = keyword_values.ignore) -> None:
        """Leave out the examples and the default that a schema refuses, in place."""
        try:
            settle_values(out, self._values, report)
        except OpenDefinitionError:
            self._unsettled.append(out)

    def closed_definition(self, name: str) -> Node:
        """Return the schema of a definition; OpenDefinitionError while one is converted."""
        # A definition that is converted while another one is open may keep an `allOf` apart.
        if self._open:
            raise OpenDefinitionError(name)
        return self.definition(name).schema

    def content(self, schema: Node) -> Node:
        """Return the schema behind a `$ref`, merged with its siblings where that is exact."""
        for _ in range(MAX_INLINED):
            if "$ref" not in schema:
                break
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            target = self.definition(name_of(schema)).schema
            merged = (
                all_of.merge(beside, target)
                if beside.keys() - keyword_values.WORDS
                else {**target, **beside}
            )
            if merged is None:
                break
            schema = merged
        return schema

    def is_recursive(self, schema: Node) -> bool:
        """Tell whether a `$ref` leads to a definition that reaches itself."""
        if "$ref" not in schema:
            return False
        name = name_of(schema)
        return name in self.closure(self.definition(name).uses).definitions

    def _reference(
        self,
        node: Node,
        resource: Resource,
        depth: int,
        report: Report = keyword_values.ignore,
    ) -> Node:
        converted: Node = {"$ref": f"#/$defs/{self._define(node, resource)}"}
        if len(node) == 1:
            return converted
        # 3.0 ignores what is beside it; words and `nullable` are still meant.
        kept = node.keys() if self._ref_siblings else keyword_values.HARMLESS_SIBLINGS
        siblings = {key: node[key] for key in node if key in kept and key != "$ref"}
        if not siblings:
            return converted
        beside = self._schema({**siblings, "nullable": False}, resource, depth)
        if keyword_values.is_nullable(siblings):
            out = {**beside, "anyOf": [converted, {"type": "null"}]}
        elif _OBJECT_LIMITS.isdisjoint(beside):
            out = {**converted, **beside}
        else:
            out = all_of.merge_all({**beside, "allOf": [converted]}, self._inlined, report)
        return out if SHOWN.isdisjoint(out) else self.with_values(out, report)

    def _define(self, node: Node, resource: Resource) -> str:
        target = self._references.follow(node, resource, stops=self._limits)
        key = (id(target.resource), target.pointer)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = definition_name(target, self._references.entry)
            self._targets[name] = target
        return name

    def _limits(self, node: Node) -> bool:
        """Tell whether a schema with a `$ref` says more than where that leads."""
        said = _LIMITING.intersection(node) if self._ref_siblings else ()
        return keyword_values.is_nullable(node) or any(
            keyword_values.is_readable(key, node[key]) for key in said
        )

    def _schema(
        self,
        node: Node,
        resource: Resource,
        depth: int,
        report: Report = keyword_values.ignore,
        *,
        may_be_empty: bool = False,
    ) -> Node:
        out: Node = {}
        for key, value in node.items():
            if _USUAL.get(key) is value.__class__:
                out[key] = value
            elif (read := keyword_values.READERS.get(key)) is not None:
                if (kept := read(value)) is not keyword_values.ABSENT:
                    out[key] = kept
            elif key in keyword_values.HOLDING:
                self._hold(out, key, value, resource, depth + 1)
        if "description" in out:
            out["description"] = self._text(out["description"])
        if "enum" in out and has_enum_words(node):
            words = with_enum_words(out.get("description", ""), node, self._limit)
            out |= {"description": words} if words else {}
        kind = out.get("type", "string")
        if keyword_values.TRANSLATED.isdisjoint(node) and kind.__class__ is str and kind in TYPES:
            if kind != "array" and _SETTLED.isdisjoint(out):
                return out  # most schemas
            return self._settle(out, report, also_null=False, may_be_empty=may_be_empty)
        out = self._translated(out, node, resource, report)
        also_null = keyword_values.is_nullable(node)
        return self._settle(out, report, also_null=also_null, may_be_empty=may_be_empty)

    def _settle(self, out: Node, report: Report, *, also_null: bool, may_be_empty: bool) -> Node:
        """Return a schema without what its own values contradict, and with what clients need."""
        if may_be_contradicted(out):
            if "pattern" in out and len(self._patterns) <= MAX_PATTERNS:
                self._patterns.add(out["pattern"])
            settle_keywords(
                out,
                also_null=also_null,
                may_be_empty=may_be_empty,
                reads_pattern=len(self._patterns) <= MAX_PATTERNS,
                report=report,
            )
        if "items" not in out and "array" in out.get("type", ()):
            out = self._with_items(out)
        if also_null:
            out = keyword_values.nullable(out)
        if not SHOWN.isdisjoint(out) and not shows_only_plain(out):
            self._settle_values(out, report)
        return out

    def _with_items(self, out: Node) -> Node:
        whole = ensure_items(out)
        if whole is not out:
            self._added_items[id(whole["items"])] = whole["items"]
        return whole

    def _hold(self, out: Node, key: str, value: Any, resource: Resource, depth: int) -> None:
        if key in keyword_values.MAPS:
            if isinstance(value, dict):
                out[key] = self._map(key, value, resource, depth)
        elif isinstance(value, list) and (key in keyword_values.LISTS or key == "items"):
            if value:  # as `items` it is the tuple of older drafts
                name = "prefixItems" if key == "items" else key
                may_be_empty = key in UNIONS  # `maxLength: 0` beside other alternatives
                out[name] = [
                    self.convert(part, resource, depth, may_be_empty=may_be_empty) for part in value
                ]
        elif key in keyword_values.ONE:
            constant = as_boolean(value)
            if constant is not None:
                out[key] = constant
            elif value is None or isinstance(value, dict):
                out[key] = self.convert(value, resource, depth)

    def _map(self, key: str, values: Node, resource: Resource, depth: int) -> Node:
        names = "".join(values)  # to look at all of them at once
        named = len(names) <= keyword_values.MAX_LABEL and names.isprintable()
        hides, mark = key == "properties", self._hidden
        out = {}
        for name, value in values.items():
            if not named and not keyword_values.is_name(name):
                continue
            marked = hides and value.__class__ is dict and ("$ref" in value or mark in value)
            if marked and self._marked.is_hidden(value, resource):
                continue
            make = self.convert if depth > 1 or self._open else self._member
            out[name] = make(value, resource, depth)
        return out

    def _member(self, node: Any, resource: Resource, depth: int) -> Node:
        key = (id(resource), resource.key(node))
        if key not in self._members:
            made = self.convert(node, resource, depth)
            if self._references.has_local(resource):
                return made  # an equal one elsewhere may have other definitions around it
            self._members[key] = made
        return self._members[key]

    def _translated(self, out: Node, node: Node, resource: Resource, report: Report) -> Node:
        keyword_values.modernise(out)
        if "discriminator" in node:
            keyword_values.explain_discriminator(out, visible_in(node["discriminator"]))
        if "allOf" in out:
            out = all_of.merge_all(out, self._inlined, report)
        if "required" in out:
            self._marked.not_required(out, node, resource)
        return out

    def _inlined(self, branch: Node) -> Node:
        """Return a branch of `allOf` with its `$ref` replaced by what it leads to, if it can be."""
        if branch.keys() != {"$ref"}:
            return branch
        name = name_of(branch)
        if name in self._open or len(self._open) > MAX_INLINED:
            return branch
        schema, _, _, most = self.definition(name)
        if most > MAX_INLINED_SCHEMAS and uses_of(schema).schemas > MAX_INLINED_SCHEMAS:
            return branch
        if schema.keys() & set(UNIONS) and self._is_base(self._targets[name]):
            return {key: value for key, value in schema.items() if key not in UNIONS}
        if "$ref" in schema:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return all_of.merge(beside, self._inlined({"$ref": schema["$ref"]})) or branch
        return schema

    def _is_base(self, target: Target) -> bool:
        """Tell whether one of a schema's own variants extends it by naming it in `allOf`."""
        variants = [part for key in UNIONS for part in as_list(target.node.get(key))]
        seen: list[int] = []
        waiting = [(part, target.resource) for part in variants]
        while waiting and len(seen) < MAX_DEPTH:
            found = self._references.follow(*waiting.pop())
            if found.node is target.node:
                return bool(seen)
            if isinstance(found.node, dict) and id(found.node) not in seen:
                seen.append(id(found.node))
                waiting += [(part, found.resource) for part in as_list(found.node.get("allOf"))]
        return False
