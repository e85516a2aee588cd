"""Header lines as the HTTP client keeps them, made without a look at each of their parts.

`httpx.Headers` asks of each name and value whether it is text or bytes, and goes through all of
them for each that is looked up. Here all are bytes, and whoever wants all of them gets them at
once: so this sets the attributes that it sets itself, if that is what this release does.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterable, KeysView

    Line = tuple[bytes, bytes]


def headers_of(lines: Iterable[Line]) -> httpx.Headers:
    """Return header lines as httpx has them.

    Args:
        lines: Names and values, as they are sent.
    """
    return _Lines(lines) if _IS_KNOWN else httpx.Headers([*lines])


def lacking(lines: Iterable[Line], defaults: Iterable[Line]) -> list[Line]:
    """Return those of the default lines whose names are not among some header lines.

    Args:
        lines: Of a request.
        defaults: What a client adds to it, say.
    """
    present = {name.lower() for name, _ in lines}
    return [line for line in defaults if line[0].lower() not in present]


class _Lines(httpx.Headers):
    """Header lines that are mostly looked at all together, as a cookie jar does for each call.

    Args:
        lines: Names and values.
    """

    __slots__ = ("_texts",)

    def __init__(self, lines: Iterable[Line]) -> None:
        self._list = [(name, name.lower(), value) for name, value in lines]
        self._encoding = None
        # What stands in them, until they are changed; empty as long as nobody asks.
        self._texts: dict[str, str] = {}

    def keys(self) -> KeysView[str]:
        """Return the names; whoever asks for them asks for the values next."""
        lines = self._list
        texts = {name.decode("latin-1"): value.decode("latin-1") for _, name, value in lines}
        if (
            not texts
            or len(texts) < len(lines)
            or not "".join(chain(texts, texts.values())).isascii()
        ):
            return super().keys()
        self._encoding = self._encoding or "ascii"  # as any look finds out
        self._texts = texts
        return texts.keys()

    def __getitem__(self, key: str) -> str:
        return self._texts[key] if key in self._texts else super().__getitem__(key)

    def __setitem__(self, key: str, value: str) -> None:
        self._texts = {}
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._texts = {}
        super().__delitem__(key)

    def update(self, headers: Any = None) -> None:  # type: ignore[override]  # as httpx has it
        """Put lines in the place of those with the same names."""
        self._texts = {}
        super().update(headers)


_Lines.__name__ = "Headers"  # what `repr` says, as it does for any request


def _gives_the_same() -> bool:
    """Tell whether lines that are filled in are those that httpx makes."""
    lines = [(b"Accept", b"a"), (b"X-Y", b"\xe9"), (b"x-y", b""), (b"Cookie", b"c=1; d=2")]
    return all(_are_alike(_Lines(some), httpx.Headers(some)) for some in (lines, lines[:1], []))


def _are_alike(made: httpx.Headers, own: httpx.Headers) -> bool:
    same = vars(made) == vars(own) and repr(made) == repr(own) and dict(made) == dict(own)
    made["X-New"] = own["X-New"] = "1"
    return same and dict(made) == dict(own) and made.multi_items() == own.multi_items()


_IS_KNOWN = _gives_the_same()
