"""OpenAI Agents SDK: each tool as its `FunctionTool`, strict where its schema can be.

The SDK ends a run for an exception and hides from the model what was wrong, so nothing is raised:
the tool checks its own input, and an error is the text that the model reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError, require_extra
from openapi_tools.providers.definitions import define_tool, write_brief_definition
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.result import ToolResult, context_for
from openapi_tools.tools.guardrails import with_approval
from openapi_tools.tools.tool_call_reader import read_call
from openapi_tools.toolsets.adapters import make_blocks, warn_about_tokens
from openapi_tools.toolsets.call_approval import CallApproval
from openapi_tools.validation.tool_input import CALL_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents import RunContextWrapper
    from agents.tool_context import ToolContext

    from openapi_tools.common.options import Select
    from openapi_tools.tools.tool import OperationTool

with require_extra("openai-agents"):
    from agents import FunctionTool, ToolOutputImage, ToolOutputText, UserError

_PROFILE = "openai_responses"


def to_function_tools(
    toolset: Iterable[OperationTool],
    *,
    approval: bool | Select | Callable[[OperationTool], bool] | None = None,
    context: Any = None,
) -> list[FunctionTool]:
    """Return tools as `FunctionTool`s for `Agent(tools=…)`.

    A call that needs approval, and whose arguments are valid, interrupts the run; an approval of
    the run also satisfies `require_approval`. If your `context` has an `approve`, that is asked
    instead for guardrails. A call of `call_tool` needs approval if the tool that it calls does, and
    one of `run_code` if `approval` selects any tool that it may call. Add guardrails to a tool
    before you convert it.

    Args:
        toolset: A toolset, or any of its tools.
        approval: The tools that need a person's approval: True for all, a `Select` or a function of
            the tool; in addition to those with a guardrail of `require_approval`.
        context: A `Context` for all calls, or a function, sync or async, of the SDK's run context
            that returns the one of a call. By default a `Context` whose `state` is the run context.

    Raises:
        SettingsError: `approval` is not a rule.
    """
    warn_about_tokens(toolset)
    return [
        _AgentTool(tool, CallApproval(tool, toolset, approval, context), context).convert()
        for tool in toolset
    ]


class _AgentTool:
    """A tool of a document, and who approves its calls."""

    def __init__(self, tool: OperationTool, approval: CallApproval, context: Any) -> None:
        self._tool, self._approval, self._context = tool, approval, context
        self._profile: str | None = _PROFILE  # of the definition that the model has

    def convert(self) -> FunctionTool:
        """Return the tool for the SDK, which takes only some of the strict schemas."""
        try:
            return self._make_tool(define_tool(self._tool, _PROFILE, loosely=True).value)
        except (CannotExpress, UserError):
            self._profile = None
            description, schema = write_brief_definition(self._tool, "openai")
            return self._make_tool(
                {"description": description, "parameters": schema, "strict": False}
            )

    def _make_tool(self, definition: dict[str, Any]) -> FunctionTool:
        return FunctionTool(
            name=self._tool.name,
            description=definition["description"],
            params_json_schema=definition["parameters"],
            on_invoke_tool=self._run_call,
            strict_json_schema=definition["strict"],
            needs_approval=self._needs_approval if self._approval.is_possible else False,
        )

    async def _needs_approval(
        self, run: RunContextWrapper[Any], arguments: dict[str, Any], _call_id: str
    ) -> bool:
        return await self._approval.is_needed(run, arguments)

    async def _run_call(self, run: ToolContext[Any], arguments: str) -> Any:
        try:
            call = read_call({"name": self._tool.name, "arguments": arguments})
        except InputError as error:
            return str(error)
        context = await context_for(self._context, run)
        is_approved = run.is_tool_approved(run.tool_name, run.tool_call_id)
        if self._approval.is_possible and is_approved:
            context = with_approval(context, *self._tool.target_tool(call.arguments))
        arguments_with_id = {**call.arguments, CALL_ID: run.tool_call_id}
        return _make_output(
            await self._tool.execute(arguments_with_id, context=context, profile=self._profile)
        )


def _make_output(result: ToolResult) -> Any:
    blocks: list[Any] = make_blocks(result, _make_text, _make_image)
    is_text = all(isinstance(block, ToolOutputText) for block in blocks)
    return str(result) if is_text else blocks


def _make_text(text: str) -> ToolOutputText | ToolOutputImage:
    return ToolOutputText(text=text)


def _make_image(data: str, media_type: str) -> ToolOutputText | ToolOutputImage:
    return ToolOutputImage(image_url=f"data:{media_type};base64,{data}")
