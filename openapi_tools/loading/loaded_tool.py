"""The tools of a document: attributes are built on first access."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from openapi_tools.common.json_values import Node, PausedGC, as_string, pointer_token
from openapi_tools.common.visible_text import plain_text, strip_hidden
from openapi_tools.configuration.tool_shape import (
    ToolShape,
    credential_shape,
    shape_operation,
    shape_schema,
)
from openapi_tools.loading.inputs import Inputs
from openapi_tools.requests.path_notations import is_plain
from openapi_tools.responses.response_lines import ResponseLines
from openapi_tools.tools.tool import OperationTool

if TYPE_CHECKING:
    from openapi_tools.loading.document import Document, OperationNode
    from openapi_tools.loading.tool_operations import ToolFacts
    from openapi_tools.model import Operation
    from openapi_tools.tools.session import Session


class ToolBuilder:
    """Builds descriptions, schemas and operations for the tools of one document.

    `filled_parameters` are those, by `parameter_key`, that credentials fill and arguments do not.
    """

    def __init__(
        self, document: Document, session: Session, filled_parameters: frozenset[tuple[str, str]]
    ) -> None:
        self.session = session
        self.filled_parameters = filled_parameters
        self._document = document
        # Reentrant, and one for all tools: they share components, which are converted once.
        self._lock = threading.RLock()

    @cached_property
    def _inputs(self) -> Inputs:
        return Inputs(self._document)

    @cached_property
    def _response_lines(self) -> ResponseLines:
        return ResponseLines(self._document.references.follow, self.session.settings.describe)

    def find_node(self, facts: ToolFacts) -> OperationNode:
        """Return the Operation Object of a tool that is from the cache."""
        return self._document.operation(facts.path, facts.key)

    def describe(self, node: OperationNode) -> str:
        """Return an operation's description for a model: plain text, never empty."""
        limit = self.session.settings.description_chars
        description = _describe(node, limit)
        for line in self._response_lines.lines(node.method, node.node, node.resource, description):
            if len(description) + len(line) < limit:
                description = f"{description}\n{line}"
        return description

    def input_schema(self, node: OperationNode, media_types: tuple[str, ...]) -> Node:
        """Return the schema of an operation's input, whichever parameters are filled."""
        with self._lock, PausedGC():
            return self._inputs.input_schema(node, media_types)

    def response_schema(self, node: OperationNode) -> Node | None:
        """Return the schema of an operation's responses of success; None if unknown."""
        with self._lock:
            return self._inputs.response_schema(node)

    def operation(self, node: OperationNode, media_types: tuple[str, ...]) -> Operation:
        """Return how an operation is called."""
        with self._lock:
            return self._inputs.operation(node, media_types)


def _describe(operation: OperationNode, limit: int) -> str:
    node, item = operation.node, operation.item
    # Path Item Object: its summary and description are for all its operations.
    summary = as_string(node.get("summary") or item.get("summary")).strip()
    text = as_string(node.get("description") or item.get("description")).strip()
    if summary and not text.startswith(summary):
        text = f"{summary}\n{text}" if text else summary
    mark = "Deprecated. " if operation.deprecated else ""
    text = plain_text(text, limit - len(mark)) if text else ""
    return mark + (text or strip_hidden(f"{operation.method} {operation.path}")[:limit])


class LoadedTool(OperationTool):
    """A tool whose description, schema and operation are built when they are first looked at."""

    __slots__ = (
        "_builder",
        "_facts",
        "_input_schema",
        "_node",
        "_operation",
        "_response_schema",
        "_shape",
    )

    def __init__(
        self,
        facts: ToolFacts,
        builder: ToolBuilder,
        node: OperationNode | None = None,
        shape: ToolShape | None = None,
    ) -> None:
        super().__init__(builder.session)
        self._shape = shape
        self._facts = facts
        self._builder = builder
        self._node = node
        self._input_schema: Node | None = None
        self._response_schema: Node | None = None
        self._operation: Operation | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset."""
        return (self._shape and self._shape.name) or self._facts.name

    @property
    def method(self) -> str:
        """Upper case."""
        return self._facts.method

    @property
    def path(self) -> str:
        """As in the document, but with every variable as `{name}`."""
        path = self._facts.path
        return path if is_plain(path) else self.operation.path

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        return tuple(self._facts.tags)

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self._facts.deprecated

    @property
    def description(self) -> str:
        """Summary and description as plain text, cut at a word boundary; or the user's own."""
        if self._shape is not None and self._shape.description:
            return self._shape.description
        # Those from the cache are in the facts: a list of tools needs no other part of the copy.
        if self._facts.description is not None:
            return self._facts.description
        return self._builder.describe(self._find_node())

    @property
    def facts(self) -> ToolFacts:
        """The facts that the cache stores, with the description, which stays."""
        if self._facts.description is None:
            description = self._builder.describe(self._find_node())
            self._facts = self._facts._replace(description=description)
        return self._facts

    @property
    def input_schema(self) -> Node:
        """JSON Schema 2020-12."""
        if self._input_schema is None:
            schema = self.own_schema()
            schema = schema if self._shape is None else shape_schema(schema, self._shape)
            if filled := self._builder.filled_parameters:
                hidden = credential_shape(self._shaped_operation(), filled)
                schema = shape_schema(schema, hidden)
            # Another thread may have built it before: its users compare schemas by identity.
            self._input_schema = self._input_schema or schema
        return self._input_schema

    def own_schema(self) -> Node:
        """Return the schema of the document, without the user's shape."""
        return self._builder.input_schema(self._find_node(), self._media_types())

    def offered_schema(self) -> Node:
        """Return the schema of the document; arguments that credentials fill are optional."""
        schema, filled = self.own_schema(), self._builder.session.filled_parameters
        if not filled:
            return schema
        operation = self._builder.operation(self._find_node(), self._media_types())
        hidden = credential_shape(operation, filled).hide
        return {**schema, "required": [n for n in schema.get("required", ()) if n not in hidden]}

    @property
    def answer_schema(self) -> Node | None:
        """JSON Schema 2020-12 of JSON responses of success; None if one can be anything."""
        if self._response_schema is None:
            schema = self._builder.response_schema(self._find_node())
            self._response_schema = {} if schema is None else schema
        return self._response_schema or None

    @property
    def operation(self) -> Operation:
        """How it is called."""
        if self._operation is None:
            operation, filled = self._shaped_operation(), self._builder.filled_parameters
            if filled:
                operation = shape_operation(operation, credential_shape(operation, filled))
            self._operation = self._operation or operation  # as for the schema
        return self._operation

    def _shaped_operation(self) -> Operation:
        operation = self._builder.operation(self._find_node(), self._media_types())
        return operation if self._shape is None else shape_operation(operation, self._shape)

    @property
    def pointer(self) -> str:
        """JSON Pointer of its operation."""
        return f"/paths{pointer_token(self._facts.path)}/{self._facts.key}"

    @property
    def operation_id(self) -> str:
        """The document's own id; empty when it has none."""
        return self._facts.operation_id

    @property
    def form(self) -> tuple[str, ToolShape | None]:
        """The document's own name for it, and the user's shape."""
        return self._facts.name, self._shape

    def with_shape(self, shape: ToolShape) -> LoadedTool:
        """Return the tool with another shape."""
        return LoadedTool(self._facts, self._builder, self._node, shape)

    def with_description(self, description: str) -> LoadedTool:
        """Return the tool with another description."""
        return self.with_shape(replace(self._shape or ToolShape(), description=description))

    def _copy_as(self, name: str) -> LoadedTool:
        return self.with_shape(replace(self._shape or ToolShape(), name=name))

    def _media_types(self) -> tuple[str, ...]:
        if self._shape is not None and self._shape.media_types:
            return self._shape.media_types
        kinds = self._builder.session.settings.media_types
        return kinds.get(self._facts.name, ()) if isinstance(kinds, dict) else ()

    def _find_node(self) -> OperationNode:
        if self._node is None:
            self._node = self._builder.find_node(self._facts)
        return self._node
