"""Read YAML exactly: 1.2 types, every repeated key seen, every bomb refused before it grows.

libyaml gives events; what they mean is decided here, because PyYAML's own constructor follows
YAML 1.1 (`NO` is false, `22:22` is 1342) and neither counts nor looks at what it builds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import InvalidDocument
from openapi_tools.json_pointer import pointer
from openapi_tools.loading.document_limits import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    NOT_FINITE,
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY,
)
from openapi_tools.loading.duplicate_keys import warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yaml.events import Event

ALIAS_ALLOWANCE = 500_000
"""Values that aliases may add to any document."""

ALIAS_RATIO = 10
"""Values that aliases may add beyond that, for each that really stands there."""

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

_NO_TEXT = "a key is a list or a mapping; keys are text."


class _MergeKey(str):
    """The plain key `<<`, which stands for members of other mappings."""

    __slots__ = ()


class _Anchored(NamedTuple):
    """A value with a name, and what it adds wherever the name is used."""

    value: Any
    text: str | None
    nodes: int
    height: int


@dataclass(slots=True)
class _Frame:
    """A collection that is being filled."""

    data: Any
    anchor: str | None
    start: int
    key: str | None = None
    height: int = 0
    merged: list[dict[str, Any]] = field(default_factory=list)


class _Plain(dict[str, Any]):
    """Values of plain scalars, worked out once each."""

    def __missing__(self, text: str) -> Any:
        value = self[text] = resolve(text)
        return value


class Builder:
    """Turns parse events into plain data.

    Args:
        check: Look for repeated keys; without it the last one counts.

    Attributes:
        warnings: One for each repeated key that hides nothing but words.
    """

    def __init__(self, *, check: bool) -> None:
        from yaml import events

        self._check = check
        self.warnings: list[str] = []
        self._bottom = _Frame([], None, 0)
        self._top = self._bottom
        self._frames = [self._bottom]
        self._anchors: dict[str, _Anchored | None] = {}
        self._plain = _Plain()
        self._nodes = 0
        self._added = 0
        self._handlers: dict[type[Event], Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.AliasEvent: self._alias,
            events.MappingStartEvent: self._open_mapping,
            events.SequenceStartEvent: self._open_sequence,
            events.MappingEndEvent: self._close,
            events.SequenceEndEvent: self._close,
            events.DocumentStartEvent: self._open_document,
        }

    @property
    def root(self) -> Any:
        """The document's value; None when there was none."""
        return self._bottom.data[0] if self._bottom.data else None

    def read(self, events: Iterator[Event]) -> None:
        """Take the events of a document.

        Raises:
            InvalidDocument: With line and column, or the JSON Pointer of an object.
        """
        handlers = self._handlers
        for event in events:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)

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
                value = self._plain[text] if plain else text
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
        if len(self._frames) - 1 + found.height > MAX_DEPTH:
            raise _at(event, f"{TOO_DEEP}.")
        self._top.height = max(self._top.height, found.height)
        self._add(event, found.value, found.text)

    def _open_mapping(self, event: Any) -> None:
        self._open(event, _Frame({}, event.anchor, self._nodes), "map")

    def _open_sequence(self, event: Any) -> None:
        self._open(event, _Frame([], event.anchor, self._nodes), "seq")

    def _open(self, event: Any, frame: _Frame, kind: str) -> None:
        """Begin a collection."""
        if len(self._frames) > MAX_DEPTH:
            raise _at(event, f"{TOO_DEEP}.")
        if event.tag is not None and not _is_collection_tag(event.tag, kind):
            raise _at(event, f"{_unknown_tag(event.tag)}.")
        if self._top.key is None and type(self._top.data) is dict:
            raise _at(event, _NO_TEXT)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._frames.append(frame)
        self._top = frame
        self._nodes += 1

    def _close(self, event: Any) -> None:
        """End a collection and put it where it belongs."""
        frame = self._frames.pop()
        self._top = self._frames[-1]
        height = frame.height + 1
        if frame.merged:
            frame.data = _merge(frame)
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
            if text in frame.data or (type(text) is _MergeKey and frame.merged):
                self._repeated(event, text)
        if self._nodes > MAX_NODES:
            raise InvalidDocument(f"{TOO_MANY}.", pointer=pointer(self._path()))

    def _repeated(self, event: Any, key: str) -> None:
        """Warn of a key that stands twice, or refuse it."""
        if self._check:
            line = event.start_mark.line + 1
            self.warnings.append(warning(self._path(), key, line=line))

    def _path(self) -> list[str | int]:
        """Return the path of the current collection."""
        outer = self._frames[1:-1]
        return [len(frame.data) if frame.key is None else frame.key for frame in outer]


def _at(event: Any, reason: str) -> InvalidDocument:
    """Return an error that names the place of an event or error mark."""
    mark = event.start_mark
    return InvalidDocument(f"line {mark.line + 1}, column {mark.column + 1}: {reason}")


def _merge_sources(event: Any, value: Any) -> list[dict[str, Any]]:
    """Return the mappings that a merge key names.

    Spec: YAML 1.1 type repository, Merge Key Language-Independent Type.
    """
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise _at(event, "'<<' takes a mapping or a list of mappings.")
    return sources


def _merge(frame: _Frame) -> dict[str, Any]:
    """Return a mapping with its merged members; its own win, then earlier sources."""
    made: dict[str, Any] = {}
    for source in reversed(frame.merged):
        made.update(source)
    return {**made, **frame.data}


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


def _resolve_tagged(text: str, tag: str) -> Any:
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
        raise ValueError(_unknown_tag(tag))
    value = resolve(text)
    if type(value) not in kinds[tag]:
        raise ValueError(f"{text[:40]!r} is not of the type that its tag names")
    return _finite(float(value)) if tag.endswith(":float") else value


def _unknown_tag(tag: str) -> str:
    """Return why a tag is refused."""
    shown = tag.removeprefix(_CORE)[:80]
    return f"the tag {shown!r} is not one of YAML's core schema; write plain data"


def _is_collection_tag(tag: str | None, name: str) -> bool:
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
