"""Document -> operations, one at a time, each seen as OpenAPI 3 writes it.

`Document` finds the operations and reads their members on demand; a fault of an operation is a
`DocumentError` with its JSON Pointer.

Spec: OpenAPI 3.2.0, sections 4.8 to 4.10; Swagger 2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import DocumentError, InvalidDocument, UnresolvableReference
from openapi_tools.http_rules import is_kept
from openapi_tools.json_values import pointer_token
from openapi_tools.loading import versions
from openapi_tools.loading.keyword_values import as_text, is_text, is_true
from openapi_tools.loading.parameters import OF_BODY, Parameters
from openapi_tools.loading.references import References, Resource, is_url_reference
from openapi_tools.loading.schemas import Schemas
from openapi_tools.requests.encoding import is_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.settings import Settings

MAX_CHOICES = 100
"""Servers, security requirements or media types of an operation; further ones are left out."""

_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(slots=True, eq=False)  # not frozen: that doubles the cost of making thousands
class OperationNode:
    """An operation as the document has it.

    Attributes:
        method: Upper case.
        path: The key in `paths`.
        member: Its place in the path item, a JSON Pointer without the first `/`.
        node: The Operation Object.
        item: The Path Item Object that holds it.
        resource: The document that holds both.
    """

    method: str
    path: str
    member: str
    node: dict[str, Any]
    item: dict[str, Any]
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
        found = self.node.get("operationId")
        return found if isinstance(found, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        tags = self.node.get("tags")
        return tuple(filter(is_text, tags)) if isinstance(tags, list) else ()

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return is_true(self.node.get("deprecated"))


class Document:
    """One OpenAPI document.

    Args:
        entry: The parsed document and where it came from.
        settings: What else may be read, and how long descriptions get.
        fetcher: What fetched it, where it came from a URL.

    Raises:
        InvalidDocument: Its version is not supported, or `paths` is not an object.
    """

    def __init__(self, entry: Resource, settings: Settings, fetcher: Fetcher | None = None) -> None:
        self.entry = entry
        self.settings = settings
        self.dialect = versions.read_dialect(entry.root, entry.name)
        address = as_text(entry.root.get("$self")) if self.dialect.modern else ""
        entry.self_uri = address if is_url_reference(address) else ""
        self.references = References(entry, settings, fetcher)
        self.parameters = Parameters(self.references, self.dialect)
        self._methods = {method: method.upper() for method in self.dialect.methods}
        self._shared: dict[tuple[str, int], Any] = {}

    @cached_property
    def schemas(self) -> Schemas:
        """Converts the document's schemas."""
        return Schemas(
            self.references,
            ref_siblings=self.dialect.modern,
            description_chars=self.settings.description_chars,
        )

    @property
    def root(self) -> dict[str, Any]:
        """The parsed document."""
        root: dict[str, Any] = self.entry.root
        return root

    def shared(self, kind: str, node: list[Any], make: Callable[[list[Any]], Any]) -> Any:
        """Return a value made of the first members of a list, once for all operations.

        A list at the root counts for every operation: a value for each would fill the memory.

        Args:
            kind: The kind of value, part of its key.
            node: A list of the document; its identity is the rest of the key.
            make: Makes the value.
        """
        key = (kind, id(node))
        if key not in self._shared:
            self._shared[key] = make(node[:MAX_CHOICES])
        return self._shared[key]

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
        """Return an operation that an earlier load of the document found.

        Args:
            path: The key in `paths`.
            member: Its place in the path item, a JSON Pointer without the first `/`.

        Raises:
            InvalidDocument: It is not there.
        """
        paths = self.root.get("paths")
        item = paths.get(path) if isinstance(paths, dict) else None
        if member in self._methods:
            node, resource = self._path_item(path, item)
            if isinstance(value := node.get(member), dict):
                return OperationNode(self._methods[member], path, member, value, node, resource)
        for found in self._of_path(path, item):
            if isinstance(found, OperationNode) and found.member == member:
                return found
        raise self.invalid("no such operation.", f"/paths{pointer_token(path)}/{member}")

    def _of_path(self, path: str, item: Any) -> Iterator[OperationNode | DocumentError]:
        """Yield the operations of one path item in its own order."""
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
            elif key == "additionalOperations":
                yield from self._additional(path, node, resource)

    def _path_item(self, path: str, item: Any) -> tuple[dict[str, Any], Resource]:
        """Return a path item, its `$ref` followed, and its document."""
        if isinstance(item, dict) and "$ref" not in item:
            return item, self.entry
        pointer = f"/paths{pointer_token(path)}"
        target = self.follow(item, self.entry, pointer)
        if not isinstance(target.node, dict):
            raise self.invalid(f"a path item must be an object, this is {item!r:.60}.", pointer)
        beside = {key: value for key, value in item.items() if key != "$ref"}
        return {**target.node, **beside} if beside else target.node, target.resource

    def _additional(
        self, path: str, item: dict[str, Any], resource: Resource
    ) -> Iterator[OperationNode | DocumentError]:
        """Yield the operations with other methods (OpenAPI 3.2)."""
        listed = item["additionalOperations"]
        if "query" not in self._methods or not isinstance(listed, dict):
            return
        for method, node in listed.items():
            member = f"additionalOperations{pointer_token(method)}"
            if is_token(method) and isinstance(node, dict):
                yield OperationNode(method, path, member, node, item, resource)
            else:
                yield self._no_operation(
                    node if is_token(method) else f"{method!r}, no method", path, member
                )

    def _no_operation(self, value: Any, path: str, member: str) -> InvalidDocument:
        reason = f"an operation must be an object, not {value!r:.60}."
        return self.invalid(reason, f"/paths{pointer_token(path)}/{member}")

    def request_body(self, operation: OperationNode) -> tuple[dict[str, Any], Resource] | None:
        """Return an operation's Request Body Object, None when it takes no body.

        Raises:
            DocumentError: It is malformed or leads nowhere.
        """
        if self.dialect.swagger:
            consumes = operation.node.get("consumes", self.root.get("consumes"))
            consumes = consumes[:MAX_CHOICES] if isinstance(consumes, list) else []
            listed = list(filter(is_text, consumes))
            parts = [part for part in self.parameters.of(operation) if part.location in OF_BODY]
            body = versions.request_body([part.node for part in parts], listed)
            return (body, parts[0].resource) if body is not None else None
        node = operation.node.get("requestBody")
        if node is None:
            return None
        body, resource = node, operation.resource
        if type(node) is not dict or "$ref" in node:
            body, resource, _ = self.follow(node, resource, f"{operation.pointer}/requestBody")
        if not isinstance(body, dict):
            reason = f"a request body must be an object, not {node!r:.60}."
            raise self.invalid(reason, f"{operation.pointer}/requestBody")
        if not isinstance(body.get("content", {}), dict):
            raise self.invalid(
                "'content' must be an object.", f"{operation.pointer}/requestBody/content"
            )
        return body, resource

    def follow(self, node: Any, resource: Resource, pointer: str) -> Any:
        """Follow a reference; errors name the given place."""
        try:
            return self.references.follow(node, resource, pointer)
        except UnresolvableReference as error:
            raise UnresolvableReference(
                error.reason, source=self.entry.name, pointer=pointer
            ) from error

    def accept(self, operation: OperationNode) -> tuple[str, ...]:
        """Return the media types of an operation's good answers, JSON first."""
        if self.dialect.swagger:
            produces = operation.node.get("produces", self.root.get("produces"))
            kinds = list(filter(is_text, produces)) if isinstance(produces, list) else []
        else:
            kinds = list(islice(self._answer_types(operation), MAX_CHOICES))
        clean = [
            kind for kind in dict.fromkeys(kinds[:MAX_CHOICES]) if "/" in kind and kind.isascii()
        ]
        clean = [kind for kind in clean if not _UNSENDABLE.search(kind) and "," not in kind]
        return tuple(sorted(clean, key=lambda kind: "json" not in kind.lower()))

    def _answer_types(self, operation: OperationNode) -> Iterator[str]:
        listed = operation.node.get("responses")
        only = isinstance(listed, dict) and len(listed) == 1
        for status, answer in self._answers(operation):
            content = answer.get("content")
            good = status.startswith("2") or (status == "default" and only)
            if good and isinstance(content, dict):
                yield from content

    def response_headers(self, operation: OperationNode) -> tuple[str, ...]:
        """Return the headers that an operation's answers declare, in lower case.

        Those that results keep or leave out anyway are not among them.
        """
        nodes = (answer.get("headers") for _, answer in self._answers(operation))
        names = (name.lower() for node in nodes if isinstance(node, dict) for name in node)
        kept = (name for name in names if is_token(name) and is_kept(name) is None)
        return tuple(islice(dict.fromkeys(kept), MAX_CHOICES))

    def _answers(self, operation: OperationNode) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield status and node of an operation's documented answers."""
        responses = operation.node.get("responses")
        for status, node in responses.items() if isinstance(responses, dict) else ():
            try:
                answer = self.references.follow(node, operation.resource).node
            except DocumentError:  # an answer that cannot be read does not spoil the request
                continue
            if isinstance(answer, dict):
                yield str(status), answer

    def counts(self) -> dict[str, int]:
        """Return how many webhooks, callbacks and links there are; none of them is a tool."""
        webhooks = self.root.get("webhooks")
        found = {"webhooks": len(webhooks) if isinstance(webhooks, dict) else 0}
        found |= {"callbacks": 0, "links": 0}
        for operation in self.operations():
            if isinstance(operation, OperationNode):
                callbacks = operation.node.get("callbacks")
                found["callbacks"] += len(callbacks) if isinstance(callbacks, dict) else 0
                found["links"] += self._links(operation)
        return found

    def _links(self, operation: OperationNode) -> int:
        responses = operation.node.get("responses")
        nodes = responses.values() if isinstance(responses, dict) else ()
        links = [node.get("links") for node in nodes if isinstance(node, dict)]
        return sum(len(link) for link in links if isinstance(link, dict))

    def invalid(self, reason: str, pointer: str) -> InvalidDocument:
        """Return an error about this document."""
        return InvalidDocument(reason, source=self.entry.name, pointer=pointer)
