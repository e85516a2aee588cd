"""Lists in responses of operations without signs of paging."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from openapi_tools.common.page_names import (
    MORE_FLAGS,
    NEXT_NAME,
    PAGE_CONTAINERS,
    SIZE_NAMES,
    TOTAL_NAME,
)
from openapi_tools.common.visible_text import fold_name
from openapi_tools.responses.response_lists import find_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.responses.paging import PageReader, Step


_SIGNS = PAGE_CONTAINERS | MORE_FLAGS | {"count"}


class ListReader:
    """Reads a response without signs of paging; one that may be a part gets a closer look.

    Args:
        arguments: Those of the call.
        make: Returns the `PageReader` of the response.
    """

    __slots__ = ("_arguments", "_make", "step", "total")

    def __init__(self, arguments: Mapping[str, Any], make: Callable[[], PageReader]) -> None:
        self._arguments, self._make = arguments, make
        self.step: Step | None = None
        self.total: int | None = None

    def read(self, value: Any, headers: Mapping[str, str]) -> str:
        """Note the step after a response, as `PageReader.read`."""
        if not self._may_be_part(value) or find_list(value) is None:
            return ""
        reader = self._make()
        note = reader.read(value, headers)
        self.step, self.total = reader.step, reader.total
        return note

    def _may_be_part(self, value: Any) -> bool:
        if isinstance(value, list) or any(map(_is_size, self._arguments)):
            return True
        return isinstance(value, dict) and any(map(_says_more, value))


# The arguments of a tool, and the properties of its responses, have the same names in each call.
@lru_cache(maxsize=4096)
def _is_size(argument: str) -> bool:
    return fold_name(argument) in SIZE_NAMES


@lru_cache(maxsize=4096)
def _says_more(property_name: str) -> bool:
    name = fold_name(property_name)
    return (
        name in _SIGNS
        or TOTAL_NAME.fullmatch(name) is not None
        or NEXT_NAME.fullmatch(name) is not None
    )
