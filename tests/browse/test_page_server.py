"""What the server of the page returns, and to whom."""

import asyncio
import json
import queue
import socket
import webbrowser
from pathlib import Path

import pytest
from browse_pages import MUSEUM, browsing, browsing_here
from click.testing import CliRunner
from documents import document, operation
from servers.recorder import CannedResponse, Recorder

from openapi_tools.cli import commands

MUSEUM_TEXT = Path(MUSEUM).read_text(encoding="utf-8")
SECRET = "s3cr3t-0f-the-page-9f31"
TICKET = {"ticketType": "general", "ticketDate": "2023-09-07"}
DATA = {
    "/api/index": {},
    "/api/costs": {"profile": "openai"},
    "/api/needs": {},
    "/api/words": {},
    "/api/tool": {"name": "get_museum_hours"},
}


CODE = {"name": "code", "in": "path", "required": True, "schema": {"type": "string"}}


def call(name="list_special_events", arguments=None, **fields):
    return {"name": name, "arguments": arguments or {}, **fields}


def test_the_page_and_its_parts_are_served_under_a_strict_policy(museum_page):
    status, headers, text = museum_page.ask("GET", "/", without=["x-openapi-tools-key"])

    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
    assert museum_page.key not in text
    for name in ("tokens.css", "page.js", "store.js", "theme.js"):
        assert museum_page.ask("GET", f"/{name}")[0] == 200


@pytest.mark.parametrize("path", DATA)
def test_data_needs_the_key_of_this_run(museum_page, path):
    def ask_page(**options):
        return museum_page.ask("POST", path, body=DATA[path], **options)[0]

    assert ask_page() == 200
    assert ask_page(without=["x-openapi-tools-key"]) == 401
    assert ask_page(x_openapi_tools_key=f"{museum_page.key}x") == 401
    assert ask_page(x_openapi_tools_key="é") == 401
    assert museum_page.ask("GET", path)[0] == 404


@pytest.mark.parametrize("path", ["/", "/page.js", *DATA])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "", "[::2]"])
def test_another_host_name_is_refused_as_after_dns_rebinding(museum_page, path, host):
    port = museum_page.host.partition(":")[2]

    method = "POST" if path in DATA else "GET"

    host = host.format(port=port)
    status, _, text = museum_page.ask(method, path, body=DATA.get(path), host=host)

    assert status == 421
    assert json.loads(text) == {"error": "this server responds to 127.0.0.1 and localhost only."}


def test_the_name_localhost_is_the_same_server(museum_page):
    host = museum_page.host.replace("127.0.0.1", "localhost")

    origin = f"http://{host}"

    assert museum_page.ask("POST", "/api/index", body={}, host=host, origin=origin)[0] == 200


@pytest.mark.parametrize(
    ("headers", "without", "status"),
    [
        ({"origin": "http://evil.example"}, (), 403),
        ({"origin": "null"}, (), 403),
        ({"origin": "https://{host}"}, (), 403),
        ({}, ("origin",), 403),
        ({}, ("x-openapi-tools-key",), 401),
        ({}, ("content-type",), 403),
        ({"content_type": "text/plain"}, (), 403),
        ({"content_type": "application/x-www-form-urlencoded"}, (), 403),
        ({"host": "evil.example"}, (), 421),
    ],
)
@pytest.mark.parametrize("path", ["/api/preview", "/api/execute"])
def test_other_pages_can_neither_preview_nor_call(museum_page, path, headers, without, status):
    headers = {name: value.format(host=museum_page.host) for name, value in headers.items()}

    response = museum_page.ask("POST", path, body=call(), without=without, **headers)

    assert response[0] == status
    assert set(json.loads(response[2])) == {"error"}


@pytest.mark.parametrize(
    "path",
    [
        *("/../pyproject.toml", "/%2e%2e/page_server.py", "/..%2fpage_server.py", "//etc/passwd"),
        *("/page_server.py", "/__init__.py", "/page.html/", "/page.html", "/api", "/api/index/"),
    ],
)
def test_no_other_file_is_served(museum_page, path):
    assert museum_page.ask("GET", path)[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_other_methods_are_refused(museum_page, method):
    assert museum_page.ask(method, "/api/execute")[0] == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400),
        ("nonsense", 400),
        ("[]", 400),
        ("[" * 100_000, 400),
        ({"name": "list_special_events"}, 400),
        (call("list_special_event"), 404),
        (call(["list"]), 404),
        (" " * 16_000_001, 413),
    ],
)
def test_a_wrong_request_gets_a_reason(museum_page, body, status):
    actual, _, text = museum_page.ask("POST", "/api/preview", body=body)

    assert actual == status
    assert json.loads(text)["error"]


def test_an_unknown_tool_or_profile_is_reported_with_the_names_that_there_are(museum_page):
    unknown = museum_page.ask("POST", "/api/tool", body={"name": "get_musuem_hours"})
    profile = museum_page.ask("POST", "/api/costs", body={"profile": "other"})

    assert unknown[0] == profile[0] == 404
    assert "get_museum_hours" in unknown[2]
    assert "openai_strict" in profile[2]


def test_the_index_has_each_tool_and_its_costs_are_in_the_same_order(museum_page):
    index = museum_page.data("index", {})
    costs = museum_page.data("costs", {"profile": "mcp"})

    assert index["title"] == "Redocly Museum API"
    assert index["mock"] is True
    assert index["tools"][5] == {
        "name": "delete_special_event",
        "method": "DELETE",
        "path": "/special-events/{eventId}",
        "deprecated": False,
        "tags": ["Events"],
        "summary": "Delete special event",
        "safety": "destructive",
    }
    assert [tool["safety"] for tool in index["tools"]][:2] == ["read-only", "additive"]
    assert len(costs) == len(index["tools"]) == 8
    assert all(0 < tokens < size for size, tokens, _, _ in costs)
    assert all(tokens < full for _, tokens, _, full in costs)


def test_needs_name_the_producers_and_what_nobody_yields(museum_page):
    tools = [tool["name"] for tool in museum_page.data("index", {})["tools"]]
    needs = dict(zip(tools, museum_page.data("needs", {}), strict=True))

    assert tools[needs["get_special_event"]["eventId"][0]] == "list_special_events"
    assert needs["list_special_events"] == {}


def test_a_variable_of_a_path_that_no_tool_yields_is_listed(tmp_path):
    paths = {"/a/{code}": {"get": operation(operationId="get_a", parameters=[CODE])}}
    spec = tmp_path / "code.json"
    spec.write_text(json.dumps(document(paths)))
    with browsing_here(spec) as page:
        assert page.data("needs", {}) == [{"code": []}]
        assert "mock" not in page.data("tool", {"name": "get_a"})["preview"]


def test_a_tool_is_shown_as_each_model_sees_it_and_as_it_travels(museum_page):
    tool = museum_page.data("tool", {"name": "get_special_event"})

    (place,) = tool["arguments"]
    assert (place["argument"], place["in"], place["style"]) == ("eventId", "path", "simple")
    assert tool["security"] == [{"MuseumPlaceholderAuth": []}]
    assert tool["security_schemes"] == {"MuseumPlaceholderAuth": "http basic"}
    openai, anthropic = tool["definitions"]["openai"], tool["definitions"]["anthropic"]
    assert openai["value"]["function"]["name"] == "get_special_event"
    assert anthropic["value"]["input_schema"]["required"] == ["eventId"]
    assert openai["bytes"] == len(json.dumps(openai["value"]))
    assert tool["preview"]["mock"]["curl"].startswith(
        "curl --globoff --path-as-is -X GET http://mock.invalid/special-events/"
    )
    assert tool["documented"] == {
        "summary": "Get special event",
        "description": "Get details about a special event.",
    }


def test_a_preview_is_the_request_that_the_package_builds(museum_page):
    preview = museum_page.data("preview", call("buy_museum_tickets", TICKET))

    start, host = preview["http"].splitlines()[:2]
    assert start == "POST https://redocly.com/_mock/docs/openapi/museum-api/tickets"
    assert host == "host: redocly.com"
    assert preview["mock"]["http"].splitlines()[0] == "POST http://mock.invalid/tickets"
    assert preview["http"].endswith('\n\n{"ticketDate":"2023-09-07","ticketType":"general"}')
    assert '--data-raw \'{"ticketDate":"2023-09-07","ticketType":"general"}\'' in preview["curl"]
    compile(preview["httpx"], "example", "exec")


@pytest.mark.parametrize(
    ("server", "options", "start"),
    [
        ("/v1", (), "GET http://mock.invalid/a"),
        (
            "https://api.example.com",
            ("--base-url", "https://b.example/"),
            "GET https://b.example/a",
        ),
    ],
    ids=["relative", "named by the user"],
)
def test_one_server_has_one_request(tmp_path, server, options, start):
    paths = {"/a": {"get": operation(operationId="get_a")}}
    spec = tmp_path / "a.json"
    spec.write_text(json.dumps(document(paths, servers=[{"url": server}])))
    with browsing_here(spec, "--mock", *options) as page:
        preview = page.data("preview", call("get_a"))

    assert preview["http"].startswith(start)
    assert "mock" not in preview


def test_arguments_that_do_not_fit_are_reported_in_place_of_a_preview(museum_page):
    wrong = TICKET | {"ticketType": "yearly"}

    preview = museum_page.data("preview", call("buy_museum_tickets", wrong))

    assert "'yearly' is not one of ['event', 'general']" in preview["error"]


def test_a_read_is_called_at_once_and_a_write_after_approval(museum_page):
    read = museum_page.data("execute", call())
    asked = museum_page.data("execute", call("buy_museum_tickets", TICKET))
    result = museum_page.data("execute", call("buy_museum_tickets", TICKET, approved="yes"))
    done = museum_page.data("execute", call("buy_museum_tickets", TICKET, approved=True))

    assert read["success"]
    assert asked["needs_approval"] is result["needs_approval"] is True
    assert asked["preview"]["http"].startswith("POST http://mock.invalid/tickets")
    assert done["success"]
    assert done["output"]["message"] == "Museum general entry ticket purchased"
    assert done["problems"] == []
    assert 0 < done["tokens"] < done["bytes"]


async def test_credentials_are_sent_and_never_shown(tmp_path):
    paths = {
        "/pets": {
            "get": operation(operationId="list_pets", security=[{"key": []}]),
            "delete": operation(operationId="empty", security=[{"key": []}]),
        }
    }
    scheme = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    spec = tmp_path / "pets.json"
    spec.write_text(json.dumps(document(paths, components={"securitySchemes": scheme})))
    async with Recorder(CannedResponse(body=json.dumps({"you": SECRET}).encode())) as api:

        def execute_call():
            options = ("--credential", "key=$PAGE_KEY", "--base-url", api.url)
            with browsing(spec, *options, PAGE_KEY=SECRET) as page:
                yield page.ask("POST", "/api/index", body={})[2]
                yield page.ask("POST", "/api/tool", body=call("empty"))[2]
                yield page.ask("POST", "/api/preview", body=call("list_pets"))[2]
                yield page.ask("POST", "/api/execute", body=call("list_pets"))[2]
                yield page.ask("POST", "/api/execute", body=call("empty"))[2]
                yield page.ask("POST", "/api/execute", body=call(SECRET))[2]

        texts = await asyncio.to_thread(list, execute_call())
        sent = api.requests

    assert [request.header("x-key") for request in sent] == [SECRET]
    assert [text for text in texts if SECRET in text] == []
    assert "x-key: ***" in json.loads(texts[2])["http"]
    assert json.loads(texts[3])["output"] == {"you": "***"}


def test_a_chosen_port_is_used_and_one_in_use_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        result = CliRunner().invoke(commands, ["browse", MUSEUM, "--port", str(port)])
    with browsing(MUSEUM, "--port", port) as page:
        host = page.host
        page.ask("GET", "/")  # the server runs

    assert result.exit_code == 1
    assert f"127.0.0.1:{port} cannot be used" in result.stderr
    assert host == f"127.0.0.1:{port}"


def test_a_websocket_is_not_offered():
    asked = {"sec_websocket_version": "13", "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ=="}
    with browsing(MUSEUM) as page:
        status, _, text = page.ask("GET", "/", connection="Upgrade", upgrade="websocket", **asked)

    assert (status, "<title>" in text) == (200, True)


def test_what_changes_since_an_older_document_is_shown(tmp_path):
    old = tmp_path / "old.yaml"
    old.write_text(MUSEUM_TEXT.replace("operationId: getMuseumHours", "operationId: getHours"))
    with browsing_here(MUSEUM, "--against", old) as page:
        changes = page.data("index", {})["changes"]

    assert [(change["kind"], change["breaking"]) for change in changes] == [("renamed", True)]
    assert changes[0]["tools"] == ["get_museum_hours"]


def test_the_address_is_opened_in_the_browser_on_request(monkeypatch, capsys):
    opened = queue.SimpleQueue()
    monkeypatch.setattr(webbrowser, "open", opened.put)  # which returns None: not opened
    with browsing_here(MUSEUM, "--open") as page:
        assert opened.get(timeout=30) == page.address

    output = capsys.readouterr()
    assert output.out.strip() == page.address
    assert "no browser could be opened" in output.err
