"""The manifest of a generated package: its document, its tools, and a digest of every file.

A later run tells its own files from edited and foreign ones by it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openapi_tools._version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.codegen.package_data import PackageData

LAYOUTS = ("package", "module")
EXATHENA = "exathena"
"""The layout in the manifest of an ExAthena project."""

# No part starts with a dot: that excludes `..`, and folders of other programs such as `.git`.
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that was read.

    Attributes:
        api: The API's name, for instance `"museum"`.
        layout: `"package"`, `"module"` or `EXATHENA`.
        tools: The tools' names, in the document's order.
        files: SHA-256 of every generated file but the manifest by its relative path.
    """

    api: str
    layout: str
    tools: tuple[str, ...]
    files: Mapping[str, str]


def manifest_name(api: str, layout: str) -> str:
    """Return the file name of a manifest; a single module may have others beside it."""
    return f"{api}_tools.manifest.json" if layout == "module" else "manifest.json"


def with_manifest(files: Mapping[str, str], data: PackageData, *, layout: str) -> dict[str, str]:
    """Return the files of a package by relative path, and last their manifest in ASCII."""
    members = {
        "generator": "openapi-tools",
        "version": __version__,
        "api": data.api,
        "layout": layout,
        "document": {"title": data.title, "version": data.version, "sha256": data.document_hash},
        "tools": [record.name for record in data.records],
        "files": {path: digest(text.encode()) for path, text in sorted(files.items())},
    }
    return {**files, manifest_name(data.api, layout): json.dumps(members, indent=2) + "\n"}


def read_manifest(text: str) -> Manifest | None:
    """Read a manifest from any text; None unless it is valid and its files are plain paths.

    Unknown members are ignored: a later version may have written them.
    """
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match members:
        case {
            "generator": "openapi-tools",
            "version": str(),
            "api": str(api),
            "layout": ("package" | "module" | "exathena") as layout,
            "document": {"title": str(), "version": str(), "sha256": str()},
            "tools": [*tools],
            "files": dict(files),
        } if all(isinstance(tool, str) for tool in tools) and all(map(_is_file, files.items())):
            return Manifest(api, layout, tuple(tools), files)
    return None


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_plain_path(path: str) -> bool:
    """Tell whether a relative path may be that of a generated file.

    It has ASCII letters, digits, `_`, `.`, `-` and `/` only, and no part is empty or starts with a
    dot or a dash, so it stays inside its folder on every system.
    """
    return _PATH.fullmatch(path) is not None


def _is_file(item: tuple[str, object]) -> bool:
    path, known = item
    return is_plain_path(path) and isinstance(known, str) and bool(_DIGEST.fullmatch(known))
