"""Tools for each coordinator: one module for each, which needs its extra."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, TypeVar

from openapi_tools.search import costs
from openapi_tools.tools.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

_Block = TypeVar("_Block")
_advised: weakref.WeakSet[Toolset] = weakref.WeakSet()
logger = logging.getLogger("openapi_tools")


def advise(tools: Iterable[OperationTool]) -> None:
    """Log, once for a toolset, that its definitions take very many tokens, and the ways out."""
    if not isinstance(tools, Toolset) or tools in _advised:
        return
    _advised.add(tools)
    if costs.exceeds(list(tools)):
        logger.warning(
            "the definitions of these %d tools take more than %s tokens in each request: select "
            "some, or use toolset.meta_tools() (serve --mode search), toolset.code_tools() "
            "(serve --mode code) or definitions(…, defer=True)",
            len(tools),
            f"{costs.MOST_TOKENS:,}",
        )


def blocks_of(
    result: ToolResult, text: Callable[[str], _Block], image: Callable[[str, str], _Block]
) -> list[_Block]:
    """Return a result as a coordinator's blocks, made of a text, or of base64 and a media type."""
    return [
        text(part.text) if part.type == "text" else image(part.data, part.media_type)
        for part in result.as_content()
    ]
