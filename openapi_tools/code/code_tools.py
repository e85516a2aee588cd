"""The two tools of code mode: `search` and `run_code`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openapi_tools.code.limits import CodeLimits
    from openapi_tools.search.meta_tools import MetaTool


def code_tools(toolset: Any, limits: CodeLimits | None = None) -> list[MetaTool]:
    """Return the two tools over a toolset.

    Raises:
        MissingExtraError: The extra `code` is not installed.
    """
    del toolset, limits
    return []


# The functions of this module are made of the sandbox's.
