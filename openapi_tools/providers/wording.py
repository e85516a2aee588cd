"""Descriptions in definitions: the sentences that a model needs to choose and call a tool.

Only keywords that refuse nothing are changed here, so a schema accepts what it did before.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from openapi_tools.common.visible_text import truncate_text

_END = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*+>•]|\d+[.)])\s)|(?<=[.!?])\s+(?=[^a-z\s]))")
# The start of a sentence that sends the reader to a page, which a model cannot open.
_OTHER_PAGE = re.compile(
    r"[\W_]*(?:(?:please )?note:?[\W_]*)?(?:"
    r"for (?:more|further|additional|complete|full|an? (?:over|complete|full)|details|guidance|"
    r"information|examples)\b[^`]*?\b(?:see|refer|read|visit|check)\b|"
    r"(?:please )?(?:see|read|refer to|visit|check out)\b(?!.*`)|"
    r"(?:to )?(?:learn|read|find out) more\b|more (?:details|information|info)\b)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_ACCESS = re.compile(  # about who may call an operation: no argument changes that
    r"(?=.*\b(?:oauth|(?:access )?tokens?|scopes?|permissions?|authenticated|authorized|owners?)\b)"
    r"(?=.*\b(?:access|admin\w*|owners?|permissions?|scopes?|users?)\b)"
    r"(?=.*\b(?:grant\w*|must|needs?|required|requires?)\b)",
    re.IGNORECASE | re.DOTALL,
)
_PAGE_WORDS = ("see", "more", "read", "refer", "visit", "check")
_ACCESS_WORDS = ("oauth", "token", "scope", "permission", "authenticated", "authorized", "owner")
_REMOVABLE_WORDS = (*_ACCESS_WORDS, *_PAGE_WORDS, "[!")  # without them no sentence may go
_RESPONSE_LINES = ("\nReturns: ", "\nFails: ")
_ALERT = re.compile(r"(?<!\s)\s*+(?:>\s*+)?\[!\w++\]\s*+")
# Signs of a sentence about values: quoted or counted ones, bounds, conditions, defaults.
_ABOUT_VALUES = re.compile(
    r"[`\d\"“]|\b(?:accepts?|allowed|an array|at (?:least|most)|boolean|can be|cannot|can't|comma|"
    r"default\w*|deprecated|e\.g|either|empty|encoded|example|exclusive|false|format\w*|id|if|"
    r"ignored|inclusive|instead|list|maximum|minimum|must|null|number|omit\w*|one of|only|optional|"
    r"required?|requires|separated|set|specif\w+|string|supported|true|unless|use|valid|when|"
    r"ISO|UTC)\b",
    re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORDS = frozenset(
    {"a", "an", "by", "for", "in", "is", "its", "of", "on", "that", "the", "this", "to", "with"}
)
_IMPLIED = {  # words that say nothing more if a property's name has another one
    "id": {"unique", "identifier", "identifies", "id"},
    "number": {"identifies"},
    "ids": {"identifiers"},
}
UNNEEDED_KEYWORDS = ("examples", "example", "$comment")  # by a model, to choose and call a tool
_LONGEST_REPETITION = 80  # characters of a description that only repeats a name


class Wording(NamedTuple):
    """Characters of descriptions: of those that stay whole, of properties, of tools."""

    whole_chars: int
    property_chars: int
    tool_chars: int


WORDINGS = {"short": Wording(60, 300, 500), "tight": Wording(40, 120, 240)}
"""The wordings of `Settings.definitions`, but for `full`, which changes nothing."""


def shorten_description(text: str, whole: int, most: int, *, values_only: bool = True) -> str:
    """Return a text without sentences that say nothing about a call, cut at the end of one.

    The first sentence stays. Of the others, `values_only` keeps those about values; without it, all
    stay but those about who may call.
    """
    if len(text) <= whole or not (values_only or len(text) > most or _has(text, _REMOVABLE_WORDS)):
        return text
    pieces = _END.split(text)
    kept, between = "", ""
    for sentence, end in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        plain = _ALERT.sub("", sentence) if "[!" in sentence else sentence
        if plain and (not kept or _is_needed(plain, values_only=values_only)):
            longer = kept + between + plain if kept else plain.lstrip("> ")
            if len(longer) > most:
                return f"{kept} …" if len(kept) > whole else truncate_text(longer, most)
            kept = longer
            between = ""
        between = "\n" if "\n" in between + end else " "
    return kept if len(kept) < len(text) else text


def shorten_tool_description(text: str, wording: Wording) -> str:
    """Return the description of a tool in a wording; lines about responses and errors stay."""
    lines = _response_lines(text)
    body = text.removesuffix(lines)
    return (
        shorten_description(body, wording.whole_chars, wording.tool_chars, values_only=False)
        + lines
    )


def _response_lines(text: str) -> str:
    end = len(text)
    while (start := text.rfind("\n", 0, end)) >= 0 and text.startswith(_RESPONSE_LINES, start):
        end = start
    return text[end:]


def _is_needed(sentence: str, *, values_only: bool) -> bool:
    if _has(sentence, _PAGE_WORDS) and _OTHER_PAGE.match(sentence):
        return False
    if values_only:
        return _ABOUT_VALUES.search(sentence) is not None
    return not (_has(sentence, _ACCESS_WORDS) and _ABOUT_ACCESS.match(sentence))


def _has(text: str, words: tuple[str, ...]) -> bool:
    lower = text.lower()
    return any(word in lower for word in words)


def repeats_name(text: str, name: str) -> bool:
    """Return whether a text has no words but those of a name."""
    if len(text) > _LONGEST_REPETITION or "`" in text:
        return False
    named = _words(name)
    return _words(text) - _FUNCTION_WORDS <= named.union(
        *(_IMPLIED.get(word, ()) for word in named)
    )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(_HUMP.sub(" ", text))}
