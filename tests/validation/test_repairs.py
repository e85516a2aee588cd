"""Arguments that do not fit as they are: what is undone, and that looking for it ends."""

from __future__ import annotations

from typing import Any

import pytest
from documents import document, with_body
from trust.promises import an_object, quiet

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}


async def called(schema, given, components=None, **options):
    """Call a POST whose body has this schema; return the result and what was sent."""
    toolset, sent = quiet(document(with_body(schema), components={"schemas": components or {}}))
    result = await toolset["post_x"].execute(given, **options)
    return result, [request.content.decode() for request in sent]


@pytest.mark.parametrize(
    ("properties", "given", "body"),
    [
        ({"a": TEXT, "b": TEXT}, {"a": None, "b": "x"}, '{"b":"x"}'),
        ({"a": {"type": ["string", "null"]}, "b": INTEGER}, {"a": None}, '{"a":null}'),
        ({"a": an_object({"b": INTEGER})}, {"a": {"b": None}}, '{"a":{}}'),
        ({"a": {"type": "integer", "enum": [1, 2]}}, {"a": "2"}, '{"a":2}'),
    ],
)
async def test_what_a_profile_made_of_arguments_is_undone(properties, given, body):
    result, sent = await called(an_object(properties), given)

    assert result.success
    assert sent == [body]


async def test_null_for_what_is_required_is_told():
    result, _ = await called({**an_object({"a": TEXT}), "required": ["a"]}, {"a": None})

    assert result.error["type"] == "invalid_input"
    assert result.error["message"].startswith("/a: ")


async def test_alternatives_inside_of_alternatives_are_looked_at_once():
    node = {"$ref": "#/components/schemas/N"}
    shut = {"type": "object", "additionalProperties": False}
    branches = [
        {**shut, "required": [f"r{n}"], "properties": {f"r{n}": INTEGER, "c": node}}
        for n in range(4)
    ]
    given: dict[str, Any] = {"zz": None}
    for _ in range(60):  # one by one these would be more ways than there are atoms
        given = {"zz": None, "c": given}

    result, _ = await called(an_object({"c": node}), {"c": given}, {"N": {"anyOf": branches}})

    assert result.error["type"] == "invalid_input"


@pytest.mark.long
async def test_many_items_that_must_differ_are_compared_once():
    tags = {"type": "array", "uniqueItems": True, "items": {"type": "object"}}
    many = [{"a": number, "b": None} for number in range(30_000)]

    result, _ = await called(an_object({"tags": tags, "q": INTEGER}), {"q": "x", "tags": many})

    assert result.error["message"].startswith("/q: ")


async def test_a_profile_that_does_not_exist_is_an_error_result():
    result, _ = await called(an_object({"a": TEXT}), {"a": "x"}, profile="openia")

    assert "openai" in result.error["message"]
