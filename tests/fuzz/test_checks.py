"""The checks of the harnesses fail where something is wrong."""

import socket

import httpx
import pytest
from fuzz import executing, loading
from fuzz.budget import nothing_reached
from fuzz.inputs import SECRET

from openapi_tools import ToolResult, load_tools

GOOD = {"authorization": f"Bearer {SECRET}", "x-api-key": SECRET, "cookie": f"session={SECRET}"}
URL = f"https://api.test/base/path/x?api_key={SECRET}"


@pytest.mark.parametrize(
    "result",
    [
        ToolResult.ok({"a": float("nan")}),
        ToolResult.ok("\ud800"),
        ToolResult.ok([f"x {SECRET} y"]),
        ToolResult.ok(None, {"headers": {"etag": SECRET}}),
        ToolResult.ok("x" * 60_000),
        ToolResult.ok({1, 2}),
        ToolResult.failed("protocol", "x failed unexpectedly (KeyError)"),
        ToolResult.failed("unheard of", "x"),  # type: ignore[arg-type]
    ],
    ids=["NaN", "surrogate", "secret", "metadata", "long", "set", "unexpected", "type"],
)
def test_a_result_that_nobody_can_use_is_noticed(result):
    executing._check_result(ToolResult.ok({"a": 1}))
    with pytest.raises((AssertionError, ValueError, TypeError)):
        executing._check_result(result)


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        (URL.replace("api.test", "evil.test"), GOOD),
        (URL.replace("https", "http"), GOOD),
        (URL.replace("/base/path", ""), GOOD),
        (URL.replace("/x", "/..%2fx"), GOOD),
        (URL.replace("/x", "/%252e%252e/x"), GOOD),
        (URL.partition("?")[0], GOOD),
        (URL, GOOD | {"x-evil": "1"}),
        (URL, GOOD | {"x-api-key": "other"}),
        (URL, GOOD | {"cookie": "session=other"}),
        (URL, {}),
    ],
    ids=lambda value: str(value)[-40:] if isinstance(value, str) else str(len(value)),
)
def test_a_request_that_goes_astray_is_noticed(url, headers):
    executing._check_request(httpx.Request("GET", URL, headers=GOOD), ())
    with pytest.raises((AssertionError, KeyError)):
        executing._check_request(httpx.Request("GET", url, headers=headers), ())


def test_a_tool_that_cannot_be_shown_is_noticed(monkeypatch):
    (tool,) = load_tools({"openapi": "3.1.0", "info": {}, "paths": {"/x": {"get": {}}}})
    schema = tool.input_schema
    loading.check_tool(tool)
    for wrong in ({"type": "strung"}, {"default": float("inf")}, {"title": "\ud800"}):
        with monkeypatch.context() as patched:
            patched.setattr(type(tool), "input_schema", schema | {"properties": {"a": wrong}})
            with pytest.raises(Exception):  # noqa: B017, PT011 -- each of its own kind
                loading.check_tool(tool)


def test_a_connection_is_noticed():
    with (
        socket.socket() as plug,
        pytest.raises(AssertionError, match=r"socket\.connect"),
        nothing_reached(),
    ):
        plug.connect_ex(("127.0.0.1", 1))


def test_a_file_is_noticed(tmp_path):
    (tmp_path / "x").write_text("x")
    with nothing_reached(tmp_path):
        (tmp_path / "x").read_text()
    with pytest.raises(AssertionError, match="open"), nothing_reached():
        (tmp_path / "x").read_text()
