"""A small store of pets: what is written can be read back."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response, UploadFile
from pydantic import BaseModel, Field

pets = APIRouter(prefix="/pets", tags=["pets"])

Status = Literal["available", "pending", "sold"]


class NewPet(BaseModel):
    name: str = Field(min_length=1, max_length=40)
    status: Status = "available"
    tags: list[str] = []
    owner: str | None = None


class Pet(NewPet):
    id: int = Field(json_schema_extra={"readOnly": True})


class PetChange(BaseModel):
    name: str | None = None
    status: Status | None = None
    owner: str | None = None


class Pets:
    """The store: two pets to begin with."""

    def __init__(self) -> None:
        self.kept = {
            1: Pet(id=1, name="Rex", tags=["dog"], owner="Ann"),
            2: Pet(id=2, name="Mia", status="sold"),
        }
        self.photos: dict[int, tuple[str, bytes]] = {}

    def one(self, pet_id: int) -> Pet:
        """Return a pet, or answer 404."""
        if pet_id not in self.kept:
            raise HTTPException(404, detail=f"There is no pet {pet_id}.")
        return self.kept[pet_id]


def _store(request: Request) -> Pets:
    return request.app.state.pets


Store = Annotated[Pets, Depends(_store)]


@pets.get("")
async def list_pets(
    store: Store,
    status: Annotated[list[Status] | None, Query()] = None,
    limit: Annotated[int, Query(ge=1)] = 100,
) -> list[Pet]:
    """List the pets, those of some states only when `status` is given."""
    found = [pet for pet in store.kept.values() if not status or pet.status in status]
    return found[:limit]


@pets.post("", status_code=201, responses={409: {"description": "The name is taken."}})
async def create_pet(pet: NewPet, store: Store, response: Response) -> Pet:
    if any(pet.name == other.name for other in store.kept.values()):
        raise HTTPException(409, detail={"taken": pet.name})
    made = Pet(id=max(store.kept, default=0) + 1, **pet.model_dump())
    store.kept[made.id] = made
    response.headers["Location"] = f"/pets/{made.id}"
    return made


@pets.options("", status_code=204)
async def describe_pets() -> Response:
    return Response(status_code=204, headers={"Allow": "GET, POST, OPTIONS"})


@pets.get("/{pet_id}")
async def read_pet(pet_id: int, store: Store) -> Pet:
    return store.one(pet_id)


@pets.head("/{pet_id}")
async def check_pet(pet_id: int, store: Store) -> Response:
    pet = store.one(pet_id)
    return Response(headers={"ETag": f'"{pet.id}-{pet.status}"', "Content-Length": "1234"})


@pets.put("/{pet_id}")
async def replace_pet(pet_id: int, pet: NewPet, store: Store) -> Pet:
    store.one(pet_id)
    store.kept[pet_id] = Pet(id=pet_id, **pet.model_dump())
    return store.kept[pet_id]


@pets.patch("/{pet_id}")
async def update_pet(pet_id: int, change: PetChange, store: Store) -> Pet:
    """Change what is given; a null clears the owner."""
    changed = store.one(pet_id).model_copy(update=change.model_dump(exclude_unset=True))
    store.kept[pet_id] = changed
    return changed


@pets.delete("/{pet_id}", status_code=204)
async def delete_pet(pet_id: int, store: Store) -> None:
    store.one(pet_id)
    del store.kept[pet_id]


@pets.put("/{pet_id}/photo", status_code=204)
async def set_photo(pet_id: int, photo: UploadFile, store: Store) -> None:
    store.one(pet_id)
    store.photos[pet_id] = (photo.content_type or "", await photo.read())


@pets.get(
    "/{pet_id}/photo",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string"}}}}},
)
async def get_photo(pet_id: int, store: Store) -> Response:
    if pet_id not in store.photos:
        raise HTTPException(404, detail="There is no photo.")
    media_type, content = store.photos[pet_id]
    return Response(content, media_type=media_type)
