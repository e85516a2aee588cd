"""Tools that run a function, which may call other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import CallError, OpenAPIToolsError
from openapi_tools.tools.tool import OperationTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.result import ToolCall, ToolResult
    from openapi_tools.search.meta_tools import MetaTool
    from openapi_tools.tools.session import Session


class FunctionSource(NamedTuple):
    """The functions of a toolset, and what makes those of another toolset."""

    make: Callable[[Any], Iterable[MetaTool]]
    functions: tuple[MetaTool, ...]

    async def aclose(self) -> None:
        """Release what the functions hold."""
        for function in self.functions:
            if function.close is not None:
                await function.close()


class FunctionTool(OperationTool):
    """A tool that runs a function, which may call other tools; it has no operation."""

    __slots__ = ("_function",)

    method = path = ""
    tags = ()
    deprecated = False
    name: Any = property(lambda self: self._function.name)
    description: Any = property(lambda self: self._function.description)
    input_schema: Any = property(lambda self: self._function.input_schema)
    read_only: Any = property(lambda self: self._function.read_only)
    idempotent: Any = read_only
    destructive: Any = property(lambda self: not self._function.read_only)
    calls_another: Any = property(lambda self: self._function.target_tool is not None)

    def __init__(self, function: MetaTool, session: Session | None) -> None:
        super().__init__(session)
        self._function = function

    @property
    def portable(self) -> FunctionTool:
        """The same tool for providers whose schemas have no open objects."""
        schema = self._function.portable or self._function.input_schema
        return FunctionTool(replace(self._function, input_schema=schema), self.session)

    @property
    def operation(self) -> Operation:
        """There is none."""
        raise NotImplementedError(f"{self.name} is not an operation of a document.")

    @property
    def annotations(self) -> dict[str, bool]:
        """Two of MCP's hints; the others are as MCP supposes them."""
        return {"readOnlyHint": self.read_only, "destructiveHint": self.destructive}

    def target_tool(self, arguments: Mapping[str, Any]) -> tuple[OperationTool, Mapping[str, Any]]:
        """Return the tool that a call runs, and its arguments; itself where it runs none."""
        if self._function.target_tool is None:
            return self, arguments
        # Wrong arguments are an error of the call; whoever asks here gets no answer, but no error.
        try:
            target = self._function.target_tool(self.check(dict(arguments)))
        except OpenAPIToolsError:
            return self, arguments
        return target or (self, arguments)

    def repair_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments that do not fit in another form."""
        repair = self._function.repair_arguments
        return arguments if repair is None else repair(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request of the tool that a call runs; CallError where it runs none."""
        tool, tool_arguments = self.target_tool(self.check(arguments))
        if tool is self:
            raise CallError("protocol", f"{self.name} does not send a request itself.")
        return tool.preview(dict(tool_arguments))

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        """Run the function."""
        result: ToolResult = await self._function.run(call, context)
        return result

    def _copy_as(self, name: str) -> FunctionTool:
        return FunctionTool(replace(self._function, name=name), self.session)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"
