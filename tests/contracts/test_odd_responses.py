"""Responses that are odd, as a program, an MCP client and the command line are told of them."""

import asyncio
import json
import sys
from typing import Any, NamedTuple

import pytest
from documents import document, operation
from servers.faults import Faults, make_response, reply_with

from openapi_tools import Settings, load_tools
from openapi_tools.contracts.mcp import create_server

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client

SIGNED = "https://cdn.example/f.zip?sig=abcdef&exp=99"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
TYPE = "Content-Type: application/json"


def send_chunks(*parts):
    """Return a behaviour that responds in chunks, of which the last never comes."""
    data = CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)

    async def behave(peer):
        await peer.request()
        await peer.write(data)
        await peer.hang()

    return behave


class Odd(NamedTuple):
    """A response, and what is told of it."""

    behave: Any
    excerpt: str
    error: str = ""
    method: str = "post"
    status: str = "200"
    code: int = 0  # of the command line


CASES = {
    "OK": Odd(reply_with(make_response(b"OK", TYPE)), "OK"),
    "no coding": Odd(
        reply_with(make_response(b'{"a":1}', TYPE, "Content-Encoding: utf-8")), '{"a":1}'
    ),
    "a broken coding": Odd(
        reply_with(make_response(b'{"a":1}', TYPE, "Content-Encoding: gzip")), "could not be read"
    ),
    "GBK": Odd(
        reply_with(make_response("北京".encode("gbk"), "Content-Type: text/csv; charset=GBK")),
        "北京",
    ),
    "see other": Odd(
        reply_with(make_response(b"", "Location: /jobs/7", status="303 Other")), "/jobs/7"
    ),
    "a signed address": Odd(
        reply_with(make_response(b"", f"Location: {SIGNED}", status="302 Found")),
        SIGNED,
        "",
        "get",
        "302",
    ),
    "moved": Odd(
        reply_with(
            make_response(b"", "Location: /x/", status="307 Moved"), make_response(b'{"a":1}', TYPE)
        ),
        '{"a":1}',
    ),
    "elsewhere": Odd(
        reply_with(make_response(b"", f"Location: {SIGNED}", status="302 Found")),
        "https://cdn.example/f.zip and not followed",
        "redirect",
    ),
    "half an object": Odd(send_chunks(b'{"id":7,', b'"name":"ha'), '{"id":7}', "timeout"),
    "half a list": Odd(send_chunks(b'[{"id":7},', b'{"id":'), '{"id":7}', "", "get", code=3),
}


@pytest.mark.long
@pytest.mark.parametrize("odd", CASES.values(), ids=CASES)
async def test_all_of_them_receive_what_the_server_did(odd, tmp_path):
    responses = {odd.status: {"description": "ok"}}
    paths = {"/x": {odd.method: operation(operationId="do", responses=responses)}}
    path = tmp_path / "api.json"
    async with Faults(odd.behave) as server:
        path.write_text(json.dumps(document(paths, servers=[{"url": server.url}])))
        settings = Settings(timeout=1)
        async with load_tools(path, settings=settings) as toolset:
            result = await toolset.call("do", {})
        async with Client(create_server(load_tools(path, settings=settings))) as client:
            listed = await client.call_tool("do", {})
        command = (sys.executable, "-m", "openapi_tools", "call", str(path), "do", "--timeout", "1")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()

    assert (result.error or {}).get("type", "") == odd.error
    assert odd.excerpt in str(result)
    assert listed.is_error is bool(odd.error)
    assert odd.excerpt in "".join(content.text for content in listed.content)
    assert process.returncode == (1 if odd.error else odd.code)
    assert odd.excerpt in (err if odd.error else out).decode().replace("\n", "").replace(": ", ":")
