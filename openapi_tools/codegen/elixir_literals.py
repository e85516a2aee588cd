"""Values as Elixir literals, laid out as `mix format` does.

A literal contains no interpolation and no call, and escapes what a reader would not see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from math import isfinite
from typing import Any

from openapi_tools.codegen import (
    SENTENCES,
    BracketedParts,
    Code,
    find_piece_end,
    write_on_one_line,
)
from openapi_tools.codegen.source_text import escape_characters, is_mark
from openapi_tools.errors import OpenAPIToolsError

WIDTH = 98  # columns of a line, as `mix format` has them
DEEPEST = 100  # levels of maps and lists inside one another

_NARROWEST = 30
_OPENING = 2  # columns of what opens a map
_GROUPED = 6  # from as many digits on `mix format` sets underscores
_ATOM = re.compile(r"[a-z][a-z_]*")
_SPECIAL = re.compile(r'["\\]|#(?=\{)|[\x00-\x1f\x7f]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class UnwritableInElixir(OpenAPIToolsError):  # noqa: N818 -- reads as a fact, like the others
    """A value has no Elixir literal."""


class AtomMap(dict[str, Any]):
    """A map whose keys are words of ours, written as atoms: `%{method: :get}`."""


def write_elixir_literal(value: Any, *, indent: int = 0, lead: int | None = None) -> Code:
    """Return a value as Elixir code; arguments as in `openapi_tools.codegen`."""
    before = indent if lead is None else lead
    return Code(_write_value(value, indent, WIDTH - before, 0))


def escape_text(text: str) -> str:
    """Return text as it stands between the quotes of an Elixir string."""
    escaped = _SPECIAL.sub(lambda match: _escape_character(match[0]), text)
    return escaped if escaped.isascii() else escape_characters(escaped, _escape_character)


def _escape_character(character: str) -> str:
    if character in '"\\#':
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        raise UnwritableInElixir("a string contains a lone surrogate, which Elixir strings cannot.")
    return _SHORT.get(character) or f"\\u{{{ord(character):X}}}"


def _write_value(value: Any, indent: int, width: int, depth: int) -> str:
    if depth > DEEPEST:
        raise UnwritableInElixir(f"a schema nests deeper than {DEEPEST} levels.")
    if (line := _write_inline(value, width)) is not None:
        return line
    if (parts := _split_value(value)) is None:
        is_text = isinstance(value, str) and not isinstance(value, Code)
        return _write_heredoc(value, indent) if is_text else _write_scalar(value)
    opening, entries, closing = parts
    items = list(entries)
    lines = [
        _write_entry(key, item, indent + 2, (depth + 1, int(number < len(items))))
        for number, (key, item) in enumerate(items, start=1)
    ]
    inside = "\n" + ",\n".join(lines) + f"\n{' ' * indent}" if lines else ""
    return f"{opening}{inside}{closing}"


def _write_entry(key: str, value: Any, indent: int, place: tuple[int, int]) -> str:
    depth, trail = place
    start = f"{' ' * indent}{key}"
    width = WIDTH - _count_graphemes(start) - trail
    if key and _write_inline(value, width) is None:
        fits_here = _count_graphemes(start) + _OPENING <= WIDTH
        below = WIDTH - indent - 2 - trail
        is_plain = _split_value(value) is None
        if not fits_here or (is_plain and _write_inline(value, below) is not None):
            value_lines = _write_value(value, indent + 2, below, depth)
            return f"{start.rstrip()}\n{' ' * (indent + 2)}{value_lines}"
    return start + _write_value(value, indent, width, depth)


def _split_value(value: Any) -> BracketedParts | None:
    if isinstance(value, AtomMap):
        return "%{", ((f"{_write_atom(key)}: ", item) for key, item in value.items()), "}"
    if isinstance(value, Mapping):
        return "%{", ((f"{_write_scalar(key)} => ", item) for key, item in value.items()), "}"
    if isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "{}"
        return opening, (("", item) for item in value), closing
    return None


def _write_atom(key: str) -> str:
    if not _ATOM.fullmatch(key):
        raise TypeError(key)
    return key


def _write_scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Code) else f'"{escape_text(value)}"'
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _write_number(value)
    raise TypeError(type(value).__name__)


def _count_graphemes(text: str) -> int:
    # `mix format` counts these.
    return len(text) if text.isascii() else sum(not is_mark(character) for character in text)


_write_inline = partial(
    write_on_one_line,
    split_value=_split_value,
    write_scalar=_write_scalar,
    measure=_count_graphemes,
)


def _write_number(value: float) -> str:
    if not isinstance(value, int) and not isfinite(value):
        raise UnwritableInElixir(f"{value!r} is not a number in Elixir.")
    try:
        mantissa, mark, exponent = repr(value).partition("e")
    except ValueError:  # Python writes no integer of that many digits
        raise UnwritableInElixir("a number has thousands of digits.") from None
    whole, point, rest = mantissa.partition(".")
    if mark and not point:
        point, rest = ".", "0"
    if len(whole.removeprefix("-")) >= _GROUPED:
        whole = f"{int(whole):_}"
    power = f"e{int(exponent)}" if mark else ""
    return f"{whole}{point}{rest}{power}"


def _write_heredoc(text: str, indent: int) -> str:
    # Each line ends in `\`, so that no line break is part of the string.
    before, width = " " * indent, max(WIDTH - indent - 1, _NARROWEST)
    lines = []
    for paragraph in SENTENCES.findall(text):  # starts a line, so words never move other ones
        raw = escape_text(paragraph)
        while raw:
            end = find_piece_end(raw, 0, min(width, len(raw)))
            lines.append(f"{before}{raw[:end]}\\\n")
            raw = raw[end:]
    return f'"""\n{"".join(lines)}{before}"""'
