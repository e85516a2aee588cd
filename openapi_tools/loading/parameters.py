"""Parameter Object -> an argument of a tool, and how its value is written.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from openapi_tools.common import visible_text
from openapi_tools.common.json_values import Node, as_boolean, as_dict, as_string, is_true
from openapi_tools.loading import versions
from openapi_tools.loading.enum_words import ENUM_EXTENSIONS, add_enum_words
from openapi_tools.loading.examples import example_values, find_fitting_example, has_examples
from openapi_tools.loading.keyword_values import ABSENT, is_longer
from openapi_tools.model import DEFAULT_STYLES, Parameter

if TYPE_CHECKING:
    from openapi_tools.loading.document import Document
    from openapi_tools.loading.references import Resource

_STYLES = {
    "path": {"simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited"},
    "query": {"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"},
    "header": {"simple", "spaceDelimited", "pipeDelimited", "tabDelimited"},
    "cookie": {"form", "cookie"},
}
_PRINTED = frozenset({"pipeDelimited", "deepObject", "label"})


class InputArgument(NamedTuple):
    """One argument of a tool; `node` is the Parameter Object that it feeds, None for a body.

    `slashes` is as in `Parameter`.
    """

    location: str
    wire: str
    schema: Node
    required: bool
    node: Node | None = None
    slashes: bool = False


@dataclass(frozen=True, slots=True)
class Parameters:
    """Reads the Parameter Objects of one document."""

    _document: Document

    @property
    def _limit(self) -> int:
        return self._document.settings.description_chars

    def argument(self, location: str, name: str, node: Node, resource: Resource) -> InputArgument:
        """Return the argument that feeds a parameter, with the name on the wire."""
        modern = self._modern_parameter(node)
        out = dict(self._schema(modern, resource))
        if described := as_string(node.get("description")):
            out["description"] = visible_text.plain_text(described, self._limit)
        if (holder := self._enum_holder(node, modern, resource)) is not None:
            words = add_enum_words(out.get("description", ""), holder, self._limit)
            out |= {"description": words} if words else {}
        if is_true(node.get("deprecated")):
            out["deprecated"] = True
        if "examples" not in out:
            out = self._add_example(out, node, resource)
        required = location == "path" or is_true(node.get("required"))
        return InputArgument(location, name, out, required, node)

    def _enum_holder(self, node: Node, modern: Node, resource: Resource) -> Node | None:
        schema = as_dict(modern.get("schema"))
        if ENUM_EXTENSIONS.isdisjoint(node):
            return None if ENUM_EXTENSIONS.isdisjoint(schema) else schema
        # Beside the schema in place of inside it, or Swagger 2.0.
        target = as_dict(self._document.references.follow(schema, resource).node)
        return {**node, "enum": target.get("enum", as_dict(target.get("items")).get("enum"))}

    def _add_example(self, out: Node, node: Node, resource: Resource) -> Node:
        # A pattern that the first example breaks is not that of the API, and goes.
        references, schemas, holder = self._document.references, self._document.schemas, node
        if not has_examples(holder) and (kind := _media_type(node)):
            holder, resource, _ = references.follow(node["content"][kind], resource)
        if not isinstance(holder, dict) or not has_examples(holder):
            return out
        values = list(example_values(holder, resource, references))
        if values and not is_longer(values[0], self._limit):
            first = visible_text.strip_hidden_in(values[0])
            out = schemas.drop_unfitting_values({**out, "examples": [first]})
            if "examples" in out:
                return out
        example = find_fitting_example(values, out, schemas, self._limit)
        return out if example is ABSENT else {**out, "examples": [example]}

    def _schema(self, modern: Node, resource: Resource) -> Node:
        may_be_empty = is_true(modern.get("allowEmptyValue")) and modern.get("in") == "query"
        schema = modern.get("schema")
        schema = versions.allow_empty_string(schema) if may_be_empty else schema
        if kind := _media_type(modern):
            target = self._document.references.follow(modern["content"][kind], resource)
            schema, resource = as_dict(target.node).get("schema"), target.resource
        return self._document.schemas.convert(schema, resource, may_be_empty=may_be_empty)

    def _modern_parameter(self, node: Node) -> Node:
        return versions.convert_parameter(node, swagger=self._document.dialect.swagger)

    def parameter(self, input_argument: InputArgument, argument: str) -> Parameter:
        """Return how the value of an argument is written, by the argument's name in the tool."""
        node, location = self._modern_parameter(input_argument.node or {}), input_argument.location
        kind = _media_type(node)
        style = str(node.get("style", ""))
        style = style if not kind and style in _STYLES.get(location, ()) else ""
        shown = style or DEFAULT_STYLES.get(location, "form")
        dialect = self._document.dialect
        return Parameter(
            input_argument.wire,
            location,
            argument=argument,
            style=style,
            explode=None if kind else as_boolean(node.get("explode")),
            allow_reserved=is_true(node.get("allowReserved")),
            media_type=kind,
            inner=versions.inner_delimiters(input_argument.node or {}) if dialect.swagger else (),
            printed=dialect.printed and shown in _PRINTED,
            slashes=input_argument.slashes,
        )


def _media_type(node: Node) -> str:
    return next(iter(as_dict(node.get("content"))), "")
