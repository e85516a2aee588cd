"""Styles: what a server decodes is what was given."""

import json
import re
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.errors import CallError
from openapi_tools.model import Parameter
from openapi_tools.requests.encoding import plain_text
from openapi_tools.requests.styles import header_text, path_text, query_pairs

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PRIMITIVES = TEXT | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)


def decoded(parameter, value):
    query = "&".join(f"{name}={text}" for name, text in query_pairs(parameter, value))
    return parse_qsl(query, keep_blank_values=True)


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
