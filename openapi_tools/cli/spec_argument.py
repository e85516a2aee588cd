"""From the argument SPEC to tools."""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.credential_options import given_credentials, given_settings
from openapi_tools.cli.output import busy
from openapi_tools.errors import SourceError

if TYPE_CHECKING:
    import httpx

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset


_NO_CACHE = "openapi_tools.no_cache"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_HOST = re.compile(r"(localhost|\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+(?=:))(:[0-9]{1,5})?/\S*")


def _remember(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_NO_CACHE] = value


reading = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Read the document anew, and keep nothing of it.",
)
"""The option of every command that loads a document; `load` heeds it."""


def source_of(spec: str) -> str | Path | bytes:
    """Return what to load: a URL, a path, or the bytes on standard input for `-`.

    Raises:
        SourceError: Standard input is closed, or a URL lacks its beginning.
    """
    if spec == "-":
        return read_stdin()
    if _SCHEME.match(spec):
        return spec  # the loader says which schemes it reads
    path = Path(spec)
    if _HOST.fullmatch(spec) and not path.exists():
        raise SourceError(f"there is no such file; did you mean http://{spec}?", source=spec)
    return path


def read_stdin() -> bytes:
    """Return what comes on standard input.

    Raises:
        SourceError: It is closed, or is none that can be read.
    """
    if sys.stdin is None:
        raise SourceError("standard input is closed.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"standard input cannot be read ({reason}).") from None


def load(
    source: str | Path | bytes, *, client: httpx.AsyncClient | None = None, **members: Any
) -> Toolset:
    """Load the tools with the credentials of this command, saying so on a terminal.

    Raises:
        OpenAPIToolsError: As `load_tools` does.
        click.UsageError: As `given_credentials` does.
    """
    from openapi_tools.loading.load import load_tools

    given = given_settings() | {n: value for n, value in members.items() if value is not None}
    if click.get_current_context().meta[_NO_CACHE]:
        given["cache"] = False
    credentials, settings = given_credentials(), None
    if given:  # else pydantic need not be imported
        from openapi_tools.settings import Settings

        settings = Settings(**given)
    with busy("Reading the document"):
        return load_tools(source, credentials=credentials, settings=settings, client=client)


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
