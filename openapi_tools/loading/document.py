"""An OpenAPI document: its operations, and their parameters and bodies as OpenAPI 3 has them.

Everything is read on demand; a fault of an operation is a `DocumentError` with its JSON Pointer.

Spec: OpenAPI 3.2.0, sections 4.8 to 4.12; Swagger 2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from openapi_tools.common.http_rules import WEB_URL
from openapi_tools.common.json_values import (
    Node,
    as_dict,
    as_list,
    as_string,
    is_string,
    is_true,
    pointer_token,
)
from openapi_tools.errors import DocumentError, InvalidDocument, UnresolvableReference
from openapi_tools.loading import versions
from openapi_tools.loading.references import References, Resource, is_url_reference
from openapi_tools.loading.schemas import Schemas
from openapi_tools.loading.security import BY_URI, Security
from openapi_tools.requests.encoding import is_cookie_name, is_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.loading.references import Retriever
    from openapi_tools.model import Server
    from openapi_tools.settings import Settings

MAX_CHOICES: Final = 100  # servers, security requirements or media types that are looked at

BodyNode: TypeAlias = "tuple[Node, Resource] | None"
ParameterNodes: TypeAlias = "dict[tuple[str, str], tuple[Node, Resource]]"
"""Parameter Objects and their documents, by location and name on the wire."""

_PATH_ITEM_KEYS = frozenset({"$ref", "summary", "description", "servers", "parameters"})
# Keys by which an object at an unknown key is an operation.
_OPERATION_KEYS = frozenset({"responses", "operationId", "requestBody"})
_ADDITIONAL = 2  # the minor version of OpenAPI 3 that introduced `additionalOperations`
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
    """An Operation Object, `node`, of a Path Item Object; `key` is its JSON Pointer in it."""

    method: str
    path: str
    key: str
    node: Node
    item: Node
    resource: Resource
    parameters: ParameterNodes | None = None  # once `Document.parameters` has read them

    @property
    def pointer(self) -> str:
        """JSON Pointer of the operation."""
        return f"{self.path_pointer}/{self.key}"

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
        """The names of extensions, `x-…`, that are `true`."""
        names = [name for name in self.node if name.startswith("x-") and self.node[name] is True]
        short = [name for name in names if len(name) <= _LONGEST_FLAG and name.isprintable()]
        return tuple(sorted(short)[:_MOST_FLAGS])


class Document:
    """One OpenAPI document; InvalidDocument where its version is not supported.

    `remarks` are the warnings of its parser and overlays.
    """

    def __init__(
        self,
        entry: Resource,
        settings: Settings,
        retriever: Retriever,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.entry = entry
        self.root: Node = entry.root
        self.remarks = remarks
        self.settings = settings
        self.retriever = retriever
        self.dialect = versions.read_dialect(entry.root, entry.name)
        address = as_string(entry.root.get("$self")) if self.dialect.modern else ""
        entry.self_uri = address if is_url_reference(address) else ""
        self.references = References(entry, retriever.retrieve)
        self._methods = {method: method.upper() for method in self.dialect.methods}
        self._locations = frozenset((*self.dialect.locations, *self.dialect.leftovers))
        # What operations share is read once; nodes live as long as the document, so ids are keys.
        self._servers: dict[int, tuple[Server, ...]] = {}
        self._lists: dict[tuple[int, bytes], ParameterNodes] = {}
        self._bodies: dict[tuple[Any, ...], tuple[Node, Resource] | None] = {}
        self._merged: dict[tuple[int, int], ParameterNodes] = {}
        self._none: ParameterNodes = {}
        self._has_body_parameters = False  # as Swagger 2.0 has, and some documents of OpenAPI 3

    @cached_property
    def security(self) -> Security:
        """Reads security schemes and requirements."""
        security = Security(self.entry, self.references, self.dialect)
        # OpenAPI 3.2.0: a name in a Security Requirement Object may be the URI of a scheme.
        if self.dialect.minor >= BY_URI:  # requirements may add schemes to those of the components
            security.requirements(self.root, self.entry)
            for operation in self.operations():
                if isinstance(operation, OperationNode) and "security" in operation.node:
                    security.requirements(operation.node, operation.resource)
        return security

    @cached_property
    def schemas(self) -> Schemas:
        """Converts the schemas of requests."""
        return self._make_schemas("readOnly")

    @cached_property
    def response_schemas(self) -> Schemas:
        """Converts the schemas of responses."""
        return self._make_schemas("writeOnly")

    def _make_schemas(self, hidden: str) -> Schemas:
        return Schemas(
            self.references,
            limit=self.settings.description_chars,
            ref_siblings=self.dialect.modern,
            hidden=hidden,
        )

    def servers(self, operation: OperationNode) -> tuple[Server, ...]:
        """Return an operation's servers, else its path's, else the document's.

        Spec: OpenAPI 3.2.0, section 4.8.5; a document without any has `/`.
        """
        if self.dialect.swagger:
            return self._read_servers(versions.swagger_servers(self.root, operation.node))
        holders = (operation.node, operation.item, self.root)
        nodes = next((holder["servers"] for holder in holders if holder.get("servers")), None)
        return self._shared_servers(nodes) or self._read_servers([{"url": "/"}])

    def root_servers(self) -> tuple[Server, ...]:
        """Return the servers that credentials belong to.

        They are those of the document; without any, its address, or those of its first operation.
        """
        if self.dialect.swagger:
            return self._read_servers(versions.swagger_servers(self.root, {}))
        if servers := self._shared_servers(self.root.get("servers")):
            return servers
        if WEB_URL.match(self.entry.uri):
            return self._read_servers([{"url": "/"}])
        operations = (each for each in self.operations() if isinstance(each, OperationNode))
        first = next(operations, None)
        return self.servers(first) if first is not None else ()

    def _shared_servers(self, nodes: Any) -> tuple[Server, ...]:
        if id(nodes) not in self._servers:
            self._servers[id(nodes)] = self._read_servers(as_list(nodes)[:MAX_CHOICES])
        return self._servers[id(nodes)]

    def _read_servers(self, nodes: list[Any]) -> tuple[Server, ...]:
        uri = self.entry.uri
        return tuple(versions.read_server(node, uri) for node in nodes if isinstance(node, dict))

    def operations(self) -> Iterator[OperationNode | DocumentError]:
        """Yield every operation in the document's order; an error for one that cannot be read."""
        paths = self.root.get("paths")
        if paths is None:
            return
        if not isinstance(paths, dict):
            raise self.invalid(f"'paths' must be an object, this is {paths!r:.60}.", "/paths")
        for path, item in paths.items():
            if not path.startswith("x-"):
                yield from self._operations_of_path(path, item)

    def operation(self, path: str, key: str) -> OperationNode:
        """Return an operation that an earlier load found, or raise InvalidDocument."""
        item = as_dict(as_dict(self.root.get("paths")).get(path))
        node, method = item.get(key), self._methods.get(key)
        if method is not None and isinstance(node, dict) and "$ref" not in item:
            return OperationNode(method, path, key, node, item, self.entry)  # most operations
        for operation in self._operations_of_path(path, item):
            if isinstance(operation, OperationNode) and operation.key == key:
                return operation
        raise self.invalid("no such operation.", f"/paths{pointer_token(path)}/{key}")

    def _operations_of_path(self, path: str, item: Any) -> Iterator[OperationNode | DocumentError]:
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
                    yield self._not_an_object(value, path, key)
            elif key not in _PATH_ITEM_KEYS and not key.startswith("x-"):
                yield from self._operations_at_other_key(path, key, node, resource)

    def _operations_at_other_key(
        self, path: str, key: str, item: Node, resource: Resource
    ) -> Iterator[OperationNode | DocumentError]:
        # Published documents write methods in capitals, or use those of a later version.
        if key == "additionalOperations" and self.dialect.minor >= _ADDITIONAL:
            yield from self._additional_operations(path, item, resource)
            return
        value, method = item[key], key.lower()
        if not isinstance(value, dict) or _OPERATION_KEYS.isdisjoint(value):
            return
        first = method if method in item else next(name for name in item if name.lower() == method)
        if method in self._methods and first == key:
            yield OperationNode(self._methods[method], path, key, value, item, resource)
            return
        reason = f"{key!r:.60} is not a method that {self.dialect.version} has as a key"
        is_listable = self.dialect.minor >= _ADDITIONAL
        reason += "; list it in 'additionalOperations'." if is_listable else "."
        if method in self._methods:
            reason = f"{key!r} is ignored, because {first!r} is used; remove one of them."
        yield self.invalid(reason, f"/paths{pointer_token(path)}{pointer_token(key)}")

    def _path_item(self, path: str, item: Any) -> tuple[Node, Resource]:
        if isinstance(item, dict) and "$ref" not in item:
            return item, self.entry
        pointer = f"/paths{pointer_token(path)}"
        target = self.follow(item, self.entry, pointer)
        if not isinstance(target.node, dict):
            raise self.invalid(f"a path item must be an object, this is {item!r:.60}.", pointer)
        # The standard leaves siblings of this `$ref` undefined; here they win.
        beside = {key: value for key, value in item.items() if key != "$ref"}
        return {**target.node, **beside} if beside else target.node, target.resource

    def _additional_operations(
        self, path: str, item: Node, resource: Resource
    ) -> Iterator[OperationNode | DocumentError]:
        listed = item["additionalOperations"]
        if not isinstance(listed, dict):
            return
        for method, node in listed.items():
            key = f"additionalOperations{pointer_token(method)}"
            if is_token(method) and isinstance(node, dict):
                yield OperationNode(method, path, key, node, item, resource)
            else:
                value = node if is_token(method) else f"{method!r}, no method"
                yield self._not_an_object(value, path, key)

    def _not_an_object(self, value: Any, path: str, key: str) -> InvalidDocument:
        reason = f"an operation must be an object, not {value!r:.60}."
        return self.invalid(reason, f"/paths{pointer_token(path)}/{key}")

    def parameters(self, operation: OperationNode) -> ParameterNodes:
        """Return an operation's parameters, which override its path's; of equal lists one dict."""
        if operation.parameters is None:
            of_path = self._parameters_of(operation, operation.item)
            of_operation = self._parameters_of(operation, operation.node)
            operation.parameters = of_path or of_operation
            if of_path and of_operation:
                key = (id(of_path), id(of_operation))
                operation.parameters = self._merged.setdefault(key, {**of_path, **of_operation})
        return operation.parameters

    def _parameters_of(self, operation: OperationNode, holder: Node) -> ParameterNodes:
        # Equal lists are read once: generators repeat them at every operation.
        listed = holder.get("parameters")
        if listed is None:
            return self._none
        key = (id(operation.resource), operation.resource.key(listed))
        parameters = self._lists.get(key)
        if parameters is None:
            try:
                parameters = self._lists[key] = self._read_parameters(listed, operation.resource)
            except DocumentError as error:
                above = operation.pointer if holder is operation.node else operation.path_pointer
                error.source, error.pointer = self.entry.name, f"{above}/parameters{error.pointer}"
                raise
        return parameters

    def _read_parameters(self, listed: Any, resource: Resource) -> ParameterNodes:
        if not isinstance(listed, list):
            raise InvalidDocument("'parameters' must be an array.")
        parameters: ParameterNodes = {}
        try:
            for index, item in enumerate(listed):  # noqa: B007 -- for errors
                node, owner, _ = self.references.follow(item, resource)
                if not isinstance(node, dict):
                    raise InvalidDocument(f"a parameter must be an object, not {node!r:.60}.")
                if (location := versions.standard_location(node.get("in"))) != node.get("in"):
                    node = {**node, "in": location}
                parameters[self._parameter_key(location, node.get("name"), node)] = (node, owner)
        except DocumentError as error:
            error.pointer = f"/{index}"
            raise
        return parameters

    def _parameter_key(self, location: Any, name: Any, node: Node) -> tuple[str, str]:
        if location == "querystring" and not name:  # the whole query needs no name on the wire
            name = location
        if not isinstance(name, str) or not name:
            raise InvalidDocument(f"'name' of a parameter is {name!r:.60}; it must be a string.")
        if not isinstance(location, str) or location not in self._locations:
            allowed = ", ".join(self.dialect.locations)
            reason = f"'in' is {location!r:.60}; {self.dialect.version} has {allowed}."
            raise InvalidDocument(reason)
        if not _is_legible(name) and not is_left_out(node):
            reason = f"the name of the {location} parameter {name!r:.60} cannot be sent."
            raise InvalidDocument(reason)
        if location in versions.OF_BODY:
            self._has_body_parameters = True
        return location, name

    def request_body(self, operation: OperationNode, parameters: ParameterNodes) -> BodyNode:
        """Return an operation's Request Body Object, None without; DocumentError for a bad one."""
        node = None if self.dialect.swagger else operation.node.get("requestBody")
        if node is None:
            return self._swagger_body(operation, parameters) if self._has_body_parameters else None
        place = f"{operation.pointer}/requestBody"
        body, resource, _ = self.follow(node, operation.resource, place)
        if not isinstance(body, dict):
            raise self.invalid(f"a request body must be an object, not {node!r:.60}.", place)
        if not isinstance(body.get("content", {}), dict):
            raise self.invalid("'content' must be an object.", f"{place}/content")
        return body, resource

    def _swagger_body(self, operation: OperationNode, parameters: ParameterNodes) -> BodyNode:
        parts = [part for (location, _), part in parameters.items() if location in versions.OF_BODY]
        if not parts:
            return None
        kinds = as_list(operation.node.get("consumes", self.root.get("consumes")))[:MAX_CHOICES]
        # Made once for equal operations, so that what is built of it is shared, too.
        key = (id(parameters), *filter(is_string, kinds))
        if key not in self._bodies:
            body = versions.convert_request_body([node for node, _ in parts], [*key[1:]])
            self._bodies[key] = None if body is None else (body, parts[0][1])
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
    """Return whether requests leave a parameter out because its name cannot be sent."""
    location, name = node.get("in"), node.get("name")
    if location not in _NAME_TESTS or not isinstance(name, str):
        return False
    if not _is_legible(name):
        return not is_true(node.get("required"))
    return not _NAME_TESTS[location](name)


def _is_legible(name: str) -> bool:
    return name.isprintable() or not _UNSENDABLE.search(name)
