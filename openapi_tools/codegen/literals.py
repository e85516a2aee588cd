"""The literal writer: the one place through which text of a document enters a Python file.

What it writes is ASCII, reads back as an equal value, and stands in the file just as `ruff format`
would put it: on one line where it fits, else one member per line.
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
from openapi_tools.codegen.layout import MEMBERS, STEP, WIDTH, escaped, pieces, quoted
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Written = tuple[str | None, str | None]
    """A value on one line, None when that is too long; and as its place asks, None when it cannot.
    """

NARROWEST = 20
"""Fewest columns in which members or text are still written."""
DEEPEST = WIDTH * 3
"""Indentation of what cannot be written: half a line of brackets opened one per line."""
JSON_LEVELS = 400
"""Most levels of JSON text: reading more needs a recursion limit that no program promises."""

_CALLS = {kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind)}
_COLON = ": "
_LONGEST_INTEGER = 10**WIDTH
_CALL = "json.loads("
_FLAGGED = re.compile(r"""(?:"0\.0\.0\.0"|["'](?:/tmp|/var/tmp|/dev/shm))""")
"""What only a text has that a rule flags, and few others: spares the parsing of most modules."""


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


def literal(value: Any, *, indent: int = 0, lead: int | None = None, trail: int = 0) -> Code:
    """Return a value as Python code.

    Args:
        value: None, a boolean, number, text, list, tuple, a mapping with text keys, a value of
            `openapi_tools.model`, or Code; inside one another as well.
        indent: Columns before the line that it starts on; its own further lines have 4 more.
        lead: Columns of that line before the value; `indent` when None.
        trail: Columns after it on its last line, for instance 1 for a comma.

    Raises:
        TooDeep: It has no plain layout within the width of a line.
        TypeError: It holds anything else.
    """
    before = indent if lead is None else lead
    _, text = _written(value, indent, WIDTH - before - trail)
    if text is None:
        raise TooDeep
    return Code(text)


def assignment(name: Code, value: Any, *, indent: int = 0, annotation: Code = _NONE) -> Code:
    """Return the statement `name: annotation = value`, each line indented, without a line break.

    Raises:
        TooDeep: The value has no plain layout within the width of a line.
        TypeError: The value is none that `literal` writes.
    """
    head = " " * indent + name + (f": {annotation}" if annotation else "") + " = "
    return Code(head + literal(value, indent=indent, lead=len(head)))


def json_text(value: Any, *, indent: int, lead: int) -> Code:
    """Return a value as `json.loads("…")`, for what is too deep for `literal`.

    Args:
        value: Plain JSON data.
        indent: Columns before the line that it starts on.
        lead: Columns of that line before the value.

    Raises:
        OpenAPIToolsError: It is deeper than JSON text can be read everywhere, contains itself, or
            holds what JSON text turns into something else: tuples, keys that are no text, two
            halves of a character.
    """
    text = _compact(value)
    flat = quoted(escaped(text))
    if lead + len(_CALL) + len(flat) < WIDTH:
        return Code(f"{_CALL}{flat})")
    room = WIDTH - indent - STEP
    lines = [flat] if len(flat) <= room else pieces(text, room, paragraphs=MEMBERS, after=", ")
    return Code(_CALL + _below(lines, indent) + ")")


def lint_codes(source: str) -> tuple[str, ...]:
    """Return the ruff rules that flag the data of a module: words of an API, not of ours.

    Args:
        source: The text of a generated module.

    Returns:
        What a `# ruff: noqa:` line of the module has to name; codes that flag nothing are left out.
    """
    if not _FLAGGED.search(source):
        return ()
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    # S104 stands for an address to listen on, S108 for a folder for temporary files.
    flagged = {
        "S104": "0.0.0.0" in texts,  # noqa: S104 -- the very text that is looked for
        "S108": any(text.startswith(("/tmp", "/var/tmp", "/dev/shm")) for text in texts),  # noqa: S108 -- as above
    }
    return tuple(code for code, fires in flagged.items() if fires)


def _compact(value: Any) -> str:
    """Return JSON text without spaces."""
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
    """Return a value on one line, and as its place asks.

    Args:
        value: Any value.
        indent: Columns before the line that it starts on.
        room: Columns that it may take on that line.
    """
    kind = value.__class__
    if kind is str:
        return _text(value, indent, room)
    if writer := _WRITERS.get(kind):
        return writer(value, indent, room)
    if isinstance(value, Mapping):
        return _mapping(value, indent, room)
    raise TypeError(f"{kind.__name__!r} is no value that generated code can hold.")


def _text(value: str, indent: int, room: int) -> Written:
    flat, lines = None, None
    if len(value) < WIDTH:
        flat, lines = _word(quoted(escaped(value)), indent, room)
    inner = indent + STEP
    if lines is None and room > 0 and inner <= WIDTH - NARROWEST:
        lines = f"({_below(pieces(value, WIDTH - inner), indent)})"
    return flat, lines


def _word(word: str, indent: int, room: int) -> Written:
    """Write what has no members; in parentheses where the line of its own gives it the room."""
    if len(word) <= room:
        return word, word
    fits = room > 0 and indent + STEP + len(word) <= WIDTH
    return word, f"({_below([word], indent)})" if fits else None


def _constant(value: bool | None, indent: int, room: int) -> Written:
    return _word(repr(value), indent, room)


def _code(value: Code, indent: int, room: int) -> Written:
    return (None, value) if "\n" in value else _word(value, indent, room)


def _number(value: float, indent: int, room: int) -> Written:
    if not -_LONGEST_INTEGER < value < _LONGEST_INTEGER and isinstance(value, int):
        return None, None
    if not isfinite(value):
        raise TypeError(f"{value!r} is no number that JSON has.")
    return _word(repr(value).replace("e+", "e"), indent, room)


def _mapping(value: Mapping[str, Any], indent: int, room: int) -> Written:
    inner = indent + STEP
    parts = []
    for key, item in value.items():
        prefix = _key(key)
        left = WIDTH - 1 - inner - len(prefix)
        fits = left > 0 if item.__class__ not in _CALLS else left > len(item.__class__.__name__)
        parts.append((prefix, prefix if fits else _long_key(key, inner), item))
    return _bracketed("{", parts, "}", indent=indent, room=room)


def _list(value: list[Any], indent: int, room: int) -> Written:
    return _bracketed("[", [("", "", item) for item in value], "]", indent=indent, room=room)


def _tuple(value: tuple[Any, ...], indent: int, room: int) -> Written:
    return _bracketed("(", [("", "", item) for item in value], ")", indent=indent, room=room)


def _call(value: Any, indent: int, room: int) -> Written:
    """Write a value of the model as the call that makes it."""
    named = [(f"{name}=" if name else "", item) for name, item in value.shown()]
    parts = [(prefix, prefix, item) for prefix, item in named]
    return _bracketed(f"{type(value).__name__}(", parts, ")", indent=indent, room=room)


def _key(key: Any) -> str:
    if key.__class__ is not str:
        raise TypeError(f"{key!r} is no text; keys are.")
    return quoted(escaped(key)) + _COLON


def _long_key(key: str, indent: int) -> str:
    """Return a key that leaves its value no room on the same line, as far as that is possible."""
    prefix, room = _key(key), WIDTH - indent - STEP
    if room < NARROWEST:
        return prefix
    word = prefix.removesuffix(_COLON)
    lines = [word] if len(word) <= room else pieces(key, room)
    return f"({_below(lines, indent)}){_COLON}"


def _bracketed(
    opening: str, parts: list[tuple[str, str, Any]], closing: str, *, indent: int, room: int
) -> Written:
    """Write what has members: for each what precedes it on one line, on its own line, and it."""
    if not parts:
        return _word(opening + closing, indent, room)
    inner = indent + STEP
    if inner > DEEPEST:
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
    if len(lines) < len(parts) or room < len(opening) or inner > WIDTH - NARROWEST:
        return line, None
    return line, opening + _below(lines, indent) + closing


def _one_line(opening: str, flats: list[str], closing: str) -> str | None:
    comma = "," if opening == "(" and len(flats) == 1 else ""
    line = f"{opening}{', '.join(flats)}{comma}{closing}"
    return line if len(line) <= WIDTH else None


def _below(lines: Iterable[str], indent: int) -> str:
    """Return lines one level further in, up to the place of the closing bracket."""
    start = "\n" + " " * (indent + STEP)
    return start + start.join(lines) + "\n" + " " * indent


_WRITERS: dict[type, Callable[[Any, int, int], Written]] = {
    type(None): _constant,
    bool: _constant,
    int: _number,
    float: _number,
    dict: _mapping,
    list: _list,
    tuple: _tuple,
    Code: _code,
    **dict.fromkeys(_CALLS, _call),
}
