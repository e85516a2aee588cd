"""The tools of a toolset adapted to Amplifier: its results, hook events and approval.

Every mount into a coordinator of Amplifier uses `adapt_tools`: of loaded toolsets and of generated
packages. The entry point, which reads a mount plan, is `openapi_tools.contracts.amplifier`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext, suppress
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr, model_serializer

from openapi_tools.common.options import context_value, replace_context_values
from openapi_tools.errors import DeniedError, InputError, require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.result import (
    Context,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResult,
    contents_of,
)
from openapi_tools.tools.caller import read_call_id
from openapi_tools.tools.guardrails import await_user_code, make_question
from openapi_tools.tools.tool_call_reader import read_call
from openapi_tools.toolsets.adapters import make_blocks, warn_about_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from openapi_tools.tools.tool import OperationTool

with require_extra("amplifier"):
    from amplifier_core import ToolResult as CoreResult
    from amplifier_core.approval import ApprovalTimeoutError

_CHANNEL = "observability.events"
_EVENTS = ("started", "completed", "error")
_CALL_ID = "_tool_call_id"
_YES, _NO = "Allow", "Deny"
# A person may be away from the screen for so long; then the call is denied.
_WAIT = 300.0
_LONGEST_ID = 256


def adapt_tools(
    coordinator: Any, tools: Iterable[OperationTool]
) -> AbstractContextManager[list[AmplifierTool]]:
    """Return a context with the adapted tools, whose events are announced meanwhile."""
    warn_about_tokens(tools)
    called = {tool.name: tool for tool in getattr(tools, "called", ())}
    adapted = [AmplifierTool(tool, coordinator, called) for tool in tools]
    events = [f"{tool.name}:{event}" for tool in adapted for event in _EVENTS]
    coordinator.register_contributor(_CHANNEL, "openapi-tools", events.copy)
    return _AnnouncedEvents(adapted, events)


class _AnnouncedEvents(nullcontext["list[AmplifierTool]"]):
    # No generator: that would also end, and take the names back, when it is garbage collected.

    def __init__(self, tools: list[AmplifierTool], events: list[str]) -> None:
        super().__init__(tools)
        self._events = events

    def __exit__(self, *_: object) -> None:
        self._events.clear()  # a contributor cannot be unregistered


class AmplifierTool:
    """A tool as Amplifier takes it: a definition within its budget, and events for its hooks."""

    def __init__(self, tool: OperationTool, coordinator: Any, called: Any = None) -> None:
        self._tool = tool
        self._called = called or {}
        self._coordinator = coordinator
        self.name = tool.name

    def __getattr__(self, name: str) -> Any:
        # `copy` and `pickle` ask an object without attributes for `__setstate__`, and would
        # recurse.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tool, name)

    def __repr__(self) -> str:
        return repr(self._tool)

    @cached_property
    def _definition(self) -> tuple[str, dict[str, Any]]:
        return write_brief_definition(self._tool, "openai")

    @property
    def description(self) -> str:
        """The tool's description for the model."""
        return self._definition[0]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema that the model sees; `schema` and `parameters` are the same."""
        return self._definition[1]

    schema = parameters = input_schema

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the schema that the model sees."""
        return deepcopy(self.input_schema)

    async def __call__(self, call: Any, context: Any = None) -> Any:
        """Run a tool call, as `OperationTool` does; the result is Amplifier's."""
        try:
            read = read_call(call)
        except InputError:
            read = ToolCall(name="")
        if read.name != self.name:  # the tool reports the error
            return translate_result(await self._tool(call, context))
        return await self.execute({**read.arguments, _CALL_ID: read.id}, context=context)

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,
    ) -> Any:
        """Run the call; hooks hear of its start and its end."""
        call_id = self._call_id(input)
        facts: dict[str, Any] = {"tool_call_id": call_id[:_LONGEST_ID]} if call_id else {}
        await self._emit("started", facts)
        start = time.perf_counter()
        # The session ends at once: nothing new may begin, above all no write.
        if _read(_read(self._coordinator, "cancellation"), "is_immediate") is True:
            reason = f"{self.name} was not called, because the session is ending."
            result = ToolResult.failed("denied", reason)
        else:
            result = await self._tool.execute(input, context=self._context(context))
        facts |= {"success": result.success, "duration": round(time.perf_counter() - start, 6)}
        if result.error is not None:
            facts["error_type"] = result.error.get("type")
        await self._emit("completed" if result.success else "error", facts)
        return translate_result(result.for_call(call_id))

    def _context(self, context: Any) -> Any:
        context = Context(state=self._coordinator) if context is None else context
        can_ask = _read(self._coordinator, "approval_system") is not None
        if not can_ask or context_value(context, "approve") is not None:
            return context
        return replace_context_values(context, approve=self._approve, offered=self._called or None)

    def _call_id(self, arguments: object) -> str:
        # loop-streaming stores it by the calling task; loop-basic does not expose it.
        calls = _read(self._coordinator, "_tool_dispatch_contexts")
        call = calls.get(asyncio.current_task()) if isinstance(calls, dict) else None
        call_id = call.get("tool_call_id") if isinstance(call, dict) else None
        return call_id if isinstance(call_id, str) and call_id else read_call_id(arguments)

    async def _emit(self, event: str, facts: dict[str, Any]) -> None:
        name, data = f"{self.name}:{event}", {"tool_name": self.name, **facts}
        with suppress(Exception):  # a failing hook does not fail the call
            await await_user_code(self._coordinator.hooks.emit(name, data))

    async def _approve(self, call: ToolCall) -> bool:
        prompt = await make_question(self._called.get(call.name, self._tool), call)
        try:
            answer = await self._coordinator.approval_system.request_approval(
                prompt, [_YES, _NO], _WAIT, "deny"
            )
        except (ApprovalTimeoutError, TimeoutError):
            reason = f"{call.name} was not approved: no answer within {_WAIT:.0f} seconds."
            raise DeniedError(reason) from None
        return bool(answer == _YES)


def _read(holder: Any, name: str) -> Any:
    # Attributes of a coordinator may be missing, or properties that raise.
    with suppress(Exception):
        return getattr(holder, name, None)
    return None


def translate_result(result: ToolResult) -> Any:
    """Return a result as the `ToolResult` of `amplifier_core`."""
    blocks = make_blocks(result, lambda text: {"type": "text", "text": text}, _image)
    has_images = any(block["type"] == "image" for block in blocks)
    output = "\n".join(map(str, contents_of(result.output, ""))) if has_images else result.output
    # The message quotes the API's own error; a model would read it twice with `body`.
    error = result.error and {key: result.error[key] for key in result.error if key != "body"}
    content = blocks if has_images else None
    adapted = AmplifierResult(success=result.success, output=output, error=error, content=content)
    return adapted.set_origin(result)


def _image(data: str, media_type: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


class AmplifierResult(CoreResult):  # type: ignore[misc]  # it ships no types
    """A result that is readable under every orchestrator.

    loop-basic gives the model `to_dict()` if a result has it, else `str(result)`; this class has no
    `to_dict`. loop-streaming gives it `model_dump()`, as JSON if that is an object or an array.
    """

    _origin: ToolResult | None = PrivateAttr(default=None)

    def set_origin(self, origin: ToolResult | None) -> Self:
        """Set the original result and return this one."""
        self._origin = origin
        return self

    def _source(self) -> ToolResult:
        return self._origin or ToolResult.ok(self.output)

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return not self.success

    # Those of the original result.
    tool_call_id = property(lambda self: self._source().tool_call_id)
    metadata = property(lambda self: self._source().metadata)
    header_note = property(lambda self: self._source().header_note)

    def as_content(self) -> list[TextContent | ImageContent]:
        """Return the result as contents for a model: text and images."""
        return self._source().as_content()

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model."""
        # Amplifier's method drops control characters, and has messages for empty results.
        own_text = ToolResult.ok(self.output, self.metadata, header_note=self.header_note)
        text = "" if self.output is None and not self.success else str(own_text)
        empty = CoreResult(success=self.success, error=self.error)
        serialized = (
            CoreResult(output=text).get_serialized_output() or empty.get_serialized_output()
        )
        return str(serialized)

    def __str__(self) -> str:
        return self.get_serialized_output()

    def model_copy(self, *, update: dict[str, Any] | None = None, deep: bool = False) -> Any:
        """Return a copy with the images, which a dump leaves out."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        data = {**(deepcopy(fields) if deep else fields), **(update or {})}
        return type(self).model_validate(data).set_origin(self._origin)

    def model_dump(self, **options: Any) -> Any:
        """Return the output for a model; with any option the fields, as pydantic does."""
        if options:
            return super().model_dump(**options)
        whole = isinstance(self.output, dict | list) and not self.header_note
        return self.output if whole else str(self)

    @model_serializer(mode="wrap")
    def serialize_model(self, handler: Any, info: Any) -> Any:
        """Leave out images, and properties that are empty or repeat another."""
        dump = handler(self)
        if not self.content or info.mode == "python":
            dump.pop("content", None)
        if self.error is None:
            dump.pop("error", None)
        elif self.output == self.error.get("message"):
            dump.pop("output", None)
        return dump
