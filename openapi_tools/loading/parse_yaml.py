"""Read YAML exactly: 1.2 types, every duplicate key seen, every bomb refused before it grows.

libyaml parses into events; the values are built here, because PyYAML's constructor follows YAML 1.1
(`NO` is false, `22:22` is 1342), and counts neither keys nor values. Characters that libyaml reads
as YAML 1.1, or cannot read, are replaced before parsing and restored after it.
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

from openapi_tools.common.json_values import Node, join_pointer
from openapi_tools.errors import InvalidDocument
from openapi_tools.loading import plain_data
from openapi_tools.loading.duplicate_keys import duplicate_key_warning

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
# Honest documents share parts by aliases: up to ten times as much is written out.
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
# To bound an integer's digits before it is made: converting takes quadratic time.
_NOTATIONS = {"0o": (8, 1), "0x": (16, 1.21)}  # base; most decimal digits of a digit

_NOT_A_STRING = "a key is a list or a mapping; keys are strings."


def read_yaml(data: bytes, *, check: bool, strict: bool = False) -> tuple[Any, list[str]]:
    """Return a document's data (YAML 1.2.2, core schema; merge keys of 1.1), and warnings."""
    text, restore = _replace_separators(data.decode())
    try:
        return _build(text, restore, check=check, strict=strict)
    # Only after a failure, as the replacement searches the whole text.
    except InvalidDocument:
        joined, restore = _join_pairs(text, restore)
        if joined == text:
            raise
        return _build(joined, restore, check=check, strict=strict)


def _build(
    text: str, restore: Restore | None, *, check: bool, strict: bool
) -> tuple[Any, list[str]]:
    parser = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)  # PyYAML may lack libyaml
    builder = _Builder(check=check, strict=strict)
    try:
        for event in iter(parser.get_event, None):
            kind = type(event)
            if restore and kind is events.ScalarEvent:
                event.value = restore(event)
            if (handler := builder.handlers.get(kind)) is not None:
                handler(event)
    except yaml.YAMLError as error:
        raise _describe_fault(text, error) from None
    finally:
        parser.dispose()
    return builder.root, builder.warnings


def _replace_separators(text: str) -> tuple[str, Restore | None]:
    separators = [character for character in _SEPARATORS if character in text]
    if not separators:
        return text, None
    unused = (chr(code) for code in _PRIVATE_USE if chr(code) not in text)
    replacements = dict(zip(map(ord, separators), unused, strict=False))
    originals = {ord(character): chr(code) for code, character in replacements.items()}
    return text.translate(replacements), lambda event: event.value.translate(originals)


def _join_pairs(text: str, inner: Restore | None) -> tuple[str, Restore]:
    # YAML 1.2.2, section 1.2: every JSON file is to be valid YAML; libyaml refuses surrogates.
    # Only a double-quoted scalar has escapes; elsewhere the letters are restored.
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


def _describe_fault(text: str, error: yaml.YAMLError) -> InvalidDocument:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None:
        match = _UNPRINTABLE.search(text)
        index = match.start() if match else 0
        line, column = text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1
        problem = f"the character U+{ord(text[index]):04X}, which YAML does not allow unescaped"
    else:
        line, column = mark.line, mark.column
        if text[mark.index : mark.index + 1] == "\t":
            problem = "a tab where YAML requires spaces"
    place = f"line {line + 1}, column {column + 1}"
    if "nesting depth" in str(problem):  # the bound of libyaml 0.2.6
        return InvalidDocument(f"{place}: {plain_data.TOO_DEEP}.")
    return InvalidDocument(f"not valid YAML: {place}: {problem}.")


class _MergeKey(str):
    """The plain key `<<`, which merges the keys of other mappings."""

    __slots__ = ()


class _Anchored(NamedTuple):
    """A value with an anchor, and the cost of each alias to it."""

    value: Any
    text: str | None
    nodes: int
    height: int


@dataclass(slots=True)
class _Frame:
    """A collection that is not closed yet; `key` waits for its value, `merged` for the others."""

    data: Any
    anchor: str | None
    start: int
    key: str | None = None
    height: int = 0
    merged: list[Node] = field(default_factory=list)


class _Builder:
    """Builds plain data from parse events.

    With `check` it looks for duplicate keys; with `strict` it refuses them.
    """

    def __init__(self, *, check: bool, strict: bool) -> None:
        self._check = check
        self._strict = strict
        self.warnings: list[str] = []
        self._bottom = _Frame([], None, 0)
        self._top = self._bottom
        self._frames = [self._bottom]
        self._anchors: dict[str, _Anchored | None] = {}
        # Documents repeat few plain scalars thousands of times.
        self._resolve = cache(resolve_scalar)
        self._nodes = 0
        self._aliased = 0
        self.handlers: dict[type[events.Event], Callable[[Any], None]] = {
            events.ScalarEvent: self._add_scalar,
            events.AliasEvent: self._add_alias,
            events.MappingStartEvent: lambda event: self._open_collection({}, "map", event),
            events.SequenceStartEvent: lambda event: self._open_collection([], "seq", event),
            events.MappingEndEvent: self._close_collection,
            events.SequenceEndEvent: self._close_collection,
            events.DocumentStartEvent: self._open_document,
        }

    @property
    def root(self) -> Any:
        return self._bottom.data[0] if self._bottom.data else None

    def _open_document(self, event: Any) -> None:
        if self._bottom.data:
            raise _fault(event, "a second YAML document begins; a stream of several is not read.")

    def _add_scalar(self, event: Any) -> None:
        text = event.value
        plain = event.implicit[0]
        try:
            if event.tag is not None:
                value = _resolve_tagged(text, event.tag)
            else:
                value = self._resolve(text) if plain else text
        except ValueError as error:
            raise _fault(event, f"{error}.") from None
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, text, 1, 0)
        self._nodes += 1
        if text == "<<" and plain:
            text = _MergeKey(text)
        self._add_value(event, value, text)

    def _add_alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise _fault(event, f"the alias {event.anchor[:80]!r} is used before its anchor.")
        anchored = self._anchors[event.anchor]
        if anchored is None:
            raise _fault(event, f"{event.anchor[:80]!r} contains itself; use '$ref'.")
        # A "billion laughs" bomb: a few lines whose aliases write out to gigabytes.
        self._aliased += anchored.nodes
        if self._aliased > ALIAS_ALLOWANCE + ALIAS_RATIO * (self._nodes - self._aliased):
            raise _fault(
                event, "aliases expand to far more than the document contains; use '$ref'."
            )
        self._nodes += anchored.nodes
        if len(self._frames) - 1 + anchored.height > plain_data.MAX_DEPTH:
            raise _fault(event, f"{plain_data.TOO_DEEP}.")
        self._top.height = max(self._top.height, anchored.height)
        self._add_value(event, anchored.value, anchored.text)

    def _open_collection(self, data: Any, kind: str, event: Any) -> None:
        if len(self._frames) > plain_data.MAX_DEPTH:
            raise _fault(event, f"{plain_data.TOO_DEEP}.")
        if event.tag not in (None, "!", _CORE + kind):
            raise _fault(event, f"{_describe_tag(event.tag)}.")
        if self._top.key is None and type(self._top.data) is dict:
            raise _fault(event, _NOT_A_STRING)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._top = _Frame(data, event.anchor, self._nodes)
        self._frames.append(self._top)
        self._nodes += 1

    def _close_collection(self, event: Any) -> None:
        frame = self._frames.pop()
        self._top = self._frames[-1]
        height = frame.height + 1
        if frame.merged:
            # Its own keys win, then those of earlier mappings.
            frame.data = dict(ChainMap(frame.data, *frame.merged))
        if frame.anchor is not None:
            nodes = self._nodes - frame.start
            self._anchors[frame.anchor] = _Anchored(frame.data, None, nodes, height)
        self._top.height = max(self._top.height, height)
        self._add_value(event, frame.data, None)

    def _add_value(self, event: Any, value: Any, text: str | None) -> None:
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
            raise _fault(event, _NOT_A_STRING)
        else:
            frame.key = text
            is_duplicate = text in frame.data or (type(text) is _MergeKey and frame.merged)
            if is_duplicate and self._check:
                line = event.start_mark.line + 1
                self.warnings.append(
                    duplicate_key_warning(self._path(), text, strict=self._strict, line=line)
                )
        if self._nodes > plain_data.MAX_NODES:
            raise InvalidDocument(f"{plain_data.TOO_MANY}.", pointer=join_pointer(self._path()))

    def _path(self) -> list[str | int]:
        outer = self._frames[1:-1]
        return [len(frame.data) if frame.key is None else frame.key for frame in outer]


def _fault(event: Any, reason: str) -> InvalidDocument:
    mark = event.start_mark
    return InvalidDocument(f"line {mark.line + 1}, column {mark.column + 1}: {reason}")


def _merge_sources(event: Any, value: Any) -> list[Node]:
    # YAML 1.1 type repository, Merge Key Language-Independent Type.
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise _fault(event, "'<<' takes a mapping or a list of mappings.")
    return sources


def resolve_scalar(text: str) -> Any:
    """Return the value of a plain scalar; ValueError for one that JSON does not have.

    Spec: YAML 1.2.2, section 10.3.2 (core schema).
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    # Most scalars are strings, and the first character shows it; the rest are matched in full.
    if _INTEGER.fullmatch(text):
        base, width = _NOTATIONS.get(text[:2], (10, 1))
        if len(text.lstrip("+-")) * width > plain_data.MAX_DIGITS:
            raise ValueError(plain_data.TOO_LONG)
        return int(text, base)
    if _FLOAT.fullmatch(text):
        return _require_finite(float(text))
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(plain_data.NOT_FINITE)
    return text


_KINDS: dict[str, tuple[type, ...]] = {
    f"{_CORE}null": (type(None),),
    f"{_CORE}bool": (bool,),
    f"{_CORE}int": (int,),
    f"{_CORE}float": (float, int),
}


def _resolve_tagged(text: str, tag: str) -> Any:
    # YAML 1.2.2, sections 10.1.1 and 10.2.1; `!` alone is section 6.9.1.
    if tag in ("!", f"{_CORE}str"):
        return text
    if tag not in _KINDS:
        raise ValueError(_describe_tag(tag))
    value = resolve_scalar(text)
    if type(value) not in _KINDS[tag]:
        raise ValueError(f"{text[:40]!r} is not of the type that its tag names")
    return _require_finite(float(value)) if tag.endswith(":float") else value


def _describe_tag(tag: str) -> str:
    name = tag.removeprefix(_CORE)[:80]
    return f"the tag {name!r} is not one of YAML's core schema; write plain data"


def _require_finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(plain_data.NOT_FINITE)
    return number
