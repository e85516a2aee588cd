"""The text of a program, made ready for the sandbox; it is read as tokens and never run here."""

from __future__ import annotations

import io
import tokenize
from keyword import kwlist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from tokenize import TokenInfo

    Edit = tuple[tuple[int, int], int, str]
    """A place (row, column), a number of characters there, and the text in their place."""
    Line = list[tuple[TokenInfo, int]]
    """The tokens of a logical line, each with the number of brackets around it."""

_NOT_VALUES = {"@", *kwlist} - {"False", "None", "True", "await", "lambda", "not"}
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", "|=", "&=", "^=", ":"})
_BLANK = {tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}


def prepared(code: str) -> str:
    """Return a program as the sandbox takes it, which leaves its value in `__value`."""
    code = code.replace("\r\n", "\n")
    try:
        lines = list(_lines(tokenize.generate_tokens(io.StringIO(code).readline)))
    except (tokenize.TokenError, SyntaxError):
        return code
    edits = [
        *_returns(lines),
        *(edit for line in lines for edit in (*_loops(line), *_firsts(line))),
    ]
    edits += _last(lines[-1]) if lines else []
    rows = code.split("\n")
    for (row, column), size, text in sorted(edits, reverse=True):
        old = rows[row - 1]
        rows[row - 1] = old[:column] + text + old[column + size :]
    return "\n".join(rows)


def _lines(tokens: Iterable[TokenInfo]) -> Iterator[Line]:
    """Yield the logical lines; the colon of a lambda counts as inside of brackets."""
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


def _returns(lines: list[Line]) -> Iterator[Edit]:
    """Yield the edits that keep the value of each `return` outside of functions."""
    functions: list[int] = []  # the columns of those around a line
    for line in lines:
        column = line[0][0].start[1]
        functions = [each for each in functions if each < column]
        if not {token.string for token, _ in line[:2]}.isdisjoint(("class", "def")):
            functions.append(column)
        for place, (token, _) in enumerate(line):
            if token.string == "return" and not functions:
                value = _until(line, place + 1, 0, (";",))
                if value > place + 1:
                    yield token.start, len("return"), "__value = ("
                    yield line[value - 1][0].end, 0, "); return"


def _last(line: Line) -> Iterator[Edit]:
    """Yield the edits that keep the value of the last statement, or of its `result`."""
    line = line[:-1] if line[-1][0].string == ";" and line[1:] else line
    splits = (
        place + 1 for place, (token, depth) in enumerate(line) if (token.string, depth) == (";", 0)
    )
    statement = line[max(splits, default=0) :]
    first = line[0][0]
    if not statement or first.start[1] or {first.string, statement[0][0].string} & _NOT_VALUES:
        return
    if not any(depth == 0 and token.string in _ASSIGNS for token, depth in statement):
        yield statement[0][0].start, 0, "__value = ("
        yield statement[-1][0].end, 0, ")"
    elif statement[0][0].string == "result" and statement[1][0].string in _ASSIGNS:
        yield statement[-1][0].end, 0, "; __value = result"


def _loops(line: Line) -> Iterator[Edit]:
    """Yield the edits of each `async for`."""
    for place in range(len(line) - 1):
        (token, depth), (follower, _) = line[place : place + 2]
        if (token.string, follower.string) != ("async", "for"):
            continue
        start = _until(line, place + 2, depth, ("in",))
        end = _until(line, start + 1, depth, (":", "async", "for", "if"))
        if end > start + 1:
            same = follower.start[0] == token.start[0]
            yield token.start, follower.start[1] - token.start[1] if same else len("async"), ""
            if line[start + 1][0].string != "await":
                yield line[start][0].end, 0, " await ("
                yield line[end - 1][0].end, 0, ")"


def _firsts(line: Line) -> Iterator[Edit]:
    """Yield the edits of each `next((… for …), …)`, whose generator is a list in the sandbox."""
    for place in range(len(line) - 2):
        words = [token.string for token, _ in line[place : place + 3]]
        if words == ["next", "(", "("]:
            yield line[place + 2][0].start, 0, "iter"


def _until(line: Line, start: int, around: int, words: tuple[str, ...]) -> int:
    """Return the place of the next of some words at a depth, or where its brackets end."""
    for place in range(start, len(line)):
        token, depth = line[place]
        if depth < around or (depth == around and token.string in words):
            return place
    return len(line)
