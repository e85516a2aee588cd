"""Multipart bodies: what servers' parsers read is what was given."""

from __future__ import annotations

import base64
import json
from email import policy
from email.parser import BytesParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_multipart.multipart import MultipartParser, parse_options_header

from openapi_tools.errors import CallError, InputError
from openapi_tools.model import Encoding, Parameter, Property, RequestBody
from openapi_tools.requests.builder import build_content
from openapi_tools.requests.encoding import plain_text
from openapi_tools.settings import Settings

DATA = "multipart/form-data"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


def sent(value, *encodings, media_type=DATA, **arguments):
    body = RequestBody(media_type, argument="b", encodings=encodings)
    content = build_content(body, {"b": value, **arguments}, Settings())
    assert content is not None
    return content


def parsed(content):
    """Read a body with python-multipart, the parser of Starlette."""
    boundary = parse_options_header(content.media_type)[1][b"boundary"]
    parts: list[tuple[dict[str, str], bytes]] = []
    field = bytearray()
    value = bytearray()

    def end_header() -> None:
        parts[-1][0][field.decode().lower()] = value.decode()
        field.clear()
        value.clear()

    def on_data(data: bytes, start: int, end: int) -> None:
        headers, read = parts.pop()
        parts.append((headers, read + data[start:end]))

    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": lambda: parts.append(({}, b"")),
            "on_header_field": lambda data, start, end: field.extend(data[start:end]),
            "on_header_value": lambda data, start, end: value.extend(data[start:end]),
            "on_header_end": end_header,
            "on_part_data": on_data,
        },
    )
    parser.write(content.data)
    parser.finalize()
    return parts


def disposition(headers):
    _, options = parse_options_header(headers["content-disposition"].encode())
    return {key.decode(): value.decode() for key, value in options.items()}


def unescaped(name):
    return name.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")


@given(
    st.dictionaries(
        NAMES.filter(lambda n: "\\" not in n), TEXT | st.integers() | st.booleans(), min_size=1
    )
)
def test_fields_are_read_back(value):
    parts = parsed(sent(value))

    assert [(unescaped(disposition(h)["name"]), body.decode()) for h, body in parts] == [
        (unescaped(name), plain_text(member)) for name, member in value.items()
    ]
    assert all(set(headers) == {"content-disposition"} for headers, _ in parts)


@given(
    st.lists(st.binary(max_size=32), min_size=1, max_size=3), NAMES.filter(lambda n: "\\" not in n)
)
def test_files_are_read_back(contents, filename):
    files = [
        {"base64": base64.b64encode(content).decode(), "filename": filename, "content_type": "a/b"}
        for content in contents
    ]

    parts = parsed(sent({"f": files}, Encoding("f", file=True)))

    assert [body for _, body in parts] == contents
    for headers, _ in parts:
        assert disposition(headers)["name"] == "f"
        assert unescaped(disposition(headers)["filename"]) == unescaped(filename)
        assert headers["content-type"] == "a/b"


def test_the_email_package_reads_the_same():
    content = sent(
        {"a": "b c", "j": {"k": [1]}, "f": {"text": "x\n", "filename": "é.txt"}},
        Encoding("f", file=True),
    )

    whole = b"Content-Type: " + content.media_type.encode() + b"\r\n\r\n" + content.data
    message = BytesParser(policy=policy.HTTP).parsebytes(whole)

    kinds = [part.get_content_type() for part in message.iter_parts()]
    names = [part.get_param("name", header="content-disposition") for part in message.iter_parts()]
    assert kinds == ["text/plain", "application/json", "application/octet-stream"]
    assert names == ["a", "j", "f"]


@given(st.lists(TEXT | st.dictionaries(TEXT, TEXT), min_size=1, max_size=4))
def test_ordered_parts_are_read_back(value):
    parts = parsed(sent(value, media_type="multipart/mixed"))

    for item, (headers, body) in zip(value, parts, strict=True):
        if isinstance(item, str):
            assert (headers["content-type"], body.decode()) == ("text/plain; charset=utf-8", item)
        else:
            assert (headers["content-type"], json.loads(body)) == ("application/json", item)


def test_ordered_parts_have_encodings_by_position():
    content = sent(
        ["<a/>", {"text": "1"}, {"text": "2"}],
        Encoding("0", content_type="application/xml", headers=(Parameter("X-A", "header", "h"),)),
        Encoding("*", content_type="image/png", file=True),
        media_type="multipart/related; type=application/xml",
        h=7,
    )

    parts = parsed(content)

    assert content.media_type.startswith("multipart/related; type=application/xml; boundary=")
    assert parts == [
        ({"content-type": "application/xml", "x-a": "7"}, b"<a/>"),
        ({"content-type": "image/png"}, b"1"),
        ({"content-type": "image/png"}, b"2"),
    ]


def test_a_boundary_in_the_document_is_replaced_and_never_the_same():
    media_type = 'multipart/form-data; boundary="x"; charset=utf-8'

    kinds = {sent({"a": 1}, media_type=media_type).media_type for _ in range(3)}

    assert len(kinds) == 3
    assert all(kind.startswith("multipart/form-data; charset=utf-8; boundary=") for kind in kinds)


def test_headers_of_a_part_are_those_given_and_none_that_frame_it():
    headers = tuple(
        Parameter(name, "header", "h")
        for name in ("X-A", "Content-Type", "Content-Disposition", "Content-Length", "bad name")
    )

    [(read, _)] = parsed(sent({"a": "x"}, Encoding("a", headers=headers), h="v"))
    [(without, _)] = parsed(sent({"a": "x"}, Encoding("a", headers=headers)))

    assert set(read) == {"content-disposition", "x-a"}
    assert set(without) == {"content-disposition"}


@pytest.mark.parametrize(
    ("value", "encodings", "arguments", "pointer"),
    [
        ({"a": "x"}, [Encoding("a", headers=(Parameter("X", "header", "h"),))], {"h": "a\r\nb"},
         "/h"),
        ({"f": "/etc/passwd"}, [Encoding("f", file=True)], {}, "/b/f"),
        ({"f": [{"text": "a"}, {}]}, [Encoding("f", file=True)], {}, "/b/f/1"),
        ({"f": {"text": "a", "filename": "a\0b"}}, [Encoding("f", file=True)], {}, "/b/f"),
        ({"a\0b": "x"}, [], {}, "/b/a\0b"),
        ({"\ud800": "x"}, [], {}, "/b/\ud800"),
        ({"a": "\ud800"}, [], {}, "/b/a"),
        ({"a": [{"b": "\ud800"}]}, [], {}, "/b/a/0/b"),
        ({"f": {"text": "a", "content_type": "text/css"}},
         [Encoding("f", content_type="image/*", file=True)], {}, "/b/f/content_type"),
    ],
    ids=[
        *("header", "path", "second file", "file name", "part name", "surrogate name"),
        *("surrogate", "surrogate in JSON", "wrong type"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_with_its_place(value, encodings, arguments, pointer):
    with pytest.raises(InputError) as caught:
        sent(value, *encodings, **arguments)

    assert caught.value.pointer == pointer


def test_an_ordered_part_that_cannot_be_sent_is_refused_with_its_place():
    with pytest.raises(InputError) as caught:
        sent(["a", {"b": "\ud800"}], media_type="multipart/mixed")

    assert caught.value.pointer == "/b/1/b"


@pytest.mark.parametrize(
    ("value", "encoding", "words"),
    [
        ({"a": {"b": 1}}, Encoding("a", content_type="application/xml"), "application/xml"),
        ({"a": ["b"]}, Encoding("a", content_type="multipart/mixed"), "multipart/mixed"),
        ({"a": "é"}, Encoding("a", content_type="text/plain; charset=utf-7"), "utf-7"),
    ],
)
def test_a_part_that_nothing_here_writes_is_an_error_that_names_it(value, encoding, words):
    with pytest.raises(CallError, match=words):
        sent(value, encoding)


def test_a_type_that_is_a_range_leaves_the_choice_to_the_value():
    [(text, _), (octets, _)] = parsed(
        sent(
            {"a": "x", "f": {"text": "x"}},
            Encoding("a", content_type="text/*"),
            Encoding("f", content_type="image/*", file=True),
        )
    )

    assert "content-type" not in text
    assert octets["content-type"] == "application/octet-stream"


def test_flat_members_are_parts_too():
    body = RequestBody(DATA, properties=(Property("a b", "a_b"),), required=True)

    content = build_content(body, {"a_b": 1}, Settings())

    assert content is not None
    assert [disposition(headers)["name"] for headers, _ in parsed(content)] == ["a b"]
