"""Paths of a document: read once, and filled at once where the values are words.

Words are letters and digits of ASCII, as most values are: at every place they stand as they are,
and no dot of the path becomes a step beside one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.runtime.escapes import (
    LONGEST_URL,
    PATH_LITERAL,
    keep_triples,
    percent_encode,
)
from openapi_tools.runtime.urls import needs_no_parser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.model import Operation, Parameter

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_PATH_PART = re.compile(r"(?:\{[^{}]*\}|[^?#])*")


class Template(NamedTuple):
    """A path of a document: literals, already encoded, and names of variables in turn."""

    path: tuple[str, ...]
    query: tuple[str, ...]

    @property
    def ends_in_variable(self) -> bool:
        """Whether the last segment is one variable and nothing else."""
        return len(self.path) > 1 and not self.path[-1] and self.path[-3].endswith("/")

    @property
    def is_plain(self) -> bool:
        """Whether words in place of its variables cannot make it lead elsewhere."""
        filled = "x".join(self.path[::2])
        # Behind half of a triple a word would be the other half.
        return self.query == ("",) and "%" not in filled and needs_no_parser(filled)


@lru_cache(maxsize=8192)
def read_template(path: str) -> Template:
    """Read a path as the document writes it: what follows `#` only tells operations apart."""
    match = _PATH_PART.match(path)
    before = match[0] if match else ""
    query = path[len(before) :].partition("#")[0].removeprefix("?")
    before = before if before.startswith("/") else f"/{before}"
    return Template(
        _pieces(before, PATH_LITERAL),
        _pieces(query, PATH_LITERAL + "?[]|"),
    )


def _pieces(template: str, safe: str) -> tuple[str, ...]:
    pieces = _VARIABLE.split(template)
    return tuple(p if i % 2 else keep_triples(p, safe) for i, p in enumerate(pieces))


class WordPlaces:
    """Where the words of an operation's arguments go.

    Args:
        operation: Its parameters go there.
        template: Of its path.
    """

    __slots__ = ("_path", "_places")

    def __init__(self, operation: Operation, template: Template) -> None:
        self._path = template.path
        places = tuple(_place(parameter, template) for parameter in operation.parameters)
        filled = sorted(index for _, index, _ in places if index)
        all_filled = filled == [*range(1, len(template.path), 2)]
        self._places = places if all_filled and template.is_plain else None

    def target(self, arguments: Mapping[str, Any]) -> str | None:
        """Return path and query where all that is not in a body is words in these; else None.

        Args:
            arguments: As they fit the tool.
        """
        if self._places is None:
            return None
        filled = [*self._path]
        query = "?"
        for argument, index, name in self._places:
            value = arguments.get(argument)
            if type(value) is str and value.isalnum() and value.isascii() and (index or name):
                if index:
                    filled[index] = value
                else:
                    query += f"{name}={value}&"
            elif index or argument in arguments:
                return None
        target = "".join(filled) + query[:-1]
        return target if len(target) <= LONGEST_URL else None


def _place(parameter: Parameter, template: Template) -> tuple[str, int, str]:
    """Return a parameter's argument, its index in the path and its encoded name in the query.

    They are 0 and empty where it goes elsewhere, or where its style makes more of a word.
    """
    where = (parameter.location, parameter.style)
    names = template.path[1::2]
    if parameter.media_type or not parameter.name.isascii():
        return parameter.argument, 0, ""
    if where == ("path", "simple") and parameter.name in names:
        return parameter.argument, 2 * names.index(parameter.name) + 1, ""
    return parameter.argument, 0, percent_encode(parameter.name) * (where == ("query", "form"))
