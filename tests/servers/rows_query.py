"""Wire table: query strings."""

from __future__ import annotations

from functools import partial

from servers.documents import Row, parameter

query = partial(parameter, "query")
STRINGS = {"type": "array", "items": {"type": "string"}}
JSON = {"content": {"application/json": {"schema": {}}}}


def _one(value: object, target: str, *, version: str = "3.1.2", **fields: object) -> tuple:
    """One query parameter `x`."""
    return (
        {"version": version, "parameters": [query("x", **fields)]},
        {"x": value},
        {"target": "/p" + target},
    )


PRIMITIVES = [
    Row("a string", "3.1.2 §4.8.12.6 form", *_one("blue", "?x=blue")),
    Row("an empty string", "3.0.3 Style Examples «empty»", *_one("", "?x=")),
    Row("an integer", "3.2.0 Appendix B", *_one(42, "?x=42")),
    Row("zero", "3.2.0 Appendix B", *_one(0, "?x=0")),
    Row("a negative integer", "3.2.0 Appendix B", *_one(-7, "?x=-7")),
    Row("an integer beyond 64 bits", "RFC 8259 §6", *_one(2**70, "?x=1180591620717411303424")),
    Row("true", "3.2.0 Appendix B", *_one(True, "?x=true")),
    Row("false", "3.2.0 Appendix B", *_one(False, "?x=false")),
    Row("a float", "ECMA-262 Number::toString", *_one(1.5, "?x=1.5")),
    Row("an integral float", "ECMA-262 Number::toString", *_one(3.0, "?x=3")),
    Row("negative zero", "ECMA-262 Number::toString", *_one(-0.0, "?x=0")),
    Row("a large float", "ECMA-262 Number::toString", *_one(1e22, "?x=1e%2B22")),
    Row("a small float", "ECMA-262 Number::toString", *_one(1e-7, "?x=1e-7")),
    Row("null is left out", "RFC 6570 §2.3", *_one(None, "")),
    Row("a space", "RFC 6570 §3.2.1", *_one("a b", "?x=a%20b")),
    Row("a plus", "3.2.0 Appendix E", *_one("a+b", "?x=a%2Bb")),
    Row("a percent sign", "RFC 3986 §2.4", *_one("50%", "?x=50%25")),
    Row("text that looks encoded", "RFC 3986 §2.4", *_one("%2F", "?x=%252F")),
    Row(
        "every reserved character",
        "RFC 3986 §2.2",
        *_one(":/?#[]@!$&'()*+,;=", "?x=%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
    ),
    Row("every unreserved mark", "RFC 3986 §2.3", *_one("-._~", "?x=-._~")),
    Row("no second parameter", "PROMISES: smuggling", *_one("x&admin=1", "?x=x%26admin%3D1")),
    Row("two-byte characters", "RFC 3986 §2.5", *_one("é", "?x=%C3%A9")),
    Row("characters beyond the BMP", "RFC 3986 §2.5", *_one("🚀", "?x=%F0%9F%9A%80")),
    Row("combining characters stay", "RFC 3986 §2.5", *_one("e\u0301", "?x=e%CC%81")),
    Row("a line break", "RFC 3986 §2.1", *_one("a\r\nb", "?x=a%0D%0Ab")),
    Row("NUL", "RFC 3986 §2.1", *_one("a\0b", "?x=a%00b")),
    Row("quotes and angles", "RFC 3986 §2", *_one('"<>\\^`{|}', "?x=%22%3C%3E%5C%5E%60%7B%7C%7D")),
]

ARRAYS = [
    Row("exploded", "3.1.2 §4.8.12.6 form", *_one(["a", "b"], "?x=a&x=b", schema=STRINGS)),
    Row("not exploded", "3.1.2 §4.8.12.6 form", *_one(["a", "b"], "?x=a,b", explode=False)),
    Row(
        "a comma inside a value",
        "3.2.0 Appendix C",
        *_one(["a,b", "c"], "?x=a%2Cb,c", explode=False),
    ),
    Row("empty: left out", "RFC 6570 §2.3", *_one([], "", schema=STRINGS)),
    Row("empty, not exploded: left out", "RFC 6570 §2.3", *_one([], "", explode=False)),
    Row("null members: left out", "RFC 6570 §2.3", *_one(["a", None, "b"], "?x=a&x=b")),
    Row("only null members: left out", "RFC 6570 §2.3", *_one([None], "", explode=False)),
    Row("an empty string member", "RFC 6570 §3.2.8", *_one(["", "a"], "?x=&x=a")),
    Row("an empty string alone", "RFC 6570 §3.2.8", *_one([""], "?x=", explode=False)),
    Row(
        "mixed primitives",
        "3.2.0 Appendix B",
        *_one([1, True, 2.5], "?x=1,true,2.5", explode=False),
    ),
    Row("spaces", "3.1.2 spaceDelimited", *_one(["a", "b"], "?x=a%20b", style="spaceDelimited")),
    Row(
        "spaces, exploded as form",
        "limits: n/a in 3.1.2",
        *_one(["a", "b"], "?x=a&x=b", style="spaceDelimited", explode=True),
    ),
    Row("pipes", "3.1.2 pipeDelimited", *_one(["a", "b"], "?x=a%7Cb", style="pipeDelimited")),
    Row(
        "pipes as 3.0.3 prints them",
        "3.0.3 Style Examples",
        *_one(["a", "b"], "?x=a|b", style="pipeDelimited", version="3.0.3"),
    ),
    Row(
        "pipes, exploded as form",
        "limits: n/a in 3.1.2",
        *_one(["a", "b"], "?x=a&x=b", style="pipeDelimited", explode=True),
    ),
    Row(
        "a primitive with pipes", "limits: n/a in 3.1.2", *_one("a", "?x=a", style="pipeDelimited")
    ),
    Row(
        "objects inside: JSON",
        "limits: undefined by the standard",
        *_one([{"a": 1}], "?x=%7B%22a%22%3A1%7D"),
    ),
    Row(
        "arrays inside: JSON",
        "limits: undefined by the standard",
        *_one([[1, 2], [3]], "?x=%5B1%2C2%5D,%5B3%5D", explode=False),
    ),
]

OBJECTS = [
    Row("exploded", "3.1.2 §4.8.12.6 form", *_one({"R": 1, "G": 2}, "?R=1&G=2")),
    Row(
        "not exploded", "3.1.2 §4.8.12.6 form", *_one({"R": 1, "G": 2}, "?x=R,1,G,2", explode=False)
    ),
    Row("empty: left out", "3.2.0 Appendix C", *_one({}, "")),
    Row("null members: left out", "RFC 6570 §2.3", *_one({"R": None, "G": 2}, "?G=2")),
    Row("only null members", "RFC 6570 §2.3", *_one({"R": None}, "", explode=False)),
    Row("keys are encoded", "3.2.0 Appendix C", *_one({"a&b=": "c"}, "?a%26b%3D=c")),
    Row(
        "an object inside: JSON",
        "limits: undefined",
        *_one({"a": {"b": 1}}, "?a=%7B%22b%22%3A1%7D"),
    ),
    Row("spaces", "3.1.2 spaceDelimited", *_one({"R": 1}, "?x=R%201", style="spaceDelimited")),
    Row("pipes", "3.1.2 pipeDelimited", *_one({"R": 1}, "?x=R%7C1", style="pipeDelimited")),
]

DEEP = [
    Row(
        "flat",
        "3.1.2 deepObject",
        *_one({"R": 1, "G": "b c"}, "?x%5BR%5D=1&x%5BG%5D=b%20c", style="deepObject"),
    ),
    Row(
        "as 3.0.3 prints it",
        "3.0.3 Style Examples",
        *_one({"R": 1}, "?x[R]=1", style="deepObject", version="3.0.3"),
    ),
    Row(
        "as 3.1.0 prints it",
        "3.1.0 Style Examples",
        *_one({"R": 1}, "?x[R]=1", style="deepObject", version="3.1.0"),
    ),
    Row(
        "explode=false changes nothing",
        "3.2.0 §4.12.2.2",
        *_one({"R": 1}, "?x%5BR%5D=1", style="deepObject", explode=False, version="3.2.0"),
    ),
    Row(
        "objects inside",
        "PHP, Rails, qs",
        *_one({"a": {"b": {"c": 1}}}, "?x%5Ba%5D%5Bb%5D%5Bc%5D=1", style="deepObject"),
    ),
    Row(
        "primitives in arrays",
        "PHP, Rails, Stripe",
        *_one({"a": [1, 2]}, "?x%5Ba%5D%5B%5D=1&x%5Ba%5D%5B%5D=2", style="deepObject"),
    ),
    Row(
        "objects in arrays are numbered",
        "PHP, qs, Stripe",
        *_one(
            {"a": [{"b": 1, "c": 2}, {"b": 3}]},
            "?x%5Ba%5D%5B0%5D%5Bb%5D=1&x%5Ba%5D%5B0%5D%5Bc%5D=2&x%5Ba%5D%5B1%5D%5Bb%5D=3",
            style="deepObject",
        ),
    ),
    Row(
        "an array at the root",
        "Stripe `expand[]`",
        *_one(["a", "b"], "?x%5B%5D=a&x%5B%5D=b", style="deepObject"),
    ),
    Row("a primitive at the root", "limits: n/a in 3.1.2", *_one("a", "?x=a", style="deepObject")),
    Row(
        "null members: left out",
        "RFC 6570 §2.3",
        *_one({"a": None, "b": 1}, "?x%5Bb%5D=1", style="deepObject"),
    ),
    Row(
        "empty members: left out",
        "RFC 6570 §2.3",
        *_one({"a": {}, "b": []}, "", style="deepObject"),
    ),
    Row(
        "an empty string member",
        "RFC 6570 §3.2.8",
        *_one({"a": ""}, "?x%5Ba%5D=", style="deepObject"),
    ),
    Row("booleans", "3.2.0 Appendix B", *_one({"a": True}, "?x%5Ba%5D=true", style="deepObject")),
    Row(
        "keys are encoded",
        "3.2.0 Appendix C",
        *_one({"a b": 1}, "?x%5Ba%20b%5D=1", style="deepObject"),
    ),
]

RESERVED = [
    Row(
        "a path stays readable",
        "RFC 6570 §3.2.3",
        *_one("/a/b:c@d", "?x=/a/b:c@d", allowReserved=True),
    ),
    Row("triples stay", "RFC 6570 §3.2.3", *_one("a%2Fb", "?x=a%2Fb", allowReserved=True)),
    Row(
        "a lone percent sign",
        "RFC 6570 §3.2.3",
        *_one("50% off", "?x=50%25%20off", allowReserved=True),
    ),
    Row("a half triple", "RFC 6570 §3.2.3", *_one("%4", "?x=%254", allowReserved=True)),
    Row("others are encoded", "RFC 6570 §3.2.3", *_one('a"é', "?x=a%22%C3%A9", allowReserved=True)),
    Row(
        "what would end the pair or the query",
        "3.2.0 §4.12.4; limits",
        *_one("a&b=c#d+e", "?x=a%26b=c%23d%2Be", allowReserved=True),
    ),
    Row(
        "brackets and the rest",
        "RFC 6570 §3.2.3",
        *_one("[]!$'()*,;=?", "?x=[]!$'()*,;=?", allowReserved=True),
    ),
    Row(
        "in arrays",
        "3.2.0 Appendix C",
        *_one(["a/b", "c"], "?x=a/b,c", allowReserved=True, explode=False),
    ),
    Row(
        "in deep objects",
        "3.2.0 Appendix C",
        *_one({"a": "b/c"}, "?x%5Ba%5D=b/c", style="deepObject", allowReserved=True),
    ),
    Row(
        "names stay encoded",
        "3.2.0 Appendix C",
        *_one({"a/b": "c/d"}, "?a%2Fb=c/d", allowReserved=True),
    ),
]

CONTENT = [
    Row(
        "JSON object",
        "3.1.2 §4.8.12.2.3",
        *_one({"a": "b c"}, "?x=%7B%22a%22%3A%22b%20c%22%7D", **JSON),
    ),
    Row("JSON array", "3.1.2 §4.8.12.2.3", *_one([1, None], "?x=%5B1%2Cnull%5D", **JSON)),
    Row("JSON string has quotes", "RFC 8259 §7", *_one("a", "?x=%22a%22", **JSON)),
    Row("JSON number", "RFC 8259 §6", *_one(1.5, "?x=1.5", **JSON)),
    Row("JSON keeps an empty array", "RFC 8259 §5", *_one([], "?x=%5B%5D", **JSON)),
    Row(
        "JSON is UTF-8",
        "RFC 8259 §8.1",
        *_one({"é": "🚀"}, "?x=%7B%22%C3%A9%22%3A%22%F0%9F%9A%80%22%7D", **JSON),
    ),
    Row(
        "a +json type",
        "RFC 6839 §3.1",
        *_one({"a": 1}, "?x=%7B%22a%22%3A1%7D", content={"application/vnd.x+json": {}}),
    ),
    Row(
        "text as it is",
        "3.1.2 §4.8.12.2.3",
        *_one("a b", "?x=a%20b", content={"text/plain": {"schema": {"type": "string"}}}),
    ),
]

SEVERAL = [
    Row(
        "in the document's order",
        "3.2.0 Appendix C",
        {"parameters": [query("b"), query("a"), query("c")]},
        {"c": 1, "a": 2, "b": 3},
        {"target": "/p?b=3&a=2&c=1"},
    ),
    Row(
        "what is not given is not sent",
        "3.1.2 §4.8.12.2",
        {"parameters": [query("a"), query("b")]},
        {"b": 1},
        {"target": "/p?b=1"},
    ),
    Row(
        "names with brackets",
        "3.2.0 Appendix E",
        {"parameters": [query("filter[status]")]},
        {"filter[status]": "open"},
        {"target": "/p?filter%5Bstatus%5D=open"},
    ),
    Row(
        "a name with &",
        "PROMISES: smuggling",
        {"parameters": [query("a&b")]},
        {"a&b": 1},
        {"target": "/p?a%26b=1"},
    ),
    Row(
        "a name with a dollar sign",
        "RFC 6570 §3.2.1",
        {"parameters": [query("$top")]},
        {"$top": 5},
        {"target": "/p?%24top=5"},
    ),
    Row(
        "a fixed query in the path",
        "limits: path keys with ?",
        {"path": "/p?beta=true", "parameters": [query("a")]},
        {"a": 1},
        {"target": "/p?beta=true&a=1"},
    ),
    Row(
        "a fixed query alone",
        "limits: path keys with ?",
        {"path": "/p?beta=a%20b c"},
        {},
        {"target": "/p?beta=a%20b%20c"},
    ),
    Row(
        "a fragment tells operations apart",
        "limits: path keys with #",
        {"path": "/p#Action=Tag", "parameters": [query("a")]},
        {"a": 1},
        {"target": "/p?a=1"},
    ),
]

QUERYSTRING = [
    Row(
        "null is left out",
        "RFC 6570 §2.3",
        {"version": "3.2.0", "parameters": [parameter("querystring", "q", **JSON)]},
        {"q": None},
        {"target": "/p"},
    ),
    Row(
        "a form",
        "3.2.0 §4.12.8",
        {
            "version": "3.2.0",
            "parameters": [
                parameter("querystring", "q", content={"application/x-www-form-urlencoded": {}})
            ],
        },
        {"q": {"foo": "a + b", "bar": True, "list": [1, 2], "none": None}},
        {"target": "/p?foo=a+%2B+b&bar=true&list=1&list=2"},
    ),
    Row(
        "JSON",
        "3.2.0 §4.12.8",
        {"version": "3.2.0", "parameters": [parameter("querystring", "q", **JSON)]},
        {"q": {"numbers": [1, 2], "flag": None}},
        {"target": "/p?%7B%22numbers%22%3A%5B1%2C2%5D%2C%22flag%22%3Anull%7D"},
    ),
    Row(
        "text",
        "3.2.0 §4.12.8",
        {
            "version": "3.2.0",
            "parameters": [
                parameter(
                    "querystring",
                    "q",
                    content={"application/jsonpath": {"schema": {"type": "string"}}},
                )
            ],
        },
        {"q": "$.a.b[1:1]"},
        {"target": "/p?%24.a.b%5B1%3A1%5D"},
    ),
]

GROUPS = {
    "query primitive": PRIMITIVES,
    "query array": ARRAYS,
    "query object": OBJECTS,
    "deepObject": DEEP,
    "allowReserved": RESERVED,
    "query content": CONTENT,
    "query": SEVERAL,
    "querystring": QUERYSTRING,
}
