"""OpenAI's Responses API: definitions, calls and outputs in its form."""

import asyncio
import json
from types import SimpleNamespace

import httpx
import pytest
from documents import document, operation
from pydantic import TypeAdapter
from tools.handlers import load_with_handler

from openapi_tools import Settings, SettingsError, ToolResult, load_tools

PET = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id"],
}
ID = {"name": "id", "in": "query", "required": True, "schema": {"type": "integer"}}
PNG = "iVBORw0KGgo="


def response_of(schema):
    content = {"application/json": {"schema": schema}}
    return {"200": {"description": "ok", "content": content}}


DOCUMENT = document(
    {
        "/pet": {
            "get": operation(operationId="get_pet", parameters=[ID], responses=response_of(PET)),
            "post": operation(operationId="add_pet", parameters=[ID]),
        },
        "/pets": {
            "get": operation(
                operationId="list_pets", responses=response_of({"type": "array", "items": PET})
            )
        },
    }
)


def pets(handler=lambda _: httpx.Response(200, json={"id": 3, "name": "Rex"}), **options):
    return load_with_handler(DOCUMENT, handler, **options)


def call(name, call_id, **fields):
    arguments = json.dumps(fields.pop("arguments", {"id": 3}))
    return {"type": "function_call", "name": name, "call_id": call_id, "arguments": arguments,
            **fields}  # fmt: skip


@pytest.fixture(scope="module")
def types():
    return pytest.importorskip("openai.types.responses", reason="openai is not installed")


@pytest.mark.untraced
def test_definitions_are_flat_and_strict(types):
    toolset, _ = pets()

    definitions = toolset.definitions("openai_responses")

    assert [each["name"] for each in definitions] == ["get_pet", "add_pet", "list_pets"]
    assert all(each["type"] == "function" and each["strict"] for each in definitions)
    strict = [each["function"] for each in toolset.definitions("openai_strict")]
    assert [{k: d[k] for k in d if k != "type"} for d in definitions] == strict
    TypeAdapter(list[types.FunctionToolParam]).validate_python(definitions)


@pytest.mark.untraced
def test_programs_may_call_tools_and_read_their_responses(types):
    toolset, _ = pets()

    definitions = toolset.definitions("openai_responses", programmatic=True)

    assert all(each["allowed_callers"] == ["direct", "programmatic"] for each in definitions)
    schemas = {each["name"]: each["output_schema"] for each in definitions}
    assert schemas["get_pet"]["anyOf"][0]["properties"].keys() == {"id", "name"}
    assert schemas["list_pets"]["anyOf"][0]["required"] == ["result"]
    assert schemas["add_pet"] == {"type": "object"}
    TypeAdapter(list[types.FunctionToolParam]).validate_python(definitions)


@pytest.mark.untraced
def test_deferred_functions_are_in_namespaces(types):
    toolset, _ = pets()

    search, *spaces = toolset.definitions("openai_responses", defer=True, programmatic=True)

    assert search == {"type": "tool_search"}
    functions = [function for space in spaces for function in space["tools"]]
    assert all(each["strict"] and each["defer_loading"] for each in functions)
    TypeAdapter(list[types.ToolParam]).validate_python([search, *spaces])


def test_other_profiles_have_no_programs():
    toolset, _ = pets()

    with pytest.raises(SettingsError, match="use openai_responses"):
        toolset.definitions("openai", programmatic=True)


def test_a_setting_declares_schemas_without_programs():
    toolset, _ = pets(settings={"response_schemas": True})

    (first, *_) = toolset.definitions("openai_responses")
    (gemini, *_) = toolset.definitions("gemini")

    assert "output_schema" in first
    assert "allowed_callers" not in first
    assert "response_json_schema" in gemini
    assert not {"output_schema", "response_schema"} & toolset.definitions("anthropic")[0].keys()


def cache_everything(tmp_path, monkeypatch):
    """Cache documents and definitions in a folder of the test, small and new ones too."""
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("openapi_tools.providers.toolset_definitions.MIN_SECONDS", 0)
    monkeypatch.setattr("openapi_tools.loading.source.MIN_CACHED_BYTES", 1)
    monkeypatch.setattr("openapi_tools.loading.cache._FRESH", 0)


def test_definitions_beside_a_cached_document_know_what_was_asked(tmp_path, monkeypatch):
    cache_everything(tmp_path, monkeypatch)
    file = tmp_path / "api.json"
    file.write_text(json.dumps(DOCUMENT))

    for options in ({}, {"programmatic": True}, {}):
        (first, *_) = load_tools(file).definitions("openai_responses", **options)
        assert ("output_schema" in first) is bool(options)
    (first, *_) = load_tools(file, settings=Settings(response_schemas=True)).definitions(
        "openai_responses"
    )
    assert "output_schema" in first


def test_definitions_beside_a_cached_document_have_schemas_of_their_own_settings(
    tmp_path, monkeypatch
):
    cache_everything(tmp_path, monkeypatch)
    file = tmp_path / "api.json"
    file.write_text(json.dumps(DOCUMENT))

    for drop, names in (((), {"id", "name"}), (("name",), {"id"}), ((), {"id", "name"})):
        toolset = load_tools(file, settings=Settings(response_schemas=True, drop=drop))
        (first, *_) = toolset.definitions("openai_responses")
        assert first["output_schema"]["anyOf"][0]["properties"].keys() == names


async def test_an_output_names_the_call_of_the_model():
    toolset, _ = pets()

    result = await toolset.call(call("get_pet", "call_7"))

    output = result.for_responses()
    assert output == {"type": "function_call_output", "call_id": "call_7",
                      "output": '{"id":3,"name":"Rex"}'}  # fmt: skip
    assert result.for_responses("other")["call_id"] == "other"


@pytest.mark.untraced
def test_images_are_parts_of_an_output(types):
    image = {"base64": PNG, "media_type": "image/png", "bytes": 8}

    output = ToolResult.ok(image, header_note="Total: 1").for_responses("call_1")

    first, second = output["output"]
    assert first == {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
    assert second == {"type": "input_text", "text": "Total: 1"}
    TypeAdapter(types.ResponseInputItemParam).validate_python(output)


@pytest.mark.untraced
async def test_a_batch_has_outputs_in_the_order_of_its_calls(types):
    toolset, sent = pets()
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        call("get_pet", "call_1"),
        SimpleNamespace(**call("add_pet", "call_2"), caller=None),
        call("nothing", "call_3"),
        call("get_pet", "call_4", arguments={"id": "x"}),
    ]

    outputs = await toolset.run_function_calls(items)

    assert [output["call_id"] for output in outputs] == ["call_1", "call_2", "call_3", "call_4"]
    assert [request.method for request in sent] == ["GET", "POST"]
    assert "nothing" in outputs[2]["output"]
    assert "/id" in outputs[3]["output"]
    TypeAdapter(list[types.ResponseInputItemParam]).validate_python(outputs)


async def test_reads_run_side_by_side_and_a_write_alone():
    running, most, order = 0, 0, []

    async def handle(request):
        nonlocal running, most
        running += 1
        order.append((request.method, running))
        most = max(most, running)
        await asyncio.sleep(0)  # the others begin here
        await asyncio.sleep(0.01)
        running -= 1
        return httpx.Response(200, json={"id": 1})

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    toolset = load_tools(DOCUMENT, client=client, settings=Settings(base_url="https://a.test"))
    names = ["get_pet", "get_pet", "add_pet", "get_pet"]

    await toolset.run_function_calls(call(name, f"call_{n}") for n, name in enumerate(names))

    assert most == 2
    assert [count for method, count in order if method == "POST"] == [1]
    assert [method for method, _ in order] == ["GET", "GET", "POST", "GET"]


@pytest.mark.untraced
async def test_a_program_gets_json_by_the_declared_schema(types):
    toolset, _ = pets(lambda _: httpx.Response(200, json=[{"id": 3}]))
    program = {"type": "program", "caller_id": "prog_1"}

    (direct, programmed) = await toolset.run_function_calls(
        [call("list_pets", "call_1", arguments={}),
         call("list_pets", "call_2", arguments={}, caller=program)]
    )  # fmt: skip

    assert json.loads(direct["output"]) == [{"id": 3}]
    assert json.loads(programmed["output"]) == {"result": [{"id": 3}]}
    assert programmed["caller"] == program
    TypeAdapter(list[types.ResponseInputItemParam]).validate_python([direct, programmed])


async def test_after_definitions_with_schemas_every_output_is_json_by_them():
    toolset, _ = pets(lambda _: httpx.Response(500, json={"detail": "broken"}))
    toolset.definitions("openai_responses", programmatic=True)

    (output,) = await toolset.run_function_calls([call("get_pet", "call_1")])

    assert json.loads(output["output"])["error"]["status"] == 500
