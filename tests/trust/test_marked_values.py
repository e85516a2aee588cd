"""A value that a schema marks, by `format: password` or `writeOnly`, is shown to nobody."""

import asyncio
import base64
import json
from urllib.parse import quote

import httpx
import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from documents import component, document, operation
from mcp import Client
from servers.recorder import CannedResponse
from team_servers import host_team, write_configuration

from openapi_tools import Context, load_tools, require_approval
from openapi_tools.redaction import redact_data
from openapi_tools.redaction.marked_schemas import MarkedSchema
from openapi_tools.testing import Cassette, mock_api
from openapi_tools.tools.guardrails import describe_question

PIN = "4711-0815-pin"
SECRET = {"type": "string", "format": "password"}
WRITTEN = {"type": "string", "writeOnly": True}
BOX = {
    "type": "object",
    "properties": {
        "label": {"type": "string"},
        "pin": SECRET,
        "inner": component("Box"),
        "boxes": {"type": "array", "items": component("Box")},
        "codes": {"type": "array", "items": SECRET},
        "env": {"type": "object", "additionalProperties": WRITTEN},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, SECRET]},
        "mixed": {"allOf": [{"type": "object"}, {"properties": {"code": WRITTEN}}]},
        "either": {"oneOf": [{"type": "integer"}, SECRET]},
        "vault": {"type": "object", "writeOnly": True, "properties": {"a": {"type": "string"}}},
        "patterned": {"type": "object", "patternProperties": {"^x": SECRET}},
    },
}
VALUES = {
    "a property": ({"pin": PIN}, {"pin": "***"}),
    "a nested one": ({"inner": {"inner": {"pin": PIN}}}, {"inner": {"inner": {"pin": "***"}}}),
    "in an array": ({"boxes": [{"pin": PIN}]}, {"boxes": [{"pin": "***"}]}),
    "an item": ({"codes": [PIN]}, {"codes": ["***"]}),
    "any property": ({"env": {"A": PIN}}, {"env": {"A": "***"}}),
    "of a tuple": ({"pair": ["a", PIN]}, {"pair": ["a", "***"]}),
    "of allOf": ({"mixed": {"code": PIN}}, {"mixed": {"code": "***"}}),
    "of oneOf": ({"either": PIN}, {"either": "***"}),
    "all of it": ({"vault": {"a": PIN, "b": [PIN]}}, {"vault": {"a": "***", "b": ["***"]}}),
    "of a pattern": ({"patterned": {"xa": PIN}}, {"patterned": {"xa": "***"}}),
    "beside others": ({"label": "l", "pin": PIN}, {"label": "l", "pin": "***"}),
}
each_value = pytest.mark.parametrize(("value", "masked"), VALUES.values(), ids=VALUES)


def in_query(name, location="query", **fields):
    return {"name": name, "in": location, "schema": SECRET, **fields}


def api(kind="application/json", schema=None, **servers):
    """Return a document whose operations take and give boxes."""
    box = component("Box") if schema is None else schema
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": box}}}}
    body = {"content": {kind: {"schema": box}}}
    item = {
        "parameters": [in_query("box", "path", required=True)],
        "get": operation(operationId="get_box", responses=responses),
        "put": operation(operationId="put_box", requestBody=body, responses=responses),
        "delete": operation(operationId="delete_box"),
    }
    listed = {
        "post": operation(
            operationId="add_box",
            parameters=[in_query("q"), in_query("X-Mine", "header")],
            requestBody=body,
        )
    }
    schemas = {"schemas": {"Box": BOX}}
    return document({"/boxes": listed, "/boxes/{box}": item}, components=schemas, **servers)


async def asked_about(toolset, name, arguments):
    """Return the question about a call of a tool."""
    questions = []
    toolset.add_input_guardrails([require_approval()])
    context = Context(approve=lambda call: questions.append(describe_question(toolset[name], call)))
    await toolset.call(name, arguments, context=context)
    (question,) = questions
    return question


@each_value
async def test_a_question_hides_it(value, masked):
    toolset = load_tools(api(servers=[{"url": "http://a.test"}]))

    question = await asked_about(toolset, "add_box", {"body": value, "q": PIN, "X_Mine": PIN})

    assert PIN not in question
    assert f'"body": {json.dumps(masked)}' in question
    assert '"q": "***"' in question


@each_value
async def test_what_a_write_changes_hides_it(value, masked, recorder):
    recorder.response = CannedResponse(body=json.dumps(value | {"label": "old"}).encode())
    toolset = load_tools(api(servers=[{"url": recorder.url}]))

    put = await asked_about(toolset, "put_box", {"box": "7", "body": {"label": "new"} | value})
    delete = await asked_about(toolset, "delete_box", {"box": "7"})

    assert PIN not in put
    assert "/label: was" in put or "label" in value
    written = "vault" in value or "env" in value or "mixed" in value  # in no response
    assert written or PIN not in delete


async def test_a_changed_secret_is_a_change(recorder):
    recorder.response = CannedResponse(
        body=json.dumps({"pin": PIN, "inner": {"codes": ["a"]}}).encode()
    )
    toolset = load_tools(api(servers=[{"url": recorder.url}]))
    body = {"pin": "new", "inner": {"codes": ["b"]}}

    question = await asked_about(toolset, "put_box", {"box": "7", "body": body})

    assert '/pin: was "***", becomes "***"' in question
    assert '/inner/codes: was ["***"], becomes ["***"]' in question


async def test_a_preview_for_approval_hides_it_and_a_dry_run_shows_the_request(recorder):
    previews = []
    settings = {"base_url": recorder.url, "approve": previews.append}
    toolset = load_tools(api(), settings=settings)
    arguments = {"body": {"pin": PIN, "label": "l"}, "q": PIN, "X_Mine": PIN}

    await toolset.call("add_box", arguments)
    await toolset.call("put_box", {"box": PIN, "body": {"pin": PIN}})

    add, put = previews
    assert add.arguments == {"body": {"pin": "***", "label": "l"}, "q": "***", "X_Mine": "***"}
    assert add.url == f"{recorder.url}/boxes?q=***"
    assert json.loads(add.body) == {"pin": "***", "label": "l"}
    assert ("x-mine", "***") in add.headers
    assert put.url == f"{recorder.url}/boxes/***"
    assert PIN not in repr(previews)


FORMS = {
    "JSON": "application/json",
    "a form": "application/x-www-form-urlencoded",
    "parts": "multipart/form-data",
}
FLAT = {"type": "object", "properties": {"label": {"type": "string"}, "pin": SECRET}}


@pytest.mark.parametrize("kind", FORMS.values(), ids=FORMS)
async def test_a_mock_records_no_marked_value(kind):
    mock = mock_api(api(kind, FLAT))
    toolset = load_tools(api(kind, FLAT), client=mock.client())
    body = {"label": "l", "pin": PIN}
    arguments = {"body": body} if "body" in toolset["add_box"].input_schema["properties"] else body

    await toolset.call("add_box", {**arguments, "q": PIN, "X_Mine": PIN})
    await toolset.call("get_box", {"box": PIN})

    add, get = mock.calls
    assert (add.tool, get.tool) == ("add_box", "get_box")
    assert PIN not in repr(mock.calls)
    assert add.url.endswith("/boxes?q=***")
    assert get.url.endswith("/boxes/***")
    assert get.arguments == {"box": "***"}
    assert add.arguments["q"] == "***"


@pytest.mark.parametrize("kind", FORMS.values(), ids=FORMS)
async def test_a_cassette_has_no_marked_value_and_replays(kind, tmp_path):
    def respond(request):
        return httpx.Response(200, json={"pin": PIN, "label": "l"})

    results = []
    for transport in (httpx.MockTransport(respond), None):
        with Cassette(tmp_path / "tape.json", transport=transport) as tape:
            document = api(kind, FLAT, servers=[{"url": "http://a.test/v1"}])
            toolset = load_tools(document, client=tape.client())
            body = {"label": "l", "pin": PIN}
            whole = "body" in toolset["add_box"].input_schema["properties"]
            arguments = {"body": body} if whole else body
            results.append(await toolset.call("add_box", {**arguments, "q": PIN, "X_Mine": PIN}))
            results.append(await toolset.call("get_box", {"box": PIN}))

    text = (tmp_path / "tape.json").read_text()
    assert PIN not in text
    assert "/v1/boxes/***" in text
    assert [result.output for result in results[:2]] == [{"pin": PIN, "label": "l"}] * 2
    assert [result.output for result in results[2:]] == [{"pin": "***", "label": "l"}] * 2


async def test_the_audit_log_has_no_marked_value_also_with_names_of_two_apis(recorder, tmp_path):
    document = api(servers=[{"url": recorder.url}])
    file = tmp_path / "audit.jsonl"
    keys = f'audit = "{file}"\naudit_arguments = true\nask = false'
    config = write_configuration(tmp_path, keys, one=document, two=document)
    async with host_team(config) as server, Client(server.url) as client:
        for name in ("one_add_box", "two_add_box"):
            await client.call_tool(name, {"body": {"pin": PIN, "label": "l"}, "q": PIN})

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    arguments = {"body": {"pin": "***", "label": "l"}, "q": "***"}
    assert [line["arguments"] for line in lines] == [arguments, arguments]


def test_a_schema_without_end_and_one_of_many_unions_are_read_soon():
    union = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in "abcdef"]}
    node = {"properties": {"next": union, "pin": SECRET}, "items": union}
    schema = {"$defs": dict.fromkeys("abcdef", node), **node}
    value = {"pin": PIN}
    for _ in range(50):
        value = {"next": [value], "pin": PIN}

    marked = MarkedSchema.from_schema(schema)

    assert PIN not in repr(redact_data(value, marked))
    assert marked.secret_names() == {"pin"}


def test_a_pattern_of_a_document_is_never_applied():
    schema = {"patternProperties": {"^(a+)+$": SECRET}, "properties": {"listed": {}}}

    masked = redact_data({"a" * 60 + "!": PIN, "listed": "l"}, MarkedSchema.from_schema(schema))

    assert masked == {"a" * 60 + "!": "***", "listed": "l"}


def record_response(folder, response, document):
    """Call a tool whose exchanges are recorded, and return the record as a string."""

    async def call():
        echo = httpx.Response(200, json=[IN_PATH, f"no {IN_PATH}"])
        responses = {"POST": response, "GET": echo}
        transport = httpx.MockTransport(lambda request: responses[request.method])
        client = httpx.AsyncClient(transport=transport)
        async with load_tools(document, client=client, record=folder) as toolset:
            body = {"label": "l", "pin": PIN, "codes": CODES[:3]}
            schema = toolset["add_box"].input_schema["properties"]
            arguments = {"body": body} if "body" in schema else {"label": "l", "pin": PIN}
            results = [await toolset.call("add_box", {**arguments, "q": QUERIED, "X_Mine": SENT})]
            results.append(await toolset.call("get_box", {"box": IN_PATH}))
            assert [result.success for result in results] == [True, True]

    asyncio.run(call())
    return (folder / "calls.jsonl").read_text()


CODES = [f"code-{number}-of-100" for number in range(100)]
QUERIED, SENT, IN_PATH = "queried +/= 1", "sent-in-a-header", "in/the path"
ECHOES = {
    "another name": httpx.Response(200, json={"label": PIN, "x": QUERIED, "y": [SENT]}),
    "a message": httpx.Response(200, json=f"not {PIN}, {QUERIED} or {SENT}"),
    "a name": httpx.Response(200, json={PIN: {"a": CODES[:3]}}),
    "many": httpx.Response(200, json={"codes": CODES, "old": CODES}),
    "text": httpx.Response(200, text=f"<b>{PIN}</b> {QUERIED} {SENT}"),
    "bytes": httpx.Response(
        200, content=b"\xff" + PIN.encode(), headers={"content-type": "image/png"}
    ),
    "a header": httpx.Response(200, headers={"X-Box": PIN, "X-Q": SENT}),
    "its own": httpx.Response(200, json={"pin": "own-pin-1", "label": "own-pin-1"}),
}


@pytest.mark.parametrize("response", ECHOES.values(), ids=ECHOES)
def test_a_recorded_response_repeats_no_marked_value(response, tmp_path):
    record = record_response(tmp_path, response, api(servers=[{"url": "http://a.test/v1"}]))
    hidden = [PIN, QUERIED, SENT, IN_PATH, "own-pin-1", *CODES]
    for text in [record, *(base64_strings(record))]:
        assert [secret for secret in hidden if secret in text] == []


async def test_a_call_by_the_connections_of_the_toolset_is_recorded_without_it(recorder, tmp_path):
    # Marked values were masked only where the user passed a client.
    recorder.response = CannedResponse(body=json.dumps({"label": PIN}).encode())
    document = api(servers=[{"url": recorder.url}])

    async with load_tools(document, record=tmp_path) as toolset:
        body = {"label": "l", "pin": PIN, "env": {"A": CODES[0]}}
        result = await toolset.call("add_box", {"body": body, "q": QUERIED, "X_Mine": SENT})

    assert result.success
    record = (tmp_path / "calls.jsonl").read_text()
    hidden = [PIN, CODES[0], QUERIED, quote(QUERIED, safe=""), SENT]
    assert [secret for secret in hidden if secret in record] == []
    assert json.loads(record)["tool"] == "add_box"


@pytest.mark.parametrize("kind", FORMS.values(), ids=FORMS)
def test_a_recorded_response_repeats_no_marked_value_of_a_form(kind, tmp_path):
    document = api(kind, FLAT, servers=[{"url": "http://a.test/v1"}])
    response = httpx.Response(200, json={"label": f"the pin {PIN}"})
    assert PIN not in record_response(tmp_path, response, document)


def test_words_of_the_document_stay_in_a_record_though_a_marked_value_equals_one(tmp_path):
    async def call():
        body = {"label": "a label", "pin": "label", "latest": "a test", "test": 1}
        response = httpx.Response(200, json=body)
        client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: response))
        document = api(servers=[{"url": "http://a.test/v1"}])
        async with load_tools(document, client=client, record=tmp_path) as toolset:
            body = {"label": "l", "pin": "label", "codes": ["test"]}
            await toolset.call("add_box", {"body": body})

    asyncio.run(call())
    entry = json.loads((tmp_path / "calls.jsonl").read_text())
    assert entry["request"]["body"] == {"label": "l", "pin": "***", "codes": ["***"]}
    masked = {"label": "a label", "pin": "***", "latest": "a ***", "***": 1}
    assert entry["response"]["json"] == masked


def base64_strings(record):
    """Return what the base64 in a record means."""
    entries = [json.loads(line)["response"] for line in record.splitlines()]
    return [base64.b64decode(e.get("base64", "")).decode(errors="replace") for e in entries]
