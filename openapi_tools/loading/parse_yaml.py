"""Read YAML exactly: 1.2 types, every repeated key seen, every bomb refused before it grows.

libyaml gives events; the values are made here, because PyYAML's own constructor follows YAML 1.1
(`NO` is false, `22:22` is 1342) and neither counts nor looks at what it builds. Text that libyaml
reads as YAML 1.1, or cannot read, is written in another way before, and back after.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import yaml
from yaml import events

from openapi_tools import loading
from openapi_tools.errors import InvalidDocument
from openapi_tools.json_values import Node, join_pointer
from openapi_tools.loading.parse import paused_gc, repeated_key

if TYPE_CHECKING:
    from collections.abc import Callable


Restore: TypeAlias = "Callable[[events.ScalarEvent], str]"
"""Restores, in a scalar, the characters that were replaced for libyaml."""

_SEPARATORS = "\x85\u2028\u2029"  # line breaks in YAML 1.1, as libyaml reads it; not in 1.2

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PRIVATE_USE = range(0xE000, 0xF900)
_JOINED = re.compile(r"\\U[0-9a-f]{8}")
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2}))"
)

ALIAS_ALLOWANCE = 500_000  # values that aliases may add to any document
ALIAS_RATIO = 10  # further values that aliases may add, for each value written in the document

_CORE = "tag:yaml.org,2002:"
_WORDS: Node = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NOTATIONS = {"0o": (8, 1), "0x": (16, 1.21)}  # base; most decimal digits of a digit

_NO_TEXT = "a key is a list or a mapping; keys are text."


def read_yaml(data: bytes, *, check: bool, strict: bool = False) -> tuple[Any, list[str]]:
    """Return a document's data (YAML 1.2.2, core schema; merge keys of 1.1), and warnings."""
    text, restore = _shield(data.decode())
    try:
        return _build(text, restore, check=check, strict=strict)
    except InvalidDocument:
        joined, restore = _join_pairs(text, restore)
        if joined == text:
            raise
        return _build(joined, restore, check=check, strict=strict)


def _build(
    text: str, restore: Restore | None, *, check: bool, strict: bool
) -> tuple[Any, list[str]]:
    parser = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)
    builder = _Builder(check=check, strict=strict)
    try:
        with paused_gc():
            for event in iter(parser.get_event, None):
                kind = type(event)
                if restore and kind is events.ScalarEvent:
                    event.value = restore(event)
                if (handler := builder.handlers.get(kind)) is not None:
                    handler(event)
    except yaml.YAMLError as error:
        raise _complaint(text, error) from None
    finally:
        parser.dispose()
    return builder.root, builder.warnings


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
    r"""Write surrogate pairs, `"\ud83d\ude00"`, as the one character that they are in JSON."""
    # Spec: YAML 1.2.2, section 1.2: every JSON file is to be valid YAML; libyaml takes no halves.
    # Only a double-quoted scalar has escapes; elsewhere the letters get back as they were.
    originals: dict[str, str] = {}

    def join(match: re.Match[str]) -> str:
        high, low = int(match[3], 16), int(match[4], 16)
        joined = f"\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08x}"
        originals[joined] = match[2]
        return match[1] + joined

    def restore(event: events.ScalarEvent) -> str:
        value = inner(event) if inner else event.value
        if event.style == '"':
            return value
        return _JOINED.sub(lambda match: originals.get(match[0], match[0]), value)

    return _PAIR.sub(join, text), restore


def _complaint(text: str, error: yaml.YAMLError) -> InvalidDocument:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None:
        found = _UNPRINTABLE.search(text)
        index = found.start() if found else 0
        line, column = text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1
        problem = f"the character U+{ord(text[index]):04X}, which YAML does not allow unescaped"
    else:
        line, column = mark.line, mark.column
        if text[mark.index : mark.index + 1] == "\t":
            problem = "a tab where YAML wants spaces"
    place = f"line {line + 1}, column {column + 1}"
    if "nesting depth" in str(problem):  # the bound of libyaml 0.2.6
        return InvalidDocument(f"{place}: {loading.TOO_DEEP}.")
    return InvalidDocument(f"not valid YAML: {place}: {problem}.")


class _MergeKey(str):
    """The plain key `<<`, which merges the members of other mappings."""

    __slots__ = ()


class _Anchored(NamedTuple):
    """A value with an anchor, and the cost of each alias to it."""

    value: Any
    text: str | None
    nodes: int
    height: int


@dataclass(slots=True)
class _Frame:
    data: Any
    anchor: str | None
    start: int
    key: str | None = None
    height: int = 0
    merged: list[Node] = field(default_factory=list)


class _Builder:
    """Turns parse events into plain data; `check` looks for repeated keys, `strict` refuses."""

    def __init__(self, *, check: bool, strict: bool) -> None:
        self._check = check
        self._strict = strict
        self.warnings: list[str] = []
        self._bottom = _Frame([], None, 0)
        self._top = self._bottom
        self._frames = [self._bottom]
        self._anchors: dict[str, _Anchored | None] = {}
        self._resolved = cache(resolve)
        self._nodes = 0
        self._added = 0
        self.handlers: dict[type[events.Event], Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.AliasEvent: self._alias,
            events.MappingStartEvent: lambda event: self._open({}, "map", event),
            events.SequenceStartEvent: lambda event: self._open([], "seq", event),
            events.MappingEndEvent: self._close,
            events.SequenceEndEvent: self._close,
            events.DocumentStartEvent: self._open_document,
        }

    @property
    def root(self) -> Any:
        return self._bottom.data[0] if self._bottom.data else None

    def _open_document(self, event: Any) -> None:
        if self._bottom.data:
            raise _at(event, "a second YAML document begins; a stream of several is not read.")

    def _scalar(self, event: Any) -> None:
        text = event.value
        plain = event.implicit[0]
        try:
            if event.tag is not None:
                value = _resolve_tagged(text, event.tag)
            else:
                value = self._resolved(text) if plain else text
        except ValueError as error:
            raise _at(event, f"{error}.") from None
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, text, 1, 0)
        self._nodes += 1
        if text == "<<" and plain:
            text = _MergeKey(text)
        self._add(event, value, text)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise _at(event, f"the alias {event.anchor[:80]!r} has no anchor before it.")
        found = self._anchors[event.anchor]
        if found is None:
            raise _at(event, f"{event.anchor[:80]!r} contains itself; use '$ref'.")
        self._added += found.nodes
        if self._added > ALIAS_ALLOWANCE + ALIAS_RATIO * (self._nodes - self._added):
            raise _at(event, "aliases write out to far more than the document holds; use '$ref'.")
        self._nodes += found.nodes
        if len(self._frames) - 1 + found.height > loading.MAX_DEPTH:
            raise _at(event, f"{loading.TOO_DEEP}.")
        self._top.height = max(self._top.height, found.height)
        self._add(event, found.value, found.text)

    def _open(self, data: Any, kind: str, event: Any) -> None:
        if len(self._frames) > loading.MAX_DEPTH:
            raise _at(event, f"{loading.TOO_DEEP}.")
        if event.tag not in (None, "!", _CORE + kind):
            raise _at(event, f"{_unknown_tag(event.tag)}.")
        if self._top.key is None and type(self._top.data) is dict:
            raise _at(event, _NO_TEXT)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._top = _Frame(data, event.anchor, self._nodes)
        self._frames.append(self._top)
        self._nodes += 1

    def _close(self, event: Any) -> None:
        frame = self._frames.pop()
        self._top = self._frames[-1]
        height = frame.height + 1
        if frame.merged:
            # Own members win, then those of earlier mappings.
            frame.data = dict(ChainMap(frame.data, *frame.merged))
        if frame.anchor is not None:
            nodes = self._nodes - frame.start
            self._anchors[frame.anchor] = _Anchored(frame.data, None, nodes, height)
        self._top.height = max(self._top.height, height)
        self._add(event, frame.data, None)

    def _add(self, event: Any, value: Any, text: str | None) -> None:
        """Put a value into the current collection, or take it as the next key."""
        frame = self._top
        if type(frame.data) is list:
            frame.data.append(value)
        elif frame.key is not None:
            if type(frame.key) is _MergeKey:
                frame.merged.extend(_merge_sources(event, value))
            else:
                frame.data[frame.key] = value
            frame.key = None
        elif text is None:
            raise _at(event, _NO_TEXT)
        else:
            frame.key = text
            is_repeated = text in frame.data or (type(text) is _MergeKey and frame.merged)
            if is_repeated and self._check:
                line = event.start_mark.line + 1
                warning = repeated_key(self._path(), text, strict=self._strict, line=line)
                self.warnings.append(warning)
        if self._nodes > loading.MAX_NODES:
            raise InvalidDocument(f"{loading.TOO_MANY}.", pointer=join_pointer(self._path()))

    def _path(self) -> list[str | int]:
        outer = self._frames[1:-1]
        return [len(frame.data) if frame.key is None else frame.key for frame in outer]


def _at(event: Any, reason: str) -> InvalidDocument:
    mark = event.start_mark
    return InvalidDocument(f"line {mark.line + 1}, column {mark.column + 1}: {reason}")


def _merge_sources(event: Any, value: Any) -> list[Node]:
    # Spec: YAML 1.1 type repository, Merge Key Language-Independent Type.
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise _at(event, "'<<' takes a mapping or a list of mappings.")
    return sources


def resolve(text: str) -> Any:
    """Return the value of a plain scalar (YAML 1.2.2, 10.3.2); ValueError where JSON has none."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        base, width = _NOTATIONS.get(text[:2], (10, 1))
        if len(text.lstrip("+-")) * width > loading.MAX_DIGITS:
            raise ValueError(loading.TOO_LONG)
        return int(text, base)
    if _FLOAT.fullmatch(text):
        return _finite(float(text))
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(loading.NOT_FINITE)
    return text


_KINDS: dict[str, tuple[type, ...]] = {
    f"{_CORE}null": (type(None),),
    f"{_CORE}bool": (bool,),
    f"{_CORE}int": (int,),
    f"{_CORE}float": (float, int),
}


def _resolve_tagged(text: str, tag: str) -> Any:
    """Return the value of a scalar with a tag of the core schema, or raise `ValueError`."""
    # Spec: YAML 1.2.2, sections 10.1.1 and 10.2.1; `!` alone is section 6.9.1.
    if tag in ("!", f"{_CORE}str"):
        return text
    if tag not in _KINDS:
        raise ValueError(_unknown_tag(tag))
    value = resolve(text)
    if type(value) not in _KINDS[tag]:
        raise ValueError(f"{text[:40]!r} is not of the type that its tag names")
    return _finite(float(value)) if tag.endswith(":float") else value


def _unknown_tag(tag: str) -> str:
    shown = tag.removeprefix(_CORE)[:80]
    return f"the tag {shown!r} is not one of YAML's core schema; write plain data"


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(loading.NOT_FINITE)
    return number
