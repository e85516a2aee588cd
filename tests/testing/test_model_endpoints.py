"""Models behind URLs: what is sent to the two chat APIs, and what is made of their responses."""

import asyncio
import json

import pytest
from doc_pages import ROOT
from servers.chat import endpoint

from openapi_tools import load_tools
from openapi_tools.errors import SettingsError
from openapi_tools.redaction import Secret
from openapi_tools.testing import evaluate
from openapi_tools.testing.evaluation.models import ChatEndpoint

SHOP = ROOT / "docs" / "examples" / "eval" / "shop.yaml"
ORDER = {"items": [{"itemId": 1, "count": 2}]}
CASE = {
    "name": "order",
    "task": "Order two teas.",
    "expect": {"calls": [{"tool": "place_order", "arguments": ORDER}]},
}
KEY = "key-of-the-model-7"
OPENAI = [
    {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "place_order", "arguments": json.dumps(ORDER)}}
    ]}}], "usage": {"prompt_tokens": 5_000, "completion_tokens": 20}},
    {"choices": [{"message": {"role": "assistant", "content": "Done."}}]},
]  # fmt: skip
ANTHROPIC = [
    {"role": "assistant", "usage": {"input_tokens": 5_000, "output_tokens": 20}, "content": [
        {"type": "text", "text": "Ordering."},
        {"type": "tool_use", "id": "t1", "name": "place_order", "input": ORDER},
    ]},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
]  # fmt: skip


def run(url, **options):
    model = ChatEndpoint(url, **options)
    (outcome,) = asyncio.run(evaluate(load_tools(SHOP), [CASE], model, seed=3)).all_runs
    return outcome


def test_an_openai_compatible_endpoint_is_asked_turn_by_turn():
    with endpoint(*OPENAI) as (url, requests):
        outcome = run(f"{url}/v1", name="small", key=Secret(KEY))

    assert outcome.faults == []
    assert [path for path, _, _ in requests] == ["/v1/chat/completions"] * 2
    (_, headers, first), (_, _, second) = requests
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (first["model"], first["seed"]) == ("small", 3)
    assert first["messages"] == [{"role": "user", "content": "Order two teas."}]
    assert "place_order" in {tool["function"]["name"] for tool in first["tools"]}
    assert [each["role"] for each in second["messages"]] == ["user", "assistant", "tool"]
    assert outcome.tokens.input > 4_000
    assert outcome.tokens.output >= 20


def test_anthropics_endpoint_gets_its_own_forms():
    with endpoint(*ANTHROPIC) as (url, requests):
        outcome = run(f"{url}/v1/messages", key=Secret(KEY))

    assert outcome.faults == []
    (path, headers, first), (_, _, second) = requests
    assert (path, headers["x-api-key"]) == ("/v1/messages", KEY)
    assert "anthropic-version" in headers
    assert "input_schema" in first["tools"][0]
    assert second["messages"][1]["content"][1]["input"] == ORDER
    (result,) = second["messages"][2]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "t1")


@pytest.mark.parametrize(
    "path",
    ["", "/", "/v1", "/v1/", "/v1/chat/completions"],
)
def test_a_url_may_leave_out_the_usual_path(path):
    with endpoint(OPENAI[1]) as (url, requests):
        run(url + path)

    assert [path for path, _, _ in requests] == ["/v1/chat/completions"]


def test_a_busy_endpoint_is_asked_again():
    busy = (429, {"retry-after": "0"}, b"")
    with endpoint(busy, busy, OPENAI[1]) as (url, requests):
        outcome = run(url)

    assert len(requests) == 3
    assert "model_error" not in [fault.type for fault in outcome.faults]


FAILURES = {
    "an error": ((500, {}, b'{"error": "no credit for ' + KEY.encode() + b'"}'), "returned 500"),
    "no JSON": ((200, {}, b"<html>"), "did not return JSON"),
    "another JSON": ({"hello": 1}, "must be a message"),
    "no choices": ({"choices": []}, "must be a message"),
    "a redirect": ((302, {"location": "http://127.0.0.1:9/"}, b""), "returned 302"),
    "always busy": ((503, {"retry-after": "0"}, b"down"), "returned 503: down"),
}


@pytest.mark.parametrize(("response", "message"), FAILURES.values(), ids=FAILURES)
def test_an_endpoint_that_fails_is_a_model_error_without_the_key(response, message):
    with endpoint(response) as (url, _):
        outcome = run(url, key=Secret(KEY))

    (fault,) = outcome.faults
    assert fault.type == "model_error"
    assert message in fault.message
    assert KEY not in fault.message


def test_an_endpoint_that_is_not_there_is_a_model_error():
    with endpoint({}) as (url, _):
        pass

    (fault,) = run(url).faults
    assert (fault.type, f"{url} gave no response" in fault.message) == ("model_error", True)


def test_the_key_is_never_sent_in_the_clear():
    with pytest.raises(SettingsError, match="by https or to this machine"):
        ChatEndpoint("http://models.example.com/v1", key=Secret(KEY))
    for url in ("ftp://models.example.com", "http://"):
        with pytest.raises(SettingsError):
            ChatEndpoint(url, key=Secret(KEY))
