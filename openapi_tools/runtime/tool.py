"""A tool: one operation that a model can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.runtime.methods import is_idempotent, is_safe

if TYPE_CHECKING:
    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.runtime.calling import Caller
    from openapi_tools.runtime.result import ToolResult
    from openapi_tools.runtime.session import Session


class OperationTool:
    """One operation of a document as a tool.

    A subclass gives the first four attributes: a generated one as plain values, a loaded one when
    they are first looked at.

    Attributes:
        name: Unique in its toolset, `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
        description: For the model; plain text, never empty.
        input_schema: JSON Schema 2020-12 of the input: a closed object at the root. It is shared;
            `get_schema()` gives a copy.
        operation: How the API is called, as plain data.

    Args:
        session: What it shares with other tools; a tool made without one calls the document's
            server with the default settings and no credentials.
    """

    __slots__ = ("_caller", "_session")

    def __init__(self, session: Session | None = None) -> None:
        self._session = session
        self._caller: Caller | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """For the model; plain text, never empty."""
        raise NotImplementedError

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the input; shared, so do not change it."""
        raise NotImplementedError

    @property
    def operation(self) -> Operation:
        """How the API is called, as plain data."""
        raise NotImplementedError

    @property
    def method(self) -> str:
        """The HTTP method, upper case."""
        return self.operation.method

    @property
    def path(self) -> str:
        """The path as in the document."""
        return self.operation.path

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        return self.operation.tags

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self.operation.deprecated

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing (RFC 9110, section 9.2.1)."""
        return is_safe(self.method)

    @property
    def idempotent(self) -> bool:
        """Whether two equal calls do no more than one (RFC 9110, section 9.2.2)."""
        return is_idempotent(self.method)

    @property
    def destructive(self) -> bool:
        """Whether a call may change or delete things: the careful guess for all but reads."""
        return not self.read_only

    @property
    def parallel_safe(self) -> bool:
        """Whether it may run beside other calls: true for reads."""
        return self.read_only

    @property
    def strict(self) -> bool:
        """Whether every argument is required and none is optional."""
        schema = self.input_schema
        return len(schema.get("required", ())) == len(schema["properties"])

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
        import copy

        return copy.deepcopy(self.input_schema)

    def __repr__(self) -> str:
        return f"<tool {self.name}: {self.method} {self.path}>"

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,  # noqa: ARG002 -- the contract's; guards and approval will read it
    ) -> ToolResult:
        """Call the API.

        Args:
            input: The arguments as JSON-native data, as the input schema describes them; a
                `_tool_call_id` is taken out and given back in the result. It is not changed.
            context: Whatever belongs to this one call.

        Returns:
            The answer, or an error result; nothing is raised but cancellation.
        """
        return await self._called().result(input)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send, with `***` in place of credentials.

        Args:
            arguments: As for `execute`.

        Raises:
            InputError: The arguments do not fit.
            CallError: There is no server to send it to.
        """
        return self._called().preview(arguments)

    def _called(self) -> Caller:
        """Return what calls this tool; made at the first call, so that looks cost little."""
        if self._caller is None:
            from openapi_tools.runtime.calling import Caller

            self._caller = Caller(self, self._session)
        return self._caller
