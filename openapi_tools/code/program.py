"""One run of a program: its functions, and its calls, which end with it."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.code import sandbox
from openapi_tools.code.program_text import prepared
from openapi_tools.code.sandbox import Outcome
from openapi_tools.errors import PendingApproval
from openapi_tools.json_values import compact
from openapi_tools.search.stubs import python_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.code.limits import CodeLimits
    from openapi_tools.errors import ErrorType

_RESERVED = frozenset({*dir(builtins), "ApiError", "asyncio", "call", "json", "pages"})
_WORD = re.compile(r"[^\W\d]\w*")
_LARGE_ANSWER = 32 * 1024
_LARGE = 4096
"""Characters of a program from which on it is read in a thread."""


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


def definitions(names: Iterable[str]) -> str:
    """Return the functions of a program as Python."""
    one = "async def {0}(*args, **kwargs): return await __call({0!r}, args, kwargs)"
    return "\n".join(["", *(one.format(name) for name in names)])


class Run:
    """A run of a program over the tools of a toolset.

    Its task ends with the outcome, and its calls end before. A call that needs an approval which
    only a later request can bring pauses the run: no call begins until `go_on`.
    """

    def __init__(self, toolset: Any, functions: Functions, limits: CodeLimits) -> None:
        self._toolset, self._functions, self._limits = toolset, functions, limits
        self._outcome = Outcome()
        self._calls: set[asyncio.Task[Any]] = set()
        self.count = self._active = self._waiting = self._asking = 0
        self._left, self._since = float(limits.seconds), 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._gate, self._paused, self._answered = (asyncio.Event() for _ in range(3))
        self._question = ""
        self._task: asyncio.Task[Outcome] | None = None
        self.context: Any = None
        self.ask: Any = None
        self.notes: list[str] = []

    def start(self, code: str, state: bytes | None, context: Any) -> None:
        """Begin."""
        self.go_on(context)
        self._task = asyncio.create_task(self._whole(code, state))

    def go_on(self, context: Any) -> None:
        """Begin or go on, with the context of a request."""
        self.context, self.ask = _CallContext(context, self), member(context, "approve")
        self._waiting = 0
        self._paused.clear()
        self._gate.set()
        answered, self._answered = self._answered, asyncio.Event()
        answered.set()

    @property
    def is_running(self) -> bool:
        """Whether its task has not ended."""
        return self._task is not None and not self._task.done()

    async def settled(self) -> Outcome | str:
        """Return the outcome, or the question that has to be answered before the run goes on."""
        task: Any = self._task
        paused = asyncio.ensure_future(self._paused.wait())
        try:
            await asyncio.wait([task, paused], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.end("timeout", "the run was cancelled")
            raise
        finally:
            paused.cancel()
        return task.result() if task.done() else self._question

    async def end(self, kind: ErrorType, reason: str) -> None:
        """End the run and its calls."""
        self._stop(kind, reason)
        await _joined([self._task] if self._task else [])

    def _stop(self, kind: ErrorType, reason: str) -> None:
        if not self._outcome.kind and self._task is not None:
            self._outcome.kind, self._outcome.reason = kind, reason
            self._task.cancel()

    async def _whole(self, code: str, state: bytes | None) -> Outcome:
        """Return the outcome, once all calls have ended."""
        outcome = self._outcome
        self._tick(on=True)
        try:
            own = definitions(self._functions.used(code))
            text = await asyncio.to_thread(prepared, code) if len(code) > _LARGE else prepared(code)
            await sandbox.run((own, text), self._call, self._limits, outcome, state)
        except asyncio.CancelledError:
            if not outcome.kind:
                raise
        finally:
            self._tick(on=False)
            for call in self._calls:
                call.cancel()
            await _joined(self._calls)
        return outcome

    def _tick(self, *, on: bool) -> None:
        """Let the clock of the wall time run, or stop it."""
        loop = asyncio.get_running_loop()
        if on:
            self._since = loop.time()
            words = f"the program took longer than {self._limits.seconds:g} s"
            self._timer = loop.call_later(max(self._left, 0), self._stop, "timeout", words)
        elif self._timer is not None:
            self._timer.cancel()
            self._left -= loop.time() - self._since

    async def _call(self, text: str) -> Any:
        """Make a call of the program and return its answer."""
        task: Any = asyncio.current_task()
        self._calls.add(task)
        try:
            await self._gate.wait()
            self._active += 1
            try:
                return await self._answer(*json.loads(text))
            finally:
                self._active -= 1
                self._pause_if_quiet()
        except _CallFailedError as error:
            raise RuntimeError(str(error)) from None
        finally:
            self._calls.discard(task)

    async def _answer(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self._counted()
        tool = self._functions.tools.get(name)
        name = name if tool is None or name in self._toolset else tool.name
        if kwargs.pop("__pages", False):
            return await self._pages(name, args, kwargs)
        arguments = self._bound(name, args, kwargs)
        result = await self._toolset.call(name, arguments, context=self.context)
        if not result.success:
            raise _CallFailedError(result.error["message"])
        return _crossing(result.output, compact(result.output))

    async def _pages(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> bytes:
        """Return the items of all pages; those of a page are written before the next is asked."""
        most, written, items, size = kwargs.pop("max_items", None), 0, [], 0
        told: Any = {"max_items": most, "max_pages": self._limits.calls, "context": self.context}
        pages = self._toolset.pages(name, self._bound(name, args, kwargs), **told)
        async for item in pages:
            if pages.pages > written + 1:
                written += 1
                self._counted()
            items.append(compact(item))
            size += len(items[-1])
            if size > self._limits.memory_bytes // 2:
                raise _CallFailedError(f"pages of {name}: the items are too large; give max_items")
        if pages.error is not None:
            raise _CallFailedError(f"{pages.error.error['message']} (after {pages.items} items)")
        if pages.reason not in ("complete", "max_items"):
            self.notes.append(f"pages of {name} stopped: {pages.stopped}")
        return b"[%b]" % b",".join(items)

    def _counted(self) -> None:
        self.count += 1
        if self.count > self._limits.calls:
            words = f"the program made more than {self._limits.calls} calls"
            self._stop("too_large", words)
            raise _CallFailedError(words)

    def _bound(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by their own names."""
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
                    answer = self.ask(call)
                    return await answer if inspect.isawaitable(answer) else answer
                except PendingApproval as error:
                    await self._answer_to(error.reason)
        finally:
            self._asking -= 1
            if not self._asking and not self._outcome.kind:
                self._tick(on=True)

    async def _answer_to(self, question: str) -> None:
        """Wait for the request that answers a question."""
        answered, self._question = self._answered, question
        self._waiting += 1
        self._pause_if_quiet()
        await answered.wait()

    def _pause_if_quiet(self) -> None:
        if self._waiting and self._waiting == self._active:
            self._gate.clear()
            self._paused.set()


class _CallFailedError(Exception):
    """A call that fails, in words for the program."""


class _CallContext:
    """The context of calls in a program: that of the run, but for approval and whole answers."""

    whole = True
    answer = fields = None

    def __init__(self, context: Any, run: Run) -> None:
        self._context = context
        if callable(member(context, "approve")):
            self.approve = run.approve

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if isinstance(self._context, Mapping):
            return self._context.get(name)
        return getattr(self._context, name, None)


def member(context: Any, name: str) -> Any:
    """Return a member of a context, or of a mapping like it; None without it."""
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)


def _crossing(value: Any, text: bytes) -> Any:
    """Return a value, or its text where the package would keep the event loop busy with it."""
    return value if len(text) < _LARGE_ANSWER and value is not None else text


async def _joined(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait for tasks to end, also where the wait is cancelled meanwhile."""
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            continue
