"""Bodies: what a server decodes is what was given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.errors import CallError, InputError
from openapi_tools.model import Encoding, Property, RequestBody
from openapi_tools.requests.body import Content
from openapi_tools.requests.builder import build_content
from openapi_tools.settings import Settings

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PRIMITIVES = TEXT | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    PRIMITIVES | st.none(), lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXT, v, max_size=3)
)
FORM = "application/x-www-form-urlencoded"


def content(body, **arguments):
    return build_content(body, arguments, Settings())


def whole(media_type, value, **fields):
    found = content(RequestBody(media_type, argument="b", **fields), b=value)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("media_type", "before"), [("application/x-ndjson", b""), ("application/json-seq", b"\x1e")]
)
@given(value=st.lists(VALUES, max_size=4))
def test_a_sequence_is_decoded_line_by_line(media_type, before, value):
    *lines, end = whole(media_type, value).data.split(b"\n")

    assert all(line.startswith(before) for line in lines)
    assert [json.loads(line.removeprefix(before)) for line in lines] == value
    assert end == b""


FLAT = RequestBody("application/json", properties=(Property("a"), Property("b/c", "b_c")))


def test_members_go_under_their_own_names_in_the_documents_order():
    sent = content(FLAT, b_c=None, a=1)

    assert sent == Content("application/json", b'{"a":1,"b/c":null}')


def test_no_member_means_no_body_unless_it_is_required():
    required = RequestBody("application/json", properties=FLAT.properties, required=True)

    assert content(FLAT, other=1) is None
    assert content(required) == Content("application/json", b"{}")


def test_an_optional_body_that_is_not_given_is_not_sent():
    assert content(RequestBody("application/json", argument="b")) is None


def test_a_required_body_that_is_not_given_is_an_error():
    with pytest.raises(InputError) as caught:
        content(RequestBody("application/json", argument="b", required=True))

    assert caught.value.pointer == "/b"


@pytest.mark.parametrize(
    ("body", "arguments", "pointer"),
    [
        (FLAT, {"b_c": [{"x": "\ud800"}]}, "/b_c/0/x"),
        (FLAT, {"a": float("inf")}, "/a"),
        (FLAT, {"a": {"\ud800": 1}}, "/a"),
        (RequestBody("application/json", argument="b"), {"b": {"x/y": ["\ud800"]}}, "/b/x~1y/0"),
        (RequestBody(FORM, argument="b"), {"b": {"x": "\ud800"}}, "/b/x"),
        (RequestBody(FORM, properties=FLAT.properties), {"b_c": ["\ud800"]}, "/b_c"),
        (RequestBody("multipart/form-data", properties=FLAT.properties), {"b_c": "\ud800"}, "/b_c"),
        (RequestBody("text/plain", argument="b"), {"b": "\ud800"}, "/b"),
        (RequestBody("text/plain; charset=us-ascii", argument="b"), {"b": "é"}, "/b"),
        (RequestBody("text/plain", argument="b"), {"b": None}, "/b"),
        (RequestBody(FORM, argument="b"), {"b": None}, "/b"),
        (RequestBody("image/png", argument="b", file=True), {"b": {"base64": "?"}}, "/b/base64"),
        (RequestBody("image/*", argument="b", file=True),
         {"b": {"text": "x", "content_type": "text/css"}}, "/b/content_type"),
        (RequestBody(FORM, properties=(Property("f"),), encodings=(Encoding("f", file=True),)),
         {"f": {"base64": "?"}}, "/f/base64"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_with_its_place(body, arguments, pointer):
    with pytest.raises(InputError) as caught:
        content(body, **arguments)

    assert caught.value.pointer == pointer


@pytest.mark.long
@pytest.mark.parametrize("media_type", ["application/json", FORM, "multipart/form-data"])
def test_nesting_without_end_is_refused(media_type):
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(InputError, match="nested too deep"):
        whole(media_type, {"a": {"b": deep}})


@pytest.mark.parametrize(
    ("media_type", "value", "words"),
    [
        ("application/xml", {"a": 1}, "application/xml"),
        ("text/csv", [[1]], "text/csv"),
        ("application/x-protobuf", {"a": 1}, "application/x-protobuf"),
        (FORM, [1], FORM),
        ("multipart/form-data", [1], "multipart/form-data"),
        ("multipart/form-data", "a", "multipart/form-data"),
        ("text/*", {"a": 1}, r"text/\*"),
        ("image/*", "a", r"image/\*"),
        ("text/plain; charset=ebcdic", "a", "ebcdic"),
        ("no type", "a", "no type"),
        ("text/plain\r\nX: 1", "a", "not a valid media type"),
    ],
)
def test_what_nothing_here_writes_is_an_error_that_names_it(media_type, value, words):
    with pytest.raises(CallError, match=words) as caught:
        whole(media_type, value)

    assert caught.value.kind == "invalid_input"


@pytest.mark.parametrize(
    ("media_type", "value", "expected"),
    [
        ("*/*", {"a": 1}, Content("application/json", b'{"a":1}')),
        ("*/*", "a", Content("text/plain; charset=utf-8", b"a")),
        ("text/*", "a", Content("text/plain; charset=utf-8", b"a")),
        ("application/*", "a", Content("application/json", b'"a"')),
    ],
)
def test_a_range_becomes_a_media_type_that_fits_the_value(media_type, value, expected):
    assert whole(media_type, value) == expected


def test_a_file_is_sent_as_another_type_that_the_document_lists():
    value = {"text": "x", "content_type": "image/jpeg"}
    fields = {"file": True, "alternatives": ("image/jpeg",)}

    assert whole("image/png", value, **fields) == Content("image/jpeg", b"x")


def test_a_file_in_a_form_is_base64():
    body = RequestBody(FORM, properties=(Property("f"),), encodings=(Encoding("f", file=True),))

    assert content(body, f={"text": "é?"}) == Content(FORM, b"f=w6k%2F")
