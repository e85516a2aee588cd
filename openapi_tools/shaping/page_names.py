"""Names that tell about pages, in documents and in answers.

They are compared by their letters and digits in lower case: `page[cursor]`, `pageCursor` and
`page_cursor` are equal.
"""

from __future__ import annotations

import re
from typing import Any

_OTHER = re.compile(r"[^a-z0-9]")
LONGEST_NAME = 60

CONTAINERS = frozenset(
    {"meta", "metadata", "links", "paging", "pagination", "pageinfo", "pages", "page", "cursors"}
    | {"responsemetadata", "info", "response", "result", "data", "listmeta", "resultinfo"}
)
NEXT = re.compile(
    r"(?:page|pagination|paging)?next(?:page|results?)?"
    r"(?:cursor|id|key|link|marker|number|offset|token|ur[il]|href|start)?"
    r"|(?:odata)?nextlink|cursornext|nextcontinuationtoken|endcursor|nextrecordsurl"
)
SAME = frozenset({"cursor", "continue", "bookmark", "scrollid", "pagingtoken", "paginationtoken"})
"""Arguments whose next value may be in an answer under their own name."""
FLAGS = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "moreavailable", "istruncated"})
TOTALS = re.compile(r"(?:page)?total(?:count|elements|entries|hits|items|records|results|size)?")
LISTS = (
    "items",
    "data",
    "results",
    "records",
    "entries",
    "values",
    "value",
    "elements",
    "content",
)


def folded(name: str) -> str:
    """Return the letters and digits of a name in lower case; empty for a long name."""
    return _OTHER.sub("", name.lower()) if len(name) <= LONGEST_NAME else ""


def kinds_of(schema: Any) -> set[str]:
    """Return the types that a schema names, also inside unions; none where it is open."""
    if not isinstance(schema, dict):
        return set()
    kinds = schema.get("type", ())
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= kinds_of(part)
    return found - {"null"}
