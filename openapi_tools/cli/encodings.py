"""Characters missing in the encoding of standard output: written in ASCII, never an error."""

from __future__ import annotations

import codecs
import sys
from functools import lru_cache

ERRORS = "openapi_tools.ascii"
"""The error handler of the streams: `…` becomes `...`, everything else an escape."""

_REPLACEMENTS = str.maketrans({"…": "..."})


def _replace_character(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_REPLACEMENTS)
    return text.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error(ERRORS, _replace_character)


def output_encoding() -> str:
    """Return the encoding of standard output; empty if it has every character."""
    return _limited_encoding(getattr(sys.stdout, "encoding", None) or "utf-8")


@lru_cache(maxsize=8)
def _limited_encoding(name: str) -> str:
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        return "ascii"
    return "" if encoding.startswith(("utf-8", "utf-16", "utf-32")) else encoding


def escape_unencodable(text: str, encoding: str) -> str:
    """Return a text as a stream of this encoding displays it."""
    return text.encode(encoding, ERRORS).decode(encoding, "replace")
