"""Warnings about the parts of requests that input schemas leave out, and about their values.

They are collected when the warnings of a toolset are read: no load needs them.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from openapi_tools.common.json_schema import UNIONS
from openapi_tools.common.json_values import Node, as_boolean, as_dict, as_list, join_pointer
from openapi_tools.errors import DocumentError
from openapi_tools.loading import keyword_values, versions
from openapi_tools.loading.document import is_left_out
from openapi_tools.loading.keyword_values import CHECKED_KEYWORDS, EXAMPLE_KEYWORDS
from openapi_tools.loading.type_names import file_remark, type_remark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.loading.document import Document, OperationNode
    from openapi_tools.loading.references import Resource

_MOST = 10  # warnings of one kind; further ones are counted

# By the kind of an object: its properties that hold other objects, and the kinds of these.
_INNER_KINDS = {
    "body": {"content": "media type"},
    "parameter": {"schema": "schema", "content": "media type"},
    "media type": {
        **dict.fromkeys(("schema", "itemSchema"), "schema"),
        **dict.fromkeys(("encoding", "prefixEncoding", "itemEncoding"), "encoding"),
    },
    "encoding": {"headers": "parameter"},
    "schema": dict.fromkeys(keyword_values.APPLICATORS, "schema"),
}
_READ = (
    keyword_values.APPLICATORS | keyword_values.READERS.keys() | keyword_values.NULLABLE | {"$ref"}
)
_BY_NAME = keyword_values.MAP_APPLICATORS | {"content", "encoding", "headers"}
# Keywords of a schema that its own values may contradict, or that hold such values.
_SETTLED = CHECKED_KEYWORDS | EXAMPLE_KEYWORDS | {"allOf", "example"}
# Keywords whose meaning shows only when the schema is converted.
_CONVERTED = keyword_values.NULLABLE | {"allOf", "example", "$ref"}
_SHOWN_BY_PARAMETERS = frozenset({"example"})
# Properties of a parameter of Swagger 2.0 that mean something else in a schema.
_OF_PARAMETERS = frozenset({"required", "description"})

# A node's place: that of its holder, or a JSON Pointer, and the last key.
_Path: TypeAlias = "tuple[_Path | str, str | int]"


class _Place(NamedTuple):
    """A node to look at; `kind` is a key of `_INNER_KINDS`."""

    kind: str
    node: Any
    path: _Path | str
    resource: Resource


def warn_of_unreadable_parts(document: Document, operations: Iterable[OperationNode]) -> list[str]:
    """Return warnings about the parts that the input schemas of operations leave out."""
    search = _Search(document)
    for operation in operations:
        search.add_operation(operation)
    return [
        *_limit(search.names, "names of parameters cannot be sent; they are ignored."),
        *_limit(search.keywords, "keywords of schemas cannot be used; they are ignored."),
        *_limit(search.contradicted, "keywords are contradicted by their schema's own values."),
        *_limit(search.refused, "examples and defaults do not match their own schema."),
    ]


def _may_report(node: Node) -> bool:
    # For most schemas a look at the keywords is enough; the others have to be converted.
    if _SETTLED.isdisjoint(node):
        return False
    usual = (
        node.get("examples", []).__class__ is list
        and node.get("enum", []).__class__ is list
        and node.get("additionalProperties", True).__class__ in (bool, dict)
    )
    if not usual or not _CONVERTED.isdisjoint(node):
        return True
    return keyword_values.may_have_contradictions(node) or keyword_values.may_show_misfits(node)


def _limit(warnings: list[str], summary: str) -> list[str]:
    rest = len(warnings) - _MOST
    if rest <= 0:
        return warnings
    return [*warnings[:_MOST], f"{rest} more {summary}"]


class _Search:
    """Looks at every object that requests are made from, once, and collects warnings."""

    def __init__(self, document: Document) -> None:
        self.names: list[str] = []
        self.keywords: list[str] = []
        self.contradicted: list[str] = []
        self.refused: list[str] = []
        self._document = document
        self._seen: set[int] = set()
        self._may_be_empty: set[int] = set()  # schemas of parameters; the document keeps them
        self._waiting: deque[_Place] = deque()

    def add_operation(self, operation: OperationNode) -> None:
        self._waiting += _request_objects(self._document, operation)
        while self._waiting:
            place = self._waiting.popleft()
            if place.node.__class__ is not dict:
                is_wrong = place.kind == "schema" and place.node is not None
                if is_wrong and as_boolean(place.node) is None:
                    message = f"{place.node!r:.60} is not a schema; any value is accepted there."
                    self._note(place.path, place.resource, message, self.keywords)
            # The first place of a shared component is named, as the user changes it once.
            elif id(place.node) not in self._seen:
                self._seen.add(id(place.node))
                self._check_object(place)

    def _check_object(self, place: _Place) -> None:
        kind, node, path, resource = place
        is_parameter, is_schema = kind == "parameter", self._is_schema(place)
        if is_parameter and self._is_left_out(place):
            return
        if kind == "schema":
            self._note_misspelt_file(place)
        inner_kinds = _INNER_KINDS["schema" if is_schema else kind]
        for key, value in node.items():
            if value is None or (is_schema and key not in _READ):
                continue
            if key == "$ref":
                self._queue_target(place)
            elif is_schema and not keyword_values.is_readable(key, value):
                self._note_unreadable(place, key)
            elif is_schema and key == "type":
                self._note_type(place)
            elif key in inner_kinds:
                self._queue(_Place(inner_kinds[key], value, (path, key), resource))
        self._note_own_values(place, is_schema=is_schema)

    def _note_unreadable(self, place: _Place, key: str) -> None:
        if place.kind == "parameter" and key in _OF_PARAMETERS:
            return
        message = f"{place.node[key]!r:.60} cannot be used as {key!r}; it is ignored."
        self._note((place.path, key), place.resource, message, self.keywords)

    def _note_own_values(self, place: _Place, *, is_schema: bool) -> None:
        is_parameter = place.kind == "parameter"
        if is_parameter and as_boolean(place.node.get("allowEmptyValue")):
            self._may_be_empty.add(id(place.node.get("schema", place.node)))
        if is_schema and _may_report(place.node):
            self._note_contradictions(place, is_parameter=is_parameter)
        elif is_parameter and not _SHOWN_BY_PARAMETERS.isdisjoint(place.node):
            self._note_refused_example(place)

    def _note_contradictions(self, place: _Place, *, is_parameter: bool) -> None:
        _, node, path, resource = place
        in_union = isinstance(path, tuple) and isinstance(path[0], tuple) and path[0][1] in UNIONS
        may_be_empty = in_union or id(node) in self._may_be_empty
        # Of a parameter of Swagger 2.0 only the keywords that make its schema count.
        schema = versions.parameter_schema(node) if is_parameter else node
        with suppress(DocumentError):  # an operation that needs it was skipped
            contradictions = self._document.schemas.find_contradictions(
                schema, resource, may_be_empty=may_be_empty
            )
            for keyword, message in contradictions:
                self._note_keyword((path, keyword), keyword, node, resource, message)

    def _note_refused_example(self, place: _Place) -> None:
        _, node, path, resource = place
        schemas = self._document.schemas

        def report(keyword: str, message: str) -> None:
            at = (path, "example") if keyword == "examples" else ((path, "schema"), keyword)
            self._note_keyword(at, keyword, node, resource, message)

        with suppress(DocumentError):
            schema = schemas.convert(as_dict(node.get("schema")), resource)
            if "examples" not in schema:
                schemas.drop_unfitting_values({**schema, "examples": [node["example"]]}, report)

    def _note_keyword(
        self, path: _Path, keyword: str, node: Node, resource: Resource, message: str
    ) -> None:
        if keyword in EXAMPLE_KEYWORDS:
            if keyword == "examples" and keyword not in node:
                path = (path[0], "example")
            self._note(path, resource, message, self.refused)
        else:
            self._note(path, resource, message, self.contradicted)

    def _note_misspelt_file(self, place: _Place) -> None:
        keyword, message = file_remark(place.node)
        if message:
            self._note((place.path, keyword), place.resource, message, self.keywords)

    def _note_type(self, place: _Place) -> None:
        message = type_remark(place.node["type"])
        if message:
            self._note((place.path, "type"), place.resource, message, self.keywords)

    def _is_schema(self, place: _Place) -> bool:
        if place.kind != "parameter" or "schema" in place.node:
            return place.kind == "schema"
        return self._document.dialect.swagger or versions.has_spread_schema(place.node)

    def _is_left_out(self, place: _Place) -> bool:
        _, node, path, resource = place
        self._note_leftovers(place)
        location = versions.standard_location(node.get("in"))
        if not is_left_out(node if location == node.get("in") else {**node, "in": location}):
            return False
        message = f"{node['name']!r:.60} cannot be sent as the name of a {location} parameter; "
        self._note((path, "name"), resource, f"{message}it is ignored.", self.names)
        return True

    def _note_leftovers(self, place: _Place) -> None:
        _, node, path, resource = place
        dialect, written = self._document.dialect, node.get("in")
        location = versions.standard_location(written)
        if location in dialect.leftovers:
            what = "the request body, if there is no other" if location != "cookie" else "a cookie"
            message = (
                f"{dialect.version} has no parameters in {written!r:.60}; it is read as {what}."
            )
            self._note((path, "in"), resource, message, self.keywords)
        elif location != written:
            message = f"{written!r:.60} is read as {location!r}."
            self._note((path, "in"), resource, message, self.keywords)
        if dialect.swagger or location in dialect.leftovers:
            return
        if versions.has_spread_schema(node):
            message = "the schema is spread over the parameter as in Swagger 2.0; it is read so."
            self._note(path, resource, message, self.keywords)
        elif "collectionFormat" in node:
            message = f"{dialect.version} has no 'collectionFormat'; it is read as in Swagger 2.0."
            self._note((path, "collectionFormat"), resource, message, self.keywords)

    def _queue(self, place: _Place) -> None:
        kind, node, path, resource = place
        is_list = node.__class__ is list
        if is_list or (node.__class__ is dict and path[1] in _BY_NAME):
            items = enumerate(node) if is_list else node.items()
            self._waiting += [_Place(kind, item, (path, at), resource) for at, item in items]
        else:
            self._waiting.append(place)

    def _queue_target(self, place: _Place) -> None:
        with suppress(DocumentError):  # as above
            target = self._document.references.follow(place.node, place.resource)
            self._waiting.append(_Place(place.kind, target.node, target.pointer, target.resource))

    def _note(
        self, path: _Path | str, resource: Resource, message: str, warnings: list[str]
    ) -> None:
        keys: list[str | int] = []
        while not isinstance(path, str):
            path, key = path
            keys.append(key)
        place = f"{path}{join_pointer(reversed(keys))}"
        is_entry = resource is self._document.entry
        warnings.append(f"{place if is_entry else f'{resource.name}#{place}'}: {message}")


def _request_objects(document: Document, operation: OperationNode) -> Iterator[_Place]:
    holders = ((operation.item, operation.path_pointer), (operation.node, operation.pointer))
    for holder, above in holders:
        for at, item in enumerate(as_list(holder.get("parameters"))):
            yield _Place("parameter", item, ((above, "parameters"), at), operation.resource)
    if not document.dialect.swagger and "requestBody" in operation.node:
        body, path = operation.node["requestBody"], (operation.pointer, "requestBody")
        yield _Place("body", body, path, operation.resource)
