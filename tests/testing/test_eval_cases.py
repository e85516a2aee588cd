"""Cases are read by their published schema, and every mistake in them has a place."""

import copy
import json

import jsonschema
import pytest
from doc_pages import ROOT
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools import load_tools
from openapi_tools.errors import InvalidCases, SourceError
from openapi_tools.testing.evaluation.case_tables import cases_schema
from openapi_tools.testing.evaluation.cases import read_cases, resolve_cases

EXAMPLES = ROOT / "docs" / "examples" / "eval"
SHOP = load_tools(EXAMPLES / "shop.yaml")
SCHEMA = json.loads((ROOT / "docs" / "eval-cases.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CASE = {
    "name": "order",
    "task": "Order two teas.",
    "expect": {
        "calls": [{"tool": "place_order", "arguments": {"note": "soon"}, "jmespath": "items"}],
        "order": "exact",
        "state": {"GET /orders": "length(@) == `1`"},
    },
    "forbid": {"tools": ["remove_*"], "writes": True, "calls": 3},
    "limits": {"turns": 4, "tokens": 4000},
    "approve": True,
}


def change_case(path, value):
    """Return the case with another value at a path; None removes it."""
    case = copy.deepcopy(CASE)
    node = case
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return case


def failure_of(case, toolset=SHOP):
    with pytest.raises(InvalidCases) as caught:
        resolve_cases(read_cases([case]), toolset)
    return caught.value


def test_the_published_schema_is_that_of_the_reader():
    assert cases_schema() == SCHEMA
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*-cases.yaml")), ids=lambda p: p.name)
def test_the_examples_are_read(path):
    assert read_cases(path).cases


SHAPES = {
    "a number for a name": (("name",), 5, "this must be a string."),
    "no task": (("task",), "", "at least 1 character"),
    "an unknown key": (("expct",), {}, "unknown key; did you mean expect?"),
    "an unknown key of a call": (
        ("expect", "calls", 0, "argument"), {}, "unknown key; did you mean arguments?"
    ),
    "an unknown key without a similar one": (
        ("limits", "zzz"), 1, "unknown key; expected one of turns, tokens."
    ),
    "an unknown order": (("expect", "order"), "some", "'any' or 'exact'"),
    "a string for a number": (("forbid", "calls"), "6", "integer"),
    "a boolean for a number": (("limits", "turns"), True, "integer"),
    "no turns": (("limits", "turns"), 0, "greater than or equal to 1"),
    "a string for a boolean": (("approve",), "yes", "true or false"),
    "an object for a list": (("forbid", "tools"), {}, "this must be an array."),
    "another request": (("expect", "state"), {"POST /orders": "@"}, "form 'GET /path'"),
    "a schema that is none": (("expect", "calls", 0, "schema"), 5, "JSON Schema"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), SHAPES.values(), ids=SHAPES)
def test_reader_and_schema_refuse_the_same(path, value, message):
    case = change_case(path, value)

    error = failure_of(case)

    assert message in error.reason
    assert error.pointer.startswith("/cases/0/" + "/".join(map(str, path)))
    assert not VALIDATOR.is_valid({"cases": [case]})


MEANINGS = {
    "JMESPath that ends": (("expect", "calls", 0, "jmespath"), "length(", "ends too early"),
    "a state that is no JMESPath": (("expect", "state"), {"GET /orders": "a b"}, "JMESPath"),
    "a schema of wrong keywords": (("expect", "calls", 0, "schema"), {"type": 5}, "JSON Schema"),
    "a schema of another file": (
        ("expect", "calls", 0, "schema"), {"$ref": "http://127.0.0.1:9/a"}, "not looked up"
    ),
    "an unknown tool": (
        ("expect", "calls", 0, "tool"), "place_odrer", "did you mean place_order"
    ),
    "an unknown forbidden tool": (("forbid", "tools"), ["remove_itm"], "did you mean remove_item?"),
    "an unknown argument": (
        ("expect", "calls", 0, "arguments"), {"itms": []}, "no such argument; did you mean items?"
    ),
    "expected and forbidden": (("forbid", "tools"), ["place_*"], "`forbid.tools` has 'place_*'"),
    "expected and a write": (("forbid", "writes"), False, "it writes"),
    "more expected than allowed": (("forbid", "calls"), 0, "0 calls allowed, but 1 are expected."),
}  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), MEANINGS.values(), ids=MEANINGS)
def test_what_no_schema_can_say_is_refused_with_its_place(path, value, message):
    case = change_case(path, value)

    error = failure_of(case)

    assert message in error.reason
    assert error.pointer.startswith("/cases/0/expect/" if path[0] == "expect" else "/cases/0/")
    assert VALIDATOR.is_valid({"cases": [case]})


def test_two_cases_of_one_name_are_refused():
    with pytest.raises(InvalidCases, match="#/cases/1/name: another case is called 'order'"):
        resolve_cases(read_cases([CASE, CASE]), SHOP)


FILES = {
    "empty.yaml": (b"", "empty"),
    "list.yaml": (b"- a\n", "a list at the top level, not an object with 'cases' in it"),
    "none.yaml": (b"cases: []\n", "cases.yaml#/cases: list should have at least 1 item"),
    "twice.yaml": (b"cases:\n- name: a\n  name: b\n  task: c\n", "duplicate key"),
    "broken.yaml": (b"cases: [", "not valid YAML"),
    "latin.yaml": (b"cases: \xff", "UTF-8"),
    "bomb.yaml": (b"a: &a [" + b"0," * 9_000 + b"]\nb: [" + b"*a," * 9_000 + b"]\n", ""),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_file_of_cases_is_refused(tmp_path, name):
    data, message = FILES[name]
    path = tmp_path / "cases.yaml"
    path.write_bytes(data)

    with pytest.raises(InvalidCases) as caught:
        read_cases(path)

    assert message in str(caught.value)
    assert caught.value.source == str(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        read_cases(tmp_path / "none.yaml")
    with pytest.raises(InvalidCases, match="not int"):
        read_cases(5)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(-2, 9) | st.sampled_from(["", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["tool", "calls", "GET /a", "a"]), inner, max_size=2)
    ),
    max_leaves=6,
)
PLACES = [
    ("name",), ("task",), ("expect",), ("forbid",), ("limits",), ("approve",),
    ("expect", "calls"), ("expect", "order"), ("expect", "state"), ("expect", "calls", 0, "tool"),
    ("expect", "calls", 0, "arguments"), ("forbid", "tools"), ("forbid", "writes"),
    ("forbid", "calls"), ("limits", "turns"), ("limits", "tokens"),
]  # fmt: skip


@given(st.sampled_from(PLACES), VALUES)
def test_the_reader_takes_what_the_schema_takes(path, value):
    case = change_case(path, value)
    try:
        read_cases([case])
    except InvalidCases:
        is_read = False
    else:
        is_read = True

    assert is_read == VALIDATOR.is_valid({"cases": [case]})
