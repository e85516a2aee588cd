"""Small documents made for one test."""

import json

from openapi_tools import load_tools


def document(paths, *, openapi="3.1.1", **fields):
    """Return a document of OpenAPI 3 (or 2.0 for `openapi="2.0"`)."""
    version = {"swagger": "2.0"} if openapi == "2.0" else {"openapi": openapi}
    return {**version, "info": {"title": "t", "version": "1"}, "paths": paths, **fields}


def operation(**fields):
    """Return an Operation Object that responds with 200."""
    return {"responses": {"200": {"description": "ok"}}, **fields}


def component(name):
    """Return a reference to a component's schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def with_body(schema, *, kind="application/json", **body):
    """Return a POST on `/x` with a request body of one media type."""
    content = {kind: {"schema": schema}}
    return {"/x": {"post": operation(requestBody={"content": content, "required": True, **body})}}


def with_schema(schema, *, openapi="3.1.1", **fields):
    """Return what a model reads about a query parameter `q` with that schema."""
    parameter = {"name": "q", "in": "query", "schema": schema}
    paths = {"/x": {"get": operation(parameters=[parameter])}}
    toolset = tools(paths, openapi=openapi, **fields)
    (tool,) = toolset
    return tool.input_schema


def tools(paths, *, settings=None, **fields):
    """Return the tools of a document with these paths."""
    return load_tools(document(paths, **fields), settings=settings)


def write_split(folder):
    """Write a document whose paths and schemas are in other files, and return its path."""
    pet, name = {"$ref": "../schemas/pet.json"}, {"$ref": "../api.json#/components/schemas/Name"}
    success = {"description": "ok", "content": {"application/json": {"schema": pet}}}
    named = {"content": {"application/json": {"schema": {"$ref": f"{pet['$ref']}#pet"}}}}
    missing = {"$ref": "#/x-answers/missing"}
    parameter = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
    items = {
        "parameters": [{"$ref": "#/x-parameters/petId"}],
        "get": {"operationId": "getPet", "responses": {"200": success | named, "404": missing}},
    }
    files = {
        "api.json": document(
            {
                "/pets": {"$ref": "paths/pets.json"},
                "/pets/{petId}": {"$ref": "paths/pets.json#/x-items/one~1two"},
            },
            servers=[{"url": "https://pets.example.com/v1"}],
            components={"schemas": {"Name": {"type": "string", "minLength": 2}}},
        ),
        "paths/pets.json": {
            "post": {
                "operationId": "addPet",
                "requestBody": {"required": True, "content": {"application/json": {"schema": pet}}},
                "responses": {"201": success},
            },
            "x-items": {"one/two": items},
            "x-parameters": {"petId": parameter},
            "x-answers": {"missing": {"description": "no such pet"}},
        },
        "schemas/pet.json": {
            "$id": "https://pets.example.com/pet",
            "$anchor": "pet",
            "type": "object",
            "required": ["id", "name"],
            "properties": {"id": {"type": "integer"}, "name": name, "mother": {"$ref": "#"}},
        },
    }
    for path, value in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(value))
    return folder / "api.json"
