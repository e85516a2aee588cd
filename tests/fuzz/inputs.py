"""What a model, a framework or a server might hand over, and should not."""

import datetime as dt
import gzip
import json
import math
from collections import OrderedDict, UserDict, deque
from decimal import Decimal
from enum import Enum, IntEnum
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

from fuzz import seeds
from hypothesis import strategies as st
from strategies import JSON, inputs

from openapi_tools import load_tools

SECRET = "s3cret-Zq81"
TEXTS = [
    *("../x", "..", ".", "%2e%2e/x", "..%2f", "%252e%252e%252fx", "..\\x", "..;/x", ".%00./", "%"),
    *("%zz", "\uff0f", "\uff0e\uff0e", "\u2025", "//evil.test/x", "http://evil.test/"),
    *("https://u:p@evil.test", "?a=1#f", "a/b", "x\r\nX-Evil: 1", "x\n", "\r", "\x00", "\x1b[2J"),
    *("\x7f", "\x85", "\u2028", "\ufeff", "\t", " x ", "\ud800", "a\udfffb", "é", "中", "🚀"),
    *("e\u0301", "b; admin=1", "a,b", "a=b&c=d", '"', "'", "\\", "", "null", "true", "1", "1e400"),
    *("/etc/passwd", "file:///etc/passwd", "a" * 3000, "(a+)+$" * 9, "GET / HTTP/1.1\r\n\r\n"),
    *("{x}", "{{7*7}}", "${x}", "%s", "__proto__", "__class__", SECRET, "***"),
]
_NAMES = [
    *("x", "y", "a", "b", "f", "c", "body", "_tool_call_id", "Authorization", "base_url"),
    *("timeout", "Host", "value", "children", "tags", "base64", "text", "filename", "content_type"),
    *("path", "api_key", "X-Api-Key"),
]
_NUMBERS = [0, -1, -0.0, 3, 2**53, 2**64, 10**400, 10**308, 1e308, 5e-324, math.nan, math.inf]


Level = IntEnum("Level", ["LOW"])
Kind = Enum("Kind", {"ODD": object(), "TEXT": "text"})


class Loud(dict[str, Any]):
    """A dict whose own methods fail."""

    def items(self):
        raise RuntimeError(SECRET)

    get = keys = values = __iter__ = __contains__ = __len__ = items


class Endless(dict[str, Any]):
    """A dict that has as many properties as are asked for."""

    def items(self):
        return ((str(number), number) for number in range(10**9))


class Word(str):
    """A text that says something else when asked."""

    __slots__ = ()

    def encode(self, *_):
        raise RuntimeError

    def __str__(self):
        return "\r\nX-Evil: 1"


class Number(int):
    """A number with a text of its own."""

    def __repr__(self):
        return "1\r\nX-Evil: 1"

    __str__ = __repr__


class Void:
    """Fails whatever is asked."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError


def make_cycle():
    cycle = {}
    cycle["x"] = [cycle]
    return cycle


def _deep(levels):
    return reduce(lambda value, _: [value], range(levels), "x")


STRANGE = {
    "bytes": lambda: b"\xff",
    "not a number": lambda: math.nan,
    "infinite": lambda: math.inf,
    "complex": lambda: 1j,
    "ellipsis": lambda: ...,
    "function": lambda: len,
    "range": lambda: range(3),
    "exception": lambda: ValueError("x"),
    "duration": lambda: dt.timedelta(1),
    "surrogate": lambda: "\ud800",
    "surrogate name": lambda: {"\udc00": 1},
    "set": lambda: {1, "a"},
    "tuple": lambda: (1, ("a",)),
    "deque": lambda: deque([1]),
    "generator": lambda: (n for n in "ab"),
    "decimal": lambda: Decimal("1.10"),
    "long decimal": lambda: Decimal("1e999999"),
    "date": lambda: dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "enum": lambda: Level.LOW,
    "odd enum": lambda: Kind.ODD,
    "word": lambda: Word("../x"),
    "number": lambda: Number(7),
    "loud": lambda: Loud(x=1),
    "endless": lambda: Endless(x=1),
    "user dict": lambda: UserDict(x="..", _tool_call_id="i"),
    "proxy": lambda: MappingProxyType({"x": 1}),
    "ordered": lambda: OrderedDict(x=[1, 2]),
    "void": Void,
    "class": lambda: Void,
    "circle": make_cycle,
    "deep": lambda: _deep(5_000),
    "deep enough": lambda: _deep(90),
    "many": lambda: [0] * 300_000,
    "equal": lambda: [10**200 + n for n in range(3_000)],
    "long number": lambda: 10**5000,
    "long": lambda: "a" * 500_000,
    "wide": lambda: {f"n{number}": number for number in range(3_000)},
    "no names": lambda: {1: 2, None: 3, ("a",): 4},
}
"""Makers of values that no hypothesis prints, by name; a case holds the name."""


class Strange(NamedTuple):
    """Stands for one of those values in a case."""

    name: str


def make_value(value):
    """Put what is strange in the place of its names."""
    if isinstance(value, Strange):
        return STRANGE[value.name]()
    if isinstance(value, dict):
        return {name: make_value(each) for name, each in value.items()}
    return [make_value(item) for item in value] if isinstance(value, list) else value


class Reply(NamedTuple):
    """A response of the server."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Call(NamedTuple):
    """A case: which tool, its input (`make_value` of `template`), and the response."""

    tool: str
    template: Any
    reply: Reply = Reply(200, (), b"")


TOOLS = {tool.name: tool for tool in load_tools(seeds.every_style())}
_STRANGE = st.sampled_from(sorted(STRANGE)).map(Strange)
_WILD = st.one_of(st.sampled_from(TEXTS), st.sampled_from(_NUMBERS), _STRANGE, JSON)
_KEYS = st.sampled_from(_NAMES + TEXTS)
_VALUE = st.recursive(
    _WILD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def draw_input(draw, name):
    """Draw an input that fits nearly, or not at all."""
    schema = TOOLS[name].input_schema
    if draw(st.integers(0, 9)) == 0:
        return draw(_VALUE)
    fitting = {} if draw(st.booleans()) else draw(inputs(schema))
    names = st.sampled_from([*schema["properties"]] * 4 + _NAMES)
    return {**fitting, **draw(st.dictionaries(names, _VALUE, max_size=2))}


_PROBLEM = {"type": SECRET, "title": [1], "status": {}, "detail": "\u0000", "errors": None}
_BODIES = [
    *(b"", b"{}", b"null", b'{"a": NaN}', b'{"a": 1e999}', b'"\\ud800"', b"[" * 3000),
    *(b'{"a":1,"a":2}', b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"<html><title>x</title>"),
    *(b"<?xml?><a>&b;</a>", b"data: {\n\ndata: x\n\n", b"data: 1\r\rid", b"{}\n{}\n[", b"9" * 5000),
    *(b"--b\r\n\r\nx\r\n--b--", b"\x89PNG", b"\x1b[31mred\x07", b"a" * 300_000, SECRET.encode()),
    *(json.dumps(["x" * 90] * 4000).encode(), json.dumps(_PROBLEM).encode()),
    json.dumps({"echo": f"Bearer {SECRET}", "n": [[[SECRET]]]}).encode(),
    gzip.compress(b"x" * 5_000_000),
]
_VALUES_OF = {
    "content-type": [
        *("application/json", "text/html", "text/event-stream", "x", "", "image/png", "*/*;=;"),
        *("text/plain; charset=rot13", "multipart/mixed; boundary=b", "application/problem+json"),
        *("a/b" * 2000, "application/jsonl", "text/plain; charset=utf-16"),
    ],
    "content-encoding": ["gzip", "br", "deflate, gzip", "x", ",".join(["gzip"] * 60)],
    "retry-after": ["1", "-1", "9" * 400, "nan", "Wed, 21 Oct 2015 07:28:00 GMT", "é"],
    "location": ["/x", "//evil.test/", "http://evil.test", "file:///x", "http://[", ""],
    "content-length": ["0", "-1", "9" * 30, "x"],
    "set-cookie": [f"a={SECRET}"],
    "content-disposition": ['attachment; filename="../../x"'],
    "link": ['<http://evil.test>; rel="next"'],
    "www-authenticate": [f"Bearer {SECRET}"],
    "x-request-id": ["\x01"],
}
_HEADERS = [(name, value) for name, values in _VALUES_OF.items() for value in values]
_STATUSES = [
    *(200, 200, 200, 201, 204, 206, 299, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404),
    *(429, 500, 503, 599),
]
_REPLY = st.builds(
    Reply,
    st.sampled_from(_STATUSES),
    st.lists(st.sampled_from(_HEADERS), max_size=3).map(tuple),
    st.sampled_from(_BODIES) | st.binary(max_size=30),
)
CALLS = st.sampled_from(sorted(TOOLS)).flatmap(
    lambda name: st.builds(Call, st.just(name), draw_input(name), _REPLY)
)
"""Calls of every kind of tool."""
