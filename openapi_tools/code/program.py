"""One run of a program: its functions, and its calls, which end with it."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.code import sandbox
from openapi_tools.code.sandbox import Outcome, prepared
from openapi_tools.errors import ErrorType, PendingApproval, counted
from openapi_tools.json_values import dump_json_bytes
from openapi_tools.observability import report_unknown
from openapi_tools.options import close_names, member_of, nearest, with_members
from openapi_tools.search.producers import parts
from openapi_tools.search.stubs import python_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.code.limits import CodeLimits

_RESERVED = frozenset({*dir(builtins), "ApiError", "asyncio", "call", "json", "pages"})
_WORD = re.compile(r"[^\W\d]\w*")
_STRANGE = re.compile(r"Argument (\w+) does not match any known parameter of function (\w+)$")
_UNKNOWN = re.compile(r"NameError: name '(\w+)' is not defined$")
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_TYPES |= {"array": "list[Any]", "object": "dict[str, Any]"}
_AT_ONCE = 16  # calls of a program in flight; their answers are in memory
_LARGE_ANSWER = 32 * 1024  # bytes whose conversion would keep the event loop busy
_AT_A_TIME = 1000  # items of pages between which others have a turn
_LARGE = 4096  # characters of a program from which on it is read in a thread


class Functions:
    """The functions of the tools of a toolset, by the names that programs use."""

    def __init__(self, tools: Iterable[Any]) -> None:
        self.tools: dict[str, Any] = {}
        for tool in sorted(tools, key=lambda tool: tool.name != python_name(tool.name)):
            name = python_name(tool.name)
            if name not in _RESERVED and not name.startswith("__"):
                self.tools.setdefault(name, tool)

    def used(self, code: str) -> list[str]:
        """Return the names of functions that a program has among its words."""
        return [word for word in dict.fromkeys(_WORD.findall(code)) if word in self.tools]

    def missing(self, tool: Any) -> bool:
        """Tell whether a tool has no function of its own, so that `call` has to reach it."""
        return self.tools.get(python_name(tool.name)) is not tool

    def corrected(self, mistake: str) -> str:
        """Return a mistake; of an unknown argument also its place, or the nearest names."""
        found = _STRANGE.search(mistake)
        if found is None or found[2] not in self.tools:  # a function of the program
            return mistake
        name, schema = found[1], self.tools[found[2]].input_schema
        known = schema.get("properties", {})
        for each, node in known.items():
            if any(name in (part.get("properties") or ()) for _, part in parts(node, schema)):
                return f"{mistake}: it belongs inside {python_name(each)}"
        near = nearest(name, map(python_name, known))
        return f"{mistake} (did you mean {' or '.join(near)}?)" if near else mistake

    def declared(self, names: Iterable[str]) -> str:
        """Return functions as declarations with types, which programs are checked against."""
        lines = (f"async def {name}({_parameters(self.tools[name])}) -> Any: ..." for name in names)
        return "\n".join(["from typing import Any, Literal", *lines])


def _parameters(tool: Any) -> str:
    schema = tool.input_schema
    kinds = {python_name(each): _type(node) for each, node in schema.get("properties", {}).items()}
    needed = [*dict.fromkeys(map(python_name, schema.get("required", ())))]
    rest = [f"{name}: {kind} = ..." for name, kind in kinds.items() if name not in needed]
    given = [f"{name}: {kinds.get(name, 'Any')}" for name in needed]
    return ", ".join([*given, *["*"] * bool(rest), *rest])


def _type(node: Any) -> str:
    kind = node.get("type") if isinstance(node, dict) else None
    choices = node.get("enum", ()) if kind in ("string", "integer") else ()
    if choices and all(isinstance(each, str | int) for each in choices):
        return f"Literal[{', '.join(map(repr, choices))}]"
    return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


class Run:
    """A run of a program; a call that needs a later request's approval pauses it until `go_on`."""

    def __init__(self, toolset: Any, functions: Functions, limits: CodeLimits) -> None:
        self._toolset, self._functions, self._limits = toolset, functions, limits
        self._longest = max(each.settings.max_input_chars for each in toolset.sessions)
        self._outcome = Outcome()
        self._calls: set[asyncio.Task[Any]] = set()
        self.count = self._active = self._waiting = self._asking = 0
        self._left, self._since = float(limits.seconds), 0.0
        self._timer: Any = None
        self._gate, self._paused, self._answered = (asyncio.Event() for _ in range(3))
        self._question = ""
        self._task: Any = None
        self._context: Any = None
        self._ask: Any = None
        self._turn = asyncio.Lock()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self.notes: list[str] = []

    def start(self, code: str, state: bytes | None, context: Any) -> None:
        """Begin."""
        self.go_on(context)
        self._task = asyncio.create_task(self._whole(code, state))

    def go_on(self, context: Any) -> None:
        """Begin or go on, with the context of a request."""
        self._ask = member_of(context, "approve")
        approve = self.approve if callable(self._ask) else None
        own: Any = {"approve": approve, "whole": True, "answer": None, "fields": None}
        self._context = with_members(context, **own)
        self._waiting = 0
        self._paused.clear()
        self._gate.set()
        answered, self._answered = self._answered, asyncio.Event()
        answered.set()

    @property
    def is_running(self) -> bool:
        """Whether its task has not ended."""
        return not self._task.done()

    @property
    def waits(self) -> bool:
        """Whether it waits for an answer."""
        return self._paused.is_set()

    @property
    def asks(self) -> bool:
        """Whether a person is asked about one of its calls."""
        return bool(self._asking)

    @property
    def is_here(self) -> bool:
        """Whether it can go on in this event loop."""
        return self.is_running and self._task.get_loop() is asyncio.get_running_loop()

    async def settled(self) -> Outcome | str:
        """Return the outcome, or the question that has to be answered before the run goes on."""
        paused = asyncio.ensure_future(self._paused.wait())
        try:
            await asyncio.wait([self._task, paused], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.end("timeout", "the run was cancelled")
            await self.ended()
            raise
        finally:
            paused.cancel()
        return self._question if self.is_running else self._task.result()

    def end(self, kind: ErrorType, reason: str) -> None:
        """End the run and its calls."""
        if not self._outcome.kind:
            self._outcome.kind, self._outcome.reason = kind, reason
            self._task.cancel()

    async def ended(self) -> None:
        """Wait for the end of the run."""
        await _joined([self._task])

    async def _whole(self, code: str, state: bytes | None) -> Outcome:
        outcome = self._outcome
        self._tick(on=True)
        try:
            used = self._functions.used(code)
            stubs = self._functions.declared(used) if used else ""
            wrong = await sandbox.mistakes(code, stubs, self._limits) if used else []
            if wrong:
                told = map(self._functions.corrected, wrong)
                outcome.kind, outcome.reason = "invalid_input", f"{'; '.join(told)}. Nothing ran."
                return outcome
            text = await asyncio.to_thread(prepared, code) if len(code) > _LARGE else prepared(code)
            await sandbox.run((used, text), self._call, self._limits, outcome, state)
            if unknown := _UNKNOWN.search(outcome.reason):
                report_unknown(self._context, unknown[1], is_call=False)
                outcome.reason += close_names(unknown[1], self._functions.tools)
        except asyncio.CancelledError:
            if not outcome.kind:
                raise
        finally:
            self._tick(on=False)
            self._timer = None
            for call in self._calls:
                call.cancel()
            await _joined(self._calls)
        return outcome

    def _tick(self, *, on: bool) -> None:
        loop = asyncio.get_running_loop()
        if on:
            self._since = loop.time()
            words = f"the program took longer than {self._limits.seconds:g} s"
            self._timer = loop.call_later(max(self._left, 0), self.end, "timeout", words)
        else:
            self._timer.cancel()
            self._left -= loop.time() - self._since

    async def _call(self, text: str) -> Any:
        task: Any = asyncio.current_task()
        self._calls.add(task)
        try:
            async with self._places:
                return await self._made(text)
        except (_CallFailedError, TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from None
        finally:
            self._calls.discard(task)

    async def _made(self, text: str) -> Any:
        await self._gate.wait()
        self._active += 1
        try:
            if len(text) > self._longest:
                raise _CallFailedError(f"the arguments have over {self._longest} characters")
            name, args, kwargs = json.loads(text)
            return await self._answer(str(name), list(args), dict(kwargs))
        finally:
            self._active -= 1
            self._pause_if_quiet()

    async def _answer(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        await self._counted()
        tool = self._functions.tools.get(name)
        name = name if tool is None or name in self._toolset else tool.name
        if kwargs.pop("__pages", False):
            return await self._pages(name, args, kwargs)
        arguments = self._bound(name, args, kwargs)
        context = self._context
        if key := member_of(context, "idempotency_key"):  # each call is a write of its own
            context = with_members(context, idempotency_key=f"{key}/{self.count}")
        result = await self._toolset.call(name, arguments, context=context)
        if not result.success:
            raise _CallFailedError(result.error["message"])
        if "truncated" in result.metadata:
            self.notes.append(f"of an answer of {name} only the beginning was read")
        async with self._turn:
            text = dump_json_bytes(result.output)
            if len(text) <= _LARGE_ANSWER:
                return result.output
            await asyncio.sleep(0)  # several at once would keep the event loop busy
            return text

    async def _pages(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> bytes:
        async def count(pages: Any) -> None:
            if not pages.reason:  # there is a next one
                await self._counted()

        told: Any = {"max_items": kwargs.pop("max_items", None), "context": self._context}
        pages = self._toolset.pages(name, self._bound(name, args, kwargs), on_page=count, **told)
        text = bytearray()
        async for item in pages:
            text += b",%b" % dump_json_bytes(item)
            if len(text) > self._limits.memory_bytes // 2:
                raise _CallFailedError(f"pages of {name}: the items are too large; give max_items")
            if pages.items % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        if pages.error is not None:
            after = counted(pages.items, "item")
            raise _CallFailedError(f"{pages.error.error['message']} (after {after})")
        if pages.reason not in ("complete", "max_items"):
            self.notes.append(f"pages of {name} stopped: {pages.stopped}")
        return b"[%b]" % bytes(text[1:])

    async def _counted(self) -> None:
        """Count a request; the run ends before one too many."""
        self.count += 1
        if self.count > self._limits.calls:
            most = counted(self._limits.calls, "call")
            self.end("too_large", f"the program made more than {most}")
            await asyncio.Event().wait()  # until it is cancelled

    def _bound(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
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
            own = key if key in properties else names.get(key, key)
            if own in bound:
                raise _CallFailedError(f"{name} got {key} twice")
            bound[own] = value
        return bound

    async def approve(self, call: Any) -> Any:
        """Ask about a call; the clock stands still, and the run pauses where it has to."""
        self._asking += 1
        if self._asking == 1:
            self._tick(on=False)
        try:
            while True:
                try:
                    answer = self._ask(call) if callable(self._ask) else False
                    return await answer if inspect.isawaitable(answer) else answer
                except PendingApproval as error:
                    answered, self._question = self._answered, error.reason
                    self._waiting += 1
                    self._pause_if_quiet()
                    await answered.wait()
        finally:
            self._asking -= 1
            if not self._asking and self._timer is not None:
                self._tick(on=True)

    def _pause_if_quiet(self) -> None:
        if self._waiting and self._waiting == self._active:
            self._gate.clear()
            self._paused.set()


class _CallFailedError(Exception):
    """A call that fails, in words for the program."""


async def _joined(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait for tasks to end, also where the wait is cancelled meanwhile."""
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            continue
