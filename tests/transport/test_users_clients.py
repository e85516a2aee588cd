"""A user's `AsyncClient` of httpx or httpx2 is used alike: documents, addresses, bodies."""

import gzip
import json

import pytest
from documents import document, operation
from fastapi import FastAPI
from servers.recorder import CannedResponse

from openapi_tools import Context, aload_tools, load_tools, require_approval
from openapi_tools.transport.urls import read_cached_url

PATHS = {
    "/pets": {
        "get": operation(operationId="list_pets"),
        "put": operation(
            operationId="put_pets",
            requestBody={"content": {"application/json": {"schema": {"type": "object"}}}},
        ),
    }
}


@pytest.fixture
async def client(library, recorder):
    """A client of each package."""
    async with library.AsyncClient(
        base_url=recorder.url, headers={"X-Own": "mine"}
    ) as users_client:
        yield users_client


def load_with(client, **settings):
    return load_tools(document(PATHS), client=client, retries=0, **settings)


async def test_it_gives_a_document_without_servers_its_address(client, recorder):
    async with load_with(client) as toolset:
        assert (await toolset.call("list_pets", {})).success

    assert recorder.last.header("x-own") == "mine"


async def test_it_fetches_a_document_by_url(client, recorder):
    recorder.responses.append(CannedResponse(body=json.dumps(document(PATHS)).encode()))

    async with await aload_tools(f"{recorder.url}/openapi.json", client=client) as toolset:
        assert {tool.name for tool in toolset} == {"list_pets", "put_pets"}
        assert (await toolset.call("list_pets", {})).success

    assert recorder.requests[-1].header("x-own") == "mine"


async def test_a_body_is_sent_once_and_retried_whole(client, recorder):
    recorder.responses.extend([CannedResponse(503), CannedResponse()])
    async with load_tools(document(PATHS), client=client, retries=2) as toolset:
        result = await toolset.call("put_pets", {"body": {"name": "Rex"}})

    assert result.success
    assert [request.body for request in recorder.requests] == [b'{"name":"Rex"}'] * 2


async def test_a_transport_of_the_package_reaches_an_application(library):
    app = FastAPI()

    @app.get("/pets", operation_id="list_pets")
    def list_pets():
        return ["Rex"]

    transport = library.ASGITransport(app=app)
    async with (
        library.AsyncClient(transport=transport, base_url="http://app.test") as client,
        load_tools(app.openapi(), client=client) as toolset,
    ):
        assert (await toolset.call("list_pets", {})).output == ["Rex"]


async def test_a_write_is_looked_at_and_guarded_through_it(client, recorder):
    headers = [("Content-Type", "application/json"), ("ETag", '"v1"')]
    recorder.responses.extend(
        [CannedResponse(200, headers, b'{"name": "Rex"}'), CannedResponse(412)]
    )
    asked = []
    async with load_with(client) as toolset:
        toolset.add_input_guardrails([require_approval()])
        context = Context(approve=lambda call: asked.append(call.changes) or True)
        result = await toolset.call("put_pets", {"body": {"name": "Max"}}, context=context)

    assert asked[0].lines == ('/name: was "Rex", becomes "Max"',)
    assert recorder.last.header("if-match") == '"v1"'
    assert "read it again" in str(result)


async def test_what_a_hook_adds_is_masked_in_results(library, recorder):
    async def log_in(request):
        request.headers["Authorization"] = "Bearer of-the-hook-123"

    body = b'{"seen": "Bearer of-the-hook-123"}'
    recorder.responses.append(CannedResponse(200, [("Content-Type", "application/json")], body))
    options = {"headers": {"X-Own": "mine"}, "event_hooks": {"request": [log_in]}}
    async with (
        library.AsyncClient(base_url=recorder.url, **options) as client,
        load_with(client) as tools,
    ):
        result = await tools.call("list_pets", {})

    assert recorder.last.header("authorization") == "Bearer of-the-hook-123"
    assert result.output == {"seen": "***"}


async def test_a_response_that_a_hook_has_closed_is_no_empty_success(library, recorder):
    async def close(response):
        await response.aclose()

    body = b'{"seen": 1}'
    recorder.responses.append(CannedResponse(200, [("Content-Type", "application/json")], body))
    hooks = {"response": [close]}
    async with (
        library.AsyncClient(base_url=recorder.url, event_hooks=hooks) as client,
        load_with(client) as tools,
    ):
        result = await tools.call("list_pets", {})

    assert result.error["type"] == "connection"


async def test_a_body_that_a_hook_has_read_is_the_result(library, recorder):
    async def read(response):
        await response.aread()

    headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
    recorder.responses.append(CannedResponse(200, headers, gzip.compress(b'{"name": "Rex"}')))
    hooks = {"response": [read]}
    async with (
        library.AsyncClient(base_url=recorder.url, event_hooks=hooks) as client,
        load_with(client) as tools,
    ):
        result = await tools.call("list_pets", {})

    assert result.output == {"name": "Rex"}


async def test_urls_with_a_query_do_not_stay_in_memory(library, recorder):
    key = {"type": "apiKey", "in": "query", "name": "key"}
    paths = document(PATHS, security=[{"key": []}], components={"securitySchemes": {"key": key}})
    read_cached_url.cache_clear()
    async with library.AsyncClient(base_url=recorder.url) as client:
        async with load_tools(paths, client=client, credentials={"key": "s3cret-key"}) as tools:
            assert (await tools.call("list_pets", {})).success
        sizes = [read_cached_url.cache_info().currsize]
        async with load_with(client) as tools:
            assert (await tools.call("list_pets", {})).success
        sizes.append(read_cached_url.cache_info().currsize)

    assert sizes == [0, 1]
