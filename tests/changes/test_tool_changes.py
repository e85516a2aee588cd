"""What changed between two sets of tools, and what of it breaks a caller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openapi_tools.changes.tool_changes import (
    ToolChange,
    change_to_data,
    describe_change,
    find_changes,
)
from openapi_tools.codegen.package_data import ToolRecord, UnreadableTool
from openapi_tools.model import Operation, Parameter, Property, RequestBody, Server, ServerVariable

CLOSED = {"type": "object", "additionalProperties": False}
A, B = Server("https://a.example"), Server("https://b.example")


def tool(name="x", schema=None, **operation):
    fields = {"method": "GET", "path": f"/{name}", **operation}
    return ToolRecord(
        name, f"Does {name}.", CLOSED if schema is None else schema, Operation(**fields)
    )


def tools(*records):
    return {record.name: record for record in records}


def change(old, new):
    (difference,) = find_changes(tools(old), tools(new))
    return difference


def test_what_no_input_can_show_is_a_change_all_the_same():
    old = {"properties": {"a": {}, "b": {}}, "$defs": {"A": {}}}
    difference = change(
        tool(schema=old), tool(schema={"properties": {"b": {}, "a": {}}, "$defs": {}})
    )

    text = "only names of definitions or an order changed"
    assert difference == ToolChange("schema", "x", breaking=False, details=(text,))


def test_schemas_too_deep_to_be_written_count_as_changed():
    def deep(inner: Any) -> ToolRecord:
        for _ in range(3_000):
            inner = {"items": inner}
        return tool(schema=inner, path="/", operation_id="x")

    assert change(deep({}), deep({"type": "string"})).breaking
    assert change(deep({}), deep({})).breaking
    assert find_changes({"a": deep({})}, {"b": deep({})})[0].kind == "renamed"


def test_changes_stand_in_the_order_of_the_new_tools_and_what_is_gone_last():
    old = tools(tool("gone"), tool("c"), tool("b"), tool("a"))
    new = tools(
        replace(tool("b"), description="Other."),
        tool("new"),
        tool("a", {**CLOSED, "properties": {"p": {}}, "required": ["p"]}, method="POST"),
        tool("c"),
    )

    changes = find_changes(old, new)

    assert [(change.kind, change.tool, change.breaking) for change in changes] == [
        ("description", "b", False),
        ("added", "new", False),
        ("schema", "a", True),
        ("operation", "a", True),
        ("removed", "gone", True),
    ]


def test_a_tool_of_the_same_method_and_path_was_renamed_and_is_compared_further():
    old = tools(tool("a", path="/1"), tool("b", path="/2"))
    new = tools(tool("c", path="/2", deprecated=True), tool("a", path="/1"))

    changes = find_changes(old, new)

    assert change_to_data(changes[0])["before"] == "b"
    assert changes == [
        ToolChange("renamed", "c", breaking=True, before="b"),
        ToolChange(
            "description", "c", breaking=False, details=("was 'Does b.', is 'Does c.' now",)
        ),
        ToolChange(
            "operation", "c", breaking=False, details=("deprecated was False, is True now",)
        ),
    ]


def test_a_tool_of_the_same_id_and_schema_was_renamed_when_its_address_is_new():
    old = tools(tool("a", operation_id="get"), tool("b", operation_id="get"))
    new = tools(tool("c", {"type": "object"}, operation_id="get"), tool("d", operation_id="get"))

    changes = [(change.kind, change.tool, change.before) for change in find_changes(old, new)]

    assert ("renamed", "d", "a") in changes
    assert ("added", "c", "") in changes
    assert ("removed", "b", "") in changes


def test_one_tool_is_renamed_once_and_none_for_having_no_id():
    old, new = tools(tool("a", path="/1")), tools(tool("b", path="/1"), tool("c", path="/1"))

    changes = [(change.kind, change.tool) for change in find_changes(old, new)]
    other_changes = find_changes(tools(tool("a")), tools(tool("b")))

    assert changes == [("renamed", "b"), ("description", "b"), ("added", "c")]
    assert [change.kind for change in other_changes] == ["added", "removed"]
    assert find_changes(old, old) == []


def test_tools_that_cannot_be_read_are_distinguished_from_new_ones():
    fault = UnreadableTool("a value is not a literal (Call).", path="a/tools.py", line=3, tool="b")
    broken = UnreadableTool("this is no Python source.", path="a/tools_c.py")

    changes = find_changes(
        tools(tool("a")), tools(tool("a"), tool("b")), unreadable=[fault, broken]
    )

    assert [(change.kind, change.tool, change.breaking) for change in changes] == [
        ("unreadable", "b", True),
        ("unreadable", "a/tools_c.py", True),
    ]
    assert changes[0].details == ("a/tools.py:3: a value is not a literal (Call).",)


BODY = RequestBody("application/json", properties=(Property("a"),))
PLAIN = replace(BODY, media_type="text/plain")
Q, B_QUERY = Parameter("a", "query"), Parameter("b", "query")
NAMED = Parameter("b", "query", argument="a")
VARIABLE = replace(A, variables={"v": ServerVariable("x")})
TOKEN, SCOPED = {"token": ()}, {"oauth": ("read",)}


@pytest.mark.parametrize(
    ("field", "old", "new", "breaking", "detail"),
    [
        ("method", "PUT", "POST", False, "method was 'PUT', is 'POST' now"),
        ("path", None, "/y", False, "path was '/x', is '/y' now"),
        ("tags", None, ("x",), False, "tags was (), is ('x',) now"),
        ("deprecated", None, True, False, "deprecated was False, is True now"),
        ("body", None, BODY, False, "a body is sent now"),
        ("body", BODY, None, False, "no body is sent now"),
        ("body", BODY, PLAIN, False,
         "body: media type was 'application/json', is 'text/plain' now"),
        ("parameters", (Q,), (Parameter("a", "header"),), False,
         "parameter 'a': location was 'query', is 'header' now"),
        ("parameters", (Q,), (NAMED,), False, "parameter 'a': name was 'a', is 'b' now"),
        ("parameters", None, (Q,), False, "parameter 'a' (query) is new"),
        ("parameters", (Q,), None, False, "parameter 'a' (query) is gone"),
        ("parameters", (Q, B_QUERY), (B_QUERY, Q), False, "the order of the parameters changed"),
        ("servers", (A,), (B,), True, "server 'https://a.example' -> 'https://b.example'"),
        ("servers", (A,), (), True, "server 'https://a.example' is gone"),
        ("servers", (), (A,), True, "server 'https://a.example' is new"),
        ("servers", (A,), (A, B), False, "the alternatives to the server changed"),
        ("servers", (A,), (VARIABLE,), True, "server 'https://a.example': its variables changed"),
        ("security", None, (TOKEN,), True, "security was 'nothing', is 'token' now"),
        ("security", (TOKEN,), None, False, "security was 'token', is 'nothing' now"),
        ("security", (TOKEN,), (TOKEN, SCOPED), False,
         "security was 'token', is 'token, or oauth (read)' now"),
        ("security", (TOKEN, SCOPED), (TOKEN,), True,
         "security was 'token, or oauth (read)', is 'token' now"),
        ("security", (TOKEN, SCOPED), (SCOPED, TOKEN), False, "security was "),
        ("security", (TOKEN,), (TOKEN | SCOPED,), True, "is 'token + oauth (read)'"),
        ("security", (TOKEN | SCOPED,), (TOKEN,), False, "is 'token' now"),
        ("security", (SCOPED,), ({"oauth": ("read", "write")},), True,
         "is 'oauth (read, write)' now"),
        ("security", (), ({},), False, "security was 'nothing', is 'nothing' now"),
        ("security", (TOKEN, {}), (TOKEN,), True, "'token, or nothing'"),
    ],
)  # fmt: skip
def test_a_change_of_an_operation_says_what_it_was_and_is(field, old, new, breaking, detail):
    difference = change(
        *(tool(**({} if value is None else {field: value})) for value in (old, new))
    )

    assert (difference.kind, difference.breaking) == ("operation", breaking)
    assert detail in "\n".join(difference.details)


def test_breaking_details_come_first_and_many_are_counted():
    many = tuple(Parameter(f"p{number}", "query") for number in range(15))

    difference = change(tool(), tool(parameters=many, servers=(A,), deprecated=True))

    assert difference.details[0] == "server 'https://a.example' is new"
    assert len(difference.details) == 11
    assert difference.details[-1] == "and 7 more"
    properties = {f"p{number}": {} for number in range(150)}
    difference = change(tool(), tool(schema={**CLOSED, "properties": properties}))
    assert difference.details[-1] == "and many more"


@pytest.mark.parametrize("nasty", ["a\nb", "\u202e", "\x1b[31m", "\ud800", "x" * 1_000, "a\u2028b"])
def test_text_of_a_document_stays_short_and_on_its_line(nasty):
    schema = {**CLOSED, "properties": {nasty: {"enum": [nasty]}}}
    called = Operation(
        "GET",
        "/x",
        operation_id=nasty,
        servers=(Server(nasty),),
        parameters=(Parameter(nasty, nasty),),
        security=({nasty: (nasty,)},),
        body=RequestBody(nasty),
    )
    old, new = tool(), ToolRecord("x", nasty, schema, called)
    changes = [
        *find_changes({"x": old}, {"x": new}),
        *find_changes({"x": new}, {"x": old}),
        *find_changes({"x": new}, {nasty: replace(new, operation=Operation("GET", nasty))}),
    ]

    lines = [line for change in changes for line in describe_change(change).split("\n")]

    assert len(changes) > 6
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 250
