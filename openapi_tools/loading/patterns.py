"""`pattern` as published documents write it: with delimiters and flags, as a mask, in prose.

Such a pattern is converted if it has one meaning; otherwise it is a hint, not a rule.

Spec: JSON Schema Validation 2020-12, section 6.3.3; ECMA-262, section 22.2.1 (Patterns).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from openapi_tools.common.json_schema import TYPES
from openapi_tools.validation.check_cost import UNUSABLE, compile_schema

_DELIMITED = re.compile(r"([/#~@%!])(.+)\1([a-zA-Z]{0,8})", re.DOTALL)
_FLAGS = frozenset("gimsuyADSU")  # of JavaScript, Perl and PHP; `x` would change the syntax
_INLINE = re.compile(r"\(\?([ims]+)\)")
_META = frozenset("\\[](){}*+?^$|")
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_JAVA_INTERSECTION = "&&["
# ECMA-262 has these, but no engine that runs in linear time; the API checks them.
_NOT_LINEAR = re.compile(r"\(\?<?[=!]|\\[1-9]|\\k<")
_LONGEST_MASK = 60
_MASK_SIGNS = frozenset(" /.:_,()+*-")  # between the characters that a mask stands for
_MASK_LETTERS = frozenset("#XNA09")
_DATE_SEPARATORS = re.compile(r"[\s/.:_,+'\[\]-]+")
_DATE_LETTERS = {"y": 4, "m": 4, "d": 4, "h": 2, "s": 9, "t": 1, "z": 3, "x": 3, "a": 1}
_DATE_PARTS = ("yy", "mmdd", "ddmm", "hhmm", "mmss")
_NAMES = TYPES | {
    *("date", "date-time", "datetime", "time", "timestamp", "email", "uuid", "guid", "uri", "url"),
    *("int", "int32", "int64", "long", "float", "double", "decimal", "bool", "byte", "binary"),
    *("base64", "password", "hostname", "ipv4", "ipv6", "phone", "alphanumeric", "numeric"),
    *("alpha", "regex", "iso8601", "iso-8601", "currency"),
}
_WORD = re.compile(r"[^\W\d_]{2,}")
_RANGE = re.compile(r"[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d")
_TEXT_END = re.compile(r"\\[zZ]$")
_COUNTED = re.compile(r"\{\d")
_LONGEST_CHECKED, _LONGEST_LARGE = 500, 100
_SMALL, _LARGE = 64_000, 1_000_000  # bytes of a compiled pattern: in 0.3 ms, in some more
_PARENTHESES = dict.fromkeys(map(ord, "()"))
_PARTS = re.compile(  # escapes, group names, counts, ranges of letters, single characters
    r"\\(?:[pP]\{[^}\\]*\}|u\{[^}\\]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|k<[^>\\]*>|.)"
    r"|\(\?<[a-zA-Z_$][^>(]*>|\{\d+(?:,\d*)?\}|[a-z]-[a-z]|[A-Z]-[A-Z]|.",
    re.DOTALL,
)
_LETTER_RANGE = re.compile(r"[a-z]-[a-z]|[A-Z]-[A-Z]")


class PatternReading(NamedTuple):
    """A pattern as ECMA-262 writes it, None for one that cannot be a rule; what a warning says."""

    pattern: str | None
    remark: str = ""


@lru_cache(maxsize=4096)
def read_pattern(pattern: str) -> PatternReading:
    """Return how a document's pattern is meant."""
    if (delimited := _read_delimited(pattern)) is not None:
        return delimited
    plain = _TEXT_END.sub("$", re.sub(r"^\\A", "^", pattern))
    inline = _INLINE.match(plain)
    if inline is not None:
        plain = _apply_flags(plain[inline.end() :], inline[1])
    if fault := _describe_fault(plain):
        return PatternReading(None, f"{fault}; it is not enforced.")
    if plain == pattern:
        return PatternReading(pattern)
    return PatternReading(plain, f"is not valid in ECMA-262; it is read as {plain!r:.100}.")


@lru_cache(maxsize=4096)
def matches(pattern: str, text: str) -> bool | None:
    """Return whether a pattern is found in a text; None if checking would take too long."""
    if len(pattern) > _LONGEST_CHECKED:
        return None
    try:
        checked = compile_schema({"pattern": pattern}, size_limit=_SMALL)
        return checked.is_valid(text)
    except UNUSABLE:
        return None


def _read_delimited(pattern: str) -> PatternReading | None:
    delimited = _DELIMITED.fullmatch(pattern.strip())
    if delimited is None:
        return None
    delimiter, inner, flags = delimited.groups()
    is_anchored = inner.startswith("^") or (inner.endswith("$") and not inner.endswith("\\$"))
    # `/api/` and `/[^/]+/pets/` may be paths; without anchors the slashes are delimiters only
    # around an expression that has no other slash.
    if not is_anchored and (delimiter != "/" or _META.isdisjoint(inner) or "/" in inner):
        return None
    if not _FLAGS.issuperset(flags):
        return PatternReading(
            None, f"has the flags {flags!r}, which ECMA-262 does not have; it is not enforced."
        )
    if fault := _describe_fault(inner):
        return PatternReading(None, f"{fault}; it is not enforced.")
    plain = _apply_flags(inner, flags)
    return PatternReading(plain, f"is written with delimiters; it is read as {plain!r:.100}.")


def _describe_fault(pattern: str) -> str:
    if _POSIX.search(pattern) or _JAVA_INTERSECTION in pattern:
        return "has character classes that ECMA-262 does not have"
    if pattern.strip().lower() in _NAMES:
        return "is the name of a type or a format"
    if _is_mask(pattern):
        return "is a character mask, not a regular expression"
    if _is_prose(pattern):
        return "is prose, not a regular expression"
    if not _NOT_LINEAR.search(pattern) and not _is_usable(pattern):
        return "cannot be read as a regular expression"
    return ""


def _is_mask(pattern: str) -> bool:
    if len(pattern) > _LONGEST_MASK:
        return False
    if {*pattern} <= _MASK_LETTERS | _MASK_SIGNS:
        letters = [char for char in pattern if char in _MASK_LETTERS]
        return "#" in letters or len(letters) > len({*letters}) + 1
    groups = [
        (letter, len([*same]))
        for run in _DATE_SEPARATORS.split(pattern.lower().replace("hh24", "hh"))
        for letter, same in groupby(run)
    ]
    is_date = all(count <= _DATE_LETTERS.get(letter, 0) for letter, count in groups)
    plain = "".join(letter * min(count, 2) for letter, count in groups)
    return is_date and any(part in plain for part in _DATE_PARTS)


def _is_prose(pattern: str) -> bool:
    if not _META.isdisjoint(pattern.translate(_PARENTHESES)):
        return False
    return len(_RANGE.findall(pattern)) > 1 or (
        " " in pattern.strip() and len(_WORD.findall(pattern)) > 1
    )


def _is_usable(pattern: str) -> bool:
    # One that is too large for the engine is an expression all the same; compiling it takes time.
    if len(pattern) > _LONGEST_CHECKED or _is_compiled(pattern, _SMALL):
        return True
    is_short = len(pattern) <= _LONGEST_LARGE and _COUNTED.search(pattern) is None
    return not is_short or _is_compiled(pattern, _LARGE)


def _is_compiled(pattern: str, size: int) -> bool:
    try:
        compile_schema({"pattern": pattern}, size_limit=size)
    except UNUSABLE:
        return False
    return True


def _apply_flags(pattern: str, flags: str) -> str:
    if not {"i", "s"} & {*flags}:
        return pattern
    parts: list[str] = []
    is_class = False
    for part in _PARTS.findall(pattern):
        written = part
        if is_class:
            is_class = part != "]"
            written = _both_cases(part) if "i" in flags else part
        elif part == "[":
            is_class = True
        elif part == "." and "s" in flags:
            written = r"[\s\S]"
        elif "i" in flags and part.isalpha() and part.lower() != part.upper():
            written = f"[{_both_cases(part)}]"
        parts.append(written)
    return "".join(parts)


def _both_cases(part: str) -> str:
    is_letter = part.isalpha() or _LETTER_RANGE.fullmatch(part)
    return part + part.swapcase() if is_letter and len(part.swapcase()) == len(part) else part
