"""Redirects that are the result of a call, that are followed, and that are refused."""

import json

import pytest
from documents import document, operation
from one_call import KEY, call_once
from servers.faults import Faults, make_response
from servers.recorder import CannedResponse, Recorder

from openapi_tools import Settings, load_tools

SIGNED = "https://cdn.example/f%7E1.zip?X-Sig=" + "a%2Bb/" * 400 + "&exp=99#part"
PRIVATE = "http://169.254.169.254/latest"
PAGE = b"<html><a href='/jobs/7'>See other</a></html>"
BODY = {"type": "object", "properties": {"a": {"type": "string"}}}
DONE = CannedResponse(body=b'{"done":true}')


def redirect_response(status, location, body=b"", kind="text/html"):
    places = [location] if isinstance(location, str) else location
    return CannedResponse(
        status, [("Content-Type", kind), *(("Location", each) for each in places)], body
    )


def document_statuses(*statuses):
    return {status: {"description": "See there."} for status in statuses}


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/jobs/7", "{url}/jobs/7"),
        ("jobs/7?a=b%20c", "{url}/jobs/7?a=b%20c"),
        ("{url}/jobs/7", "{url}/jobs/7"),
        (SIGNED, SIGNED),
        (PRIVATE, PRIVATE),
        ("http://[::bad/", "http://[::bad/"),
    ],
)
async def test_a_303_after_a_write_is_a_success_that_gives_the_address_whole(
    method, location, expected
):
    async with Recorder() as server:
        server.response = redirect_response(303, location.format(url=server.url), PAGE)
        paths = {"/x": {method: operation(operationId="do")}}
        async with load_tools(document(paths), base_url=server.url) as toolset:
            result = await toolset.call("do", {})

    assert result.success
    assert result.output == {"location": expected.format(url=server.url)}
    assert result.metadata["location"] == location.format(url=server.url)
    assert result.metadata["status"] == 303
    assert "not followed" in result.metadata["notes"][0]
    assert [request.method for request in server.requests] == [method.upper()]


@pytest.mark.parametrize("method", ["get", "head", "post"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("code", ["{}", "3XX"])
async def test_a_redirect_that_is_the_only_documented_success_is_the_result(method, status, code):
    described = document_statuses(code.format(status), "404")

    for location in (SIGNED, "/files/7", PRIVATE):
        response = redirect_response(status, location, b"" if method == "head" else PAGE)
        result, requests = await call_once(response, method=method, responses=described)

        assert result.success
        assert result.output["location"].endswith(location)
        assert len(requests) == 1


@pytest.mark.parametrize(
    ("body", "output"),
    [
        (b'{"url":"/f","expires":9}', {"url": "/f", "expires": 9}),
        (b'["/a","/b"]', ["/a", "/b"]),
        (b"{}", {"location": SIGNED}),
        (b"Found", {"location": SIGNED}),
    ],
)
async def test_json_beside_the_address_stays_the_output(body, output):
    response = redirect_response(302, SIGNED, body, "application/json")

    result, _ = await call_once(response, responses=document_statuses("302"))

    assert result.output == output
    assert SIGNED in str(result)


async def test_documented_choices_without_an_address_are_the_output():
    response = CannedResponse(300, [("Content-Type", "application/json")], b'["/a","/b"]')

    result, _ = await call_once(response, responses=document_statuses("300"))

    assert (result.success, result.output) == (True, ["/a", "/b"])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_beside_a_documented_2xx_a_read_is_followed_inside_and_given_outside(status):
    described = document_statuses("200", str(status))

    inside, requests = await call_once(redirect_response(status, "/y"), DONE, responses=described)
    outside, sent = await call_once(redirect_response(status, SIGNED), responses=described)

    assert (inside.output, len(requests)) == ({"done": True}, 2)
    assert (outside.output, len(sent)) == ({"location": SIGNED}, 1)


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "get"])
@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["/x/", "x/", "{url}/x/", "/x/?trace=1"])
async def test_307_and_308_inside_the_origin_are_followed_with_method_and_body(
    method, status, location
):
    async with Recorder(DONE) as server:
        server.responses.append(redirect_response(status, location.format(url=server.url)))
        content = {"requestBody": {"content": {"application/json": {"schema": BODY}}}}
        paths = {"/x": {method: operation(operationId="do", security=[{"k": []}], **content)}}
        root = document(paths, components={"securitySchemes": KEY})
        async with load_tools(
            root, base_url=server.url, credentials={"k": "s3cr3t-value"}
        ) as toolset:
            result = await toolset.call("do", {"a": "1"})

    first, second = server.requests
    assert (result.success, result.output) == (True, {"done": True})
    assert second.target == ("/x/?trace=1" if "?" in location else "/x/")
    assert (second.method, second.body) == (method.upper(), b'{"a":"1"}')
    assert second.header("Host") == first.header("Host")
    assert second.header("X-Key") == "s3cr3t-value"
    assert second.header("Content-Type") == "application/json"
    assert result.metadata["redirects"] == 1


async def test_a_write_is_followed_once():
    again = redirect_response(307, "/x//")

    result, requests = await call_once(
        redirect_response(307, "/x/"), again, DONE, method="post", body=BODY
    )

    assert result.error["type"] == "redirect"
    assert "is redirected once" in result.error["message"]
    assert len(requests) == 2


async def test_the_303_after_a_redirected_write_is_its_result():
    see_other = redirect_response(303, "/jobs/7")

    result, requests = await call_once(
        redirect_response(308, "/x/"), see_other, method="post", body=BODY
    )

    assert result.success
    assert result.output["location"].endswith("/jobs/7")
    assert len(requests) == 2


async def test_a_file_is_read_again_for_a_redirect(tmp_path):
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(256)) * 4000)
    schema = {"type": "string", "format": "binary"}
    body = {"content": {"application/octet-stream": {"schema": schema}}}
    paths = {"/x": {"put": operation(operationId="do", requestBody=body)}}
    async with Recorder(DONE) as server:
        server.responses.append(redirect_response(307, "/x/"))
        settings = Settings(base_url=server.url, file_roots=(tmp_path,))
        async with load_tools(document(paths, openapi="3.0.3"), settings=settings) as toolset:
            result = await toolset.call("do", {"body": {"path": "a.bin"}})

    assert result.output == {"done": True}
    assert [request.body for request in server.requests] == [file.read_bytes()] * 2


@pytest.mark.parametrize(
    ("method", "status", "location", "words"),
    [
        ("get", 302, "https://cdn.example/f?sig=hunter2", "another origin"),
        ("get", 302, PRIVATE, "another origin"),
        ("get", 307, "//evil.example/x", "another origin"),
        ("get", 303, "https://cdn.example/f", "another origin"),
        ("post", 307, "https://evil.example/x", "another origin"),
        ("put", 308, PRIVATE, "another origin"),
        ("post", 302, "/login", "it may have run"),
        ("delete", 301, "/y", "it may have run"),
        ("post", 307, "/x/../../y", "leads out of /api"),
        ("post", 308, "/other", "leads out of /api"),
        ("post", 307, ["/api/y", "/api/z"], "several locations"),
        ("post", 307, "http://[::bad/", "not a URL"),
    ],
)
async def test_other_redirects_stay_failures(method, status, location, words):
    async with Recorder(DONE) as server:
        server.responses.append(redirect_response(status, location))
        paths = {"/x": {method: operation(operationId="do")}}
        async with load_tools(document(paths), base_url=f"{server.url}/api") as toolset:
            result = await toolset.call("do", {})

    assert result.error["type"] == "redirect"
    assert result.error["status"] == status
    assert words in result.error["message"]
    assert "hunter2" not in json.dumps(result.model_dump())
    assert len(server.requests) == 1


async def test_a_known_secret_in_an_address_is_masked():
    response = redirect_response(303, "/jobs/7?key=s3cr3t-value-7")

    result, _ = await call_once(response, method="post", key="s3cr3t-value-7")

    assert result.output["location"].endswith("/jobs/7?key=***")
    assert "s3cr3t" not in json.dumps(result.metadata)


async def drop_second_request(peer):
    """Redirect `/x`; drop a connection at its second request, as one that was closing."""
    request = await peer.request()
    moved = make_response(b"", "Location: /y", status="307 Moved")
    await peer.write(moved if b" /x " in request else make_response(b"{}"))
    await peer.request()


@pytest.mark.parametrize(
    ("method", "expected"),
    [("get", ["GET /x", "GET /y", "GET /y"]), ("post", ["POST /x", "POST /y"])],
)
async def test_a_read_is_sent_again_if_the_connection_of_its_redirect_was_closing(method, expected):
    paths = {"/x": {method: operation(operationId="do")}}
    async with Faults(drop_second_request) as server:
        toolset = load_tools(document(paths), base_url=server.url)
        result = await toolset.call("do", {})
        await toolset.aclose()

    requests = [request.partition(b" HTTP/")[0].decode() for request in server.requests]
    assert requests == expected
    assert result.success is (method == "get")
