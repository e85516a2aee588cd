"""Schemas of what is sent as a file.

Spec: Swagger 2.0 `type: file`; OpenAPI 3.0.4, section 4.7.14.2 (`format: binary`); OpenAPI 3.1.2,
section 4.8.14.3 (`contentMediaType`, or no type at all).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools import media_types
from openapi_tools.requests.multipart import file_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.settings import Settings

_KEPT = ("title", "description", "deprecated")
_WORDS = frozenset({"title", "description", "deprecated", "examples", "format", "contentMediaType"})


class Part(NamedTuple):
    """A part that is a file, or holds some.

    Attributes:
        schema: Of the argument: a file object, an array of them, or a union with one.
        content_type: The part's media type as the document names it, else empty.
    """

    schema: dict[str, Any]
    content_type: str


def is_file(schema: dict[str, Any], *, untyped: bool) -> bool:
    """Tell whether a converted schema describes bytes.

    Args:
        schema: A converted schema, references followed.
        untyped: Schemas without any type are bytes too (3.1 and later).
    """
    types = schema.get("type")
    textual = types in ("string", ["string", "null"])
    if textual and "binary" in (schema.get("format"), schema.get("contentEncoding")):
        return True  # RFC 2045, section 6.2: the encoding `binary` changes nothing
    kind = schema.get("contentMediaType")
    if kind is not None and "contentEncoding" not in schema and (textual or types is None):
        return not (media_types.is_text(kind) or media_types.is_json(kind))
    return untyped and not schema.keys() - _WORDS


def schema(settings: Settings, described: dict[str, Any], words: str) -> dict[str, Any]:
    """Return the schema of a file argument with the document's own description.

    Args:
        settings: Decides whether paths are offered.
        described: The document's schema.
        words: Used when it has no description.
    """
    out = file_schema(settings)
    out |= {key: described[key] for key in _KEPT if key in described}
    out.setdefault("description", words)
    return out


def part_schema(
    settings: Settings,
    declared: Any,
    *,
    content: Callable[[dict[str, Any]], dict[str, Any]],
    untyped: bool,
    depth: int = 4,
) -> Part | None:
    """Return the schema of a multipart member that is a file, an array of files or a union.

    Args:
        settings: Decides whether paths are offered.
        declared: The member's converted schema.
        content: Follows a `$ref`.
        untyped: Schemas without any type are bytes too (3.1 and later).
        depth: How many arrays and unions may stand around the file; they may go in a circle.

    Returns:
        None when it holds no file.
    """
    if not isinstance(declared, dict) or depth == 0:
        return None
    declared = content(declared)
    if is_file(declared, untyped=untyped):
        kind = str(declared.get("contentMediaType", ""))
        made = schema(settings, declared, "A file.")
        if isinstance(declared.get("type"), list):
            made = {"anyOf": [made, {"type": "null"}]}
        return Part(made, "" if media_types.is_wildcard(kind) else kind)
    look = partial(part_schema, settings, content=content, depth=depth - 1)
    if declared.get("type") == "array":
        inner = look(declared.get("items"), untyped=untyped)
        return inner and Part({**declared, "items": inner.schema}, inner.content_type)
    branches = declared.get("anyOf", [])
    found = [look(branch, untyped=False) for branch in branches]
    if not any(found):
        return None
    pairs = zip(found, branches, strict=True)
    return Part({**declared, "anyOf": [part.schema if part else old for part, old in pairs]}, "")
