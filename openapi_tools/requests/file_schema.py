"""The JSON Schema of an argument that is a file; `requests.body` reads its value.

Loading needs the schema only, and so no file store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openapi_tools.settings import Settings

_HANDLE_DESCRIPTION = "The `handle` that a response returned for a file; the best way to send one."


def file_schema(settings: Settings) -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of a file argument; settings allow handles and paths."""
    has_store = settings.files is not None or settings.download_dir is not None
    bytes_of = "The bytes, base64-encoded" + ("; prefer a handle." if has_store else ".")
    sources = {
        "base64": {"type": "string", "description": bytes_of},
        "text": {"type": "string", "description": "The content as text, sent as UTF-8."},
    }
    if settings.file_roots:
        sources["path"] = {"type": "string", "description": "Path of a local file to send."}
    if has_store:
        sources = {"handle": {"type": "string", "description": _HANDLE_DESCRIPTION}, **sources}
    return {
        "type": "object",
        "properties": {
            **sources,
            "filename": {"type": "string", "minLength": 1},
            "content_type": {"type": "string", "description": "Media type, e.g. image/png."},
        },
        "additionalProperties": False,
        # Exactly one source: two of them could differ, and nobody would know which was sent.
        "oneOf": [{"required": [source]} for source in sources],
    }
