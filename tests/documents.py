"""Small documents made for one test."""

from openapi_tools import load_tools


def document(paths, *, openapi="3.1.1", **members):
    """Return a document of OpenAPI 3 (or 2.0 for `openapi="2.0"`)."""
    version = {"swagger": "2.0"} if openapi == "2.0" else {"openapi": openapi}
    return {**version, "info": {"title": "t", "version": "1"}, "paths": paths, **members}


def operation(**members):
    """Return an Operation Object that answers 200."""
    return {"responses": {"200": {"description": "ok"}}, **members}


def with_body(schema, *, kind="application/json", **body):
    """Return a POST on `/x` with a request body of one media type."""
    content = {kind: {"schema": schema}}
    return {"/x": {"post": operation(requestBody={"content": content, "required": True, **body})}}


def with_schema(schema, *, openapi="3.1.1", **members):
    """Return what a model is told about a query parameter `q` with that schema."""
    parameter = {"name": "q", "in": "query", "schema": schema}
    paths = {"/x": {"get": operation(parameters=[parameter])}}
    toolset = tools(paths, openapi=openapi, **members)
    (tool,) = toolset
    return tool.input_schema


def tools(paths, *, settings=None, **members):
    """Return the tools of a document with these paths."""
    return load_tools(document(paths, **members), settings=settings)
