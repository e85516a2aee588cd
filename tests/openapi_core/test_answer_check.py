"""The checker behind `Settings(check_answers=True)`."""

import copy
import subprocess
import sys

import httpx
import pytest
from documents import document

from openapi_tools import Settings, load_tools
from openapi_tools.openapi_core import make_checker
from openapi_tools.testing import mock_client
from openapi_tools.transport.sender import Answer

SCHEMA = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
CONTENT = {"description": "ok", "content": {"application/json": {"schema": SCHEMA}}}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
DOCUMENT = document(
    {"/things/{id}": {"get": {"parameters": [ID], "responses": {"200": CONTENT}}}},
    servers=[{"url": "https://api.example.com/v1"}],
)
URL = "https://api.example.com/v1/things/1"


def answered(content, status=200, media_type="application/json"):
    """Return an answer as the runtime has it."""
    headers = httpx.Headers({"content-type": media_type} if content else {})
    request = httpx.Request("GET", "http://t.test/v1/things/1")
    return Answer(request, status, headers, content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"id": 1}', []),
        (b'{"id": "1"}', ["body: /id: '1' is not of type 'integer'"]),
        (b"{}", ["body: 'id' is a required property"]),
    ],
)
def test_an_answer_is_compared_with_its_document(content, said):
    check = make_checker(DOCUMENT)

    assert check(httpx.Request("GET", URL), answered(content)) == said


def test_the_base_url_of_the_settings_replaces_the_servers():
    check = make_checker(DOCUMENT, base_url="http://127.0.0.1:8000/proxy")
    request = httpx.Request("GET", "http://127.0.0.1:8000/proxy/things/1")

    assert check(request, answered(b'{"id": 1}')) == []


def test_a_status_that_is_not_described_is_told():
    check = make_checker(DOCUMENT)
    said = check(httpx.Request("GET", URL), answered(b"", status=418))

    assert said == ["Unknown response http status: 418"]


async def test_a_call_reports_what_disagrees_and_does_not_fail():
    source = copy.deepcopy(DOCUMENT)
    get = source["paths"]["/things/{id}"]["get"]
    get["operationId"] = "get"
    get["responses"]["200"]["content"]["application/json"]["example"] = {"id": "one"}
    settings = Settings(check_answers=True)

    async with load_tools(source, settings=settings, client=mock_client(source)) as toolset:
        result = await toolset["get"].execute({"id": 1})

    assert result.success
    assert result.output == {"id": "one"}
    assert result.metadata["answer_problems"] == ["body: /id: 'one' is not of type 'integer'"]


def test_openapi_core_is_imported_on_the_first_check_only():
    code = (
        "import sys; from openapi_tools.openapi_core import make_checker;"
        "make_checker({});"
        "print(any(name.startswith('openapi_core') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"
