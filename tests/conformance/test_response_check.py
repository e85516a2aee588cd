"""`Settings(check_responses=True)`: responses compared with their document."""

import subprocess
import sys

import httpx
import pytest
from documents import document, operation

from openapi_tools import Settings, load_tools

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
CONTENT = {"content": {"application/json": {"schema": SCHEMA}}}
LEFT = {"X-Left": {"required": True, "schema": {"type": "integer"}}}
RESPONSES = {
    "200": {"description": "ok", "headers": LEFT, **CONTENT},
    "204": {"description": "none", **CONTENT},
    "4XX": {"description": "wrong"},
    "201": {"description": "empty", "content": {}},
}
JSON = "application/json"
ROWS = {
    "fits": (200, JSON, "3", b'{"n": 1}', []),
    "header": (200, JSON, "x", b'{"n": 1}', ["header 'X-Left': 'x' is not of type 'integer'"]),
    "no header": (200, JSON, "", b'{"n": 1}', ["Missing required header: X-Left"]),
    "body": (200, JSON, "3", b'{"n": "a"}', ["body: /n: 'a' is not of type 'integer'"]),
    "required": (200, JSON, "3", b"{}", ["body: 'n' is a required property"]),
    "broken": (200, JSON, "3", b"{", ["body: Failed to deserialize value with"]),
    "type": (200, "text/html", "3", b"<p>", ["text/html"]),
    "no body": (200, "", "3", b"", ["Missing response data"]),
    "204": (204, "", "", b"", []),
    "empty content": (201, "", "", b"", []),
    "range": (404, "text/plain", "", b"no", []),
    "unknown": (500, "", "", b"", ["Unknown response http status: 500"]),
}


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:8000/proxy"])
@pytest.mark.parametrize(("status", "kind", "left", "body", "messages"), ROWS.values(), ids=ROWS)
async def test_a_call_reports_what_disagrees(status, kind, left, body, messages, base_url):
    headers = {name: text for name, text in (("content-type", kind), ("x-left", left)) if text}
    response = httpx.Response(status, headers=headers, content=body)

    result = await call_tool(response, operation(operationId="get", responses=RESPONSES), base_url)

    problems = result.metadata["response_problems"]
    assert result.success == (status < 400)
    assert len(problems) == len(messages)
    assert all(part in problem for part, problem in zip(messages, problems, strict=True))


async def test_an_operation_that_describes_no_responses_agrees_with_all():
    result = await call_tool(httpx.Response(200, content=b"x"), {"operationId": "get"})

    assert result.metadata["response_problems"] == []


EXPONENTIAL = "^(a+)+$"  # in an engine that goes back
LONG = "a" * 60 + "!"


@pytest.mark.parametrize(
    ("schema", "messages"),
    [
        ({"properties": {"n": {"pattern": EXPONENTIAL}}}, ["does not match"]),
        ({"patternProperties": {EXPONENTIAL: {"type": "integer"}}}, []),
        ({"patternProperties": {"^a+!$": {"type": "integer"}}}, ["is not of type 'integer'"]),
        (
            {"patternProperties": {EXPONENTIAL: {}, "^n": {}}, "additionalProperties": False},
            [f"({LONG!r} was unexpected)"],
        ),
        (
            {"properties": {"n": {}}, "additionalProperties": {"type": "integer"}},
            ["is not of type 'integer'"],
        ),
    ],
)
async def test_a_pattern_takes_linear_time(schema, messages):
    responses = {"200": {"description": "ok", "content": {JSON: {"schema": schema}}}}
    response = httpx.Response(200, json={LONG: "x", "n": LONG})

    result = await call_tool(response, operation(operationId="get", responses=responses))

    problems = result.metadata["response_problems"]
    assert len(problems) == len(messages)
    assert all(part in problem for part, problem in zip(messages, problems, strict=True))


async def call_tool(response, get, base_url=None):
    """Return the result of a call with this response."""
    source = document({"/things": {"get": get}}, servers=[{"url": "https://api.example.com/v1"}])
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: response))
    settings = Settings(check_responses=True, base_url=base_url)
    async with load_tools(source, settings=settings, client=client) as toolset:
        return await toolset["get"].execute({})


def test_openapi_core_is_imported_on_the_first_check_only():
    code = (
        "import sys; from openapi_tools.conformance.response_check import make_response_check;"
        "make_response_check({});"
        "print(any(name.startswith('openapi_core') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"
