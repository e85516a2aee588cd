"""Form and multipart bodies: how each of their properties is written, and which of them are files.

Spec: Swagger 2.0 `type: file`; OpenAPI 3.0.4 sections 4.7.14 and 4.7.15, 3.1.2 sections 4.8.14 and
4.8.15, 3.2.0 sections 4.14 and 4.15.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common import http_rules
from openapi_tools.common.json_schema import ensure_items
from openapi_tools.common.json_values import Node, as_boolean, as_dict, as_list, as_string, is_true
from openapi_tools.common.visible_text import plain_text, short_hash
from openapi_tools.loading.keyword_values import ANNOTATIONS, is_file, media_type_in_format
from openapi_tools.model import Encoding, Parameter
from openapi_tools.requests.file_schema import file_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.loading.document import Document
    from openapi_tools.loading.references import Resource
    from openapi_tools.settings import Settings


_ALTERNATIVES = ("anyOf", "allOf")
_HOLDERS = {*_ALTERNATIVES, "properties"}
_STYLED = frozenset({"style", "explode", "allowReserved"})
_NESTED = 4  # levels of alternatives that are searched; they may form a cycle
_SHAPED = _HOLDERS | {"type", "$ref"}
_KEPT = ("title", "description", "deprecated")
_STRINGS = ("string", ["string", "null"])
# Keywords of strings that are no files.
_CHOOSING = frozenset(
    {"enum", "const", "pattern", "format", "contentEncoding", "maxLength", "allOf", "not"}
)
_FILE = f"File_{short_hash('an argument that is a file')}"


class PartHeader(NamedTuple):
    """A header that the document declares for one part, the property `part` of a body."""

    part: str
    parameter: Parameter
    schema: Node
    required: bool = False


class FormContent(NamedTuple):
    """A form, or a property of it, with file arguments; `encodings` that are not default."""

    schema: Any
    encodings: tuple[Encoding, ...]
    headers: tuple[PartHeader, ...]


@dataclass(frozen=True, slots=True)
class FormBodies:
    """Reads the forms of one document."""

    _document: Document

    def read(self, kind: str, schema: Node, declared: Node, resource: Resource) -> FormContent:
        """Return how a form or multipart body with a converted schema is written."""
        multipart = http_rules.is_multipart(kind)
        whole = self._document.schemas.content(schema)
        listed = not {"prefixEncoding", "itemEncoding"}.isdisjoint(declared)
        if multipart and (listed or whole.get("type") == "array" or "prefixItems" in whole):
            return self._read_positions(
                whole, declared, resource
            )  # parts are told apart by position
        nodes = as_dict(declared.get("encoding"))
        form = self._read_properties(schema, nodes, resource, multipart=multipart, depth=_NESTED)
        done = {encoding.name for encoding in form.encodings}
        unlisted = [
            self._read_encoding(name, node, multipart)
            for name, node in nodes.items()
            if isinstance(node, dict) and name not in done
        ]
        other_encodings = tuple(encoding for encoding in unlisted if not _is_default(encoding))
        if not form.schema.keys() & _SHAPED:
            form = form._replace(schema={**form.schema, "type": "object"})
        return form._replace(encodings=form.encodings + other_encodings)

    def has_files(self, schema: Any, depth: int = _NESTED) -> bool:
        """Return whether properties of a body, or the items of one, are files."""
        whole = self._document.schemas.content(schema) if isinstance(schema, dict) else {}
        nodes = [*whole.get("properties", {}).values(), whole.get("additionalProperties")]
        branches = [branch for key in _ALTERNATIVES for branch in whole.get(key, ())]
        return any(self._has_file(node, depth) for node in nodes) or any(
            self.has_files(branch, depth - 1) for branch in branches if depth
        )

    def _has_file(self, schema: Any, depth: int) -> bool:
        if not isinstance(schema, dict):
            return False
        inner = self._document.schemas.content(schema)
        parts = [
            inner.get("items"),
            *(part for key in _ALTERNATIVES for part in inner.get(key, ())),
        ]
        return is_file(inner, untyped=False) or any(
            self._has_file(part, depth - 1) for part in parts if depth
        )

    def _read_properties(
        self, schema: Node, nodes: Node, resource: Resource, *, multipart: bool, depth: int
    ) -> FormContent:
        whole = self._document.schemas.content(schema)
        if not whole.keys() & {*_HOLDERS, "additionalProperties"}:
            return FormContent(schema, (), ())
        read = {
            name: self._read_property(
                name, property_schema, nodes.get(name), resource, multipart=multipart
            )
            for name, property_schema in whole.get("properties", {}).items()
            if multipart or name in nodes
        }
        out = dict(whole)
        if multipart and read:
            out["properties"] = {name: form.schema for name, form in read.items()}
        forms = list(read.values())
        if multipart and isinstance(whole.get("additionalProperties"), dict):
            rest = self._read_additional(whole)
            out["additionalProperties"] = rest.schema
            forms.insert(0, rest)
        for key in _ALTERNATIVES if depth else ():
            if key in whole:
                parts = [
                    self._read_properties(
                        part, nodes, resource, multipart=multipart, depth=depth - 1
                    )
                    for part in whole[key]
                ]
                pairs = zip(parts, whole[key], strict=True)
                out[key] = [part.schema if part[1:] != ((), ()) else old for part, old in pairs]
                forms += parts
        encodings = {encoding.name: encoding for form in forms for encoding in form.encodings}
        headers = {header[:2]: header for form in forms for header in form.headers}
        return FormContent(out, tuple(encodings.values()), tuple(headers.values()))

    def _read_property(
        self, name: str, schema: Any, node: Any, resource: Resource, *, multipart: bool
    ) -> FormContent:
        if not node and not multipart:
            return FormContent(schema, (), ())
        encoding = self._read_encoding(name, as_dict(node), multipart)
        headers: tuple[PartHeader, ...] = ()
        if multipart:
            headers = tuple(self._read_headers(name, node, resource))
            file_schema_and_type = self._find_files(schema, untyped=self._document.dialect.modern)
            if file_schema_and_type is None and not encoding.style:
                file_schema_and_type = self._allow_file(schema)
            if file_schema_and_type is not None:
                schema, named = file_schema_and_type
                kind = encoding.content_type or _media_ranges(node) or named
                encoding = replace(encoding, file=True, content_type=kind)
        default = _is_default(encoding) and not headers
        return FormContent(schema, () if default else (encoding,), headers)

    def _read_additional(self, whole: Node) -> FormContent:
        rest = whole["additionalProperties"]
        file_schema_and_type = self._find_files(rest, untyped=False) or self._allow_file(rest)
        if file_schema_and_type is None:
            return FormContent(rest, (), ())
        schema, kind = file_schema_and_type
        # `*` is for every property without an encoding, so declared ones need one.
        declared = tuple(map(Encoding, whole.get("properties", ())))
        return FormContent(schema, (Encoding("*", file=True, content_type=kind), *declared), ())

    def _find_files(
        self, declared: Any, *, untyped: bool, depth: int = 4
    ) -> tuple[Node, str] | None:
        if not isinstance(declared, dict) or depth == 0:
            return None
        declared = self._document.schemas.content(declared)
        if is_file(declared, untyped=untyped):
            form = declared.get("format", "")
            kind = declared.get("contentMediaType") or media_type_in_format(form)
            file = file_argument_schema(self._document.settings, declared, "A file.")
            if isinstance(declared.get("type"), list):
                file = {"anyOf": [file, {"type": "null"}]}
            return file, "" if http_rules.is_wildcard(kind) else kind
        if declared.get("type") in ("array", ["array", "null"]):
            items = declared.get("items") if self._declares_items(declared) else None
            inner = self._find_files(items, untyped=untyped, depth=depth - 1)
            return inner and ({**declared, "items": inner[0]}, inner[1])
        branches = declared.get("anyOf", [])
        parts = [self._find_files(each, untyped=False, depth=depth - 1) for each in branches]
        if not any(parts):
            return None
        pairs = zip(parts, branches, strict=True)
        return {**declared, "anyOf": [part[0] if part else old for part, old in pairs]}, ""

    def _allow_file(self, declared: Any, depth: int = _NESTED) -> tuple[Node, str] | None:
        # Many documents describe a file as a string, and a part may need a file name or a media
        # type.
        inner = self._document.schemas.content(declared) if isinstance(declared, dict) else {}
        if inner.get("type") in _STRINGS and inner.keys().isdisjoint(_CHOOSING):
            annotations = {key: inner[key] for key in inner if key in ANNOTATIONS}
            rest = {key: value for key, value in inner.items() if key not in annotations}
            file = file_argument_schema(self._document.settings, {}, "A file.")
            reference = self._document.schemas.define(_FILE, file)
            return {**annotations, "anyOf": [rest, reference]}, ""
        if inner.get("type") in ("array", ["array", "null"]):
            items = self._allow_file(inner.get("items"), depth - 1) if depth else None
            return items and ({**inner, "items": items[0]}, items[1])
        branches = inner.get("anyOf", []) if depth else []
        parts = [self._allow_file(branch, depth - 1) for branch in branches]
        if not any(parts):
            return None
        pairs = zip(parts, branches, strict=True)
        return {**inner, "anyOf": [part[0] if part else old for part, old in pairs]}, ""

    def _declares_items(self, schema: Node) -> bool:
        return "items" in schema and self._document.schemas.declares_items(schema)

    def _read_positions(self, whole: Node, declared: Node, resource: Resource) -> FormContent:
        nodes = list(as_list(declared.get("prefixEncoding")))
        listed = whole.get("prefixItems", [])
        count = max(len(nodes), len(listed))
        nodes += [None] * (count - len(nodes))
        # Parts without a schema are not files.
        rest = whole["items"] if self._declares_items(whole) else True
        schemas = [*listed, *[rest] * (count - len(listed))]
        read = [
            self._read_property(str(index), schema, node, resource, multipart=True)
            for index, (schema, node) in enumerate(zip(schemas, nodes, strict=True))
        ]
        further_parts = self._read_property(
            "*", rest, declared.get("itemEncoding"), resource, multipart=True
        )
        out = ensure_items({**whole, "type": "array"})
        if isinstance(rest, dict):
            out["items"] = further_parts.schema
        if read:
            out["prefixItems"] = [{} if form.schema is True else form.schema for form in read]
        parts = read if rest is False else [*read, further_parts]
        return FormContent(
            out,
            tuple(encoding for form in parts for encoding in form.encodings),
            tuple(header for form in parts for header in form.headers),
        )

    def _read_encoding(self, name: str, node: Node, multipart: bool) -> Encoding:
        dialect = self._document.dialect
        inner = tuple(node.get("x-inner", ())) if dialect.swagger else ()
        styled = not _STYLED.isdisjoint(node)
        # OpenAPI 3.0.4, section 4.7.15 (Encoding Object): `style` is for urlencoded bodies
        # only; 3.1 has it for multipart/form-data, too.
        if styled and (not multipart or dialect.modern or dialect.swagger):
            style = node.get("style") if isinstance(node.get("style"), str) else "form"
            explode = as_boolean(node.get("explode"))
            return Encoding(
                name,
                style=style or "form",
                explode=style in ("form", "deepObject") if explode is None else explode,
                allow_reserved=is_true(node.get("allowReserved")),
                inner=inner,
            )
        kinds = node.get("contentType")
        first = kinds.split(",")[0].strip() if isinstance(kinds, str) else ""
        usable = http_rules.is_media_type(first) and not http_rules.is_wildcard(first)
        return Encoding(name, content_type=first if usable else "")

    def _read_headers(self, name: str, node: Any, resource: Resource) -> Iterator[PartHeader]:
        for header, declared in as_dict(as_dict(node).get("headers")).items():
            target = self._document.references.follow(declared, resource)
            if header.lower() == "content-type" or not isinstance(target.node, dict):
                continue
            schema = self._document.schemas.convert(target.node.get("schema"), target.resource)
            parameter = Parameter(header, "header", explode=as_boolean(target.node.get("explode")))
            if described := as_string(target.node.get("description")):
                limit = self._document.settings.description_chars
                schema = {**schema, "description": plain_text(described, limit)}
            yield PartHeader(name, parameter, schema, is_true(target.node.get("required")))


def _media_ranges(node: Any) -> str:
    kinds = as_dict(node).get("contentType")
    listed = [kind.strip() for kind in kinds.split(",")] if isinstance(kinds, str) else [""]
    is_open = not all(map(http_rules.is_media_type, listed)) or "*/*" in listed
    return "" if is_open else ", ".join(listed)


def _is_default(encoding: Encoding) -> bool:
    return not (encoding.style or encoding.content_type or encoding.file)


def file_argument_schema(settings: Settings, described: Node, description: str) -> Node:
    """Return the schema of a file argument with the document's description, else `description`."""
    out = file_schema(settings)
    out |= {key: described[key] for key in _KEPT if key in described}
    out.setdefault("description", description)
    return out
