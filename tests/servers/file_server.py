"""An API of large files: a FastAPI application under uvicorn, in a process of its own."""

import asyncio
import hashlib
import socket
import subprocess
import sys
import zlib
from contextlib import contextmanager

import uvicorn
from fastapi import APIRouter, FastAPI, Request, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse

BLOCK = hashlib.sha512(b"a block").digest() * 1024
"""64 KiB that are no text."""
MEGABYTE = 16
"""Blocks of a megabyte."""


def digest_of(megabytes):
    """Return the SHA-256 of a file of the server."""
    digest = hashlib.sha256()
    for _ in range(megabytes * MEGABYTE):
        digest.update(BLOCK)
    return digest.hexdigest()


@contextmanager
def serving():
    """Run the application in a process and give its URL."""
    command = [sys.executable, "-W", "ignore", __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def _blocks(megabytes, *, then=None):
    for _ in range(megabytes * MEGABYTE):
        yield BLOCK
    if then is not None:
        await asyncio.sleep(then)
        raise ConnectionError


async def _squeeze(megabytes):
    squeeze = zlib.compressobj(9, wbits=31)
    for _ in range(megabytes):
        yield squeeze.compress(bytes(1 << 20))
    yield squeeze.flush()


async def _facts(pieces):
    """Return the length and the digest of bytes that come in pieces."""
    digest, size = hashlib.sha256(), 0
    async for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return {"bytes": size, "sha256": digest.hexdigest()}


async def _pieces_of(upload):
    while piece := await upload.read(1 << 20):
        yield piece


downloads, uploads = APIRouter(), APIRouter()
refused = []


@downloads.get("/files/{megabytes}")
async def get_file(megabytes: int):
    """Give a file of so many megabytes."""
    headers = {
        "Content-Length": str(megabytes * MEGABYTE * len(BLOCK)),
        "Content-Disposition": 'attachment; filename="report.pdf"',
    }
    return StreamingResponse(_blocks(megabytes), media_type="application/pdf", headers=headers)


@downloads.get("/broken")
async def get_broken(slow: bool = False):
    """Give half of what it says, then hang or break."""
    headers = {"Content-Length": str(2 * MEGABYTE * len(BLOCK))}
    content = _blocks(1, then=60 if slow else 0)
    return StreamingResponse(content, media_type="application/zip", headers=headers)


@downloads.get("/bomb")
async def get_bomb(megabytes: int):
    """Give zeros, compressed."""
    headers = {"Content-Encoding": "gzip"}
    return StreamingResponse(_squeeze(megabytes), media_type="image/tiff", headers=headers)


@uploads.put(
    "/whole",
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def put_whole(request: Request, fail_first: bool = False):
    """Tell what came; with `fail_first` only at the second time."""
    facts = await _facts(request.stream())
    if fail_first and not refused:
        refused.append(facts)
        return JSONResponse({"detail": "later"}, status_code=503, headers={"Retry-After": "0"})
    return facts


@uploads.post("/parts")
async def post_parts(file: UploadFile, note: str = ""):
    """Tell what came in a part."""
    return {**await _facts(_pieces_of(file)), "name": file.filename, "note": note}


def main():
    """Serve on a free port and print the URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    app = FastAPI(title="Files", generate_unique_id_function=lambda route: route.name)
    for router in (downloads, uploads):
        app.include_router(router)
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
