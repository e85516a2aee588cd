"""An API whose responses and uploads are files, in memory, and what a store then holds."""

from pathlib import Path

import httpx
from documents import document, operation

from openapi_tools import Settings, load_tools

BYTES = {"content": {"application/octet-stream": {}}}
PARTS = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "note": {"type": "string"},
    },
}
PATHS = {
    "/file": {
        "get": operation(operationId="get"),
        "put": operation(operationId="put", requestBody={"required": True, **BYTES}),
    },
    "/parts": {
        "post": operation(
            operationId="parts", requestBody={"content": {"multipart/form-data": {"schema": PARTS}}}
        )
    },
}
API = document(PATHS, servers=[{"url": "http://api.example.com"}])


def load_mocked(handler, folder=None, document=API, credentials=None, **options):
    client = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    settings = Settings(**({} if folder is None else {"download_dir": folder}), **options)
    return load_tools(document, client=client, settings=settings, credentials=credentials)


def serve_content(content, kind="application/pdf", **headers):
    return lambda _: httpx.Response(200, content=content, headers={"Content-Type": kind, **headers})


def streaming(content, kind="application/pdf", **headers):
    """Return a handler that responds with bytes in pieces, as a network gives them."""

    async def pieces():
        for start in range(0, len(content), 50_000):
            yield content[start : start + 50_000]

    all_headers = {"Content-Type": kind, **headers}
    return lambda _: httpx.Response(200, content=pieces(), headers=all_headers)


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def written_by(result):
    return Path(result.output["file"]).read_bytes()
