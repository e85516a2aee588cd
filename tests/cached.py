"""What tests of the document cache share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.loading.plain_data import LazyDict

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.tools.toolset import Toolset


def is_from_cache(toolset: Toolset) -> bool:
    """Tell whether a toolset did not parse its document."""
    return any(type(tool._shared.document.root) is LazyDict for tool in toolset)


def kept(folder: Path) -> list[Path]:
    """Return the files of a cache."""
    return sorted(folder.glob("*")) if folder.is_dir() else []
