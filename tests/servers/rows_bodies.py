"""Wire table: bodies of one media type, forms included."""

from __future__ import annotations

from functools import partial

from servers.documents import Row, body, object_of

FORM = "application/x-www-form-urlencoded"
RAW = b"\x00\xff\r\n--x"
RAW_BASE64 = "AP8NCi0teA=="


def _json(
    arguments: dict, data: bytes, schema: object = None, media_type: str = "application/json"
) -> tuple:
    return (
        {"body": body(media_type, schema)},
        arguments,
        {"body": data, "content-type": media_type},
    )


def _whole(
    value: object, data: bytes, media_type: str, *, sent: str = "", schema: object = None
) -> tuple:
    operation = {"body": body(media_type, schema), "version": "3.2.0"}
    return operation, {"body": value}, {"body": data, "content-type": sent or media_type}


def _form(arguments: dict, data: bytes, *, version: str = "3.1.2", **encoding: object) -> tuple:
    schema = object_of(**dict.fromkeys(arguments, True))
    fields = {"encoding": encoding} if encoding else {}
    return (
        {"body": body(FORM, schema, **fields), "version": version},
        arguments,
        {"body": data, "content-type": FORM},
    )


def _text_or_bytes(value: object, data: bytes, sent: str) -> tuple:
    """Return what is sent where a document offers text and bytes, text first or last."""
    kinds = {"application/zip": {}, "text/plain": {"schema": {"type": "string"}}, "image/png": {}}
    found = {"body": {"required": True, "content": kinds}}
    return found, {"body": value}, {"body": data, "content-type": sent}


NULLABLE = object_of(a={}, b={})
STRING = {"type": "string"}

JSON = [
    Row("members", "RFC 8259", *_json({"a": 1, "b": "x"}, b'{"a":1,"b":"x"}', NULLABLE)),
    Row("null is not absent", "RFC 7396 §1", *_json({"a": None}, b'{"a":null}', NULLABLE)),
    Row(
        "false, zero and empty",
        "RFC 8259",
        *_json({"a": False, "b": 0}, b'{"a":false,"b":0}', NULLABLE),
    ),
    Row("nothing given, but required", "3.1.2 §4.8.13", *_json({}, b"{}", NULLABLE)),
    Row("UTF-8", "RFC 8259 §8.1", *_json({"a": "é🚀"}, '{"a":"é🚀"}'.encode(), NULLABLE)),
    Row(
        "control characters",
        "RFC 8259 §7",
        *_json({"a": "\r\n\t\0"}, b'{"a":"\\r\\n\\t\\u0000"}', NULLABLE),
    ),
    Row(
        "big integers",
        "RFC 8259 §6",
        *_json({"a": 2**70}, b'{"a":1180591620717411303424}', NULLABLE),
    ),
    Row(
        "nested",
        "RFC 8259",
        *_json({"a": [{"b": [None, {}]}]}, b'{"a":[{"b":[null,{}]}]}', NULLABLE),
    ),
    Row("an array", "3.1.2 §4.8.13", *_json({"body": [1, 2]}, b"[1,2]", {"type": "array"})),
    Row("a string", "3.1.2 §4.8.13", *_json({"body": "x"}, b'"x"', STRING)),
    Row("a number", "3.1.2 §4.8.13", *_json({"body": 0}, b"0", {"type": "integer"})),
    Row(
        "null alone", "3.1.2 §4.8.13", *_json({"body": None}, b"null", {"type": ["object", "null"]})
    ),
    Row(
        "a map",
        "3.1.2 §4.8.13",
        *_json({"body": {"k": 1}}, b'{"k":1}', {"type": "object", "additionalProperties": True}),
    ),
    Row(
        "merge patch",
        "RFC 7396",
        *_json({"a": None}, b'{"a":null}', NULLABLE, "application/merge-patch+json"),
    ),
    Row(
        "JSON patch",
        "RFC 6902",
        *_json(
            {"body": [{"op": "remove", "path": "/a"}]},
            b'[{"op":"remove","path":"/a"}]',
            {"type": "array"},
            "application/json-patch+json",
        ),
    ),
    Row(
        "a vendor's +json",
        "RFC 6839 §3.1",
        *_json({"a": 1}, b'{"a":1}', NULLABLE, "application/vnd.github.v3+json"),
    ),
    Row(
        "parameters of the type stay",
        "RFC 9110 §8.3",
        *_json({"a": 1}, b'{"a":1}', NULLABLE, "application/json; charset=utf-8"),
    ),
    Row("text/json", "limits: text/json", *_json({"a": 1}, b'{"a":1}', NULLABLE, "text/json")),
    Row(
        "optional and nothing given: no body",
        "3.1.2 §4.8.13",
        {"body": {"content": {"application/json": {"schema": NULLABLE}}}},
        {},
        {"body": b"", "content-type": None, "content-length": "0"},
    ),
    Row(
        "a body with DELETE",
        "RFC 9110 §9.3.5",
        {"method": "delete", "body": body("application/json", NULLABLE)},
        {"a": 1},
        {"body": b'{"a":1}', "content-length": "7"},
    ),
    Row(
        "a body with GET",
        "RFC 9110 §9.3.1",
        {"method": "get", "body": body("application/json", NULLABLE)},
        {"a": 1},
        {"body": b'{"a":1}', "content-length": "7"},
    ),
]

FORMS = [
    Row("strings", "3.2.0 §4.15.3", *_form({"a": "x", "b": "y"}, b"a=x&b=y")),
    Row("a space is a plus", "3.2.0 §4.12.4", *_form({"a": "b c"}, b"a=b+c")),
    Row("a plus is encoded", "WHATWG URL §5", *_form({"a": "b+c"}, b"a=b%2Bc")),
    Row("the tilde is encoded", "3.2.0 §4.12.4", *_form({"a": "~-._"}, b"a=%7E-._")),
    Row("delimiters", "WHATWG URL §5", *_form({"a": "b&c=d;%"}, b"a=b%26c%3Dd%3B%25")),
    Row("line breaks", "WHATWG URL §5", *_form({"a": "b\r\nc"}, b"a=b%0D%0Ac")),
    Row("UTF-8", "WHATWG URL §5", *_form({"a": "é"}, b"a=%C3%A9")),
    Row(
        "numbers and booleans",
        "3.2.0 Appendix B",
        *_form({"a": 1, "b": 2.5, "c": False}, b"a=1&b=2.5&c=false"),
    ),
    Row("an empty string", "WHATWG URL §5", *_form({"a": ""}, b"a=")),
    Row("null is left out", "3.2.0 §4.15.1.1", *_form({"a": None, "b": 1}, b"b=1")),
    Row("an array repeats its name", "3.2.0 §4.14.5.1", *_form({"a": ["x", "y z"]}, b"a=x&a=y+z")),
    Row("an empty array is left out", "3.2.0 §4.14.5.1", *_form({"a": [], "b": 1}, b"b=1")),
    Row(
        "an object is JSON",
        "3.2.0 §4.15.3",
        *_form({"a": {"b": "c d"}}, b"a=%7B%22b%22%3A%22c+d%22%7D"),
    ),
    Row(
        "objects in an array are JSON each",
        "3.2.0 §4.14.5.1",
        *_form({"a": [{"b": 1}, {"b": 2}]}, b"a=%7B%22b%22%3A1%7D&a=%7B%22b%22%3A2%7D"),
    ),
    Row(
        "a string as JSON",
        "3.2.0 §4.15.3",
        *_form({"id": "f8"}, b"id=%22f8%22", id={"contentType": "application/json"}),
    ),
    Row(
        "null as JSON is still left out",
        "limits: null in forms",
        *_form({"id": None, "b": 1}, b"b=1", id={"contentType": "application/json"}),
    ),
    Row(
        "style form, not exploded",
        "3.2.0 §4.15.1.2",
        *_form({"a": ["x", "y"]}, b"a=x,y", a={"explode": False}),
    ),
    Row(
        "style form, exploded object",
        "3.2.0 §4.15.1.2",
        *_form({"a": {"R": 1, "G": 2}}, b"R=1&G=2", a={"style": "form"}),
    ),
    Row(
        "spaces",
        "3.2.0 §4.15.1.2",
        *_form({"a": ["x", "y"]}, b"a=x+y", a={"style": "spaceDelimited"}),
    ),
    Row(
        "pipes",
        "3.2.0 §4.15.1.2",
        *_form({"a": ["x", "y"]}, b"a=x%7Cy", a={"style": "pipeDelimited"}),
    ),
    Row(
        "deepObject",
        "3.2.0 §4.15.1.2",
        *_form({"a": {"b c": "d e"}}, b"a%5Bb+c%5D=d+e", a={"style": "deepObject"}),
    ),
    Row(
        "deepObject, nested",
        "PHP, Stripe",
        *_form(
            {"a": {"b": {"c": [1, 2]}}},
            b"a%5Bb%5D%5Bc%5D%5B%5D=1&a%5Bb%5D%5Bc%5D%5B%5D=2",
            a={"style": "deepObject"},
        ),
    ),
    Row(
        "deepObject, objects in arrays",
        "PHP, Stripe",
        *_form(
            {"a": [{"b": 1}, {"b": 2}]},
            b"a%5B0%5D%5Bb%5D=1&a%5B1%5D%5Bb%5D=2",
            a={"style": "deepObject"},
        ),
    ),
    Row(
        "deepObject, array of strings",
        "Stripe `expand[]`",
        *_form({"a": ["x"]}, b"a%5B%5D=x", a={"style": "deepObject", "explode": True}),
    ),
    Row(
        "deepObject, a string",
        "Stripe `metadata`",
        *_form({"a": ""}, b"a=", a={"style": "deepObject"}),
    ),
    Row(
        "reserved characters",
        "3.2.0 §4.15.1.2",
        *_form({"a": "b/c d&e"}, b"a=b/c+d%26e", a={"allowReserved": True}),
    ),
    Row(
        "3.0.3 has styles too",
        "3.0.3 Encoding Object",
        *_form({"a": ["x", "y"]}, b"a=x,y", version="3.0.3", a={"explode": False}),
    ),
    Row(
        "nothing given, but required",
        "3.2.0 §4.13",
        {"body": body(FORM, object_of(a=STRING))},
        {},
        {"body": b"", "content-type": FORM, "content-length": "0"},
    ),
    Row(
        "the example of the standard",
        "3.2.0 §4.15.3",
        *_form(
            {
                "id": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
                "address": {"streetAddress": "123 Example Dr.", "zip": "99999+1234"},
            },
            b"id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6&address=%7B%22streetAddress%22%3A%22123+Example"
            b"+Dr.%22%2C%22zip%22%3A%2299999%2B1234%22%7D",
        ),
    ),
]

_text = partial(_whole, schema=STRING)

OTHERS = [
    Row(
        "text",
        "RFC 6838 §4.2.1",
        *_text("a é", "a é".encode(), "text/plain", sent="text/plain; charset=utf-8"),
    ),
    Row(
        "text in its charset",
        "RFC 6838 §4.2.1",
        *_text("é", b"\xe9", "text/plain; charset=iso-8859-1"),
    ),
    Row(
        "empty text",
        "RFC 6838 §4.2.1",
        *_text("", b"", "text/plain", sent="text/plain; charset=utf-8"),
    ),
    Row(
        "a number as text",
        "3.2.0 Appendix B",
        *_whole(
            5, b"5", "text/plain", sent="text/plain; charset=utf-8", schema={"type": "integer"}
        ),
    ),
    Row(
        "CSV",
        "RFC 4180",
        *_text("a,b\r\n1,2", b"a,b\r\n1,2", "text/csv", sent="text/csv; charset=utf-8"),
    ),
    Row("XML", "RFC 7303", *_text("<a>é</a>", "<a>é</a>".encode(), "application/xml")),
    Row("a +xml type", "RFC 7303", *_text("<a/>", b"<a/>", "application/soap+xml")),
    Row("YAML", "RFC 9512", *_text("a: 1\n", b"a: 1\n", "application/yaml")),
    Row("GraphQL", "GraphQL over HTTP", *_text("{ me }", b"{ me }", "application/graphql")),
    Row(
        "JSON lines",
        "3.2.0 §4.14.3.1",
        *_whole([{"a": 1}, "é"], '{"a":1}\n"é"\n'.encode(), "application/jsonl"),
    ),
    Row("NDJSON", "3.2.0 §4.14.3.1", *_whole([1, None], b"1\nnull\n", "application/x-ndjson")),
    Row(
        "JSON text sequence",
        "RFC 7464 §2.2",
        *_whole([{"a": 1}, 2], b'\x1e{"a":1}\n\x1e2\n', "application/json-seq"),
    ),
    Row(
        "a +json-seq type",
        "RFC 8142",
        *_whole([{"a": 1}], b'\x1e{"a":1}\n', "application/geo+json-seq"),
    ),
    Row("an empty sequence", "RFC 7464 §2.2", *_whole([], b"", "application/jsonl")),
    Row(
        "octets", "3.2.0 §4.14.9", *_whole({"base64": RAW_BASE64}, RAW, "application/octet-stream")
    ),
    Row(
        "octets from text",
        "limits: file arguments",
        *_whole({"text": "é"}, "é".encode(), "application/octet-stream"),
    ),
    Row("an image", "3.2.0 §4.14.9", *_whole({"base64": RAW_BASE64}, RAW, "image/png")),
    Row("no octets", "RFC 9110 §8.6", *_whole({"base64": ""}, b"", "application/octet-stream")),
    Row(
        "base64 without padding",
        "RFC 4648 §3.2",
        *_whole({"base64": RAW_BASE64.rstrip("=")}, RAW, "application/octet-stream"),
    ),
    Row(
        "base64url",
        "RFC 4648 §5",
        *_whole({"base64": "-_-_"}, b"\xfb\xff\xbf", "application/octet-stream"),
    ),
    Row(
        "a range takes the file's type",
        "3.2.0 §4.14.9",
        *_whole({"base64": "AA", "content_type": "image/gif"}, b"\0", "image/*", sent="image/gif"),
    ),
    Row(
        "a range without the file's type",
        "RFC 9110 §8.3",
        *_whole({"base64": "AA"}, b"\0", "image/*", sent="application/octet-stream"),
    ),
    Row(
        "the document's type wins",
        "3.2.0 §4.14",
        *_whole({"base64": "AA", "content_type": "image/gif"}, b"\0", "application/zip"),
    ),
    Row(
        "text where bytes are taken too",
        "RFC 9110 §8.3",
        *_text_or_bytes({"text": "é"}, "é".encode(), "text/plain; charset=utf-8"),
    ),
    Row(
        "bytes where text is taken too",
        "RFC 9110 §8.3",
        *_text_or_bytes({"base64": RAW_BASE64}, RAW, "application/zip"),
    ),
    Row(
        "bytes of a listed type where text is taken too",
        "3.2.0 §4.14",
        *_text_or_bytes({"base64": "AA", "content_type": "image/png"}, b"\0", "image/png"),
    ),
    Row(
        "text of a type that is not listed where bytes are taken too",
        "3.2.0 §4.14",
        *_text_or_bytes({"text": "a", "content_type": "a/b"}, b"a", "text/plain; charset=utf-8"),
    ),
]

GROUPS = {"json body": JSON, "form body": FORMS, "other body": OTHERS}
