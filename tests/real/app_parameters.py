"""Operations whose input travels in path, query, headers and cookies; each tells what it parsed."""
# ruff: noqa: TC003 -- FastAPI reads the annotations at run time

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Header, Path, Query

parameters = APIRouter(tags=["parameters"])


class Color(StrEnum):
    red = "red"
    dark_blue = "dark blue"
    lime = "lime/green"


@parameters.get("/items/{item_id}")
async def get_item(item_id: int) -> Any:
    return {"item_id": item_id}


@parameters.get("/names/{name}")
async def get_by_name(name: str) -> Any:
    return {"name": name}


@parameters.get("/colors/{color}")
async def get_by_color(color: Color) -> Any:
    return {"color": color, "member": color.name}


@parameters.get("/files/{file_path:path}")
async def get_file(file_path: str) -> Any:
    return {"file_path": file_path}


@parameters.get("/spans/{low}-{high}/{unit}")
async def get_span(low: int, high: int, unit: Annotated[str, Path(max_length=3)]) -> Any:
    return locals()


@parameters.get("/search")
async def search(
    q: Annotated[str, Query(min_length=1)],
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
    tag: Annotated[list[str] | None, Query()] = None,
    ratio: float | None = None,
    active: bool | None = None,
    after: datetime | None = None,
    within: timedelta | None = None,
) -> Any:
    return locals() | {"within": within and within.total_seconds()}


@parameters.get("/filter")
async def filter_items(
    name: Annotated[str | None, Query(alias="filter[name]")] = None,
    size: Annotated[int, Query(alias="page[size]")] = 20,
    sort: Annotated[list[str], Query(alias="sort-by")] = [],  # noqa: B006 -- FastAPI copies it
    since: Annotated[str | None, Query(alias="$since")] = None,
    ids: Annotated[list[int], Query(alias="ids[]")] = [],  # noqa: B006 -- FastAPI copies it
) -> Any:
    return locals()


@parameters.get("/headers")
async def get_headers(
    x_token: Annotated[str, Header()],
    x_count: Annotated[int | None, Header()] = None,
    x_flag: Annotated[bool | None, Header()] = None,
    trace: Annotated[str | None, Header(alias="X-Trace-Id")] = None,
    strange_header: Annotated[str | None, Header(convert_underscores=False)] = None,
    x_values: Annotated[list[str] | None, Header()] = None,
    user_agent: Annotated[str | None, Header()] = None,
) -> Any:
    return locals()


@parameters.get("/cookies")
async def get_cookies(
    session: Annotated[str, Cookie()],
    visits: Annotated[int | None, Cookie()] = None,
    theme: Annotated[str | None, Cookie(alias="ui-theme")] = None,
) -> Any:
    return locals()


@parameters.get("/old-search", deprecated=True)
async def old_search(q: str = "all") -> Any:
    return {"q": q}
