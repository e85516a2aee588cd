"""Bodies that take a reader long, or much memory: read in part, and said to be."""

import asyncio
import json

import pytest
from servers.fault_routes import case_of, fault_document
from servers.faults import Faults, make_response, reply_with

from openapi_tools import Settings, load_tools

pytestmark = pytest.mark.untraced

JSON, LINES, EVENTS = "application/json", "application/x-ndjson", "text/event-stream"
PARTS = "multipart/mixed; boundary=B"
PART = b"--B\r\nContent-Type: application/json\r\n\r\n"
GOES_ON = "… the response is longer; only its beginning was read"
MANY = 250_000
LIMIT = 20_000


async def read(body, kind, **settings):
    """Return what one response is read as; at most so much time is no limit, but an end."""
    async with Faults(reply_with(make_response(body, f"Content-Type: {kind}"))) as server:
        all_settings = Settings(base_url=server.url, max_output_chars=LIMIT, **settings)
        async with load_tools(fault_document([case_of("echo")]), settings=all_settings) as toolset:
            async with asyncio.timeout(25):
                result = await toolset["get_echo"].execute({})
    json.dumps([result.output, result.metadata], allow_nan=False, ensure_ascii=False).encode()
    assert len(str(result)) <= LIMIT
    return result


def array(item, ending=b"1]"):
    return b"[" + item * MANY + ending


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "kind", "first"),
    [
        (array(b"[],"), JSON, []),
        (array(b"12345,"), JSON, 12345),
        (array(b"NaN,"), JSON, "NaN"),
        (array(b'"\\u0000a",'), JSON, "a"),
        (("[" + '"é",' * MANY + "1]").encode("utf-16"), JSON, "é"),
        (array(b'"\xe9",'), f"{JSON}; charset=iso-8859-1", "é"),
        (array(b'"\xff",'), JSON, "\ufffd"),
        (b" " + array(b"{},") + b" \r\n", "text/html", {}),
        (b"\xef\xbb\xbf" + array(b"[],"), "", []),
        (b"{}\n" * MANY, JSON, {}),
        (b"{}\n" * MANY, LINES, {}),
        (b"no\n" * MANY, LINES, "no"),
        (b"\n" * MANY * 3 + b"1\n", LINES, GOES_ON),
        (b"\x1e1\n" * MANY, "application/json-seq", 1),
        (b"data: 1\n\n" * MANY, EVENTS, {"data": 1}),
        (b"data: " + b"x" * 3_000_000, EVENTS, None),
        (b"\n" * 3_000_000, EVENTS, GOES_ON),
        (b":\n" * 1_000_000, EVENTS, GOES_ON),
        (b"data\n" * 600_000, EVENTS, GOES_ON),
    ],
    ids=lambda value: repr(value)[:24] if isinstance(value, bytes) else "",
)
async def test_more_values_than_can_be_shown_are_read_in_part(body, kind, first):
    result = await read(body, kind)

    assert result.success
    assert first in (None, result.output[0])
    assert result.metadata["truncated"]["chars"] > 400_000
    assert result.output[-1] == GOES_ON or "items left out" in result.output[-1]


async def test_an_object_with_too_many_properties_says_that_it_goes_on():
    result = await read(json.dumps({f"k{n}": n for n in range(MANY)}).encode(), JSON)

    assert result.output["k0"] == 0
    assert result.output["…"].endswith(f"properties left out; {GOES_ON[2:]}")


async def test_who_allows_larger_responses_gets_larger_ones_and_more_values():
    body = b"[" + b"[]," * 300_000 + b" " * 11_000_000 + b"1]"

    result = await read(body, JSON, max_response_bytes=40_000_000)

    assert "of 300001 items left out" in result.output[-1]


@pytest.mark.parametrize(
    "body",
    [array(b"[],", b""), array(b"[],", b"}"), array(b"[1 2],")],
    ids=["cut off", "closed wrongly", "no JSON"],
)
async def test_the_beginning_of_long_json_that_is_none_is_given_as_text(body):
    result = await read(body, JSON)

    assert result.success
    assert result.output.startswith(body[:1000].decode())
    assert "characters in all" in result.output
    assert "declares JSON but is not valid JSON" in result.metadata["notes"][-1]


async def test_commas_in_long_prose_are_no_values():
    body = json.dumps({"text": "a, b " * 150_000, "end": True}).encode()

    result = await read(body, JSON)

    assert result.output["end"] is True


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain" + " " * 60_000 + "x", b"fine"),
        (PARTS, b"--B\r\nContent-Type: a/b" + b" " * 3_000_000 + b"x\r\n"),
        (PARTS, b"--B\r\n" + b"a: b\r\n" * MANY + b"\r\nx\r\n--B--"),
        (PARTS, (PART + b"[" + b"[]," * 30_000 + b"1]\r\n") * 90),
    ],
    ids=["blanks in the media type", "blanks in a part", "headers of a part", "parts of JSON"],
)
async def test_hostile_headers_and_parts_are_read_soon(kind, body):
    assert (await read(body, kind)).success
