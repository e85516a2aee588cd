"""Tools as Amplifier takes them, and their calls as its hooks hear of them."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import import_extra
from openapi_tools.contracts.amplifier.amplifier_results import translated
from openapi_tools.errors import DeniedError, InputError
from openapi_tools.result import ToolResult
from openapi_tools.tools.context import Context, member_of, with_approve
from openapi_tools.tools.guardrails import question_of, settled
from openapi_tools.tools.pipeline import call_id_in
from openapi_tools.tools.tool_call import ToolCall, read_call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.tools.tool import OperationTool

_CHANNEL = "observability.events"
_EVENTS = ("started", "completed", "error")
_CALL_ID = "_tool_call_id"
_YES, _NO = "Allow", "Deny"
_WAIT = 300.0
_LONGEST_ID = 256


def present(
    coordinator: Any, tools: Iterable[OperationTool]
) -> AbstractContextManager[list[Presented]]:
    """Give the tools as Amplifier takes them, and announce their events."""
    presented = [Presented(tool, coordinator) for tool in tools]
    events = [f"{tool.name}:{event}" for tool in presented for event in _EVENTS]
    coordinator.register_contributor(_CHANNEL, "openapi-tools", events.copy)
    return _Announced(presented, events)


class _Announced(AbstractContextManager["list[Presented]"]):
    """A context of its own class: a generator would end when it is freed, not only when left."""

    def __init__(self, presented: list[Presented], events: list[str]) -> None:
        self._presented = presented
        self._events = events

    def __enter__(self) -> list[Presented]:
        return self._presented

    def __exit__(self, *_: object) -> None:
        self._events.clear()  # a contributor cannot be taken back


class Presented:
    """A tool whose results are those of `amplifier_core`, and whose calls are told to its hooks.

    What it does not have itself is the tool's: `annotations`, `read_only`, `schema` and the rest.

    Args:
        tool: What is called.
        coordinator: Where it is mounted.
    """

    def __init__(self, tool: OperationTool, coordinator: Any) -> None:
        self._tool = tool
        self._coordinator = coordinator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tool, name)

    def __repr__(self) -> str:
        return repr(self._tool)

    @property
    def name(self) -> str:
        """The tool's name, under which it is mounted."""
        return self._tool.name

    @property
    def description(self) -> str:
        """For the model."""
        return self._tool.description

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the input."""
        return self._tool.input_schema

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
        return self._tool.get_schema()

    async def __call__(self, call: Any, context: Any = None) -> Any:
        """Run a tool call, as `OperationTool` does; the result is Amplifier's."""
        try:
            read = read_call(call)
        except InputError:
            read = ToolCall(name="")
        if read.name != self.name:  # the tool says what is wrong
            return translated(await self._tool(call, context))
        return await self.execute({**read.arguments, _CALL_ID: read.id}, context=context)

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,
    ) -> Any:
        """Call the API."""
        call_id = self._call_id(input)
        facts: dict[str, Any] = {"tool_call_id": call_id[:_LONGEST_ID]} if call_id else {}
        await self._tell("started", facts)
        start = time.perf_counter()
        result = await self._result(input, self._context(context))
        facts |= {"success": result.success, "duration": round(time.perf_counter() - start, 6)}
        if result.error is not None:
            facts["error_type"] = result.error.get("type")
        await self._tell("completed" if result.success else "error", facts)
        return translated(result.for_call(call_id))

    async def _result(self, given: dict[str, Any], context: Any) -> ToolResult:
        if _told(_told(self._coordinator, "cancellation"), "is_immediate") is True:
            return ToolResult.failed("denied", f"{self.name} was not called: the session ends.")
        return await self._tool.execute(given, context=context)

    def _context(self, given: Any) -> Any:
        """Return what belongs to a call."""
        context = Context(state=self._coordinator) if given is None else given
        asks = _told(self._coordinator, "approval_system") is not None
        if not asks or member_of(context, "approve") is not None:
            return context
        return with_approve(context, self._approve)

    def _call_id(self, given: object) -> str:
        """Return the id of this call, as far as coordinator or input tell it.

        loop-streaming tells it by the task that calls; loop-basic keeps it to itself.
        """
        calls = _told(self._coordinator, "_tool_dispatch_contexts")
        call = calls.get(asyncio.current_task()) if isinstance(calls, dict) else None
        known = call.get("tool_call_id") if isinstance(call, dict) else None
        return known if isinstance(known, str) and known else call_id_in(given)

    async def _tell(self, event: str, facts: dict[str, Any]) -> None:
        name, data = f"{self.name}:{event}", {"tool_name": self.name, **facts}
        with suppress(Exception):  # who listens decides nothing about the call
            hooks = self._coordinator.hooks
            if _is_heard(hooks, name):
                await settled(hooks.emit(name, data))

    async def _approve(self, call: ToolCall) -> bool:
        """Ask the coordinator's approval system."""
        tool = self._tool
        prompt = question_of(tool, call)
        nobody = import_extra("amplifier_core.approval", "amplifier").ApprovalTimeoutError
        try:
            answer = await self._coordinator.approval_system.request_approval(
                prompt, [_YES, _NO], _WAIT, "deny"
            )
        except (nobody, TimeoutError):
            reason = f"{tool.name} was not approved: nobody answered in {_WAIT:.0f} seconds."
            raise DeniedError(reason) from None
        return bool(answer == _YES)


def _is_heard(hooks: Any, event: str) -> bool:
    """Tell whether somebody may listen; an event is emitted in a fifth of a millisecond."""
    listeners = getattr(hooks, "list_handlers", None)
    known = listeners(event) if callable(listeners) else None
    return not isinstance(known, dict) or any(known.values())


def _told(holder: Any, name: str) -> Any:
    """Return what a coordinator says, nothing where its own code fails."""
    with suppress(Exception):
        return getattr(holder, name, None)
    return None
