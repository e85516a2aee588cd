"""The typical mistakes of a newcomer: each is one line that says where, what, and what to do."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from documents import document
from servers.site import Site, SiteResponse
from servers.tls import Authority, TlsServer

from openapi_tools import OpenAPIToolsError, generate_package, load_tools

ROOT = Path(__file__).parents[2]
SWAGGER_UI = b"""<!DOCTYPE html><html><head><title>Shop</title></head><body>
<script>const ui = SwaggerUIBundle({ url: '/openapi.json', "dom_id": "#swagger-ui" })</script>
</body></html>"""
PAGES = {
    "/docs": SWAGGER_UI,
    "/api/redoc": b'<html><body><redoc spec-url="../v1/openapi.yaml"></redoc></body></html>',
    "/": b'<html><head><link rel="service-desc" href="/api-docs/desc"></head></html>',
    "/link": b'<html><head><link href="desc.json" rel="service-desc"/></head></html>',
    "/readme": b'<html><body><a href="/files/openapi.json">the document</a></body></html>',
    "/page": b"<!DOCTYPE html><html><body>Welcome</body></html>",
}
FILES = {
    "empty.yaml": "",
    "typo.yaml": 'openapi: 3.1.0\ninfo:\n  title: x\n version: "1"\n',
    "typo.json": '{"openapi": "3.1.0" "info": {}}',
    "postman.json": '{"info": {"_postman_id": "1", "name": "Shop"}, "item": []}',
    "schema.json": '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}',
    "async.yaml": "asyncapi: 2.6.0\ninfo: {title: x, version: '1'}\n",
    "old.json": '{"swagger": "1.2", "apis": []}',
    "nothing.yaml": "openapi: 3.1.0\ninfo: {title: x, version: '1'}\n",
    "bad.toml": "source = 'museum.yaml'\ntimeout = \n",
    "key.toml": "source = 'museum.yaml'\ntimeout = 3\n",
    "two.toml": "[apis.a]\nsource = 'museum.yaml'\n[apis.b]\nsource = 'museum.yaml'\n",
    "program.py": "1 +",
}
GET = {"operationId": "get_it", "responses": {"200": {"description": "ok"}}}
FLAG = {"name": "flag", "in": "query", "schema": {"type": "boolean"}}
DOCUMENTS = {
    "shop.json": document({"/it": {"get": {**GET, "parameters": [FLAG]}}}),
    "relative.json": document({"/it": {"get": GET}}, servers=[{"url": "/v1"}]),
    "swagger.json": {
        "swagger": "2.0",
        "info": {"title": "Shop", "version": "1"},
        "basePath": "/v1",
        "paths": {"/it": {"get": GET}},
    },
    "region.json": document({"/it": {"get": GET}}, servers=[{"url": "https://{region}.invalid"}]),
    "away.json": document({"/it": {"get": GET}}, servers=[{"url": "http://api.invalid"}]),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Names of the rows: a site with pages, one with TLS, a closed port, the folder of files."""
    folder = tmp_path_factory.mktemp("newcomer")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name, root in DOCUMENTS.items():
        (folder / name).write_text(json.dumps(root))
    (folder / "museum.yaml").write_bytes((ROOT / "specs" / "museum.yaml").read_bytes())
    generate_package(folder / "museum.yaml", folder / "edited", name="museum")
    with (folder / "edited" / "museum_tools" / "index.py").open("a") as file:
        file.write("# mine\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with Site(respond) as site, TlsServer(Authority(folder).server()) as tls:
            yield {"site": site.url, "tls": tls.url, "port": port, "folder": folder}


def respond(request):
    """Return a page, or the response of an API that wants a token."""
    if request.path in PAGES:
        return SiteResponse(PAGES[request.path], headers=(("Content-Type", "text/html"),))
    if request.path == "/it" and request.headers["Authorization"] is None:
        return SiteResponse({"message": "Requires authentication"}, 401)
    return SiteResponse({"detail": "Not Found"}, 404)


HOURS = ("museum.yaml", "get_museum_hours")
ROWS = [
    # SPEC
    ("wrong path", 2, "list musem.yaml", ["musem.yaml: no such file; did you mean museum.yaml?"]),
    ("a folder", 2, "list .", ["is a folder; name the document's file"]),
    ("an empty file", 2, "list empty.yaml", ["empty.yaml: the document is empty"]),
    ("YAML typo", 2, "list typo.yaml", ["typo.yaml: not valid YAML: line 4, column 2"]),
    ("JSON typo", 2, "list typo.json", ["not valid JSON: line 1, column 21: expected `,`"]),
    ("Postman", 2, "list postman.json", ["looks like a Postman collection", "exported as OpenAPI"]),
    ("JSON Schema", 2, "list schema.json", ["neither 'openapi' nor", "looks like a JSON Schema"]),
    ("AsyncAPI", 2, "list async.yaml", ["looks like an AsyncAPI document"]),
    ("an old version", 2, "list old.json", ["'swagger' is '1.2'; this package reads Swagger 2.0"]),
    ("no SPEC", 2, "list", ["pass SPEC, or --config with a file that names its source"]),
    ("no paths", 0, "list nothing.yaml", ["it has no operations, so there are no tools"]),
    # addresses
    ("Swagger UI", 2, "list {site}/docs", ["HTML page", "names the document {site}/openapi.json;"]),
    ("Redoc", 2, "list {site}/api/redoc", ["names the document {site}/v1/openapi.yaml;"]),
    ("service-desc", 2, "list {site}/", ["names the document {site}/api-docs/desc; use that"]),
    ("a link", 2, "list {site}/link", ["names the document {site}/desc.json;"]),
    ("another link", 2, "list {site}/readme", ["names the document {site}/files/openapi.json;"]),
    ("HTML", 2, "list {site}/page", ["HTML page; use the URL of the document itself"]),
    ("no openapi.json", 2, "list {site}/openapi.json", ["status 404", "often at /openapi.json"]),
    ("a closed port", 2, "list http://127.0.0.1:9/a", ["(Connection refused). Check the URL"]),
    ("refused DNS", 2, "list http://no.invalid/a", ["no connection to no.invalid", "Check the"]),
    ("http for https", 2, "list https://{host}/a", ["does not use TLS; should its URL"]),
    (
        "a certificate",
        2,
        "list {tls}/a",
        ["certificate is not trusted", "authority with --ca-file"],
    ),
    # commands and options
    ("wrong command", 2, "calls museum.yaml", ["No such command 'calls'. Did you mean 'call'"]),
    ("wrong option", 2, "list museum.yaml --timout 3", ["'--timout'. Did you mean '--timeout'"]),
    ("TOML typo", 2, "list bad.toml", ["bad.toml:2: this is not TOML"]),
    ("wrong key", 2, "list key.toml", ["key.toml:2: timeout: unknown key; expected one of source"]),
    ("server's file", 2, "list two.toml", ["two.toml configures 2 APIs; choose one with --api (a"]),
    ("wrong tag", 0, "list museum.yaml --tag Event", ["no tool is selected", "Events, Operations"]),
    # calls
    ("wrong operation", 2, "call museum.yaml get_hours", ["'get_hours'", "get_museum_hours"]),
    ("another case", 2, "call museum.yaml getMuseumHour", ["did you mean get_museum_hours"]),
    ("unlike any", 2, "call museum.yaml nope", ["among 8 tools; `openapi-tools list SPEC` lists"]),
    ("one argument", 2, "call shop.json get_it zzz=1", ["'zzz'; expected flag."]),
    ("wrong argument", 2, "call {hours} limt=3", ["unknown argument 'limt'; did you mean limit"]),
    ("no equals sign", 2, "call {hours} limit", ["'limit' is not of the form name=value"]),
    (
        "no number",
        2,
        "call {hours} limit=many",
        ["got 'many', which is not valid JSON", "write digits"],
    ),
    ("no boolean", 2, "call shop.json get_it flag=yes", ["which is not valid JSON; write true or"]),
    ("no such file", 2, "call {hours} startDate=@x", ["file 'x' cannot be read", "write @@"]),
    ("wrong type", 1, 'call {hours} --json {{"limit":"x"}}', ["/limit: expected an integer, got"]),
    (
        "no argument",
        1,
        "call museum.yaml get_ticket_code",
        ["/ticketId: missing required argument"],
    ),
    ("wrong scheme", 2, "call {hours} --credential a=$HOME", ["it has 'MuseumPlaceholderAuth'"]),
    ("no variable", 2, "call {hours} --bearer $NO_SUCH", ["variable NO_SUCH is not set"]),
    ("a literal token", 2, "call {hours} --bearer abc", ["write '$VAR', in single quotes"]),
    ("no credential", 1, "call {hours}", ["'MuseumPlaceholderAuth=$NAME'", "request was not sent"]),
    ("401", 1, "call shop.json get_it --base-url {site}", ["auth 401", "pass --bearer '$VAR'"]),
    ("no servers", 1, "call shop.json get_it", ["set the API's address with --base-url"]),
    ("relative server", 1, "call relative.json get_it", ["'/v1' is relative", "with --base-url"]),
    ("server variable", 1, "call region.json get_it", ["--set server_variables=…"]),
    ("no scheme", 2, "call shop.json get_it --base-url x.org", ["did you mean 'http://x.org'"]),
    ("closed API", 1, "call away.json get_it", ["no connection to api.invalid", "set --base-url"]),
    # other commands
    ("port in use", 1, "serve museum.yaml --transport http --port {port}", ["--host or --port"]),
    ("edited file", 2, "generate museum.yaml --name museum --output edited", ["--force to overw"]),
    ("no output", 2, "generate museum.yaml", ["SPEC needs --output, the folder of the package"]),
    ("no program", 2, "run museum.yaml nope.py", ["'nope.py': No such file"]),
]


@pytest.mark.parametrize(("_", "code", "line", "messages"), ROWS, ids=[row[0] for row in ROWS])
def test_a_mistake_on_the_command_line_is_one_line(
    run, places, monkeypatch, _, code, line, messages
):
    monkeypatch.chdir(places["folder"])
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    names = {**places, "host": places["site"].partition("//")[2], "hours": " ".join(HOURS)}

    result = run(*line.format(**names).split())
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Usage: ")]

    assert (result.exit_code, result.stdout) == (code, "")
    assert [words for words in messages if words.format(**names) not in result.stderr] == []
    if "Example: " not in result.stderr:  # which a model may copy, on a line of its own
        assert len(lines) == 1
    assert len(lines[0]) < 400
    assert re.search(r"[.?:;]$|\)$", lines[0])


@pytest.mark.parametrize("command", ["list {}", "show {} get_it"])
@pytest.mark.parametrize("spec", ["relative.json", "swagger.json", "shop.json"])
def test_a_document_without_a_host_says_so_before_a_call(run, places, command, spec):
    result = run(*command.format(places["folder"] / spec).split())
    with_base_url = run(
        *command.format(places["folder"] / spec).split(), "--base-url", "http://a.org/v1"
    )

    server = "/" if spec == "shop.json" else "/v1"
    assert result.exit_code == 0
    assert result.stderr.startswith(
        f"note: the document's server '{server}' is relative, and the document was "
    )
    assert result.stderr.endswith("; set the API's address with --base-url.\n")
    printed = result.stdout.replace(f"Servers: {server}\n", "Servers: http://a.org/v1\n")
    assert (with_base_url.stdout, with_base_url.stderr) == (printed, "")


def test_a_server_without_a_host_is_named_by_lint(run, places):
    outputs = [
        run("lint", places["folder"] / name).stdout for name in ("swagger.json", "shop.json")
    ]

    assert "no-server: the server '/v1' has no host; add it, or every user must set" in outputs[0]
    assert (
        "no-server: the document has no server; add one, or every user must set --base"
        in outputs[1]
    )


MISTAKES = [
    ("wrong path", "musem.yaml", {}, "musem.yaml: no such file"),
    ("a folder", ".", {}, "is a folder; name the document's file"),
    ("a page", "{site}/docs", {}, "names the document {site}/openapi.json; use that URL"),
    ("a closed port", "http://127.0.0.1:9/a", {}, "Check the URL, and that the server is running."),
    ("a number", 7, {}, "a document is a URL, a path, a dict, a string or bytes"),
    ("nothing", None, {}, "source is missing; pass a document, or a configuration"),
    ("a response", {"data": []}, {}, "looks like a response of an API, not its description"),
    (
        "a URL in settings",
        "shop.json",
        {"settings": "http://x"},
        "expected Settings(timeout=10), or",
    ),
    ("a tag in select", "shop.json", {"select": "pets"}, 'select: expected Select(tags=["…"])'),
    ("a token", "museum.yaml", {"credentials": "t"}, '{{"bearerAuth": "…"}}'),
    ("a scheme", "museum.yaml", {"credentials": {"a": "t"}}, "it has 'MuseumPlaceholderAuth'"),
    ("a keyword", "shop.json", {"base_ulr": "x"}, "unknown setting; did you mean base_url"),
    ("a text", "shop.json", {"timeout": "soon"}, "timeout: input should be a valid number"),
    ("a host", "shop.json", {"base_url": "x.org"}, "did you mean 'http://x.org'?"),
    ("no configuration", None, {"config": "no.toml"}, "no.toml: cannot be read (No such file"),
    ("a wrong overlay", "shop.json", {"overlays": "no.yaml"}, "no.yaml: no such file"),
]


@pytest.mark.parametrize(
    ("_", "source", "options", "message"), MISTAKES, ids=[m[0] for m in MISTAKES]
)
def test_a_mistake_in_python_is_an_error_of_one_line(
    places, monkeypatch, _, source, options, message
):
    monkeypatch.chdir(places["folder"])
    source = source.format(**places) if isinstance(source, str) else source

    with pytest.raises(OpenAPIToolsError, match=re.escape(message.format(**places))) as caught:
        load_tools(source, **options)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", ["import openapi_tools", None], ids=["import", "-m"])
def test_a_wrong_python_is_reported(code):
    pythons = sorted(Path.home().glob(".pyenv/versions/3.10.*/bin/python"))
    if not pythons:
        pytest.skip("there is no Python 3.10 here")
    how = ["-c", code] if code else ["-m", "openapi_tools", "list"]
    result = subprocess.run(
        [pythons[0], *how], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert result.returncode == 1
    assert result.stderr.endswith("openapi_tools needs Python 3.11 or later; this is 3.10.\n")
    assert ("Traceback" in result.stderr) == bool(code)


@pytest.mark.parametrize("extra", ["mcp", "serve"])
def test_a_missing_extra_says_how_this_installation_gets_it(museum, tmp_path, extra):
    if extra == "serve":
        source, museum = museum, tmp_path / "openapi-tools.toml"
        museum.write_text(f'[apis.museum]\nsource = "{source}"\n')
    code = "import sys; sys.modules['mcp'] = None; from openapi_tools.cli import main; main()"
    how = [sys.executable, "-c", code, "serve", str(museum)]
    result = subprocess.run(how, capture_output=True, text=True, input="", check=False)

    assert (result.returncode, result.stdout) == (2, "")
    assert "pip install" in result.stderr
    assert f"[{extra}]" in result.stderr
    assert result.stderr.count("\n") == 1
