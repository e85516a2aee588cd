"""`--tag`, `--method` and `--match`: which operations a command is about."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Select


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
    """Return what the options select."""
    from openapi_tools.tools.toolset import Select

    return Select(tags=tags, methods=methods, where=_matcher(patterns))


def _matcher(patterns: Sequence[str]) -> Callable[[OperationTool], bool]:
    """Return a test whether a tool's name or path has one of the patterns."""

    def matches(tool: OperationTool) -> bool:
        texts = (tool.name, tool.path)
        return not patterns or any(
            pattern in text or fnmatchcase(text, pattern) for pattern in patterns for text in texts
        )

    return matches
