"""Wire table: paths, headers and cookies."""

from __future__ import annotations

from functools import partial

from servers.documents import Row, parameter

TEXT = {"content": {"Text/Plain; charset=utf-8": {"schema": {}}}}
JSON = {"content": {"application/json": {"schema": {}}}}


def _path(
    value: object, target: str, *, path: str = "/p/{x}", version: str = "3.1.2", **fields: object
) -> tuple:
    operation = {"version": version, "path": path, "parameters": [parameter("path", "x", **fields)]}
    return operation, {"x": value}, {"target": target}


def _header(value: object, text: str | None, *, name: str = "X-Y", **fields: object) -> tuple:
    operation = {"parameters": [parameter("header", name, **fields)]}
    return operation, {name: value}, {name.lower(): text}


def _cookie(value: object, text: str | None, *, version: str = "3.2.0", **fields: object) -> tuple:
    operation = {"version": version, "parameters": [parameter("cookie", "c", **fields)]}
    return operation, {"c": value}, {"cookie": text}


_plain_cookie = partial(_cookie, style="cookie")

PATHS = [
    Row("a string", "3.1.2 simple", *_path("blue", "/p/blue")),
    Row("an integer", "3.2.0 Appendix B", *_path(7, "/p/7")),
    Row("zero", "3.2.0 Appendix B", *_path(0, "/p/0")),
    Row("false", "3.2.0 Appendix B", *_path(False, "/p/false")),
    Row("a slash", "3.2.0 §4.8.2", *_path("a/b", "/p/a%2Fb")),
    Row("a query and a fragment", "3.2.0 §4.8.2", *_path("a?b=1#c", "/p/a%3Fb%3D1%23c")),
    Row(
        "other delimiters",
        "RFC 6570 §3.2.2",
        *_path(";&=%+:@ ,!", "/p/%3B%26%3D%25%2B%3A%40%20%2C%21"),
    ),
    Row(
        "an absolute URL",
        "PROMISES: same origin",
        *_path("http://127.0.0.1:1/x", "/p/http%3A%2F%2F127.0.0.1%3A1%2Fx"),
    ),
    Row("a scheme-relative URL", "PROMISES: same origin", *_path("//evil/x", "/p/%2F%2Fevil%2Fx")),
    Row("a backslash", "RFC 3986 §2", *_path("a\\b", "/p/a%5Cb")),
    Row("a line break", "RFC 3986 §2.1", *_path("a\r\nb", "/p/a%0D%0Ab")),
    Row("dots inside a name", "RFC 3986 §2.3", *_path("v1..2", "/p/v1..2")),
    Row("three dots", "RFC 3986 §5.2.4", *_path("...", "/p/...")),
    Row("a hidden file", "RFC 3986 §5.2.4", *_path(".env", "/p/.env")),
    Row("a tilde", "RFC 3986 §2.3", *_path("~me", "/p/~me")),
    Row("text that looks encoded", "RFC 3986 §2.4", *_path("a%2Fb", "/p/a%252Fb")),
    Row("other alphabets", "3.2.0 §4.12.8", *_path("diṅnāga", "/p/di%E1%B9%85n%C4%81ga")),
    Row("empty as the whole last segment", "PROMISES: empty path values", *_path("", "/p/")),
    Row("an array", "3.1.2 simple", *_path(["a", "b,c"], "/p/a,b%2Cc")),
    Row("an array, exploded", "3.1.2 simple", *_path(["a", "b"], "/p/a,b", explode=True)),
    Row("an object", "3.1.2 simple", *_path({"R": 1, "G": 2}, "/p/R,1,G,2")),
    Row(
        "an object, exploded", "3.1.2 simple", *_path({"R": 1, "G": 2}, "/p/R=1,G=2", explode=True)
    ),
    Row("a label", "3.1.2 label", *_path("a.b", "/p/.a.b", style="label")),
    Row("a label's array", "3.1.2 label", *_path(["a", "b"], "/p/.a,b", style="label")),
    Row(
        "a label's array in 3.0.3",
        "3.0.3 label",
        *_path(["a", "b"], "/p/.a.b", style="label", version="3.0.3"),
    ),
    Row(
        "a label's array, exploded",
        "3.1.2 label",
        *_path(["a", "b"], "/p/.a.b", style="label", explode=True),
    ),
    Row(
        "a label's object, exploded",
        "3.1.2 label",
        *_path({"a": 1, "b": 2}, "/p/.a=1.b=2", style="label", explode=True),
    ),
    Row("an empty label", "3.0.3 label «empty»", *_path("", "/p.", path="/p{x}", style="label")),
    Row("a matrix", "3.1.2 matrix", *_path("a;b", "/p/;x=a%3Bb", style="matrix")),
    Row("an empty matrix", "3.0.3 matrix «empty»", *_path("", "/p/;x", style="matrix")),
    Row("a matrix array", "3.1.2 matrix", *_path(["a", "b"], "/p/;x=a,b", style="matrix")),
    Row(
        "a matrix array, exploded",
        "3.1.2 matrix",
        *_path(["a", "b"], "/p/;x=a;x=b", style="matrix", explode=True),
    ),
    Row(
        "a matrix object, exploded",
        "3.1.2 matrix",
        *_path({"R": 1, "G": ""}, "/p/;R=1;G", style="matrix", explode=True),
    ),
    Row("JSON", "3.1.2 §4.8.12.2.3", *_path({"a": 1}, "/p/%7B%22a%22%3A1%7D", **JSON)),
    Row(
        "reserved characters",
        "3.2.0 §4.12.2.2",
        *_path("a:b@c;d", "/p/a:b@c;d", allowReserved=True, version="3.2.0"),
    ),
    Row(
        "reserved, but never a way out",
        "3.2.0 §4.8.2",
        *_path("a/b?c#d", "/p/a%2Fb%3Fc%23d", allowReserved=True, version="3.2.0"),
    ),
    Row(
        "reserved in a matrix, where a semicolon begins the next pair",
        "limits: allowReserved",
        *_path("a:b;c", "/p/;x=a:b%3Bc", style="matrix", allowReserved=True, version="3.2.0"),
    ),
    Row(
        "reserved, triples stay",
        "3.2.0 §4.12.2.2",
        *_path("a%2Fb", "/p/a%2Fb", allowReserved=True, version="3.2.0"),
    ),
    Row("inside a segment", "3.2.0 §4.8.2", *_path("b", "/p/a-b.json", path="/p/a-{x}.json")),
    Row("twice in one path", "limits: repeated variables", *_path("b", "/b/b", path="/{x}/{x}")),
    Row(
        "in front of an action", "Google AIP-136", *_path("b", "/p/b:cancel", path="/p/{x}:cancel")
    ),
    Row(
        "literals are encoded",
        "RFC 3986 §3.3",
        *_path("b", "/a%20b/caf%C3%A9/b", path="/a b/café/{x}"),
    ),
    Row("encoded literals stay", "RFC 3986 §2.4", *_path("b", "/a%20b/b", path="/a%20b/{x}")),
    Row("a path without its slash", "limits: path keys", *_path("b", "/p/b", path="p/{x}")),
    Row(
        "a path with two slashes",
        "PROMISES: hostile path keys",
        *_path("b", "//evil/b", path="//evil/{x}"),
    ),
    Row(
        "a path that is a URL",
        "PROMISES: hostile path keys",
        *_path("b", "/http://evil/b", path="http://evil/{x}"),
    ),
    Row(
        "a path with user-info",
        "PROMISES: hostile path keys",
        *_path("b", "/@evil/b", path="@evil/{x}"),
    ),
]

HEADERS = [
    Row("a string", "3.1.2 simple", *_header("a", "a")),
    Row("an integer", "3.2.0 Appendix B", *_header(5, "5")),
    Row("a boolean", "3.2.0 Appendix B", *_header(True, "true")),
    Row("nothing is encoded", "3.2.0 §4.12.2.2", *_header('a b%20/"c";d,e', 'a b%20/"c";d,e')),
    Row("an empty string", "RFC 9110 §5.5", *_header("", "")),
    Row("null is left out", "RFC 6570 §2.3", *_header(None, None)),
    Row("an array", "3.2.0 §4.12.8", *_header([12345678, 90099], "12345678,90099")),
    Row("an array, exploded", "3.1.2 simple", *_header(["a", "b"], "a,b", explode=True)),
    Row("an empty array", "RFC 6570 §2.3", *_header([], None)),
    Row("an object", "3.1.2 simple", *_header({"R": 1, "G": 2}, "R,1,G,2")),
    Row("an object, exploded", "3.1.2 simple", *_header({"R": 1, "G": 2}, "R=1,G=2", explode=True)),
    Row("Latin-1", "RFC 9110 §5.5", *_header("café", "café")),
    Row("a tab inside", "RFC 9110 §5.5", *_header("a\tb", "a\tb")),
    Row(
        "JSON is ASCII",
        "3.1.2 §4.8.12.2.3; RFC 9110 §5.5",
        *_header({"a": "中"}, '{"a":"\\u4e2d"}', **JSON),
    ),
    Row(
        "text content",
        "3.1.2 §4.8.12.2.3",
        *_header("a b", "a b", content={"text/plain": {"schema": {"type": "string"}}}),
    ),
    Row("the case of the name", "RFC 9110 §5.1", *_header("a", "a", name="X-rEQUEST-Id")),
    Row(
        "User-Agent may be declared",
        "RFC 9110 §10.1.5",
        *_header("mine/1", "mine/1", name="User-Agent"),
    ),
]

COOKIES = [
    Row("form", "3.1.2 form", *_cookie("blue", "c=blue")),
    Row(
        "form is percent-encoded",
        "3.2.0 §4.12.8",
        *_cookie("Hello, world!", "c=Hello%2C%20world%21"),
    ),
    Row(
        "form: no second cookie", "PROMISES: cookies", *_cookie("b; admin=1", "c=b%3B%20admin%3D1")
    ),
    Row("form: a line break", "PROMISES: CR/LF", *_cookie("a\r\nX: 1", "c=a%0D%0AX%3A%201")),
    Row("form: empty", "3.0.3 form «empty»", *_cookie("", "c=")),
    Row("form: null is left out", "RFC 6570 §2.3", *_cookie(None, None)),
    Row("form: an array", "3.1.2 form", *_cookie(["a", "b"], "c=a,b", explode=False)),
    Row("form: an array, exploded", "3.2.0 Appendix D", *_cookie(["a", "b"], "c=a&c=b")),
    Row("form: an object, exploded", "3.2.0 Appendix D", *_cookie({"R": 1, "G": 2}, "R=1&G=2")),
    Row("form: an object", "3.1.2 form", *_cookie({"R": 1, "G": 2}, "c=R,1,G,2", explode=False)),
    Row(
        "form: reserved", "3.2.0 Appendix D", *_cookie("a/b=c;d", "c=a/b=c%3Bd", allowReserved=True)
    ),
    Row("form: JSON", "3.1.2 §4.8.12.2.3", *_cookie({"a": 1}, "c=%7B%22a%22%3A1%7D", **JSON)),
    Row("form: text content", "3.2.0 Appendix D", *_cookie("a=b/%41, c", "c=a=b/%41, c", **TEXT)),
    Row("form: text content, a number", "3.2.0 Appendix D", *_cookie(1.5, "c=1.5", **TEXT)),
    Row(
        "cookie: as it is", "3.2.0 §4.12.8", *_plain_cookie("Hello%2C world!", "c=Hello%2C world!")
    ),
    Row(
        "cookie: an object",
        "3.2.0 §4.12.8",
        *_plain_cookie(
            {"greeting": "Hello%2C world!", "code": 42}, "greeting=Hello%2C world!; code=42"
        ),
    ),
    Row("cookie: an array", "3.2.0 §4.12.6", *_plain_cookie(["a", "b"], "c=a; c=b")),
    Row(
        "cookie: not exploded", "3.2.0 §4.12.6", *_plain_cookie(["a", "b"], "c=a,b", explode=False)
    ),
    Row("cookie: empty", "3.2.0 §4.12.6", *_plain_cookie("", "c=")),
    Row(
        "several make one header",
        "RFC 6265 §4.2.1",
        {"parameters": [parameter("cookie", "a"), parameter("cookie", "b")]},
        {"a": 1, "b": 2},
        {"cookie": "a=1; b=2"},
    ),
    Row(
        "a name with brackets",
        "limits: cookie names",
        {"parameters": [parameter("cookie", "a[b]")]},
        {"a[b]": 1},
        {"cookie": "a[b]=1"},
    ),
]

FRAME = [
    Row("Accept without answers", "RFC 9110 §12.5.1", {}, {}, {"accept": "*/*"}),
    Row(
        "Accept, JSON first",
        "RFC 9110 §12.5.1",
        {
            "responses": {
                "200": {"description": "", "content": {"text/csv": {}, "application/json": {}}}
            }
        },
        {},
        {"accept": "application/json, text/csv, */*;q=0.1"},
    ),
    Row(
        "the method's own case",
        "3.2.0 §4.9.1 additionalOperations",
        {"version": "3.2.0", "method": "Copy"},
        {},
        {"method": "Copy"},
    ),
    Row(
        "codings that are decoded", "RFC 9110 §12.5.3", {}, {}, {"accept-encoding": "gzip, deflate"}
    ),
    Row(
        "no body, no type",
        "RFC 9110 §8.3",
        {"method": "post"},
        {},
        {"content-type": None, "content-length": "0", "body": b""},
    ),
    Row("no body with DELETE", "RFC 9110 §8.6", {"method": "delete"}, {}, {"content-length": None}),
    Row(
        "Accept is no parameter",
        "3.1.2 §4.8.12.2",
        {"parameters": [parameter("header", "Accept")]},
        {},
        {"accept": "*/*"},
    ),
]

GROUPS = {"path": PATHS, "header": HEADERS, "cookie": COOKIES, "frame": FRAME}
