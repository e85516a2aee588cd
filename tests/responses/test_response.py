"""What a response becomes: its value, its words, and what is said about it."""

import asyncio
import base64
import json
import re
import time
from email.utils import formatdate

import httpx
import pytest
from documents import document, operation
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools import Settings, load_tools
from openapi_tools.responses.json_content import cut_value, encode_json
from openapi_tools.transport.failures import retry_after

JSON = "application/json"
HTML = "text/html"
EVENTS = "text/event-stream"
LINES = "application/jsonl"
PARTS = 'multipart/mixed; boundary="B"'
BYTES = "application/octet-stream"
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


async def read(
    content=b"", media_type=JSON, status=200, *, method="get", headers=None, accept=None, **settings
):
    """Return the result of one call that gets this response."""
    lines = ({"content-type": media_type} if media_type else {}) | (headers or {})
    described = {"200": {"description": "", "content": {accept: {}}}} if accept else {}
    root = document({"/pets/7": {method: operation(operationId="call", responses=described)}})
    response = httpx.Response(status, headers=lines, content=content)
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: response)) as client:
        chosen = Settings(base_url="http://pets.test", **settings)
        result = await load_tools(root, client=client, settings=chosen)["call"].execute({})
    json.dumps(result.model_dump(), allow_nan=False, ensure_ascii=False).encode()
    json.dumps(result.metadata, allow_nan=False, ensure_ascii=False).encode()
    return result


def as_base64(content, media_type):
    encoded = base64.b64encode(content).decode()
    return {"base64": encoded, "media_type": media_type, "bytes": len(content)}


MIXED = (
    b"preamble\r\n--B\r\nContent-Type: application/json\r\n"
    b'Content-Disposition: form-data; name="meta"\r\n\r\n{"a": 1}\r\n'
    b"--B \r\nContent-Type: image/png\r\n"
    b'Content-Disposition: attachment; filename="x.png"\r\n\r\n' + PNG + b"\r\n"
    b"--B\r\n\r\nplain\r\n"
    b"--B\r\nContent-Type: application/json\r\n\r\n{broken\r\n"
    b"--B\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n\x00\r\n"
    b"--B--\r\nepilogue"
)
MIXED_PARTS = [
    {"media_type": JSON, "name": "meta", "content": {"a": 1}},
    {"media_type": "image/png", "filename": "x.png", "content": as_base64(PNG, "image/png")},
    {"media_type": "text/plain", "content": "plain"},
    {"media_type": JSON, "content": "{broken"},
    {"media_type": "multipart/mixed", "content": as_base64(b"\0", BYTES)},
]


@pytest.mark.parametrize(
    ("media_type", "content", "expected"),
    [
        (JSON, b'{"id": 1, "tags": ["a", null, 1.5, true]}',
         {"id": 1, "tags": ["a", None, 1.5, True]}),
        ("application/json; charset=utf-8", b"[1]", [1]),
        ("Application/JSON", b"[1]", [1]),
        ("application/hal+json", b'"text"', "text"),
        ("text/json", b"null", None),
        (JSON, b" ", None),
        (JSON, b"\xef\xbb\xbf[1]", [1]),
        (JSON, '["é"]'.encode("utf-16"), ["é"]),
        ("application/json; charset=iso-8859-1", b'["\xe9"]', ["é"]),
        ("text/plain", b"[1]", "[1]"),
        ("text/plain; charset=utf-8", "é 🚀".encode(), "é 🚀"),
        ("text/plain; charset=iso-8859-1", b"\xe9", "é"),
        ("text/plain; charset=utf-16", "é".encode("utf-16"), "é"),
        ("text/plain", b"\xef\xbb\xbfa", "a"),
        ("text/plain", b"a\r\nb\tc\x00\x1b[31md\x7f", "a\r\nb\tc[31md"),
        ("text/csv", b"a,b\n1,2\n", "a,b\n1,2\n"),
        ("application/xml", b"<a>1</a>", "<a>1</a>"),
        ("application/atom+xml", b"<a/>", "<a/>"),
        ("application/yaml", b"a: 1", "a: 1"),
        ("application/x-www-form-urlencoded", b"a=1&b=2", "a=1&b=2"),
        ("application/vnd.acme.report", b"plain enough", "plain enough"),
        (BYTES, "déjà\tvu\r\n".encode(), "déjà\tvu\r\n"),
        (BYTES, b'{"a": 1}', '{"a": 1}'),
        (HTML, b"OK\n", "OK\n"),
        ("text/html; charset=utf-8", "1 < 2 & 3 > 2, déjà".encode(), "1 < 2 & 3 > 2, déjà"),
        ("application/xhtml+xml", b"pong", "pong"),
        (HTML, b"Tom &amp; Jerry", "[HTML page] Tom & Jerry"),
        (HTML, b"one<br>two", "[HTML page] one\ntwo"),
        (HTML, b"<p>a &lt;b&gt; &amp; &#8217; &#x1F680; &nosuch; &</p>",
         "[HTML page] a <b> & \u2019 🚀 &nosuch; &"),
        (HTML, b"<ul><li>one</li><li>two</li></ul>", "[HTML page] one\ntwo"),
        (HTML, b"<p>a <b>b</b> c</p>", "[HTML page] a b c"),
        (HTML, b"<p>a < b and c > d", "[HTML page] a < b and c > d"),
        (HTML, b"a<!-- hidden -->b<?php x ?>c", "[HTML page] abc"),
        (HTML, b"<STYLE>x</STYLE >seen", "[HTML page] seen"),
        (HTML, b"<script>if (a < b) { '</p>' }</script>seen", "[HTML page] seen"),
        (HTML, b"<svg><text>drawn</text></svg>seen", "[HTML page] seen"),
        (HTML, b"seen<script>never closed", "[HTML page] seen"),
        (HTML, b"<p>seen<a href='never closed", "[HTML page] seen"),
        (HTML, b"<p>a\x00b\x1b[31m", "[HTML page] ab[31m"),
        ("", b'{"a": 1}', {"a": 1}),
        ("", b"  [1]", [1]),
        ("", b"{not json", "{not json"),
        ("", b"hello", "hello"),
        ("", b"12", "12"),
        ("no media type", b"hello", "hello"),
        (HTML, b'{"a": 1}', {"a": 1}),
        (HTML,
         b"<!doctype html><title>Oops &amp; more</title><style>a{}</style><p>Try <b>again</b>",
         '[HTML page "Oops & more"] Try again'),
        ("", b"<html><body>hi</body></html>", "[HTML page] hi"),
        (JSON, b"[NaN, [-Infinity, Infinity]]", ["NaN", ["-Infinity", "Infinity"]]),
        (JSON, b"[1e400, -1e400]", ["Infinity", "-Infinity"]),
        (JSON, b'{"a": 1, "a": 2}', {"a": 2}),
        (JSON, b'"\\ud800x"', "\ufffdx"),
        (JSON, b'{"\\ud800": 1}', {"\ufffd": 1}),
        (JSON, b'["\\u0000a\\u001b[31m\\u009bb"]', ["a[31mb"]),
        (JSON, b'{"a\\b": "C:\\\\bin\\f", "n": "\\n"}', {"a": "C:\\bin", "n": "\n"}),
        (JSON, b'["a\nb\tc\x00"]', ["a\nb\tc"]),
        (JSON, b'["\xff"]', ["\ufffd"]),
        (JSON, b'["\xc2\x9b\x7f"]', [""]),
        (JSON, b"9" * 4000, int("9" * 4000)),
        ("application/x-ndjson", b'{"a": 1}\n\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
        ("application/jsonl", b"1\n2", [1, 2]),
        ("application/jsonl", b"1\nbroken {\n3\n", [1, "broken {", 3]),
        ("application/json-seq", b'\x1e{"a": 1}\n\x1e[2]\n', [{"a": 1}, [2]]),
        ("application/geo+json-seq", b"\x1e1\n", [1]),
        (EVENTS, b': comment\n\nevent: add\nid: 3\ndata: {"a": 1}\n\n',
         [{"event": "add", "id": "3", "data": {"a": 1}}]),
        (EVENTS, b"data: two\r\ndata: lines\r\n\r\nretry: 5\n\ndata:[DONE]\n\ndata: NaN\n\n",
         [{"data": "two\nlines"}, {"data": "[DONE]"}, {"data": "NaN"}]),
        (PARTS, MIXED, MIXED_PARTS),
        ("image/png", PNG, as_base64(PNG, "image/png")),
        (BYTES, b"text with a NUL\x00", as_base64(b"text with a NUL\x00", BYTES)),
        (BYTES, b"caf\xe9", as_base64(b"caf\xe9", BYTES)),
        ("application/pdf", b"%PDF-1.4 all ASCII",
         as_base64(b"%PDF-1.4 all ASCII", "application/pdf")),
        ("application/zip", b"PK\x03\x04", as_base64(b"PK\x03\x04", "application/zip")),
        ("x/vnd.acme.blob", b"\x00\x01\x02", as_base64(b"\x00\x01\x02", "x/vnd.acme.blob")),
        ("", b"\x00\xff", as_base64(b"\x00\xff", BYTES)),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, bytes | str) else None,
)  # fmt: skip
async def test_a_body_is_read_by_its_media_type(media_type, content, expected):
    result = await read(content, media_type)

    assert result.success
    assert result.output == expected
    assert result.error is None


async def test_the_metadata_holds_what_helps_with_the_next_call():
    kept = {"link": "</pets?page=2>; rel=next", "etag": '"x"', "x-request-id": "r1"}
    kept |= {"x-ratelimit-remaining": "5", "ratelimit": "r=5", "retry-after": "7"}
    other_headers = {"Set-Cookie": "session=1", "WWW-Authenticate": "Bearer token", "X-Other": "y"}

    result = await read(b"{}", "application/json; charset=utf-8", headers=kept | other_headers)

    assert result.metadata.pop("elapsed") < 5
    assert result.metadata == {
        "status": 200,
        "media_type": "application/json",
        "headers": {**kept, "content-length": "2"},
        "attempts": 1,
    }


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (b'{"a": ', '{"a": '),
        (b"[1, 2", "[1, 2"),
        (b"hello", "hello"),
        (b"[" * 100_000, "[" * 50_000),
        (b"[" * 300 + b"]" * 300, "[" * 300),
        (b"9" * 10_000, "9" * 10_000),
        (b"<!DOCTYPE html><title>Log in</title><p>Please", '[HTML page "Log in"] Please'),
        (b"x" * 10_000_000, "x" * 50_000),
        (b"\xff\xfe\x00", "\ufffd"),
        (PNG, as_base64(PNG, BYTES)),
    ],
    ids=[
        *("cut", "cut array", "text", "deep", "300 deep", "digits", "HTML", "long"),
        *("broken UTF-16", "bytes"),
    ],
)
async def test_a_success_that_says_it_is_json_and_is_not_is_given_with_a_note(content, output):
    result = await read(content)

    actual = result.output
    assert result.success
    assert actual.startswith(output) if isinstance(actual, str) else actual == output
    assert len(str(result)) <= 60_000
    assert "declares JSON but is not valid JSON" in result.metadata["notes"][-1]
    assert len(result.metadata["notes"][-1]) < 200


LOSSY = "bytes that are not valid utf-8 were replaced by U+FFFD"
LENIENT = "the response is not strict JSON; it was parsed leniently"


@pytest.mark.parametrize(
    ("media_type", "content", "expected", "notes"),
    [
        ("text/plain; charset=utf-8", b"a\xffb", "a\ufffdb", [LOSSY]),
        ("text/plain; charset=rot13", b"abc", "abc", []),
        ("text/plain; charset=base64", "é".encode(), "é", ["'base64' is not supported"]),
        ("text/plain; charset=zlib", b"\xe9", "\ufffd", ["'zlib' is not supported", LOSSY]),
        (
            "text/plain; charset=windows-1252",
            b"\x81",
            "\ufffd",
            ["bytes that are not valid cp1252"],
        ),
        ("text/plain; charset=utf-16", b"a", "\ufffd", ["bytes that are not valid utf-16"]),
        ("text/plain; charset=unheard-of", b"\xc3\xa9", "é", ["not supported"]),
        (JSON, b'["caf\xe9"]', ["caf\ufffd"], [LOSSY]),
        (JSON, b'["caf\xe9", NaN]', ["caf\ufffd", "NaN"], [LOSSY, LENIENT]),
        (JSON, b"[NaN]", ["NaN"], [LENIENT]),
    ],
)
async def test_text_that_is_not_what_it_says_is_marked(media_type, content, expected, notes):
    result = await read(content, media_type)

    messages = result.metadata.get("notes", [])
    assert result.output == expected
    assert [words in note for words, note in zip(notes, messages, strict=True)] == [True] * len(
        notes
    )
    assert ("notes" in result.metadata) is bool(notes)


async def test_html_that_the_document_announces_is_given_as_it_is():
    page = b"<html><p>hi</p></html>"

    assert (await read(page, HTML, accept=HTML)).output == page.decode()


@pytest.mark.parametrize(
    "evil",
    [
        "<a " * 100_000,
        "<!--" * 100_000,
        "<!-- x --" * 30_000,
        "<script>" * 50_000,
        "<script></script>" * 20_000,
        "<" * 300_000,
        "</" * 100_000,
        "&" * 300_000,
        "&#" + "9" * 100_000 + ";",
        "<title>" * 50_000,
        " \n" * 100_000,
        "<p>" * 100_000,
    ],
    ids=lambda evil: evil[:12],
)
async def test_broken_markup_takes_no_time(evil):
    started = time.process_time()

    assert (await read(f"<p>{evil}".encode(), HTML)).output.startswith("[HTML page")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("media_type", "content", "settings", "count", "note"),
    [
        (EVENTS, b"data: 1\n\ndata: 2", {}, 1, "ends in the middle"),
        (EVENTS, b"data: 1\n\n" * 10, {"max_response_bytes": 30}, 4, "too large"),
        (LINES, b"1\n" * 200_000, {"max_output_chars": 1000}, 441, "only the first 620 items were"),
        (PARTS, b"--B\r\n\r\nx\r\n" * 500, {}, 100, "only the first 100 parts were read"),
    ],
    ids=["an unfinished event", "many events", "many lines", "many parts"],
)
async def test_items_that_are_left_out_are_noted(media_type, content, settings, count, note):
    result = await read(content, media_type, **settings)

    assert result.success
    assert (len(result.output), note in result.metadata["notes"][0]) == (count, True)
    assert ("truncated" in result.metadata) is bool(settings)


async def test_every_property_keeps_as_much_as_is_fair():
    value = {"id": 7, "text": "word " * 500, "items": list(range(500)), "note": "short"}

    shortened = (await read(json.dumps(value).encode(), max_output_chars=400)).output

    assert list(shortened) == ["id", "text", "items", "note"]
    assert (shortened["id"], shortened["note"]) == (7, "short")
    assert shortened["text"].startswith("word word")
    assert shortened["items"][:3] == [0, 1, 2]


def test_deep_values_are_measured_once():
    value = ["x" * 100] * 20_000
    for _ in range(150):
        value = {"a": value, "b": 1}
    started = time.process_time()

    shortened = cut_value(value, 100_000)

    assert time.process_time() - started < 2
    assert len(encode_json(shortened)) <= 100_000


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        ("wort " * 1000, "text/plain"),
        ('"quoted" \\ ' * 1000, "text/plain"),
        ("é🚀" * 2000, "text/plain"),
        (json.dumps({"a": "x" * 5000, "b": list(range(1000)), "c": 1}), JSON),
        (json.dumps(["x" * 5000]), JSON),
        (json.dumps("x" * 5000), JSON),
        (json.dumps({f"k{i}": i for i in range(2000)}), JSON),
        ("[" + "1e15," * 60 + "1]", JSON),
        ("1" * 3000, JSON),
        ("data: x\n\n" * 500, EVENTS),
        ("<p>" + "text " * 1000, HTML),
    ],
)
async def test_no_output_is_longer_than_the_cap(content, media_type):
    result = await read(content.encode(), media_type, max_output_chars=500)

    assert result.success
    assert len(encode_json(result.output)) <= 500
    assert len(str(result)) >= 40
    assert result.metadata["truncated"]["chars"] == len(content)
    assert result.metadata["truncated"]["kept"] <= 500


async def test_text_is_cut_at_the_end_of_a_word():
    text = (await read(b"hello wide world " * 100, "text/plain", max_output_chars=200)).output

    assert text.endswith("… [1700 characters in all]")
    assert text.removesuffix("… [1700 characters in all]").split()[-1] in ["hello", "wide", "world"]


@pytest.mark.parametrize(
    ("disposition", "media_type", "expected"),
    [
        ('attachment; filename="report.pdf"', "application/pdf", "report.pdf"),
        ("attachment; filename=report.pdf", "application/pdf", "report.pdf"),
        ("attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf", "application/pdf", "r_sum_.pdf"),
        ("attachment; filename=\"a\"; filename*=utf-8'en'b.bin", "image/png", "b.bin"),
        ('attachment; filename="../../etc/passwd"', BYTES, "passwd.bin"),
        ('attachment; filename="..\\\\..\\\\evil.exe"', "image/png", "evil.exe"),
        ("attachment; filename*=UTF-8''..%2f..%2fevil%00.sh", "image/png", "evil_.sh"),
        ('attachment; filename=".bashrc"', "image/png", "bashrc.png"),
        ('attachment; filename="-rf"', "image/png", "rf.png"),
        ('attachment; filename="CON.txt"', "image/png", "_CON.txt"),
        ('attachment; filename="nul"', "image/png", "_nul.png"),
        ('attachment; filename=""', "image/png", "download.png"),
        (f'attachment; filename="{"x" * 500}.{"y" * 90}"', "image/png", f"{'x' * 80}.{'y' * 15}"),
        ("", "image/png", "download.png"),
        ("", BYTES, "download.bin"),
        ("inline", "image/unheard-of", "download.bin"),
    ],
)
async def test_a_download_gets_a_safe_name_in_the_users_folder(
    tmp_path, disposition, media_type, expected
):
    folder = tmp_path / "new"

    result = await read(
        PNG, media_type, headers={"Content-Disposition": disposition}, download_dir=folder
    )

    (written,) = folder.iterdir()
    facts = {"media_type": media_type, "bytes": len(PNG)}
    assert result.output == {"handle": written.name, "file": str(written), **facts}
    assert result.metadata["file"] == {"handle": written.name, **facts}
    assert re.sub(r"-[b-z]{12}(?=\.|$)", "", written.name) == expected
    assert written.read_bytes() == PNG
    assert written.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


async def test_a_download_never_touches_what_exists(tmp_path):
    (tmp_path / "download.png").write_bytes(b"mine")
    (tmp_path / "download-1.png").symlink_to(tmp_path / "elsewhere")

    result = await read(PNG, "image/png", download_dir=tmp_path)
    blocked = await read(PNG, "image/png", download_dir=tmp_path / "download.png")

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["download.png", "download-1.png", result.output["handle"]]
    )
    assert (tmp_path / "download.png").read_bytes() == b"mine"
    assert not (tmp_path / "elsewhere").exists()
    assert blocked.output == as_base64(PNG, "image/png")
    assert "could not be written" in blocked.metadata["notes"][0]


async def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    await read(PNG, "image/png", headers={"Content-Disposition": 'attachment; filename="x.png"'})

    assert list(tmp_path.iterdir()) == []


PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("status", "media_type", "body", "expected"),
    [
        (404, JSON, {"message": "No such pet"}, "404 Not Found: No such pet."),
        (403, PROBLEM,
         {"type": "https://api.test/poor", "title": "No credit.", "detail": "30 < 50."},
         "403 Forbidden: No credit. 30 < 50. (https://api.test/poor)"),
        (400, PROBLEM, {"type": "about:blank", "title": "Bad thing"},
         "400 Bad Request: Bad thing."),
        (422, JSON, {"detail": [{"loc": ["body", "items", 0, "name"], "msg": "Field required"}]},
         "422 Unprocessable Entity: body.items.0.name: Field required."),
        (409, JSON, {"detail": "It exists already"}, "409 Conflict: It exists already."),
        (422, JSON,
         {"message": "Validation Failed", "errors": [{"field": "title", "code": "missing"}]},
         "422 Unprocessable Entity: Validation Failed.\ntitle: missing"),
        (422, JSON, {"errors": {"email": ["is taken", "is short"], "name": ["is blank"]}},
         "422 Unprocessable Entity: email: is taken; is short\nname: is blank"),
        (400, JSON, {"errors": [{"detail": "too long", "source": {"pointer": "/data/name"}}]},
         "400 Bad Request: /data/name: too long."),
        (401, JSON, {"error": {"message": "Invalid key", "type": "auth_error", "code": "bad_key"}},
         "401 Unauthorized: Invalid key. (bad_key)"),
        (400, JSON, {"error": "invalid_grant", "error_description": "The code expired"},
         "400 Bad Request: The code expired. (invalid_grant)"),
        (400, JSON, ["first fault", {"message": "second fault"}],
         "400 Bad Request: first fault\nsecond fault."),
        (400, JSON, "just text", "400 Bad Request: just text"),
        (418, JSON, {"weird": True}, '418 I\'m a Teapot: {"weird":true}'),
        (400, PROBLEM, {"title": [], "detail": {}, "type": 5, "errors": 7},
         '400 Bad Request: {"title'),
        (500, JSON, {}, "500 Internal Server Error."),
        (799, JSON, {"message": "odd status"}, "799: odd status."),
    ],
)  # fmt: skip
async def test_an_error_speaks_with_the_words_of_the_api(status, media_type, body, expected):
    result = await read(json.dumps(body).encode(), media_type, status)

    assert result.error["message"].startswith(f"GET /pets/7 returned {expected}")
    assert result.output == result.error["message"]
    assert result.error["body"] == body
    assert result.error["status"] == status


KINDS = {300: "redirect", 305: "redirect", 401: "auth", 403: "auth", 429: "rate_limited"}


@pytest.mark.parametrize(
    "status", [300, 305, 400, 401, 403, 404, 408, 425, 429, 500, 502, 503, 504, 999]
)
async def test_a_status_decides_the_kind_of_error(status):
    result = await read(b"", "", status)

    assert result.is_error
    assert result.error["type"] == KINDS.get(status, "http")
    assert result.error["retryable"] is (status in (408, 425, 429, 502, 503, 504))
    assert "body" not in result.error


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"<html><title>502</title>" + b"<p>Bad gateway</p>" * 20_000, HTML),
        (json.dumps({"message": "m" * 100_000}).encode(), JSON),
        (json.dumps({"errors": [{"message": "m" * 2000}] * 1000}).encode(), JSON),
        (json.dumps([["deep"] * 100] * 1000).encode(), JSON),
        (json.dumps({"k" * 10_000: "v"}).encode(), JSON),
        (b"text " * 100_000, "text/plain"),
        (b"data: x\n\n" * 10_000, EVENTS),
        (b"{" * 100_000, JSON),
        (b"\x00" * 100_000, "image/png"),
    ],
    ids=["HTML", "message", "many", "arrays", "name", "text", "events", "no JSON", "image"],
)
async def test_an_error_takes_at_most_4_kb(content, media_type):
    result = await read(content, media_type, 502)

    assert result.error is not None
    assert len(encode_json(result.error)) <= 4096 + 200
    assert result.error["message"].startswith("GET /pets/7 returned 502 Bad Gateway: ")


async def test_an_html_error_is_its_text_and_one_of_head_its_status():
    page = b"<!doctype html><title>Not here</title><script>alert(1)</script><h1>Gone</h1>"

    got, head = await read(page, HTML, 404), await read(b"", JSON, 404, method="head")

    assert got.output == 'GET /pets/7 returned 404 Not Found: [HTML page "Not here"] Gone'
    assert head.output == "HEAD /pets/7 returned 404 Not Found."


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("86401", 86_400.0),
        (formatdate(NOW + 60, usegmt=True), 60.0),
        ("Tue, 14 Nov 2023 22:14:20", 60.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("inf", None),
        ("1e3", None),
        ("0, 1", None),
        ("x" * 100_000, None),
        ("Fri, 99 Zzz 99999999999999 99:99:99 GMT", None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_the_wait_that_a_server_asks_for_is_a_clean_number(value, expected):
    assert retry_after(httpx.Headers({"Retry-After": value}), now=NOW) == expected


async def test_rate_limits_say_how_long_to_wait():
    result = await read(b"slow down", "text/plain", 429, headers={"Retry-After": "7"})

    assert result.error == {
        "message": "GET /pets/7 returned 429 Too Many Requests: slow down",
        "type": "rate_limited",
        "status": 429,
        "retryable": True,
        "retry_after": 7.0,
        "body": "slow down",
    }


PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\r\n\t"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | PLAIN_TEXT,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(PLAIN_TEXT, inner, max_size=20),
    max_leaves=40,
)


@pytest.mark.long
@given(VALUES, st.integers(100, 2000), st.booleans())
def test_any_json_is_read_as_it_is_or_cut_to_fit(value, limit, ascii_only):
    content = json.dumps(value, ensure_ascii=ascii_only).encode()

    output = asyncio.run(read(content, max_output_chars=limit)).output

    if len(encode_json(value)) <= limit:
        assert output == value
    else:
        assert len(encode_json(output)) <= limit
        assert "…" in encode_json(output)


MEDIA_TYPES = (
    *(JSON, "", "text/plain", HTML, EVENTS, "application/x-ndjson"),
    *("application/json-seq", "multipart/mixed; boundary=B", BYTES),
    *("application/problem+json", "text/plain; charset=utf-16", "x"),
)
BODIES = (
    st.binary()
    | st.text(st.sampled_from('{}[]",:\\u0dB-\r\n <>!/&#;e19adt')).map(str.encode)
    | VALUES.map(lambda value: json.dumps(value).encode())
)


@given(BODIES, st.sampled_from(MEDIA_TYPES), st.integers(200, 999))
def test_any_bytes_become_a_result(content, media_type, status):
    result = asyncio.run(read(content, media_type, status, max_output_chars=100))

    assert isinstance(result.success, bool)
    assert len(json.dumps(result.output, ensure_ascii=False)) <= 4096
