"""`openapi-tools call`; its options for credentials are in test_credentials.py."""

import json
import socket

import pytest
from servers.site import Site, SiteResponse


@pytest.fixture
def api(write):
    """A document with an operation that takes all kinds of input, and one that needs a key."""
    schema = {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "tags": {"type": "array", "items": {}}},
    }
    number = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    text = {"name": "q", "in": "query", "schema": {"type": "string"}}
    add = {
        "operationId": "add",
        "parameters": [number, text],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }
    keyed = {"operationId": "keyed", "parameters": [text], "security": [{"key": []}]}
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    paths = {"/items/{id}": {"post": add}, "/keyed": {"get": keyed}}
    return write(paths, components={"securitySchemes": schemes})


@pytest.fixture
def server():
    """The address of a server that responds with what it was asked; 404 at `/nowhere`."""

    def respond(request):
        status = 404 if request.path.startswith("/nowhere") else 200
        seen = {"path": request.path, "query": request.query}
        kind = ("Content-Type", "application/json")
        return SiteResponse(seen, status, (kind, ("X-Next-Page", "2")))

    with Site(respond) as running:
        yield running.url


@pytest.fixture
def offline(monkeypatch):

    def refuse(*_args, **_options):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_call_prints_the_response_and_on_standard_error_what_only_headers_say(run, api, server):
    result = run("call", api, "keyed", "q=x&y", "--base-url", f"{server}/base", "--anonymous")

    assert (result.exit_code, result.stderr) == (0, "Next page: 2 (x-next-page)\n")
    assert json.loads(result.stdout) == {"path": "/base/keyed", "query": {"q": "x&y"}}


def test_arguments_come_from_json_and_name_value_goes_over_it(run, api, tmp_path):
    file = tmp_path / "input.json"
    file.write_text('{"id": 1, "title": "file", "tags": ["\u00e9"]}', encoding="utf-8")
    call = ("call", api, "add", "--dry-run", "--json")

    of_file = run(*call, f"@{file}", "title=mine")
    of_stdin = run(*call, "-", stdin='{"id": 1, "title": "stdin"}')
    neither = run("call", "-", "add", "--json", "-", stdin="{}")

    assert json.loads(of_file.stdout.splitlines()[-1]) == {"title": "mine", "tags": ["\u00e9"]}
    assert json.loads(of_stdin.stdout.splitlines()[-1]) == {"title": "stdin"}
    assert neither.exit_code == 2
    assert "SPEC and --json cannot both be read from standard input." in neither.stderr


def test_json_of_windows_programs_may_begin_with_a_byte_order_mark(run, api, tmp_path):
    file, text = tmp_path / "input.json", '\ufeff{"id": 1,\r\n "title": "a"}\r\n'
    file.write_bytes(text.encode())

    for source in (f"@{file}", "-"):
        result = run("call", api, "add", "--dry-run", "--json", source, stdin=text)
        assert json.loads(result.stdout.splitlines()[-1]) == {"title": "a"}


KEY = ("--credential", "key=$API_KEY")
FAILING = [
    (1, "http 404", ["keyed", "--base-url", "{server}/nowhere", *KEY]),
    (1, "--base-url {server}/nowhere/v1", ["keyed", "--base-url", "{server}/nowhere", *KEY]),
    (1, "connection: ", ["keyed", "--base-url", "http://127.0.0.1:9", *KEY]),
    (1, "credentials: Missing credential for 'key' (API key, ", ["keyed"]),
    (1, "--credential 'key=$NAME'", ["keyed"]),
    (1, "invalid_input: ", ["add", "--json", '{{"id": "x", "title": "a"}}']),
    (1, "invalid_input: ", ["add", "--json", '{{"id": "x"}}', "--dry-run"]),
    (1, "the server address", ["add", "id=1", "title=a", "--mock", "--base-url", "http://["]),
    (1, "the server address", ["add", "id=1", "title=a", "--mock", "--base-url", "http://xn--/"]),
    (1, "connection: ", ["keyed", "--dry-run", "--anonymous", "--base-url", "http://["]),
    (2, "mean 'http://localhost:8000'?", ["keyed", "--base-url", "localhost:8000", "--dry-run"]),
]


@pytest.mark.parametrize(("code", "message", "args"), FAILING)
def test_a_failing_call_says_why_on_standard_error(refused, api, server, code, message, args):
    args = [arg.format(server=server) for arg in args]

    error = refused("call", api, *args, code=code, env={"API_KEY": "s3cret"})

    assert message.format(server=server) in error
    assert "Settings" not in error


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
KINDS = {
    "text": STRING,
    "state": {"enum": ["on", "off"]},
    "count": INTEGER,
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "filter": {"type": "object"},
    "nothing": {"type": "null"},
    "tags": {"type": "array", "items": STRING},
    "ids": {"type": "array", "items": INTEGER},
    "either": {"oneOf": [INTEGER, STRING]},
    "maybe": {"type": ["integer", "null"]},
    "name": {"type": ["string", "null"]},
    "big": {"anyOf": [{"type": "integer", "minimum": 10}, STRING]},
    "any": {},
    "object": {
        "anyOf": [
            {"type": "string", "pattern": "^(?!x)"},
            {"type": "object", "properties": {"n": INTEGER}},
        ]
    },
    "pet": {"$ref": "#/components/schemas/Pet"},
    "label": {"$ref": "#/components/schemas/Label"},
}
READ = [
    (["text=abc"], {"text": "abc"}),
    (["text=5"], {"text": "5"}),
    (["text="], {"text": ""}),
    (["text=a=b"], {"text": "a=b"}),
    (['text="quoted"'], {"text": '"quoted"'}),
    (["state=on"], {"state": "on"}),
    (["count=5"], {"count": 5}),
    (["ratio=1e3"], {"ratio": 1000.0}),
    (["flag=true"], {"flag": True}),
    (['filter={"a": 1}'], {"filter": {"a": 1}}),
    (["nothing=null"], {"nothing": None}),
    (['tags=["a", "b"]'], {"tags": ["a", "b"]}),
    (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
    (["tags=a"], {"tags": ["a"]}),
    (["tags=a,b"], {"tags": ["a,b"]}),
    (["ids=1", "text=x", "ids=2"], {"ids": [1, 2], "text": "x"}),
    (["either=5"], {"either": 5}),
    (["either=five"], {"either": "five"}),
    (["maybe=null"], {"maybe": None}),
    (["name=null"], {"name": None}),
    (["name=5"], {"name": "5"}),
    (["big=5"], {"big": "5"}),
    (["big=50"], {"big": 50}),
    (['object={"a": "b"}'], {"object": {"a": "b"}}),
    (['object={"n": "b"}'], {"object": '{"n": "b"}'}),
    (["object=[1]"], {"object": "[1]"}),
    (["any=[1]"], {"any": [1]}),
    (["any=1", "any=b"], {"any": [1, "b"]}),
    (['pet={"x": 1}'], {"pet": {"x": 1}}),
    (["label=7"], {"label": "7"}),
]


@pytest.fixture
def kinds(send):
    content = {"application/json": {"schema": {"type": "object", "properties": KINDS}}}
    schemas = {"Pet": {"type": "object"}, "Label": STRING}
    return send(content, required=True, components={"schemas": schemas})


@pytest.mark.parametrize(("pairs", "expected"), READ, ids=[" ".join(row[0]) for row in READ])
def test_a_value_is_read_by_the_schema_of_its_argument(run, kinds, pairs, expected):
    result = run("call", kinds, "send", *pairs, "--dry-run")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == expected


MISREAD = [
    (["text"], "'text' is not of the form name=value"),
    (["=x"], "unknown argument ''"),
    (["txt=1"], "did you mean text"),
    (["zzzzzz=1"], "expected one of text, state"),
    (["count=five"], "count: expected an integer, got 'five', which is not valid JSON"),
    (["filter={"], "expected an object, got"),
    (["ids=x"], "ids: expected an integer, got 'x', which is not valid JSON"),
    (["text=a", "text=b"], "text is passed 2 times, but is not an array"),
    *((["--json", text], "--json is not valid JSON: ") for text in ("{", "{}}", "[" * 100_000)),
    *((["--json", text], "--json must be an object, not ") for text in ("[1]", "5", "null")),
    (["--json", "@no/such/file"], "--json: 'no/such/file': No such file or directory."),
    (["--json", "@/"], "--json: '/': Is a directory."),
    (["--dry-run", "--mock"], "--dry-run sends nothing"),
]


@pytest.mark.parametrize(("args", "message"), MISREAD, ids=[row[1] for row in MISREAD])
def test_what_cannot_be_read_is_wrong_usage(refused, kinds, args, message):
    assert refused("call", kinds, "send", *args, messages=[message]).count("\n") == 2


def test_a_dry_run_prints_the_request_and_sends_nothing(run, api, offline):
    result = run("call", api, "add", "id=7", "title=x", "q=a b", "--dry-run")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "POST http://api.example.com/v1/items/7?q=a%20b"
    assert "content-type: application/json" in [line.lower() for line in lines]
    assert json.loads(lines[-1]) == {"title": "x"}


def test_a_body_that_is_no_text_is_only_counted(run, specs, offline):
    arguments = json.dumps({"id": 1, "file": {"base64": "iVBORw0KGgo="}})
    call = ("call", specs / "gotify.json", "upload_app_image", "--json", arguments)

    result = run(*call, "--dry-run", "--base-url", "http://127.0.0.1:9")

    assert result.exit_code == 0
    assert "bytes that are not text" in result.stdout


@pytest.mark.parametrize(
    ("spec", "args", "note"),
    [
        ("museum.yaml", ["get_museum_hours", "startDate=2023-09-11"], "Perhaps more: "),
        ("museum.yaml", ["get_museum_hours", "--base-url", "http://127.0.0.1:9/a"], "Perhaps "),
        ("petstore.yaml", ["find_pets_by_status", "status=sold"], ""),
        ("petstore.yaml", ["get_pet_by_id", "petId=7"], ""),
        ("cafe.yaml", ["list_menu_items"], "More: call again with after="),
        ("discord.json", ["get_my_user"], ""),
        ("gotify.json", ["get_version"], ""),
    ],
)
def test_the_mock_responds_without_a_network_and_agrees_with_right_requests(
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


@pytest.mark.parametrize("pair", ["都市=Kyoto", '都市:="Kyoto"', "page[size]=Kyoto"])
def test_an_argument_is_given_by_the_apis_own_name(run, write, server, pair):
    text = {"type": "string"}
    listed = [{"name": name, "in": "query", "schema": text} for name in ("都市", "page[size]")]
    spec = write({"/x": {"get": {"operationId": "find", "parameters": listed}}})

    result = run("call", spec, "find", pair, "--base-url", server)

    assert result.exit_code == 0, result.stderr
    assert [*json.loads(result.stdout)["query"].values()] == ["Kyoto"]
