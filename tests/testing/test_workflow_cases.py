"""Arazzo documents as cases of `evaluate`: who passes them, and what is refused."""

import asyncio
import copy
import json

import pytest
from doc_pages import ROOT

from openapi_tools import load_tools
from openapi_tools.testing import InvalidCases, evaluate
from openapi_tools.testing.evaluation.cases import read_cases
from openapi_tools.testing.evaluation.workflow_cases import make_replay

SHOP = ROOT / "docs" / "examples" / "eval" / "shop.yaml"
ITEM = "$steps.find.outputs.item"
STEPS = [
    {
        "stepId": "find",
        "operationId": "$sourceDescriptions.shop.listItems",
        "parameters": [{"name": "kind", "in": "query", "value": "tea"}],
        "outputs": {"item": "$response.body#/0/itemId", "all": "$response.body"},
    },
    {
        "stepId": "order",
        "operationPath": "{$sourceDescriptions.shop.url}#/paths/~1orders/post",
        "requestBody": {
            "payload": {
                "items": [{"itemId": ITEM, "count": 2}],
                "note": "item {$steps.find.outputs.all#/0/itemId} for {$inputs.name}",
            }
        },
    },
    {
        "stepId": "show",
        "operationId": "getItem",
        "parameters": [{"name": "itemId", "in": "path", "value": ITEM}],
    },
]
WORKFLOW = {
    "workflowId": "buy-tea",
    "summary": "Order two of the first tea.",
    "inputs": {"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}},
    "steps": STEPS,
}
ARAZZO = {
    "arazzo": "1.1.0",
    "info": {"title": "Tea", "version": "1"},
    "sourceDescriptions": [{"name": "shop", "url": "shop.yaml", "type": "openapi"}],
    "workflows": [WORKFLOW],
}
LIST = ("list_items", {"kind": "tea"})
ORDER = ("place_order", {"items": [{"itemId": 2, "count": 2}], "note": "quick"})
SHOW = ("get_item", {"itemId": 2})


def run(model, source=ARAZZO):
    async def judge():
        async with load_tools(SHOP) as tools:
            return (await evaluate(tools, source, model)).as_data()

    return asyncio.run(judge())["cases"][0]


def follow(*calls):
    """Return a model that makes these calls."""

    def reply(messages, _):
        done = sum(message["role"] == "assistant" for message in messages)
        if done == len(calls):
            return "Done."
        name, arguments = calls[done]
        return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}

    return reply


FAULTS = {
    "none": ((LIST, ORDER, SHOW), []),
    "a missing step": ((LIST, ORDER), ["missing_call"]),
    "another order": ((ORDER, LIST, SHOW), ["wrong_tool"]),
    "another constant": ((("list_items", {"kind": "cake"}), ORDER, SHOW), ["wrong_arguments"]),
    "another constant beside a link": (
        (LIST, ("place_order", {"items": [{"itemId": 1, "count": 3}], "note": ""}), SHOW),
        ["wrong_arguments"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_model_has_to_make_the_steps_with_values_of_its_own(name):
    calls, faults = FAULTS[name]
    assert [fault["type"] for fault in run(follow(*calls))["faults"]] == faults


def test_the_task_is_the_description_or_the_summary():
    seen = []

    def model(messages, _):
        seen.append(messages[0]["content"])
        return "Done."

    run(model)
    described = {**ARAZZO, "workflows": [{**WORKFLOW, "description": "Buy some tea."}]}
    run(model, described)
    assert seen == ["Order two of the first tea.", "Buy some tea."]


def test_a_replay_uses_the_values_of_its_own_responses():
    replay = make_replay(read_cases(ARAZZO).workflows, load_tools(SHOP))
    sent = []

    async def model(messages, tools):
        message = await replay(messages, tools)
        sent.extend(call["function"] for call in message.get("tool_calls", ()))
        return message

    assert run(model)["faults"] == []
    assert [(call["name"], json.loads(call["arguments"])) for call in sent] == [
        LIST,
        (
            "place_order",
            {"items": [{"itemId": 1, "count": 2}], "note": "item 1 for Ada"},
        ),
        ("get_item", {"itemId": 1}),
    ]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("$response.body#/9/itemId", "the response of find has no /9/itemId"),
        ("$response.header.Location", "$steps.find.outputs.item refers to no input or output"),
    ],
)
def test_a_replay_without_the_linked_value_ends(output, message):
    arazzo = copy.deepcopy(ARAZZO)
    arazzo["workflows"][0]["steps"][0]["outputs"]["item"] = output
    replay = make_replay(read_cases(arazzo).workflows, load_tools(SHOP))
    (fault,) = run(replay, arazzo)["faults"]
    assert (fault["type"], message in fault["message"]) == ("model_error", True)


def change(place, value):
    arazzo = copy.deepcopy(ARAZZO)
    *keys, last = place
    node = arazzo
    for key in keys:
        node = node[key]
    node[last] = value
    return arazzo


STEP = ("workflows", 0, "steps", 2)
PLACE = "#/workflows/0/steps/2"
REFUSED = {
    "version": (("arazzo",), "2.0.0", "#/arazzo"),
    "no workflows": (("workflows",), [], "#/workflows"),
    "no steps": (("workflows", 0, "steps"), [], "#/workflows/0/steps"),
    "operation": ((*STEP, "operationId"), "getItems", f"{PLACE}/operationId: no tool is called"),
    "neither": (STEP, {"stepId": "x"}, "neither operationId nor operationPath"),
    "path": (
        STEP,
        {"stepId": "x", "operationPath": "{$sourceDescriptions.shop.url}#/paths/~1x/get"},
        f"{PLACE}/operationPath: no tool is at '/paths/~1x/get'",
    ),
    "name": ((*STEP, "stepId"), "find", "another step is called 'find'"),
    "parameter": (
        (*STEP, "parameters", 0, "name"),
        "itemld",
        "no parameter 'itemld' in path; did you mean itemId?",
    ),
    "body": ((*STEP, "requestBody"), {"payload": {}}, "get_item takes no body"),
    "property": (
        ("workflows", 0, "steps", 1, "requestBody", "payload"),
        {"itens": []},
        "place_order has no such argument; did you mean items?",
    ),
    "list": (("workflows", 0, "steps", 1, "requestBody", "payload"), [], "must be an object"),
    "no JSON": (
        ("workflows", 0, "steps", 1, "requestBody", "payload", "items"),
        [{1: ITEM}],
        "#/workflows/0: a value is not JSON.",
    ),
    "branch": ((*STEP, "onSuccess"), [], "onSuccess is not supported"),
    "reference": (
        (*STEP, "parameters"),
        [{"reference": "$components.parameters.x"}],
        "reference is not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused(name):
    place, value, message = REFUSED[name]
    with pytest.raises(InvalidCases) as caught:
        run(follow(), change(place, value))
    assert message in str(caught.value)


def test_workflows_with_one_name_are_refused():
    with pytest.raises(InvalidCases, match="another case is called 'buy-tea'"):
        run(follow(), {**ARAZZO, "workflows": [WORKFLOW, WORKFLOW]})


def test_a_long_workflow_has_the_turns_that_it_needs():
    steps = [{"stepId": f"all-{number}", "operationId": "listItems"} for number in range(40)]
    arazzo = {**ARAZZO, "workflows": [{**WORKFLOW, "steps": steps}]}
    report = run(make_replay(read_cases(arazzo).workflows, load_tools(SHOP)), arazzo)
    assert (report["passed"], report["calls"]) == (True, 40)


def test_a_replay_repeats_no_value_without_end():
    item = "{$inputs.name}"
    payload = {"items": [{"itemId": 1, "count": 1}], "note": item * 3_000}
    order = {**STEPS[1], "requestBody": {"payload": payload}}
    name = {"type": "string", "default": "x" * 10_000}
    inputs = {"type": "object", "properties": {"name": name}}
    workflow = {**WORKFLOW, "inputs": inputs, "steps": [STEPS[0], order]}
    source = {**ARAZZO, "workflows": [workflow]}
    model = make_replay(read_cases(source).workflows, load_tools(SHOP))

    (fault,) = run(model, source)["faults"]

    assert fault["type"] == "model_error"
    assert "a string has more than 10,000,000 characters" in fault["message"]
