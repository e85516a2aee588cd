"""openapi-core's opinion of requests and answers."""

from __future__ import annotations

import json
import socket

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.openapi_core.exchange_check import Judge

BASE = "http://api.example.com"


def document(version="3.1.0", **operation):
    """Return a document with one operation."""
    full = {"responses": {"200": {"description": "ok"}}, **operation}
    return {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": BASE}],
        "paths": {"/things/{id}": {"post": full}},
    }


def parameter(name, location, schema, **more):
    """Return a Parameter Object."""
    return {"name": name, "in": location, "required": True, "schema": schema, **more}


NUMBERS = {"type": "array", "items": {"type": "integer"}}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}

STYLES = [
    ("form", "query", NUMBERS, {}, "?p=1&p=2", "?p=1&p=x"),
    ("form-plain", "query", NUMBERS, {"explode": False}, "?p=1,2", "?p=1,x"),
    ("form-object", "query", POINT, {}, "?x=1&y=2", "?x=1&y=b"),
    ("space", "query", NUMBERS, {"style": "spaceDelimited", "explode": False}, "?p=1%202", "?p=x"),
    (
        "pipe",
        "query",
        NUMBERS,
        {"style": "pipeDelimited", "explode": False},
        "?p=1%7C2",
        "?p=1%7Cx",
    ),
    ("deep", "query", POINT, {"style": "deepObject", "explode": True}, "?p[x]=1", "?p[x]=b"),
    ("deep-unsaid", "query", POINT, {"style": "deepObject"}, "?p%5Bx%5D=1", "?p%5Bx%5D=b"),
    (
        "deep-array",
        "query",
        {"type": "object", "properties": {"a": NUMBERS}},
        {"style": "deepObject"},
        "?p[a][]=1&p[a][]=2",
        "?p[a][0]=x",
    ),
]


@pytest.mark.parametrize(
    ("location", "schema", "more", "good", "bad"),
    [row[1:] for row in STYLES],
    ids=[row[0] for row in STYLES],
)
def test_query_parameters_are_judged_by_their_style(location, schema, more, good, bad):
    judge = Judge(document(parameters=[parameter("p", location, schema, **more)]))

    assert judge.request(httpx.Request("POST", f"{BASE}/things/1{good}")) == []
    assert judge.request(httpx.Request("POST", f"{BASE}/things/1{bad}")) != []


@pytest.mark.parametrize(
    ("style", "explode", "good", "bad"),
    [
        ("simple", False, "1,2", "1,x"),
        ("label", False, ".1,2", ".1,x"),
        ("label", True, ".1.2", ".1.x"),
        ("matrix", False, ";id=1,2", ";id=1,x"),
        ("matrix", True, ";id=1;id=2", ";id=1;id=x"),
    ],
)
def test_path_parameters_are_judged_by_their_style(style, explode, good, bad):
    asked = parameter("id", "path", NUMBERS, style=style, explode=explode)
    judge = Judge(document(parameters=[asked]))

    assert judge.request(httpx.Request("POST", f"{BASE}/things/{good}")) == []
    assert judge.request(httpx.Request("POST", f"{BASE}/things/{bad}")) != []


@pytest.mark.parametrize(
    ("location", "good", "bad"),
    [
        ("header", {"p": "7"}, {"p": "x"}),
        ("cookie", {"cookie": "a=1; p=7"}, {"cookie": "p=x"}),
        ("cookie", {"cookie": 'p="7"'}, {"cookie": 'p="x"'}),
        ("cookie", {"cookie": "p=%37; broken"}, {"cookie": 'p="7'}),
    ],
)
def test_headers_and_cookies_are_judged(location, good, bad):
    judge = Judge(document(parameters=[parameter("p", location, {"type": "integer"})]))
    url = f"{BASE}/things/1"

    assert judge.request(httpx.Request("POST", url, headers=good)) == []
    assert len(judge.request(httpx.Request("POST", url, headers=bad))) == 1
    assert "p" in judge.request(httpx.Request("POST", url))[0]


BODY = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def with_body(media_type, version="3.1.0"):
    """Return a judge of one operation that wants a body of a media type."""
    content = {media_type: {"schema": BODY}}
    return Judge(document(version, requestBody={"required": True, "content": content}))


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0", "3.2.0"])
@pytest.mark.parametrize(
    ("media_type", "sent", "good", "bad"),
    [
        ("application/json", "application/json", b'{"n": 1}', b'{"n": "x"}'),
        ("application/vnd.x+json", "application/vnd.x+json", b'{"n": 1}', b"{}"),
        ("*/*", "application/json", b'{"n": 1}', b'{"n": "x"}'),
        ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded", b"n=1", b"n=x"),
        ("application/json", "application/json; charset=utf-8", b'{"n": 1}', b"{"),
    ],
)
def test_bodies_are_judged_by_their_schema(version, media_type, sent, good, bad):
    judge = with_body(media_type, version)

    def judged(content):
        request = httpx.Request(
            "POST", f"{BASE}/things/1", content=content, headers={"content-type": sent}
        )
        return judge.request(request)

    assert judged(good) == []
    assert judged(bad) != []


def test_a_multipart_body_is_judged():
    judge = with_body("multipart/form-data")

    good = httpx.Request("POST", f"{BASE}/things/1", files={"n": (None, b"1")})
    bad = httpx.Request("POST", f"{BASE}/things/1", files={"n": (None, b"x")})
    missing = httpx.Request("POST", f"{BASE}/things/1", files={"m": (None, b"1")})
    for request in (good, bad, missing):
        request.read()

    assert judge.request(good) == []
    assert judge.request(bad) == ["body: /n: 'x' is not of type 'integer'"]
    assert judge.request(missing) == ["body: 'n' is a required property"]


def test_a_body_of_another_media_type_or_none_at_all_is_a_problem():
    judge = with_body("application/json")
    url = f"{BASE}/things/1"

    other = judge.request(
        httpx.Request("POST", url, content=b"<a/>", headers={"content-type": "application/xml"})
    )
    none = judge.request(httpx.Request("POST", url))

    assert "application/xml" in other[0]
    assert none == ["Missing required request body"]


def test_a_body_that_is_neither_json_nor_a_form_is_not_compared():
    judge = with_body("application/xml")
    bomb = b"<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>"

    problems = judge.request(
        httpx.Request(
            "POST", f"{BASE}/things/1", content=bomb, headers={"content-type": "application/xml"}
        )
    )

    assert problems == []


def test_a_body_that_may_be_left_out_may_be_left_out():
    judge = Judge(document(requestBody={"content": {"application/json": {"schema": BODY}}}))

    assert judge.request(httpx.Request("POST", f"{BASE}/things/1")) == []


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0", "3.2.0"])
def test_files_and_texts_of_a_multipart_body_are_no_problem(version):
    binary = {"type": "string", "format": "binary"} if version == "3.0.3" else {}
    schema = {
        "type": "object",
        "required": ["file"],
        "properties": {"file": binary, "kind": {"type": "string", "enum": ["a", "b"]}},
    }
    content = {"multipart/form-data": {"schema": schema}}
    judge = Judge(document(version, requestBody={"required": True, "content": content}))
    files = {"file": ("x.png", b"\x89PNG\xff", "image/png"), "kind": (None, b"a")}

    request = httpx.Request("POST", f"{BASE}/things/1", files=files)
    request.read()

    assert judge.request(request) == []


def test_an_encoded_style_in_a_multipart_body_is_read():
    entry = {
        "schema": {"type": "object", "properties": {"n": NUMBERS}},
        "encoding": {"n": {"style": "form", "explode": False}},
    }
    judge = Judge(document(requestBody={"content": {"multipart/form-data": entry}}))

    def judged(value):
        request = httpx.Request("POST", f"{BASE}/things/1", files={"n": (None, value)})
        request.read()
        return judge.request(request)

    assert judged(b"1,2") == []
    assert judged(b"1,x") != []


def test_a_parameter_with_content_is_read_by_its_media_type():
    asked = {"name": "p", "in": "query", "content": {"application/json": {"schema": NUMBERS}}}
    judge = Judge(document(parameters=[asked]))

    assert judge.request(httpx.Request("POST", f"{BASE}/things/1?p=%5B1%5D")) == []
    assert judge.request(httpx.Request("POST", f"{BASE}/things/1?p=%5B%22x%22%5D")) != []


def test_what_openapi_core_cannot_read_is_told_as_that():
    asked = parameter("p", "query", NUMBERS, style="pipeDelimited", explode=True)
    judge = Judge(document(parameters=[asked]))

    problems = judge.request(httpx.Request("POST", f"{BASE}/things/1?p=1&p=2"))

    assert problems == ["not judged: query parameter 'p': openapi-core does not read it here"]


@pytest.mark.parametrize("name", ["X-Key", "x-key"])
def test_a_missing_credential_is_no_problem_even_when_it_is_declared_as_a_parameter(name):
    source = document(parameters=[parameter(name, "header", {"type": "string"})])
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    source["components"] = {"securitySchemes": {"key": scheme}}
    source["security"] = [{"key": []}]

    assert Judge(source).request(httpx.Request("POST", f"{BASE}/things/1")) == []


ANSWERS = {
    "200": {
        "description": "ok",
        "headers": {"X-Left": {"required": True, "schema": {"type": "integer"}}},
        "content": {"application/json": {"schema": BODY}},
    },
    "204": {"description": "none", "content": {"application/json": {"schema": BODY}}},
    "4XX": {"description": "wrong"},
    "201": {"description": "empty", "content": {}},
}


@pytest.mark.parametrize(
    ("status", "headers", "content", "said"),
    [
        (200, {"content-type": "application/json", "x-left": "3"}, b'{"n": 1}', None),
        (200, {"content-type": "application/json", "x-left": "x"}, b'{"n": 1}', "X-Left"),
        (200, {"content-type": "application/json"}, b'{"n": 1}', "Missing required header: X-Left"),
        (200, {"content-type": "application/json", "x-left": "3"}, b'{"n": "a"}', "/n: 'a'"),
        (200, {"content-type": "application/json", "x-left": "3"}, b"{", "Failed to deserialize"),
        (200, {"content-type": "text/html", "x-left": "3"}, b"<p>", "text/html"),
        (200, {"x-left": "3"}, b"", "Missing response data"),
        (204, {}, b"", None),
        (201, {}, b"", None),
        (404, {"content-type": "text/plain"}, b"no", None),
        (500, {}, b"", "500"),
    ],
    ids=[
        "fits",
        "header",
        "no-header",
        "body",
        "broken",
        "type",
        "no-body",
        "204",
        "empty-content",
        "range",
        "unknown",
    ],
)
def test_answers_are_judged_by_status_headers_and_body(status, headers, content, said):
    judge = Judge(document(responses=ANSWERS))
    request = httpx.Request("POST", f"{BASE}/things/1")

    problems = judge.answer(request, status, httpx.Headers(headers), content)

    if said is None:
        assert problems == []
    else:
        assert any(said in problem for problem in problems)


def test_an_operation_that_describes_no_answers_agrees_with_all():
    judge = Judge(document(responses=None))
    request = httpx.Request("POST", f"{BASE}/things/1")

    assert judge.answer(request, 200, httpx.Headers(), b"x") == []


def test_swagger_2_is_not_judged_and_says_so():
    judge = Judge({"swagger": "2.0", "paths": {"/a": {"get": {}}}})

    problems = judge.request(httpx.Request("GET", f"{BASE}/a"))

    assert problems == ["not judged: openapi-core reads OpenAPI 3, this is a Swagger 2.0 document"]


def test_a_request_that_fits_no_operation_is_a_problem():
    problems = Judge(document()).request(httpx.Request("GET", f"{BASE}/nowhere"))

    assert problems == ["GET /nowhere: the document has no such operation"]


@pytest.mark.parametrize(
    "reference",
    ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.yaml", "//host/x", "ftp://h/x"],
)
def test_another_document_is_never_read(reference, monkeypatch):
    def refuse(*_args, **_more):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    content = {"application/json": {"schema": {"$ref": reference}}}
    judge = Judge(document(requestBody={"content": content}))

    problems = judge.request(httpx.Request("POST", f"{BASE}/things/1", json={}))

    assert len(problems) == 1
    assert problems[0].startswith("not judged: openapi-core gave up")


def test_a_long_problem_is_one_short_line():
    content = {"application/json": {"schema": {"enum": ["a"]}}}
    judge = Judge(document(requestBody={"content": content}))
    text = json.dumps("line\n" * 10_000)

    problems = judge.request(
        httpx.Request(
            "POST", f"{BASE}/things/1", content=text, headers={"content-type": "application/json"}
        )
    )

    assert len(problems) == 1
    assert len(problems[0]) < 300
    assert "\n" not in problems[0]


TEXT = st.text("ab#/~$", max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
KEYS = ["parameters", "requestBody", "responses", "content", "application/json", "schema", "$ref"]
BROKEN = st.recursive(
    JSON, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4), max_leaves=12
)


@pytest.mark.long
@given(operation=BROKEN, version=st.sampled_from(["3.0.0", "3.1.0", "3.2.0", "4.0", "", None]))
def test_nothing_raises_whatever_the_document_says(operation, version):
    broken = {"openapi": version, "paths": {"/things/{id}": {"post": operation}}}
    judge = Judge(broken)
    request = httpx.Request("POST", f"{BASE}/things/1", json={"a": 1})

    told = [
        *judge.request(request),
        *judge.answer(request, 200, httpx.Headers({"content-type": "application/json"}), b"[]"),
    ]

    assert all(isinstance(line, str) for line in told)
