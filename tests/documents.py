"""Small documents made for one test."""

from __future__ import annotations

from typing import Any

from openapi_tools import Settings, Toolset, load_tools


def document(paths: dict[str, Any], *, openapi: str = "3.1.1", **members: Any) -> dict[str, Any]:
    """Return a document of OpenAPI 3 (or 2.0 for `openapi="2.0"`)."""
    version = {"swagger": "2.0"} if openapi == "2.0" else {"openapi": openapi}
    return {**version, "info": {"title": "t", "version": "1"}, "paths": paths, **members}


def operation(**members: Any) -> dict[str, Any]:
    """Return an Operation Object that answers 200."""
    return {"responses": {"200": {"description": "ok"}}, **members}


def with_body(schema: Any, *, kind: str = "application/json", **body: Any) -> dict[str, Any]:
    """Return a POST on `/x` with a request body of one media type."""
    content = {kind: {"schema": schema}}
    return {"/x": {"post": operation(requestBody={"content": content, "required": True, **body})}}


def with_schema(schema: Any, *, openapi: str = "3.1.1", **members: Any) -> dict[str, Any]:
    """Return what a model is told about a query parameter `q` with that schema."""
    parameter = {"name": "q", "in": "query", "schema": schema}
    paths = {"/x": {"get": operation(parameters=[parameter])}}
    toolset = tools(paths, openapi=openapi, **members)
    (tool,) = toolset
    return tool.input_schema


def tools(paths: dict[str, Any], *, settings: Settings | None = None, **members: Any) -> Toolset:
    """Return the tools of a document with these paths."""
    return load_tools(document(paths, **members), settings=settings)
