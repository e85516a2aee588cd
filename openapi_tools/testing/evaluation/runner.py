"""Run a case: a conversation between a model and tools that call the mock."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_values import dump_json_bytes
from openapi_tools.errors import DeniedError, InputError
from openapi_tools.result import Context
from openapi_tools.search.costs import offer_tools
from openapi_tools.testing.evaluation.judge import (
    CaseFault,
    describe_excess,
    describe_refusal,
    find_call_faults,
    find_state_faults,
)
from openapi_tools.testing.evaluation.model_replies import (
    ModelCall,
    ModelError,
    ModelReply,
    ask_model,
    count_tokens,
)
from openapi_tools.testing.evaluation.recorded_tools import (
    MOCK_ADDRESS,
    MOST_CALLS,
    CallRecorder,
    RecordedToolset,
    ToolUse,
)
from openapi_tools.testing.mock import mock_api
from openapi_tools.tools.tool_call_reader import read_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.result import ToolResult
    from openapi_tools.testing.evaluation.case_tables import EvalCase
    from openapi_tools.toolsets.toolset import Toolset

MODES = ("tools", "search", "code")
MOST_TURNS = 20
"""The most turns of a run whose case sets no limit."""


class TokenCounts(NamedTuple):
    """Tokens of the definitions, counted once, and of the messages read and written."""

    definitions: int = 0
    input: int = 0
    output: int = 0


@dataclass(slots=True, eq=False)
class CaseRun:
    """One run of a case.

    Attributes:
        name: The name of the case.
        seed: The seed that the model was passed.
        faults: What the model did wrong.
        refusals: Why calls failed, including those that the model corrected later.
        calls: Number of calls, including those of its programs.
        turns: Number of messages that the model wrote.
        tokens: Tokens that it read and wrote.
        seconds: The duration.
        messages: The conversation.
        secret_names: Names of secret values in the conversation.
    """

    name: str
    seed: int
    faults: list[CaseFault] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    calls: int = 0
    turns: int = 0
    tokens: TokenCounts = field(default_factory=TokenCounts)
    seconds: float = 0.0
    messages: list[dict[str, Any]] = field(default_factory=list)
    secret_names: frozenset[str] = frozenset()

    @property
    def passed(self) -> bool:
        """Whether the run has no fault."""
        return not self.faults


class CaseRunner:
    """Runs cases one after the other, each on a mock with its initial state.

    Args:
        toolset: The tools of one document.
        model: A function of messages and definitions.
        mode: `tools`, `search` or `code`.
        seconds: The timeout for one message of the model.
    """

    def __init__(
        self, toolset: Toolset, model: Callable[..., Any], *, mode: str, seconds: float
    ) -> None:
        self._api = mock_api(toolset, base_path="/")
        self._recorder = CallRecorder()
        self._tools = RecordedToolset(toolset, self._api, self._recorder)
        self._offered = offer_tools(self._tools, mode)[0]
        self._model, self._seconds = model, seconds
        self._profile = str(getattr(model, "profile", "openai"))
        self._definitions = dump_json_bytes(self._offered.definitions(self._profile))
        self._definition_tokens = count_tokens(json.loads(self._definitions))

    def reset(self) -> None:
        """Restore the initial state of the mock."""
        self._api.clear()

    async def run(self, case: EvalCase, *, seed: int) -> CaseRun:
        """Run a case and judge it."""
        started = time.perf_counter()
        limit = MOST_CALLS if case.forbid.calls is None else case.forbid.calls
        self.reset()
        self._recorder.begin_run(approves=case.approve, limit=limit)
        run = CaseRun(case.name, seed)
        run.tokens = TokenCounts(self._definition_tokens)
        try:
            await self._converse(case, run)
        except ModelError as error:
            run.faults.append(CaseFault("model_error", str(error)))
        else:
            run.faults += await find_state_faults(case, self.read_state)
        uses = self._recorder.uses
        has_failed = any(fault.type == "model_error" for fault in run.faults)
        run.faults[:0] = find_call_faults(case, uses, is_finished=not has_failed)
        run.calls = len(uses)
        run.secret_names = frozenset().union(*(use.secret_names for use in uses))
        run.refusals = [describe_refusal(use.tool, use.refusal) for use in uses if use.is_refused]
        run.seconds = time.perf_counter() - started
        return run

    async def aclose(self) -> None:
        """Close the tools."""
        await self._offered.aclose()
        await self._tools.aclose()

    async def _converse(self, case: EvalCase, run: CaseRun) -> None:
        # The model gets copies, as it may change what it is passed.
        tools = json.loads(self._definitions)
        most_turns = case.limits.turns or MOST_TURNS
        most_tokens = case.limits.tokens
        context = Context(approve=lambda _: case.approve, conversation=f"{case.name}/{run.seed}")
        run.messages.append({"role": "user", "content": case.task})
        while run.turns < most_turns:
            reply = await self._ask(run, tools)
            for call in reply.calls:
                await self._run_call(call, context, run)
                if self._recorder.is_exceeded:
                    run.faults.append(describe_excess("too_many_calls", self._recorder.limit))
                    break
            tokens = run.tokens.input + run.tokens.output
            if most_tokens is not None and tokens > most_tokens:
                run.faults.append(describe_excess("too_many_tokens", most_tokens))
                return
            if self._recorder.is_exceeded or not reply.calls:
                return
        run.faults.append(describe_excess("too_many_turns", most_turns))

    async def _ask(self, run: CaseRun, tools: list[dict[str, Any]]) -> ModelReply:
        run.turns += 1
        reply = await ask_model(
            self._model,
            json.loads(dump_json_bytes(run.messages)),
            tools,
            seed=run.seed,
            seconds=self._seconds,
            first_id=len(run.messages),
        )
        message = reply.as_message()
        read, written = sum(map(count_tokens, run.messages)), count_tokens(message)
        if reply.usage is not None:  # the API counts the definitions in each turn
            read, written = max(reply.usage[0] - self._definition_tokens, 0), reply.usage[1]
        tokens = run.tokens
        run.tokens = TokenCounts(tokens.definitions, tokens.input + read, tokens.output + written)
        run.messages.append(message)
        return reply

    async def _run_call(self, call: ModelCall, context: Context, run: CaseRun) -> None:
        recorder = self._recorder
        recorder.count_step()
        if recorder.is_exceeded:
            return
        count = len(recorder.uses)
        tool_call = {"id": call.id, "name": call.name, "arguments": call.arguments}
        result: ToolResult = await self._offered.call(
            tool_call, context=context, profile=self._profile
        )
        # A search or code tool may fail before it calls a tool of the API.
        if result.is_error and not any(use.refusal for use in recorder.uses[count:]):
            with suppress(DeniedError):
                recorder.add(self._make_failed_use(call, result))
        run.messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})

    def _make_failed_use(self, call: ModelCall, result: ToolResult) -> ToolUse:
        is_offered, arguments = call.name in self._offered, dict[str, Any]()
        with suppress(InputError):  # the result reports it
            arguments = read_call(call).arguments
        if not is_offered or "name" not in arguments:
            return ToolUse(call.name, {}, is_known=is_offered, refusal=str(result))
        name = str(arguments["name"])
        return ToolUse(name, {}, is_known=name in self._tools, refusal=str(result))

    async def read_state(self, path: str) -> tuple[int, Any]:
        """Return the status and the value of a GET at the mock; the value of an error is None."""
        async with self._api.client(base_url=MOCK_ADDRESS) as client:
            response = await client.get(path)
        try:
            return response.status_code, response.json() if response.is_success else None
        except ValueError:
            return response.status_code, response.text
