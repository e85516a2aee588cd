"""`openapi-tools call`."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

SECRET = "s3cr3t-t0k3n-value"
SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query_key": {"type": "apiKey", "in": "query", "name": "key"},
    "login": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
}


@pytest.fixture
def api(write):
    """A document with an operation for every scheme, and one that takes all kinds of input."""
    paths = {
        f"/{name}": {"get": {"operationId": f"with_{name}", "security": [{name: []}]}}
        for name in SCHEMES
    }
    schema = {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "tags": {"type": "array", "items": {}}},
    }
    paths["/items/{id}"] = {
        "post": {
            "operationId": "add",
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                {"name": "q", "in": "query", "schema": {"type": "string"}},
            ],
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        }
    }
    return write(paths, components={"securitySchemes": SCHEMES})


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(200, {"path": self.path, "body": json.loads(body or "null")})

    def do_GET(self):
        known = self.headers.get("authorization") or self.headers.get("x-key")
        right = known and "nowhere" not in self.path
        self.answer(200 if right else 404, {"seen": known, "path": self.path})

    def answer(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args):
        """Say nothing."""


@pytest.fixture
def server():
    """A server that answers with what it was asked; a GET without credential gets a 404."""
    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/base"
        running.shutdown()
        thread.join()


@pytest.fixture
def at_server(run, server):
    """Call a tool of a document at the server."""

    def call(spec, name, *args, **more):
        return run("call", spec, name, *args, "--base-url", server, **more)

    return call


@pytest.fixture
def offline(monkeypatch):
    """Make every connection fail the test."""

    def refuse(*_args, **_more):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_call_prints_the_answer(at_server, api):
    result = at_server(api, "add", "id=7", "title=a b", "q=x&y")

    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"path": "/base/items/7?q=x%26y", "body": {"title": "a b"}}


def test_what_only_headers_tell_goes_to_standard_error(at_server, api, monkeypatch):
    def end_headers(handler):
        handler.send_header("X-Next-Page", "2")
        BaseHTTPRequestHandler.end_headers(handler)

    monkeypatch.setattr(Handler, "end_headers", end_headers)

    result = at_server(api, "add", "id=7", "title=a")

    assert json.loads(result.stdout)["body"] == {"title": "a"}
    assert result.stderr == "Next page: 2 (x-next-page)\n"


def test_arguments_come_from_json_and_name_value_goes_over_it(at_server, api, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"id": 1, "title": "file", "tags": [1]}')

    of_file = at_server(api, "add", "title=mine", "--json", f"@{given}")
    of_stdin = at_server(api, "add", "--json", "-", stdin='{"id": 1, "title": "stdin"}')

    assert json.loads(of_file.stdout)["body"] == {"title": "mine", "tags": [1]}
    assert json.loads(of_stdin.stdout)["body"] == {"title": "stdin"}


def test_a_value_of_several_alternatives_is_read_as_json(at_server, send):
    kinds = [{"type": kind} for kind in ("boolean", "integer", "number", "string")]
    values = {"type": "object", "additionalProperties": {"oneOf": kinds}}
    members = {
        "metadata": {"oneOf": [{"type": "null"}, values]},
        "place": {"oneOf": [{"type": "object"}, {"type": "object", "required": ["zip"]}]},
    }
    schema = {"type": "object", "properties": members}
    api = send({"application/json": {"schema": schema}}, required=True)

    result = at_server(api, "send", 'metadata={"a":1}', 'place={"city": "Ulm"}')
    wrong = at_server(api, "send", 'metadata={"a":[]}')

    sent = {"metadata": {"a": 1}, "place": {"city": "Ulm"}}
    assert json.loads(result.stdout)["body"] == sent
    assert "/metadata/a: " in wrong.stderr


FAILING = [
    ("with_key", ["--base-url", "{server}/nowhere", "--credential", "key=$API_KEY"],
     ["404", "--base-url {server}/nowhere/v1"]),
    ("with_key", ["--base-url", "http://127.0.0.1:9"],
     ["credentials: no credential is there for 'key' (API key, ", "--credential 'key=$NAME'"]),
    ("with_key", ["--base-url", "http://127.0.0.1:9", "--credential", "key=$API_KEY"],
     ["connection: "]),
    ("add", ["--json", '{{"id": "x", "title": "a"}}'], ["invalid_input: ", "id"]),
    ("add", ["--json", '{{"id": "x"}}', "--dry-run"], ["invalid_input: "]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "said"), FAILING)
def test_a_failing_call_says_why_on_standard_error(refused, api, server, name, options, said):
    args = [option.format(server=server) for option in options]
    words = [text.format(server=server) for text in said]

    error = refused("call", api, name, *args, code=1, said=words, env={"API_KEY": "s3cret"})

    assert error.startswith(words[0]) or words[0] == "404"


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_a_credential_comes_from_the_environment(run, at_server, api, scheme):
    option = ("--credential", f"{scheme}=$MY_KEY")
    env = {"MY_KEY": f"user:{SECRET}" if scheme == "login" else SECRET}

    result = at_server(api, f"with_{scheme}", *option, env=env)
    dry = run("call", api, f"with_{scheme}", *option, "--dry-run", env=env)

    assert result.exit_code == (1 if scheme == "query_key" else 0)
    assert dry.exit_code == 0
    assert "***" in dry.stdout
    assert SECRET not in result.output + dry.output


@pytest.mark.parametrize("reference", ["$MY_KEY", "MY_KEY", "${MY_KEY}"])
def test_the_variable_may_be_written_with_or_without_a_dollar(at_server, api, reference):
    result = at_server(api, "with_key", "--credential", f"key={reference}", env={"MY_KEY": "abc"})

    assert json.loads(result.stdout)["seen"] == "abc"


@pytest.mark.parametrize(
    "pair", [f"key={SECRET}", "key=$UNSET_VARIABLE", f"={SECRET}", SECRET, "key=", "key=EMPTY"]
)
def test_a_credential_that_names_no_variable_is_wrong_usage_and_not_shown(refused, api, pair):
    options = ("--credential", pair, "--dry-run")

    assert SECRET not in refused("call", api, "with_key", *options, env={"EMPTY": ""})


def test_a_credential_for_an_unknown_scheme_is_an_error_with_the_names_there_are(refused, api):
    options = ("--credential", "kee=$MY_KEY", "--dry-run")

    error = refused("call", api, "with_key", *options, said=["'key'"], env={"MY_KEY": SECRET})

    assert SECRET not in error


def test_a_dry_run_prints_the_request_and_sends_nothing(run, api, offline):
    result = run("call", api, "add", "id=7", "title=x", "q=a b", "--dry-run")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "POST http://api.example.com/v1/items/7?q=a%20b"
    assert "content-type: application/json" in [line.lower() for line in lines]
    assert json.loads(lines[-1]) == {"title": "x"}


@pytest.mark.parametrize(
    ("reference", "env", "said"),
    [
        ("$NOKEY", {}, "the environment variable NOKEY is not set."),
        ("${NOKEY}", {}, "the environment variable NOKEY is not set."),
        ("$NOKEY", {"NOKEY": ""}, "the environment variable NOKEY is empty."),
        ("NOKEY", {}, "names no environment variable that is set"),
    ],
)
def test_a_variable_that_is_not_set_is_named_where_it_was_written_as_one(
    refused, api, reference, env, said
):
    option = ("--credential", f"key={reference}")

    error = refused("call", api, "with_key", *option, said=[said], env=env)

    assert ("NOKEY" in error) is reference.startswith("$")


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_without_a_server_the_option_is_named(refused, write, options):
    path = write({"/a": {"get": {"operationId": "a"}}}, servers=[])

    error = refused("call", path, "a", *options, code=1, said=["--base-url"])

    assert error.startswith("connection: ")
    assert "Settings" not in error


def test_a_base_url_without_a_scheme_is_one_line_that_says_what_was_meant(refused, api):
    options = ("--base-url", "localhost:8000", "--dry-run")

    error = refused("call", api, "with_key", *options)

    assert "did you mean 'http://localhost:8000'?" in error
    assert len(error.splitlines()) == 1


def test_a_body_that_is_no_text_is_only_counted(run, specs, offline):
    given = {"id": 1, "file": {"base64": "iVBORw0KGgo="}}

    result = run(
        "call", specs / "gotify.json", "upload_app_image", "--json", json.dumps(given), "--dry-run",
        "--base-url", "http://127.0.0.1:9",
    )  # fmt: skip

    assert result.exit_code == 0
    assert "bytes that are not text" in result.stdout


def test_the_mock_answers_without_a_network(run, museum, offline):
    result = run("call", museum, "get_museum_hours", "startDate=2023-09-11", "--mock")

    assert result.exit_code == 0
    assert json.loads(result.stdout)[0]["timeOpen"] == "09:00"
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("spec", "tool", "arguments"),
    [
        ("petstore.yaml", "find_pets_by_status", ["status=sold"]),
        ("petstore.yaml", "get_pet_by_id", ["petId=7"]),
        ("cafe.yaml", "list_menu_items", []),
        ("discord.json", "get_my_user", []),
    ],
)
def test_the_mock_agrees_with_right_requests(run, specs, offline, spec, tool, arguments):
    result = run("call", specs / spec, tool, *arguments, "--mock")

    assert (result.exit_code, result.stderr) == (0, "")
    json.loads(result.stdout)


def test_the_mock_says_what_it_could_not_judge(run, specs, offline):
    result = run("call", specs / "gotify.json", "get_version", "--mock")

    assert result.exit_code == 0
    assert set(json.loads(result.stdout)) == {"version", "commit", "buildDate"}
    assert result.stderr.startswith("note: not judged: ")


def test_a_disagreement_is_not_hidden(run, write, offline):
    # The two read the style differently: exploded matrix values of an undeclared type.
    parameter = {"name": "when", "in": "query", "schema": {"type": "string", "format": "date"}}
    path = write({"/a": {"get": {"operationId": "a", "parameters": [parameter]}}})

    result = run("call", path, "a", "when=tomorrow", "--mock")

    assert result.exit_code == 0
    assert result.stderr.startswith("openapi-core: query parameter 'when'")


def test_the_mock_keeps_the_base_url_that_is_given(run, museum, offline):
    result = run(
        "call", museum, "get_museum_hours", "--mock", "--base-url", "http://127.0.0.1:9/some/base"
    )

    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "options",
    [["--dry-run", "--mock"], ["--json", "{}}"], ["nope=1"], ["limit"], ["limit=x"]],
    ids=["dry and mock", "no JSON", "unknown", "no value", "no number"],
)
def test_options_that_make_no_sense_are_wrong_usage(refused, museum, options):
    assert refused("call", museum, "get_museum_hours", *options, said=["openapi-tools: error: "])


def test_both_document_and_input_cannot_come_from_standard_input(refused):
    assert refused("call", "-", "x", "--json", "-", said=["standard input"])


@pytest.mark.parametrize("url", ["http://[", "http://xn--/"])
def test_a_base_url_that_is_none_is_one_line_with_the_mock_too(refused, museum, url):
    error = refused("call", museum, "get_museum_hours", "--mock", "--base-url", url, code=1)

    assert error.count("\n") == 1
    assert "the server address" in error
