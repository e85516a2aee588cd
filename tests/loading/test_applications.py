"""`load_tools(app)`: an ASGI application in the same process, document included."""

import asyncio
import logging

import pytest
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPBearer
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from openapi_tools import Settings, SettingsError, SourceError, aload_tools, load_tools

TOKEN = "application-token-81b2"
BEARER = Depends(HTTPBearer())


def shop(**options):
    app = FastAPI(title="Shop", version="1", **options)

    @app.get("/items/{number}", operation_id="getItem")
    def get_item(number: int, detail: bool = False):
        if number == 404:
            raise HTTPException(404, "no such item")
        if number == 500:
            raise RuntimeError("the shelf broke")
        return {"number": number, "detail": detail}

    @app.get("/secret", operation_id="getSecret")
    def get_secret(credentials=BEARER):
        return {"right": credentials.credentials == TOKEN}

    return app


async def test_an_application_is_loaded_and_called_in_the_process():
    async with load_tools(shop()) as toolset:
        result = await toolset.call("get_item", {"number": 7, "detail": True})

    assert {tool.name for tool in toolset} == {"get_item", "get_secret"}
    assert result.output == {"number": 7, "detail": True}


PLACES = {
    "elsewhere": {"openapi_url": "/api/v1/openapi.json"},
    "not served": {"openapi_url": None},
    "with a server in another place": {"servers": [{"url": "https://shop.example.com/v1"}]},
    "under a path of a proxy": {"root_path_in_servers": True, "servers": [{"url": "/shop"}]},
}


@pytest.mark.parametrize("options", PLACES.values(), ids=PLACES)
async def test_the_document_may_be_anywhere_and_name_any_server(options):
    async with await aload_tools(shop(**options)) as toolset:
        result = await toolset.call("get_item", {"number": 7})

    assert result.output == {"number": 7, "detail": False}


async def test_errors_of_the_application_are_error_results_and_logged(caplog):
    async with load_tools(shop()) as toolset:
        missing = await toolset.call("get_item", {"number": 404})
        with caplog.at_level(logging.ERROR, "openapi_tools"):
            broken = await toolset.call("get_item", {"number": 500})

    assert missing.error["status"] == 404
    assert "no such item" in str(missing)
    assert broken.error["status"] == 500
    assert "the shelf broke" not in str(broken)
    assert "the shelf broke" in caplog.text


async def test_credentials_go_to_the_application():
    async with load_tools(shop(), credentials={"HTTPBearer": TOKEN}) as toolset:
        result = await toolset.call("get_secret", {})

    assert result.output == {"right": True}


async def test_settings_and_selection_count_as_for_any_source():
    settings = Settings(prefix="shop_", base_url="http://testserver/")
    async with load_tools(shop(), settings=settings) as toolset:
        result = await toolset.call("shop_get_item", {"number": 1})

    assert result.success


async def test_an_application_of_starlette_serves_its_own_document():
    document = TestClient(shop()).get("/openapi.json").json()

    async def item(request):
        return JSONResponse({"number": int(request.path_params["number"])})

    async def openapi(request):
        return JSONResponse(document)

    routes = [Route("/openapi.json", openapi), Route("/items/{number}", item)]
    async with load_tools(Starlette(routes=routes)) as toolset:
        result = await toolset.call("get_item", {"number": 3})

    assert result.output == {"number": 3}


def test_an_application_without_a_document_says_where_it_was_looked_for():
    with pytest.raises(SourceError, match=r"localhost/openapi\.json: .* status 404"):
        load_tools(Starlette())


def test_other_callables_are_refused():
    with pytest.raises(SettingsError, match="ASGI application, such as FastAPI's, not function"):
        load_tools(lambda environ, start_response: [])
    with pytest.raises(SettingsError, match="client: an application is called in this process"):
        load_tools(shop(), client=object())


def test_tools_are_loaded_while_a_loop_is_running():
    async def load():
        return len(load_tools(shop()))

    assert asyncio.run(load()) == 2


@pytest.mark.parametrize(
    ("chunk", "kind"), [(b"x" * 1_000_000, "too_large"), (b"", "timeout")], ids=["much", "nothing"]
)
async def test_an_application_that_never_ends_its_response_is_left(chunk, kind):
    document = shop().openapi()

    async def endless(scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})

    endless.openapi_url, endless.openapi = None, lambda: document
    limits = {"timeout": 0.5, "max_file_bytes": 1, "max_document_bytes": 1_000_000}
    async with load_tools(endless, max_response_bytes=2_000_000, **limits) as toolset:
        result = await asyncio.wait_for(toolset.call("get_item", {"number": 7}), 30)

    assert result.error["type"] == kind
