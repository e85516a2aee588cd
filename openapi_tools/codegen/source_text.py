"""Which characters of a document stand in generated source as they are, and how wide they are.

Letters, digits, punctuation and symbols of every script do. What a reader of the source would not
see, or would see in another place, is an escape: control, invisible, bidirectional, private and
unassigned characters ("Trojan Source", CVE-2021-42574), and marks without a character to sit on.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from openapi_tools.common.visible_text import is_hidden

if TYPE_CHECKING:
    from collections.abc import Callable

# Assigned since Unicode 14, the version of Python 3.11: another Python must write the same bytes.
_NEWER = re.compile(
    "[\u088f\u0897\u0c5c\u0cdc\u0cf3\u0ece\u1acf-\u1aeb\u1b4e\u1b4f\u1b7f\u1c89\u1c8a\u20c1"
    "\u2427-\u2429\u2b96\u2ffc-\u2fff\u31e4-\u31ef\ua7cb-\ua7cf\ua7d2\ua7d4\ua7da-\ua7f1"
    "\ufbc3-\ufbd2\ufd90\ufd91\ufdc8-\ufdce\U000105c0-\U000105f3\U00010940-\U00010959"
    "\U00010d40-\U00010d8f\U00010ec2-\U00010eff\U0001123f-\U00011241\U00011380-\U000113e2"
    "\U000116d0-\U000116e3\U00011b00-\U00011bf9\U00011db0-\U00011de9\U00011f00-\U00011f5a"
    "\U0001342f\U00013439-\U000143fa\U00016100-\U00016139\U00016d40-\U00016d79"
    "\U00016ea0-\U00016ed3\U00016ff2-\U00016ff6\U000187f8-\U000187ff\U00018cff"
    "\U00018d09-\U00018df2\U0001b132\U0001b155\U0001cc00-\U0001cef0\U0001d2c0-\U0001d2d3"
    "\U0001df25-\U0001df2a\U0001e030-\U0001e08f\U0001e4d0-\U0001e6ff\U0001f6d8-\U0001f6dc"
    "\U0001f774-\U0001f77f\U0001f7d9\U0001f8b2-\U0001f8d8\U0001fa54-\U0001fa57"
    "\U0001fa75-\U0001fa77\U0001fa87-\U0001fa8f\U0001faad-\U0001faaf\U0001fabb-\U0001fabf"
    "\U0001fac6-\U0001facf\U0001fada-\U0001fadf\U0001fae8-\U0001faef\U0001faf7\U0001faf8"
    "\U0001fbcb-\U0001fbef\U0001fbfa\U0002b739-\U0002b73f\U0002cea2-\U0002cead"
    "\U0002ebf0-\U0002ee5d\U00031350-\U00033479]"
)
# Braille without a dot, a note without a head, and a filler: symbols and letters without ink.
_BLANK = frozenset("\u2800\U0001d159\U00016fe4")
# Where ruff, whose lines these are, departs from East Asian Width and from the categories: vowel
# signs that are part of the letter before them, and parts of Hangul syllables; hexagrams.
_NARROW = re.compile(
    "[\u09be\u09d7\u0b3e\u0b57\u0bbe\u0bd7\u0cc0\u0cc2\u0cc7\u0cc8\u0cca\u0ccb\u0cd5\u0cd6\u0d3e"
    "\u0d4e\u0d57\u0dcf\u0ddf\u1160-\u11ff\u1715\u1734\u1b35\u1b3b\u1b3d\u1b43\u1b44\u1baa\u1bf2"
    "\u1bf3\u302e\u302f\ua8fa\ua953\ua9c0\ud7b0-\ud7c6\ud7cb-\ud7fb\uff9e\uff9f\U000111c0"
    "\U000111c2\U000111c3\U00011235\U0001133e\U0001134d\U00011357\U000114b0\U000114bd\U000115af"
    "\U000116b6\U00011930\U0001193d\U0001193f\U00011941\U00011a84-\U00011a89\U00011d46"
    "\U00016ff0\U00016ff1\U0001d165\U0001d166\U0001d16d-\U0001d172]"
)
_WIDE = re.compile("[\u17a4\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d376]")
_SINGLE = frozenset("\u2d7f\U0001171e")
_TRIPLE = "\u17d8"


def escape_characters(text: str, escape: Callable[[str], str]) -> str:
    """Return a text in which `escape` has replaced each character that does not stand as it is."""
    parts, can_bear_mark = [], False
    for character in text:
        stands = _is_visible(character) and (can_bear_mark or not is_mark(character))
        parts.append(character if stands else escape(character))
        # On a quote or a backslash a mark would change how the end of the literal looks.
        can_bear_mark = stands and (character.isalnum() or not character.isascii())
    return "".join(parts)


def _is_visible(character: str) -> bool:
    # `isprintable`: neither a control, format, private or unassigned character, nor a surrogate,
    # nor a space but that of ASCII.
    if character.isascii():
        return character.isprintable()
    is_blank = character in _BLANK or is_hidden(character)
    return character.isprintable() and not is_blank and not _NEWER.match(character)


def is_mark(character: str) -> bool:
    """Return whether a character sits on the one before it."""
    return unicodedata.category(character)[0] == "M"


def source_width(text: str) -> int:
    """Return the columns that ruff counts for a text."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if character.isascii():
        return 1
    if _NARROW.match(character):
        return 0
    if _WIDE.match(character):
        return 2
    if character == _TRIPLE:
        return 3
    is_zero = unicodedata.category(character) in ("Mn", "Me") and character not in _SINGLE
    if is_zero:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_to_columns(text: str, start: int, width: int) -> int:
    """Return the end of the longest part of a text, from `start` on, within a width."""
    for end in range(start, len(text)):
        width -= _character_width(text[end])
        if width < 0:
            return end
    return len(text)
