"""Responses of the right size: compact, cut with a mark, and shaped by settings, tool and call."""

import json
import re
import time
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest
from documents import document, operation
from ticker import leaves_free

from openapi_tools import Context, Settings, load_tools
from openapi_tools.common.json_values import dump_json
from openapi_tools.contracts import langchain
from openapi_tools.model import AnswerShape
from openapi_tools.testing import mock_api


def toolset_of(body, *, media_type="application/json", schema=None, **settings):
    """Return tools whose API sends this body, JSON-native or bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    media = {"application/json": {"schema": schema}} if schema else {}
    responses = {"200": {"description": "", "content": media}}
    calls = {"get": "read", "post": "write"}
    item = {m: operation(operationId=name, responses=responses) for m, name in calls.items()}
    response = httpx.Response(200, headers={"content-type": media_type}, content=content)
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: response))
    chosen = Settings(base_url="http://answers.test", **settings)
    return load_tools(document({"/x": item}), client=client, settings=chosen)


async def read(body, **options):
    return await toolset_of(body, **options).call("read", {})


ITEMS = [{"id": number, "text": "x" * 200} for number in range(100)]


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (ITEMS, "application/json"),
        ({"total": 100, "items": ITEMS}, "application/json"),
        ({f"member {number}": "x" * 50 for number in range(500)}, "application/json"),
        (b"word " * 1000, "text/plain"),
        (b"word " * 10_000, "text/plain"),
        (b"\n".join(json.dumps(item).encode() for item in ITEMS), "application/x-ndjson"),
    ],
    ids=["list", "object with a list", "members", "text", "long text", "lines"],
)
async def test_a_cut_response_names_the_setting_and_stays_json(body, media_type):
    result = await read(body, media_type=media_type, max_output_chars=4000)

    assert result.success
    assert len(str(result)) <= 4000
    assert isinstance(result.output, str) or json.loads(str(result)) == result.output
    assert str(result).count("the limit is Settings(max_output_chars=4000)") == 1
    assert result.metadata["truncated"]["kept"] <= 4000


@pytest.mark.parametrize("length", [59_000, 61_000])
async def test_the_default_is_the_context_of_a_model(length):
    result = await read(["x" * length])

    assert ("truncated" in result.metadata) is (length > 60_000)
    assert len(str(result)) <= 60_000


async def test_what_fits_without_spaces_is_not_cut():
    value = list(range(1000))
    limit = len(dump_json(value))

    whole, cut = [await read(value, max_output_chars=most) for most in (limit, limit - 1)]

    assert len(json.dumps(value)) > limit
    assert (whole.output, "truncated" in whole.metadata) == (value, False)
    assert "truncated" in cut.metadata


USER = {"login": "ann", "url": "u", "avatar_url": "a", "node_id": "n", "site_admin": None}
ISSUE = {"id": 1, "html_url": "h", "title": "t", "user": USER, "assignee": None, "_links": {}}
DROP = ("*_url", "url", "node_id", "_links")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ISSUE),
        ({"nulls": True, "drop": (), "max_items": 0}, ISSUE),
        ({"drop": DROP}, {**dict.fromkeys(("id", "title", "user", "assignee"))} | {
            "id": 1, "title": "t", "user": {"login": "ann", "site_admin": None}}),
        ({"nulls": False, "drop": "[!t]*"}, {"title": "t"}),
        ({"nulls": False, "drop": DROP}, {"id": 1, "title": "t", "user": {"login": "ann"}}),
        ({"drop": ["TITLE", "use?", "*i*d*", "_links", "assignee"]},
         {"html_url": "h", "title": "t"}),
    ],
    ids=["defaults", "the defaults", "drop", "one pattern", "both", "case and wildcards"],
)  # fmt: skip
async def test_properties_are_left_out_at_any_depth(settings, expected):
    result = await read([ISSUE], **settings)

    assert result.output == [expected]
    assert ("shaped" in result.metadata) is (expected is not ISSUE)


async def test_what_is_left_out_is_counted():
    result = await read([ISSUE, ISSUE, ISSUE], drop=DROP, nulls=False, max_items=2)

    counts = {"dropped": 10, "nulls": 4, "items": 1}
    sizes = {"received": len(json.dumps([ISSUE] * 3)), "chars": len(str(result))}
    assert result.metadata["shaped"] == {**counts, **sizes}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([1, 2, 3], [1, 2, "… 1 of 3 items left out; max_items is 2"]),
        ([1, 2], [1, 2]),
        (
            {"items": [[1, 2, 3], [4]], "n": 2},
            {"items": [[1, 2, "… 1 of 3 items left out"], [4]], "n": 2, "…": "max_items is 2"},
        ),
        (7, 7),
    ],
)
async def test_lists_are_cut_with_the_count_of_the_others(body, expected):
    assert (await read(body, max_items=2)).output == expected


async def test_a_list_that_is_cut_twice_counts_all_of_its_items():
    output = (await read(ITEMS, max_items=50, max_output_chars=4000)).output

    left = 101 - len(output)
    limits = "the limit is Settings(max_output_chars=4000); max_items is 50"
    assert output[-1] == f"… {left} of 100 items left out; {limits}"
    assert output[:-1] == ITEMS[: len(output) - 1]


LEFT = "… 1 of 3 items left out"
PAIRS = [{"id": n, "user": {"name": f"n{n}"}, "label_url": "x"} for n in range(3)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[].id", [0, 1, 2]),
        ("[].{id: id, by: user.name}", [{"id": n, "by": f"n{n}"} for n in range(3)]),
        ("[?id > `1`] | [0]", PAIRS[2]),
        ("length(@)", 3),
        ("nothing", None),
        ("", PAIRS),
        ("sort_by(@, &id)[-1].user", {"name": "n2"}),
    ],
)
async def test_fields_choose_parts_of_a_response(expression, expected):
    result = await toolset_of(PAIRS).call("read", {}, fields=expression)

    assert (result.success, result.output) == (True, expected)
    shaping = result.metadata.get("shaped", {})
    assert shaping.get("fields", "") == expression


def shaped_tool(shape, body=PAIRS, **settings):
    """Return a toolset whose tool has a shape of its own, as a configuration gives it."""
    toolset = toolset_of(body, **settings)
    tool = toolset["read"]
    tool._operation = replace(tool.operation, answer=shape)
    return toolset


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [{"id": 0}, {"id": 1}, "… 1 of 3 items left out; max_items is 2"]),
        ({"max_items": 0}, [{"id": n} for n in range(3)]),
        ({"max_items": 0, "drop": []}, [{"id": n, "label_url": "x"} for n in range(3)]),
        ({"max_items": 0, "drop": "*", "nulls": True}, [{}, {}, {}]),
        ({"fields": "[].id"}, [0, 1, f"{LEFT}; fields selects parts; max_items is 2"]),
        ({"fields": ""}, None),
        (AnswerShape(fields="[0]", drop=("*_url",)), {"id": 0, "user": {"name": "n0"}}),
    ],
    ids=["none", "no limit", "nothing dropped", "all dropped", "fields", "whole", "a shape"],
)  # fmt: skip
async def test_a_call_counts_before_the_tool_and_the_tool_before_the_settings(options, expected):
    shape = AnswerShape(max_items=2, fields="[].{id: id, label_url: label_url}")
    toolset = shaped_tool(shape, drop="*_url", max_items=1)

    result = await toolset["read"].execute({}, context={"answer": options})

    if expected is None:
        items = [{name: pair[name] for name in ("id", "user")} for pair in PAIRS[:2]]
        expected = [*items, f"{LEFT}; fields selects parts; max_items is 2"]
    assert result.output == expected


@pytest.mark.parametrize("context", [{"fields": "[0].id"}, Context(fields="[0].id")])
async def test_fields_may_come_in_the_context_of_a_call(context):
    toolset = toolset_of(PAIRS)

    assert (await toolset["read"].execute({}, context=context)).output == 0
    assert (await toolset.call("read", {}, context=context, fields="[1].id")).output == 1
    assert (await toolset.call("read", {}, context={"state": 1}, fields="[1].id")).output == 1


async def test_the_context_of_another_library_may_use_these_names_for_other_things():
    context = SimpleNamespace(fields=["a"], answer=lambda: None)

    assert (await toolset_of(PAIRS)["read"].execute({}, context=context)).output == PAIRS


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"fields": "[].("}, "fields: the JMESPath '[].(' cannot be read at column 4."),
        ({"fields": "[].{id: id"}, "fields: the JMESPath '[].{id: id' ends too early."),
        ({"fields": 7}, "fields: input should be a valid string."),
        ({"fields": "[" * 500 + "]" * 500}, "fields: the JMESPath .* cannot be read"),
        ({"fields": "!" * 150 + "a"}, "fields: the JMESPath .* is nested deeper than 100 levels."),
        ({"fields": "a." * 6000 + "a"}, "has 12001 characters; 2000 are allowed."),
        (
            {"fields": "sortby(@, &a)"},
            r"calls sortby\(\), which does not exist; did you mean sort_by",
        ),
        ({"fields": "sort_by(@)"}, r"passes 1 argument to sort_by\(\), which takes 2."),
        ({"fields": "sort_by(@, a)"}, r"passes sort_by\(\) an expression with & where"),
        ({"fields": "[::0]"}, "has a slice with the step 0."),
        ({"answer": 7}, "answer: expected an AnswerShape or a mapping, got int."),
        ({"answer": {"field": "a"}}, "answer: unknown key 'field'; did you mean fields?"),
        ({"answer": {"drop": [""]}}, "drop: string should have at least 1 character."),
        ({"answer": {"max_items": -1}}, "max_items: input should be greater than or equal to 0."),
        ({"answer": {"max_chars": 5}}, "max_chars: input should be greater than or equal to 100."),
        ({"answer": {"nulls": "so"}}, "nulls: input should be a valid boolean"),
    ],
)
async def test_a_wrong_shape_is_an_error_before_anything_is_sent(context, message):
    result = await toolset_of(PAIRS)["write"].execute({}, context=context)

    assert (result.success, result.error["type"]) == (False, "invalid_input")
    assert re.search(
        message if "\\" in message or "*" in message else re.escape(message), str(result)
    )
    assert not result.metadata


DOUBLED = "|".join(["[@,@]"] * 90)
HUGE = [
    DOUBLED,
    f"{DOUBLED}|to_string(@)",
    f"{DOUBLED}|contains(@, 'a')",
    "|".join(["[@,@][]"] * 40),
    "|".join(["[@,@][].[@,@][]"] * 20),
    f"({DOUBLED}) == ({DOUBLED})",
    "|".join(["[to_string(@),to_string(@)]|join('',@)"] * 40),
]


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.parametrize("expression", HUGE, ids=range(len(HUGE)))
async def test_work_that_grows_is_ended_and_the_response_kept(expression):
    started = time.process_time()

    result = await toolset_of(PAIRS).call("write", {}, fields=expression)

    assert time.process_time() - started < 10
    assert (result.success, result.output) == (True, PAIRS)
    assert (
        "could not be applied, so the whole response is returned: the work exceeds"
        in result.header_note
    )


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("abs(@)", "abs() takes number, not array"),
        ("[0].join(', ', [user, user])", "join() takes array-string, not dict"),
        ("to_number('nan')", "a value is not JSON"),
        ("to_number('1e999')", "a value is not JSON"),
        ("ceil(to_number('inf'))", "a function failed (OverflowError)"),
        ("'\u0000'", None),
        (r"""`"\u0001"`""", "a string has control characters"),
        (r"""`"\ud800"`""", "a string has control characters"),
        ("&id", "a value is not JSON"),
        ("sort_by(@, &user)", "sort_by() takes string or number, not object"),
    ],
)
async def test_fields_that_fail_keep_the_response_of_a_call_that_was_made(expression, why):
    result = await toolset_of(PAIRS).call("write", {}, fields=expression)

    assert result.success
    if why is not None:
        assert result.output == PAIRS
        assert result.header_note.endswith(f"the whole response is returned: {why}")
    json.dumps(result.model_dump(), allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("media_type", ["text/plain", "image/png", "application/octet-stream"])
async def test_responses_that_are_not_json_stay_whole(media_type):
    toolset = toolset_of(b"hello", media_type=media_type, drop="*", nulls=False, max_items=1)

    plain, chosen = await toolset.call("read", {}), await toolset.call("read", {}, fields="a")

    assert (chosen.output, plain.header_note) == (plain.output, "")
    assert chosen.header_note == "fields selects parts of JSON, but the response is not JSON"
    assert "shaped" not in chosen.metadata


@pytest.mark.parametrize(
    ("media_type", "body", "expression"),
    [
        ("application/x-ndjson", b'{"a": 1, "b_url": 2}\n{"a": 3}', "[].a"),
        ("application/json-seq", b'\x1e{"a": 1}\n\x1e{"a": 3}\n', "[].a"),
        ("text/event-stream", b'data: {"a": 1}\n\ndata: {"a": 3}\n\n', "[].data.a"),
        ("application/problem+json", b'[{"a": 1}, {"a": 3}]', "[].a"),
        ("", b'[{"a": 1}, {"a": 3}]', "[].a"),
    ],
)
async def test_lines_and_events_are_shaped_like_json(media_type, body, expression):
    result = await toolset_of(body, media_type=media_type).call("read", {}, fields=expression)

    assert result.output == [1, 3]


async def test_error_responses_stay_whole():
    body = {"message": "no", "docs_url": "u", "errors": [1, 2, 3], "x": None}
    root = document({"/x": {"get": operation(operationId="read")}})
    settings = Settings(drop="*", nulls=False, max_items=1)
    client = mock_api(root, responses={"read": (422, body)}).client()
    toolset = load_tools(root, client=client, settings=settings)

    result = await toolset.call("read", {}, fields="x")

    assert result.error["body"] == body


async def test_secrets_are_masked_before_parts_are_chosen():
    toolset = load_tools(
        document({"/x": {"get": operation(operationId="read")}}),
        client=httpx.AsyncClient(
            transport=httpx.MockTransport(
                lambda request: httpx.Response(200, json={"said": request.headers["x-key"]})
            )
        ),
        credentials={"own": {"in": "header", "name": "x-key", "value": "shaped-hunter-51"}},
        settings=Settings(base_url="http://answers.test"),
    )

    result = await toolset.call("read", {}, fields="join('', [said, 'x'])")

    assert result.output == "***x"


@pytest.mark.long
async def test_large_responses_leave_the_event_loop_free():
    items = [{"id": n, "a_url": "x" * 50, "b": None, "c": {"d": [1, 2, 3]}} for n in range(20_000)]
    shape = {"fields": "[?id > `10`].{id: id, c: c.d, u: a_url}", "max_items": 100}

    def attempt():
        tool = shaped_tool(AnswerShape(**shape), items, drop="*_url", timeout=60)["read"]
        return tool, lambda result: counts.append(result.metadata["shaped"]["items"])

    counts = []
    await leaves_free(attempt)

    assert set(counts) == {20_000 - 11 - 100}


async def test_the_context_of_a_call_reaches_a_response_through_langchain():
    (tool, _) = langchain.to_structured_tools(toolset_of(PAIRS), context={"fields": "[].id"})

    message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": "read", "args": {}})

    assert message.content == "[0,1,2]"


async def test_parts_of_a_beginning_are_marked_as_such():
    toolset = toolset_of([1] * 300_000, max_output_chars=1000)

    result = await toolset.call("read", {}, fields="length(@)")

    assert result.output < 300_000
    assert result.header_note == "fields was applied only to the beginning of the response"


@pytest.mark.parametrize("expression", ["@", "[]", "to_string(@)", "{a: {b: @}}", "[[@]]"])
async def test_a_deep_response_can_be_chosen_from(expression):
    result = await toolset_of(b"[" * 190 + b"]" * 190).call("read", {}, fields=expression)

    assert (result.success, result.header_note) == (True, "")
    assert "[[[[" in str(result)
