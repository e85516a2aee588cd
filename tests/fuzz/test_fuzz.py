"""Any document, input and answer, within a budget of CPU, and what was found, case by case."""

import pytest
from fuzz.executing import EXECUTING, check_call
from fuzz.generating import GENERATING
from fuzz.inputs import SECRET, Call, Reply, Strange
from fuzz.loading import LOADING, check_load


def redirect(*places):
    return Reply(301, tuple(("location", place) for place in places), b"")


COOKIE = "get_cookie_cookie_false_array"
CALLS = {
    "a text that is another": Call("get_header_simple_true_free", {"x": Strange("word")}),
    "a label of a space and nothing": Call("get_path_label_false_array_x", {"x": [" ", ""]}),
    "a redirect to two places": Call(COOKIE, {"x": []}, redirect("", "/x")),
    "a redirect to a place below": Call(COOKIE, {"x": []}, redirect("x")),
    "a member that is a secret": Call("delete_free_a_b_json_x_c", {SECRET: Strange("bytes")}),
}


DOCUMENTS = {
    "a name that another one needs twice": b"""{"openapi": "3.1.0", "paths": {"/x": {"post": {
        "requestBody": {"content": {"application/json": {"schema": {
            "dependentRequired": {"a": ["b", "b"]}
        }}}}
    }}}}"""
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_was_found(name):
    check_load(DOCUMENTS[name])


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_was_found(name):
    check_call(CALLS[name])


@pytest.mark.untraced
@pytest.mark.long
@pytest.mark.parametrize("harness", [LOADING, EXECUTING, GENERATING], ids=lambda it: it.name)
def test_nothing_is_found_within_the_budget(harness):
    assert harness.spend() > 0
