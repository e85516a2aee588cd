"""Lists in responses of operations without signs of paging.

Calls import this module, and the one that reads pages only for a list.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from openapi_tools.http_rules import CONTAINERS, FLAGS, LISTS, NEXT, SIZES, TOTALS, folded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.shaping.paging import PageReader, Step


_SIGNS = CONTAINERS | FLAGS | {"count"}


def find_list(value: Any, depth: int = 0) -> list[Any] | None:
    """Return the items in a response without known paging; None where it has no plain list."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    lists = {folded(name): member for name, member in value.items() if isinstance(member, list)}
    of_objects = {name: items for name, items in lists.items() if items and _is_object(items[0])}
    lists = of_objects or lists
    named_lists = [lists[name] for name in LISTS if name in lists]
    if named_lists or lists or depth:
        return (
            named_lists[0]
            if named_lists
            else next(iter(lists.values()))
            if len(lists) == 1
            else None
        )
    inner = (value.get(name) for name in ("data", "result", "response", "_embedded"))
    inner_lists = (find_list(member, depth + 1) for member in inner if isinstance(member, dict))
    return next((each for each in inner_lists if each is not None), None)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


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
        words = reader.read(value, headers)
        self.step, self.total = reader.step, reader.total
        return words

    def _may_be_part(self, value: Any) -> bool:
        if isinstance(value, list) or any(folded(name) in SIZES for name in self._arguments):
            return True
        return isinstance(value, dict) and any(map(_says_more, value))


@lru_cache(maxsize=4096)  # the properties of an API's responses have the same names in each call
def _says_more(property_name: str) -> bool:
    name = folded(property_name)
    return name in _SIGNS or TOTALS.fullmatch(name) is not None or NEXT.fullmatch(name) is not None
