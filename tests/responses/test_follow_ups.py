"""What follows a response, for responses of any kind: nothing is raised, nothing leaves the API."""

import asyncio
import json

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openapi_tools import Settings, load_tools

LIST = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def list_operation(response, **arguments):
    """Return an operation with a response and arguments in the query."""
    places = [{"name": name, "in": "query", "schema": schema} for name, schema in arguments.items()]
    content = {"application/json": {"schema": {"type": "object", "properties": response}}}
    return {"get": {"parameters": places, "responses": {"200": {"content": content}}}}


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "servers": [{"url": "https://api.example.com/v1"}],
    "paths": {
        "/cursors": list_operation({"items": LIST, "next": TEXT}, cursor=TEXT, limit=NUMBER),
        "/numbers": list_operation({"items": LIST, "total": NUMBER}, page=NUMBER, per_page=NUMBER),
        "/offsets": list_operation({"items": LIST, "has_more": {}}, offset=NUMBER, limit=NUMBER),
        "/ids": list_operation({"items": LIST, "has_more": {}}, starting_after=TEXT),
        "/limits": list_operation({"items": LIST}, limit=NUMBER),
        "/links": list_operation({"items": LIST, "_links": {"properties": {"next": {}}}}),
        "/plain": {"get": {}, "post": {}},
    },
}

NAMES = [
    *("items", "data", "next", "next_cursor", "has_more", "total", "total_pages", "page", "offset"),
    *("links", "_links", "href", "meta", "paging", "cursors", "after", "id", "status", "state"),
    *("done", "error", "statusUrl", "resourceLocation", "properties", "hasNextPage"),
]
ADDRESSES = [
    *("https://api.example.com/v1/cursors?cursor=b", "/v1/x", "?page=2", "x", "//evil.example/v1"),
    *("https://api.example.com:8443/v1/x", "https://evil.example/v1/x", "/v1/../admin", "/admin"),
    *("http://[::1", "https://api.example.com/v1/%2e%2e/x", "?_method=DELETE", "\ud800"),
]
TEXTS = st.sampled_from([*ADDRESSES, "running", "failed", "7", "-1"]) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**4000) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=25,
)
LINES = st.dictionaries(
    st.sampled_from(["link", "location", "operation-location", "x-next-page", "retry-after"]),
    (st.sampled_from(ADDRESSES[:-1]) | st.sampled_from(["<?page=2>; rel=next", "<>;rel", "3"])),
    max_size=3,
)


@pytest.mark.untraced
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VALUES, min_size=1, max_size=3), LINES, st.sampled_from([200, 201, 202]))
def test_whatever_an_api_returns_the_pages_end_inside_of_it(values, lines, status):
    asked = []

    def respond(request):
        asked.append(request)
        assert (request.url.host, request.url.port) == ("api.example.com", None)
        assert request.url.path.startswith("/v1")
        assert request.method == "GET" or request.url.path == "/v1/plain"
        value = json.dumps(values[min(len(asked), len(values)) - 1])
        head = {"content-type": "application/json", **lines}
        return httpx.Response(status, headers=head, content=value)

    async def main():
        client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
        tools = load_tools(DOCUMENT, client=client, settings=Settings(wait=0.01, cache=False))
        for tool in tools:
            pages = tools.pages(tool.name, {}, max_pages=5)
            _ = [item async for item in pages]
            results = [await tools.call(tool.name, {}), await pages.collect()]
            texts = " ".join(str(r.error) for r in results if r is not None)
            assert "unexpectedly" not in f"{pages.error}{texts}"
            assert pages.reason
            assert len(asked) < 20
            asked.clear()

    asyncio.run(main())
