"""Whose fault it is when a tool is not proved: the tool's, the document's, or nobody's."""

from typing import Annotated

import documents
import fastapi
import pytest
from pydantic import BaseModel

from openapi_tools import load_tools
from openapi_tools.testing import mock_api
from openapi_tools.testing.mock import ADDRESS
from openapi_tools.testing.proving import prove_tools

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
DAY = {"type": "string", "format": "date"}
LIST = {"type": "array", "items": TEXT}
OPEN = {"type": "object", "additionalProperties": TEXT}
CLOSED = {"type": "object", "properties": {"x": WHOLE}, "required": ["x"]}
RIGHT = {"200": {"description": "ok", "content": {"application/json": {"schema": CLOSED}}}}
DEEP = {"style": "deepObject", "explode": True}


def parameter(schema, location="query", name="q", **fields):
    required = location == "path"
    return {"name": name, "in": location, "required": required, "schema": schema, **fields}


async def proofs_of(source, judged=None):
    """Return proofs of the tools of a document, through a mock of it or of another one."""
    loaded = []
    api = mock_api(judged or (lambda: loaded[0]), refuse=False, state=False)
    settings = {"base_url": ADDRESS, "anonymous": True, "check_responses": True}
    loaded.append(load_tools(source, client=api.client(), settings=settings))
    return await prove_tools(loaded[0], api)


async def proof_of(*parameters, openapi="3.1.0", path="/a", **fields):
    declared = documents.operation(parameters=list(parameters), **fields)
    (proof,) = await proofs_of(documents.document({path: {"post": declared}}, openapi=openapi))
    return proof


def verdict(proof):
    return proof.verdict, proof.cause, proof.reason


PROVED = {
    "optional list": parameter({"anyOf": [LIST, {"type": "null"}]}),
    "optional list of numbers": parameter({"anyOf": [{**LIST, "items": WHOLE}, {"type": "null"}]}),
    "list of types": parameter({"type": ["array", "null"], "items": WHOLE}),
    "ignored header": parameter({"enum": ["one"]}, "header", "Accept"),
    "wrong default that is not sent": parameter({**DAY, "default": "now", "example": "2024-01-31"}),
    "open object": parameter(OPEN, required=True),
    "open object in a path": parameter(OPEN, "path"),
    "object in a deep object": parameter(
        {"type": "object", "required": ["at"], "properties": {"at": CLOSED}}, **DEEP
    ),
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("declared", PROVED.values(), ids=PROVED)
async def test_right_requests_are_proved(declared, version):
    path = "/a/{q}" if declared["in"] == "path" else "/a"

    proof = await proof_of(declared, openapi=version, path=path)

    assert (proof.verdict, proof.request, proof.reason) == ("proved", "ok", "")


async def test_an_object_that_would_be_empty_in_a_form_is_filled():
    to = {"type": "object", "properties": {"at": {"type": "object", "properties": {"x": WHOLE}}}}
    to["required"] = ["at"]
    media = {"schema": {"type": "object", "properties": {"to": to}}, "encoding": {"to": DEEP}}
    sent = {"content": {"application/x-www-form-urlencoded": media}}

    proof = await proof_of(requestBody=sent)

    assert verdict(proof) == ("proved", "", "")


DOCUMENT_FAULT = "request: a default or example of the document does not match its schema: "


@pytest.mark.parametrize("values", [{"default": "now"}, {"example": "now"}])
async def test_a_value_of_the_document_that_breaks_its_format_is_the_documents_fault(values):
    proof = await proof_of(parameter({**DAY, **values}))

    message = f"{DOCUMENT_FAULT}query parameter 'q': 'now' is not a 'date'"
    assert verdict(proof) == ("failed", "document", message)


async def test_a_value_in_a_body_that_breaks_its_format_is_the_documents_fault():
    schema = {"type": "object", "properties": {"on": {**DAY, "example": "now"}, "n": WHOLE}}

    proof = await proof_of(requestBody={"content": {"application/json": {"schema": schema}}})

    assert verdict(proof) == (
        "failed",
        "document",
        f"{DOCUMENT_FAULT}body: /on: 'now' is not a 'date'",
    )


async def test_a_value_that_no_sample_can_be_is_not_judged():
    proof = await proof_of(parameter({**DAY, "const": "tomorrow"}))

    assert (proof.verdict, proof.cause) == ("not judged", "")
    assert "no sampled input matches the document: query parameter 'q'" in proof.reason


async def test_what_the_standard_leaves_open_is_not_judged_with_the_reason():
    nested = {
        "type": "object",
        "properties": {"at": {"type": "object", "properties": {"x": WHOLE}}},
    }

    proof = await proof_of(parameter(nested))

    assert (proof.verdict, proof.cause) == ("not judged", "")
    assert "OpenAPI does not define how an array or object inside another value" in proof.reason


async def test_a_wrong_request_is_the_tools_fault_even_beside_a_wrong_value_of_the_document():
    day = parameter({**DAY, "default": "now"})
    needed = {**parameter(WHOLE, name="limit"), "required": True}
    ours, theirs = (
        documents.document({"/a": {"get": documents.operation(operationId="a", parameters=some)}})
        for some in ([day], [day, needed])
    )

    (proof,) = await proofs_of(ours, judged=theirs)

    message = "request: Missing required query parameter: limit"
    assert verdict(proof) == ("failed", "tool", message)


class OptionalItem(BaseModel):
    tags: list[str]
    limit: int | None


def airflow():
    """Return an application whose parameters are those of Airflow's lists."""
    app = fastapi.FastAPI()

    @app.get("/dags/{dag_id}/runs")
    def runs(
        dag_id: str,
        tags: Annotated[list[str] | None, fastapi.Query()] = None,
        states: Annotated[list[int] | None, fastapi.Query()] = None,
        limit: int | None = None,
        paused: bool | None = None,
        accept: Annotated[str, fastapi.Header()] = "application/json",
        trace: Annotated[list[str] | None, fastapi.Header()] = None,
    ) -> OptionalItem:
        del dag_id, states, paused, accept, trace
        return OptionalItem(tags=tags or [], limit=limit)

    return app


async def test_optional_lists_of_an_application_are_proved():
    proofs = await proofs_of(airflow().openapi())

    assert [verdict(proof) for proof in proofs] == [("proved", "", "")]


async def test_the_response_of_an_application_to_an_optional_list_is_right():
    async with load_tools(airflow(), settings={"check_responses": True}) as toolset:
        (tool,) = toolset
        arguments = {"dag_id": "a", "tags": ["x", "y"], "states": [1, 2], "limit": 3}
        result = await tool.execute(arguments)

    assert result.output == {"tags": ["x", "y"], "limit": 3}
    assert result.metadata["response_problems"] == []


PET = {"type": "object", "required": ["id"], "properties": {
    "id": {"type": "integer"}, "name": {"type": "string", "x-nullable": True}}}  # fmt: skip
PETS = {"type": "array", "items": {"$ref": "#/definitions/Pet"}}
SWAGGER = documents.document(
    {
        "/pets": {
            "parameters": [{"$ref": "#/parameters/limit"}],
            "get": {
                "operationId": "list",
                "parameters": [
                    {"name": "ids", "in": "query", "type": "array", "items": WHOLE},
                    {"name": "tags", "in": "query", "type": "array", "items": TEXT,
                     "collectionFormat": "multi"},
                    {"name": "sets", "in": "query", "type": "array", "collectionFormat": "pipes",
                     "items": {"type": "array", "items": WHOLE}},
                ],
                "responses": {"200": {"description": "ok", "schema": PETS, "headers": {
                    "X-Total": {"type": "integer"}}}},
            },
            "post": {
                "operationId": "add",
                "consumes": ["application/json"],
                "parameters": [{"name": "pet", "in": "body", "required": True,
                                "schema": {"$ref": "#/definitions/Pet"}}],
                "responses": {"201": {"$ref": "#/responses/Pet"}},
            },
        },
        "/pets/{id}/photo": {
            "post": {
                "operationId": "upload",
                "consumes": ["multipart/form-data"],
                "produces": ["text/plain"],
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "type": "integer"},
                    {"name": "photo", "in": "formData", "required": True, "type": "file"},
                    {"name": "note", "in": "formData", "type": "string", "maxLength": 9},
                ],
                "responses": {"200": {"description": "ok", "schema": {"type": "string"}}},
            },
            "get": {"operationId": "photo", "parameters": [
                        {"name": "id", "in": "path", "required": True, "type": "integer"}],
                    "responses": {"200": {"description": "ok", "schema": {"type": "file"}}}},
        },
    },
    openapi="2.0",
    basePath="/v1",
    produces=["application/json"],
    parameters={"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9}},
    responses={"Pet": {"description": "ok", "schema": {"$ref": "#/definitions/Pet"},
                       "examples": {"application/json": {"id": 1, "name": None}}}},
    definitions={"Pet": PET},
)  # fmt: skip


async def test_the_tools_of_a_swagger_document_are_proved():
    proofs = await proofs_of(SWAGGER)

    assert {proof.tool: verdict(proof) for proof in proofs} == dict.fromkeys(
        ["list", "add", "upload", "photo"], ("proved", "", "")
    )


WRONG_2 = {
    "type": ("GET", "/pets?limit=x", {}, "query parameter 'limit': 'x' is not of type 'integer'"),
    "bound": ("GET", "/v1/pets?limit=10", {}, "query parameter 'limit': 10 is greater than"),
    "csv": ("GET", "/pets?ids=1,x", {}, "query parameter 'ids': /1: 'x' is not of type 'integer'"),
    "inside": ("GET", "/pets?sets=1,2%7C3,x", {}, "query parameter 'sets': /1/1: 'x' is not"),
    "body": ("POST", "/pets", {"json": {"name": "a"}}, "body: 'id' is a required property"),
    "no body": ("POST", "/pets", {}, "Missing required request body"),
    "media type": ("POST", "/pets", {"data": {"id": 1}}, "application/x-www-form-urlencoded"),
    "form": ("POST", "/pets/1/photo", {"files": {"photo": b"x", "note": (None, "a" * 10)}},
             "body: /note: 'aaaaaaaaaa' is too long"),
    "no file": ("POST", "/pets/1/photo", {"files": {"note": (None, "a")}}, "'photo' is a required"),
}  # fmt: skip


@pytest.mark.parametrize(("method", "path", "sent", "problem"), WRONG_2.values(), ids=WRONG_2)
async def test_the_mock_refuses_wrong_requests_of_a_swagger_document(method, path, sent, problem):
    api = mock_api(SWAGGER)

    async with api.client() as client:
        response = await client.request(method, path, **sent)

    assert response.status_code == 400
    assert problem in api.problems[0]


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ([{"id": 1, "name": None}], []),
        ([{"id": "a"}], ["body: /0/id: 'a' is not of type 'integer'"]),
    ],
)
async def test_the_responses_of_a_swagger_document_are_checked(body, problems):
    api = mock_api(SWAGGER, responses={"list": (200, body)})
    async with load_tools(SWAGGER, client=api.client(), check_responses=True) as toolset:
        result = await toolset["list"].execute({})

    assert result.metadata["response_problems"] == problems


async def test_the_mock_of_a_swagger_document_shows_the_document_itself():
    api = mock_api(SWAGGER)

    assert api.openapi() == SWAGGER
