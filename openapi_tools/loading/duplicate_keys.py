"""Keys that stand twice in one object: the last value would silently replace the others.

Spec: RFC 8259, section 4 (names should be unique); YAML 1.2.2, section 3.2.1.3 (keys are unique).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.errors import InvalidDocument
from openapi_tools.json_pointer import pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

_DOCUMENTATION = frozenset({"description", "summary", "title", "example"})
_NAMED_BY_USERS = frozenset(
    {
        "$defs",
        "additionalOperations",
        "callbacks",
        "content",
        "definitions",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "encoding",
        "examples",
        "headers",
        "links",
        "mapping",
        "mediaTypes",
        "parameters",
        "pathItems",
        "paths",
        "patternProperties",
        "properties",
        "requestBodies",
        "responses",
        "schemas",
        "scopes",
        "securityDefinitions",
        "securitySchemes",
        "variables",
        "webhooks",
    }
)
"""Members whose value is a map: its keys are names that users chose, `description` among them."""


def warning(path: Sequence[str | int], key: str, *, line: int | None = None) -> str:
    """Return the warning for a repeated key that hides nothing but words.

    Args:
        path: The object that the key stands in.
        key: The repeated key.
        line: Line of the repetition, where known.

    Raises:
        InvalidDocument: The key may hide an operation, a parameter, a rule.
    """
    place = "" if line is None else f" (again in line {line})"
    is_map = bool(path) and path[-1] in _NAMED_BY_USERS
    if (key in _DOCUMENTATION or key.startswith("x-")) and not is_map:
        return f"{pointer([*path, key])}: {key!r} stands twice{place}; the last one counts."
    raise InvalidDocument(
        f"{key!r} stands twice in one object{place} and hides the first; remove one of them.",
        pointer=pointer(path),
    )
