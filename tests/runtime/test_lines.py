"""Header lines that are filled in are those that httpx makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.runtime import lines

if TYPE_CHECKING:
    import pytest

NAMES = st.sampled_from([b"Accept", b"accept", b"X-Y", b"COOKIE", b"Content-Type"])
LINES = st.lists(st.tuples(NAMES, st.binary(max_size=6)), max_size=6)


def test_lines_are_filled_in_with_this_release_of_httpx() -> None:
    assert lines._IS_KNOWN


@given(LINES)
def test_lines_that_are_filled_in_are_those_that_httpx_makes(given_lines: list) -> None:
    made, own = lines.headers_of(given_lines), httpx.Headers(given_lines)

    for headers in (made, own):
        headers["X-New"] = "1"
        headers.pop("accept", None)

    assert (made.raw, made.multi_items(), made.encoding) == (
        own.raw,
        own.multi_items(),
        own.encoding,
    )


def test_with_another_httpx_they_are_made_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_IS_KNOWN", False)
    monkeypatch.delattr(lines, "_filled")

    assert lines.headers_of([(b"A", b"b")]).raw == [(b"A", b"b")]
