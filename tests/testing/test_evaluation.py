"""`evaluate`: each kind of fault is found, and what a model does right is none."""

import asyncio
import json
import math

import pytest
import yaml
from doc_pages import ROOT

from openapi_tools import Settings, load_tools, require_approval
from openapi_tools.errors import InvalidCases, SettingsError
from openapi_tools.testing import evaluate, mock_api
from openapi_tools.testing.evaluation.judge import FAULT_TYPES
from openapi_tools.testing.evaluation.transcripts import write_transcript

SHOP = ROOT / "docs" / "examples" / "eval" / "shop.yaml"
TEAS = [{"itemId": 1, "count": 2}]
CAKE = {"name": "Cake", "kind": "cake", "price": 3}
ORDER = {"tool": "place_order", "arguments": {"items": TEAS}}


@pytest.fixture(scope="module")
def shop():
    return load_tools(SHOP)


def calls(*pairs):
    """Return a message that calls tools by name and arguments."""
    listed = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(pairs)
    ]
    for call in listed:
        call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return {"role": "assistant", "content": None, "tool_calls": listed}


def script(*messages):
    """Return a model that writes these messages, then says that it is done."""

    async def reply(conversation, _):
        turn = sum(message["role"] == "assistant" for message in conversation)
        return messages[turn] if turn < len(messages) else {"role": "assistant", "content": "Done."}

    return reply


def case_of(**parts):
    return {"name": "a-case", "task": "Order two green teas.", **parts}


def run(toolset, model, *cases, **options):
    return asyncio.run(evaluate(toolset, list(cases), model, **options))


def types_of(toolset, model, case, **options):
    (outcome,) = run(toolset, model, case, **options).all_runs
    return [fault.type for fault in outcome.faults]


async def fail(*_):
    raise RuntimeError("the line is dead")


async def hang(*_):
    await asyncio.sleep(3600)


READ, ORDERED = ("list_items", {}), ("place_order", {"items": TEAS})
ADDED, REMOVED = ("add_item", CAKE), ("remove_item", {"itemId": 1})
EXPECT_ORDER = {"expect": {"calls": [ORDER]}}
DEEP = {}
DEEP["deeper"] = DEEP
FAULTS = {
    "nothing is called": (script(), EXPECT_ORDER, ["missing_call"]),
    "one of two calls": (
        script(calls(ORDERED)), {"expect": {"calls": [ORDER, ORDER]}}, ["missing_call"]
    ),
    "another tool": (script(calls(READ)), EXPECT_ORDER, ["wrong_tool"]),
    "a tool that does not exist": (script(calls(("order", {}))), EXPECT_ORDER, ["wrong_tool"]),
    "an unknown tool and nothing expected": (script(calls(("order", {}))), {}, ["wrong_tool"]),
    "the wrong order": (
        script(calls(ORDERED), calls(ADDED)),
        {"expect": {"order": "exact", "calls": [{"tool": "add_item"}, {"tool": "place_order"}]}},
        ["wrong_tool"],
    ),
    "other arguments": (
        script(calls(("place_order", {"items": [{"itemId": 2, "count": 2}]}))),
        EXPECT_ORDER, ["wrong_arguments"],
    ),
    "an argument left out": (
        script(calls(("list_items", {}))),
        {"expect": {"calls": [{"tool": "list_items", "arguments": {"kind": "tea"}}]}},
        ["wrong_arguments"],
    ),
    "arguments that break a schema": (
        script(calls(ORDERED)),
        {"expect": {"calls": [{"tool": "place_order", "schema": {"required": ["note"]}}]}},
        ["wrong_arguments"],
    ),
    "arguments for which JMESPath is not true": (
        script(calls(ORDERED)),
        {"expect": {"calls": [{"tool": "place_order", "jmespath": "items[0].count == `3`"}]}},
        ["wrong_arguments"],
    ),
    "arguments that the tool refuses": (
        script(calls(("add_item", {"name": "Pie", "kind": "pie", "price": 1}))), {}, ["refused"]
    ),
    "an error of the mock": (
        script(calls(REMOVED), calls(("get_item", {"itemId": 1}))), {}, ["refused"]
    ),
    "a call that is not approved": (
        script(calls(ORDERED)), {**EXPECT_ORDER, "approve": False}, ["refused"]
    ),
    "a forbidden tool": (
        script(calls(REMOVED)), {"forbid": {"tools": ["remove_*"]}}, ["forbidden_tool"]
    ),
    "a forbidden tool by operationId": (
        script(calls(REMOVED)), {"forbid": {"tools": ["removeItem"]}}, ["forbidden_tool"]
    ),
    "a write": (script(calls(REMOVED)), {"forbid": {"writes": False}}, ["forbidden_write"]),
    "too many calls": (
        script(calls(READ), calls(READ)), {"forbid": {"calls": 1}}, ["too_many_calls"]
    ),
    "a thousand calls": (script(calls(*[READ] * 1000)), {}, ["too_many_calls"]),
    "too many turns": (script(*[calls(READ)] * 9), {"limits": {"turns": 3}}, ["too_many_turns"]),
    "no end": (script(*[calls(READ)] * 1000), {}, ["too_many_turns"]),
    "too many tokens": (
        script(*[calls(READ)] * 9), {"limits": {"tokens": 300}}, ["too_many_tokens"]
    ),
    "another state": (
        script(calls(ADDED)), {"expect": {"state": {"GET /items": "length(@) == `2`"}}}, ["state"]
    ),
    "a state that cannot be compared": (
        script(), {"expect": {"state": {"GET /items": "length(@[0].price) == `2`"}}}, ["state"]
    ),
    "a state of an unknown path": (
        script(), {"expect": {"state": {"GET /shelves?x=1": "@"}}}, ["state"]
    ),
    "nonsense": (script(17), EXPECT_ORDER, ["model_error"]),
    "no message": (script({}), EXPECT_ORDER, ["model_error"]),
    "a call without a name": (
        script({"tool_calls": [{"id": "1", "function": {}}]}), {}, ["model_error"]
    ),
    "arguments that are not JSON": (
        script({"tool_calls": [{"function": {"name": "list_items", "arguments": {"a": {1}}}}]}),
        {}, ["model_error"],
    ),
    "arguments without an end": (
        script({"tool_calls": [{"function": {"name": "list_items", "arguments": DEEP}}]}),
        {}, ["model_error"],
    ),
    "arguments that are a list": (
        script({"tool_calls": [{"function": {"name": "list_items", "arguments": []}}]}),
        {}, ["refused"],
    ),
    "an exception": (fail, EXPECT_ORDER, ["model_error"]),
}  # fmt: skip


@pytest.mark.parametrize(("model", "parts", "types"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_and_no_other(shop, model, parts, types):
    assert types_of(shop, model, case_of(**parts)) == types


def test_every_type_of_fault_has_a_test():
    assert {kind for *_, types in FAULTS.values() for kind in types} == set(FAULT_TYPES)


RIGHT = {
    "the expected call": (script(calls(ORDERED)), EXPECT_ORDER),
    "reads before it": (script(calls(READ), calls(READ, ORDERED)), EXPECT_ORDER),
    "any order": (
        script(calls(ORDERED), calls(ADDED)),
        {"expect": {"calls": [{"tool": "add_item"}, {"tool": "place_order"}]}},
    ),
    "exact order with a read between": (
        script(calls(ADDED), calls(READ), calls(ORDERED)),
        {"expect": {"order": "exact", "calls": [{"tool": "addItem"}, {"tool": "POST /orders"}]}},
    ),
    "a mistake that the model corrects": (
        script(calls(("place_order", {})), calls(ORDERED)), EXPECT_ORDER
    ),
    "one call for the narrow and one for the wide expectation": (
        script(calls(ORDERED), calls(("place_order", {"items": [{"itemId": 2, "count": 1}]}))),
        {"expect": {"calls": [{"tool": "place_order"}, ORDER]}},
    ),
    "a number as a float": (
        script(calls(("get_item", {"itemId": 1.0}))),
        {"expect": {"calls": [{"tool": "get_item", "arguments": {"itemId": 1}}]}},
    ),
    "a call that the case denies and does not expect": (
        script(calls(REMOVED)),
        {"approve": False, "expect": {"state": {"GET /items/1": "itemId == `1`"}}},
    ),
    "a deleted object": (
        script(calls(REMOVED)),
        {"expect": {"state": {"GET /items/1": "@ == `null`", "GET /items": "length(@) == `1`"}}},
    ),
    "as many turns as allowed": (script(calls(READ)), {"limits": {"turns": 2}}),
    "text alone": (script("I cannot do that."), {}),
    "half a character": (
        script({**calls(ORDERED), "content": "\ud83d"}, {"content": "\ud83d \x00"}),
        EXPECT_ORDER,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("model", "parts"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_no_fault(shop, model, parts):
    (outcome,) = run(shop, model, case_of(**parts)).all_runs

    assert outcome.faults == []
    assert outcome.passed


def test_a_model_that_is_away_ends_its_case_only(shop):
    evaluation = run(shop, hang, case_of(), {**case_of(), "name": "b"}, seconds=0.01)

    assert [[fault.message for fault in one.faults] for one in evaluation.all_runs] == [
        ["no reply within 0.01 s."]
    ] * 2


def test_the_report_has_the_promised_keys_and_numbers(shop):
    async def model(messages, tools):
        usage = {"prompt_tokens": 1_000, "completion_tokens": 7}
        return {"message": None, "choices": [{"message": {"content": "ok"}}], "usage": usage}

    data = run(shop, model, case_of()).as_data()

    (case,) = data["cases"]
    seconds = data["summary"].pop("seconds")
    definitions = case["tokens"]["definitions"]
    assert seconds >= 0
    assert data["summary"] == {"cases": 1, "passed": 1, "rate": 1.0, "tokens": 1_007}
    assert case == {
        "name": "a-case",
        "passed": True,
        "faults": [],
        "calls": 0,
        "turns": 1,
        "tokens": {"definitions": definitions, "input": 1_000 - definitions, "output": 7},
    }


def test_each_run_has_a_seed_and_rates_have_an_interval(shop):
    seeds = []

    async def model(messages, tools, *, seed):
        seeds.append(seed)
        return {"content": "ok"} if seed % 4 else 5

    data = run(shop, model, case_of(), repeat=8, seed=4).as_data()

    (case,) = data["cases"]
    assert seeds == list(range(4, 12))
    assert [one["seed"] for one in case["runs"] if one["passed"]] == [5, 6, 7, 9, 10, 11]
    assert (case["rate"], case["passed"], len(case["faults"])) == (0.75, False, 1)
    # Wilson's interval of 6 in 8.
    assert case["interval"] == data["summary"]["interval"]
    assert all(
        math.isclose(one, other, abs_tol=5e-4)
        for one, other in zip(case["interval"], (0.4093, 0.9285), strict=True)
    )


def test_each_case_begins_with_a_fresh_mock_and_the_api_stays_untouched():
    api = mock_api(SHOP)
    toolset = load_tools(SHOP, client=api.client())
    count = {"expect": {"state": {"GET /items": "length(@) == `3`"}}}
    cases = [{**case_of(**count), "name": name} for name in "abc"]

    evaluation = run(toolset, script(calls(ADDED)), *cases)

    assert evaluation.rate == 1
    assert api.calls == []
    assert asyncio.run(toolset.call("list_items")).success
    assert [call.tool for call in api.calls] == ["list_items"]


def test_credentials_guardrails_and_approval_of_the_toolset(shop):
    seen = []
    api = mock_api(SHOP)
    toolset = load_tools(SHOP, client=api.client(), settings=Settings(approve=fail))
    toolset.add_input_guardrails([lambda call, _: seen.append(call.name), require_approval()])

    assert types_of(toolset, script(calls(ORDERED)), case_of(**EXPECT_ORDER)) == []
    assert seen == ["place_order"]
    assert api.calls == []


def test_a_model_cannot_change_the_tools_of_others(shop):
    async def vandal(messages, tools):
        tools.clear()
        messages.clear()
        return {"content": "ok"}

    before = json.dumps(shop.definitions("openai"))
    run(shop, vandal, case_of(), case_of(name="other"))

    assert json.dumps(shop.definitions("openai")) == before


BLOCKS = [
    {"type": "text", "text": "Ordering."},
    {"type": "tool_use", "id": "t1", "name": "place_order", "input": {"items": TEAS}},
]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": BLOCKS},
        {"tool_calls": [{"function": {"name": "place_order", "arguments": {"items": TEAS}}}]},
        {"choices": [{"message": calls(ORDERED)}]},
        type("Message", (), {"content": None, "tool_calls": calls(ORDERED)["tool_calls"]})(),
    ],
    ids=["blocks", "no id and an object", "whole response", "object"],
)
def test_a_message_may_have_the_forms_of_several_apis(shop, message):
    (outcome,) = run(shop, script(message), case_of(**EXPECT_ORDER)).all_runs

    assert outcome.passed
    assert [each["role"] for each in outcome.messages] == ["user", "assistant", "tool", "assistant"]
    assert outcome.messages[1]["tool_calls"][0]["id"] == outcome.messages[2]["tool_call_id"]


PROGRAM = f"await place_order(items={TEAS!r})\nawait list_items()"
MODES = {
    "search": [("search_tools", {"query": "order items"}),
               ("call_tool", {"name": "place_order", "arguments": {"items": TEAS}})],
    "code": [("run_code", {"code": PROGRAM})],
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_calls_through_other_tools_are_judged_alike(shop, mode):
    model = script(*(calls(call) for call in MODES[mode]))
    case = case_of(expect={"calls": [ORDER], "state": {"GET /orders": "length(@) == `1`"}})

    (outcome,) = run(shop, model, case, mode=mode).all_runs
    whole = run(shop, script(), case).all_runs[0]

    assert outcome.faults == []
    assert outcome.calls == {"search": 1, "code": 2}[mode]
    assert outcome.tokens.definitions < whole.tokens.definitions


LOOP = "for number in range(50):\n    await list_items()"
INDIRECT = {
    "unknown tool": ("search", ("call_tool", {"name": "order"}), {}, ["wrong_tool"]),
    "tool not offered": ("search", ORDERED, EXPECT_ORDER, ["wrong_tool"]),
    "bad arguments": ("search", ("call_tool", {"name": "place_order"}), {}, ["refused"]),
    "bad program": ("code", ("run_code", {"code": "1 +"}), {}, ["refused"]),
    "calls of a program": (
        "code", ("run_code", {"code": LOOP}), {"forbid": {"calls": 5}}, ["too_many_calls"]
    ),
    "write of a program": (
        "code", ("run_code", {"code": "await remove_item(itemId=1)"}),
        {"forbid": {"writes": False, "tools": ["remove_item"]}},
        ["forbidden_tool", "forbidden_write"],
    ),
    "denied in a program": (
        "code", ("run_code", {"code": PROGRAM}), {**EXPECT_ORDER, "approve": False}, ["refused"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("mode", "call", "parts", "types"), INDIRECT.values(), ids=INDIRECT)
def test_faults_behind_other_tools_are_found(shop, mode, call, parts, types):
    assert types_of(shop, script(calls(call)), case_of(**parts), mode=mode) == types


def test_a_thousand_searches_end_a_run(shop):
    model = script(calls(*[("search_tools", {"query": "tea"})] * 1000))

    assert types_of(shop, model, case_of(), mode="search") == ["too_many_calls"]


def test_a_transcript_has_the_conversation_without_secrets_and_control_characters(shop):
    secret = "hunter2-hunter2"
    note = {"items": TEAS, "note": f"password={secret}"}
    toolset = load_tools(
        SHOP, client=mock_api(SHOP).client(), credentials={
            "key": {"in": "header", "name": "X-Key", "value": "TOP-SECRET-KEY"}
        },
    )  # fmt: skip
    model = script(calls(("place_order", note)), {"content": "# TOP-SECRET-KEY\x1b[31m\n```"})

    (outcome,) = run(toolset, model, case_of(**EXPECT_ORDER)).all_runs
    text = write_transcript(outcome)

    assert text.startswith("# a-case: passed\n")
    assert "    Order two green teas.\n" in text
    assert '"itemId": 1' in text
    assert secret not in text
    assert "TOP-SECRET-KEY" not in text
    assert "\x1b" not in text
    assert "\n    ```" in text


def test_wrong_options_are_refused(shop):
    for options in ({"mode": "chat"}, {"repeat": 0}, {"seconds": 0}):
        with pytest.raises(SettingsError):
            run(shop, script(), case_of(), **options)
    with pytest.raises(SettingsError, match="expected a function"):
        run(shop, "gpt", case_of())


def test_the_example_of_the_format_is_read_to_the_letter():
    text = """
    cases:
      - name: buy-a-ticket
        task: Buy a general ticket for 7 September 2023.
        expect:
          calls:
            - tool: buy_museum_tickets
              arguments: {ticketType: general, ticketDate: "2023-09-07"}
          state:
            "GET /special-events": "length(@) == `10`"
        forbid: {tools: ["delete_*"], writes: true, calls: 6}
        limits: {turns: 8, tokens: 4000}
        approve: true
    """
    toolset = load_tools(ROOT / "specs" / "museum.yaml")
    ticket = {"ticketType": "general", "ticketDate": "2023-09-07", "email": "a@example.com"}
    model = script(calls(("buy_museum_tickets", ticket)))

    evaluation = asyncio.run(evaluate(toolset, yaml.safe_load(text), model))

    assert evaluation.as_data()["summary"]["passed"] == 1


def test_contradictions_are_refused_before_a_model_is_asked(shop):
    with pytest.raises(InvalidCases, match="expected, but"):
        run(shop, fail, case_of(**EXPECT_ORDER, forbid={"writes": False}))


def test_the_tools_of_several_documents_have_no_mock(shop):
    both = type(shop).union(shop, load_tools(ROOT / "specs" / "museum.yaml"))

    with pytest.raises(SettingsError, match="a mock needs the document"):
        run(both, script(), case_of())


def test_functions_over_tools_stand_for_the_tools_behind_them(shop):
    (outcome,) = run(shop.meta_tools(), script(calls(ORDERED)), case_of(**EXPECT_ORDER)).all_runs

    assert outcome.passed


def test_a_denied_read_is_the_cases_own_will(shop):
    toolset = load_tools(SHOP)
    toolset.add_input_guardrails([require_approval(lambda tool: tool.name == "list_items")])
    case = case_of(approve=False)

    assert types_of(toolset, script(calls(READ)), case) == []
    assert types_of(toolset, script(calls(READ)), case_of()) == []


class Boom(BaseException):
    def __str__(self):
        raise RuntimeError("no text")


class OddReply:
    @property
    def content(self):
        raise Boom


def raise_error(error):
    raise error


@pytest.mark.parametrize(
    "model",
    [
        lambda *_: raise_error(Boom()),
        lambda *_: raise_error(GeneratorExit()),
        lambda *_: raise_error(asyncio.CancelledError()),
        lambda *_: OddReply(),
    ],
    ids=["base", "generator-exit", "cancelled", "property"],
)
def test_whatever_a_model_raises_is_a_fault_of_the_model(shop, model):
    assert types_of(shop, model, case_of()) == ["model_error"]


def test_an_absurd_number_of_tokens_is_not_counted(shop):
    usage = {"prompt_tokens": 10**5000, "completion_tokens": 10**5000}
    reply = {"choices": [{"message": {"role": "assistant", "content": "Done."}}], "usage": usage}
    (outcome,) = run(shop, lambda *_: reply, case_of()).all_runs
    assert sum(outcome.tokens) < 10_000
    write_transcript(outcome)
