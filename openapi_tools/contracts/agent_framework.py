"""Microsoft Agent Framework: each tool as a `FunctionTool`, the only kind that its agents run.

The framework hides from its model why parsing arguments or a function failed. So nothing is checked
or raised here: the tool checks its input itself, and its answer says what went wrong.
"""

from __future__ import annotations

import json
from base64 import b64decode
from copy import deepcopy
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import RootModel

from openapi_tools.contracts import advise
from openapi_tools.errors import requiring
from openapi_tools.providers.definitions import shown
from openapi_tools.result import ToolCall, context_for
from openapi_tools.tools.guardrails import approved, asks, make_question, rule_of
from openapi_tools.tools.state_changes import changes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openapi_tools.options import Select
    from openapi_tools.result import Changes, ToolResult
    from openapi_tools.tools.tool import OperationTool

with requiring("agent-framework"):
    from agent_framework import Content, FunctionInvocationContext, FunctionTool

# Metadata that `invoke` passes on to the function that the framework calls.
_CALL_ID = "openapi_tools.call_id"
_APPROVED = "openapi_tools.approved"
_SHOWN = 100  # questions that are remembered


def to_function_tools(
    toolset: Iterable[OperationTool],
    *,
    approval: bool | Select | Callable[[OperationTool], bool] | None = None,
    context: Any = None,
) -> list[FunctionTool]:
    """Return tools as `FunctionTool`s for `Agent(tools=…)`.

    The approval that the framework asks for is also the one that `require_approval` wants, for the
    arguments that were shown. It counts in calls that an agent's loop makes: where code of yours
    invokes such a tool, or a guardrail changed the arguments, the context's own `approve` is asked;
    without one, the call is refused. The framework asks by the tool's name alone: each call of
    `call_tool` is asked for, if any tool that it may call needs approval, and each of `run_code`,
    if `approval` takes any.

    Args:
        toolset: A toolset, or any of its tools.
        approval: For which tools a person is asked first: True for all, a `Select` or a function of
            the tool; those with a guardrail of `require_approval` come on top of it.
        context: What belongs to a call: a `Context` for all of them, or a function of the
            framework's `FunctionInvocationContext` that gives one for each and may be async. By
            default a `Context` whose `state` is the `FunctionInvocationContext`.

    Raises:
        SettingsError: `approval` is not a rule.
    """
    advise(toolset)
    asked = rule_of(False if approval is None else approval)

    def is_asked(tool: OperationTool) -> bool:
        called: Any = getattr(toolset, "called", ()) if tool.calls_another else (tool,)
        return asks(asked, tool, toolset) or any(each.needs_approval for each in called)

    return [OperationFunctionTool(tool, asks=is_asked(tool), context=context) for tool in toolset]


class _Arguments(RootModel[dict[str, Any]]):
    """Any arguments: the tool's own messages are better than the framework's."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.root


class OperationFunctionTool(FunctionTool):
    """A tool of a document as a function of the framework."""

    def __init__(self, tool: OperationTool, *, asks: bool, context: Any) -> None:
        # The framework looks at the annotation, and gives its context to such a parameter.
        async def call(invocation: FunctionInvocationContext) -> ToolResult:
            return await _answer(tool, invocation, context)

        description, schema = shown(tool, "openai")
        super().__init__(
            name=tool.name,
            description=description,
            approval_mode="always_require" if asks else "never_require",
            func=call,
            input_model=_Arguments,
            result_parser=_contents,
        )
        self._schema = cache(partial(deepcopy, schema))
        self._own, self._context = tool, context
        self._shown: dict[str, Changes | None] = {}

    def parameters(self) -> dict[str, Any]:
        """Return a copy of the schema that the model sees: provider clients write into it."""
        return self._schema()

    async def question(self, arguments: Mapping[str, Any]) -> str:
        """Return the question to a person about a call that waits for approval.

        It says what a write changes, where a read of the toolset tells; a later call that was
        approved counts for that state only.

        Raises:
            InputError: The arguments do not fit.
        """
        invocation = FunctionInvocationContext(function=self, arguments=dict(arguments))
        context = await context_for(self._context, invocation)
        tool, given = self._own.reached(dict(arguments))
        call = ToolCall(name=tool.name, arguments=tool.check(dict(given)))
        seen = await changes_of(tool, call.arguments, context)
        self._shown = {**dict(islice(self._shown.items(), _SHOWN)), _key(arguments): seen}
        return await make_question(tool, call.with_changes(seen))

    def seen(self, arguments: Mapping[str, Any]) -> Changes | None:
        """Return what the question about a call said, once; None without one."""
        return self._shown.pop(_key(arguments), None)

    async def invoke(
        self, *, context: FunctionInvocationContext | None = None, **options: Any
    ) -> Any:
        """Call like `FunctionTool.invoke`, and note the call id and the approval."""
        known = context or FunctionInvocationContext(function=self, arguments={})
        # An agent's loop asks before it invokes, and makes a context that has its tools.
        looped = known.function is self and known.tools is not None
        known.metadata[_APPROVED] = looped and self.approval_mode == "always_require"
        known.metadata[_CALL_ID] = options.get("tool_call_id") or ""
        return await super().invoke(context=known, **options)

    # Arguments may have any name, `self` and `invocation` too: they are read from the context.
    def __call__(self, /, *args: Any, **given: Any) -> Any:
        """Call with the framework's context as `invocation`, or with arguments of your own."""
        known = given.get("invocation")
        own = isinstance(known, FunctionInvocationContext)
        context = known if own else FunctionInvocationContext(function=self, arguments=given)
        return super().__call__(context, *args)


async def _answer(
    tool: OperationTool, invocation: FunctionInvocationContext, source: Any
) -> ToolResult:
    context = await context_for(source, invocation)
    if invocation.metadata.get(_APPROVED) is True:
        function: Any = invocation.function
        seen = function.seen(invocation.arguments)
        context = approved(context, *tool.reached(dict(invocation.arguments)), seen)
    given = dict(invocation.arguments)
    if given.keys() == {"raw"} and "raw" not in tool.input_schema.get("properties", ()):
        given = given["raw"]  # what the framework could not read, as the model wrote it
    call_id = invocation.metadata.get(_CALL_ID, "")
    return await tool({"id": call_id, "name": tool.name, "arguments": given}, context)


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), sort_keys=True, default=repr)


def _contents(result: ToolResult) -> list[Content]:
    """Return contents; a text names each image, as chat clients may omit images but not all."""
    contents = []
    for part in result.as_content():
        contents.append(Content.from_text(str(part), raw_representation=result))
        if part.type == "image":
            data = b64decode(part.data)
            contents.append(Content.from_data(data, part.media_type, raw_representation=result))
    return contents
