"""What a model gives reaches its own place or is refused, takes no time and breaks nothing."""

import builtins
import time
from collections import UserDict
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import httpx
import pytest
from documents import document, operation, with_body
from fuzz.inputs import Endless, Loud, Number, Void, Word
from ticker import leaves_free
from trust.promises import BASE, an_object, component, load_quietly, secured_document

from openapi_tools import Settings
from openapi_tools.runtime import Operation, OperationTool, Parameter
from openapi_tools.tools.session import open_session

ELSEWHERE = "http://127.0.0.1:1"


async def call_tool(source, arguments, **options):
    """Call a document's one tool; return the result and what was sent."""
    toolset, sent = load_quietly(source, **options)
    (tool,) = toolset
    return await tool.execute(arguments), sent


def taking(location, **fields):
    """Return a document with a GET that takes `v` in some place."""
    path = "/items/{v}" if location == "path" else "/items"
    declared = {
        "name": "v",
        "in": location,
        "required": location == "path",
        "schema": {},
        **fields,
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
    _, (request,) = await call_tool(taking("path", schema={"type": "string"}), {"v": value})

    assert request.url.raw_path == path
    assert (request.url.scheme, request.url.netloc) == ("https", b"api.example")


@pytest.mark.parametrize(
    ("value", "query"),
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
async def test_a_query_value_is_written_by_its_style_and_adds_no_parameter(value, query):
    _, (request,) = await call_tool(taking("query"), {"v": value})

    assert request.url.query == query


async def test_a_parameter_whose_name_holds_delimiters_stays_one_parameter():
    _, (request,) = await call_tool(taking("query", name="a&b=c"), {"a_b_c": "1"})

    assert request.url.query == b"a%26b%3Dc=1"


@pytest.mark.parametrize(
    "value",
    ["x\r\nX-Evil: 1", "a\0b", "中", "b; admin=1", "b;", "a=b; c"],
    ids=["line end", "NUL", "beyond ASCII", "second cookie", "end", "pair"],
)
async def test_a_cookie_of_style_form_is_percent_encoded_and_adds_no_header_and_no_cookie(value):
    _, (request,) = await call_tool(taking("cookie", schema={"type": "string"}), {"v": value})

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
    source = secured_document(
        {"type": "apiKey", "in": "header", "name": "X-Key"}, parameters=[parameter]
    )
    toolset, sent = load_quietly(source, credentials={"k": "s3cret"})
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
    toolset, sent = load_quietly(document(with_body(schema, kind=kind)))
    (tool,) = toolset
    assert tool.input_schema
    opened: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "open", lambda *arguments, **_: opened.append(arguments))
        patched.setattr(Path, "open", lambda *arguments, **_: opened.append(arguments))

        result = await tool.execute({"body": value})

    assert opened == sent == []
    assert result.error["type"] == "invalid_input"


@pytest.mark.parametrize("name", ['a"\r\nX-Evil: 1', "a\nb", 'x"; filename="y'])
async def test_a_file_name_adds_no_header_to_its_part(name):
    schema = {"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}
    source = document(with_body(schema, kind="multipart/form-data"))

    result, sent = await call_tool(source, {"f": {"text": "content", "filename": name}})

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


@pytest.mark.parametrize("arguments", [{}, {"q": "x"}, {"r": [1]}, {"q": {"a": 1}, "r": "x"}])
async def test_validation_at_call_time_fetches_no_reference(arguments, no_network):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={}))
    client = httpx.AsyncClient(transport=transport)
    tool = Foreign(open_session(Settings(base_url=BASE), client=client))

    result = await tool.execute(arguments)

    assert no_network == []
    assert result.error is None or result.error["type"] == "invalid_input"


CPU = 2.5
"""Seconds for one call: PROMISES has 2 s, on a machine that does nothing else."""


LEVELS = {f"L{n}": {"oneOf": [component(f"L{n - 1}")] * 2} for n in range(1, 21)}
"""Two equal branches, each with two equal branches, by reference."""
LEVELS["L0"] = {"const": 1}
DEEPER = [{"properties": {"next": component("Node")}, "required": [name]} for name in ("x", "y")]
LEVELS["Node"] = {"oneOf": [*DEEPER, {"type": "integer"}]}
ANYTHING = document(with_body(an_object({"a": {}})))


def objects(count):
    return [{"id": number, "tags": ["x", number]} for number in range(count)]


OBJECTS = [{"id": number, "name": f"n{number}", "on": True} for number in range(20_000)]
KINDS = {"id": {"type": "integer"}, "name": {"type": "string"}, "on": {"type": "boolean"}}
PLAIN = {"type": "object", "properties": KINDS, "required": ["id"]}
COUNTED = {"pattern": "^(?:a|b)*a(?:a|b){400}c$"}
PATTERNS = {"anyOf": [{"pattern": f"^x{number}$"} for number in range(500)] + [{"type": "string"}]}
LITERALS = {"enum": [*({"id": n, "name": "n", "on": True} for n in range(500)), OBJECTS[-1]]}
BRANCHES = {
    "oneOf": [{"properties": {"id": {"const": -n}}, "required": ["id"]} for n in range(300)]
}
SLOW: dict[str, tuple[Any, Any, bool]] = {
    "nested repeats": ({"pattern": "^(a+)+$"}, "a" * 28 + "!", False),
    "alternatives": ({"pattern": "^(a|aa)+$"}, "a" * 5000 + "!", False),
    "a long text": ({"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "a" * 3_000_000, True),
    "counted": ({"pattern": "^(?:a|b)*a(?:a|b){900}$"}, "ab" * 500_000, True),
    "too large to compile": ({"pattern": "^(?:.{1000}){1000}$"}, "x" * 100, True),
    "a look ahead": ({"pattern": "^(?!x)(a+)+$"}, "a" * 50 + "!", True),
    "a look behind": ({"pattern": "(?<=a)b"}, "c", True),
    "a reference back": ({"pattern": r"^(a+)\1$"}, "a" * 50_001, True),
    "a letter of Unicode": ({"pattern": r"^\p{L}+$"}, "é" * 3000, True),
    "names": ({"patternProperties": {"^(a+)+$": {"type": "null"}}}, {"a" * 99: 1}, False),
    "2,000 objects differ": ({"uniqueItems": True}, objects(2000), True),
    "22,000 objects, two equal": ({"uniqueItems": True}, objects(11_000) * 2, False),
    "20,000 objects differ": ({"uniqueItems": True}, objects(20_000), True),
    "equal hashes": ({"uniqueItems": True}, [10**200 + n for n in range(5000)], True),
    "hashes of machine words": ({"uniqueItems": True}, [2**60 + n for n in range(9000)], True),
    "12 levels": ({"$ref": "#/components/schemas/L12"}, 2, False),
    "20 levels": ({"$ref": "#/components/schemas/L20"}, 2, True),
    "each level doubles": (
        component("Node"), reduce(lambda value, _: {"next": value}, range(25), "x"), False,
    ),
    "names that ask for names": (
        {"items": {"dependentRequired": {f"p{n}": ["x"] for n in range(3000)}}},
        [{"q": 1}] * 60_000,
        True,
    ),
    "small divisors": ({"items": {"type": "number", "multipleOf": 0.0001}},
                       [1e300 / 7 + n for n in range(50_000)], True),
    "odd numbers": ({"items": {"minimum": 7.5}}, [10**200 + n for n in range(50_000)], True),
    "100,000 wrong items": ({"items": {"type": "string"}}, [0] * 100_000, False),
    "20,000 objects": ({"items": PLAIN}, OBJECTS, True),
    "20,000 objects, the last one wrong": ({"items": PLAIN}, [*OBJECTS, {"id": "x"}], False),
    "a slow pattern on many texts": ({"items": COUNTED}, ["ab" * 2000] * 200, True),
    "a pattern that hangs others": ({"pattern": "^(a+)+$"}, "a" * 4_000_000 + "!", True),
    "many patterns": ({"items": PATTERNS}, [f"v{number}" for number in range(50_000)], True),
    "many alternatives": ({"items": BRANCHES}, OBJECTS, True),
    "many objects to compare with": ({"items": LITERALS}, [OBJECTS[-1]] * 20_000, True),
    "a text of 4 MB": ({}, "é" * 1_900_000, True),
    "200,000 values": ({"items": {"type": "integer"}}, list(range(200_000)), True),
    "10 MB": ({}, ["x" * 1000] * 10_000, False),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.parametrize("name", SLOW)
async def test_no_input_and_no_schema_together_take_long_or_keep_the_loop(name):
    schema, value, fits = SLOW[name]

    def attempt():
        paths = with_body(an_object({"a": schema}))
        (tool,), sent = load_quietly(document(paths, components={"schemas": LEVELS}))
        started = time.process_time()

        def check(result):
            assert time.process_time() - started < CPU
            assert result.success is fits, result
            assert len(sent) == fits
            assert fits or result.error["message"].startswith("/a")

        return tool, check

    await leaves_free(attempt, arguments={"a": value})


class Boundless(UserDict[str, Any]):
    """A mapping that is no dict, and never ends."""

    items = Endless.items


class Text(Word):
    __slots__ = ()
    isascii = Loud.items


class Digit(Number):
    __int__ = Loud.items


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (Loud(a=1, _tool_call_id="c"), b'{"a":1}'),
        ({"a": Loud(x=1), "_tool_call_id": "c"}, b'{"a":{"x":1}}'),
        ({"a": Endless(x=1), "_tool_call_id": "c"}, b'{"a":{"x":1}}'),
        ({"a": Text("w"), "_tool_call_id": "c"}, b'{"a":"w"}'),
        ({"a": [Digit(7), Text("w")], "_tool_call_id": "c"}, b'{"a":[7,"w"]}'),
    ],
    ids=["all loud", "loud", "endless", "word", "list"],
)
async def test_a_value_of_a_class_of_its_own_is_what_python_says_it_is(arguments, body):
    result, sent = await call_tool(ANYTHING, arguments)

    assert (result.success, result.tool_call_id) == (True, "c")
    assert [request.content for request in sent] == [body]


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (Void(), "got a value of type Void"),
        ({"a": Void()}, "Void is not JSON"),
        ({"a": [Void]}, "is not JSON"),
        ({"a": Boundless()}, "over 250,000 values"),
        (Boundless(), "over 250,000 values"),
    ],
    ids=["void", "member", "class", "boundless member", "boundless"],
)
async def test_what_python_cannot_say_is_refused(arguments, reason):
    result, sent = await call_tool(ANYTHING, arguments)

    assert result.error["type"] == "invalid_input"
    assert reason in result.error["message"]
    assert sent == []
