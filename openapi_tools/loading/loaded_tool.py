"""A tool of a document that was loaded: what it says is built when it is first looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.forks import ForkLock
from openapi_tools.loading.markdown import plain_text
from openapi_tools.loading.operations import as_text, has_operators
from openapi_tools.tools.tool import OperationTool
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from openapi_tools.loading.inputs import Inputs
    from openapi_tools.loading.operations import Declared
    from openapi_tools.model import Operation
    from openapi_tools.tools.session import Session


@dataclass(frozen=True, slots=True)
class Shared:
    """What the tools of one document share.

    Attributes:
        inputs: Builds operations of that document.
        session: For their calls.
        turn: Held while something is built: `inputs` converts one schema at a time.
    """

    inputs: Inputs
    session: Session
    turn: ForkLock = field(default_factory=ForkLock)


class LoadedTool(OperationTool):
    """A tool whose description, schema and operation are built when they are first looked at.

    Args:
        name: The tool's name.
        declared: The operation as the document has it.
        shared: What the tools of the document share.
    """

    __slots__ = ("_declared", "_input_schema", "_name", "_operation", "_shared")

    def __init__(self, name: str, declared: Declared, shared: Shared) -> None:
        super().__init__(shared.session)
        self._name = name
        self._declared = declared
        self._shared = shared
        self._input_schema: dict[str, Any] | None = None
        self._operation: Operation | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset."""
        return self._name

    @property
    def method(self) -> str:
        """Upper case."""
        return self._declared.method

    @property
    def path(self) -> str:
        """As in the document, but for operators of RFC 6570 inside the braces."""
        path = self._declared.path
        return self.operation.path if has_operators(path) else path

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        return self._declared.tags

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self._declared.deprecated

    @property
    def description(self) -> str:
        """Summary and description as plain text, cut at a word boundary."""
        return describe(self._declared, self._shared.inputs.description_chars)

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12."""
        if self._input_schema is None:
            with self._shared.turn:  # another thread may have had it before
                if self._input_schema is None:
                    inputs = self._shared.inputs
                    self._input_schema = inputs.input_schema(self._declared, self._name)
        return self._input_schema

    @property
    def operation(self) -> Operation:
        """How it is called."""
        if self._operation is None:
            with self._shared.turn:
                if self._operation is None:
                    inputs = self._shared.inputs
                    self._operation = inputs.operation(self._declared, self._name)
        return self._operation


def describe(declared: Declared, limit: int) -> str:
    """Return what a model is told an operation does: never empty.

    Args:
        declared: The operation.
        limit: Most characters.
    """
    node, item = declared.node, declared.item
    summary = as_text(node.get("summary") or item.get("summary")).strip()
    text = as_text(node.get("description") or item.get("description")).strip()
    if summary and not text.startswith(summary):
        text = f"{summary}\n{text}" if text else summary
    mark = "Deprecated. " if declared.deprecated else ""
    text = plain_text(text, limit - len(mark)) if text else ""
    return mark + (text or visible(f"{declared.method} {declared.path}")[:limit])
