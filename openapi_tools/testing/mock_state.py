"""The state of a mock: what requests create, change and delete shows in later responses."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from openapi_tools.common.json_values import follow_references
from openapi_tools.conformance.routes import Route
from openapi_tools.testing.mock_responses import (
    Document,
    MockResponse,
    documented_response,
    problem_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ITEM = re.compile(r"(.+)/\{([^{}/]+)\}")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VARIABLE = re.compile(r"\{([^{}]*)\}")
# Objects by their id as a string; None for deleted ones.
_ObjectsById = dict[str, dict[str, Any] | None]


class _MockedResource(NamedTuple):
    """A pair of paths, and the property of the item's object that the variable names."""

    collection: str  # "/pets"
    item: str  # "/pets/{petId}"
    variable: str  # "petId"
    id_property: str  # "id"
    example: dict[str, Any]
    listed_ids: frozenset[str]  # of the objects that the collection's own example has


class MockState:
    """Objects by the paths that they were written to.

    Only pairs of paths such as `/pets` and `/pets/{id}` have a state: GET of the second
    returns a JSON object, one of whose properties the variable names. Everything else is as in the
    document, and so are objects that no request has written.
    """

    def __init__(self, document: Callable[[], Document]) -> None:
        self._document = document
        self._resources: dict[str, _MockedResource | None] = {}
        self._objects: dict[str, _ObjectsById] = {}

    def respond(
        self, method: str, route: Route, body: Any, documented: MockResponse
    ) -> MockResponse:
        """Return the response to a request, which may write; `documented` is the document's."""
        if route.path not in self._resources:
            self._resources[route.path] = self._find_resource(route.path)
        resource = self._resources[route.path]
        if resource is None:
            return documented
        collection_path = _VARIABLE.sub(
            lambda m: route.variables.get(m[1], m[0]), resource.collection
        )
        objects = self._objects.setdefault(collection_path, {})
        if route.path == resource.item:
            key = route.variables[resource.variable]
            if key in objects and objects[key] is None and method != "PUT":
                return self._not_found(resource, key)
            return _change_item(method, resource, objects, key, body, documented)
        if method == "GET" and objects:
            return documented._replace(
                value=_add_stored_objects(documented.value, resource.id_property, objects)
            )
        is_written = method in ("POST", "PUT", "PATCH") and isinstance(body, dict)
        return (
            _store_object(method, resource, objects, body, documented) if is_written else documented
        )

    def _not_found(self, resource: _MockedResource, key: str) -> MockResponse:
        route = self._get_route(resource.item)
        if "404" in follow_references(self._document(), route.operation.get("responses")):
            return documented_response(self._document(), route, status=404)
        return problem_response(404, f"{resource.collection} has no {key!r}")

    def _find_resource(self, path: str) -> _MockedResource | None:
        paths = follow_references(self._document(), self._document().get("paths"))
        names = [path] if _ITEM.fullmatch(path) else [key for key in paths if isinstance(key, str)]
        matches = filter(None, map(_ITEM.fullmatch, names))
        pairs = [match for match in matches if path in (match[0], match[1])]
        if len(pairs) != 1:
            return None
        item, collection, variable = pairs[0][0], pairs[0][1], pairs[0][2]
        example = documented_response(self._document(), self._get_route(item)).value
        id_property = _id_property(variable, example) if isinstance(example, dict) else ""
        if not id_property:
            return None
        listed = documented_response(self._document(), self._get_route(collection)).value
        ids = frozenset(str(each[id_property]) for each in _find_items(listed, id_property))
        return _MockedResource(collection, item, variable, id_property, example, ids)

    def _get_route(self, path: str) -> Route:
        document = self._document()
        item = follow_references(
            document, follow_references(document, document.get("paths")).get(path)
        )
        return Route(
            ("paths", path, "get"), follow_references(document, item.get("get")), item, path, {}
        )


def _change_item(
    method: str,
    resource: _MockedResource,
    objects: _ObjectsById,
    key: str,
    body: Any,
    documented: MockResponse,
) -> MockResponse:
    id_property, example = resource.id_property, resource.example
    if method == "DELETE":
        objects[key] = None
    elif method in ("PUT", "PATCH") and isinstance(body, dict):
        value = int(key) if isinstance(example[id_property], int) and key.isdecimal() else key
        objects[key] = {**(objects.get(key) or example), **body, id_property: value}
    current = objects.get(key)
    return (
        documented
        if current is None or not _has_property(documented.value, id_property)
        else documented._replace(value=current)
    )


def _store_object(
    method: str,
    resource: _MockedResource,
    objects: _ObjectsById,
    body: dict[str, Any],
    documented: MockResponse,
) -> MockResponse:
    id_property, is_new = resource.id_property, method == "POST"
    if (documented.media_type and not _has_property(documented.value, id_property)) or not (
        is_new or id_property in body
    ):
        return documented
    value = body.get(id_property) or _new_id(resource, objects)
    before = objects.get(str(value)) or (resource.example if is_new else {})
    stored = objects[str(value)] = {**before, **body, id_property: value}
    return documented._replace(value=stored) if documented.media_type else documented


def _new_id(resource: _MockedResource, objects: _ObjectsById) -> Any:
    example = resource.example[resource.id_property]
    shape: Any = int if isinstance(example, int) else str
    values: Any = map(shape, count(1))
    if shape is str and _UUID.fullmatch(example):
        values = (str(UUID(int=number)) for number in count(1))
    taken = {str(example), *objects, *resource.listed_ids}
    return next(value for value in values if str(value) not in taken)


def _id_property(variable: str, value: Mapping[str, Any]) -> str:
    words = [word.lower() for word in _WORD.findall(variable)]
    for start in range(len(words)):
        for name, property_value in value.items():
            is_id = isinstance(property_value, str | int) and not isinstance(property_value, bool)
            if is_id and [word.lower() for word in _WORD.findall(name)] == words[start:]:
                return name
    return ""


def _has_property(value: Any, name: str) -> bool:
    return isinstance(value, dict) and name in value


def _find_items(value: Any, id_property: str) -> list[Any]:
    # A list, or the only list in an object, as below.
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if len(lists) == 1 else None
    return [item for item in value or () if _has_property(item, id_property)]


def _add_stored_objects(value: Any, id_property: str, objects: _ObjectsById) -> Any:
    if isinstance(value, list) and all(_has_property(item, id_property) for item in value):
        merged = {str(item[id_property]): item for item in value} | objects
        return [item for item in merged.values() if item is not None]
    properties = value if isinstance(value, dict) else {}
    lists = [name for name in properties if isinstance(properties[name], list)]
    return (
        {**value, lists[0]: _add_stored_objects(value[lists[0]], id_property, objects)}
        if len(lists) == 1
        else value
    )
