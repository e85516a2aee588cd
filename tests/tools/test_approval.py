"""`Settings(approve=…)` and `Settings(dry_run=True)`: looked at before anything is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from documents import document, operation

from openapi_tools import DeniedError, Preview, Settings, SettingsError, load_tools

SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}}
METHODS = ["get", "head", "post", "put", "patch", "delete"]


def api(url, *, key="s3cr3t", kind="application/json", **settings):
    item: dict[str, Any] = {method: operation(operationId=method) for method in METHODS}
    item["post"]["requestBody"] = {"content": {kind: {"schema": SCHEMA}}}
    item["get"]["x-openai-isConsequential"] = True
    item["put"]["x-openai-isConsequential"] = False
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "key"}}
    root = document({"/x": item}, security=[{"key": []}], components={"securitySchemes": schemes})
    options = Settings(**{"base_url": url, "timeout": 5, **settings})
    return load_tools(root, credentials={"key": key} if key else None, settings=options)


RULES = [
    ({}, {"post", "put", "patch", "delete"}),
    ({"approve_for": "writes"}, {"post", "put", "patch", "delete"}),
    ({"approve_for": "destructive"}, {"put", "patch", "delete"}),
    ({"approve_for": "all"}, set(METHODS)),
    ({"approve_for": "x-openai-isConsequential"}, {"get"}),
    ({"approve_for": lambda tool: tool.name == "patch"}, {"patch"}),
]


@pytest.mark.parametrize(
    ("rule", "expected"), RULES, ids=["default", "writes", "destructive", "all", "extension", "own"]
)
async def test_the_calls_of_a_rule_are_approved_before_they_are_sent(rule, expected, recorder):
    asked: list[Preview] = []

    def approve(preview: Preview) -> bool:
        assert len(recorder.requests) == len(done)
        asked.append(preview)
        return True

    done: list[str] = []
    async with api(recorder.url, approve=approve, show_changes=False, **rule) as toolset:
        for method in METHODS:
            assert (await toolset[method].execute({})).success
            done.append(method)

    assert {preview.tool for preview in asked} == expected


async def test_what_is_approved_is_the_request_without_its_secrets(recorder):
    asked: list[Preview] = []

    async def approve(preview: Preview) -> bool:
        await asyncio.sleep(0)
        asked.append(preview)
        return True

    async with api(recorder.url, approve=approve) as toolset:
        await toolset["post"].execute({"n": "Rex", "_tool_call_id": "c1"})

    (preview,) = asked
    assert (preview.tool, preview.method, preview.call_id) == ("post", "POST", "c1")
    assert preview.arguments == {"n": "Rex"}
    assert preview.url == f"{recorder.url}/x?key=***"
    assert preview.body == '{"n":"Rex"}'
    assert ("content-type", "application/json") in preview.headers
    assert str(preview).startswith(f"POST {recorder.url}/x?key=***\n")
    assert str(preview).endswith('\n\n{"n":"Rex"}')
    assert recorder.last.target == "/x?key=s3cr3t"


def refuse(_):
    raise DeniedError("not on a Sunday.")


def fail(_):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("approve", "words"),
    [
        (lambda _: False, "post was not approved; it was not sent."),
        (lambda _: None, "post was not approved; it was not sent."),
        (lambda _: 1, "post was not approved; it was not sent."),
        (refuse, "not on a Sunday."),
        (fail, "fail failed (ZeroDivisionError); the call was refused."),
    ],
    ids=["false", "none", "one", "raises", "fails"],
)
async def test_anything_but_true_refuses(approve, words, recorder):
    async with api(recorder.url, approve=approve) as toolset:
        result = await toolset["post"].execute({})

    assert result.error["type"] == "denied"
    assert str(result) == words
    assert recorder.requests == []


async def test_the_time_that_people_take_is_not_the_calls(recorder):
    async def approve(_: Preview) -> bool:
        await asyncio.sleep(0.5)
        return True

    async with api(recorder.url, approve=approve, timeout=0.3) as toolset:
        result = await toolset["delete"].execute({})

    assert result.success


async def test_a_dry_run_sends_nothing_and_returns_the_request(recorder):
    asked: list[Preview] = []
    settings = {"dry_run": True, "approve": asked.append}
    async with api(recorder.url, **settings) as toolset:
        result = await toolset["post"].execute({"n": "Rex"})
        wrong = await toolset["post"].execute({"n": 1})
    async with api(recorder.url, key=None, **settings) as toolset:
        missing = await toolset["get"].execute({})

    assert result.success
    assert result.metadata["dry_run"] is True
    assert result.output["method"] == "POST"
    assert result.output["url"] == f"{recorder.url}/x?key=***"
    assert ["content-type", "application/json"] in result.output["headers"]
    assert result.output["body"] == '{"n":"Rex"}'
    assert wrong.error["type"] == "invalid_input"
    assert missing.output["url"] == f"{recorder.url}/x"
    assert "Missing credential for 'key'" in missing.output["note"]
    assert recorder.requests == []
    assert asked == []


@pytest.mark.parametrize(
    ("kind", "arguments", "length", "note"),
    [
        ("application/json", {"n": "x" * 30_000}, 20_100, "10,049 more characters"),
        ("image/png", {"body": {"base64": "//4="}}, 40, "(2 bytes that are not text)"),
    ],
)
async def test_a_preview_cuts_a_long_body_and_counts_what_is_no_text(kind, arguments, length, note):
    toolset = api("http://api.test", kind=kind, dry_run=True)

    result = await toolset["post"].execute(arguments)

    assert note in result.output["body"]
    assert len(result.output["body"]) < length


@pytest.mark.parametrize("rule", ["sometimes", "", "x-"])
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises(SettingsError, match="does not name calls to approve; expected 'writes', "):
        Settings(approve_for=rule)
