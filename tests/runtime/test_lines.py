"""Header lines that are filled in are those that httpx makes."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi_tools.runtime import lines

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

NAMES = st.sampled_from([b"Accept", b"accept", b"X-Y", b"COOKIE", b"Content-Type"])
LINES = st.lists(st.tuples(NAMES, st.binary(max_size=6)), max_size=6)


def test_lines_are_filled_in_with_this_release_of_httpx() -> None:
    assert lines._IS_KNOWN


TEXTS = st.sampled_from(["accept", "ACCEPT", "x-y", "X-New", "cookie", "é"])
VALUES = st.text("aé", max_size=2)
STEPS: dict[str, Callable[[httpx.Headers, str, str], Any]] = {
    "all": lambda headers, *_: dict(headers),
    "names": lambda headers, *_: [*headers.keys()],
    "get": lambda headers, name, _: headers.get(name),
    "list": lambda headers, name, _: headers.get_list(name),
    "look": lambda headers, name, _: headers[name],
    "has": lambda headers, name, _: name in headers,
    "set": lambda headers, name, value: headers.__setitem__(name, value),
    "delete": lambda headers, name, _: headers.__delitem__(name),
    "pop": lambda headers, name, _: headers.pop(name, None),
    "default": lambda headers, name, value: headers.setdefault(name, value),
    "update": lambda headers, name, value: headers.update({name: value}),
    "clear": lambda headers, *_: headers.clear(),
    "copy": lambda headers, *_: headers.copy().multi_items(),
    "items": lambda headers, *_: [headers.multi_items(), [*headers.items()], headers.raw],
    "encoding": lambda headers, *_: headers.encoding,
    "text": lambda headers, *_: repr(headers),
    "kept": lambda headers, *_: repr(pickle.loads(pickle.dumps(headers))),
}
LOOKS = st.lists(st.tuples(st.sampled_from([*STEPS]), TEXTS, VALUES), max_size=8)


def outcome(step: str, headers: httpx.Headers, name: str, value: str) -> Any:
    try:
        return STEPS[step](headers, name, value)
    except (KeyError, UnicodeError) as error:
        return type(error)


@given(LINES, LOOKS)
@settings(max_examples=300)
def test_lines_that_are_filled_in_are_those_that_httpx_makes(
    given_lines: list[tuple[bytes, bytes]], looks: list[tuple[str, str, str]]
) -> None:
    made, own = lines.headers_of(given_lines), httpx.Headers(given_lines)

    for step, name, value in [*looks, ("all", "", ""), ("items", "", "")]:
        assert outcome(step, made, name, value) == outcome(step, own, name, value)


def test_with_another_httpx_they_are_made_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_IS_KNOWN", False)
    monkeypatch.delattr(lines, "_Lines")

    assert lines.headers_of([(b"A", b"b")]).raw == [(b"A", b"b")]
