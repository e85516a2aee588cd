"""Wire table: Swagger 2.0."""

from __future__ import annotations

from servers.documents import Row
from servers.rows_parts import OCTETS, field, file, parts


def _field(kind: str, collection: str | None, location: str = "query", **items: object) -> dict:
    listed = {"name": "x", "in": location, "type": kind, "items": {"type": "string", **items}}
    if location == "path":
        listed["required"] = True
    if collection:
        listed["collectionFormat"] = collection
    return listed


def _swagger(listed: list[dict], arguments: dict, expected: dict, **more: object) -> tuple:
    path = "/p/{x}" if any(p["in"] == "path" for p in listed) else "/p"
    return {"version": "2.0", "path": path, "parameters": listed, **more}, arguments, expected


def _array(location: str, collection: str | None, expected: dict, **items: object) -> tuple:
    value = [["a", "b"], ["c"]] if items else ["a b", "c|d"]
    return _swagger([_field("array", collection, location, **items)], {"x": value}, expected)


URLENCODED = {"content-type": "application/x-www-form-urlencoded"}
FILE = {"name": "f", "in": "formData", "type": "file", "required": True}

SWAGGER = [
    Row("csv", "2.0 collectionFormat", *_array("query", "csv", {"target": "/p?x=a%20b,c%7Cd"})),
    Row(
        "csv is the default",
        "2.0 collectionFormat",
        *_array("query", None, {"target": "/p?x=a%20b,c%7Cd"}),
    ),
    Row("ssv", "2.0 collectionFormat", *_array("query", "ssv", {"target": "/p?x=a%20b%20c%7Cd"})),
    Row("tsv", "2.0 collectionFormat", *_array("query", "tsv", {"target": "/p?x=a%20b%09c%7Cd"})),
    Row(
        "pipes", "2.0 collectionFormat", *_array("query", "pipes", {"target": "/p?x=a%20b%7Cc%7Cd"})
    ),
    Row(
        "multi", "2.0 collectionFormat", *_array("query", "multi", {"target": "/p?x=a%20b&x=c%7Cd"})
    ),
    Row(
        "csv in a path",
        "2.0 collectionFormat",
        *_array("path", "csv", {"target": "/p/a%20b,c%7Cd"}),
    ),
    Row(
        "ssv in a path",
        "2.0 collectionFormat",
        *_array("path", "ssv", {"target": "/p/a%20b%20c%7Cd"}),
    ),
    Row(
        "tsv in a path",
        "2.0 collectionFormat",
        *_array("path", "tsv", {"target": "/p/a%20b%09c%7Cd"}),
    ),
    Row(
        "pipes in a path",
        "2.0 collectionFormat",
        *_array("path", "pipes", {"target": "/p/a%20b%7Cc%7Cd"}),
    ),
    Row("csv in a header", "2.0 collectionFormat", *_array("header", "csv", {"x": "a b,c|d"})),
    Row("ssv in a header", "2.0 collectionFormat", *_array("header", "ssv", {"x": "a b c|d"})),
    Row("tsv in a header", "2.0 collectionFormat", *_array("header", "tsv", {"x": "a b\tc|d"})),
    Row("pipes in a header", "2.0 collectionFormat", *_array("header", "pipes", {"x": "a b|c|d"})),
    Row(
        "csv in a form",
        "2.0 collectionFormat",
        *_array("formData", "csv", {"body": b"x=a+b,c%7Cd", **URLENCODED}),
    ),
    Row(
        "ssv in a form",
        "2.0 collectionFormat",
        *_array("formData", "ssv", {"body": b"x=a+b+c%7Cd", **URLENCODED}),
    ),
    Row(
        "tsv in a form",
        "2.0 collectionFormat",
        *_array("formData", "tsv", {"body": b"x=a+b%09c%7Cd", **URLENCODED}),
    ),
    Row(
        "pipes in a form",
        "2.0 collectionFormat",
        *_array("formData", "pipes", {"body": b"x=a+b%7Cc%7Cd", **URLENCODED}),
    ),
    Row(
        "multi in a form",
        "2.0 collectionFormat",
        *_array("formData", "multi", {"body": b"x=a+b&x=c%7Cd", **URLENCODED}),
    ),
    Row(
        "arrays in arrays",
        "2.0 Items Object collectionFormat",
        *_array(
            "query",
            "csv",
            {"target": "/p?x=a%7Cb,c"},
            type="array",
            collectionFormat="pipes",
            items={"type": "string"},
        ),
    ),
    Row(
        "arrays in arrays in a header",
        "2.0 Items Object collectionFormat",
        *_array(
            "header",
            "pipes",
            {"x": "a b|c"},
            type="array",
            collectionFormat="ssv",
            items={"type": "string"},
        ),
    ),
    Row(
        "a file and a field",
        "2.0 Parameter Object, formData",
        *_swagger(
            [FILE, {"name": "n", "in": "formData", "type": "integer"}],
            {"f": {"text": "x", "filename": "a"}, "n": 5},
            {"body": parts(file("f", "a", OCTETS, b"x"), field("n", "5"))},
        ),
    ),
    Row(
        "csv in multipart",
        "2.0 collectionFormat",
        *_swagger(
            [_field("array", "csv", "formData")],
            {"x": ["a b", "c"]},
            {"body": parts(field("x", "a b,c"))},
            consumes=["multipart/form-data"],
        ),
    ),
    Row(
        "multi in multipart",
        "2.0 collectionFormat",
        *_swagger(
            [_field("array", "multi", "formData")],
            {"x": ["a", "b"]},
            {"body": parts(field("x", "a"), field("x", "b"))},
            consumes=["multipart/form-data"],
        ),
    ),
    Row(
        "a body",
        "2.0 Parameter Object, body",
        *_swagger(
            [
                {
                    "name": "b",
                    "in": "body",
                    "required": True,
                    "schema": {"type": "object", "properties": {"a": {}}},
                }
            ],
            {"a": None},
            {"body": b'{"a":null}', "content-type": "application/json"},
        ),
    ),
    Row(
        "a body of text",
        "2.0 consumes",
        *_swagger(
            [{"name": "b", "in": "body", "required": True, "schema": {"type": "string"}}],
            {"body": "x"},
            {"body": b"x", "content-type": "text/plain; charset=utf-8"},
            consumes=["text/plain"],
        ),
    ),
]

GROUPS = {"Swagger 2.0": SWAGGER}
