"""Verdicts agree with the standard and come in time; large arguments and repairs of others."""

import json
from typing import Any

import pytest
from documents import document, with_body
from trust.promises import an_object, load_quietly

from openapi_tools.errors import InputError
from openapi_tools.validation.checker import Checker, prepare_validator

_BEYOND = ('"$anchor"', '"$dynamicAnchor"', '"$id"', '"$vocabulary"')
"""What an input schema never has: names that only a document of several schemas needs."""


def cases(shared):
    folder = shared / "vectors" / "JSON-Schema-Test-Suite" / "tests" / "draft2020-12"
    for path in sorted(folder.glob("*.json")):
        for case in json.loads(path.read_text()):
            schema = case["schema"]
            is_beyond = any(word in json.dumps(schema) for word in _BEYOND)
            if isinstance(schema, dict) and not is_beyond and not prepare_validator(schema).notes:
                yield f"{path.name}: {case['description']}", schema, case["tests"]


def refusal(checker, arguments):
    """Return what is said of arguments; empty when they fit."""
    try:
        checker.check(arguments)
    except InputError as error:
        return str(error)
    return ""


def test_the_official_suite_is_judged_right_and_every_refusal_has_words(shared):
    wrong, count = [], 0
    for name, schema, tests in cases(shared):
        checker = Checker(schema)
        inside = Checker({"properties": {"a": schema}}) if "$ref" not in str(schema) else None
        for test in tests:
            count += 1
            data, valid = test["data"], test["valid"]
            right = checker.fits(data) is valid
            if inside or isinstance(data, dict):
                plain = isinstance(data, dict)
                message = refusal(checker, data) if plain else refusal(inside, {"a": data})
                right = right and bool(message) is not valid and "too many to say" not in message
            if not right:
                wrong.append(f"{name}: {test['description']}")

    assert wrong == []
    assert count > 1000


def objects(count):
    return [{"id": number} for number in range(count)]


_ITEM = {"properties": {"id": {"type": "integer"}}}
_UNION = {"anyOf": [{"required": [f"r{n}"]} for n in range(300)]}
_SHUT = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"items": _ITEM}, [*objects(9_000), {"id": "x"}], "/a/9000/id: expected an integer"),
        ({"items": {"type": "string"}}, [0] * 9_000, "/a/0: expected a string, got 0"),
        ({"items": _UNION}, objects(20), "/a: [{'id': 0}, "),
        (_UNION, {"text": "x" * 2_000_000}, "/a: {'text': 'xxx"),
        ({"propertyNames": {"maxLength": 3}}, {f"n{i}": 1 for i in range(3_000)}, "/a/n"),
        (_SHUT, {f"n{i}": 1 for i in range(9_000)}, "/a/n0: unknown property. Expected one of: a"),
    ],
    ids=["last item", "every item", "alternatives", "a large text", "names", "unknown names"],
)
def test_an_argument_with_too_many_errors_has_its_first_one_reported(schema, value, message):
    checker = Checker({"properties": {"a": schema, "q": {"type": "integer"}}})

    first, second = refusal(checker, {"a": value, "q": "x"}).splitlines()

    assert first == "/q: expected an integer, got 'x' (a string)."
    assert second.startswith(message)


def test_too_many_unknown_arguments_are_reported_by_their_names():
    checker = Checker({**_SHUT, "required": ["a"]})

    assert (
        refusal(checker, {"a": 1, "b": [[]] * 9_000}) == "/b: unknown argument. Expected one of: a."
    )


@pytest.mark.long
def test_a_chain_of_references_too_long_for_the_stack_is_left_to_the_api():
    definitions = {f"n{i}": {"allOf": [{"$ref": f"#/$defs/n{i + 1}"}]} for i in range(5000)}
    checker = Checker(
        {"$ref": "#/$defs/n0", "$defs": {**definitions, "n5000": {"required": ["a"]}}}
    )

    checker.check({})


TEXT, INTEGER = {"type": "string"}, {"type": "integer"}


async def call_tool(schema, arguments, components=None, **options):
    """Call a POST whose body has this schema; return the result and what was sent."""
    toolset, sent = load_quietly(
        document(with_body(schema), components={"schemas": components or {}})
    )
    result = await toolset["post_x"].execute(arguments, **options)
    return result, [request.content.decode() for request in sent]


@pytest.mark.parametrize(
    ("properties", "arguments", "body"),
    [
        ({"a": TEXT, "b": TEXT}, {"a": None, "b": "x"}, '{"b":"x"}'),
        ({"a": {"type": ["string", "null"]}, "b": INTEGER}, {"a": None}, '{"a":null}'),
        ({"a": an_object({"b": INTEGER})}, {"a": {"b": None}}, '{"a":{}}'),
        ({"a": {"type": "integer", "enum": [1, 2]}}, {"a": "2"}, '{"a":2}'),
    ],
)
async def test_what_a_profile_made_of_arguments_is_undone(properties, arguments, body):
    result, sent = await call_tool(an_object(properties), arguments)

    assert result.success
    assert sent == [body]


async def test_null_for_what_is_required_is_reported():
    result, _ = await call_tool({**an_object({"a": TEXT}), "required": ["a"]}, {"a": None})

    assert result.error["type"] == "invalid_input"
    assert result.error["message"].startswith("/a: ")


async def test_alternatives_inside_of_alternatives_are_looked_at_once():
    node = {"$ref": "#/components/schemas/N"}
    shut = {"type": "object", "additionalProperties": False}
    branches = [
        {**shut, "required": [f"r{n}"], "properties": {f"r{n}": INTEGER, "c": node}}
        for n in range(4)
    ]
    arguments: dict[str, Any] = {"zz": None}
    for _ in range(60):  # one by one these would be more ways than there are atoms
        arguments = {"zz": None, "c": arguments}

    result, _ = await call_tool(
        an_object({"c": node}), {"c": arguments}, {"N": {"anyOf": branches}}
    )

    assert result.error["type"] == "invalid_input"


@pytest.mark.long
async def test_many_items_that_must_differ_are_compared_once():
    tags = {"type": "array", "uniqueItems": True, "items": {"type": "object"}}
    many = [{"a": number, "b": None} for number in range(30_000)]

    result, _ = await call_tool(an_object({"tags": tags, "q": INTEGER}), {"q": "x", "tags": many})

    assert result.error["message"].startswith("/q: ")


async def test_a_profile_that_does_not_exist_is_an_error_result():
    result, _ = await call_tool(an_object({"a": TEXT}), {"a": "x"}, profile="openia")

    assert "openai" in result.error["message"]
