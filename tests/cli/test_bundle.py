"""`openapi-tools install --bundle` writes an MCP bundle that a client starts."""

import ast
import asyncio
import base64
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import jsonschema
import pytest
from hostile_documents import PAYLOADS, hostile
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from servers.site import running

from openapi_tools import load_tools
from openapi_tools.codegen.mcp_bundle import find_requirements

USER = "REDOCLY_MUSEUM_MUSEUMPLACEHOLDERAUTH_USER"
PASSWORD = "REDOCLY_MUSEUM_MUSEUMPLACEHOLDERAUTH"
FORMAT = {
    "type": "object",
    "properties": {
        "manifest_version": {"const": "0.4"},
        "name": {"type": "string", "minLength": 1},
        "display_name": {"type": "string"},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "description": {"type": "string", "minLength": 1},
        "author": {"properties": {"name": {"type": "string"}}, "required": ["name"]},
        "server": {
            "properties": {
                "type": {"enum": ["python", "node", "binary", "uv"]},
                "entry_point": {"type": "string"},
                "mcp_config": {
                    "properties": {
                        "command": {"type": "string"},
                        "args": {"type": "array", "items": {"type": "string"}},
                        "env": {"additionalProperties": {"type": "string"}},
                    },
                    "required": ["command"],
                    "additionalProperties": False,
                },
            },
            "required": ["type", "entry_point", "mcp_config"],
            "additionalProperties": False,
        },
        "tools": {
            "items": {
                "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "tools_generated": {"type": "boolean"},
        "compatibility": {
            "properties": {
                "platforms": {"items": {"enum": ["darwin", "win32", "linux"]}},
                "runtimes": {"properties": {"python": {"type": "string"}}},
            },
            "additionalProperties": False,
        },
        "user_config": {
            "additionalProperties": {
                "properties": {
                    "type": {"enum": ["string", "number", "boolean", "directory", "file"]},
                    "title": {"type": "string", "minLength": 1},
                    "description": {"type": "string", "minLength": 1},
                    "required": {"type": "boolean"},
                    "default": {"type": "string"},
                    "sensitive": {"type": "boolean"},
                },
                "required": ["type", "title", "description"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["manifest_version", "name", "version", "description", "author", "server"],
    "additionalProperties": False,
}
"""The rules of the manifest's version 0.4 for the keys that bundles use."""


@pytest.fixture
def bundle(run, tmp_path):
    """Write a bundle, and return its manifest and the folder it is unpacked in."""

    def write(*arguments, env=None, name="api"):
        file, folder = tmp_path / f"{name}.mcpb", tmp_path / f"{name}-unpacked"
        result = run("install", "--bundle", file, *arguments, env=env)
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
        with ZipFile(file) as archive:
            assert archive.namelist() == sorted(archive.namelist())
            archive.extractall(folder)
        manifest = json.loads((folder / "manifest.json").read_bytes())
        jsonschema.validate(manifest, FORMAT)
        return manifest, folder

    return write


@pytest.fixture
def host(tmp_path):
    """Start a bundle as a host does, with a `uv` that finds all packages installed."""
    uv = tmp_path / "uv"
    script = f'[ "$1 $2" = "run --directory" ] && cd "$3" && exec "{sys.executable}" "$4"'
    uv.write_text(f"#!/bin/sh\n{script}\n")
    uv.chmod(0o755)

    def start(manifest, folder, *, values=None, call=None, command=uv):
        return asyncio.run(_talk(str(command), manifest, folder, values or {}, call))

    return start


async def _talk(command, manifest, folder, values, call):
    """Return the names of the tools that a bundle lists, or the result of a call."""
    config = manifest["server"]["mcp_config"]
    assert config["command"] == "uv"
    # As in a user's session: neither the environment nor the coverage of the tests.
    mine = ("COV", "PYTEST", "PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    for name, text in config["env"].items():
        assert text == f"${{user_config.{name}}}"
        env[name] = values.get(name, text)  # as hosts leave what has no value
    words = [word.replace("${__dirname}", str(folder)) for word in config["args"]]
    started = StdioServerParameters(command=command, args=words, env=env, cwd=folder.parent)
    async with stdio_client(started) as streams, ClientSession(*streams) as session:
        await session.initialize()
        if call is not None:
            return await session.call_tool(*call)
        return [tool.name for tool in (await session.list_tools()).tools]


def test_a_bundle_has_the_document_the_package_and_what_a_host_asks_for(bundle, museum):
    manifest, folder = bundle(museum)

    assert (manifest["name"], manifest["display_name"], manifest["version"]) == (
        "redocly-museum-api",
        "Redocly Museum API",
        "1.2.1",
    )
    assert [tool["name"] for tool in manifest["tools"]] == [t.name for t in load_tools(museum)]
    asked = manifest["user_config"]
    assert {name: (o["sensitive"], o["required"]) for name, o in asked.items()} == {
        USER: (False, True),
        PASSWORD: (True, True),
    }
    tables = tomllib.loads((folder / "openapi-tools.toml").read_text())
    assert tables["credentials"] == {"MuseumPlaceholderAuth": [f"${{{USER}}}", f"${{{PASSWORD}}}"]}
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == list(find_requirements(["mcp"]))
    assert (folder / "openapi_tools" / "LICENSE").read_text().startswith("MIT License")
    assert not list(folder.rglob("__pycache__"))


def test_the_command_of_the_manifest_serves_the_tools(bundle, host, museum):
    manifest, folder = bundle(museum)

    assert host(manifest, folder) == [tool["name"] for tool in manifest["tools"]]
    result = host(manifest, folder, call=("get_museum_hours", {}))
    assert result.is_error
    assert f"{USER} is not set" in result.content[0].text


def test_a_call_has_the_credentials_that_the_host_asked_for(bundle, host, museum):
    seen = []

    async def serve(scope, receive, send):
        seen.append(dict(scope["headers"])[b"authorization"].decode())
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"[]"})

    with running(serve) as url:
        manifest, folder = bundle(museum, "--base-url", url, "--ask")
        values = {USER: "me", PASSWORD: "s3cret"}
        result = host(manifest, folder, values=values, call=("get_museum_hours", {}))

    assert not result.is_error
    assert seen == [f"Basic {base64.b64encode(b'me:s3cret').decode()}"]


def test_the_same_sources_are_the_same_bytes(bundle, museum, tmp_path, monkeypatch):
    bundle(museum, name="first")
    (tmp_path / "other").mkdir()
    other = shutil.copy(museum, tmp_path / "other" / "museum.yaml")
    os.utime(other, (1, 1))
    monkeypatch.chdir(tmp_path / "other")

    bundle("museum.yaml", name="second")

    first, second = (tmp_path / f"{name}.mcpb" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def texts(folder):
    """Return the files of a bundle but the package, as one text."""
    return "".join(path.read_text() for path in folder.iterdir() if path.is_file())


def test_a_secret_of_an_option_is_asked_for_and_never_written(bundle, museum):
    env = {"TOKEN": "s3cret-value"}

    manifest, folder = bundle(museum, "--header", "X-Key: $TOKEN", "--mode", "search", env=env)

    assert manifest["tools"][0]["name"] == "search_tools"
    option = manifest["user_config"]["TOKEN"]
    assert (option["sensitive"], option["required"]) == (True, True)
    assert "s3cret-value" not in texts(folder)


CONFIGURATION = """
source = "{source}"
overlays = ["names.yaml"]
base_url = "${{SHOP_URL}}"
[select]
tags = ["Tickets"]
[credentials]
MuseumPlaceholderAuth = ["${{SHOP_USER}}", "${{SHOP_PASSWORD}}"]
[tools.buy_museum_tickets]
name = "buy"
"""
OVERLAY = """
overlay: 1.1.0
info: {title: a, version: "1"}
actions: [{target: $.info, update: {title: Shop}}]
"""


@pytest.fixture
def configuration(museum, tmp_path):
    """Write a configuration with an overlay, of a document at some place."""

    def write(source=museum):
        (tmp_path / "names.yaml").write_text(OVERLAY)
        path = tmp_path / "shop.toml"
        path.write_text(CONFIGURATION.format(source=source))
        return path

    return write


def test_what_settings_and_modes_need_is_installed(bundle, museum):
    options = ("--set", "check_responses=true", "--set", "http_cache=true", "--mode", "code")

    _, folder = bundle(museum, *options)

    text = (folder / "pyproject.toml").read_text()
    assert [name in text for name in ("openapi-core", "hishel", "pydantic-monty")] == [True] * 3


def test_a_configuration_is_in_the_bundle_with_what_it_names(bundle, host, configuration):
    env = {"SHOP_URL": "http://127.0.0.1:9"}

    manifest, folder = bundle(configuration(), env=env)

    assert manifest["display_name"] == "Shop"
    assert host(manifest, folder, values=env) == ["buy", "get_ticket_code"]
    asked = {name: each["sensitive"] for name, each in manifest["user_config"].items()}
    assert asked == {"SHOP_URL": False, "SHOP_USER": False, "SHOP_PASSWORD": True}
    assert str(folder.parent) not in texts(folder)


@pytest.mark.long
def test_a_document_at_a_url_is_read_at_each_start(bundle, host, configuration, museum):
    async def serve(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": museum.read_bytes()})

    with running(serve) as url:
        env = {"SHOP_URL": url}
        manifest, folder = bundle(configuration(f"{url}/museum.yaml"), env=env)
        listed = host(manifest, folder, values=env)

    tables = tomllib.loads((folder / "openapi-tools.toml").read_text())
    assert tables["source"] == f"{url}/museum.yaml"
    assert (folder / tables["overlays"][0]).read_text() == OVERLAY
    assert manifest["tools_generated"] is True
    assert not (folder / "openapi.json").exists()
    assert listed == ["buy", "get_ticket_code"]


@pytest.mark.long
def test_several_apis_are_in_one_bundle(bundle, host, museum, specs, tmp_path):
    path = tmp_path / "apis.toml"
    path.write_text(
        '[serve]\nport = 9000\nmode = "tools"\n'
        f'[apis.museum]\nsource = "{museum}"\n[apis.cafe]\nsource = "{specs / "cafe.yaml"}"\n'
    )

    manifest, folder = bundle(path, name="both")

    assert host(manifest, folder) == [tool["name"] for tool in manifest["tools"]]
    tables = tomllib.loads((folder / "openapi-tools.toml").read_text())
    assert tables["serve"] == {"mode": "tools"}
    assert {table["source"] for table in tables["apis"].values()} == {"cafe.json", "museum.json"}
    assert "MUSEUM_MUSEUMPLACEHOLDERAUTH" in manifest["user_config"]


@pytest.mark.long
def test_a_credential_that_some_tools_can_do_without_is_optional(bundle, write, host):
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    paths = {"/a": {"get": {"security": [{"key": []}]}}, "/b": {"get": {}}}

    manifest, folder = bundle(write(paths, components={"securitySchemes": {"key": key}}))

    (option,) = manifest["user_config"].values()
    assert (option["required"], option["default"]) == (False, "")
    assert len(host(manifest, folder)) == 2


@pytest.fixture
def locked(run, tmp_path):
    """Write a configuration whose lock has the tools of a document but some."""

    def write(source, *, without=()):
        path, lock = tmp_path / "one.toml", tmp_path / "tools.json"
        path.write_text(f'source = "{source}"\nlock = "tools.json"\n')
        assert run("lock", path).exit_code == 0
        accepted = json.loads(lock.read_text())
        for name in without:
            del accepted["tools"][name]
        lock.write_text(json.dumps(accepted))
        return path

    return write


def test_only_tools_that_a_lock_accepts_are_in_the_bundle(bundle, host, locked, write, tmp_path):
    hue = [{"name": "hue", "in": "query", "schema": {"$ref": "parts.json#/hue"}}]
    (tmp_path / "parts.json").write_text(json.dumps({"hue": {"type": "string", "enum": ["red"]}}))
    gets = {f"/{name}": {"get": {"operationId": name, "parameters": hue}} for name in ("a", "b")}

    manifest, folder = bundle(locked(write(gets), without=["b"]))

    assert host(manifest, folder) == ["a"]


@pytest.mark.long
def test_the_lock_of_a_document_at_a_url_is_in_the_bundle(bundle, host, locked, museum, tmp_path):
    async def serve(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": museum.read_bytes()})

    with running(serve) as url:
        path = locked(f"{url}/museum.yaml", without=["get_museum_hours"])
        manifest, folder = bundle(path)
        listed = host(manifest, folder)

    assert (folder / "openapi.lock.json").read_text() == (tmp_path / "tools.json").read_text()
    assert len(listed) == 7


FIXED = '[tools.buy_museum_tickets.fixed]\nemail = "sk_live_abcdefgh12345678"\n'


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        ("missing.yaml", "", "missing.yaml: no such file."),
        ("", "", "pass SPEC"),
        ("MUSEUM --mdoe search", "", "--mode"),
        ("MUSEUM --transport http", "", "over stdio"),
        ("MUSEUM --port 9", "", "--port is only for http"),
        ("MUSEUM --workers 2", "", "--workers needs"),
        ("MUSEUM --url http://localhost/mcp", "", "for a client's configuration"),
        ("MUSEUM --file x.json", "", "for a client's configuration"),
        ("MUSEUM --download-dir files", "", "--download-dir names a file or folder"),
        ("MUSEUM --credential MuseumPlaceholderAuth=@token", "", "names a file of this machine"),
        ("MUSEUM --bearer $NOT_SET", "", "NOT_SET is not set"),
        ("MUSEUM --tag Gone", "", "Gone"),
        ("MUSEUM --set idempotency_header=sk_live_abcdefgh1", "", "options: looks like a secret"),
        ("MUSEUM --set user_agent=x", "", "user_agent: unknown setting"),
        ("cursor MUSEUM", "", "--bundle is for any client; leave out cursor"),
        ("app:app", "", "an application is only on this machine"),
        ("CONFIG", 'source = "MUSEUM"\n[settings]\nfile_roots = ["."]', "settings.file_roots"),
        ("CONFIG", 'source = "MUSEUM"\n' + FIXED, "fixed.email looks like a secret"),
        ("CONFIG", '[apis.a]\nsource = "gone.yaml"', "no such file"),
        ("CONFIG", '[apis.a]\nsource = "MUSEUM"\n[serve.roles.x]', "serve.roles"),
        ("CONFIG", '[apis.a]\nsource = "MUSEUM"\nx = 1', "unknown key"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(refused, museum, tmp_path, line, text, message):
    config, file = tmp_path / "config.toml", tmp_path / "x.mcpb"
    config.write_text(text.replace("MUSEUM", str(museum)))
    words = line.replace("MUSEUM", str(museum)).replace("CONFIG", str(config)).split()

    refused("install", "--bundle", file, *words, messages=[message])

    assert not file.exists()


def test_a_file_is_replaced_only_if_asked_for(run, refused, museum, tmp_path):
    file = tmp_path / "x.mcpb"
    with ZipFile(file, "w") as older:
        older.writestr("mine", "")

    refused("install", "--bundle", file, museum, messages=["the file exists; --yes overwrites it"])
    assert ZipFile(file).namelist() == ["mine"]
    assert run("install", "--bundle", file, museum, "--yes").exit_code == 0
    assert "manifest.json" in ZipFile(file).namelist()
    refused("install", "--bundle", file / "y", museum, messages=["cannot be written"])
    refused("install", "--bundle", tmp_path, museum, messages=["is a directory"])


def test_a_file_that_is_no_bundle_is_never_replaced(refused, museum, tmp_path):
    document = tmp_path / "museum.yaml"
    document.write_bytes(museum.read_bytes())

    refused(
        "install", "--bundle", document, document, "--yes", messages=["exists and is no bundle"]
    )

    assert document.read_bytes() == museum.read_bytes()


@pytest.mark.parametrize("name", ["closes a text", "YAML", "TOML", "JSON", "terminal", "empty"])
def test_a_hostile_document_breaks_out_of_nothing(bundle, write, tmp_path, name):
    text = PAYLOADS[name]
    document = hostile(text)
    document["info"] |= {"title": text, "contact": {"name": text}, "version": text}
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))

    manifest, folder = bundle(path, "--mode", "tools")

    tables = tomllib.loads((folder / "openapi-tools.toml").read_text())
    assert set(tables) <= {"source", "credentials"}
    assert set(manifest["server"]["mcp_config"]["args"][:2]) == {"run", "--directory"}
    texts = [manifest["display_name"], manifest["description"], manifest["author"]["name"]]
    texts += [part for tool in manifest["tools"] for part in tool.values()]
    texts += [
        o[k] for o in manifest.get("user_config", {}).values() for k in ("title", "description")
    ]
    assert [line for line in texts if not line.isprintable()] == []
    constants = ast.literal_eval(_find_expression((folder / "server.py").read_text(), "OPTIONS"))
    assert constants == ["--mode", "tools", "--transport", "stdio"]


def _find_expression(source, name):
    """Return the expression that a module assigns to a name."""
    (node,) = (
        each.value
        for each in ast.parse(source).body
        if isinstance(each, ast.Assign) and each.targets[0].id == name
    )
    return ast.unparse(node)


def test_the_requirements_are_those_of_the_package_and_of_extras():
    base, with_extras = list(find_requirements([])), list(find_requirements(["code", "mcp"]))

    assert set(base) < set(with_extras)
    assert [line for line in base if "extra" in line or line.startswith("mcp")] == []
    assert {line.partition("<")[0] for line in with_extras} >= {"mcp", "pydantic-monty"}


@pytest.mark.long
def test_uv_installs_and_starts_a_bundle(bundle, host, museum, tmp_path):
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", installed, "uv"]
    if importlib.util.find_spec("pip") is None or subprocess.run(pip, check=False).returncode:
        pytest.skip("uv cannot be fetched here")
    manifest, folder = bundle(museum)

    listed = host(manifest, folder, command=installed / "bin" / "uv")

    assert listed == [tool["name"] for tool in manifest["tools"]]
    assert Path(folder, ".venv").exists()


def test_no_api_replaces_a_file_of_the_bundle_or_of_another_api(bundle, museum, specs, tmp_path):
    path = tmp_path / "apis.toml"
    names = ("manifest", "server", "con", "pets-x", "pets_x", "Pets_X")
    path.write_text("".join(f'[apis.{name}]\nsource = "{museum}"\n' for name in names))

    manifest, folder = bundle(path)

    assert manifest["manifest_version"] == "0.4"
    tables = tomllib.loads((folder / "openapi-tools.toml").read_text())["apis"]
    files = [table["source"].lower() for table in tables.values()]
    assert len({*files, "manifest.json", "con.json"}) == len(names) + 2
    for table in tables.values():
        assert load_tools(folder / table["source"]).document["openapi"]


def test_no_two_apis_ask_for_one_credential(bundle, write, tmp_path):
    def spec(scheme):
        security = {"type": "apiKey", "in": "header", "name": "X-Key"}
        paths = {"/a": {"get": {"security": [{scheme: []}]}}}
        path = write(paths, components={"securitySchemes": {scheme: security}})
        return path.rename(tmp_path / f"spec-{scheme.encode().hex()}.json")

    path = tmp_path / "apis.toml"
    apis = {"a": spec("b_key"), "a_b": spec("key"), "a-b": spec("KEY")}
    path.write_text(
        "".join(f'[apis.{name}]\nsource = "{file}"\n' for name, file in apis.items())
        + f'[apis.c]\nsource = "{apis["a_b"]}"\n[apis.c.credentials]\nkey = "${{A_B_KEY}}"\n'
    )

    manifest, folder = bundle(path)

    tables = tomllib.loads((folder / "openapi-tools.toml").read_text())["apis"]
    references = [*(reference for t in tables.values() for reference in t["credentials"].values())]
    assert len(manifest["user_config"]) == len(set(references)) == 4
    assert tables["c"]["credentials"] == {"key": "${A_B_KEY}"}


@pytest.mark.parametrize(
    "query",
    ["?token=short", "?a=1&sig=abc", "?key=abcd1234efgh5678", "?x=sk_live_abcdefgh12345678"],
)
def test_a_url_with_a_secret_is_not_written(refused, museum, tmp_path, query):
    async def serve(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": museum.read_bytes()})

    file = tmp_path / "x.mcpb"
    with running(serve) as url:
        refused(
            "install", "--bundle", file, f"{url}/m.yaml{query}", messages=["or a secret", "a file"]
        )
        with_user = url.replace("://", "://eve:hunter2@")
        refused("install", "--bundle", file, f"{with_user}/m.yaml", messages=["***@", "a password"])

    assert not file.exists()
