"""An API for agents to call, loaded and generated: pets, their photos, and who may sell them.

The names of some properties are what a coordinator could take for its own, or for JSON Schema's.
"""

import base64
import json

from corpus import entries
from documents import document, operation
from packages import SPECS, import_package
from servers.recorder import CannedResponse

from openapi_tools import generate_package, load_tools

BIG = ("github/api", "stripe/", "kubernetes/", "openai/", "discord/openapi")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
ALBUM = [{"base64": base64.b64encode(PNG).decode(), "media_type": "image/png", "bytes": 16}, "Rex"]
"""An answer of an image and a text, as a guardrail may give it."""
PET_ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
PET_REF = {"$ref": "#/components/schemas/Pet"}
PET = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "description": "What it is called.", "minLength": 1},
                   "title": {"type": "string"},
                   "tag": {"$ref": "#/components/schemas/Tag", "description": "How it is found."},
                   "parents": {"type": "array", "items": PET_REF},
                   "config": {"$ref": "#/components/schemas/Config"}},
}  # fmt: skip
CONFIG = {
    "type": "object",
    "properties": {
        name: {"type": "string", "description": f"The {name}."}
        for name in ("$ref", "config", "run_manager", "self", "title", "properties")
    },
    "required": ["$ref"],
}
SCHEMAS = {"Pet": PET, "Tag": {"type": "string", "enum": ["cat", "dog"]}, "Config": CONFIG}
DOCUMENT = document(
    {
        "/pets/{petId}": {
            "get": operation(operationId="getPet", summary="Look at a pet.", parameters=[PET_ID]),
            "delete": operation(operationId="sellPet", parameters=[PET_ID]),
        },
        "/pets/{petId}/photo": {"get": operation(operationId="getPhoto", parameters=[PET_ID])},
        "/pets": {
            "post": operation(
                operationId="addPet",
                requestBody={
                    "required": True,
                    "content": {"application/json": {"schema": PET_REF}},
                },
            )
        },
    },
    components={
        "schemas": SCHEMAS,
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
    security=[{}, {"key": []}],
)
NOT_FOUND = CannedResponse(status=404, body=b'{"detail": "no pet 9"}')
PHOTO = CannedResponse(headers=[("Content-Type", "image/png")], body=PNG)


def pet_response(pet_id):
    """Return the response that has a pet."""
    return CannedResponse(body=json.dumps({"id": pet_id, "name": "Rex"}).encode())


def toolsets(way, folder, url):
    """Yield the tools, `loaded` or `generated` into a folder, for a fixture."""
    if way == "loaded":
        yield load_tools(
            DOCUMENT, base_url=url, show_changes=False, credentials={"key": "everybody"}
        )
        return
    generate_package(DOCUMENT, folder / "shop", name="shop")
    with import_package(folder / "shop", "shop_tools") as package:
        yield package.load(base_url=url, credentials={"key": "everybody"}, show_changes=False)


def published_sources():
    """Return what to load: every document of `specs`, and the five big ones that are at hand."""
    return [*SPECS, *(entry.file for entry in entries() if entry.path.startswith(BIG))]
