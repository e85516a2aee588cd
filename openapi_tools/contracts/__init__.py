"""Tools for each coordinator: one module for each, which needs its extra."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from openapi_tools.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.result import ToolResult

_Block = TypeVar("_Block")


@contextmanager
def requiring(extra: str) -> Iterator[None]:
    """Turn a failing import into a `MissingExtraError` that names the extra to install."""
    try:
        yield
    except ImportError as error:
        reason = f"{error.name} is not installed: pip install 'openapi-tools[{extra}]'"
        raise MissingExtraError(reason, extra=extra) from error


def blocks_of(
    result: ToolResult, text: Callable[[str], _Block], image: Callable[[str, str], _Block]
) -> list[_Block]:
    """Return a result as a coordinator's blocks, made of a text, or of base64 and a media type."""
    return [
        text(part.text) if part.type == "text" else image(part.data, part.media_type)
        for part in result.as_content()
    ]
