"""An ASGI application as SPEC: `module:attribute`, imported and called in this process."""

import asyncio
import json
import sys
from functools import partial

import pytest
from mcp_api import COMMAND, serve_process

pytest.importorskip("fastapi", reason="fastapi is not installed")

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

SHOP = '''
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

from shop_names import TITLE

print("imported")
ended = []


@asynccontextmanager
async def lifespan(app):
    print("started")
    yield {"rate": 3}
    print("ended")


app = FastAPI(title=TITLE, lifespan=lifespan)


@app.get("/items/{item_id}", operation_id="get_item")
def get_item(item_id: int, request: Request) -> dict:
    """Get an item."""
    print("called")
    return {"id": item_id, "rate": request.state.rate}


@app.get("/broken", operation_id="break_it")
async def break_it() -> dict:
    """Break."""
    raise ValueError("boom")


def make():
    return app


def make_none():
    return 1 / 0


def make_for(folder):
    return app


async def make_later():
    return app


class Server:
    pass


def wsgi(environ, start_response):
    return []


data = {}
'''
PLAIN = """
import json

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Plain", "version": "1"},
    "paths": {"/z": {"get": {"operationId": "get_z", "responses": {"200": {"description": "z"}}}}},
}


async def app(scope, receive, send):
    assert scope["type"] == "http", "only HTTP"
    body = DOCUMENT if scope["path"] == "/openapi.json" else "z"
    kind = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": kind})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
"""
UNSTARTED = """
from contextlib import asynccontextmanager

from fastapi import FastAPI


@asynccontextmanager
async def lifespan(app):
    raise ConnectionError("no database")
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/a", operation_id="get_a")
def get_a() -> str:
    return "a"
"""
FILES = {
    "shop_app.py": SHOP,
    "shop_names.py": "TITLE = 'Shop'\n",
    "shop_plain.py": PLAIN,
    "shop_unstarted.py": UNSTARTED,
    "shop_silent.py": "from fastapi import FastAPI\napp = FastAPI(openapi_url=None)\n",
    "shop_bare.py": "from starlette.applications import Starlette\napp = Starlette()\n",
    "shop_needs.py": "import no_such_package\n",
    "shop_syntax.py": "def f(:\n",
    "shop_exit.py": "import sys\nsys.exit('set DATABASE_URL')\n",
    "inner/shop_deep.py": "\n\nraise RuntimeError('two\\nlines')\n",
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with applications, which is the current one; its modules are forgotten."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("shop_", "inner"))]:
        del sys.modules[name]


def test_the_tools_of_an_application_are_listed_and_what_it_prints_is_no_output(run, shop):
    result = run("list", "shop_app:app")

    assert result.exit_code == 0
    assert [line.split("\t")[:2] for line in result.stdout.splitlines()] == [
        ["get_item", "GET"],
        ["break_it", "GET"],
    ]
    assert result.stderr == "imported\n"


@pytest.mark.parametrize(
    "command",
    [
        "show {} get_item",
        "search {} item",
        "stubs {} get_item",
        "stats {}",
        "lint {}",
        "prove {}",
        "diff {} {}",
        "lock {} --lock tools.lock",
        "generate {} --output made --name shop",
        "call {} get_item item_id=1 --dry-run",
        "call {} get_item item_id=1 --mock",
        "browse {} --html page.html",
    ],
)
def test_every_command_takes_an_application(run, shop, command):
    result = run(*command.format("shop_app:app", "shop_app:app").split())

    assert (result.exit_code, "Traceback" in result.stderr) == (0, False), result.stderr


@pytest.mark.parametrize("name", ["shop_app:app", "shop_app:make()"])
def test_a_call_starts_the_application_and_ends_it(run, shop, name):
    result = run("call", name, "get_item", "item_id=7")

    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"id": 7, "rate": 3}
    assert result.stderr.split() == ["imported", "started", "called", "ended"]


def test_an_application_without_lifespan_or_framework_is_called(run, shop):
    result = run("call", "shop_plain:app", "get_z")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "z\n", "")


def test_a_startup_that_fails_is_the_reason_of_the_call(run, shop):
    result = run("call", "shop_unstarted:app", "get_a")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "http 500: GET /a returned 500 Internal Server Error: the startup of shop_unstarted:app "
        "failed: ConnectionError: no database\n"
    )


def test_a_failing_handler_is_an_error_result(run, shop):
    result = run("call", "shop_app:app", "break_it")

    assert result.exit_code == 1
    assert "\nhttp 500: GET /broken returned 500 Internal Server Error" in result.stderr


def test_the_folder_of_an_application_is_an_option(run, refused, shop, monkeypatch):
    folder = shop / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)

    error = refused(
        "list", "shop_app:app", messages=[f"no module 'shop_app' in {folder.resolve()}; "]
    )

    assert "--app-dir" in error
    assert run("list", "shop_app:app", "--app-dir", "..").exit_code == 0


WRONG = [
    ("shop_app:ap", "the module has no 'ap'; did you mean app?"),
    ("shop_app:zzz", "the module has no 'zzz'; it has app."),
    ("shop_ap:app", "no module 'shop_ap' in "),
    ("shop_app.inner:app", "no module 'shop_app.inner' in "),
    (
        "shop_needs:app",
        "failed: ModuleNotFoundError: No module named 'no_such_package' (shop_needs",
    ),
    ("shop_syntax:app", "failed: SyntaxError: invalid syntax (shop_syntax.py:1)."),
    ("shop_exit:app", "failed: SystemExit: set DATABASE_URL (shop_exit.py:2)."),
    ("inner.shop_deep:app", "failed: RuntimeError: two lines (inner/shop_deep.py:3)."),
    ("shop_app:make", "a factory, not an application; to call this function, write 'shop_app:make"),
    ("shop_app:Server", "a factory, not an application; to call this class, write 'shop_app:Serv"),
    ("shop_app:Server()", "a Server, not an ASGI application; name another."),
    (
        "shop_app:make_none()",
        "the factory failed: ZeroDivisionError: division by zero (shop_app.py",
    ),
    ("shop_app:make_for", "a function, not an ASGI application; serve it and name the URL"),
    ("shop_app:make_later", "an async function without scope, receive and send"),
    ("shop_app:wsgi", "a function, not an ASGI application; serve it and name the URL of its"),
    ("shop_app:data", "a dict, not an ASGI application; name another."),
    ("shop_app.py:app", "this is a Python file; name an application in it as shop_app:app."),
    ("shop_app.py", "this is a Python file; name an application in it as shop_app:NAME."),
    ("inner/shop_deep.py:app", "name an application in it as shop_deep:app --app-dir inner."),
    ("shop_bare:app", "no document at /openapi.json: the server responded with status 404."),
]


@pytest.mark.parametrize(("name", "message"), WRONG, ids=[row[0] for row in WRONG])
def test_an_application_that_cannot_be_had_is_one_line_with_the_cause(refused, shop, name, message):
    lines = refused("list", name, messages=[message, f"error: {name}: "]).splitlines()

    assert [line for line in lines if line != "imported"] == [lines[-1]]


def test_the_folder_is_for_applications(refused, shop, museum):
    refused(
        "list", museum, "--app-dir", ".", messages=["--app-dir needs an application, module:attr"]
    )
    refused("list", "shop_app:app", "--app-dir", "nowhere", messages=["'nowhere' does not exist."])
    refused("init", "shop_app:app", messages=["a configuration names a file or a URL"])


def test_an_installed_server_finds_its_application_from_any_folder(run, shop):
    run("install", "cursor", "shop_app:app", "--file", "mcp.json", "--yes")

    (server,) = json.loads((shop / "mcp.json").read_text())["mcpServers"].values()
    assert server["args"][-4:] == ["serve", "shop_app:app", "--app-dir", str(shop.resolve())]


async def ask_until(expected, ask):
    """Ask until the reply is the expected one, for ten seconds."""
    for _ in range(100):
        if (reply := await ask()) == expected:
            break
        await asyncio.sleep(0.1)
    assert reply == expected


async def ask_for_tools(client):
    """Return the names of the tools, and the text of a call of the first one, if it is there."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    try:
        result = await client.call_tool(names[0], {})
    except MCPError:  # the server has loaded the application again since its list
        return names, ""
    return names, result.content[0].text


async def edit_and_ask(client, shop):
    """Edit the application in several ways, and see each time what the client sees."""
    ask = partial(ask_for_tools, client)
    await ask_until((["get_z"], "z"), ask)

    (shop / "shop_plain.py").write_text(PLAIN.replace('else "z"', 'else "other"'))
    await ask_until((["get_z"], "other"), ask)

    (shop / "shop_plain.py").write_text("def f(:\n")
    await asyncio.sleep(1)
    assert await ask() == (["get_z"], "other")

    (shop / "shop_plain.py").write_text(PLAIN.replace("get_z", "get_last"))
    await ask_until((["get_last"], "z"), ask)


async def test_a_changed_application_is_served_without_a_restart_over_stdio(shop):
    arguments = [*COMMAND[1:], "serve", "shop_plain:app", "--app-dir", str(shop), "--reload"]
    server = StdioServerParameters(command=COMMAND[0], args=arguments)

    async with Client(stdio_client(server)) as client:
        await edit_and_ask(client, shop)


@pytest.mark.long
async def test_a_changed_application_is_served_without_a_restart_over_http(shop):
    arguments = ("shop_plain:app", "--app-dir", str(shop), "--reload")

    async with serve_process(*arguments) as address, Client(address) as client:
        await edit_and_ask(client, shop)


async def test_a_changed_document_is_served_without_a_restart(tmp_path, museum):
    path, text = tmp_path / "museum.yaml", museum.read_text()
    path.write_text(text)
    config = tmp_path / "openapi-tools.toml"
    config.write_text('source = "museum.yaml"\n')

    for spec in (path, config):
        async with serve_process(str(spec), "--reload") as address, Client(address) as client:

            async def ask(client=client):
                return "list_things" in [tool.name for tool in (await client.list_tools()).tools]

            path.write_text(text.replace("listSpecialEvents", "listThings"))
            await ask_until(True, ask)

            path.write_text(text)
            await ask_until(False, ask)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("http://127.0.0.1:9/openapi.json", "SPEC is neither a file nor an application"),
        ("two.toml", "set refresh in [serve], or send SIGHUP"),
    ],
)
def test_what_cannot_be_watched_is_wrong_usage(refused, shop, museum, spec, message):
    apis = "".join(f'[apis.{name}]\nsource = "{museum}"\n' for name in "ab")
    (shop / "two.toml").write_text(apis)

    refused("serve", spec, "--reload", messages=[message])
