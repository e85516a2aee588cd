"""The three tools that reach all others: what they take, what they answer, and what they cost."""

import json
import pickle

import httpx
import pytest
from documents import document, operation

from openapi_tools import (
    Context,
    InputError,
    SettingsError,
    ToolResult,
    load_tools,
    require_approval,
)
from openapi_tools.errors import CallError, NotPicklableError
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.search import costs
from openapi_tools.tools.guardrails import describe_question

NUMBER = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
PAGE = {"name": "page", "in": "query", "schema": {"type": "integer"}}
DOCUMENT = document(
    {
        "/pets/{id}": {
            "get": operation(operationId="get_pet", summary="Get a pet.", parameters=[NUMBER]),
            "delete": operation(operationId="delete_pet", summary="Drop it.", parameters=[NUMBER]),
        },
        "/pets": {
            "get": operation(operationId="list_pets", summary="List pets.", parameters=[PAGE]),
            "post": operation(operationId="add_pet", summary="Add a pet."),
        },
        "/report": {"post": operation(operationId="make_report", summary="Make a report.")},
    },
    servers=[{"url": "http://pets.example.com"}],
)
REX = {"id": 1, "name": "Rex"}


@pytest.fixture
def sent():
    """The requests that reached the API."""
    return []


@pytest.fixture
def pets(sent):
    """The tools of the API."""

    def respond(request):
        sent.append(request)
        if request.url.path == "/report":
            return httpx.Response(202, json={}, headers={"Location": "/pets/1"})
        if request.url.path == "/pets" and request.method == "GET":
            page = int(request.url.params.get("page", 1))
            headers = {"Link": f'</pets?page={page + 1}>; rel="next"'} if page < 3 else {}
            items = [{"id": 10 * page + n, "name": "x" * 50} for n in range(10)]
            return httpx.Response(200, json=items, headers=headers)
        return httpx.Response(200, json=REX)

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    return load_tools(DOCUMENT, client=client, show_changes=False)


@pytest.fixture
def meta(pets):
    """The three tools."""
    return pets.meta_tools()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("words", ["short", "tight", "full"])
def test_their_definitions_take_at_most_250_tokens(profile, words):
    meta = load_tools(DOCUMENT, settings={"definitions": words}).meta_tools()
    _, count = costs.token_counter()

    definitions = meta.definitions(profile)

    assert len(definitions) == 3
    assert not meta.warnings
    assert sum(costs.definition_cost(each, count)[1] for each in definitions) <= 250
    assert len(json.dumps(definitions, separators=(",", ":"))) < 1100


async def test_a_search_returns_stubs(meta):
    result = await meta.call("search_tools", {"query": "drop\nadd a pet", "limit": 2})

    lines = str(result).splitlines()
    names = [line.partition("(")[0] for line in lines if line[0] != " "]
    assert names == ["delete_pet", "add_pet"]


@pytest.mark.parametrize("limit", [0, -3, 10**6, 2.0])
async def test_a_limit_is_brought_into_its_bounds(meta, limit):
    assert (await meta.call("search_tools", {"query": "pet", "limit": limit})).success


async def test_a_search_without_hits_says_so_and_names_near_tools(meta):
    result = await meta.call("search_tools", {"query": "listpet"})

    assert result.success
    assert result.output.startswith(
        "No tool among 5 has the words 'listpet'; did you mean list_pet"
    )


async def test_descriptions_come_for_each_tool_once_and_ten_at_most(pets):
    listed = ["get_pet", "get_pet", "get_pets"], list(map(str, range(12))), []
    meta = pets.meta_tools()
    whole, many, none = [await meta.call("describe_tools", {"names": names}) for names in listed]

    assert whole.output.count("get_pet: GET /pets/{id}") == 1
    assert "no tool is called 'get_pets'; did you mean get_pet" in whole.output
    assert many.is_error
    assert "Not described: 2 more" in many.output
    assert none.output == "names must be a list of tool names."


@pytest.mark.parametrize(
    "call_fields",
    [
        {"arguments": {"id": 1}},
        {"arguments": '{"id": 1}'},
        {"arguments": ' {"id": 1} ', "fields": None, "pages": None},
        {"id": 1},
        {"id": 1, "arguments": {}},
        {"id": 1, "arguments": None},
        {"id": 1, "arguments": ""},
    ],
)
async def test_arguments_come_in_several_forms(meta, sent, call_fields):
    call = {"name": "get_pet", **call_fields}

    result = await meta.call("call_tool", call)

    assert result.output == REX
    assert [str(request.url) for request in sent] == ["http://pets.example.com/pets/1"]
    tool, arguments = meta["call_tool"].target_tool(call)
    assert (tool.name, arguments) == ("get_pet", {"id": 1})


@pytest.mark.parametrize("profile", PROFILES)
async def test_calls_by_each_profile_reach_the_tool(meta, profile):
    meta.definitions(profile)
    text = profile in ("openai_strict", "gemini")
    arguments = {"name": "get_pet", "arguments": '{"id": 1}' if text else {"id": 1}}
    nulls = {"fields": None, "pages": None} if profile == "openai_strict" else {}

    result = await meta.call({"name": "call_tool", "arguments": {**arguments, **nulls}})

    assert result.output == REX


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "/name: missing required argument"),
        ({"name": "get_pets"}, "did you mean get_pet"),
        ({"name": "call_tool"}, "no tool is called 'call_tool'"),
        ({"name": "get_pet"}, "/id: missing required argument"),
        ({"name": "get_pet", "arguments": {"id": "one"}}, "/id: expected an integer, got 'one'"),
        ({"name": "get_pet", "arguments": "{"}, "/arguments: it must be an object, but the string"),
        ({"name": "get_pet", "arguments": "[1]"}, "/arguments: expected an object"),
        ({"name": "get_pet", "arguments": "[" * 10**5}, "/arguments: it must be an object"),
        ({"name": "get_pet", "arguments": {"id": 1}, "id": 2}, "/arguments/id: it is passed both"),
        ({"name": "get_pet", "arguments": {"id": 1}, "fields": "[*"}, "JMESPath"),
        ({"name": "list_pets", "pages": 2, "fields": "[*"}, "JMESPath"),
        ({"name": ["get_pet"]}, "/name: expected a string"),
    ],
)
async def test_a_wrong_call_is_explained_and_not_sent(meta, sent, arguments, words):
    result = await meta.call("call_tool", arguments)

    assert result.is_error
    assert result.error["type"] == "invalid_input"
    assert words in result.error["message"]
    assert sent == []


async def test_the_result_is_that_of_the_tool(pets, meta):
    events = []
    pets.subscribe(events.append)
    call = {"id": "c1", "name": "call_tool", "arguments": {"name": "get_pet", "id": 1}}

    result = await meta.call(call)
    direct = await pets.call("get_pet", {"id": 1})

    assert (result.output, result.tool_call_id) == (direct.output, "c1")
    assert result.metadata.keys() == direct.metadata.keys()
    assert {event.tool for event in events} == {"get_pet"}
    assert events[0].call_id == "c1"


async def test_fields_choose_parts(meta):
    arguments = {"name": "get_pet", "arguments": {"id": 1}, "fields": "name"}

    assert (await meta.call("call_tool", arguments)).output == "Rex"


async def test_pages_are_collected(meta, sent):
    some = await meta.call("call_tool", {"name": "list_pets", "pages": 2.0})
    every = await meta.call("call_tool", {"name": "list_pets", "pages": 50, "fields": "[].id"})

    assert len(some.output) == 20
    assert some.header_note.startswith("max_pages: 20 items came in 2 pages")
    assert every.output == [10 * page + n for page in (1, 2, 3) for n in range(10)]
    assert len(sent) == 5


async def test_collected_pages_are_cut_as_other_responses_are(sent):
    def respond(request):
        page = int(request.url.params.get("page", 1))
        headers = {"Link": f'</pets?page={page + 1}>; rel="next"'}
        return httpx.Response(200, json=[{"id": page, "text": "y" * 90}] * 10, headers=headers)

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    pets = load_tools(DOCUMENT, client=client, show_changes=False, max_output_chars=3000)

    result = await pets.meta_tools().call(
        "call_tool", {"name": "list_pets", "pages": 9, "fields": "[].{i: id, t: text, p: `1`}"}
    )

    assert len(json.dumps(result.output)) < 3500
    assert "items left out" in result.output[-1]


async def test_a_write_is_called_once_whatever_pages_say(meta, sent):
    result = await meta.call("call_tool", {"name": "add_pet", "pages": 5})

    assert result.output == REX
    assert len(sent) == 1


async def test_approval_guardrails_and_hooks_are_those_of_the_tool(pets, meta, sent):
    asked, seen = [], []
    meta.add_input_guardrails([require_approval(), lambda call, _: seen.append(call.name)])
    context = Context(approve=lambda call: asked.append(describe_question(pets[call.name], call)))

    read = await meta.call("call_tool", {"name": "get_pet", "id": 1}, context=context)
    wrote = await meta.call("call_tool", {"name": "delete_pet", "id": 1}, context=context)

    assert read.success
    assert wrote.error["message"] == "delete_pet was not approved."
    assert asked == ['Call delete_pet (DELETE /pets/{id})?\n  "id": 1']
    assert seen == ["get_pet", "delete_pet"]
    assert len(sent) == 1
    assert not meta["call_tool"].needs_approval


async def test_a_guardrail_of_the_meta_toolset_answers_for_the_tool(meta, sent):
    meta.add_output_guardrails([lambda result, _: ToolResult.ok("changed")])

    assert (await meta.call("call_tool", {"name": "get_pet", "id": 1})).output == "changed"


async def test_dry_runs_and_the_approval_of_settings_are_those_of_the_tool(sent):
    asked = []
    dry = load_tools(DOCUMENT, settings={"dry_run": True}).meta_tools()
    asking = load_tools(
        DOCUMENT, settings={"approve": lambda preview: asked.append(preview.tool) or False}
    ).meta_tools()
    arguments = {"name": "delete_pet", "arguments": {"id": 1}}

    dry_run, refused = (
        await dry.call("call_tool", arguments),
        await asking.call("call_tool", arguments),
    )

    assert dry_run.output["url"] == "http://pets.example.com/pets/1"
    assert refused.error["message"] == "delete_pet was not approved; it was not sent."
    assert asked == ["delete_pet"]


async def test_long_work_is_waited_for_and_resumed(meta):
    ended = await meta.call("call_tool", {"name": "make_report"}, wait=5)
    begun = await meta.call("call_tool", {"name": "make_report"})
    resumed = await meta.resume(begun.metadata["job"])

    assert (ended.output, resumed.output) == (REX, REX)
    assert begun.header_note == 'The operation is still running: call get_pet with {"id": 1}'


def test_attributes_say_what_a_call_may_do(meta):
    assert [tool.read_only for tool in meta] == [True, True, False]
    assert [tool.destructive for tool in meta] == [False, False, True]
    assert [tool.parallel_safe for tool in meta] == [True, True, False]
    assert [tool.calls_another for tool in meta] == [False, False, True]
    assert repr(meta["call_tool"]) == "<tool call_tool>"
    tool = meta["call_tool"]
    assert (tool.method, tool.path, tool.tags) == ("", "", ())


def test_checks_and_previews_are_clear(meta):
    tool = meta["call_tool"]

    checked = tool.check({"name": "get_pet", "id": 1})
    request = tool.preview({"name": "get_pet", "id": 1})

    assert checked == {"name": "get_pet", "arguments": {"id": 1}}
    assert str(request.url) == "http://pets.example.com/pets/1"
    with pytest.raises(InputError, match="/id: missing required"):
        tool.preview({"name": "get_pet"})
    with pytest.raises(CallError, match="search_tools does not send a request itself"):
        meta["search_tools"].preview({"query": "pet"})
    with pytest.raises(NotPicklableError):
        pickle.dumps(tool)


def test_a_selection_of_them_reaches_the_same_tools(pets, meta):
    some = meta.select({"names": ["call_tool", "search_tools"]})
    some.add_input_guardrails([require_approval()])

    assert [tool.name for tool in some] == ["search_tools", "call_tool"]
    assert pets["delete_pet"].needs_approval
    assert some.search("drop")[0].tool.name == "delete_pet"
    assert some.called is pets


def test_they_are_not_joined_with_the_tools_of_documents(pets, meta):
    with pytest.raises(SettingsError, match="then call meta_tools"):
        type(pets).union(pets, meta)


async def test_a_caller_of_some_tools_reads_nothing_of_operations_that_were_skipped():
    wrong = operation(operationId="hide_pet", parameters=[{"$ref": "#/components/parameters/no"}])
    tools = load_tools({**DOCUMENT, "paths": {**DOCUMENT["paths"], "/hide": {"get": wrong}}})
    messages = []
    for offered in (tools.meta_tools(), tools.meta_tools().only(lambda tool: tool.read_only)):
        arguments = {"name": "hide_pet", "arguments": {}}
        messages.append(str(await offered.call("call_tool", arguments)))

    assert "GET /hide was skipped" in messages[0]
    assert messages[1] == "no tool is called 'hide_pet'; did you mean get_pet or list_pets?"
