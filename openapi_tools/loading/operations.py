"""Document -> operations and their parameters, each seen as OpenAPI 3 writes it.

`Document` finds the operations and reads their members on demand; a fault of an operation is a
`DocumentError` with its JSON Pointer.

Spec: OpenAPI 3.2.0, sections 4.8 to 4.12; Swagger 2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from openapi_tools.errors import DocumentError, InvalidDocument, UnresolvableReference
from openapi_tools.json_values import (
    Node,
    as_dict,
    as_list,
    as_string,
    is_string,
    is_true,
    pointer_token,
)
from openapi_tools.loading import versions
from openapi_tools.loading.references import References, Resource, is_url_reference
from openapi_tools.loading.schemas import Schemas
from openapi_tools.loading.security import BY_URI, Security
from openapi_tools.requests.encoding import is_cookie_name, is_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.settings import Settings

MAX_CHOICES: Final = 100  # servers, security requirements or media types that are looked at
OF_BODY: Final = frozenset({"body", "formData"})  # locations of Swagger 2.0 that make the body

ParameterNodes: TypeAlias = "dict[tuple[str, str], tuple[Node, Resource]]"
"""Parameter Objects and their documents, by location and name on the wire."""

_Made = TypeVar("_Made")
_OF_ITEM = frozenset({"$ref", "summary", "description", "servers", "parameters"})
_OF_OPERATION = frozenset({"responses", "operationId", "requestBody"})
"""Members by which an object at an unknown key is an operation."""
_ADDITIONAL = 2  # the minor version of OpenAPI 3 that has `additionalOperations`
_MOST_FLAGS = 32
_LONGEST_FLAG = 64
_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_NAME_TESTS: dict[Any, Callable[[str], bool]] = {
    "query": bool,
    "header": is_token,
    "cookie": is_cookie_name,
}


@dataclass(slots=True, eq=False)  # not frozen: that doubles the cost of making thousands
class OperationNode:
    """An Operation Object `node` of a Path Item Object, `member` is its JSON Pointer there."""

    method: str
    path: str
    member: str
    node: Node
    item: Node
    resource: Resource

    @property
    def pointer(self) -> str:
        """JSON Pointer of the operation."""
        return f"{self.path_pointer}/{self.member}"

    @property
    def path_pointer(self) -> str:
        """JSON Pointer of its path."""
        return f"/paths{pointer_token(self.path)}"

    @property
    def operation_id(self) -> str:
        """The document's own id; empty when it has none."""
        return as_string(self.node.get("operationId"))

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        return tuple(filter(is_string, as_list(self.node.get("tags"))))

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return is_true(self.node.get("deprecated"))

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of members that are `true` and begin with `x-`."""
        names = [name for name in self.node if name.startswith("x-") and self.node[name] is True]
        short = [name for name in names if len(name) <= _LONGEST_FLAG and name.isprintable()]
        return tuple(sorted(short)[:_MOST_FLAGS])


class Document:
    """One OpenAPI document; InvalidDocument where its version is not supported.

    `remarks` are the warnings of its parser and overlays; `strict` refuses repeated keys in other
    documents that it refers to.
    """

    def __init__(
        self,
        entry: Resource,
        settings: Settings,
        fetcher: Fetcher | None = None,
        remarks: tuple[str, ...] = (),
        *,
        strict: bool = False,
    ) -> None:
        self.entry = entry
        self.remarks = remarks
        self.settings = settings
        self.dialect = versions.read_dialect(entry.root, entry.name)
        address = as_string(entry.root.get("$self")) if self.dialect.modern else ""
        entry.self_uri = address if is_url_reference(address) else ""
        self.references = References(entry, settings, fetcher, strict=strict)
        self._methods = {method: method.upper() for method in self.dialect.methods}
        self._shared: dict[tuple[str, int], Any] = {}
        self._lists: dict[tuple[int, bytes], ParameterNodes] = {}
        self._bodies: dict[tuple[Any, ...], tuple[Node, Resource] | None] = {}
        self._merged: dict[tuple[int, int], ParameterNodes] = {}
        self._none: ParameterNodes = {}
        self._form: Any = {"words": settings.description_chars, "ref_siblings": self.dialect.modern}

    @cached_property
    def security(self) -> Security:
        """Reads security schemes and requirements."""
        security = Security(self.entry, self.references, self.dialect)
        if self.dialect.minor >= BY_URI:  # requirements may add schemes to those of the components
            security.requirements(self.root, self.entry)
            for operation in self.operations():
                if isinstance(operation, OperationNode) and "security" in operation.node:
                    security.requirements(operation.node, operation.resource)
        return security

    @cached_property
    def schemas(self) -> Schemas:
        """Converts the schemas of requests."""
        return Schemas(self.references, **self._form, hidden="readOnly")

    @cached_property
    def answer_schemas(self) -> Schemas:
        """Converts the schemas of answers."""
        return Schemas(self.references, **self._form, hidden="writeOnly")

    @property
    def root(self) -> Node:
        """The parsed document."""
        root: Node = self.entry.root
        return root

    def shared(self, kind: str, node: list[Any], make: Callable[[list[Any]], _Made]) -> _Made:
        """Return a value made from the first members of a list that operations share, once."""
        key = (kind, id(node))
        if key not in self._shared:
            self._shared[key] = make(node[:MAX_CHOICES])
        made: _Made = self._shared[key]
        return made

    def operations(self) -> Iterator[OperationNode | DocumentError]:
        """Yield every operation in the document's order; an error for one that cannot be read."""
        paths = self.root.get("paths")
        if paths is None:
            return
        if not isinstance(paths, dict):
            raise self.invalid(f"'paths' must be an object, this is {paths!r:.60}.", "/paths")
        for path, item in paths.items():
            if not path.startswith("x-"):
                yield from self._of_path(path, item)

    def operation(self, path: str, member: str) -> OperationNode:
        """Return an operation that an earlier load found, or raise InvalidDocument."""
        for found in self._of_path(path, as_dict(self.root.get("paths")).get(path)):
            if isinstance(found, OperationNode) and found.member == member:
                return found
        raise self.invalid("no such operation.", f"/paths{pointer_token(path)}/{member}")

    def _of_path(self, path: str, item: Any) -> Iterator[OperationNode | DocumentError]:
        try:
            node, resource = self._path_item(path, item)
        except DocumentError as error:
            yield error
            return
        methods = self._methods
        for key, value in node.items():
            if key in methods:
                if isinstance(value, dict):
                    yield OperationNode(methods[key], path, key, value, node, resource)
                else:
                    yield self._no_operation(value, path, key)
            elif key not in _OF_ITEM and not key.startswith("x-"):
                yield from self._other_key(path, key, node, resource)

    def _other_key(
        self, path: str, key: str, item: Node, resource: Resource
    ) -> Iterator[OperationNode | DocumentError]:
        """Yield the operations at a key that no operation of the version has."""
        if key == "additionalOperations" and self.dialect.minor >= _ADDITIONAL:
            yield from self._additional(path, item, resource)
            return
        value, method = item[key], key.lower()
        if not isinstance(value, dict) or _OF_OPERATION.isdisjoint(value):
            return
        first = method if method in item else next(name for name in item if name.lower() == method)
        if method in self._methods and first == key:
            yield OperationNode(self._methods[method], path, key, value, item, resource)
            return
        reason = f"{key!r:.60} is no method that {self.dialect.version} has as a key"
        reason += (
            "; list it in 'additionalOperations'." if self.dialect.minor >= _ADDITIONAL else "."
        )
        if method in self._methods:
            reason = f"{key!r} stands beside {first!r}, which counts; remove one of them."
        yield self.invalid(reason, f"/paths{pointer_token(path)}{pointer_token(key)}")

    def _path_item(self, path: str, item: Any) -> tuple[Node, Resource]:
        if isinstance(item, dict) and "$ref" not in item:
            return item, self.entry
        pointer = f"/paths{pointer_token(path)}"
        target = self.follow(item, self.entry, pointer)
        if not isinstance(target.node, dict):
            raise self.invalid(f"a path item must be an object, this is {item!r:.60}.", pointer)
        beside = {key: value for key, value in item.items() if key != "$ref"}
        return {**target.node, **beside} if beside else target.node, target.resource

    def _additional(
        self, path: str, item: Node, resource: Resource
    ) -> Iterator[OperationNode | DocumentError]:
        listed = item["additionalOperations"]
        if not isinstance(listed, dict):
            return
        for method, node in listed.items():
            member = f"additionalOperations{pointer_token(method)}"
            if is_token(method) and isinstance(node, dict):
                yield OperationNode(method, path, member, node, item, resource)
            else:
                value = node if is_token(method) else f"{method!r}, no method"
                yield self._no_operation(value, path, member)

    def _no_operation(self, value: Any, path: str, member: str) -> InvalidDocument:
        reason = f"an operation must be an object, not {value!r:.60}."
        return self.invalid(reason, f"/paths{pointer_token(path)}/{member}")

    def parameters(self, operation: OperationNode) -> ParameterNodes:
        """Return an operation's parameters, its own over its path's; of equal lists one dict."""
        above = self._listed(operation, operation.item)
        own = self._listed(operation, operation.node)
        if not (above and own):
            return above or own
        key = (id(above), id(own))
        if key not in self._merged:
            self._merged[key] = {**above, **own}
        return self._merged[key]

    def _listed(self, operation: OperationNode, holder: Node) -> ParameterNodes:
        """Return the parameters that an operation or its path item lists, each list read once."""
        listed = holder.get("parameters")
        if listed is None:
            return self._none
        key = (id(operation.resource), operation.resource.text(listed))
        found = self._lists.get(key)
        if found is None:
            try:
                found = self._lists[key] = self._read_list(listed, operation.resource)
            except DocumentError as error:
                above = operation.pointer if holder is operation.node else operation.path_pointer
                error.source, error.pointer = self.entry.name, f"{above}/parameters{error.pointer}"
                raise
        return found

    def _read_list(self, listed: Any, resource: Resource) -> ParameterNodes:
        """Return the parameters in a list; the pointer of an error is relative to the list."""
        if not isinstance(listed, list):
            raise InvalidDocument("'parameters' must be an array.")
        found: ParameterNodes = {}
        try:
            for index, item in enumerate(listed):  # noqa: B007 -- for errors
                node, owner, _ = self.references.follow(item, resource)
                if not isinstance(node, dict):
                    raise InvalidDocument(f"a parameter must be an object, not {node!r:.60}.")
                if (location := versions.location_of(node.get("in"))) != node.get("in"):
                    node = {**node, "in": location}
                found[self._checked(location, node.get("name"), node)] = (node, owner)
        except DocumentError as error:
            error.pointer = f"/{index}"
            raise
        return found

    def _checked(self, location: Any, name: Any, node: Node) -> tuple[str, str]:
        if location == "querystring" and not name:  # the whole query needs no name on the wire
            name = location
        if not isinstance(name, str) or not name:
            raise InvalidDocument(f"'name' of a parameter is {name!r:.60}; give it a text.")
        allowed_here = (*self.dialect.locations, *self.dialect.leftovers)
        if not isinstance(location, str) or location not in allowed_here:
            allowed = ", ".join(self.dialect.locations)
            reason = f"'in' is {location!r:.60}; {self.dialect.version} has {allowed}."
            raise InvalidDocument(reason)
        if not _is_legible(name) and not is_left_out(node):
            reason = f"the name of the {location} parameter {name!r:.60} cannot be sent."
            raise InvalidDocument(reason)
        return location, name

    def request_body(self, operation: OperationNode) -> tuple[Node, Resource] | None:
        """Return an operation's Request Body Object, None without; DocumentError for a bad one."""
        node = None if self.dialect.swagger else operation.node.get("requestBody")
        if node is None:
            consumes = as_list(operation.node.get("consumes", self.root.get("consumes")))
            kinds = list(filter(is_string, consumes[:MAX_CHOICES]))
            return self._body_of_2(self.parameters(operation), kinds)
        place = f"{operation.pointer}/requestBody"
        body, resource, _ = self.follow(node, operation.resource, place)
        if not isinstance(body, dict):
            raise self.invalid(f"a request body must be an object, not {node!r:.60}.", place)
        if not isinstance(body.get("content", {}), dict):
            raise self.invalid("'content' must be an object.", f"{place}/content")
        return body, resource

    def _body_of_2(
        self, parameters: ParameterNodes, kinds: list[str]
    ) -> tuple[Node, Resource] | None:
        """Return the request body of a Swagger 2.0 operation, made once for equal operations."""
        key = (id(parameters), *kinds)
        if key not in self._bodies:
            found = [part for (at, _), part in parameters.items() if at in OF_BODY]
            body = versions.request_body([node for node, _ in found], kinds)
            self._bodies[key] = None if body is None else (body, found[0][1])
        return self._bodies[key]

    def follow(self, node: Any, resource: Resource, pointer: str) -> Any:
        """Follow a reference; errors name the given place."""
        try:
            return self.references.follow(node, resource)
        except UnresolvableReference as error:
            error.source, error.pointer = self.entry.name, pointer
            raise

    def invalid(self, reason: str, pointer: str) -> InvalidDocument:
        """Return an error about this document."""
        return InvalidDocument(reason, source=self.entry.name, pointer=pointer)


def is_left_out(node: Mapping[str, Any]) -> bool:
    """Tell whether requests leave a parameter out because its name cannot be sent."""
    location, name = node.get("in"), node.get("name")
    if location not in _NAME_TESTS or not isinstance(name, str):
        return False
    if not _is_legible(name):
        return not is_true(node.get("required"))
    return not _NAME_TESTS[location](name)


def _is_legible(name: str) -> bool:
    return name.isprintable() or not _UNSENDABLE.search(name)
