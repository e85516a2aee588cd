"""Values that are hard to write as Python code: for the literal writer and for whole packages."""

from __future__ import annotations

from typing import Any

from openapi_tools.model import (
    Encoding,
    Operation,
    Parameter,
    Property,
    RequestBody,
    SecurityScheme,
    Server,
    ServerVariable,
)

PROSE = "The quick brown fox jumps over the lazy dog, then looks for another one to jump over. "

TRICKY = {
    "triple double quotes": 'a """ b',
    "triple single quotes": "a ''' b",
    "both triple quotes": "\"\"\"'''",
    "a double quote at each end": '"a"',
    "a single quote at each end": "'a'",
    "quotes of both kinds at the end": "a'\"",
    "as many of both quotes": "\"'",
    "more double quotes": '""\'',
    "more single quotes": "\"''",
    "a backslash at the end": "a\\",
    "a backslash before a quote": 'a\\"',
    "backslashes": "\\\\\\",
    "line feed": "a\nb",
    "carriage return": "a\rb",
    "vertical tab, form feed": "a\vb\fc",
    "separators": "a\x1cb\x1dc\x1ed",
    "next line": "a\x85b",
    "line and paragraph separators": "a\u2028b\u2029c",
    "null, bell, escape, delete": "\x00\x07\x1b[31m\x7f",
    "bidi marks": "a\u202eb\u2066c\u200f",
    "zero width": "a\u200bb\ufeffc\xadd",
    "lone surrogates": "\ud800 \udfff",
    "a pair of lone surrogates": "\ud83d\ude00",
    "emoji": "🚀👩\u200d👩\u200d👧",
    "noqa": "x  # noqa\n# ruff: noqa\n# flake8: noqa",
    "type: ignore": "x  # type: ignore",
    "fmt: off": "# fmt: off\n# fmt: skip\n# isort: skip_file",
    "named character": "\\N{DASH}",
    "cut escapes": "\\x \\u12 \\U0001 \\8",
    "f-string": "{name!r:>{width}} {__import__('os')}",
    "digits after an escape": "\x001\x1bf",
    "spaces": " " * 300,
    "line feeds": "\n" * 30,
    "an empty text": "",
    "a word of 200 columns": "x" * 200,
    "a word of 200 quotes": "\"'" * 100,
    "a word of 200 backslashes": "\\" * 200,
    "a word of 200 emoji": "🚀" * 200,
    "an address of 200 columns": "see https://example.org/" + "path/" * 40 + " for more",
    "prose": PROSE * 8,
    "paragraphs": "\n\n".join([PROSE * 3, "Short.", PROSE * 2]),
    "quotes in prose": ('He said "don\'t", she said "do", they said nothing. ' * 6),
    "mixed": ("é \\ \" ' \n \x00 🚀 words " * 20),
}
VALUES: dict[str, Any] = {
    "None": None,
    "booleans and numbers": [True, 1, 1.0, False, 0, 0.0, -0.0, -1, -1.5],
    "exponents": [1e16, 1.5e300, -1e-7, 5e-324, 1e22, 123456789012345678901234567890],
    "empty": [{}, [], (), ""],
    "tuples": ((), (1,), (1, 2), ((1,),), ("x" * 92,), (["x" * 50, "y" * 50],)),
    "a key of 98 columns": {"k" * 98: {"a": 1}, "k" * 99: "x", "k " * 120: [1]},
    "a key and a text": {"k" * 50: "word " * 11, "l" * 50: "word " * 30, "m" * 91: True},
    "a long list": list(range(100)),
    "members": {"type": "object", "properties": {"a": {"type": "string", "enum": ["a", "b"]}}},
}
MODEL = (
    Parameter("start", "query"),
    Parameter("filter[a]", "query", argument="filter", style="deepObject", explode=False),
    Operation(
        "POST",
        "/pets/{id}",
        operation_id="addPet",
        parameters=(Parameter("id", "path"), Parameter("q", "query", inner=("csv",), printed=True)),
        body=RequestBody(
            "multipart/form-data",
            properties=(Property("a"), Property("b", "c")),
            required=True,
            encodings=(Encoding("a", file=True, headers=(Parameter("X-A", "header"),)),),
        ),
        servers=(Server("https://{v}/", variables={"v": ServerVariable("a", enum=("a", "b"))}),),
        security=({"key": ()}, {"oauth": ("read", "write")}, {}),
        deprecated=True,
    ),
    SecurityScheme("apiKey", name="X-Key", location="header"),
    SecurityScheme("oauth2", flows={"implicit": {"scopes": {"read": "Read " * 30}}}),
    Server("https://example.org/", variables={"v" * 90: ServerVariable("1")}),
    Server("x" * 150),
)
