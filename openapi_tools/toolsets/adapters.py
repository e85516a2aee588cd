"""What the adapters of all coordinators share."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from openapi_tools.search import costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

_Block = TypeVar("_Block")
_warned: weakref.WeakSet[Any] = weakref.WeakSet()
logger = logging.getLogger("openapi_tools")


def warn_about_tokens(tools: Iterable[OperationTool]) -> None:
    """Log, once for each toolset, that its definitions take too many tokens, and what to do."""
    # A list of tools is the choice of its maker.
    if not hasattr(tools, "meta_tools") or tools in _warned:
        return
    _warned.add(tools)
    listed = list(tools)
    if costs.exceeds_tokens(listed):
        logger.warning(
            "the definitions of these %d tools take more than %s tokens in each request: select "
            "some, or use toolset.meta_tools() (serve --mode search), toolset.code_tools() "
            "(serve --mode code) or definitions(…, defer=True)",
            len(listed),
            f"{costs.MOST_TOKENS:,}",
        )


def make_blocks(
    result: ToolResult, text: Callable[[str], _Block], image: Callable[[str, str], _Block]
) -> list[_Block]:
    """Return a result as the blocks of a coordinator.

    Args:
        result: The result.
        text: Makes a block of a string.
        image: Makes a block of base64 and a media type.
    """
    return [
        text(part.text) if part.type == "text" else image(part.data, part.media_type)
        for part in result.as_content()
    ]
