"""Google's Agent Development Kit: each tool as its `BaseTool`, declared by the Gemini profile.

The kit ends a run for an exception, so nothing is raised: an error is `{"error": message}`, which
the model reads as it reads `{"result": …}`.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import define_tool, write_brief_definition
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.providers.response_schemas import declares_response, write_response_schema
from openapi_tools.result import ToolCall, context_for
from openapi_tools.tools.guardrails import make_question, with_approval
from openapi_tools.toolsets.adapters import make_blocks, warn_about_tokens
from openapi_tools.toolsets.call_approval import CallApproval
from openapi_tools.validation.tool_input import CALL_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.tools.tool_context import ToolContext

    from openapi_tools.common.options import Select
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

with require_extra("google-adk"):
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.base_toolset import BaseToolset
    from google.genai import types

_PROFILE = "gemini"
_AWAITS_CONFIRMATION = "This call waits for a person's confirmation."
_REJECTED = "A person rejected this call; it was not sent."


class OperationToolset(BaseToolset):
    """The tools of a toolset for `LlmAgent(tools=[…])`, which closes them with its runner.

    A call that needs approval, and whose arguments are valid, requests the kit's confirmation; a
    confirmation also satisfies `require_approval`. If your `context` has an `approve`, that is
    asked instead for guardrails. Add guardrails to a tool before you convert it.

    Args:
        toolset: A toolset.
        require_confirmation: The tools that need a person's confirmation: True for all, a `Select`
            or a function of the tool; in addition to those with a guardrail of `require_approval`.
        context: A `Context` for all calls, or a function, sync or async, of the kit's `ToolContext`
            that returns the one of a call. By default a `Context` whose `state` is the
            `ToolContext`.
        options: Those of `BaseToolset`: `tool_filter`, `tool_name_prefix`.

    Raises:
        SettingsError: `require_confirmation` is not a rule.
    """

    def __init__(
        self,
        toolset: Toolset,
        *,
        require_confirmation: bool | Select | Callable[[OperationTool], bool] | None = None,
        context: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._toolset = toolset
        self._tools = to_tools(toolset, require_confirmation=require_confirmation, context=context)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools that `tool_filter` selects."""
        tool_filter = self.tool_filter
        if tool_filter is None:
            return self._tools
        if isinstance(tool_filter, list):
            return [tool for tool in self._tools if tool.name in tool_filter]
        return [tool for tool in self._tools if tool_filter(tool, readonly_context)]

    async def close(self) -> None:
        """Close the connections of the toolset."""
        await self._toolset.aclose()


def to_tools(
    toolset: Any,
    *,
    require_confirmation: bool | Select | Callable[[OperationTool], bool] | None = None,
    context: Any = None,
) -> list[BaseTool]:
    """Return tools for `LlmAgent(tools=…)`, as `OperationToolset` has them; the caller closes them.

    Args:
        toolset: A toolset, or any of its tools.
        require_confirmation: As for `OperationToolset`.
        context: As for `OperationToolset`.

    Raises:
        SettingsError: `require_confirmation` is not a rule.
    """
    warn_about_tokens(toolset)
    memory = Memory()
    return [
        _ADKTool(tool, CallApproval(tool, toolset, require_confirmation, context), context, memory)
        for tool in toolset
    ]


class _ADKTool(BaseTool):
    """A tool of a document as a tool of the kit."""

    def __init__(
        self, tool: OperationTool, approval: CallApproval, context: Any, memory: Memory
    ) -> None:
        self._declaration = _declare(tool, memory)
        super().__init__(
            name=tool.name,
            description=self._declaration.description or "",
            custom_metadata={"annotations": dict(tool.annotations)},
        )
        self._tool, self._approval, self._context = tool, approval, context

    @property
    def may_ask(self) -> bool:
        """Whether some of its calls request a confirmation."""
        return self._approval.is_possible

    def _get_declaration(self) -> types.FunctionDeclaration:
        # A copy, as the kit renames declarations of toolsets with a prefix.
        return self._declaration.model_copy()

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Call the tool, once it is confirmed where that is needed."""
        context = await context_for(self._context, tool_context)
        # Not by `check_require_confirmation`, whose question does not show the arguments.
        if self.may_ask and await self._approval.is_needed(tool_context, args):
            target, arguments = self._tool.target_tool(args)
            confirmation = tool_context.tool_confirmation
            if confirmation is None:
                call = ToolCall(name=target.name, arguments=target.check(dict(arguments)))
                tool_context.request_confirmation(hint=await make_question(target, call))
                tool_context.actions.skip_summarization = True
                return {"error": _AWAITS_CONFIRMATION}
            if not confirmation.confirmed:
                return {"error": _REJECTED}
            context = with_approval(context, target, arguments)
        call_id = tool_context.function_call_id or ""
        result = await self._tool.execute(
            {**args, CALL_ID: call_id}, context=context, profile=_PROFILE
        )
        return _make_response(result, is_declared=declares_response(self._tool))


def _declare(tool: OperationTool, memory: Memory) -> types.FunctionDeclaration:
    try:
        declaration = define_tool(tool, _PROFILE, memory, loosely=True).value
    except CannotExpress:
        description, schema = write_brief_definition(tool, "openai")
        declaration = {
            "name": tool.name,
            "description": description,
            "parameters_json_schema": schema,
        }
    if declares_response(tool):
        schema = write_response_schema(tool, tool.settings, memory=memory)
        declaration = {**declaration, "response_json_schema": schema}
    return types.FunctionDeclaration.model_validate(declaration)


def _make_response(result: ToolResult, *, is_declared: bool) -> Any:
    if result.is_error:
        return {"error": str(result)}
    blocks: list[Any] = make_blocks(result, str, _make_image)
    is_text = all(isinstance(block, str) for block in blocks)
    if is_declared and is_text:
        return result.as_object()  # what the schema of the declaration describes
    # The kit takes images out of a list and sends them beside the response.
    return {"result": str(result) if is_text else blocks}


def _make_image(data: str, media_type: str) -> Any:
    return types.Part.from_bytes(data=b64decode(data), mime_type=media_type)
