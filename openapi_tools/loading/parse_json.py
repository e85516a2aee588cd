"""Read JSON: fast where nothing is wrong, exact where something is."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.document_limits import (
    MAX_NODES,
    NOT_FINITE,
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY,
)
from openapi_tools.loading.duplicate_keys import warning
from openapi_tools.loading.plain_data import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_DENSE_BYTES = 16 * 1024 * 1024
"""Below this size not even a text of nothing but empty arrays fills the memory."""

_NO_VALUES = bytes(code for code in range(256) if code not in b",[{")
"""What is left without them is as long as there may be values."""
_PLACE = re.compile(r"(.+) at line (\d+) column (\d+)", re.DOTALL)
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_WORDS = {
    "EOF": "the text ends too early",
    "recursion limit": TOO_DEEP,
    "number out of range": TOO_LONG,
    "lone leading surrogate": "half of a surrogate pair",
    "unexpected end of hex escape": "half of a surrogate pair",
}


class NotJSON(InvalidDocument):
    """Text that breaks JSON's grammar, which YAML may still be able to read."""


@contextmanager
def paused_gc() -> Iterator[None]:
    """Keep the cyclic garbage collector away from what a parser is building.

    It finds nothing in new dicts and lists, and takes a third of the time of a parse. What was
    built then counts as old: it stays, and a young collection need not walk over all of it.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if not gc.get_freeze_count():  # else a program has frozen objects of its own
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def read_json(data: bytes, *, check: bool) -> tuple[Any, list[str]]:
    """Return the value of a JSON text, and warnings.

    Spec: RFC 8259.

    Args:
        data: UTF-8 without a byte order mark.
        check: Look for repeated keys and for numbers out of range.

    Raises:
        NotJSON: The grammar is broken; line and column are named.
        InvalidDocument: It holds something that is refused.
    """
    if len(data) > _DENSE_BYTES and len(data.translate(None, _NO_VALUES)) > MAX_NODES:
        raise InvalidDocument(f"{TOO_MANY}.")
    root = _parse(data)
    if not check:
        return root, []
    from pydantic_core import to_json

    text = to_json(root)
    if b"Infinity" in text:
        plain(root, name="")  # raises, and names the place, unless a text says so
    return root, list(_repeated(data)) if _may_repeat(data, text) else []


def _parse(data: bytes) -> Any:
    """Run the parser, and make its complaint ours."""
    from pydantic_core import from_json

    try:
        with paused_gc():
            return from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise _complaint(data, str(error)) from None


def _complaint(data: bytes, message: str) -> InvalidDocument:
    """Return the error for a text that the parser does not take."""
    from pydantic_core import from_json

    match = _PLACE.fullmatch(message)
    text, line, column = match.groups() if match else (message, "1", "1")
    row = data.split(b"\n")[int(line) - 1]
    column = len(row[: int(column)].decode(errors="replace"))
    place = f"line {line}, column {column}"
    for start, words in _WORDS.items():
        if text.startswith(start):
            return InvalidDocument(f"not valid JSON: {place}: {words}.")
    try:
        from_json(data)
    except ValueError:
        return NotJSON(f"not valid JSON: {place}: {text}.")
    return InvalidDocument(f"{place}: {NOT_FINITE}.")


def _may_repeat(data: bytes, text: bytes) -> bool:
    """Tell whether a key may stand twice in an object; False is certain.

    Each key has a colon behind it. Of two that are equal the parser keeps the last, and the other
    one's colon is gone. Those in strings stay, unless they are written as an escape.

    Args:
        data: The JSON text.
        text: What was parsed, as JSON once more.
    """
    if b"\\u" in data and _ESCAPED_COLON.search(data):
        return True
    return data.count(b":") != text.count(b":")


def _repeated(data: bytes) -> Iterator[str]:
    """Yield a warning for every repeated key, or raise for the first that may hide something."""
    found: dict[int, tuple[Any, list[str]]] = {}

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            found[id(made)] = made, [key for key, count in counts.items() if count > 1]
        return made

    root = json.loads(data, object_pairs_hook=collect)
    stack: list[tuple[Any, list[str | int]]] = [(root, [])] if found else []
    while stack:
        node, path = stack.pop()
        _, keys = found.get(id(node), (None, ()))
        yield from (warning(path, key) for key in keys)
        members = list(node.items() if isinstance(node, dict) else enumerate(node))
        inner = [(item, [*path, key]) for key, item in members if isinstance(item, (dict, list))]
        stack += reversed(inner)
