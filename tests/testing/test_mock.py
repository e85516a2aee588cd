"""The API that responds from its own document."""

from __future__ import annotations

import json

import documents
import pytest
from corpus import entries

from openapi_tools import load_tools
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.testing import mock_api, mock_client

BASE = "http://api.example.com/v1"
PET = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def document(responses, **operation):
    """Return a document with one operation."""
    paths = {"/pets/{id}": {"get": {"responses": responses, **operation}}}
    return documents.document(paths, servers=[{"url": BASE}])


def content(media_type="application/json", **entry):
    """Return a Response Object with one media type."""
    return {"description": "d", "content": {media_type: entry}}


async def get(source, path="/pets/1", **request):
    async with mock_client(source) as client:
        return await client.get(BASE + path, **request)


COMPONENTS = {"components": {"responses": {"pet": content(example="here")}}}
RESPONSES = [
    ("example", {"200": content(example={"a": 1}, schema=PET)}, 200, {"a": 1}),
    ("examples", {"200": content(examples={"x": {"value": [1]}, "y": {"value": 2}})}, 200, [1]),
    ("3.2 example", {"200": content(examples={"x": {"dataValue": [1]}})}, 200, [1]),
    ("reference", {"200": {"$ref": "#/components/responses/pet"}}, 200, "here"),
    ("schema", {"200": content(schema=PET)}, 200, {"name": "sample"}),
    ("lowest 2xx", {"202": content(example=2), "201": content(example=1)}, 201, 1),
    ("range", {"2XX": content(example=1), "400": content(example=2)}, 200, 1),
    ("default", {"default": content(example=3), "404": content(example=4)}, 200, 3),
    ("errors only", {"404": content(example=4)}, 404, 4),
    ("example as text", {"200": content(example='{"a": 1}', schema=PET)}, 200, {"a": 1}),
    ("text that is text", {"200": content(example="1", schema={"type": "string"})}, 200, "1"),
    ("any media type", {"200": content("*/*", schema=PET)}, 200, {"name": "sample"}),
    ("+json", {"200": content("application/vnd.x+json", schema=PET)}, 200, {"name": "sample"}),
]


@pytest.mark.parametrize(("name", "responses", "status", "body"), RESPONSES)
async def test_the_response_is_what_the_document_shows(name, responses, status, body):
    response = await get(document(responses) | COMPONENTS)

    assert response.status_code == status
    assert response.json() == body


BYTES = [
    ("text/plain", {"example": "hello"}, b"hello"),
    ("text/csv", {"schema": {"type": "string"}}, b"sample"),
    ("application/xml", {"example": "<a/>"}, b"<a/>"),
    ("application/xml", {"schema": PET}, b'<?xml version="1.0" encoding="UTF-8"?><sample/>'),
    ("image/png", {}, b"\x89PNG\r\n\x1a\n"),
    ("image/*", {}, b"\x89PNG\r\n\x1a\n"),
    ("application/octet-stream", {}, b"\x00\x01\x02\x03"),
    ("application/x-ndjson", {"itemSchema": PET}, b'{"name": "sample"}\n'),
    ("application/json-seq", {"itemSchema": PET}, b'\x1e{"name": "sample"}\n'),
    ("text/event-stream", {"itemSchema": PET}, b'data: {"name": "sample"}\n\n'),
    ("application/x-www-form-urlencoded", {"example": {"a": [1, 2]}}, b"a=1&a=2"),
]


@pytest.mark.parametrize(("media_type", "entry", "expected"), BYTES)
async def test_the_response_has_the_bytes_of_its_media_type(media_type, entry, expected):
    response = await get(document({"200": content(media_type, **entry)}))

    assert response.content == expected
    assert response.headers["content-type"] == media_type.replace("*", "png")


@pytest.mark.parametrize(
    "responses",
    [{"204": {"description": "gone"}}, {"200": {"description": "no content"}}, {}, None],
    ids=["204", "no content", "no responses", "not even the member"],
)
async def test_a_response_without_content_is_empty(responses):
    response = await get(document(responses))

    assert response.is_success
    assert response.content == b""


async def test_the_accept_header_chooses_among_media_types():
    both = {"text/csv": {"example": "a,b"}, "application/json": {"example": [1]}}
    source = document({"200": {"description": "d", "content": both}})

    as_csv = await get(source, headers={"accept": "text/csv, */*"})
    as_json = await get(source, headers={"accept": "*/*"})

    assert as_csv.text == "a,b"
    assert as_json.json() == [1]


async def test_required_headers_and_headers_with_an_example_are_sent():
    headers = {
        "X-Left": {"required": True, "schema": {"type": "integer"}},
        "Location": {"example": "/pets/2"},
        "X-Maybe": {"schema": {"type": "integer"}},
        "Bad Name\r\n": {"example": "x"},
        "X-Split": {"example": "a\r\nX-Evil: 1"},
        "Content-Type": {"example": "text/html"},
    }
    response = await get(document({"200": {**content(example=1), "headers": headers}}))

    assert response.headers["x-left"] == "1"
    assert response.headers["location"] == "/pets/2"
    assert response.headers["content-type"] == "application/json"
    assert {"x-maybe", "x-evil", "x-split"}.isdisjoint(response.headers)


def operation_with(example, **operation):
    return {"responses": {"200": content(example=example)}, **operation}


PLACES = [
    *("get /pets", "post /pets", "get /pets/{id}", "get /pets/mine", "get /pets/{id}.{format}"),
    *("get /files/{path}/info#v2", "get /search?type=cat", "get /#Action=A", "get /#Action=B"),
    *("get /#uploads", "get /", "query /more", "get x-internal"),
]
ROUTED = {place.split()[1]: {} for place in PLACES}
for place in PLACES:
    ROUTED[place.split()[1]][place.split()[0]] = operation_with(place)
ROUTED["/more"]["additionalOperations"] = {
    "COPY": operation_with("COPY"),
    "Move": operation_with("Move"),
}
ROUTED["/shared"] = {"$ref": "#/components/pathItems/shared"}
ROUTED["/own"] = {"get": operation_with("own", servers=[{"url": "/other"}])}
ROUTES = [
    ("GET /v1/pets", "get /pets"),
    ("POST /v1/pets?x=1", "post /pets"),
    ("GET /v1/pets/7", "get /pets/{id}"),
    ("GET /v1/pets/a%2Fb", "get /pets/{id}"),
    ("GET /v1/pets/mine", "get /pets/mine"),
    ("GET /pets", "get /pets"),
    ("GET /v1/files/x/info", "get /files/{path}/info#v2"),
    ("GET /v1/search?type=cat&page=2", "get /search?type=cat"),
    ("GET /v1/?Action=B&x=1", "get /#Action=B"),
    ("GET /v1/?uploads", "get /#uploads"),
    ("GET /v1/?x=1", "get /"),
    ("GET /v1/shared", "shared"),
    ("QUERY /v1/more", "query /more"),
    ("COPY /v1/more", "COPY"),
    ("MOVE /v1/more", "Move"),
    ("GET /other/own", "own"),
    ("GET /v1/own", None),
    ("DELETE /v1/pets", None),
    ("GET /v1/nothing", None),
    ("GET /v2/pets", None),
    ("GET /v1/pets/1/2", None),
    ("GET /v1/search?type=dog", None),
    ("GET /v1/x-internal", None),
]


@pytest.mark.parametrize(("request_", "expected"), ROUTES)
async def test_the_operation_is_the_one_that_path_and_method_name(request_, expected):
    source = documents.document(
        ROUTED,
        openapi="3.2.0",
        servers=[{"url": "https://{region}.example.com/v1/"}],
        components={"pathItems": {"shared": {"get": operation_with("shared")}}},
    )
    method, target = request_.split()

    async with mock_client(source, judge=False) as client:
        response = await client.request(method, f"https://eu.example.com{target}")

    assert (response.json() if response.is_success else None) == expected


async def test_a_relative_server_may_lie_anywhere_below_the_documents_address():
    source = documents.document({"/pets": {"get": operation_with(1)}}, servers=[{"url": "./api"}])

    assert (await get(source, "/docs/api/pets")).json() == 1


@pytest.mark.parametrize("source", [{}, {"paths": None}, {"paths": {"/a": 1, 2: {}}}])
async def test_a_broken_document_has_no_operations(source):
    assert (await get(source, "/a")).status_code == 404


async def test_swagger_2_responds_with_its_examples_and_schemas():
    operations = {
        "/pets/{id}": {"schema": PET, "examples": {"application/json": {"a": 1}}},
        "/schema": {"schema": PET},
        "/file": {"schema": {"type": "file"}},
        "/none": {"description": "d"},
    }
    paths = {path: {"get": {"responses": {"200": one}}} for path, one in operations.items()}
    paths["/file"]["get"]["produces"] = ["image/png"]
    source = documents.document(paths, openapi="2.0", basePath="/v1")

    assert (await get(source)).json() == {"a": 1}
    assert (await get(source, "/schema")).json() == {"name": "sample"}
    assert (await get(source, "/file")).content == b"\x89PNG\r\n\x1a\n"
    assert (await get(source, "/none")).content == b""


@pytest.mark.parametrize(
    ("schema", "target", "judge", "expected"),
    [
        ({"type": "integer"}, "7", True, []),
        ({"type": "integer"}, "x", True,
         ["path parameter 'id': 'x' is not of type 'integer'"]),
        ({"type": "integer"}, "x", False, []),
        ({"enum": ["a/b"]}, "a%2Fb", True, []),
    ],
)  # fmt: skip
async def test_every_request_is_judged_unless_that_is_left_out(schema, target, judge, expected):
    problems = []
    asked = [{"name": "id", "in": "path", "required": True, "schema": schema}]
    source = document({"200": content(example=1)}, parameters=asked)

    async with mock_client(source, judge=judge, problems=problems) as client:
        response = await client.get(f"{BASE}/pets/{target}")

    assert problems == expected
    assert response.json() == 1


async def test_a_base_path_replaces_the_servers_of_a_document_that_may_come_later():
    holder = {}

    async with mock_client(lambda: holder["document"], base_path="/proxy") as client:
        holder["document"] = document({"200": content(example=1)})
        under = await client.get("http://other.example/proxy/pets/1")
        beside = await client.get(f"{BASE}/pets/1")

    assert (under.json(), beside.status_code) == (1, 404)


async def test_a_streamed_upload_is_read_before_it_is_judged():
    problems = []
    body = {"required": True, "content": {"application/json": {"schema": {"type": "integer"}}}}
    paths = {"/pets": {"post": {"requestBody": body, "responses": {}}}}
    source = documents.document(paths, servers=[{"url": BASE}])

    async def parts():
        yield b'"no'
        yield b' number"'

    async with mock_client(source, problems=problems) as client:
        headers = {"content-type": "application/json"}
        await client.post(f"{BASE}/pets", content=parts(), headers=headers)

    assert problems == ["body: 'no number' is not of type 'integer'"]


def operations(source):
    """Yield method and URL of every operation, each variable being its own name."""
    for template, item in source.get("paths", {}).items():
        for method in sorted({"get", "put", "post", "delete", "patch"} & set(item)):
            target = template.partition("#")[0].replace("{", "").replace("}", "")
            yield method, f"http://mock.invalid{target}"


@pytest.mark.long
async def test_every_operation_of_the_published_documents_gets_a_response(shared):
    asked = 0
    unknown = []

    for entry in (one for one in entries() if one.format == "json" and one.size <= 2**20):
        source = json.loads(entry.file.read_text())
        async with mock_client(source, judge=False, base_path="") as client:
            for method, url in operations(source):
                response = await client.request(method, url)
                asked += 1
                if response.status_code == 404 and "no such operation" in response.text:
                    unknown.append((entry.path, method, url))

    assert asked > 500
    assert unknown == []


@pytest.mark.parametrize("source", [5, None, [1]], ids=repr)
async def test_what_is_no_document_is_refused(source):
    with pytest.raises(OpenAPIToolsError):
        mock_client(source)
    with pytest.raises(OpenAPIToolsError):
        await get(lambda: source)


async def test_paths_and_schemas_in_other_files_are_served_and_judged(tmp_path):
    api = mock_api(documents.write_split(tmp_path), refuse=False)
    settings = {"check_responses": True, "cache": False}
    toolset = load_tools(tmp_path / "api.json", client=api.client(), settings=settings)

    pet = await toolset.call("get_pet", {"petId": 3})
    added = await toolset.call("add_pet", {"body": {"id": 1, "name": "Rex"}})
    sent = await api.client().post("/v1/pets", json={"id": 1, "name": "R", "mother": {"id": "a"}})

    assert pet.output["name"] == "sample"
    assert [result.metadata["response_problems"] for result in (pet, added)] == [[], []]
    assert sent.status_code == 201
    assert "minLength" in str(toolset.bundled)
    assert toolset.document["paths"]["/pets"] == {"$ref": "paths/pets.json"}
    whole = load_tools(toolset.bundled)
    assert [(tool.name, tool.input_schema.keys()) for tool in whole] == [
        (tool.name, tool.input_schema.keys()) for tool in toolset
    ]
    assert {line.split(":")[1] for line in api.faults} == {" /name", " /mother/id", " /mother"}


def test_a_document_that_refers_to_no_other_one_is_its_own_bundle(tmp_path):
    cycle = {"properties": {"$ref": {"$ref": "#/components/schemas/A"}, "$id": {"type": "null"}}}
    single = documents.document({}, components={"schemas": {"A": cycle, "B": {"$id": "b"}}})
    split = {**single, "paths": {"/a": {"$ref": "gone.json"}, "/b": {"$ref": "b.json"}}}
    (tmp_path / "b.json").write_text(json.dumps(cycle))
    (tmp_path / "api.json").write_text(json.dumps(split))

    whole = load_tools(tmp_path / "api.json").bundled

    assert load_tools(single).bundled == single
    assert whole["paths"] == {"/a": {"$ref": "gone.json"}, "/b": {"$ref": "#/x-documents/1"}}
    assert whole["components"]["schemas"] == {"A": cycle, "B": {}}
    assert whole["x-documents"] == {
        "1": {"properties": {"$ref": {"$ref": "#/components/schemas/A"}, "$id": {"type": "null"}}}
    }
