"""Sending: one deadline, one client for each loop, nothing carried from one call to the next."""

import asyncio
import contextlib
import gc
import gzip
import ssl
import threading
import warnings

import httpx
import httpx2
import pytest
from servers.documents import call_server, document, parameter
from servers.faults import Faults, hang, make_response, reply_with, stalling
from servers.recorder import CannedResponse as Recorded
from servers.recorder import Recorder

from openapi_tools import Settings, load_tools
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.transport import Sender

SECRET = "hunter2"
OK = b"HTTP/1.1 200 OK\r\n"


def get(url):
    return httpx.Request("GET", url)


async def hang_on_slow(peer):
    """Respond to everything but requests for `/slow`."""
    while b"/slow" not in await peer.request():
        await peer.write(make_response())
    await peer.hang()


@contextlib.asynccontextmanager
async def sending(client=None, **settings):
    sender = Sender(Settings(**settings), client)
    yield sender
    await sender.aclose()


async def error_of(sender, request):
    with pytest.raises(CallError) as caught:
        await sender.send(request)
    return caught.value


@pytest.mark.parametrize("allowed", [1, 20], ids=["in turn", "at once"])
async def test_no_more_calls_than_allowed_are_under_way_and_each_has_its_own_response(allowed):
    most = now = 0

    async def count(peer):
        nonlocal most, now
        while True:
            path = (await peer.request()).split(b" ")[1]
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001 * (int(path[1:]) % 3))  # so that later ones come first
            now -= 1
            await peer.write(make_response(path))

    async with Faults(count) as server, sending(concurrency=allowed) as sender:
        responses = await asyncio.gather(
            *(sender.send(get(f"{server.url}/{i}")) for i in range(60))
        )

    assert [got.content for got in responses] == [f"/{i}".encode() for i in range(60)]
    assert most <= server.connections == allowed


@pytest.mark.long
async def test_waiting_for_a_turn_counts_towards_the_deadline():
    async with Faults(hang_on_slow) as server, sending(concurrency=2, timeout=1.0) as sender:
        slow = [asyncio.create_task(error_of(sender, get(server.url + "/slow"))) for _ in "ab"]
        await server.wait_until(lambda: len(server.requests) == 2)
        # Its own deadline comes long before the two calls under way end theirs.
        sender.settings = Settings(concurrency=2, timeout=0.2)
        waiting = await error_of(sender, httpx.Request("POST", server.url + "/new"))
        sender.settings = Settings(concurrency=2, timeout=5.0)
        await asyncio.gather(*slow)

        after = await sender.send(get(server.url + "/after"))

    assert waiting.kind == "timeout"
    assert waiting.reason.endswith("it was not sent, because too many other calls are running.")
    assert waiting.facts["retryable"] is True
    assert after.status == 200


@pytest.mark.parametrize("closing", [False, True], ids=["cancelled", "closed and cancelled"])
@pytest.mark.parametrize(
    "sent", [b"", OK[:9], OK + b"Content-Length: 4\r\n\r\n{}"], ids=["nothing", "head", "body"]
)
async def test_a_cancelled_call_is_cancelled_and_leaves_no_connection(sent, closing):
    async with Faults(stalling(sent)) as server:
        settings = Settings(base_url=server.url)
        async with load_tools(document(), settings=settings) as toolset:
            task = asyncio.create_task(toolset["call"].execute({}))
            await server.wait_until(lambda: bool(server.requests))
            await asyncio.sleep(0.01)
            if closing:
                closed = asyncio.create_task(toolset.aclose())
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.wait_until(lambda: server.hung_up == 1)

            if closing:
                await asyncio.wait_for(closed, 5)
            else:
                assert (await toolset["call"].execute({})).success


async def test_a_timeout_around_a_call_stays_outside():
    async with Faults(hang) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await call_server(server.url)


@pytest.mark.long
@pytest.mark.parametrize("well", [True, False], ids=["well", "with its generators open"])
def test_several_loops_one_after_another_share_a_sender_whichever_way_they_end(well):
    sender = Sender(Settings())
    responses = []

    async def call():
        async with Recorder() as server:
            responses.append(await sender.send(get(server.url)))
            responses.append(await sender.send(get(server.url)))
            assert server.connections == 1

    async def call_and_close():
        await call()
        await asyncio.gather(sender.aclose(), sender.aclose())

    with warnings.catch_warnings():
        # Whoever closes a loop with open generators leaves sockets open.
        warnings.simplefilter("error" if well else "ignore", ResourceWarning)
        if well:
            asyncio.run(call())
        else:
            loop = asyncio.new_event_loop()
            loop.run_until_complete(call())
            loop.close()
        asyncio.run(call_and_close())
        gc.collect()

    assert [got.status for got in responses] == [200] * 4


async def test_a_loop_in_another_thread_has_a_client_of_its_own():
    sender = Sender(Settings())
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    async with Faults(hang_on_slow) as server:
        here = await sender.send(get(server.url))
        there = asyncio.run_coroutine_threadsafe(sender.send(get(server.url)), loop)
        there_status = (await asyncio.wrap_future(there)).status
        stuck = asyncio.run_coroutine_threadsafe(error_of(sender, get(server.url + "/slow")), loop)
        await server.wait_until(lambda: len(server.requests) == 3)

        await sender.aclose()

        error = await asyncio.wrap_future(stuck)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    assert (here.status, there_status, error.kind) == (200, 200, "connection")


async def test_neither_the_environment_nor_cookies_of_earlier_calls_are_sent(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    cookie = Recorded(200, [("Set-Cookie", "session=1; Path=/")], b"{}")
    async with Recorder(cookie) as server, sending() as sender:
        for _ in range(2):
            await sender.send(get(server.url))

    assert [[name for name, _ in sent.headers] for sent in server.requests] == [["Host"]] * 2


async def test_a_users_client_is_used_as_it_is_and_left_open(library, recorder):
    headers = {"x-a": "client", "Accept": "no", "content-length": "9", "X-B": "more"}
    api = document(method="post", parameters=[parameter("header", "X-A")])
    async with library.AsyncClient(headers=headers, timeout=0.001, cookies={"a": "b"}) as client:
        settings = Settings(base_url=recorder.url)
        async with load_tools(api, settings=settings, client=client) as toolset:
            client.headers["X-Later"] = "t2"
            client.auth = ("user", "pw")
            result = await toolset["call"].execute({"X_A": "tool"})

        assert not client.is_closed
    sent = recorder.last
    assert result.success
    assert [sent.header(name) for name in ("x-a", "x-b", "x-later")] == ["tool", "more", "t2"]
    assert [sent.header(name) for name in ("Content-Length", "Cookie")] == ["0", None]
    assert sent.header("Accept") != "no"
    assert str(sent.header("Authorization")).startswith("Basic ")


async def test_a_users_closed_client_is_a_connection_error(library):
    client = library.AsyncClient()
    await client.aclose()

    result = await call_server("http://127.0.0.1/", client=client)

    assert result.error["type"] == "connection"
    assert "is closed" in result.output


@pytest.mark.parametrize(
    "client",
    [httpx.Client(), httpx2.Client(), httpx.AsyncClient, httpx2.AsyncClient, object(), "client"],
    ids=["sync", "sync of httpx2", "class", "class of httpx2", "object", "text"],
)
def test_what_cannot_send_under_asyncio_is_refused_at_once(client):
    with pytest.raises(SettingsError, match=r"pass an httpx\.AsyncClient or an httpx2\."):
        load_tools(document(), client=client)


async def test_what_has_the_coroutines_of_a_client_is_one(recorder):
    class Wrapper:
        """A client around httpx's."""

        def __init__(self, inner):
            self.inner = inner
            self.headers = inner.headers

        async def send(self, request, **options):
            return await self.inner.send(request, **options)

        async def aclose(self):
            """Leave the inner one open."""

    async with httpx.AsyncClient() as inner:
        result = await call_server(recorder.url, client=Wrapper(inner))

    assert result.success


class OddError(OSError):
    """Of a transport that someone wrote."""


def named_alike(error, library):
    """Return an exception of httpx as the one of that name in a package; others as they are."""
    kind = getattr(library, type(error).__name__, None)
    if kind is None:
        return error
    return kind() if isinstance(error, httpx.StreamError) else kind(*error.args)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (httpx.ConnectTimeout(SECRET), "timeout"),
        (httpx.ReadTimeout(SECRET), "timeout"),
        (httpx.PoolTimeout(SECRET), "timeout"),
        (TimeoutError(SECRET), "timeout"),
        (httpx.ConnectError("refused"), "connection"),
        (httpx.ReadError(SECRET), "connection"),
        (httpx.WriteError(SECRET), "connection"),
        (httpx.CloseError(SECRET), "connection"),
        (httpx.NetworkError(SECRET), "connection"),
        (httpx.ProxyError("proxy said no"), "connection"),
        (httpx.RemoteProtocolError(f"illegal line {SECRET}"), "protocol"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."),
         "connection"),
        (httpx.LocalProtocolError(f"Illegal header value {SECRET}"), "protocol"),
        (httpx.UnsupportedProtocol(SECRET), "protocol"),
        (httpx.InvalidURL(SECRET), "redirect"),  # raised over a `Location`
        (httpx.DecodingError(SECRET), "decode"),
        (httpx.TooManyRedirects(SECRET), "connection"),
        (httpx.StreamConsumed(), "connection"),
        (OddError(SECRET), "connection"),
        (ssl.SSLError(SECRET), "connection"),
        (ConnectionResetError(SECRET), "connection"),
        (EOFError(SECRET), "connection"),
        (UnicodeEncodeError("ascii", SECRET, 0, 1, SECRET), "a mistake"),
        (AttributeError(SECRET), "a mistake"),
        (KeyError(SECRET), "a mistake"),
        (RuntimeError(SECRET), "a mistake"),
        (AssertionError(SECRET), "a mistake"),
        (ZeroDivisionError(SECRET), "a mistake"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)  # fmt: skip
async def test_whatever_a_transport_raises_is_an_error_without_its_words_and_mistakes_are_logged(
    raised, kind, library, caplog
):
    def handle(request):
        raise named_alike(raised, library)

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        request = httpx.Request("POST", f"http://u:{SECRET}@api.test/pets?key={SECRET}")
        error = await error_of(Sender(Settings(), client), request)

    if kind == "a mistake":
        name = type(raised).__name__
        assert error.reason == f"POST /pets failed in the HTTP client ({name}); see the log."
        assert (error.kind, error.facts["retryable"]) == ("protocol", False)
        # As text, once secrets are known: the frames of a traceback hold values.
        assert [bool(r.exc_info) or name in (r.exc_text or "") for r in caplog.records] == [True]
    else:
        assert (error.kind, caplog.records) == (kind, [])
        assert error.reason.startswith("POST /pets")
        assert SECRET not in error.reason


def test_without_an_event_loop_of_asyncio_there_is_an_error():
    coroutine = Sender(Settings()).send(get("http://api.test/"))

    with pytest.raises(CallError, match="asyncio"):
        coroutine.send(None)


class Drip(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """A body of a transport without sockets."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.closed = False

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece

    async def aclose(self):
        self.closed = True


PACKED = gzip.compress(b'{"a":1}')
GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("make_options", "expected"),
    [
        (lambda _: {"json": {"a": 1}}, {"a": 1}),
        (lambda _: {"content": b'{"a":1}'}, {"a": 1}),
        (lambda _: {"content": PACKED, "headers": GZIP}, {"a": 1}),
        (lambda _: {"stream": Drip(b'{"a"', b":1}")}, {"a": 1}),
        (lambda _: {"stream": Drip(PACKED), "headers": GZIP}, {"a": 1}),
        (lambda library: {"stream": library.ByteStream(b'{"a":1}')}, {"a": 1}),
        (lambda _: {"content": b"x" * 101}, "too_large"),
        (lambda _: {"stream": Drip(b"x" * 60, b"x" * 60)}, "too_large"),
    ],
    ids=["json", "content", "gzip", "stream", "stream of gzip", "bytes", "much", "stream of much"],
)
async def test_responses_of_mock_transports_are_read_to_the_limit_and_closed(
    make_options, expected, library
):
    options = make_options(library)
    transport = library.MockTransport(lambda request: library.Response(200, **options))
    async with library.AsyncClient(transport=transport) as client:
        result = await call_server("http://api.test", client=client, max_response_bytes=100)

    assert (result.output if result.success else result.error["type"]) == expected
    assert getattr(options.get("stream"), "closed", True)


async def test_a_hook_of_a_users_client_may_read_the_response(library):
    seen = []

    async def look(response):
        seen.append(await response.aread())

    packed = Recorded(200, [("Content-Encoding", "gzip")], PACKED)
    hooks = {"response": [look]}
    async with Recorder(packed) as server, library.AsyncClient(event_hooks=hooks) as client:
        result = await call_server(server.url, client=client)

    assert seen == [b'{"a":1}']
    assert result.output == {"a": 1}


EVENTS = OK + b"Content-Type: text/event-stream\r\n\r\ndata: 1\n\n"
AWAY = make_response(b"", "Location: http://127.0.0.1:1/", status="302 Found")


@pytest.mark.parametrize(
    ("behave", "expected"),
    [
        (hang, "timeout"),
        (stalling(EVENTS), [{"data": 1}, "… the stream was longer; the timeout expired"]),
        (reply_with(OK + b"Content-Length: 9\r\n\r\n{"), "connection"),
        (reply_with(AWAY), "redirect"),
    ],
    ids=["nothing", "endless events", "half an answer", "a redirect elsewhere"],
)
async def test_a_call_through_a_users_client_ends_as_others_and_leaves_no_connection(
    behave, expected, library
):
    options = {"timeout": None, "follow_redirects": True}
    async with Faults(behave) as server, library.AsyncClient(**options) as client:
        result = await call_server(server.url, client=client, timeout=0.3)
        await server.wait_until(lambda: server.ended == server.connections == 1)

    assert (result.output if result.success else result.error["type"]) == expected


@pytest.mark.parametrize("reads", [True, False], ids=["read for it", "reads by itself"])
async def test_the_auth_of_a_users_client_may_ask_for_a_token(library, reads):
    async def serve(peer):
        while True:
            request = await peer.request()
            if b"POST /token" in request:
                await peer.write(make_response(gzip.compress(b"t-1"), "Content-Encoding: gzip"))
            elif b"Bearer t-1" in request:
                await peer.write(make_response(request.rpartition(b"\r\n")[2]))
            else:
                await peer.write(make_response(b"first a token", status="401 Unauthorized"))

    class Asking(library.Auth):
        requires_request_body = True
        requires_response_body = reads

        async def async_auth_flow(self, request):
            response = yield request
            assert await response.aread() == b"first a token"
            response = yield library.Request("POST", f"{server.url}/token", content=b"mine")
            request.headers["Authorization"] = f"Bearer {(await response.aread()).decode()}"
            yield request

    async with Faults(serve) as server, library.AsyncClient(auth=Asking()) as client:
        request = httpx.Request("POST", f"{server.url}/pets", content=b"rex")
        got = await Sender(Settings(), client).send(request)

    assert (got.status, got.content) == (200, b"rex")
    assert [sent.split(b" ")[1] for sent in server.requests] == [b"/pets", b"/token", b"/pets"]


async def test_a_users_client_sends_what_the_own_one_does(library, recorder):
    url = f"{recorder.url}/a%2Fb/%7E;x='1'/é?q=%20+[]&r=%C3%A9|"
    headers = [("X-Odd", "é".encode("latin-1")), ("x-odd", "2")]
    async with library.AsyncClient() as client:
        for user_client in (None, client):
            async with sending(user_client) as sender:
                await sender.send(httpx.Request("POST", url, headers=headers, json={"a": [1]}))
    ours, users = recorder.requests

    assert (users.target, users.body) == (ours.target, ours.body)
    assert users.headers[: len(ours.headers)] == ours.headers
