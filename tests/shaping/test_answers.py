"""Answers of the right size: compact, cut with a mark, and shaped by settings, tool and call."""

import json

import httpx
import pytest
from documents import document, operation

from openapi_tools import Settings, load_tools
from openapi_tools.json_values import text_of


def toolset_of(answer, *, media_type="application/json", schema=None, **settings):
    """Return tools that are answered so; `answer` is JSON-native, or bytes."""
    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    media = {"application/json": {"schema": schema}} if schema else {}
    responses = {"200": {"description": "", "content": media}}
    calls = {"get": "read", "post": "write"}
    item = {m: operation(operationId=name, responses=responses) for m, name in calls.items()}
    answered = httpx.Response(200, headers={"content-type": media_type}, content=content)
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: answered))
    chosen = Settings(base_url="http://answers.test", **settings)
    return load_tools(document({"/x": item}), client=client, settings=chosen)


async def read(answer, **options):
    return await toolset_of(answer, **options).call("read", {})


ITEMS = [{"id": number, "text": "x" * 200} for number in range(100)]


@pytest.mark.parametrize(
    ("answer", "media_type"),
    [
        (ITEMS, "application/json"),
        ({"total": 100, "items": ITEMS}, "application/json"),
        ({f"member {number}": "x" * 50 for number in range(500)}, "application/json"),
        (b"word " * 1000, "text/plain"),
        (b"word " * 10_000, "text/plain"),
        (b"\n".join(json.dumps(item).encode() for item in ITEMS), "application/x-ndjson"),
    ],
    ids=["list", "object with a list", "members", "text", "long text", "lines"],
)
async def test_a_cut_answer_names_the_setting_and_stays_json(answer, media_type):
    result = await read(answer, media_type=media_type, max_output_chars=4000)

    assert result.success
    assert len(str(result)) <= 4000
    assert isinstance(result.output, str) or json.loads(str(result)) == result.output
    assert str(result).count("the limit is Settings(max_output_chars=4000)") == 1
    assert result.metadata["truncated"]["kept"] <= 4000


async def test_a_cut_list_keeps_whole_items_and_counts_the_others():
    output = (await read(ITEMS, max_output_chars=4000)).output

    assert output[:-1] == ITEMS[: len(output) - 1]
    assert output[-1].startswith(f"… {101 - len(output)} of 100 items left out; ")


@pytest.mark.parametrize("length", [59_000, 61_000])
async def test_the_default_is_the_context_of_a_model(length):
    result = await read(["x" * length])

    assert ("truncated" in result.metadata) is (length > 60_000)
    assert len(str(result)) <= 60_000


async def test_what_fits_without_blanks_is_not_cut():
    value = list(range(1000))
    room = len(text_of(value))

    whole, cut = [await read(value, max_output_chars=most) for most in (room, room - 1)]

    assert len(json.dumps(value)) > room
    assert (whole.output, "truncated" in whole.metadata) == (value, False)
    assert "truncated" in cut.metadata
