"""Options for credentials: they fetch documents and call APIs, and show no secret."""

import base64
import json

import pytest
from documents import document, operation
from servers.site import Site, SiteResponse, running

SECRET = "s3cret_Value_7"  # which could be the name of a variable
ENV = {"TOKEN": SECRET, "ME": "ann", "PASSWORD": SECRET, "PAIR": f"ann:{SECRET}", "EMPTY": ""}
PAIR = base64.b64encode(f"ann:{SECRET}".encode()).decode()
OPTIONS = {
    "bearer": (["--bearer", "$TOKEN"], "Authorization", f"Bearer {SECRET}"),
    "bearer in braces": (["--bearer", "${TOKEN}"], "Authorization", f"Bearer {SECRET}"),
    "basic": (["--basic", "$ME:$PASSWORD"], "Authorization", f"Basic {PAIR}"),
    "basic of a user": (["--basic", "ann:$PASSWORD"], "Authorization", f"Basic {PAIR}"),
    "basic of one variable": (["--basic", "$PAIR"], "Authorization", f"Basic {PAIR}"),
    "header": (["--header", "X-Key: $TOKEN"], "X-Key", SECRET),
    "header with a word": (["--header", "X-Key: Token ${TOKEN}"], "X-Key", f"Token {SECRET}"),
}
SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query_key": {"type": "apiKey", "in": "query", "name": "key"},
    "login": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
}
COMPONENTS = {"securitySchemes": SCHEMES}
COMMANDS = {
    "list": lambda url, _: ("list", url),
    "show": lambda url, _: ("show", url, "get_it"),
    "lint": lambda url, _: ("lint", url),
    "call": lambda url, _: ("call", url, "get_it"),
    "serve": lambda url, _: ("serve", url),
    "generate": lambda url, folder: ("generate", url, "--output", folder / "out"),
}


def api(server="/v1"):
    return document({"/it": {"get": operation(operationId="get_it")}}, servers=[{"url": server}])


@pytest.fixture
def site():
    """A server that wants a credential for its document and its API, and declares none."""

    def respond(request):
        seen = [request.headers.get(name) for name in ("Authorization", "X-Key")]
        if not any(seen):
            return SiteResponse("log in", 401)
        if request.path == "/openapi.json":
            return SiteResponse(api())
        return SiteResponse({"seen": seen})

    with Site(respond) as running:
        yield running


@pytest.mark.parametrize(("options", "name", "value"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_fetches_the_document_and_calls_the_api(run, site, options, name, value):
    result = run("call", f"{site.url}/openapi.json", "get_it", *options, env=ENV)

    assert result.exit_code == 0, result.stderr
    assert [request.path for request in site.requests][-1] == "/v1/it"
    assert site.requests[-1].headers[name] == value
    assert "***" in result.stdout
    assert SECRET not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("scheme", "reference", "sent"),
    [
        ("key", "$TOKEN", SECRET),
        ("key", "TOKEN", SECRET),
        ("key", "${TOKEN}", SECRET),
        ("query_key", "$TOKEN", SECRET),
        ("login", "$PAIR", f"Basic {PAIR}"),
        ("token", "$TOKEN", f"Bearer {SECRET}"),
    ],
)
def test_a_credential_comes_from_the_environment(run, site, write, scheme, reference, sent):
    spec = write({"/it": {"get": {"security": [{scheme: []}]}}}, components=COMPONENTS)
    call = ("call", spec, "get_it", "--base-url", site.url, "--credential", f"{scheme}={reference}")

    result, dry = run(*call, env=ENV), run(*call, "--dry-run", env=ENV)

    (request,) = site.requests
    values = (request.headers["X-Key"], request.headers["Authorization"], request.query.get("key"))
    assert [value for value in values if value] == [sent]
    assert (result.exit_code, dry.exit_code) == (1 if scheme == "query_key" else 0, 0)
    assert "***" in dry.stdout
    assert SECRET not in result.output + dry.output


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_fetches_a_document_behind_a_login(run, site, tmp_path, command):
    arguments = command(f"{site.url}/openapi.json", tmp_path)

    without = run(*arguments, stdin="")
    result = run(*arguments, "--bearer", "$TOKEN", env=ENV, stdin="")

    assert without.exit_code == 2
    assert "pass --bearer '$VAR', --basic '$USER:$PASSWORD' or --header" in without.stderr
    assert result.exit_code == 0, result.stderr
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert SECRET not in "".join([result.stdout, result.stderr, *written])


NOT_SET = "the environment variable NOWHERE is not set."
UNNAMED = "does not name an environment variable that is set"
REFUSED = [
    (["--bearer", SECRET], "'$VAR'"),
    (["--bearer", f"Bearer {SECRET}"], "'$VAR'"),
    (["--bearer", ""], "'$VAR'"),
    (["--bearer", "$NOWHERE"], NOT_SET),
    (["--basic", f"ann:{SECRET}"], "'$USER:$PASSWORD'"),
    (["--basic", SECRET], "'$USER:$PASSWORD'"),
    (["--basic", "$ME"], "'$USER:$PASSWORD'"),
    (["--basic", "a:$NOWHERE"], NOT_SET),
    (["--basic", "$NOWHERE"], NOT_SET),
    (["--basic", "$TOKEN"], "the value of the environment variable is not 'user:password'"),
    (["--header", f"X-Key: {SECRET}"], "'NAME: $VAR'"),
    (["--header", f"X-Key={SECRET}"], "'NAME: $VAR'"),
    (["--header", f"{SECRET} : $TOKEN"], "'NAME: $VAR'"),
    (["--header", ": $TOKEN"], "'NAME: $VAR'"),
    (["--header", "X: a $NOWHERE"], NOT_SET),
    (["--credential", f"key={SECRET}"], "'SCHEME=$NAME'"),
    (["--credential", f"={SECRET}"], "'SCHEME=$NAME'"),
    (["--credential", SECRET], "'SCHEME=$NAME'"),
    (["--credential", "key="], UNNAMED),
    (["--credential", "key=NOWHERE"], UNNAMED),
    (["--credential", "key=$NOWHERE"], NOT_SET),
    (["--credential", "key=${NOWHERE}"], NOT_SET),
    (["--credential", "key=EMPTY"], "the environment variable EMPTY is empty."),
    (["--credential", "kee=$TOKEN"], "it has 'MuseumPlaceholderAuth'."),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_names_no_variable_is_wrong_usage_and_not_shown(refused, museum, options, message):
    error = refused(
        "call", museum, "get_museum_hours", "--dry-run", *options, messages=[message], env=ENV
    )

    assert SECRET not in error
    assert "NOWHERE" not in error or "$" in options[1]
    assert options[0] in error.splitlines()[-1] or "kee" in error


def test_a_header_that_no_credential_can_be_is_refused_in_words(refused, museum):
    args = ("call", museum, "get_museum_hours", "--header", "Host: $TOKEN", "--dry-run")
    messages = ["a credential cannot be sent in the header 'Host'"]

    assert refused(*args, code=1, messages=messages, env=ENV)


def test_a_pair_is_asked_for_in_the_environment_variable(refused, museum):
    option = "MuseumPlaceholderAuth=$TOKEN"
    messages = ["is basic; the environment variable must hold user:password."]

    assert refused("list", museum, "--credential", option, messages=messages, env=ENV)


def test_anonymous_calls_without_what_is_required(refused, site, write):
    spec = write({"/it": {"get": {"security": [{"key": []}]}}}, components=COMPONENTS)
    call = ("call", spec, "get_it", "--base-url", site.url)

    assert refused(*call, code=1).startswith("credentials: ")
    assert refused(*call, "--anonymous", code=1).startswith("auth 401: ")
    assert len(site.requests) == 1


def test_an_api_that_refuses_and_declares_nothing_names_the_options(refused, site, write):
    spec = write({"/it": {"get": {}}})
    messages = ["pass --bearer '$VAR', --basic '$USER:$PASSWORD' or --header"]

    assert refused("call", spec, "get_it", "--base-url", site.url, code=1, messages=messages)


def test_the_error_for_another_origin_names_the_option_that_sends_credentials_there(run, site):
    with Site(lambda _: SiteResponse(api(site.url))) as docs:
        arguments = ("call", f"{docs.url}/openapi.json", "get_it", "--bearer", "$TOKEN")
        refused = run(*arguments, env=ENV)
        option = f"--credential-origin {site.url}"
        result = run(*arguments, *option.split(), env=ENV)

    assert refused.stderr.startswith("credentials: ")
    assert docs.url in refused.stderr
    assert option in refused.stderr
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["seen"] == ["Bearer ***", None]
    assert all(request.headers.get("Authorization") is None for request in docs.requests)


def test_what_was_read_without_credentials_is_reported(run):
    def respond(request):
        return (
            SiteResponse("no", 401) if request.headers.get("Authorization") else SiteResponse(api())
        )

    with Site(respond) as running:
        result = run("list", f"{running.url}/openapi.json", "-v", "--bearer", "$TOKEN", env=ENV)

    assert result.exit_code == 0
    assert "was read without credentials" in result.stderr


@pytest.mark.parametrize("command", ["call", "prove", "run"])
def test_a_mock_of_a_document_behind_a_login_is_fetched_with_the_credential(
    run, site, tmp_path, command
):
    """Calls go to the mock afterwards, which needs no credential."""
    program = tmp_path / "program.py"
    program.write_text("await get_it()")
    rest = {"call": ("get_it", "--mock"), "prove": (), "run": (program, "--mock")}

    done = run(command, f"{site.url}/openapi.json", *rest[command], "--bearer", "$TOKEN", env=ENV)

    assert done.exit_code == 0, done.output
    assert {request.path for request in site.requests} == {"/openapi.json"}


@pytest.mark.parametrize("query", ["", "?token=abcd1234", "?a=1"])
def test_a_secret_in_the_url_of_a_new_configuration_is_named(run, write, tmp_path, query):
    document = write({"/a": {"get": {}}}).read_bytes()

    async def respond(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": document})

    with running(respond) as url:
        address = url.replace("://", "://eve:hunter2@") if not query else f"{url}/o.json{query}"
        result = run("init", address, "--output", tmp_path / "x.toml")

    assert result.exit_code == 0, result.stderr
    has_warning = "warning: the URL has a password or a secret" in result.stderr
    assert has_warning == (query != "?a=1")
    assert "hunter2" not in result.stderr
