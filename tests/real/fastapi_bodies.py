"""Calls of the FastAPI application with a body, and what it says it received."""

import hashlib

from real.fastapi_rows import ARCHIVE, OCTETS, PNG, Call, as_base64, echoed, told

ORDER = {"placed": "2026-02-03T04:05:06Z", "lines": [{"sku": "a", "quantity": 2, "price": "1.10"}]}
ORDER_READ = ORDER | {"notes": {}, "gift": None, "total": "0"}
NODE = {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}, {"value": 4}]}
LEAF = {"children": [], "parent_note": None}
NODE_READ = {
    "value": 1,
    "children": [{"value": 2, "children": [{"value": 3} | LEAF], "parent_note": None},
                 {"value": 4} | LEAF],
    "parent_note": None,
}  # fmt: skip
CIRCLE = {"kind": "circle", "radius": 1.5}
NOTED = {"id_path": 1, "id_query": "q&=", "id_header": "h", "id_cookie": "c", "id_body": "b"}

BODIES = [
    Call(
        "login",
        {"username": "ann@example.org", "password": "p&=+ %ü\n"},
        {
            "username": "ann@example.org",
            "password": "p&=+ %ü\n",
            "remember": False,
            "scope": [],
            "client_id": None,
        },
        note="required-fields",
    ),
    echoed(
        "login",
        {
            "username": "a",
            "password": "b",
            "remember": True,
            "scope": ["read", "write all"],
            "client_id": "c-1",
        },
        note="every-field",
    ),
    Call("upload",
         {"file": {"base64": as_base64(PNG), "filename": "red.png", "content_type": "image/png"}},
         told(PNG, "red.png", "image/png")),
    Call(
        "upload",
        {"file": {"text": "zwölf", "filename": 'a "b" ü.txt', "content_type": "text/plain"}},
        told("zwölf".encode(), "a %22b%22 ü.txt", "text/plain"),  # as from a browser
        note="text-and-a-name-with-quotes",
    ),
    Call("upload", {"file": {"text": ""}}, told(b"", "file", OCTETS), note="empty"),
    Call(
        "upload_many",
        {
            "files": [
                {"base64": as_base64(ARCHIVE), "filename": "a.bin"},
                {"text": "two", "filename": "b.txt", "content_type": "text/plain"},
            ]
        },
        [told(ARCHIVE, "a.bin", OCTETS), told(b"two", "b.txt", "text/plain")],
    ),
    Call(
        "upload_described",
        {
            "file": {"text": "x", "filename": "x.txt"},
            "title": "Ein Titel: ü",
            "tag": ["a", "b"],
            "count": 2,
            "public": True,
        },
        told(b"x", "x.txt", OCTETS)
        | {"title": "Ein Titel: ü", "tag": ["a", "b"], "count": 2, "public": True},
    ),
    Call("upload_optional", {"comment": "none"}, {"file": None, "comment": "none"}, note="without"),
    Call("upload_optional", {"file": {"text": "x", "filename": "x"}},
         {"file": told(b"x", "x", OCTETS), "comment": None}, note="with"),
    Call("upload_optional", {}, {"file": None, "comment": None}, note="with-nothing"),
    Call("upload_bytes", {"data": {"base64": as_base64(ARCHIVE)}},
         {"size": len(ARCHIVE), "sha256": hashlib.sha256(ARCHIVE).hexdigest()}),
    Call("create_tree", {"body": NODE}, {"nodes": 4, "node": NODE_READ}),
    Call("draw_shape", {"body": CIRCLE}, {"read_as": "Circle", "shape": CIRCLE}),
    Call("update_profile", {"nick": None},
         {"set": {"nick": None}, "whole": {"nick": None, "age": None, "motto": "carpe diem"}},
         note="null-is-set"),
    Call("update_profile", {"age": 5},
         {"set": {"age": 5}, "whole": {"nick": None, "age": 5, "motto": "carpe diem"}},
         note="absent-is-not-set"),
    Call("update_profile", {},
         {"set": {}, "whole": {"nick": None, "age": None, "motto": "carpe diem"}},
         note="empty-object"),
    Call("create_order", ORDER, {"sum": "2.20", "order": ORDER_READ}),
    Call("sum_numbers", {"body": [1, 2.5, -3]}, {"sum": 0.5, "count": 3}),
    Call("sum_numbers", {"body": []}, {"sum": 0, "count": 0}, note="empty"),
    Call("store_rates", {"body": {"EUR": 1, "us $": 1.1}}, {"EUR": 1.0, "us $": 1.1}),
    echoed("set_level", {"level": 3}),
    Call("set_motto", {"body": 'say "hi"'}, {"motto": 'say "hi"'}),
    Call("set_optional_profile", {}, {"profile": None}, note="without"),
    Call("set_optional_profile", {"body": None}, {"profile": None}, note="null"),
    Call("set_optional_profile", {"body": {"age": 1}},
         {"profile": {"nick": None, "age": 1, "motto": "carpe diem"}}, note="with"),
    Call("set_same", NOTED | {"title": "t"},
         {"path": 1, "query": "q&=", "header": "h", "cookie": "c", "body": "b", "title": "t"}),
    Call("send_text", {"body": "line one\nzwölf"},
         {"text": "line one\nzwölf", "content_type": "text/plain; charset=utf-8"}),
    Call("send_xml", {"body": "<a>ü</a>"}, {"text": "<a>ü</a>", "content_type": "application/xml"}),
    Call("send_bytes", {"body": {"base64": as_base64(b"\x00\xff\r\n")}},
         {"hex": "00ff0d0a", "content_type": OCTETS}),
    Call("send_lines", {"body": [{"a": 1}, "two", None]},
         {"lines": ['{"a":1}', '"two"', "null"], "content_type": "application/x-ndjson"}),
    Call("delete_items", {"body": [1, 2], "purge": True}, {"deleted": [1, 2], "purge": True},
         "/items?purge=true"),
]  # fmt: skip
