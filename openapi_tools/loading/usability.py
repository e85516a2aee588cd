"""Whether an operation can be a tool, and warnings about the parts of it that are left out.

Nothing is built: schemas are only scanned, each component once. An API checks its input itself, so
a keyword with a value that it cannot have is left out, as is a parameter whose name no request can
have, and the operation stays a tool.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from openapi_tools.errors import DocumentError, InvalidDocument
from openapi_tools.http_rules import has_dot_segment
from openapi_tools.json_values import UNIONS, Node, as_boolean, as_dict, as_list, join_pointer
from openapi_tools.loading import keyword_values, versions
from openapi_tools.loading.operations import Document, OperationNode, is_left_out
from openapi_tools.loading.own_values import CONCERNED
from openapi_tools.loading.references import LOCAL
from openapi_tools.loading.shown_values import SHOWN
from openapi_tools.loading.type_names import file_remark, type_remark
from openapi_tools.requests.path_notations import read_template

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from openapi_tools.loading.references import Resource


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST = 10  # warnings of one kind; further ones are counted
_SHOWN = 100
_LONGEST = 500

_OBJECTS = frozenset({"content", "headers", "encoding", "prefixEncoding"})
"""Members that hold objects of OpenAPI, which say how a request is written."""
_SINGLE = (keyword_values.ONE - {"items"}) | {"schema", "itemSchema", "itemEncoding"}
_HOLDING = _OBJECTS | keyword_values.MAPS | keyword_values.LISTS | _SINGLE | {"items"}
"""Members in which a request's schemas and references stand; no other one is looked into.

`items` may be a list in Swagger 2.0, and in JSON Schema up to 2019.
"""
_WATCHED = _HOLDING | {"$ref"}


class Usability:
    """Finds faults in the operations of a document, and collects warnings about them."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._refs: dict[int, Collection[Any]] = {}
        self._local = LOCAL[:1] if document.dialect.swagger else LOCAL
        self._clean: set[int | tuple[int, int]] = set()
        self.warnings: list[str] = []

    def check(self, operation: OperationNode) -> None:
        """Check one operation: a `DocumentError` says where it is wrong, if it cannot be a tool."""
        document = self._document
        parameters = document.parameters(operation)
        self._check_path(operation, [name for location, name in parameters if location == "path"])
        if id(parameters) not in self._clean:
            for node, resource in parameters.values():
                if not _WATCHED.isdisjoint(node):  # most have no member to check
                    self._walk(node, resource, operation, "/parameters")
            self._clean.add(id(parameters))
        if not operation.member.islower() and "/" not in operation.member:
            said = f"{operation.member!r} is read as {operation.method.lower()!r}."
            self.warnings.append(f"{operation.pointer[:_LONGEST]}: {said}")
        if "security" in operation.node:
            self.warnings += document.security.uri_warnings(operation.node, operation.pointer)
        body = None if document.dialect.swagger else document.request_body(operation)
        if body is not None:
            self._walk(*body, operation, "/requestBody")

    def _check_path(self, operation: OperationNode, declared: list[str]) -> None:
        path = operation.path
        if not path.isprintable() and _CONTROL.search(path):
            raise self._document.invalid("the path has control characters.", operation.pointer)
        if ("/." in path or "%" in path) and has_dot_segment(path.partition("?")[0]):
            reason = "the path has '.' or '..' segments, which servers resolve differently."
            raise self._document.invalid(reason, operation.pointer)
        names = frozenset(declared)
        _, variables, notes = read_template(path, names)
        if notes:
            self.warnings += [f"{operation.pointer[:_LONGEST]}: {note}" for note in notes]
        if variables.keys() != names:
            undeclared = [name for name in variables if name not in names]
            placeless = [name for name in declared if name not in variables]
            said = "{} in the path is not declared; it is taken as text."
            self._warn(operation, undeclared, said)
            self._warn(operation, placeless, "the path has no {}; the parameter is left out.")

    def _warn(self, operation: OperationNode, names: list[str], words: str) -> None:
        place = operation.pointer[:_LONGEST]
        shown = [f"{{{name[:_SHOWN]}}}" for name in names[:_MOST]]
        if more := len(names) - len(shown):
            shown.append(f"one of {more} further names")
        self.warnings += [f"{place}: {words.format(name)}" for name in shown]

    def _walk(self, node: Any, resource: Resource, operation: OperationNode, member: str) -> None:
        seen: set[tuple[int, int]] = set()
        waiting = [(node, resource)]
        follow = self._document.references.follow
        try:
            while waiting:
                node, owner = waiting.pop()
                key = (id(node), id(owner))  # with YAML's aliases documents share nodes
                if key in self._clean or key in seen:
                    continue
                seen.add(key)
                if id(node) not in self._refs:
                    self._refs[id(node)] = _refs_in(node, self._local)
                waiting += [follow(holder, owner)[:2] for holder in self._refs[id(node)]]
        except DocumentError as error:
            error.source, error.pointer = self._document.entry.name, f"{operation.pointer}{member}"
            raise
        self._clean |= seen


def _refs_in(root: Any, local: tuple[str, ...]) -> Collection[Any]:
    """Return the objects with references in a node; InvalidDocument for its first fault.

    There is one for each reference, but for `local` ones, whose meaning depends on their place.
    """
    refs: dict[Any, Any] = {}
    nodes = [root]
    for node in nodes:  # which grows on the way: breadth first
        for key in node if node.__class__ is dict else ():
            if key not in _WATCHED:  # before a look at the value, which may be far away in memory
                continue
            value = node[key]
            if key in _OBJECTS:
                found = as_list(value) if key == "prefixEncoding" else as_dict(value).values()
                nodes += found
                for each in found:
                    if not isinstance(each, dict | bool) and each is not None:
                        raise InvalidDocument(f"{key!r} must hold objects, this is {each!r:.60}.")
            elif key != "$ref":
                nodes += _schemas(key, value)
            elif value.__class__ is str and value:
                refs[(value, id(node)) if value.startswith(local) else value] = node
            else:
                reason = f"'$ref' is {value!r:.60}; it must be a text that names a place."
                raise InvalidDocument(reason)
    return refs.values()


def _schemas(key: str, value: Any) -> Collection[Any]:
    if value.__class__ is list:
        return value if key in keyword_values.LISTS or key == "items" else ()
    if value.__class__ is not dict or key in keyword_values.LISTS:
        return ()
    return value.values() if key in keyword_values.MAPS else (value,)


_HOLDS = {  # members of a request's objects that hold others, and the kinds of these
    "body": {"content": "media type"},
    "parameter": {"schema": "schema", "content": "media type"},
    "media type": {
        **dict.fromkeys(("schema", "itemSchema"), "schema"),
        **dict.fromkeys(("encoding", "prefixEncoding", "itemEncoding"), "encoding"),
    },
    "encoding": {"headers": "parameter"},
    "schema": dict.fromkeys(keyword_values.HOLDING, "schema"),
}
_READ = keyword_values.HOLDING | keyword_values.READERS.keys() | keyword_values.NULLABLE | {"$ref"}
_BY_NAME = keyword_values.MAPS | {"content", "encoding", "headers"}
_SETTLED = CONCERNED | SHOWN | {"allOf", "example"}
"""Keywords of a schema that its own values may contradict, or that hold such values."""
_SHOWN_BY_PARAMETERS = frozenset({"example"})
_OF_PARAMETERS = frozenset({"required", "description"})
"""Members of a parameter of Swagger 2.0 that mean something else in a schema."""

_Path: TypeAlias = "tuple[_Path | str, str | int]"
"""A node's place: that of its holder, or a JSON Pointer, and the last key."""


class _Place(NamedTuple):
    """A node to look at; `kind` is a key of `_HOLDS`."""

    kind: str
    node: Any
    path: _Path | str
    resource: Resource


def unreadable(document: Document, operations: Iterable[OperationNode]) -> list[str]:
    """Return warnings about the parts that the input schemas of operations leave out."""
    search = _Search(document)
    for operation in operations:
        search.add(operation)
    return [
        *_first(search.names, "names of parameters cannot be sent; they are left out."),
        *_first(search.keywords, "keywords of schemas cannot be used; they are left out."),
        *_first(search.contradicted, "keywords are contradicted by their schema's own values."),
        *_first(search.refused, "examples and defaults do not fit their own schema."),
    ]


def _first(found: list[str], what: str) -> list[str]:
    more = len(found) - _MOST
    return found[:_MOST] + [f"{more} further {what}"] * (more > 0)


class _Search:
    """Looks at every object that requests are made from, once, and collects warnings."""

    def __init__(self, document: Document) -> None:
        self.names: list[str] = []
        self.keywords: list[str] = []
        self.contradicted: list[str] = []
        self.refused: list[str] = []
        self._may_be_empty: set[int] = set()  # schemas of parameters; the document keeps them
        self._document = document
        self._seen: set[int] = set()
        self._waiting: deque[_Place] = deque()

    def add(self, operation: OperationNode) -> None:
        self._waiting += _starts(self._document, operation)
        while self._waiting:
            place = self._waiting.popleft()
            if place.node.__class__ is not dict:
                is_wrong = place.kind == "schema" and place.node is not None
                if is_wrong and as_boolean(place.node) is None:
                    said = f"{place.node!r:.60} is not a schema; any value is taken there."
                    self._note(place.path, place.resource, said, self.keywords)
            elif id(place.node) not in self._seen:
                self._seen.add(id(place.node))
                self._look_at(place)

    def _look_at(self, place: _Place) -> None:
        """Note an object's unreadable members, and queue the objects in it."""
        kind, node, path, resource = place
        is_parameter, is_schema = kind == "parameter", self._is_schema(place)
        if is_parameter and self._is_left_out(place):
            return
        if kind == "schema":
            self._note_other_file(place)
        holds = _HOLDS["schema" if is_schema else kind]
        for key, value in node.items():
            if value is None or (is_schema and key not in _READ):
                continue
            if key == "$ref":
                self._follow(place)
            elif is_schema and not keyword_values.is_readable(key, value):
                self._note_unreadable(place, key)
            elif is_schema and key == "type":
                self._note_type(place)
            elif key in holds:
                self._hold(_Place(holds[key], value, (path, key), resource))
        self._note_own_values(place, is_schema=is_schema)

    def _note_unreadable(self, place: _Place, key: str) -> None:
        if place.kind == "parameter" and key in _OF_PARAMETERS:
            return
        message = f"{place.node[key]!r:.60} cannot be used as {key!r}; it is left out."
        self._note((place.path, key), place.resource, message, self.keywords)

    def _note_own_values(self, place: _Place, *, is_schema: bool) -> None:
        is_parameter = place.kind == "parameter"
        if is_parameter and as_boolean(place.node.get("allowEmptyValue")):
            self._may_be_empty.add(id(place.node.get("schema", place.node)))
        if is_schema and not _SETTLED.isdisjoint(place.node):
            self._note_contradictions(place, is_parameter=is_parameter)
        elif is_parameter and not _SHOWN_BY_PARAMETERS.isdisjoint(place.node):
            self._note_refused(place)

    def _note_contradictions(self, place: _Place, *, is_parameter: bool) -> None:
        """Note the keywords of a schema that its own values contradict."""
        _, node, path, resource = place
        in_union = isinstance(path, tuple) and isinstance(path[0], tuple) and path[0][1] in UNIONS
        may_be_empty = in_union or id(node) in self._may_be_empty
        schema = versions.schema(node) if is_parameter else node
        with suppress(DocumentError):  # as above
            found = self._document.schemas.contradictions(
                schema, resource, may_be_empty=may_be_empty
            )
            for keyword, message in found:
                self._note_keyword((path, keyword), keyword, node, resource, message)

    def _note_refused(self, place: _Place) -> None:
        """Note the example of a parameter that its schema refuses, and a pattern that it breaks."""
        _, node, path, resource = place
        schemas = self._document.schemas

        def report(keyword: str, message: str) -> None:
            at = (path, "example") if keyword == "examples" else ((path, "schema"), keyword)
            self._note_keyword(at, keyword, node, resource, message)

        with suppress(DocumentError):
            schema = schemas.convert(as_dict(node.get("schema")), resource)
            if "examples" not in schema:
                schemas.with_values({**schema, "examples": [node["example"]]}, report)

    def _note_keyword(
        self, path: _Path, keyword: str, node: Node, resource: Resource, message: str
    ) -> None:
        if keyword in SHOWN:
            if keyword == "examples" and keyword not in node:
                path = (path[0], "example")
            self._note(path, resource, message, self.refused)
        else:
            self._note(path, resource, message, self.contradicted)

    def _note_other_file(self, place: _Place) -> None:
        keyword, message = file_remark(place.node)
        if message:
            self._note((place.path, keyword), place.resource, message, self.keywords)

    def _note_type(self, place: _Place) -> None:
        message = type_remark(place.node["type"])
        if message:
            self._note((place.path, "type"), place.resource, message, self.keywords)

    def _is_schema(self, place: _Place) -> bool:
        """Tell whether an object is a schema, or a parameter over which one is spread."""
        if place.kind != "parameter" or "schema" in place.node:
            return place.kind == "schema"
        return self._document.dialect.swagger or versions.is_of_2(place.node)

    def _is_left_out(self, place: _Place) -> bool:
        """Note how a parameter is read; tell whether it is left out for its name."""
        _, node, path, resource = place
        self._note_leftovers(place)
        location = versions.location_of(node.get("in"))
        if not is_left_out(node if location == node.get("in") else {**node, "in": location}):
            return False
        said = f"{node['name']!r:.60} cannot be sent as the name of a {location} parameter; "
        self._note((path, "name"), resource, f"{said}it is left out.", self.names)
        return True

    def _note_leftovers(self, place: _Place) -> None:
        """Note what a parameter has from another version, and how it is read."""
        _, node, path, resource = place
        dialect, written = self._document.dialect, node.get("in")
        location = versions.location_of(written)
        if location in dialect.leftovers:
            what = "the request body, if there is no other" if location != "cookie" else "a cookie"
            said = f"{dialect.version} has no parameters in {written!r:.60}; it is read as {what}."
            self._note((path, "in"), resource, said, self.keywords)
        elif location != written:
            said = f"{written!r:.60} is read as {location!r}."
            self._note((path, "in"), resource, said, self.keywords)
        if dialect.swagger or location in dialect.leftovers:
            return
        if versions.is_of_2(node):
            said = "the schema is spread over the parameter as in Swagger 2.0; it is read so."
            self._note(path, resource, said, self.keywords)
        elif "collectionFormat" in node:
            said = f"{dialect.version} has no 'collectionFormat'; it is read as in Swagger 2.0."
            self._note((path, "collectionFormat"), resource, said, self.keywords)

    def _hold(self, place: _Place) -> None:
        kind, node, path, resource = place
        is_list = node.__class__ is list
        if is_list or (node.__class__ is dict and path[1] in _BY_NAME):
            members = enumerate(node) if is_list else node.items()
            self._waiting += [_Place(kind, item, (path, at), resource) for at, item in members]
        else:
            self._waiting.append(place)

    def _follow(self, place: _Place) -> None:
        with suppress(DocumentError):  # an operation that needs it was skipped
            target = self._document.references.follow(place.node, place.resource)
            self._waiting.append(_Place(place.kind, target.node, target.pointer, target.resource))

    def _note(self, path: _Path | str, resource: Resource, said: str, found: list[str]) -> None:
        keys: list[str | int] = []
        while not isinstance(path, str):
            path, key = path
            keys.append(key)
        place = f"{path}{join_pointer(reversed(keys))}"
        own = resource is self._document.entry
        found.append(f"{place if own else f'{resource.name}#{place}'}: {said}")


def _starts(document: Document, operation: OperationNode) -> Iterator[_Place]:
    holders = ((operation.item, operation.path_pointer), (operation.node, operation.pointer))
    for holder, above in holders:
        for at, item in enumerate(as_list(holder.get("parameters"))):
            yield _Place("parameter", item, ((above, "parameters"), at), operation.resource)
    if not document.dialect.swagger and "requestBody" in operation.node:
        body, path = operation.node["requestBody"], (operation.pointer, "requestBody")
        yield _Place("body", body, path, operation.resource)
