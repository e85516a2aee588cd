"""Operations with a body: forms, uploads, JSON of every shape, text and bytes."""
# ruff: noqa: TC003 -- FastAPI reads the annotations at run time

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Cookie, File, Form, Header, Query, Request, UploadFile
from pydantic import BaseModel, Field

bodies = APIRouter(tags=["bodies"])


class Node(BaseModel):
    value: int
    children: list[Node] = []
    parent_note: str | None = None


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = Field(gt=0)


class Rectangle(BaseModel):
    kind: Literal["rectangle"]
    width: float
    height: float


Shape = Annotated[Circle | Rectangle, Field(discriminator="kind")]


class Profile(BaseModel):
    nick: str | None = None
    age: int | None = None
    motto: str | None = "carpe diem"


class Line(BaseModel):
    sku: str
    quantity: int = Field(ge=1)
    price: Decimal


class Order(BaseModel):
    """What a shop is told."""

    placed: datetime
    lines: list[Line] = Field(min_length=1)
    notes: dict[str, Any] = {}
    gift: bool | None = None
    total: Decimal = Field(default=Decimal(0), json_schema_extra={"readOnly": True})


class Titled(BaseModel):
    id: str
    title: str = "untitled"


async def _told(file: UploadFile) -> dict[str, Any]:
    content = await file.read()
    return {
        "filename": file.filename,
        "content_type": file.content_type,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


@bodies.post("/login")
async def login(
    username: Annotated[str, Form()],
    password: Annotated[str, Form()],
    remember: Annotated[bool, Form()] = False,
    scope: Annotated[list[str], Form()] = [],  # noqa: B006 -- FastAPI copies it
    client_id: Annotated[str | None, Form(alias="client-id")] = None,
) -> Any:
    return locals()


@bodies.post("/upload")
async def upload(file: UploadFile) -> Any:
    return await _told(file)


@bodies.post("/upload-many")
async def upload_many(files: list[UploadFile]) -> Any:
    return [await _told(file) for file in files]


@bodies.post("/upload-described")
async def upload_described(
    file: UploadFile,
    title: Annotated[str, Form()],
    tag: Annotated[list[str], Form()] = [],  # noqa: B006 -- FastAPI copies it
    count: Annotated[int, Form()] = 1,
    public: Annotated[bool, Form()] = False,
) -> Any:
    told = await _told(file)
    return told | {"title": title, "tag": tag, "count": count, "public": public}


@bodies.post("/upload-optional")
async def upload_optional(
    file: UploadFile | None = None, comment: Annotated[str | None, Form()] = None
) -> Any:
    return {"file": await _told(file) if file is not None else None, "comment": comment}


@bodies.post("/upload-bytes")
async def upload_bytes(data: Annotated[bytes, File()]) -> Any:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@bodies.post("/trees")
async def create_tree(node: Node) -> Any:
    def count(node: Node) -> int:
        return 1 + sum(map(count, node.children))

    return {"nodes": count(node), "node": node}


@bodies.post("/shapes")
async def draw_shape(shape: Annotated[Shape, Body()]) -> Any:
    return {"read_as": type(shape).__name__, "shape": shape}


@bodies.patch("/profile")
async def update_profile(profile: Profile) -> Any:
    return {"set": profile.model_dump(exclude_unset=True), "whole": profile}


@bodies.post("/orders", status_code=201)
async def create_order(order: Order) -> Any:
    return {"sum": str(sum(line.price * line.quantity for line in order.lines)), "order": order}


@bodies.post("/sum")
async def sum_numbers(numbers: list[float]) -> Any:
    return {"sum": sum(numbers), "count": len(numbers)}


@bodies.put("/rates")
async def store_rates(rates: dict[str, float]) -> Any:
    return rates


@bodies.put("/level")
async def set_level(level: Annotated[int, Body(embed=True, ge=0)]) -> Any:
    return {"level": level}


@bodies.put("/motto")
async def set_motto(motto: Annotated[str, Body()]) -> Any:
    return {"motto": motto}


@bodies.put("/optional-profile")
async def set_optional_profile(profile: Annotated[Profile | None, Body()] = None) -> Any:
    return {"profile": profile}


@bodies.put("/same/{id}")
async def set_same(
    id: int,  # noqa: A002 -- the name that four places share
    titled: Titled,
    id_query: Annotated[str, Query(alias="id")],
    id_header: Annotated[str | None, Header(alias="id")] = None,
    id_cookie: Annotated[str | None, Cookie(alias="id")] = None,
) -> Any:
    return {
        "path": id,
        "query": id_query,
        "header": id_header,
        "cookie": id_cookie,
        "body": titled.id,
        "title": titled.title,
    }


def _takes(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    content = {media_type: {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


@bodies.post("/text", openapi_extra=_takes("text/plain", {"type": "string"}))
async def send_text(request: Request) -> Any:
    body = await request.body()
    return {"text": body.decode(), "content_type": request.headers["content-type"]}


@bodies.post("/xml", openapi_extra=_takes("application/xml", {"type": "object"}))
async def send_xml(request: Request) -> Any:
    body = await request.body()
    return {"text": body.decode(), "content_type": request.headers["content-type"]}


@bodies.post("/bytes", openapi_extra=_takes("application/octet-stream", {}))
async def send_bytes(request: Request) -> Any:
    body = await request.body()
    return {"hex": body.hex(), "content_type": request.headers["content-type"]}


@bodies.post("/lines", openapi_extra=_takes("application/x-ndjson", {"type": "array"}))
async def send_lines(request: Request) -> Any:
    lines = (await request.body()).decode().splitlines()
    return {"lines": lines, "content_type": request.headers["content-type"]}


@bodies.delete("/items")
async def delete_items(ids: list[int], purge: bool = False) -> Any:
    return {"deleted": ids, "purge": purge}
