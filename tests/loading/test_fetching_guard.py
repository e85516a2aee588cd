"""Documents of URLs: the network policy of calls, and where a document came from."""

import json
import socket
import threading
import time

import pytest
from documents import document, operation
from servers.recorder import Answer, Recorder

from openapi_tools import Settings, SourceError, aload_tools, load_tools
from openapi_tools.transport import network_policy

API = json.dumps(document({"/x": {"get": operation()}})).encode()


async def loaded(url, **settings):
    return await aload_tools(url, settings=Settings(**{"timeout": 5.0, **settings}))


@pytest.fixture
async def site():
    async with Recorder(Answer(body=API)) as running:
        yield running


@pytest.fixture
def resolver(monkeypatch):
    """Lets `docs.test` have addresses: each list is one answer, the last one stays.

    127.0.0.1 passes for an address of the internet; the rest of loopback stays what it is.
    """
    real, kind_of = socket.getaddrinfo, network_policy.kind_of
    known = []

    def getaddrinfo(host, *args, **kwargs):
        if host != "docs.test":
            return real(host, *args, **kwargs)
        found = known.pop(0) if len(known) > 1 else known[0]
        return [info for name in found for info in real(name, *args, **kwargs)]

    def kind(address):
        return "" if address == "127.0.0.1" else kind_of(address)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(network_policy, "kind_of", kind)
    return lambda *answers: known.extend(answers)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
async def test_everything_private_is_refused_on_request(site, host):
    with pytest.raises(SourceError) as caught:
        await loaded(f"http://me:hunter2@{host}:{site.port}/?key=hunter2", allow_private=False)

    assert "which is guarded; Settings(allow_private=True) allows it." in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert site.connections == 0


async def test_one_private_address_among_others_refuses_the_host(site, resolver):
    resolver(["127.0.0.1", "10.0.0.1"])

    with pytest.raises(SourceError, match=r"'docs.test' has a private address"):
        await loaded(f"http://docs.test:{site.port}/", allow_private=False)

    assert site.connections == 0


async def test_a_redirect_of_a_public_host_does_not_follow_its_name_inside(site, resolver):
    resolver(["127.0.0.1"], ["127.0.0.2"])
    site.answers.append(Answer(302, [("Location", "/b.json")], b""))

    with pytest.raises(SourceError, match=r"'docs.test' has a loopback address"):
        await loaded(f"http://docs.test:{site.port}/a.json")

    assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "has a loopback address"),
        ({"allow_private": True}, "no connection"),
        ({"base_url": "http://127.0.0.2:1"}, "no connection"),
    ],
    ids=["by default", "allowed", "named"],
)
async def test_what_a_public_document_refers_to_is_public_too(site, resolver, settings, reason):
    resolver(["127.0.0.1"])
    inside = "http://127.0.0.2:1"  # where nobody listens: whoever tries finds no connection
    parameter = {"name": "q", "in": "query", "schema": {"$ref": f"{inside}/q.json"}}
    paths = {"/x": {"get": operation(parameters=[parameter])}}
    site.answer = Answer(body=json.dumps(document(paths)).encode())

    toolset = await loaded(f"http://docs.test:{site.port}/a", ref_urls=(inside,), **settings)

    assert reason in toolset.skipped[0].reason


def test_a_resolver_that_hangs_is_under_the_deadline(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(20) and [])
    begin = time.monotonic()

    with pytest.raises(SourceError, match="in time"):
        load_tools("http://slow.test/", settings=Settings(timeout=0.1))

    took = time.monotonic() - begin
    released.set()
    assert took < 5


async def test_a_proxy_of_the_environment_is_used_only_when_that_is_trusted(site, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with Recorder(Answer(body=API)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        await loaded(site.url)
        assert proxy.connections == 0

        toolset = await loaded("http://docs.test/a.json", trust_env=True)

    assert proxy.last.target == "http://docs.test/a.json"
    # Who answered is not known, so that it may have been anyone.
    assert toolset.session.provenance.public
