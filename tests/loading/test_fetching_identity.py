"""Documents behind a login: which credentials fetch them, where these go, and what is kept."""

from __future__ import annotations

import asyncio
import json
import re

import httpx
import pytest
from cached import is_from_cache
from documents import document, operation
from servers.recorder import CannedResponse, Recorder
from servers.site import Site, SiteRequest, SiteResponse

from openapi_tools import (
    CredentialsError,
    OAuth2,
    OpenAPIToolsError,
    Settings,
    SourceError,
    aload_tools,
    generate_package,
    load_tools,
)
from openapi_tools.testing import mock_client

pytestmark = pytest.mark.usefixtures("folder")

TOKEN = "t0ken-of-ann"
BEARER = {"scheme": "bearer", "value": TOKEN}
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "query", "name": "key"},
}
WITH_SCHEMES = {"components": {"securitySchemes": SCHEMES}}


def api(*names, server="/v1", **fields):
    paths = {f"/{name}": {"get": operation(operationId=name)} for name in names}
    return document(paths, servers=[{"url": server}], **fields)


def load(site, path="openapi.json", **options):
    return load_tools(f"{site.url}/{path}", **options)


def names(toolset):
    return [tool.name for tool in toolset]


def token_of(request):
    return request.headers.get("Authorization", "")


def log_in(_):
    return SiteResponse("log in", 401)


def to_login(_):
    return SiteResponse(b"", 302, (("Location", "http://login.example.com/?next=x"),))


def login_page(_):
    return SiteResponse(b"<!DOCTYPE html><html><title>Log in</title></html>")


def serve_behind(wall):
    """Give the document to whoever brings a token, in whatever place."""

    def respond(request: SiteRequest) -> SiteResponse:
        is_allowed = "Basic" in token_of(request) or TOKEN in f"{request.headers} {request.query}"
        return SiteResponse(api("one")) if is_allowed else wall(request)

    return respond


def by_identity(request):
    """Show more operations to whoever brings a token."""
    is_allowed = bool(token_of(request) or request.query.get("key"))
    return SiteResponse(api("one", *(["two", "three"] if is_allowed else []), **WITH_SCHEMES))


@pytest.mark.parametrize(
    ("credential", "wall"),
    [
        (BEARER, log_in),
        (BEARER, to_login),
        (BEARER, login_page),
        ({"scheme": "basic", "value": ("ann", TOKEN)}, log_in),
        ({"in": "header", "name": "X-Key", "value": TOKEN}, log_in),
        ({"in": "query", "name": "key", "value": TOKEN}, log_in),
        ({"in": "cookie", "name": "sid", "value": TOKEN}, log_in),
        ({"in": "header", "name": "X-Key", "value": lambda: TOKEN}, log_in),
        ({"scheme": "bearer", "value": httpx.BasicAuth("ann", TOKEN)}, log_in),
    ],
    ids=[
        *("bearer", "redirect", "page", "basic", "header", "query", "cookie", "function"),
        "httpx.Auth",
    ],
)
def test_a_credential_with_its_own_scheme_fetches_a_document_behind_a_login(credential, wall):
    with Site(serve_behind(wall)) as site:
        toolset = load(site, "openapi.json?v=1", credentials={"me": credential})

    assert names(toolset) == ["one"]
    assert toolset["one"].operation.servers[0].url == f"{site.url}/v1"
    first, second = site.requests
    assert (token_of(first), first.headers.get("X-Key"), first.query) == ("", None, {"v": "1"})
    assert second.query["v"] == "1"


@pytest.mark.parametrize(
    "credentials",
    [{"token": TOKEN}, {"key": TOKEN}, {"token": OAuth2(access_token=TOKEN)}],
    ids=["bearer", "query", "OAuth 2"],
)
def test_a_credential_of_the_documents_own_scheme_gets_what_its_user_may_see(credentials):
    with Site(by_identity) as site:
        anonymous = load(site)
        toolset = load(site, credentials=credentials)

    assert names(anonymous) == ["one"]
    assert names(toolset) == ["one", "two", "three"]
    assert toolset.warnings == ()
    assert TOKEN in f"{token_of(site.requests[-1])} {site.requests[-1].query}"
    assert TOKEN not in repr([toolset.document, toolset["one"].operation])


def test_both_of_two_schemes_that_are_required_together_fetch_the_document():
    both = {**SCHEMES, "app": {"type": "apiKey", "in": "header", "name": "X-App"}}

    def respond(request: SiteRequest) -> SiteResponse:
        is_allowed = request.headers.get("X-App") and request.query.get("key")
        fields = {"components": {"securitySchemes": both}, "security": [{"key": [], "app": []}]}
        return SiteResponse(api("one", *(["two"] if is_allowed else []), **fields))

    with Site(respond) as site:
        toolset = load(site, credentials={"app": "my-app", "key": TOKEN})

    assert names(toolset) == ["one", "two"]


@pytest.mark.parametrize(
    "brings",
    [{"auth": httpx.BasicAuth("ann", TOKEN)}, {"headers": {"Authorization": f"Bearer {TOKEN}"}}],
    ids=["auth", "headers"],
)
async def test_a_client_fetches_the_document_with_what_it_brings(brings):
    with Site(serve_behind(log_in)) as site:
        async with httpx.AsyncClient(**brings) as client:
            toolset = await aload_tools(f"{site.url}/openapi.json", client=client)

    assert names(toolset) == ["one"]
    assert token_of(site.requests[0]) == ""


def test_the_transport_of_a_client_fetches_the_document():
    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=api("one", server=f"http://{request.url.host}/v1"))

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))

    toolset = load_tools("http://api.test/openapi.json", client=client)

    assert names(toolset) == ["one"]


async def test_a_mock_client_leaves_the_document_to_the_network():
    with Site(lambda _: SiteResponse(api("one"))) as site:
        async with mock_client(lambda: toolset.document) as client:
            toolset = await aload_tools(f"{site.url}/openapi.json", client=client)
            result = await toolset["one"].execute({})

    assert result.success
    assert [request.path for request in site.requests] == ["/openapi.json"]


async def test_a_client_with_an_open_connection_fetches_the_document_in_its_event_loop():
    async with (
        Recorder(CannedResponse(body=json.dumps(api("one")).encode())) as server,
        httpx.AsyncClient(headers={"X-Key": TOKEN}) as client,
    ):
        await client.get(server.url)
        loading = aload_tools(f"{server.url}/openapi.json", client=client)
        toolset = await asyncio.wait_for(loading, 10)
        result = await toolset["one"].execute({})

    assert result.success
    assert server.last.header("X-Key") == TOKEN


def test_a_named_origin_gets_the_credential_at_once():
    with Site(serve_behind(log_in)) as site:
        for named in ({"credential_origins": site.url}, {"base_url": f"{site.url}/other"}):
            toolset = load(site, credentials={"me": BEARER}, settings=Settings(**named))
            assert names(toolset) == ["one"]

    assert [token_of(request) for request in site.requests] == [f"Bearer {TOKEN}"] * 2


@pytest.mark.parametrize(
    "credentials", [{"me": BEARER}, {"token": TOKEN}], ids=["its own", "document's"]
)
def test_a_place_for_documents_of_apis_elsewhere_gets_no_credential(credentials):
    elsewhere = api("one", server="https://api.example.com", **WITH_SCHEMES)
    with Site(lambda _: SiteResponse(elsewhere)) as site:
        toolset = load(site, credentials=credentials)

    assert [token_of(request) for request in site.requests] == [""]
    assert len(toolset.warnings) == 1


def test_credentials_for_another_origin_do_not_fetch_the_document_and_the_error_names_both():
    settings = Settings(credential_origins="https://api.example.com")
    with Site(serve_behind(log_in)) as site, pytest.raises(SourceError) as caught:
        load(site, credentials={"me": BEARER}, settings=settings)

    assert [token_of(request) for request in site.requests] == [""]
    assert "status 401" in str(caught.value)
    both = tuple(sorted(("https://api.example.com", site.url)))
    assert f"Settings(credential_origins={both})" in str(caught.value)
    assert TOKEN not in str(caught.value)


HOW = ("credentials={'login': {'scheme': 'bearer', 'value': …}}", "a client")


@pytest.mark.parametrize(
    ("respond", "credentials", "messages"),
    [
        (log_in, {"token": TOKEN}, ("status 401", *HOW)),
        (lambda _: SiteResponse("no", 403), {"token": TOKEN}, ("status 403", *HOW)),
        (to_login, {"token": TOKEN}, ("redirected to http://login.example.com/", *HOW)),
        (login_page, {}, ("looks like an HTML page", "credentials")),
        (log_in, {"me": BEARER}, ("status 401", "credentials of this load were sent")),
    ],
    ids=["401", "403", "redirect", "page", "refused"],
)
def test_a_document_behind_a_login_says_how_credentials_are_given(respond, credentials, messages):
    with Site(respond) as site, pytest.raises(OpenAPIToolsError) as caught:
        load(site, credentials=credentials)

    assert all(words in str(caught.value) for words in messages)
    assert TOKEN not in str(caught.value)


def fail():
    raise RuntimeError(f"the vault said {TOKEN}")


@pytest.mark.parametrize(
    ("token", "refusal", "message"),
    [
        (TOKEN, SiteResponse("no", 401), "status 401"),
        (TOKEN, SiteResponse({"errors": []}), "neither 'openapi' nor 'swagger'"),
        (fail, None, "failed (RuntimeError)"),
    ],
    ids=["refused", "another answer", "no credential"],
)
def test_a_document_for_everybody_is_used_where_credentials_get_none(token, refusal, message):
    def respond(request: SiteRequest) -> SiteResponse:
        return refusal if token_of(request) else by_identity(request)

    with Site(respond) as site:
        toolset = load(site, credentials={"token": token})

    assert names(toolset) == ["one"]
    (warning,) = toolset.warnings
    assert "read without credentials" in warning
    assert message in warning
    assert TOKEN not in warning


def test_a_wrong_value_is_refused_before_anything_is_fetched():
    wrong = {"me": {"in": "header", "name": "X-Key", "value": 7}}
    with Site(by_identity) as site, pytest.raises(CredentialsError, match="must be a string"):
        load(site, credentials=wrong)

    assert site.requests == []


@pytest.mark.parametrize("etag", [(), (("ETag", '"one"'),)], ids=["no etag", "etag"])
def test_no_document_of_one_identity_is_given_to_another(folder, etag):
    def respond(request: SiteRequest) -> SiteResponse:
        if etag and request.headers.get("If-None-Match"):
            return SiteResponse(b"", 304, etag)  # whoever asks: as servers do that name a build
        response = by_identity(request)
        if "bob" in token_of(request):
            response.body["paths"].pop("/three")
        return SiteResponse(response.body, 200, etag)

    with Site(respond) as site:
        credentials = {"ann": {"me": BEARER}, "bob": {"token": "t0ken-of-bob"}, "": {}}
        order = ["ann", "", "bob", "", "ann", "bob"]
        seen = [names(load(site, credentials=credentials[who])) for who in order]

    most = {"ann": 3, "bob": 2, "": 1}
    assert [len(tool_names) for tool_names in seen] == [most[who] for who in order]
    kept = b"".join(path.read_bytes() for path in folder.glob("*") if path.is_file())
    assert not re.search(rb"t0ken|/two", kept)


def test_a_document_that_is_the_same_for_all_is_read_from_the_cache():
    with Site(lambda _: SiteResponse(api("one", **WITH_SCHEMES))) as site:
        load(site)
        toolset = load(site, credentials={"token": TOKEN})

    assert is_from_cache(toolset)


def test_a_stale_copy_is_used_as_it_is():
    with Site(by_identity) as site:
        load(site)
        site.respond = lambda _: SiteResponse("busy", 503)
        toolset = load(site, credentials={"token": TOKEN}, settings=Settings(stale=True))

    assert names(toolset) == ["one"]
    assert len(site.requests) == 2
    assert "copy is from less than a minute ago" in toolset.warnings[0]


def test_what_a_document_refers_to_is_fetched_with_credentials_at_its_own_origin_only():
    parameter = {"name": "q", "in": "query", "schema": {"type": "string"}}
    with Site(lambda _: SiteResponse({"Q": parameter})) as other:

        def respond(request: SiteRequest) -> SiteResponse:
            if not token_of(request):
                return SiteResponse("no", 401)
            if request.path == "/parts.json":
                return SiteResponse(
                    {"P": {"name": "p", "in": "query", "schema": {"type": "string"}}}
                )
            root = api("one")
            root["paths"]["/one"]["get"]["parameters"] = [
                {"$ref": "parts.json#/P"},
                {"$ref": f"{other.url}/parts.json#/Q"},
            ]
            return SiteResponse(root)

        with Site(respond) as site:
            refs = Settings(ref_urls=(other.url,))
            toolset = load(site, credentials={"me": BEARER}, settings=refs)
            properties = toolset["one"].input_schema["properties"]

    assert sorted(properties) == ["p", "q"]
    assert [token_of(request) for request in other.requests] == [""]


def test_a_key_in_the_query_stands_in_no_address_of_the_toolset():
    def respond(request: SiteRequest) -> SiteResponse:
        if request.path == "/old.json":
            return SiteResponse(
                b"", 302, (("Location", f"/new.json?key={request.query.get('key')}"),)
            )
        return by_identity(request)

    with Site(respond) as site:
        credentials, settings = {"key": TOKEN}, Settings(credential_origins=site.url)
        for path in ("openapi.json", "old.json"):
            toolset = load(site, path, credentials=credentials, settings=settings)
            visible = [toolset["two"].operation, toolset.session.provenance, toolset.warnings]
            assert TOKEN not in repr(visible)

    assert [request.query.get("key") for request in site.requests].count(TOKEN) == 3


def test_strict_loading_and_generating_use_credentials_too(tmp_path):
    with Site(by_identity) as site:
        strict = load(site, credentials={"token": TOKEN}, strict=True)
        url = f"{site.url}/openapi.json"
        report = generate_package(url, tmp_path / "out", credentials={"token": TOKEN})

    assert names(strict) == list(report.tools) == ["one", "two", "three"]
    written = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert TOKEN not in "".join(written)
