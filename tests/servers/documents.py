"""Documents of one operation, for tests that look at the bytes it sends."""

from __future__ import annotations

from typing import Any, NamedTuple

from openapi_tools import Settings, load_tools


class Row(NamedTuple):
    """One line of a wire table."""

    title: str
    section: str  # of the standard, or the server that decides
    operation: dict[str, Any]  # what `document` is called with
    arguments: dict[str, Any]
    expected: dict[str, Any]  # `method`, `target`, `body` or a header (lower case)


def document(*, version="3.1.2", path="/p", method="", parameters=None, body=None, **fields):
    """Return a document with one operation; Swagger 2.0 when the version says so."""
    operation: dict[str, Any] = {"operationId": "call", "responses": {"200": {"description": "ok"}}}
    operation |= {"parameters": parameters or []} | fields
    if body is not None:
        operation["requestBody"] = body
    method = method or ("post" if body or _has_form(parameters) else "get")
    item: dict[str, Any] = {method: operation}
    if method != method.lower():
        item = {"additionalOperations": item}
    head = {"swagger": version} if version == "2.0" else {"openapi": version}
    return {**head, "info": {"title": "one operation", "version": "1"}, "paths": {path: item}}


def _has_form(parameters):
    return any(p["in"] in ("formData", "body") for p in parameters or [])


def parameter(location, name, schema=None, **fields):
    """Return a Parameter Object of OpenAPI 3; its schema allows everything by default."""
    node = {"name": name, "in": location, **fields}
    if location == "path":
        node["required"] = True
    if "content" not in fields:
        node["schema"] = {} if schema is None else schema
    return node


def body(media_type, schema=None, **fields):
    """Return a required Request Body Object with one media type."""
    node = {"schema": {} if schema is None else schema, **fields}
    return {"required": True, "content": {media_type: node}}


def object_of(**properties):
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


async def call_server(url, *, client=None, **settings):
    """Return the result of the one operation of an API at that address."""
    api = {**document(), "servers": [{"url": url}]}
    chosen = Settings(**{"timeout": 5.0, **settings})
    async with load_tools(api, settings=chosen, client=client) as toolset:
        return await toolset["call"].execute({})
