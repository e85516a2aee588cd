"""Wire table: bodies of one media type, forms included."""

from functools import partial

from servers.documents import Row, body, object_of

FORM = "application/x-www-form-urlencoded"
RAW = b"\x00\xff\r\n--x"
RAW_BASE64 = "AP8NCi0teA=="


NULLABLE = object_of(a={}, b={})
STRING = {"type": "string"}


def _json(title, section, arguments, data, schema=NULLABLE, media_type="application/json"):
    expected = {"body": data, "content-type": media_type}
    return Row(title, section, {"body": body(media_type, schema)}, arguments, expected)


def _whole(title, section, value, data, media_type, *, sent="", schema=None):
    operation = {"body": body(media_type, schema), "version": "3.2.0"}
    expected = {"body": data, "content-type": sent or media_type}
    return Row(title, section, operation, {"body": value}, expected)


_text = partial(_whole, schema=STRING)
_plain = partial(_text, media_type="text/plain", sent="text/plain; charset=utf-8")
_octets = partial(_whole, media_type="application/octet-stream")


def _form(title, section, arguments, data, *, version="3.1.2", **encoding):
    fields = {"encoding": encoding} if encoding else {}
    node = body(FORM, object_of(**dict.fromkeys(arguments, True)), **fields)
    expected = {"body": data, "content-type": FORM}
    return Row(title, section, {"body": node, "version": version}, arguments, expected)


_deep = partial(_form, a={"style": "deepObject"})


def _text_or_bytes(title, section, value, data, sent):
    """What is sent where a document offers text and bytes, text first or last."""
    kinds = {"application/zip": {}, "text/plain": {"schema": STRING}, "image/png": {}}
    operation = {"body": {"required": True, "content": kinds}}
    return Row(title, section, operation, {"body": value}, {"body": data, "content-type": sent})


JSON = [
    _json("members", "RFC 8259", {"a": 1, "b": "x"}, b'{"a":1,"b":"x"}'),
    _json("null is not absent", "RFC 7396 §1", {"a": None}, b'{"a":null}'),
    _json("false, zero and empty", "RFC 8259", {"a": False, "b": 0}, b'{"a":false,"b":0}'),
    _json("nothing given, but required", "3.1.2 §4.8.13", {}, b"{}"),
    _json("UTF-8", "RFC 8259 §8.1", {"a": "é🚀"}, '{"a":"é🚀"}'.encode()),
    _json("control characters", "RFC 8259 §7", {"a": "\r\n\t\0"}, b'{"a":"\\r\\n\\t\\u0000"}'),
    _json("big integers", "RFC 8259 §6", {"a": 2**70}, b'{"a":1180591620717411303424}'),
    _json("nested", "RFC 8259", {"a": [{"b": [None, {}]}]}, b'{"a":[{"b":[null,{}]}]}'),
    _json("an array", "3.1.2 §4.8.13", {"body": [1, 2]}, b"[1,2]", {"type": "array"}),
    _json("a string", "3.1.2 §4.8.13", {"body": "x"}, b'"x"', STRING),
    _json("a number", "3.1.2 §4.8.13", {"body": 0}, b"0", {"type": "integer"}),
    _json("null alone", "3.1.2 §4.8.13", {"body": None}, b"null", {"type": ["object", "null"]}),
    _json("a map", "3.1.2 §4.8.13", {"body": {"k": 1}}, b'{"k":1}',
          {"type": "object", "additionalProperties": True}),
    _json("merge patch", "RFC 7396", {"a": None}, b'{"a":null}',
          media_type="application/merge-patch+json"),
    _json("JSON patch", "RFC 6902", {"body": [{"op": "remove", "path": "/a"}]},
          b'[{"op":"remove","path":"/a"}]', {"type": "array"},
          media_type="application/json-patch+json"),
    _json("a vendor's +json", "RFC 6839 §3.1", {"a": 1}, b'{"a":1}',
          media_type="application/vnd.github.v3+json"),
    _json("parameters of the type stay", "RFC 9110 §8.3", {"a": 1}, b'{"a":1}',
          media_type="application/json; charset=utf-8"),
    _json("text/json", "limits: text/json", {"a": 1}, b'{"a":1}', media_type="text/json"),
    Row("optional and nothing given: no body", "3.1.2 §4.8.13",
        {"body": {"content": {"application/json": {"schema": NULLABLE}}}}, {},
        {"body": b"", "content-type": None, "content-length": "0"}),
    Row("a body with DELETE", "RFC 9110 §9.3.5",
        {"method": "delete", "body": body("application/json", NULLABLE)}, {"a": 1},
        {"body": b'{"a":1}', "content-length": "7"}),
    Row("a body with GET", "RFC 9110 §9.3.1",
        {"method": "get", "body": body("application/json", NULLABLE)}, {"a": 1},
        {"body": b'{"a":1}', "content-length": "7"}),
]  # fmt: skip

FORMS = [
    _form("strings", "3.2.0 §4.15.3", {"a": "x", "b": "y"}, b"a=x&b=y"),
    _form("a space is a plus", "3.2.0 §4.12.4", {"a": "b c"}, b"a=b+c"),
    _form("a plus is encoded", "WHATWG URL §5", {"a": "b+c"}, b"a=b%2Bc"),
    _form("the tilde is encoded", "3.2.0 §4.12.4", {"a": "~-._"}, b"a=%7E-._"),
    _form("delimiters", "WHATWG URL §5", {"a": "b&c=d;%"}, b"a=b%26c%3Dd%3B%25"),
    _form("line breaks", "WHATWG URL §5", {"a": "b\r\nc"}, b"a=b%0D%0Ac"),
    _form("UTF-8", "WHATWG URL §5", {"a": "é"}, b"a=%C3%A9"),
    _form("numbers and booleans", "3.2.0 Appendix B", {"a": 1, "b": 2.5, "c": False},
          b"a=1&b=2.5&c=false"),
    _form("an empty string", "WHATWG URL §5", {"a": ""}, b"a="),
    _form("null is left out", "3.2.0 §4.15.1.1", {"a": None, "b": 1}, b"b=1"),
    _form("an array repeats its name", "3.2.0 §4.14.5.1", {"a": ["x", "y z"]}, b"a=x&a=y+z"),
    _form("an empty array is left out", "3.2.0 §4.14.5.1", {"a": [], "b": 1}, b"b=1"),
    _form(
        "an object is JSON", "3.2.0 §4.15.3", {"a": {"b": "c d"}}, b"a=%7B%22b%22%3A%22c+d%22%7D"
    ),
    _form("objects in an array are JSON each", "3.2.0 §4.14.5.1", {"a": [{"b": 1}, {"b": 2}]},
          b"a=%7B%22b%22%3A1%7D&a=%7B%22b%22%3A2%7D"),
    _form("a string as JSON", "3.2.0 §4.15.3", {"id": "f8"}, b"id=%22f8%22",
          id={"contentType": "application/json"}),
    _form("null as JSON is still left out", "limits: null in forms", {"id": None, "b": 1}, b"b=1",
          id={"contentType": "application/json"}),
    _form("style form, not exploded", "3.2.0 §4.15.1.2", {"a": ["x", "y"]}, b"a=x,y",
          a={"explode": False}),
    _form("style form, exploded object", "3.2.0 §4.15.1.2", {"a": {"R": 1, "G": 2}}, b"R=1&G=2",
          a={"style": "form"}),
    _form("spaces", "3.2.0 §4.15.1.2", {"a": ["x", "y"]}, b"a=x+y", a={"style": "spaceDelimited"}),
    _form("pipes", "3.2.0 §4.15.1.2", {"a": ["x", "y"]}, b"a=x%7Cy", a={"style": "pipeDelimited"}),
    _deep("deepObject", "3.2.0 §4.15.1.2", {"a": {"b c": "d e"}}, b"a%5Bb+c%5D=d+e"),
    _deep("deepObject, nested", "PHP, Stripe", {"a": {"b": {"c": [1, 2]}}},
          b"a%5Bb%5D%5Bc%5D%5B%5D=1&a%5Bb%5D%5Bc%5D%5B%5D=2"),
    _deep("deepObject, objects in arrays", "PHP, Stripe", {"a": [{"b": 1}, {"b": 2}]},
          b"a%5B0%5D%5Bb%5D=1&a%5B1%5D%5Bb%5D=2"),
    _form("deepObject, array of strings", "Stripe `expand[]`", {"a": ["x"]}, b"a%5B%5D=x",
          a={"style": "deepObject", "explode": True}),
    _deep("deepObject, a string", "Stripe `metadata`", {"a": ""}, b"a="),
    _form("reserved characters", "3.2.0 §4.15.1.2", {"a": "b/c d&e"}, b"a=b/c+d%26e",
          a={"allowReserved": True}),
    _form("3.0.3 has styles too", "3.0.3 Encoding Object", {"a": ["x", "y"]}, b"a=x,y",
          version="3.0.3", a={"explode": False}),
    Row("nothing given, but required", "3.2.0 §4.13", {"body": body(FORM, object_of(a=STRING))}, {},
        {"body": b"", "content-type": FORM, "content-length": "0"}),
    _form(
        "the example of the standard",
        "3.2.0 §4.15.3",
        {
            "id": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "address": {"streetAddress": "123 Example Dr.", "zip": "99999+1234"},
        },
        b"id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6&address=%7B%22streetAddress%22%3A%22123+Example"
        b"+Dr.%22%2C%22zip%22%3A%2299999%2B1234%22%7D",
    ),
]  # fmt: skip

OTHERS = [
    _plain("text", "RFC 6838 §4.2.1", "a é", "a é".encode()),
    _text("text in its charset", "RFC 6838 §4.2.1", "é", b"\xe9", "text/plain; charset=iso-8859-1"),
    _plain("empty text", "RFC 6838 §4.2.1", "", b""),
    _whole("a number as text", "3.2.0 Appendix B", 5, b"5", "text/plain",
           sent="text/plain; charset=utf-8", schema={"type": "integer"}),
    _text(
        "CSV", "RFC 4180", "a,b\r\n1,2", b"a,b\r\n1,2", "text/csv", sent="text/csv; charset=utf-8"
    ),
    _text("XML", "RFC 7303", "<a>é</a>", "<a>é</a>".encode(), "application/xml"),
    _text("a +xml type", "RFC 7303", "<a/>", b"<a/>", "application/soap+xml"),
    _text("YAML", "RFC 9512", "a: 1\n", b"a: 1\n", "application/yaml"),
    _text("GraphQL", "GraphQL over HTTP", "{ me }", b"{ me }", "application/graphql"),
    _whole("JSON lines", "3.2.0 §4.14.3.1", [{"a": 1}, "é"], '{"a":1}\n"é"\n'.encode(),
           "application/jsonl"),
    _whole("NDJSON", "3.2.0 §4.14.3.1", [1, None], b"1\nnull\n", "application/x-ndjson"),
    _whole("JSON text sequence", "RFC 7464 §2.2", [{"a": 1}, 2], b'\x1e{"a":1}\n\x1e2\n',
           "application/json-seq"),
    _whole(
        "a +json-seq type", "RFC 8142", [{"a": 1}], b'\x1e{"a":1}\n', "application/geo+json-seq"
    ),
    _whole("an empty sequence", "RFC 7464 §2.2", [], b"", "application/jsonl"),
    _octets("octets", "3.2.0 §4.14.9", {"base64": RAW_BASE64}, RAW),
    _octets("octets from text", "limits: file arguments", {"text": "é"}, "é".encode()),
    _whole("an image", "3.2.0 §4.14.9", {"base64": RAW_BASE64}, RAW, "image/png"),
    _octets("no octets", "RFC 9110 §8.6", {"base64": ""}, b""),
    _octets("base64 without padding", "RFC 4648 §3.2", {"base64": RAW_BASE64.rstrip("=")}, RAW),
    _octets("base64url", "RFC 4648 §5", {"base64": "-_-_"}, b"\xfb\xff\xbf"),
    _whole("a range takes the file's type", "3.2.0 §4.14.9",
           {"base64": "AA", "content_type": "image/gif"}, b"\0", "image/*", sent="image/gif"),
    _whole("a range without the file's type", "RFC 9110 §8.3", {"base64": "AA"}, b"\0", "image/*",
           sent="application/octet-stream"),
    _whole("the document's type wins", "3.2.0 §4.14", {"base64": "AA", "content_type": "image/gif"},
           b"\0", "application/zip"),
    _text_or_bytes("text where bytes are taken too", "RFC 9110 §8.3", {"text": "é"}, "é".encode(),
        "text/plain; charset=utf-8"),
    _text_or_bytes("bytes where text is taken too", "RFC 9110 §8.3", {"base64": RAW_BASE64}, RAW,
        "application/zip"),
    _text_or_bytes("bytes of a listed type where text is taken too", "3.2.0 §4.14",
        {"base64": "AA", "content_type": "image/png"}, b"\0", "image/png"),
    _text_or_bytes("text of a type that is not listed where bytes are taken too", "3.2.0 §4.14",
        {"text": "a", "content_type": "a/b"}, b"a", "text/plain; charset=utf-8"),
]  # fmt: skip

GROUPS = {"json body": JSON, "form body": FORMS, "other body": OTHERS}
