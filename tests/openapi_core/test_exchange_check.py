"""openapi-core's opinion of requests and answers."""

import json
import socket

import documents
import httpx
import pytest
from documents import operation
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.openapi_core.exchange_check import Judge

BASE = "http://api.example.com"


def document(version="3.1.0", **members):
    """Return a document with one operation."""
    paths = {"/things/{id}": {"post": operation(**members)}}
    return documents.document(paths, openapi=version, servers=[{"url": BASE}])


def with_body(entry, kind="application/json", version="3.1.0", *, required=True):
    """Return a judge of one operation that takes a body of a media type."""
    return Judge(document(version, requestBody={"required": required, "content": {kind: entry}}))


def parameter(name, location, schema, **more):
    """Return a Parameter Object."""
    return {"name": name, "in": location, "required": True, "schema": schema, **more}


def post(target="1", **request):
    """Return a request of the operation, whose body has been read."""
    made = httpx.Request("POST", f"{BASE}/things/{target}", **request)
    made.read()
    return made


def typed(kind, content, target="1"):
    return post(target, content=content, headers={"content-type": kind})


@pytest.fixture
def offline(monkeypatch):
    """Fail whenever a connection is opened."""

    def refuse(*_args, **_more):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


NUMBERS = {"type": "array", "items": {"type": "integer"}}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
DEEP = {"style": "deepObject"}
PIPE, SPACE = ({"style": f"{name}Delimited", "explode": False} for name in ("pipe", "space"))
ARRAYS = {"type": "object", "properties": {"a": NUMBERS}}
STYLES = {
    "form": (NUMBERS, {}, "?p=1&p=2", "?p=1&p=x"),
    "form-plain": (NUMBERS, {"explode": False}, "?p=1,2", "?p=1,x"),
    "form-object": (POINT, {}, "?x=1&y=2", "?x=1&y=b"),
    "space": (NUMBERS, SPACE, "?p=1%202", "?p=x"),
    "pipe": (NUMBERS, PIPE, "?p=1%7C2", "?p=1%7Cx"),
    "deep": (POINT, {**DEEP, "explode": True}, "?p[x]=1", "?p[x]=b"),
    "deep-unsaid": (POINT, DEEP, "?p%5Bx%5D=1", "?p%5Bx%5D=b"),
    "deep-array": (ARRAYS, DEEP, "?p[a][]=1&p[a][]=2", "?p[a][0]=x"),
}


@pytest.mark.parametrize(("schema", "more", "good", "bad"), STYLES.values(), ids=STYLES)
def test_query_parameters_are_judged_by_their_style(schema, more, good, bad):
    judge = Judge(document(parameters=[parameter("p", "query", schema, **more)]))

    assert judge.request(post(f"1{good}")) == []
    assert judge.request(post(f"1{bad}")) != []


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

    assert judge.request(post(good)) == []
    assert judge.request(post(bad)) != []


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

    assert judge.request(post(headers=good)) == []
    assert len(judge.request(post(headers=bad))) == 1
    assert "p" in judge.request(post())[0]


BODY = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0", "3.2.0"])
@pytest.mark.parametrize(
    ("kind", "sent", "good", "bad"),
    [
        (JSON, JSON, b'{"n": 1}', b'{"n": "x"}'),
        ("application/vnd.x+json", "application/vnd.x+json", b'{"n": 1}', b"{}"),
        ("*/*", JSON, b'{"n": 1}', b'{"n": "x"}'),
        (FORM, FORM, b"n=1", b"n=x"),
        (JSON, "application/json; charset=utf-8", b'{"n": 1}', b"{"),
    ],
)
def test_bodies_are_judged_by_their_schema(version, kind, sent, good, bad):
    judge = with_body({"schema": BODY}, kind, version)

    assert judge.request(typed(sent, good)) == []
    assert judge.request(typed(sent, bad)) != []


@pytest.mark.parametrize(
    ("name", "value", "problems"),
    [
        ("n", b"1", []),
        ("n", b"x", ["body: /n: 'x' is not of type 'integer'"]),
        ("m", b"1", ["body: 'n' is a required property"]),
    ],
)
def test_a_multipart_body_is_judged(name, value, problems):
    judge = with_body({"schema": BODY}, MULTIPART)

    assert judge.request(post(files={name: (None, value)})) == problems


def test_a_body_of_another_media_type_or_none_at_all_is_a_problem():
    judge = with_body({"schema": BODY})

    assert "application/xml" in judge.request(typed("application/xml", b"<a/>"))[0]
    assert judge.request(post()) == ["Missing required request body"]


def test_a_body_that_is_neither_json_nor_a_form_is_not_compared():
    judge = with_body({"schema": BODY}, "application/xml")
    bomb = b"<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>"

    assert judge.request(typed("application/xml", bomb)) == []


def test_a_body_that_may_be_left_out_may_be_left_out():
    assert with_body({"schema": BODY}, required=False).request(post()) == []


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0", "3.2.0"])
def test_files_and_texts_of_a_multipart_body_are_no_problem(version):
    binary = {"type": "string", "format": "binary"} if version == "3.0.3" else {}
    members = {"file": binary, "kind": {"type": "string", "enum": ["a", "b"]}}
    schema = {"type": "object", "required": ["file"], "properties": members}
    files = {"file": ("x.png", b"\x89PNG\xff", "image/png"), "kind": (None, b"a")}

    assert with_body({"schema": schema}, MULTIPART, version).request(post(files=files)) == []


def test_an_encoded_style_in_a_multipart_body_is_read():
    entry = {
        "schema": {"type": "object", "properties": {"n": NUMBERS}},
        "encoding": {"n": {"style": "form", "explode": False}},
    }
    judge = with_body(entry, MULTIPART)

    assert judge.request(post(files={"n": (None, b"1,2")})) == []
    assert judge.request(post(files={"n": (None, b"1,x")})) != []


def test_a_parameter_with_content_is_read_by_its_media_type():
    asked = {"name": "p", "in": "query", "content": {JSON: {"schema": NUMBERS}}}
    judge = Judge(document(parameters=[asked]))

    assert judge.request(post("1?p=%5B1%5D")) == []
    assert judge.request(post("1?p=%5B%22x%22%5D")) != []


def test_what_openapi_core_cannot_read_is_told_as_that():
    asked = parameter("p", "query", NUMBERS, style="pipeDelimited", explode=True)

    problems = Judge(document(parameters=[asked])).request(post("1?p=1&p=2"))

    assert problems == ["not judged: query parameter 'p': openapi-core does not read it here"]


@pytest.mark.parametrize("name", ["X-Key", "x-key"])
def test_a_missing_credential_is_no_problem_even_when_it_is_declared_as_a_parameter(name):
    source = document(parameters=[parameter(name, "header", {"type": "string"})])
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    source |= {"components": {"securitySchemes": {"key": scheme}}, "security": [{"key": []}]}

    assert Judge(source).request(post()) == []


LEFT = {"X-Left": {"required": True, "schema": {"type": "integer"}}}
CONTENT = {"content": {JSON: {"schema": BODY}}}
ANSWERS = {
    "200": {"description": "ok", "headers": LEFT, **CONTENT},
    "204": {"description": "none", **CONTENT},
    "4XX": {"description": "wrong"},
    "201": {"description": "empty", "content": {}},
}
ROWS = {
    "fits": (200, JSON, "3", b'{"n": 1}', None),
    "header": (200, JSON, "x", b'{"n": 1}', "X-Left"),
    "no-header": (200, JSON, "", b'{"n": 1}', "Missing required header: X-Left"),
    "body": (200, JSON, "3", b'{"n": "a"}', "/n: 'a'"),
    "broken": (200, JSON, "3", b"{", "Failed to deserialize"),
    "type": (200, "text/html", "3", b"<p>", "text/html"),
    "no-body": (200, "", "3", b"", "Missing response data"),
    "204": (204, "", "", b"", None),
    "empty-content": (201, "", "", b"", None),
    "range": (404, "text/plain", "", b"no", None),
    "unknown": (500, "", "", b"", "500"),
}


@pytest.mark.parametrize(("status", "kind", "left", "content", "said"), ROWS.values(), ids=ROWS)
def test_answers_are_judged_by_status_headers_and_body(status, kind, left, content, said):
    given = {"content-type": kind, "x-left": left}
    headers = httpx.Headers({name: value for name, value in given.items() if value})

    problems = Judge(document(responses=ANSWERS)).answer(post(), status, headers, content)

    if said is None:
        assert problems == []
    else:
        assert any(said in problem for problem in problems)


def test_an_operation_that_describes_no_answers_agrees_with_all():
    assert Judge(document(responses=None)).answer(post(), 200, httpx.Headers(), b"x") == []


def test_swagger_2_is_not_judged_and_says_so():
    problems = Judge({"swagger": "2.0", "paths": {"/a": {"get": {}}}}).request(post())

    assert problems == ["not judged: openapi-core reads OpenAPI 3, this is a Swagger 2.0 document"]


def test_a_request_that_fits_no_operation_is_a_problem():
    problems = Judge(document()).request(httpx.Request("GET", f"{BASE}/nowhere"))

    assert problems == ["GET /nowhere: the document has no such operation"]


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    "reference",
    ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.yaml", "//host/x", "ftp://h/x"],
)
def test_another_document_is_never_read(reference):
    problems = with_body({"schema": {"$ref": reference}}).request(post(json={}))

    assert len(problems) == 1
    assert problems[0].startswith("not judged: openapi-core gave up")


def test_a_long_problem_is_one_short_line():
    judge = with_body({"schema": {"enum": ["a"]}})

    (problem,) = judge.request(typed(JSON, json.dumps("line\n" * 10_000)))

    assert len(problem) < 300
    assert "\n" not in problem


TEXT = st.text("ab#/~$", max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
KEYS = ["parameters", "requestBody", "responses", "content", "application/json", "schema", "$ref"]
BROKEN = st.recursive(
    VALUES, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4), max_leaves=12
)


@pytest.mark.long
@given(operation=BROKEN, version=st.sampled_from(["3.0.0", "3.1.0", "3.2.0", "4.0", "", None]))
def test_nothing_raises_whatever_the_document_says(operation, version):
    judge = Judge({"openapi": version, "paths": {"/things/{id}": {"post": operation}}})
    request, headers = post(json={"a": 1}), httpx.Headers({"content-type": JSON})

    told = [*judge.request(request), *judge.answer(request, 200, headers, b"[]")]

    assert all(isinstance(line, str) for line in told)
