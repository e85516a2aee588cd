"""The operations of a document that can be tools, and why others cannot.

Nothing is built: schemas are only scanned, each component once. An API checks its input itself, so
a keyword with a value that it cannot have is left out, as is a parameter whose name no request can
have, and the operation stays a tool.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.http_rules import has_dot_segment
from openapi_tools.common.json_values import Node, as_dict, as_list, pointer_token, unescape_token
from openapi_tools.common.visible_text import NO_STABLE_NAMES, StableNames, tool_names
from openapi_tools.errors import DocumentError, InvalidDocument, format_count
from openapi_tools.loading import keyword_values
from openapi_tools.loading.document import Document, OperationNode
from openapi_tools.loading.input_warnings import warn_of_unreadable_parts
from openapi_tools.loading.references import LOCAL
from openapi_tools.model import Skipped
from openapi_tools.requests.path_notations import read_template

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from openapi_tools.loading.cache_folder import DerivedFile
    from openapi_tools.loading.references import Resource

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST_NAMES = 10  # in warnings about one path; further ones are counted
_LONGEST_NAME = 100
_LONGEST_POINTER = 500
# Extensions of Azure and of Amazon API Gateway that hold operations.
_MS_PATHS = "x-ms-paths"
_ANY_METHOD = "x-amazon-apigateway-any-method"

# Properties that hold objects of OpenAPI, which say how a request is written.
_OBJECTS = frozenset({"content", "headers", "encoding", "prefixEncoding"})
_SINGLE = (keyword_values.SCHEMA_APPLICATORS - {"items"}) | {"schema", "itemSchema", "itemEncoding"}
# Properties that hold a request's schemas and references; no other one is looked into. `items`
# may be a list in Swagger 2.0, and in JSON Schema up to 2019.
_HOLDING = (
    _OBJECTS
    | keyword_values.MAP_APPLICATORS
    | keyword_values.LIST_APPLICATORS
    | _SINGLE
    | {"items"}
)
_WATCHED = _HOLDING | {"$ref"}


class ToolFacts(NamedTuple):
    """The attributes of a tool that need no schema; `key` is its pointer in the path item."""

    name: str
    method: str
    path: str
    key: str
    description: str | None
    tags: Sequence[str]
    deprecated: bool
    operation_id: str


class DocumentOperations(NamedTuple):
    """A document and its operations; from the cache they have a `derived_file`, but no `nodes`."""

    document: Document
    tools: list[ToolFacts]
    skipped: list[Skipped]
    warnings: Callable[[], list[str]]
    counts: Callable[[], dict[str, int]]
    nodes: Iterable[OperationNode | None] = repeat(None)
    derived_file: DerivedFile | None = None


def find_operations(
    document: Document, *, strict: bool, kept: StableNames = NO_STABLE_NAMES
) -> DocumentOperations:
    """Return the operations of a document; if strict, raise for one that would be skipped.

    Args:
        document: The document.
        strict: Raise the error of the first operation that cannot be a tool.
        kept: Names of tools that a package has already.
    """
    operations = list(document.operations())
    nodes = [item for item in operations if isinstance(item, OperationNode)]
    settings = document.settings
    places = [(node.operation_id, node.method, node.path) for node in nodes]
    names = iter(tool_names(places, settings.prefix, short=settings.short_names, stable=kept))
    usability = _Usability(document)
    tools: list[ToolFacts] = []
    usable: list[OperationNode] = []
    skipped: list[Skipped] = []
    # Skipped operations have names, too, so that no name changes when they are fixed.
    for item in operations:
        name = ""
        try:
            if isinstance(item, DocumentError):
                raise item
            name = next(names)
            usability.check(item)
        except DocumentError as error:
            if strict:
                raise
            skipped.append(_skip(item, error, name))
        else:
            tools.append(_collect_facts(name, item))
            usable.append(item)
    return DocumentOperations(
        document,
        tools,
        skipped,
        warnings=lambda: [
            *usability.warnings,
            *document.references.local_notes,
            *warn_of_unreadable_parts(document, usable),
            *_warn_of_extensions(document.root),
        ],
        counts=lambda: _count_other_parts(document),
        nodes=usable,
    )


def _collect_facts(name: str, node: OperationNode) -> ToolFacts:
    facts = (node.method, node.path, node.key, None, node.tags, node.deprecated)
    return ToolFacts(name, *facts, node.operation_id)


def _skip(item: OperationNode | DocumentError, error: DocumentError, name: str) -> Skipped:
    if isinstance(item, OperationNode):
        place = error.pointer or item.pointer
        return Skipped(place, error.reason, item.method, item.path, name, item.operation_id)
    path = error.pointer.split("/")[2] if error.pointer.count("/") > 1 else ""
    return Skipped(error.pointer, error.reason, path=unescape_token(path))


def _count_other_parts(document: Document) -> dict[str, int]:
    counts = {"webhooks": len(as_dict(document.root.get("webhooks"))), "callbacks": 0, "links": 0}
    for operation in document.operations():
        if isinstance(operation, OperationNode):
            counts["callbacks"] += len(as_dict(operation.node.get("callbacks")))
            responses = as_dict(operation.node.get("responses")).values()
            counts["links"] += sum(len(as_dict(as_dict(node).get("links"))) for node in responses)
    return counts


def _warn_of_extensions(root: Node) -> Iterator[str]:
    paths = as_dict(root.get(_MS_PATHS))
    if paths:
        count = format_count(len(paths), "path")
        yield f"/{_MS_PATHS}: the operations of {count} are left out; declare them in 'paths'."
    items = as_dict(root.get("paths")).items()
    pointers = [pointer_token(path) for path, item in items if _ANY_METHOD in as_dict(item)]
    if pointers:
        place = f"/paths{pointers[0]}"[:_LONGEST_POINTER]
        others = f", as in {len(pointers) - 1} more" if len(pointers) > 1 else ""
        yield f"{place}: {_ANY_METHOD!r} is left out{others}; declare each method."


class _Usability:
    """Finds faults in the operations of a document, and collects warnings about them."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._refs: dict[int, Collection[Any]] = {}
        self._local = LOCAL[:1] if document.dialect.swagger else LOCAL
        self._clean: set[int | tuple[int, int]] = set()
        self.warnings: list[str] = []

    def check(self, operation: OperationNode) -> None:
        """Raise DocumentError for an operation that cannot be a tool."""
        document = self._document
        parameters = document.parameters(operation)
        self._check_path(operation, [name for location, name in parameters if location == "path"])
        # Lists of parameters and components are shared by many operations, so each is checked once.
        if id(parameters) not in self._clean:
            for node, resource in parameters.values():
                # Most have nothing to check, or are components that another operation has.
                if not _WATCHED.isdisjoint(node) and (id(node), id(resource)) not in self._clean:
                    self._check_references(node, resource, operation, "/parameters")
            self._clean.add(id(parameters))
        if not operation.key.islower() and "/" not in operation.key:
            note = f"{operation.key!r} is read as {operation.method.lower()!r}."
            self.warnings.append(f"{operation.pointer[:_LONGEST_POINTER]}: {note}")
        if "security" in operation.node:
            self.warnings += document.security.uri_warnings(operation.node, operation.pointer)
        body = None if document.dialect.swagger else document.request_body(operation, parameters)
        if body is not None:
            self._check_references(*body, operation, "/requestBody")

    def _check_path(self, operation: OperationNode, declared: list[str]) -> None:
        path = operation.path
        if not path.isprintable() and _CONTROL.search(path):
            raise self._document.invalid("the path has control characters.", operation.pointer)
        # RFC 3986, section 5.2.4: what a client or proxy removes could lead to another operation.
        if ("/." in path or "%" in path) and has_dot_segment(path.partition("?")[0]):
            reason = "the path has '.' or '..' segments, which servers resolve differently."
            raise self._document.invalid(reason, operation.pointer)
        names = frozenset(declared)
        _, variables, notes = read_template(path, names)
        if notes:
            place = operation.pointer[:_LONGEST_POINTER]
            self.warnings += [f"{place}: {note}" for note in notes]
        if variables.keys() != names:
            undeclared = [name for name in variables if name not in names]
            placeless = [name for name in declared if name not in variables]
            note = "{} in the path is not declared; it is read as a string."
            self._warn_of_names(operation, undeclared, note)
            note = "the path has no {}; the parameter is left out."
            self._warn_of_names(operation, placeless, note)

    def _warn_of_names(self, operation: OperationNode, names: list[str], note: str) -> None:
        place = operation.pointer[:_LONGEST_POINTER]
        labels = [f"{{{name[:_LONGEST_NAME]}}}" for name in names[:_MOST_NAMES]]
        if rest := len(names) - len(labels):
            labels.append(f"one of {rest} more names")
        self.warnings += [f"{place}: {note.format(label)}" for label in labels]

    def _check_references(
        self, node: Any, resource: Resource, operation: OperationNode, inner: str
    ) -> None:
        if (id(node), id(resource)) in self._clean:
            return  # a component that another operation has
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
                    self._refs[id(node)] = _find_references(node, self._local)
                waiting += [follow(holder, owner)[:2] for holder in self._refs[id(node)]]
        except DocumentError as error:
            # The reader has to change this operation, wherever the broken reference stands.
            error.source, error.pointer = self._document.entry.name, f"{operation.pointer}{inner}"
            raise
        self._clean |= seen


def _find_references(root: Any, local: tuple[str, ...]) -> Collection[Any]:
    refs: dict[Any, Any] = {}
    nodes = [root]
    for node in nodes:  # grows while it is walked, breadth first
        if node.__class__ is not dict or _WATCHED.isdisjoint(node):
            continue  # about half of the nodes
        for key in node:
            if key not in _WATCHED:  # before a look at the value, which may be far away in memory
                continue
            value = node[key]
            if key in _OBJECTS:
                objects = as_list(value) if key == "prefixEncoding" else as_dict(value).values()
                nodes += objects
                for each in objects:
                    if not isinstance(each, (dict, bool, type(None))):
                        raise InvalidDocument(f"{key!r} must hold objects, this is {each!r:.60}.")
            elif key != "$ref":
                nodes += _schemas_at(key, value)
            elif value.__class__ is str and value:
                refs[(value, id(node)) if value.startswith(local) else value] = node
            else:
                reason = f"'$ref' is {value!r:.60}; it must be a string that names a place."
                raise InvalidDocument(reason)
    return refs.values()


def _schemas_at(key: str, value: Any) -> Collection[Any]:
    if value.__class__ is list:
        return value if key in keyword_values.LIST_APPLICATORS or key == "items" else ()
    if value.__class__ is not dict or key in keyword_values.LIST_APPLICATORS:
        return ()
    return value.values() if key in keyword_values.MAP_APPLICATORS else (value,)
