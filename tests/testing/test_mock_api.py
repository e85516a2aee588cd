"""The mock as an application, as a transport and on a socket."""

import json
import subprocess
import sys

import documents
import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from openapi_tools import Settings, load_tools
from openapi_tools.errors import MissingExtraError, SettingsError, SourceError
from openapi_tools.testing import Fault, mock_api

ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
TAGS = {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
KEY = {"name": "X-Api-Key", "in": "header", "schema": {"type": "string"}}
PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
}
NEW = {**PET, "required": ["name"]}
REX, TOM = {"id": 7, "name": "Rex"}, {"id": 8, "name": "Tom"}


def json_of(schema, example=None):
    fields = {} if example is None else {"example": example}
    return {"description": "d", "content": {"application/json": {"schema": schema, **fields}}}


def body(schema):
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def operation(name, responses, **fields):
    return {"operationId": name, "responses": responses, **fields}


PETS = documents.document(
    {
        "/pets": {
            "get": operation(
                "listPets",
                {"200": json_of({"type": "array", "items": PET}, [REX, TOM])},
                parameters=[LIMIT, TAGS, KEY],
            ),
            "post": operation("addPet", {"201": json_of(PET), "422": {"description": "wrong"}},
                              requestBody=body(NEW)),
        },
        "/pets/{petId}": {
            "parameters": [ID],
            "get": operation("getPet", {"200": json_of(PET, REX),
                                        "404": json_of({}, {"why": "no such pet"})}),
            "put": operation("putPet", {"200": json_of(PET)}, requestBody=body(NEW)),
            "patch": operation("patchPet", {"200": json_of(PET)},
                               requestBody=body({"type": "object"})),
            "delete": operation("deletePet", {"204": {"description": "gone"}}),
        },
        "/login": {"post": operation("login", {"200": json_of({"type": "string"})},
                                     requestBody=body({"type": "object"}))},
    },
    servers=[],
)  # fmt: skip


def tools_of(api, **options):
    return load_tools(PETS, client=api.client(), **options)


async def call(api, name, /, **arguments):
    return await tools_of(api)[name].execute(arguments)


@pytest.mark.parametrize("url", [None, "/api", "./api", "https://api.example.com/v1", "{base}/x"])
async def test_no_server_in_a_document_is_an_obstacle(url):
    source = PETS | {"servers": [{"url": url}] if url else []}
    api = mock_api(source)

    result = await load_tools(source, client=api.client())["get_pet"].execute({"petId": 7})

    assert result.output == REX
    assert api.problems == []
    assert api.calls[0].url.startswith("https://api" if url and "https" in url else "http://mock")


async def test_a_clients_address_counts_where_the_document_has_none():
    seen = []

    def respond(request):
        seen.append(str(request.url))
        return httpx.Response(204)

    for base, server in [
        ("http://a.example/v2", "/api"),
        ("http://a.example/v2/", "http://b.example"),
    ]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(respond), base_url=base)
        source = PETS | {"servers": [{"url": server}]}
        await load_tools(source, client=client)["get_pet"].execute({"petId": 1})

    assert seen == ["http://a.example/v2/api/pets/1", "http://b.example/pets/1"]


@pytest.mark.parametrize("kind", ["path", "text", "toolset", "function", "application"])
async def test_a_document_comes_in_any_form(kind, tmp_path):
    (tmp_path / "pets.json").write_text(json.dumps(PETS))
    source = {
        "path": tmp_path / "pets.json",
        "text": json.dumps(PETS),
        "toolset": load_tools(PETS),
        "function": lambda: PETS,
        "application": mock_api(PETS),
    }[kind]

    assert (await call(mock_api(source), "get_pet", petId=7)).output == REX


async def test_the_application_is_loaded_and_called_in_this_process():
    api = mock_api(PETS)

    async with load_tools(api) as toolset:
        result = await toolset["get_pet"].execute({"petId": 7})

    assert result.output == REX
    assert api.assert_called("get_pet", petId=7).status == 200


async def test_what_responses_are_made_of():
    api = mock_api(
        PETS,
        responses={
            "get_pet": 404,
            "addPet": (201, TOM, {"X-Made": "yes"}),
            "GET /pets": lambda call: [call.arguments["limit"]],
            "put_pet": [REX, (200, TOM)],
            "delete_pet": httpx.Response(202, text="later"),
            "login": "token",
        },
    )
    async with api.client() as client:
        missing = await client.get("/pets/1")
        added = await client.post("/pets", json={"name": "x"})
        listed = await client.get("/pets?limit=3")
        put = [(await client.put("/pets/1", json={"name": "x"})).json() for _ in range(3)]
        gone = [(await client.delete("/pets/1")).text for _ in range(2)]
        login = await client.post("/login", json={})

    assert (missing.status_code, missing.json()) == (404, {"why": "no such pet"})
    assert (added.status_code, added.json(), added.headers["x-made"]) == (201, TOM, "yes")
    assert listed.json() == [3]
    assert put == [REX, TOM, TOM]
    assert gone == ["later", "later"]
    assert login.json() == "token"


async def test_faults_reach_the_caller():
    api = mock_api(
        PETS,
        responses={
            "get_pet": [Fault.reset(), REX],
            "list_pets": [Fault.rate_limited(2), Fault.slow(0.01)],
            "delete_pet": Fault.timeout(),
        },
    )

    fallen = await call(api, "get_pet", petId=1)
    limited = await call(api, "list_pets")
    slow = await call(api, "list_pets")
    silent = await call(api, "delete_pet", petId=1)

    assert (fallen.error["type"], limited.error["type"]) == ("connection", "rate_limited")
    assert limited.error["retry_after"] == 2
    assert slow.output == [REX, TOM]
    assert silent.error["type"] == "timeout"
    again = tools_of(api, settings=Settings(retries=1))
    api.clear()
    assert (await again["get_pet"].execute({"petId": 1})).output == REX
    assert [call.status for call in api.calls] == [0, 200]
    slow = mock_api(PETS, responses={"get_pet": Fault.slow(60)})
    with pytest.raises(httpx.ReadTimeout):
        await slow.client(timeout=0.01).get("/pets/1")


async def test_a_wrong_request_gets_its_problems_as_response():
    api = mock_api(PETS)
    async with api.client() as client:
        added = await client.post("/pets", json={"name": 5})
        got = await client.get("/pets/x")
        put = await client.post("/pets/7", json={})
        gone = await client.get("/nothing")

    assert (added.status_code, got.status_code) == (422, 400)
    assert added.json()["problems"] == ["body: /name: 5 is not of type 'string'"]
    assert (put.status_code, put.headers["allow"]) == (405, "GET, PUT, DELETE, PATCH")
    assert gone.status_code == 404
    assert len(api.problems) == 4


async def test_a_call_is_recorded_without_credentials():
    api = mock_api(PETS, judge=False)
    secret = "vn38-qlop-2210"

    async with api.client(headers={"Authorization": f"Bearer {secret}"}) as client:
        await client.get(f"/pets?limit=5&tags=a&tags=b&access_token={secret}")
        await client.post("/login", json={"password": secret, "page_token": "p"})
        await client.post("/login", data={"user": "me", "password": secret})

    first, second, third = api.calls
    assert secret not in repr(api.calls)
    assert (first.tool, first.arguments) == ("list_pets", {"limit": 5, "tags": ["a", "b"]})
    assert first.headers["authorization"] == "***"
    assert second.body == second.arguments["body"] == {"password": "***", "page_token": "p"}
    assert third.body == {"user": "me", "password": "***"}
    with pytest.raises(
        AssertionError, match=r"get_pet was not called.*\n  list_pets\(\{'limit': 5"
    ):
        api.assert_called("get_pet")


async def test_objects_are_created_read_changed_and_deleted():
    api = mock_api(PETS)

    pet = (await call(api, "add_pet", name="Ada")).output
    assert pet == {"id": 1, "name": "Ada"}
    assert (await call(api, "get_pet", petId=1)).output == pet
    assert (await call(api, "list_pets")).output == [REX, TOM, pet]
    assert (await call(api, "patch_pet", petId=1, body={"name": "Eve"})).output["name"] == "Eve"
    assert (await call(api, "put_pet", petId=8, name="Tim")).output == {"id": 8, "name": "Tim"}
    assert (await call(api, "delete_pet", petId=7)).success
    gone = await call(api, "get_pet", petId=7)
    assert (gone.error["status"], "no such pet" in str(gone)) == (404, True)
    listed = (await call(api, "list_pets")).output
    assert listed == [{"id": 8, "name": "Tim"}, {"id": 1, "name": "Eve"}]
    assert (await call(api, "add_pet", name="Bo")).output["id"] == 2
    api.clear()
    assert (await call(api, "list_pets")).output == [REX, TOM]


async def test_ids_are_in_the_documents_type_and_lists_may_be_properties():
    first = {"uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6", "slug": "a"}
    name = {"name": "item_uuid", "in": "path", "required": True, "schema": {"format": "uuid"}}
    source = documents.document(
        {
            "/shops/{shop}/items": {
                "get": operation("listItems", {"200": json_of({}, {"items": [first], "total": 1})}),
                "post": operation("addItem", {"201": {"description": "d"}}, requestBody=body({})),
            },
            "/shops/{shop}/items/{item_uuid}": {
                "parameters": [name],
                "get": operation("getItem", {"200": json_of({}, first)}),
                "delete": operation("deleteItem", {"204": {"description": "d"}}),
            },
        }
    )
    async with mock_api(source, judge=False).client() as client:
        response = await client.post("/shops/a/items", json={"slug": "b"})
        second = (await client.get("/shops/a/items")).json()["items"][1]
        again = await client.get(f"/shops/a/items/{second['uuid']}")
        await client.delete(f"/shops/a/items/{first['uuid']}")
        gone = await client.get(f"/shops/a/items/{first['uuid']}")
        left = [(await client.get(f"/shops/{shop}/items")).json() for shop in "ab"]

    assert (response.status_code, response.content, gone.status_code) == (201, b"", 404)
    assert again.json() == second == {"uuid": "00000000-0000-0000-0000-000000000001", "slug": "b"}
    assert left == [{"items": [second], "total": 1}, {"items": [first], "total": 1}]


async def test_without_state_and_where_the_shape_is_not_clear_examples_are_the_response():
    api = mock_api(PETS, state=False)
    await call(api, "delete_pet", petId=7)
    assert (await call(api, "get_pet", petId=7)).output == REX

    odd = documents.document(
        {
            "/a/{x}": {"get": operation("getA", {"200": json_of({}, ["no object"])})},
            "/a": {
                "post": operation("addA", {"200": json_of({}, {"id": 5})}, requestBody=body({}))
            },
        }
    )
    api = mock_api(odd)
    async with api.client() as client:
        assert (await client.post("/a", json={"id": 9})).json() == {"id": 5}


async def test_references_inside_an_example_are_followed():
    shared = {"pet": {"value": REX}, "pets": {"value": [{"$ref": "#/components/examples/pet"}]}}
    listed = {"default": {"value": {"items": {"$ref": "#/components/examples/pets"}}}}
    response = {"content": {"application/json": {"examples": listed}}, "description": "d"}
    source = documents.document(
        {"/pets": {"get": operation("listPets", {"200": response})}},
        components={"examples": shared},
    )

    async with mock_api(source).client() as client:
        assert (await client.get("/pets")).json() == {"items": [REX]}


def test_other_processes_call_it_on_loopback():
    api = mock_api(PETS, responses={"delete_pet": Fault.reset()})
    with api.serve() as url:
        command = [sys.executable, "-m", "openapi_tools", "call", f"{url}/openapi.json"]
        ran, fell = (
            subprocess.run([*command, name, "petId=7"], capture_output=True, text=True, check=False)
            for name in ("get_pet", "delete_pet")
        )
        with httpx.Client(base_url=url) as client:
            wrong = client.post("/pets", json={})

    assert (json.loads(ran.stdout), ran.stderr) == (REX, "")
    assert fell.returncode == 1
    assert wrong.status_code == 422
    assert api.assert_called("get_pet", petId=7).headers["user-agent"].startswith("openapi-tools")


def test_frameworks_mount_it_and_a_socket_stays_silent():
    api = mock_api(PETS, responses={"delete_pet": Fault.timeout()}, judge=False)
    app = Starlette(routes=[Mount("/v9", app=api)])

    with TestClient(api) as direct, TestClient(app) as mounted:
        assert direct.get("/pets/7").json() == mounted.get("/v9/pets/7").json() == REX
    with api.serve() as url, pytest.raises(httpx.ReadTimeout):
        httpx.delete(f"{url}/pets/7", timeout=0.2)


@pytest.mark.parametrize(
    ("source", "options", "error", "words"),
    [
        (PETS, {"responses": {"getpets": 1}}, SettingsError, "did you mean get_pet"),
        ("nowhere.json", {}, SourceError, "no such file"),
        (5, {}, SourceError, "not 'int'"),
        (None, {}, SettingsError, "pass a document"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(source, options, error, words):
    with pytest.raises(error, match=words):
        mock_api(source, **options)


def test_without_openapi_core_requests_are_not_judged(monkeypatch):
    monkeypatch.setattr("openapi_tools.testing.mock.find_spec", lambda name: None)

    with pytest.raises(MissingExtraError, match=r"openapi_core is not installed: .*\[testing\]"):
        mock_api(PETS)
    assert mock_api(PETS, judge=None).problems == []
