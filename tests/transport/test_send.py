"""Sending: one deadline, one client for each loop, nothing carried from one call to the next."""

import asyncio
import gc
import gzip
import logging
import ssl
import threading
import warnings
from collections import Counter

import httpx
import httpx2
import pytest
import respx
from servers.faults import Faults, answer
from servers.recorder import Answer as Recorded
from servers.recorder import Recorder

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.settings import Settings
from openapi_tools.transport.sender import Sender

SECRET = "hunter2"


def get(url):
    return httpx.Request("GET", url)


async def echo(peer):
    """Answer with the target of the request, after a moment."""
    while True:
        request = await peer.request()
        await asyncio.sleep(0.001)
        await peer.write(answer(request.split(b" ")[1]))


async def hang(peer):
    await peer.request()
    await peer.hang()


async def hang_on_slow(peer):
    """Answer everything but requests for `/slow`."""
    while True:
        request = await peer.request()
        if b"/slow" in request:
            await peer.hang()
            return
        await peer.write(answer())


async def error_of(sender, request):
    with pytest.raises(CallError) as caught:
        await sender.send(request)
    return caught.value


async def test_an_answer_holds_what_was_sent():
    async with Recorder(Recorded(201, [("X-A", "1"), ("X-A", "2")], b"body")) as server:
        sender = Sender(Settings())

        got = await sender.send(httpx.Request("PUT", server.url + "/a%2Fb?c=d", content=b"x"))

        await sender.aclose()
    assert (got.method, got.path, got.status, got.content) == ("PUT", "/a%2Fb", 201, b"body")
    assert got.headers.get_list("x-a") == ["1", "2"]
    assert (got.redirects, got.cut) == (0, "")
    assert 0 < got.elapsed < 5
    assert server.last.raw.startswith(b"PUT /a%2Fb?c=d HTTP/1.1\r\n")


async def test_200_concurrent_calls_get_their_own_answers():
    sender = Sender(Settings(concurrency=20))
    async with Faults(echo) as server:
        answers = await asyncio.gather(*(sender.send(get(f"{server.url}/{i}")) for i in range(200)))
        await sender.aclose()

    assert [got.content for got in answers] == [f"/{i}".encode() for i in range(200)]
    assert server.connections <= 20


async def test_no_more_calls_than_allowed_are_under_way():
    most = now = 0

    async def count(peer):
        nonlocal most, now
        while True:
            await peer.request()
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.005)
            now -= 1
            await peer.write(answer())

    sender = Sender(Settings(concurrency=3))
    async with Faults(count) as server:
        await asyncio.gather(*(sender.send(get(server.url)) for _ in range(30)))
        await sender.aclose()

    assert most == 3


@pytest.mark.long
async def test_waiting_for_a_turn_counts_towards_the_deadline():
    sender = Sender(Settings(concurrency=2, timeout=2.0))
    async with Faults(hang_on_slow) as server:
        slow = [asyncio.create_task(error_of(sender, get(server.url + "/slow"))) for _ in "ab"]
        await server.until(lambda: len(server.requests) == 2)
        # Its own deadline comes long before the two calls under way end theirs.
        sender.settings = Settings(concurrency=2, timeout=0.2)
        waiting = await error_of(sender, httpx.Request("POST", server.url + "/new"))
        sender.settings = Settings(concurrency=2, timeout=5.0)
        await asyncio.gather(*slow)

        after = await sender.send(get(server.url + "/after"))
        await sender.aclose()

    assert waiting.kind == "timeout"
    assert waiting.reason.endswith("it was not sent, too many other calls are under way.")
    assert waiting.facts["retryable"] is True
    assert after.status == 200


async def test_cancelling_a_call_passes_and_the_next_call_works():
    sender = Sender(Settings())
    async with Faults(hang_on_slow) as server:
        task = asyncio.create_task(sender.send(get(server.url + "/slow")))
        await server.until(lambda: bool(server.requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        after = await sender.send(get(server.url))

        assert after.status == 200
        await server.until(lambda: server.hung_up == 1)
        await sender.aclose()


async def test_a_timeout_around_a_call_stays_outside():
    sender = Sender(Settings())
    async with Faults(hang) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await sender.send(get(server.url))
        await sender.aclose()


@pytest.mark.parametrize("ends", ["cancelled", "closed"])
async def test_a_call_that_is_over_and_cancelled_is_cancelled(ends):
    sender = Sender(Settings(timeout=60))

    async def call():
        async with sender.attempts("GET /"):
            await asyncio.Event().wait()

    task = asyncio.create_task(call())
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(sender.aclose()) if ends == "closed" else None
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    if closing is not None:
        await asyncio.wait_for(closing, 5)


async def test_a_failure_at_the_end_of_the_time_is_told():
    sender = Sender(Settings(timeout=0.05))

    async def call():
        async with sender.attempts("GET /"):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("x") from None

    with pytest.raises(ValueError, match="x"):
        await call()
    await sender.aclose()


async def test_closing_ends_the_calls_under_way_and_those_to_come():
    sender = Sender(Settings(concurrency=30))
    async with Faults(hang) as server:
        calls = [
            asyncio.create_task(error_of(sender, httpx.Request("POST", server.url + f"/{i}")))
            for i in range(50)
        ]
        await server.until(lambda: len(server.requests) == 30)
        await sender.aclose()
        errors = await asyncio.gather(*calls)
        later = await error_of(sender, get(server.url))
        await sender.aclose()

    assert {error.kind for error in [*errors, later]} == {"connection"}
    ends = [error.reason.rpartition("; ")[2] for error in errors]  # whichever were the first
    assert Counter(ends) == {"it may have run.": 30, "it was not sent.": 20}
    given_up = "was given up: the toolset is closed;"
    for number, (error, end) in enumerate(zip(errors, ends, strict=True)):
        assert error.reason == f"POST /{number} {given_up} {end}"
    assert later.reason == "GET / was given up: the toolset is closed; it was not sent."


async def test_closing_twice_at_once_is_closing_once():
    sender = Sender(Settings())
    async with Recorder() as server:
        await sender.send(get(server.url))

        await asyncio.gather(sender.aclose(), sender.aclose())


def test_several_loops_one_after_another_share_a_sender():
    sender = Sender(Settings())
    answers = []

    async def call():
        async with Recorder() as server:
            answers.append(await sender.send(get(server.url)))
            answers.append(await sender.send(get(server.url)))
            assert server.connections == 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(call())
        asyncio.run(call())
        gc.collect()

    assert [got.status for got in answers] == [200] * 4


def test_a_loop_that_ended_without_closing_its_generators_is_forgotten():
    sender = Sender(Settings())

    async def call():
        async with Recorder() as server:
            return (await sender.send(get(server.url))).status

    loop = asyncio.new_event_loop()
    first = loop.run_until_complete(call())
    loop.close()
    with warnings.catch_warnings():
        # Whoever closes a loop like that leaves sockets open, as with any asyncio program.
        warnings.simplefilter("ignore", ResourceWarning)
        second = asyncio.run(call())
        gc.collect()

    assert (first, second) == (200, 200)


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
        await server.until(lambda: len(server.requests) == 3)

        await sender.aclose()

        error = await asyncio.wrap_future(stuck)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    assert (here.status, there_status, error.kind) == (200, 200, "connection")


async def test_cookies_of_one_call_are_not_sent_by_the_next():
    answers = Recorded(200, [("Set-Cookie", "session=1; Path=/")], b"{}")
    async with Recorder(answers) as server:
        sender = Sender(Settings())

        await sender.send(get(server.url))
        await sender.send(get(server.url))

        await sender.aclose()
    assert server.last.header("Cookie") is None


async def test_the_environment_changes_nothing(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with Recorder() as server:
        sender = Sender(Settings())

        got = await sender.send(get(server.url))

        await sender.aclose()
    assert got.status == 200
    assert [name for name, _ in server.last.headers] == ["Host"]


async def test_a_users_client_is_used_as_it_is_and_left_open(library):
    headers = {"X-Tenant": "t1", "Accept": "text/plain"}
    async with (
        Recorder() as server,
        library.AsyncClient(
            headers=headers, auth=("user", "pw"), timeout=0.001, cookies={"a": "b"}
        ) as client,
    ):
        sender = Sender(Settings(), client)

        got = await sender.send(httpx.Request("GET", server.url, headers={"Accept": "text/csv"}))
        await sender.aclose()
        with pytest.raises(CallError, match="closed"):
            await sender.send(get(server.url))

        assert not client.is_closed
    assert got.status == 200
    assert server.last.header("X-Tenant") == "t1"
    assert server.last.header("Accept") == "text/csv"
    assert str(server.last.header("Authorization")).startswith("Basic ")
    assert server.last.header("Cookie") is None


async def test_a_users_client_does_not_follow_redirects_for_us(library):
    async with (
        Recorder(Recorded(302, [("Location", "http://127.0.0.1:1/")])) as server,
        library.AsyncClient(follow_redirects=True) as client,
    ):
        error = await error_of(Sender(Settings(), client), get(server.url))

    assert error.kind == "redirect"


async def test_a_users_closed_client_is_a_connection_error(library):
    client = library.AsyncClient()
    await client.aclose()

    error = await error_of(Sender(Settings(), client), get("http://127.0.0.1/"))

    assert error.kind == "connection"
    assert "is closed" in error.reason


@pytest.mark.parametrize(
    "client",
    [httpx.Client(), httpx2.Client(), httpx.AsyncClient, httpx2.AsyncClient, object(), "client"],
    ids=["sync", "sync of httpx2", "class", "class of httpx2", "object", "text"],
)
def test_what_cannot_send_under_asyncio_is_refused_at_once(client):
    with pytest.raises(SettingsError, match=r"give an httpx\.AsyncClient or an httpx2\."):
        Sender(Settings(), client)


async def test_what_has_the_coroutines_of_a_client_is_one():
    class Wrapper:
        """Someone's own client around httpx's."""

        def __init__(self, inner):
            self.inner = inner
            self.headers = inner.headers

        async def send(self, request, **options):
            return await self.inner.send(request, **options)

        async def aclose(self):
            """Leave the inner one open."""

    async with Recorder() as server, httpx.AsyncClient() as inner:
        got = await Sender(Settings(), Wrapper(inner)).send(get(server.url))

    assert got.status == 200


async def test_a_mistake_in_a_transport_is_logged_and_not_called_a_fault_of_the_network(
    caplog, library
):
    def handle(request):
        return None.nothing

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        request = httpx.Request("POST", "http://api.test/pets?key=x")
        with caplog.at_level(logging.ERROR, logger="openapi_tools"):
            error = await error_of(Sender(Settings(), client), request)

    assert error.kind == "protocol"
    assert error.reason == "POST /pets failed in the HTTP client (AttributeError); see the log."
    assert error.facts["retryable"] is False
    (record,) = caplog.records
    # As text, once secrets are known: the frames of a traceback hold values.
    assert record.exc_info is not None or "AttributeError" in (record.exc_text or "")


@pytest.mark.parametrize(
    "raised", [httpx.ReadError("x"), OSError("x"), TimeoutError("x")], ids=repr
)
async def test_a_fault_of_the_network_is_not_logged(raised, caplog, library):
    def handle(request):
        raise named_alike(raised, library)

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        await error_of(Sender(Settings(), client), get("http://api.test/"))

    assert caplog.records == []


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
        (UnicodeEncodeError("ascii", SECRET, 0, 1, SECRET), "protocol"),
        (KeyError(SECRET), "protocol"),
        (RuntimeError(SECRET), "protocol"),
        (AssertionError(SECRET), "protocol"),
        (EOFError(SECRET), "connection"),
        (ZeroDivisionError(SECRET), "protocol"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)  # fmt: skip
async def test_whatever_a_transport_raises_is_an_error_without_its_words(raised, kind, library):
    def handle(request):
        raise named_alike(raised, library)

    async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
        request = httpx.Request("POST", f"http://u:{SECRET}@api.test/pets?key={SECRET}")
        error = await error_of(Sender(Settings(), client), request)

    assert error.kind == kind
    assert error.reason.startswith("POST /pets")
    assert SECRET not in error.reason


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_passes(raised, library):
    def handle(request):
        raise raised

    async def call():
        async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
            await Sender(Settings(), client).send(get("http://api.test/"))

    with pytest.raises(raised):
        asyncio.run(call())


def test_without_an_event_loop_of_asyncio_there_is_an_error():
    coroutine = Sender(Settings()).send(get("http://api.test/"))

    with pytest.raises(CallError, match="asyncio"):
        coroutine.send(None)


async def test_a_name_that_does_not_resolve_says_so():
    sender = Sender(Settings())

    error = await error_of(sender, get("http://no-such-host.invalid/x"))

    await sender.aclose()
    assert error.kind == "connection"
    assert error.reason.startswith("GET /x: no connection to no-such-host.invalid (")
    assert error.facts["retryable"] is True


class Drip(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    """A body of a transport without sockets."""

    def __init__(self, pieces):
        self.pieces = pieces
        self.closed = False

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece

    async def aclose(self):
        self.closed = True


def answering(library, **answered):
    """Return a client that gives the same answer to each request."""
    transport = library.MockTransport(lambda request: library.Response(200, **answered))
    return library.AsyncClient(transport=transport)


PACKED = gzip.compress(b'{"a":1}')


@pytest.mark.parametrize(
    "answered",
    [
        lambda _: {"json": {"a": 1}},
        lambda _: {"content": b'{"a":1}'},
        lambda _: {"content": PACKED, "headers": {"Content-Encoding": "gzip"}},
        lambda _: {"stream": Drip([b'{"a"', b":1}"])},
        lambda _: {"stream": Drip([PACKED]), "headers": {"Content-Encoding": "gzip"}},
        lambda library: {"stream": library.ByteStream(b'{"a":1}')},
    ],
    ids=["json", "content", "gzip", "async stream", "stream of gzip", "byte stream"],
)
async def test_answers_of_mock_transports_are_read(answered, library):
    async with answering(library, **answered(library)) as client:
        got = await Sender(Settings(), client).send(get("http://api.test/"))

    assert got.content.replace(b" ", b"") == b'{"a":1}'


async def test_a_mock_that_answers_too_much_is_too_large(library):
    async with answering(library, content=b"x" * 101) as client:
        error = await error_of(
            Sender(Settings(max_response_bytes=100), client), get("http://api.test/")
        )

    assert error.kind == "too_large"


async def test_a_body_that_is_not_wanted_is_closed(library):
    body = Drip([b"x" * 60] * 10)
    async with answering(library, stream=body) as client:
        await error_of(Sender(Settings(max_response_bytes=100), client), get("http://api.test/"))

    assert body.closed


async def test_a_hook_of_a_users_client_may_read_the_answer(library):
    seen = []

    async def look(response):
        seen.append(await response.aread())

    packed = Recorded(200, [("Content-Encoding", "gzip")], PACKED)
    async with (
        Recorder(packed) as server,
        library.AsyncClient(event_hooks={"response": [look]}) as client,
    ):
        got = await Sender(Settings(), client).send(get(server.url))

    assert seen == [b'{"a":1}']
    assert got.content == b'{"a":1}'
    assert got.headers["Content-Encoding"] == "gzip"


async def test_a_call_through_a_users_client_ends_at_its_deadline_and_leaves_no_connection(library):
    async with Faults(hang) as server, library.AsyncClient(timeout=None) as client:
        error = await error_of(Sender(Settings(timeout=0.2), client), get(server.url))
        await server.until(lambda: server.hung_up == 1)

    assert error.kind == "timeout"


async def test_a_stream_of_events_through_a_users_client_is_cut_at_the_deadline(library):
    async def events(peer):
        await peer.request()
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        await peer.hang()

    async with Faults(events) as server, library.AsyncClient() as client:
        got = await Sender(Settings(timeout=0.5), client).send(get(server.url))

    assert (got.content, got.cut) == (b"data: 1\n\n", "timeout")


async def test_an_answer_that_breaks_off_under_a_users_client_is_a_broken_connection(library):
    async def broken(peer):
        await peer.request()
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")

    async with Faults(broken) as server, library.AsyncClient() as client:
        error = await error_of(Sender(Settings(), client), get(server.url))

    assert error.kind == "connection"
    assert error.facts["retryable"] is True


@pytest.mark.parametrize("reads", [True, False], ids=["read for it", "reads by itself"])
async def test_the_auth_of_a_users_client_may_ask_for_a_token(library, reads):
    async def serve(peer):
        while True:
            request = await peer.request()
            if b"POST /token" in request:
                await peer.write(answer(gzip.compress(b"t-1"), "Content-Encoding: gzip"))
            elif b"Bearer t-1" in request:
                await peer.write(answer(request.rpartition(b"\r\n")[2]))
            else:
                await peer.write(answer(b"first a token", status="401 Unauthorized"))

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


async def test_headers_and_auth_that_a_users_client_is_given_later_are_used(library):
    async with Recorder() as server, library.AsyncClient() as client:
        sender = Sender(Settings(), client)
        client.headers["X-Tenant"] = "t2"
        client.auth = ("user", "pw")
        await sender.send(get(server.url))

    assert server.last.header("X-Tenant") == "t2"
    assert str(server.last.header("Authorization")).startswith("Basic ")


async def test_a_users_client_sends_what_the_own_one_does(library):
    target = "/a%2Fb/%7E;x='1'/é?q=%20+[]&r=%C3%A9|"
    async with Recorder() as server, library.AsyncClient() as client:
        senders = [Sender(Settings()), Sender(Settings(), client)]
        for sender in senders:
            headers = [("X-Odd", "é".encode("latin-1")), ("x-odd", "2")]
            url = f"{server.url}{target}"
            await sender.send(httpx.Request("POST", url, headers=headers, json={"a": [1]}))
        await senders[0].aclose()
        own, users = server.requests

    assert (users.target, users.body) == (own.target, own.body)
    assert users.headers[: len(own.headers)] == own.headers


@respx.mock
async def test_respx_answers_our_own_client():
    respx.get("http://api.test/pets").respond(json=[1])
    sender = Sender(Settings())

    got = await sender.send(get("http://api.test/pets"))

    await sender.aclose()
    assert got.content == b"[1]"


@pytest.mark.long
async def test_a_thousand_failing_calls_leave_no_connection_open(transport):
    async def close(peer):
        await peer.request()

    sender = Sender(Settings(concurrency=50, transport=transport))
    async with Faults(close) as server:
        errors = await asyncio.gather(*(error_of(sender, get(server.url)) for _ in range(1000)))
        here = await sender.of_this_loop()

        assert {error.kind for error in errors} == {"connection"}
        assert here.under_way == set()
        assert not here.client._transport._open
        await sender.aclose()
