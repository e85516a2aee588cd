"""A small API and programs that call it, for the tests of code mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools import load_tools

if TYPE_CHECKING:
    from openapi_tools import CodeLimits, ToolResult, Toolset

ITEMS = 10
PAGES = 3


def _parameter(name: str, place: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": schema}


def _operation(name: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    answers = {"200": {"description": "Found."}}
    return {"operationId": name, "parameters": list(parameters), "responses": answers, **more}


_BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
_ID = _parameter("user-id", "path", required=True, type="integer")
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.1",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example.com"}],
    "paths": {
        "/items": {
            "get": _operation("list_items", _parameter("page", "query", type="integer")),
            "post": _operation("create-item", requestBody=_BODY),
        },
        "/users/{user-id}": {
            "get": _operation(
                "get_user", _ID, _parameter("class", "query", type="string", enum=["a", "b"])
            ),
            "delete": _operation("delete_user", _ID),
        },
        "/print": {"get": _operation("print")},
    },
}


# A name that is not an identifier, as a document's never is.
NAMES: dict[str, Any] = {"tools": {"create_item": {"name": "create-item"}}}


class Shop:
    """Answers requests, and keeps them."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        path = request.url.path
        if path == "/items" and request.method == "GET":
            page = int(request.url.params.get("page", 1))
            items = [{"id": ITEMS * page + place, "owner": place} for place in range(ITEMS)]
            more = {"Link": f'</items?page={page + 1}>; rel="next"'} if page < PAGES else {}
            return httpx.Response(200, json=items, headers=more)
        if path == "/users/404":
            return httpx.Response(404, json={"message": "no such user"})
        if path.startswith("/users/"):
            return httpx.Response(200, json={"name": f"u{path[7:]}"})
        return httpx.Response(201, json={"made": True})

    def toolset(self, **options: Any) -> Toolset:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        options = {"show_changes": False, **options}  # requests are counted
        return load_tools(DOCUMENT, client=client, config=NAMES, **options)


async def run(
    code: str, *, shop: Shop | None = None, limits: CodeLimits | None = None, context: Any = None
) -> ToolResult:
    """Return the result of one program over a shop."""
    tools = (shop or Shop()).toolset().code_tools(limits=limits)
    return await tools.call("run_code", {"code": code}, context=context)
