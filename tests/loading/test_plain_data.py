"""A dict that a user gives is judged in bounded time, and never changed."""

import copy
import datetime as dt
import enum
import json
from collections import OrderedDict
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.plain_data import MAX_DEPTH, as_plain_data

pytestmark = pytest.mark.untraced


class Kind(enum.StrEnum):
    STRING = "string"


class Level(enum.IntEnum):
    HIGH = 3


class Words(str):
    __slots__ = ()


def refusal(value):
    with pytest.raises(InvalidDocument) as raised:
        as_plain_data(value, name="given")
    return str(raised.value)


def test_plain_data_is_given_back_itself():
    value = {"a": [1, 2.5, "x", True, None, {}], "b": {"c": [], 1: "x"}}
    del value["b"][1]  # a dict that had other keys once

    assert as_plain_data(value, name="") is value


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ({2: "x"}, {"2": "x"}),
        (dt.date(2020, 1, 31), "2020-01-31"),
        (("x",), ["x"]),
        (Kind.STRING, "string"),
    ],
)
@pytest.mark.parametrize("place", [0, 300, 999])
def test_one_odd_value_among_many_is_found(odd, expected, place):
    value = {"a": [{"b": [number]} for number in range(1000)]}
    value["a"][place] = {"b": [odd]}

    (result,) = as_plain_data(value, name="")["a"][place]["b"]

    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": MappingProxyType({"b": (1, 2)})}), {"a": {"b": [1, 2]}}),
        ({200: "ok"}, {"200": "ok"}),
        ({True: 1, None: 2, 1.5: 3}, {"true": 1, "null": 2, "1.5": 3}),
        ({"a": dt.date(2020, 1, 31)}, {"a": "2020-01-31"}),
        ({"a": dt.datetime(2020, 1, 31, 10, tzinfo=dt.UTC)}, {"a": "2020-01-31T10:00:00+00:00"}),
        ({dt.date(2020, 1, 31): 1}, {"2020-01-31": 1}),
        ({Words("a"): Words("b")}, {"a": "b"}),
        ({"type": Kind.STRING, "x": Level.HIGH}, {"type": "string", "x": 3}),
        ({"a": -0.0, "b": 10**100}, {"a": -0.0, "b": 10**100}),
    ],
    ids=[
        *("ordered", "frozen", "number keys", "other keys", "date", "time", "date key", "text"),
        *("enums", "numbers"),
    ],
)
def test_what_amounts_to_plain_data_becomes_it(value, expected):
    before = copy.deepcopy(value) if not isinstance(value, MappingProxyType) else None

    result = as_plain_data(value, name="")

    assert result == expected
    assert json.dumps(result) == json.dumps(expected)
    assert {type(item) for item in [*result, *result.values()]} <= {dict, list, str, int, float}
    assert before is None or before == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": [1, {2}]}, "given#/a/1: a value of type 'set'"),
        ({"a": b"x"}, "given#/a: a value of type 'bytes'"),
        ({"a": Decimal("1.5")}, "given#/a: a value of type 'Decimal'"),
        ({"a": print}, "given#/a: a value of type 'builtin_function_or_method'"),
        ({"a/b": {"~": float("nan")}}, "given#/a~1b/~0: a number that JSON does not have"),
        ({"a": float("-inf")}, "given#/a: a number that JSON does not have"),
        ({"a": 10**4300}, "given#/a: an integer of more than 4,300 digits"),
        ({"a": {(1, 2): 1}}, "given#/a: a key of type 'tuple'"),
        ({"a": {1: 1, "1": 2}}, "given#/a: two keys are both '1' as strings"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_what_json_does_not_have_is_refused_with_its_place(value, reason):
    assert refusal(value).startswith(reason)


def test_an_object_that_contains_itself_is_refused():
    cycle: dict[str, Any] = {"a": {"b": []}}
    cycle["a"]["b"].append(cycle)

    assert refusal(cycle).startswith("given#/a/b/0: an object that contains itself")


def nest(depth, bottom):
    value = bottom
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("bottom", ["x", (1,)], ids=["plain", "to be copied"])
def test_depth_is_bounded(bottom):
    most = MAX_DEPTH - (bottom == (1,))

    assert as_plain_data(nest(most, bottom), name="")
    assert "nested deeper than" in refusal(nest(most + 1, bottom))
    assert "nested deeper than" in refusal(nest(100_000, bottom))


def test_shared_objects_stay_shared():
    shared = {"type": "object", "x": (1,)}
    value = {"a": shared, "b": [shared, shared]}

    result = as_plain_data(value, name="")

    assert result == {"a": {"type": "object", "x": [1]}, "b": [{"type": "object", "x": [1]}] * 2}
    assert result["a"] is result["b"][0] is result["b"][1]


@pytest.mark.parametrize("bottom", ["x", (1,)], ids=["plain", "to be copied"])
def test_shared_objects_without_bound_are_refused_in_bounded_time(bottom):
    value = [bottom]
    for _ in range(60):
        value = [value, value]

    assert "more than 5,000,000 values" in refusal({"a": value})


def test_a_shared_object_is_too_deep_wherever_it_makes_the_whole_too_deep():
    shared = nest(MAX_DEPTH - 50, (1,))

    assert as_plain_data({"a": shared, "b": nest(40, shared)}, name="")
    assert "nested deeper than" in refusal({"a": shared, "b": nest(60, shared)})


def test_a_stack_that_is_full_already_is_a_typed_error():
    def called_from(depth):
        return called_from(depth - 1) if depth else refusal(nest(150, (1,)))

    assert "nested deeper than" in called_from(750)


@pytest.mark.long
@given(
    st.dictionaries(
        st.text() | st.integers() | st.booleans() | st.none(),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.binary(),
            lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        ),
    )
)
def test_any_mapping_ends_in_json_or_a_typed_error(value):
    try:
        result = as_plain_data(value, name="")
    except InvalidDocument:
        return

    assert json.loads(json.dumps(result, allow_nan=False)) == result
