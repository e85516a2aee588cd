"""TLS: the server is who it says it is, or there is no call; clients may have to say so, too."""

import asyncio
import ssl

import pytest
import trustme
from servers.documents import call_server, document
from servers.faults import Faults
from servers.tls import OK, Authority, TlsServer

from openapi_tools import Context, Settings, load_tools
from openapi_tools.transport import tls_contexts
from openapi_tools.transport.connection_pool import make_client
from openapi_tools.transport.tls_contexts import client_tls_context, server_tls_context

MUTUAL = document(security=[{"cert": []}, {}])
MUTUAL["components"] = {"securitySchemes": {"cert": {"type": "mutualTLS"}}}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The authority that the tools trust."""
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """An authority that nobody here trusts."""
    return Authority(tmp_path_factory.mktemp("theirs"), "theirs")


async def called_with(server, *certificates, **settings):
    """Return the results of calls one after another, each with a client certificate or None."""
    all_settings = Settings(base_url=server.url, timeout=5.0, **settings)
    contexts = [Context(credentials={"cert": one} if one else {}) for one in certificates]
    async with load_tools(MUTUAL, settings=all_settings) as toolset:
        return [await toolset["call"].execute({}, context=one) for one in contexts]


def lonely(folder):
    """Return the context of a server whose certificate signs itself."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(folder / "cert.pem")
    authority.private_key_pem.write_to_path(folder / "key.pem")
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.mark.parametrize(
    ("host", "context", "words"),
    [
        ("127.0.0.1", lambda ours, _: ours.server(expired=True), "certificate has expired"),
        ("127.0.0.1", lambda ours, _: ours.server("other.example"), "not valid for '127.0.0.1'"),
        ("127.0.0.1", lambda _, theirs: theirs.server(), "unable to get local issuer certificate"),
        ("localhost", lambda ours, _: ours.server(subject="localhost"), "valid for 'localhost'"),
        ("127.0.0.1", lambda ours, theirs: ours.server(clients=theirs),
         "the server asks for a client certificate"),
        ("127.0.0.1", lambda ours, _: lonely(ours.file.parent), "self-signed certificate"),
    ],
    ids=["expired", "another host", "another authority", "a common name", "none of the client's",
         "self-signed"],
)  # fmt: skip
async def test_a_certificate_that_is_not_accepted_is_a_connection_error(
    host, context, words, ours, theirs
):
    with TlsServer(context(ours, theirs)) as server:
        result = await call_server(server.url.replace("127.0.0.1", host), ca_file=ours.file)

    assert result.error["type"] == "connection"
    assert words in result.output
    assert server.requests == []


@pytest.mark.parametrize("early", [True, False], ids=["before TLS begins", "as an answer"])
async def test_plain_http_behind_an_https_address_is_not_taken(early, ours):
    pieces = []

    async def speak(peer):
        if not early:
            pieces.append(await peer._reader.read(65536))
        await peer.write(OK)
        pieces.append(await peer._reader.read(65536))

    async with Faults(speak) as server:
        result = await call_server(server.url.replace("http:", "https:"), ca_file=ours.file)
        await server.wait_until(lambda: server.ended == 1)

    assert result.error["type"] == "connection"
    is_named = "the server does not use TLS" in result.output
    assert is_named or (early and "before TLS began" in result.output)
    assert not any(b"HTTP" in words for words in pieces)  # no fallback
    assert server.connections == 1


async def test_tls_behind_an_http_address_is_an_error(ours):
    with TlsServer(ours.server()) as server:
        result = await call_server(server.url.replace("https:", "http:"), ca_file=ours.file)

    assert result.error["type"] in ("connection", "protocol")
    assert server.requests == []
    assert server.failures


async def test_a_handshake_that_never_ends_ends_at_the_deadline():
    async def drip(peer):
        await peer.write(b"\x16\x03\x03\x40\x00")
        await peer.write_forever(b"a", pause=0.02)

    async with Faults(drip) as server:
        result = await call_server(server.url.replace("http:", "https:"), timeout=0.2)
        await server.wait_until(lambda: server.ended == 1)

    assert result.error["type"] == "timeout"


async def test_the_environment_adds_no_authority_unless_it_is_trusted(ours, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(ours.file))
    with TlsServer(ours.server()) as server:
        refused = await call_server(server.url)
        result = await call_server(server.url, trust_env=True)

    assert refused.error["type"] == "connection"
    assert result.success, result


def test_tls_is_strict_and_writes_no_keys(monkeypatch, tmp_path):
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    tls_contexts._shared_context.cache_clear()

    context = server_tls_context(Settings())

    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.keylog_filename is None
    assert context.get_ca_certs()


@pytest.mark.parametrize("text", [None, "no PEM"], ids=["absent", "not PEM"])
async def test_authorities_that_cannot_be_read_are_an_error_result(text, tmp_path):
    path = tmp_path / "authorities.pem"
    if text is not None:
        path.write_text(text)

    result = await call_server("https://127.0.0.1:9", ca_file=path)

    assert result.error["type"] == "connection"
    assert "Settings(ca_file=…)" in result.output
    assert str(tmp_path) not in result.output


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_authorities_of_the_environment_that_are_not_there_accept_nobody(
    name, ours, tmp_path, monkeypatch
):
    for other in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, str(tmp_path / "absent"))
    with TlsServer(ours.server()) as server:
        result = await call_server(server.url, trust_env=True)

    assert result.error["type"] == "connection"
    assert server.requests == []


async def test_a_changed_file_of_authorities_is_read_again(ours, theirs, tmp_path):
    path = tmp_path / "authorities.pem"
    path.write_bytes(theirs.file.read_bytes())
    with TlsServer(ours.server()) as server:
        before = await call_server(server.url, ca_file=path)
        path.write_bytes(theirs.file.read_bytes() + ours.file.read_bytes())
        after = await call_server(server.url, ca_file=path)

    assert before.error["type"] == "connection"
    assert after.success, after


async def test_a_client_certificate_is_presented_only_by_calls_that_have_it(ours, theirs):
    optional = ours.server(clients=theirs)
    optional.verify_mode = ssl.CERT_OPTIONAL
    context = client_tls_context(theirs.client(), ca_file=ours.file)
    with TlsServer(optional) as server:
        trust = {"ca_file": ours.file}
        await called_with(server, None, context, None, context, **trust)

    assert ["client@example.com" in subject for subject, _ in server.requests] == [False, True] * 2
    assert server.greeted == 2


async def test_two_client_certificates_do_not_share_a_connection(ours, theirs):
    one, other = (client_tls_context(theirs.client(), ca_file=ours.file) for _ in range(2))
    with TlsServer(ours.server(clients=theirs)) as server:
        await called_with(server, one, other, one, other, ca_file=ours.file)

    assert (len(server.requests), server.greeted) == (4, 2)


def test_nobody_is_asked_for_the_password_of_a_key(ours, monkeypatch):
    passwords = []
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", lambda *args: passwords.append(args[3]))

    client_tls_context(ours.client())

    assert passwords == [""]  # with None, OpenSSL would wait at the terminal


async def test_a_foreign_client_certificate_is_named_and_does_not_make_a_server_trusted(
    ours, theirs
):
    trust = {"ca_file": ours.file}
    with TlsServer(ours.server(clients=theirs)) as server, TlsServer(theirs.server()) as other:
        (refused,) = await called_with(server, {"cert": ours.client()}, **trust)
        (refusing,) = await called_with(other, {"cert": ours.client()}, **trust)

    assert refused.error["type"] == refusing.error["type"] == "connection"
    assert "not accept the client cert" in refused.output
    assert "not trusted" in refusing.output
    assert server.requests == other.requests == []


@pytest.mark.parametrize(
    "files",
    [
        {"cert": "absent.pem"},
        {"cert": "no.pem"},
        {"cert": "locked.pem"},
        {"cert": "locked.pem", "password": "hunter2"},
        {"cert": "locked.pem", "key": "other.pem"},
        {"cert": "good.pem", "ca_file": "absent.pem"},
    ],
    ids=["absent", "no PEM", "no password", "wrong password", "another key", "no authority"],
)
async def test_a_client_certificate_that_cannot_be_used_is_refused_without_its_password(
    files, ours, theirs, tmp_path
):
    from cryptography.hazmat.primitives import serialization

    plain = ours.client().read_bytes()
    (tmp_path / "no.pem").write_text("nothing")
    (tmp_path / "good.pem").write_bytes(plain)
    (tmp_path / "other.pem").write_bytes(theirs.client().read_bytes())
    locked = serialization.load_pem_private_key(plain, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"s3cret"),
    )
    (tmp_path / "locked.pem").write_bytes(plain[plain.index(b"-----BEGIN CERT") :] + locked)
    cert = {name: tmp_path / file for name, file in files.items() if name in ("cert", "key")}
    cert |= {"password": files["password"]} if "password" in files else {}
    authorities = tmp_path / files.get("ca_file", "good.pem")
    with TlsServer(ours.server()) as server:
        (result,) = await called_with(server, cert, ca_file=authorities)

    assert result.error["type"] == "credentials"
    assert "the client certificate cannot be used" in result.output or "ca_file" in files
    assert "hunter2" not in f"{result}{result.error}{result.metadata}"
    assert server.requests == []


async def test_a_large_response_over_tls_arrives_whole(ours):
    body = b"x" * 3 * 2**20
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
    with TlsServer(ours.server(), head + body) as server:
        trust = {"ca_file": ours.file}
        results = await called_with(server, None, None, None, **trust)

    assert [result.metadata["truncated"]["chars"] for result in results] == [len(body)] * 3
    assert server.greeted == 1  # nothing is left over that would look like a second response


async def test_a_second_response_that_comes_later_over_tls_is_nobodys(ours):
    with TlsServer(ours.server(), later=OK.replace(b"{}", b"[]")) as server:
        async with make_client(Settings(ca_file=ours.file)) as client:
            for _ in range(3):
                assert (await client.get(server.url)).content == b"{}"
                assert await asyncio.to_thread(server.sent_later.wait, 20)
                server.sent_later.clear()

    assert server.greeted == 3
