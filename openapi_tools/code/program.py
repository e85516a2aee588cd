"""One run of a program: its functions and its calls, which end with it."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.code import sandbox
from openapi_tools.code.sandbox import Outcome, rewrite_program
from openapi_tools.code.type_check import find_mistakes
from openapi_tools.common.json_values import dump_json_bytes
from openapi_tools.common.options import (
    close_names,
    context_value,
    replace_context_values,
    similar_names,
)
from openapi_tools.common.visible_text import python_name
from openapi_tools.errors import ErrorType, PendingApproval, format_count
from openapi_tools.observability import report_unknown
from openapi_tools.search.producers import iter_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.code.limits import CodeLimits

_RESERVED = frozenset({*dir(builtins), "ApiError", "asyncio", "call", "json", "pages"})
_WORD = re.compile(r"[^\W\d]\w*")
_UNKNOWN_ARGUMENT = re.compile(
    r"Argument (\w+) does not match any known parameter of function (\w+)$"
)
_UNKNOWN_NAME = re.compile(r"NameError: name '(\w+)' is not defined$")
# Names of types that a program does not use for something else.
_TYPE_NAMES = """\
from builtins import bool as __bool, dict as __dict, float as __float, int as __int
from builtins import list as __list, str as __str
from typing import Any as __Any, Literal as __Literal
__unset: __Any = None"""
_TYPES = {"string": "__str", "integer": "__int", "number": "__float", "boolean": "__bool"}
_TYPES |= {"array": "__list[__Any]", "object": "__dict[__str, __Any]"}
_AT_ONCE = 16  # calls of a program in flight; their responses are in memory
_LARGE_OUTPUT = 32 * 1024  # bytes; converting more would keep the event loop busy
_AT_A_TIME = 1000  # items of pages after which other tasks may run
_LARGE = 4096  # characters; a longer program is tokenized in a thread


class ProgramFunctions:
    """The functions of the tools of a toolset, by the names that programs use."""

    def __init__(self, tools: Iterable[Any]) -> None:
        self.tools: dict[str, Any] = {}
        self._declarations: dict[str, str] = {}
        for tool in sorted(tools, key=lambda tool: tool.name != python_name(tool.name)):
            name = python_name(tool.name)
            if name not in _RESERVED and not name.startswith("__"):
                self.tools.setdefault(name, tool)

    def find_names(self, code: str) -> list[str]:
        """Return the names of functions that occur in a program."""
        return [word for word in dict.fromkeys(_WORD.findall(code)) if word in self.tools]

    def needs_call(self, tool: Any) -> bool:
        """Whether a tool has no function of its own, so that programs need `call` for it."""
        return self.tools.get(python_name(tool.name)) is not tool

    def explain_mistake(self, mistake: str) -> str:
        """Add to a mistake about an unknown argument where it belongs, or similar names."""
        match = _UNKNOWN_ARGUMENT.search(mistake)
        if match is None or match[2] not in self.tools:  # a function of the program
            return mistake
        name, schema = match[1], self.tools[match[2]].input_schema
        properties = schema.get("properties", {})
        for each, node in properties.items():
            if any(name in (part.get("properties") or ()) for _, part in iter_parts(node, schema)):
                return f"{mistake}: it belongs inside {python_name(each)}"
        similar = similar_names(name, map(python_name, properties))
        return f"{mistake} (did you mean {' or '.join(similar)}?)" if similar else mistake

    def declare(self, names: Iterable[str]) -> str:
        """Return typed declarations of functions, for the type check of a program."""
        return "\n".join([_TYPE_NAMES, *map(self._declare_function, names)])

    def _declare_function(self, name: str) -> str:
        if name not in self._declarations:
            parameters = _parameter_list(self.tools[name])
            self._declarations[name] = f"async def {name}({parameters}) -> __Any: ..."
        return self._declarations[name]


def _parameter_list(tool: Any) -> str:
    schema = tool.input_schema
    kinds = {
        python_name(each): _python_type(node) for each, node in schema.get("properties", {}).items()
    }
    required = [*dict.fromkeys(map(python_name, schema.get("required", ())))]
    optional_parts = [
        f"{name}: {kind} = __unset" for name, kind in kinds.items() if name not in required
    ]
    required_parts = [f"{name}: {kinds.get(name, '__Any')}" for name in required]
    if optional_parts:
        optional_parts.insert(0, "*")
    return ", ".join([*required_parts, *optional_parts])


def _python_type(node: Any) -> str:
    kind = node.get("type") if isinstance(node, dict) else None
    choices = node.get("enum", ()) if kind in ("string", "integer") else ()
    if choices and all(isinstance(each, str | int) for each in choices):
        return f"__Literal[{', '.join(map(repr, choices))}]"
    return _TYPES.get(kind, "__Any") if isinstance(kind, str) else "__Any"


class ProgramRun:
    """A run of a program.

    A call whose approval comes with a later request pauses the run until `resume`.
    """

    def __init__(self, toolset: Any, functions: ProgramFunctions, limits: CodeLimits) -> None:
        self._toolset, self._functions, self._limits = toolset, functions, limits
        self._longest = max(each.settings.max_input_chars for each in toolset.sessions)
        self._outcome = Outcome()
        self._calls: set[asyncio.Task[Any]] = set()
        self.count = self._active_calls = self._waiting_calls = self._open_questions = 0
        self._seconds_left, self._clock_started_at = float(limits.seconds), 0.0
        self._timer: Any = None
        self._gate, self._paused, self._answered = (asyncio.Event() for _ in range(3))
        self._question = ""
        self._task: Any = None
        self._context: Any = None
        self._ask_person: Any = None
        # Large outputs are converted one after the other: sixteen at once would hold all in
        # memory twice.
        self._output_lock = asyncio.Lock()
        self._call_slots = asyncio.Semaphore(_AT_ONCE)
        self.notes: list[str] = []

    def start(self, code: str, state: bytes | None, context: Any) -> None:
        """Start the program."""
        self.resume(context)
        self._task = asyncio.create_task(self._run_program(code, state))

    def resume(self, context: Any) -> None:
        """Start or go on, with the context of a request."""
        self._ask_person = context_value(context, "approve")
        approve = self.approve if callable(self._ask_person) else None
        self._context = replace_context_values(
            context, approve=approve, whole=True, answer=None, fields=None
        )
        self._waiting_calls = 0
        self._paused.clear()
        self._gate.set()
        answered, self._answered = self._answered, asyncio.Event()
        answered.set()

    @property
    def is_running(self) -> bool:
        """Whether the program has not ended."""
        return not self._task.done()

    @property
    def is_waiting(self) -> bool:
        """Whether it is paused until a person answers."""
        return self._paused.is_set()

    @property
    def is_asking(self) -> bool:
        """Whether a person is asked about one of its calls."""
        return bool(self._open_questions)

    @property
    def is_in_this_loop(self) -> bool:
        """Whether it runs in this event loop."""
        return self.is_running and self._task.get_loop() is asyncio.get_running_loop()

    async def wait_for_outcome(self) -> Outcome | str:
        """Return the outcome, or the question that pauses the run."""
        paused = asyncio.ensure_future(self._paused.wait())
        try:
            await asyncio.wait([self._task, paused], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.end("timeout", "the run was cancelled")
            await self.wait_until_done()
            raise
        finally:
            paused.cancel()
        return self._question if self.is_running else self._task.result()

    def end(self, kind: ErrorType, reason: str) -> None:
        """End the run and its calls."""
        if not self._outcome.kind:
            self._outcome.kind, self._outcome.reason = kind, reason
            self._task.cancel()

    async def wait_until_done(self) -> None:
        """Wait for the end of the run."""
        await _join_tasks([self._task])

    async def _run_program(self, code: str, state: bytes | None) -> Outcome:
        outcome = self._outcome
        self._set_clock(on=True)
        try:
            names = self._functions.find_names(code)
            stubs = self._functions.declare(names) if names else ""
            mistakes = await find_mistakes(code, stubs, self._limits) if names else []
            if mistakes:
                explained = map(self._functions.explain_mistake, mistakes)
                outcome.kind, outcome.reason = (
                    "invalid_input",
                    f"{'; '.join(explained)}. Nothing ran.",
                )
                return outcome
            text = (
                await asyncio.to_thread(rewrite_program, code)
                if len(code) > _LARGE
                else rewrite_program(code)
            )
            await sandbox.run_program(
                (names, text), self._handle_call, self._limits, outcome, state
            )
            if unknown := _UNKNOWN_NAME.search(outcome.reason):
                report_unknown(self._context, unknown[1], is_call=False)
                outcome.reason += close_names(unknown[1], self._functions.tools)
        except asyncio.CancelledError:
            if not outcome.kind:
                raise
        finally:
            self._set_clock(on=False)
            self._timer = None
            for call in self._calls:
                call.cancel()
            await _join_tasks(self._calls)
        return outcome

    def _set_clock(self, *, on: bool) -> None:
        loop = asyncio.get_running_loop()
        if on:
            self._clock_started_at = loop.time()
            reason = f"the program took longer than {self._limits.seconds:g} s"
            self._timer = loop.call_later(max(self._seconds_left, 0), self.end, "timeout", reason)
        else:
            self._timer.cancel()
            self._seconds_left -= loop.time() - self._clock_started_at

    async def _handle_call(self, text: str) -> Any:
        task: Any = asyncio.current_task()
        self._calls.add(task)
        try:
            async with self._call_slots:
                return await self._make_call(text)
        except (_CallFailedError, TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from None
        finally:
            self._calls.discard(task)

    async def _make_call(self, text: str) -> Any:
        await self._gate.wait()
        self._active_calls += 1
        try:
            if len(text) > self._longest:
                raise _CallFailedError(f"the arguments have over {self._longest} characters")
            name, args, kwargs = json.loads(text)
            return await self._call_function(str(name), list(args), dict(kwargs))
        finally:
            self._active_calls -= 1
            self._pause_if_quiet()

    async def _call_function(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        await self._count_request()
        tool = self._functions.tools.get(name)
        name = name if tool is None or name in self._toolset else tool.name
        if kwargs.pop("__pages", False):
            return await self._collect_pages(name, args, kwargs)
        arguments = self._bind_arguments(name, args, kwargs)
        context = self._context
        # Each call of a program is its own write.
        if key := context_value(context, "idempotency_key"):
            context = replace_context_values(context, idempotency_key=f"{key}/{self.count}")
        result = await self._toolset.call(name, arguments, context=context)
        if not result.success:
            raise _CallFailedError(result.error["message"])
        if "truncated" in result.metadata:
            self.notes.append(f"a response of {name} was cut: only its beginning was read")
        async with self._output_lock:
            text = dump_json_bytes(result.output)
            if len(text) <= _LARGE_OUTPUT:
                return result.output
            await asyncio.sleep(0)  # other tasks run between the conversions of large outputs
            return text

    async def _collect_pages(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> bytes:
        async def count(pages: Any) -> None:
            if not pages.reason:  # there is a next page
                await self._count_request()

        max_items = kwargs.pop("max_items", None)
        pages = self._toolset.pages(
            name,
            self._bind_arguments(name, args, kwargs),
            max_items=max_items,
            context=self._context,
            on_page=count,
        )
        text = bytearray()
        async for item in pages:
            text += b",%b" % dump_json_bytes(item)
            if len(text) > self._limits.memory_bytes // 2:
                raise _CallFailedError(f"pages of {name}: the items are too large; pass max_items")
            if pages.items % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        if pages.error is not None:
            after = format_count(pages.items, "item")
            raise _CallFailedError(f"{pages.error.error['message']} (after {after})")
        if pages.reason not in ("complete", "max_items"):
            self.notes.append(f"pages of {name} stopped: {pages.stopped}")
        return b"[%b]" % bytes(text[1:])

    async def _count_request(self) -> None:
        self.count += 1
        if self.count > self._limits.calls:
            most = format_count(self._limits.calls, "call")
            self.end("too_large", f"the program made more than {most}")
            await asyncio.Event().wait()  # until `end` has cancelled this task

    def _bind_arguments(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        if name not in self._toolset:
            return kwargs
        schema = self._toolset[name].input_schema
        properties, required = schema.get("properties", {}), schema.get("required", ())
        if not args and properties.keys() >= kwargs.keys():
            return kwargs
        if len(args) > len(required):
            order = ", ".join(map(python_name, required)) or "none"
            raise _CallFailedError(f"{name} takes these arguments without a name: {order}")
        names = {python_name(each): each for each in reversed(properties)}
        bound = dict(zip(required, args, strict=False))
        for key, value in kwargs.items():
            argument = key if key in properties else names.get(key, key)
            if argument in bound:
                raise _CallFailedError(f"{name} got {key} twice")
            bound[argument] = value
        return bound

    async def approve(self, call: Any) -> Any:
        """Ask a person about a call; the clock of the run is stopped meanwhile."""
        self._open_questions += 1
        if self._open_questions == 1:
            self._set_clock(on=False)
        try:
            while True:
                try:
                    answer = self._ask_person(call) if callable(self._ask_person) else False
                    return await answer if inspect.isawaitable(answer) else answer
                except PendingApproval as error:
                    answered, self._question = self._answered, error.reason
                    self._waiting_calls += 1
                    self._pause_if_quiet()
                    await answered.wait()
        finally:
            self._open_questions -= 1
            if not self._open_questions and self._timer is not None:
                self._set_clock(on=True)

    def _pause_if_quiet(self) -> None:
        if self._waiting_calls and self._waiting_calls == self._active_calls:
            self._gate.clear()
            self._paused.set()


class _CallFailedError(Exception):
    """A failed call; the message is for the program."""


async def _join_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    # Also if this task is cancelled while it waits: no call may outlive its program.
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            continue
