"""The tools as an MCP server, seen by the real client: in memory, over stdio and over HTTP."""

import asyncio
import base64
import json
from types import SimpleNamespace

import httpx
import pytest
from conformance import Conformance
from documents import document, operation
from pet_shop import DOCUMENT as SHOP
from tools.handlers import load_with_handler

from openapi_tools import Settings, SettingsError, ToolResult, load_tools, require_approval
from openapi_tools.contracts import mcp as module
from openapi_tools.contracts.mcp import create_server
from openapi_tools.testing.conformance_tests import Seen

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client, MCPError, types
from mcp_api import MODES, PARTIES, Api, Person, connect_client, texts

REX = {"id": 1, "name": "Rex", "owner": None}
ONE = {"/a": {"get": operation(operationId="a")}}


@pytest.fixture
async def api():
    """The API on loopback."""
    async with Api() as running:
        yield running


@pytest.fixture(params=MODES)
def mode(request):
    """The two eras of the protocol."""
    return request.param


@pytest.fixture(params=["stdio", "http"])
def connect(request, mode, api, tmp_path):
    """Connect a client to a process; in the test's own task, as the client wants it."""
    return lambda **options: connect_client(request.param, mode, api, tmp_path, **options)


class OverMCP(Conformance):
    mode = ""
    test_a_context_gives_the_credentials = None  # calls carry the toolset's own

    def names(self, toolset):
        async def list_tools():
            async with Client(create_server(toolset), mode=self.mode) as client:
                return (await client.list_tools()).tools

        return [tool.name for tool in asyncio.run(list_tools())]

    async def run_turns(self, toolset, *turns):
        async with Client(create_server(toolset), mode=self.mode) as client:
            return [
                self.read_result(result)
                for turn in turns
                for result in await asyncio.gather(*(client.call_tool(*call) for call in turn))
            ]

    def read_result(self, result):
        images = [content for content in result.content if content.type == "image"]
        assert {image.mime_type for image in images} <= {"image/png"}
        text = texts(result)[0] if texts(result) else ""
        is_object = not result.is_error and not images and text.startswith("{")
        assert result.structured_content == (json.loads(text) if is_object else None)
        data = [base64.b64decode(image.data) for image in images]
        return Seen(texts(result), data, result.is_error)


class TestMCPWithHandshake(OverMCP):
    mode = "legacy"


class TestStatelessMCP(OverMCP):
    mode = "auto"


def client_of(paths, response=None, *, mode="auto", toolset=None, **options):
    """Return a client in memory whose calls get one response."""
    reply = response or httpx.Response(200, json={})
    toolset = toolset or load_with_handler(document(paths), lambda _: reply)[0]
    return Client(create_server(toolset), mode=mode, **options)


async def use_client(client):
    """Return what a client receives: the tools, responses, errors, an image, and calls at once."""
    calls = [("get_pet", {"id": 1}), ("list_pets", {}), ("get_pet", {"id": 404})]
    calls += [("get_pet", {"id": "one"}), ("get_photo", {})]
    results = [await client.call_tool(*call) for call in calls]
    # The API sends none of these responses before all have come.
    together = await asyncio.gather(*(client.call_tool("meet", {}) for _ in range(PARTIES)))
    with pytest.raises(MCPError) as unknown:
        await client.call_tool("get_pets", {})
    return await client.list_tools(), results, together, unknown.value.error, client.server_info


async def test_tools_have_all_hints_and_results_their_form(mode, api, tmp_path):
    async with connect_client("memory", mode, api, tmp_path) as client:
        listed, results, together, unknown, info = await use_client(client)

    hints = {
        tool.name: "".join(str(int(hint)) for _, hint in tool.annotations if hint is not None)
        for tool in listed.tools
    }
    # Read-only, destructive, idempotent, open world.
    reads = dict.fromkeys(["get_pet", "list_pets", "get_photo", "be_slow", "meet"], "1011")
    assert hints == {**reads, "put_pet": "0111", "delete_pet": "0111", "add_pet": "0001"}
    assert (listed.next_cursor, listed.tools[0].output_schema) == (None, None)
    assert (listed.tools[0].title, listed.tools[0].input_schema["required"]) == (
        *("Get a pet", ["id"]),
    )
    assert (info.name, info.version) == ("Pet API", "7.1")
    single, several, missing, _, photo = results
    assert (single.structured_content, several.structured_content) == (REX, None)
    assert texts(several) == ['[{"id":1},{"id":2}]']
    assert (missing.is_error, missing.structured_content) == (True, None)
    assert [content.type for content in photo.content] == ["image"]
    assert unknown.code == types.INVALID_PARAMS
    assert "did you mean get_pet or " in unknown.message
    assert [result.is_error for result in together] == [False] * PARTIES


@pytest.mark.long
async def test_every_transport_reports_and_asks_the_same(connect, mode, api, tmp_path):
    async with connect_client("memory", mode, api, tmp_path) as client:
        expected = await use_client(client)

    person = Person()
    async with connect(ask=True, elicitation_callback=person) as client:
        assert await use_client(client) == expected
        deleted = await client.call_tool("delete_pet", {"id": 1})

    assert person.asked == ['Call delete_pet (DELETE /pets/{id})?\n  "id": 1']
    assert not deleted.is_error
    assert (api.requests[-1].method, api.requests[-1].target) == ("DELETE", "/pets/1")


@pytest.mark.long
async def test_a_client_that_gives_up_ends_the_call_of_the_api(connect, api):
    # Before 2026-07-28 a request of its own says so, which only a session can join to the call.
    async with connect(sessions=True) as client:
        call = asyncio.create_task(client.call_tool("be_slow", {"seconds": 60}))
        await asyncio.wait_for(api.arrived.wait(), 30)

        call.cancel()

        await asyncio.wait_for(api.left.wait(), 30)
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.call_tool("get_pet", {"id": 1})).structured_content == REX


async def test_progress_grows_from_one_notice_to_the_next(mode, api, tmp_path, monkeypatch):
    notices = []

    async def note(*notice):
        notices.append(notice)

    async with connect_client("memory", mode, api, tmp_path) as client:
        await client.call_tool("get_pet", {"id": 1}, progress_callback=note)
        assert notices == [], "a quick call tells nothing"
        monkeypatch.setattr(module, "_FIRST_PROGRESS", 0.01)
        monkeypatch.setattr(module, "_PROGRESS_INTERVAL", 0.01)
        await client.call_tool("be_slow", {"seconds": 0.5}, progress_callback=note)

    progress = [notice[0] for notice in notices]
    assert len(notices) > 2
    assert progress == sorted(set(progress))
    assert {notice[1:] for notice in notices} <= {
        (None, "waiting for 0 s"),
        (None, "waiting for 1 s"),
    }


REFUSALS = {
    "decline": ({"id": 1}, "delete_pet was not approved."),
    "cancel": ({"id": 1}, "delete_pet was not approved."),
    "nobody to ask": ({"id": 1}, "delete_pet needs approval, but approval is not configured."),
    "wrong arguments": ({"id": "one"}, "/id: expected an integer, got 'one' (a"),
}


@pytest.mark.parametrize("why", REFUSALS)
async def test_what_the_user_does_not_approve_is_not_sent(mode, why, api, tmp_path):
    arguments, message = REFUSALS[why]
    person = Person(why)
    options = {} if why == "nobody to ask" else {"elicitation_callback": person}
    async with connect_client("memory", mode, api, tmp_path, ask=True, **options) as client:
        result = await client.call_tool("delete_pet", arguments)

    assert result.is_error
    assert texts(result)[0].startswith(message)
    assert len(person.asked) == (why in ("decline", "cancel"))
    assert api.requests == []


async def test_a_client_that_fails_to_ask_has_not_approved(mode, api, tmp_path):
    async def answer(*_):
        return types.ErrorData(code=types.INTERNAL_ERROR, message="no window")

    options = {"ask": True, "elicitation_callback": answer}
    async with connect_client("memory", mode, api, tmp_path, **options) as client:
        if mode == "legacy":
            result = await client.call_tool("delete_pet", {"id": 1})
            assert texts(result) == ["delete_pet was not approved."]
        else:  # the client asks by itself, and gives up
            with pytest.raises(MCPError, match="no window"):
                await client.call_tool("delete_pet", {"id": 1})

    assert api.requests == []


async def test_an_answer_is_good_for_the_call_that_was_asked_about_only(api, tmp_path):
    async def never(*_):
        raise AssertionError("the test answers by itself")

    async with connect_client(
        "memory", "auto", api, tmp_path, ask=True, elicitation_callback=never
    ) as client:
        call = client.session.call_tool
        asked = await call("delete_pet", {"id": 1}, allow_input_required=True)
        yes = {key: types.ElicitResult(action="accept") for key in asked.input_requests}
        other = await call("delete_pet", {"id": 2}, input_responses=yes, allow_input_required=True)
        same = await call("delete_pet", {"id": 1}, input_responses=yes, allow_input_required=True)

    assert isinstance(other, types.InputRequiredResult)
    assert other.input_requests.keys().isdisjoint(yes)
    assert not same.is_error
    assert [request.target for request in api.requests] == ["/pets/1"]


async def test_a_question_says_how_much_of_it_is_not_shown(mode):
    person = Person("decline")
    toolset = load_tools(SHOP, settings=Settings(base_url="http://api.example.com"))
    toolset.add_input_guardrails([require_approval()])
    async with client_of({}, mode=mode, toolset=toolset, elicitation_callback=person) as client:
        await client.call_tool("add_pet", {"body": {"name": "x" * 5000}})

    assert person.asked[0].endswith('x"... (1,062 more characters)}')


async def test_a_client_that_only_opens_addresses_cannot_be_asked():
    request = SimpleNamespace(protocol_version="2025-11-25", can_send_request=True)
    request.session = request
    only_urls = types.ElicitationCapability(url=types.UrlElicitationCapability())
    request.client_capabilities = types.ClientCapabilities(elicitation=only_urls)

    assert not module.ElicitationChannel(request, {}, None, {}, module.OpenQuestions()).is_open


async def test_guards_find_the_request_and_can_answer(mode):
    seen = []

    def guard(call, context):
        seen.append((call.name, bool(call.id), context.state.method))
        return ToolResult.ok({"from": "a guard"})

    toolset = load_tools(document(ONE))
    toolset.add_input_guardrails([guard])
    async with client_of({}, mode=mode, toolset=toolset) as client:
        result = await client.call_tool("a", {})

    assert seen == [("a", True, "tools/call")]
    assert result.structured_content == {"from": "a guard"}


@pytest.mark.parametrize(
    "text",
    [
        *('"\\ud800"', "[1e400, -0.0]", "12345678901234567890123", '"\u2028"'),
        '{"a":' * 149 + "1" + "}" * 149,
    ],
    ids=["surrogate", "numbers", "long number", "separator", "deep"],
)
async def test_odd_values_of_a_response_do_not_end_the_connection(mode, text):
    body = f'{{"a": {text}}}'.encode()
    response = httpx.Response(200, content=body, headers={"Content-Type": "application/json"})

    async with client_of(ONE, response, mode=mode) as client:
        first, second = [await client.call_tool("a", {}) for _ in range(2)]

    assert [first.is_error, second.is_error] == [False, False]
    assert json.loads(texts(first)[0]).keys() == {"a"}
    if text.startswith("{"):
        assert json.loads(texts(first)[0]) == first.structured_content == json.loads(body)


async def test_a_lone_surrogate_of_a_document_does_not_end_the_connection(mode):
    parameter = {"name": "q", "in": "query", "schema": {"enum": ["\ud800", "b"]}}
    odd = document({"/a": {"get": operation(operationId="a", parameters=[parameter])}})
    odd["info"]["title"] = "A\udfff title"

    async with client_of({}, mode=mode, toolset=load_tools(odd)) as client:
        (tool,) = (await client.list_tools()).tools
        name = client.server_info.name

    assert "enum" not in tool.input_schema["properties"]["q"]  # no model could name the first
    assert name == "A\ufffd title"


async def test_a_tool_has_a_title_where_its_first_line_is_one(mode):
    paths = {
        "/a": {"get": operation(operationId="a", summary="List things.", description="All.")},
        "/b": {"get": operation(operationId="b", summary="x" * 61)},
    }

    async with client_of(paths, mode=mode) as client:
        first, second = [(await client.list_tools()).tools for _ in range(2)]

    assert [tool.title for tool in first] == ["List things", None]
    assert first == second


def test_the_package_need_not_list_all_tools_to_check_a_call():
    toolset = load_tools(document(ONE))
    server = create_server(toolset, name="mine", version="3")

    assert server.get_tool_input_schema("a") == toolset["a"].input_schema
    assert server.get_tool_input_schema("b") is None
    assert (server.name, server.version) == ("mine", "3")


async def test_any_tools_are_served(mode):
    paths = {f"/{name}": {"get": operation(operationId=name)} for name in ("a1", "a2", "b")}
    toolset = load_tools(document(paths))

    async with client_of(
        {}, mode=mode, toolset=(tool for tool in toolset if tool.name != "b")
    ) as some:
        listed = await some.list_tools()
        with pytest.raises(MCPError, match=r"no tool is called 'a'; did you mean a2 or a1\?"):
            await some.call_tool("a", {})
        with pytest.raises(MCPError, match=r"no tool is called 'b' among 2 tools\."):
            await some.call_tool("b", {})
    one = create_server([toolset["b"]])

    assert [tool.name for tool in listed.tools] == ["a1", "a2"]
    assert (one.name, one.version) == ("openapi-tools", "")


def test_two_tools_of_one_name_are_refused():
    toolset = load_tools(document(ONE))

    with pytest.raises(SettingsError, match="two tools are called a; load one of them with"):
        create_server([*toolset, *toolset])


@pytest.mark.parametrize("info", [{}, {"title": 3, "version": None}, [], None])
async def test_a_document_that_does_not_say_its_title_is_served_as_well(info):
    server = create_server(load_tools({**document(ONE), "info": info}))

    assert (server.name, server.version) == ("openapi-tools", "")


@pytest.mark.parametrize(("options", "milliseconds"), [({}, 300_000), ({"lifetime": 0}, 0)])
async def test_lists_of_the_newer_protocol_have_a_lifetime(options, milliseconds):
    async with Client(create_server(load_tools(document(ONE)), **options)) as client:
        listed = await client.list_tools()

    assert listed.ttl_ms == milliseconds
    assert listed.cache_scope == "private"
