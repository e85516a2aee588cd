"""openapi-core's opinion of requests and responses."""

import json

import documents
import httpx
import pytest
from documents import operation
from fuzz.budget import nothing_reached
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes

from openapi_tools.conformance.exchange_check import ExchangeChecker

BASE = "http://api.example.com"
VERSIONS = ("3.0.3", "3.1.0", "3.2.0")
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def document(version="3.1.0", **fields):
    """Return a document with one operation."""
    paths = {"/things/{id}": {"post": operation(**fields)}}
    return documents.document(paths, openapi=version, servers=[{"url": BASE}])


def taking(entry, kind="application/json", *, required=True):
    """Return what an operation says that takes a body of a media type."""
    return {"requestBody": {"required": required, "content": {kind: entry}}}


def with_body(schema):
    return ExchangeChecker(document(**taking({"schema": schema})))


def parameter(name, location, schema, **fields):
    """Return a Parameter Object."""
    return {"name": name, "in": location, "required": True, "schema": schema, **fields}


def post(target="1", **request):
    """Return a request of the operation, whose body has been read."""
    http_request = httpx.Request("POST", f"{BASE}/things/{target}", **request)
    http_request.read()
    return http_request


def typed_content(kind, content):
    return {"content": content, "headers": {"content-type": kind}}


def query(schema, good, bad, **fields):
    """Return a row about a query parameter."""
    asked = [parameter("p", "query", schema, **fields)]
    return {"parameters": asked}, {"target": f"1?{good}"}, {"target": f"1?{bad}"}


def path(style, explode, good, bad):
    asked = [parameter("id", "path", NUMBERS, style=style, explode=explode)]
    return {"parameters": asked}, {"target": good}, {"target": bad}


def header_case(location, good, bad):
    asked = [parameter("p", location, {"type": "integer"})]
    return {"parameters": asked}, {"headers": good}, {"headers": bad}


def headed_as(schema, good, bad):
    return {"parameters": [parameter("p", "header", schema)]}, {"headers": good}, {"headers": bad}


def body(kind, sent, good, bad):
    return taking({"schema": BODY}, kind), typed_content(sent, good), typed_content(sent, bad)


def form(entry, good, bad):
    """Return a row about a multipart body, by the names and bytes of its parts."""
    files = ({"files": {name: (None, value) for name, value in one.items()}} for one in (good, bad))
    return taking(entry, MULTIPART), *files


BOOLEAN = {"type": "boolean"}
NUMBERS = {"type": "array", "items": {"type": "integer"}}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
ARRAYS = {"type": "object", "properties": {"a": NUMBERS}}
BODY = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
PIPE, SPACE = ({"style": f"{name}Delimited", "explode": False} for name in ("pipe", "space"))
DEEP, COMMAS = {"style": "deepObject"}, {"style": "form", "explode": False}
IN_JSON = {"name": "p", "in": "query", "content": {JSON: {"schema": NUMBERS}}}
NULL, WORDS = {"type": "null"}, {"type": "array", "items": {"enum": ["a", "b"]}}
NESTED = {"type": "object", "properties": {"at": POINT}}
COOKIES = {"parameters": [parameter("p", "cookie", {**NUMBERS, "minItems": 2}, style="cookie")]}
SHORT_OR_SMALL = {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "string", "minLength": 3}]}
UNIONS = {
    "array or null": ({"anyOf": [NUMBERS, NULL]}, "p=1&p=2", "p=1&p=x"),
    "null or array": ({"anyOf": [NULL, NUMBERS]}, "p=1", "p=x"),
    "array or null, plain": ({"anyOf": [NUMBERS, NULL]}, "p=1,2", "p=1,x", COMMAS),
    "array or null, pipes": ({"oneOf": [NUMBERS, NULL]}, "p=1%7C2", "p=1%7Cx", PIPE),
    "types, array": ({**NUMBERS, "type": ["array", "null"]}, "p=1&p=2", "p=x"),
    "types, number": ({"type": ["integer", "boolean"]}, "p=1", "p=x"),
    "array inside allOf": ({"allOf": [NUMBERS, {"maxItems": 2}]}, "p=1&p=2", "p=x"),
    "two arrays": ({"anyOf": [NUMBERS, WORDS]}, "p=a&p=b", "p=1&p=b"),
    "nested unions": ({"anyOf": [{"anyOf": [NUMBERS, BOOLEAN]}, NULL]}, "p=true", "p=x"),
    "array or string": ({"anyOf": [NUMBERS, {"enum": ["all"]}]}, "p=all", "p=none"),
    "number or string": (SHORT_OR_SMALL, "p=600", "p=60"),
    "items of several types": (
        {"type": "array", "items": {"anyOf": [{"type": "integer"}, NULL]}}, "p=1", "p=x"
    ),
    "enum of numbers": ({"enum": [1, 2]}, "p=1", "p=3"),
    "const": ({"allOf": [{"enum": [True]}]}, "p=true", "p=false"),
    "object or null": ({"anyOf": [POINT, NULL]}, "x=1&y=2", "x=b"),
    "object or null, deep": ({"anyOf": [POINT, NULL]}, "p[x]=1", "p[x]=b", DEEP),
    "deep, or a word": ({"anyOf": [POINT, {"enum": ["now"]}]}, "p=now", "p=then", DEEP),
    "open object": ({"type": "object", "additionalProperties": {"type": "integer"}},
                    "a=1", "a=x"),
    "type of another language": ({"type": "any", "enum": [7]}, "p=7", "p=8"),
    "a number at once": ({"type": "integer"}, "p=1", "p=x", PIPE),
}  # fmt: skip
JUDGED = {
    **{name: query(*row[:3], **(row[3] if len(row) > 3 else {})) for name, row in UNIONS.items()},
    "query form": query(NUMBERS, "p=1&p=2", "p=1&p=x"),
    "query form, plain": query(NUMBERS, "p=1,2", "p=1,x", explode=False),
    "query form, object": query(POINT, "x=1&y=2", "x=1&y=b"),
    "query space": query(NUMBERS, "p=1%202", "p=x", **SPACE),
    "query pipe": query(NUMBERS, "p=1%7C2", "p=1%7Cx", **PIPE),
    "query deep": query(POINT, "p[x]=1", "p[x]=b", **DEEP, explode=True),
    "query deep, unsaid": query(POINT, "p%5Bx%5D=1", "p%5Bx%5D=b", **DEEP),
    "query deep, array": query(ARRAYS, "p[a][]=1&p[a][]=2", "p[a][0]=x", **DEEP),
    "read-only path": (
        {"parameters": [parameter("id", "path", {"type": "integer", "readOnly": True})]},
        {"target": "1"},
        {"target": "x"},
    ),
    "query by media type": (
        {"parameters": [IN_JSON]}, {"target": "1?p=%5B1%5D"}, {"target": "1?p=%5B%22x%22%5D"}
    ),
    "path simple": path("simple", False, "1,2", "1,x"),
    "array or null, header": headed_as({"anyOf": [NUMBERS, NULL]}, {"p": "1,2"}, {"p": "1,x"}),
    "object in a cookie": (
        {"parameters": [parameter("p", "cookie", POINT)]},
        {"headers": {"cookie": "x=1&y=2"}}, {"headers": {"cookie": "x=1&y=b"}},
    ),
    "path label, printed": path("label", False, ".1.2", ".1.x"),
    "path label": path("label", False, ".1,2", ".1,x"),
    "path label, exploded": path("label", True, ".1.2", ".1.x"),
    "path matrix": path("matrix", False, ";id=1,2", ";id=1,x"),
    "path matrix, exploded": path("matrix", True, ";id=1;id=2", ";id=1;id=x"),
    "header": header_case("header", {"p": "7"}, {"p": "x"}),
    "no header": header_case("header", {"p": "7"}, {}),
    "cookie": header_case("cookie", {"cookie": "a=1; p=7"}, {"cookie": "p=x"}),
    "no cookie": header_case("cookie", {"cookie": "p=7"}, {}),
    "cookie in quotes": header_case("cookie", {"cookie": 'p="7"'}, {"cookie": 'p="x"'}),
    "cookie, broken": header_case("cookie", {"cookie": "p=%37; broken"}, {"cookie": 'p="7'}),
    "JSON": body(JSON, JSON, b'{"n": 1}', b'{"n": "x"}'),
    "+json": body("application/vnd.x+json", "application/vnd.x+json", b'{"n": 1}', b"{}"),
    "any type": body("*/*", JSON, b'{"n": 1}', b'{"n": "x"}'),
    "form": body(FORM, FORM, b"n=1", b"n=x"),
    "charset": body(JSON, "application/json; charset=utf-8", b'{"n": 1}', b"{"),
    "multipart": form({"schema": BODY}, {"n": b"1"}, {"n": b"x"}),
    "multipart, an array left out": form(
        {"schema": {**BODY, "properties": {**BODY["properties"], "l": {**NUMBERS, "minItems": 1}}}},
        {"n": b"1"}, {"n": b"x"},
    ),
    "multipart, required": form({"schema": BODY}, {"n": b"1"}, {"m": b"1"}),
    "multipart, encoded": form({"schema": {"type": "object", "properties": {"n": NUMBERS}},
                                "encoding": {"n": COMMAS}}, {"n": b"1,2"}, {"n": b"1,x"}),
}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("fields", "good", "bad"), JUDGED.values(), ids=JUDGED)
def test_a_request_is_judged_by_its_parameters_and_body(fields, good, bad, version):
    checker = ExchangeChecker(document(version, **fields))

    assert checker.request_errors(post(**good)) == []
    assert len(checker.request_errors(post(**bad))) == 1


@pytest.mark.parametrize(
    ("fields", "request_", "problem"),
    [
        (*JUDGED["multipart"][::2], "body: /n: 'x' is not of type 'integer'"),
        (*JUDGED["multipart, required"][::2], "body: 'n' is a required property"),
        (*JUDGED["no header"][::2], "p"),
        (taking({"schema": BODY}), typed_content("application/xml", b"<a/>"), "application/xml"),
        (taking({"schema": BODY}), {}, "Missing required request body"),
        (query(NUMBERS, "", "", style="pipeDelimited", explode=True)[0], {"target": "1?p=1&p=2"},
         "not judged: query parameter 'p': OpenAPI does not define style 'pipeDelimited' with"),
        (query(POINT, "", "", style="spaceDelimited", explode=True)[0],
         {"target": "1?x=1&y=2"},
         "not judged: query parameter 'p': OpenAPI does not define style 'spaceDelimited' with"),
        (COOKIES, {"headers": {"cookie": "p=1"}}, "cookie parameter 'p': [1] is too short"),
        (query(NESTED, "", "")[0], {"target": "1?at=%7B%7D"},
         "not judged: query parameter 'p': OpenAPI does not define how an array or object inside"),
        ({"parameters": [{"name": "all", "in": "querystring", "content": {JSON: {}}}]}, {},
         "not judged: querystring parameter 'all': 'in: querystring' is not read here"),
        ({"parameters": [parameter("a b", "header", {})]}, {},
         "not judged: header parameter 'a b': a header cannot have this name"),
        (query(POINT, "", "")[0], {"target": "1?x=1&x=2"},
         "not judged: query parameter 'p': a property of an exploded object occurs more than once"),
    ],
    ids=["text", "required", "header", "media type", "no body", "unread", "exploded", "cookies",
         "nested", "querystring",
         "odd name", "repeated"],
)  # fmt: skip
def test_a_problem_says_where_and_what(fields, request_, problem):
    (message,) = ExchangeChecker(document(**fields)).request_errors(post(**request_))

    assert problem in message


KIND = {"type": "string", "enum": ["a", "b"]}
BINARY = {"type": "string", "format": "binary"}
FILES, FILES_3_0 = (
    {"type": "object", "required": ["file"], "properties": {"file": file, "kind": KIND}}
    for file in ({}, BINARY)
)
SENT = {"files": {"file": ("x.png", b"\x89PNG\xff", "image/png"), "kind": (None, b"a")}}
BOMB = b"<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>"
FINE = {
    "XML": (
        "3.1.0",
        taking({"schema": BODY}, "application/xml"),
        typed_content("application/xml", BOMB),
    ),
    "no body": ("3.1.0", taking({"schema": BODY}, required=False), {}),
    "files, 3.0": ("3.0.3", taking({"schema": FILES_3_0}, MULTIPART), SENT),
    "files, 3.1": ("3.1.0", taking({"schema": FILES}, MULTIPART), SENT),
    "a cookie for each item": ("3.2.0", COOKIES, {"headers": {"cookie": "p=1; p=2"}}),
    "files, 3.2": ("3.2.0", taking({"schema": FILES}, MULTIPART), SENT),
}


@pytest.mark.parametrize(("version", "fields", "request_"), FINE.values(), ids=FINE)
def test_what_may_be_left_out_or_cannot_be_compared_is_no_problem(version, fields, request_):
    assert ExchangeChecker(document(version, **fields)).request_errors(post(**request_)) == []


@pytest.mark.parametrize("name", ["X-Key", "x-key"])
def test_a_missing_credential_is_no_problem_even_when_it_is_declared_as_a_parameter(name):
    source = document(parameters=[parameter(name, "header", {"type": "string"})])
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    source |= {"components": {"securitySchemes": {"key": scheme}}, "security": [{"key": []}]}

    assert ExchangeChecker(source).request_errors(post()) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_schema_that_refers_to_itself_is_read_to_an_end(keyword):
    again = {"$ref": "#/components/schemas/again"}
    source = document(parameters=[parameter("p", "query", {"anyOf": [{"enum": ["a"]}, again]})])
    source["components"] = {"schemas": {"again": {keyword: [again] * 5, "type": "integer"}}}

    problems = ExchangeChecker(source).request_errors(post("1?p=a"))

    assert all("maximum recursion depth" in problem for problem in problems)  # of jsonschema


@pytest.mark.parametrize("name", ["Accept", "content-type", "AUTHORIZATION"])
def test_header_parameters_that_the_standard_ignores_are_not_judged(name):
    checker = ExchangeChecker(document(parameters=[parameter(name, "header", {"enum": ["one"]})]))

    assert checker.request_errors(post()) == []
    assert checker.request_errors(post(headers={name: "two"})) == []


DAY = {"type": "string", "format": "date", "default": "today"}


@pytest.mark.parametrize("location", ["query", "header", "cookie"])
def test_a_wrong_default_that_is_not_sent_is_no_fault_of_a_request(location):
    checker = ExchangeChecker(document(parameters=[{"name": "p", "in": location, "schema": DAY}]))

    assert checker.request_errors(post()) == []


def test_a_wrong_default_of_a_header_that_is_not_sent_is_no_fault_of_a_response():
    responses = {"200": {"description": "ok", "headers": {"X-Day": {"schema": DAY}}}}

    assert (
        ExchangeChecker(document(responses=responses)).response_errors(
            post(), 200, httpx.Headers(), b""
        )
        == []
    )


def test_a_document_of_another_version_is_not_judged_and_says_so():
    (problem,) = ExchangeChecker({"swagger": "2.0", "paths": {"/a": {"get": {}}}}).request_errors(
        httpx.Request("GET", f"{BASE}/a")
    )

    assert problem.startswith(
        "not judged: openapi-core gave up (LookupError: it does not support version"
    )


def test_a_request_that_fits_no_operation_is_a_problem():
    problems = ExchangeChecker(document()).request_errors(httpx.Request("GET", f"{BASE}/nowhere"))

    assert problems == ["GET /nowhere: the document has no such operation"]


@pytest.mark.parametrize(
    "reference",
    ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.yaml", "//host/x", "ftp://h/x"],
)
def test_another_document_is_never_read(reference):
    with nothing_reached():
        (problem,) = with_body({"$ref": reference}).request_errors(post(json={}))

    assert problem.startswith("not judged: openapi-core gave up")


def test_a_long_problem_is_one_short_line():
    checker = with_body({"enum": ["a"]})

    (problem,) = checker.request_errors(post(**typed_content(JSON, json.dumps("line\n" * 10_000))))

    assert len(problem) < 300
    assert "\n" not in problem


KEYS = ["parameters", "requestBody", "responses", "content", "application/json", "schema", "$ref"]
BROKEN = nodes([*KEYS, "a", "~"])


@pytest.mark.long
@given(operation=BROKEN, version=st.sampled_from(["3.0.0", "3.1.0", "3.2.0", "4.0", "", None]))
def test_nothing_raises_whatever_the_document_says(operation, version):
    checker = ExchangeChecker({"openapi": version, "paths": {"/things/{id}": {"post": operation}}})
    request, headers = post(json={"a": 1}), httpx.Headers({"content-type": JSON})

    messages = [
        *checker.request_errors(request),
        *checker.response_errors(request, 200, headers, b"[]"),
    ]

    assert all(isinstance(line, str) for line in messages)
