"""From tools to files that a team commits, reviews and ships.

Here: values as Python literals, the only way for strings of a document into a Python file.

Literals read back as equal values, escape what a reader would not see (source_text.py), and are
laid out as `ruff format` does: on one line where they fit, else one item per line.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from math import isfinite
from typing import Any

from openapi_tools import model
from openapi_tools.codegen.source_text import (
    cut_to_columns,
    escape_characters,
    is_mark,
    source_width,
)
from openapi_tools.errors import OpenAPIToolsError

WIDTH = 100  # columns of a line, as in this repository's pyproject.toml
# Sentences and lines, so that a change of one moves the words of no other in a diff.
SENTENCES = re.compile(r"[^\n]*?(?:[.!?] (?=[A-Z])|[\u3002\uff01\uff1f]|\n)|[^\n]+")
MODELS: dict[str, type] = {  # classes whose values are written as calls, by name
    name: kind
    for name, kind in vars(model).items()
    if isinstance(kind, type) and is_dataclass(kind)
}

_JSON_LEVELS = 400  # deeper JSON text cannot be read with every recursion limit
_STEP = 4
_NARROWEST = 20  # columns for members or text
_MOST_CHARACTERS = 4 * WIDTH
_LONGEST_INTEGER = 10**WIDTH
_CUT = " ..."
_DOCSTRING_QUOTES = '"""' * 2
_WORD_ENDS = " \u3001\u3002\uff0c\uff1a\uff1b"  # a space, and punctuation without one after it
_CALLS = set(MODELS.values())
_COLON = ": "
_LOADS = "json.loads("
_ESCAPE = re.compile(r"\\(?:x..|u\{[0-9A-F]+\}|u.{4}|U.{8}|.)")  # of Python, or of Elixir
_PIECES = re.compile(r".*?[]}],|.+")  # of compact JSON, each up to a closing bracket
_FLAGGED = re.compile(r"""(?:"0\.0\.0\.0"|["'](?:/tmp|/var/tmp|/dev/shm))""")


class Code(str):
    """Text that enters a Python file unchanged: made by the writer, or an allowed name."""

    __slots__ = ()


BracketedParts = tuple[
    str, Iterator[tuple[str, Any]], str
]  # between brackets, each behind a prefix
_NONE = Code()


class TooDeep(OpenAPIToolsError):  # noqa: N818 -- reads as a fact, like the others
    """A value cannot be written as plain Python; as JSON text it can."""

    def __init__(self) -> None:
        super().__init__(
            f"a value is nested too deeply, or has a number too long, for {WIDTH} columns."
        )


def write_literal(value: Any, *, indent: int = 0, lead: int | None = None) -> Code:
    """Return JSON data, tuples, values of `openapi_tools.model` and Code as Python, or TooDeep."""
    return Code(_write_value(value, indent, WIDTH - (indent if lead is None else lead)))


def write_assignment(
    name: Code, value: Any, *, indent: int = 0, annotation: Code = _NONE, plain: Any = None
) -> Code:
    """Return the statement `name: annotation = value`; `plain` as JSON text if that is too deep."""
    head = " " * indent + name + (f": {annotation}" if annotation else "") + " = "
    try:
        return Code(head + write_literal(value, indent=indent, lead=len(head)))
    except TooDeep:
        if plain is None:
            raise
        return Code(head + write_json_text(plain, indent=indent, lead=len(head)))


def write_json_text(value: Any, *, indent: int, lead: int) -> Code:
    """Return JSON data as `json.loads("…")`, for values too deep for `literal`."""
    text = _write_compact_json(value)
    flat = _quote(_escape_text(text))
    if lead + len(_LOADS) + source_width(flat) < WIDTH:
        return Code(f"{_LOADS}{flat})")
    width = WIDTH - indent - _STEP
    lines = (
        [flat]
        if source_width(flat) <= width
        else _split_text(text, width, units=_PIECES, after=", ")
    )
    return Code(_LOADS + _indented_lines(lines, indent) + ")")


def write_docstring(text: str, *, indent: int) -> Code:
    """Return a text as a docstring of one line."""
    return Code(f'"""{shorten_sentence(text, WIDTH - indent - len(_DOCSTRING_QUOTES))}"""')


def shorten_sentence(text: str, columns: int) -> str:
    """Return a text for a docstring, as one sentence without what would be escaped there."""
    # It is no data, so a character is left out rather than escaped; linters refuse escapes.
    words = text.replace("\\", " ").replace('"', "'").split()
    line = escape_characters(" ".join(words), lambda _: "").strip()
    if source_width(line) >= columns:
        end = cut_to_columns(line, 0, columns - len(_CUT))
        word = find_piece_end(line, 0, end)
        line = line[: word if word > end // 2 else end].rstrip(" .,;:") + _CUT
    return line if line.endswith((".", "?", "!")) else f"{line}."


def is_json_text(statement: str) -> bool:
    """Return whether an assignment's value is JSON text."""
    return statement.partition(" = ")[2].startswith(_LOADS)


def lint_codes(source: str) -> tuple[str, ...]:
    """Return the ruff rules that flag texts in a generated module."""
    # RUF001 and RUF002 flag letters that resemble others; which ones, only ruff knows, so RUF100
    # must not say that there are none.
    is_plain = source.replace("\u2026", "").isascii()  # an ellipsis resembles nothing
    unlike_ascii = () if is_plain else ("RUF001", "RUF002", "RUF100")
    if not _FLAGGED.search(source):  # saves parsing most modules
        return unlike_ascii
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    # S104 flags an address to listen on, S108 a folder for temporary files.
    flagged = {
        "S104": "0.0.0.0" in texts,  # noqa: S104 -- the text that is looked for
        "S108": any(text.startswith(("/tmp", "/var/tmp", "/dev/shm")) for text in texts),  # noqa: S108 -- as above
    }
    return (*unlike_ascii, *(code for code, fires in flagged.items() if fires))


def _write_compact_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        is_same = json.loads(text) == value
    except (RecursionError, ValueError) as error:
        raise OpenAPIToolsError(f"a value cannot be written as JSON text: {error}.") from None
    if not is_same:
        raise OpenAPIToolsError("a value is not the same after it was written as JSON text.")
    level = [value]
    for _ in range(_JSON_LEVELS + 1):
        containers = [
            n.values() if type(n) is dict else n for n in level if type(n) in (dict, list)
        ]
        if not (level := [item for items in containers for item in items]):
            return text
    raise OpenAPIToolsError(f"a value is nested deeper than {_JSON_LEVELS} levels; use '$ref'.")


def _write_value(value: Any, indent: int, width: int) -> str:
    line = write_on_one_line(value, WIDTH, _split_value, _write_scalar)
    if line is not None and source_width(line) <= width:
        return line
    inner, parts_of_value = indent + _STEP, _split_value(value)
    if parts_of_value is None or line in ("{}", "[]", "()"):
        return _write_in_parentheses(value, line, indent, width)
    opening, parts, closing = parts_of_value
    if width < len(opening) or inner > WIDTH - _NARROWEST:
        raise TooDeep
    lines = []
    for prefix, item in parts:
        left = WIDTH - 1 - inner - source_width(prefix)
        callee = len(item.__class__.__name__) if item.__class__ in _CALLS else 0
        start = prefix
        if opening == "{" and left <= callee:
            start, left = _write_long_key(prefix, inner), WIDTH - 1 - inner - len(_COLON) - 1
        lines.append(f"{start}{_write_value(item, inner, left)},")
    return opening + _indented_lines(lines, indent) + closing


def _write_in_parentheses(value: Any, line: str | None, indent: int, width: int) -> str:
    inner = indent + _STEP
    if isinstance(value, Code) and "\n" in value:
        return value
    if width > 0 and line is not None and inner + source_width(line) <= WIDTH:
        return f"({_indented_lines([line], indent)})"
    if width > 0 and value.__class__ is str and inner <= WIDTH - _NARROWEST:
        return f"({_indented_lines(_split_text(value, WIDTH - inner), indent)})"
    raise TooDeep


def write_on_one_line(
    value: Any,
    width: int,
    split_value: Callable[[Any], BracketedParts | None],
    write_scalar: Callable[[Any], Any],
    measure: Callable[[str], int] = source_width,
) -> str | None:
    """Write a value on one line, in parts or as a scalar; None if that is longer than `width`."""
    if (parts_of_value := split_value(value)) is None:
        text = write_scalar(value)
        return text if text is not None and measure(text) <= width else None
    opening, parts, closing = parts_of_value
    texts, left = [], width - len(opening) - len(closing)
    if left < 0:
        return None
    for prefix, item in parts:
        own_width = left - measure(prefix)
        text = write_on_one_line(item, own_width, split_value, write_scalar, measure)
        if text is None:
            return None
        texts.append(prefix + text)
        left = own_width - measure(text) - 2
    comma = "," if opening == "(" and len(texts) == 1 else ""
    line = f"{opening}{', '.join(texts)}{comma}{closing}"
    return line if measure(line) <= width else None


def _split_value(value: Any) -> BracketedParts | None:
    kind = value.__class__
    if kind in (list, tuple):
        opening, closing = "[]" if kind is list else "()"
        return opening, (("", item) for item in value), closing
    if kind in _CALLS:
        named = ((f"{name}=" if name else "", item) for name, item in value.iter_arguments())
        return f"{kind.__name__}(", named, ")"
    if isinstance(value, Mapping):
        return "{", ((_write_key(key), item) for key, item in value.items()), "}"
    return None


def _write_scalar(value: Any) -> str | None:
    kind = value.__class__
    if kind is str:
        # The bound spares long texts; marks take no column.
        return _quote(_escape_text(value)) if len(value) < _MOST_CHARACTERS else None
    if value is None or kind is bool:
        return repr(value)
    if kind in (int, float):
        if kind is float and not isfinite(value):
            raise TypeError(f"{value!r} is not a JSON number.")
        is_short = kind is float or -_LONGEST_INTEGER < value < _LONGEST_INTEGER
        return repr(value).replace("e+", "e") if is_short else None
    if kind is Code:
        return None if "\n" in value else value
    raise TypeError(f"{kind.__name__!r} cannot be written in generated code.")


def _write_key(key: Any) -> str:
    if key.__class__ is not str:
        raise TypeError(f"the key {key!r} is not a string.")
    return _quote(_escape_text(key)) + _COLON


def _write_long_key(prefix: str, indent: int) -> str:
    word, width = prefix.removesuffix(_COLON), WIDTH - indent - _STEP
    if width < _NARROWEST:
        return prefix
    lines = [word] if source_width(word) <= width else _split_text(ast.literal_eval(word), width)
    return f"({_indented_lines(lines, indent)}){_COLON}"


def _indented_lines(lines: Iterable[str], indent: int) -> str:
    start = "\n" + " " * (indent + _STEP)
    return start + start.join(lines) + "\n" + " " * indent


def _escape_text(text: str) -> str:
    is_plain = text.isascii() and text.isprintable() and "\\" not in text
    if is_plain:
        return text
    if text.isascii():
        return text.encode("unicode_escape").decode("ascii")
    return escape_characters(text.replace("\\", "\\\\"), _escape_character)


def _escape_character(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _quote(raw: str) -> str:
    doubles = raw.count('"')
    if not doubles:
        return f'"{raw}"'
    if doubles > raw.count("'"):
        return "'" + raw.replace("'", "\\'") + "'"
    return '"' + raw.replace('"', '\\"') + '"'


def _split_text(
    text: str, width: int, *, units: re.Pattern[str] = SENTENCES, after: str = _WORD_ENDS
) -> list[str]:
    # A unit starts a piece, so that its words never move those of the next one.
    pieces = []
    for unit in units.findall(text):
        raw = _escape_text(unit)
        start = 0
        while start < len(raw):
            latest = cut_to_columns(raw, start, width - 2)
            # With quotes and escapes.
            while (over := source_width(_quote(raw[start:latest])) - width) > 0:
                latest -= max(over // 2, 1)
            end = find_piece_end(raw, start, latest, after=after)
            pieces.append(_quote(raw[start:end]))
            start = end
    return pieces


def find_piece_end(raw: str, start: int, latest: int, *, after: str = _WORD_ENDS) -> int:
    """Return the best end of a piece of escaped text: after a word, else between characters."""
    if latest == len(raw):
        return latest
    if word := max(raw.rfind(character, start, latest) for character in after) + 1:
        return word
    for escape in _ESCAPE.finditer(raw, start, latest + 10):  # the longest has 10 characters
        if escape.end() > latest:
            latest = min(escape.start(), latest)
            break
    while latest > start + 1 and is_mark(raw[latest]):  # not away from its letter
        latest -= 1
    return latest
