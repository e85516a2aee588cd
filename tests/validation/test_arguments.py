"""The model's input: what is taken, what is refused, and how a refusal reads."""

import json
import math
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from documents import document, with_body
from pydantic import BaseModel
from tools.handlers import load_with_handler

from openapi_tools.errors import InputError
from openapi_tools.requests.file_schema import file_schema
from openapi_tools.settings import Settings
from openapi_tools.validation.checker import Checker

STRING, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
ARRAY, OBJECT = {"type": "array"}, {"type": "object"}
FILE = file_schema(Settings())


def nest(depth):
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def circular():
    value: list[Any] = []
    value.append(value)
    return value


async def call_tool(arguments):
    """Give an input to a POST that takes `a`; return the error, or what was sent."""
    toolset, sent = load_with_handler(document(with_body({**OBJECT, "properties": {"a": {}}})))
    result = await toolset["post_x"].execute(arguments)
    if result.error is None:
        return None, json.loads(sent[0].content)
    assert result.error["type"] == "invalid_input"
    assert sent == []
    return result.error["message"], None


async def test_a_call_id_further_inside_is_an_argument():
    arguments = {"a": {"_tool_call_id": 1}}

    assert await call_tool(arguments) == (None, arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (None, "null"),
        ([1], "an array"),
        ("{}", "a string"),
        (5, "an integer"),
        (object(), "type object"),
        ("x" * 10**6, "a string"),
        (10**5000, "a number too large for JSON"),
        (math.nan, "a number (nan)"),
        (nest(10_000), "an array"),
        (circular(), "an array"),
        ("\ud800", "\\ud800"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
async def test_input_that_is_no_object_is_refused(arguments, named):
    message, _ = await call_tool(arguments)

    assert "expected an object" in message
    assert named in message
    assert len(message.encode()) < 300


@pytest.mark.parametrize(
    ("value", "pointer", "reason"),
    [
        (math.nan, "/a", "not a JSON number"),
        (math.inf, "/a", "not a JSON number"),
        (json.loads("1e400"), "/a", "not a JSON number"),
        (10**400, "/a", "too large"),
        (-(10**400), "/a", "too large"),
        (Decimal("NaN"), "/a", "not a JSON number"),
        (Decimal("1e999999"), "/a", "too large"),
        (Decimal("0.1234567890123456789"), "/a", "more digits"),
        ("\ud800", "/a", "surrogate"),
        ({"x": ["ok", "\udfff"]}, "/a/x/1", "surrogate"),
        ({"\ud800": 1}, "/a/\\ud800", "surrogate"),
        ({"m~n/o": [math.nan]}, "/a/m~0n~1o/0", "not a JSON number"),
        ({1: 2}, "/a/(int)", "must be strings"),
        ({10**5000: 2}, "/a/(int)", "must be strings"),
        ([b"abc"], "/a/0", "base64"),
        (bytearray(b"abc"), "/a", "base64"),
        (object(), "/a", "type object"),
        (nest(10_000), "/a/0", "nested deeper than 100"),
        (circular(), "/a/0", "nested deeper than 100"),
        ("x" * 5_000_000, "", "too large"),
        (["x" * 1000] * 5_000, "/a", "too large"),
        ([{}] * 260_000, "/a", "over 250,000 values"),
        ({str(number): 1 for number in range(260_000)}, "/a", "over 250,000 values"),
    ],
    ids=lambda value: None,
)
async def test_what_json_cannot_say_is_refused(value, pointer, reason):
    message, _ = await call_tool({"a": value})

    assert message.startswith(pointer)
    assert reason in message
    assert len(message.encode()) < 600


Colour = Enum("Colour", {"RED": "red"})
Word = StrEnum("Word", {"GO": "go"})
Level = IntEnum("Level", {"HIGH": 3})


class Pet(BaseModel):
    name: str
    born: date


@dataclass
class Point:
    x: int
    y: float


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Pet(name="Rex", born=date(2020, 1, 2)), {"name": "Rex", "born": "2020-01-02"}),
        (Point(1, 2.5), {"x": 1, "y": 2.5}),
        (datetime(2020, 1, 2, 3, 4, tzinfo=UTC), "2020-01-02T03:04:00Z"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Decimal("1.50"), 1.5),
        (Decimal("1E+3"), 1000),
        (Colour.RED, "red"),
        (Word.GO, "go"),
        (Level.HIGH, 3),
        (Text("é"), "é"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({4}, [4]),
        (deque([1, 2]), [1, 2]),
        (OrderedDict(b=1), {"b": 1}),
        (MappingProxyType({"b": [1]}), {"b": [1]}),
        (Path("a/b"), "a/b"),
        (-0.0, 0),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_python_values_become_json_by_rule(value, expected):
    assert await call_tool({"a": value}) == (None, {"a": expected})


# ---------------------------------------------------------------------------- messages


def refusal(schema, arguments):
    with pytest.raises(InputError) as caught:
        Checker(schema).check(arguments)
    return caught.value


def pet(kind, **properties):
    return {**OBJECT, "properties": {"kind": {"const": kind}, **properties}, "required": ["kind"]}


OTHER_PROPERTIES = {
    "not": {"not": STRING},
    "has": {"contains": {"const": 1}},
    "few": {"contains": {"const": 1}, "maxContains": 1},
    "both": {"oneOf": [STRING, {"maxLength": 3}]},
    "if": {"if": STRING, "then": {"minLength": 2}},
    "const": {"const": {"a": 1}},
    "all": {"allOf": [STRING, {"maxLength": 1}]},
    "pair": {"prefixItems": [STRING], "items": False},
    "typed": {**OBJECT, "anyOf": [STRING, {**OBJECT, "maxProperties": 3}]},
    "file": FILE,
    "files": {**ARRAY, "items": FILE},
}
PROPERTIES = {
    "owner": {**STRING, "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
    "repo": STRING,
    "state": {**STRING, "enum": ["open", "closed", "all"]},
    "per_page": {**INTEGER, "minimum": 1, "maximum": 100, "multipleOf": 5},
    "score": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "labels": {**ARRAY, "items": STRING, "minItems": 1, "maxItems": 2, "uniqueItems": True},
    "since": {"type": ["string", "null"]},
    "flag": BOOLEAN,
    "pet": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
    "id": {"anyOf": [STRING, INTEGER]},
    "colour": {"anyOf": [{"enum": ["red"]}, {"const": "blue"}]},
    "filter": {
        **OBJECT,
        "properties": {"a/b": INTEGER, "old": False},
        "minProperties": 1,
        "maxProperties": 2,
        "dependentRequired": {"x": ["y"]},
        "propertyNames": {"maxLength": 4},
    },
    "other": {"properties": OTHER_PROPERTIES},
}
ISSUES = {
    **OBJECT,
    "properties": PROPERTIES,
    "required": ["owner", "repo"],
    "additionalProperties": False,
    "$defs": {"Cat": pet("cat", lives=INTEGER), "Dog": pet("dog", barks=BOOLEAN)},
}
CLOSEST = "the closest of 2 alternatives"
DOG = {"kind": "dog", "barks": "x"}
NAMES = ", ".join(PROPERTIES)
BOTH = (
    "matches alternative 1 and alternative 2, but must match exactly one; "
    "leave out what belongs to the others."
)
NO_FILE = """expected an object, got 'hello' (a string); pass {"text": …} or {"base64": …}."""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("state", "merged", "'merged' is not one of ['open', 'closed', 'all']."),
        ("stat", "open", f"unknown argument; did you mean 'state'? Expected one of: {NAMES}."),
        ("per_page", "10", "expected an integer, got '10' (a string); pass it without quotes."),
        ("per_page", "ten", "expected an integer, got 'ten' (a string)."),
        ("per_page", True, "expected an integer, got true (a boolean)."),
        ("per_page", 1.5, "expected an integer, got 1.5 (a number)."),
        ("per_page", None, "expected an integer, got null."),
        ("per_page", 0, "must be at least 1, got 0."),
        ("per_page", 105, "must be at most 100, got 105."),
        ("per_page", 7, "must be a multiple of 5, got 7."),
        ("score", 0, "must be greater than 0, got 0."),
        ("score", 1, "must be less than 1, got 1."),
        ("labels", {"a": 1}, "expected an array, got {'a': 1} (an object)."),
        ("labels", [1], "/0: expected a string, got 1 (an integer)."),
        ("labels", [], "needs at least 1 item, got 0."),
        ("labels", ["a", "b", "c"], "allows at most 2 items, got 3."),
        ("labels", ["a", "a"], "items 0 and 1 are equal, but items must be unique."),
        ("since", 5, "expected a string or null, got 5 (an integer)."),
        ("flag", 1, "expected a boolean, got 1 (an integer)."),
        ("flag", "true", "expected a boolean, got 'true' (a string); pass it without quotes."),
        ("owner", "abcdef", "allows at most 5 characters, got 6."),
        ("owner", "A", "'A' does not match the pattern '^[a-z]+$'."),
        ("pet", {"kind": "cow"}, "/kind: 'cow' is not one of ['cat', 'dog']."),
        ("pet", DOG, f"/barks: expected a boolean, got 'x' (a string) (as 'Dog', {CLOSEST})."),
        ("pet", {}, f"/kind: missing required property (as 'Cat', {CLOSEST})."),
        ("pet", [1], "expected an object, got [1] (an array)."),
        ("id", [1], "expected a string or an integer, got [1] (an array)."),
        ("colour", "pink", "'pink' is not one of ['red', 'blue']."),
        ("filter", {}, "needs at least 1 property, got 0."),
        ("filter", {"a": 1, "b": 2, "c": 3}, "allows at most 2 properties, got 3."),
        ("filter", {"x": 1}, "/y: required when 'x' is given."),
        ("filter", {"waytoolong": 1}, "/waytoolong: allows at most 4 characters, got 10."),
        (
            "other",
            {"not": "x"},
            f"/not: 'x' is not allowed: the schema excludes values that match {STRING}.",
        ),
        ("other", {"has": [2]}, "/has: needs at least 1 item matching {'const': 1}."),
        ("other", {"few": [1, 1]}, "/few: allows at most 1 item matching {'const': 1}."),
        ("other", {"both": "x"}, f"/both: {BOTH}"),
        ("other", {"if": "x"}, "/if: needs at least 2 characters, got 1."),
        ("other", {"const": 5}, "/const: expected {'a': 1}, got 5."),
        ("other", {"all": "ab"}, "/all: allows at most 1 character, got 2."),
        ("other", {"pair": ["a", 1]}, "/pair/1: is not allowed here; leave it out."),
        ("other", {"typed": 5}, "/typed: expected an object, got 5 (an integer)."),
        ("other", {"file": "hello"}, f"/file: {NO_FILE}"),
        ("other", {"files": ["hello"]}, f"/files/0: {NO_FILE}"),
        ("other", {"file": {"text": "a", "base64": "YQ=="}}, f"/file: {BOTH}"),
    ],
    ids=repr,
)
def test_a_refusal_says_where_what_was_given_and_what_is_allowed(name, value, expected):
    error = refusal(ISSUES, {"owner": "a", "repo": "b", name: value})

    message = f"/{name}{expected}" if expected.startswith("/") else f"/{name}: {expected}"
    assert str(error) == message
    assert error.pointer == message.partition(": ")[0]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"owner": "a"}, ["/repo: missing required argument."]),
        ({}, ["/owner: missing required argument.", "/repo: missing required argument."]),
        ({"owner": "", "repo": "b"},
         ["/owner: needs at least 1 character, got 0.",
          "/owner: '' does not match the pattern '^[a-z]+$'."]),
        ({"owner": "a", "repo": "b", "filter": {"a/b": "x", "old": 1}},
         ["/filter/a~1b: expected an integer, got 'x' (a string).",
          "/filter/old: is not allowed here; leave it out."]),
    ],
    ids=repr,
)  # fmt: skip
def test_each_fault_has_a_line(arguments, lines):
    error = refusal(ISSUES, arguments)

    assert str(error).splitlines() == lines
    assert error.pointer == lines[0].partition(": ")[0]


def test_unknown_names_inside_alternatives_are_compared_with_those_of_all_branches():
    branches = [{"properties": {"name": {}}}, {"properties": {"colour": {}}}]

    error = refusal({"allOf": branches, "unevaluatedProperties": False}, {"color": 1})

    message = "/color: unknown argument; did you mean 'colour'? Expected one of: name, colour."
    assert str(error) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("p_7", "did you mean 'p7' or 'p97' or 'p87'? 99 names are accepted."),
        ("q", "unknown argument; leave it out."),
    ],
)
def test_many_known_names_are_counted(name, message):
    properties = {f"p{i}": STRING for i in range(99)}

    error = refusal({"properties": properties, "additionalProperties": False}, {name: 1})

    assert str(error).endswith(message)


def test_at_most_five_faults_are_reported():
    schema = {"properties": {f"p{i}": STRING for i in range(9)}}

    error = refusal(schema, {f"p{i}": i for i in range(9)})

    assert len(str(error).splitlines()) == 6
    assert str(error).endswith("There are more errors.")


def test_what_was_given_is_shown_shortened():
    arguments = {
        "a": "x" * 10**6,
        "b": [list(range(100))] * 1000,
        "c": {f"k{i}": "v" * 1000 for i in range(1000)},
        "d": 10**300,
    }

    text = str(refusal({"properties": dict.fromkeys("abcd", BOOLEAN)}, arguments))

    assert len(text) < 1500
    assert "… 999 more" in text


# ---------------------------------------------------------------------------- schemas


def blow_up(levels):
    """Alternatives inside alternatives, all equal."""
    schema: dict[str, Any] = {"const": 1}
    for _ in range(levels):
        schema = {"oneOf": [schema, schema]}
    return schema


@pytest.mark.parametrize(
    "keyword",
    [
        *({"type": "file"}, {"type": ["string", "datetime"]}, {"multipleOf": 0}, {"not": "x"}),
        *({"pattern": "(?<name"}, {"pattern": "^(?!a)"}, {"pattern": r"[\w-.]"}),
        *({"minimum": "3"}, {"exclusiveMinimum": True}, {"maximum": math.nan}, {"maxLength": -1}),
        *({"required": True}, {"enum": "a"}, {"const": {1: 2}}),
        *({"oneOf": []}, {"anyOf": {}}, {"allOf": [None]}),
        *({"properties": None}, {"properties": {"x": None}}, {"properties": {5: {}}}),
        *({"items": [STRING]}, {"additionalProperties": "no"}, {"patternProperties": {"(": {}}}),
        *({"$ref": "#/$defs/nowhere"}, {"$ref": "file:///etc/passwd"}, {"$ref": "other.json#/a"}),
        *({"$ref": "http://127.0.0.1:1/schema.json"}, {"$id": "http://127.0.0.1:1/", "$ref": "x"}),
        *({"$ref": 5}, {"$dynamicRef": "#x"}),
    ],
    ids=lambda keyword: json.dumps(keyword, default=str)[:60],
)
def test_a_keyword_that_cannot_be_checked_is_left_out_and_noted(keyword):
    checker = Checker({"properties": {"a": keyword, "b": INTEGER}, "required": ["b"]})

    checker.check({"a": {"x": "y"}, "b": 1})
    with pytest.raises(InputError, match="/b: expected an integer"):
        checker.check({"a": {"x": "y"}, "b": "x"})

    assert checker.notes
    assert all(note.startswith("/properties/a") for note in checker.notes)


@pytest.mark.parametrize(
    "annotation",
    [
        *({"description": "\ud800"}, {"default": date(2020, 1, 1)}, {"example": math.nan}),
        *({"title": 5, "nullable": 3, "xml": [], "discriminator": 5}, {"format": "date-time"}),
        *({"$schema": "http://127.0.0.1:1/dialect"}, {"$id": "http://127.0.0.1:1/other"}),
    ],
    ids=lambda annotation: next(iter(annotation)),
)
def test_annotations_are_no_part_of_the_check(annotation):
    checker = Checker({"properties": {"a": {**STRING, **annotation}}, **annotation})

    checker.check({"a": "no date"})

    assert checker.notes == ()


NO_X = {"pattern": "^(?!x)"}
RIGHT = {
    "oneOf": ({"oneOf": [{**STRING, **NO_X}, {"pattern": "^x"}]}, "xy"),
    "not": ({"not": {**STRING, **NO_X}}, "xy"),
    "if": ({"if": NO_X, "then": False}, "xy"),
    "maxContains": ({"contains": NO_X, "maxContains": 0, "minContains": 0}, ["xy"]),
    "patternProperties": (
        {"patternProperties": {"^(?!y)": {}}, "additionalProperties": False},
        {"xy": 1},
    ),
    "prefixItems": ({"prefixItems": [], "items": False}, [1]),
    "reference": ({"oneOf": [{"$ref": "#/$defs/NoX"}, {"pattern": "^x"}]}, "xy"),
    "unevaluated": (
        {"allOf": [{"patternProperties": {"(": {}}}], "unevaluatedProperties": False},
        {"b": 1},
    ),
    "too large": (blow_up(25), 1),
}


@pytest.mark.untraced
@pytest.mark.parametrize(("schema", "value"), RIGHT.values(), ids=RIGHT)
def test_leaving_something_out_never_refuses_what_is_right(schema, value):
    checker = Checker({"properties": {"a": schema}, "$defs": {"NoX": {**STRING, **NO_X}}})

    checker.check({"a": value})

    assert checker.notes


def test_a_schema_nested_900_levels_is_checked_as_far_as_it_can_be():
    schema = STRING
    for _ in range(900):
        schema = {**ARRAY, "items": schema}
    checker = Checker({"properties": {"a": schema}})

    checker.check({"a": []})
    with pytest.raises(InputError, match="expected an array"):
        checker.check({"a": [[["x"]]]})

    assert "nested too deeply" in checker.notes[0]


def test_recursive_schemas_are_checked_to_the_depth_of_the_input():
    children = {**ARRAY, "items": {"$ref": "#/$defs/Tree"}}
    tree = {**OBJECT, "properties": {"value": INTEGER, "children": children}, "required": ["value"]}
    schema = {"properties": {"a": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}}

    def deep(value):
        return {"a": {"value": 1, "children": [{"value": 2, "children": [{"value": value}]}]}}

    Checker(schema).check(deep(3))

    assert refusal(schema, deep("x")).pointer == "/a/children/0/children/0/value"


def test_a_schema_that_only_leads_back_to_itself_asks_for_nothing():
    checker = Checker({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}})

    checker.check({"a": 1})
