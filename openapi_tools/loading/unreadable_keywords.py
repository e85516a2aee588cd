"""Warnings about keywords of schemas that cannot be read, and names that cannot be sent.

A schema says what an API takes; the API checks that itself. So a keyword with a value that it does
not have is left out, as is a parameter whose name no request can have, and the operation stays a
tool.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from openapi_tools.errors import DocumentError
from openapi_tools.json_pointer import pointer
from openapi_tools.loading.parameters import is_left_out
from openapi_tools.loading.schema_keywords import (
    HOLDING,
    KINDS,
    MAP,
    NULLABLE,
    SCHEMA,
    as_boolean,
    meant,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.loading.operations import Declared, Document
    from openapi_tools.loading.references import Resource

_MOST = 10
"""Warnings of one kind; further ones are counted."""

_HOLDS = {
    "body": {"content": "media type"},
    "parameter": {"schema": "schema", "content": "media type"},
    "media type": {
        **dict.fromkeys(("schema", "itemSchema"), "schema"),
        **dict.fromkeys(("encoding", "prefixEncoding", "itemEncoding"), "encoding"),
    },
    "encoding": {"headers": "parameter"},
    "schema": dict.fromkeys(HOLDING, "schema"),
}
"""What the members of the objects hold that a request is described by."""

_READ = KINDS.keys() | NULLABLE | {"$ref"}
_MAPS = frozenset(key for key, kind in KINDS.items() if kind is MAP) | {
    *("content", "encoding", "headers"),
}
"""Members that hold these by name."""

_OF_PARAMETERS = frozenset({"required", "description"})
"""Members of a parameter of Swagger 2.0 that say something else in a schema."""


_Path: TypeAlias = "tuple[_Path | str, str | int]"
"""Where a node is: where the one is that holds it, or a JSON Pointer, and the last key."""


class _Place(NamedTuple):
    """A node that is to be looked at; `kind` is a key of `_HOLDS`."""

    kind: str
    node: Any
    path: _Path | str
    resource: Resource


def unreadable(document: Document, operations: Iterable[Declared]) -> list[str]:
    """Return warnings about what is left out of the input schemas of operations.

    Args:
        document: The document.
        operations: Those that become tools.
    """
    look = _Look(document)
    for declared in operations:
        look.at(declared)
    names = _first(look.names, "names of parameters cannot be sent")
    return names + _first(look.found, "keywords of schemas cannot be used")


def _first(found: list[str], what: str) -> list[str]:
    """Return the first warnings, and one for all the others."""
    more = len(found) - _MOST
    return found[:_MOST] + [f"{more} further {what}; they are left out."] * (more > 0)


class _Look:
    """Looks at everything that requests are made from, at each object once."""

    def __init__(self, document: Document) -> None:
        self.found: list[str] = []
        self.names: list[str] = []
        self._document = document
        self._seen: set[int] = set()
        self._waiting: deque[_Place] = deque()

    def at(self, declared: Declared) -> None:
        """Note each keyword that cannot be read and that an operation is the first to reach."""
        self._waiting += _starts(self._document, declared)
        while self._waiting:
            place = self._waiting.popleft()
            if place.node.__class__ is not dict:
                self._note_other(place)
            elif id(place.node) not in self._seen:
                self._seen.add(id(place.node))
                self._look_at(place)

    def _look_at(self, place: _Place) -> None:
        """Note what cannot be read in an object, and what it refers to and holds."""
        kind, node, path, resource = place
        is_parameter = kind == "parameter"
        is_schema = kind == "schema" or (
            is_parameter and self._document.dialect.swagger and "schema" not in node
        )
        if is_parameter and is_left_out(node):
            said = f"{node['name']!r:.60} cannot be sent as the name of a {node['in']} parameter; "
            self._note((path, "name"), resource, f"{said}it is left out.", self.names)
            return
        holds = _HOLDS["schema" if is_schema else kind]
        for key, value in node.items():
            if value is None or (is_schema and key not in _READ):
                continue
            if key == "$ref":
                self._follow(place)
            elif is_schema and not _is_readable(key, value):
                if not (is_parameter and key in _OF_PARAMETERS):
                    said = f"{value!r:.60} cannot be used as {key!r}; it is left out."
                    self._note((path, key), resource, said)
            elif key in holds:
                self._hold(_Place(holds[key], value, (path, key), resource))

    def _hold(self, place: _Place) -> None:
        """Note what is to be looked at in a member."""
        kind, node, path, resource = place
        is_list = node.__class__ is list
        if is_list or (node.__class__ is dict and path[1] in _MAPS):
            members = enumerate(node) if is_list else node.items()
            self._waiting += [_Place(kind, item, (path, at), resource) for at, item in members]
        else:
            self._waiting.append(place)

    def _follow(self, place: _Place) -> None:
        with suppress(DocumentError):  # an operation that needs it was skipped
            target = self._document.references.follow(place.node, place.resource)
            self._waiting.append(_Place(place.kind, target.node, target.pointer, target.resource))

    def _note_other(self, place: _Place) -> None:
        """Note what is not an object."""
        if place.kind == "schema" and place.node is not None and as_boolean(place.node) is None:
            said = f"{place.node!r:.60} is not a schema; any value is taken there."
            self._note(place.path, place.resource, said)

    def _note(
        self, path: _Path | str, resource: Resource, said: str, found: list[str] | None = None
    ) -> None:
        keys: list[str | int] = []
        while not isinstance(path, str):
            path, key = path
            keys.append(key)
        own = resource is self._document.entry
        place = f"{path}{pointer(reversed(keys))}"
        (self.found if found is None else found).append(
            f"{place if own else f'{resource.name}#{place}'}: {said}"
        )


def _starts(document: Document, declared: Declared) -> Iterator[_Place]:
    """Yield the parameters and the body of one operation."""
    holders = ((declared.item, declared.path_pointer), (declared.node, declared.pointer))
    for holder, above in holders:
        listed = holder.get("parameters")
        for at, item in enumerate(listed if isinstance(listed, list) else ()):
            yield _Place("parameter", item, ((above, "parameters"), at), declared.resource)
    if not document.dialect.swagger and "requestBody" in declared.node:
        body, path = declared.node["requestBody"], (declared.pointer, "requestBody")
        yield _Place("body", body, path, declared.resource)


def _is_readable(key: str, value: Any) -> bool:
    """Tell whether a member of a schema is not left out; unknown members are passed over."""
    kind = KINDS.get(key)
    if kind is None:
        return key not in NULLABLE or as_boolean(value) is not None
    if kind is SCHEMA:
        is_tuple = key == "items" and isinstance(value, list)
        return is_tuple or isinstance(value, dict) or as_boolean(value) is not None
    if isinstance(kind, str):
        return isinstance(value, dict if kind is MAP else list)
    return kind(value) or meant(key, value) is not None
