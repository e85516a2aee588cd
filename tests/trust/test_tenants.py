"""Credentials of many callers beside one another, and what hostile peers do with them."""

import asyncio
import base64
import gzip
import json
import logging
import resource
import socket
import threading

import pytest
from documents import document, operation
from servers.faults import Faults, make_response
from servers.recorder import CannedResponse
from trust.promises import load_quietly, secured_document, with_token_at

from openapi_tools import Context, OAuth2, Settings, load_tools

SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "digest": {"type": "http", "scheme": "digest"},
    "oauth": with_token_at("/t"),
}


def api(url, **options):
    """The tools of an API with an operation for each scheme, named like it."""
    paths = {
        f"/{name}": {"get": operation(operationId=name, security=[{name: []}])} for name in SCHEMES
    }
    paths["/open"] = {"get": operation(operationId="open")}
    root = document(paths, servers=[{"url": url}], components={"securitySchemes": SCHEMES})
    return load_tools(root, **{"settings": Settings(timeout=10), **options})


async def call(toolset, name, **credentials):
    """Call an operation with credentials of the caller's own."""
    return await toolset[name].execute({}, context=Context(credentials=credentials))


async def reflect(peer):
    """Respond with the request; at `/t` with a token for the client that asks."""
    while True:
        request = (await peer.request()).decode("latin-1")
        data = {"said": request}
        if request.startswith("POST /t"):
            basic = request.partition("Basic ")[2].partition("\r\n")[0]
            client = base64.b64decode(basic).decode().partition(":")[0]
            data = {"access_token": f"token-of-{client}", "token_type": "bearer"}
        await peer.write(make_response(json.dumps(data).encode(), "Content-Type: application/json"))


@pytest.fixture
async def home():
    async with Faults(reflect) as server:
        yield server


@pytest.fixture
async def toolset(home):
    async with api(home.url) as loaded:
        yield loaded


def sent_headers(server, name):
    """What calls sent in a header, in order."""
    lines = [line for r in server.requests for line in r.decode("latin-1").split("\r\n")]
    return [line.partition(": ")[2] for line in lines if line.lower().startswith(f"{name}:")]


async def test_equal_mappings_share_a_token_and_one_that_changes_hands_is_another_callers(
    home, toolset
):
    mapping = {"client_id": "first-tenant", "client_secret": "first-secret"}
    for _ in range(2):
        await call(toolset, "oauth", oauth=dict(mapping))
    await call(toolset, "oauth", oauth=mapping)
    mapping.update(client_id="other-tenant", client_secret="other-secret")
    await call(toolset, "oauth", oauth=mapping)

    tokens = [value for value in sent_headers(home, "authorization") if value.startswith("Bearer")]
    assert tokens == ["Bearer token-of-first-tenant"] * 3 + ["Bearer token-of-other-tenant"]
    assert sum(request.startswith(b"POST /t") for request in home.requests) == 2


async def test_one_function_serves_two_schemes_and_a_callers_own_scheme_goes_along_each_time(
    home, toolset
):
    def secret():
        return "one-secret"

    for name in ("key", "bearer"):
        await call(toolset, name, **{name: secret})
    for _ in range(3):
        await call(toolset, "open", mine={"in": "header", "name": "X-Mine", "value": secret})

    assert sent_headers(home, "x-key") == ["one-secret"]
    assert sent_headers(home, "authorization") == ["Bearer one-secret"]
    assert sent_headers(home, "x-mine") == ["one-secret"] * 3


async def test_what_comes_with_a_call_reads_no_variable_of_the_host_and_is_masked(
    home, toolset, monkeypatch
):
    monkeypatch.setenv("HOST_SECRET", "a-secret-of-the-host")
    mapping = {"client_id": "me", "client_secret": "${HOST_SECRET}"}
    await call(toolset, "oauth", oauth=mapping)
    result = await call(toolset, "key", key="${HOST_SECRET}")

    assert sent_headers(home, "x-key") == ["${HOST_SECRET}"]
    assert result.success
    assert "HOST_SECRET" not in f"{result} {result.metadata}"
    received = b"".join(home.requests)
    assert b"a-secret-of-the-host" not in received
    assert b"YS1zZWNyZXQtb2YtdGhlLWhvc3Q" not in received


async def test_each_of_many_callers_finds_no_token_in_a_response(toolset):
    clients = [OAuth2(client_id=f"tenant{n:03}", client_secret="s3cret") for n in range(60)]
    results = await asyncio.gather(*(call(toolset, "oauth", oauth=c) for c in clients))

    assert all(result.success for result in results)
    assert not [result for result in results if "token-of" in str(result)]
    assert all("***" in str(result) for result in results)


async def test_what_calls_bring_along_is_forgotten_with_them(toolset):
    for number in range(20):
        await call(toolset, "bearer", bearer=f"token-{number:05}")
        await call(toolset, "digest", digest=("me", f"pw-{number:05}"))

    assert not toolset.session.redactor


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("http://127.0.0.1:052001/token", "http://127.0.0.1:52001"),
        ("https://api.example.com:0044312/", "https://api.example.com:44312"),
        ("https://api.example.com%2eevil.com/authorize", "https://api.example.com"),
        ("https://api.example.com{x}", "https://api.example.com"),
        ("https://api.example.com|evil", "https://api.example.com"),
        ("https://user@api.example.com/", "https://api.example.com"),
        ("ftp://api.example.com/", "https://api.example.com"),
    ],
)
async def test_a_secret_goes_to_no_address_that_looks_like_the_servers(url, server):
    root = secured_document(with_token_at(url), server=server)
    credentials = {"k": OAuth2(client_id="me", client_secret="s3cret")}
    toolset, requests = load_quietly(root, credentials=credentials, base_url=None)

    result = await toolset["x"].execute({})

    assert result.error["type"] == "credentials"
    assert requests == []


@pytest.mark.parametrize(
    ("origin", "server"),
    [
        ("https://api.example.com", "https://API.Example.com:443/v1"),
        ("https://api.example.com", "HTTPS://api.example.com/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]", "http://[::1]:80/"),
    ],
)
async def test_an_origin_is_scheme_host_and_port(origin, server):
    allowed = {"base_url": None, "credential_origins": (origin,)}
    root = secured_document(SCHEMES["key"], server=server)
    toolset, requests = load_quietly(root, credentials={"k": "s3cret"}, **allowed)

    await toolset["x"].execute({})

    assert [request.headers["x-key"] for request in requests] == ["s3cret"]


async def test_a_challenge_with_a_bomb_for_a_body_is_passed_over(recorder):
    challenge = ("WWW-Authenticate", 'Digest realm="r", nonce="n", qop="auth"')
    headers = [challenge, ("Content-Encoding", "gzip")]
    recorder.responses.append(CannedResponse(401, headers, gzip.compress(b"\0" * 60_000_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with api(recorder.url, credentials={"digest": ("me", "s3cret")}) as toolset:
        result = await toolset["digest"].execute({})

    assert result.success
    assert len(recorder.requests) == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


@pytest.mark.long
async def test_names_that_hang_hold_up_no_other_call(monkeypatch, recorder):
    real, over = socket.getaddrinfo, threading.Event()

    def hang(host, *args, **kwargs):
        if host == "hangs.test":
            over.wait(20)
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    recorder.response = CannedResponse(body=json.dumps(["x"] * 20_000).encode())
    hanging = api("http://hangs.test", settings=Settings(timeout=1.5, concurrency=40))
    calls = [asyncio.create_task(hanging["open"].execute({})) for _ in range(40)]
    await asyncio.sleep(0.3)
    async with api(recorder.url) as toolset:
        good = await asyncio.wait_for(toolset["open"].execute({}), 5)
    results = await asyncio.gather(*calls)
    over.set()
    await hanging.aclose()

    assert good.success
    assert {result.error["type"] for result in results if result.error} == {"timeout"}


class UnshowableError(Exception):
    """Fails when it is written down."""

    @property
    def __notes__(self) -> list[str]:
        raise RuntimeError


@pytest.mark.parametrize("error", [SyntaxError("x", ("f", 1, "a", 5)), UnshowableError()], ids=repr)
async def test_an_exception_that_cannot_be_logged_raises_nothing(error, recorder):
    def fail():
        raise error

    async with api(recorder.url, credentials={"key": "s3cret-key", "bearer": fail}) as toolset:
        result = await toolset["bearer"].execute({})

    assert result.error["type"] == "credentials"


def test_records_of_httpx_lose_what_is_known(caplog):
    toolset = api("http://api.test", credentials={"key": "un1que/value"})
    with caplog.at_level(logging.INFO, "httpx"):
        logging.getLogger("httpx").info("GET %s", "http://api.test/?key=un1que%2fvalue")

    assert len(toolset) == 5
    assert caplog.messages == ["GET http://api.test/?key=***"]
