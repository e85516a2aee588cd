"""`openapi-tools call`; its options for credentials are in test_credentials.py."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest


@pytest.fixture
def api(write):
    """A document with an operation that takes all kinds of input, and one that needs a key."""
    schema = {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "tags": {"type": "array", "items": {}}},
    }
    add = {
        "operationId": "add",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"name": "q", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }
    keyed = {"operationId": "keyed", "security": [{"key": []}]}
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    paths = {"/items/{id}": {"post": add}, "/keyed": {"get": keyed}}
    return write(paths, components={"securitySchemes": schemes})


class Handler(BaseHTTPRequestHandler):
    """Answers a POST with what was asked, and a GET with 404."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(200, {"path": self.path, "body": json.loads(body or "null")})

    def do_GET(self):
        self.answer(404, {"path": self.path})

    def answer(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.send_header("X-Next-Page", "2")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args):
        """Say nothing."""


@pytest.fixture
def server():
    """The address of a server."""
    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/base"
        running.shutdown()
        thread.join()


@pytest.fixture
def offline(monkeypatch):
    """Make every connection fail the test."""

    def refuse(*_args, **_more):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_call_prints_the_answer_and_on_standard_error_what_only_headers_tell(run, api, server):
    result = run("call", api, "add", "id=7", "title=a b", "q=x&y", "--base-url", server)

    assert (result.exit_code, result.stderr) == (0, "Next page: 2 (x-next-page)\n")
    assert json.loads(result.stdout) == {"path": "/base/items/7?q=x%26y", "body": {"title": "a b"}}


def test_arguments_come_from_json_and_name_value_goes_over_it(run, api, server, tmp_path):
    given = tmp_path / "input.json"
    given.write_text('{"id": 1, "title": "file", "tags": [1]}')
    call = ("call", api, "add", "--base-url", server, "--json")

    of_file = run(*call, f"@{given}", "title=mine")
    of_stdin = run(*call, "-", stdin='{"id": 1, "title": "stdin"}')

    assert json.loads(of_file.stdout)["body"] == {"title": "mine", "tags": [1]}
    assert json.loads(of_stdin.stdout)["body"] == {"title": "stdin"}


KEY = ("--credential", "key=$API_KEY")
FAILING = [
    (1, "http 404", ["keyed", "--base-url", "{server}/nowhere", *KEY]),
    (1, "--base-url {server}/nowhere/v1", ["keyed", "--base-url", "{server}/nowhere", *KEY]),
    (1, "connection: ", ["keyed", "--base-url", "http://127.0.0.1:9", *KEY]),
    (1, "credentials: no credential is there for 'key' (API key, ", ["keyed"]),
    (1, "--credential 'key=$NAME'", ["keyed"]),
    (1, "invalid_input: ", ["add", "--json", '{{"id": "x", "title": "a"}}']),
    (1, "invalid_input: ", ["add", "--json", '{{"id": "x"}}', "--dry-run"]),
    (1, "the server address", ["add", "id=1", "title=a", "--mock", "--base-url", "http://["]),
    (1, "the server address", ["add", "id=1", "title=a", "--mock", "--base-url", "http://xn--/"]),
    (2, "mean 'http://localhost:8000'?", ["keyed", "--base-url", "localhost:8000", "--dry-run"]),
    (2, "--dry-run sends nothing", ["add", "--dry-run", "--mock"]),
    (2, "--json is not valid JSON", ["add", "--json", "{{}}}}"]),
    (2, "no argument is named 'nope'", ["add", "nope=1"]),
    (2, "'title' is not of the form", ["add", "title"]),
    (2, "id: 'x' is not valid JSON", ["add", "id=x"]),
]


@pytest.mark.parametrize(("code", "said", "args"), FAILING)
def test_a_failing_call_says_why_on_standard_error(refused, api, server, code, said, args):
    args = [arg.format(server=server) for arg in args]

    error = refused("call", api, *args, code=code, env={"API_KEY": "s3cret"})

    assert said.format(server=server) in error
    assert error.startswith("Usage: ") is (code == 2 and "localhost:8000" not in args)
    assert error.count("\n") == 2 if error.startswith("Usage: ") else "Settings" not in error


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_without_a_server_the_option_is_named(refused, write, options):
    path = write({"/a": {"get": {"operationId": "a"}}}, servers=[])

    error = refused("call", path, "a", *options, code=1, said=["--base-url"])

    assert error.startswith("connection: ")
    assert "Settings" not in error


def test_both_document_and_input_cannot_come_from_standard_input(refused):
    assert refused("call", "-", "x", "--json", "-", said=["standard input"])


def test_a_dry_run_prints_the_request_and_sends_nothing(run, api, offline):
    result = run("call", api, "add", "id=7", "title=x", "q=a b", "--dry-run")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "POST http://api.example.com/v1/items/7?q=a%20b"
    assert "content-type: application/json" in [line.lower() for line in lines]
    assert json.loads(lines[-1]) == {"title": "x"}


def test_a_body_that_is_no_text_is_only_counted(run, specs, offline):
    given = json.dumps({"id": 1, "file": {"base64": "iVBORw0KGgo="}})
    call = ("call", specs / "gotify.json", "upload_app_image", "--json", given)

    result = run(*call, "--dry-run", "--base-url", "http://127.0.0.1:9")

    assert result.exit_code == 0
    assert "bytes that are not text" in result.stdout


@pytest.mark.parametrize(
    ("spec", "args", "note"),
    [
        ("museum.yaml", ["get_museum_hours", "startDate=2023-09-11"], ""),
        ("museum.yaml", ["get_museum_hours", "--base-url", "http://127.0.0.1:9/some/base"], ""),
        ("petstore.yaml", ["find_pets_by_status", "status=sold"], ""),
        ("petstore.yaml", ["get_pet_by_id", "petId=7"], ""),
        ("cafe.yaml", ["list_menu_items"], ""),
        ("discord.json", ["get_my_user"], ""),
        ("gotify.json", ["get_version"], "note: not judged: "),
    ],
)
def test_the_mock_answers_without_a_network_and_agrees_with_right_requests(
    run, specs, offline, spec, args, note
):
    result = run("call", specs / spec, *args, "--mock")

    assert result.exit_code == 0
    assert json.loads(result.stdout)
    assert result.stderr.startswith(note)
    assert bool(result.stderr) is bool(note)


def test_a_disagreement_is_not_hidden(run, write, offline):
    parameter = {"name": "when", "in": "query", "schema": {"type": "string", "format": "date"}}
    path = write({"/a": {"get": {"operationId": "a", "parameters": [parameter]}}})

    result = run("call", path, "a", "when=tomorrow", "--mock")

    assert result.exit_code == 0
    assert result.stderr.startswith("openapi-core: query parameter 'when'")
