"""Calls of the FastAPI application, and what it says it received.

The rows of one operation stand together; between them they use every operation of the application.
"""

from real.fastapi_bodies import BODIES, ORDER
from real.fastapi_rows import Call, Failing, echoed

NO_SEARCH = {"tag": None, "ratio": None, "active": None, "after": None, "within": None}
NO_FILTER = {"name": None, "size": 20, "sort": [], "since": None, "ids": []}
NO_HEADERS = {"x_count": None, "x_flag": None, "trace": None, "strange_header": None}

PARAMETERS = [
    echoed("get_item", {"item_id": 7}, "/items/7"),
    echoed("get_item", {"item_id": -1}, note="negative"),
    echoed("get_by_name", {"name": "Anna Blume"}, "/names/Anna%20Blume"),
    echoed("get_by_name", {"name": "日本 é🚀"}, note="not-ascii"),
    echoed("get_by_name", {"name": "a?b#c;d=e&f+g%41:@,$'\"<>\\^`{|}~"}, note="reserved"),
    Call("get_by_uuid", {"key": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
         {"key": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "version": 4}),
    Call("get_by_color", {"color": "dark blue"}, {"color": "dark blue", "member": "dark_blue"}),
    Call("get_by_day", {"day": "2026-11-21"}, {"day": "2026-11-21", "weekday": 6}),
    echoed("get_file", {"file_path": "docs/a b/ü.txt"}, "/files/docs%2Fa%20b%2F%C3%BC.txt"),
    echoed("get_span", {"low": 3, "high": 12, "unit": "km"}, "/spans/3-12/km"),
    Call("search", {"q": "x"}, {"q": "x", "limit": 10} | NO_SEARCH, "/search?q=x", "defaults"),
    Call(
        "search",
        {
            "q": "a&b=c d+e%20/ü",
            "limit": 50,
            "tag": ["new", "a,b", "c d"],
            "ratio": 0.25,
            "active": True,
            "after": "2026-01-02T03:04:05+01:00",
            "within": "PT1H",
        },
        {
            "q": "a&b=c d+e%20/ü",
            "limit": 50,
            "tag": ["new", "a,b", "c d"],
            "ratio": 0.25,
            "active": True,
            "after": "2026-01-02T03:04:05+01:00",
            "within": 3600.0,
        },
        note="everything",
    ),
    Call("search", {"q": "x", "active": False, "ratio": 1e-7, "tag": []},
         {"q": "x", "limit": 10} | NO_SEARCH | {"active": False, "ratio": 1e-7},
         note="false-and-tiny-and-empty"),
    Call("filter_items", {}, NO_FILTER, "/filter", "defaults"),
    Call(
        "filter_items",
        {
            "filter_name": "Rex & Co",
            "page_size": 5,
            "sort_by": ["name", "-age"],
            "since": "yesterday",
            "ids": [1, 2],
        },
        {
            "name": "Rex & Co",
            "size": 5,
            "sort": ["name", "-age"],
            "since": "yesterday",
            "ids": [1, 2],
        },
        note="names-that-are-no-identifiers",
    ),
    Call("get_numbers", {"number": [3, 1, 2], "weight": [0.5, 2]},
         {"number": [3, 1, 2], "weight": [0.5, 2.0]},
         "/numbers?number=3&number=1&number=2&weight=0.5&weight=2"),
    Call(
        "get_headers",
        {
            "x_token": "abc, d=e; f",
            "x_count": 3,
            "x_flag": False,
            "X_Trace_Id": "t-1",
            "strange_header": "kept",
            "user_agent": "mine/1.0",
        },
        {
            "x_token": "abc, d=e; f",
            "x_count": 3,
            "x_flag": False,
            "trace": "t-1",
            "strange_header": "kept",
            "x_values": None,
            "user_agent": "mine/1.0",
        },
    ),
    Call("get_headers", {"x_token": "t", "x_values": ["a", "b"], "user_agent": "-"},
         {"x_token": "t"} | NO_HEADERS | {"x_values": ["a,b"], "user_agent": "-"},
         note="array-in-one-line"),
    Call("get_cookies", {"session": "abc-_.~", "visits": 3, "ui_theme": "dark"},
         {"session": "abc-_.~", "visits": 3, "theme": "dark"}),
    Call("old_search", {}, {"q": "all"}),
]  # fmt: skip

CALLS = [*PARAMETERS, *BODIES]

FAILING = [
    Failing("get_by_name", {"name": "a/b"}, {"type": "http", "status": 404}, "slash"),
    Failing("get_by_day", {"day": "someday"}, {"type": "http", "status": 422}),
]

REFUSED = [
    Failing("get_by_color", {"color": "blue"}, {"type": "invalid_input"}, "enum"),
    Failing("get_file", {"file_path": "a/../b"}, {"type": "invalid_input"}, "dot-segment"),
    Failing("get_item", {"item_id": "7"}, {"type": "invalid_input"}, "text-for-integer"),
    Failing("search", {}, {"type": "invalid_input"}, "missing"),
    Failing("search", {"q": "x", "limit": 51}, {"type": "invalid_input"}, "maximum"),
    Failing("search", {"q": "x", "page": 2}, {"type": "invalid_input"}, "unknown"),
    Failing("get_headers", {"x_token": "a\r\nX-Evil: 1"}, {"type": "invalid_input"}, "line-break"),
    Failing("draw_shape", {"body": {"kind": "circle"}}, {"type": "invalid_input"}, "union"),
    Failing("create_order", ORDER | {"total": 1}, {"type": "invalid_input"}, "read-only"),
    Failing("upload", {"file": "/etc/passwd"}, {"type": "invalid_input"}, "path-as-text"),
    Failing("upload", {"file": {"base64": "%%%"}}, {"type": "invalid_input"}, "no-base64"),
]
