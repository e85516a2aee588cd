"""The response headers that a result keeps, and the line about them for a model."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from openapi_tools.media_types import parameter
from openapi_tools.redaction import names_credential
from openapi_tools.responses.shown_text import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import httpx

LONGEST = 1024
"""Characters of a header that a result keeps."""

_MOST = 40
_LONGEST_LIST = 8192
_PARAMETERS = 512
_EXPOSED = "access-control-expose-headers"
_KEPT = re.compile(
    r"(?:x-)?(?:allow|content-(?:disposition|language|length|range|type)|etag|last-modified|link"
    r"|location|pagination|retry-after)|(?:x-)?rate-?limit.*|.*(?:request-?id|correlation-id)"
)
_PAGING = "(?:page|pagination|paging)?"
_NEXT = re.compile(
    rf"{_PAGING}(?:next(?:page)?(?:cursor|id|key|link|marker|number|offset|range|token|ur[il])?"
    r"|cursornext|has(?:more|next(?:page)?))|(?:ms)?continuation(?:token)?"
)
_TOTAL = re.compile(
    rf"(?:wp|item|list|result|{_PAGING})total"
    r"(?:count|elements|entries|hits|items|objects|pages|records|results|rows|size)?"
    rf"|{_PAGING}(?:page|items?|records?|results?)count"
)
_NONE = frozenset({"", "-1", "0", "false", "none", "null"})
_NUMBER = re.compile(r"[0-9]{1,20}")
_RANGE = re.compile(r"(?:[\w-]{1,30} )?(?:[0-9]{1,20}-[0-9]{1,20}|\*)/(?:[0-9]{1,20}|\*)", re.ASCII)
_LINK = re.compile(r'<([^<>]*)>((?:[^<"]|"[^"]*")*)')

_LABELS = ("Next page", "Total", "Content-Range", "Location")
_EACH = 3
_ROOM = 1200
_LONGEST_NAME = 40


def is_kept(name: str) -> bool | None:
    """Whether results keep a header, by its name in lower case.

    Returns:
        True for headers that help with the next call, False for those with credentials, None for
        others: they are kept if the document or the answer names them.
    """
    if _label(name) or _KEPT.fullmatch(name):
        return True
    return False if names_credential(name) else None


def kept_headers(headers: httpx.Headers, declared: Collection[str] = ()) -> dict[str, str]:
    """Return the headers that a result keeps, by lower-case name, in full length.

    Spec: WHATWG Fetch, section 3.3.5, for `Access-Control-Expose-Headers`.

    Args:
        headers: Of the answer.
        declared: Names, in lower case, from the document.
    """
    found: dict[str, str] = {}
    others: list[tuple[str, bytes]] = []
    asked = set(declared)
    for raw_name, raw_value in headers.raw:
        name, kept = _known(raw_name)
        if kept:
            _add(found, name, raw_value)
        elif kept is None:
            others.append((name, raw_value))
            if name == _EXPOSED:
                names = raw_value[:_LONGEST_LIST].decode("latin-1").lower().split(",")
                asked.update(map(str.strip, names))
    for name, raw_value in others if asked else ():
        if name in asked:
            _add(found, name, raw_value)
    return found


@lru_cache(maxsize=1024)
def _known(raw_name: bytes) -> tuple[str, bool | None]:
    """Return a header's name and `is_kept` of it."""
    name = raw_name.decode("latin-1").lower()[:LONGEST]
    return name, is_kept(name)


def _add(found: dict[str, str], name: str, raw_value: bytes) -> None:
    """Keep a line of a header; lines with one name are joined (RFC 9110, section 5.3)."""
    if len(found) <= _MOST or name in found or name == "content-type":
        value = _legible(raw_value)
        found[name] = f"{found[name]}, {value}" if name in found else value


def _legible(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text if text.isprintable() else clean_text(text)


def header_note(headers: Mapping[str, str]) -> str:
    """Return a line about further pages, totals and the place of a new resource; may be empty.

    It holds words, numbers and ranges only, never a header's sentence.

    Spec: RFC 8288, section 3, for `Link`; RFC 9110, sections 10.2.2 and 14.4.
    """
    told: dict[str, list[str]] = {}
    left = _ROOM
    for name, value in headers.items():
        label = _label(name)
        fact = _fact(label, next_link(value) if name == "link" else value) if label else ""
        if fact and len(told.setdefault(label, [])) < _EACH:
            fact = fact if len(fact) <= left else "too long to be shown"
            left -= len(fact)
            told[label].append(fact if name == label.lower() else f"{fact} ({name})")
    return "; ".join(f"{label}: {', '.join(told[label])}" for label in _LABELS if label in told)


@lru_cache(maxsize=1024)
def _label(name: str) -> str:
    """Return a header's label in the line for a model; empty for most."""
    if name in ("content-range", "location"):
        return name.title()
    if len(name) > _LONGEST_NAME:
        return ""
    word = name.removeprefix("x-").replace("-", "").replace("_", "")
    if name == "link" or _NEXT.fullmatch(word):
        return "Next page"
    return "Total" if _TOTAL.fullmatch(word) else ""


def _fact(label: str, value: str) -> str:
    """Return the word, number or range in a header's value; empty for none."""
    if label == "Total":
        return value if _NUMBER.fullmatch(value) else ""
    if label == "Content-Range":
        return value if _RANGE.fullmatch(value) else ""
    is_word = value.isprintable() and " " not in value
    return value if is_word and value.lower() not in _NONE else ""


def next_link(links: str) -> str:
    """Return the target of the link to the next page in a `Link` header; empty without one."""
    for target, parameters in _LINK.findall(links[:_LONGEST_LIST]):
        if "next" in parameter(parameters[:_PARAMETERS], "rel").lower().split():
            return str(target).strip()
    return ""
