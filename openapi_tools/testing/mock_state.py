"""The state of a mock: what requests create, change and delete shows in later answers."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from openapi_tools.json_values import follow_references
from openapi_tools.openapi_core import Route
from openapi_tools.testing.mock_answers import Document, Shown, problem, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ITEM = re.compile(r"(.+)/\{([^{}/]+)\}")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_Kept = dict[str, dict[str, Any] | None]  # objects by the text of their id; None for deleted ones


class _Resource(NamedTuple):
    """A pair of paths, and the member of the item's object that the variable names."""

    collection: str  # "/pets"
    item: str  # "/pets/{petId}"
    variable: str  # "petId"
    member: str  # "id"
    example: dict[str, Any]


class State:
    """Objects by the paths that they were written to.

    Only pairs of paths such as `/pets` and `/pets/{id}` have a state: GET of the second answers
    with a JSON object, one of whose members the variable names. Everything else is answered as the
    document shows it, and so are objects that no request has written.
    """

    def __init__(self, document: Callable[[], Document]) -> None:
        self._document = document
        self._resources: dict[str, _Resource | None] = {}
        self._kept: dict[str, _Kept] = {}

    def answer(self, method: str, route: Route, body: Any, found: Shown) -> Shown:
        """Return the answer to a request, which may write; `found` is the document's."""
        if route.path not in self._resources:
            self._resources[route.path] = self._recognised(route.path)
        resource = self._resources[route.path]
        if resource is None:
            return found
        where = _VARIABLE.sub(lambda m: route.variables.get(m[1], m[0]), resource.collection)
        kept = self._kept.setdefault(where, {})
        if route.path == resource.item:
            key = route.variables[resource.variable]
            if key in kept and kept[key] is None and method != "PUT":
                return self._missing(resource, key)
            return _of_item(method, resource, kept, key, body, found)
        if method == "GET" and kept:
            return found._replace(value=_listed(found.value, resource.member, kept))
        is_written = method in ("POST", "PUT", "PATCH") and isinstance(body, dict)
        return _written(method, resource, kept, body, found) if is_written else found

    def _missing(self, resource: _Resource, key: str) -> Shown:
        route = self._get_of(resource.item)
        if "404" in follow_references(self._document(), route.operation.get("responses")):
            return shown(self._document(), route, status=404)
        return problem(404, f"{resource.collection} has no {key!r}")

    def _recognised(self, path: str) -> _Resource | None:
        """Return the pair of paths that one belongs to; None where the shape is not clear."""
        paths = follow_references(self._document(), self._document().get("paths"))
        names = [path] if _ITEM.fullmatch(path) else [key for key in paths if isinstance(key, str)]
        matches = filter(None, map(_ITEM.fullmatch, names))
        pairs = [match for match in matches if path in (match[0], match[1])]
        if len(pairs) != 1:
            return None
        item, collection, variable = pairs[0][0], pairs[0][1], pairs[0][2]
        example = shown(self._document(), self._get_of(item)).value
        member = _member(variable, example) if isinstance(example, dict) else ""
        return _Resource(collection, item, variable, member, example) if member else None

    def _get_of(self, path: str) -> Route:
        """Return GET of a path; an operation without answers where it has none."""
        document = self._document()
        item = follow_references(
            document, follow_references(document, document.get("paths")).get(path)
        )
        return Route(
            ("paths", path, "get"), follow_references(document, item.get("get")), item, path, {}
        )


def _of_item(
    method: str, resource: _Resource, kept: _Kept, key: str, body: Any, found: Shown
) -> Shown:
    """Return the answer about one object, which the request may change."""
    member, example = resource.member, resource.example
    if method == "DELETE":
        kept[key] = None
    elif method in ("PUT", "PATCH") and isinstance(body, dict):
        value = int(key) if isinstance(example[member], int) and key.isdecimal() else key
        kept[key] = {**(kept.get(key) or example), **body, member: value}
    now = kept.get(key)
    return found if now is None or not _has(found.value, member) else found._replace(value=now)


def _written(
    method: str, resource: _Resource, kept: _Kept, body: dict[str, Any], found: Shown
) -> Shown:
    """Keep an object that the collection was sent; PUT and PATCH have to name it."""
    member, is_new = resource.member, method == "POST"
    if (found.media_type and not _has(found.value, member)) or not (is_new or member in body):
        return found
    value = body.get(member) or _free(resource, kept)
    before = kept.get(str(value)) or (resource.example if is_new else {})
    made = kept[str(value)] = {**before, **body, member: value}
    return found._replace(value=made) if found.media_type else found


def _free(resource: _Resource, kept: _Kept) -> Any:
    """Return the id of a new object, in the type of the document's one."""
    example = resource.example[resource.member]
    shape: Any = int if isinstance(example, int) else str
    values: Any = map(shape, count(1))
    if shape is str and _UUID.fullmatch(example):
        values = (str(UUID(int=number)) for number in count(1))
    return next(value for value in values if value != example and str(value) not in kept)


def _member(variable: str, value: Mapping[str, Any]) -> str:
    """Return the member that a path's variable names: `petId` and `pet_id` name `id`."""
    words = [word.lower() for word in _WORD.findall(variable)]
    for start in range(len(words)):
        for name, member in value.items():
            is_id = isinstance(member, str | int) and not isinstance(member, bool)
            if is_id and [word.lower() for word in _WORD.findall(name)] == words[start:]:
                return name
    return ""


def _has(value: Any, member: str) -> bool:
    return isinstance(value, dict) and member in value


def _listed(value: Any, member: str, kept: _Kept) -> Any:
    """Return a list of objects, or the only one in an object, with what was written."""
    if isinstance(value, list) and all(_has(item, member) for item in value):
        now = {str(item[member]): item for item in value} | kept
        return [item for item in now.values() if item is not None]
    members = value if isinstance(value, dict) else {}
    lists = [name for name in members if isinstance(members[name], list)]
    return {**value, lists[0]: _listed(value[lists[0]], member, kept)} if len(lists) == 1 else value
