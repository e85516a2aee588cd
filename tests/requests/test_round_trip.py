"""From arguments through a socket to what a server decodes."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.documents import body, document, object_of, parameter

from openapi_tools.http_rules import has_dot_segment

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=10)
VALUES = st.recursive(
    TEXT | st.integers(-(2**53), 2**53) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
)
EVERYWHERE = document(
    path="/p/{part}/x",
    method="post",
    parameters=[
        parameter("path", "part"),
        parameter("query", "text"),
        parameter("query", "list", {"type": "array"}),
        parameter("query", "deep", style="deepObject"),
        parameter("header", "X-Text"),
        parameter("cookie", "crumb"),
    ],
    body=body("application/json", object_of(value={})),
)


@pytest.mark.asyncio(loop_scope="module")
@given(
    part=TEXT.filter(lambda text: text and not has_dot_segment(text)),
    text=TEXT,
    items=st.lists(TEXT, min_size=1, max_size=3),
    member=TEXT,
    line=PRINTABLE,
    crumb=TEXT,
    value=VALUES,
)
@settings(max_examples=60, deadline=None)
async def test_a_server_decodes_what_was_given(wire, part, text, items, member, line, crumb, value):
    arguments = {"part": part, "text": text, "list": items, "deep": {"a": member}}
    arguments |= {"X-Text": line, "crumb": crumb, "value": value}

    seen = await wire.send(EVERYWHERE, arguments)

    path, _, query = seen.target.partition("?")
    assert unquote(path) == f"/p/{part}/x"
    assert parse_qsl(query, keep_blank_values=True) == [
        ("text", text),
        *(("list", item) for item in items),
        ("deep[a]", member),
    ]
    assert seen.header("x-text") == line
    assert unquote(seen.header("cookie") or "") == f"crumb={crumb}"
    assert json.loads(seen.body) == {"value": value}
