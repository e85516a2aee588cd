"""A pet shop whose OpenAPI document lies in twelve ways, for docs/guides/learn.md."""

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse

app = FastAPI()
calls: list[str] = []
PETS = [
    {"id": 1, "name": "Rex", "born": 2020, "price": "12.50", "status": "free", "owner": None},
    {"id": 2, "name": "Max", "born": 2021, "price": "9.00", "status": "lent", "owner": None},
    {"id": 3, "name": "Ada", "born": 2022, "price": "7.25", "status": "lent", "owner": {"id": 7}},
]


@app.get("/pets")
def list_pets(request: Request, response: Response, page: int = 1):
    calls.append(request.url.path)
    if len(calls) == 1:
        raise HTTPException(429, "too many calls", headers={"Retry-After": "0"})
    if page == 1:
        response.headers["Link"] = f'<{request.url.path}?page=2>; rel="next"'
    return PETS if page == 1 else PETS[:1]


@app.post("/pets", status_code=201)
def add_pet(pet: dict):
    if "shop" not in pet:
        raise HTTPException(422, [{"loc": ["body", "shop"], "msg": "Field required"}])
    return {**PETS[0], "name": pet["name"]}


@app.get("/pets/{pet_id}")
def get_pet(pet_id: int):
    found = [pet for pet in PETS if pet["id"] == pet_id]
    if not found:
        raise HTTPException(404, "no such pet")
    return found[0]


@app.get("/pets/{pet_id}/chip")
def get_chip(pet_id: int):
    raise HTTPException(404, f"pet {pet_id} has no chip")


@app.get("/report", response_class=PlainTextResponse)
def get_report():
    return "sold,2\n"


def json_of(schema):
    return {"description": "ok", "content": {"application/json": {"schema": schema}}}


PET = {
    "type": "object",
    "required": ["id", "name", "tag"],  # 1: there is no tag
    "properties": {  # 2: born is missing
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "tag": {"type": "string"},
        "price": {"type": "number"},  # 3: it is a string
        "status": {"type": "string", "enum": ["free", "sold"]},  # 4: or lent
        "owner": {"type": "object"},  # 5: or null
    },
}
PET_REF = {"$ref": "#/components/schemas/Pet"}
NEW_PET = {
    "type": "object",
    "required": ["name"],  # 6: shop is required, too
    "properties": {"name": {"type": "string"}, "shop": {"type": "integer"}},
}
PET_ID = {"name": "pet_id", "in": "path", "required": True, "schema": {"type": "integer"}}
LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer", "example": 2}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Pet shop", "version": "1"},
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "parameters": [LIMIT],  # 8: it has no effect; 9: page is missing
                "responses": {"200": json_of({"type": "array", "items": PET_REF})},  # 10: or 429
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": NEW_PET}},
                },
                "responses": {"200": json_of(PET_REF), "422": json_of({})},  # 7: it is 201
            },
        },
        "/pets/{pet_id}": {
            "get": {
                "operationId": "getPet",
                "parameters": [PET_ID],
                "responses": {"200": json_of(PET_REF), "404": json_of({})},
            }
        },
        "/pets/{pet_id}/chip": {
            "get": {
                "operationId": "getChip",
                "parameters": [PET_ID],
                "responses": {"200": json_of({"type": "object"})},  # 11: or 404
            }
        },
        "/report": {
            "get": {"operationId": "getReport", "responses": {"200": json_of({})}}  # 12: it is text
        },
    },
    "components": {"schemas": {"Pet": PET}},
}
app.openapi = lambda: DOCUMENT
