"""What the steps of a call need of a tool; `OperationTool` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.result import ToolCall, ToolResult
    from openapi_tools.settings import Settings
    from openapi_tools.tools.marked_values import MarkedValues


# A protocol, as the tool imports the modules of a call, and those must not import it.
class Tool(Protocol):
    """A tool, as its caller sees it."""

    @property
    def name(self) -> str:
        """Unique in its toolset."""

    @property
    def description(self) -> str:
        """For the model."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """JSON Schema of a response."""

    @property
    def operation(self) -> Operation:
        """How the API is called."""

    @property
    def method(self) -> str:
        """The HTTP method."""

    @property
    def path(self) -> str:
        """The path as in the document."""

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing."""

    @property
    def idempotent(self) -> bool:
        """Whether two equal calls have the effect of one."""

    @property
    def destructive(self) -> bool:
        """Whether a call may change or delete data."""

    @property
    def calls_another(self) -> bool:
        """Whether each call runs another tool."""

    @property
    def needs_approval(self) -> bool:
        """Whether a guardrail asks for approval."""

    @property
    def annotations(self) -> dict[str, bool]:
        """MCP's hints."""

    @property
    def guards(self) -> object | None:
        """The guardrails; None without any."""

    @property
    def settings(self) -> Settings:
        """The settings of its session."""

    @property
    def session(self) -> Any:
        """The session of its document; None without one."""

    @property
    def marked_values(self) -> MarkedValues:
        """The values that its schemas mark as secret."""

    def repair_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments that do not fit in another form."""

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as a call would use them."""

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send."""

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,
    ) -> ToolResult:
        """Make a call."""

    async def on_invoke(self, call: ToolCall, context: Any) -> ToolCall | ToolResult | None:
        """Run the input guardrails."""

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        """Make a call without guardrails."""

    async def on_output(self, result: ToolResult, context: Any) -> ToolResult:
        """Run the output guardrails."""

    async def on_error(self, error: Exception, context: Any) -> ToolResult:
        """Return the result of a failure."""
