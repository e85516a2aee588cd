"""Wire table: multipart bodies, written with `B` in place of the boundary."""

from servers.documents import Row, body, object_of

STRING = {"type": "string"}
ARRAY, OBJECT = {"a": {"type": "array"}}, {"a": {"type": "object"}}
BINARY = {"type": "string", "format": "binary"}
DATA = "multipart/form-data"


def parts(*written):
    """Return a multipart body of these parts."""
    return b"".join(b"--B\r\n" + part + b"\r\n" for part in written) + b"--B--\r\n"


def field(name, value):
    """Return a part of text."""
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()


def file(name, filename, kind, content):
    """Return a part that is a file."""
    disposition = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'
    return f"{disposition}\r\nContent-Type: {kind}\r\n\r\n".encode() + content


def typed_part(name, kind, value):
    """Return a part of text with a media type."""
    disposition = f'Content-Disposition: form-data; name="{name}"'
    return f"{disposition}\r\nContent-Type: {kind}\r\n\r\n{value}".encode()


def _parts(title, section, properties, arguments, *written, version="3.0.4", **encoding):
    fields = {"encoding": encoding} if encoding else {}
    operation = {"body": body(DATA, object_of(**properties), **fields), "version": version}
    expected = {"body": parts(*written), "content-type": f"{DATA}; boundary=B"}
    return Row(title, section, operation, arguments, expected)


def _string(title, section, value, *written, **encoding):
    return _parts(title, section, {"a": STRING}, {"a": value}, *written, **encoding)


def _file(title, section, value, *written, **encoding):
    return _parts(title, section, {"f": BINARY}, {"f": value}, *written, **encoding)


OCTETS = "application/octet-stream"

MULTIPART = [
    _string("text", "RFC 7578 §4.4", "x", field("a", "x")),
    _string("nothing is percent-encoded", "3.2.0 §4.15.1.2", "b c&d=é%", field("a", "b c&d=é%")),
    _string("line breaks stay", "RFC 7578 §4.2", "b\r\n--B\n", field("a", "b\r\n--B\n")),
    _string("an empty string", "RFC 7578 §4.2", "", field("a", "")),
    _parts("numbers and booleans", "3.2.0 Appendix B", {"a": {}, "b": {}}, {"a": 1.0, "b": False},
           field("a", "1"), field("b", "false")),
    _parts("null is left out", "3.2.0 §4.15.1.1", {"a": {}, "b": {}}, {"a": None, "b": 1},
           field("b", "1")),
    _parts("an object is JSON", "3.0.4 §4.7.15.1.1", OBJECT, {"a": {"b": "é"}},
           typed_part("a", "application/json", '{"b":"é"}')),
    _parts("an array repeats its name", "RFC 7578 §4.3", ARRAY, {"a": ["x", "y"]}, field("a", "x"),
           field("a", "y")),
    _parts("objects in an array are JSON each", "3.2.0 §4.14.5.1", ARRAY,
           {"a": [{"b": 1}, {"b": 2}]}, typed_part("a", "application/json", '{"b":1}'),
           typed_part("a", "application/json", '{"b":2}')),
    _string("a part's own type", "3.0.4 §4.7.15.1.1", "<x/>",
            typed_part("a", "application/xml; charset=utf-8", "<x/>"),
            a={"contentType": "application/xml; charset=utf-8"}),
    _string("a string as JSON", "3.0.4 §4.7.15.1.1", "x",
            typed_part("a", "application/json", '"x"'), a={"contentType": "application/json"}),
    _parts("3.0 ignores styles here", "3.0.4 §4.7.15.1.2", ARRAY, {"a": ["x", "y"]},
           field("a", "x"), field("a", "y"), a={"explode": False}),
    _parts("3.1 applies them", "3.1.2 §4.8.15.1.2", ARRAY, {"a": ["x", "y z"]}, field("a", "x,y z"),
           version="3.1.2", a={"explode": False}),
    _parts("deepObject", "3.2.0 Appendix C", OBJECT, {"a": {"b": 1, "c": [2]}}, field("a[b]", "1"),
           field("a[c][]", "2"), version="3.2.0", a={"style": "deepObject"}),
    _file("a file from bytes", "RFC 7578 §4.2", {"base64": "AP8NCi0teA==", "filename": "a.bin"},
          file("f", "a.bin", OCTETS, b"\x00\xff\r\n--x")),
    _file("a file from text", "limits: file arguments", {"text": "é", "filename": "a.txt"},
          file("f", "a.txt", OCTETS, "é".encode())),
    _file("a file without a name", "limits: file names", {"text": "x"},
          file("f", "file", OCTETS, b"x")),
    _file("a file's own type", "3.2.0 §4.15.4.1", {"text": "x", "content_type": "text/csv"},
          file("f", "file", "text/csv", b"x"), f={"contentType": "text/plain, text/csv"}),
    _file("the document's type of a file", "3.0.4 §4.7.15.1.1", {"text": "x"},
          file("f", "file", "image/png", b"x"), f={"contentType": "image/png, image/jpeg"}),
    _parts("several files", "RFC 7578 §4.3", {"f": {"type": "array", "items": BINARY}},
           {"f": [{"text": "1", "filename": "1"}, {"text": "2", "filename": "2"}]},
           file("f", "1", OCTETS, b"1"), file("f", "2", OCTETS, b"2")),
    _parts("a file in 3.1 has no type", "3.1.2 §4.8.15.1.1", {"f": {}}, {"f": {"text": "x"}},
           file("f", "file", OCTETS, b"x"), version="3.1.2"),
    _file("a quote in a file's name", "WHATWG HTML form data", {"text": "x", "filename": 'a"b'},
          file("f", "a%22b", OCTETS, b"x")),
    _file("line breaks in a file's name", "WHATWG HTML form data",
          {"text": "x", "filename": 'a"\r\nX: 1'}, file("f", "a%22%0D%0AX: 1", OCTETS, b"x")),
    _file("a file's name in UTF-8", "RFC 7578 §5.1", {"text": "x", "filename": "é.txt"},
          file("f", "é.txt", OCTETS, b"x")),
    _file("a path is only text", "PROMISES: local files", {"text": "/etc/passwd"},
          file("f", "file", OCTETS, b"/etc/passwd")),
    _parts(
        "headers of a part",
        "3.1.2 §4.8.15.1.1",
        {"a": STRING},
        {"a": "x", "a: X-Limit": 5},
        b'Content-Disposition: form-data; name="a"\r\nX-Limit: 5\r\n\r\nx',
        a={"headers": {"X-Limit": {"schema": {"type": "integer"}}, "Content-Type": {"schema": {}}}},
    ),
    Row("names from a map are escaped", "WHATWG HTML form data",
        {"body": body(DATA, {"type": "object", "additionalProperties": STRING})},
        {"body": {'a"\r\nX: 1': "x"}}, {"body": parts(field("a%22%0D%0AX: 1", "x"))}),
    Row(
        "multipart/mixed by name",
        "3.1.2 §4.8.15.4",
        {"body": body("multipart/mixed", object_of(a=STRING, b={"type": "object"}))},
        {"a": "x", "b": {"c": 1}},
        {
            "body": parts(field("a", "x"), typed_part("b", "application/json", '{"c":1}')),
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
    _parts("nothing given, but required", "RFC 2046 §5.1", {"a": STRING}, {}),
]  # fmt: skip


GROUPS = {"multipart": MULTIPART}
