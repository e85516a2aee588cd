"""Tools in agents of the Microsoft Agent Framework: the real package, with a scripted model."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import logging
from functools import partial

import httpx
import pytest
from documents import document, operation
from packages import imported
from servers.recorder import Answer

from openapi_tools import (
    Context,
    DeniedError,
    OperationTool,
    Select,
    Settings,
    SettingsError,
    ToolResult,
    generate_package,
    load_tools,
    require_approval,
)
from openapi_tools.contracts.agent_framework import to_function_tools

if importlib.util.find_spec("agent_framework") is None:
    pytest.skip("agent-framework-core is not installed", allow_module_level=True)

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionMiddleware,
    FunctionTool,
    Message,
    tool,
)

PIXEL = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAA=")
ODD_NAMES = (
    *("self", "cls", "args", "kwargs", "ctx", "context", "invocation", "arguments"),
    *("tool_call_id", "skip_parsing", "name", "func", "class", "filter[x]", "@odata.type"),
)


def parameter(name, location, kind):
    return {"name": name, "in": location, "required": location == "path", "schema": kind}


def on_a_pet(name, **members):
    pet = parameter("id", "path", {"type": "integer"})
    return operation(operationId=name, parameters=[pet], **members)


STATUS = {"type": "string", "enum": ["available", "sold"]}
PET = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": STATUS}},
    "required": ["name"],
}
ANY = {"type": "string"}
SHOP = document(
    {
        "/pets": {
            "get": operation(
                operationId="findPets",
                description="Find pets by their status.",
                parameters=[parameter("status", "query", STATUS)],
            ),
            "post": operation(
                operationId="addPet",
                requestBody={"content": {"application/json": {"schema": PET}}, "required": True},
            ),
        },
        "/pets/{id}": {
            "get": on_a_pet("getPet", security=[{}, {"token": []}]),
            "delete": on_a_pet("deletePet"),
        },
        "/pets/{id}/photo": {"get": on_a_pet("getPhoto")},
        "/odd": {
            "get": operation(
                operationId="odd", parameters=[parameter(name, "query", ANY) for name in ODD_NAMES]
            )
        },
    },
    servers=[{"url": "https://shop.example"}],
    components={"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
)


class Shop:
    """The API: keeps what it was asked."""

    def __init__(self):
        self.requests = []

    def client(self):
        return httpx.AsyncClient(transport=httpx.MockTransport(self.answer))

    @property
    def asked(self):
        """Method and target of every request."""
        return [f"{r.method} {r.url.raw_path.decode()}" for r in self.requests]

    async def answer(self, request):
        self.requests.append(request)
        if request.url.path.endswith("/photo"):
            return httpx.Response(200, headers={"Content-Type": "image/gif"}, content=PIXEL)
        if request.url.path == "/pets/404":
            return httpx.Response(404, json={"message": "no pet has the id 404"})
        return httpx.Response(200, json={"name": "Zoë"})


class Model(FunctionInvocationLayer, BaseChatClient):
    """A chat client whose model follows a script: for each turn, the calls that it wants.

    A call is `(name, arguments)`; after the script it says "done".
    """

    def __init__(self, *turns, **options):
        super().__init__(**options)
        self.turns = list(turns)
        self.shown = []
        self.offered = []

    def _inner_get_response(self, *, messages, stream, options, **_):
        self.shown = [content for message in messages for content in message.contents]
        self.offered = options.get("tools") or []
        calls = self.turns.pop(0) if self.turns else []
        contents = [
            Content.from_function_call(call_id=f"c{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(calls)
        ] or [Content.from_text("done")]
        return self._streamed(contents) if stream else self._whole(contents)

    async def _whole(self, contents):
        return ChatResponse(messages=[Message("assistant", contents)])

    def _streamed(self, contents):
        async def updates():
            for content in contents:
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return self._build_response_stream(updates())

    @property
    def results(self):
        """The parts of each result that it was shown last."""
        return [content.items for content in self.shown if content.type == "function_result"]

    @property
    def texts(self):
        """The text of each result that it was shown last."""
        return ["".join(item.text or "" for item in items) for items in self.results]


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    generate_package(SHOP, folder, name="shop")
    return folder


@pytest.fixture(params=["loaded", "generated"])
def load(request, written, shop):
    """Gives the shop's tools: of the document, and of a package made from it."""
    if request.param == "loaded":
        yield partial(load_tools, SHOP, client=shop.client())
    else:
        with imported(written, "shop_tools") as package:
            yield partial(package.load, client=shop.client())


@pytest.fixture
def toolset(load):
    return load()


def agent_of(toolset, *turns, middleware=None, **options):
    """Return an agent with tools, and its model."""
    model = Model(*turns)
    tools = to_function_tools(toolset, **options)
    return Agent(client=model, tools=tools, middleware=middleware), model


def by_name(tools):
    return {function.name: function for function in tools}


def text_of(contents):
    return "".join(content.text for content in contents)


# Success


async def test_an_agent_calls_an_api_on_a_server(load, recorder):
    recorder.answer = Answer(body='{"name": "Zoë", "tags": []}'.encode())
    toolset = load(client=None, settings=Settings(base_url=recorder.url))
    agent, model = agent_of(toolset, [("add_pet", '{"name": "Zoë", "tags": ["sold"]}')])

    response = await agent.run("Add Zoë.")
    await toolset.aclose()

    assert response.text == "done"
    assert model.texts == ['{"name": "Zoë", "tags": []}']
    assert (recorder.last.method, recorder.last.target) == ("POST", "/pets")
    assert json.loads(recorder.last.body) == {"name": "Zoë", "tags": ["sold"]}


async def test_a_streaming_agent_calls_tools_too(toolset, shop):
    agent, model = agent_of(toolset, [("find_pets", {"status": "sold"})])

    updates = [update async for update in agent.run("Find.", stream=True)]

    assert updates[-1].text == "done"
    assert model.texts == ['{"name": "Zoë"}']
    assert shop.asked == ["GET /pets?status=sold"]


async def test_calls_of_one_turn_run_side_by_side(load):
    together = asyncio.Barrier(3)

    async def answer(request):
        await together.wait()
        return httpx.Response(200, json=request.url.path)

    toolset = load(client=httpx.AsyncClient(transport=httpx.MockTransport(answer)))
    agent, model = agent_of(toolset, [("get_pet", {"id": number}) for number in (1, 2, 3)])

    await agent.run("Get them.")

    assert model.texts == ["/pets/1", "/pets/2", "/pets/3"]


async def test_a_tool_without_arguments_can_be_called_with_none(shop):
    paths = {"/ping": {"get": operation(operationId="ping")}}
    toolset = load_tools(
        document(paths, servers=[{"url": "https://shop.example"}]), client=shop.client()
    )
    calls = [("ping", None), ("ping", ""), ("ping", "{}"), ("ping", {}), ("ping", "null")]
    agent, _ = agent_of(toolset, calls)

    await agent.run("Ping.")

    assert shop.asked == ["GET /ping"] * 5


async def test_arguments_may_have_any_name(toolset, shop):
    function = by_name(to_function_tools(toolset))["odd"]
    names = list(function.parameters()["properties"])
    agent, _ = agent_of(toolset, [("odd", {name: f"<{name}>" for name in names})])

    await agent.run("Try.")
    await function.invoke(arguments={names[0]: "given"})

    assert len(names) == len(ODD_NAMES)
    assert list(shop.requests[0].url.params) == list(ODD_NAMES)
    assert list(shop.requests[0].url.params.values()) == [f"<{name}>" for name in names]
    assert shop.requests[1].url.params == httpx.QueryParams({ODD_NAMES[0]: "given"})


class Selfish(OperationTool):
    """A tool of somebody's own with names that this package would not choose."""

    name = "selfish"
    description = "Has an argument called self."
    input_schema = {  # noqa: RUF012 -- as generated tools have it
        "type": "object",
        "properties": {"self": {}, "invocation": {}, "context": {}},
        "additionalProperties": False,
    }

    async def run(self, call, context=None):
        return ToolResult.ok({"id": call.id, **call.arguments})


@pytest.mark.parametrize("name", ["self", "invocation", "context"])
async def test_not_even_self_is_in_the_way(name):
    agent, model = agent_of([Selfish()], [("selfish", {name: 1})])

    await agent.run("Try.")

    assert json.loads(model.texts[0]) == {"id": "c0", name: 1}


async def test_deep_arguments_are_answered_by_the_tool(toolset, shop):
    deep = json.loads("[" * 300 + "]" * 300)
    agent, model = agent_of(toolset, [("add_pet", {"name": "Zoë", "tags": deep})])

    await agent.run("Add.")

    assert "deep" in model.texts[0]
    assert shop.asked == []


# What the model is offered


async def test_the_model_is_offered_each_tool_as_it_is(toolset):
    agent, model = agent_of(toolset)

    await agent.run("Hello.")

    assert [function.to_json_schema_spec() for function in model.offered] == [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in toolset
    ]
    assert all(isinstance(function, FunctionTool) for function in model.offered)


def test_what_a_client_writes_into_a_schema_stays_with_its_tool(toolset):
    function, other = to_function_tools([toolset["find_pets"]] * 2)

    function.parameters()["properties"].clear()

    assert function.parameters()["properties"] == {}
    assert list(other.parameters()["properties"]) == ["status"]
    assert list(toolset["find_pets"].input_schema["properties"]) == ["status"]


def test_some_tools_do_as_well_as_a_toolset(toolset):
    chosen = (tool for tool in toolset if tool.read_only)

    assert list(by_name(to_function_tools(chosen))) == ["find_pets", "get_pet", "get_photo", "odd"]
    assert to_function_tools([]) == []


def test_a_function_tool_can_be_described_as_data(toolset):
    found = to_function_tools(toolset)[0].to_dict()

    assert json.loads(json.dumps(found))["input_model"] == toolset["find_pets"].input_schema


# Failures


async def test_a_model_reads_what_is_wrong_with_its_arguments_and_repairs_them(toolset, shop):
    told = []

    class Reading(FunctionMiddleware):
        async def process(self, context, call_next):
            await call_next()
            told.append(text_of(context.result))

    agent, model = agent_of(
        toolset,
        [("find_pets", {"status": "lost"}), ("get_pet", {}), ("get_pet", {"id": 1, "extra": 2})],
        [("add_pet", {"name": "Zoë", "tags": ["sold", "new"]})],
        [("find_pets", {"status": "sold"})],
        middleware=[Reading()],
    )

    await agent.run("Find.")

    assert model.texts == told
    assert told[0] == "/status: 'lost' is not one of ['available', 'sold']."
    assert told[1] == "/id: required but not given."
    assert told[2].startswith("/extra: ")
    assert told[3].startswith("/tags/1: 'new' is not one of")
    assert told[4] == '{"name": "Zoë"}'
    assert shop.asked == ["GET /pets?status=sold"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"status": "so', "the arguments of a call are not valid JSON: "),
        ("[1]", "the arguments of a call have to be an object, not list."),
        ('"sold"', "the arguments of a call are not valid JSON: "),
    ],
)
async def test_a_model_is_told_when_its_arguments_are_no_object(toolset, shop, arguments, told):
    agent, model = agent_of(toolset, [("find_pets", arguments)])

    await agent.run("Find.")

    assert model.texts[0].startswith(told)
    assert shop.asked == []


async def test_an_argument_that_is_called_raw_is_an_argument(shop):
    paths = {"/x": {"get": operation(operationId="x", parameters=[parameter("raw", "query", ANY)])}}
    toolset = load_tools(
        document(paths, servers=[{"url": "https://shop.example"}]), client=shop.client()
    )
    agent, _ = agent_of(toolset, [("x", {"raw": "{"})])

    await agent.run("Get.")

    assert shop.asked == ["GET /x?raw=%7B"]


async def test_a_model_reads_the_status_and_the_words_of_an_error_answer(toolset):
    agent, model = agent_of(toolset, [("delete_pet", {"id": 404})])

    await agent.run("Delete.")

    assert model.texts == ["DELETE /pets/404 answered 404 Not Found: no pet has the id 404."]
    assert [content.exception for content in model.shown] == [None] * len(model.shown)


async def test_a_program_reads_an_error_as_data(toolset):
    found = []

    class Reading(FunctionMiddleware):
        async def process(self, context, call_next):
            await call_next()
            found.append(context.result[0].raw_representation)

    agent, model = agent_of(toolset, [("get_pet", {"id": 404})], middleware=[Reading()])

    await agent.run("Get.")

    (result,) = found
    assert (result.is_error, result.error["status"], result.tool_call_id) == (True, 404, "c0")
    assert "raw_representation" not in json.dumps([content.to_dict() for content in model.shown])


async def test_errors_of_an_api_do_not_stop_the_loop(toolset):
    turns = [[("get_pet", {"id": 404})]] * 6
    agent, model = agent_of(toolset, *turns)

    response = await agent.run("Get.")

    assert response.text == "done"
    assert len(model.texts) == 6


async def test_cancelling_an_agent_cancels_its_calls(load):
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def answer(_):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    toolset = load(client=httpx.AsyncClient(transport=httpx.MockTransport(answer)))
    agent, _ = agent_of(toolset, [("get_pet", {"id": 1})])
    running = asyncio.create_task(agent.run("Get."))
    await started.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert cancelled.is_set()


# Images


async def test_an_image_is_shown_as_an_image(toolset):
    agent, model = agent_of(toolset, [("get_photo", {"id": 1})])

    await agent.run("Show.")

    ((text, image),) = model.results
    assert text.text == f"[image: image/gif, {len(PIXEL)} bytes]"
    assert (image.type, image.media_type) == ("data", "image/gif")
    assert image.uri == f"data:image/gif;base64,{base64.b64encode(PIXEL).decode()}"


async def test_images_among_other_things_keep_their_places(toolset):
    image = {
        "base64": base64.b64encode(PIXEL).decode(),
        "media_type": "image/gif",
        "bytes": len(PIXEL),
    }
    mixed = ToolResult.ok(["first", image, {"third": 3}])
    toolset.add_output_guardrails([lambda *_: mixed])

    contents = await by_name(to_function_tools(toolset))["find_pets"].invoke(arguments={})

    assert [content.type for content in contents] == ["text", "text", "data", "text"]
    texts = ["first", f"[image: image/gif, {len(PIXEL)} bytes]", '{"third": 3}']
    assert [content.text for content in contents if content.type == "text"] == texts


async def test_a_chat_client_that_omits_images_and_a_restored_session_have_a_text(toolset):
    agent, _ = agent_of(toolset, [("get_photo", {"id": 1})])
    session = AgentSession()
    await agent.run("Show.", session=session)

    restored = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    again, model = agent_of(toolset)
    await again.run("And now?", session=restored)

    (shown,) = [content for content in model.shown if content.type == "function_result"]
    assert shown.result == f"[image: image/gif, {len(PIXEL)} bytes]"


@pytest.mark.parametrize("data", ["***", "AAA", 7, None], ids=repr)
async def test_what_only_looks_like_an_image_is_text(load, data):
    fake = {"base64": data, "media_type": "image/png", "bytes": 3}
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, json=fake))
    )
    agent, model = agent_of(load(client=client), [("find_pets", {})])

    await agent.run("Find.")

    assert json.loads(model.texts[0]) == fake


# Approval


def modes(tools):
    return {t.name for t in tools if t.approval_mode == "always_require"}


@pytest.mark.parametrize(
    ("approval", "asked"),
    [
        (None, set()),
        (False, set()),
        (True, {"find_pets", "add_pet", "get_pet", "delete_pet", "get_photo", "odd"}),
        (Select(methods=["delete"]), {"delete_pet"}),
        (lambda tool: tool.destructive, {"add_pet", "delete_pet"}),
    ],
    ids=["none", "False", "True", "Select", "function"],
)
def test_a_rule_says_for_which_tools_a_person_is_asked(toolset, approval, asked):
    assert modes(to_function_tools(toolset, approval=approval)) == asked


def test_a_tool_that_needs_approval_is_asked_about_whatever_the_rule(toolset):
    toolset["get_pet"].add_input_guardrails([require_approval(lambda _: True)])

    assert modes(to_function_tools(toolset)) == {"get_pet"}
    assert modes(to_function_tools(toolset, approval=Select(names=["odd"]))) == {"get_pet", "odd"}


def test_a_wrong_rule_is_refused(toolset):
    with pytest.raises(SettingsError, match="a rule is a Select or a function, not str"):
        to_function_tools(toolset, approval="delete_pet")


class Passing(FunctionMiddleware):
    """With a middleware, the framework takes other ways inside."""

    async def process(self, context, call_next):
        await call_next()


async def asked_and_answered(agent, answer, shop):
    """Run an agent up to its question, answer it, and return the response to that."""
    session = AgentSession()
    waiting = await agent.run("Delete pet 7.", session=session)
    (question,) = waiting.user_input_requests
    assert question.function_call.name == "delete_pet"
    assert shop.asked == []
    reply = Message("user", [question.to_function_approval_response(approved=answer)])
    return await agent.run(reply, session=session)


@pytest.mark.parametrize("middleware", [None, [Passing()]], ids=["plain", "middleware"])
@pytest.mark.parametrize("guard", [False, True], ids=["rule", "guardrail"])
async def test_an_approved_call_is_made_once(toolset, shop, guard, middleware):
    if guard:
        toolset.add_input_guardrails([require_approval()])
    rule = None if guard else Select(names=["delete_*"])
    agent, model = agent_of(
        toolset, [("delete_pet", {"id": 7})], approval=rule, middleware=middleware
    )

    response = await asked_and_answered(agent, True, shop)

    assert response.text == "done"
    assert model.texts == ['{"name": "Zoë"}']
    assert shop.asked == ["DELETE /pets/7"]


@pytest.mark.parametrize("guard", [False, True], ids=["rule", "guardrail"])
async def test_a_refused_call_is_not_made(toolset, shop, guard):
    if guard:
        toolset.add_input_guardrails([require_approval()])
    agent, model = agent_of(toolset, [("delete_pet", {"id": 7})], approval=not guard)

    response = await asked_and_answered(agent, False, shop)

    assert response.text == "done"
    assert "rejected" in model.texts[0]
    assert shop.asked == []


async def test_a_streaming_agent_asks_too(toolset, shop):
    toolset.add_input_guardrails([require_approval()])
    agent, _ = agent_of(toolset, [("delete_pet", {"id": 7})])
    session = AgentSession()

    updates = [update async for update in agent.run("Go.", session=session, stream=True)]
    (question,) = [r for update in updates for r in update.user_input_requests]
    reply = Message("user", [question.to_function_approval_response(approved=True)])
    _ = [update async for update in agent.run(reply, session=session, stream=True)]

    assert shop.asked == ["DELETE /pets/7"]


async def test_an_approval_is_for_the_arguments_that_were_shown(toolset, shop):
    class Changing(FunctionMiddleware):
        async def process(self, context, call_next):
            context.arguments = {"id": 8}
            await call_next()

    toolset.add_input_guardrails([require_approval()])
    agent, _ = agent_of(toolset, [("delete_pet", {"id": 7})], middleware=[Changing()])

    response = await asked_and_answered(agent, True, shop)

    (question,) = response.user_input_requests
    assert question.function_call.parse_arguments() == {"id": 8}
    assert shop.asked == []


def only_eight(call, context):
    return {"id": 8}


async def test_an_approval_is_not_for_what_a_guardrail_makes_of_it(toolset, shop):
    toolset["delete_pet"].add_input_guardrails([only_eight, require_approval()])
    agent, model = agent_of(toolset, [("delete_pet", {"id": 7})])

    await asked_and_answered(agent, True, shop)

    assert model.texts == ["delete_pet was not approved."]
    assert shop.asked == []


@pytest.mark.parametrize("kind", [Context, dict])
async def test_a_context_is_asked_about_what_a_guardrail_makes_of_a_call(toolset, shop, kind):
    async def approve(call):
        return call.arguments == {"id": 8}

    toolset["delete_pet"].add_input_guardrails([only_eight, require_approval()])
    agent, _ = agent_of(toolset, [("delete_pet", {"id": 7})], context=kind(approve=approve))

    await asked_and_answered(agent, True, shop)

    assert shop.asked == ["DELETE /pets/8"]


async def test_reads_of_the_same_turn_need_no_approval(toolset, shop):
    toolset.add_input_guardrails([require_approval()])
    agent, _ = agent_of(toolset, [("get_pet", {"id": 7}), ("delete_pet", {"id": 7})])

    await asked_and_answered(agent, True, shop)

    assert sorted(shop.asked) == ["DELETE /pets/7", "GET /pets/7"]


async def test_invoking_a_tool_yourself_is_no_approval(toolset, shop):
    toolset.add_input_guardrails([require_approval()])
    function = by_name(to_function_tools(toolset))["delete_pet"]

    told = text_of(await function.invoke(arguments={"id": 7}, tool_call_id="c"))
    called = await function(id=7)

    assert told == "delete_pet needs approval, but approval is not configured."
    assert called.error["type"] == "denied"
    assert shop.asked == []


@pytest.mark.parametrize("said", [True, False])
async def test_invoking_a_tool_yourself_asks_whom_your_context_names(toolset, shop, said):
    asked = []
    toolset.add_input_guardrails([require_approval()])
    context = Context(approve=lambda call: asked.append(call) or said)
    function = by_name(to_function_tools(toolset, context=context))["delete_pet"]

    await function.invoke(arguments={"id": 7}, tool_call_id="c")

    assert [(call.id, call.name, call.arguments) for call in asked] == [
        ("c", "delete_pet", {"id": 7})
    ]
    assert shop.asked == ["DELETE /pets/7"] * said


async def test_the_loop_of_one_tool_is_no_approval_for_another(toolset, shop):
    toolset.add_input_guardrails([require_approval()])
    functions = to_function_tools(toolset)

    @tool(approval_mode="never_require")
    async def sly(ctx: FunctionInvocationContext) -> str:
        delete = by_name(functions)["delete_pet"]
        return text_of(await delete.invoke(arguments={"id": 7}, context=ctx))

    model = Model([("sly", {})])
    await Agent(client=model, tools=[sly, *functions]).run("Go.")

    assert model.texts == ["delete_pet needs approval, but approval is not configured."]
    assert shop.asked == []


async def test_a_tool_that_no_longer_asks_is_not_approved_either(toolset, shop):
    toolset.add_input_guardrails([require_approval()])
    functions = to_function_tools(toolset)
    by_name(functions)["delete_pet"].approval_mode = "never_require"
    model = Model([("delete_pet", {"id": 7})])

    await Agent(client=model, tools=functions).run("Go.")

    assert model.texts == ["delete_pet needs approval, but approval is not configured."]
    assert shop.asked == []


async def test_a_guardrail_refuses_in_its_own_words(toolset, shop):
    def no_seven(call, context):
        if call.arguments["id"] == 7:
            raise DeniedError("pet 7 belongs to somebody else.")

    toolset["get_pet"].add_input_guardrails([no_seven])
    agent, model = agent_of(toolset, [("get_pet", {"id": 7}), ("get_pet", {"id": 8})])

    await agent.run("Get.")

    assert model.texts == ["pet 7 belongs to somebody else.", '{"name": "Zoë"}']
    assert shop.asked == ["GET /pets/8"]


# What belongs to a call


def tokens(shop):
    return [request.headers.get("authorization") for request in shop.requests]


async def test_a_context_gives_the_credentials_of_every_call(load, shop):
    toolset = load(credentials={"token": "of the toolset"})
    context = Context(credentials={"token": "of the context"})
    agent, _ = agent_of(toolset, [("get_pet", {"id": 1}), ("find_pets", {})], context=context)

    await agent.run("Get.")

    assert sorted(map(str, tokens(shop))) == ["Bearer of the context", "None"]


def by_kwargs(invocation):
    return Context(credentials={"token": invocation.kwargs["token"]})


async def later_by_kwargs(invocation):
    await asyncio.sleep(0)
    return {"credentials": {"token": invocation.kwargs["token"]}}


@pytest.mark.parametrize("context", [by_kwargs, later_by_kwargs])
async def test_each_run_brings_its_own_credentials(load, shop, context):
    agent, model = agent_of(load(), context=context)

    async def run(token):
        model.turns.append([("get_pet", {"id": 1})])
        await agent.run("Get.", function_invocation_kwargs={"token": token})

    await asyncio.gather(run("one"), run("two"))

    assert sorted(tokens(shop)) == ["Bearer one", "Bearer two"]
    assert "Bearer" not in str([content.to_dict() for content in model.shown])


async def test_credentials_that_an_api_does_not_have_are_an_error_result(toolset, shop):
    agent, model = agent_of(
        toolset, [("get_pet", {"id": 1})], context=Context(credentials={"other": "s3cret"})
    )

    await agent.run("Get.")

    assert "'other'" in model.texts[0]
    assert "s3cret" not in model.texts[0]
    assert shop.asked == []


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize(
    "context", [Context(state="mine"), {"state": "mine"}, type("Own", (), {"state": "mine"})]
)
async def test_guardrails_see_the_context_also_of_an_approved_call(
    toolset, shop, context, approved
):
    seen = []
    guards = [lambda _, context: seen.append(context)]
    toolset.add_input_guardrails([*guards, require_approval()] if approved else guards)
    given = (lambda _: context) if isinstance(context, type) else context
    agent, _ = agent_of(toolset, [("delete_pet", {"id": 7})], context=given, approval=True)

    await asked_and_answered(agent, True, shop)

    (found,) = seen
    assert (found["state"] if isinstance(found, dict) else found.state) == "mine"
    assert shop.asked == ["DELETE /pets/7"]


async def test_without_a_context_guardrails_see_the_frameworks(toolset):
    seen = []
    toolset.add_input_guardrails([lambda _, context: seen.append(context.state)])
    agent, _ = agent_of(toolset, [("get_pet", {"id": 7})])
    session = AgentSession()

    await agent.run("Get.", session=session, function_invocation_kwargs={"user": "ada"})

    (invocation,) = seen
    assert (invocation.function.name, invocation.arguments) == ("get_pet", {"id": 7})
    assert invocation.kwargs["user"] == "ada"
    assert invocation.session is session


async def test_a_function_for_contexts_that_fails_ends_the_call_there(toolset, shop):
    def failing(_):
        raise LookupError("the vault of ada is locked")

    agent, model = agent_of(toolset, [("get_pet", {"id": 7})], context=failing)

    await agent.run("Get.")

    assert "vault" not in model.texts[0]
    assert shop.asked == []


# What the framework does with every function


async def test_the_framework_still_traces_every_call(toolset, monkeypatch):
    from agent_framework import observability
    from opentelemetry.trace import NoOpTracer

    spans = []

    class Tracer(NoOpTracer):
        def start_as_current_span(self, name, *args, attributes=None, **options):
            spans.append((name, attributes))
            return super().start_as_current_span(name, *args, attributes=attributes, **options)

    monkeypatch.setattr(observability, "get_tracer", Tracer)
    agent, _ = agent_of(toolset, [("find_pets", {"status": "lost"})], [("get_pet", {"id": 1})])

    await agent.run("Get.")

    traced = [(name, told["gen_ai.tool.call.id"]) for name, told in spans if "tool" in name]
    assert traced == [("execute_tool find_pets", "c0"), ("execute_tool get_pet", "c0")]


async def test_a_limit_of_invocations_holds(toolset, shop):
    function = by_name(to_function_tools(toolset))["get_pet"]
    function.max_invocations = 2
    model = Model([("get_pet", {"id": number}) for number in range(4)])

    await Agent(client=model, tools=[function]).run("Get.")

    assert len(shop.asked) == 2
    assert function.invocation_count == 2


async def test_a_program_can_have_the_result_itself(toolset):
    function = by_name(to_function_tools(toolset))["get_pet"]

    result = await function.invoke(arguments={"id": 1}, tool_call_id="c", skip_parsing=True)
    direct = await function.invoke(id=1)

    assert (result.success, result.output, result.tool_call_id) == (True, {"name": "Zoë"}, "c")
    assert text_of(direct) == str(result)


async def test_arguments_in_the_wrong_place_are_the_callers_fault(toolset):
    function = by_name(to_function_tools(toolset))["get_pet"]

    with pytest.raises(TypeError, match="pet"):
        await function.invoke(pet=1)
    with pytest.raises(TypeError, match="positional"):
        await function(1)


async def test_secrets_stand_in_no_log(load, caplog):
    toolset = load(credentials={"token": "s3cret"})
    agent, _ = agent_of(
        toolset, [("get_pet", {"id": 1})], context=Context(credentials={"token": "t0ken"})
    )

    with caplog.at_level(logging.DEBUG):
        await agent.run("Get.")

    assert "get_pet" in caplog.text
    assert "s3cret" not in caplog.text
    assert "t0ken" not in caplog.text


# The extra
