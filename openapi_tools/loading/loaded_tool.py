"""The operations of a document as tools, from the cache or not."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from openapi_tools.errors import DocumentError
from openapi_tools.json_values import Node, as_dict, as_string, pointer_token, unescape_token
from openapi_tools.loading.inputs import Inputs
from openapi_tools.loading.operations import Document, OperationNode
from openapi_tools.loading.usability import Usability, unreadable
from openapi_tools.model import Operation, Skipped
from openapi_tools.requests.path_notations import is_plain
from openapi_tools.shaping.answer_lines import AnswerLines
from openapi_tools.shaping.tool_shape import (
    Shape,
    credential_shape,
    shaped_operation,
    shaped_schema,
)
from openapi_tools.tools.tool import OperationTool
from openapi_tools.visible_text import NOTHING_KEPT, KeptNames, plain_text, tool_names, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from openapi_tools.tools.session import Session


class ToolFacts(NamedTuple):
    """The attributes of a tool that need no schema; `member` is its place in the path item."""

    name: str
    method: str
    path: str
    member: str
    description: str | None
    tags: Sequence[str]
    deprecated: bool


@dataclass(frozen=True)
class Shared:
    """State that the tools of one document share; `turn` is held while one is built.

    `filled` are the parameters, by `parameter_key`, that credentials fill and arguments do not.
    """

    document: Document
    session: Session
    filled: frozenset[tuple[str, str]] = frozenset()
    lock: AbstractContextManager[object] = field(default_factory=threading.RLock)

    @cached_property
    def answer_lines(self) -> AnswerLines:
        """Says in descriptions what comes back, and when calls fail."""
        return AnswerLines(self.document.references.follow, self.session.settings.describe)

    @cached_property
    def inputs(self) -> Inputs:
        """Builds the document's operations."""
        return Inputs(self.document)


class Operations(NamedTuple):
    """The operations of a document; a cached one has no `nodes`."""

    tools: list[ToolFacts]
    skipped: list[Skipped]
    warnings: Callable[[], list[str]]
    counts: Callable[[], dict[str, int]]
    nodes: Iterable[OperationNode | None] = repeat(None)


class LoadedTool(OperationTool):
    """A tool whose description, schema and operation are built when they are first looked at."""

    __slots__ = (
        "_answer_schema",
        "_facts",
        "_input_schema",
        "_node",
        "_operation",
        "_shape",
        "_shared",
    )

    def __init__(
        self,
        facts: ToolFacts,
        shared: Shared,
        node: OperationNode | None = None,
        shape: Shape | None = None,
    ) -> None:
        super().__init__(shared.session)
        self._shape = shape
        self._facts = facts
        self._shared = shared
        self._node = node
        self._input_schema: Node | None = None
        self._answer_schema: Node | None = None
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
        known = self._facts.description
        if known is not None:
            return known
        limit = self._shared.session.settings.description_chars
        return describe(self._found(), limit, self._shared.answer_lines)

    @property
    def facts(self) -> ToolFacts:
        """The facts that the cache stores."""
        return self._facts._replace(description=self.description)

    @property
    def input_schema(self) -> Node:
        """JSON Schema 2020-12."""
        if self._input_schema is None:
            made = self.own_schema()
            made = made if self._shape is None else shaped_schema(made, self._shape)
            if self._shared.filled:
                filled = credential_shape(self._shaped_operation(), self._shared.filled)
                made = shaped_schema(made, filled)
            self._input_schema = self._input_schema or made  # another thread may have had it before
        return self._input_schema

    def own_schema(self) -> Node:
        """Return the schema of the document, without the user's shape."""
        with self._shared.lock:
            return self._shared.inputs.input_schema(self._found(), self._kinds())

    def offered_schema(self) -> Node:
        """Return the schema of the document; arguments that credentials fill are optional."""
        schema, shared = self.own_schema(), self._shared
        filled = shared.session.filled_parameters
        if not filled:
            return schema
        with shared.lock:
            operation = shared.inputs.operation(self._found(), self._kinds())
        hidden = credential_shape(operation, filled).hide
        return {**schema, "required": [n for n in schema.get("required", ()) if n not in hidden]}

    @property
    def answer_schema(self) -> Node | None:
        """JSON Schema 2020-12 of JSON answers of success; None if one can be anything."""
        if self._answer_schema is None:
            with self._shared.lock:
                found = self._shared.inputs.answer_schema(self._found())
                self._answer_schema = {} if found is None else found
        return self._answer_schema or None

    @property
    def operation(self) -> Operation:
        """How it is called."""
        if self._operation is None:
            operation, filled = self._shaped_operation(), self._shared.filled
            if filled:
                operation = shaped_operation(operation, credential_shape(operation, filled))
            self._operation = self._operation or operation  # another thread may have had it before
        return self._operation

    def _shaped_operation(self) -> Operation:
        with self._shared.lock:
            operation = self._shared.inputs.operation(self._found(), self._kinds())
        return operation if self._shape is None else shaped_operation(operation, self._shape)

    @property
    def pointer(self) -> str:
        """JSON Pointer of its operation."""
        return f"/paths{pointer_token(self._facts.path)}/{self._facts.member}"

    @property
    def operation_id(self) -> str:
        """The document's own id; empty when it has none."""
        return self._found().operation_id

    @property
    def form(self) -> tuple[str, Shape | None]:
        """The document's own name for it, and the user's shape."""
        return self._facts.name, self._shape

    def shaped(self, shape: Shape) -> LoadedTool:
        """Return the tool with another shape."""
        return LoadedTool(self._facts, self._shared, self._node, shape)

    def with_description(self, description: str) -> LoadedTool:
        """Return the tool with another description."""
        return self.shaped(replace(self._shape or Shape(), description=description))

    def _named(self, name: str) -> LoadedTool:
        return self.shaped(replace(self._shape or Shape(), name=name))

    def _kinds(self) -> tuple[str, ...]:
        if self._shape is not None and self._shape.media_types:
            return self._shape.media_types
        kinds = self._shared.session.settings.media_types
        return kinds.get(self._facts.name, ()) if isinstance(kinds, dict) else ()

    def _found(self) -> OperationNode:
        if self._node is None:
            self._node = self._shared.document.operation(self._facts.path, self._facts.member)
        return self._node


def describe(operation: OperationNode, limit: int, lines: AnswerLines) -> str:
    """Return an operation's description for a model, of at most `limit` characters: never empty."""
    told = _told(operation, limit)
    for line in lines.lines(operation.method, operation.node, operation.resource, told):
        if len(told) + len(line) < limit:
            told = f"{told}\n{line}"
    return told


def _told(operation: OperationNode, limit: int) -> str:
    node, item = operation.node, operation.item
    summary = as_string(node.get("summary") or item.get("summary")).strip()
    text = as_string(node.get("description") or item.get("description")).strip()
    if summary and not text.startswith(summary):
        text = f"{summary}\n{text}" if text else summary
    mark = "Deprecated. " if operation.deprecated else ""
    text = plain_text(text, limit - len(mark)) if text else ""
    return mark + (text or visible(f"{operation.method} {operation.path}")[:limit])


def find_operations(
    document: Document, *, strict: bool, kept: KeptNames = NOTHING_KEPT
) -> Operations:
    """Return the operations of a document; if strict, raise for one that would be skipped."""
    listed = list(document.operations())
    nodes = [item for item in listed if isinstance(item, OperationNode)]
    usability = Usability(document)
    wanted = [(node.operation_id, node.method, node.path) for node in nodes]
    settings = document.settings
    names = iter(tool_names(wanted, settings.prefix, short=settings.short_names, kept=kept))
    tools: list[ToolFacts] = []
    good: list[OperationNode] = []
    skipped: list[Skipped] = []
    for item in listed:
        name = ""
        try:
            if isinstance(item, DocumentError):
                raise item
            name = next(names)
            usability.check(item)
        except DocumentError as error:
            if strict:
                raise
            skipped.append(_skipped(item, error, name))
        else:
            facts = (item.method, item.path, item.member, None, item.tags, item.deprecated)
            tools.append(ToolFacts(name, *facts))
            good.append(item)
    return Operations(
        tools,
        skipped,
        warnings=lambda: [
            *usability.warnings,
            *document.references.local_notes,
            *unreadable(document, good),
        ],
        counts=lambda: _counts(document),
        nodes=good,
    )


def _counts(document: Document) -> dict[str, int]:
    found = {"webhooks": len(as_dict(document.root.get("webhooks"))), "callbacks": 0, "links": 0}
    for operation in document.operations():
        if isinstance(operation, OperationNode):
            found["callbacks"] += len(as_dict(operation.node.get("callbacks")))
            answers = as_dict(operation.node.get("responses")).values()
            found["links"] += sum(len(as_dict(as_dict(node).get("links"))) for node in answers)
    return found


def _skipped(item: OperationNode | DocumentError, error: DocumentError, name: str) -> Skipped:
    if isinstance(item, OperationNode):
        place, known = error.pointer or item.pointer, (name, item.operation_id)
        return Skipped(place, error.reason, item.method, item.path, *known)
    path = error.pointer.split("/")[2] if error.pointer.count("/") > 1 else ""
    return Skipped(error.pointer, error.reason, path=unescape_token(path))
