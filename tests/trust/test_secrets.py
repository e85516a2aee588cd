"""A secret of every scheme leaves by no way but the request to its own server."""

import asyncio
import base64
import contextlib
import copy
import io
import json
import logging
import pickle
import sys
import traceback
from functools import reduce
from urllib.parse import quote, quote_plus

import httpx
import pytest
from documents import document, operation
from pydantic import SecretStr
from rich.console import Console
from rich.traceback import Traceback
from servers.faults import Faults, hang, make_response
from servers.recorder import CannedResponse
from trust.promises import listening, with_token_at

from openapi_tools import (
    CredentialsError,
    NotPicklableError,
    OAuth2,
    Settings,
    ToolResult,
    aload_tools,
    load_tools,
)
from openapi_tools.testing import mock_client

SECRET = "s3cr3t/+Value=&<k>"
COOKIE = "s3cr3t/+Value=k"  # the characters that a cookie may have
SCHEMES = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "digest": {"type": "http", "scheme": "digest"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "other": {"type": "http", "scheme": "token"},
    "oauth": with_token_at("/t"),
}
VALUES = {
    **dict.fromkeys(SCHEMES, SECRET),
    "cookie": COOKIE,
    "basic": ("me", SECRET),
    "digest": ("me", SECRET),
    "oauth": OAuth2(client_id="me", client_secret=SECRET),
}
TOKEN = b'{"access_token": "t0ken-of-the-day", "token_type": "bearer"}'
DEAD = "http://127.0.0.1:1"
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def forms(scheme):
    """The ways in which the secret could be seen."""
    secret = COOKIE if scheme == "cookie" else SECRET
    plain = [secret, quote(secret, safe=""), quote(secret), quote_plus(secret)]
    coded = [base64.b64encode(text.encode()).decode() for text in (secret, f"me:{secret}")]
    return {*plain, *coded, json.dumps(secret)[1:-1]}


def assert_unseen(scheme, *texts):
    """Assert that a secret stands in none of the texts."""
    for text in texts:
        leaks = [form for form in forms(scheme) if form in str(text)]
        assert not leaks, f"{leaks[0]!r} stands in {str(text)[:2000]}"


def locals_of(error):
    """Return the frames of ours in a traceback with its local variables."""
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    return [f"{f.name} {f.locals}" for f in trace.stack if "openapi_tools" in f.filename]


async def reflect(peer):
    """Respond with all of the request: as JSON, as an error, in headers."""
    while True:
        head = (await peer.request()).decode("latin-1")
        if head.startswith("POST /t "):
            await peer.write(make_response(TOKEN))
            continue
        target = head.split(" ")[1]
        body = json.dumps({"head": head, "list": head.split("\r\n"), "target": target}).encode()
        lines, status = [f"Location: {target}", "Content-Type: application/json"], "200 OK"
        if "/deny" in target:
            lines.append('WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"')
            status = "401 Unauthorized"
        await peer.write(make_response(body, *lines, status=status))


def api(url, scheme="header"):
    paths = {
        "/ok": {"get": operation(operationId="ok"), "delete": operation(operationId="cut")},
        "/deny": {"get": operation(operationId="deny")},
    }
    schemes = {"securitySchemes": {scheme: SCHEMES[scheme]}}
    servers = [{"url": url}]
    return document(paths, servers=servers, security=[{scheme: []}], components=schemes)


def tools_at(url, scheme="header", value=None, **settings):
    """The tools of an API that wants a secret."""
    credentials = {scheme: VALUES[scheme] if value is None else value}
    return load_tools(
        api(url, scheme), credentials=credentials, settings=Settings(timeout=5, **settings)
    )


@each_scheme
async def test_no_result_log_or_repr_shows_a_secret(scheme):
    events, problems = [], []
    root = api("http://api.test", scheme)
    with listening() as records:
        async with (
            Faults(reflect) as server,
            tools_at(
                server.url, scheme, approve=lambda seen: events.append(seen) or True
            ) as toolset,
        ):
            toolset.subscribe(events.append)
            toolset.add_on_error_func(lambda error, _: events.append(repr(vars(error))))
            results = [await toolset[name].execute({}) for name in ("ok", "deny", "cut")]
            preview = toolset["ok"].preview({})
        for dead in (tools_at(DEAD, scheme), tools_at(DEAD, scheme, dry_run=True)):
            async with dead:
                results.append(await dead["ok"].execute({}))
        async with mock_client(root, problems=problems) as client:
            credentials = {scheme: "t0ken" if scheme == "oauth" else VALUES[scheme]}
            mocked = load_tools(root, credentials=credentials, client=client)
            results.append(await mocked["ok"].execute({}))

    assert [result.success for result in results] == [True, False, True, False, True, True]
    sent = b"".join(server.requests)
    travels = forms(scheme) if scheme not in ("oauth", "digest") else {"t0ken-of-the-day", "Digest"}
    assert any(form.encode() in sent for form in travels)
    for result in results:
        assert_unseen(
            scheme, result.output, result.error, result.metadata, str(result), repr(result)
        )
        assert_unseen(scheme, result.model_dump_json(), result.as_content())
    assert "***" in str(results[4])
    assert_unseen(
        scheme, repr(toolset), repr(toolset["ok"]), toolset["ok"].description, repr(preview)
    )
    assert_unseen(scheme, preview.url, repr(toolset.session), repr(toolset.session.credentials))
    assert_unseen(scheme, *events, *map(repr, events), *records, *problems)
    assert "t0ken-of-the-day" not in str([results, events, records])
    assert records


@each_scheme
async def test_no_pickle_copy_or_traceback_with_locals_shows_a_secret(scheme):
    async with Faults(hang) as server, tools_at(server.url, scheme) as toolset:
        for thing in (toolset, toolset["ok"], toolset.session):
            for step in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(NotPicklableError, match="cannot be pickled or copied"):
                    step(thing)
        calling = asyncio.create_task(toolset["ok"].execute({}))
        await server.wait_until(lambda: bool(server.requests))
        calling.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await calling

    frames = locals_of(caught.value)
    assert "execute" in {frame.split(" ")[0] for frame in frames}
    assert_unseen(scheme, *frames)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "oauth"])
@pytest.mark.parametrize("kind", [str, SecretStr])
def test_a_rich_traceback_shows_no_secret(scheme, kind):
    console = Console(file=io.StringIO(), width=200)
    with pytest.raises(CredentialsError) as caught:
        tools_at("http://api.test", scheme, kind(f"me:{SECRET}\r\nX-Evil: 1"))

    error = caught.value
    inside = error.__traceback__.tb_next.tb_next  # without the frames of this file
    console.print(Traceback.from_exception(type(error), error, inside, show_locals=True))

    text = console.file.getvalue()
    assert "load_tools" in text
    assert_unseen(scheme, text, str(error), repr(error), *locals_of(error))
    assert error.__context__ is None


async def test_a_function_that_fails_shows_nothing_of_what_it_raised(caplog):
    def fail():
        raise RuntimeError(f"the vault said {SECRET}")

    async with tools_at(DEAD), tools_at(DEAD, "bearer", fail) as toolset:
        result = await toolset["ok"].execute({})

    assert result.error["type"] == "credentials"
    assert_unseen("bearer", result.error, caplog.text)
    assert "the vault said ***" in caplog.text


@each_scheme
@pytest.mark.parametrize("way", ["server of the operation", "redirect", "redirect with a body"])
async def test_a_second_origin_sees_no_secret(scheme, way, recorder, sink):
    root = api(recorder.url, scheme)
    moved = CannedResponse(307, [("Location", f"{sink.url}/ok")], b"")
    recorder.responses.extend([CannedResponse(body=TOKEN), moved] if scheme == "oauth" else [moved])
    elsewhere = way == "server of the operation"
    if elsewhere:
        root["paths"]["/ok"]["get"]["servers"] = [{"url": sink.url}]
    async with load_tools(root, credentials={scheme: VALUES[scheme]}) as toolset:
        result = await toolset["cut" if way == "redirect with a body" else "ok"].execute({})

    assert result.error["type"] == ("credentials" if elsewhere else "redirect")
    assert bool(recorder.requests) is not elsewhere
    assert not elsewhere or (recorder.url in str(result) and sink.url in str(result))
    assert sink.requests == []
    assert_unseen(scheme, result, result.error)


async def test_optional_credentials_stay_at_home_and_the_result_says_so(recorder, sink):
    root = api(recorder.url)
    get = root["paths"]["/ok"]["get"]
    get["servers"], get["security"] = [{"url": sink.url}], [{}, {"header": []}]
    results = []
    for settings in (None, Settings(credential_origins=(recorder.url, sink.url))):
        async with load_tools(root, credentials={"header": SECRET}, settings=settings) as toolset:
            results.append(await toolset["ok"].execute({}))

    assert [sent.header("X-Key") for sent in sink.requests] == [None, SECRET]
    assert results[0].success
    (note,) = results[0].metadata["notes"]
    assert sink.url in note
    assert recorder.url in note


async def test_a_document_that_changed_its_server_gets_no_credentials(sink):
    mine = "https://api.example.com"
    async with tools_at(sink.url, credential_origins=(mine,)) as toolset:
        result = await toolset["ok"].execute({})

    assert result.error["type"] == "credentials"
    assert mine in str(result)
    assert sink.url in str(result)
    assert sink.requests == []


async def test_an_empty_list_of_origins_sends_credentials_nowhere(recorder):
    async with tools_at(recorder.url, credential_origins=()) as toolset:
        result = await toolset["ok"].execute({})

    assert result.error["type"] == "credentials"
    assert "credential_origins is empty" in str(result)
    assert recorder.requests == []


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        ("12345678", '{"12345678": 12345678, "n": [12345678.0, -12345678, 1]}',
         {"***": "***", "n": ["***", "***", 1]}),
        ("abcdef", '{"abcdef": 1, "***": 2, "x-abcdef": 3}', {"****": 1, "***": 2, "x-***": 3}),
    ],
    ids=["numbers and names", "names that become equal"],
)  # fmt: skip
async def test_a_secret_that_comes_back_as_a_number_or_a_name_is_masked(
    secret, text, expected, recorder
):
    recorder.response = CannedResponse(body=text.encode())
    async with tools_at(recorder.url, value=secret) as toolset:
        result = await toolset["ok"].execute({})

    assert result.output == expected


async def test_what_a_guardrail_gives_is_masked_too_however_deep_it_is(recorder):
    outputs = [{"k": SECRET}, reduce(lambda value, _: [value], range(700), SECRET)]
    async with tools_at(recorder.url) as toolset:
        toolset.add_output_guardrails([lambda *_: ToolResult.ok(outputs.pop(0))])
        result, deep = [await toolset["ok"].execute({}) for _ in range(2)]

    assert result.output == {"k": "***"}
    assert isinstance(deep, ToolResult)
    assert_unseen("header", deep)


def test_the_command_line_shows_no_secret(monkeypatch, tmp_path, capsys):
    from openapi_tools.cli import main

    monkeypatch.setenv("API_KEY", SECRET)
    file = tmp_path / "api.json"
    file.write_text(json.dumps(api(DEAD, "query")))
    for options in (["--dry-run"], ["--mock"], []):
        arguments = ["call", str(file), "ok", "--credential", "query=$API_KEY", *options]
        monkeypatch.setattr(sys, "argv", ["openapi-tools", *arguments])
        with contextlib.suppress(SystemExit):
            main()

    printed = capsys.readouterr()
    assert "key=***" in printed.out
    assert_unseen("query", printed.out, printed.err)


@pytest.mark.parametrize("way", ["auth of a scheme", "auth of a client", "header of a client"])
async def test_what_others_put_into_a_request_is_masked_too(way, library):
    auth = {"headers": {"X-Key": SECRET}} if "header" in way else {"auth": ("me", SECRET)}
    async with Faults(reflect) as server, library.AsyncClient(**auth) as client:
        options = {"client": client}
        if way == "auth of a scheme":
            options = {"credentials": {"header": httpx.BasicAuth("me", SECRET)}}
        async with load_tools(api(server.url), **options) as toolset:
            results = [await toolset[name].execute({}) for name in ("ok", "deny")]

    assert [result.success for result in results] == [True, False]
    assert_unseen("header", *results, *(result.metadata for result in results))
    assert "***" in str(results[0])


async def test_a_client_of_the_users_keeps_its_own_credentials_at_home(library, recorder, sink):
    root = api(recorder.url)
    root["paths"]["/ok"]["get"]["servers"] = [{"url": sink.url}]
    async with library.AsyncClient(headers={"X-Key": SECRET}, auth=("me", SECRET)) as client:
        toolset = load_tools(root, client=client)
        refused, sent = [await toolset[name].execute({}) for name in ("ok", "cut")]

    assert refused.error["type"] == "credentials"
    assert sent.success
    assert recorder.last.header("X-Key") == SECRET
    assert sink.requests == []


@pytest.mark.parametrize(
    ("kind", "text", "encoding"),
    [
        ("application/octet-stream", "\0{}\1", "utf-8"),
        ("application/pdf; charset=utf-8", "before {} behind", "utf-8"),
        ("application/pdf; charset=utf-16", "before {} behind", "utf-16"),
    ],
)
async def test_a_download_holds_no_secret_nor_does_its_name(
    kind, text, encoding, recorder, tmp_path
):
    named = ("Content-Disposition", 'attachment; filename="../k3y-of-mine.bin"')
    body = text.format("k3y-of-mine").encode(encoding)
    recorder.response = CannedResponse(200, [("Content-Type", kind), named], body)
    folder = tmp_path / "inner"
    async with tools_at(recorder.url, value="k3y-of-mine", download_dir=folder) as toolset:
        result = await toolset["ok"].execute({})

    (file,) = folder.iterdir()
    assert str(file) == result.output["file"]
    assert "k3y-of-mine" not in file.name
    assert file.read_text("utf-8-sig") == text.format("***")
    assert list(tmp_path.iterdir()) == [folder]


async def test_a_call_that_times_out_shows_no_key_of_its_query():
    options = {"credentials": {"query": SECRET}, "settings": Settings(timeout=0.3)}
    async with Faults(hang) as server, load_tools(api(server.url, "query"), **options) as toolset:
        result = await toolset["ok"].execute({})

    assert result.error["type"] == "timeout"
    assert b"key=s3cr3t" in server.requests[0]
    assert_unseen("query", result, result.error, result.metadata)


@pytest.mark.parametrize("way", ["its own scheme", "a scheme of the user's", "a client's"])
async def test_a_document_from_a_url_sends_credentials_to_another_origin_only_once_it_is_named(
    way, recorder, sink
):
    root = api(recorder.url)
    options = {"credentials": {"header": SECRET}}
    async with httpx.AsyncClient(headers={"X-Key": SECRET}) as client:
        if way == "a scheme of the user's":
            del root["security"], root["components"]
            options = {"credentials": {"mine": {"in": "header", "name": "X-Key", "value": SECRET}}}
        elif way == "a client's":
            options = {"client": client}
        sink.response = CannedResponse(body=json.dumps(root).encode())
        url = f"{sink.url}/api.json"
        async with await aload_tools(url, **options) as toolset:
            (warning,) = toolset.warnings
            refused = await toolset["ok"].execute({})
        before = list(recorder.requests)
        line = warning.partition("there, set ")[2].removesuffix(".")
        for settings in (eval(line), Settings(base_url=recorder.url)):
            async with await aload_tools(url, settings=settings, **options) as toolset:
                assert (await toolset["ok"].execute({})).success
                assert toolset.warnings == ()

    assert line == f"Settings(credential_origins=({recorder.url!r},))"
    assert refused.error["type"] == "credentials"
    assert sink.url in str(refused)
    assert line in str(refused)
    assert before == []
    assert [sent.header("X-Key") for sent in recorder.requests] == [SECRET, SECRET]
    assert_unseen("header", refused, warning)


@pytest.mark.parametrize("form", ["file", "URL"])
async def test_a_document_of_the_users_own_or_of_its_server_gets_credentials(
    form, recorder, tmp_path
):
    source = tmp_path / "api.json" if form == "file" else f"{recorder.url}/api.json"
    text = json.dumps(api(f"{recorder.url}/v1" if form == "file" else "/v1"))
    (tmp_path / "api.json").write_text(text)
    recorder.response = CannedResponse(body=text.encode())
    async with await aload_tools(source, credentials={"header": SECRET}) as toolset:
        result = await toolset["ok"].execute({})

    assert result.success
    assert recorder.last.target == "/v1/ok"
    assert recorder.last.header("X-Key") == SECRET
    assert toolset.warnings == ()


async def test_an_operation_elsewhere_names_every_origin_in_the_line_to_paste(recorder, sink):
    root = api("/")
    root["paths"]["/ok"]["get"]["servers"] = [{"url": sink.url}]
    recorder.response = CannedResponse(body=json.dumps(root).encode())
    url, credentials = f"{recorder.url}/api.json", {"header": SECRET}
    async with await aload_tools(url, credentials=credentials) as toolset:
        result = await toolset["ok"].execute({})

    both = tuple(sorted((recorder.url, sink.url)))
    assert result.error["type"] == "credentials"
    assert f"Settings(credential_origins={both})" in str(result)
    assert sink.requests == []


async def test_a_closed_toolset_hides_its_secrets_nowhere_else(caplog):
    logger = logging.getLogger("openapi_tools")
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    root = document(
        {"/a": {"get": operation()}},
        security=[{"key": []}],
        components={"securitySchemes": schemes},
        servers=[{"url": DEAD}],
    )
    async with load_tools(root, credentials={"key": "orchid"}) as toolset:
        result = await next(iter(toolset)).execute({})
        logger.warning("orchid while open")

    logger.warning("orchid once closed")
    later = await next(iter(toolset)).execute({})

    assert [record.getMessage() for record in caplog.records] == [
        "*** while open",
        "orchid once closed",
    ]
    assert result.is_error
    assert later.is_error
    assert "orchid" not in str(later)
