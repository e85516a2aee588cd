"""Bodies, their parts and files: what is refused with its place, and the type of a range.

The rows of the wire table show what is sent otherwise.
"""

import os

import pytest
from servers.documents import body, document, object_of

from openapi_tools import Settings, load_tools

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORM, DATA = "application/x-www-form-urlencoded", "multipart/form-data"
STRING, FILE = {"type": "string"}, {"type": "string", "format": "binary"}
FILES, ARRAY = {"type": "array", "items": FILE}, {"type": "array"}
OBJECT = {"type": "object"}
OCTETS = body("application/octet-stream")
JPEG_TOO = {"required": True, "content": {"image/png": {}, "image/jpeg": {}}}
ONE_FILE = body(DATA, object_of(f=FILE))
EBCDIC, UTF_7 = ("text/plain; charset=ebcdic", "text/plain; charset=utf-7")


def part(schema, content_type="", **encoding):
    """Return a body with a part `a`."""
    encoding |= {"contentType": content_type} if content_type else {}
    return body(DATA, object_of(a=schema), encoding={"a": encoding})


def in_order(media_type, schema, **encodings):
    content = {media_type: {"schema": {"type": "array", **schema}, **encodings}}
    return {"required": True, "content": content}


def headers(*names):
    return {name: {"schema": {}} for name in names}


ASCII_ITEMS = in_order(
    "multipart/mixed", {}, itemEncoding={"contentType": "text/plain; charset=us-ascii"}
)


@pytest.mark.parametrize(
    ("declared", "arguments", "message"),
    [
        (body("text/plain; charset=us-ascii"), {"body": "é"}, "/body: us-ascii cannot encode"),
        (body("text/plain"), {"body": None}, "/body: expected a string, got null"),
        (body("application/xml"), {"body": {"a": 1}}, "/body: expected a string"),
        (body("text/csv"), {"body": [[1]]}, "/body: expected a string"),
        (body("text/*"), {"body": {"a": 1}}, "/body: expected a string"),
        (body(FORM), {"body": None}, "/body: expected an object, got null"),
        (body(DATA), {"body": "a"}, "/body: expected an object"),
        (body("application/x-protobuf"), {"body": {"a": 1}}, "/body/a: unknown property"),
        (body("image/*"), {"body": {"text": "", "content_type": "text/css"}}, "/body/content_type"),
        *(
            (
                part(FILE, kinds),
                {"a": {"text": "a", "content_type": "text/css"}},
                f"/a/content_type: text/css does not match {kinds}",
            )
            for kinds in ("image/*", "image/*, application/pdf")
        ),
        (body(FORM, ARRAY), {"body": [1]}, f"an array cannot be written as {FORM}"),
        (body(DATA, ARRAY), {"body": [1]}, f"{DATA} needs an object"),
        (body(EBCDIC), {"body": "a"}, "the charset 'ebcdic' is not supported"),
        (body("no type"), {"body": {"text": "a"}}, "'no type' is not a valid media type"),
        (body("text/plain\r\nX: 1"), {"body": "a"}, "'text/plain\\r\\nX: 1' is not a valid"),
        (
            part(STRING, headers=headers("X")),
            {"a": "x", "a: X": "a\r\nb"},
            "/a_X: a header value must",
        ),
        (part(FILES), {"a": [{"text": "a"}, {"base64": "?"}]}, "/a/1/base64: not valid base64"),
        (ONE_FILE, {"f": {"text": "a", "filename": "a\0b"}}, "/f: a name with control characters"),
        (body(DATA, OBJECT), {"body": {"a\0b": "x"}}, "/body/a\0b: a name with control"),
        (ASCII_ITEMS, {"body": ["a", "é"]}, "/body/1: us-ascii cannot encode"),
        (ASCII_ITEMS, {"body": ["a", None]}, "/body/1: null cannot be written as text/plain"),
        (part(OBJECT, "application/xml"), {"a": {"b": 1}}, "an object cannot be written as app"),
        (part(ARRAY, "multipart/mixed"), {"a": ["b"]}, "a part of multipart/mixed inside another"),
        (part(STRING, UTF_7), {"a": "é"}, "the charset 'utf-7' is not supported"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_be_sent_is_refused_with_its_place(declared, arguments, message, wire):
    error = await wire.refuse(document(version="3.2.0", body=declared), arguments)

    assert error["type"] == "invalid_input"
    assert error["message"].startswith(message)


@pytest.mark.parametrize(
    ("declared", "value", "media_type", "sent"),
    [
        (body("*/*", OBJECT), {"a": 1}, "application/json", b'{"a":1}'),
        (body("*/*", STRING), "a", "application/json", b'"a"'),
        (body("text/*"), "a", "text/plain; charset=utf-8", b"a"),
        (body("application/*", STRING), "a", "application/json", b'"a"'),
        (body(FORM, STRING), "a=1", FORM, b"a=1"),
        (JPEG_TOO, {"text": "x", "content_type": "image/jpeg"}, "image/jpeg", b"x"),
    ],
)
async def test_a_range_or_a_list_becomes_a_type_that_fits_the_value(
    declared, value, media_type, sent, wire
):
    seen = await wire.send(document(body=declared), {"body": value})

    assert (seen.header("content-type"), seen.body) == (media_type, sent)


@pytest.mark.parametrize(
    ("kinds", "media_type", "sent"),
    [
        ("image/*", "image/png", b"image/png"),
        ("image/*", "", b"application/octet-stream"),
        ("image/*, application/pdf", "application/pdf", b"application/pdf"),
        ("*/*, image/*", "text/css", b"text/css"),
        ("image/*, no type", "text/css", b"text/css"),
    ],
)
async def test_a_part_that_is_a_file_has_a_type_of_its_range(kinds, media_type, sent, wire):
    file = {"text": "x", **({"content_type": media_type} if media_type else {})}

    seen = await wire.send(document(body=part(FILE, kinds)), {"a": file})

    assert b"Content-Type: " + sent + b"\r\n" in seen.body


FRAMING = headers("X-A", "Content-Type", "Content-Disposition", "Content-Length", "bad name")
RANGES = {"a": {"contentType": "text/*"}, "f": {"contentType": "image/*"}}
BY_POSITION = in_order(
    "multipart/related; type=application/xml",
    {"prefixItems": [STRING], "items": {}},
    prefixEncoding=[{"contentType": "application/xml", "headers": headers("X-A")}],
    itemEncoding={"contentType": "image/png"},
)
IN_A_FORM = b'Content-Disposition: form-data; name="%s"'


@pytest.mark.parametrize(
    ("declared", "arguments", "heads"),
    [
        (part(STRING, headers=FRAMING), {"a": "x", "a: X-A": "v"},
         [IN_A_FORM % b"a" + b"\r\nX-A: v"]),
        (part(STRING, headers=FRAMING), {"a": "x"}, [IN_A_FORM % b"a"]),
        (body(DATA, object_of(a=STRING, f=FILE), encoding=RANGES), {"a": "x", "f": {"text": "x"}},
         [IN_A_FORM % b"a", IN_A_FORM % b"f"
          + b'; filename="file"\r\nContent-Type: application/octet-stream']),
        (BY_POSITION, {"body": ["<a/>", {"text": "1"}, {"text": "2"}], "0: X-A": 7},
         [b"Content-Type: application/xml\r\nX-A: 7", *[b"Content-Type: image/png"] * 2]),
        (body(DATA, object_of(**{"a b": STRING})), {"a_b": "x"}, [IN_A_FORM % b"a b"]),
    ],
    ids=["headers", "no headers", "ranges", "by position", "another name"],
)  # fmt: skip
async def test_a_part_has_its_own_headers_and_none_that_frame_it(declared, arguments, heads, wire):
    seen = await wire.send(document(version="3.2.0", body=declared), arguments)

    parts = seen.body.split(b"\r\n--")
    assert [part.partition(b"\r\n\r\n")[0].partition(b"\r\n")[2] for part in parts[:-1]] == heads


async def test_a_boundary_in_the_document_is_replaced_and_never_the_same(wire):
    declared = body('multipart/form-data; boundary="x"; charset=utf-8', object_of(a=STRING))

    seen = [await wire.send(document(body=declared), {"a": "x"}) for _ in range(3)]

    kinds = {recorded.header("content-type") for recorded in seen}
    assert len(kinds) == 3
    assert all(kind.startswith("multipart/form-data; charset=utf-8; boundary=") for kind in kinds)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        pytest.param("/etc/passwd", "", id="a string"),
        pytest.param(None, "", id="null"),
        pytest.param({}, "/base64", id="nothing"),
        pytest.param({"text": "a", "base64": "AA"}, "", id="both"),
        pytest.param({"text": 5}, "/text", id="a number"),
        pytest.param({"base64": "A"}, "/base64", id="one digit"),
        pytest.param({"base64": "A A="}, "/base64", id="blanks"),
        pytest.param({"base64": "é"}, "/base64", id="another alphabet"),
        pytest.param({"base64": "-_+/"}, "/base64", id="both alphabets"),
        pytest.param({"base64": "AA=A"}, "/base64", id="padding inside"),
        pytest.param({"text": "a", "filename": 5}, "/filename", id="a number as name"),
        *(
            pytest.param({"text": "a", "content_type": kind}, "/content_type", id=kind)
            for kind in ("png", "a/b/c", "a /b", "a/b;", "a/b; c", "a/b, c/d", "é/b", "a/b;c=é")
        ),
        pytest.param({"text": "a", "content_type": "image/*"}, "/content_type", id="a range"),
        pytest.param({"text": "a", "content_type": "a/b\r\nX: 1"}, "/content_type", id="two lines"),
        pytest.param({"path": "/etc/passwd"}, "/path", id="a path without roots"),
    ],
)
async def test_what_is_no_file_is_refused_with_its_place(value, place, wire):
    error = await wire.refuse(document(body=OCTETS), {"body": value})

    assert error["type"] == "invalid_input"
    assert error["message"].startswith(f"/body{place}: ")


@pytest.fixture
def root(tmp_path):
    """A folder with a file, next to one that is secret."""
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"outside")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    (folder / "within").symlink_to(folder / "sub" / "a.txt")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("path", ["sub/a.txt", "{root}/sub/a.txt", "sub/../sub/a.txt", "within"])
async def test_a_file_inside_a_root_is_sent_under_its_name(path, root, wire):
    arguments = {"f": {"path": path.format(root=root)}}
    roots = (root / "missing", root)

    seen = await wire.send(document(body=ONE_FILE), arguments, file_roots=roots)

    name = path.rpartition("/")[2]
    assert f'filename="{name}"'.encode() in seen.body
    assert b"\r\n\r\ninside\r\n" in seen.body


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "{root}/../secret", "/etc/passwd", "link", "folder/secret"),
        *("missing", "sub", "", "a\0b", "pipe", "sub/a.txt/x", "x" * 5000),
    ],
)
async def test_no_path_leads_out_of_the_roots_or_to_what_is_no_file(path, root, wire):
    arguments = {"body": {"path": path.format(root=root)}}

    error = await wire.refuse(document(body=OCTETS), arguments, file_roots=(root,))

    assert error["message"].startswith("/body/path: no such file")


async def test_paths_are_offered_only_where_folders_are_allowed(tmp_path):
    plain, with_roots = (
        load_tools(document(body=OCTETS), settings=settings)["call"].input_schema
        for settings in (Settings(), Settings(file_roots=(tmp_path,)))
    )

    assert "path" not in plain["properties"]["body"]["properties"]
    assert "path" in with_roots["properties"]["body"]["properties"]
