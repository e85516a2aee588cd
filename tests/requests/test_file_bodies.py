"""Files by handle on their way to a server: sent in pieces, again where needed, and described."""

import asyncio
import gc
import io
import os
import re

import httpx
import pytest
from documents import document, operation
from servers.faults import Faults, open_files
from servers.file_server import BLOCK
from stored_files import API, PARTS, load_mocked, serve_content

from openapi_tools import FolderStore, Settings, load_tools


@pytest.fixture
def folder(tmp_path):
    """The folder of a store, which does not exist yet."""
    return tmp_path / "files"


async def test_a_file_is_sent_again_with_newer_credentials(folder):
    seen, keys = [], iter(["0ld-key-of-files", "n3w-key-of-files"])
    handle = FolderStore(folder).put(io.BytesIO(BLOCK))

    def respond(request):
        seen.append((request.headers["x-key"], request.content == BLOCK))
        return httpx.Response(401 if request.headers["x-key"].startswith("0ld") else 204)

    key = {"in": "header", "name": "X-Key", "value": lambda: next(keys)}
    toolset = load_mocked(respond, folder, credentials={"k": key})
    result = await toolset.call("put", {"body": {"handle": handle}})

    assert result.success
    assert seen == [("0ld-key-of-files", True), ("n3w-key-of-files", True)]


async def test_a_file_that_shrinks_on_its_way_is_an_error(folder):
    handle = FolderStore(folder).put(io.BytesIO(BLOCK))

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            os.truncate(folder / handle, 100)
            async for _ in request.stream:
                pass
            raise AssertionError

    client = httpx.AsyncClient(transport=Transport())
    toolset = load_tools(API, client=client, settings=Settings(download_dir=folder))
    result = await toolset.call("put", {"body": {"handle": handle}})

    assert (result.error["type"], result.error["retryable"]) == ("connection", False)
    assert "changed or can no longer be read" in result.error["message"]


async def test_a_preview_and_a_dry_run_name_a_file_and_its_size(folder):
    handle = FolderStore(folder).put(io.BytesIO(BLOCK), filename="scan.tiff")
    arguments = {"file": {"handle": handle}, "note": "n"}
    toolset = load_mocked(serve_content(b""), folder, dry_run=True)

    request = toolset["parts"].preview(arguments)
    result = await toolset.call("parts", arguments)

    assert b'filename="scan.tiff"' in request.content
    assert b"\r\n\r\n(scan.tiff, 65536 bytes)\r\n" in request.content
    assert int(request.headers["content-length"]) > len(BLOCK) > len(request.content)
    assert "(scan.tiff, 65536 bytes)" in result.output["body"]


async def test_several_files_of_one_argument_may_be_handles(folder):
    store, bodies = FolderStore(folder), []
    handles = [store.put(io.BytesIO(text.encode())) for text in ("one", "two")]
    files = [*({"handle": handle} for handle in handles), {"text": "three"}]

    def respond(request):
        bodies.append(request.content)
        return httpx.Response(204)

    toolset = load_mocked(respond, folder)
    await toolset.call("parts", {"files": files})

    assert re.findall(rb"\r\n\r\n(\w+)\r\n", bodies[0]) == [b"one", b"two", b"three"]


@pytest.mark.parametrize(
    ("declared", "name", "expected"),
    [
        ({}, "a.png", "image/png"),
        ({"contentType": "image/*"}, "a.png", "image/png"),
        ({"contentType": "image/*"}, "a.pdf", "application/octet-stream"),
        ({"contentType": "image/tiff"}, "a.png", "image/tiff"),
        ({}, "a.unheard", "application/octet-stream"),
    ],
)
async def test_a_part_has_the_media_type_of_its_file_where_that_fits(
    folder, declared, name, expected
):
    media = {"schema": PARTS, "encoding": {"file": declared}}
    body = {"content": {"multipart/form-data": media}}
    paths = {"/parts": {"post": operation(operationId="parts", requestBody=body)}}
    root = document(paths, servers=[{"url": "http://api.example.com"}])
    handle = FolderStore(folder).put(io.BytesIO(b"abc"), filename=name)
    toolset = load_mocked(serve_content(b""), folder, document=root)

    request = toolset["parts"].preview({"file": {"handle": handle}})
    chosen = toolset["parts"].preview({"file": {"handle": handle, "content_type": "image/gif"}})

    assert f"\r\nContent-Type: {expected}\r\n".encode() in request.content
    assert b"\r\nContent-Type: image/gif\r\n" in chosen.content


async def test_an_upload_that_hangs_ends_in_time_and_closes_its_file(folder):
    handle = FolderStore(folder).put(io.BytesIO(BLOCK * 400))
    opened = open_files()

    async def hang(peer):
        await peer._reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(5)

    async with Faults(hang) as server:
        settings = Settings(download_dir=folder, base_url=server.url, timeout=0.3)
        async with load_tools(API, settings=settings) as toolset:
            result = await toolset.call("put", {"body": {"handle": handle}})
        assert result.error["type"] == "timeout"

    gc.collect()
    assert open_files() <= opened


async def test_a_digest_challenge_sends_the_file_again(folder):
    handle = FolderStore(folder).put(io.BytesIO(BLOCK * 20))
    bodies = []
    challenge = b'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'

    async def send_challenge(peer):
        while True:
            request = await peer.request()
            head, _, body = request.partition(b"\r\n\r\n")
            bodies.append(body)
            if b"Digest " in head:
                await peer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            else:
                start = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
                await peer.write(start + challenge + b"\r\n\r\n")

    schemes = {"scheme": {"type": "http", "scheme": "digest"}}
    root = {**API, "components": {"securitySchemes": schemes}, "security": [{"scheme": []}]}
    async with Faults(send_challenge) as server:
        settings = Settings(download_dir=folder, base_url=server.url)
        pair = {"scheme": ("me", "p4ss-of-digests")}
        async with load_tools(root, credentials=pair, settings=settings) as toolset:
            result = await toolset.call("put", {"body": {"handle": handle}})

    assert result.success
    assert bodies == [BLOCK * 20] * 2
