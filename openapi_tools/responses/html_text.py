"""The text of an HTML page, in one pass whatever the page is made of."""

from __future__ import annotations

import html
import re

from openapi_tools.responses.charsets import clean_text

LOOKED_AT = 200_000
"""Characters of a page that are read."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,30})")
_MARKUP = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype html|html)",
    re.IGNORECASE | re.DOTALL,
)
_HIDDEN = frozenset({"noscript", "script", "style", "svg", "template", "title"})
_INLINE = frozenset(
    {"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "u"}
)


def looks_like_html(content: bytes) -> bool:
    """Whether bytes begin as an HTML page does."""
    return _PAGE.match(content[:2000]) is not None


def has_markup(text: str) -> bool:
    """Whether text holds a tag, a comment or an entity of HTML."""
    return _MARKUP.search(text) is not None or _ENTITY.search(text) is not None


def page_text(page: str) -> str:
    """Return what an HTML page says, labelled as such: `"[HTML page "Not found"] Try …"`.

    Scripts, styles and comments are left out. Broken markup ends the text where no more sense can
    be made of it.
    """
    page = page[:LOOKED_AT]
    found = re.search(r"<title[^>]{0,200}>([^<]{0,300})", page, re.IGNORECASE)
    title = " ".join(_plain(found[1]).split()) if found else ""
    label = f'[HTML page "{title}"]' if title else "[HTML page]"
    return f"{label} {_plain(''.join(_pieces(page)))}".rstrip()


def _pieces(page: str) -> list[str]:
    """Return the text between the tags, with a line break for each tag that is no inline one."""
    pieces: list[str] = []
    position = 0
    while (start := page.find("<", position)) >= 0:
        pieces.append(page[position:start])
        tag = _TAG.match(page, start)
        if tag is None and page[start + 1 : start + 2] not in ("!", "?", "/"):
            pieces.append("<")
            position = start + 1
            continue
        position = _end(page, start, tag)
        if position < 0:
            return pieces
        if tag is not None and tag[2].lower() not in _INLINE:
            pieces.append("\n")
    return [*pieces, page[position:]]


def _end(page: str, start: int, tag: re.Match[str] | None) -> int:
    """Return where the text goes on after a tag, -1 when it does not."""
    if page.startswith("<!--", start):
        end = page.find("-->", start + 4)
        return end + 3 if end >= 0 else -1
    end = page.find(">", start)
    if end >= 0 and tag is not None and not tag[1] and tag[2].lower() in _HIDDEN:
        closing = re.compile(f"</{tag[2]}", re.IGNORECASE).search(page, end)
        end = page.find(">", closing.start()) if closing else -1
    return end + 1 if end >= 0 else -1


def _plain(text: str) -> str:
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _BLANKS.sub(" ", clean_text(text))
    return _LINES.sub("\n", text).strip()
