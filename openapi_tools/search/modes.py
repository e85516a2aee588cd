"""Ways to offer tools: each of them, or a few that find and call the others, by number and size."""

from __future__ import annotations

from typing import Any

from openapi_tools.errors import MissingExtraError
from openapi_tools.search import costs

_MOST = 128  # tools that providers take in one request


def in_mode(toolset: Any, mode: str) -> tuple[Any, str, str]:
    """Return the tools to offer, the mode that is not `auto`, and the reason for its choice.

    Raises:
        MissingExtraError: The mode `code` needs an extra that is not installed.
    """
    why = ""
    if mode == "auto":
        why = _too_many(toolset)
        mode = "code" if why else "tools"
    if mode == "code":
        try:
            return toolset.code_tools(), mode, why
        except MissingExtraError as error:
            if not why:
                raise
            mode, why = "search", f"{why}; mode code needs more: {error}"
    return (toolset.meta_tools() if mode == "search" else toolset), mode, why


def _too_many(toolset: Any) -> str:
    """Return why a model should not get each tool; empty if it may."""
    if len(toolset) > _MOST:
        return f"{len(toolset)} tools are more than the {_MOST} that providers take at once"
    if costs.exceeds(list(toolset)):
        return f"the definitions of these tools take more than {costs.MOST_TOKENS:,} tokens"
    return ""
