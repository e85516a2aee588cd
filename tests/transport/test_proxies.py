"""Calls through the environment's proxies: few connections, guarded as direct ones are."""

import asyncio
import os

import httpx
import pytest
from servers.documents import body, call_server, document
from servers.faults import Faults, hang, make_response, reply_with
from servers.proxy import END, LoopbackProxy, SocksProxy
from servers.recorder import Recorder
from servers.tls import Authority, TlsServer

from openapi_tools import Settings, load_tools
from openapi_tools.errors import CallError
from openapi_tools.transport import connection_pool
from openapi_tools.transport.connection_pool import make_client
from openapi_tools.transport.proxy_environment import find_proxy

READ = document()
WRITE = document(body=body("application/json"))
CREDENTIALS = "Basic bWU6aHVudGVyMg=="  # of me:hunter2


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Start without variables of proxies; returns the setter of `ALL_PROXY`."""
    for name in os.environ:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)

    def use(server, *, user="", scheme=""):
        address = server if isinstance(server, str) else server.url
        before, _, host = address.partition("://")
        monkeypatch.setenv("ALL_PROXY", f"{scheme or before}://{user and f'{user}@'}{host}")

    return use


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The authority that the tools trust."""
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


def tools(url, *, api=READ, **settings):
    """Return the toolset of an API at an address, with proxies."""
    chosen = Settings(**{"base_url": url, "timeout": 5.0, "trust_env": True, **settings})
    return load_tools(api, settings=chosen)


async def call_times(toolset, count):
    """Return the results of calls one after another."""
    return [await toolset["call"].execute({}) for _ in range(count)]


# ---- connections ------------------------------------------------------------------------------


async def test_ten_calls_through_a_proxy_take_one_connection(environment, recorder):
    async with LoopbackProxy() as proxy:
        environment(proxy, user="me:hunter2")
        async with tools(f"http://api.test:{recorder.port}") as toolset:
            results = await call_times(toolset, 10)

        assert all(result.success for result in results), results
        assert (proxy.connections, len(proxy.requests)) == (1, 10)
        assert proxy.requests[0].target == f"http://api.test:{recorder.port}/p"
        assert proxy.requests[0].header("Host") == f"api.test:{recorder.port}"
        assert {request.header("Proxy-Authorization") for request in proxy.requests} == {
            CREDENTIALS
        }
        await proxy.wait_until(lambda: proxy.ended == 1)  # with the toolset


async def test_ten_calls_over_tls_take_one_tunnel_and_one_handshake(environment, ours):
    with TlsServer(ours.server("api.test")) as server:
        async with LoopbackProxy() as proxy:
            environment(proxy, user="me:hunter2")
            url = f"https://api.test:{server.port}"
            async with tools(url, ca_file=ours.file) as toolset:
                results = await call_times(toolset, 10)

            assert all(result.success for result in results), results
            assert proxy.connections == 1
            assert proxy.tunnels == [f"api.test:{server.port}"]
            assert proxy.requests[0].header("Proxy-Authorization") == CREDENTIALS
            await proxy.wait_until(lambda: proxy.ended == 1)
    assert (server.greeted, len(server.requests)) == (1, 10)
    assert not any(b"proxy" in head.lower() for _, head in server.requests)


async def test_one_connection_to_a_proxy_takes_requests_for_all_http_servers(environment):
    async with LoopbackProxy() as proxy, Recorder() as one, Recorder() as other:
        environment(proxy)
        async with make_client(Settings(trust_env=True)) as client:
            for server in (one, other, one):
                await client.get(f"http://api.test:{server.port}/")

        assert proxy.connections == 1
        assert (len(one.requests), len(other.requests)) == (2, 1)


async def test_calls_at_once_have_connections_of_their_own_and_few_are_kept(environment, recorder):
    async with LoopbackProxy() as proxy:
        environment(proxy)
        async with tools(f"http://api.test:{recorder.port}", concurrency=3) as toolset:
            results = await asyncio.gather(*(toolset["call"].execute({}) for _ in range(10)))

            assert all(result.success for result in results), results
            assert proxy.connections <= 3


async def test_a_proxy_that_is_reached_over_tls_carries_tunnels_of_tls(environment, ours):
    with TlsServer(ours.server("api.test")) as server:
        async with LoopbackProxy(context=ours.server("localhost")) as proxy:
            environment(f"https://localhost:{proxy.port}", user="me:hunter2")
            url = f"https://api.test:{server.port}"
            async with tools(url, ca_file=ours.file) as toolset:
                results = await call_times(toolset, 3)

            assert all(result.success for result in results), results
            assert (proxy.connections, len(proxy.tunnels), server.greeted) == (1, 1, 1)


async def test_a_proxy_with_a_strange_certificate_gets_nothing(environment, ours, tmp_path):
    async with LoopbackProxy(context=Authority(tmp_path).server("localhost")) as proxy:
        environment(f"https://localhost:{proxy.port}", user="me:hunter2")
        result = await call_server("http://api.test", trust_env=True, ca_file=ours.file)

        assert proxy.requests == []
    assert f"through the proxy localhost:{proxy.port} (the server's certificate" in result.output
    assert result.error["retryable"] is False


async def test_a_kept_connection_to_a_proxy_grows_old(environment, monkeypatch, recorder):
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", -1.0)
    async with LoopbackProxy() as proxy:
        environment(proxy)
        async with tools(f"http://api.test:{recorder.port}") as toolset:
            await call_times(toolset, 2)

            assert proxy.connections == 2


async def test_each_event_loop_has_connections_of_its_own(environment, recorder):
    async with LoopbackProxy() as proxy:
        environment(proxy)
        toolset = tools(f"http://api.test:{recorder.port}")
        loops = [lambda: asyncio.run(call_times(toolset, 2)) for _ in range(2)]
        results = [await asyncio.to_thread(loop) for loop in loops]

        assert all(result.success for pair in results for result in pair)
        assert proxy.connections == 2
        await proxy.wait_until(lambda: proxy.ended == 2)


# ---- what breaks -------------------------------------------------------------------------------


@pytest.mark.parametrize("api", [READ, WRITE], ids=["GET", "POST"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_starts_again_is_connected_to_again(environment, ours, scheme, api):
    arguments = {"body": {}} if api is WRITE else {}
    with TlsServer(ours.server("api.test") if scheme == "https" else None) as server:
        async with LoopbackProxy() as proxy:
            environment(proxy)
            url = f"{scheme}://api.test:{server.port}"
            async with tools(url, api=api, ca_file=ours.file) as toolset:
                for _ in range(3):
                    result = await toolset["call"].execute(arguments)
                    assert result.success, result
                    proxy.drop_connections()
                    await proxy.wait_until(lambda: proxy.ended == proxy.connections)

            assert proxy.connections == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize(("api", "sent"), [(READ, 3), (WRITE, 2)], ids=["GET", "POST"])
async def test_a_request_that_a_kept_connection_swallows_is_sent_again_if_it_only_reads(
    environment, api, sent
):
    async def forget(peer):
        """Respond to the first request, and close at the second."""
        await peer.request()
        await peer.write(make_response())
        if peer.server.connections == 1:
            await peer.request()

    async with Faults(forget) as proxy:
        environment(proxy)
        arguments = {"body": {}} if api is WRITE else {}
        async with tools("http://api.test", api=api) as toolset:
            first, second = [await toolset["call"].execute(arguments) for _ in range(2)]

        assert len(proxy.requests) == sent
    assert first.success
    assert second.success == (api is READ)
    assert api is READ or "it may have run" in second.output


REFUSALS = {
    "407": (
        b"HTTP/1.1 407 me:hunter2" + END,
        "it responded with 407 Proxy Authentication Required",
        1,
    ),
    "403": (b"HTTP/1.1 403 No" + END, "it responded with 403 Forbidden", 1),
    "502": (b"HTTP/1.1 502 Bad" + END, "it responded with 502 Bad Gateway", 3),
    "599": (b"HTTP/1.1 599 Odd" + END, "it responded with 599", 3),
    "a redirect": (
        b"HTTP/1.1 302 F\r\nLocation: http://a.test/" + END,
        "responded with 302 Found",
        1,
    ),
    "no HTTP": (b"SSH-2.0-proxy\r\n" + END, "its response is not valid HTTP", 1),
    "the end": (b"", "it closed the connection", 3),
    "a long head": (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + END, "not valid HTTP", 1),
    "more than a head": (b"HTTP/1.1 200 OK" + END + b"\x16\x03", "data before TLS began", 1),
}
"""What a proxy answers CONNECT, what the error says, and how often the tunnel is asked for."""


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_proxy_that_opens_no_tunnel_is_named_and_nothing_was_sent(environment, name):
    accepted, words, attempts = REFUSALS[name]

    async def refuse(peer):
        await peer.request()
        await peer.write(accepted)

    async with Faults(refuse) as proxy:
        environment(proxy, user="me:hunter2")
        async with tools("https://api.test", api=WRITE) as toolset:
            result = await toolset["call"].execute({"body": {}})

        assert proxy.connections == attempts
    reason = f"POST /p: no connection to api.test through the proxy 127.0.0.1:{proxy.port} ("
    assert result.output.startswith(reason)
    assert words in result.output
    assert "it may have run" not in result.output
    assert "hunter2" not in str(result)
    assert result.error["retryable"] is (attempts > 1)


async def test_a_proxy_that_opens_no_tunnel_in_time_is_named(environment):
    async with Faults(hang) as proxy:
        environment(proxy)
        async with tools("https://api.test", api=WRITE, timeout=0.2) as toolset:
            result = await toolset["call"].execute({"body": {}})

        await proxy.wait_until(lambda: proxy.hung_up == 1)
    assert result.error["type"] == "timeout"
    expected = f"it was not sent, because the proxy 127.0.0.1:{proxy.port} had not connected."
    assert expected in result.output


async def test_a_proxy_that_asks_for_credentials_before_it_forwards_is_named(environment):
    async with Faults(reply_with(make_response(b"who?", status="407 Who"))) as proxy:
        environment(proxy)
        result = await call_server("http://api.test", trust_env=True)

        assert proxy.connections == 1
    assert result.error["type"] == "connection"
    assert f"through the proxy 127.0.0.1:{proxy.port} (it responded with 407" in result.output


async def test_a_407_of_a_server_behind_a_tunnel_is_its_response(environment, ours):
    refusal = make_response(b"who?", status="407 Who")
    with TlsServer(ours.server("api.test"), response=refusal) as server:
        async with LoopbackProxy() as proxy:
            environment(proxy)
            url = f"https://api.test:{server.port}"
            result = await call_server(url, trust_env=True, ca_file=ours.file)

    assert result.error["status"] == 407


async def test_a_tunnel_to_a_server_with_a_strange_certificate_is_closed(
    environment, ours, tmp_path
):
    with TlsServer(Authority(tmp_path).server("api.test")) as server:
        async with LoopbackProxy() as proxy:
            environment(proxy)
            url = f"https://api.test:{server.port}"
            async with tools(url, ca_file=ours.file) as toolset:
                results = await call_times(toolset, 3)
                await proxy.wait_until(lambda: proxy.ended == proxy.connections == 3)

    assert {result.error["type"] for result in results} == {"connection"}
    assert "certificate is not trusted" in results[0].output
    assert "proxy" not in results[0].output
    assert server.requests == []


async def test_bytes_behind_a_response_are_not_the_next_response(environment):
    async def smuggle(peer):
        while True:
            await peer.request()
            await peer.write(make_response(b'"right"') + make_response(b'"wrong"'))

    async with Faults(smuggle) as proxy:
        environment(proxy)
        async with tools("http://api.test") as toolset:
            results = await call_times(toolset, 3)

        assert proxy.connections == 3
    assert [result.output for result in results] == ['"right"'] * 3


async def test_a_response_through_a_proxy_has_the_same_bounds(environment):
    async def endless(peer):
        await peer.request()
        await peer.write(b"HTTP/1.1 200 OK" + END)
        await peer.write_forever(b"x" * 1000)

    async with Faults(endless) as proxy:
        environment(proxy)
        result = await call_server("http://api.test", trust_env=True, max_response_bytes=10_000)

        await proxy.wait_until(lambda: proxy.ended == 1)
    assert result.error["type"] == "too_large"


# ---- where calls may go ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["http", "https", "socks5"])
async def test_a_kept_connection_does_not_lead_to_a_guarded_address(environment, kind):
    async with LoopbackProxy() as proxy, Recorder() as server, SocksProxy() as socks:
        environment(socks if kind == "socks5" else proxy, scheme=kind if kind == "socks5" else "")
        settings = Settings(trust_env=True, allow_private=False)
        async with make_client(settings) as client:
            await client.get(f"http://api.test:{server.port}/")
            for host in ("127.0.0.1", "localhost", "[::1]", "2130706433", "a.localhost"):
                scheme = "https" if kind == "https" else "http"
                with pytest.raises(CallError, match="guarded"):
                    await client.get(f"{scheme}://{host}:{server.port}/")

        assert len(server.requests) == 1
        assert (len(proxy.requests), len(socks.tunnels)) == ((0, 1) if kind == "socks5" else (1, 0))


async def test_a_server_at_an_ipv6_address_is_asked_for_in_brackets(environment):
    async with LoopbackProxy(accepted=b"HTTP/1.1 403 No" + END) as proxy:
        environment(proxy)
        await call_server("https://[2a00:1450:4001::1]", trust_env=True)

        assert proxy.tunnels == ["[2a00:1450:4001::1]:443"]
        assert proxy.requests[0].header("Host") == "[2a00:1450:4001::1]:443"


async def test_a_key_of_an_api_does_not_replace_the_credentials_for_a_proxy(environment, recorder):
    api = document(security=[{"key": []}])
    key = {"type": "apiKey", "in": "header", "name": "Proxy-Authorization"}
    api["components"] = {"securitySchemes": {"key": key}}
    url = f"http://api.test:{recorder.port}"
    async with LoopbackProxy() as proxy:
        environment(proxy, user="me:hunter2")
        settings = Settings(base_url=url, trust_env=True)
        async with load_tools(
            api, settings=settings, credentials={"key": "another-secret-of-a-user"}
        ) as toolset:
            await toolset["call"].execute({})

        assert proxy.requests[0].header_values("Proxy-Authorization") == [CREDENTIALS]


# ---- SOCKS -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_socks_proxy_resolves_names_and_its_connections_are_kept(
    environment, recorder, scheme
):
    async with SocksProxy() as proxy:
        environment(proxy, scheme=scheme)
        async with tools(f"http://api.test:{recorder.port}") as toolset:
            results = await call_times(toolset, 10)

        assert all(result.success for result in results), results
        assert (proxy.connections, recorder.connections) == (1, 1)
        assert proxy.tunnels == [(3, b"api.test", recorder.port)]
    assert recorder.last.target == "/p"


async def test_a_socks_proxy_gets_user_and_password_and_tls_goes_through_it(environment, ours):
    with TlsServer(ours.server("127.0.0.1")) as server:
        async with SocksProxy(method=2) as proxy:
            environment(proxy, scheme="socks5", user="me:hunter2")
            async with tools(server.url, ca_file=ours.file) as toolset:
                results = await call_times(toolset, 3)

            assert all(result.success for result in results), results
            assert proxy.requests == [bytes((0, 2))]
            assert proxy.logins == [[b"me", b"hunter2"]]
            assert proxy.tunnels == [(1, bytes((127, 0, 0, 1)), server.port)]
    assert server.greeted == 1


SOCKS_REFUSALS = {
    "no rights": ({"code": 2}, "connection not allowed by its rules", 1),
    "no such host": ({"code": 4}, "host unreachable", 3),
    "another code": ({"code": 99}, "reply 99", 3),
    "no method": ({"method": 255}, "it does not accept a password", 1),
    "a wrong password": ({"method": 2, "login": 1}, "it does not accept the user and password", 1),
}


@pytest.mark.parametrize("name", SOCKS_REFUSALS)
async def test_a_socks_proxy_that_refuses_is_named(environment, name):
    behaviour, words, attempts = SOCKS_REFUSALS[name]
    async with SocksProxy(**behaviour) as proxy:
        environment(proxy, scheme="socks5", user="me:hunter2")
        async with tools("http://api.test", api=WRITE) as toolset:
            result = await toolset["call"].execute({"body": {}})

        assert proxy.connections == attempts
    assert f"no connection to api.test through the proxy 127.0.0.1:{proxy.port} (" in result.output
    assert f"SOCKS: {words}" in result.output
    assert "hunter2" not in str(result)


async def test_a_socks_proxy_that_wants_credentials_says_where_they_belong(environment):
    async with SocksProxy(method=255) as proxy:
        environment(proxy, scheme="socks5")
        result = await call_server("http://api.test", trust_env=True)

    assert "it asks for credentials; they belong in its address" in result.output


async def test_a_proxy_of_http_that_is_named_as_one_of_socks_is_named(environment):
    async with Faults(serve_anything) as proxy:
        environment(proxy, scheme="socks5")
        result = await call_server("http://api.test", trust_env=True)

    assert "it speaks HTTP, not SOCKS" in result.output


async def serve_anything(peer):
    """Send what is no HTTP as servers of HTTP do."""
    await peer.write(make_response(status="400 Bad Request"))
    await peer.hang()


# ---- NO_PROXY ----------------------------------------------------------------------------------

DIRECT = [
    ("*", "http://api.test"),
    ("a.test,*", "http://api.test"),
    ("api.test", "http://api.test"),
    ("API.Test", "https://api.TEST/p"),
    ("api.test", "http://api.test./"),
    ("api.test.", "http://api.test"),
    ("test", "http://api.test"),
    ("internal.test", "http://a.b.internal.test"),
    (".internal.test", "http://a.internal.test"),
    (".internal.test", "http://internal.test"),
    ("*.internal.test", "http://a.internal.test"),
    (" a.test ,\tapi.test , ", "http://api.test"),
    ("a.test api.test", "http://api.test"),
    ("localhost", "http://localhost:8000"),
    ("localhost", "http://a.localhost"),
    ("api.test:8080", "http://api.test:8080"),
    ("api.test:80", "http://api.test"),
    ("api.test:443", "https://api.test"),
    ("*:8080", "http://api.test:8080"),
    ("b\u00fccher.test", "http://xn--bcher-kva.test"),
    ("xn--bcher-kva.test", "http://b\u00fccher.test"),
    ("10.1.2.3", "http://10.1.2.3"),
    ("10.1.2.3:8080", "http://10.1.2.3:8080"),
    ("10.0.0.0/8", "http://10.1.2.3"),
    ("10.1.2.3/8", "http://10.200.0.1"),
    ("10.0.0.0/8:8080", "http://10.1.2.3:8080"),
    ("127.0.0.0/8", "http://127.1"),
    ("127.0.0.1", "http://2130706433"),
    ("::1", "http://[::1]:8000"),
    ("[::1]", "http://[::1]"),
    ("[::1]:8000", "http://[::1]:8000"),
    ("0:0:0:0:0:0:0:1", "http://[::1]"),
    ("fc00::/7", "http://[fd12:3456::1]"),
    ("[fc00::]/7", "http://[fd12:3456::1]"),
    ("[fc00::/7]:443", "https://[fd12:3456::1]"),
    ("10.0.0.0/8,fc00::/7,.svc,.cluster.local", "http://shop.default.svc"),
]
PROXIED = [
    ("", "http://api.test"),
    (",  ,", "http://api.test"),
    (".", "http://api.test"),
    ("api.test", "http://notapi.test"),
    ("pi.test", "http://api.test"),
    (".api.test", "http://xapi.test"),
    ("a.api.test", "http://api.test"),
    ("api.test:8080", "http://api.test"),
    ("api.test:80", "https://api.test"),
    ("api.test:http", "http://api.test"),
    ("http://api.test", "http://api.test"),
    ("localhost", "http://127.0.0.1"),
    ("127.0.0.1", "http://localhost"),
    ("0.1", "http://10.0.0.1"),
    ("10.0.0.0/8", "http://11.0.0.1"),
    ("10.0.0.0/8", "http://10.test"),
    ("10.0.0.0/99", "http://10.0.0.1"),
    ("10.0.0.0/8:80", "http://10.0.0.1:81"),
    ("::1", "http://[::2]"),
    ("[::1]:80", "http://[::1]:81"),
    ("fc00::/7", "http://10.0.0.1"),
    ("0.0.0.0/0", "http://[::1]"),
]


@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
@pytest.mark.parametrize(
    ("no_proxy", "url", "is_direct"),
    [*((*row, True) for row in DIRECT), *((*row, False) for row in PROXIED)],
)
def test_no_proxy_excludes_hosts_networks_and_ports(
    environment, monkeypatch, no_proxy, url, is_direct, variable
):
    environment("http://127.0.0.1:1")
    monkeypatch.setenv(variable, no_proxy)

    assert (find_proxy(httpx.URL(url)) is None) is is_direct


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ({"HTTP_PROXY": "http://127.0.0.1:1"}, 1),
        ({"http_proxy": "http://127.0.0.1:1"}, 1),
        ({"http_proxy": "127.0.0.1:1"}, 1),
        ({"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:2"}, 2),
        ({"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": ""}, None),
        ({"all_proxy": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:2"}, 2),
        ({"ALL_PROXY": "http://127.0.0.1"}, 80),
        ({"ALL_PROXY": "https://127.0.0.1"}, 443),
        ({"ALL_PROXY": "socks5h://127.0.0.1"}, 1080),
        ({"HTTPS_PROXY": "http://127.0.0.1:1"}, None),
        # A header `Proxy:` of a CGI script's request must not name its proxy.
        ({"HTTP_PROXY": "http://127.0.0.1:1", "REQUEST_METHOD": "GET"}, None),
    ],
)
def test_the_proxy_is_that_of_the_scheme_in_either_case(monkeypatch, variables, port):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    proxy = find_proxy(httpx.URL("http://api.test"))

    assert (proxy and proxy.port) == port


async def test_an_excluded_call_goes_directly_with_its_credentials(
    environment, monkeypatch, recorder
):
    monkeypatch.setenv("NO_PROXY", f"10.0.0.0/8,127.0.0.0/8:{recorder.port}")
    async with LoopbackProxy() as proxy:
        environment(proxy, user="me:hunter2")
        result = await call_server(recorder.url, trust_env=True)

        assert proxy.requests == []
    assert result.success
    assert recorder.last.header("Proxy-Authorization") is None


def test_credentials_of_a_proxy_are_in_no_representation(environment):
    environment("http://127.0.0.1:1", user="me:hunter2")

    assert "hunter2" not in repr(find_proxy(httpx.URL("http://api.test")))
