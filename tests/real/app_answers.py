"""Operations that differ in what they answer."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

answers = APIRouter(prefix="/answers", tags=["answers"])


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + _chunk(b"IEND", b"")
)
"""One red pixel."""

PAGE = "<!doctype html><title>Hi</title><script>x()</script><p>Hello <b>world</b></p>"
ARCHIVE = bytes(range(256)) * 4


@answers.get("/nothing", status_code=204)
async def answer_nothing() -> None: ...


@answers.get("/null")
async def answer_null() -> Any:
    return None


@answers.get("/unicode")
async def answer_unicode() -> Any:
    return {"grüße": "日本語 🚀", "big": 2**63, "small": 1e-7, "nested": [[], {}, [None, True]]}


@answers.get("/text", response_class=PlainTextResponse)
async def answer_text() -> str:
    return "Zwölf Boxkämpfer\nin two lines"


@answers.get("/latin", response_class=Response)
async def answer_latin() -> Response:
    return Response("Zwölf".encode("latin-1"), media_type="text/plain; charset=iso-8859-1")


@answers.get("/html", response_class=HTMLResponse)
async def answer_html() -> str:
    return PAGE


@answers.get("/xml", response_class=Response)
async def answer_xml() -> Response:
    return Response("<?xml version='1.0'?><pets><pet id='1'/></pets>", media_type="application/xml")


@answers.get("/csv", response_class=Response)
async def answer_csv() -> Response:
    return Response("id,name\r\n1,Rex\r\n", media_type="text/csv")


@answers.get("/png", response_class=Response)
async def answer_png() -> Response:
    return Response(PNG, media_type="image/png")


@answers.get("/download", response_class=Response)
async def answer_download() -> Response:
    headers = {"Content-Disposition": 'attachment; filename="archive.bin"'}
    return Response(ARCHIVE, media_type="application/octet-stream", headers=headers)


@answers.get("/gzip")
async def answer_gzip(request: Request) -> Response:
    told = {"accept_encoding": request.headers.get("accept-encoding"), "padding": "x" * 5000}
    content = gzip.compress(json.dumps(told).encode())
    return Response(content, media_type="application/json", headers={"Content-Encoding": "gzip"})


@answers.get("/events", response_class=StreamingResponse)
async def answer_events() -> StreamingResponse:
    def events() -> Iterator[str]:
        yield ": a comment\n\n"
        yield 'event: start\nid: 1\ndata: {"n": 1}\n\n'
        yield "data: first line\ndata: second line\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


@answers.get("/lines", response_class=StreamingResponse)
async def answer_lines() -> StreamingResponse:
    lines = (json.dumps({"n": number}) + "\n" for number in range(3))
    return StreamingResponse(lines, media_type="application/x-ndjson")


@answers.get("/large")
async def answer_large(count: int = 5000) -> Any:
    return [{"id": number, "text": "x" * 80} for number in range(count)]


@answers.get("/problem")
async def answer_problem() -> Response:
    problem = {"type": "about:blank", "title": "Out of stock", "detail": "None left."}
    return JSONResponse(problem, status_code=422, media_type="application/problem+json")


@answers.get("/error/{status}")
async def answer_error(status: int) -> Any:
    raise HTTPException(status, detail=f"This is {status}.")


@answers.get("/busy")
async def answer_busy() -> Any:
    raise HTTPException(429, detail="Slow down.", headers={"Retry-After": "7"})


@answers.get("/error-page", response_class=HTMLResponse)
async def answer_error_page() -> Response:
    page = "<html><style>p{}</style><body><h1>Bad Gateway</h1><p>nginx</p></body></html>"
    return HTMLResponse(page, status_code=502)


@answers.get("/broken", response_class=Response)
async def answer_broken() -> Response:
    return Response(b'{"a": 1', media_type="application/json")


@answers.get("/old", response_class=RedirectResponse, status_code=307)
async def answer_redirect(q: str = "moved") -> RedirectResponse:
    return RedirectResponse(f"/search?q={quote(q)}")


@answers.post("/seen", response_class=RedirectResponse, status_code=303)
async def answer_see_other() -> RedirectResponse:
    return RedirectResponse("/search?q=after-post", status_code=303)


@answers.get("/away", response_class=RedirectResponse, status_code=302)
async def answer_redirect_away() -> RedirectResponse:
    return RedirectResponse("http://127.0.0.1:9/elsewhere", status_code=302)


@answers.get("/circle", response_class=RedirectResponse, status_code=302)
async def answer_circle() -> RedirectResponse:
    return RedirectResponse("/answers/circle", status_code=302)


@answers.get("/cookie")
async def answer_cookie(request: Request, response: Response) -> Any:
    response.set_cookie("left", "behind")
    return {"cookies": dict(request.cookies)}
