"""What the harnesses found, one case each, as small as it became."""

from __future__ import annotations

import pytest
from fuzz.executing import check_call
from fuzz.inputs import Call, Reply, Strange

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
        "post_application_json_strict",
        {"body": {"value": 3, "tags": Strange("equal")}},
        OK,
    ),
    "a label of a space and nothing": Call("get_path_label_false_array_x", {"x": [" ", ""]}, OK),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_was_found(name):
    check_call(CALLS[name])
