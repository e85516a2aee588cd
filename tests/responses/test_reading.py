"""The parts that reading an answer is made of, each with input of every kind."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.responses.server_json import read_json, words_of
from openapi_tools.responses.shown_text import encode, page_text, shorten

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: (
        st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=60), inner, max_size=20)
    ),
    max_leaves=40,
)


@pytest.mark.long
@given(VALUES, st.integers(40, 2000))
def test_a_shortened_value_fits_and_a_value_that_fits_is_left_alone(value, room):
    shortened = shorten(value, room)

    assert len(encode(shortened)) <= room
    if len(encode(value)) <= room:
        assert shortened is value
    else:
        assert "…" in encode(shortened)


def test_every_member_keeps_as_much_as_is_fair():
    value = {"id": 7, "text": "word " * 500, "items": list(range(500)), "note": "short"}

    shortened = shorten(value, 400)

    assert list(shortened) == ["id", "text", "items", "note"]
    assert (shortened["id"], shortened["note"]) == (7, "short")
    assert shortened["text"].startswith("word word")
    assert shortened["items"][:3] == [0, 1, 2]


def test_deep_values_are_measured_once():
    value = ["x" * 100] * 20_000
    for _ in range(150):
        value = {"a": value, "b": 1}
    started = time.process_time()

    shortened = shorten(value, 100_000)

    assert time.process_time() - started < 2
    assert len(encode(shortened)) <= 100_000


PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\r\n\t"))
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(PLAIN_TEXT, inner),
)


@pytest.mark.long
@given(PLAIN_VALUES, st.booleans())
def test_json_is_read_as_it_is(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)

    assert read_json(text.encode()) == (value, [])


@pytest.mark.parametrize(
    "evil",
    [
        "<a " * 100_000,
        "<!--" * 100_000,
        "<!-- x --" * 30_000,
        "<script>" * 50_000,
        "<script></script>" * 20_000,
        "<" * 300_000,
        "</" * 100_000,
        "&" * 300_000,
        "&#" + "9" * 100_000 + ";",
        "<title>" * 50_000,
        " \n" * 100_000,
        "<p>" * 100_000,
    ],
    ids=lambda evil: evil[:12],
)
def test_broken_markup_takes_no_time(evil):
    started = time.process_time()

    text = page_text(evil)

    assert time.process_time() - started < 2
    assert text.startswith("[HTML page")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a &lt;b&gt; &amp; &#8217; &#x1F680; &nosuch; &</p>", "a <b> & \u2019 🚀 &nosuch; &"),
        ("<ul><li>one</li><li>two</li></ul>", "one\ntwo"),
        ("<p>a <b>b</b> c</p>", "a b c"),
        ("a < b and c > d", "a < b and c > d"),
        ("a<!-- hidden -->b<?php x ?>c", "abc"),
        ("<STYLE>x</STYLE >seen", "seen"),
        ("<script>if (a < b) { '</p>' }</script>seen", "seen"),
        ("<svg><text>drawn</text></svg>seen", "seen"),
        ("seen<script>never closed", "seen"),
        ("seen<a href='never closed", "seen"),
        ("a\x00b\x1b[31m", "ab[31m"),
    ],
)
def test_a_page_is_its_text(page, text):
    assert page_text(page) == f"[HTML page] {text}"


@pytest.mark.long
@given(VALUES, st.integers(40, 500))
def test_any_body_has_words(body, room):
    assert len(words_of(body, room)) <= room
