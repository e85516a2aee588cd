"""Shapes together: what one of them changes, the others know."""

import httpx
import pytest

from openapi_tools import SettingsError, load_tools
from openapi_tools.responses.answer_shape import check_fields

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
SECRET = "kv-71-zephyr-quartz-9920"


def members(**schemas):
    return {"type": "object", "properties": schemas}


def answering(**schemas):
    return {
        status: {"description": "…", "content": {kind: {"schema": schema}}}
        for status, (kind, schema) in schemas.items()
    }


def parameter(name, schema, place="query"):
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


TENANT = parameter("tenant", TEXT, "path")
THINGS = members(items={"type": "array", "items": members(id=NUMBER)}, total=NUMBER)
PATHS = {
    "/{tenant}/things": {
        "get": {
            "operationId": "list_things",
            "parameters": [TENANT, parameter("page", NUMBER), parameter("size", NUMBER)],
            "responses": answering(s200=("application/json", THINGS)),
        }
    },
    "/{tenant}/jobs": {
        "post": {
            "operationId": "begin",
            "parameters": [TENANT],
            "responses": answering(s202=("application/json", members(state=TEXT))),
        }
    },
    "/{tenant}/jobs/{id}": {
        "get": {
            "operationId": "get_job",
            "parameters": [TENANT, parameter("id", NUMBER, "path")],
            "responses": answering(s200=("application/json", members(total=NUMBER))),
        }
    },
}


def document(paths):
    paths = {
        path: {
            method: {**node, "responses": {k.strip("s"): v for k, v in node["responses"].items()}}
            for method, node in item.items()
        }
        for path, item in paths.items()
    }
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "https://things.example.com"}],
        "security": [{"key": []}],
        "components": {"securitySchemes": {"key": scheme}},
        "paths": paths,
    }


def loaded(answer, config=None, paths=PATHS):
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
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
    toolset = loaded(first_page, config)

    result = await toolset.call("list_things", {"tenant": "blue"})
    pages = toolset.pages("list_things", {"tenant": "blue"})
    items = [item async for item in pages]

    assert result.header_note == "More: there are more; no argument asks for them"
    assert len(items) == 2
    assert pages.reason == "no_way"


async def test_a_page_that_is_fixed_tells_of_no_other_one():
    config = {"tools": {"list_things": {"fixed": {"page": 2}}}}
    result = await loaded(first_page, config).call("list_things", {"tenant": "blue"})

    assert result.header_note == ""


@pytest.mark.parametrize(
    ("tenant", "line"),
    [
        ("blue", 'ask get_job with {"id": 42}'),
        ("green", "its state is at /blue/jobs/42"),
    ],
)
async def test_a_tool_asks_for_work_only_where_its_fixed_values_lead_there(tenant, line):
    config = {"tools": {"get_job": {"fixed": {"tenant": tenant}}}}
    result = await loaded(long_work, config).call("begin", {"tenant": "blue"})

    assert result.header_note == f"The work goes on: {line}"


@pytest.mark.parametrize("config", [None, {"tools": {"begin": {"answer": {"fields": "total"}}}}])
async def test_fields_of_a_call_that_waits_are_those_of_the_end(config):
    if config is not None:
        config["tools"]["begin"]["wait"] = 5
    toolset = loaded(long_work, config)
    fields = None if config else "total"

    result = await toolset.call("begin", {"tenant": "blue"}, wait=5, fields=fields)

    assert result.output == 7


@pytest.mark.parametrize(
    ("answers", "fields"),
    [
        (
            {
                "s200": ("application/json", members(a=TEXT)),
                "s201": ("application/json", members(b=TEXT)),
            },
            "b",
        ),
        (
            {
                "s200": ("application/json", members(a=TEXT)),
                "s206": ("text/event-stream", members(a=TEXT)),
            },
            "[].data.a",
        ),
        (
            {"s200": ("application/json", {**members(a=TEXT), "unevaluatedProperties": TEXT})},
            "other",
        ),
        (
            {
                "s200": (
                    "application/json",
                    {**members(a=TEXT), "if": {"required": ["a"]}, "then": members(b=TEXT)},
                )
            },
            "b",
        ),
        (
            {
                "s200": (
                    "application/json",
                    {**members(a=TEXT), "dependentSchemas": {"a": members(b=TEXT)}},
                )
            },
            "b",
        ),
    ],
)
def test_fields_that_some_documented_answer_has_are_taken(answers, fields):
    paths = {"/x": {"get": {"operationId": "x", "responses": answering(**answers)}}}
    tool = loaded(first_page, paths=paths)["x"]

    check_fields(fields, tool.answer_schema)


@pytest.mark.parametrize("fields", ["join('-', parts)", "reverse(back)", "join('', [head, tail])"])
async def test_pieces_of_a_secret_are_masked_when_fields_join_them(fields):
    value = {
        "parts": SECRET.split("-"),
        "back": SECRET[::-1],
        "head": SECRET[:9],
        "tail": SECRET[9:],
    }
    paths = {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "…"}}}}}
    toolset = loaded(lambda request: httpx.Response(200, json=value), paths=paths)

    result = await toolset.call("x", {}, fields=fields)

    assert result.output == "***"


async def test_fields_that_choose_nothing_say_so():
    paths = {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "…"}}}}}
    result = await loaded(first_page, paths=paths).call("x", {}, fields="item")

    assert result.header_note == "fields chooses nothing here"


async def test_a_cursor_that_is_not_utf_8_is_asked_for_by_its_address():
    asked = []

    def answer(request):
        asked.append(str(request.url))
        links = {"Link": '</blue/things?page=%FF1>; rel="next"'} if len(asked) == 1 else {}
        return httpx.Response(200, json={"items": [{"id": len(asked)}]}, headers=links)

    things = PATHS["/{tenant}/things"]["get"]
    texts = [TENANT, parameter("page", TEXT)]
    paths = {"/{tenant}/things": {"get": {**things, "parameters": texts}}}
    await loaded(answer, paths=paths).pages("list_things", {"tenant": "blue"}).collect()

    assert asked[1].endswith("?page=%FF1")


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "openapi-tools.toml"
    path.write_text('prefix = "my_"\n', encoding="utf-8-sig")

    assert "my_begin" in load_tools(document(PATHS), config=path)


async def test_pages_that_fail_name_the_arguments_that_go_on():
    def answer(request):
        page = int(request.url.params.get("page", "1"))
        items = [{"id": page}] if page < 3 else []
        return httpx.Response(200 if items else 500, json={"items": items, "total": 9})

    config = {"tools": {"list_things": {"arguments": {"page": {"name": "seite"}}}}}
    pages = loaded(answer, config).pages("list_things", {"tenant": "blue", "size": 1})
    items = [item async for item in pages]

    assert items == [{"id": 1}, {"id": 2}]
    assert pages.reason == "error"
    assert pages.following == {"seite": 3}


@pytest.mark.parametrize("key", ["fixed", "defaults"])
async def test_a_table_for_one_tool_overrides_what_a_pattern_says_of_an_argument(key):
    other = "defaults" if key == "fixed" else "fixed"
    usual = {other: {"size": 5}, "arguments": {"page": {"name": "seite", "description": "x"}}}
    own = {key: {"size": 7}, "arguments": {"page": {"description": "The page."}}}
    asked = []

    def answer(request):
        asked.append(request.url.params["size"])
        return first_page(request)

    toolset = loaded(answer, {"tools": {"*": usual, "list_things": own}})
    await toolset.call("list_things", {"tenant": "blue"})

    shown = toolset["list_things"].input_schema["properties"]
    assert asked == ["7"]
    assert shown["seite"]["description"] == "The page."
    assert ("size" in shown) == (key == "defaults")


def test_one_table_cannot_give_an_argument_a_fixed_value_and_a_default():
    own = {"fixed": {"size": 7}, "defaults": {"size": 8}}

    with pytest.raises(SettingsError, match="'size' has a fixed value already"):
        loaded(first_page, {"tools": {"*": {"defaults": {"size": 5}}, "list_things": own}})
