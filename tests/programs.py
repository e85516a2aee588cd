"""A small API and programs that call it, for the tests of code mode."""

import httpx
from documents import document, operation

from openapi_tools import load_tools

ITEMS = 10
PAGES = 3


def _parameter(name, location, *, required=False, **schema):
    return {"name": name, "in": location, "required": required, "schema": schema}


_BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
_ID = _parameter("user-id", "path", required=True, type="integer")
_CLASS = _parameter("class", "query", type="string", enum=["a", "b"])
_PAGE = _parameter("page", "query", type="integer")
DOCUMENT = document(
    {
        "/items": {
            "get": operation(operationId="list_items", parameters=[_PAGE]),
            "post": operation(operationId="create-item", requestBody=_BODY),
        },
        "/users/{user-id}": {
            "get": operation(operationId="get_user", parameters=[_ID, _CLASS]),
            "delete": operation(operationId="delete_user", parameters=[_ID]),
        },
        "/print": {"get": operation(operationId="print")},
    },
    servers=[{"url": "https://shop.example.com"}],
)


# A name that is not an identifier, as a document's never is.
NAMES = {"tools": {"create_item": {"name": "create-item"}}}


class Shop:
    def __init__(self):
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        path = request.url.path
        if path == "/items" and request.method == "GET":
            page = int(request.url.params.get("page", 1))
            items = [{"id": ITEMS * page + place, "owner": place} for place in range(ITEMS)]
            headers = {"Link": f'</items?page={page + 1}>; rel="next"'} if page < PAGES else {}
            return httpx.Response(200, json=items, headers=headers)
        if path == "/users/404":
            return httpx.Response(404, json={"message": "no such user"})
        if path.startswith("/users/"):
            return httpx.Response(200, json={"name": f"u{path[7:]}"})
        return httpx.Response(201, json={"made": True})

    def toolset(self, **options):
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        options = {"show_changes": False, **options}  # requests are counted
        return load_tools(DOCUMENT, client=client, config=NAMES, **options)


async def run(code, *, shop=None, limits=None, context=None):
    tools = (shop or Shop()).toolset().code_tools(limits=limits)
    return await tools.call("run_code", {"code": code}, context=context)
