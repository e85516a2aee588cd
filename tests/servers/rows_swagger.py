"""Wire table: Swagger 2.0."""

from servers.documents import Row
from servers.rows_parts import OCTETS, field, file, parts


def _field(kind, collection, location="query", **items):
    listed = {"name": "x", "in": location, "type": kind, "items": {"type": "string", **items}}
    if location == "path":
        listed["required"] = True
    if collection:
        listed["collectionFormat"] = collection
    return listed


def _swagger(title, section, listed, arguments, expected, **fields):
    path = "/p/{x}" if any(p["in"] == "path" for p in listed) else "/p"
    operation = {"version": "2.0", "path": path, "parameters": listed, **fields}
    return Row(title, section, operation, arguments, expected)


def _array(title, location, collection, expected):
    value, listed = ["a b", "c|d"], [_field("array", collection, location)]
    return _swagger(title, "2.0 collectionFormat", listed, {"x": value}, expected)


def _nested_row(title, location, collection, inner, expected):
    items = {"type": "array", "collectionFormat": inner, "items": {"type": "string"}}
    listed, value = [_field("array", collection, location, **items)], [["a", "b"], ["c"]]
    section = "2.0 Items Object collectionFormat"
    return _swagger(title, section, listed, {"x": value}, expected)


URLENCODED = {"content-type": "application/x-www-form-urlencoded"}
FILE = {"name": "f", "in": "formData", "type": "file", "required": True}

SWAGGER = [
    _array("csv", "query", "csv", {"target": "/p?x=a%20b,c%7Cd"}),
    _array("csv is the default", "query", None, {"target": "/p?x=a%20b,c%7Cd"}),
    _array("ssv", "query", "ssv", {"target": "/p?x=a%20b%20c%7Cd"}),
    _array("tsv", "query", "tsv", {"target": "/p?x=a%20b%09c%7Cd"}),
    _array("pipes", "query", "pipes", {"target": "/p?x=a%20b%7Cc%7Cd"}),
    _array("multi", "query", "multi", {"target": "/p?x=a%20b&x=c%7Cd"}),
    _array("csv in a path", "path", "csv", {"target": "/p/a%20b,c%7Cd"}),
    _array("ssv in a path", "path", "ssv", {"target": "/p/a%20b%20c%7Cd"}),
    _array("tsv in a path", "path", "tsv", {"target": "/p/a%20b%09c%7Cd"}),
    _array("pipes in a path", "path", "pipes", {"target": "/p/a%20b%7Cc%7Cd"}),
    _array("csv in a header", "header", "csv", {"x": "a b,c|d"}),
    _array("ssv in a header", "header", "ssv", {"x": "a b c|d"}),
    _array("tsv in a header", "header", "tsv", {"x": "a b\tc|d"}),
    _array("pipes in a header", "header", "pipes", {"x": "a b|c|d"}),
    _array("csv in a form", "formData", "csv", {"body": b"x=a+b,c%7Cd", **URLENCODED}),
    _array("ssv in a form", "formData", "ssv", {"body": b"x=a+b+c%7Cd", **URLENCODED}),
    _array("tsv in a form", "formData", "tsv", {"body": b"x=a+b%09c%7Cd", **URLENCODED}),
    _array("pipes in a form", "formData", "pipes", {"body": b"x=a+b%7Cc%7Cd", **URLENCODED}),
    _array("multi in a form", "formData", "multi", {"body": b"x=a+b&x=c%7Cd", **URLENCODED}),
    _nested_row("arrays in arrays", "query", "csv", "pipes", {"target": "/p?x=a%7Cb,c"}),
    _nested_row("arrays in arrays in a header", "header", "pipes", "ssv", {"x": "a b|c"}),
    _swagger("a file and a field", "2.0 Parameter Object, formData",
        [FILE, {"name": "n", "in": "formData", "type": "integer"}],
        {"f": {"text": "x", "filename": "a"}, "n": 5},
        {"body": parts(file("f", "a", OCTETS, b"x"), field("n", "5"))}),
    _swagger("csv in multipart", "2.0 collectionFormat", [_field("array", "csv", "formData")],
        {"x": ["a b", "c"]}, {"body": parts(field("x", "a b,c"))},
        consumes=["multipart/form-data"]),
    _swagger("multi in multipart", "2.0 collectionFormat", [_field("array", "multi", "formData")],
        {"x": ["a", "b"]}, {"body": parts(field("x", "a"), field("x", "b"))},
        consumes=["multipart/form-data"]),
    _swagger(
        "a body",
        "2.0 Parameter Object, body",
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
    _swagger("a body of text", "2.0 consumes",
        [{"name": "b", "in": "body", "required": True, "schema": {"type": "string"}}],
        {"body": "x"}, {"body": b"x", "content-type": "text/plain; charset=utf-8"},
        consumes=["text/plain"]),
]  # fmt: skip

GROUPS = {"Swagger 2.0": SWAGGER}
