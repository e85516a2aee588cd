from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from documents import document, operation, with_body

from openapi_tools import CallError, InputError, Settings, ToolResult, load_tools

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "tag": {"type": ["string", "null"]},
                   "age": {"type": "integer"}},
}  # fmt: skip


def toolset(handler, paths=None, **members):
    """Tools whose calls are answered by a function."""
    client = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    settings = Settings(base_url="https://api.example.com/v1")
    return load_tools(
        document(paths or with_body(PET), **members), client=client, settings=settings
    )


def ok(request):
    return httpx.Response(200, json={"sent": request.content.decode()})


async def test_arguments_become_a_request_and_the_answer_a_result():
    tool = toolset(ok)["post_x"]

    result = await tool.execute({"name": "Rex", "tag": None})

    assert isinstance(result, ToolResult)
    assert result.success
    assert result.error is None
    assert result.output == {"sent": '{"name":"Rex","tag":null}'}
    assert result.metadata["status"] == 200
    assert str(result) == '{"sent": "{\\"name\\":\\"Rex\\",\\"tag\\":null}"}'


async def test_the_call_id_is_taken_out_and_given_back_and_the_input_is_not_changed():
    given = {"name": "Rex", "_tool_call_id": "call_7"}
    before = copy.deepcopy(given)

    result = await toolset(ok)["post_x"].execute(given)

    assert result.tool_call_id == "call_7"
    assert result.output == {"sent": '{"name":"Rex"}'}
    assert given == before


@pytest.mark.parametrize("call_id", [5, None, ["x"], {"a": 1}, "x" * 100_000])
async def test_an_odd_call_id_is_never_sent(call_id):
    result = await toolset(ok)["post_x"].execute({"name": "Rex", "_tool_call_id": call_id})

    assert result.output == {"sent": '{"name":"Rex"}'}


class Raising(dict[str, Any]):
    """A dict whose own methods fail."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("boom")

    def __contains__(self, _: object) -> bool:
        raise RuntimeError("boom")


class Hostile(Mapping[str, Any]):
    """A mapping of which nothing can be had."""

    def __getitem__(self, _: str) -> Any:
        raise RuntimeError("boom")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("boom")

    def __len__(self) -> int:
        raise RuntimeError("boom")


@pytest.mark.parametrize(("kind", "call_id"), [(Raising, "c1"), (Hostile, "")])
@pytest.mark.parametrize("name", ["post_x", "unknown"])
async def test_input_whose_own_code_fails_is_an_error_result(kind, call_id, name):
    given = kind({"name": "Rex", "_tool_call_id": "c1"}) if kind is Raising else kind()

    result = await toolset(ok).call(name, given)

    # A dict is read as one, past methods of its own.
    assert result.is_error is (kind is Hostile or name == "unknown")
    assert result.tool_call_id == call_id


WRONG = [
    ({}, "/name"),
    ({"name": 3}, "/name"),
    ({"name": "Rex", "age": "old"}, "/age"),
    ({"name": "Rex", "zzz": 1}, "zzz"),
    (None, ""),
    ([], ""),
    ("{}", ""),
    (3, ""),
]


@pytest.mark.parametrize(("given", "named"), WRONG, ids=repr)
async def test_input_that_does_not_fit_is_an_error_result_that_names_it(given, named):
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request} was sent")

    result = await toolset(refuse)["post_x"].execute(given)

    assert result.is_error
    assert result.error["type"] == "invalid_input"
    assert named in result.error["message"]
    assert result.output == result.error["message"]


@pytest.mark.parametrize(
    "raised",
    [
        RuntimeError("boom"),
        KeyError("k"),
        UnicodeError("u"),
        httpx.ConnectError("no"),
        OSError(13, "x"),
        RecursionError(),
        MemoryError(),
        ZeroDivisionError(),
    ],
    ids=repr,
)
async def test_whatever_the_transport_raises_is_an_error_result(raised):
    def fail(_: httpx.Request) -> httpx.Response:
        raise raised

    result = await toolset(fail)["post_x"].execute({"name": "Rex"})

    assert result.is_error
    assert result.error["message"]


@pytest.mark.parametrize(
    "raised",
    [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(1), GeneratorExit()],
    ids=repr,
)
async def test_cancellation_and_exits_pass_through(raised):
    def fail(_: httpx.Request) -> httpx.Response:
        raise raised

    with pytest.raises(type(raised)):
        await toolset(fail)["post_x"].execute({"name": "Rex"})


async def test_an_unexpected_failure_is_logged_and_not_raised(monkeypatch, caplog):
    from openapi_tools.requests.builder import RequestPlan

    def fail(*_: Any, **__: Any):
        raise ZeroDivisionError

    monkeypatch.setattr(RequestPlan, "build", fail)
    with caplog.at_level(logging.ERROR, logger="openapi_tools"):
        result = await toolset(ok)["post_x"].execute({"name": "Rex"})

    assert result.is_error
    assert "ZeroDivisionError" in str(result)
    assert "Traceback" not in str(result)
    assert [record.name for record in caplog.records] == ["openapi_tools"]


async def test_without_a_server_the_result_says_to_give_a_base_url():
    (tool,) = load_tools(document({"/x": {"get": operation()}}))

    result = await tool.execute({})

    assert result.is_error
    assert "base_url" in str(result)


def test_a_preview_is_the_request_that_would_be_sent():
    request = toolset(ok)["post_x"].preview({"name": "Rex"})

    assert request.method == "POST"
    assert str(request.url) == "https://api.example.com/v1/x"
    assert request.content == b'{"name":"Rex"}'


def test_a_preview_raises_what_a_call_would_report():
    with pytest.raises(InputError, match="name"):
        toolset(ok)["post_x"].preview({})
    (tool,) = load_tools(document({"/x": {"get": operation()}}))
    with pytest.raises(CallError, match="base_url"):
        tool.preview({})


async def test_after_closing_a_call_is_an_error_result_and_closing_again_does_nothing(recorder):
    root = document({"/x": {"get": operation()}})
    tools = load_tools(root, settings=Settings(base_url=recorder.url))

    async with tools:
        first = await tools["get_x"].execute({})
    await tools.aclose()
    second = await tools["get_x"].execute({})

    assert first.success
    assert second.is_error
    assert len(recorder.requests) == 1


async def test_answers_are_compared_with_the_document_on_request():
    answers = {
        "200": {
            "description": "ok",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["id"],
                        "properties": {"id": {"type": "integer"}},
                    }
                }
            },
        }
    }
    paths = {"/x": {"get": {"responses": answers}}}
    root = document(paths, servers=[{"url": "https://api.example.com/v1"}])

    async def answered(body: Any) -> ToolResult:
        handler = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
        client = httpx.AsyncClient(transport=handler)
        settings = Settings(check_answers=True)
        return await load_tools(root, client=client, settings=settings)["get_x"].execute({})

    good, bad = await answered({"id": 1}), await answered({"id": "one"})

    assert good.success
    assert good.metadata["answer_problems"] == []
    assert bad.success
    assert bad.metadata["answer_problems"]


def test_results_have_no_fields_beyond_the_contract():
    result = ToolResult.failed("http", "Not found.", facts={"status": 404, "body": None})

    assert result.model_dump() == {
        "success": False,
        "output": "Not found.",
        "error": {"message": "Not found.", "type": "http", "status": 404},
    }
    assert not hasattr(result, "to_dict")
    assert str(result) == result.get_serialized_output() == "Not found."


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("text", "text"),
        (None, "Success"),
        ("", "Success"),
        ({"a": [1, None, True]}, '{"a": [1, null, true]}'),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        ("ü", "ü"),
        ({"ü": 1}, '{"ü": 1}'),
    ],
)
def test_a_result_reads_as_text_or_json(output, text):
    assert str(ToolResult.ok(output)) == text
