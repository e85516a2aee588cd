"""Check the types of a program's calls without running it."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from openapi_tools.code.limits import CodeLimits

with require_extra("code"):
    from pydantic_monty import AsyncMonty, CollectString, MontyError, MontyTypingError

# The first line of every checked text: a type error, so that nothing runs whatever follows. If it
# did run, it would raise.
_STOP = '"" + 1'
_MOST_MISTAKES = 5
_LONGEST_MESSAGE = 2000
# A value of an optional or unknown type may well fit when the program runs.
_UNSURE_TYPE = re.compile(r" \| |None|Unknown|Any")
_RULES = frozenset(
    {"invalid-argument-type", "missing-argument", "unknown-argument"}
    | {"too-many-positional-arguments", "parameter-already-assigned"}
)
_GRACE = 1.0  # seconds that a check may take beyond the computing time of a program
_MOST_IDLE = 4  # checkers of one event loop
_IDLE_SECONDS = 60.0
# A checker keeps part of all that it reads, so it is replaced after some hundred programs, or after
# a slow one.
_MOST_CHARACTERS = 1_000_000
_SLOW = 1.0  # seconds


class _ProgramChecker:
    """A process that checks one program at a time.

    Attributes:
        process: Ends the process.
        used_at: When its last check ended.
    """

    def __init__(self) -> None:
        self.process, self.used_at = AsyncExitStack(), 0.0
        self._session: Any = None
        self._characters = 0

    @property
    def is_fresh(self) -> bool:
        """Whether it may check another program."""
        return self._characters < _MOST_CHARACTERS

    async def find_diagnostics(self, text: str) -> list[dict[str, Any]]:
        """Return what is wrong with a text that begins with `_STOP`."""
        if self._session is None:
            pool = await self.process.enter_async_context(AsyncMonty(max_processes=1))
            checkout = pool.checkout(type_check=True, type_check_format="json")
            self._session = await self.process.enter_async_context(checkout)
        diagnostics: list[dict[str, Any]] = []
        began_at = time.monotonic()
        try:
            await self._session.feed_run(text, print_callback=CollectString())
        except MontyTypingError as error:
            diagnostics = json.loads(error.display())
        self.used_at = time.monotonic()
        is_usual = bool(diagnostics) and self.used_at - began_at < _SLOW
        self._characters += len(text) if is_usual else _MOST_CHARACTERS
        return diagnostics


class _IdleCheckers:
    """The checkers of an event loop that no program is using."""

    def __init__(self) -> None:
        self._checkers: list[_ProgramChecker] = []
        self._is_timed = False
        self._closing: set[asyncio.Task[None]] = set()  # a loop keeps no task alive

    def take(self) -> _ProgramChecker | None:
        """Return the checker that was used last, if there is one."""
        return self._checkers.pop() if self._checkers else None

    def keep(self, checker: _ProgramChecker) -> bool:
        """Keep a checker; False if there are enough."""
        if len(self._checkers) >= _MOST_IDLE:
            return False
        self._checkers.append(checker)
        if not self._is_timed:
            self._start_timer()
        return True

    async def close_with_loop(self) -> AsyncGenerator[None]:
        """Yield once, and end the processes when the generator is closed."""
        try:
            yield
        finally:
            _idle.pop(asyncio.get_running_loop(), None)
            while checker := self.take():
                await checker.process.aclose()

    def _start_timer(self) -> None:
        self._is_timed = True
        asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._drop_unused)

    def _drop_unused(self) -> None:
        since = time.monotonic() - _IDLE_SECONDS
        unused = [checker for checker in self._checkers if checker.used_at <= since]
        self._checkers = [checker for checker in self._checkers if checker.used_at > since]
        for checker in unused:
            # Without this, a process ends only when its checker is collected as garbage.
            closing = asyncio.ensure_future(checker.process.aclose())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._is_timed = False
        if self._checkers:
            self._start_timer()


# The first check of a process takes thirty times as long as a later one, so checkers are reused.
# No program runs in them, and none sees another. An event loop that ends closes its asynchronous
# generators, and so the processes.
_idle: dict[asyncio.AbstractEventLoop, tuple[_IdleCheckers, AsyncGenerator[None]]] = {}


async def _idle_checkers() -> _IdleCheckers:
    loop = asyncio.get_running_loop()
    if loop not in _idle:
        idle = _IdleCheckers()
        _idle[loop] = idle, idle.close_with_loop()
        await anext(_idle[loop][1])
    return _idle[loop][0]


async def find_mistakes(code: str, declarations: str, limits: CodeLimits) -> list[str]:
    """Return the calls in a program whose arguments have wrong types, without running it."""
    head = f"{_STOP}\n{declarations}\n"
    idle = await _idle_checkers()
    checker = idle.take() or _ProgramChecker()
    try:
        async with asyncio.timeout(limits.cpu_seconds + _GRACE), checker.process:
            diagnostics = await checker.find_diagnostics(head + code)
            if checker.is_fresh and idle.keep(checker):
                checker.process = checker.process.pop_all()
    except (MontyError, TimeoutError):
        return []  # the run will give a better message
    rows = code.split("\n")
    mistakes = (_describe_mistake(each, rows, head.count("\n")) for each in diagnostics)
    return [*filter(None, mistakes)][:_MOST_MISTAKES]


def _describe_mistake(diagnostic: dict[str, Any], rows: list[str], above: int) -> str:
    # Empty unless it is certainly a mistake, and in a call of a function by the program itself.
    row, column = diagnostic["location"]["row"] - above, diagnostic["location"]["column"]
    message = str(diagnostic["message"]).replace("`", "")[:_LONGEST_MESSAGE]
    is_one_row = diagnostic["end_location"]["row"] == diagnostic["location"]["row"]
    end = diagnostic["end_location"]["column"] - 1 if is_one_row else None
    source = "".join(rows[max(row - 1, 0) : max(row, 0)])[column - 1 : end]
    is_call = diagnostic["code"] in _RULES and re.search(r"\b(?:of|to) function \w", message)
    actual = message.rpartition("found ")[2] if "Expected " in message else "Literal["
    is_sure = actual.startswith("Literal[") or "Literal[" not in message
    is_ours = row < 1 or source.startswith("*")
    if is_ours or not is_call or not is_sure or _UNSURE_TYPE.search(actual):
        return ""
    return f"line {row}: {source[:100]}: {message}"
