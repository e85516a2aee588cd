"""What an answer becomes: its value, its words, and what is said about it."""

import base64
import json
import time
from email.utils import formatdate

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.model import Operation
from openapi_tools.responses.reader import read_answer, retry_after
from openapi_tools.settings import Settings
from openapi_tools.transport.sender import Answer

JSON = "application/json"
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


def read(
    content=b"",
    media_type=JSON,
    status=200,
    *,
    method="GET",
    headers=None,
    accept=(),
    cut="",
    **settings,
):
    lines = ({"content-type": media_type} if media_type else {}) | (headers or {})
    request = httpx.Request(method, "http://pets.test/pets/7?full=1")
    answer = Answer(request, status, httpx.Headers(lines), content, 0.25, cut=cut)
    result = read_answer(
        answer, Operation(method, "/pets/{id}", accept=accept), Settings(**settings)
    )
    json.dumps(result.model_dump(), allow_nan=False, ensure_ascii=False).encode()
    json.dumps(result.metadata, allow_nan=False, ensure_ascii=False).encode()
    return result


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
        ("application/octet-stream", "déjà\tvu\r\n".encode(), "déjà\tvu\r\n"),
        ("application/octet-stream", b'{"a": 1}', '{"a": 1}'),
        ("text/html", b"OK\n", "OK\n"),
        ("text/html; charset=utf-8", "1 < 2 & 3 > 2, déjà".encode(), "1 < 2 & 3 > 2, déjà"),
        ("application/xhtml+xml", b"pong", "pong"),
        ("text/html", b"Tom &amp; Jerry", "[HTML page] Tom & Jerry"),
        ("text/html", b"one<br>two", "[HTML page] one\ntwo"),
        ("", b'{"a": 1}', {"a": 1}),
        ("", b"  [1]", [1]),
        ("", b"{not json", "{not json"),
        ("", b"hello", "hello"),
        ("", b"12", "12"),
        ("no media type", b"hello", "hello"),
        ("text/html", b'{"a": 1}', {"a": 1}),
        ("text/html",
         b"<!doctype html><title>Oops &amp; more</title><style>a{}</style><p>Try <b>again</b>",
         '[HTML page "Oops & more"] Try again'),
        ("", b"<html><body>hi</body></html>", "[HTML page] hi"),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, bytes | str) else None,
)  # fmt: skip
def test_a_body_is_read_by_its_media_type(media_type, content, expected):
    result = read(content, media_type)

    assert result.success
    assert result.output == expected
    assert result.error is None


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        ("image/png", PNG),
        ("application/octet-stream", b"text with a NUL\x00"),
        ("application/octet-stream", b"caf\xe9"),
        ("application/pdf", b"%PDF-1.4 all ASCII"),
        ("application/zip", b"PK\x03\x04"),
        ("application/vnd.acme.blob", b"\x00\x01\x02"),
        ("", b"\x00\xff"),
    ],
)
def test_bytes_come_as_base64(media_type, content):
    result = read(content, media_type)

    assert result.output == {
        "base64": base64.b64encode(content).decode(),
        "media_type": media_type or "application/octet-stream",
        "bytes": len(content),
    }


@pytest.mark.parametrize(
    ("status", "method", "content"),
    [
        (204, "DELETE", b""),
        (205, "POST", b""),
        (200, "GET", b""),
        (200, "HEAD", b""),
        (202, "POST", b""),
    ],
)
def test_an_answer_without_content_is_a_success_without_output(status, method, content):
    result = read(content, status=status, method=method)

    assert (result.success, result.output, str(result)) == (True, None, "Success")


def test_the_metadata_holds_what_helps_with_the_next_call():
    headers = {
        "Link": "</pets?page=2>; rel=next",
        "ETag": '"x"',
        "X-Request-Id": "r1",
        "X-RateLimit-Remaining": "5",
        "RateLimit": "r=5",
        "Retry-After": "7",
        "Set-Cookie": "session=1",
        "WWW-Authenticate": "Bearer token",
        "Server": "x",
        "X-Other": "y",
    }

    metadata = read(b"{}", "application/json; charset=utf-8", headers=headers).metadata

    assert metadata == {
        "status": 200,
        "media_type": "application/json",
        "headers": {
            "link": "</pets?page=2>; rel=next",
            "etag": '"x"',
            "x-request-id": "r1",
            "x-ratelimit-remaining": "5",
            "ratelimit": "r=5",
            "retry-after": "7",
        },
        "elapsed": 0.25,
        "attempts": 1,
    }


def test_header_values_are_cleaned_and_bounded():
    raw = [(b"link", b"a\x1b[31m" + b"x" * 5000), (b"link", b"second"), (b"etag", b"caf\xe9")]
    raw += [(b"x-ratelimit-%d" % i, b"1") for i in range(1000)]
    answer = Answer(httpx.Request("GET", "http://t.test/"), 200, httpx.Headers(raw), b"{}")

    headers = read_answer(answer, Operation("GET", "/"), Settings()).metadata["headers"]

    assert headers["link"].startswith("a[31mxxx")
    assert len(headers["link"]) == 1024
    assert headers["etag"] == "café"
    assert len(headers) <= 41


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": NaN, "b": [-Infinity, Infinity]}', {"a": "NaN", "b": ["-Infinity", "Infinity"]}),
        (b"[1e400, -1e400]", ["Infinity", "-Infinity"]),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'"\\ud800x"', "\ufffdx"),
        (b'{"\\ud800": 1}', {"\ufffd": 1}),
        (b'["\\u0000a\\u001b[31m\\u009bb"]', ["a[31mb"]),
        (b'{"a\\b": "C:\\\\bin\\f", "n": "\\n"}', {"a": "C:\\bin", "n": "\n"}),
        (b'["a\nb\tc\x00"]', ["a\nb\tc"]),
        (b'["\xff"]', ["\ufffd"]),
        (b'["\xc2\x9b\x7f"]', [""]),
        (b"9" * 4000, int("9" * 4000)),
    ],
    ids=[
        "NaN",
        "1e400",
        "duplicate key",
        "lone surrogate",
        "lone surrogate in a name",
        "escaped controls",
        "backspace and form feed",
        "raw controls",
        "invalid UTF-8",
        "C1 controls",
        "4000 digits",
    ],
)
def test_odd_json_becomes_clean_data(content, expected):
    result = read(content)

    assert result.success
    assert result.output == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": ', "says it is JSON and is none"),
        (b"[1, 2", "says it is JSON and is none"),
        (b"hello", "hello"),
        (b"[" * 100_000, "nested too deep"),
        (b"[" * 300 + b"]" * 300, "nested too deep"),
        (b"9" * 10_000, "is none"),
        (b"<!DOCTYPE html><title>Log in</title><p>Please", '[HTML page "Log in"] Please'),
        (b"x" * 10_000_000, "characters in all"),
        (b"\xff\xfe\x00", "is none"),
    ],
    ids=["cut", "cut array", "text", "deep", "300 deep", "digits", "HTML", "long", "broken UTF-16"],
)
def test_what_claims_to_be_json_and_is_not_is_a_decode_error(content, words):
    result = read(content)

    assert result.error["type"] == "decode"
    assert result.error["status"] == 200
    assert result.error["message"].startswith("GET /pets/7 answered 200, but the answer says")
    assert words in result.error["message"]
    assert len(result.error["message"]) < 1000


@pytest.mark.parametrize(
    ("charset", "content", "expected", "note"),
    [
        ("utf-8", b"a\xffb", "a\ufffdb", "bytes that are no utf-8"),
        ("rot13", b"abc", "abc", ""),
        ("base64", "é".encode(), "é", "'base64' is not supported"),
        ("zlib", b"\xe9", "\ufffd", "'zlib' is not supported"),
        ("windows-1252", b"\x93", "\ufffd", "'windows-1252' is not supported"),
        ("utf-16", b"a", "\ufffd", "bytes that are no utf-16"),
        ("unheard-of", b"\xc3\xa9", "é", "not supported"),
    ],
)
def test_text_that_is_not_what_it_says_is_marked(charset, content, expected, note):
    result = read(content, f"text/plain; charset={charset}")

    assert result.output == expected
    assert note in "; ".join(result.metadata.get("notes", []))
    assert ("notes" in result.metadata) is bool(note)


def test_html_that_the_document_announces_is_given_as_it_is():
    page = b"<html><p>hi</p></html>"

    assert read(page, "text/html", accept=("text/html",)).output == page.decode()


EVENTS = (
    b': comment\n\nevent: add\nid: 3\ndata: {"a": 1}\n\n'
    b"data: two\r\ndata: lines\r\n\r\nretry: 5\n\ndata:[DONE]\n\ndata: NaN\n\n"
)


def test_server_sent_events_become_a_list():
    result = read(EVENTS, "text/event-stream")

    assert result.output == [
        {"event": "add", "id": "3", "data": {"a": 1}},
        {"data": "two\nlines"},
        {"data": "[DONE]"},
        {"data": "NaN"},
    ]


def test_an_event_that_the_stream_ends_in_is_left_out_and_noted():
    result = read(b"data: 1\n\ndata: 2", "text/event-stream")

    assert result.output == [{"data": 1}]
    assert "ends in the middle" in result.metadata["notes"][0]


@pytest.mark.parametrize(
    ("cut", "words"), [("timeout", "time was over"), ("too_large", "too large")]
)
def test_a_stream_that_was_cut_says_so(cut, words):
    result = read(b"data: 1\n\n", "text/event-stream", cut=cut)

    assert result.success
    assert result.output[0] == {"data": 1}
    assert words in result.output[1]
    assert result.metadata["truncated"]


@pytest.mark.parametrize(
    ("media_type", "content", "expected"),
    [
        ("application/x-ndjson", b'{"a": 1}\n\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
        ("application/jsonl", b"1\n2", [1, 2]),
        ("application/jsonl", b"1\nbroken {\n3\n", [1, "broken {", 3]),
        ("application/json-seq", b'\x1e{"a": 1}\n\x1e[2]\n', [{"a": 1}, [2]]),
        ("application/geo+json-seq", b"\x1e1\n", [1]),
    ],
)
def test_json_after_json_becomes_a_list(media_type, content, expected):
    assert read(content, media_type).output == expected


def test_a_flood_of_items_is_read_as_far_as_it_can_be_shown():
    result = read(b"1\n" * 1_000_000, "application/jsonl", max_output_chars=1000)

    assert len(json.dumps(result.output)) <= 1000
    assert result.metadata["notes"] == ["only the first 334 items were read"]
    assert result.metadata["truncated"]["chars"] == 2_000_000


def test_a_multipart_answer_becomes_its_parts():
    content = (
        b"preamble\r\n--B\r\nContent-Type: application/json\r\n"
        b'Content-Disposition: form-data; name="meta"\r\n\r\n{"a": 1}\r\n'
        b"--B \r\nContent-Type: image/png\r\n"
        b'Content-Disposition: attachment; filename="x.png"\r\n\r\n' + PNG + b"\r\n"
        b"--B\r\n\r\nplain\r\n"
        b"--B\r\nContent-Type: application/json\r\n\r\n{broken\r\n"
        b"--B\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n\x00\r\n"
        b"--B--\r\nepilogue"
    )

    result = read(content, 'multipart/mixed; boundary="B"')

    assert result.output == [
        {"media_type": JSON, "name": "meta", "content": {"a": 1}},
        {
            "media_type": "image/png",
            "filename": "x.png",
            "content": {
                "base64": base64.b64encode(PNG).decode(),
                "media_type": "image/png",
                "bytes": len(PNG),
            },
        },
        {"media_type": "text/plain", "content": "plain"},
        {"media_type": JSON, "content": "{broken"},
        {
            "media_type": "multipart/mixed",
            "content": {"base64": "AA==", "media_type": "application/octet-stream", "bytes": 1},
        },
    ]


def test_only_the_first_parts_of_many_are_shown():
    result = read(b"--B\r\n\r\nx\r\n" * 500, "multipart/mixed; boundary=B")

    assert len(result.output) == 100
    assert result.metadata["notes"] == ["only the first 100 parts are shown"]


def test_a_large_answer_is_cut_and_says_how_large_it_was():
    pets = [{"id": i, "name": "Rex", "about": "x" * 50} for i in range(300_000)]
    content = json.dumps(pets).encode()
    started = time.process_time()

    result = read(content, max_response_bytes=10**9)

    assert time.process_time() - started < 5
    assert len(content) > 20_000_000
    assert len(str(result)) <= 256_000
    assert result.output[0] == pets[0]
    assert result.output[-1].endswith("of 300000 items left out")
    assert result.metadata["truncated"] == {"chars": len(content), "kept": len(str(result))}


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
        ("data: x\n\n" * 500, "text/event-stream"),
        ("<p>" + "text " * 1000, "text/html"),
    ],
)
def test_no_output_is_longer_than_the_cap(content, media_type):
    result = read(content.encode(), media_type, max_output_chars=500)

    assert result.success
    assert len(json.dumps(result.output, ensure_ascii=False)) <= 500
    assert len(str(result)) >= 40
    assert result.metadata["truncated"]["chars"] == len(content)
    assert result.metadata["truncated"]["kept"] <= 500


def test_text_is_cut_at_the_end_of_a_word():
    result = read(b"hello wide world " * 100, "text/plain", max_output_chars=200)

    assert result.output.endswith("… [1700 characters in all]")
    assert result.output.removesuffix("… [1700 characters in all]").split()[-1] in (
        "hello",
        "wide",
        "world",
    )


@pytest.mark.parametrize(
    ("disposition", "media_type", "expected"),
    [
        ('attachment; filename="report.pdf"', "application/pdf", "report.pdf"),
        ("attachment; filename=report.pdf", "application/pdf", "report.pdf"),
        ("attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf", "application/pdf", "r_sum_.pdf"),
        ("attachment; filename=\"a\"; filename*=utf-8'en'b.bin", "image/png", "b.bin"),
        ('attachment; filename="../../etc/passwd"', "application/octet-stream", "passwd.bin"),
        ('attachment; filename="..\\\\..\\\\evil.exe"', "image/png", "evil.exe"),
        ("attachment; filename*=UTF-8''..%2f..%2fevil%00.sh", "image/png", "evil_.sh"),
        ('attachment; filename=".bashrc"', "image/png", "bashrc.png"),
        ('attachment; filename="-rf"', "image/png", "rf.png"),
        ('attachment; filename="CON.txt"', "image/png", "_CON.txt"),
        ('attachment; filename="nul"', "image/png", "_nul.png"),
        ('attachment; filename=""', "image/png", "download.png"),
        (f'attachment; filename="{"x" * 500}.{"y" * 90}"', "image/png", f"{'x' * 80}.{'y' * 15}"),
        ("", "image/png", "download.png"),
        ("", "application/octet-stream", "download.bin"),
        ("inline", "image/unheard-of", "download.bin"),
    ],
)
def test_a_download_gets_a_safe_name_in_the_users_folder(
    tmp_path, disposition, media_type, expected
):
    folder = tmp_path / "new"

    result = read(
        PNG, media_type, headers={"Content-Disposition": disposition}, download_dir=folder
    )

    written = folder / expected
    assert result.output == {"file": str(written), "media_type": media_type, "bytes": len(PNG)}
    assert written.read_bytes() == PNG
    assert written.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_download_never_touches_a_file_that_exists(tmp_path):
    (tmp_path / "download.png").write_bytes(b"mine")
    (tmp_path / "download-1.png").symlink_to(tmp_path / "elsewhere")

    result = read(PNG, "image/png", download_dir=tmp_path)

    assert result.output["file"] == str(tmp_path / "download-2.png")
    assert (tmp_path / "download.png").read_bytes() == b"mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_download_that_cannot_be_written_comes_as_base64(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")

    result = read(PNG, "image/png", download_dir=blocked)

    assert result.output["base64"] == base64.b64encode(PNG).decode()
    assert "could not be written" in result.metadata["notes"][0]


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    read(PNG, "image/png", headers={"Content-Disposition": 'attachment; filename="x.png"'})

    assert list(tmp_path.iterdir()) == []


PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("status", "media_type", "body", "expected"),
    [
        (404, JSON, {"message": "No such pet"}, "404 Not Found: No such pet."),
        (
            403,
            PROBLEM,
            {
                "type": "https://api.test/out-of-credit",
                "title": "You do not have enough credit.",
                "detail": "Your balance is 30, but that costs 50.",
                "status": 403,
            },
            (
                "403 Forbidden: You do not have enough credit. "
                "Your balance is 30, but that costs 50. (https://api.test/out-of-credit)"
            ),
        ),
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
        (418, JSON, {"weird": True}, '418 I\'m a Teapot: {"weird": true}'),
        (400, PROBLEM, {"title": [], "detail": {}, "type": 5, "errors": 7},
         '400 Bad Request: {"title'),
        (500, JSON, {}, "500 Internal Server Error."),
        (799, JSON, {"message": "odd status"}, "799: odd status."),
    ],
)  # fmt: skip
def test_an_error_speaks_with_the_words_of_the_api(status, media_type, body, expected):
    result = read(json.dumps(body).encode(), media_type, status)

    assert result.error["message"].startswith(f"GET /pets/7 answered {expected}")
    assert result.output == result.error["message"]
    assert result.error["body"] == body
    assert result.error["status"] == status


KINDS = {300: "redirect", 305: "redirect", 401: "auth", 403: "auth", 429: "rate_limited"}


@pytest.mark.parametrize(
    "status", [300, 305, 400, 401, 403, 404, 408, 425, 429, 500, 502, 503, 504, 999]
)
def test_a_status_decides_the_kind_of_error(status):
    result = read(b"", "", status)

    assert result.is_error
    assert result.error["type"] == KINDS.get(status, "http")
    assert result.error["retryable"] is (status in (408, 425, 429, 502, 503, 504))
    assert "body" not in result.error


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"<html><title>502</title>" + b"<p>Bad gateway</p>" * 20_000, "text/html"),
        (json.dumps({"message": "m" * 100_000}).encode(), JSON),
        (json.dumps({"errors": [{"message": "m" * 2000}] * 1000}).encode(), JSON),
        (json.dumps([["deep"] * 100] * 1000).encode(), JSON),
        (json.dumps({"k" * 10_000: "v"}).encode(), JSON),
        (b"text " * 100_000, "text/plain"),
        (b"data: x\n\n" * 10_000, "text/event-stream"),
        (b"{" * 100_000, JSON),
        (b"\x00" * 100_000, "image/png"),
    ],
    ids=[
        "HTML",
        "long message",
        "many",
        "arrays",
        "long name",
        "text",
        "events",
        "no JSON",
        "image",
    ],
)
def test_an_error_takes_at_most_4_kb(content, media_type):
    result = read(content, media_type, 502)

    assert result.error is not None
    assert len(json.dumps(result.error, ensure_ascii=False)) <= 4096 + 200
    assert result.error["message"].startswith("GET /pets/7 answered 502 Bad Gateway: ")


def test_an_html_error_is_its_text():
    page = b"<!doctype html><title>Not here</title><script>alert(1)</script><h1>Gone</h1>"

    result = read(page, "text/html", 404)

    assert result.output == 'GET /pets/7 answered 404 Not Found: [HTML page "Not here"] Gone'


def test_the_headers_of_a_head_error_are_all_there_is():
    result = read(b"", JSON, 404, method="HEAD")

    assert result.output == "HEAD /pets/7 answered 404 Not Found."


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("86401", 86_400.0),
        ("9" * 400, 86_400.0),
        (formatdate(NOW + 60, usegmt=True), 60.0),
        (formatdate(NOW - 60, usegmt=True), 0.0),
        ("Tue, 14 Nov 2023 22:14:20", 60.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("soon", None),
        ("", None),
        ("0, 1", None),
        ("x" * 100_000, None),
        ("Fri, 99 Zzz 99999999999999 99:99:99 GMT", None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_the_wait_that_a_server_asks_for_is_a_clean_number(value, expected):
    assert retry_after(httpx.Headers({"Retry-After": value}), now=NOW) == expected


def test_rate_limits_say_how_long_to_wait():
    result = read(b"slow down", "text/plain", 429, headers={"Retry-After": "7"})

    assert result.error == {
        "message": "GET /pets/7 answered 429 Too Many Requests: slow down",
        "type": "rate_limited",
        "status": 429,
        "retryable": True,
        "retry_after": 7.0,
        "body": "slow down",
    }


MEDIA_TYPES = st.sampled_from(
    [
        JSON,
        "",
        "text/plain",
        "text/html",
        "text/event-stream",
        "application/x-ndjson",
        "application/json-seq",
        "multipart/mixed; boundary=B",
        "application/octet-stream",
        "application/problem+json",
        "text/plain; charset=utf-16",
        "x",
    ]
)
BODIES = st.binary() | st.text(st.sampled_from('{}[]",:\\u0dB-\r\n <>!/&#;e19adt')).map(str.encode)


@given(BODIES, MEDIA_TYPES, st.integers(200, 999))
def test_any_bytes_become_a_result(content, media_type, status):
    result = read(content, media_type, status, max_output_chars=100)

    assert isinstance(result.success, bool)
    assert len(json.dumps(result.output, ensure_ascii=False)) <= 4096
