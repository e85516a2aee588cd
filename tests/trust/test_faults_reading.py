"""Bodies that take a reader long, or much memory: read in part, and said to be."""

import asyncio
import json

import pytest
from servers.fault_routes import case_of, fault_document
from servers.faults import Faults, answer, replying

from openapi_tools import Settings, load_tools

pytestmark = pytest.mark.untraced

JSON = "application/json"
GOES_ON = "… the answer goes on; only its beginning was read"
MANY = 250_000
ROOM = 20_000


async def read(body, kind, status="200 OK", **settings):
    """Return what one answer is read as; at most so much time is no limit, but an end."""
    async with Faults(replying(answer(body, f"Content-Type: {kind}", status=status))) as server:
        given = Settings(base_url=server.url, max_output_chars=ROOM, **settings)
        async with load_tools(fault_document([case_of("echo")]), settings=given) as toolset:
            async with asyncio.timeout(25):
                result = await toolset["get_echo"].execute({})
    json.dumps([result.output, result.metadata], allow_nan=False, ensure_ascii=False).encode()
    return result


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "kind", "first"),
    [
        (b"[" + b"[]," * MANY + b"1]", JSON, []),
        (b"[" + b"12345," * MANY + b"1]", JSON, 12345),
        (b"[" + b"NaN," * MANY + b"1]", JSON, "NaN"),
        (b"[" + b'"\\u0000a",' * MANY + b"1]", JSON, "a"),
        (("[" + '"é",' * MANY + "1]").encode("utf-16"), JSON, "é"),
        (b"[" + b'"\xe9",' * MANY + b"1]", f"{JSON}; charset=iso-8859-1", "é"),
        (b"[" + b'"\xff",' * MANY + b"1]", JSON, "\ufffd"),
        (b" [" + b"{}," * MANY + b"1] \r\n", "text/html", {}),
        (b"\xef\xbb\xbf[" + b"[]," * MANY + b"1]", "", []),
        (b"{}\n" * MANY, JSON, {}),
        (b"{}\n" * MANY, "application/x-ndjson", {}),
        (b"no\n" * MANY, "application/x-ndjson", "no"),
        (b"\n" * MANY * 3 + b"1\n", "application/x-ndjson", GOES_ON),
        (b"\x1e1\n" * MANY, "application/json-seq", 1),
        (b"data: 1\n\n" * MANY, "text/event-stream", {"data": 1}),
        (b"data: " + b"x" * 1_500_000, "text/event-stream", None),
    ],
    ids=lambda value: repr(value)[:24] if isinstance(value, bytes) else "",
)
async def test_more_values_than_can_be_shown_are_read_in_part(body, kind, first):
    result = await read(body, kind)

    assert result.success
    assert first in (None, result.output[0])
    assert len(str(result)) <= ROOM
    assert result.metadata["truncated"]["chars"] > 400_000
    assert result.output[-1] == GOES_ON or "items left out" in result.output[-1]


async def test_an_object_with_too_many_members_says_that_it_goes_on():
    body = json.dumps({f"k{number}": number for number in range(250_000)}).encode()

    result = await read(body, JSON)

    assert result.output["k0"] == 0
    assert result.output["…"] == GOES_ON.removeprefix("… ")


async def test_whoever_allows_larger_answers_gets_more_values():
    body = b"[" + b"[]," * 300_000 + b"1]"

    result = await read(body, JSON, max_response_bytes=40_000_000)

    assert result.output[-1].endswith("of 300001 items left out")


@pytest.mark.parametrize(
    "body",
    [b"[" + b"[]," * MANY, b"[" + b"[]," * MANY + b"}", b"[" + b"[1 2]," * MANY + b"1]"],
    ids=["cut off", "closed wrongly", "no JSON"],
)
async def test_long_json_that_is_none_is_a_decode_error(body):
    result = await read(body, JSON)

    assert result.error["type"] == "decode"
    assert len(result.error["message"]) < 1000


async def test_commas_in_long_prose_are_no_values():
    body = json.dumps({"text": "a, b " * 150_000, "end": True}).encode()

    result = await read(body, JSON)

    assert result.output["end"] is True


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("word " * MANY, "text/plain"),
        ("é🚀 " * MANY, "text/plain"),
        ("\x1b[31m" * MANY, "text/plain"),
        ("word " * MANY, "application/x-unheard-of"),
        ("<p>word</p>" * MANY, "text/html"),
    ],
)
async def test_long_text_is_cut_and_says_how_long_it_is(text, kind):
    result = await read(text.encode(), kind)

    assert len(json.dumps(result.output, ensure_ascii=False)) <= ROOM
    assert result.metadata["truncated"]["chars"] == len(text)
    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain" + " " * 60_000 + "x", b"fine"),
        ("multipart/mixed; boundary=B", b"--B\r\nContent-Type: a/b" + b" " * 3_000_000 + b"x\r\n"),
        ("multipart/mixed; boundary=B", b"--B\r\n" + b"a: b\r\n" * MANY + b"\r\nx\r\n--B--"),
        ("multipart/mixed; boundary=B",
         (b"--B\r\nContent-Type: application/json\r\n\r\n[" + b"[]," * 30_000 + b"1]\r\n") * 90),
    ],
    ids=["blanks in the media type", "blanks in a part", "headers of a part", "parts of JSON"],
)  # fmt: skip
async def test_hostile_headers_and_parts_are_read_soon(kind, body):
    result = await read(body, kind)

    assert result.success
    assert len(str(result)) <= ROOM


@pytest.mark.long
async def test_long_errors_are_read_in_part():
    body = b'{"message": "no", "more": [' + b"[]," * MANY + b"1]}"

    result = await read(body, JSON, "500 Internal Server Error")

    assert "no" in str(result)
    assert len(str(result)) <= 4096
