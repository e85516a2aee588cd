"""Connections: nothing of one call stays for the next, nothing leaks, nothing hangs."""

import asyncio
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time

import httpx
import pytest
from servers.documents import call_server, document
from servers.faults import Faults, make_response, open_files, reply_with, serve
from servers.tls import TlsServer

from openapi_tools import Settings, load_tools
from openapi_tools.transport import Sender
from openapi_tools.transport.connection_pool import make_client
from openapi_tools.transport.connections import connect
from openapi_tools.transport.network_policy import NetworkPolicy

ANYWHERE = NetworkPolicy(private=True)
POISON = make_response(b'{"poison": true}')
BOUND = 2 * 1024 * 1024


def get(url):
    return httpx.Request("GET", url)


async def test_failing_calls_leave_no_file_open():
    async def close(peer):
        await peer.request()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    sender = Sender(Settings(timeout=5.0, concurrency=10))
    async with Faults(close) as server:
        counts = []
        for _ in range(3):
            urls = [server.url, f"http://127.0.0.1:{closed}"] * 50
            calls = (sender.send(get(url)) for url in urls)
            await asyncio.gather(*calls, return_exceptions=True)
            await server.wait_until(lambda: server.ended == server.connections)
            counts.append(open_files())
        await sender.aclose()

    assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize("pause", [0.0, 0.02], ids=["at once", "later"])
async def test_a_second_response_is_nobodys(pause):
    async def twice(peer):
        while True:
            await peer.request()
            await peer.write(make_response(b'{"own": true}'))
            await asyncio.sleep(pause)
            await peer.write(POISON)

    async with Faults(twice) as server, make_client(Settings()) as client:
        for _ in range(3):
            assert (await client.get(server.url)).content == b'{"own": true}'
            await asyncio.sleep(2 * pause)

        assert server.connections == 3


async def test_a_response_that_arrives_while_the_loop_is_busy_is_nobodys():
    with TlsServer(None, make_response(b'{"own": true}'), later=POISON) as server:
        async with make_client(Settings()) as client:
            first = (await client.get(server.url)).content
            server.sent_later.wait(5)  # nothing of this loop runs until the poison is there
            second = (await client.get(server.url)).content

    assert first == second == b'{"own": true}'
    assert server.greeted == 2


async def test_a_connection_that_was_closed_while_the_loop_was_busy_is_replaced():
    client = make_client(Settings())
    async with Faults(reply_with(make_response())) as server, client:
        await client.get(server.url)
        await server.wait_until(lambda: server.ended == 1)

        again = await client.post(server.url, content=b"{}")

        assert (again.status_code, server.connections) == (200, 2)


async def test_what_is_not_read_is_not_taken_without_end():
    async def flood(peer):
        await peer.write_forever(b"x" * 65536)

    async with Faults(flood) as server:
        stream = await connect("127.0.0.1", server.port, ANYWHERE)
        await asyncio.sleep(0.1)
        waiting = len(stream._unread)
        size = 0
        while size < 4 * BOUND:
            size += len(await stream.read())
        assert waiting < BOUND
        assert len(stream._unread) < BOUND
        stream.abort()


async def test_a_large_body_arrives_whole_at_a_slow_reader():
    body = os.urandom(1024) * 8 * 1024

    async def doze(peer):
        await asyncio.sleep(0.05)
        await peer.request()
        await peer.write(make_response())

    async with Faults(doze) as server, make_client(Settings()) as client:
        response = await client.post(server.url, content=body, timeout=10)

    assert response.status_code == 200
    assert server.requests[0].endswith(body)


async def test_a_resolver_that_hangs_is_under_the_deadline(monkeypatch):
    released = threading.Event()

    def hang(*args, **kwargs):
        released.wait(20)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    begin = time.monotonic()
    result = await call_server("http://slow.test:9", timeout=0.1)
    took = time.monotonic() - begin
    released.set()

    assert result.error["type"] == "timeout"
    assert took < 5


async def test_many_loops_in_many_threads_share_a_toolset():
    async with Faults(serve) as server:
        toolset = load_tools(document(), settings=Settings(base_url=server.url, timeout=10.0))

        async def several():
            return await asyncio.gather(*(toolset["call"].execute({}) for _ in range(5)))

        threads = (asyncio.to_thread(asyncio.run, several()) for _ in range(12))
        results = [result for some in await asyncio.gather(*threads) for result in some]
        await toolset.aclose()

        assert [result.success for result in results] == [True] * 60
        await server.wait_until(lambda: server.ended == server.connections)


FORKING = """
    import asyncio, os, sys, time, warnings
    from openapi_tools import Settings, load_tools

    warnings.simplefilter("error")
    api = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"},
           "paths": {"/p": {"get": {"operationId": "call"}}}}
    tools = load_tools(api, settings=Settings(base_url=sys.argv[1], timeout=5.0))

    async def call():
        result = await tools["call"].execute({})
        assert result.success, result

    async def child():
        await call()
        begin = time.monotonic()
        await tools.aclose()
        assert time.monotonic() - begin < 4, "waited for a loop of the parent"

    async def main():
        await call()
        pid = os.fork()
        if pid == 0:
            asyncio.run(child())
            os._exit(0)
        _, status = await asyncio.to_thread(os.waitpid, pid, 0)
        assert status == 0, status
        await call()  # over the connection from before
        await tools.aclose()

    asyncio.run(main())
    print("done")
"""


async def test_a_forked_process_has_connections_of_its_own():
    async with Faults(serve) as server:
        command = [sys.executable, "-c", textwrap.dedent(FORKING), server.url]
        options = {"capture_output": True, "text": True, "timeout": 30, "check": False}
        done = await asyncio.to_thread(subprocess.run, command, **options)

        assert done.stdout.strip() == "done", done.stderr
        assert (len(server.requests), server.connections) == (3, 2)
