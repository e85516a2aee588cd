"""From the argument SPEC to tools."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import busy

if TYPE_CHECKING:
    from openapi_tools.runtime.tool import OperationTool
    from openapi_tools.runtime.toolset import Toolset


def source_of(spec: str) -> str | Path | bytes:
    """Return what to load: a URL, a path, or the bytes on standard input for `-`."""
    if spec == "-":
        return sys.stdin.buffer.read()
    return spec if spec.lower().startswith(("http://", "https://")) else Path(spec)


def load(source: str | Path | bytes, **options: Any) -> Toolset:
    """Load the tools, saying so on a terminal.

    Raises:
        OpenAPIToolsError: As `load_tools` does.
    """
    from openapi_tools.loader.load import load_tools

    with busy("Reading the document"):
        return load_tools(source, **options)


def tool_of(toolset: Toolset, name: str) -> OperationTool:
    """Return a tool by name.

    Raises:
        click.UsageError: There is none; close names are named.
    """
    if name in toolset:
        return toolset[name]
    names = [tool.name for tool in toolset]
    close = difflib.get_close_matches(name, names, n=3) or [n for n in names if name in n][:3]
    hint = f"; did you mean {' or '.join(close)}?" if close else f" among {len(names)} tools."
    message = f"no tool is named {name!r:.100}{hint}"
    raise click.UsageError(message)
