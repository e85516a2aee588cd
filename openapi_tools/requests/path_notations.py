"""Path keys of documents, in the notation of the standard or of a framework.

The standard knows `{name}` only (OpenAPI 3.2.0, section 4.8.2). Published documents also have the
operators of RFC 6570, the greedy variables of API gateways (`{proxy+}`), the patterns of gRPC
(`{name=projects/*}`) and of routers (`{id:int}`, `{path:.*}`, `{*path}`), and whole notations of
frameworks (`/users/:id`, `/users/<int:id>`, `/users/[id]`). What they mean is plain wherever the
name is declared as a path parameter.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPRESSION = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*)\}")  # `{id:[0-9]{3}}` has braces inside
# A sign of another notation. A few plain paths have it, too, which costs only time.
_MAY_BE_OTHER = re.compile(r"\{[^{}]*[^{}\w$@ -]|[/.-][:<\[]")

_PARTS = re.compile(
    r"(?P<operator>[+./;?&]|\*{1,2})?(?P<name>[^=:*+?]+)(?P<suffix>[*+?])?"
    r"(?P<pattern>[=:].*)?",
    re.DOTALL,
)
_QUERY = re.compile(r"\{[?&][^{}]*\}")
# Express, Rails, Echo: `:id`, `:id(\d+)`, `:rest*`.
_COLON = re.compile(r"(?<=[/.-]):([A-Za-z_]\w*)(\([^()/]*\))?([*+?]?)")
# Flask and Django: `<id>`, `<int:id>`.
_ANGLE = re.compile(r"<(?:([A-Za-z_]\w*)(?:\([^()<>/]*\))?:)?([A-Za-z_]\w*)>")
# Next.js and Astro: `[id]`, `[...rest]`.
_SQUARE = re.compile(r"(?<=/)\[(\.{3})?([A-Za-z_][\w-]*)\]")
# Patterns of routers that also match slashes.
_SLASH_PATTERNS = (":path", ":.*", ":.+", ":(.*)", ":(.+)")


class PathTemplate(NamedTuple):
    """What a path key means.

    Attributes:
        path: The path with its variables as `{name}`.
        variables: Whether slashes in the value stay, by the name of the variable.
        notes: How other notations were read.
    """

    path: str
    variables: dict[str, bool]
    notes: tuple[str, ...] = ()


def is_plain(path: str) -> bool:
    """Return whether a path certainly has no notation but `{name}`."""
    return path[:1] != "{" and _MAY_BE_OTHER.search(path) is None


@lru_cache(maxsize=1024)
def read_template(path: str, declared: frozenset[str]) -> PathTemplate:
    """Return what a path key means, given the names of its declared path parameters."""
    if is_plain(path):
        variables = dict.fromkeys(_EXPRESSION.findall(path), False)
        return PathTemplate(path, variables)
    reader = _TemplateReader(declared)
    path = _QUERY.sub(reader.drop_query, path)
    path = _EXPRESSION.sub(reader.read_braces, path)
    for pattern, read in reader.notations:
        path = pattern.sub(read, path)
    if path.startswith("{"):
        name = path[1:].partition("}")[0]
        reader.variables[name] = True
        remark = "its value is a path on the server, and slashes in it are kept"
        reader.notes.append(f"the path begins with {{{name}}}: {remark}.")
    names = [name for name in _EXPRESSION.findall(path) if name in reader.variables]
    variables = {name: reader.variables[name] for name in names}
    return PathTemplate(path, variables, tuple(reader.notes))


class _TemplateReader:
    def __init__(self, declared: frozenset[str]) -> None:
        self.variables: dict[str, bool] = {}
        self.notes: list[str] = []
        self._declared = declared
        self.notations: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
            (_COLON, self._read_colon),
            (_ANGLE, self._read_angle),
            (_SQUARE, self._read_square),
        )

    def drop_query(self, match: re.Match[str]) -> str:
        names = {name.rstrip("*") for name in match[0][2:-1].split(",")}
        if names & self._declared:
            return match[0]
        self.notes.append(
            f"{match[0]} is left out of the path: query parameters have arguments of their own."
        )
        return ""

    def read_braces(self, match: re.Match[str]) -> str:
        text, parts = match[1], _PARTS.fullmatch(match[1])
        name = parts["name"].strip() if parts else text
        if "{" in name or not name:
            return match[0]  # not a variable: it is sent unchanged
        slashes = parts is not None and _takes_slashes(parts)
        if parts is None or name == text or (text in self._declared and name not in self._declared):
            self._add(text, slashes=slashes)
            if slashes:
                self.notes.append(
                    f"{match[0]} in the path accepts slashes in its value, and they are kept."
                )
            return match[0]
        is_styled = parts["operator"] in (".", ";", "?", "&") and not parts["pattern"]
        if is_styled and name not in self._declared:
            self._add(text, slashes=False)  # part of the name
            return match[0]
        self._add(name, slashes=slashes)
        if not is_styled:
            self._note(match[0], name)
        return f"/{{{name}}}" if parts["operator"] == "/" else f"{{{name}}}"

    def _read_colon(self, match: re.Match[str]) -> str:
        name = f":{match[1]}" if f":{match[1]}" in self._declared else match[1]
        return self._read_declared(match, name, slashes=match[3] in ("*", "+"))

    def _read_angle(self, match: re.Match[str]) -> str:
        return self._read_declared(match, match[2], slashes=match[1] == "path")

    def _read_square(self, match: re.Match[str]) -> str:
        return self._read_declared(match, match[2], slashes=bool(match[1]))

    def _read_declared(self, match: re.Match[str], name: str, *, slashes: bool) -> str:
        if name not in self._declared or name in self.variables:
            return match[0]  # a literal, such as `:publish`
        self._add(name, slashes=slashes)
        self._note(match[0], name)
        return f"{{{name}}}"

    def _add(self, name: str, *, slashes: bool) -> None:
        self.variables[name] = self.variables.get(name, False) or slashes

    def _note(self, text: str, name: str) -> None:
        self.notes.append(f"{text} in the path is read as {{{name}}}.")


def _takes_slashes(parts: re.Match[str]) -> bool:
    operator, pattern = parts["operator"], parts["pattern"] or ""
    if operator in (".", ";", "?", "&"):  # the style of RFC 6570 says how a list is written
        return False
    is_greedy = operator in ("+", "*", "**") or parts["suffix"] in ("*", "+")
    is_path = ("/" in pattern and "[^/" not in pattern) or "**" in pattern
    return is_greedy or is_path or pattern.replace(" ", "").startswith(_SLASH_PATTERNS)
