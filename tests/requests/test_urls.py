"""Texts that are not URLs, wherever they come from, end as typed errors."""

import asyncio

import pytest
from servers.documents import document
from servers.faults import Faults

from openapi_tools import OAuth2, Settings, SourceError, load_tools

WRONG = [f"http://{host}/" for host in ("xn--", "xn--99999999999", "[::1", "[x]")]
wrong = pytest.mark.parametrize("place", WRONG)
wrong_reference = pytest.mark.parametrize("place", [*WRONG, "//[x", "http://\u2100.test/"])


async def error_of(source, base_url=None, **options):
    """Return the kind and the text of the error result of a call."""
    settings = Settings(timeout=20, base_url=base_url)
    async with load_tools(source, settings=settings, **options) as toolset:
        result = await toolset["call"].execute({})
    return result.error["type"], str(result)


def redirecting(place):
    async def behave(peer):
        while True:
            await peer.request()
            head = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
            await peer.write(head.encode())

    return Faults(behave)


@wrong
async def test_a_redirect_to_it_is_not_followed(place):
    async with redirecting(place) as server:
        kind, message = await error_of(document(), server.url)

        with pytest.raises(SourceError, match="it is not a URL"):
            await asyncio.to_thread(load_tools, server.url)

    assert kind == "redirect"
    assert "it is not a URL" in message


@wrong
async def test_a_server_with_it_is_an_error_of_the_connection(place):
    kind, message = await error_of({**document(), "servers": [{"url": place}]})

    assert kind == "connection"
    assert "address" in message


@wrong
async def test_a_token_endpoint_with_it_is_named(place):
    scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": place, "scopes": {}}}}
    source = {**document(security=[{"o": []}]), "components": {"securitySchemes": {"o": scheme}}}
    credentials = {"o": OAuth2(client_id="me", client_secret="secret-of-me-7731")}

    kind, message = await error_of(source, "http://127.0.0.1:9", credentials=credentials)

    assert kind == "credentials"
    assert "token endpoint" in message


@wrong
def test_no_document_is_loaded_from_it(place):
    with pytest.raises(SourceError, match=r"not valid|no connection"):
        load_tools(place)


@wrong_reference
def test_a_reference_to_it_costs_its_operation(place):
    source = document(method="get", parameters=[{"$ref": f"{place}a.json#/x"}])

    toolset = load_tools(source, settings=Settings(ref_urls=(place,)))

    assert list(toolset) == []
    assert "$ref" in toolset.skipped[0].reason


@wrong_reference
def test_a_document_that_calls_itself_so_is_loaded(place):
    source = document(version="3.2.0", method="get", parameters=[{"$ref": "a.json#/x"}])

    toolset = load_tools({**source, "$self": place})

    assert "points to another file" in toolset.skipped[0].reason
