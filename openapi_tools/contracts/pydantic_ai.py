"""Pydantic-AI: each tool as its `Tool`, which hands over arguments without looking at them.

An error result, and arguments that are not a JSON object, raise `ToolFailed`: the model sees a
failed call. `ModelRetry` would end the run after as many failures as `retries` allows, and a 404 is
an answer like any other.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, cast

from openapi_tools.contracts import advise, blocks_of
from openapi_tools.errors import InputError, OpenAPIToolsError, requiring
from openapi_tools.options import Select, member_of
from openapi_tools.providers.definitions import shown
from openapi_tools.result import context_for, read_call
from openapi_tools.tools.guardrails import approved, asks, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic_core import SchemaValidator

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with requiring("pydantic-ai"):
    from pydantic_ai import BinaryImage, RunContext, Tool, ToolReturn
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed


def to_tools(
    toolset: Iterable[OperationTool],
    *,
    approval: bool | Select | Callable[[OperationTool], bool] | None = None,
    context: Any = None,
) -> list[Tool[Any]]:
    """Return tools for `Agent(tools=…)`.

    A tool that is not `parallel_safe` runs alone. One that needs approval ends the run with
    `DeferredToolRequests`, which have to be among the agent's output types, once its arguments fit;
    the approval that `DeferredToolResults` grant is also the one that `require_approval` wants.
    Where a `context` of yours has an `approve`, that is asked instead, for `require_approval`.
    Add guardrails to a tool before you convert it, as that decides whether approval is asked.
    A call of `call_tool` needs approval if the tool that it calls does; the request's metadata has
    its `tool` and `arguments`. `run_code` needs it if `approval` takes any tool that it may call.

    Args:
        toolset: A toolset, or any of its tools.
        approval: For which tools a person is asked first: True for all, a `Select` or a function of
            the tool; those with a guardrail of `require_approval` come on top of it.
        context: What belongs to a call: a `Context` for all of them, or a function of the
            `RunContext` that gives one for each and may be async. By default a `Context` whose
            `state` is the `RunContext`.

    Raises:
        SettingsError: `approval` is not a rule.
    """
    advise(toolset)
    asked = rule_of(False if approval is None else approval)
    return [_made(tool, asked, toolset, context) for tool in toolset]


def _made(
    tool: OperationTool, rule: Callable[..., bool], toolset: Iterable[OperationTool], context: Any
) -> Tool[Any]:
    can_approve = callable(context) or member_of(context, "approve") is not None
    is_asked = not tool.calls_another and (
        asks(rule, tool, toolset) or (tool.needs_approval and not can_approve)
    )
    # Only its result, for each call, shows whether a context function can approve.
    depends = tool.needs_approval and callable(context) and not (is_asked or tool.calls_another)

    def defers(called: OperationTool, approve: Any) -> bool:
        if called is tool:
            return depends and not approve
        return rule(called) or (called.needs_approval and not approve)

    async def call(run: RunContext[Any], /, **arguments: Any) -> ToolReturn[Any]:
        return await _answer(tool, arguments, run, context, defers)

    description, schema = shown(tool, "openai")
    made: Tool[Any] = Tool.from_schema(
        call,
        name=tool.name,
        description=description,
        json_schema=schema,
        takes_ctx=True,
        sequential=not tool.parallel_safe,
        args_validator=_checker(tool) if is_asked else None,
    )
    made.requires_approval = is_asked
    made.metadata = {"annotations": tool.annotations}
    made.function_schema.validator = cast("SchemaValidator", _Arguments(tool.name))
    return made


class _Arguments:
    """Reads the arguments of calls; pydantic's validators count a mistake in them as a retry."""

    def __init__(self, name: str) -> None:
        self._name = name

    def validate_python(self, given: Any, **_: Any) -> dict[str, Any]:
        try:
            return read_call({"name": self._name, "arguments": given}).arguments
        except InputError as error:
            raise ToolFailed(str(error)) from error

    validate_json = validate_python


def _checker(tool: OperationTool) -> Callable[..., None]:
    """Return a check that fails before a person is asked about an impossible call."""

    def check(_run: RunContext[Any], /, **arguments: Any) -> None:
        try:
            tool.check(arguments)
        except OpenAPIToolsError as error:
            raise ToolFailed(str(error)) from error

    return check


async def _answer(
    tool: OperationTool,
    arguments: dict[str, Any],
    run: RunContext[Any],
    source: Any,
    defers: Callable[..., bool],
) -> ToolReturn[Any]:
    """Run a call, or defer it; `defers` gets the tool that it reaches and the own `approve`."""
    context = await context_for(source, run)
    called, given = tool.reached(arguments)
    if run.tool_call_approved:
        context = approved(context, called, given)
    elif defers(called, member_of(context, "approve")):
        _checker(called)(run, **given)
        about = None if called is tool else {"tool": called.name, "arguments": dict(given)}
        raise ApprovalRequired(metadata=about)
    call = {**arguments, "_tool_call_id": run.tool_call_id or ""}
    result = await tool.execute(call, context=context)
    if result.is_error:
        raise ToolFailed(str(result))
    return ToolReturn(_content(result), metadata=result.metadata)


def _content(result: ToolResult) -> Any:
    def image(data: str, media_type: str) -> Any:
        return BinaryImage(b64decode(data), media_type=media_type)

    shown: list[Any] = blocks_of(result, str, image)
    if all(isinstance(part, str) for part in shown):
        return str(result)  # a list of texts would be shown as JSON
    return shown[0] if len(shown) == 1 else shown
