"""Write values as Python literals: the only way for text of a document into a Python file.

Literals are ASCII, read back as equal values, and are laid out as `ruff format` does: on one line
where they fit, else one member per line.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from openapi_tools import model
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Written = tuple[str | None, str | None]
    """A value on one line, None if too long; and as its place requires, None if impossible."""

WIDTH = 100
"""Columns of a line, as in this repository's pyproject.toml."""
JSON_LEVELS = 400
"""Most levels of JSON text: deeper text cannot be read with every recursion limit."""

_STEP = 4
_NARROWEST = 20  # columns for members or text
_DEEPEST = WIDTH * 3  # indentation
_LONGEST_INTEGER = 10**WIDTH
_CALLS = {kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind)}
_COLON = ": "
_LOADS = "json.loads("
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_MEMBERS = re.compile(r".*?[]}],|.+")  # of compact JSON, each up to a closing bracket
_FLAGGED = re.compile(r"""(?:"0\.0\.0\.0"|["'](?:/tmp|/var/tmp|/dev/shm))""")


class Code(str):
    """Text that enters a Python file unchanged: made by the writer, or an allowed name."""

    __slots__ = ()
    # A template that fills a placeholder of Code must not get Code: jinja2 keeps the type.
    format = None  # type: ignore[assignment]
    format_map = None  # type: ignore[assignment]


_NONE = Code()


class TooDeep(OpenAPIToolsError):  # noqa: N818 -- says what is wrong, as the other exceptions do
    """A value cannot be written as plain Python; as JSON text it can."""

    def __init__(self) -> None:
        super().__init__(
            f"a value is nested too deep, or has a number too long, for {WIDTH} columns."
        )


def literal(value: Any, *, indent: int = 0, lead: int | None = None) -> Code:
    """Return a value as Python code.

    Args:
        value: None, a boolean, number, text, list, tuple, mapping with text keys, value of
            `openapi_tools.model`, or Code; also nested.
        indent: Columns before the line that it starts on.
        lead: Columns of that line before the value; `indent` when None.

    Raises:
        TooDeep: It has no plain layout within the width of a line.
        TypeError: It holds anything else.
    """
    _, text = _written(value, indent, WIDTH - (indent if lead is None else lead))
    if text is None:
        raise TooDeep
    return Code(text)


def assignment(
    name: Code, value: Any, *, indent: int = 0, annotation: Code = _NONE, plain: Any = None
) -> Code:
    """Return the statement `name: annotation = value`, indented, without a final line break.

    If the value is too deep for a literal, `plain` is written as JSON text in its place.

    Raises:
        TooDeep: The value is too deep, and `plain` is None.
        TypeError: `literal` cannot write the value.
    """
    head = " " * indent + name + (f": {annotation}" if annotation else "") + " = "
    try:
        return Code(head + literal(value, indent=indent, lead=len(head)))
    except TooDeep:
        if plain is None:
            raise
        return Code(head + json_text(plain, indent=indent, lead=len(head)))


def json_text(value: Any, *, indent: int, lead: int) -> Code:
    """Return JSON data as `json.loads("…")`, for what is too deep for `literal`.

    Raises:
        OpenAPIToolsError: It is too deep, contains itself, or does not read back as the same.
    """
    text = _compact(value)
    flat = _quoted(_escaped(text))
    if lead + len(_LOADS) + len(flat) < WIDTH:
        return Code(f"{_LOADS}{flat})")
    room = WIDTH - indent - _STEP
    lines = [flat] if len(flat) <= room else _pieces(text, room, paragraphs=_MEMBERS, after=", ")
    return Code(_LOADS + _below(lines, indent) + ")")


def is_json_text(statement: str) -> bool:
    """Tell whether an assignment's value is JSON text."""
    return statement.partition(" = ")[2].startswith(_LOADS)


def lint_codes(source: str) -> tuple[str, ...]:
    """Return the ruff rules that flag texts in a generated module."""
    if not _FLAGGED.search(source):  # saves parsing most modules
        return ()
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
    return tuple(code for code, fires in flagged.items() if fires)


def _compact(value: Any) -> str:
    """Return JSON text without spaces that reads back as the value."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
        is_same = json.loads(text) == value
    except (RecursionError, ValueError) as error:
        raise OpenAPIToolsError(f"a value cannot be written as JSON text: {error}.") from None
    if not is_same:
        raise OpenAPIToolsError("a value is not the same after it was written as JSON text.")
    level = [value]
    for _ in range(JSON_LEVELS + 1):
        level = [
            member
            for node in level
            if isinstance(node, (dict, list))
            for member in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return text
    raise OpenAPIToolsError(f"a value is nested deeper than {JSON_LEVELS} levels; use '$ref'.")


def _written(value: Any, indent: int, room: int) -> Written:
    """Write a value that starts on a line with `indent`, in `room` columns of it."""
    kind = value.__class__
    if kind is str:
        return _text(value, indent, room)
    if writer := _WRITERS.get(kind):
        return writer(value, indent, room)
    if isinstance(value, Mapping):
        return _mapping(value, indent, room)
    raise TypeError(f"{kind.__name__!r} cannot be written in generated code.")


def _text(value: str, indent: int, room: int) -> Written:
    flat, lines = None, None
    if len(value) < WIDTH:
        flat, lines = _word(_quoted(_escaped(value)), indent, room)
    inner = indent + _STEP
    if lines is None and room > 0 and inner <= WIDTH - _NARROWEST:
        lines = f"({_below(_pieces(value, WIDTH - inner), indent)})"
    return flat, lines


def _word(word: str, indent: int, room: int) -> Written:
    """Write what has no members; in parentheses if only a line of its own has the room."""
    if len(word) <= room:
        return word, word
    fits = room > 0 and indent + _STEP + len(word) <= WIDTH
    return word, f"({_below([word], indent)})" if fits else None


def _code(value: Code, indent: int, room: int) -> Written:
    return (None, value) if "\n" in value else _word(value, indent, room)


def _number(value: float, indent: int, room: int) -> Written:
    if not -_LONGEST_INTEGER < value < _LONGEST_INTEGER and isinstance(value, int):
        return None, None
    if not isfinite(value):
        raise TypeError(f"{value!r} is not a JSON number.")
    return _word(repr(value).replace("e+", "e"), indent, room)


def _mapping(value: Mapping[str, Any], indent: int, room: int) -> Written:
    inner = indent + _STEP
    parts = []
    for key, item in value.items():
        prefix = _key(key)
        left = WIDTH - 1 - inner - len(prefix)
        fits = left > 0 if item.__class__ not in _CALLS else left > len(item.__class__.__name__)
        parts.append((prefix, prefix if fits else _long_key(key, inner), item))
    return _bracketed("{", parts, "}", indent, room)


def _items(values: Iterable[Any]) -> list[tuple[str, str, Any]]:
    return [("", "", item) for item in values]


def _call(value: Any, indent: int, room: int) -> Written:
    """Write a value of the model as the call that makes it."""
    named = [(f"{name}=" if name else "", item) for name, item in value.shown()]
    parts = [(prefix, prefix, item) for prefix, item in named]
    return _bracketed(f"{type(value).__name__}(", parts, ")", indent, room)


def _key(key: Any) -> str:
    if key.__class__ is not str:
        raise TypeError(f"the key {key!r} is not text.")
    return _quoted(_escaped(key)) + _COLON


def _long_key(key: str, indent: int) -> str:
    """Return a key that leaves its value no room on its line, in parentheses if possible."""
    prefix, room = _key(key), WIDTH - indent - _STEP
    if room < _NARROWEST:
        return prefix
    word = prefix.removesuffix(_COLON)
    lines = [word] if len(word) <= room else _pieces(key, room)
    return f"({_below(lines, indent)}){_COLON}"


def _bracketed(
    opening: str, parts: list[tuple[str, str, Any]], closing: str, indent: int, room: int
) -> Written:
    """Write members: for each its prefix on one line, its prefix on its own line, and its value."""
    if not parts:
        return _word(opening + closing, indent, room)
    inner = indent + _STEP
    if inner > _DEEPEST:
        raise TooDeep
    flats: list[str] = []
    lines: list[str] = []
    for prefix, start, value in parts:
        before = len(start) if start is prefix else len(_COLON) + 1
        flat, text = _written(value, inner, WIDTH - 1 - inner - before)
        if flat is not None:
            flats.append(prefix + flat)
        if text is not None:
            lines.append(f"{start}{text},")
    line = _one_line(opening, flats, closing) if len(flats) == len(parts) else None
    if line is not None and len(line) <= room:
        return line, line
    if len(lines) < len(parts) or room < len(opening) or inner > WIDTH - _NARROWEST:
        return line, None
    return line, opening + _below(lines, indent) + closing


def _one_line(opening: str, flats: list[str], closing: str) -> str | None:
    comma = "," if opening == "(" and len(flats) == 1 else ""
    line = f"{opening}{', '.join(flats)}{comma}{closing}"
    return line if len(line) <= WIDTH else None


def _below(lines: Iterable[str], indent: int) -> str:
    """Return lines one level deeper, up to the place of the closing bracket."""
    start = "\n" + " " * (indent + _STEP)
    return start + start.join(lines) + "\n" + " " * indent


def _escaped(text: str) -> str:
    """Return text in ASCII with Python's escapes, but for quotes."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def _quoted(raw: str) -> str:
    """Return escaped text in the quotes that need fewer escapes, double ones if equal."""
    doubles = raw.count('"')
    if not doubles:
        return f'"{raw}"'
    if doubles > raw.count("'"):
        return "'" + raw.replace("'", "\\'") + "'"
    return '"' + raw.replace('"', '\\"') + '"'


def _pieces(
    text: str, room: int, *, paragraphs: re.Pattern[str] = _LINES, after: str = " "
) -> list[str]:
    """Return text as adjacent string literals of at most `room` columns.

    A paragraph starts a piece, so that its words never move those of the next one. A piece ends
    with one of the characters `after`, unless a word is longer than a line.
    """
    found = []
    for paragraph in paragraphs.findall(text):
        raw = _escaped(paragraph)
        start = 0
        while start < len(raw):
            end = _end(raw, start, _widest(raw, start, room), after=after)
            found.append(_quoted(raw[start:end]))
            start = end
    return found


def _widest(raw: str, start: int, room: int) -> int:
    """Return the last possible end of a piece, with its quotes and their escapes."""
    end = min(start + room - 2, len(raw))
    while True:
        piece = raw[start:end]
        over = len(piece) + 2 + min(piece.count('"'), piece.count("'")) - room
        if over <= 0:
            return end
        end -= over


def _end(raw: str, start: int, latest: int, *, after: str) -> int:
    """Return the best end of a piece: after a word, else between two characters."""
    if latest == len(raw):
        return latest
    if word := max(raw.rfind(character, start, latest) for character in after) + 1:
        return word
    for escape in _ESCAPE.finditer(raw, start, latest + 10):  # "\U0001f600" has 10
        if escape.end() > latest:
            return min(escape.start(), latest)
    return latest


_WRITERS: dict[type, Callable[[Any, int, int], Written]] = {
    **dict.fromkeys((type(None), bool), lambda value, *place: _word(repr(value), *place)),
    **dict.fromkeys((int, float), _number),
    dict: _mapping,
    list: lambda value, *place: _bracketed("[", _items(value), "]", *place),
    tuple: lambda value, *place: _bracketed("(", _items(value), ")", *place),
    Code: _code,
    **dict.fromkeys(_CALLS, _call),
}
