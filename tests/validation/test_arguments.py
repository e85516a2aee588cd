"""The model's input: what is taken, what is refused, and how a refusal reads."""

from __future__ import annotations

import copy
import json
import math
import time
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
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from openapi_tools.errors import InputError
from openapi_tools.requests.body import file_schema
from openapi_tools.settings import Settings
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.tool_input import accept, call_id_of

pytestmark = pytest.mark.untraced

SETTINGS = Settings()

ISSUES = {
    "type": "object",
    "properties": {
        "owner": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
        "repo": {"type": "string"},
        "state": {"type": "string", "enum": ["open", "closed", "all"]},
        "per_page": {"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 5},
        "score": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "labels": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 2,
            "uniqueItems": True,
        },
        "since": {"type": ["string", "null"]},
        "flag": {"type": "boolean"},
        "pet": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
        "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "colour": {"anyOf": [{"enum": ["red"]}, {"const": "blue"}]},
        "filter": {
            "type": "object",
            "properties": {"a/b": {"type": "integer"}, "old": False},
            "minProperties": 1,
            "maxProperties": 2,
            "dependentRequired": {"x": ["y"]},
            "propertyNames": {"maxLength": 4},
        },
    },
    "required": ["owner", "repo"],
    "additionalProperties": False,
    "$defs": {
        "Cat": {
            "type": "object",
            "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
            "required": ["kind"],
        },
        "Dog": {
            "type": "object",
            "properties": {"kind": {"const": "dog"}, "barks": {"type": "boolean"}},
            "required": ["kind"],
        },
    },
}


CLOSEST = "the closest of 2 alternatives"
DOG = {"kind": "dog", "barks": "x"}
KNOWN = ", ".join(map(repr, ISSUES["properties"]))


def blow_up(levels):
    """Alternatives inside alternatives, all equal."""
    schema: dict[str, Any] = {"const": 1}
    for _ in range(levels):
        schema = {"oneOf": [schema, schema]}
    return {"properties": {"a": schema}}


def refusal(schema, arguments):
    with pytest.raises(InputError) as caught:
        Checker(schema).check(arguments)
    return caught.value


def nested(depth):
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def circular():
    value: list[Any] = []
    value.append(value)
    return value


def test_input_is_copied_and_its_call_id_taken_out():
    given_input = {"a": {"b": [1, {"c": None}]}, "_tool_call_id": "call-1"}
    before = copy.deepcopy(given_input)

    arguments, call_id = accept(given_input, SETTINGS), call_id_of(given_input)

    assert (arguments, call_id) == ({"a": {"b": [1, {"c": None}]}}, "call-1")
    assert given_input == before
    assert arguments["a"] is not given_input["a"]
    assert arguments["a"]["b"][1] is not given_input["a"]["b"][1]


@pytest.mark.parametrize(
    ("call_id", "expected"),
    [("x", "x"), (5, "5"), (None, ""), (True, ""), ([1], ""), ({}, ""), ("h" * 10**6, "h" * 10**6)],
    ids=["text", "number", "null", "boolean", "list", "object", "huge"],
)
def test_any_call_id_is_taken_out(call_id, expected):
    given_input = {"_tool_call_id": call_id}

    assert accept(given_input, SETTINGS) == {}
    assert call_id_of(given_input) == expected


def test_a_call_id_further_inside_is_an_argument():
    assert accept({"a": {"_tool_call_id": 1}}, SETTINGS) == {"a": {"_tool_call_id": 1}}


@pytest.mark.parametrize(
    ("given_input", "named"),
    [
        (None, "null"),
        ([1], "an array"),
        ("{}", "a string"),
        (5, "an integer"),
        (object(), "the type object"),
        ("x" * 10**6, "a string"),
        (10**5000, "a number too large for JSON"),
        (math.nan, "a number (nan)"),
        (nested(10_000), "an array"),
        (circular(), "an array"),
        ("\ud800", "\\ud800"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_input_that_is_no_object_is_refused(given_input, named):
    with pytest.raises(InputError, match="has to be an object") as caught:
        accept(given_input, SETTINGS)

    assert named in str(caught.value)
    assert len(str(caught.value)) < 300
    str(caught.value).encode()


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
        ({1: 2}, "/a/(int)", "has to be a string"),
        ({10**5000: 2}, "/a/(int)", "has to be a string"),
        ([b"abc"], "/a/0", "base64"),
        (bytearray(b"abc"), "/a", "base64"),
        (object(), "/a", "type object"),
        (nested(10_000), None, "nested deeper than 100"),
        (circular(), None, "nested deeper than 100"),
        ("x" * 5_000_000, "", "too large"),
        (["x" * 1000] * 5_000, "/a", "too large"),
        ([{}] * 260_000, "/a", "over 250,000 values"),
        ({str(number): 1 for number in range(260_000)}, "/a", "over 250,000 values"),
    ],
    ids=lambda value: None,
)
def test_what_json_cannot_say_is_refused(value, pointer, reason):
    with pytest.raises(InputError, match=reason) as caught:
        accept({"a": value}, SETTINGS)

    assert pointer is None or caught.value.pointer == pointer
    str(caught.value).encode()
    assert len(caught.value.reason) < 300


class Colour(Enum):
    """Its values are what counts."""

    RED = "red"


class Word(StrEnum):
    """A string of its own type."""

    GO = "go"


class Level(IntEnum):
    """A number of its own type."""

    HIGH = 3


class Pet(BaseModel):
    """As frameworks hand over."""

    name: str
    born: date


@dataclass
class Point:
    """As frameworks hand over."""

    x: int
    y: float


class Text(str):
    """A string of its own type."""

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
def test_python_values_become_json_by_rule(value, expected):
    arguments = accept({"a": value}, SETTINGS)

    assert arguments == {"a": expected}
    assert type(arguments["a"]) in (dict, list, str, int, float)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**1000), 2**1000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.long
@given(st.dictionaries(st.text().filter(lambda name: name != "_tool_call_id"), JSON_VALUES))
def test_json_is_taken_as_it_is(given_input):
    arguments, call_id = accept(given_input, SETTINGS), call_id_of(given_input)

    assert (arguments, call_id) == (given_input, "")
    assert json.dumps(arguments) == json.dumps(given_input)


PYTHON_VALUES = st.recursive(
    JSON_VALUES
    | st.floats()
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.uuids()
    | st.text(st.characters()),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.integers() | st.text(st.characters()), inner)
    ),
    max_leaves=10,
)


@given(PYTHON_VALUES)
def test_whatever_is_taken_can_be_written_as_json(value):
    try:
        outcome: Any = accept({"a": value}, SETTINGS)
    except InputError as error:
        outcome = [error.pointer, str(error)]

    json.dumps(outcome, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("state", "merged", "'merged' is not one of ['open', 'closed', 'all']."),
        ("stat", "open", f"is not known here; did you mean 'state'? Known: {KNOWN}."),
        ("per_page", "10", "expected an integer, got '10' (a string); give it without quotes."),
        ("per_page", "ten", "expected an integer, got 'ten' (a string)."),
        ("per_page", True, "expected an integer, got true (a boolean)."),
        ("per_page", 1.5, "expected an integer, got 1.5 (a number)."),
        ("per_page", None, "expected an integer, got null."),
        ("per_page", 0, "0 is out of range, at least 1 is allowed."),
        ("per_page", 105, "105 is out of range, at most 100 is allowed."),
        ("per_page", 7, "7 is not a multiple of 5."),
        ("score", 0, "0 is out of range, more than 0 is allowed."),
        ("score", 1, "1 is out of range, less than 1 is allowed."),
        ("labels", {"a": 1}, "expected an array, got {'a': 1} (an object)."),
        ("labels", [1], "/0: expected a string, got 1 (an integer)."),
        ("labels", [], "has 0 items, at least 1 allowed."),
        ("labels", ["a", "b", "c"], "has 3 items, at most 2 allowed."),
        ("labels", ["a", "a"], "items 0 and 1 are equal, all have to differ."),
        ("since", 5, "expected a string or null, got 5 (an integer)."),
        ("flag", 1, "expected a boolean, got 1 (an integer)."),
        ("flag", "true", "expected a boolean, got 'true' (a string); give it without quotes."),
        ("owner", "abcdef", "has 6 characters, at most 5 allowed."),
        ("owner", "A", "'A' does not match the pattern '^[a-z]+$'."),
        ("pet", {"kind": "cow"}, "/kind: 'cow' is not one of ['cat', 'dog']."),
        ("pet", DOG, f"/barks: expected a boolean, got 'x' (a string) (as 'Dog', {CLOSEST})."),
        ("pet", {}, f"/kind: required but not given (as 'Cat', {CLOSEST})."),
        ("pet", [1], "expected an object, got [1] (an array)."),
        ("id", [1], "expected a string or an integer, got [1] (an array)."),
        ("colour", "pink", "'pink' is not one of ['red', 'blue']."),
        ("filter", {}, "has 0 members, at least 1 allowed."),
        ("filter", {"a": 1, "b": 2, "c": 3}, "has 3 members, at most 2 allowed."),
        ("filter", {"x": 1}, "/y: required when 'x' is given."),
        ("filter", {"waytoolong": 1}, "/waytoolong: has 10 characters, at most 4 allowed."),
    ],
    ids=repr,
)
def test_a_refusal_says_where_what_was_given_and_what_is_allowed(name, value, told):
    error = refusal(ISSUES, {"owner": "a", "repo": "b", name: value})

    said = f"/{name}{told}" if told.startswith("/") else f"/{name}: {told}"
    assert str(error) == said
    assert error.pointer == said.partition(": ")[0]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"owner": "a"}, ["/repo: required but not given."]),
        ({}, ["/owner: required but not given.", "/repo: required but not given."]),
        (
            {"owner": "", "repo": "b"},
            [
                "/owner: has 0 characters, at least 1 allowed.",
                "/owner: '' does not match the pattern '^[a-z]+$'.",
            ],
        ),
        (
            {"owner": "a", "repo": "b", "filter": {"a/b": "x", "old": 1}},
            [
                "/filter/a~1b: expected an integer, got 'x' (a string).",
                "/filter/old: is not allowed here; leave it out.",
            ],
        ),
    ],
    ids=repr,
)
def test_each_fault_has_a_line(arguments, lines):
    error = refusal(ISSUES, arguments)

    assert str(error).splitlines() == lines
    assert error.pointer == lines[0].partition(": ")[0]


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"not": {"type": "string"}}, "x", "'x' is not allowed: it fits {'type': 'string'}"),
        ({"contains": {"const": 1}}, [2], "needs 1 or more items that fit {'const': 1}"),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1],
         "at most 1 items may fit {'const': 1}"),
        ({"oneOf": [{"type": "string"}, {"maxLength": 3}]}, "x",
         "fits alternative 1 and alternative 2"),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "x", "has 1 characters"),
        ({"const": {"a": 1}}, 5, "5 is not {'a': 1}"),
        ({"allOf": [{"type": "string"}, {"maxLength": 1}]}, "ab", "has 2 characters"),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], "is not allowed here"),
    ],
    ids=["not", "contains", "maxContains", "oneOf", "if", "const", "allOf", "items"],
)  # fmt: skip
def test_every_keyword_has_its_sentence(schema, value, sentence):
    error = refusal({"type": "object", "properties": {"a": schema}}, {"a": value})

    assert error.pointer.startswith("/a")
    assert sentence in error.reason


NO_FILE = """expected an object, got 'hello' (a string); give {"text": …} or {"base64": …}."""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"file": "hello"}, f"/file: {NO_FILE}"),
        ({"files": ["hello"]}, f"/files/0: {NO_FILE}"),
        ({"file": {"text": "a", "base64": "YQ=="}}, "/file: fits alternative 1 and alternative 2"),
    ],
    ids=["string", "string in an array", "both"],
)
def test_what_is_no_file_is_told_what_one_looks_like(value, told):
    file = file_schema(SETTINGS)
    schema = {"properties": {"file": file, "files": {"type": "array", "items": file}}}

    with pytest.raises(InputError) as caught:
        Checker(schema).check(value)

    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_alternatives_are_not_looked_at_where_the_type_is_wrong():
    one = {"type": "object", "anyOf": [{"type": "string"}, {"type": "object", "maxProperties": 3}]}

    with pytest.raises(InputError) as caught:
        Checker({"properties": {"x": one}}).check({"x": 5})

    assert str(caught.value) == "/x: expected an object, got 5 (an integer)."


def test_unknown_names_inside_alternatives_are_compared_with_those_of_all_branches():
    schema = {
        "allOf": [{"properties": {"name": {}}}, {"properties": {"colour": {}}}],
        "unevaluatedProperties": False,
    }

    error = refusal(schema, {"color": 1})

    assert (
        str(error) == "/color: is not known here; did you mean 'colour'? Known: 'name', 'colour'."
    )


def test_at_most_five_faults_are_told():
    schema = {"properties": {f"p{i}": {"type": "string"} for i in range(9)}}

    error = refusal(schema, {f"p{i}": i for i in range(9)})

    assert len(str(error).splitlines()) == 6
    assert str(error).endswith("There is more.")


def test_what_was_given_is_shown_shortened():
    schema = {"properties": {name: {"type": "boolean"} for name in "abcd"}}
    given_input = {
        "a": "x" * 10**6,
        "b": [list(range(100))] * 1000,
        "c": {f"k{i}": "v" * 1000 for i in range(1000)},
        "d": 10**300,
    }

    text = str(refusal(schema, given_input))

    assert len(text) < 1500
    assert "… 999 more" in text


@pytest.mark.parametrize(
    "keyword",
    [
        {"type": "file"},
        {"type": ["string", "datetime"]},
        {"multipleOf": 0},
        {"pattern": "(?<name"},
        {"pattern": "^(?!a)"},
        {"pattern": r"[\w-.]"},
        {"minimum": "3"},
        {"exclusiveMinimum": True},
        {"required": True},
        {"enum": "a"},
        {"const": {1: 2}},
        {"maxLength": -1},
        {"maximum": math.nan},
        {"oneOf": []},
        {"anyOf": {}},
        {"allOf": [None]},
        {"properties": None},
        {"properties": {"x": None}},
        {"properties": {5: {}}},
        {"items": [{"type": "string"}]},
        {"additionalProperties": "no"},
        {"patternProperties": {"(": {}}},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "http://127.0.0.1:1/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json#/a"},
        {"$ref": 5},
        {"$dynamicRef": "#x"},
        {"$id": "http://127.0.0.1:1/", "$ref": "x"},
        {"not": "x"},
    ],
    ids=lambda keyword: json.dumps(keyword, default=str)[:60],
)
def test_a_keyword_that_cannot_be_checked_is_left_out_and_noted(keyword):
    schema = {"properties": {"a": keyword, "b": {"type": "integer"}}, "required": ["b"]}
    checker = Checker(schema)

    checker.check({"a": {"x": "y"}, "b": 1})
    with pytest.raises(InputError, match="/b: expected an integer"):
        checker.check({"a": {"x": "y"}, "b": "x"})

    assert checker.notes
    assert all(note.startswith("/properties/a") for note in checker.notes)


@pytest.mark.parametrize(
    "annotation",
    [
        {"description": "\ud800"},
        {"default": date(2020, 1, 1)},
        {"example": math.nan},
        {"title": 5, "nullable": 3, "xml": [], "discriminator": 5},
        {"$schema": "http://127.0.0.1:1/dialect"},
        {"$id": "http://127.0.0.1:1/other"},
        {"format": "date-time"},
    ],
    ids=lambda annotation: next(iter(annotation)),
)
def test_annotations_are_no_part_of_the_check(annotation):
    checker = Checker({"properties": {"a": {"type": "string", **annotation}}, **annotation})

    checker.check({"a": "no date"})

    assert checker.notes == ()


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"oneOf": [{"type": "string", "pattern": "^(?!x)"}, {"pattern": "^x"}]}, "xy"),
        ({"not": {"type": "string", "pattern": "^(?!x)"}}, "xy"),
        ({"if": {"pattern": "^(?!x)"}, "then": False}, "xy"),
        ({"contains": {"pattern": "^(?!x)"}, "maxContains": 0, "minContains": 0}, ["xy"]),
        ({"patternProperties": {"^(?!y)": {}}, "additionalProperties": False}, {"xy": 1}),
        ({"prefixItems": [], "items": False}, [1]),
        ({"oneOf": [{"$ref": "#/$defs/NoX"}, {"pattern": "^x"}]}, "xy"),
        ({"allOf": [{"patternProperties": {"(": {}}}], "unevaluatedProperties": False}, {"b": 1}),
        (blow_up(25)["properties"]["a"], 1),
    ],
    ids=[
        "oneOf",
        "not",
        "if",
        "maxContains",
        "patternProperties",
        "prefixItems",
        "reference",
        "unevaluated",
        "too large",
    ],
)
def test_leaving_something_out_never_refuses_what_is_right(schema, value):
    definitions = {"NoX": {"type": "string", "pattern": "^(?!x)"}}
    checker = Checker({"properties": {"a": schema}, "$defs": definitions})

    checker.check({"a": value})

    assert checker.notes


def test_a_schema_nested_900_levels_is_checked_as_far_as_it_can_be():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(900):
        schema = {"items": schema, "type": "array"}
    checker = Checker({"properties": {"a": schema}})

    checker.check({"a": nested(50)[0:0]})
    with pytest.raises(InputError, match="expected an array"):
        checker.check({"a": [[["x"]]]})

    assert "nested too deep" in checker.notes[0]


def blow_up_by_reference(levels):
    definitions: dict[str, Any] = {
        f"n{i}": {"anyOf": [{"$ref": f"#/$defs/n{i + 1}"}, {"$ref": f"#/$defs/n{i + 1}"}]}
        for i in range(levels)
    }
    definitions[f"n{levels}"] = {"const": 1}
    return {"properties": {"a": {"$ref": "#/$defs/n0"}}, "$defs": definitions}


def tangled():
    """Two alternatives that both lead deeper, so that each level of the input doubles the work."""
    node = {"$ref": "#/$defs/Node"}
    branches = [{"properties": {"next": node}, "required": [name]} for name in ("x", "y")]
    definitions = {"Node": {"oneOf": [*branches, {"type": "integer"}]}}
    return {"properties": {"a": node}, "$defs": definitions}


def chain(levels):
    value: Any = "end"
    for _ in range(levels):
        value = {"next": value}
    return value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (blow_up(13), 2),
        (blow_up_by_reference(12), 2),
        (tangled(), chain(25)),
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, "a" * 40 + "!"),
        ({"properties": {"a": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}}, "a" * 5_000),
        ({"properties": {"a": {"uniqueItems": True}}},
         [{"i": i, "x": [1, 2]} for i in range(2000)] + [{"i": 0, "x": [1, 2]}]),
        ({"properties": {"a": {"items": {"anyOf": [{"type": "string"}] * 50}}}},
         [{"i": i} for i in range(5000)]),
    ],
    ids=["oneOf", "references", "tangled", "pattern", "long pattern", "uniqueItems", "many items"],
)  # fmt: skip
def test_no_schema_makes_a_check_hang(schema, value):
    started = time.process_time()

    error = refusal(schema, {"a": value})

    assert time.process_time() - started < 5
    assert error.pointer.startswith("/a")
    assert len(str(error)) < 3000


def test_recursive_schemas_are_checked_to_the_depth_of_the_input():
    tree = {
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["value"],
    }
    checker = Checker({"properties": {"a": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}})

    checker.check({"a": {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}})
    with pytest.raises(InputError) as caught:
        checker.check({"a": {"value": 1, "children": [{"value": 2, "children": [{"value": "x"}]}]}})

    assert caught.value.pointer == "/a/children/0/children/0/value"


def test_a_schema_that_only_leads_back_to_itself_asks_for_nothing():
    checker = Checker({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}})

    checker.check({"a": 1})
