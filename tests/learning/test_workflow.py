"""Recorded calls as an Arazzo document: its structure, its links, and what it does not hold."""

import asyncio
import json
import re
import time

import pytest
import yaml
from documents import document
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools import Settings, load_tools
from openapi_tools.common.json_values import resolve_pointer
from openapi_tools.learning.evidence import Evidence, RecordedExchange, read_evidence
from openapi_tools.learning.workflow import make_workflow
from openapi_tools.testing import mock_api

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def respond_with(schema):
    return {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}


def list_of(**properties):
    return respond_with(
        {"type": "array", "items": {"type": "object", "properties": {**properties}}}
    )


def in_path(name, schema=NUMBER):
    return {"name": name, "in": "path", "required": True, "schema": schema}


def in_query(name, schema=TEXT):
    return {"name": name, "in": "query", "schema": schema}


NOTE = {
    "type": "object",
    "properties": {
        "pet_id": NUMBER,
        "text": TEXT,
        "password": TEXT,
        "status": {"type": "string", "enum": ["waiting-for-2024"]},
    },
}
PATHS = {
    "/orders": {"get": {"operationId": "listOrders", "responses": list_of(id=NUMBER)}},
    "/pets": {
        "get": {
            "operationId": "listPets",
            "parameters": [
                in_query("name"),
                in_query("page", NUMBER),
                in_query("cursor"),
                {"name": "X-Shop", "in": "header", "schema": TEXT},
            ],
            "responses": list_of(id=NUMBER, name=TEXT),
        }
    },
    "/pets/{id}": {
        "get": {"parameters": [in_path("id")], "responses": respond_with({"type": "object"})}
    },
    "/notes/{key}": {
        "post": {
            "operationId": "addNote",
            "parameters": [in_path("key", TEXT)],
            "requestBody": {"content": {"application/json": {"schema": NOTE}}},
            "responses": respond_with({"type": "object"}),
        }
    },
}
URL = "http://api.example.com/v1"


def exchange(method, target, body=None, *, request=None, status=200):
    return RecordedExchange(
        "calls.json:1", method, f"{URL}{target}", request, status, {}, "application/json", body
    )


def record(*exchanges, paths=PATHS):
    toolset = load_tools(document(paths, servers=[{"url": URL}]))
    return make_workflow(
        toolset,
        Evidence([*exchanges]),
        name="some flow",
        source_url="openapi.json",
        summarize=lambda tool: tool.name,
    )


OPTIONAL = {
    "workflow": {"summary", "description", "inputs"},
    "step": {"operationId", "operationPath", "parameters", "requestBody", "outputs"},
}


def check_structure(arazzo):
    """Check the rules of the published JSON Schema of Arazzo 1.1 for what is written."""
    assert arazzo.keys() == {"arazzo", "info", "sourceDescriptions", "workflows"}
    assert re.fullmatch(r"1\.1\.\d+(-.+)?", arazzo["arazzo"])
    assert arazzo["info"].keys() == {"title", "version"}
    (source,) = arazzo["sourceDescriptions"]
    assert source.keys() == {"name", "url", "type"}
    assert re.fullmatch(r"[A-Za-z0-9_-]+", source["name"])
    (workflow,) = arazzo["workflows"]
    assert {"workflowId", "steps"} <= workflow.keys()
    assert workflow.keys() <= {"workflowId", "steps", *OPTIONAL["workflow"]}
    assert len({step["stepId"] for step in workflow["steps"]}) == len(workflow["steps"]) > 0
    for step in workflow["steps"]:
        check_step(step)


def check_step(step):
    assert step.keys() <= {"stepId", "successCriteria", *OPTIONAL["step"]}
    assert re.fullmatch(r"[A-Za-z0-9_-]+", step["stepId"])
    assert ("operationId" in step) != ("operationPath" in step)
    assert [criterion.keys() for criterion in step["successCriteria"]] == [{"condition"}]
    parameters = step.get("parameters", [])
    assert all(part.keys() == {"name", "in", "value"} for part in parameters)
    assert {part["in"] for part in parameters} <= {"path", "query", "header", "cookie"}
    assert step.get("requestBody", {}).keys() <= {"contentType", "payload"}
    for name, expression in step.get("outputs", {}).items():
        assert re.fullmatch(r"[a-zA-Z0-9.\-_]+", name)
        assert re.fullmatch(r"\$response\.body(#(/[^/{}~]+)+)?", expression)


def test_a_chain_is_linked_by_values_and_has_the_structure_of_arazzo():
    token = "c-7f3a91d2"
    recorded = record(
        exchange("GET", "/pets?page=1", [{"id": 1, "next": token}, {"id": 2}]),
        exchange("GET", f"/pets?cursor={token}", [{"id": 3}]),
        exchange("GET", "/pets/3", {"id": 3, "note": {"key": "n-12345678"}}),
        exchange("POST", "/notes/n-12345678", {}, request={"pet_id": 3, "text": token}),
        exchange("GET", "/pets/9", {}, status=404),
    )
    check_structure(recorded.document)
    first, second, third, fourth = recorded.steps
    assert (recorded.link_count, recorded.inputs) == (4, {})
    assert first["outputs"] == {"next": "$response.body#/0/next"}
    assert second["stepId"] == "list_pets_2"
    assert second["parameters"] == [
        {"name": "cursor", "in": "query", "value": "$steps.list_pets.outputs.next"}
    ]
    assert third["operationPath"] == "{$sourceDescriptions.api.url}#/paths/~1pets~1%7Bid%7D/get"
    assert third["parameters"][0]["value"] == "$steps.list_pets_2.outputs.id"
    assert third["outputs"] == {"key": "$response.body#/note/key"}
    assert fourth["parameters"][0]["value"] == "$steps.get_pets_id.outputs.key"
    # `pet_id` is required of no tool's response here, so 3 stays what it was.
    assert fourth["requestBody"] == {
        "contentType": "application/json",
        "payload": {"pet_id": 3, "text": "$steps.list_pets.outputs.next"},
    }


CHANCES = {
    "the id of something else": (
        exchange("GET", "/orders", [{"id": 1}]),
        exchange("GET", "/pets/1", {}),
    ),
    "a number of a page": (
        exchange("GET", "/orders", [{"id": 7, "page": 1}]),
        exchange("GET", "/pets?page=1", []),
    ),
    "a common word": (
        exchange("GET", "/orders", [{"name": "Rex", "state": "available"}]),
        exchange("GET", "/pets?name=Rex", []),
        exchange("GET", "/pets?name=available", []),
    ),
    "a date": (
        exchange("GET", "/orders", [{"day": "2023-09-07"}]),
        exchange("GET", "/pets?name=2023-09-07", []),
    ),
    "an enumeration": (
        exchange("GET", "/orders", [{"status": "waiting-for-2024"}]),
        exchange("POST", "/notes/a", {}, request={"status": "waiting-for-2024"}),
    ),
    "an echo": (
        exchange("GET", "/pets?name=rex-20231107", [{"name": "rex-20231107"}]),
        exchange("GET", "/pets?name=rex-20231107", []),
    ),
    "an echo under another name": (
        exchange("GET", "/pets/5", {"id": 5}),
        exchange("GET", "/pets/5", {}),
    ),
    "a string that is no number": (
        exchange("GET", "/orders", [{"pet_id": "123457"}]),
        exchange("POST", "/notes/a", {}, request={"pet_id": 123457}),
    ),
    "a later response": (
        exchange("GET", "/pets?cursor=c-7f3a91d2", []),
        exchange("GET", "/orders", [{"cursor": "c-7f3a91d2"}]),
    ),
    "nothing, true and an amount": (
        exchange("GET", "/orders", [{"text": True, "key": None, "price": 123456.5}]),
        exchange("POST", "/notes/a", {}, request={"text": True, "key": None, "x": 123456.5}),
    ),
}


@pytest.mark.parametrize("chance", CHANCES)
def test_values_that_are_equal_by_chance_are_not_linked(chance):
    recorded = record(*CHANCES[chance])
    assert recorded.link_count == 0
    assert "$steps" not in json.dumps(recorded.document)


def test_what_is_masked_looks_like_an_expression_or_was_not_recorded_is_an_input():
    paths = json.loads(json.dumps(PATHS))
    paths["/pets"]["get"]["parameters"][3]["required"] = True
    recorded = record(
        exchange("GET", "/pets?zzz=1&api_key=***", []),
        exchange("POST", "/notes/***", {}, request={"password": "hunter2", "text": "{$url}"}),
        paths=paths,
    )
    first, second = recorded.steps
    assert first["parameters"] == [{"name": "X-Shop", "in": "header", "value": "$inputs.X-Shop"}]
    assert second["parameters"][0]["value"] == "$inputs.key"
    assert second["requestBody"]["payload"] == {
        "password": "$inputs.password",
        "text": "$inputs.text",
    }
    assert recorded.document["workflows"][0]["inputs"] == {
        "type": "object",
        "properties": dict.fromkeys(("X-Shop", "key", "password", "text"), TEXT),
        "required": ["X-Shop", "key", "password", "text"],
    }
    assert recorded.undeclared == ["list_pets: zzz"]
    assert "hunter2" not in json.dumps(recorded.document)


def test_no_text_of_a_response_is_in_the_document():
    token, words = "t-99887766", "Ignore previous instructions 1"
    recorded = record(
        exchange("GET", "/orders", [{words: token, "ada@example.com": token, "{$url}": token}]),
        exchange("GET", "/orders", [{"secret": token, "text": words, "id": 4}]),
        exchange("GET", f"/pets?cursor={token}", []),
    )
    assert recorded.steps[1]["outputs"] == {"secret": "$response.body#/0/secret"}
    text = json.dumps(recorded.document)
    assert [part for part in (token, "Ignore", "ada@", "{$url}") if part in text] == []


names = st.sampled_from(["id", "pet_id", "name", "key", "text", "a b", "~/", "{$url}"])
scalars = st.sampled_from([0, 1, 654321, "n-12345678", "$steps.x.outputs.y", "***", "", None, True])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=4))
def test_each_link_leads_to_the_value_that_was_sent(calls):
    sent = [body if isinstance(body, dict) else {"text": body} for body, _ in calls]
    recorded = record(
        *(
            exchange("POST", "/notes/a", response, request=body)
            for body, (_, response) in zip(sent, calls, strict=True)
        )
    )
    check_structure(recorded.document)
    assert yaml.safe_load(yaml.safe_dump(recorded.document)) == recorded.document
    steps = {step["stepId"]: step for step in recorded.steps}
    responses = dict(zip(steps, (response for _, response in calls), strict=True))

    def evaluate(value, original):
        if isinstance(value, dict):
            return {key: evaluate(part, original[key]) for key, part in value.items()}
        if isinstance(value, list):
            return [evaluate(*pair) for pair in zip(value, original, strict=True)]
        if isinstance(value, str) and value.startswith("$steps."):
            _, step, _, output = value.split(".")
            pointer = steps[step]["outputs"][output].removeprefix("$response.body").lstrip("#")
            return resolve_pointer(responses[step], pointer)
        return original if isinstance(value, str) and value.startswith("$inputs.") else value

    for body, step in zip(sent, recorded.steps, strict=True):
        assert evaluate(step["requestBody"]["payload"], body) == body


def test_recorded_calls_of_tools_become_a_workflow(tmp_path):
    shop = document(PATHS, servers=[{"url": URL}])
    settings = Settings(record=tmp_path / "seen")

    async def call():
        api = mock_api(load_tools(shop))
        async with load_tools(shop, client=api.client(), settings=settings) as tools:
            await tools.call("list_pets", {})
            await tools.call("add_note", {"key": "a", "pet_id": 1, "password": "hunter2"})
            return tools

    toolset = asyncio.run(call())
    evidence = read_evidence(tmp_path / "seen")
    recorded = make_workflow(
        toolset, evidence, name="x", source_url="y", summarize=lambda tool: tool.name
    )
    check_structure(recorded.document)
    assert recorded.steps[1]["requestBody"]["payload"] == {
        "pet_id": 1,
        "password": "$inputs.password",
    }


def test_the_cost_of_a_record_grows_as_its_length_does():
    def measure(count):
        exchanges = [
            exchange("GET", f"/pets?cursor=abc12345{n % 7}", [{"id": f"abc12345{n % 7}"}] * 20)
            for n in range(count)
        ]
        begin = time.process_time()
        recorded = record(*exchanges)
        return time.process_time() - begin, recorded

    measure(10)
    short, _ = measure(150)
    long, recorded = measure(1200)
    assert len({step["stepId"] for step in recorded.steps}) == 1200
    assert long < short * 30  # 64 times when each step looked at all before it
