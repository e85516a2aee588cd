"""A secret of every scheme leaves by no way but the request to its own server."""

import asyncio
import contextlib
import copy
import io
import json
import logging
import pickle
import sys
import traceback

import httpx
import pytest
from documents import document, operation
from pydantic import SecretStr
from servers.faults import Faults, answer
from servers.recorder import Answer, Recorder

from openapi_tools import (
    Context,
    CredentialsError,
    NotPicklableError,
    OAuth2,
    Settings,
    ToolResult,
    aload_tools,
    generate_package,
    load_tools,
)
from openapi_tools.testing import mock_client

SECRET = "s3cr3t/+Value=&<k>"
SCHEMES = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "digest": {"type": "http", "scheme": "digest"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "other": {"type": "http", "scheme": "token"},
    "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/t", "scopes": {}}}},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "/.well-known/openid-configuration"},
}
VALUES = {
    "cookie": "s3cr3t/+Value=k",  # the characters that a cookie may have
    "basic": ("me", SECRET),
    "digest": ("me", SECRET),
    "oauth": OAuth2(client_id="me", client_secret=SECRET),
    "oidc": OAuth2(client_id="me", client_secret=SECRET),
}


class Ear(logging.Handler):
    """Everything that any logger says, as text and as values."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.heard = []

    def emit(self, record):
        self.heard.append(self.format(record))
        self.heard.append(repr(vars(record)))
        if record.exc_info:
            found = traceback.TracebackException(*record.exc_info, capture_locals=True)
            self.heard.extend(found.format())


@contextlib.contextmanager
def listening():
    """Hear all loggers at DEBUG."""
    ear, root = Ear(), logging.getLogger()
    before = root.level
    root.addHandler(ear)
    root.setLevel(logging.DEBUG)
    try:
        yield ear.heard
    finally:
        root.removeHandler(ear)
        root.setLevel(before)


def secret_of(scheme):
    return str(VALUES["cookie"]) if scheme == "cookie" else SECRET


def forms(scheme):
    """The ways in which the secret could be seen."""
    import base64
    from urllib.parse import quote, quote_plus

    secret = secret_of(scheme)
    return {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(f"me:{secret}".encode()).decode(),
    }


def unseen(scheme, *texts):
    """Assert that a secret stands in none of the texts."""
    for text in texts:
        found = [form for form in forms(scheme) if form in str(text)]
        assert not found, f"{found[0]!r} stands in {str(text)[:2000]}"


def reflecting(request):
    """Answer with all of the request: as JSON, as an error, in headers."""
    head = request.decode("latin-1")
    if "POST /t " in head.split("\r\n")[0] + " ":
        return answer(b'{"access_token": "t0ken-of-the-day", "token_type": "bearer"}')
    target = head.split(" ")[1]
    body = json.dumps({"head": head, "list": head.split("\r\n"), "target": target}).encode()
    header = f"Location: {target}"
    status = "401 Unauthorized" if "/deny" in target else "200 OK"
    extra = ['WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"'] if "401" in status else []
    return answer(body, header, "Content-Type: application/json", *extra, status=status)


async def reflect(peer):
    while True:
        await peer.write(reflecting(await peer.request()))


def api(url, scheme, **members):
    paths = {
        "/ok": {"get": operation(operationId="ok"), "delete": operation(operationId="cut")},
        "/deny": {"get": operation(operationId="deny")},
    }
    schemes = {scheme: SCHEMES[scheme]}
    return document(
        paths,
        servers=[{"url": url}],
        security=[{scheme: []}],
        components={"securitySchemes": schemes},
        **members,
    )


def keyed(url, secret=SECRET):
    """The tools of an API that wants a key in a header."""
    return load_tools(api(url, "header"), credentials={"header": secret})


ALL = sorted(set(SCHEMES) - {"oidc"})


@pytest.mark.parametrize("scheme", ALL)
async def test_no_result_log_or_repr_shows_a_secret(scheme):
    value = VALUES.get(scheme, SECRET)
    told = []
    with listening() as heard:
        async with Faults(reflect) as server:
            toolset = load_tools(
                api(server.url, scheme),
                credentials={scheme: value},
                settings=Settings(timeout=5, approve=lambda seen: told.append(seen) or True),
            )
            toolset.subscribe(told.append)
            toolset.add_on_error_func(lambda error, _: told.append(repr(vars(error))))
            results = [await toolset[name].execute({}) for name in ("ok", "deny", "cut")]
            sent = b"".join(server.requests)
            shown = [repr(toolset), repr(toolset["ok"]), toolset["ok"].description]
            shown += [repr(toolset["ok"].preview({})), str(toolset["ok"].preview({}).url)]
            shown += [repr(toolset.session), repr(toolset.session.credentials)]
            await toolset.aclose()
        async with load_tools(
            api("http://127.0.0.1:1", scheme),
            credentials={scheme: value},
            settings=Settings(timeout=5),
        ) as dead:
            results.append(await dead["ok"].execute({}))

    assert [result.success for result in results] == [True, False, True, False]
    travels = forms(scheme) if scheme not in ("oauth", "digest") else {"t0ken-of-the-day", "Digest"}
    assert any(form.encode() in sent for form in travels)
    for result in results:
        unseen(scheme, result.output, result.error, result.metadata, str(result), repr(result))
        unseen(scheme, result.model_dump_json(), result.as_content())
    unseen(scheme, *shown, *told, *map(str, told), *heard)
    assert "t0ken-of-the-day" not in str([results, told, heard])
    assert heard


@pytest.mark.parametrize("scheme", ALL)
async def test_dry_runs_and_mocks_show_no_secret(scheme):
    root = api("http://api.test", scheme)
    value = VALUES.get(scheme, SECRET)
    dry = load_tools(root, credentials={scheme: value}, settings=Settings(dry_run=True))
    problems = []
    async with mock_client(root, problems=problems) as client:
        credentials = {scheme: "t0ken"} if scheme == "oauth" else {scheme: value}
        mocked = load_tools(root, credentials=credentials, client=client)
        results = [await dry["ok"].execute({}), await mocked["ok"].execute({})]

    assert all(result.success for result in results)
    assert "***" in str(results[0])
    unseen(scheme, *results, *problems)


@pytest.mark.parametrize("scheme", ALL)
async def test_no_pickle_copy_or_traceback_with_locals_shows_a_secret(scheme):
    value = VALUES.get(scheme, SECRET)

    async def hang(peer):
        await peer.request()
        await peer.hang()

    async with Faults(hang) as server:
        toolset = load_tools(
            api(server.url, scheme), credentials={scheme: value}, settings=Settings(timeout=20)
        )
        for thing in (toolset, toolset["ok"], toolset.session):
            for step in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(NotPicklableError, match="neither pickled nor copied"):
                    step(thing)
        calling = asyncio.create_task(toolset["ok"].execute({}))
        await server.until(lambda: bool(server.requests))
        calling.cancel()
        try:
            await calling
        except asyncio.CancelledError as error:
            frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        await toolset.aclose()

    text = "".join(frames.format())
    assert "execute" in text
    ours = [str(frame.locals) for frame in frames.stack if "openapi_tools" in frame.filename]
    assert ours
    unseen(scheme, *ours)
    context = frames.__context__
    assert context is None


@pytest.mark.parametrize("scheme", sorted(set(ALL) - {"oauth"}))
@pytest.mark.parametrize("kind", ["text", "SecretStr"])
def test_no_error_about_a_wrong_value_shows_it(scheme, kind):
    wrong = f"me:{SECRET}\r\nX-Evil: 1"
    given = {scheme: SecretStr(wrong) if kind == "SecretStr" else wrong}

    with pytest.raises(CredentialsError) as caught:
        load_tools(api("http://api.test", scheme), credentials=given)

    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    ours = [str(frame.locals) for frame in frames.stack if "openapi_tools" in frame.filename]
    assert ours
    unseen(scheme, str(caught.value), repr(caught.value), *ours)
    assert caught.value.__context__ is None


async def test_a_function_that_fails_shows_nothing_of_what_it_raised(caplog):
    known = load_tools(api("http://127.0.0.1:1", "header"), credentials={"header": SECRET})

    def fail():
        raise RuntimeError(f"the vault said {SECRET}")

    toolset = load_tools(api("http://127.0.0.1:1", "bearer"), credentials={"bearer": fail})

    result = await toolset["ok"].execute({})

    assert len(known) == 3
    assert result.error["type"] == "credentials"
    unseen("bearer", result.error, caplog.text)
    assert "the vault said ***" in caplog.text


def test_generated_files_show_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("API_KEY", SECRET)
    file = tmp_path / "api.json"
    file.write_text(json.dumps(api("http://api.test", "header")))

    generate_package(file, tmp_path / "out", name="api")

    written = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) > 2
    unseen("header", *written)


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("way", ["server of the operation", "redirect", "redirect with a body"])
async def test_a_second_origin_sees_no_secret(scheme, way):
    value = VALUES.get(scheme, SECRET)
    async with Recorder() as sink, Recorder() as home:
        root = api(home.url, scheme)
        paths = root["paths"]["/ok"]
        token = Answer(body=b'{"access_token": "t0ken-of-the-day", "token_type": "bearer"}')
        moved = Answer(307, [("Location", f"{sink.url}/ok")], b"")
        home.answers.extend([token, moved] if scheme == "oauth" else [moved])
        if way == "server of the operation":
            paths["get"]["servers"] = [{"url": sink.url}]
        name = "cut" if way == "redirect with a body" else "ok"
        async with load_tools(root, credentials={scheme: value}) as toolset:
            result = await toolset[name].execute({})

    assert result.is_error
    assert result.error is not None
    if way == "server of the operation":
        assert result.error["type"] == "credentials"
        assert home.url in str(result)
        assert sink.url in str(result)
        assert home.requests == []
    else:
        assert result.error["type"] == "redirect"
        assert home.requests
    assert sink.requests == []
    unseen(scheme, result, result.error)


async def test_optional_credentials_stay_at_home_and_the_result_says_so():
    async with Recorder() as sink, Recorder() as home:
        root = api(home.url, "header")
        get = root["paths"]["/ok"]["get"]
        get["servers"], get["security"] = [{"url": sink.url}], [{}, {"header": []}]
        credentials = {"header": SECRET}
        async with load_tools(root, credentials=credentials) as toolset:
            without = await toolset["ok"].execute({})
        allowed = Settings(credential_origins=(home.url, sink.url))
        async with load_tools(root, credentials=credentials, settings=allowed) as toolset:
            await toolset["ok"].execute({})

    first, second = sink.requests
    assert first.header("X-Key") is None
    assert second.header("X-Key") == SECRET
    assert without.success
    (note,) = without.metadata["notes"]
    assert sink.url in note
    assert home.url in note


async def test_a_document_that_changed_its_server_gets_no_credentials():
    async with Recorder() as sink:
        settings = Settings(credential_origins=("https://api.example.com",))
        root = api(sink.url, "header")
        async with load_tools(root, credentials={"header": SECRET}, settings=settings) as toolset:
            result = await toolset["ok"].execute({})

    assert result.error["type"] == "credentials"
    assert "https://api.example.com" in str(result)
    assert sink.url in str(result)
    assert sink.requests == []


async def test_a_model_can_neither_set_nor_read_a_credential():
    async with Recorder() as home, keyed(home.url) as toolset:
        tool = toolset["ok"]
        asked = ["X-Key", "header", "Authorization", "api_key", "base_url", "timeout"]
        results = [await tool.execute({name: "x"}) for name in asked]

    assert {result.error["type"] for result in results if result.error} == {"invalid_input"}
    assert len(results) == len(asked)
    assert home.requests == []
    assert "X-Key" not in json.dumps(tool.input_schema)


async def test_a_secret_that_comes_back_as_a_number_or_a_key_is_masked():
    said = Answer(body=b'{"12345678": 12345678, "n": [12345678.0, -12345678, 1]}')
    async with Recorder(said) as home, keyed(home.url, "12345678") as toolset:
        result = await toolset["ok"].execute({})

    assert result.output == {"***": "***", "n": ["***", "***", 1]}


async def test_secrets_of_one_call_are_masked_as_well():
    async with Faults(reflect) as server, load_tools(api(server.url, "header")) as toolset:
        result = await toolset["ok"].execute({}, context=Context(credentials={"header": SECRET}))

    assert result.success
    unseen("header", result, result.metadata)


async def test_what_a_guardrail_gives_is_masked_too():
    async with Recorder() as home, keyed(home.url) as toolset:
        toolset.add_output_guardrails([lambda *_: ToolResult.ok({"k": SECRET})])
        result = await toolset["ok"].execute({})

    assert result.output == {"k": "***"}


def test_the_command_line_shows_no_secret(monkeypatch, tmp_path, capsys):
    from openapi_tools.cli import main

    monkeypatch.setenv("API_KEY", SECRET)
    file = tmp_path / "api.json"
    file.write_text(json.dumps(api("http://127.0.0.1:1", "query")))
    for options in (["--dry-run"], ["--mock"], []):
        arguments = ["call", str(file), "ok", "--credential", "query=$API_KEY", *options]
        monkeypatch.setattr(sys, "argv", ["openapi-tools", *arguments])
        with contextlib.suppress(SystemExit):
            main()

    printed = capsys.readouterr()
    assert "key=***" in printed.out
    unseen("query", printed.out, printed.err)


def test_a_rich_traceback_shows_no_secret():
    from rich.console import Console
    from rich.traceback import Traceback

    console = Console(file=io.StringIO(), width=200)
    wrong = f"{SECRET}\r\n x"
    error = None
    try:
        load_tools(api("http://api.test", "header"), credentials={"header": wrong})
    except CredentialsError as found:
        error = found
    assert error is not None
    error.__traceback__ = error.__traceback__.tb_next  # without this test's own frame
    console.print(
        Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True)
    )

    text = console.file.getvalue()
    assert "load_tools" in text
    unseen("header", text)


@pytest.mark.parametrize("way", ["auth of a scheme", "auth of a client", "header of a client"])
async def test_what_others_put_into_a_request_is_masked_too(way, library):
    async with Faults(reflect) as server, contextlib.AsyncExitStack() as stack:
        options = {"credentials": {"header": httpx.BasicAuth("me", SECRET)}}
        if way != "auth of a scheme":
            given = {"auth": ("me", SECRET)}
            given = given if way == "auth of a client" else {"headers": {"X-Key": SECRET}}
            client = await stack.enter_async_context(library.AsyncClient(**given))
            options = {"client": client}
        toolset = await stack.enter_async_context(load_tools(api(server.url, "header"), **options))
        results = [await toolset[name].execute({}) for name in ("ok", "deny")]

    assert [result.success for result in results] == [True, False]
    unseen("header", *results, *(result.metadata for result in results))
    assert "***" in str(results[0])


async def test_a_client_of_the_users_keeps_its_own_credentials_at_home(library):
    async with Recorder() as sink, Recorder() as home:
        root = api(home.url, "header")
        root["paths"]["/ok"]["get"]["servers"] = [{"url": sink.url}]
        async with library.AsyncClient(headers={"X-Key": SECRET}, auth=("me", SECRET)) as client:
            toolset = load_tools(root, client=client)
            refused, sent = [await toolset[name].execute({}) for name in ("ok", "cut")]

    assert refused.error["type"] == "credentials"
    assert sent.success
    assert home.last.header("X-Key") == SECRET
    assert sink.requests == []


async def test_functions_for_failures_see_exceptions_without_secrets():
    seen = []
    moved = Answer(302, [("Location", f"http://127.0.0.1:1/p/{SECRET.replace('/', '')}")], b"")
    known = SECRET.replace("/", "")  # of which httpx escapes some characters, not all
    async with Recorder(moved) as home, keyed(home.url, known) as toolset:
        toolset.add_on_error_func(lambda error, _: seen.append(f"{error!r} {vars(error)}"))
        await toolset["ok"].execute({})

    assert len(seen) == 1
    assert "***" in seen[0]
    assert known not in seen[0]


async def test_a_download_is_named_without_secrets(tmp_path):
    headers = [
        ("Content-Type", "application/octet-stream"),
        ("Content-Disposition", 'attachment; filename="k3y-of-mine.bin"'),
    ]
    settings = Settings(download_dir=tmp_path)
    async with Recorder(Answer(200, headers, b"\x00k3y-of-mine\x01")) as home:
        root, given = api(home.url, "header"), {"header": "k3y-of-mine"}
        async with load_tools(root, credentials=given, settings=settings) as toolset:
            result = await toolset["ok"].execute({})

    (file,) = tmp_path.iterdir()
    assert str(file) == result.output["file"]
    assert "k3y-of-mine" not in file.name
    assert file.read_bytes() == b"\x00***\x01"


async def test_two_names_that_are_masked_stay_two():
    said = Answer(body=b'{"abcdef": 1, "***": 2, "x-abcdef": 3}')
    async with Recorder(said) as home, keyed(home.url, "abcdef") as toolset:
        result = await toolset["ok"].execute({})

    assert sorted(result.output.values()) == [1, 2, 3]


async def test_what_comes_with_a_call_is_not_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("HOST_SECRET", SECRET)
    async with Recorder() as home, load_tools(api(home.url, "header")) as toolset:
        context = Context(credentials={"header": "${HOST_SECRET}"})
        await toolset["ok"].execute({}, context=context)

    assert home.last.header("X-Key") == "${HOST_SECRET}"


async def test_a_call_that_times_out_shows_no_key_of_its_query():
    async def hang(peer):
        await peer.request()
        await peer.hang()

    settings = Settings(timeout=0.3)
    async with Faults(hang) as server:
        root = api(server.url, "query")
        async with load_tools(root, credentials={"query": SECRET}, settings=settings) as toolset:
            result = await toolset["ok"].execute({})

    assert result.error["type"] == "timeout"
    assert b"key=s3cr3t" in server.requests[0]
    unseen("query", result, result.error, result.metadata)


@pytest.mark.parametrize("way", ["its own scheme", "a scheme of the user's", "a client's"])
async def test_a_document_from_a_url_sends_credentials_to_another_origin_only_once_it_is_named(way):
    mine = {"in": "header", "name": "X-Key", "value": SECRET}
    async with (
        Recorder() as docs,
        Recorder() as home,
        httpx.AsyncClient(headers={"X-Key": SECRET}) as client,
    ):
        root = api(home.url, "header")
        given = {"credentials": {"header": SECRET}}
        if way == "a scheme of the user's":
            del root["security"], root["components"]
            given = {"credentials": {"mine": mine}}
        elif way == "a client's":
            given = {"client": client}
        docs.answer = Answer(body=json.dumps(root).encode())
        url = f"{docs.url}/api.json"
        async with await aload_tools(url, **given) as toolset:
            (warning,) = toolset.warnings
            refused = await toolset["ok"].execute({})
        before = list(home.requests)
        line = warning.partition("give ")[2].removesuffix(".")
        for settings in (eval(line), Settings(base_url=home.url)):
            async with await aload_tools(url, settings=settings, **given) as toolset:
                assert (await toolset["ok"].execute({})).success
                assert toolset.warnings == ()

    assert line == f"Settings(credential_origins=({home.url!r},))"
    assert refused.error["type"] == "credentials"
    assert docs.url in str(refused)
    assert line in str(refused)
    assert before == []
    assert [sent.header("X-Key") for sent in home.requests] == [SECRET, SECRET]
    unseen("header", refused, warning)


async def test_a_document_from_a_url_sends_credentials_to_its_own_origin():
    async with Recorder() as home:
        home.answer = Answer(body=json.dumps(api("/v1", "header")).encode())
        url, given = f"{home.url}/api.json", {"header": SECRET}
        async with await aload_tools(url, credentials=given) as toolset:
            result = await toolset["ok"].execute({})

    assert result.success
    assert home.last.target == "/v1/ok"
    assert home.last.header("X-Key") == SECRET
    assert toolset.warnings == ()


@pytest.mark.parametrize("form", ["file", "dict"])
async def test_a_document_of_the_users_own_chooses_its_server(form, tmp_path):
    async with Recorder() as home:
        root = api(home.url, "header")
        file = tmp_path / "api.json"
        file.write_text(json.dumps(root))
        source = file if form == "file" else root
        async with load_tools(source, credentials={"header": SECRET}) as toolset:
            result = await toolset["ok"].execute({})

    assert result.success
    assert home.last.header("X-Key") == SECRET


async def test_an_operation_elsewhere_names_every_origin_in_the_line_to_paste():
    async with Recorder() as home, Recorder() as other:
        root = api("/", "header")
        root["paths"]["/ok"]["get"]["servers"] = [{"url": other.url}]
        home.answers.append(Answer(body=json.dumps(root).encode()))
        url, given = f"{home.url}/api.json", {"header": SECRET}
        async with await aload_tools(url, credentials=given) as toolset:
            result = await toolset["ok"].execute({})

    both = tuple(sorted((home.url, other.url)))
    assert result.error["type"] == "credentials"
    assert f"Settings(credential_origins={both})" in str(result)
    assert other.requests == []
