"""The list of items in a response whose operation has no known paging."""

from __future__ import annotations

from typing import Any

from openapi_tools.common.page_names import LIST_NAMES
from openapi_tools.common.visible_text import fold_name


def find_list(value: Any, depth: int = 0) -> list[Any] | None:
    """Return the items in a response without known paging; None where it has no plain list."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    lists = {fold_name(name): items for name, items in value.items() if isinstance(items, list)}
    of_objects = {name: items for name, items in lists.items() if items and _is_object(items[0])}
    lists = of_objects or lists
    named_lists = [lists[name] for name in LIST_NAMES if name in lists]
    if named_lists:
        return named_lists[0]
    if lists or depth:
        # Only a known name could say which of several lists holds the items.
        return next(iter(lists.values())) if len(lists) == 1 else None
    inner = (value.get(name) for name in ("data", "result", "response", "_embedded"))
    inner_lists = (find_list(part, depth + 1) for part in inner if isinstance(part, dict))
    return next((each for each in inner_lists if each is not None), None)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
