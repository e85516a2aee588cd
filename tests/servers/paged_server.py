"""A FastAPI application on loopback with a list for each way of paging."""

import contextlib
import uuid
from types import SimpleNamespace
from typing import Annotated

from fastapi import APIRouter, FastAPI, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from servers.site import running

ITEMS = [{"id": str(number), "name": f"thing {number}"} for number in range(1, 24)]
"""23 items: two whole pages of ten and one of three."""
SIZE = 10


def part(start, size=SIZE):
    return ITEMS[start : start + size]


ROUTES = APIRouter()


def url(request, path, **query):
    pairs = "&".join(f"{name}={value}" for name, value in query.items())
    return f"{request.base_url}{path}?{pairs}"


@ROUTES.get("/linked")
def linked(request: Request, response: Response, page: int = 1) -> list[dict]:
    if page < 3:
        target = f"</linked?page={page + 1}>" if page == 1 else url(request, "linked", page=3)
        response.headers["link"] = f'<{target.strip("<>")}>; rel="next", </linked>; rel=first'
    else:
        response.headers["link"] = "</linked>; rel=first"
    return part((page - 1) * SIZE)


@ROUTES.get("/bodies")
@ROUTES.get("/bodies-of", include_in_schema=False)
def bodies(request: Request, begin: int = 0) -> dict:
    after = begin + SIZE
    following = url(request, "bodies-of", begin=after) if after < len(ITEMS) else None
    return {"things": part(begin), "next": following}


@ROUTES.get("/cursors")
def cursors(cursor: str = "", limit: int = SIZE) -> dict:
    start = int(cursor.removeprefix("at-") or 0)
    after = f"at-{start + limit}" if start + limit < len(ITEMS) else ""
    return {"things": part(start, limit), "response_metadata": {"next_cursor": after}}


@ROUTES.get("/numbers")
def numbers(page: int = 1, per_page: int = SIZE) -> list[dict]:
    return part((page - 1) * per_page, per_page)


@ROUTES.get("/unnumbered")
def unnumbered(page: int | None = None) -> list[dict]:
    return part(((page or 1) - 1) * SIZE)


@ROUTES.get("/zero-based")
def zero_based(page: int | None = None) -> list[dict]:
    return part((page or 0) * SIZE)


@ROUTES.get("/counted")
def counted(page: int = 1) -> dict:
    return {"data": part((page - 1) * SIZE), "page": page, "total_pages": 3}


@ROUTES.get("/offsets")
def offsets(offset: int = 0, limit: int = SIZE) -> dict:
    return {"total": len(ITEMS), "items": part(offset, limit)}


@ROUTES.get("/capped")
def capped(offset: int = 0, limit: int = SIZE) -> list[dict]:
    return part(offset, min(limit, SIZE))


@ROUTES.get("/scim")
def scim(startIndex: int = 1, count: int = SIZE) -> dict:  # noqa: N803 -- SCIM's name
    return {"totalResults": len(ITEMS), "Resources": part(startIndex - 1, count)}


@ROUTES.get("/limited")
def limited(limit: Annotated[int, Query(le=20)] = SIZE) -> list[dict]:
    return part(0, limit)


@ROUTES.get("/ids")
def ids(starting_after: str = "", limit: int = SIZE) -> dict:
    start = int(starting_after or 0)
    return {"data": part(start, limit), "has_more": start + limit < len(ITEMS)}


@ROUTES.get("/json-api")
def json_api(number: Annotated[int, Query(alias="page[number]")] = 1) -> dict:
    after = f"/json-api?page%5Bnumber%5D={number + 1}" if number < 3 else None
    return {"data": part((number - 1) * SIZE), "links": {"next": after}}


@ROUTES.get("/hal")
def hal(page: int = 0) -> dict:
    links = {"next": {"href": f"/hal?page={page + 1}"}} if page < 2 else {}
    return {"_embedded": {"things": part(page * SIZE)}, "_links": links}


@ROUTES.get("/odata")
def odata(skip: Annotated[int, Query(alias="$skip")] = 0) -> dict:
    after = {"@odata.nextLink": f"/odata?$skip={skip + SIZE}"} if skip < 20 else {}
    return {"value": part(skip), **after}


@ROUTES.get("/pageable")
def pageable(token: str = "") -> dict:
    start = int(token or 0)
    after = f"/pageable?token={start + SIZE}&api-version=7" if start < 20 else None
    return {"rows": part(start), "more": after}


@ROUTES.post("/search")
def search(body: dict) -> dict:
    start = int(body.get("cursor") or 0)
    after = str(start + SIZE) if start < 20 else None
    return {"results": part(start), "next_cursor": after}


@ROUTES.get("/failing")
def failing(page: int = 1) -> Response:
    if page == 3:
        return JSONResponse({"detail": "the disk is full"}, 500)
    return JSONResponse(part((page - 1) * SIZE))


@ROUTES.get("/busy")
def busy(request: Request, page: int = 1) -> Response:
    asked = [each.url.path for each in request.app.state.kept]
    if page == 2 and asked.count("/busy") == 2:
        return JSONResponse({"detail": "slow down"}, 429, headers={"retry-after": "0"})
    return JSONResponse(part((page - 1) * SIZE))


@ROUTES.get("/looping")
def looping(cursor: str = "a") -> dict:
    return {
        "things": [{"id": str(uuid.uuid4())}],
        "next_cursor": {"a": "b", "b": "c"}.get(cursor, "b"),
    }


@ROUTES.get("/same")
def same(cursor: str = "0") -> dict:
    return {"things": part(0), "next_cursor": str(int(cursor) + 1)}


@ROUTES.get("/endless")
def endless(cursor: str = "0") -> dict:
    return {"things": [{"id": cursor}], "next_cursor": str(int(cursor) + 1)}


@ROUTES.get("/hollow")
def hollow(cursor: str = "0", gaps: int = 3) -> dict:
    at = int(cursor)
    things = [] if 0 < at <= gaps else [{"id": cursor}]
    return {"things": things, "next_cursor": str(at + 1) if at <= gaps else None}


@ROUTES.get("/leading")
def leading(to: str) -> dict:
    return {"things": part(0), "next": to}


@ROUTES.get("/keyed")
def keyed(request: Request, response: Response, api_key: str = "", page: int = 1) -> list[dict]:
    if page < 3:
        target = url(request, "keyed", api_key=api_key, page=page + 1, shard=7)
        response.headers["link"] = f"<{target}>; rel=next"
    return part((page - 1) * SIZE)


@ROUTES.get("/headed")
def headed(page: int = 1, x_version: Annotated[str, Header()] = "") -> list[dict]:
    return [{"version": x_version, "page": page}] if page < 3 else []


@ROUTES.get("/long")
def long(page: int = 1) -> list[dict]:
    return [{"id": f"{page}-{n}", "text": "x" * 900} for n in range(100)] if page < 3 else []


@ROUTES.get("/single")
def single() -> dict:
    return {"id": "1"}


def create_app(routes=ROUTES):
    """Return an application, with its requests in `state.kept`."""
    app = FastAPI()
    app.state.kept, app.state.asked = [], []

    @app.middleware("http")
    async def keep(request: Request, pass_on):
        app.state.kept.append(request)
        return await pass_on(request)

    app.include_router(routes)
    return app


@contextlib.contextmanager
def serving(create):
    """Serve the application that a function creates."""
    app = create()
    with running(app) as url:
        yield SimpleNamespace(url=url, kept=app.state.kept, document=app.openapi())
