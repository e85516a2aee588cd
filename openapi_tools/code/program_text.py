"""The text of a program, made ready for the sandbox; it is read as tokens and never run here."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from tokenize import TokenInfo

    Edit = tuple[tuple[int, int], int, str]
    """A place (row, column), a number of characters there, and the text in their place."""
    Placed = list[tuple[TokenInfo, int]]
    """Tokens, each with the number of brackets around it."""

_BLOCKS = frozenset(
    {"async", "case", "class", "def", "elif", "else", "except", "finally", "for", "if", "match"}
    | {"try", "while", "with"}
)
_WORDS = frozenset({"assert", "break", "continue", "del", "from", "global", "import", "nonlocal"})
_NOT_VALUES = (_BLOCKS - {"case", "match"}) | _WORDS | {"@", "pass", "raise", "return"}
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", "|=", "&=", "^=", ":"})
_BLANK = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement, or the head of a block; `is_top` outside of all blocks."""

    tokens: Placed
    is_top: bool
    in_function: bool


def prepared(code: str) -> str:
    """Return a program that leaves its value in `__value`: its last expression, or `return`.

    `async for x in y` becomes `for x in await y`, which the sandbox can do. A program with wrong
    syntax stays, for the sandbox to say so.
    """
    code = code.replace("\r\n", "\n")
    try:
        placed = list(_placed(tokenize.generate_tokens(io.StringIO(code).readline)))
    except (tokenize.TokenError, SyntaxError):
        return code
    statements = list(_statements(placed))
    edits = [*_loops(placed), *(edit for each in statements for edit in _returned(each))]
    edits += _last(statements[-1]) if statements else []
    lines = code.split("\n")
    for (row, column), size, text in sorted(edits, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + text + line[column + size :]
    return "\n".join(lines)


def _placed(tokens: Iterable[TokenInfo]) -> Iterator[tuple[TokenInfo, int]]:
    """Yield tokens with the number of brackets around them; the colon of a lambda has one more."""
    depth, lambdas = 0, list[int]()
    for token in tokens:
        text = token.string if token.type in (tokenize.OP, tokenize.NAME) else ""
        depth -= text in (")", "]", "}")
        if text == "lambda":
            lambdas.append(depth)
        is_own = text == ":" and bool(lambdas) and lambdas[-1] == depth
        if is_own:
            lambdas.pop()
        yield token, depth + is_own
        depth += text in ("(", "[", "{")


def _statements(placed: Placed) -> Iterator[_Statement]:
    """Yield the statements of a program in their order."""
    blocks: list[bool] = []  # around a line, and whether each is a function's
    heads: list[bool] = []  # of the same kind, of the blocks that begin on the line
    held: Placed = []
    begins = True
    for token, depth in placed:
        if token.type == tokenize.INDENT:
            blocks.append(any(heads))
        elif token.type == tokenize.DEDENT:
            blocks.pop()
        elif token.type not in _BLANK:
            heads, begins = ([], False) if begins else (heads, False)
            is_head = depth == 0 and token.string == ":" and _word(held) in _BLOCKS
            begins = token.type == tokenize.NEWLINE
            if not (is_head or begins or (depth == 0 and token.string == ";")):
                held.append((token, depth))
                continue
            if held:
                yield _Statement(held, not (blocks or heads), any(blocks) or any(heads))
            if is_head:
                words = {each.string for each, _ in held[:2]}
                heads = [*heads, not words.isdisjoint(("class", "def"))]
            held = []


def _word(held: Placed) -> str:
    return held[0][0].string if held else ""


def _returned(statement: _Statement) -> Iterator[Edit]:
    """Yield the edits that keep the value of a `return` outside of functions."""
    tokens = statement.tokens
    if not statement.in_function and _word(tokens) == "return" and len(tokens) > 1:
        yield tokens[0][0].start, len("return"), "__value = ("
        yield tokens[-1][0].end, 0, "); return"


def _last(statement: _Statement) -> Iterator[Edit]:
    """Yield the edits that keep the value of the last statement, or of its `result`."""
    tokens = statement.tokens
    if not statement.is_top or _word(tokens) in _NOT_VALUES:
        return
    assigns = [each.string for each, depth in tokens if depth == 0 and each.string in _ASSIGNS]
    if not assigns:
        yield tokens[0][0].start, 0, "__value = ("
        yield tokens[-1][0].end, 0, ")"
    elif _word(tokens) == "result" and tokens[1][0].string in _ASSIGNS:
        yield tokens[-1][0].end, 0, "; __value = result"


def _loops(placed: Placed) -> Iterator[Edit]:
    """Yield the edits of each `async for`."""
    for place, (token, depth) in enumerate(placed[:-1]):
        if (token.string, placed[place + 1][0].string) != ("async", "for"):
            continue
        after = range(place + 2, len(placed))
        start = next((i for i in after if placed[i][1] == depth and placed[i][0].string == "in"), 0)
        ends = (i for i in range(start + 1, len(placed)) if _ends_loop(*placed[i], depth))
        end = next(ends, 0)
        if start and end:
            follower = placed[place + 1][0].start
            same = follower[0] == token.start[0]
            yield token.start, follower[1] - token.start[1] if same else len("async"), ""
            yield placed[start][0].end, 0, " await ("
            yield placed[end - 1][0].end, 0, ")"


def _ends_loop(token: TokenInfo, depth: int, around: int) -> bool:
    """Tell whether a token comes behind the iterable of a loop."""
    return depth < around or (depth == around and token.string in (":", "async", "for", "if"))
