"""What a person reads before they decide about a call: every property, whatever is beside it."""

import json

import httpx
import pytest
from documents import document, operation, with_body
from mcp import Client
from mcp_api import Person
from tools.handlers import load_with_handler

from openapi_tools import Context, ToolCall, load_tools, require_approval
from openapi_tools.contracts.mcp import create_server
from openapi_tools.tools.guardrails import describe_question

PAYMENT = with_body({"type": "object", "additionalProperties": True})
SECRET = {"recipient": "CH93 0076 2011", "amount": 100}


def tool_for(paths=PAYMENT):
    tools, _ = load_with_handler(document(paths), lambda _: httpx.Response(200, json={}))
    return next(iter(tools))


def question_for(arguments, paths=PAYMENT):
    tool = tool_for(paths)
    return describe_question(tool, ToolCall(name=tool.name, arguments=arguments))


def deep(levels, value):
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "padding",
    [
        "x" * 5_562,
        "x" * 4_000_000,
        "\u202e\U0001f600" * 9_000,
        '", "recipient": "someone else", "amount": 1, "z": "' * 200,
        list(range(100_000)),
        [{"text": "y" * 3_000}] * 500,
        {f"k{n}": {"v": n} for n in range(5_000)},
        {"k" * 90_000 + str(n): n for n in range(50)},
        deep(39, "z" * 9_000),
        [[["w" * 9_000] * 9] * 9] * 9,
    ],
    ids=["text", "4 MB", "escapes", "imitation", "numbers", "objects", "properties", "keys",
         "depth", "arrays of arrays"],
)  # fmt: skip
@pytest.mark.untraced
@pytest.mark.parametrize("first", [True, False], ids=["in front", "behind"])
def test_no_value_hides_its_neighbours(padding, first):
    body = {"memo": padding, **SECRET} if first else {**SECRET, "memo": padding}

    question = question_for({"body": body})

    assert '"recipient": "CH93 0076 2011", "amount": 100' in question
    assert '"memo": ' in question
    assert question.isascii()
    assert len(question) < 6_000
    assert len(question.splitlines()) <= 3


async def test_a_person_over_mcp_reads_the_recipient_and_the_amount():
    toolset = load_tools(document(PAYMENT), base_url="http://api.example.com")
    toolset.add_input_guardrails([require_approval()])
    person = Person("decline")

    async with Client(create_server(toolset), elicitation_callback=person) as client:
        (tool,) = toolset
        await client.call_tool(tool.name, {"body": {"memo": "x" * 5_500, **SECRET}})

    assert '"recipient": "CH93 0076 2011", "amount": 100' in person.asked[0]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"memo": "x" * 5_562}, '"... (1,6'),
        ({"ids": list(range(2_000))}, "more items)]"),
        ({"k" * 5_000: 1}, '"... (4,940 more characters): 1'),
        ({"k" * 500 + "a": 1, "k" * 500 + "b": 2}, '"... (441 more characters, key 2): 2'),
        ({"n": 10**5_000}, '"n": (an integer of 16,610 bits)'),
        (deep(60, 1), "{... (1 property)}"),
    ],
    ids=["string", "array", "key", "similar keys", "large number", "depth"],
)
def test_a_mark_says_how_much_is_left_out(body, words):
    assert words in question_for({"body": body})


def test_properties_that_do_not_fit_are_named_and_counted():
    question = question_for({"body": {f"p{n:04}": "x" * 90 for n in range(1_000)}})

    first, last = question.index('"p0000"'), question.splitlines()[-1]
    assert first < question.index("more properties)}")
    assert last.startswith("  Not shown: /body/p00")
    left_out = last.count("/body/") + int(last.split(" and ")[1].split()[0])
    assert left_out == 1_000 - question.count('": "x')


def test_the_name_of_a_missing_property_cannot_end_the_list():
    body = {f"p{n:04}": "x" * 90 for n in range(60)}

    last = question_for({"body": {**body, "b.\nCall it? ": 1}}).splitlines()[-1]

    assert last.endswith('/body/p0059, "/body/b.\\nCall it? ".')


def test_undeclared_properties_come_last():
    schema = {"type": "object", "properties": {"recipient": {}, "amount": {}}}
    junk = {f"p{n:04}": "x" * 90 for n in range(1_000)}

    question = question_for({"body": junk | SECRET}, with_body({**schema, "minProperties": 1}))

    assert '{"recipient": "CH93 0076 2011", "amount": 100, "p0000"' in question


def test_the_address_of_a_call_cannot_continue_the_sentence():
    paths = {"/a)? It only reads. (" + "x" * 900: {"post": operation()}}

    first = question_for({}, paths).splitlines()[0]

    assert "(POST /a)?%20It%20only%20reads.%20(xxx" in first
    assert first.endswith("xxx... (734 more characters))?")


def test_a_secret_is_masked_before_it_is_cut():
    body = {"password": "swordfish", "nested": {"api_key": ["k1", "k2"]}, "url": "/x?token=t0ken"}

    assert question_for({"body": body}).endswith(
        '{"password": "***", "nested": {"api_key": "***"}, "url": "/x?token=***"}'
    )


@pytest.mark.parametrize("before", [0, 1_000, 3_800, 3_890, 8_000])
@pytest.mark.parametrize("key", [True, False], ids=["key", "value"])
async def test_no_part_of_a_known_secret_is_in_a_question(before, key):
    secret = "s3cr3t" * 40
    text = "x" * before + secret + "y" * 20_000
    body = {text: 1} if key else {"memo": text}

    async with load_tools(
        document(PAYMENT), credentials={"own": {"in": "header", "name": "X-Key", "value": secret}}
    ) as toolset:
        (tool,) = toolset
        question = describe_question(tool, ToolCall(name=tool.name, arguments={"body": body}))

    assert "s3cr" not in question
    assert "more characters)" in question


MEMO = {"memo": "x" * 50_000, **SECRET}
FIELDS = {
    "memo": {"type": "string"},
    "recipient": {"type": "string"},
    "amount": {"type": "integer"},
}


@pytest.mark.parametrize(
    ("kind", "schema", "arguments"),
    [
        ("application/json", {"additionalProperties": True}, {"body": MEMO}),
        ("application/x-www-form-urlencoded", {"properties": FIELDS}, MEMO),
        ("multipart/form-data", {"properties": FIELDS}, MEMO),
        ("application/xml", {}, {"body": "<memo>{memo}</memo><to>{recipient}</to>".format(**MEMO)}),
    ],
)
async def test_a_preview_keeps_each_property_of_a_long_body(kind, schema, arguments):
    seen = []
    paths = with_body({"type": "object", **schema}, kind=kind)

    async with load_tools(
        document(paths), base_url="http://api.example.com", approve=seen.append
    ) as toolset:
        (tool,) = toolset
        await tool.execute(arguments)

    assert "CH93" in seen[0].body
    assert "more characters)" in seen[0].body
    assert len(str(seen[0])) < 22_000


async def test_changes_that_are_too_many_are_named():
    old = {f"p{n:02}": n for n in range(60)}
    paths = {
        "/x": {
            "get": operation(operationId="get_x"),
            "patch": operation(
                operationId="patch_x",
                requestBody={"content": {"application/json": {"schema": {"type": "object"}}}},
            ),
        }
    }
    tools, _ = load_with_handler(document(paths), lambda _: httpx.Response(200, json=old))
    tools.add_input_guardrails([require_approval()])
    questions = []

    def approve(call):
        questions.append(describe_question(tools[call.name], call))
        return False

    new = {name: f"{value}" * 900 for name, value in old.items()}
    await tools.call("patch_x", {"body": new}, context=Context(approve=approve))

    lines = questions[0].splitlines()
    assert sum("becomes" in line for line in lines) == 20
    assert all(
        line.partition(":")[0] == f"  /p{n:02}"
        for n, line in enumerate(line for line in lines if "becomes" in line)
    )
    assert lines[-2].startswith("  and 40 more: /p20, /p21")
    assert lines[-2].endswith("/p39 and 20 more")


def test_an_excerpt_of_any_json_is_one_line_of_bounded_length():
    values = [None, True, 1.5, "", [], {}, [{}], {"": ""}, {"a": [[], {}]}, "\ud800", float("nan")]

    for value in [*values, values, {"all": values * 5_000}]:
        question = question_for({"body": {"value": value}})
        assert len(question.splitlines()) == 2
        assert len(question) < 4_500
    assert question_for({"body": {"v": [1, {"a": "b"}]}}).endswith(
        json.dumps({"v": [1, {"a": "b"}]})
    )
