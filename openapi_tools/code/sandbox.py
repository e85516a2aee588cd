"""The sandbox, a process for each run, in pydantic-monty."""

from __future__ import annotations

import atexit
import io
import re
import time
import tokenize
from dataclasses import dataclass
from keyword import kwlist
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from tokenize import TokenInfo

    from openapi_tools.code.limits import CodeLimits
    from openapi_tools.errors import ErrorType

    Edit = tuple[tuple[int, int], int, str]
    """A position (row, column), how many characters are replaced there, and the replacement."""
    Line = list[tuple[TokenInfo, int]]
    """The tokens of a logical line, each with its bracket depth."""

with require_extra("code"):
    from pydantic_monty import (
        AsyncMonty,
        CollectString,
        MontyCrashedError,
        MontyError,
        MontyRuntimeError,
        MontySyntaxError,
    )

_PRINTED = 1024 * 1024  # bytes of prints; more end the program
_VARIABLES_BYTES = 32 * 1024 * 1024  # of the variables that the next program gets
# Suspensions beyond those of calls: each `sleep` and `gather` takes some.
_PAUSES = 1000
_LONGEST_MESSAGE = 2000
# JSON allows integers of any length, but most of its readers make them doubles, whose largest has
# 309 digits.
_HUGE = re.compile(r"(?<![0-9])[0-9]{309}")
# What to do about an error of a program, by a part of its message.
_ADVICE = {
    "'RuntimeError' object has no attribute": "str(error) has status and reason",
    "'coroutine' object is not callable": "write pages(function, argument=...)",
    "'coroutine' object": "await the call",
    "gather() does not yet support": "catch ApiError in a function around each call",
    "module 'asyncio' has no attribute": "use asyncio.gather",
    "'list' object is not an iterator": "write next(iter(...), None)",
    "No module named": "available modules: base64, collections, csv, dataclasses, datetime, "
    "decimal, functools, hashlib, itertools, json, math, random, re, time and typing",
}
# A thread of the package that wakes an event loop would abort a process that ends meanwhile.
atexit.register(time.sleep, 0.02)

_PRELUDE = """
import asyncio, json
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
        if isinstance(value, (int, float)):
            if isinstance(value, int) and abs(value) >= 10 ** 308:
                return place + " is a number with more than 308 digits"
            if not -1.8e308 < value < 1.8e308:
                return place + " is " + str(value) + ", which JSON does not have"
        elif not isinstance(value, (list, tuple, dict)):
            kind = type(value).__name__
            verb = "await" if kind == "coroutine" else "convert"
            return f"{place} is of type {kind}, which is not JSON; {verb} it"
        elif id(value) in above:
            return place + " contains itself"
        elif len(above) == 100:
            return place[:80] + "... is nested deeper than 100"
        else:
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                if not isinstance(key, (str, int, float, type(None))):
                    return f"{place} has a key of type {type(key).__name__}; use a string"
                waiting.append((item, f"{place}[{key!r}]", above + [id(value)]))
    return ""
"""


_FUNCTION = "async def {0}(*args, **kwargs): return await __call({0!r}, args, kwargs)"


@dataclass(slots=True)
class Outcome:
    """How a program ended: its value as JSON, or the kind and the reason of its failure."""

    value: str = ""
    printed: str = ""
    state: bytes | None = None  # its variables, if the next program may have them
    kind: ErrorType | None = None
    reason: str = ""


async def run_program(
    program: tuple[Iterable[str], str],
    host: Callable[[str], Awaitable[Any]],
    limits: CodeLimits,
    outcome: Outcome,
    state: bytes | None = None,
) -> None:
    """Run a program and fill in its outcome; raises nothing but cancellation.

    `host` makes a call, given as `[name, args, kwargs]` in JSON. It returns JSON-native data, or
    JSON as bytes if it is large.
    """
    printed, (names, code) = CollectString(_PRINTED), program
    lines = ["" if state else _PRELUDE, *map(_FUNCTION.format, names), "__value = None"]
    try:
        async with (
            AsyncMonty(max_processes=1) as pool,
            pool.checkout(limits=_monty_limits(limits)) as session,
        ):
            if state is not None:
                await session.load_session(state)
            await session.feed_run("\n".join(lines))
            try:
                await session.feed_run(
                    code, external_lookup={"__host": host}, print_callback=printed
                )
                outcome.value = str(await session.feed_run("__text(__value)"))
                if _HUGE.search(outcome.value):
                    fault = await session.feed_run("__fault(__value, 'the result')")
                    outcome.value = f"!{fault}" if fault else outcome.value
            except (MontyRuntimeError, MontySyntaxError) as error:
                outcome.kind, outcome.reason = _describe_failure(error)
            if outcome.kind in (None, "invalid_input"):  # otherwise the variables may be damaged
                dumped = await session.dump()
                outcome.state = dumped if len(dumped) <= _VARIABLES_BYTES else None
    except MontyError as error:
        outcome.kind, outcome.reason = _describe_failure(error)
    finally:
        outcome.printed = printed.output
    if outcome.value.startswith("!"):
        outcome.kind, outcome.reason = (
            "invalid_input",
            f"{outcome.value[1:_LONGEST_MESSAGE]}. Return JSON.",
        )
    if outcome.kind == "too_large" and len(outcome.printed) > _PRINTED // 2:
        outcome.reason = "the program printed too much"


def _monty_limits(limits: CodeLimits) -> Any:
    return {
        "max_feed_duration_secs": float(limits.cpu_seconds),
        "max_memory": int(limits.memory_bytes),
        "max_recursion_depth": int(limits.recursion),
        "max_suspensions": 2 * int(limits.calls) + _PAUSES,
        "max_total_sleep_secs": float(limits.seconds),
    }


def _describe_failure(error: MontyError) -> tuple[ErrorType, str]:
    inner = error.exception()
    text = str(inner)[:_LONGEST_MESSAGE]
    if isinstance(error, MontyCrashedError):
        return "protocol", "the sandbox ended unexpectedly"
    if isinstance(inner, TimeoutError) and "limit exceeded" in text:
        return "timeout", f"the program took too long: {text}"
    if isinstance(inner, MemoryError):
        return "too_large", f"the program took too much memory: {text}"
    frames = error.traceback() if isinstance(error, MontyRuntimeError | MontySyntaxError) else []
    lines = [frame.line for frame in frames if frame.filename == frames[0].filename]
    place = f"line {lines[-1]}: " if lines else ""
    advice_table = _ADVICE.items() if type(inner) is not RuntimeError else ()
    advice = next((f"; {words}" for part, words in advice_table if part in text), "")
    return "invalid_input", f"{place}{type(inner).__name__}: {text}{advice}"


_NOT_VALUES = {"@", *kwlist} - {"False", "None", "True", "await", "lambda", "not"}
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", "|=", "&=", "^=", ":"})
_BLANK = {tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}


def rewrite_program(code: str) -> str:
    """Return a program that the sandbox can run, and that leaves its value in `__value`."""
    code = code.replace("\r\n", "\n")
    try:
        lines = list(_logical_lines(tokenize.generate_tokens(io.StringIO(code).readline)))
    except (tokenize.TokenError, SyntaxError):
        return code
    edits = [*_return_edits(lines), *(_last_value_edits(lines[-1]) if lines else ())]
    for line in lines:
        edits += (*_async_for_edits(line), *_next_edits(line))
    rows = code.split("\n")
    for (row, column), size, text in sorted(edits, reverse=True):
        old = rows[row - 1]
        rows[row - 1] = old[:column] + text + old[column + size :]
    return "\n".join(rows)


def _logical_lines(tokens: Iterable[TokenInfo]) -> Iterator[Line]:
    # The colon of a lambda counts as inside brackets: it ends no statement.
    line: Line = []
    depth, lambdas = 0, list[int]()
    for token in tokens:
        text = token.string if token.type in (tokenize.OP, tokenize.NAME) else ""
        depth -= text in (")", "]", "}")
        if text == "lambda":
            lambdas.append(depth)
        is_own = text == ":" and bool(lambdas) and lambdas[-1] == depth
        if is_own:
            lambdas.pop()
        if token.type not in _BLANK and token.type != tokenize.NEWLINE:
            line.append((token, depth + is_own))
        elif token.type == tokenize.NEWLINE and line:
            yield line
            line = []
        depth += text in ("(", "[", "{")


def _return_edits(lines: list[Line]) -> Iterator[Edit]:
    # A `return` outside of functions stores its value, and then ends the program.
    functions: list[int] = []  # the columns of the functions around a line
    for line in lines:
        column = line[0][0].start[1]
        functions = [each for each in functions if each < column]
        if not {token.string for token, _ in line[:2]}.isdisjoint(("class", "def")):
            functions.append(column)
        for index, (token, _) in enumerate(line):
            if token.string == "return" and not functions:
                value = _find_end(line, index + 1, 0, (";",))
                if value > index + 1:
                    yield token.start, len("return"), "__value = ("
                    yield line[value - 1][0].end, 0, "); return"


def _last_value_edits(line: Line) -> Iterator[Edit]:
    # The value of the last statement is stored, or the `result` that it assigns.
    line = line[:-1] if line[-1][0].string == ";" and line[1:] else line
    ends = [at for at, (token, depth) in enumerate(line, 1) if (token.string, depth) == (";", 0)]
    statement = line[max(ends, default=0) :]
    first = line[0][0]
    if not statement or first.start[1] or {first.string, statement[0][0].string} & _NOT_VALUES:
        return
    if not any(depth == 0 and token.string in _ASSIGNS for token, depth in statement):
        yield statement[0][0].start, 0, "__value = ("
        yield statement[-1][0].end, 0, ")"
    elif statement[0][0].string == "result" and statement[1][0].string in _ASSIGNS:
        yield statement[-1][0].end, 0, "; __value = result"


def _async_for_edits(line: Line) -> Iterator[Edit]:
    # The sandbox has no `async for`: it loops over the awaited list.
    for index in range(len(line) - 1):
        (token, depth), (follower, _) = line[index : index + 2]
        if (token.string, follower.string) != ("async", "for"):
            continue
        start = _find_end(line, index + 2, depth, ("in",))
        end = _find_end(line, start + 1, depth, (":", "async", "for", "if"))
        if end > start + 1:
            is_same_line = follower.start[0] == token.start[0]
            yield (
                token.start,
                follower.start[1] - token.start[1] if is_same_line else len("async"),
                "",
            )
            if line[start + 1][0].string != "await":
                yield line[start][0].end, 0, " await ("
                yield line[end - 1][0].end, 0, ")"


def _next_edits(line: Line) -> Iterator[Edit]:
    # The sandbox makes a list of the generator in `next((… for …), …)`, which `next` refuses.
    for index in range(len(line) - 2):
        words = [token.string for token, _ in line[index : index + 3]]
        if words == ["next", "(", "("]:
            yield line[index + 2][0].start, 0, "iter"


def _find_end(line: Line, start: int, around: int, words: tuple[str, ...]) -> int:
    # The index of the next of some words at a depth, or of the token that closes its brackets.
    for index in range(start, len(line)):
        token, depth = line[index]
        if depth < around or (depth == around and token.string in words):
            return index
    return len(line)
