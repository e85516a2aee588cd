"""Read YAML with libyaml, whose events `yaml_events` turns into plain data.

What libyaml reads as YAML 1.1, or cannot read, is written in another way before, and back after.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.parse_json import paused_gc
from openapi_tools.loading.yaml_events import Builder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yaml.error import YAMLError
    from yaml.events import Event, ScalarEvent

Restore: TypeAlias = "Callable[[ScalarEvent], str]"
"""Undoes in a scalar what was done to the text before libyaml saw it."""

_SEPARATORS = "\x85\u2028\u2029"
"""Line breaks in YAML 1.1, as libyaml reads it; ordinary characters in 1.2."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PRIVATE_USE = range(0xE000, 0xF900)
_JOINED = re.compile(r"\\U[0-9a-f]{8}")
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2}))"
)


def read_yaml(data: bytes, *, check: bool) -> tuple[Any, list[str]]:
    """Return the value of a YAML document, and warnings.

    Spec: YAML 1.2.2, core schema (section 10.3); merge keys as in the YAML 1.1 type repository.

    Args:
        data: UTF-8 without a byte order mark.
        check: Look for repeated keys; without it the last one counts.

    Returns:
        Plain data, None for a text without content; keys are text as it is written.

    Raises:
        InvalidDocument: It is no YAML, more than one document, or holds something that is refused.
    """
    text, restore = _shield(data.decode())
    try:
        return _build(text, restore, check=check)
    except InvalidDocument:
        joined, restore = _join_pairs(text, restore)
        if joined == text:
            raise
        return _build(joined, restore, check=check)


def _build(text: str, restore: Restore | None, *, check: bool) -> tuple[Any, list[str]]:
    """Parse the text and build what it says."""
    import yaml

    parser = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)
    builder = Builder(check=check)
    events: Iterator[Event] = iter(parser.get_event, None)
    try:
        with paused_gc():
            builder.read(_restored(events, restore) if restore else events)
    except yaml.YAMLError as error:
        raise _complaint(text, error) from None
    finally:
        parser.dispose()
    return builder.root, builder.warnings


def _restored(events: Iterator[Event], restore: Restore) -> Iterator[Event]:
    """Yield the events with the scalars' own characters."""
    from yaml.events import ScalarEvent

    for event in events:
        if isinstance(event, ScalarEvent):
            event.value = restore(event)
        yield event


def _shield(text: str) -> tuple[str, Restore | None]:
    """Replace characters that libyaml takes for line breaks by others that it does not."""
    found = [character for character in _SEPARATORS if character in text]
    if not found:
        return text, None
    unused = (chr(code) for code in _PRIVATE_USE if chr(code) not in text)
    away = dict(zip(map(ord, found), unused, strict=False))
    back = {ord(character): chr(code) for code, character in away.items()}
    return text.translate(away), lambda event: event.value.translate(back)


def _join_pairs(text: str, inner: Restore | None) -> tuple[str, Restore]:
    r"""Write surrogate pairs, `"\ud83d\ude00"`, as the one character that they are in JSON.

    Spec: YAML 1.2.2, section 1.2: every JSON file is to be valid YAML; libyaml takes no halves.
    Only a double-quoted scalar has escapes; elsewhere the letters get back as they were.
    """
    originals: dict[str, str] = {}

    def join(match: re.Match[str]) -> str:
        high, low = int(match[3], 16), int(match[4], 16)
        joined = f"\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08x}"
        originals[joined] = match[2]
        return match[1] + joined

    def restore(event: ScalarEvent) -> str:
        value = inner(event) if inner else event.value
        if event.style == '"':
            return value
        return _JOINED.sub(lambda match: originals.get(match[0], match[0]), value)

    return _PAIR.sub(join, text), restore


def _complaint(text: str, error: YAMLError) -> InvalidDocument:
    """Return our error for the parser's."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None:
        found = _UNPRINTABLE.search(text)
        index = found.start() if found else 0
        line, column = text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1
        problem = f"the character U+{ord(text[index]):04X}, which YAML does not allow as it is"
    else:
        line, column = mark.line, mark.column
        if text[mark.index : mark.index + 1] == "\t":
            problem = "a tab where YAML wants spaces"
    return InvalidDocument(f"not valid YAML: line {line + 1}, column {column + 1}: {problem}.")
