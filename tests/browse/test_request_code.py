"""The request as code: what curl and httpx send is what the package sends."""

import asyncio
import json
import shlex
import shutil
import subprocess

import pytest
from documents import document, operation, tools
from servers.recorder import Recorder

from openapi_tools import Settings, load_tools
from openapi_tools.browse.page_data import describe_request

CLIENT_HEADERS = {"host", "content-length", "connection", "accept-encoding", "user-agent"}
ODD = 'it\'s {a} [b] "q" $HOME `x` \\ é & = % # \n line'


def parameter(name, location, schema, **fields):
    return {
        "name": name,
        "in": location,
        "required": location == "path",
        "schema": schema,
        **fields,
    }


def body(kind, schema):
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}


TEXT = {"type": "string"}
OBJECT = {"type": "object", "properties": {"text": TEXT, "tags": {"type": "array", "items": TEXT}}}
ID = parameter("id", "path", TEXT)
PATHS = {
    "/pets/{id}": {
        "get": operation(
            operationId="get_pet",
            parameters=[
                ID,
                parameter("filter[x]", "query", {"type": "array", "items": TEXT}),
                parameter("where", "query", OBJECT, style="deepObject", explode=True),
                parameter("X-Note", "header", TEXT),
            ],
        ),
        "head": operation(operationId="look", parameters=[ID]),
        "delete": operation(operationId="drop", parameters=[ID]),
    },
    "/json": {"post": operation(operationId="send_json", **body("application/json", OBJECT))},
    "/form": {
        "put": operation(
            operationId="send_form", **body("application/x-www-form-urlencoded", OBJECT)
        )
    },
    "/text": {"post": operation(operationId="send_text", **body("text/plain", TEXT))},
}
CALLS = [
    ("get_pet", {"id": "a b/c", "filter_x": ["1", "{2}"], "X_Note": "it's"}),
    ("get_pet", {"id": "a..b", "where": {"text": ODD}}),
    ("look", {"id": "1"}),
    ("drop", {"id": "1"}),
    ("send_json", {"text": ODD, "tags": ["a", "b"]}),
    ("send_form", {"text": ODD, "tags": ["a", "b"]}),
    ("send_text", {"body": ODD}),
]


def run_curl(code):
    subprocess.run(["sh", "-c", code], capture_output=True, check=True)


def run_httpx(code):
    exec(code, {})


@pytest.mark.parametrize(
    ("name", "arguments"), CALLS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CALLS)]
)
async def test_code_sends_the_request_of_the_package(name, arguments):
    ways = {"httpx": run_httpx} | ({"curl": run_curl} if shutil.which("curl") else {})
    async with Recorder() as api:
        toolset = tools(PATHS, settings=Settings(base_url=f"{api.url}/v1"))
        schema = toolset[name].input_schema["properties"]
        fitting = {key: value for key, value in arguments.items() if key in schema}
        code = describe_request(toolset[name], fitting)
        async with toolset:
            await toolset.call(name, fitting)
        for way, run in ways.items():
            await asyncio.to_thread(run, code[way])
        sent = [
            (
                one.method,
                one.target,
                {k.lower(): v for k, v in one.headers if k.lower() not in CLIENT_HEADERS},
                one.body,
            )
            for one in api.requests
        ]

    assert set(fitting) == set(arguments)
    assert sent[1:] == [sent[0]] * len(ways)


def test_a_body_that_is_not_text_is_read_from_a_file():
    schema = {"type": "string", "format": "binary"}
    paths = {"/file": {"post": operation(operationId="send", **body("image/png", schema))}}
    (tool,) = tools(paths, servers=[{"url": "https://api.example.com"}])
    (argument,) = tool.input_schema["properties"]

    code = describe_request(tool, {argument: {"base64": "iVBORw0KGgo="}})

    assert "--data-binary @body" in code["curl"]
    assert 'open("body", "rb").read()' in code["httpx"]
    assert "(8 bytes that are not text)" in code["http"]


@pytest.mark.parametrize("method", ["`id`", "A&id", "a|id", "it's", "$HOME", "#"])
def test_a_method_of_the_document_is_one_word_of_the_shell(method):
    paths = {"/x": {"additionalOperations": {method: operation(operationId="get_x")}}}
    root = document(paths, servers=[{"url": "https://api.example.com"}]) | {"openapi": "3.2.0"}

    code = describe_request(load_tools(root)["get_x"], {})

    assert shlex.split(code["curl"])[:5] == [*("curl", "--globoff", "--path-as-is", "-X", method)]
    assert f"-X {shlex.quote(method)} " in code["curl"]


@pytest.mark.parametrize("mark", ["\x03", "\x1b[201~", "\x7f", "\x9b"])
def test_what_a_terminal_acts_on_is_not_in_a_command(mark):
    text = f"a{mark}\ntouch ran\n"
    (tool,) = tools({"/text": PATHS["/text"]}, servers=[{"url": "https://api.example.com"}])

    code = describe_request(tool, {"body": text})

    assert "touch ran" not in code["curl"]
    assert code["curl"].endswith("--data-binary @body")
    assert repr(text) in code["httpx"]


def test_credentials_are_masked_in_code():
    paths = {"/x": {"get": operation(operationId="get_x", security=[{"key": []}])}}
    scheme = {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}
    root = document(
        paths, components={"securitySchemes": scheme}, servers=[{"url": "https://api.example.com"}]
    )
    toolset = load_tools(root, credentials={"key": "c0de-s3cr3t-7714"})

    code = json.dumps(describe_request(toolset["get_x"], {}))

    assert "c0de-s3cr3t-7714" not in code
    assert "https://api.example.com/x?api_key=***" in code
