"""What a process imports before it does its first work: each entry only what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "specs" / "discord.json"
YAML = ROOT / "specs" / "museum.yaml"
GOTIFY = ROOT / "specs" / "gotify.json"
PACKAGE = ROOT / "generated" / "gotify"

CHECKERS = {"jsonschema", "jsonschema_rs", "openapi_core", "openapi_spec_validator", "referencing"}
WRITERS = {"jinja2", "rich", "pygments"}
NETWORK = {"anyio", "asyncio", "authlib", "certifi", "httpcore", "httpx", "ssl"}
READERS = {"urllib.request", "xml", "yaml", "openapi_tools.loading.parse_yaml"}
NEVER = {"openapi_core", "openapi_spec_validator", "jsonschema", "jinja2", "authlib"}
LOADER = {"openapi_tools.loading", "openapi_tools.codegen", "openapi_tools.generate"}
HEAVY = CHECKERS | WRITERS | NETWORK | READERS | {"pydantic"}
COMMANDS = {
    f"openapi_tools.cli.{path.stem}" for path in (ROOT / "openapi_tools/cli").glob("*_command.py")
}

LOAD = "from openapi_tools import load_tools; toolset = load_tools({!r});"
LOADED = LOAD.format(str(SPEC))
PATTERNS = {"jsonschema_rs"}
"""Compiles the patterns of a document, to see whether its own values match them."""
OFF = "import os; os.environ['OPENAPI_TOOLS_CACHE'] = 'off';"
EXECUTE = """
import asyncio, httpx
def answer(request):
    return httpx.Response(200, json={})
client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
from openapi_tools import Settings
toolset = load_tools(toolset.document, client=client, settings=Settings(anonymous=True))
tool = next(tool for tool in toolset if not tool.input_schema.get("required"))
assert not asyncio.run(tool.execute({})).is_error
"""
GENERATED = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import gotify_tools;"
ONE = f"{GENERATED} name = next(n for n in dir(gotify_tools) if n[:1].isupper());"
LOOK = "tool = getattr(gotify_tools, name); assert tool.description and tool.input_schema;"


def cli(*args):
    return f"""
import sys
sys.argv = ["openapi-tools", *{[str(arg) for arg in args]!r}]
from openapi_tools.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""


# What servers over HTTP, configurations and skills need. The package `mcp` itself imports uvicorn.
SERVERS = {
    *(f"openapi_tools.serving.{name}" for name in ("serving_tables", "team_server", "web_server")),
    *("h11", "openapi_tools.codegen", "openapi_tools.configuration.config_file"),
    *("openapi_tools.http_server", "openapi_tools.settings", "prometheus_client", "redis"),
}
STARTS = {
    "package": ("import openapi_tools", HEAVY | {"click", "dataclasses", "json", "re", "typing"}),
    "load_tools": ("from openapi_tools import load_tools", HEAVY | {"pydantic_core"}),
    "Settings": ("from openapi_tools import Settings; Settings(timeout=5)", HEAVY - {"pydantic"}),
    "load": (LOADED, HEAVY - PATTERNS),
    "load, cache off": (f"{OFF} {LOADED}", HEAVY - PATTERNS | {"sqlite3"}),
    "load YAML": (LOAD.format(str(YAML)), HEAVY - READERS | {"urllib.request", "xml"}),
    "look": (
        f"{LOADED} [(tool.description, tool.input_schema) for tool in toolset]",
        HEAVY - PATTERNS,
    ),
    "execute": (LOADED + EXECUTE, NEVER | READERS - {"urllib.request"}),
    "version": (cli("--version"), HEAVY | COMMANDS | {"pydantic_core", "openapi_tools.runtime"}),
    "help": (cli("--help"), HEAVY | COMMANDS | {"pydantic_core", "openapi_tools.runtime"}),
    "list": (cli("list", SPEC), HEAVY - PATTERNS | COMMANDS - {"openapi_tools.cli.list_command"}),
    "show": (
        cli("show", SPEC, "get_gateway"),
        # jsonschema_rs says which keywords are not checked.
        HEAVY - {"jsonschema_rs"} | COMMANDS - {"openapi_tools.cli.show_command"},
    ),
    "search": (
        cli("search", SPEC, "pin a message"),
        HEAVY - PATTERNS | COMMANDS - {"openapi_tools.cli.search_command"},
    ),
    "dry run": (
        cli("call", SPEC, "get_gateway", "--dry-run"),
        NEVER | READERS - {"urllib.request"} | COMMANDS - {"openapi_tools.cli.call_command"},
    ),
    "serve": (
        cli("serve", GOTIFY),
        NEVER | WRITERS | SERVERS | READERS - {"urllib.request"} | {"jsonschema_rs"}
        | COMMANDS - {"openapi_tools.cli.serve_command"},
    ),
    "generate": (cli("generate", GOTIFY, "--name", "gotify", "--output", PACKAGE, "--check"),
                 NEVER - {"jinja2", "jsonschema"} | {"openapi_tools.codegen.elixir_project"}),
    "generate --help": (cli("generate", "--help"), HEAVY | LOADER | {"pydantic_core"}),
    "generated package": (GENERATED, HEAVY | LOADER | {"openapi_tools.model", "dataclasses"}),
    "generated tool": (ONE + LOOK, HEAVY | LOADER | {"pydantic_core"}),
    "generated toolset": (f"{GENERATED} gotify_tools.load()", HEAVY | LOADER | {"pydantic_core"}),
}  # fmt: skip


@pytest.mark.parametrize("start", STARTS)
def test_a_process_imports_only_what_it_needs(start):
    code, needless = STARTS[start]
    look = f"import sys; print([n for n in {sorted(needless)} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{look}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


# Beside the modules of the package `mcp`, which its public modules import for every server.
SERVED_WITH = {"click", "jmespath", "openapi_tools"}
CACHED_WITH = {"platformdirs", "sqlite3"}


@pytest.mark.parametrize("is_small", [True, False])
def test_a_server_over_stdio_imports_few_packages_beside_mcp(tmp_path, is_small):
    small = tmp_path / "small.json"
    info = {"title": "small", "version": "1"}
    small.write_text(json.dumps({"openapi": "3.1.0", "info": info, "paths": {"/a": {"get": {}}}}))
    document = small if is_small else GOTIFY
    look = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    bare = "import mcp.server.lowlevel, mcp.server.stdio"
    loaded, needed = (
        set(
            subprocess.run(
                [sys.executable, "-c", f"{code}\n{look}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
            )
            .stdout.splitlines()[-1]
            .split()
        )
        for code in (cli("serve", document), bare)
    )
    needed |= set(sys.stdlib_module_names) - CACHED_WITH

    assert loaded - needed <= SERVED_WITH | (set() if is_small else CACHED_WITH)
