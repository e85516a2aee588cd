"""Styles: what a server decodes is what was given."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.errors import CallError
from openapi_tools.http_rules import has_dot_segment
from openapi_tools.model import Parameter
from openapi_tools.requests.encoding import plain_text
from openapi_tools.requests.styles import cookie_text, header_text, path_text, query_pairs

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PRIMITIVES = TEXT | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
OBJECTS = st.dictionaries(TEXT, PRIMITIVES, min_size=1, max_size=4)
ARRAYS = st.lists(PRIMITIVES, min_size=1, max_size=4)


def decoded(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    query = "&".join(f"{name}={text}" for name, text in query_pairs(parameter, value))
    return parse_qsl(query, keep_blank_values=True)


@given(TEXT, PRIMITIVES)
def test_a_primitive_in_a_query_is_decoded_to_its_text(name, value):
    assert decoded(Parameter(name, "query"), value) == [(name, plain_text(value))]


@given(ARRAYS)
def test_an_exploded_array_is_decoded_item_by_item(value):
    expected = [("x", plain_text(item)) for item in value]

    assert decoded(Parameter("x", "query"), value) == expected


@given(OBJECTS)
def test_an_exploded_object_is_decoded_member_by_member(value):
    expected = [(key, plain_text(member)) for key, member in value.items()]

    assert decoded(Parameter("x", "query"), value) == expected


@pytest.mark.parametrize("style", ["form", "spaceDelimited", "pipeDelimited"])
@given(value=ARRAYS)
def test_a_joined_array_splits_at_the_delimiter_before_decoding(style, value):
    delimiter = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}[style]
    value = [
        item.replace(" ", "").replace("|", "") if isinstance(item, str) else item for item in value
    ]

    [(_, text)] = query_pairs(Parameter("x", "query", style=style, explode=False), value)

    assert [unquote(item) for item in text.split(delimiter)] == [plain_text(v) for v in value]


NESTED = st.recursive(
    st.text("ab [].é&=", min_size=0, max_size=5),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.text("abc é&=", min_size=1, max_size=4), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def nested(pairs: list[tuple[str, str]]) -> Any:
    """Put `x[a][b]=1` pairs together as PHP and Rails do; numbered steps and `[]` make arrays."""
    whole: dict[str, Any] = {}
    for name, text in pairs:
        steps = re.findall(r"\[([^]]*)\]", name)
        here: Any = whole
        path = [name.partition("[")[0], *steps]
        for step in path[:-1]:
            here = here.setdefault(step, {})
        last = path[-1]
        here[str(len(here)) if last == "" else last] = text
    return _arrays(whole["x"])


def _arrays(value: Any) -> Any:
    if isinstance(value, str):
        return value
    members = {key: _arrays(member) for key, member in value.items()}
    return list(members.values()) if all(key.isdigit() for key in members) else members


@pytest.mark.parametrize("printed", [True, False])
@given(value=NESTED)
def test_a_deep_object_is_put_together_again(printed, value):
    pairs = decoded(Parameter("x", "query", style="deepObject", printed=printed), value)

    assert nested(pairs) == value


@pytest.mark.long
@given(st.recursive(PRIMITIVES | st.none(), lambda v: st.lists(v) | st.dictionaries(TEXT, v)))
def test_json_in_a_query_and_in_a_header_is_decoded_to_the_value(value):
    if value is None:
        return
    [(_, text)] = decoded(Parameter("x", "query", media_type="application/json"), value)
    header = header_text(Parameter("x", "header", media_type="application/json"), value)

    assert json.loads(text) == value
    assert json.loads(header or "") == value
    assert (header or "").isascii()


@given(PRIMITIVES)
def test_a_path_value_survives_unless_it_could_be_a_step(value):
    if isinstance(value, str) and has_dot_segment(value):
        return

    text = path_text(Parameter("x", "path"), value)

    assert unquote(text) == plain_text(value)
    assert not set(text) & set("/?#;&=+ ")


@given(PRIMITIVES)
def test_a_cookie_of_style_form_survives(value):
    text = cookie_text(Parameter("c", "cookie"), value)

    assert unquote(text.removeprefix("c=")) == plain_text(value)
    assert not set(text) & set('; ,"\\')


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_written_shortest_and_read_back(value):
    text = plain_text(value)

    assert float(text) == value
    assert not re.search(r"\.0$|e-0|E", text)


def test_an_object_in_a_media_type_that_is_only_text_is_an_error_that_names_it():
    parameter = Parameter("x", "query", media_type="application/xml")

    with pytest.raises(CallError, match=r"an object cannot be written as application/xml"):
        query_pairs(parameter, {"a": 1})


def test_an_unknown_style_is_written_as_the_one_that_fits_the_place():
    assert query_pairs(Parameter("x", "query", style="simple"), ["a", "b"]) == [("x", "a,b")]
    assert path_text(Parameter("x", "path", style="form", explode=False), ["a", "b"]) == "a,b"
