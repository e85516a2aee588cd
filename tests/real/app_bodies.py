"""Operations with a body: forms, uploads, JSON of several shapes, text and bytes."""
# ruff: noqa: TC003 -- FastAPI reads the annotations at run time

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Cookie, Form, Header, Query, Request, UploadFile
from pydantic import BaseModel, Field

bodies = APIRouter(tags=["bodies"])


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = Field(gt=0)


class Rectangle(BaseModel):
    kind: Literal["rectangle"]
    width: float


Shape = Annotated[Circle | Rectangle, Field(discriminator="kind")]


class Profile(BaseModel):
    nick: str | None = None
    age: int | None = None


class Line(BaseModel):
    sku: str
    quantity: int = Field(ge=1)
    price: Decimal


class Order(BaseModel):
    placed: datetime
    lines: list[Line] = Field(min_length=1)
    notes: dict[str, Any] = {}
    total: Decimal = Field(default=Decimal(0), json_schema_extra={"readOnly": True})


class Titled(BaseModel):
    id: str
    title: str = "untitled"


async def describe_file(file: UploadFile | None) -> Any:
    return file and [file.filename, file.content_type, (await file.read()).hex()]


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
async def upload(
    file: UploadFile | None = None, comment: Annotated[str | None, Form()] = None
) -> Any:
    return {"file": await describe_file(file), "comment": comment}


@bodies.post("/upload-described")
async def upload_described(
    files: list[UploadFile],
    title: Annotated[str, Form()],
    tag: Annotated[list[str], Form()] = [],  # noqa: B006 -- FastAPI copies it
    count: Annotated[int, Form()] = 1,
    public: Annotated[bool, Form()] = False,
) -> Any:
    fields = {"title": title, "tag": tag, "count": count, "public": public}
    return fields | {"files": [await describe_file(file) for file in files]}


@bodies.post("/trees")
async def create_tree(node: Node) -> Any:
    return node


@bodies.post("/shapes")
async def draw_shape(shape: Annotated[Shape, Body()]) -> Any:
    return {"read_as": type(shape).__name__, "shape": shape}


@bodies.patch("/profile")
async def update_profile(profile: Profile) -> Any:
    return profile.model_dump(exclude_unset=True)


@bodies.post("/orders", status_code=201)
async def create_order(order: Order) -> Any:
    return {"sum": str(sum(line.price * line.quantity for line in order.lines)), "order": order}


@bodies.post("/sum")
async def sum_numbers(numbers: list[float]) -> Any:
    return {"sum": sum(numbers), "count": len(numbers)}


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
    return [id, id_query, id_header, id_cookie, titled.id, titled.title]


async def as_hex(request: Request) -> Any:
    return [request.headers["content-type"], (await request.body()).hex()]


for _name, _media_type, _schema in (
    ("send_text", "text/plain", {"type": "string"}),
    ("send_bytes", "application/octet-stream", {}),
    ("send_lines", "application/x-ndjson", {"type": "array"}),
):
    _body = {"required": True, "content": {_media_type: {"schema": _schema}}}
    bodies.post(f"/{_name}", name=_name, openapi_extra={"requestBody": _body})(as_hex)


@bodies.delete("/items")
async def delete_items(ids: list[int], purge: bool = False) -> Any:
    return {"deleted": ids, "purge": purge}
