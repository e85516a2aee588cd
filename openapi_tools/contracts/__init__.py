"""The tools in the words of each coordinator: one module for each, which needs its extra."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from openapi_tools.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType


def import_extra(module: str, extra: str) -> ModuleType:
    """Return a module of a coordinator's package.

    Raises:
        MissingExtraError: The package is not installed, or one that it needs.
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = error.name or module
        reason = f"{missing} is not installed: pip install 'openapi-tools[{extra}]'"
        raise MissingExtraError(reason, extra=extra) from error
