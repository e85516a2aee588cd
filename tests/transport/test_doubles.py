"""Test doubles of httpx and httpcore get the toolset's requests; tracers do not."""

import functools
import logging
import subprocess
import sys
from unittest import mock

import httpcore
import httpx
import pytest
import respx
from servers.documents import call_server, document
from servers.faults import Faults, serve

from openapi_tools import Settings, load_tools

REAL = httpx.AsyncHTTPTransport.handle_async_request


async def respond(*_, **__):
    return httpx.Response(200, json=[1])


class Traced:
    """A function as tracers wrap it: an object that calls it, with its name and attributes."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.count = 0

    def __get__(self, instance, _owner):
        self.count += instance is not None
        return self if instance is None else functools.partial(self.__wrapped__, instance)


def doubles_of(real):
    return {
        "a function": respond,
        "a function with the names of the real one": functools.wraps(real)(respond),
        "a mock": mock.AsyncMock(side_effect=respond),
        "a mock with the signature of the real one": mock.create_autospec(
            real, side_effect=respond
        ),
        "a traced function": Traced(respond),
    }


DOUBLES = doubles_of(REAL)
SENDERS = doubles_of(httpx.AsyncClient.send)


@pytest.mark.parametrize("name", DOUBLES)
async def test_whatever_replaces_the_transport_of_httpx_is_asked(monkeypatch, name):
    double = DOUBLES[name]
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", double)

    result = await call_server("http://api.test")

    assert result.output == [1]


@pytest.mark.parametrize("name", DOUBLES)
async def test_whatever_replaces_the_sending_method_of_the_client_is_asked(
    monkeypatch, recorder, name
):
    settings = Settings(base_url=recorder.url)
    async with load_tools(document(), settings=settings) as toolset:
        await toolset["call"].execute({})
        with monkeypatch.context() as patch:
            patch.setattr(httpx.AsyncClient, "send", SENDERS[name])
            doubled = await toolset["call"].execute({})
        await toolset["call"].execute({})

    assert doubled.output == [1]
    assert len(recorder.requests) == 2


async def test_the_log_of_httpx_names_each_request(caplog, recorder):
    with caplog.at_level(logging.INFO, "httpx"):
        await call_server(recorder.url)

    assert f"HTTP Request: GET {recorder.url}/p" in caplog.text


async def test_whatever_replaces_the_pool_of_httpcore_is_asked(monkeypatch):
    async def respond(*_):
        return httpcore.Response(
            200, headers=[("Content-Type", "application/json")], content=b"[1]"
        )

    monkeypatch.setattr(httpcore.AsyncConnectionPool, "handle_async_request", respond)

    result = await call_server("http://api.test")

    assert result.output == [1]


@pytest.mark.parametrize("owner", [httpx.AsyncHTTPTransport, httpcore.AsyncConnectionPool])
async def test_a_tracer_is_no_double(monkeypatch, owner):
    tracer = Traced(owner.handle_async_request)
    monkeypatch.setattr(owner, "handle_async_request", tracer)
    async with Faults(serve) as server:
        result = await call_server(server.url)

    assert result.success, result
    assert tracer.count == 0


async def test_a_double_is_asked_whatever_proxy_the_environment_names(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with respx.mock() as router:
        router.get("http://api.test/p").respond(json=[1])
        result = await call_server("http://api.test", trust_env=True)

    assert result.output == [1]


def test_a_double_that_was_there_first_is_asked_and_then_no_more():
    program = """
import asyncio, sys
import respx

with respx.mock() as router:
    router.get("http://127.0.0.1:1/p").respond(json=[1])
    from openapi_tools import load_tools

    toolset = load_tools(DOCUMENT, base_url="http://127.0.0.1:1")
    assert "openapi_tools.transport.connection_pool" not in sys.modules
    print(asyncio.run(toolset.call("call", {})))
print(asyncio.run(toolset.call("call", {})))
"""
    command = [sys.executable, "-c", program.replace("DOCUMENT", repr(document()))]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.stderr == ""
    doubled, real = ended.stdout.splitlines()
    assert doubled == "[1]"
    assert "Connection refused" in real
