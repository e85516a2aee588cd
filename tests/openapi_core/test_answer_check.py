"""`Settings(check_answers=True)`: answers compared with their document."""

import subprocess
import sys

import httpx
import pytest
from documents import document, operation

from openapi_tools import Settings, load_tools

SCHEMA = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
CONTENT = {"description": "ok", "content": {"application/json": {"schema": SCHEMA}}}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
GET = operation(operationId="get", parameters=[ID], responses={"200": CONTENT})
DOCUMENT = document({"/things/{id}": {"get": GET}}, servers=[{"url": "https://api.example.com/v1"}])


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:8000/proxy"])
@pytest.mark.parametrize(
    ("status", "body", "problems"),
    [
        (200, {"id": 1}, []),
        (200, {"id": "1"}, ["body: /id: '1' is not of type 'integer'"]),
        (200, {}, ["body: 'id' is a required property"]),
        (202, None, ["Unknown response http status: 202"]),
    ],
)
async def test_a_call_reports_what_disagrees_and_does_not_fail(status, body, problems, base_url):
    answer = httpx.Response(status, json=body)
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: answer))
    settings = Settings(check_answers=True, base_url=base_url)

    async with load_tools(DOCUMENT, settings=settings, client=client) as toolset:
        result = await toolset["get"].execute({"id": 1})

    assert result.success
    assert result.metadata["answer_problems"] == problems


def test_openapi_core_is_imported_on_the_first_check_only():
    code = (
        "import sys; from openapi_tools.openapi_core import make_checker;"
        "make_checker({});"
        "print(any(name.startswith('openapi_core') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"
