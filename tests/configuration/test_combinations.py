"""Shapes together: what one of them changes, the others know."""

import documents
import httpx
import pytest

from openapi_tools import SettingsError, load_tools
from openapi_tools.responses.shape_checks import check_fields

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
SECRET = "kv-71-zephyr-quartz-9920"


def object_of(**schemas):
    return {"type": "object", "properties": schemas}


def make_response(schema, kind="application/json"):
    return {"description": "…", "content": {kind: {"schema": schema}}}


def parameter(name, schema, location="query"):
    return {"name": name, "in": location, "required": location == "path", "schema": schema}


TENANT = parameter("tenant", TEXT, "path")
THINGS = object_of(items={"type": "array", "items": object_of(id=NUMBER)}, total=NUMBER)
PATHS = {
    "/{tenant}/things": {
        "get": {
            "operationId": "list_things",
            "parameters": [TENANT, parameter("page", NUMBER), parameter("size", NUMBER)],
            "responses": {"200": make_response(THINGS)},
        }
    },
    "/{tenant}/jobs": {
        "post": {
            "operationId": "begin",
            "parameters": [TENANT],
            "responses": {"202": make_response(object_of(state=TEXT))},
        }
    },
    "/{tenant}/jobs/{id}": {
        "get": {
            "operationId": "get_job",
            "parameters": [TENANT, parameter("id", NUMBER, "path")],
            "responses": {"200": make_response(object_of(total=NUMBER))},
        }
    },
}


def document(paths):
    key = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    fields = {"security": [{"key": []}], "components": {"securitySchemes": key}}
    return documents.document(paths, servers=[{"url": "https://things.example.com"}], **fields)


def load_things(handler, config=None, paths=PATHS):
    client = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    secret = {"key": SECRET}
    return load_tools(document(paths), config=config, client=client, credentials=secret)


def first_page(request):
    return httpx.Response(200, json={"items": [{"id": 1}, {"id": 2}], "total": 9})


def long_work(request):
    if request.method == "POST":
        headers = {"Location": "/blue/jobs/42", "Retry-After": "0"}
        return httpx.Response(202, json={"state": "running"}, headers=headers)
    return httpx.Response(200, json={"id": 42, "total": 7})


async def test_pages_whose_argument_is_hidden_are_not_complete():
    config = {"tools": {"list_things": {"hide": ["page"], "defaults": {"size": 2}}}}
    toolset = load_things(first_page, config)

    result = await toolset.call("list_things", {"tenant": "blue"})
    pages = toolset.pages("list_things", {"tenant": "blue"})
    items = [item async for item in pages]

    assert result.header_note == "More: there are more items; no argument requests them"
    assert len(items) == 2
    assert pages.reason == "no_way"


async def test_no_argument_asks_for_more_than_a_page_that_is_fixed():
    config = {"tools": {"list_things": {"fixed": {"page": 2}}}}
    result = await load_things(first_page, config).call("list_things", {"tenant": "blue"})

    assert result.header_note == "More: 2 of 9 items were returned; no argument requests more"


@pytest.mark.parametrize(
    ("tenant", "line"),
    [("blue", ': call get_job with {"id": 42}'), ("green", "; its status is at /blue/jobs/42")],
)
async def test_a_tool_asks_for_work_only_where_its_fixed_values_lead_there(tenant, line):
    config = {"tools": {"get_job": {"fixed": {"tenant": tenant}}}}
    result = await load_things(long_work, config).call("begin", {"tenant": "blue"})

    assert result.header_note == f"The operation is still running{line}"


@pytest.mark.parametrize("config", [None, {"tools": {"begin": {"answer": {"fields": "total"}}}}])
async def test_fields_of_a_call_that_waits_are_those_of_the_end(config):
    if config is not None:
        config["tools"]["begin"]["wait"] = 5
    toolset = load_things(long_work, config)
    fields = None if config else "total"

    result = await toolset.call("begin", {"tenant": "blue"}, wait=5, fields=fields)

    assert result.output == 7


A, B = object_of(a=TEXT), object_of(b=TEXT)


@pytest.mark.parametrize(
    ("responses", "fields"),
    [
        ({"200": make_response(A), "201": make_response(B)}, "b"),
        ({"200": make_response(A), "206": make_response(A, "text/event-stream")}, "[].data.a"),
        ({"200": make_response({**A, "unevaluatedProperties": TEXT})}, "other"),
        ({"200": make_response({**A, "if": {"required": ["a"]}, "then": B})}, "b"),
        ({"200": make_response({**A, "dependentSchemas": {"a": B}})}, "b"),
    ],
)
def test_fields_that_some_documented_response_has_are_taken(responses, fields):
    paths = {"/x": {"get": {"operationId": "x", "responses": responses}}}
    tool = load_things(first_page, paths=paths)["x"]

    check_fields(fields, tool.answer_schema)


UNKNOWN = {"/x": {"get": documents.operation(operationId="x")}}


@pytest.mark.parametrize("fields", ["join('-', parts)", "reverse(back)", "join('', [head, tail])"])
async def test_pieces_of_a_secret_are_masked_when_fields_join_them(fields):
    value = {"parts": SECRET.split("-"), "back": SECRET[::-1]}
    value |= {"head": SECRET[:9], "tail": SECRET[9:]}
    toolset = load_things(lambda request: httpx.Response(200, json=value), paths=UNKNOWN)

    result = await toolset.call("x", {}, fields=fields)

    assert result.output == "***"


async def test_fields_that_choose_nothing_say_so():
    response = httpx.Response(200, json={"items": [{"id": 1}]})
    result = await load_things(lambda _: response, paths=UNKNOWN).call("x", {}, fields="item")

    assert result.header_note == "fields matches nothing in this response"


async def test_a_cursor_that_is_not_utf_8_is_asked_for_by_its_address():
    asked = []

    def respond(request):
        asked.append(str(request.url))
        links = {"Link": '</blue/things?page=%FF1>; rel="next"'} if len(asked) == 1 else {}
        return httpx.Response(200, json={"items": [{"id": len(asked)}]}, headers=links)

    things = PATHS["/{tenant}/things"]["get"]
    texts = [TENANT, parameter("page", TEXT)]
    paths = {"/{tenant}/things": {"get": {**things, "parameters": texts}}}
    await load_things(respond, paths=paths).pages("list_things", {"tenant": "blue"}).collect()

    assert asked[1].endswith("?page=%FF1")


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "openapi-tools.toml"
    path.write_text('prefix = "my_"\n', encoding="utf-8-sig")

    assert "my_begin" in load_tools(document(PATHS), config=path)


async def test_pages_that_fail_name_the_arguments_that_go_on():
    def respond(request):
        page = int(request.url.params.get("page", "1"))
        items = [{"id": page}] if page < 3 else []
        return httpx.Response(200 if items else 500, json={"items": items, "total": 9})

    config = {"tools": {"list_things": {"arguments": {"page": {"name": "seite"}}}}}
    pages = load_things(respond, config).pages("list_things", {"tenant": "blue", "size": 1})
    items = [item async for item in pages]

    assert items == [{"id": 1}, {"id": 2}]
    assert pages.reason == "error"
    assert pages.following == {"seite": 3}


@pytest.mark.parametrize("key", ["fixed", "defaults"])
async def test_a_table_for_one_tool_overrides_what_a_pattern_says_of_an_argument(key):
    other = "defaults" if key == "fixed" else "fixed"
    usual = {other: {"size": 5}, "arguments": {"page": {"name": "seite", "description": "x"}}}
    table = {key: {"size": 7}, "arguments": {"page": {"description": "The page."}}}
    asked = []

    def respond(request):
        asked.append(request.url.params["size"])
        return first_page(request)

    toolset = load_things(respond, {"tools": {"*": usual, "list_things": table}})
    await toolset.call("list_things", {"tenant": "blue"})

    properties = toolset["list_things"].input_schema["properties"]
    assert asked == ["7"]
    assert properties["seite"]["description"] == "The page."
    assert ("size" in properties) == (key == "defaults")


def test_one_table_cannot_give_an_argument_a_fixed_value_and_a_default():
    table = {"fixed": {"size": 7}, "defaults": {"size": 8}}

    with pytest.raises(SettingsError, match="'size' already has a fixed value"):
        load_things(first_page, {"tools": {"*": {"defaults": {"size": 5}}, "list_things": table}})
