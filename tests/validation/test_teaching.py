"""Refusals teach: properties in a wrong place are told once, and an example call follows."""

import json

import pytest
from documents import document, with_body
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import JSON
from tools.handlers import load_with_handler

from openapi_tools.errors import InputError
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.example_calls import example_call

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": STRING}


def closed(required=(), **properties):
    keywords = {"properties": properties, "required": list(required)}
    return {"type": "object", **keywords, "additionalProperties": False}


ISSUE = closed(["title"], title=STRING, labels=TEXTS, state={"enum": ["open", "closed"]})
NESTED = closed(["owner", "body"], owner=STRING, body={"$ref": "#/$defs/Issue"})
NESTED["$defs"] = {"Issue": ISSUE}
FLAT = closed(["owner", "title"], owner=STRING, title=STRING, body=STRING, labels=TEXTS)
HOOK = closed(body=closed(config=closed(url=STRING, secret=STRING), name=STRING), id=INTEGER)
PLACES = closed(billing=closed(city=STRING, zip=STRING), shipping=closed(city=STRING, zip=STRING))
CLEARABLE = closed(metadata={"anyOf": [{"type": "object"}, {"enum": [""]}]})
QUOTED = f"""/body: expected an object, got '{{"title": "{"x" * 68}'… (a string); pass it"""
QUOTED = f"{QUOTED} without quotes."
BESIDE = "pass 'labels' and 'title' directly, not inside it."
LOCALES = closed(locale={"enum": [f"x{n}-{n * 7}" for n in range(99)]})


def lines(schema, arguments):
    with pytest.raises(InputError) as caught:
        Checker(schema).check(arguments, example=True)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        (NESTED, {"owner": "a", "title": "x", "labels": [], "state": "open"},
         ["'title', 'labels' and 'state' belong inside 'body'.",
          'Example: {"owner": "…", "body": {"title": "…", "labels": ["…"], "state": "open"}}']),
        (NESTED, {"owner": "a", "body": {"labels": []}, "title": "x"},
         ["'title' belongs inside 'body'.", "/body/title: missing required property.",
          'Example: {"owner": "…", "body": {"title": "…"}}']),
        (NESTED, {"owner": "a", "body": '{"title": "%s"}' % ("x" * 200)},
         [QUOTED]),
        (FLAT, {"owner": "a", "body": {"title": "x", "labels": []}},
         ["/body: expected a string, got {'labels': [], 'title': 'x'} (an object); " + BESIDE,
          'Example: {"owner": "…", "title": "…", "labels": ["…"]}']),
        (FLAT, {"arguments": {"owner": "a", "title": "x"}},
         ["/arguments: unknown argument; pass 'owner' and 'title' directly, not inside it.",
          'Example: {"owner": "…", "title": "…"}']),
        (FLAT, {"owner": "a", "title": "b", "labels": "bug"},
         ["/labels: expected an array, got 'bug' (a string).",
          'Example: {"owner": "…", "title": "…", "labels": ["…"]}']),
        (FLAT, {"owner": "a", "title": 5}, ["/title: expected a string, got 5 (an integer)."]),
        (FLAT, {"owner": "a", "title": "b", "x": 1, "q": 2, "tittle": 3},
         ["/x: unknown argument. Expected one of: owner, title, body, labels.",
          "/q: unknown argument.", "/tittle: unknown argument; did you mean 'title'?",
          'Example: {"owner": "…", "title": "…"}']),
        (HOOK, {"id": 1, "url": "u", "secret": "s"},
         ["'url' and 'secret' belong inside 'body.config'.",
          'Example: {"body": {"config": {"url": "…", "secret": "…"}}}']),
        (PLACES, {"city": "x", "zip": "y"},
         ["'city' and 'zip' belong inside 'billing' or 'shipping'.",
          'Example: {"billing": {"city": "…", "zip": "…"}}']),
        (CLEARABLE, {"metadata": "x"},
         ["/metadata: expected an object or one of [''], got 'x' (a string).",
          'Example: {"metadata": {}}']),
        (LOCALES, {"locale": "x7-4"},
         ["/locale: 'x7-4' is not one of 99 values; did you mean 'x7-49' or 'x1-7' or 'x78-546'?"]),
    ],
    ids=["flat for nested", "one beside", "text of an object", "nested for flat", "wrapped",
         "one for a list", "scalar", "unknown ones", "two levels", "two places", "empty text",
         "long enumeration"],
)  # fmt: skip
def test_a_refusal_teaches(schema, arguments, expected):
    assert lines(schema, arguments) == expected


def test_more_properties_than_reported_lines_are_one_line():
    body = closed(**{f"member{n}": STRING for n in range(40)})

    first, *_ = lines(closed(body=body), {f"member{n}": "x" for n in range(40)})

    assert first.startswith("'member0', 'member1', ")
    assert first.endswith("'member19' and 20 more belong inside 'body'.")


@pytest.mark.parametrize(
    ("node", "value"),
    [
        ({"type": "string", "example": "octocat"}, "octocat"),
        ({"type": "string", "format": "date"}, "2024-01-31"),
        ({"type": "string", "format": "password", "example": "hunter2"}, "…"),
        ({"type": "string", "pattern": "^(a+)+$", "minLength": 5}, "…"),
        ({"type": "string", "writeOnly": True}, "…"),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "number", "minimum": 5}, 5),
        ({"type": ["null", "boolean"]}, True),
        ({"default": 7}, 7),
        (closed(["a"], a=closed(["b"], b=STRING, c=STRING), d=STRING), {"a": {"b": "…"}}),
        ({"$ref": "#/$defs/Loop"}, {"loop": {"loop": {}}}),
    ],
    ids=str,
)
def test_an_example_shows_what_the_schema_shows(node, value):
    loop = {"type": "object", "properties": {"loop": {"$ref": "#/$defs/Loop"}}}
    schema = {**closed(["x"], x=node), "$defs": {"Loop": loop}}

    assert json.loads(example_call(schema)) == {"x": value}


@pytest.mark.parametrize(
    ("schema", "beginning"),
    [
        (closed(["a"], a={"example": "x" * 9_000}), '{"a": "…"}'),
        (closed(["a"], a={"example": ["x"] * 9_000}), '{"a": […]}'),
        (closed(["a"], a={"example": dict.fromkeys(map(str, range(999)))}), '{"a": {…}}'),
        (closed(map(str, range(999)), **{str(n): STRING for n in range(999)}), '{"0": "…", "1"'),
        (closed(["x" * 9_000], **{"x" * 9_000: STRING}), "{…}"),
        (closed(["a"], a={"example": "\ud800"}), '{"a": "?"}'),
        (closed(), ""),
    ],
    ids=["text", "array", "object", "many", "name", "surrogate", "nothing"],
)
def test_an_example_is_short(schema, beginning):
    text = example_call(schema)

    assert text.startswith(beginning)
    assert len(text) <= 300
    text.encode()


@settings(max_examples=100)
@given(JSON, st.dictionaries(st.text(), JSON, max_size=4))
def test_any_schema_and_any_arguments_have_a_message(part, arguments):
    schema = {**closed(["a"], a={"properties": part}, b=part), "$defs": {"c": part}}

    try:
        Checker(schema).check(arguments, example=True)
    except InputError as error:
        message = str(error)
        assert len(message) < 6_000


async def test_a_call_shows_an_example_and_a_schema_is_not_changed():
    body = {"type": "object", "properties": {"a": {"example": {"b": {}}}, "c": STRING}}
    toolset, sent = load_with_handler(document(with_body({**body, "required": ["a"]})))
    tool = toolset["post_x"]
    before = json.dumps(tool.input_schema)

    result = await tool.execute({"d": 1})

    assert str(result).splitlines()[-1] == 'Example: {"a": {"b": {}}}'
    assert (sent, json.dumps(tool.input_schema)) == ([], before)


def test_an_example_shows_what_the_first_flaws_are_about():
    properties = {f"{letter}{number}": STRING for number in range(10, 40) for letter in "abcdefgh"}

    with pytest.raises(InputError) as caught:
        Checker(closed(**properties)).check({f"{name}x": "" for name in properties}, example=True)

    example = json.loads(str(caught.value).splitlines()[-1].removeprefix("Example: "))
    assert 0 < len(example) <= 5


def test_a_name_of_100_000_characters_is_cut_in_the_message():
    (line,) = lines(closed(name={}), {"x" * 100_000: 1})

    assert line.startswith("/xxx")
    assert len(line) < 1_000
