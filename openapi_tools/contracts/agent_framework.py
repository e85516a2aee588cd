"""Microsoft Agent Framework: each tool as a `FunctionTool`, the only kind that its agents run.

The framework hides from its model why parsing arguments or a function failed. So nothing is checked
or raised here: the tool checks its input itself, and its result says what went wrong.
"""

from __future__ import annotations

import json
from base64 import b64decode
from copy import deepcopy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pydantic import RootModel

from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.result import ToolCall, context_for
from openapi_tools.tools.guardrails import asks_about, make_question, rule_of, with_approval
from openapi_tools.tools.write_preview import find_changes
from openapi_tools.toolsets.adapters import warn_about_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openapi_tools.common.options import Select
    from openapi_tools.result import Changes, ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("agent-framework"):
    from agent_framework import Content, FunctionInvocationContext, FunctionTool

# Metadata that `invoke` passes on to the function that the framework calls.
_CALL_ID = "openapi_tools.call_id"
_APPROVED = "openapi_tools.approved"
_MOST_QUESTIONS = 100  # whose changes are remembered until the call


def to_function_tools(
    toolset: Iterable[OperationTool],
    *,
    approval: bool | Select | Callable[[OperationTool], bool] | None = None,
    context: Any = None,
) -> list[FunctionTool]:
    """Return tools as `FunctionTool`s for `Agent(tools=…)`.

    An approval that the framework has asked for also satisfies `require_approval`, for the
    arguments that the person saw, in calls made by an agent's loop. If your own code invokes such a
    tool, or a guardrail changes the arguments, the context's own `approve` is asked; without one,
    the call is refused. The framework decides by the name of the tool: it asks about each call of
    `call_tool` if any tool that this may call needs approval, and about each of `run_code` if
    `approval` selects any.

    Args:
        toolset: A toolset, or any of its tools.
        approval: The tools that need a person's approval: True for all, a `Select` or a function of
            the tool; in addition to those with a guardrail of `require_approval`.
        context: A `Context` for all calls, or a function, sync or async, of the framework's
            `FunctionInvocationContext` that returns the one of a call. By default a `Context` whose
            `state` is the `FunctionInvocationContext`.

    Raises:
        SettingsError: `approval` is not a rule.
    """
    warn_about_tokens(toolset)
    rule = rule_of(False if approval is None else approval)

    def needs_approval(tool: OperationTool) -> bool:
        called: Any = getattr(toolset, "called", ()) if tool.calls_another else (tool,)
        return asks_about(rule, tool, toolset) or any(each.needs_approval for each in called)

    return [
        AgentFrameworkTool(tool, needs_approval=needs_approval(tool), context=context)
        for tool in toolset
    ]


class _AnyArguments(RootModel[dict[str, Any]]):
    """Accepts any arguments: the tool's own messages are better than the framework's."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.root


class AgentFrameworkTool(FunctionTool):
    """A tool of a document as a function of the framework."""

    def __init__(self, tool: OperationTool, *, needs_approval: bool, context: Any) -> None:
        # The framework passes its context to the parameter with this annotation.
        async def call(invocation: FunctionInvocationContext) -> ToolResult:
            return await _run_call(tool, invocation, context)

        description, schema = write_brief_definition(tool, "openai")
        super().__init__(
            name=tool.name,
            description=description,
            approval_mode="always_require" if needs_approval else "never_require",
            func=call,
            input_model=_AnyArguments,
            result_parser=_make_contents,
        )
        self._schema = cache(partial(deepcopy, schema))
        self._tool, self._context = tool, context
        self._asked_changes: dict[str, Changes | None] = {}

    def parameters(self) -> dict[str, Any]:
        """Return a copy of the schema that the model sees, as clients of providers change it."""
        return self._schema()

    async def question(self, arguments: Mapping[str, Any]) -> str:
        """Return the question to a person about a call that needs approval.

        It says what a write changes, if a read of the toolset shows that. The approval is then
        valid for that state only.

        Raises:
            InputError: The arguments do not fit.
        """
        invocation = FunctionInvocationContext(function=self, arguments=dict(arguments))
        context = await context_for(self._context, invocation)
        tool, tool_arguments = self._tool.target_tool(dict(arguments))
        call = ToolCall(name=tool.name, arguments=tool.check(dict(tool_arguments)))
        changes = await find_changes(tool, call.arguments, context)
        self._asked_changes[_question_key(arguments)] = changes
        if len(self._asked_changes) > _MOST_QUESTIONS:
            del self._asked_changes[next(iter(self._asked_changes))]
        return await make_question(tool, call.with_changes(changes))

    def take_changes(self, arguments: Mapping[str, Any]) -> Changes | None:
        """Return the changes that the question about a call named, once; None without any."""
        return self._asked_changes.pop(_question_key(arguments), None)

    async def invoke(
        self, *, context: FunctionInvocationContext | None = None, **options: Any
    ) -> Any:
        """Call like `FunctionTool.invoke`, and note the call id and the approval."""
        invocation = context or FunctionInvocationContext(function=self, arguments={})
        # An agent's loop asks before it invokes, and makes a context that has its tools.
        is_in_loop = invocation.function is self and invocation.tools is not None
        invocation.metadata[_APPROVED] = is_in_loop and self.approval_mode == "always_require"
        invocation.metadata[_CALL_ID] = options.get("tool_call_id") or ""
        return await super().invoke(context=invocation, **options)

    # Arguments may have any name, `self` and `invocation` too: they are read from the context.
    def __call__(self, /, *args: Any, **arguments: Any) -> Any:
        """Call with the framework's context as `invocation`, or with arguments of your own."""
        invocation = arguments.get("invocation")
        if not isinstance(invocation, FunctionInvocationContext):
            invocation = FunctionInvocationContext(function=self, arguments=arguments)
        return super().__call__(invocation, *args)


async def _run_call(
    tool: OperationTool, invocation: FunctionInvocationContext, source: Any
) -> ToolResult:
    context = await context_for(source, invocation)
    if invocation.metadata.get(_APPROVED) is True:
        function: Any = invocation.function
        changes = function.take_changes(invocation.arguments)
        context = with_approval(context, *tool.target_tool(dict(invocation.arguments)), changes)
    arguments = dict(invocation.arguments)
    if arguments.keys() == {"raw"} and "raw" not in tool.input_schema.get("properties", ()):
        arguments = arguments["raw"]  # the model's own string, which the framework could not parse
    call_id = invocation.metadata.get(_CALL_ID, "")
    return await tool({"id": call_id, "name": tool.name, "arguments": arguments}, context)


def _question_key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), sort_keys=True, default=repr)


def _make_contents(result: ToolResult) -> list[Content]:
    # A string names each image too, as chat clients may leave images out.
    contents = []
    for part in result.as_content():
        contents.append(Content.from_text(str(part), raw_representation=result))
        if part.type == "image":
            data = b64decode(part.data)
            contents.append(Content.from_data(data, part.media_type, raw_representation=result))
    return contents
