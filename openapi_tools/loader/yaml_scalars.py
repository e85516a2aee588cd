"""What a YAML scalar means: the core schema of YAML 1.2.

Spec: YAML 1.2.2, section 10.3.
"""

from __future__ import annotations

import re
from typing import Any

from openapi_tools.loader.limits import MAX_DIGITS, NOT_FINITE, TOO_LONG

_CORE = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NOTATIONS = {"0o": (8, 1), "0x": (16, 1.21)}
"""Base, and decimal digits that a digit is worth at most."""

_INFINITY = float("inf")


def resolve(text: str) -> Any:
    """Return the value of a plain scalar without a tag.

    Spec: YAML 1.2.2, section 10.3.2.

    Args:
        text: As written, for instance `"0o14"`.

    Returns:
        None, a boolean, an integer of any size, a finite float, or the text itself.

    Raises:
        ValueError: NaN, infinity, or an integer of more than `MAX_DIGITS` digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _finite(float(text))
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(NOT_FINITE)
    return text


def resolve_tagged(text: str, tag: str) -> Any:
    """Return the value of a scalar with a tag of the core schema.

    Spec: YAML 1.2.2, sections 10.1.1 and 10.2.1; `!` alone is section 6.9.1.

    Args:
        text: As written, quotes removed.
        tag: In full, for instance `"tag:yaml.org,2002:int"`.

    Raises:
        ValueError: Another tag, or text that the tag's type does not have.
    """
    if tag in ("!", f"{_CORE}str"):
        return text
    kinds: dict[str, tuple[type, ...]] = {
        f"{_CORE}null": (type(None),),
        f"{_CORE}bool": (bool,),
        f"{_CORE}int": (int,),
        f"{_CORE}float": (float, int),
    }
    if tag not in kinds:
        raise ValueError(unknown_tag(tag))
    value = resolve(text)
    if type(value) not in kinds[tag]:
        raise ValueError(f"{text[:40]!r} is not of the type that its tag names")
    return _finite(float(value)) if tag.endswith(":float") else value


def unknown_tag(tag: str) -> str:
    """Return why a tag is refused."""
    shown = tag.removeprefix(_CORE)[:80]
    return f"the tag {shown!r} is not one of YAML's core schema; write plain data"


def is_collection_tag(tag: str | None, name: str) -> bool:
    """Tell whether a collection may have a tag.

    Args:
        tag: As the parser gives it; None when there is none.
        name: `"map"` or `"seq"`.
    """
    return tag in (None, "!", _CORE + name)


def _integer(text: str) -> int:
    """Return an integer in one of the three notations."""
    base, width = _NOTATIONS.get(text[:2], (10, 1))
    if len(text.lstrip("+-")) * width > MAX_DIGITS:
        raise ValueError(TOO_LONG)
    return int(text, base)


def _finite(number: float) -> float:
    """Return a number if JSON has it."""
    if abs(number) == _INFINITY:
        raise ValueError(NOT_FINITE)
    return number
