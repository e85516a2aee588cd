"""File arguments: how a model gives bytes.

A file is `{"base64": …}`, `{"text": …}` or, where the user's settings name folders for it,
`{"path": …}`; each with an optional `filename` and `content_type`. A string alone is never a path.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError
from openapi_tools.media_types import is_media_type, is_wildcard
from openapi_tools.requests.value_text import FAULTS, fault_reason

if TYPE_CHECKING:
    from openapi_tools.settings import Settings

_SOURCES = ("base64", "text", "path")
_URL_SAFE = frozenset("-_")
_STANDARD = frozenset("+/")


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent.

    Attributes:
        content: Its bytes.
        filename: Empty when the model gave none and it was not read from disk.
        content_type: Its media type; empty when the model gave none.
    """

    content: bytes
    filename: str = ""
    content_type: str = ""


def file_schema(settings: Settings) -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of a file argument; `path` is offered only with file roots."""
    sources = {
        "base64": {"type": "string", "description": "The bytes, base64-encoded."},
        "text": {"type": "string", "description": "The content as text, sent as UTF-8."},
    }
    if settings.file_roots:
        sources["path"] = {"type": "string", "description": "Path of a local file to send."}
    return {
        "type": "object",
        "properties": {
            **sources,
            "filename": {"type": "string", "minLength": 1},
            "content_type": {"type": "string", "description": "Media type, e.g. image/png."},
        },
        "additionalProperties": False,
        "oneOf": [{"required": [source]} for source in sources],
    }


def read_file(value: Any, settings: Settings) -> File:
    """Return the file that an argument stands for.

    Args:
        value: The argument, an object as `file_schema` describes it.
        settings: Its `file_roots` say where a `path` may lead.

    Raises:
        InputError: It is no such object, is not base64, or leads outside the folders.
    """
    given = [source for source in _SOURCES if isinstance(value, dict) and source in value]
    if len(given) != 1 or not isinstance(value[given[0]], str):
        raise InputError('a file is needed: {"base64": …} or {"text": …}.')
    read = {"base64": _decoded, "text": _encoded}.get(given[0])
    try:
        content = read(value[given[0]]) if read else _from_disk(value["path"], settings)
    except InputError as error:
        raise InputError(error.reason, pointer=f"/{given[0]}") from None
    filename = value.get("filename") or (Path(value["path"]).name if not read else "")
    return File(content, _text(filename, "filename"), _content_type(value.get("content_type")))


def _decoded(text: str) -> bytes:
    """Decode base64 in either alphabet (RFC 4648, sections 4 and 5), with or without padding."""
    characters = set(text)
    if characters & _URL_SAFE and characters & _STANDARD:
        raise InputError("this mixes the two alphabets of base64.")
    bare = text.rstrip("=")
    altchars = b"-_" if characters & _URL_SAFE else b"+/"
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("this is not base64; give text as `text` instead.") from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(fault_reason(error)) from None


def _from_disk(path: str, settings: Settings) -> bytes:
    """Read a regular file below one of the roots; links are followed before that is decided."""
    for root in settings.file_roots:
        try:
            folder = root.resolve(strict=True)
            found = (folder / path).resolve(strict=True)
            if found.is_relative_to(folder):
                return _contents(found)
        except (OSError, RuntimeError, *FAULTS):
            continue
    raise InputError("there is no such file in the folders that files may be read from.")


def _contents(path: Path) -> bytes:
    """Read what is a regular file when it is opened; a link put there meanwhile is not followed."""
    handle = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(path)
        return file.read()


def _text(value: Any, member: str) -> str:
    if isinstance(value, str):
        return value
    raise InputError("text is needed.", pointer=f"/{member}")


def _content_type(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str) and is_media_type(value) and not is_wildcard(value):
        return value
    raise InputError("a media type is needed, for instance 'image/png'.", pointer="/content_type")
