"""Request Body Object -> what is sent, and the arguments that feed it.

Spec: OpenAPI 3.0.4 sections 4.7.13 to 4.7.15, 3.1.2 sections 4.8.13 to 4.8.15, 3.2.0 sections 4.13
to 4.15.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.loader import files
from openapi_tools.loader.forms import Forms, PartHeader
from openapi_tools.loader.operations import MAX_CHOICES
from openapi_tools.loader.texts import plain_text
from openapi_tools.model import RequestBody
from openapi_tools.runtime import media

if TYPE_CHECKING:
    from openapi_tools.loader.operations import Document
    from openapi_tools.loader.references import References, Resource
    from openapi_tools.runtime.settings import Settings

_PLAIN = frozenset(
    {"type", "properties", "required", "title", "description", "examples", "default", "deprecated"}
    | {"readOnly", "writeOnly", "format", "additionalProperties"}
)
"""Keywords of a schema whose members can become arguments of their own without changing it."""

_JSON: dict[str, Any] = {"application/json": {}}
_PREFERENCE = (
    ("application/json", "text/json"),
    ("application/merge-patch+json",),
)


@dataclass(frozen=True, slots=True)
class Content:
    """How a body is sent, before its arguments have names.

    Attributes:
        body: Without `argument` and `properties`.
        schema: The whole body's schema.
        flat: Its members become arguments.
        headers: Headers of the parts of a multipart body.
    """

    body: RequestBody
    schema: dict[str, Any]
    flat: bool
    headers: tuple[PartHeader, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be said in it and it need not be sent."""
        return self.flat and not self.schema.get("properties") and not self.body.required


class Bodies:
    """Reads the request bodies of one document.

    Args:
        document: The document.
        settings: `body`, `media_types` and `file_roots` are used.
    """

    def __init__(self, document: Document, settings: Settings) -> None:
        self._document = document
        self._settings = settings
        self._forms = Forms(document, settings)

    def read(self, node: dict[str, Any], resource: Resource) -> Content:
        """Return how the body of a Request Body Object is sent.

        Args:
            node: A Request Body Object, references followed.
            resource: The document that it stands in.

        Raises:
            DocumentError: A schema is malformed or leads nowhere.
        """
        content = dict(islice((node.get("content") or _JSON).items(), MAX_CHOICES))
        chosen = preferred(list(content), self._settings.media_types)
        declared, owner = self._media_type(content[chosen], resource)
        schema = self._schema(chosen, declared, owner)
        uploads = [kind for kind in content if media.is_multipart(kind)]
        if uploads and not self._settings.media_types and self._holds_files(chosen, schema):
            chosen = uploads[0]  # bytes have no place in JSON
            declared, owner = self._media_type(content[chosen], resource)
            schema = self._schema(chosen, declared, owner)
        body = RequestBody(
            media_type=chosen,
            required=node.get("required") is True,
            alternatives=tuple(kind for kind in content if kind != chosen),
        )
        described = node.get("description")
        words = described if isinstance(described, str) and described else ""
        return self._content(body, schema, declared, owner, words)

    def _media_type(self, node: Any, resource: Resource) -> tuple[dict[str, Any], Resource]:
        """Return a Media Type Object, references followed (3.2)."""
        target = self._document.references.follow(node, resource)
        return target.node if isinstance(target.node, dict) else {}, target.resource

    def _holds_files(self, kind: str, schema: dict[str, Any]) -> bool:
        """Tell whether a JSON body has members that are bytes, which multipart could send."""
        if not media.is_json(kind):
            return False
        content = self._document.schemas.content
        members = content(schema).get("properties", {}).values()
        inner = [content(member) for member in members]
        inner += [
            content(member["items"]) for member in inner if isinstance(member.get("items"), dict)
        ]
        return any(files.is_file(member, untyped=False) for member in inner)

    def _schema(self, kind: str, declared: dict[str, Any], resource: Resource) -> dict[str, Any]:
        """Return the whole body's schema; JSON Lines and the like are arrays of items."""
        if "itemSchema" in declared and "schema" not in declared:
            items = self._document.schemas.convert(declared["itemSchema"], resource)
            return {"type": "array", "items": items}
        schema = self._document.schemas.convert(declared.get("schema"), resource)
        if media.is_sequential(kind) and "type" not in self._document.schemas.content(schema):
            return {**schema, "type": "array"}
        return schema

    def _content(
        self,
        body: RequestBody,
        schema: dict[str, Any],
        declared: dict[str, Any],
        resource: Resource,
        words: str,
    ) -> Content:
        kind = body.media_type
        if media.is_form(kind) or media.is_multipart(kind):
            form = self._forms.read(kind, schema, declared, resource)
            body = replace(body, encodings=form.encodings)
            return Content(body, form.schema, self._is_flat(form.schema, body), form.headers)
        inner = self._document.schemas.content(schema)
        if media.is_wildcard(kind) and not files.is_file(inner, untyped=True):
            body = replace(body, media_type="application/json")
            kind = body.media_type
        if media.is_json(kind):
            flat = self._is_flat(schema, body)
            return Content(body, self._described(inner if flat else schema, words), flat)
        if media.is_sequential(kind):
            return Content(body, self._described(schema, words), flat=False)
        if media.is_text(kind):
            text = _as_text(inner, kind)
            if media.is_xml(kind) and text is not inner:
                shape = _shape(declared.get("schema"), resource, self._document.references)
                told = plain_text(words, self._settings.description_chars)
                known = f"Its elements: {shape}" if shape.startswith("<") else ""
                parts = (told, text["description"], known)
                text = {**text, "description": " ".join(filter(None, parts))}
            return Content(body, self._described(text, words), flat=False)
        file = files.schema(self._settings, inner, "The body's bytes.")
        return Content(replace(body, file=True), self._described(file, words), flat=False)

    def _described(self, schema: dict[str, Any], words: str) -> dict[str, Any]:
        """Return a schema with the request body's own description, unless it has one."""
        if not words or "description" in schema:
            return schema
        return {**schema, "description": plain_text(words, self._settings.description_chars)}

    def _is_flat(self, schema: dict[str, Any], body: RequestBody) -> bool:
        """Tell whether the members of a body are offered as arguments of their own."""
        schemas = self._document.schemas
        inner = schemas.content(schema)
        return (
            self._settings.body == "flat"
            and inner.get("type", "object") == "object"
            and (bool(inner.get("properties")) or inner.get("additionalProperties") is False)
            and not inner.keys() - _PLAIN
            and inner.get("additionalProperties", False) is False
            and (body.required or not inner.get("required"))
            and not schemas.is_recursive(schema)
        )


def preferred(kinds: list[str], wanted: tuple[str, ...]) -> str:
    """Return the media type to send: the user's first, then JSON, forms, text, anything else."""
    if len(kinds) == 1 and not wanted:
        return kinds[0]
    for pattern in wanted:
        for kind in kinds:
            if media.matches(kind, pattern) or media.matches(pattern, kind):
                return pattern if media.is_wildcard(kind) else kind
    return min(kinds, key=_rank)  # the document's order decides among equals


@lru_cache(maxsize=1024)
def _rank(kind: str) -> int:
    essence = media.essence(kind)
    ranks = [essence in names for names in _PREFERENCE]
    ranks += [
        media.is_json(kind) and "json-patch" not in essence,
        media.is_form(kind),
        media.is_multipart(kind),
        media.is_json(kind),
        media.is_sequential(kind),
        essence == "text/plain",
        media.is_text(kind),
    ]
    return ranks.index(True) if True in ranks else len(ranks)


def _shape(node: Any, resource: Resource, references: References) -> str:
    """Return an XML body's elements in words; few documents have one."""
    from openapi_tools.loader.xmltext import outline

    return outline(node, resource, references)


def _as_text(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the schema of a body that is text; a structure becomes the text that holds it."""
    if schema.get("type") in ("string", "number", "integer", "boolean"):
        return schema
    words = f"The body as text ({media.essence(kind)})."
    return {"type": "string", "description": words}
