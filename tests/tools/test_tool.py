"""One tool: arguments become a request, the response a result, each failure an error result."""

import asyncio
import base64
import copy
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from documents import document, operation, with_body
from tools.handlers import BASE, load_with_handler

from openapi_tools import (
    CallError,
    ImageContent,
    InputError,
    Settings,
    TextContent,
    ToolResult,
    load_tools,
)

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "tag": {"type": ["string", "null"]},
                   "age": {"type": "integer"}},
}  # fmt: skip
GET = document({"/x": {"get": operation()}})
REX = {"name": "Rex"}


def ok(request):
    return httpx.Response(200, json={"sent": request.content.decode()})


def pets(handler=ok):
    toolset, _ = load_with_handler(document(with_body(PET)), handler)
    return toolset


def raising(error):
    def fail(_: object):
        raise error

    return pets(fail)["post_x"]


async def test_arguments_become_a_request_and_the_response_a_result():
    result = await pets()["post_x"].execute({"name": "Rex", "tag": None})

    assert isinstance(result, ToolResult)
    assert result.success
    assert result.error is None
    assert result.output == {"sent": '{"name":"Rex","tag":null}'}
    assert result.metadata["status"] == 200
    assert str(result) == '{"sent":"{\\"name\\":\\"Rex\\",\\"tag\\":null}"}'


async def test_the_call_id_is_taken_out_and_given_back_and_the_input_is_not_changed():
    arguments = {"name": "Rex", "_tool_call_id": "call_7"}
    before = copy.deepcopy(arguments)

    result = await pets()["post_x"].execute(arguments)

    assert result.tool_call_id == "call_7"
    assert result.output == {"sent": '{"name":"Rex"}'}
    assert arguments == before


@pytest.mark.parametrize(
    ("call_id", "expected"),
    [(5, "5"), (None, ""), (True, ""), (["x"], ""), ({"a": 1}, ""), ("x" * 10**6, "x" * 10**6)],
    ids=["number", "null", "boolean", "list", "object", "huge"],
)
async def test_an_odd_call_id_is_never_sent(call_id, expected):
    result = await pets()["post_x"].execute({"name": "Rex", "_tool_call_id": call_id})

    assert result.output == {"sent": '{"name":"Rex"}'}
    assert result.tool_call_id == expected


class Raising(dict[str, Any]):
    """A dict whose own methods fail."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("boom")

    __contains__ = get


class Hostile(Mapping[str, Any]):
    """A mapping of which nothing can be had."""

    def __getitem__(self, _: str) -> Any:
        raise RuntimeError("boom")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("boom")

    def __len__(self) -> int:
        raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("arguments", "call_id"), [(Raising(name="Rex", _tool_call_id="c1"), "c1"), (Hostile(), "")]
)
@pytest.mark.parametrize("name", ["post_x", "unknown"])
async def test_input_whose_own_code_fails_is_an_error_result(arguments, call_id, name):
    result = await pets().call(name, arguments)

    # A dict is read as one, past methods of its own.
    assert result.is_error is (isinstance(arguments, Hostile) or name == "unknown")
    assert result.tool_call_id == call_id


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({}, "/name"), ({"name": "Rex", "age": "old"}, "/age"), ({"name": "Rex", "zzz": 1}, "zzz"),
     (None, ""), ([], ""), ("{}", ""), (3, "")],
    ids=repr,
)  # fmt: skip
async def test_input_that_does_not_fit_is_an_error_result_that_names_it(arguments, named):
    toolset, sent = load_with_handler(document(with_body(PET)))

    result = await toolset["post_x"].execute(arguments)

    assert result.is_error
    assert result.error["type"] == "invalid_input"
    assert named in result.error["message"]
    assert result.output == result.error["message"]
    assert sent == []


@pytest.mark.parametrize(
    "raised",
    [
        *(RuntimeError("boom"), KeyError("k"), UnicodeError("u"), httpx.ConnectError("no")),
        *(OSError(13, "x"), RecursionError(), MemoryError()),
    ],
    ids=repr,
)
async def test_whatever_the_transport_raises_is_an_error_result(raised):
    result = await raising(raised).execute(REX)

    assert result.is_error
    assert result.error["message"]


@pytest.mark.parametrize(
    "raised",
    [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(1), GeneratorExit()],
    ids=repr,
)
async def test_cancellation_and_exits_pass_through(raised):
    with pytest.raises(type(raised)):
        await raising(raised).execute(REX)


async def test_an_unexpected_failure_is_logged_and_not_raised(monkeypatch, caplog):
    from openapi_tools.requests.builder import RequestPlan

    def fail(*_: Any, **__: Any):
        raise ZeroDivisionError

    monkeypatch.setattr(RequestPlan, "build", fail)
    with caplog.at_level(logging.ERROR, logger="openapi_tools"):
        result = await pets()["post_x"].execute(REX)

    assert result.is_error
    assert "ZeroDivisionError" in str(result)
    assert "Traceback" not in str(result)
    assert [record.name for record in caplog.records] == ["openapi_tools"]


def test_a_preview_is_the_request_that_would_be_sent():
    request = pets()["post_x"].preview(REX)

    assert request.method == "POST"
    assert str(request.url) == f"{BASE}/x"
    assert request.content == b'{"name":"Rex"}'


async def test_without_a_server_the_result_says_to_give_a_base_url():
    (tool,) = load_tools(GET)

    result = await tool.execute({})

    assert result.is_error
    assert "base_url" in str(result)
    with pytest.raises(CallError, match="base_url"):
        tool.preview({})
    with pytest.raises(InputError, match="name"):
        pets()["post_x"].preview({})


async def test_after_closing_a_call_is_an_error_result_and_closing_again_does_nothing(recorder):
    toolset = load_tools(GET, settings=Settings(base_url=recorder.url))

    async with toolset:
        first = await toolset["get_x"].execute({})
    await toolset.aclose()
    second = await toolset["get_x"].execute({})

    assert first.success
    assert second.is_error
    assert len(recorder.requests) == 1


@pytest.mark.parametrize(
    ("output", "text"),
    [
        *(("text", "text"), ("ü", "ü"), (None, "Success"), ("", "Success"), (0, "0")),
        *((False, "false"), ([], "[]"), ({"ü": [1, None, True]}, '{"ü":[1,null,true]}')),
    ],
)
def test_a_result_reads_as_text_or_json(output, text):
    assert str(ToolResult.ok(output)) == text


# ---------------------------------------------------------------------------- contents

PNG = b"\x89PNG\r\n\x1a\n\x00"
CODED = base64.b64encode(PNG).decode()
IMAGE = ImageContent(data=CODED, media_type="image/png")
PARTS = (
    b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nhello\r\n'
    b"--b\r\nContent-Type: image/png\r\n\r\n" + PNG + b"\r\n--b--\r\n"
)


async def contents(body, media_type, status=200):
    headers = {"Content-Type": media_type}
    toolset, _ = load_with_handler(
        GET, lambda _: httpx.Response(status, content=body, headers=headers)
    )
    return (await toolset["get_x"].execute({})).as_content()


async def test_images_and_the_parts_of_a_response_are_contents_of_their_own():
    text, image = await contents(PARTS, "multipart/form-data; boundary=b")

    assert isinstance(text, TextContent)
    assert "hello" in text.text
    assert [image] == await contents(PNG, "image/png") == [IMAGE]


@pytest.mark.parametrize(
    ("body", "media_type", "status", "text"),
    [
        (b'{"message": "no such pet"}', "application/json", 404, "no such pet"),
        (PNG, "image/tiff", 200, "image/tiff"),
        (PNG, "application/pdf", 200, "application/pdf"),
    ],
)
async def test_errors_and_bytes_that_no_provider_shows_are_text(body, media_type, status, text):
    (content,) = await contents(body, media_type, status)

    assert isinstance(content, TextContent)
    assert text in content.text


@pytest.mark.parametrize(
    "fields",
    [
        {"base64": CODED},
        {"base64": CODED, "bytes": 9, "more": 1},
        {"base64": 7, "bytes": 3},
        {"base64": "***", "bytes": 2},
        {"base64": CODED, "bytes": 8},
        {"file": "/tmp/x.png", "bytes": 9},
    ],
)
def test_only_bytes_as_responses_show_them_are_images(fields):
    (content,) = ToolResult.ok({"media_type": "image/png", **fields}).as_content()

    assert isinstance(content, TextContent)
