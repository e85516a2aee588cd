"""Read YAML exactly: 1.2 types, every repeated key seen, every bomb refused before it grows.

libyaml gives events; what they mean is decided here, because PyYAML's own constructor follows
YAML 1.1 (`NO` is false, `22:22` is 1342) and neither counts nor looks at what it builds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import InvalidDocument
from openapi_tools.json_pointer import pointer
from openapi_tools.loader.duplicates import warning
from openapi_tools.loader.limits import MAX_DEPTH, MAX_NODES, TOO_DEEP, TOO_MANY
from openapi_tools.loader.yaml_scalars import (
    is_collection_tag,
    resolve,
    resolve_tagged,
    unknown_tag,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yaml.events import Event

ALIAS_ALLOWANCE = 500_000
"""Values that aliases may add to any document."""

ALIAS_RATIO = 10
"""Values that aliases may add beyond that, for each that really stands there."""


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

    Attributes:
        warnings: One for each repeated key that hides nothing but words.
    """

    def __init__(self) -> None:
        from yaml import events

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
            raise at(event, "a second YAML document begins; a stream of several is not read.")

    def _scalar(self, event: Any) -> None:
        text = event.value
        plain = event.implicit[0]
        try:
            if event.tag is not None:
                value = resolve_tagged(text, event.tag)
            else:
                value = self._plain[text] if plain else text
        except ValueError as error:
            raise at(event, f"{error}.") from None
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, text, 1, 0)
        self._nodes += 1
        if text == "<<" and plain:
            text = _MergeKey(text)
        self._add(event, value, text)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise at(event, f"the alias {event.anchor[:80]!r} has no anchor before it.")
        found = self._anchors[event.anchor]
        if found is None:
            raise at(event, f"{event.anchor[:80]!r} contains itself; use '$ref'.")
        self._added += found.nodes
        if self._added > ALIAS_ALLOWANCE + ALIAS_RATIO * (self._nodes - self._added):
            raise at(event, "aliases write out to far more than the document holds; use '$ref'.")
        self._nodes += found.nodes
        if len(self._frames) - 1 + found.height > MAX_DEPTH:
            raise at(event, f"{TOO_DEEP}.")
        self._top.height = max(self._top.height, found.height)
        self._add(event, found.value, found.text)

    def _open_mapping(self, event: Any) -> None:
        self._open(event, _Frame({}, event.anchor, self._nodes), "map")

    def _open_sequence(self, event: Any) -> None:
        self._open(event, _Frame([], event.anchor, self._nodes), "seq")

    def _open(self, event: Any, frame: _Frame, kind: str) -> None:
        """Begin a collection."""
        if len(self._frames) > MAX_DEPTH:
            raise at(event, f"{TOO_DEEP}.")
        if event.tag is not None and not is_collection_tag(event.tag, kind):
            raise at(event, f"{unknown_tag(event.tag)}.")
        if self._top.key is None and type(self._top.data) is dict:
            raise at(event, _NO_TEXT)
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
            raise at(event, _NO_TEXT)
        else:
            frame.key = text
            if text in frame.data or (type(text) is _MergeKey and frame.merged):
                line = event.start_mark.line + 1
                self.warnings.append(warning(self._path(), text, line=line))
        if self._nodes > MAX_NODES:
            raise InvalidDocument(f"{TOO_MANY}.", pointer=pointer(self._path()))

    def _path(self) -> list[str | int]:
        """Return the path of the current collection."""
        outer = self._frames[1:-1]
        return [len(frame.data) if frame.key is None else frame.key for frame in outer]


def at(event: Any, reason: str) -> InvalidDocument:
    """Return an error that names the place of an event or error mark."""
    mark = event.start_mark
    return InvalidDocument(f"line {mark.line + 1}, column {mark.column + 1}: {reason}")


def _merge_sources(event: Any, value: Any) -> list[dict[str, Any]]:
    """Return the mappings that a merge key names.

    Spec: YAML 1.1 type repository, Merge Key Language-Independent Type.
    """
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise at(event, "'<<' takes a mapping or a list of mappings.")
    return sources


def _merge(frame: _Frame) -> dict[str, Any]:
    """Return a mapping with its merged members; its own win, then earlier sources."""
    made: dict[str, Any] = {}
    for source in reversed(frame.merged):
        made.update(source)
    return {**made, **frame.data}
