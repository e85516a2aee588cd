"""Wire table: multipart bodies, written with `B` in place of the boundary."""

from __future__ import annotations

from servers.documents import Row, body, object_of

STRING = {"type": "string"}
BINARY = {"type": "string", "format": "binary"}
DATA = "multipart/form-data"


def parts(*written: bytes) -> bytes:
    """Return a multipart body of these parts."""
    return b"".join(b"--B\r\n" + part + b"\r\n" for part in written) + b"--B--\r\n"


def field(name: str, value: str) -> bytes:
    """Return a part of text."""
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()


def file(name: str, filename: str, kind: str, content: bytes) -> bytes:
    """Return a part that is a file."""
    disposition = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'
    return f"{disposition}\r\nContent-Type: {kind}\r\n\r\n".encode() + content


def typed(name: str, kind: str, value: str) -> bytes:
    """Return a part of text with a media type."""
    disposition = f'Content-Disposition: form-data; name="{name}"'
    return f"{disposition}\r\nContent-Type: {kind}\r\n\r\n{value}".encode()


def _parts(
    properties: dict, arguments: dict, *written: bytes, version: str = "3.0.4", **encoding: object
) -> tuple:
    fields = {"encoding": encoding} if encoding else {}
    return (
        {"body": body(DATA, object_of(**properties), **fields), "version": version},
        arguments,
        {"body": parts(*written), "content-type": f"{DATA}; boundary=B"},
    )


OCTETS = "application/octet-stream"

MULTIPART = [
    Row("text", "RFC 7578 §4.4", *_parts({"a": STRING}, {"a": "x"}, field("a", "x"))),
    Row(
        "nothing is percent-encoded",
        "3.2.0 §4.15.1.2",
        *_parts({"a": STRING}, {"a": "b c&d=é%"}, field("a", "b c&d=é%")),
    ),
    Row(
        "line breaks stay",
        "RFC 7578 §4.2",
        *_parts({"a": STRING}, {"a": "b\r\n--B\n"}, field("a", "b\r\n--B\n")),
    ),
    Row("an empty string", "RFC 7578 §4.2", *_parts({"a": STRING}, {"a": ""}, field("a", ""))),
    Row(
        "numbers and booleans",
        "3.2.0 Appendix B",
        *_parts({"a": {}, "b": {}}, {"a": 1.0, "b": False}, field("a", "1"), field("b", "false")),
    ),
    Row(
        "null is left out",
        "3.2.0 §4.15.1.1",
        *_parts({"a": {}, "b": {}}, {"a": None, "b": 1}, field("b", "1")),
    ),
    Row(
        "an object is JSON",
        "3.0.4 §4.7.15.1.1",
        *_parts(
            {"a": {"type": "object"}},
            {"a": {"b": "é"}},
            typed("a", "application/json", '{"b":"é"}'),
        ),
    ),
    Row(
        "an array repeats its name",
        "RFC 7578 §4.3",
        *_parts({"a": {"type": "array"}}, {"a": ["x", "y"]}, field("a", "x"), field("a", "y")),
    ),
    Row(
        "objects in an array are JSON each",
        "3.2.0 §4.14.5.1",
        *_parts(
            {"a": {"type": "array"}},
            {"a": [{"b": 1}, {"b": 2}]},
            typed("a", "application/json", '{"b":1}'),
            typed("a", "application/json", '{"b":2}'),
        ),
    ),
    Row(
        "a part's own type",
        "3.0.4 §4.7.15.1.1",
        *_parts(
            {"a": STRING},
            {"a": "<x/>"},
            typed("a", "application/xml; charset=utf-8", "<x/>"),
            a={"contentType": "application/xml; charset=utf-8"},
        ),
    ),
    Row(
        "a string as JSON",
        "3.0.4 §4.7.15.1.1",
        *_parts(
            {"a": STRING},
            {"a": "x"},
            typed("a", "application/json", '"x"'),
            a={"contentType": "application/json"},
        ),
    ),
    Row(
        "3.0 ignores styles here",
        "3.0.4 §4.7.15.1.2",
        *_parts(
            {"a": {"type": "array"}},
            {"a": ["x", "y"]},
            field("a", "x"),
            field("a", "y"),
            a={"explode": False},
        ),
    ),
    Row(
        "3.1 applies them",
        "3.1.2 §4.8.15.1.2",
        *_parts(
            {"a": {"type": "array"}},
            {"a": ["x", "y z"]},
            field("a", "x,y z"),
            version="3.1.2",
            a={"explode": False},
        ),
    ),
    Row(
        "deepObject",
        "3.2.0 Appendix C",
        *_parts(
            {"a": {"type": "object"}},
            {"a": {"b": 1, "c": [2]}},
            field("a[b]", "1"),
            field("a[c][]", "2"),
            version="3.2.0",
            a={"style": "deepObject"},
        ),
    ),
    Row(
        "a file from bytes",
        "RFC 7578 §4.2",
        *_parts(
            {"f": BINARY},
            {"f": {"base64": "AP8NCi0teA==", "filename": "a.bin"}},
            file("f", "a.bin", OCTETS, b"\x00\xff\r\n--x"),
        ),
    ),
    Row(
        "a file from text",
        "limits: file arguments",
        *_parts(
            {"f": BINARY},
            {"f": {"text": "é", "filename": "a.txt"}},
            file("f", "a.txt", OCTETS, "é".encode()),
        ),
    ),
    Row(
        "a file without a name",
        "limits: file names",
        *_parts({"f": BINARY}, {"f": {"text": "x"}}, file("f", "file", OCTETS, b"x")),
    ),
    Row(
        "a file's own type",
        "3.2.0 §4.15.4.1",
        *_parts(
            {"f": BINARY},
            {"f": {"text": "x", "content_type": "text/csv"}},
            file("f", "file", "text/csv", b"x"),
            f={"contentType": "text/plain, text/csv"},
        ),
    ),
    Row(
        "the document's type of a file",
        "3.0.4 §4.7.15.1.1",
        *_parts(
            {"f": BINARY},
            {"f": {"text": "x"}},
            file("f", "file", "image/png", b"x"),
            f={"contentType": "image/png, image/jpeg"},
        ),
    ),
    Row(
        "several files",
        "RFC 7578 §4.3",
        *_parts(
            {"f": {"type": "array", "items": BINARY}},
            {"f": [{"text": "1", "filename": "1"}, {"text": "2", "filename": "2"}]},
            file("f", "1", OCTETS, b"1"),
            file("f", "2", OCTETS, b"2"),
        ),
    ),
    Row(
        "a file in 3.1 has no type",
        "3.1.2 §4.8.15.1.1",
        *_parts({"f": {}}, {"f": {"text": "x"}}, file("f", "file", OCTETS, b"x"), version="3.1.2"),
    ),
    Row(
        "a quote in a file's name",
        "WHATWG HTML form data",
        *_parts(
            {"f": BINARY}, {"f": {"text": "x", "filename": 'a"b'}}, file("f", "a%22b", OCTETS, b"x")
        ),
    ),
    Row(
        "line breaks in a file's name",
        "WHATWG HTML form data",
        *_parts(
            {"f": BINARY},
            {"f": {"text": "x", "filename": 'a"\r\nX: 1'}},
            file("f", "a%22%0D%0AX: 1", OCTETS, b"x"),
        ),
    ),
    Row(
        "a file's name in UTF-8",
        "RFC 7578 §5.1",
        *_parts(
            {"f": BINARY},
            {"f": {"text": "x", "filename": "é.txt"}},
            file("f", "é.txt", OCTETS, b"x"),
        ),
    ),
    Row(
        "a path is only text",
        "PROMISES: local files",
        *_parts(
            {"f": BINARY}, {"f": {"text": "/etc/passwd"}}, file("f", "file", OCTETS, b"/etc/passwd")
        ),
    ),
    Row(
        "headers of a part",
        "3.1.2 §4.8.15.1.1",
        *_parts(
            {"a": STRING},
            {"a": "x", "a: X-Limit": 5},
            b'Content-Disposition: form-data; name="a"\r\nX-Limit: 5\r\n\r\nx',
            a={
                "headers": {
                    "X-Limit": {"schema": {"type": "integer"}},
                    "Content-Type": {"schema": {}},
                }
            },
        ),
    ),
    Row(
        "names from a map are escaped",
        "WHATWG HTML form data",
        {"body": body(DATA, {"type": "object", "additionalProperties": STRING})},
        {"body": {'a"\r\nX: 1': "x"}},
        {"body": parts(field("a%22%0D%0AX: 1", "x"))},
    ),
    Row(
        "multipart/mixed by name",
        "3.1.2 §4.8.15.4",
        {"body": body("multipart/mixed", object_of(a=STRING, b={"type": "object"}))},
        {"a": "x", "b": {"c": 1}},
        {
            "body": parts(field("a", "x"), typed("b", "application/json", '{"c":1}')),
            "content-type": "multipart/mixed; boundary=B",
        },
    ),
    Row(
        "multipart/mixed by position",
        "3.2.0 §4.14.5.2",
        {"version": "3.2.0", "body": body("multipart/mixed", {"type": "array"})},
        {"body": [{"a": 1}, "é"]},
        {
            "body": parts(
                b'Content-Type: application/json\r\n\r\n{"a":1}',
                "Content-Type: text/plain; charset=utf-8\r\n\r\né".encode(),
            )
        },
    ),
    Row("nothing given, but required", "RFC 2046 §5.1", *_parts({"a": STRING}, {})),
]


GROUPS = {"multipart": MULTIPART}
