"""The quick ways of usual calls end where the careful ones do."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools import InputError, Settings
from openapi_tools.model import Operation, Parameter
from openapi_tools.runtime.arguments import accept, accept_few, is_large
from openapi_tools.runtime.body import _quick_json
from openapi_tools.runtime.checking.few import MOST
from openapi_tools.runtime.checking.price import ANY_CHEAP
from openapi_tools.runtime.paths import WordPlaces, read_template
from openapi_tools.runtime.request import RequestPlan
from openapi_tools.runtime.text import json_bytes

SETTINGS = Settings()


class Name(str):
    """A string of a class of its own."""

    __slots__ = ()


NAMES = st.sampled_from(["a", "b", "_tool_call_id", "ü", "\ud800", 1, Name("a")]) | st.text()
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(
        [2**53, -(2**60), 1e-12, "\udfff", "ü" * 50, "x" * 25_000, b"", (1,), Name()]
    ),
    lambda inner: st.lists(inner, max_size=60) | st.dictionaries(NAMES, inner, max_size=8),
    max_leaves=60,
)


@given(st.dictionaries(NAMES, VALUES, max_size=6), st.sampled_from([10, 3_300, 4_000, 10**6]))
def test_a_few_plain_values_are_taken_as_any_others_are(values: dict[Any, Any], chars: int):
    settings = Settings(max_input_chars=chars)

    few = accept_few(values, settings)

    if few is not None:
        assert few == accept(values, settings)
        assert str(few) == str(accept(values, settings))  # 1 is not true, and order counts
        assert ANY_CHEAP.affords(few)
        assert not is_large(values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, True),
        (
            {"a": ["b", {"c": 1, "d": None, "e": 2.5, "f": True, "g": "ü"}], "_tool_call_id": "7"},
            True,
        ),
        ({"a": list(range(MOST + 1))}, False),
        ({"a": [[]] * 60}, False),
        ({"a": float("nan")}, False),
        ({"a": 2**53}, False),
        ({1: "a"}, False),
        ({"a": (1,)}, False),
        ({Name("a"): 1}, False),
        ({"a": Name("b")}, False),
        ({"a": "x" * 20_001}, False),
        ([], False),
        (None, False),
    ],
)
def test_most_inputs_are_a_few_plain_values(values: object, expected: bool):
    assert (accept_few(values, SETTINGS) is not None) is expected


def test_what_is_copied_is_not_shared():
    given_input: dict[str, Any] = {"a": {"b": [{"c": 1}]}, "_tool_call_id": "7"}

    few = accept_few(given_input, SETTINGS)

    assert few == {"a": {"b": [{"c": 1}]}}
    few["a"]["b"][0]["c"] = 2
    few["a"]["b"].append(3)
    assert given_input == {"a": {"b": [{"c": 1}]}, "_tool_call_id": "7"}


PATHS = (
    "/pets",
    "/pets/{a}",
    "/v1.0/{a}/x-{b}.json",
    "/{a}/{a}",
    "/./{a}",
    "/..;{a}",
    "/%2{a}",
    "/{a}?k={b}",
    "/{c}",
    "{a}",
    "/ä/{a}#x",
)
PARAMETERS = st.lists(
    st.builds(
        Parameter,
        st.sampled_from(["a", "b", "q[x]", "ü"]),
        st.sampled_from(["path", "query", "header", "cookie", "querystring"]),
        style=st.sampled_from(["", "form", "simple", "label", "matrix", "deepObject"]),
        media_type=st.sampled_from(["", "", "application/json"]),
        allow_reserved=st.booleans(),
        printed=st.booleans(),
    ),
    max_size=3,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "q[x]", "ü"]),
    st.sampled_from(["word", "e", "2", "", "a b", "..", "ü", 5, None, ["x", "y"], "w" * 70_000]),
    max_size=4,
)


@given(st.sampled_from(PATHS), PARAMETERS, ARGUMENTS)
def test_words_stand_where_anything_else_would_be_written(
    path: str, parameters: list[Parameter], arguments: dict[str, Any]
):
    operation = Operation("GET", path, parameters=tuple(parameters))
    settings = Settings(base_url="https://api.test/v1")
    quick, careful = RequestPlan(operation, settings), RequestPlan(operation, settings)
    careful._words = WordPlaces(Operation("GET", "/{none}"), read_template("/{none}"))

    def found(plan: RequestPlan) -> object:
        try:
            request = plan.build(arguments)
        except Exception as error:
            return type(error), str(error)
        return str(request.url), request.headers.raw

    assert found(quick) == found(careful)


def test_a_usual_path_is_filled_at_once():
    operation = Operation(
        "GET",
        "/v1.0/pets/{a}/x",
        parameters=(Parameter("a", "path"), Parameter("q[x]", "query"), Parameter("h", "header")),
    )
    words = WordPlaces(operation, read_template(operation.path))

    assert words.target({"a": "7", "q[x]": "open"}) == "/v1.0/pets/7/x?q%5Bx%5D=open"
    assert words.target({"a": "7"}) == "/v1.0/pets/7/x"
    assert words.target({"a": "7", "h": "x"}) is None
    assert words.target({"q[x]": "open"}) is None
    assert words.target({"a": "a b"}) is None


def test_what_a_client_adds_comes_last_and_only_where_it_is_missing():
    operation = Operation("POST", "/", parameters=(Parameter("X-A", "header"),))
    plan = RequestPlan(operation, Settings(base_url="https://api.test"))
    client = httpx.Headers({"x-a": "client", "Accept": "no", "content-length": "9", "X-B": "more"})

    lines = plan.build({"X-A": "own"}, defaults=client.raw).headers.raw

    assert lines[0] == (b"Host", b"api.test")
    assert lines[-3:] == [(b"X-A", b"own"), (b"Content-Length", b"0"), (b"X-B", b"more")]
    assert (b"Accept", b"no") not in lines


def test_a_value_that_does_not_fit_is_refused_either_way():
    with pytest.raises(InputError):
        accept({"a": "\ud800"}, SETTINGS)
    assert accept_few({"a": "\ud800"}, SETTINGS) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text('\x00\x1f\x7f"\\/\u2028\ud800é😀'),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
def test_json_is_the_same_bytes_however_it_is_written(value: Any):
    quick = _quick_json(value)

    if quick is not None:
        assert quick == json_bytes(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": ["ü", 1, 2**90, True, None, {}]}, True),
        ({"a": 1.5}, False),
        ({"a": "\ud800"}, False),
        ({"a": (1,)}, False),
        ({1: 2}, False),
        (list(range(300)), False),
    ],
)
def test_most_json_is_written_at_once(value: object, expected: bool):
    assert (_quick_json(value) is not None) is expected
