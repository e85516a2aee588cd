"""Path templates of a document, read once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from openapi_tools.requests.encoding import PATH_LITERAL, keep_triples

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
