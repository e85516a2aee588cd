"""The two tools of code mode: `search` and `run_code`."""

from __future__ import annotations

import asyncio
import json
import secrets
import weakref
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from openapi_tools.code.limits import CodeLimits
from openapi_tools.code.program import ProgramFunctions, ProgramRun
from openapi_tools.common.options import context_value, type_name
from openapi_tools.errors import SettingsError
from openapi_tools.responses.json_content import cut_value
from openapi_tools.result import ToolResult
from openapi_tools.search.meta_tools import MetaTool, closed_object
from openapi_tools.search.stubs import describe_tool, write_stubs
from openapi_tools.state.shared_state import FairShares, has_free_slot

if TYPE_CHECKING:
    from openapi_tools.code.sandbox import Outcome

_HITS = 8
_DESCRIBED = 10
_AT_ONCE = 16  # programs that run, and as many that are paused by a question, of all users
_ASKING = 16  # programs of one user that ask in an open request
_VARIABLES_BYTES = 256 * 1024 * 1024  # bytes of the variables of all conversations
# Counted for each conversation at least, so there are 100 at most.
_LEAST_VARIABLES = _VARIABLES_BYTES // 100
_PAUSE_SECONDS = 600.0  # seconds after which a program ends whose question was not answered
_LONGEST = 50_000
_PARSED = 1_000_000  # characters of a value that is parsed; a longer one stays a string
_NOTES = 10
_SEARCH = (
    "Find functions of the API for a task. Use its nouns and verbs; several lines are several "
    "queries. Returns signatures for run_code; `# id: from x`: call x first, it yields id. "
    "Pass names of functions to get all their arguments."
)
_RUN = """\
Run Python that calls the API's functions, in a sandbox. The value of the last expression, or of
`return`, comes back, with what is printed: filter and sum up in the program.
`await list_issues(owner="o")`: arguments by name; responses are plain JSON data, complete.
`for x in await pages(list_issues, owner="o", max_items=500)`: the items of all pages.
`await call("odd-name", {"a": 1})`: any function by name. `asyncio.gather` works.
A failed call raises ApiError; str(error) has status and reason. Variables stay for the next run.
No files, network, classes with bases, `del`, `yield` or `async with`."""


def make_code_tools(toolset: Any, limits: CodeLimits | None = None) -> list[MetaTool]:
    """Return the two tools over a toolset; SettingsError for limits of another type."""
    if not isinstance(limits, CodeLimits | None):
        raise SettingsError(f"limits must be CodeLimits(seconds=…, …), not {type_name(limits)}.")
    mode = _CodeMode(toolset, limits or CodeLimits())
    run = _input_schema("code", _LONGEST)
    return [
        MetaTool("search", _SEARCH, _input_schema("query", 2000), mode.search),
        MetaTool("run_code", _RUN, run, mode.run, read_only=False, close=mode.close),
    ]


def _input_schema(name: str, longest: int) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1, "maxLength": longest}
    return closed_object({name: text}, name)


class _CodeMode:
    """The programs of one toolset, their variables by conversation, and those that are paused."""

    def __init__(self, toolset: Any, limits: CodeLimits) -> None:
        self._toolset, self._limits = toolset, limits
        self._states: dict[Any, tuple[Any, bytes]] = {}
        self._state_shares = FairShares(_VARIABLES_BYTES)
        self._paused: dict[str, tuple[Any, ProgramRun, asyncio.TimerHandle]] = {}
        self._paused_shares = FairShares(_AT_ONCE)
        # The users of the programs.
        self._runs: weakref.WeakKeyDictionary[ProgramRun, Any] = weakref.WeakKeyDictionary()

    @cached_property
    def _functions(self) -> ProgramFunctions:
        return ProgramFunctions(self._toolset)

    async def search(self, call: Any, _: Any) -> ToolResult:
        return ToolResult.ok(await asyncio.to_thread(self._find_functions, call.arguments["query"]))

    def _find_functions(self, query: str) -> str:
        names, tools = dict.fromkeys(query.split()), self._functions.tools
        requested = [tools[name] for name in names] if names.keys() <= tools.keys() else []
        sections = [
            describe_tool(each, self._toolset.producers(each.name))
            for each in requested[:_DESCRIBED]
        ]
        if sections and "_" in query:  # a name of one word may be meant as a search term
            return "\n\n".join(sections)
        if hits := self._toolset.search(query, _HITS):
            call_only = [hit.tool.name for hit in hits if self._functions.needs_call(hit.tool)]
            notes = [f"# {name}: call({json.dumps(name)}, {{…}})" for name in call_only]
            sections.append("\n".join([write_stubs(hits, python=True), *notes]))
        return "\n\n".join(sections) or "No function matches; try other words."

    async def run(self, call: Any, context: Any) -> ToolResult:
        code, resume = call.arguments["code"], context_value(context, "resume")
        key, owner = _conversation(context)
        user = context_value(context, "user") or (key if owner is not None else None)
        asked_by = (code, key, context_value(context, "user"))
        paused = self._paused.get(resume) if isinstance(resume, str) else None
        if paused is not None and paused[0] == asked_by and paused[1].is_in_this_loop:
            run = self._take_paused(resume)
            run.resume(context)
        elif resume is not None:
            reason = "The program that asked has ended; nothing was repeated."
            return ToolResult.failed("denied", reason)
        elif busy := self._capacity_error(user):
            return ToolResult.failed("rate_limited", busy, facts={"retryable": True})
        else:
            run = ProgramRun(self._toolset, self._functions, self._limits)
            run.start(code, self._states.get(key, (None, None))[1], context)
            self._runs[run] = user
        outcome = await run.wait_for_outcome()
        if isinstance(outcome, str):  # a question; its answer comes with a later request
            name = secrets.token_urlsafe(24)
            timer = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self._expire, name)
            self._paused[name] = (asked_by, run, timer)
            for leaving in self._paused_shares.add(name, user):
                self._expire(leaving)
            return ToolResult.failed("denied", outcome, metadata={"run": name})
        result = self._make_result(outcome, run)
        if outcome.state is not None and key is not None:
            self._store_variables(key, owner, user, outcome.state)
        return result

    def _capacity_error(self, user: Any) -> str:
        # Empty if the user may start a program now.
        running = [run for run in self._runs if run.is_running and not run.is_waiting]
        asking = [run for run in running if run.is_asking]
        owned = sum(self._runs[run] == user for run in running if not run.is_asking)
        taken = len(running) - len(asking)
        if sum(self._runs[run] == user for run in asking) >= _ASKING:
            return f"{_ASKING} of your programs are waiting for approval; answer those first."
        if taken >= _AT_ONCE:
            return f"{_AT_ONCE} programs are already running; try again."
        # A running program may have written, so it is never ended to make way for another. Instead,
        # a user is refused before all slots are taken. Anonymous callers have no share.
        if user is not None and not has_free_slot(owned, taken, _AT_ONCE):
            return f"{owned} of your programs are already running; wait for one to finish."
        return ""

    async def close(self) -> None:
        """End the programs that run or are paused in this event loop."""
        runs = [run for run in self._runs if run.is_in_this_loop]
        for name in [name for name, (_, run, _) in self._paused.items() if run in runs]:
            self._expire(name)
        for run in runs:
            run.end("denied", "its tools were closed")
            await run.wait_until_done()

    def _take_paused(self, name: str) -> ProgramRun:
        _, run, timer = self._paused.pop(name)
        self._paused_shares.remove(name)
        timer.cancel()
        return run

    def _expire(self, name: str) -> None:
        self._take_paused(name).end("denied", "no answer came")

    def _make_result(self, outcome: Outcome, run: ProgramRun) -> ToolResult:
        limit, printed = self._limits.output_chars, outcome.printed
        facts = {"calls": run.count, "printed": printed}
        if outcome.kind:
            shown = {"printed": cut_value(printed, limit)} if printed else None
            reason = f"{outcome.reason[0].upper()}{outcome.reason[1:]}"
            return ToolResult.failed(outcome.kind, reason, metadata=facts, facts=shown)
        value: Any = outcome.value
        try:
            short = len(value) <= _PARSED
            value = from_json(value, allow_inf_nan=False) if short else value[: limit + 1]
        except ValueError as error:  # nested too deeply, or the program has replaced `__text`
            outcome.state, reason = None, f"The result is not readable JSON: {error}."
            return ToolResult.failed("invalid_input", reason, metadata=facts)
        if printed:
            value = printed if value is None else {"result": value, "printed": printed}
        elif value is None:
            run.notes.append("the value of the program is None, and nothing was printed")
        cut = cut_value(value, limit)
        if cut is not value:
            run.notes.insert(
                0,
                f"cut at {limit} characters; return less, for instance only some properties of "
                "each item",
            )
        notes = islice(dict.fromkeys(run.notes), _NOTES)
        return ToolResult.ok(cut, facts, header_note="; ".join(notes))

    def _store_variables(self, key: Any, owner: Any, user: Any, state: bytes) -> None:
        self._states[key] = (owner, state)
        for leaving in self._state_shares.add(key, user, max(len(state), _LEAST_VARIABLES)):
            del self._states[leaving]


def _conversation(context: Any) -> tuple[Any, Any]:
    # The key of the call's conversation, None for none, and the object whose conversation it is.
    owner = context_value(context, "conversation")
    if owner is not None:
        return (owner if isinstance(owner, str | int) else (id(owner),)), owner
    # With these, the next context may be of another user: programs share no variables.
    is_anyones = any(context_value(context, name) is not None for name in ("credentials", "state"))
    return (None if is_anyones else ("",)), None
