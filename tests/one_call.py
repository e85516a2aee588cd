"""One operation, one call, and a server on loopback that responds as a test says."""

from documents import document, operation
from servers.recorder import CannedResponse, Recorder

from openapi_tools import Settings, load_tools

KEY = {"k": {"type": "apiKey", "in": "header", "name": "X-Key"}}


def response(body, media_type="application/json", *headers, status=200):
    """Return a response with these bytes, this media type and further headers."""
    lines = [("Content-Type", media_type)] if media_type else []
    return CannedResponse(status, [*lines, *headers], body)


async def call_once(*replies, method="get", responses=None, body=None, key=None, **settings):
    """Return the result of one call of `/x`, and the requests that the server received.

    The last response is repeated. With `key` the operation needs a credential of that value.
    """
    fields = {"operationId": "do", "responses": responses or {"200": {"description": "ok"}}}
    if body is not None:
        fields["requestBody"] = {"content": {"application/json": {"schema": body}}}
    schemes = {"components": {"securitySchemes": KEY}, "security": [{"k": []}]} if key else {}
    described = document({"/x": {method: operation(**fields)}}, **schemes)
    credentials = {"k": key} if key else None
    async with Recorder(replies[-1]) as server:
        server.responses.extend(replies[:-1])
        chosen = Settings(base_url=server.url, **settings)
        async with load_tools(described, settings=chosen, credentials=credentials) as toolset:
            result = await toolset.call("do", {} if body is None else {"a": "1"})
    return result, server.requests
