"""An API of pets whose responses have entity tags, which writes may name in `If-Match`."""

import contextlib
import hashlib
import json
import time
from typing import Annotated

from fastapi import Body, FastAPI, Header, HTTPException, Request, Response
from pydantic import BaseModel
from servers.paged_server import serving


class Pet(BaseModel):
    name: str
    tag: str | None = None
    password: str | None = None


IfMatch = Annotated[str | None, Header(include_in_schema=False)]


def create_app():  # noqa: C901 -- one function for each route
    """Return an API of pets with entity tags, which keeps what it was asked."""
    app = FastAPI()
    app.state.kept = []
    app.state.pets = pets = {}

    def etag(number):
        text = json.dumps(pets[number], sort_keys=True).encode()
        return f'"{hashlib.sha256(text).hexdigest()[:8]}"'

    def check(number, if_match):
        if number not in pets:
            raise HTTPException(404, "no such pet")
        if if_match is not None and if_match != etag(number):
            raise HTTPException(412, "the entity tag is another")

    @app.middleware("http")
    async def keep(request: Request, pass_on):
        app.state.kept.append(request)
        return await pass_on(request)

    @app.get("/pets/{petId}", operation_id="get_pet")
    def get_pet(petId: int, response: Response):  # noqa: N803
        check(petId, None)
        time.sleep(pets[petId].get("delay", 0))
        response.headers["ETag"] = etag(petId)
        return pets[petId]

    @app.put("/pets/{pet_id}", operation_id="put_pet")
    def put_pet(pet_id: int, pet: Pet, if_match: IfMatch = None):
        if pet_id in pets:
            check(pet_id, if_match)
        pets[pet_id] = {"id": pet_id, **pet.model_dump(exclude_unset=True)}
        return pets[pet_id]

    @app.patch("/pets/{pet_id}", operation_id="patch_pet")
    def patch_pet(pet_id: int, changes: Annotated[dict, Body()], if_match: IfMatch = None):
        check(pet_id, if_match)
        pets[pet_id] |= changes
        return pets[pet_id]

    @app.delete("/pets/{pet_id}", operation_id="delete_pet")
    def delete_pet(pet_id: int, if_match: IfMatch = None):
        check(pet_id, if_match)
        return pets.pop(pet_id)

    @app.post("/pets", operation_id="add_pet")
    def add_pet(pet: Pet):
        return pet

    @app.get("/orders/{number}", operation_id="get_order")
    def get_order(number: int, shop: str):
        return {"number": number, "shop": shop}

    @app.delete("/orders/{number}", operation_id="cancel_order")
    def cancel_order(number: int):
        return {}

    return app


@contextlib.contextmanager
def tagged_pets():
    """Serve the API on loopback; `pets` are what it has, `kept` the requests."""
    app = create_app()
    with serving(lambda: app) as server:
        server.pets = app.state.pets
        yield server


def begin(server):
    """Let a server forget its requests, and have one pet."""
    server.kept.clear()
    server.pets.clear()
    server.pets[1] = {"id": 1, "name": "Rex", "tag": "dog", "password": "sesame-1"}
    return server
