"""Any document, input and answer, within a budget of CPU, and what was found, case by case."""

import pytest
from fuzz.executing import EXECUTING, check_call
from fuzz.generating import GENERATING
from fuzz.inputs import SECRET, Call, Reply, Strange
from fuzz.loading import LOADING, check_load

OK = Reply(200, (), b"")

CALLS = {
    "a class that raises when asked what it is": Call(
        "get_query_form_true_free", Strange("void"), OK
    ),
    "the same as an argument": Call("get_query_form_true_free", {"x": Strange("void")}, OK),
    "a dict whose methods raise": Call("get_query_form_true_free", Strange("loud"), OK),
    "a dict whose members never end": Call("post_application_json_free", Strange("endless"), OK),
    "a text that is another one when written": Call(
        "get_header_simple_true_free", {"x": Strange("word")}, OK
    ),
    "numbers whose hashes are equal": Call(
        "post_application_json_strict", {"body": {"value": 3, "tags": Strange("equal")}}, OK
    ),
    "a label of a space and nothing": Call("get_path_label_false_array_x", {"x": [" ", ""]}, OK),
    "a redirect to two places": Call("get_cookie_cookie_false_array", {"x": []},
                                     Reply(301, (("location", ""), ("location", "/x")), b"")),
    "a redirect to a place below": Call(
        "get_cookie_cookie_false_array", {"x": []}, Reply(301, (("location", "x"),), b"")
    ),
    "a member that is called as a secret": Call(
        "delete_free_a_b_json_x_c", {SECRET: Strange("bytes")}, OK
    ),
}  # fmt: skip


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
