"""Request Body Object -> the body that is sent, and the schema of its arguments.

Spec: OpenAPI 3.0.4 sections 4.7.13 to 4.7.15, 3.1.2 sections 4.8.13 to 4.8.15, 3.2.0 sections 4.13
to 4.15; 3.1.2 section 4.8.26, XML Object.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common import http_rules
from openapi_tools.common.json_schema import ensure_items
from openapi_tools.common.json_values import Node, as_dict, as_list, as_string, is_true
from openapi_tools.common.visible_text import plain_text, strip_hidden
from openapi_tools.loading.document import MAX_CHOICES, Document
from openapi_tools.loading.examples import (
    add_property_examples,
    example_values,
    find_fitting_example,
    has_examples,
)
from openapi_tools.loading.form_bodies import (
    FormBodies,
    PartHeader,
    file_argument_schema,
)
from openapi_tools.loading.keyword_values import ABSENT, ANNOTATIONS, is_binary, is_file
from openapi_tools.model import Encoding, RequestBody

if TYPE_CHECKING:
    from collections.abc import Collection

    from openapi_tools.loading.references import References, Resource

# Keywords of a schema whose properties can become arguments of their own without changing it.
_PLAIN = frozenset(
    {"type", "properties", "required", "title", "description", "examples", "default", "deprecated"}
    | {"readOnly", "writeOnly", "format", "additionalProperties"}
)

# The outline is in a description, which every model pays for.
_DEEPEST_XML = 6
_MOST_XML = 80
_LONGEST_XML = 1500
# A request body without `content` is invalid; most of those that documents have are JSON.
_JSON: Node = {"application/json": {}}


@dataclass(slots=True, eq=False)  # not frozen: that doubles the cost of making one
class Content:
    """A body before its arguments have names: `flat` properties, a `file`, or one of `choices`."""

    media_type: str
    alternatives: tuple[str, ...]
    required: bool
    schema: Node
    flat: bool = False
    file: bool = False
    headers: tuple[PartHeader, ...] = ()
    choices: tuple[Content, ...] = ()
    encodings: tuple[Encoding, ...] = ()

    def body(self) -> RequestBody:
        """Return the body without the names of its arguments."""
        return RequestBody(
            media_type=self.media_type,
            required=self.required,
            alternatives=self.alternatives,
            encodings=self.encodings,
            file=self.file,
            choices=tuple(other.body() for other in self.choices),
        )


class RequestBodies:
    """Reads the request bodies of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._settings = document.settings
        general = document.settings.media_types
        self._preferences: tuple[str, ...] = () if isinstance(general, dict) else general
        self._forms = FormBodies(document)

    def read(self, node: Node, resource: Resource, chosen_types: tuple[str, ...] = ()) -> Content:
        """Return how a body is sent; `chosen_types` are the media types that the user wants."""
        if len(chosen_types) > 1:
            return _merge_bodies([self.read(node, resource, (kind,)) for kind in chosen_types])
        content = dict(islice((node.get("content") or _JSON).items(), MAX_CHOICES))
        preferences = chosen_types or self._preferences
        listed, chosen = choose_media_type(content, preferences)
        declared, owner = self._media_type(content[listed], resource)
        schema = self._schema(chosen, declared, owner)
        if not preferences and (
            upload_type := self._media_type_of_files(chosen, schema, content, resource)
        ):
            chosen = upload_type
            declared, owner = self._media_type(content[chosen], resource)
            schema = self._schema(chosen, declared, owner)
        if chosen_types and not http_rules.matches_type(chosen, chosen_types[0]):
            chosen = chosen_types[0]
        alternatives = tuple(kind for kind in content if kind != chosen)
        result = Content(chosen, alternatives, is_true(node.get("required")), schema)
        result.file = (
            not preferences
            and _read_form(chosen).name == "text"
            and any(map(http_rules.is_bytes, alternatives))
        )
        self._complete_content(result, declared, owner, as_string(node.get("description")))
        self._show_example(result, declared, owner)
        return result

    def _show_example(self, content: Content, declared: Node, resource: Resource) -> None:
        schemas, schema = self._document.schemas, content.schema
        properties = schema.get("properties", {}) if content.flat else {"": schema}
        if all(map(schemas.shows_examples, properties.values())):
            return
        object_examples = as_list(schema.get("examples")) if content.flat else []
        if not object_examples and not has_examples(declared):
            return  # most bodies
        values = example_values(declared, resource, self._document.references)
        limit = self._settings.description_chars
        if content.flat:
            values = chain(values, object_examples)
            properties = add_property_examples(properties, values, schemas, limit)
            content.schema = {**schema, "properties": properties}
        elif (value := find_fitting_example(values, schema, schemas, limit)) is not ABSENT:
            content.schema = {**schema, "examples": [value]}

    def _media_type(self, node: Any, resource: Resource) -> tuple[Node, Resource]:
        target = self._document.references.follow(node, resource)
        return as_dict(target.node), target.resource

    def _media_type_of_files(
        self, kind: str, schema: Node, content: Node, resource: Resource
    ) -> str:
        other_types = [other for other in content if other != kind]
        if not other_types:
            return ""  # most bodies
        # Bytes have no place in JSON and urlencoded forms.
        if not (http_rules.is_json(kind) or http_rules.is_form(kind)):
            return ""
        upload = next(filter(http_rules.is_multipart, other_types), "")
        if upload and self._forms.has_files(schema):
            return upload
        if upload and http_rules.is_form(kind):
            declared, owner = self._media_type(content[upload], resource)
            has_files = self._forms.has_files(self._schema(upload, declared, owner))
            return upload if has_files else ""
        is_whole = is_binary(self._document.schemas.content(schema))
        return next(filter(http_rules.is_bytes, other_types), "") if is_whole else ""

    def _schema(self, kind: str, declared: Node, resource: Resource) -> Node:
        # JSON Lines and the like are arrays of items.
        convert = self._document.schemas.convert
        if "itemSchema" in declared and "schema" not in declared:
            return {"type": "array", "items": convert(declared["itemSchema"], resource)}
        schema = convert(declared.get("schema"), resource)
        form = _read_form(kind)
        is_list = form.name == "lines" and not form.is_wildcard
        return self._lines_schema(schema) if is_list else schema

    def _lines_schema(self, schema: Node) -> Node:
        content = self._document.schemas.content
        inner = content(schema)
        if "type" in inner or is_binary(inner):
            return schema
        branches = [content(part) for part in inner.get("anyOf", ())]
        if branches and any(part.get("type") in ("array", "string") for part in branches):
            return schema
        if branches:
            return {"type": "array", "items": schema}
        # Documents leave it open where the values may come as lines that are written already.
        kind = ["array", "string"] if inner.keys() <= ANNOTATIONS else "array"
        return ensure_items({**schema, "type": kind})

    def _complete_content(
        self, content: Content, declared: Node, resource: Resource, description: str
    ) -> None:
        kind, schema = content.media_type, content.schema
        form = _read_form(kind)
        if form.is_merge_patch:
            schema = self._document.schemas.patch(schema)
        if form.name == "form":
            parts = self._forms.read(kind, schema, declared, resource)
            schema, content.encodings, content.headers = parts
        inner = self._document.schemas.content(schema)
        if form.name == "form":
            content.flat = self._is_flat(schema, inner, required=content.required)
            content.schema = schema
            return
        if form.is_wildcard and not is_file(inner, untyped=True):
            content.media_type = "application/json"
            form = _read_form(content.media_type)
        match form.name:
            case "json" | "lines" if is_binary(inner):
                content.file = True
                schema = file_argument_schema(self._settings, inner, "The body, as it is sent.")
            case "json":
                content.flat = self._is_flat(schema, inner, required=content.required)
                schema = inner if content.flat else schema
            case "text":
                schema = self._text_schema(kind, inner, declared, resource, description)
                if content.file:
                    described = self._add_description(schema, description)
                    schema = file_argument_schema(
                        self._settings, described, "The body, as text or as bytes."
                    )
            case "bytes":
                content.file = True
                schema = file_argument_schema(self._settings, inner, "The body's bytes.")
        content.schema = self._add_description(schema, description)

    def _text_schema(
        self, kind: str, inner: Node, declared: Node, resource: Resource, body_description: str
    ) -> Node:
        # A structure becomes the string that holds it.
        if inner.get("type") in ("string", "number", "integer", "boolean"):
            return inner
        description = f"The body as text ({http_rules.essence(kind)})."
        if http_rules.is_xml(kind):
            shape = _outline_xml(declared.get("schema"), resource, self._document.references)
            elements = f"Its elements: {shape}" if shape.startswith("<") else ""
            text = plain_text(body_description, self._settings.description_chars)
            description = " ".join(filter(None, (text, description, elements)))
        return {"type": "string", "description": description}

    def _add_description(self, schema: Node, description: str) -> Node:
        if not description or "description" in schema:
            return schema
        return {**schema, "description": plain_text(description, self._settings.description_chars)}

    def _is_flat(self, schema: Node, inner: Node, *, required: bool) -> bool:
        return (
            self._settings.body == "flat"
            and _PLAIN.issuperset(inner)
            and inner.get("type", "object") == "object"
            and inner.get("additionalProperties", False) is False
            and (bool(inner.get("properties")) or "additionalProperties" in inner)
            and (required or not inner.get("required"))
            and not self._document.schemas.is_recursive(schema)
        )


def _merge_bodies(contents: list[Content]) -> Content:
    for content in contents:
        content.flat, content.headers = False, ()
    first, *alternatives = contents
    schemas = [content.schema for content in contents]
    if any(schema != first.schema for schema in schemas):
        first.schema = {"anyOf": schemas}
    first.choices = tuple(alternatives)
    return first


def choose_media_type(kinds: Collection[str], preferences: tuple[str, ...]) -> tuple[str, str]:
    """Return the media type to send, as listed and as sent: the user's first, then JSON, forms."""
    for pattern in preferences:
        for kind in kinds:
            if http_rules.matches_type(kind, pattern) or http_rules.matches_type(pattern, kind):
                return kind, pattern if http_rules.is_wildcard(kind) else kind
    best = min(kinds, key=_rank)  # the document's order decides among equals
    return best, best


@lru_cache(maxsize=1024)
def _rank(kind: str) -> int:
    essence = http_rules.essence(kind)
    # JSON first: a model writes it without mistakes, and its schema says all. Text last, as a
    # schema says little of it.
    ranks = [
        essence in ("application/json", "text/json"),
        essence == "application/merge-patch+json",
        http_rules.is_json(kind) and "json-patch" not in essence,
        http_rules.is_form(kind),
        http_rules.is_multipart(kind),
        http_rules.is_json(kind),
        http_rules.is_sequential(kind),
        essence == "text/plain",
        http_rules.is_text(kind),
    ]
    return ranks.index(True) if True in ranks else len(ranks)


class _BodyForm(NamedTuple):
    """How a body of a media type is written: as `form`, `json`, `lines`, `text` or `bytes`."""

    name: str
    is_wildcard: bool
    is_merge_patch: bool


@lru_cache(maxsize=1024)
def _read_form(kind: str) -> _BodyForm:
    if http_rules.is_form(kind) or http_rules.is_multipart(kind):
        name = "form"
    elif http_rules.is_json(kind):
        name = "json"
    elif http_rules.is_sequential(kind):
        name = "lines"
    else:
        name = "text" if http_rules.is_text(kind) else "bytes"
    return _BodyForm(name, http_rules.is_wildcard(kind), http_rules.is_merge_patch(kind))


def _outline_xml(node: Any, resource: Resource, references: References) -> str:
    ref = node.get("$ref") if isinstance(node, dict) else None
    name = ref.rsplit("/", 1)[-1] if isinstance(ref, str) else ""
    text = strip_hidden(_XmlOutline(references).element(node, resource, name, _DEEPEST_XML))
    return text if len(text) <= _LONGEST_XML else text[:_LONGEST_XML] + "…"


class _XmlOutline:
    """Writes elements until there are too many to show."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._left = _MOST_XML

    def element(self, node: Any, resource: Resource, name: str, depth: int) -> str:
        self._left -= 1
        schema, resource = _resolve_xml_schema(node, resource, self._references)
        name = _element_name(schema, name)
        if schema.get("type") == "array":
            wrapped = is_true(as_dict(schema.get("xml")).get("wrapped"))
            has_room = depth > 0 and self._left > 0
            item = self.element(schema.get("items"), resource, name, depth - 1) if has_room else "…"
            return _format_element(name, "", item) if wrapped else item
        properties = schema.get("properties")
        if not properties:
            return _format_element(name, "", escape(str(schema.get("type", "")), quote=False))
        inner = self._content(properties, resource, depth) if depth else ("", "…")
        return _format_element(name, *inner)

    def _content(self, properties: Node, resource: Resource, depth: int) -> tuple[str, str]:
        attributes, inner = "", ""
        for key, node in properties.items():
            plain, _ = _resolve_xml_schema(node, resource, self._references)
            if self._left <= 0:
                return attributes, f"{inner}…"
            if is_true(as_dict(plain.get("xml")).get("attribute")):
                attributes += f' {_element_name(plain, key)}="{escape(str(plain.get("type", "")))}"'
            else:
                inner += self.element(node, resource, key, depth - 1)
        return attributes, inner


def _resolve_xml_schema(
    node: Any, resource: Resource, references: References
) -> tuple[Node, Resource]:
    schema, resource, _ = references.follow(node, resource)
    if not isinstance(schema, dict):
        return {}, resource
    parts = [schema]
    for branch in as_list(schema.get("allOf")):
        part, owner, _ = references.follow(branch, resource)
        if isinstance(part, dict) and owner is resource:
            parts.insert(0, part)
    out: Node = {}
    for part in parts:
        properties = {**out.get("properties", {}), **as_dict(part.get("properties"))}
        out |= {**part, "properties": properties}
    return out, resource


def _element_name(schema: Node, name: str) -> str:
    xml = as_dict(schema.get("xml"))
    own_name = xml.get("name") if isinstance(xml.get("name"), str) else name
    prefix = xml.get("prefix")
    return f"{prefix}:{own_name}" if isinstance(prefix, str) and prefix else str(own_name)


def _format_element(name: str, attributes: str, inner: str) -> str:
    if not name:
        return inner
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"
