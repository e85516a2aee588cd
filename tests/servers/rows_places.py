"""Wire table: paths, headers and cookies."""

from functools import partial

from servers.documents import Row, parameter

TEXT = {"content": {"Text/Plain; charset=utf-8": {"schema": {}}}}
JSON = {"content": {"application/json": {"schema": {}}}}


def _path(title, section, value, target, *, path="/p/{x}", version="3.1.2", **fields):
    operation = {"version": version, "path": path, "parameters": [parameter("path", "x", **fields)]}
    return Row(title, section, operation, {"x": value}, {"target": target})


def _header(title, section, value, text, *, name="X-Y", **fields):
    operation = {"parameters": [parameter("header", name, **fields)]}
    return Row(title, section, operation, {name: value}, {name.lower(): text})


def _cookie(title, section, value, text, *, version="3.2.0", **fields):
    operation = {"version": version, "parameters": [parameter("cookie", "c", **fields)]}
    return Row(title, section, operation, {"c": value}, {"cookie": text})


_label = partial(_path, style="label")
_matrix = partial(_path, style="matrix")
_reserved = partial(_path, allowReserved=True, version="3.2.0")
_plain_cookie = partial(_cookie, style="cookie")

PATHS = [
    _path("a string", "3.1.2 simple", "blue", "/p/blue"),
    _path("an integer", "3.2.0 Appendix B", 7, "/p/7"),
    _path("zero", "3.2.0 Appendix B", 0, "/p/0"),
    _path("false", "3.2.0 Appendix B", False, "/p/false"),
    _path("a slash", "3.2.0 §4.8.2", "a/b", "/p/a%2Fb"),
    _path("a query and a fragment", "3.2.0 §4.8.2", "a?b=1#c", "/p/a%3Fb%3D1%23c"),
    _path("other delimiters", "RFC 6570 §3.2.2", ";&=%+:@ ,!", "/p/%3B%26%3D%25%2B%3A%40%20%2C%21"),
    _path("an absolute URL", "PROMISES: same origin", "http://127.0.0.1:1/x",
          "/p/http%3A%2F%2F127.0.0.1%3A1%2Fx"),
    _path("a scheme-relative URL", "PROMISES: same origin", "//evil/x", "/p/%2F%2Fevil%2Fx"),
    _path("a backslash", "RFC 3986 §2", "a\\b", "/p/a%5Cb"),
    _path("a line break", "RFC 3986 §2.1", "a\r\nb", "/p/a%0D%0Ab"),
    _path("dots inside a name", "RFC 3986 §2.3", "v1..2", "/p/v1..2"),
    _path("three dots", "RFC 3986 §5.2.4", "...", "/p/..."),
    _path("a hidden file", "RFC 3986 §5.2.4", ".env", "/p/.env"),
    _path("a tilde", "RFC 3986 §2.3", "~me", "/p/~me"),
    _path("text that looks encoded", "RFC 3986 §2.4", "a%2Fb", "/p/a%252Fb"),
    _path("other alphabets", "3.2.0 §4.12.8", "diṅnāga", "/p/di%E1%B9%85n%C4%81ga"),
    _path("empty as the whole last segment", "PROMISES: empty path values", "", "/p/"),
    _path("an array", "3.1.2 simple", ["a", "b,c"], "/p/a,b%2Cc"),
    _path("an array, exploded", "3.1.2 simple", ["a", "b"], "/p/a,b", explode=True),
    _path("an object", "3.1.2 simple", {"R": 1, "G": 2}, "/p/R,1,G,2"),
    _path("an object, exploded", "3.1.2 simple", {"R": 1, "G": 2}, "/p/R=1,G=2", explode=True),
    _label("a label", "3.1.2 label", "a.b", "/p/.a.b"),
    _label("a label's array", "3.1.2 label", ["a", "b"], "/p/.a,b"),
    _label("a label's array in 3.0.3", "3.0.3 label", ["a", "b"], "/p/.a.b", version="3.0.3"),
    _label("a label's array, exploded", "3.1.2 label", ["a", "b"], "/p/.a.b", explode=True),
    _label(
        "a label's object, exploded", "3.1.2 label", {"a": 1, "b": 2}, "/p/.a=1.b=2", explode=True
    ),
    _label("an empty label", "3.0.3 label «empty»", "", "/p.", path="/p{x}"),
    _matrix("a matrix", "3.1.2 matrix", "a;b", "/p/;x=a%3Bb"),
    _matrix("an empty matrix", "3.0.3 matrix «empty»", "", "/p/;x"),
    _matrix("a matrix array", "3.1.2 matrix", ["a", "b"], "/p/;x=a,b"),
    _matrix("a matrix array, exploded", "3.1.2 matrix", ["a", "b"], "/p/;x=a;x=b", explode=True),
    _matrix(
        "a matrix object, exploded", "3.1.2 matrix", {"R": 1, "G": ""}, "/p/;R=1;G", explode=True
    ),
    _path("JSON", "3.1.2 §4.8.12.2.3", {"a": 1}, "/p/%7B%22a%22%3A1%7D", **JSON),
    _reserved("reserved characters", "3.2.0 §4.12.2.2", "a:b@c;d", "/p/a:b@c;d"),
    _reserved("reserved, but never a way out", "3.2.0 §4.8.2", "a/b?c#d", "/p/a%2Fb%3Fc%23d"),
    _matrix("reserved in a matrix, where a semicolon begins the next pair", "limits: allowReserved",
            "a:b;c", "/p/;x=a:b%3Bc", allowReserved=True, version="3.2.0"),
    _reserved("reserved, triples stay", "3.2.0 §4.12.2.2", "a%2Fb", "/p/a%2Fb"),
    _path("inside a segment", "3.2.0 §4.8.2", "b", "/p/a-b.json", path="/p/a-{x}.json"),
    _path("twice in one path", "limits: repeated variables", "b", "/b/b", path="/{x}/{x}"),
    _path("in front of an action", "Google AIP-136", "b", "/p/b:cancel", path="/p/{x}:cancel"),
    _path("literals are encoded", "RFC 3986 §3.3", "b", "/a%20b/caf%C3%A9/b", path="/a b/café/{x}"),
    _path("encoded literals stay", "RFC 3986 §2.4", "b", "/a%20b/b", path="/a%20b/{x}"),
    _path("a path without its slash", "limits: path keys", "b", "/p/b", path="p/{x}"),
    _path(
        "a path with two slashes", "PROMISES: hostile path keys", "b", "//evil/b", path="//evil/{x}"
    ),
    _path("a path that is a URL", "PROMISES: hostile path keys", "b", "/http://evil/b",
          path="http://evil/{x}"),
    _path(
        "a path with user-info", "PROMISES: hostile path keys", "b", "/@evil/b", path="@evil/{x}"
    ),
]  # fmt: skip

HEADERS = [
    _header("a string", "3.1.2 simple", "a", "a"),
    _header("an integer", "3.2.0 Appendix B", 5, "5"),
    _header("a boolean", "3.2.0 Appendix B", True, "true"),
    _header("nothing is encoded", "3.2.0 §4.12.2.2", 'a b%20/"c";d,e', 'a b%20/"c";d,e'),
    _header("an empty string", "RFC 9110 §5.5", "", ""),
    _header("null is left out", "RFC 6570 §2.3", None, None),
    _header("an array", "3.2.0 §4.12.8", [12345678, 90099], "12345678,90099"),
    _header("an array, exploded", "3.1.2 simple", ["a", "b"], "a,b", explode=True),
    _header("an empty array", "RFC 6570 §2.3", [], None),
    _header("an object", "3.1.2 simple", {"R": 1, "G": 2}, "R,1,G,2"),
    _header("an object, exploded", "3.1.2 simple", {"R": 1, "G": 2}, "R=1,G=2", explode=True),
    _header("Latin-1", "RFC 9110 §5.5", "café", "café"),
    _header("a tab inside", "RFC 9110 §5.5", "a\tb", "a\tb"),
    _header(
        "JSON is ASCII", "3.1.2 §4.8.12.2.3; RFC 9110 §5.5", {"a": "中"}, '{"a":"\\u4e2d"}', **JSON
    ),
    _header("text content", "3.1.2 §4.8.12.2.3", "a b", "a b",
            content={"text/plain": {"schema": {"type": "string"}}}),
    _header("the case of the name", "RFC 9110 §5.1", "a", "a", name="X-rEQUEST-Id"),
    _header(
        "User-Agent may be declared", "RFC 9110 §10.1.5", "mine/1", "mine/1", name="User-Agent"
    ),
]  # fmt: skip

COOKIES = [
    _cookie("form", "3.1.2 form", "blue", "c=blue"),
    _cookie("form is percent-encoded", "3.2.0 §4.12.8", "Hello, world!", "c=Hello%2C%20world%21"),
    _cookie("form: no second cookie", "PROMISES: cookies", "b; admin=1", "c=b%3B%20admin%3D1"),
    _cookie("form: a line break", "PROMISES: CR/LF", "a\r\nX: 1", "c=a%0D%0AX%3A%201"),
    _cookie("form: empty", "3.0.3 form «empty»", "", "c="),
    _cookie("form: null is left out", "RFC 6570 §2.3", None, None),
    _cookie("form: an array", "3.1.2 form", ["a", "b"], "c=a,b", explode=False),
    _cookie("form: an array, exploded", "3.2.0 Appendix D", ["a", "b"], "c=a&c=b"),
    _cookie("form: an object, exploded", "3.2.0 Appendix D", {"R": 1, "G": 2}, "R=1&G=2"),
    _cookie("form: an object", "3.1.2 form", {"R": 1, "G": 2}, "c=R,1,G,2", explode=False),
    _cookie("form: reserved", "3.2.0 Appendix D", "a/b=c;d", "c=a/b=c%3Bd", allowReserved=True),
    _cookie("form: JSON", "3.1.2 §4.8.12.2.3", {"a": 1}, "c=%7B%22a%22%3A1%7D", **JSON),
    _cookie("form: text content", "3.2.0 Appendix D", "a=b/%41, c", "c=a=b/%41, c", **TEXT),
    _cookie("form: text content, a number", "3.2.0 Appendix D", 1.5, "c=1.5", **TEXT),
    _plain_cookie("cookie: as it is", "3.2.0 §4.12.8", "Hello%2C world!", "c=Hello%2C world!"),
    _plain_cookie("cookie: an object", "3.2.0 §4.12.8", {"greeting": "Hello%2C world!", "code": 42},
        "greeting=Hello%2C world!; code=42"),
    _plain_cookie("cookie: an array", "3.2.0 §4.12.6", ["a", "b"], "c=a; c=b"),
    _plain_cookie("cookie: not exploded", "3.2.0 §4.12.6", ["a", "b"], "c=a,b", explode=False),
    _plain_cookie("cookie: empty", "3.2.0 §4.12.6", "", "c="),
    Row("several make one header", "RFC 6265 §4.2.1",
        {"parameters": [parameter("cookie", "a"), parameter("cookie", "b")]}, {"a": 1, "b": 2},
        {"cookie": "a=1; b=2"}),
    Row("a name with brackets", "limits: cookie names",
        {"parameters": [parameter("cookie", "a[b]")]}, {"a[b]": 1}, {"cookie": "a[b]=1"}),
]  # fmt: skip

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
    Row("the method's own case", "3.2.0 §4.9.1 additionalOperations",
        {"version": "3.2.0", "method": "Copy"}, {}, {"method": "Copy"}),
    Row(
        "codings that are decoded", "RFC 9110 §12.5.3", {}, {}, {"accept-encoding": "gzip, deflate"}
    ),
    Row("no body, no type", "RFC 9110 §8.3", {"method": "post"}, {},
        {"content-type": None, "content-length": "0", "body": b""}),
    Row("no body with DELETE", "RFC 9110 §8.6", {"method": "delete"}, {}, {"content-length": None}),
    Row("Accept is no parameter", "3.1.2 §4.8.12.2",
        {"parameters": [parameter("header", "Accept")]}, {}, {"accept": "*/*"}),
]  # fmt: skip

GROUPS = {"path": PATHS, "header": HEADERS, "cookie": COOKIES, "frame": FRAME}
