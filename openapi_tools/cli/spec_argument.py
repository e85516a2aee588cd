"""The argument SPEC and the options that select tools, and their loading."""

from __future__ import annotations

import difflib
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.credential_options import given_credentials, given_settings
from openapi_tools.cli.output import busy
from openapi_tools.errors import SourceError
from openapi_tools.json_values import unescape
from openapi_tools.options import settings_of
from openapi_tools.tools.toolset import Select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Return the source: a URL, a path, or the bytes on standard input for `-`.

    Raises:
        SourceError: Standard input is closed, or a URL lacks its beginning.
    """
    if spec == "-":
        return read_stdin()
    if _SCHEME.match(spec):
        return spec  # the loader says which schemes it reads
    path = Path(spec)
    if _HOST.fullmatch(spec) and not path.exists():
        raise SourceError(f"no such file; did you mean http://{spec}?", source=spec)
    return path


def read_stdin() -> bytes:
    """Return the bytes on standard input.

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
    credentials = given_credentials()
    settings = settings_of(given or None)  # the defaults need no pydantic
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


def selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `tags`, `methods` and `patterns`."""
    options = (
        click.option(
            "--tag", "tags", multiple=True, help="Only operations with this tag; repeatable."
        ),
        click.option("--method", "methods", multiple=True, help="Only this method; repeatable."),
        click.option(
            "--match",
            "patterns",
            multiple=True,
            help="Only tools whose name or path holds this text, or matches it as a glob; "
            "repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def selection(tags: Sequence[str], methods: Sequence[str], patterns: Sequence[str]) -> Select:
    """Return the selection that the options make."""
    return Select(tags=tags, methods=methods, where=_matcher(patterns))


def _matcher(patterns: Sequence[str]) -> Callable[[OperationTool], bool]:
    """Return a test whether a tool's name or path has one of the patterns."""

    def matches(tool: OperationTool) -> bool:
        texts = (tool.name, tool.path)
        return not patterns or any(
            pattern in text or fnmatchcase(text, pattern) for pattern in patterns for text in texts
        )

    return matches


def resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without a `$ref` at its root; an input schema's lead into `$defs`."""
    for _ in range(16):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            break
        name = unescape(reference.removeprefix("#/$defs/"))
        schema = root.get("$defs", {}).get(name, {})
    return schema if isinstance(schema, dict) else {}
