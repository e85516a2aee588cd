"""What a model gives reaches its own place, percent-encoded or refused, and nothing else."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import httpx
import pytest
from documents import document, operation, with_body
from trust.promises import BASE, quiet, secured

from openapi_tools import Settings
from openapi_tools.runtime import Operation, OperationTool, Parameter
from openapi_tools.tools.toolset import open_session

ELSEWHERE = "http://127.0.0.1:1"


async def called(source, given, **others):
    """Call a document's one tool; return the result and what was sent."""
    toolset, sent = quiet(source, **others)
    (tool,) = toolset
    return await tool.execute(given), sent


def taking(location, **members):
    """Return a document with a GET that takes `v` in some place."""
    path = "/items/{v}" if location == "path" else "/items"
    declared = {
        "name": "v",
        "in": location,
        "required": location == "path",
        "schema": {},
        **members,
    }
    return document({path: {"get": operation(parameters=[declared])}})


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a/b", b"/items/a%2Fb"),
        ("a?admin=1#x", b"/items/a%3Fadmin%3D1%23x"),
        ("a;b&c=d%e f+g:h@i", b"/items/a%3Bb%26c%3Dd%25e%20f%2Bg%3Ah%40i"),
        ("http://127.0.0.1:1/x", b"/items/http%3A%2F%2F127.0.0.1%3A1%2Fx"),
        ("//evil/x", b"/items/%2F%2Fevil%2Fx"),
        ("é🚀e\u0301", b"/items/%C3%A9%F0%9F%9A%80e%CC%81"),
        ("a\0b\r\n", b"/items/a%00b%0D%0A"),
    ],
    ids=["slash", "query", "reserved", "absolute", "scheme-relative", "non-ASCII", "controls"],
)
async def test_a_path_value_is_one_encoded_segment_of_the_same_origin(value, path):
    _, (request,) = await called(taking("path", schema={"type": "string"}), {"v": value})

    assert request.url.raw_path == path
    assert (request.url.scheme, request.url.netloc) == ("https", b"api.example")


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ("x&admin=1", b"v=x%26admin%3D1"),
        ("x#y", b"v=x%23y"),
        (True, b"v=true"),
        ({"a": 1}, b"a=1"),
        ([1, "b c"], b"v=1&v=b%20c"),
        ({"a&b": "c=d"}, b"a%26b=c%3Dd"),
        (1.5, b"v=1.5"),
        ("a\0b\r\n", b"v=a%00b%0D%0A"),
    ],
    ids=ascii,
)
async def test_a_query_value_is_written_by_its_style_and_adds_no_parameter(given, query):
    _, (request,) = await called(taking("query"), {"v": given})

    assert request.url.query == query


async def test_a_parameter_whose_name_holds_delimiters_stays_one_parameter():
    _, (request,) = await called(taking("query", name="a&b=c"), {"a_b_c": "1"})

    assert request.url.query == b"a%26b%3Dc=1"


@pytest.mark.parametrize(
    "value",
    ["x\r\nX-Evil: 1", "a\0b", "中", "b; admin=1", "b;", "a=b; c"],
    ids=["line end", "NUL", "beyond ASCII", "second cookie", "end", "pair"],
)
async def test_a_cookie_of_style_form_is_percent_encoded_and_adds_no_header_and_no_cookie(value):
    _, (request,) = await called(taking("cookie", schema={"type": "string"}), {"v": value})

    assert request.headers["cookie"] == f"v={quote(value, safe='')}"


@pytest.mark.parametrize(
    "extra",
    [
        *({"zzz": 1}, {"Authorization": "x"}, {"api_key": "x"}, {"X-Key": "x"}, {"k": "x"}),
        *({"base_url": "http://evil.example"}, {"timeout": 0}, {"headers": {"X-Key": "x"}}),
        *({"client": None}, {"credentials": {"k": "x"}}, {"settings": {"base_url": "http://e"}}),
    ],
    ids=lambda extra: next(iter(extra)),
)
async def test_unknown_fields_credentials_and_settings_are_refused_by_name_and_never_sent(extra):
    parameter = {"name": "v", "in": "query", "schema": {}}
    source = secured({"type": "apiKey", "in": "header", "name": "X-Key"}, parameters=[parameter])
    toolset, sent = quiet(source, credentials={"k": "s3cret"})
    (tool,) = toolset

    result = await tool.execute({"v": "ok", **extra})

    assert result.error["type"] == "invalid_input"
    assert next(iter(extra)) in result.error["message"]
    assert list(tool.input_schema["properties"]) == ["v"]
    assert sent == []


@pytest.mark.parametrize("value", ["/etc/passwd", "file:///etc/passwd", {"path": "/etc/passwd"}])
@pytest.mark.parametrize("kind", ["multipart/form-data", "application/octet-stream"])
async def test_a_text_that_looks_like_a_path_opens_no_file(value, kind, monkeypatch):
    file = {"type": "string", "format": "binary"}
    schema = {"type": "object", "properties": {"body": file}} if "form" in kind else file
    toolset, sent = quiet(document(with_body(schema, kind=kind)))
    (tool,) = toolset
    assert tool.input_schema
    opened: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "open", lambda *given, **_: opened.append(given))
        patched.setattr(Path, "open", lambda *given, **_: opened.append(given))

        result = await tool.execute({"body": value})

    assert opened == sent == []
    assert result.error["type"] == "invalid_input"


@pytest.mark.parametrize("name", ['a"\r\nX-Evil: 1', "a\nb", 'x"; filename="y'])
async def test_a_file_name_adds_no_header_to_its_part(name):
    schema = {"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}
    source = document(with_body(schema, kind="multipart/form-data"))

    result, sent = await called(source, {"f": {"text": "content", "filename": name}})

    assert result.is_error or sent
    for request in sent:
        head = request.content.partition(b"\r\n\r\n")[0]
        assert b"\r\nX-Evil" not in head
        assert head.count(b"\r\n") <= 2


class Foreign(OperationTool):
    """A tool whose schema refers to another place, as nobody's loader makes one."""

    name = "foreign"
    description = "Text."
    input_schema: ClassVar[dict[str, Any]] = {
        "$schema": f"{ELSEWHERE}/meta",
        "$id": f"{ELSEWHERE}/id",
        "properties": {"q": {"$ref": f"{ELSEWHERE}/x.json"}, "r": {"$ref": "file:///etc/x"}},
    }
    operation = Operation(
        "GET", "/x", parameters=(Parameter("q", "query"), Parameter("r", "query"))
    )


@pytest.mark.parametrize("given", [{}, {"q": "x"}, {"r": [1]}, {"q": {"a": 1}, "r": "x"}])
async def test_validation_at_call_time_fetches_no_reference(given, no_network):
    answer = httpx.MockTransport(lambda _: httpx.Response(200, json={}))
    client = httpx.AsyncClient(transport=answer)
    tool = Foreign(open_session(Settings(base_url=BASE), client=client))

    result = await tool.execute(given)

    assert no_network == []
    assert result.error is None or result.error["type"] == "invalid_input"
