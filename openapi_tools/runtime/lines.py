"""Header lines as the HTTP client keeps them, made without a look at each of their parts.

`httpx.Headers` asks of each name and value whether it is text or bytes. Here all are bytes: so this
sets the one attribute that it sets itself, if that is what this release of httpx does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterable

    Line = tuple[bytes, bytes]


def headers_of(lines: Iterable[Line]) -> httpx.Headers:
    """Return header lines as httpx has them.

    Args:
        lines: Names and values, as they are sent.
    """
    return _filled(lines) if _IS_KNOWN else httpx.Headers([*lines])


def lacking(lines: Iterable[Line], defaults: Iterable[Line]) -> list[Line]:
    """Return those of the default lines whose names are not among some header lines.

    Args:
        lines: Of a request.
        defaults: What a client adds to it, say.
    """
    present = {name.lower() for name, _ in lines}
    return [line for line in defaults if line[0].lower() not in present]


def _filled(lines: Iterable[Line]) -> httpx.Headers:
    headers = httpx.Headers()
    headers._list = [(name, name.lower(), value) for name, value in lines]  # noqa: SLF001 -- see above
    return headers


def _gives_the_same() -> bool:
    """Tell whether lines that are filled in are those that httpx makes."""
    lines = [(b"Accept", b"a"), (b"X-Y", b"\xe9"), (b"x-y", b""), (b"Cookie", b"c=1; d=2")]
    made, own = _filled(lines), httpx.Headers(lines)
    return (
        vars(made) == vars(own) and made.raw == own.raw and made.multi_items() == own.multi_items()
    )


_IS_KNOWN = _gives_the_same()
