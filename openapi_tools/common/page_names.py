"""Names of arguments and properties by which APIs describe the pages of a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.common.visible_text import fold_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MOST_PROPERTIES = 200

# Names of properties, folded, by which responses describe their pages.
PAGE_CONTAINERS = frozenset(
    {"meta", "metadata", "links", "paging", "pagination", "pageinfo", "pages", "page", "cursors"}
    | {"responsemetadata", "info", "response", "result", "data", "listmeta", "resultinfo"}
)
NEXT_NAME = re.compile(
    r"(?:page|pagination|paging)?next(?:page|results?)?"
    r"(?:cursor|id|key|link|marker|number|offset|token|ur[il]|href|start)?"
    r"|(?:odata)?nextlink|cursornext|nextcontinuationtoken|endcursor|nextrecordsurl"
)
NEXT_TOKEN = re.compile(r"(?:page|paging|pagination)?next(?:page|cursor|marker|offset|token)+")
"""Properties that name a next page even where no argument takes their value."""
PAGE_ECHOES = ("page", "pagenumber", "currentpage", "pageindex", "number")
"""Properties with the number of the page that came."""
CURSOR_NAMES = frozenset(
    {"cursor", "continue", "bookmark", "scrollid", "pagingtoken", "paginationtoken"}
)
"""Arguments whose next value a response may have under their own name."""
MORE_FLAGS = frozenset(
    {"hasmore", "hasnext", "hasnextpage", "more", "moreavailable", "istruncated"}
)
TOTAL_NAME = re.compile(
    r"(?:page)?total(?:count|elements|entries|hits|items|records|results|size)?"
)
LIST_NAMES = (
    *("items", "data", "results", "result", "records", "entries", "values", "value", "elements"),
    "content",
)
SIZE_NAMES = frozenset(
    {"limit", "perpage", "pagesize", "pagelimit", "maxresults", "maxitems", "maxkeys", "top"}
    | {"maxrecords", "itemsperpage", "resultsperpage", "maxpagesize"}
)
"""Arguments that take the number of items of a response."""


def find_properties(
    value: Any, containers: Collection[str], depth: int
) -> Iterator[tuple[str, Any]]:
    """Yield the properties of a response by folded name, the outermost first, down containers."""
    properties = list(value.items())[:_MOST_PROPERTIES] if isinstance(value, dict) else []
    yield from ((fold_name(name), property_value) for name, property_value in properties)
    for name, property_value in properties:
        if depth and isinstance(property_value, dict) and fold_name(name) in containers:
            yield from find_properties(property_value, containers, depth - 1)
