"""Text of a document as a model may read it: without hidden characters, markup and passwords.

Spec: Unicode 16.0, section 5.21 (default ignorable code points); UTS #51 for flags and emoji.
"""

from __future__ import annotations

import html
import re
from typing import Any

_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
_OTHERS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff{_SELECTORS}"
)
_UNSEEN = f"{_OTHERS}{_JOINERS}"
_LETTER = rf"[^\x00-\x7f{_UNSEEN}]"
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_MONGOLIAN = "[\u1820-\u18aa]"
_SHAPING = "|".join(
    (
        "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f",  # a region's flag
        f"(?<={_HAN})[\U000e0100-\U000e01ef](?![{_UNSEEN}])",
        f"(?<={_MONGOLIAN})[\u180b-\u180d\u180f](?![{_UNSEEN}])",
        f"(?<={_LETTER})[{_SELECTORS}](?![{_OTHERS}])",
        "(?<=[#*0-9])\ufe0f(?=\u20e3)",  # a keycap
        f"(?<={_LETTER})[{_JOINERS}](?![{_UNSEEN}])",
        f"(?<={_LETTER}\ufe0f)\u200d(?![{_UNSEEN}])",  # in emoji of several parts
    )
)
"""Unseen characters that change the look of the one before, each alone, or of a flag."""
_SHAPING_OR_UNSEEN = re.compile(f"({_SHAPING})|[{_UNSEEN}]")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_BREAK = re.compile(r"<(?:br|/p|/li|/div|/h\d|/tr)\s*/?>", re.IGNORECASE)
_ELEMENTS = (
    "p|code|a|abbr|address|b|big|blockquote|br|caption|center|cite|col|colgroup|dd|del|details|dfn|div|"
    "dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|i|iframe|img|ins|kbd|li|main|mark|nav|"
    "nobr|ol|picture|pre|q|s|samp|script|section|small|source|span|strike|strong|style|sub|summary|"
    "sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video|wbr"
)
_MARKUP = rf"<(?:/?(?:{_ELEMENTS})(?:\s[^<>]{{0,300}})?/?>|!--.{{0,300}}?-->)"
_CODE_OR_TAG = re.compile(rf"`([^`\n]*`)|{_MARKUP}", re.IGNORECASE | re.DOTALL)
"""What looks like an element inside a code span, or has no element's name, is a placeholder."""
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()\s]{0,1000}(?: \"[^\"]{0,300}\")?\)")
_VISIBLE = bytes([10, *range(32, 127)])
_USER = re.compile(r"(?<=//)[^/?#]*(?=@)")
_BLANK = re.compile(r"\n{3,}")


def visible(text: str) -> str:
    """Return a text without characters that neither are shown nor shape others."""
    if text.isascii():
        return text
    return _SHAPING_OR_UNSEEN.sub(lambda found: found[1] or "", text)


def visible_in(value: Any) -> Any:
    """Return JSON-native data whose texts are `visible`."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_in(item) for item in value]
    if isinstance(value, dict):
        return {visible_in(name): visible_in(member) for name, member in value.items()}
    return value


def plain_text(text: str, limit: int) -> str:
    """Return a text without markup and control characters, cut at a word boundary.

    HTML elements and entities and the targets of Markdown links are taken out; the words, lists,
    code and emphasis of Markdown stay, because models read them well.

    Args:
        text: Any text of a document.
        limit: Most characters to keep, the `…` of a cut included.
    """
    text = _clean_lines(text[: limit * 8].strip())  # far more than stays, and bounded
    if "<" in text:
        text = _CODE_OR_TAG.sub(lambda found: found[0] if found[1] else "", _BREAK.sub("\n", text))
    if "&" in text:
        text = _without_controls(html.unescape(text))
    if "[" in text and "](" in text:
        text = text.replace("![", "[") if "!" in text else text
        text = "".join(_LINK.split(text))  # what lies between, and the words
    return cut(text.strip(), limit)


def _clean_lines(text: str) -> str:
    """Return a text with plain line ends and no invisible characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() or text.encode().translate(None, _VISIBLE):
        text = _without_controls(text)
    return _BLANK.sub("\n\n", text) if "\n\n\n" in text else text


def _without_controls(text: str) -> str:
    """Take out what hides or reorders text, and control characters but tabs and line ends."""
    return visible(_CONTROL.sub(" ", text))


def cut(text: str, limit: int) -> str:
    """Return a text cut at the last word boundary that leaves room for the mark, if it is long."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    space = max(head.rfind(" "), head.rfind("\n"))
    head = head[:space] if space > limit // 2 else head[:-1]
    return head.rstrip(" \n,;:") + "…"


def user_in(url: str) -> str:
    """Return the user and password in a URL, empty where there is none (RFC 3986, 3.2.1)."""
    found = _USER.search(url)
    return found[0] if found else ""


def without_user(text: str) -> str:
    """Return a text with `***` for the user and password of URLs in it: they reach no file."""
    return _USER.sub("***", text) if "@" in text else text
