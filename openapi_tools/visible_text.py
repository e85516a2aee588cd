"""Text without characters that are not shown, in which words for a model can be hidden.

Spec: Unicode 16.0, section 5.21 (default ignorable code points); UTS #51 for flags and emoji.
"""

from __future__ import annotations

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
