"""Pydantic-AI: each tool as its `Tool`, which passes arguments on without validating them.

An error result, and arguments that are not a JSON object, raise `ToolFailed`: the model sees a
failed call. `ModelRetry` would end the run after as many failures as `retries` allows, and a 404 is
a response like any other.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, cast

from openapi_tools.common.options import Select, context_value
from openapi_tools.errors import InputError, OpenAPIToolsError, require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.providers.memory import Memory
from openapi_tools.providers.response_schemas import declares_response, write_response_schema
from openapi_tools.result import context_for
from openapi_tools.tools.guardrails import asks_about, rule_of, with_approval
from openapi_tools.tools.tool_call_reader import read_call
from openapi_tools.toolsets.adapters import make_blocks, warn_about_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic_core import SchemaValidator

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("pydantic-ai"):
    from pydantic_ai import BinaryImage, RunContext, Tool, ToolReturn
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed


def to_tools(
    toolset: Iterable[OperationTool],
    *,
    approval: bool | Select | Callable[[OperationTool], bool] | None = None,
    context: Any = None,
) -> list[Tool[Any]]:
    """Return tools for `Agent(tools=…)`.

    A tool that is not `parallel_safe` runs alone. A call that needs approval, and whose arguments
    are valid, ends the run with `DeferredToolRequests`, which must be among the agent's output
    types. An approval in `DeferredToolResults` also satisfies `require_approval`; if your `context`
    has an `approve`, that is asked instead. Add guardrails to a tool before you convert it, as they
    decide whether approval is asked. A call of `call_tool` needs approval if the tool that it calls
    does; the request's metadata has that `tool` and its `arguments`. `run_code` needs it if
    `approval` selects any tool that it may call.

    Args:
        toolset: A toolset, or any of its tools.
        approval: The tools that need a person's approval: True for all, a `Select` or a function of
            the tool; in addition to those with a guardrail of `require_approval`.
        context: A `Context` for all calls, or a function, sync or async, of the `RunContext` that
            returns the one of a call. By default a `Context` whose `state` is the `RunContext`.

    Raises:
        SettingsError: `approval` is not a rule.
    """
    warn_about_tokens(toolset)
    rule, memory = rule_of(False if approval is None else approval), Memory()
    return [_make_tool(tool, rule, toolset, context, memory) for tool in toolset]


def _make_tool(
    tool: OperationTool,
    rule: Callable[..., bool],
    toolset: Iterable[OperationTool],
    context: Any,
    memory: Memory,
) -> Tool[Any]:
    can_approve = callable(context) or context_value(context, "approve") is not None
    is_asked = not tool.calls_another and (
        asks_about(rule, tool, toolset) or (tool.needs_approval and not can_approve)
    )
    # Whether a context can approve is known only once its function was called, for each call.
    may_defer = tool.needs_approval and callable(context) and not (is_asked or tool.calls_another)

    def must_defer(called: OperationTool, approve: Any) -> bool:
        if called is tool:
            return may_defer and not approve
        return rule(called) or (called.needs_approval and not approve)

    async def call(run: RunContext[Any], /, **arguments: Any) -> ToolReturn[Any]:
        return await _run_call(tool, arguments, run, context, must_defer)

    description, schema = write_brief_definition(tool, "openai")
    converted: Tool[Any] = Tool.from_schema(
        call,
        name=tool.name,
        description=description,
        json_schema=schema,
        takes_ctx=True,
        sequential=not tool.parallel_safe,
        args_validator=_make_check(tool) if is_asked else None,
    )
    converted.requires_approval = is_asked
    converted.metadata = {"annotations": tool.annotations}
    if declares_response(tool):
        schema = write_response_schema(tool, tool.settings, memory=memory)
        converted.function_schema.return_schema = schema
    converted.function_schema.validator = cast("SchemaValidator", _ArgumentsReader(tool.name))
    return converted


class _ArgumentsReader:
    """Reads the arguments of calls; pydantic's validators count a mistake in them as a retry."""

    def __init__(self, name: str) -> None:
        self._name = name

    def validate_python(self, arguments: Any, **_: Any) -> dict[str, Any]:
        try:
            return read_call({"name": self._name, "arguments": arguments}).arguments
        except InputError as error:
            raise ToolFailed(str(error)) from error

    validate_json = validate_python


def _make_check(tool: OperationTool) -> Callable[..., None]:
    # So that no person is asked about a call whose arguments are invalid.

    def check(_run: RunContext[Any], /, **arguments: Any) -> None:
        try:
            tool.check(arguments)
        except OpenAPIToolsError as error:
            raise ToolFailed(str(error)) from error

    return check


async def _run_call(
    tool: OperationTool,
    arguments: dict[str, Any],
    run: RunContext[Any],
    source: Any,
    must_defer: Callable[..., bool],
) -> ToolReturn[Any]:
    context = await context_for(source, run)
    called, called_arguments = tool.target_tool(arguments)
    if run.tool_call_approved:
        context = with_approval(context, called, called_arguments)
    elif must_defer(called, context_value(context, "approve")):
        _make_check(called)(run, **called_arguments)
        target = {"tool": called.name, "arguments": dict(called_arguments)}
        raise ApprovalRequired(metadata=None if called is tool else target)
    call = {**arguments, "_tool_call_id": run.tool_call_id or ""}
    result = await tool.execute(call, context=context)
    if result.is_error:
        raise ToolFailed(str(result))
    content = _make_content(result)
    if declares_response(called) and isinstance(content, str):  # images stay images
        note = result.header_note or None
        return ToolReturn(result.as_object(), content=note, metadata=result.metadata)
    return ToolReturn(content, metadata=result.metadata)


def _make_content(result: ToolResult) -> Any:
    def image(data: str, media_type: str) -> Any:
        return BinaryImage(b64decode(data), media_type=media_type)

    blocks: list[Any] = make_blocks(result, str, image)
    if all(isinstance(block, str) for block in blocks):
        return str(result)  # a list of strings would reach the model as JSON
    return blocks[0] if len(blocks) == 1 else blocks
