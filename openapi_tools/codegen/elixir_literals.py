"""Write values as Elixir literals: the only way for text of a document into an Elixir file.

Literals are ASCII, laid out as `mix format` does, and hold no interpolation and no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from openapi_tools.codegen.literals import PARAGRAPHS, Code, piece_end
from openapi_tools.errors import OpenAPIToolsError

WIDTH = 98  # columns of a line, as `mix format` has them
DEEPEST = 100  # levels of maps and lists inside one another

_NARROWEST = 30
_OPENING = 2  # columns of what opens a map
_GROUPED = 6  # from as many digits on `mix format` sets underscores
_ATOM = re.compile(r"[a-z][a-z_]*")
_SPECIAL = re.compile(r'["\\]|#(?=\{)|[^ -~]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Unwritable(OpenAPIToolsError):  # noqa: N818 -- reads as a fact, like the others
    """A value has no Elixir literal."""


class Fields(dict[str, Any]):
    """A map whose keys are words of ours, written as atoms: `%{method: :get}`."""


def literal(value: Any, *, indent: int = 0, lead: int | None = None) -> Code:
    """Return a value as Elixir code; arguments as in `openapi_tools.codegen.literals`."""
    before = indent if lead is None else lead
    return Code(_written(value, indent, WIDTH - before, 0))


def escaped(text: str) -> str:
    """Return text in ASCII as it stands between the quotes of an Elixir string."""
    return _SPECIAL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in '"\\#':
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        raise Unwritable("a text holds half of a surrogate pair, which Elixir cannot hold.")
    return _SHORT.get(character) or f"\\u{{{ord(character):X}}}"


def _written(value: Any, indent: int, room: int, depth: int) -> str:
    """Return a value in `room` columns on its first line, on one line where it fits."""
    if depth > DEEPEST:
        raise Unwritable(f"a schema nests deeper than {DEEPEST} levels.")
    if (short := _inline(value, room)) is not None:
        return short
    if (shape := _shape(value)) is None:
        is_text = isinstance(value, str) and not isinstance(value, Code)
        return _heredoc(value, indent) if is_text else _scalar(value)
    opening, entries, closing = shape
    members = list(entries)
    lines = [
        _entry(key, member, indent + 2, (depth + 1, int(number < len(members))))
        for number, (key, member) in enumerate(members, start=1)
    ]
    inside = "\n" + ",\n".join(lines) + f"\n{' ' * indent}" if lines else ""
    return f"{opening}{inside}{closing}"


def _entry(key: str, value: Any, indent: int, place: tuple[int, int]) -> str:
    """Return one member on lines of its own; its place is a depth and the columns after it."""
    depth, trail = place
    start = f"{' ' * indent}{key}"
    room = WIDTH - len(start) - trail
    if key and _inline(value, room) is None:
        fits_here = len(start) + _OPENING <= WIDTH
        below = WIDTH - indent - 2 - trail
        is_plain = _shape(value) is None
        if not fits_here or (is_plain and _inline(value, below) is not None):
            written = _written(value, indent + 2, below, depth)
            return f"{start.rstrip()}\n{' ' * (indent + 2)}{written}"
    return start + _written(value, indent, room, depth)


def _shape(value: Any) -> tuple[str, Iterator[tuple[str, Any]], str] | None:
    """Return a container's opening, its members with the code of their keys, and its closing."""
    if isinstance(value, Fields):
        return "%{", ((f"{_word(key)}: ", member) for key, member in value.items()), "}"
    if isinstance(value, Mapping):
        return "%{", ((f"{_scalar(key)} => ", member) for key, member in value.items()), "}"
    if isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "{}"
        return opening, (("", item) for item in value), closing
    return None


def _word(key: str) -> str:
    if not _ATOM.fullmatch(key):
        raise TypeError(key)
    return key


def _inline(value: Any, room: int) -> str | None:
    if (shape := _shape(value)) is None:
        text = _scalar(value)
        return text if len(text) <= room else None
    opening, entries, closing = shape
    room -= len(opening) + len(closing)
    parts: list[str] = []
    for key, member in entries:
        room -= len(key) + (2 if parts else 0)
        found = _inline(member, room) if room > 0 else None
        if found is None:
            return None
        room -= len(found)
        parts.append(key + found)
    return f"{opening}{', '.join(parts)}{closing}" if room >= 0 else None


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Code) else f'"{escaped(value)}"'
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _number(value)
    raise TypeError(type(value).__name__)


def _number(value: float) -> str:
    if not isinstance(value, int) and not isfinite(value):
        raise Unwritable(f"{value!r} is not a number in Elixir.")
    try:
        mantissa, mark, exponent = repr(value).partition("e")
    except ValueError:  # Python writes no integer of that many digits
        raise Unwritable("a number has thousands of digits.") from None
    whole, point, rest = mantissa.partition(".")
    if mark and not point:
        point, rest = ".", "0"
    if len(whole.removeprefix("-")) >= _GROUPED:
        whole = f"{int(whole):_}"
    power = f"e{int(exponent)}" if mark else ""
    return f"{whole}{point}{rest}{power}"


def _heredoc(text: str, indent: int) -> str:
    r"""Return a text on several lines; each ends in `\`, so that no line break is part of it."""
    room = max(WIDTH - indent - 1, _NARROWEST)
    before = " " * indent
    lines = "".join(f"{before}{piece}\\\n" for piece in _pieces(text, room))
    return f'"""\n{lines}{before}"""'


def _pieces(text: str, room: int) -> Iterator[str]:
    """Yield an escaped text in pieces; a paragraph starts one, so words never move other ones."""
    for paragraph in PARAGRAPHS.findall(text):
        raw = escaped(paragraph)
        while len(raw) > room:
            end = piece_end(raw, 0, room)
            yield raw[:end]
            raw = raw[end:]
        yield raw
