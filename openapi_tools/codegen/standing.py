"""The package that stands in a folder: what its manifest lists, read back."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from openapi_tools.codegen.manifest import read_manifest
from openapi_tools.codegen.survey import read_inside
from openapi_tools.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def read_standing(output: Path, *, manifest: str) -> dict[str, str]:
    """Return the texts of the generated files in a folder, by relative path.

    Whatever cannot be read is left out: writing, or comparing, is what tells why.

    Args:
        output: The folder; it need not exist.
        manifest: Name of the manifest in it.
    """
    found = _texts(output, [manifest])
    known = read_manifest(found.get(manifest, ""))
    return found | _texts(output, known.files if known else ())


def _texts(output: Path, paths: Iterable[str]) -> dict[str, str]:
    found = {}
    for path in paths:
        with suppress(OutputError, OSError, ValueError):
            data = read_inside(output, path)
            if data is not None:
                found[path] = data.decode(errors="replace")
    return found
