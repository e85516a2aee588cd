"""Fetching documents: the network policy of calls, and where a document came from."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import Any

import pytest
from servers.recorder import Answer, Recorder

from openapi_tools.errors import SourceError
from openapi_tools.loading.fetching import Fetcher
from openapi_tools.loading.source import read_source
from openapi_tools.settings import Settings
from openapi_tools.transport import network_policy

DOCUMENT = b'{"openapi": "3.1.0"}'
GUARDED = Settings(allow_private=False)
SETTINGS = Settings(timeout=5.0)


def fetch(url, settings, **more):
    return Fetcher(url, settings).fetch(url, **more)


async def aside(*args, **kwargs):
    """Fetch in a thread: the server runs in this one."""
    return await asyncio.to_thread(fetch, *args, **kwargs)


@pytest.fixture
async def site():
    async with Recorder(Answer(body=DOCUMENT)) as running:
        yield running


@pytest.fixture
def resolver(monkeypatch):
    """Lets names have addresses; each list is one answer, the last one stays."""
    real = socket.getaddrinfo
    known: dict[str, list[list[str]]] = {}

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        answers = known.get(host, [[host]])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [info for name in found for info in real(name, port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return lambda host, *answers: known.update({host: list(answers)})


@pytest.fixture
def public(monkeypatch):
    """Let 127.0.0.1 pass for an address of the internet; the rest of loopback stays what it is."""
    real = network_policy.kind_of
    monkeypatch.setattr(
        network_policy, "kind_of", lambda address: "" if address == "127.0.0.1" else real(address)
    )


async def test_a_document_says_that_it_came_from_this_machine(site):
    found = await aside(site.url, SETTINGS)

    assert found.public is False


@pytest.mark.usefixtures("public")
async def test_a_document_says_that_it_came_from_the_internet(site, resolver):
    resolver("docs.test", ["127.0.0.1"])

    found = await aside(f"http://docs.test:{site.port}/a.json", SETTINGS)

    assert found.public is True
    assert found.data == DOCUMENT
    assert site.last.header("Host") == f"docs.test:{site.port}"


def test_what_is_not_fetched_is_not_public(tmp_path):
    (tmp_path / "a.json").write_bytes(DOCUMENT)

    for given in (tmp_path / "a.json", DOCUMENT, {"openapi": "3.1.0"}):
        assert read_source(given, SETTINGS).public is False


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
async def test_everything_private_is_refused_on_request(site, host):
    with pytest.raises(SourceError) as caught:
        await aside(f"http://me:hunter2@{host}:{site.port}/?key=hunter2", GUARDED)

    assert "which is guarded; Settings(allow_private=True) allows it." in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert site.connections == 0


@pytest.mark.usefixtures("public")
async def test_one_private_address_among_others_refuses_the_host(site, resolver):
    resolver("docs.test", ["127.0.0.1", "10.0.0.1"])

    with pytest.raises(SourceError, match=r"'docs.test' has a private address"):
        await aside(f"http://docs.test:{site.port}/", GUARDED)

    assert site.connections == 0


@pytest.mark.usefixtures("public")
async def test_a_redirect_of_a_public_host_does_not_follow_its_name_inside(site, resolver):
    resolver("docs.test", ["127.0.0.1"], ["127.0.0.2"])
    site.answers.append(Answer(302, [("Location", "/b.json")], b""))

    with pytest.raises(SourceError, match=r"'docs.test' has a loopback address"):
        await aside(f"http://docs.test:{site.port}/a.json", SETTINGS)

    assert len(site.requests) == 1


async def test_a_redirect_of_a_private_host_stays_allowed(site):
    site.answers.append(Answer(302, [("Location", "/b.json")], b""))

    assert (await aside(f"{site.url}/a.json", SETTINGS)).data == DOCUMENT


async def test_what_a_public_document_refers_to_is_public_too(site):
    with pytest.raises(SourceError, match="has a loopback address"):
        await aside(site.url, SETTINGS, found_in_public=True)
    allowed = Settings(allow_private=True, timeout=5.0)
    named = Settings(base_url=site.url, timeout=5.0)

    for settings in (allowed, named):
        found = await aside(site.url, settings, found_in_public=True)
        assert found.data == DOCUMENT
    assert len(site.requests) == 2


def test_a_resolver_that_hangs_is_under_the_deadline(monkeypatch):
    released = threading.Event()

    def hang(*args: Any, **kwargs: Any) -> Any:
        released.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    begin = time.monotonic()

    with pytest.raises(SourceError, match="in time"):
        fetch("http://slow.test/", Settings(timeout=0.1))

    took = time.monotonic() - begin
    released.set()
    assert took < 5


async def test_a_proxy_of_the_environment_is_used_when_that_is_trusted(site, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", site.url)

    found = await aside("http://docs.test/a.json", Settings(trust_env=True, timeout=5.0))

    assert found.data == DOCUMENT
    assert found.public  # who answered is not known, so that it may have been anyone
    assert site.last.target == "http://docs.test/a.json"
