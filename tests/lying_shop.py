"""A shop's API, and a document that lies about it in twelve ways, each of which can be left out."""

import copy
import json

import httpx

SERVER = "http://shop.example/v1"
PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "born": {"type": "integer"},
        "price": {"type": "string"},
        "status": {"type": "string", "enum": ["sold", "free", "lent"]},
        "owner": {"anyOf": [{"$ref": "#/components/schemas/Owner"}, {"type": "null"}]},
    },
}
LIMITED = {"description": "Too many.", "headers": {"Retry-After": {"schema": {"type": "integer"}}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": SERVER}],
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "parameters": [
                    {"name": "page", "in": "query", "schema": {"type": "integer"}},
                ],
                "responses": {
                    "200": {
                        "description": "The pets.",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "array",
                                    "items": {"$ref": "#/components/schemas/Pet"},
                                }
                            }
                        },
                    },
                    "429": LIMITED,
                },
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["name", "shop"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "shop": {"type": "integer"},
                                },
                            }
                        }
                    },
                },
                "responses": {
                    "201": {
                        "description": "The pet.",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}
                        },
                    },
                    "422": {"description": "Wrong input.", "content": {"application/json": {}}},
                },
            },
        },
        "/pets/{id}": {
            "get": {
                "operationId": "getPet",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
                ],
                "responses": {
                    "200": {
                        "description": "The pet.",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}
                        },
                    },
                    "404": {"description": "None.", "content": {"application/json": {}}},
                },
            }
        },
        "/report": {
            "get": {
                "operationId": "getReport",
                "responses": {"200": {"description": "A report.", "content": {"text/csv": {}}}},
            }
        },
    },
    "components": {
        "schemas": {
            "Pet": PET,
            "Owner": {"type": "object", "properties": {"email": {"type": "string"}}},
        }
    },
}


def _pet(document):
    return document["components"]["schemas"]["Pet"]


def _hide_property(document):
    del _pet(document)["properties"]["born"]


def _hide_enum_value(document):
    _pet(document)["properties"]["status"]["enum"].remove("lent")


def _change_type(document):
    _pet(document)["properties"]["price"]["type"] = "number"


def _forbid_null(document):
    _pet(document)["properties"]["owner"] = {"$ref": "#/components/schemas/Owner"}


def _require_property(document):
    _pet(document)["properties"]["tag"] = {"type": "string"}
    _pet(document)["required"].append("tag")


def _hide_status(document):
    del document["paths"]["/pets/{id}"]["get"]["responses"]["404"]


def _change_media_type(document):
    content = {"application/json": {}}
    document["paths"]["/report"]["get"]["responses"]["200"]["content"] = content


def _make_optional(document):
    body = document["paths"]["/pets"]["post"]["requestBody"]
    body["content"]["application/json"]["schema"]["required"].remove("shop")


def _add_parameter(document):
    limit = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
    document["paths"]["/pets"]["get"]["parameters"].append(limit)


def _hide_paging(document):
    parameters = document["paths"]["/pets"]["get"]["parameters"]
    parameters[:] = [each for each in parameters if each["name"] != "page"]


def _name_old_server(document):
    document["servers"] = [{"url": "http://shop.example/v0"}]


def _hide_limit(document):
    del document["paths"]["/pets"]["get"]["responses"]["429"]


LIES = {
    "property": _hide_property,
    "enum": _hide_enum_value,
    "type": _change_type,
    "null": _forbid_null,
    "required": _require_property,
    "status": _hide_status,
    "media-type": _change_media_type,
    "argument": _make_optional,
    "ignored": _add_parameter,
    "paging": _hide_paging,
    "server": _name_old_server,
    "limit": _hide_limit,
}


def document_with(*lies):
    """Return the true document, with some lies in it."""
    document = copy.deepcopy(DOCUMENT)
    for lie in lies:
        LIES[lie](document)
    return document


STATUSES = ("sold", "free", "lent", "lent")
PETS = [
    {
        "id": number,
        "name": f"pet {number}",
        "born": 2020,
        "price": "12.50",
        "status": status,
        "owner": {"email": "someone@example.com"} if number else None,
    }
    for number, status in enumerate(STATUSES)
]


class Shop:
    """The API as it is; the first list is refused, as there were too many calls."""

    def __init__(self):
        self.count = 0

    def respond(self, request):
        path = request.url.path
        if path.startswith("/v0/"):
            target = str(request.url).replace("/v0/", "/v1/")
            return httpx.Response(308, headers={"Location": target})
        if path == "/v1/pets" and request.method == "GET":
            return self._list(request)
        if path == "/v1/pets":
            return self._add(json.loads(request.content))
        if path == "/v1/report":
            return httpx.Response(200, text="a,b\n", headers={"Content-Type": "text/csv"})
        number = int(path.rpartition("/")[2])
        if number < len(PETS):
            return httpx.Response(200, json=PETS[number])
        return httpx.Response(404, json={"detail": "no such pet"})

    def _list(self, request):
        self.count += 1
        if self.count == 1:
            return httpx.Response(429, headers={"Retry-After": "0"})
        page = int(request.url.params.get("page", "1"))
        link = f'<{request.url.copy_set_param("page", page + 1)}>; rel="next"'
        return httpx.Response(200, json=PETS, headers={"Link": link} if page == 1 else {})

    def _add(self, body):
        if "shop" not in body:
            place = {"loc": ["body", "shop"], "msg": "Field required", "type": "missing"}
            return httpx.Response(422, json={"detail": [place]})
        return httpx.Response(201, json={**PETS[1], "name": body["name"]})
