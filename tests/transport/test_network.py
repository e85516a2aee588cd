"""Where calls may go: addresses are judged, not names, and the judged one is connected to."""

import asyncio
import json
import socket

import httpx
import pytest
import respx
from servers.documents import call_server, document
from servers.faults import Faults, serve
from servers.recorder import Recorder

from openapi_tools import Settings, load_tools
from openapi_tools.errors import CallError
from openapi_tools.transport import Sender, network_policy
from openapi_tools.transport.network_policy import NetworkPolicy, kind_of, policy_of


@pytest.fixture
def resolver(monkeypatch):
    """Lets names have addresses; each list is one answer, the last one stays."""
    real = socket.getaddrinfo
    hosts = {}
    asked = []

    def getaddrinfo(host, port, *args, **kwargs):
        if host not in hosts:
            return real(host, port, *args, **kwargs)
        asked.append(host)
        addresses = hosts[host]
        targets = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return [info for name in targets for info in real(name, port, *args, **kwargs)]

    def name(host, *addresses):
        hosts[host] = list(addresses)
        return asked

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return name


@pytest.fixture
def public(monkeypatch):
    """Let 127.0.0.1 pass for an address of the internet; the rest of loopback stays what it is."""
    real = network_policy.kind_of
    monkeypatch.setattr(
        network_policy, "kind_of", lambda address: "" if address == "127.0.0.1" else real(address)
    )


KINDS = {
    "loopback": "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::127.0.0.1 2002:7f00:1:: "
    "2a00:1450::200:5efe:127.0.0.1",
    "private": "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fec0::1 ::ffff:0:10.0.0.1 "
    "64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8 2002:c0a8:101::1 2001:0:808:808:0:0:f5ff:fffe "
    "2001:0:a00:1:0:0:f7f7:f7f7 2a00:1450::5efe:10.0.0.1",
    "link-local": "169.254.1.1 fe80::1 fe80::1%eth0",
    "unique-local": "fc00::1 fd12:3456::1",
    "carrier-grade NAT": "100.64.0.1 100.127.255.255",
    "multicast": "224.0.0.1 ff02::1",
    "unspecified": "0.0.0.0 ::",
    "reserved": "0.0.0.1 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1 "
    "240.0.0.1 255.255.255.255 2001:db8::1 2001:2::1 2001:20::1 100::1 3fff::1 5f00::1 "
    "4000::1 4000::5efe:8.8.8.8",
    "cloud metadata": "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 "
    "fd20:ce::254 ::ffff:a9fe:a9fe 64:ff9b::169.254.169.254",
    "unknown": "nonsense",
}
"""The client of a Teredo address (2001:0:…) is inverted, its server is not."""
PUBLIC = (
    "8.8.8.8 1.1.1.1 172.32.0.1 172.15.255.255 100.63.255.255 100.128.0.1 169.253.0.1 "
    "192.0.1.1 223.255.255.255 2a00:1450:4001::1 2606:4700::1111 2001:4860:4860::8888 "
    "::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1 2001:0:808:808:0:0:f7f7:f7f7 "
    "2a00:1450::5efe:8.8.8.8"
)
SPELLINGS = (
    "127.0.0.1 localhost 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 017700000001 0 "
    "0.0.0.0 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:0:0:1] LOCALHOST "
    "10.1.2.3 169.254.169.254 [fd00:ec2::254]"
)
ADDRESSES = [(address, kind) for kind, names in KINDS.items() for address in names.split()]


ADDRESSES += [(address, "") for address in PUBLIC.split()]


@pytest.mark.parametrize(("address", "kind"), [*ADDRESSES, ("", "unknown")])
def test_what_is_not_of_the_internet_has_a_kind(address, kind):
    assert kind_of(address) == kind


@pytest.mark.parametrize("host", SPELLINGS.split())
async def test_every_spelling_of_a_private_host_is_refused(host):
    async with Faults(serve) as server:
        result = await call_server(f"http://{host}:{server.port}", allow_private=False)

        assert server.connections == 0
    assert result.error["type"] == "denied"
    assert repr(host.strip("[]").lower()) in result.output
    assert "Settings(allow_private=True)" in result.output


@pytest.mark.parametrize("host", ["localhost.", "127.0.0.1.", "0177.0.0.1", "fe80::1%25lo"])
async def test_spellings_that_not_every_resolver_knows_never_arrive(host):
    authority = f"[{host}]" if ":" in host else host
    async with Faults(serve) as server:
        result = await call_server(f"http://{authority}:{server.port}", allow_private=False)

        assert server.connections == 0
    assert result.error["type"] in ("denied", "connection")


@pytest.mark.usefixtures("public")
async def test_one_private_address_among_others_refuses_the_host(resolver):
    resolver("api.test", ["127.0.0.1", "127.0.0.2"])
    async with Faults(serve) as server:
        result = await call_server(f"http://api.test:{server.port}", allow_private=False)

        assert server.connections == 0
    assert result.error["type"] == "denied"
    assert "'api.test' has a loopback address" in result.output
    assert "127.0.0.2" not in result.output


@pytest.mark.usefixtures("public")
async def test_the_address_that_was_judged_is_the_one_connected_to(resolver):
    asked = resolver("api.test", ["127.0.0.1"], ["127.0.0.2"])
    async with Faults(serve) as server:
        first = await call_server(f"http://api.test:{server.port}", allow_private=False)

        assert asked == ["api.test"]
        assert server.requests[0].split(b"\r\n")[1].startswith(b"Host: api.test:")
        second = await call_server(f"http://api.test:{server.port}", allow_private=False)

        assert server.connections == 1
    assert first.success
    assert second.error["type"] == "denied"


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize(("allow", "error"), [(None, "denied"), (True, "connection")])
async def test_a_document_from_a_public_address_may_not_call_this_machine(allow, error, resolver):
    resolver("docs.test", ["127.0.0.1"])
    async with Recorder() as site, Faults(serve) as server:
        url = server.url.replace("127.0.0.1", "127.0.0.2")  # nobody listens there
        site.response.body = json.dumps({**document(), "servers": [{"url": url}]}).encode()
        source = f"http://docs.test:{site.port}/openapi.json"
        settings = Settings(allow_private=allow, timeout=5.0)
        toolset = await asyncio.to_thread(load_tools, source, settings=settings)
        async with toolset:
            result = await toolset["call"].execute({})

    assert result.error["type"] == error


async def test_the_address_that_the_user_named_is_meant():
    async with Faults(serve) as server:
        sender = Sender(Settings(base_url=server.url + "/v1", timeout=5.0), public=True)

        got = await sender.send(httpx.Request("GET", server.url))
        with pytest.raises(CallError) as caught:
            await sender.send(httpx.Request("GET", f"http://127.0.0.1:{server.port + 1}"))

        await sender.aclose()
        assert server.connections == 1
    assert got.status == 200
    assert (caught.value.kind, caught.value.facts["retryable"]) == ("denied", False)


@pytest.mark.parametrize(
    ("settings", "public", "private", "named"),
    [
        ({}, False, True, None),
        ({}, True, False, None),
        ({"allow_private": True}, True, True, None),
        ({"allow_private": False}, False, False, None),
        ({"base_url": "https://API.test/v1"}, True, False, ("api.test", 443)),
        ({"base_url": "http://[::1]:8000"}, True, False, ("::1", 8000)),
        ({"base_url": "http://h:x"}, True, False, None),
        ({"base_url": "http://api.test", "allow_private": False}, True, False, None),
    ],
)
def test_the_policy_follows_from_the_settings_and_the_document(settings, public, private, named):
    policy = policy_of(Settings(**settings), public_document=public)

    assert policy == NetworkPolicy(private=private, exempt=named)


@pytest.fixture
async def proxy(monkeypatch):
    """A proxy that the environment names."""
    async with Recorder() as running:
        for name in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "no_proxy", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", f"http://me:hunter2@127.0.0.1:{running.port}")
        monkeypatch.setenv("no_proxy", "direct.test")
        yield running


async def test_a_proxy_of_the_environment_is_used_when_that_is_trusted(proxy):
    result = await call_server("http://api.test:8000/v1", trust_env=True)

    assert result.success, result
    assert proxy.last.target == "http://api.test:8000/v1/p"
    assert proxy.last.header("Proxy-Authorization") == "Basic bWU6aHVudGVyMg=="


async def test_hosts_without_a_proxy_are_called_directly(proxy, resolver):
    resolver("direct.test", ["127.0.0.1"])
    async with Faults(serve) as server:
        result = await call_server(f"http://direct.test:{server.port}", trust_env=True)

        assert server.connections == 1
    assert result.success, result
    assert proxy.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "a.localhost.", "127.1", "[::1]"])
async def test_a_proxy_is_not_asked_for_this_machine_when_it_is_guarded(proxy, host):
    result = await call_server(f"http://{host}:8000", trust_env=True, allow_private=False)

    assert result.error["type"] == "denied"
    assert proxy.requests == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://me:hunter2@[::1", "not a usable address"),
        ("gopher://me:hunter2@127.0.0.1:1", "not a usable address"),
        ("socks4://me:hunter2@127.0.0.1:1", "expected SCHEME://HOST:PORT"),
        ("http://:1", "not a usable address"),
        ("socks5://me:hunter2@127.0.0.1:1", "Connection refused"),
        ("http://me:hunter2@127.0.0.1:1", "Connection refused"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_an_error_without_its_words(
    address, words, monkeypatch
):
    monkeypatch.setenv("http_proxy", address)

    result = await call_server("http://api.test:8000", trust_env=True)

    assert result.error["type"] == "connection"
    assert words in result.output
    assert "hunter2" not in result.output


@pytest.mark.parametrize("allowed", [True, False])
async def test_an_address_behind_a_test_double_is_judged_before_anything_is_sent(allowed):
    async with Faults(serve) as server:
        with respx.mock() as router:
            router.route().pass_through()
            result = await call_server(server.url, allow_private=allowed)

        assert len(server.requests) == allowed
    assert result.success if allowed else result.error["type"] == "denied"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (f"{'a' * 64}.test", "host name is invalid"),
        ("no-such-host.invalid", "GET /p: no connection to no-such-host.invalid ("),
        ("empty.test", "the host has no address"),
    ],
)
async def test_a_name_without_an_address_is_a_connection_error(host, words, resolver):
    resolver("empty.test", [])

    result = await call_server(f"http://{host}")

    assert result.error["type"] == "connection"
    assert words in result.output


async def test_a_dead_address_is_followed_by_the_next(resolver):
    resolver("api.test", ["127.0.0.2", "127.0.0.1"])
    async with Faults(serve) as server:
        result = await call_server(f"http://api.test:{server.port}")

    assert result.success, result
