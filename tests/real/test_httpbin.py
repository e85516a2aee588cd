"""PyPI's httpbin under a real WSGI server, described by the Swagger 2.0 of its docstrings."""

import base64
from pathlib import Path
from typing import Any, NamedTuple

import httpbin
import pytest

from openapi_tools import aload_tools, load_tools

TEMPLATES = Path(httpbin.__file__).parent / "templates"
VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH", "TRACE")


class Call(NamedTuple):
    """One call: what its output holds, or properties of its error."""

    operation: str
    arguments: dict[str, Any]
    holds: Any = None
    error: dict[str, Any] | None = None


def image(name, media_type):
    content = (TEMPLATES / "images" / name).read_bytes()
    coded = base64.b64encode(content).decode()
    return {"base64": coded, "media_type": media_type, "bytes": len(content)}


def failure(kind, status):
    return {"type": kind, "status": status}


ECHO = {"args": {}, "form": {}, "data": "", "files": {}}
NOTHING_SET = {"cookies": {}}
DIGEST = {"qop": "auth", "user": "ann", "passwd": "pw"}
WEBP = image("wolf_1.webp", "image/webp")
ALPHABET = "abcdefghijklmnopqrstuvwxyzabcd"
FORM = {"url": "/get", "status_code": 307}


def redirect_result(address):
    """What an operation gives that documents nothing but a redirect."""
    return {"location": address}


NO_URL = redirect_result(
    "{base}/None"
)  # httpbin looks for the URL in the query, and redirects to none

CALLS = [
    *[Call(f"{verb} /anything", {}, {"method": verb, "json": None} | ECHO) for verb in VERBS],
    *[Call(f"{verb} /anything/{{anything}}", {"anything": "a b/ü?x=1#y"},
           {"method": verb, "url": "{base}/anything/a%20b/ü%3Fx=1%23y"} | ECHO) for verb in VERBS],
    *[Call(f"{verb} /delay/{{delay}}", {"delay": 0}, {"url": "{base}/delay/0"} | ECHO)
      for verb in VERBS],
    Call("GET /get", {}, {"args": {}, "url": "{base}/get"}),
    *[Call(f"{verb} /{verb.lower()}", {}, {"url": f"{{base}}/{verb.lower()}", "json": None} | ECHO)
      for verb in VERBS[1:5]],
    Call("GET /ip", {}, {"origin": "127.0.0.1"}),
    Call("GET /uuid", {}, ["uuid"]),
    Call("GET /headers", {}, ["headers"]),
    Call("GET /user-agent", {}, ["openapi-tools/"]),
    Call("GET /json", {}, ["Sample Slide Show"]),
    Call("GET /xml", {}, ["<slideshow", "Wake up to WonderWidgets!"]),
    Call("GET /html", {}, ["Herman Melville - Moby-Dick"]),
    Call("GET /robots.txt", {}, "User-agent: *\nDisallow: /deny\n"),
    Call("GET /deny", {}, ["YOU SHOULDN'T BE HERE"]),
    Call("GET /encoding/utf8", {}, ["∮ E⋅da = Q", "⡌⠁⠧⠑ ⠼⠁⠒"]),
    Call("GET /gzip", {}, {"gzipped": True, "method": "GET"}),
    Call("GET /deflate", {}, {"deflated": True, "method": "GET"}),
    Call("GET /brotli", {}, None, {"type": "decode"}),
    Call("GET /base64/{value}", {"value": "w7xiZXI_Pz8_"}, ["über????"]),
    Call("GET /bytes/{n}", {"n": 0}, None),
    Call("GET /bytes/{n}", {"n": 64}, {"bytes": 64, "media_type": "application/octet-stream"}),
    Call("GET /stream-bytes/{n}", {"n": 30_000}, {"bytes": 30_000}),
    Call("GET /range/{numbytes}", {"numbytes": 30}, ALPHABET),
    Call("GET /range/{numbytes}", {"numbytes": 0}, ["number of bytes"], failure("http", 404)),
    Call("GET /drip", {"duration": 0.05, "numbytes": 5, "code": 200, "delay": 0}, "*****"),
    Call("GET /drip", {"duration": 0.01, "numbytes": 2, "code": 503, "delay": 0}, None,
         failure("http", 503)),
    Call("GET /stream/{n}", {"n": 1}, {"url": "{base}/stream/1", "id": 0}),
    Call("GET /links/{n}/{offset}", {"n": 3, "offset": 1}, ["0", "1", "2"]),
    Call("GET /image/png", {}, image("pig_icon.png", "image/png")),
    Call("GET /image/jpeg", {}, image("jackal.jpg", "image/jpeg")),
    Call("GET /image/webp", {}, WEBP),
    Call("GET /image/svg", {}, ["<svg"]),
    Call("GET /image", {}, WEBP),
    Call("GET /cache", {}, {"url": "{base}/cache"}),
    Call("GET /cache/{value}", {"value": 60}, {"url": "{base}/cache/60"}),
    Call("GET /etag/{etag}", {"etag": "a", "If_None_Match": '"b"'}, ['"If-None-Match":"\\"b\\""']),
    Call("GET /etag/{etag}", {"etag": "a", "If_Match": '"a"'}, {"url": "{base}/etag/a"}),
    Call("GET /etag/{etag}", {"etag": "a", "If_Match": '"b"'}, None, failure("http", 412)),
    Call("GET /response-headers", {"freeform": {"x-a": "a b"}}, {"x-a": "a b"}),
    Call("POST /response-headers", {"freeform": {"x-a": "c&d"}}, {"x-a": "c&d"}),
    Call("GET /cookies", {}, NOTHING_SET),
    Call("GET /cookies/set", {"freeform": {"x-a": "x"}}, NOTHING_SET),
    Call("GET /cookies/set/{name}/{value}", {"name": "a", "value": "b"}, NOTHING_SET),
    Call("GET /cookies/delete", {"freeform": {"x-a": ""}}, NOTHING_SET),
    Call("GET /status/{codes}", {"codes": "201"}, None),
    Call("GET /status/{codes}", {"codes": "302"}, {"url": "{base}/get"}),
    Call("GET /status/{codes}", {"codes": "418"}, ["teapot"], failure("http", 418)),
    Call("POST /status/{codes}", {"codes": "400"}, None, failure("http", 400)),
    Call("PUT /status/{codes}", {"codes": "503"}, None, failure("http", 503)),
    Call("DELETE /status/{codes}", {"codes": "204"}, None),
    Call("PATCH /status/{codes}", {"codes": "429"}, None, failure("rate_limited", 429)),
    Call("TRACE /status/{codes}", {"codes": "401"}, None, failure("auth", 401)),
    Call("GET /redirect/{n}", {"n": 1}, redirect_result("{base}/get")),
    Call("GET /redirect/{n}", {"n": 3}, redirect_result("{base}/relative-redirect/2")),
    Call("GET /relative-redirect/{n}", {"n": 2}, redirect_result("{base}/relative-redirect/1")),
    Call("GET /absolute-redirect/{n}", {"n": 2}, redirect_result("{base}/absolute-redirect/1")),
    Call("GET /redirect-to", {"url": "/get?a=b%20c"}, redirect_result("{base}/get?a=b%20c")),
    Call("GET /redirect-to", {"url": "{base}/get", "status_code": 308},
         {"url": "{base}/get"}),  # is not documented
    Call("GET /redirect-to", {"url": "http://127.0.0.1:9/"}, redirect_result("http://127.0.0.1:9/")),
    Call("GET /redirect-to", {"url": "file:///etc/passwd"}, redirect_result("file:///etc/passwd")),
    Call("POST /redirect-to", FORM, NO_URL),
    Call("PUT /redirect-to", FORM, NO_URL),
    Call("PATCH /redirect-to", FORM, NO_URL),
    Call("DELETE /redirect-to", {}, NO_URL),
    Call("TRACE /redirect-to", {}, NO_URL),
    Call("GET /bearer", {}, None, failure("auth", 401)),
    Call(
        "GET /basic-auth/{user}/{passwd}", {"user": "a", "passwd": "b"}, None, failure("auth", 401)
    ),
    Call("GET /hidden-basic-auth/{user}/{passwd}", {"user": "a", "passwd": "b"}, None,
         failure("http", 404)),
    Call("GET /digest-auth/{qop}/{user}/{passwd}", DIGEST, None, failure("auth", 401)),
    Call("GET /digest-auth/{qop}/{user}/{passwd}/{algorithm}", DIGEST | {"algorithm": "SHA-256"},
         None, failure("auth", 401)),
    Call("GET /digest-auth/{qop}/{user}/{passwd}/{algorithm}/{stale_after}",
         DIGEST | {"algorithm": "MD5", "stale_after": "never"}, None, failure("auth", 401)),
]  # fmt: skip


def tool_of(toolset, operation):
    (tool,) = [tool for tool in toolset if f"{tool.method} {tool.path}" == operation]
    return tool


@pytest.fixture(scope="module")
def toolset(httpbin_url):
    return load_tools(f"{httpbin_url}/spec.json")


def with_base(value, base):
    """Put the server's address where a row has `{base}`."""
    if isinstance(value, dict):
        return {key: with_base(item, base) for key, item in value.items()}
    return value.replace("{base}", base) if isinstance(value, str) else value


def test_every_operation_of_the_document_is_called_by_some_row(toolset):
    called = {row.operation for row in CALLS}

    assert {f"{tool.method} {tool.path}" for tool in toolset} == called
    assert toolset.counts["operations"] == len(called) == 78
    assert toolset.skipped == ()


@pytest.mark.parametrize("call", CALLS, ids=[call.operation for call in CALLS])
async def test_the_result_is_what_httpbin_says_it_received(toolset, httpbin_url, call):
    tool = tool_of(toolset, call.operation)

    result = await tool.execute(with_base(call.arguments, httpbin_url))

    actual = result.error and {key: result.error.get(key) for key in call.error or result.error}
    assert actual == call.error
    if isinstance(call.holds, list):
        assert [text for text in call.holds if text not in str(result)] == []
    elif call.error is None:
        expected, output = with_base(call.holds, httpbin_url), result.output
        is_part = isinstance(expected, dict) and isinstance(output, dict)
        assert ({key: output.get(key) for key in expected} if is_part else output) == expected


BASIC, DIGEST_AUTH = "GET /basic-auth/{user}/{passwd}", "GET /digest-auth/{qop}/{user}/{passwd}"


@pytest.mark.parametrize(("operation", "auth"), [(BASIC, "BasicAuth"), (DIGEST_AUTH, "DigestAuth")])
async def test_the_authentication_of_a_client_of_ones_own_is_used(
    httpbin_url, operation, auth, library
):
    arguments = {"user": "ann", "passwd": "pw"} | ({"qop": "auth"} if "qop" in operation else {})
    async with library.AsyncClient(auth=getattr(library, auth)("ann", "pw")) as client:
        toolset = await aload_tools(f"{httpbin_url}/spec.json", client=client)
        result = await tool_of(toolset, operation).execute(arguments)

    assert result.output == {"authenticated": True, "user": "ann"}
