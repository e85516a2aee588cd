"""Texts that are not URLs, wherever they come from, end as typed errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from servers.documents import document
from servers.faults import Faults

from openapi_tools import OAuth2, Settings, SourceError, load_tools

WRONG = [f"http://{host}/" for host in ("xn--", "xn--99999999999", "[::1", "[x]")]
REFERENCES = [*WRONG, "//[x", "http://\u2100.test/"]


async def result_of(source, **more):
    settings = Settings(timeout=20, **more.pop("settings", {}))
    async with load_tools(source, settings=settings, **more) as toolset:
        (tool,) = toolset
        return await tool.execute({})


def redirecting(place):
    async def behave(peer: Any) -> None:
        while True:
            await peer.request()
            head = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
            await peer.write(head.encode())

    return Faults(behave)


@pytest.mark.parametrize("place", WRONG)
async def test_a_redirect_to_it_is_not_followed(place, transport):
    async with redirecting(place) as server:
        settings = {"base_url": server.url, "transport": transport}
        result = await result_of(document(), settings=settings)

    assert result.error["type"] == "redirect"
    assert "it is not an address" in str(result)


@pytest.mark.parametrize("place", WRONG)
async def test_a_server_with_it_is_an_error_of_the_connection(place):
    result = await result_of({**document(), "servers": [{"url": place}]})

    assert result.error["type"] == "connection"
    assert "address" in str(result)


@pytest.mark.parametrize("place", WRONG)
async def test_a_token_endpoint_with_it_is_named(place):
    scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": place, "scopes": {}}}}
    source = document(security=[{"o": []}])
    source["components"] = {"securitySchemes": {"o": scheme}}
    credentials = {"o": OAuth2(client_id="me", client_secret="mine")}
    settings = {"base_url": "http://127.0.0.1:9"}

    result = await result_of(source, credentials=credentials, settings=settings)

    assert result.error["type"] == "credentials"
    assert "token endpoint" in str(result)


@pytest.mark.parametrize("place", WRONG)
async def test_no_document_is_loaded_from_it(place):
    with pytest.raises(SourceError, match=r"not valid|no connection"):
        load_tools(place)


@pytest.mark.parametrize("place", WRONG)
async def test_no_document_is_loaded_through_a_redirect_to_it(place):
    async with redirecting(place) as server:
        with pytest.raises(SourceError, match="it is not an address"):
            await asyncio.to_thread(load_tools, server.url)


@pytest.mark.parametrize("place", REFERENCES)
def test_a_reference_to_it_costs_its_operation(place):
    source = document(method="get", parameters=[{"$ref": f"{place}a.json#/x"}])

    toolset = load_tools(source, settings=Settings(ref_urls=(place,)))

    assert list(toolset) == []
    assert "$ref" in toolset.skipped[0].reason


@pytest.mark.parametrize("place", REFERENCES)
def test_a_document_that_calls_itself_so_is_loaded(place):
    source = {
        **document(method="get", parameters=[{"$ref": "a.json#/x"}]),
        "openapi": "3.2.0",
        "$self": place,
    }

    assert "leads to another file" in load_tools(source).skipped[0].reason
