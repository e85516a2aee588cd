"""The sandbox: the one module that knows pydantic-monty.

A program runs in a process of its own, which ends with the run. What crosses the border is JSON,
prints, and the variables, as bytes that this process keeps and hands back.
"""

from __future__ import annotations

import atexit
import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openapi_tools.code.limits import CodeLimits
    from openapi_tools.errors import ErrorType

try:
    from pydantic_monty import (
        AsyncMonty,
        CollectString,
        MontyCrashedError,
        MontyError,
        MontyRuntimeError,
        MontySyntaxError,
        MontyTypingError,
    )
except ImportError as missing:
    needed = f"{missing.name} is not installed: pip install 'openapi-tools[code]'"
    raise MissingExtraError(needed, extra="code") from missing

_PRINTED = 1024 * 1024
"""Bytes of prints; more end the program."""
_KEPT = 32 * 1024 * 1024
"""Bytes of variables that are kept for the next program."""
_WAITS = 1000
"""Names that are looked up, and pauses, beside the calls."""
_SHOWN = 2000
_HUGE = re.compile(r"[0-9]{309}")
_STOP = "\n__stop: int = ''"
_RULES = frozenset(
    {"invalid-argument-type", "missing-argument", "unknown-argument"}
    | {"too-many-positional-arguments", "parameter-already-assigned"}
)

# A thread of the package that wakes an event loop would abort a process that ends meanwhile.
atexit.register(time.sleep, 0.02)

_PRELUDE = """
import json as __json
ApiError = RuntimeError
async def __call(name, args, kwargs):
    try:
        text = __json.dumps([name, args, kwargs], allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(name + ": " + (__fault([args, kwargs], "arguments") or str(error)))
    answer = await __host(text)
    return __json.loads(answer) if type(answer) is bytes else answer
async def call(name, arguments=None, **others):
    return await __call(name, [], {**(arguments or {}), **others})
async def pages(function, *args, **kwargs):
    if type(function) is str:
        return await __call(function, args, {**kwargs, "__pages": True})
    return await function(*args, **kwargs, __pages=True)
def __text(value):
    try:
        return __json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        return "!" + (__fault(value, "the result") or str(error))
def __fault(value, place):
    waiting = [(value, place, [])]
    while waiting:
        value, place, above = waiting.pop()
        if value is None or isinstance(value, (bool, str)):
            continue
        if isinstance(value, int):
            if abs(value) >= 10 ** 308:
                return place + " is a number with more than 308 digits"
        elif isinstance(value, float):
            if not -1.8e308 < value < 1.8e308:
                return place + " is " + str(value) + ", which JSON does not have"
        elif not isinstance(value, (list, tuple, dict)):
            kind = type(value).__name__
            return place + " is of type " + kind + ", which JSON does not have; convert it"
        elif id(value) in above:
            return place + " holds itself"
        elif len(above) == 100:
            return place[:80] + "... is nested deeper than 100"
        else:
            named = isinstance(value, dict)
            for key, item in value.items() if named else enumerate(value):
                if named and not isinstance(key, (str, int, float, type(None))):
                    return place + " has a key of type " + type(key).__name__ + "; use a text"
                waiting.append((item, place + "[" + repr(key) + "]", above + [id(value)]))
    return ""
"""


@dataclass(slots=True)
class Outcome:
    """The end of a program.

    Attributes:
        value: What the program returned, as JSON text; empty after a failure.
        printed: Its prints.
        state: Its variables, for the next program; None where they cannot be kept.
        kind: Of the failure; None without one.
        reason: Of the failure, with its line.
    """

    value: str = ""
    printed: str = ""
    state: bytes | None = None
    kind: ErrorType | None = None
    reason: str = ""


async def run(
    texts: tuple[str, str],
    host: Callable[[str], Awaitable[Any]],
    limits: CodeLimits,
    outcome: Outcome,
    state: bytes | None = None,
) -> None:
    """Run a program to its outcome; nothing is raised but cancellation.

    Args:
        texts: Definitions of the functions that it uses, and the program, which leaves its value in
            the variable `__value`.
        host: Called with `[name, args, kwargs]` as JSON text for each call; returns a JSON value,
            which a large one is as bytes, or raises an exception with a message for the program.
        limits: Of the run.
        outcome: Is filled in.
        state: Variables of an earlier program, which this process has made.
    """
    printed, (functions, code) = CollectString(_PRINTED), texts
    sandbox = AsyncMonty(max_processes=1, request_timeout=None)
    try:
        async with sandbox as pool, pool.checkout(limits=_limits(limits)) as session:
            if state is not None:
                await session.load_session(state)
            await session.feed_run(("" if state else _PRELUDE) + functions + "\n__value = None")
            try:
                told: Any = {"external_lookup": {"__host": host}, "print_callback": printed}
                await session.feed_run(code, **told)
                outcome.value = await session.feed_run("__text(__value)")
                if _HUGE.search(outcome.value):
                    fault = await session.feed_run("__fault(__value, 'the result')")
                    outcome.value = f"!{fault}" if fault else outcome.value
            except (MontyRuntimeError, MontySyntaxError) as error:
                outcome.kind, outcome.reason = _failure(error)
            if outcome.kind in (None, "invalid_input"):
                state = await session.dump()
                outcome.state = state if len(state) <= _KEPT else None
    except MontyCrashedError:
        outcome.kind, outcome.reason = "protocol", "the sandbox ended unexpectedly"
    except MontyError as error:
        outcome.kind, outcome.reason = _failure(error)
    finally:
        outcome.printed = printed.output
    if outcome.value.startswith("!"):
        reason = f"{outcome.value[1:_SHOWN]}. Return JSON."
        outcome.value, outcome.kind, outcome.reason = "", "invalid_input", reason
    if outcome.kind == "too_large" and len(outcome.printed) > _PRINTED // 2:
        outcome.reason = "the program printed too much"


async def mistakes(code: str, stubs: str, limits: CodeLimits) -> list[str]:
    """Return the calls in a program whose arguments do not fit, without running it."""
    checked: Any = {"type_check": True, "type_check_stubs": stubs, "type_check_format": "json"}
    sandbox = AsyncMonty(max_processes=1, request_timeout=limits.seconds)
    try:
        async with sandbox as pool, pool.checkout(limits=_limits(limits), **checked) as session:
            await session.feed_run(code + _STOP)  # whose last line is never right
    except MontyTypingError as error:
        found, lines = json.loads(error.display()), code.split("\n")
        return [text for each in found if (text := _mistake(each, lines))]
    except MontyError:
        pass  # the run says it better
    return []


def _mistake(found: dict[str, Any], lines: list[str]) -> str:
    """Return a mistake in words; empty for one that the call itself has to tell."""
    row, column = found["location"]["row"], found["location"]["column"]
    message = str(found["message"]).replace("`", "")
    given = message.rpartition("found ")[2]
    is_open = lines[row - 1 : row] and lines[row - 1][column - 1 :].startswith("*")
    is_sure = not is_open and not any(word in given for word in (" | ", "None", "Unknown", "Any"))
    is_known = found["code"] in _RULES and re.search(r"\b(?:of|to) function \w", message)
    if not is_known or (found["code"] == "invalid-argument-type" and not is_sure):
        return ""
    return f"line {row}: {message[:300]}"


def _limits(limits: CodeLimits) -> Any:
    return {
        "max_feed_duration_secs": float(limits.cpu_seconds),
        "max_memory": int(limits.memory_bytes),
        "max_recursion_depth": int(limits.recursion),
        "max_suspensions": 2 * int(limits.calls) + _WAITS,
        "max_total_sleep_secs": float(limits.seconds),
    }


def _failure(error: MontyError) -> tuple[ErrorType, str]:
    """Return the kind and the words of a failure, with the line of the program."""
    inner = error.exception()
    text = str(inner)[:_SHOWN]
    kind: ErrorType = "invalid_input"
    if isinstance(inner, TimeoutError) and "limit exceeded" in text:
        return "timeout", f"the program computed too long: {text}"
    if isinstance(inner, MemoryError):
        return "too_large", f"the program took too much memory: {text}"
    frames = error.traceback() if isinstance(error, MontyRuntimeError | MontySyntaxError) else []
    own = [frame.line for frame in frames if frame.filename == frames[0].filename]
    place = f"line {own[-1]}: " if own else ""
    return kind, f"{place}{type(inner).__name__}: {text}"
