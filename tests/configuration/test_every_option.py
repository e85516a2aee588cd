"""Every option of a configuration means the same loaded, generated, over MCP and in LangChain."""

import json
from collections.abc import Callable
from typing import NamedTuple

import documents
import httpx
import pytest
from packages import import_package

from openapi_tools import generate_package, load_tools

pytest.importorskip("mcp", reason="mcp is not installed")
pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.messages import ToolMessage
from mcp import Client

from openapi_tools.contracts.langchain import to_structured_tools
from openapi_tools.contracts.mcp import create_server

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ITEM = {
    "type": "object",
    "properties": {"id": NUMBER, "name": TEXT, "url": TEXT, "note": {"type": ["string", "null"]}},
}
LIST = {
    "operationId": "listItems",
    "summary": "List items.",
    "parameters": [
        {"name": "q", "in": "query", "required": True, "schema": TEXT},
        {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}},
    ],
    "responses": {
        "200": {
            "description": "Found.",
            "content": {"application/json": {"schema": {"type": "array", "items": ITEM}}},
        }
    },
}
ADD = {
    "operationId": "addItem",
    "summary": "Add an item.",
    "requestBody": {"required": True, "content": {
        "application/json": {"schema": {
            "type": "object", "required": ["name"], "properties": {"name": TEXT, "size": NUMBER}}},
        "application/x-www-form-urlencoded": {"schema": {
            "type": "object", "required": ["name"], "properties": {"name": TEXT}}},
    }},
    "responses": {"201": {"description": "Made."}},
}  # fmt: skip
DOCUMENT = documents.document(
    {"/items": {"get": LIST, "post": ADD}}, servers=[{"url": "https://items.example.com"}]
)
ITEMS = [{"id": n, "name": f"n{n}", "url": f"/items/{n}", "note": None} for n in range(1, 6)]


class Row(NamedTuple):
    """A configuration, a call, and what comes of it.

    `target` is the request's, `body` its content, `output` that of the call, None for any;
    `is_visible` tells whether a model sees the option.
    """

    config: dict
    name: str
    arguments: dict
    target: str
    body: str = ""
    output: object = None
    is_visible: Callable | None = None


def lacks(argument):
    return lambda tool: argument not in tool.input_schema["properties"]


def table_of(tool="list_items", **fields):
    return {"tools": {tool: fields}}


QUERY = {"q": "x"}
ROWS = {
    "name": Row(table_of(name="find"), "find", QUERY, "/items?q=x"),
    "prefix": Row({"prefix": "my_"}, "my_list_items", QUERY, "/items?q=x"),
    "description": Row(
        table_of(description="Look."), "list_items", QUERY, "/items?q=x",
        is_visible=lambda tool: tool.description == "Look.",
    ),
    "hide": Row(
        table_of(hide=["page"]), "list_items", QUERY, "/items?q=x", is_visible=lacks("page"),
    ),
    "fixed": Row(
        table_of(fixed={"limit": 7}), "list_items", QUERY, "/items?q=x&limit=7",
        is_visible=lacks("limit"),
    ),
    "defaults": Row(table_of(defaults={"q": "all"}), "list_items", {}, "/items?q=all"),
    "an argument's name": Row(
        table_of(arguments={"q": {"name": "words"}}), "list_items", {"words": "x"}, "/items?q=x",
        is_visible=lacks("q"),
    ),
    "an argument's description": Row(
        table_of(arguments={"q": {"description": "Words."}}), "list_items", QUERY, "/items?q=x",
        is_visible=lambda tool: tool.input_schema["properties"]["q"]["description"] == "Words.",
    ),
    "media_type": Row(
        table_of("add_item", media_type="application/x-www-form-urlencoded"), "add_item",
        {"name": "a b"}, "/items", body="name=a+b",
    ),
    "fixed in a body": Row(
        table_of("add_item", fixed={"size": 3}), "add_item", {"name": "a"}, "/items",
        body='{"name":"a","size":3}',
    ),
    "read_only": Row(
        table_of("add_item", read_only=True), "add_item", {"name": "a"}, "/items",
        body='{"name":"a"}', is_visible=lambda tool: tool.annotations["readOnlyHint"],
    ),
    "destructive": Row(table_of(destructive=True), "list_items", QUERY, "/items?q=x"),
    "idempotent": Row(
        table_of("add_item", idempotent=True), "add_item", {"name": "a"}, "/items",
        body='{"name":"a"}',
    ),
    "timeout": Row(table_of(timeout=12.5), "list_items", QUERY, "/items?q=x"),
    "wait": Row(table_of(wait=2.0), "list_items", QUERY, "/items?q=x"),
    "drop": Row(
        table_of(answer={"drop": ["url", "n*"]}), "list_items", QUERY, "/items?q=x",
        output=[{"id": item["id"]} for item in ITEMS],
    ),
    "answers": Row(
        {"answers": {"drop": ["url"], "nulls": False}}, "list_items", QUERY, "/items?q=x",
        output=[{"id": item["id"], "name": item["name"]} for item in ITEMS],
    ),
    "fields": Row(
        table_of(answer={"fields": "[].{n: name}"}), "list_items", QUERY, "/items?q=x",
        output=[{"n": item["name"]} for item in ITEMS],
    ),
    "pages": Row(
        table_of(pages={"style": "page", "argument": "page", "size": "limit"}), "list_items",
        {**QUERY, "page": 2}, "/items?q=x&page=2",
    ),
    "select": Row({"select": {"names": ["list_*"]}}, "list_items", QUERY, "/items?q=x"),
}  # fmt: skip


def serving():
    """Return a client whose responses are items, and the list of its requests."""
    sent = []

    def respond(request):
        sent.append(request)
        return httpx.Response(200, json=ITEMS)

    return httpx.AsyncClient(transport=httpx.MockTransport(respond)), sent


def describe_tool(tool):
    return {"description": tool.description, "schema": tool.input_schema, "hints": tool.annotations}


async def describe_and_call(toolset, row):
    """Return what a tool says, and the text of its result."""
    return describe_tool(toolset[row.name]), str(await toolset[row.name].execute(row.arguments))


async def over_mcp(toolset, row):
    async with Client(create_server(toolset)) as client:
        (tool,) = [t for t in (await client.list_tools()).tools if t.name == row.name]
        result = await client.call_tool(row.name, row.arguments)
    hints = tool.annotations.model_dump(by_alias=True, exclude_none=True)
    definition = {"description": tool.description, "schema": tool.input_schema, "hints": hints}
    return definition, "\n\n".join(part.text for part in result.content)


async def in_langchain(toolset, row):
    (tool,) = [tool for tool in to_structured_tools(toolset) if tool.name == row.name]
    call = {"type": "tool_call", "id": "1", "name": row.name, "args": row.arguments}
    message = await tool.ainvoke(call)
    assert isinstance(message, ToolMessage)
    definition = {"description": tool.description, "schema": tool.args_schema, "hints": None}
    return definition, message.content


SURFACES = {
    "loaded": describe_and_call,
    "generated": describe_and_call,
    "MCP": over_mcp,
    "LangChain": in_langchain,
}


async def outcome(surface, row, folder):
    """Return what is shown, the request and the result of one call through a surface."""
    client, sent = serving()
    if surface == "generated":
        generate_package(DOCUMENT, folder, name="optional", config=row.config)
        with import_package(folder, "optional_tools") as package:
            definition, text = await describe_and_call(package.load(client=client), row)
    else:
        toolset = load_tools(DOCUMENT, config=row.config, client=client)
        definition, text = await SURFACES[surface](toolset, row)
    (request,) = sent
    return (
        definition,
        (request.method, request.url.raw_path.decode(), request.content.decode()),
        text,
    )


@pytest.mark.parametrize("option", ROWS)
@pytest.mark.parametrize("surface", SURFACES)
async def test_an_option_means_the_same_everywhere(surface, option, tmp_path):
    row = ROWS[option]

    definition, request, text = await outcome(surface, row, tmp_path / "out")
    expected = await outcome("loaded", row, tmp_path / "out")

    assert request[1:] == (row.target, row.body)
    assert (request, text) == expected[1:]
    assert definition["description"] == expected[0]["description"]
    assert definition["schema"]["properties"] == expected[0]["schema"]["properties"]
    assert definition["hints"] in (None, expected[0]["hints"])
    if row.output is not None:
        assert json.loads(text.partition("\n\n")[0]) == row.output


@pytest.mark.parametrize("option", [option for option, row in ROWS.items() if row.is_visible])
def test_an_option_changes_what_a_model_sees(option):
    row = ROWS[option]

    assert row.is_visible(load_tools(DOCUMENT, config=row.config)[row.name])
