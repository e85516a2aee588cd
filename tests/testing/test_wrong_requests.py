"""Requests that break a document, each refused by the mock with its reason."""

import documents
import pytest
from servers import rows_bodies, rows_parts, rows_places, rows_query, rows_swagger
from servers.documents import document
from servers.wire import argument_names

from openapi_tools import load_tools
from openapi_tools.testing import mock_api

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
COLOURS = {"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 1, "uniqueItems": True}
NUMBERS = {"type": "array", "items": WHOLE}
RANGE = {"type": "object", "required": ["from"], "properties": {"from": WHOLE, "to": WHOLE}}
NEAR = {"type": "object", "properties": {"at": RANGE, "miles": {"type": "number"}}}
PET = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[A-Z]"},
        "kind": {"enum": ["cat", "dog"]},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 40},
        "weight": {"type": "number", "multipleOf": 0.5},
        "born": {"type": "string", "format": "date"},
        "seen": {"type": "string", "format": "date-time"},
        "chip": {"type": "string", "format": "uuid"},
        "mail": {"type": "string", "format": "email"},
        "tame": {"type": "boolean"},
        "tags": {"type": "array", "items": TEXT, "maxItems": 2, "uniqueItems": True},
        "owner": {"oneOf": [{"type": "object", "required": ["id"]}, {"type": "null"}]},
    },
}


def parameter(location, name, schema, **fields):
    required = {"required": True} if location == "path" else {}
    return {"name": name, "in": location, "schema": schema, **required, **fields}


def operation(*parameters, kind="application/json", body=None):
    body_fields = (
        {"requestBody": {"required": True, "content": {kind: {"schema": body}}}} if body else {}
    )
    return documents.operation(parameters=list(parameters), **body_fields)


DEEP = {"style": "deepObject", "explode": True}
FORM = {"type": "object", "required": ["a"], "properties": {"a": WHOLE}}
PARTS = {"type": "object", "required": ["file"],
         "properties": {"file": {}, "kind": {**TEXT, "enum": ["cat"]}}}  # fmt: skip
DOCUMENT = documents.document(
    {
        "/pets": {
            "get": operation(
                parameter("query", "limit", {**WHOLE, "maximum": 100}, required=True),
                parameter("query", "colours", COLOURS),
                parameter("query", "ids", NUMBERS, explode=False),
                parameter("query", "pipes", NUMBERS, style="pipeDelimited", explode=False),
                parameter("query", "range", RANGE, **DEEP),
                parameter("query", "near", NEAR, **DEEP),
                parameter("query", "tame", {"type": "boolean"}),
                parameter("query", "on", {"type": "string", "format": "date"}),
                parameter("query", "q", {"type": "string", "minLength": 1}),
                parameter("query", "filter", {}, content={"application/json": {"schema": RANGE}}),
                parameter("header", "X-Version", WHOLE),
                parameter("cookie", "theme", {"enum": ["dark", "light"]}),
            ),
            "post": operation(body=PET),
        },
        "/pets/{id}": {"get": operation(parameter("path", "id", WHOLE))},
        "/labels/{x}": {"get": operation(parameter("path", "x", NUMBERS, style="label"))},
        "/matrix/{x}": {"get": operation(parameter("path", "x", WHOLE, style="matrix"))},
        "/owned": {
            "get": operation(parameter("header", "X-Owner", TEXT, required=True)),
            "put": operation(parameter("cookie", "sid", TEXT, required=True)),
        },
        "/form": {"post": operation(kind="application/x-www-form-urlencoded", body=FORM)},
        "/parts": {"post": operation(kind="multipart/form-data", body=PARTS)},
    },
    openapi="3.1.0",
)


def pets(query, **options):
    return ("GET", f"/pets?limit=1&{query}", options)


def pet(body):
    return ("POST", "/pets", {"json": body})


def form(**data):
    return ("POST", "/form", {"data": data})


def parts(**files):
    return ("POST", "/parts", {"files": files})


def raw(path, content, media_type):
    return ("POST", path, {"content": content, "headers": {"content-type": media_type}})


WRONG = {
    "an unknown path": ("GET", "/petz", {}),
    "a path that is too long": ("GET", "/pets/1/2", {}),
    "an unknown method": ("DELETE", "/pets", {}),
    "a missing query parameter": ("GET", "/pets", {}),
    "a missing header": ("GET", "/owned", {}),
    "a missing cookie": ("PUT", "/owned", {}),
    "a path variable of another type": ("GET", "/pets/x", {}),
    "an integer as text": ("GET", "/pets?limit=ten", {}),
    "an integer with a fraction": ("GET", "/pets?limit=1.5", {}),
    "an empty integer": ("GET", "/pets?limit=", {}),
    "above the maximum": ("GET", "/pets?limit=101", {}),
    "an unknown enum value": pets("colours=red&colours=green"),
    "an array with a value twice": pets("colours=red&colours=red"),
    "commas where names are repeated": pets("colours=red,blue"),
    "commas where pipes belong": pets("pipes=1,2"),
    "spaces where commas belong": pets("ids=1%202"),
    "a member of a deep object of another type": pets("range[from]=x"),
    "a deep object without a member": pets("range[to]=1"),
    "a member inside a deep object of another type": pets("near[at][from]=x"),
    "a date in another form": pets("on=31.1.2024"),
    "an empty text that has a length": pets("q="),
    "a parameter whose JSON lacks a member": pets("filter=%7B%7D"),
    "a parameter that is not JSON": pets("filter=from"),
    "a header of another type": pets("", headers={"X-Version": "one"}),
    "an unknown cookie value": pets("", headers={"Cookie": "theme=pink"}),
    "a label without its dot": ("GET", "/labels/x,1", {}),
    "a matrix without its name": ("GET", "/matrix/5", {}),
    "no body": ("POST", "/pets", {}),
    "a body that is not JSON": raw("/pets", b"{", "application/json"),
    "a body of another media type": raw("/pets", b"name: Rex", "text/yaml"),
    "a body without a media type": ("POST", "/pets", {"content": b'{"name": "Rex"}'}),
    "a list as an object": pet([]),
    "a missing member": pet({}),
    "a member of another type": pet({"name": 5}),
    "an unknown member": pet({"name": "Rex", "nme": "x"}),
    "a text that is too short": pet({"name": "R"}),
    "a text that is too long": pet({"name": "Rexxxx"}),
    "a text that breaks the pattern": pet({"name": "rex"}),
    "an unknown enum member": pet({"name": "Rex", "kind": "cow"}),
    "below the minimum": pet({"name": "Rex", "age": -1}),
    "at the exclusive maximum": pet({"name": "Rex", "age": 40}),
    "not a multiple": pet({"name": "Rex", "weight": 0.7}),
    "a wrong date": pet({"name": "Rex", "born": "2024-02-31"}),
    "a time without a date": pet({"name": "Rex", "seen": "12:00"}),
    "a wrong UUID": pet({"name": "Rex", "chip": "12"}),
    "a wrong email address": pet({"name": "Rex", "mail": "rex"}),
    "null for a boolean": pet({"name": "Rex", "tame": None}),
    "a boolean as text": pet({"name": "Rex", "tame": "true"}),
    "too many items": pet({"name": "Rex", "tags": ["a", "b", "c"]}),
    "items twice": pet({"name": "Rex", "tags": ["a", "a"]}),
    "an item of another type": pet({"name": "Rex", "tags": [1]}),
    "none of the alternatives": pet({"name": "Rex", "owner": {}}),
    "a form without a member": form(b=1),
    "an empty form": raw("/form", b"", "application/x-www-form-urlencoded"),
    "a form member of another type": form(a="x"),
    "a form as JSON": ("POST", "/form", {"json": {"a": 1}}),
    "a multipart body without its file": parts(kind=(None, "cat")),
    "an unknown value in a part": parts(file=b"x", kind=(None, "cow")),
}  # fmt: skip
UNSEEN = {
    "names repeated where commas belong": pets("ids=1&ids=x"),
    "a boolean as a number": pets("tame=1"),
}
"""Wrong requests that openapi-core does not notice; docs/limits.md lists them."""
RIGHT = {
    "pets": ("GET", "/pets?limit=1", {}),
    "all of them": pets(
        "colours=red&colours=blue&ids=1,2&pipes=1%7C2&range[from]=1&tame=true&on=2024-01-31&q=a"
        "&filter=%7B%22from%22:1%7D&near[at][from]=1&near[miles]=1.5",
        headers={"X-Version": "1", "Cookie": "theme=dark"},
    ),
    "one pet": ("GET", "/pets/1", {}),
    "a label": ("GET", "/labels/.1,2", {}),
    "a matrix": ("GET", "/matrix/;x=5", {}),
    "owned": ("GET", "/owned", {"headers": {"X-Owner": "me"}}),
    "a cookie": ("PUT", "/owned", {"headers": {"Cookie": "sid=1"}}),
    "a pet": pet({"name": "Rex", "kind": "cat", "age": 3, "weight": 0.5, "born": "2024-01-31",
                  "seen": "2024-01-31T12:00:00Z", "chip": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
                  "mail": "rex@example.com", "tame": True, "tags": ["a"], "owner": {"id": 1}}),
    "a form": form(a=1),
    "parts": parts(file=b"x", kind=(None, "cat")),
}  # fmt: skip


async def send_request(request):
    method, target, options = request
    api = mock_api(DOCUMENT)
    async with api.client() as client:
        return await client.request(method, target, **options), api.problems


@pytest.mark.parametrize("title", WRONG)
async def test_a_wrong_request_is_refused_with_a_reason(title):
    response, problems = await send_request(WRONG[title])

    assert response.status_code in (400, 404, 405)
    assert len(problems) >= 1
    assert response.json()["detail"] in problems


async def test_a_name_in_the_mapping_of_a_discriminator_is_not_judged():
    kinds = {"cat": "Cat", "dog": "#/components/schemas/Dog"}
    one = {"type": "object", "properties": {"kind": TEXT}, "required": ["kind"]}
    pet = {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Cat", "Dog")]}
    pet["discriminator"] = {"propertyName": "kind", "mapping": kinds}
    paths = {"/pets": {"post": operation(body=pet)}}
    schemas = {"Cat": one, "Dog": {**one, "minProperties": 2}}
    api = mock_api(documents.document(paths, components={"schemas": schemas}))

    async with api.client() as client:
        named, dog = [await client.post("/pets", json={"kind": kind}) for kind in ("cat", "dog")]

    assert (named.status_code, dog.status_code) == (200, 400)


@pytest.mark.parametrize("title", UNSEEN)
async def test_some_wrong_requests_are_not_noticed(title):
    response, problems = await send_request(UNSEEN[title])

    assert response.status_code == 200
    assert all(problem.startswith("not judged") for problem in problems)


@pytest.mark.parametrize("title", RIGHT)
async def test_a_right_request_gets_a_response(title):
    response, problems = await send_request(RIGHT[title])

    assert (response.status_code, problems) == (200, [])


ROWS = [
    pytest.param(row, id=f"{group}: {row.title}")
    for module in (rows_query, rows_places, rows_bodies, rows_parts, rows_swagger)
    for group, rows in module.GROUPS.items()
    for row in rows
    # The document wants an image, and the model does not say which.
    if row.title != "a range without the file's type"
]


@pytest.mark.parametrize("row", ROWS)
async def test_the_requests_of_the_wire_tables_are_accepted(row):
    api = mock_api(document(**row.operation))
    (tool,) = load_tools(api, settings={"anonymous": True})
    names = argument_names(tool.operation)

    result = await tool.execute({names.get(name, name): v for name, v in row.arguments.items()})

    assert result.success, str(result)
    assert all(problem.startswith("not judged") for problem in api.problems)
