"""What a generated package says about itself: from which document, which tools, which files.

The manifest is how a later run tells its own files from edited and from foreign ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

GENERATOR = "openapi-tools"
LAYOUTS = ("package", "module")
EXATHENA = "exathena"
"""Stands for the layout in the manifest of an ExAthena project, which has one only."""

_DOCUMENT = ("title", "version", "sha256")
# No part starts with a dot: that rules out `..`, and folders of other programs such as `.git`.
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A generated package's manifest.

    Attributes:
        api: The API's name, for instance `"museum"`.
        layout: `"package"`, `"module"` or `EXATHENA`.
        version: The generator's version, for instance `"0.1.0"`.
        document: `title`, `version` and `sha256` of the document.
        tools: The tools' names, in the document's order.
        files: For every generated file but the manifest its relative path, with `/`, and the
            SHA-256 of its bytes, for instance `{"museum_tools/py.typed": "e3b0c4..."}`.
    """

    api: str
    layout: str
    version: str
    document: Mapping[str, str]
    tools: tuple[str, ...]
    files: Mapping[str, str]

    def to_json(self) -> str:
        """Write the manifest as JSON text: equal manifests give equal text.

        Returns:
            ASCII with a final newline; `generator` comes first, `files` stand in their order.
        """
        members = {
            "generator": GENERATOR,
            "version": self.version,
            "api": self.api,
            "layout": self.layout,
            "document": {key: self.document[key] for key in _DOCUMENT},
            "tools": self.tools,
            "files": dict(sorted(self.files.items())),
        }
        return json.dumps(members, indent=2) + "\n"


def read_manifest(text: str) -> Manifest | None:
    """Read a manifest that may have been written by anyone.

    Members that are not known are ignored: a later version may have written them.

    Args:
        text: What stands in the file.

    Returns:
        The manifest; None when the text is none, or when it names a file outside its folder.
    """
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fits = {"generator": _is_ours, "layout": _is_layout, "document": _is_document}
    fits |= {"api": _is_text, "version": _is_text, "tools": _is_texts, "files": _are_files}
    if not isinstance(members, dict) or not all(fits[key](members.get(key)) for key in fits):
        return None
    return Manifest(
        api=members["api"],
        layout=members["layout"],
        version=members["version"],
        document={key: members["document"][key] for key in _DOCUMENT},
        tools=tuple(members["tools"]),
        files=members["files"],
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_plain_path(path: str) -> bool:
    """Tell whether a relative path is one that a generated file may have.

    Only ASCII letters, digits, `_`, `.`, `-` and `/`; no part is empty or starts with a dot or
    a dash, so the path stays inside its folder on every system.
    """
    return _PATH.fullmatch(path) is not None


def _is_ours(value: object) -> bool:
    return value == GENERATOR


def _is_layout(value: object) -> bool:
    return isinstance(value, str) and value in (*LAYOUTS, EXATHENA)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_document(value: object) -> bool:
    return isinstance(value, dict) and all(_is_text(value.get(key)) for key in _DOCUMENT)


def _are_files(value: object) -> bool:
    return isinstance(value, dict) and all(
        is_plain_path(path) and isinstance(file, str) and _DIGEST.fullmatch(file)
        for path, file in value.items()
    )
