"""Tools for each coordinator: one module for each, which needs its extra."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from openapi_tools.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def requiring(extra: str) -> Iterator[None]:
    """Turn a failing import into an error that names the extra of this package to install.

    Raises:
        MissingExtraError: A package is not installed.
    """
    try:
        yield
    except ImportError as error:
        reason = f"{error.name} is not installed: pip install 'openapi-tools[{extra}]'"
        raise MissingExtraError(reason, extra=extra) from error
