"""Copies of tools that call a mock, and the recorder of their calls."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import DeniedError, InputError
from openapi_tools.redaction import redact_data
from openapi_tools.result import ToolResult
from openapi_tools.tools.tool_call_reader import read_call, read_value
from openapi_tools.toolsets.document_info import DocumentInfo
from openapi_tools.toolsets.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.result import ToolCall
    from openapi_tools.testing.mock import MockApi
    from openapi_tools.tools.tool import OperationTool

MOCK_ADDRESS = "http://mock.invalid"
MOST_CALLS = 100
"""The most calls of a run whose case sets no limit."""


@dataclass(slots=True, eq=False)
class ToolUse:
    """A call of a tool that a model, or its program, made.

    Attributes:
        tool: The name that was called, also if no tool has it.
        arguments: As sent, with defaults and repairs; as passed, if nothing was sent.
        is_known: Whether there is such a tool.
        is_write: Whether the tool may change something.
        refusal: Why it failed: wrong arguments, no approval, or an error of the mock. Empty if it
            succeeded.
        is_denied: Whether the case did not approve it.
        is_excess: Whether it exceeded the limit of calls.
        secret_names: Names of values that the tool's schemas mark as secret.
    """

    tool: str
    arguments: dict[str, Any]
    is_known: bool = True
    is_write: bool = False
    refusal: str = ""
    is_denied: bool = False
    is_excess: bool = False
    secret_names: frozenset[str] = frozenset()

    @property
    def is_refused(self) -> bool:
        """Whether it failed, and not only because of the limit of calls."""
        return bool(self.refusal) and not self.is_excess

    def masked_arguments(self) -> dict[str, Any]:
        """Return the arguments with secrets masked."""
        masked: dict[str, Any] = redact_data(self.arguments, names=self.secret_names)
        return masked


@dataclass(slots=True, eq=False)
class CallRecorder:
    """The calls of one run, which also enforces their limit.

    Attributes:
        approves: The case's reply to requests for approval.
        limit: The most calls of tools.
        uses: The calls, in order.
        is_exceeded: Whether the model tried to make more calls, which are not sent.
        steps: Calls by the model itself, including those of search and code tools.
    """

    approves: bool = True
    limit: int = MOST_CALLS
    uses: list[ToolUse] = field(default_factory=list)
    is_exceeded: bool = False
    steps: int = 0

    def begin_run(self, *, approves: bool, limit: int) -> None:
        """Forget the calls of the previous run."""
        self.approves, self.limit = approves, limit
        self.uses, self.is_exceeded, self.steps = [], False, 0

    def count_step(self) -> None:
        """Count a call by the model itself: those of search and code tools are limited, too."""
        self.steps += 1
        self.is_exceeded = self.is_exceeded or self.steps > max(self.limit, MOST_CALLS) + 1

    def add(self, use: ToolUse) -> ToolUse:
        """Record a call.

        Raises:
            DeniedError: It exceeds the limit.
        """
        self.uses.append(use)
        if len(self.uses) > self.limit:
            self.is_exceeded = use.is_excess = True
            use.refusal = "the case allows no more calls."
            raise DeniedError(use.refusal)
        return use


# The call in progress in this task, which its guardrail completes.
_current_use: ContextVar[ToolUse | None] = ContextVar("_current_use", default=None)


class RecordedToolset(Toolset):
    """Copies of the tools of a toolset, which call a mock and record each call."""

    def __init__(self, toolset: Toolset, api: MockApi, recorder: CallRecorder) -> None:
        self.recorder = recorder
        session = toolset.session.copy_for_api(api.client(), MOCK_ADDRESS)
        tools = [tool.with_session(session) for tool in toolset]
        for tool in tools:
            tool.add_input_guardrails([_create_guard(tool, recorder)])
        info = DocumentInfo(
            skipped=toolset.skipped,
            security_schemes=toolset.security_schemes,
            document=lambda: toolset.document,
            bundled=lambda: toolset.bundled,
        )
        super().__init__(tools, session, info)

    async def call(self, call: Any, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
        """Call a tool as `Toolset.call` does, and record the call."""
        name, values = call, arguments
        if not isinstance(call, str):
            name, values = read_value(call, "name"), {}
            with suppress(InputError):  # the result reports it
                values = read_call(call).arguments
        try:
            use = self.recorder.add(self._make_use(name, values))
        except DeniedError as error:
            return ToolResult.failed("denied", error.reason)
        token = _current_use.set(use)
        try:
            result = await super().call(call, arguments, **options)
        finally:
            _current_use.reset(token)
        if result.is_error:
            use.refusal = use.refusal or str(result)
            error_type = (result.error or {}).get("type")
            use.is_denied = error_type == "denied" and not self.recorder.approves
        return result

    def _make_use(self, name: Any, values: Any) -> ToolUse:
        values = values if isinstance(values, dict) else {}
        visible = {key: value for key, value in values.items() if not key.startswith("_tool_call")}
        try:
            tool = self[name]
        except KeyError:
            return ToolUse(str(name), visible, is_known=False)
        return create_use(tool, visible)


def create_use(tool: OperationTool, arguments: dict[str, Any]) -> ToolUse:
    """Return a call of a tool that has not failed yet."""
    names = frozenset(tool.marked_values.names)
    return ToolUse(tool.name, arguments, is_write=not tool.read_only, secret_names=names)


def _create_guard(tool: OperationTool, recorder: CallRecorder) -> Callable[..., None]:
    def admit(call: ToolCall, _: Any) -> None:
        use = _current_use.get()
        if use is None or use.tool != tool.name:  # a page that a program requests
            use = recorder.add(create_use(tool, {}))
        use.arguments = call.arguments
        if use.is_write and not recorder.approves:
            raise DeniedError(f"{tool.name} was not approved.")

    return admit
