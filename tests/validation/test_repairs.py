"""Arguments that do not fit as they are: what is undone, and that looking for it ends."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from documents import document, with_body

from openapi_tools import OperationTool, Settings, load_tools


def tool(schema: dict[str, Any], sent: list[str]) -> OperationTool:
    """A POST with this body, whose arguments are its members."""

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content.decode())
        return httpx.Response(200, json={})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    settings = Settings(base_url="https://api.example.com")
    return load_tools(document(with_body(schema)), client=client, settings=settings)["post_x"]


@pytest.mark.parametrize(
    ("schema", "given", "sent"),
    [
        ({"a": {"type": "string"}, "b": {"type": "string"}}, {"a": None, "b": "x"}, '{"b":"x"}'),
        ({"a": {"type": ["string", "null"]}, "b": {"type": "integer"}}, {"a": None}, '{"a":null}'),
        (
            {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}},
            {"a": {"b": None}},
            '{"a":{}}',
        ),
        ({"a": {"type": "integer", "enum": [1, 2]}}, {"a": "2"}, '{"a":2}'),
    ],
)
async def test_what_a_profile_made_of_arguments_is_undone(
    schema: dict[str, Any], given: dict[str, Any], sent: str
) -> None:
    recorded: list[str] = []

    result = await tool({"type": "object", "properties": schema}, recorded).execute(given)

    assert result.success
    assert recorded == [sent]


async def test_null_for_what_is_required_is_told() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}

    result = await tool(schema, []).execute({"a": None})

    assert result.error["type"] == "invalid_input"
    assert result.error["message"].startswith("/a: ")


def alternatives(names: range) -> dict[str, Any]:
    """A node that is one of several closed objects, each of which holds another node."""
    return {
        "anyOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "required": [f"r{n}"],
                "properties": {
                    f"r{n}": {"type": "integer"},
                    "c": {"$ref": "#/components/schemas/N"},
                },
            }
            for n in names
        ]
    }


async def test_alternatives_inside_of_alternatives_are_looked_at_once() -> None:
    reference = {"$ref": "#/components/schemas/N"}
    paths = with_body({"type": "object", "properties": {"c": reference}})
    described = document(paths, components={"schemas": {"N": alternatives(range(4))}})
    settings = Settings(base_url="https://api.example.com")
    given: dict[str, Any] = {"zz": None}
    for _ in range(60):  # one by one these would be more ways than there are atoms
        given = {"zz": None, "c": given}

    result = await load_tools(described, settings=settings)["post_x"].execute({"c": given})

    assert result.error["type"] == "invalid_input"


@pytest.mark.long
async def test_many_items_that_must_differ_are_compared_once() -> None:
    items = {"type": "array", "uniqueItems": True, "items": {"type": "object"}}
    schema = {"type": "object", "properties": {"tags": items, "q": {"type": "integer"}}}
    many = [{"a": number, "b": None} for number in range(30_000)]

    result = await tool(schema, []).execute({"q": "x", "tags": many})

    assert result.error["message"].startswith("/q: ")


async def test_a_profile_that_does_not_exist_is_an_error_result() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}

    result = await tool(schema, []).execute({"a": "x"}, profile="openia")

    assert "openai" in result.error["message"]
