"""Calls of the FastAPI application, and what it says it received.

The rows of one operation stand together; between them they use every operation of the application.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple


class Call(NamedTuple):
    """One call; `output` is what the server says, or properties of the result's `error`."""

    tool: str
    arguments: dict[str, Any]
    output: Any
    target: str = ""


def echo_call(tool, arguments, target=""):
    """Return a call whose result holds its arguments."""
    return Call(tool, arguments, arguments, target)


def bytes_of(content):
    return {"base64": base64.b64encode(content).decode()}


def describe_content(text, media_type):
    return [media_type, text.encode().hex()]


NO_SEARCH = {"tag": None, "ratio": None, "active": None, "after": None, "within": None}
SEARCH = {
    "q": "a&b=c d+e%20/ü",
    "limit": 50,
    "tag": ["new", "a,b", "c d"],
    "ratio": 0.25,
    "active": True,
    "after": "2026-01-02T03:04:05+01:00",
    "within": "PT1H",
}
NO_FILTER = {"name": None, "size": 20, "sort": [], "since": None, "ids": []}
FILTER = {"sort": ["name", "-age"], "since": "yesterday", "ids": [1, 2]}
HEADERS = {"x_token": "abc, d=e; f", "x_count": 3, "x_flag": False, "strange_header": "kept"}
NO_HEADERS = {"x_count": None, "x_flag": None, "trace": None, "strange_header": None}

PARAMETERS = [
    echo_call("get_item", {"item_id": 7}, "/items/7"),
    echo_call("get_item", {"item_id": -1}),
    echo_call("get_by_name", {"name": "Anna Blume"}, "/names/Anna%20Blume"),
    echo_call("get_by_name", {"name": "日本 é🚀"}),
    echo_call("get_by_name", {"name": "a?b#c;d=e&f+g%41:@,$'\"<>\\^`{|}~"}),
    Call("get_by_color", {"color": "dark blue"}, {"color": "dark blue", "member": "dark_blue"}),
    echo_call("get_file", {"file_path": "docs/a b/ü.txt"}, "/files/docs%2Fa%20b%2F%C3%BC.txt"),
    echo_call("get_span", {"low": 3, "high": 12, "unit": "km"}, "/spans/3-12/km"),
    Call("search", {"q": "x"}, {"q": "x", "limit": 10} | NO_SEARCH, "/search?q=x"),
    Call("search", SEARCH, SEARCH | {"within": 3600.0}),
    Call("search", {"q": "x", "active": False, "ratio": 1e-7, "tag": []},
         {"q": "x", "limit": 10} | NO_SEARCH | {"active": False, "ratio": 1e-7}),
    Call("filter_items", {}, NO_FILTER, "/filter"),
    Call("filter_items",
         {"filter_name": "Rex & Co", "page_size": 5, "sort_by": ["name", "-age"],
          "since": "yesterday", "ids": [1, 2]},
         FILTER | {"name": "Rex & Co", "size": 5}),
    Call("get_headers", HEADERS | {"X_Trace_Id": "t-1", "user_agent": "mine/1.0"},
         HEADERS | {"trace": "t-1", "x_values": None, "user_agent": "mine/1.0"}),
    Call("get_headers", {"x_token": "t", "x_values": ["a", "b"], "user_agent": "-"},
         {"x_token": "t"} | NO_HEADERS | {"x_values": ["a,b"], "user_agent": "-"}),
    Call("get_cookies", {"session": "abc-_.~", "visits": 3, "ui_theme": "dark"},
         {"session": "abc-_.~", "visits": 3, "theme": "dark"}),
    Call("old_search", {}, {"q": "all"}),
]  # fmt: skip

OCTETS = "application/octet-stream"
ARCHIVE = bytes(range(256))
ORDER = {"placed": "2026-02-03T04:05:06Z", "lines": [{"sku": "a", "quantity": 2, "price": "1.10"}]}
NODE = {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}, {"value": 4}]}
NODE_READ = {
    "value": 1,
    "children": [{"value": 2, "children": [{"value": 3, "children": []}]},
                 {"value": 4, "children": []}],
}  # fmt: skip
CIRCLE = {"kind": "circle", "radius": 1.5}
NOTED = {"id_path": 1, "id_query": "q&=", "id_header": "h", "id_cookie": "c", "id_body": "b"}
LOGIN = {"username": "ann@example.org", "password": "p&=+ %ü\n"}
NAMED = {"text": "zwölf", "filename": 'a "b" ü.txt', "content_type": "text/plain"}
DESCRIBED = {"title": "Ein Titel: ü", "tag": ["a", "b"], "count": 2, "public": True}

BODIES = [
    Call("login", LOGIN, LOGIN | {"remember": False, "scope": [], "client_id": None}),
    echo_call("login", LOGIN | {"remember": True, "scope": ["read", "a b"], "client_id": "c-1"}),
    Call("upload", {"file": bytes_of(ARCHIVE) | {"filename": "a.png", "content_type": "image/png"}},
         {"file": ["a.png", "image/png", ARCHIVE.hex()], "comment": None}),
    Call("upload", {"file": NAMED, "comment": "c"},  # as from a browser
         {"file": ["a %22b%22 ü.txt", *describe_content("zwölf", "text/plain")], "comment": "c"}),
    Call("upload", {"file": {"text": ""}}, {"file": ["file", OCTETS, ""], "comment": None}),
    Call("upload", {}, {"file": None, "comment": None}),
    Call("upload_described",
         DESCRIBED | {"files": [bytes_of(b"\xff") | {"filename": "a.bin"}, {"text": "two"}]},
         DESCRIBED
         | {"files": [["a.bin", OCTETS, "ff"], ["file", *describe_content("two", OCTETS)]]}),
    Call("create_tree", {"body": NODE}, NODE_READ),
    Call("draw_shape", {"body": CIRCLE}, {"read_as": "Circle", "shape": CIRCLE}),
    *[echo_call("update_profile", value) for value in ({"nick": None}, {"age": 5}, {})],
    Call("create_order", ORDER, {"sum": "2.20", "order": ORDER | {"notes": {}, "total": "0"}}),
    Call("sum_numbers", {"body": [1, 2.5, -3]}, {"sum": 0.5, "count": 3}),
    Call("sum_numbers", {"body": []}, {"sum": 0, "count": 0}),
    echo_call("set_level", {"level": 3}),
    Call("set_motto", {"body": 'say "hi"'}, {"motto": 'say "hi"'}),
    Call("set_optional_profile", {}, {"profile": None}),
    Call("set_optional_profile", {"body": None}, {"profile": None}),
    Call("set_optional_profile", {"body": {"age": 1}}, {"profile": {"nick": None, "age": 1}}),
    Call("set_same", NOTED | {"title": "t"}, [1, "q&=", "h", "c", "b", "t"]),
    Call("send_text", {"body": "a\nzwölf"},
         describe_content("a\nzwölf", "text/plain; charset=utf-8")),
    Call("send_bytes", {"body": bytes_of(b"\x00\xff\r\n")}, [OCTETS, "00ff0d0a"]),
    Call("send_lines", {"body": [{"a": 1}, "two", None]},
         describe_content('{"a":1}\n"two"\nnull\n', "application/x-ndjson")),
    Call("delete_items", {"body": [1, 2], "purge": True}, {"deleted": [1, 2], "purge": True},
         "/items?purge=true"),
]  # fmt: skip

CALLS = [*PARAMETERS, *BODIES]

FAILING = [
    Call("get_by_name", {"name": "a/b"}, {"type": "http", "status": 404}),
    Call("search", {"q": "x", "after": "someday"}, {"type": "http", "status": 422}),
]

REFUSED = [
    Call(tool, arguments, {"type": "invalid_input"})
    for tool, arguments in (
        ("get_by_color", {"color": "blue"}),
        ("get_file", {"file_path": "a/../b"}),
        ("search", {}),
        ("draw_shape", {"body": {"kind": "circle"}}),
        ("create_order", ORDER | {"total": 1}),
        ("upload", {"file": "/etc/passwd"}),
    )
]
