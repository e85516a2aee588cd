"""`openapi-tools install` writes a server into the configuration of an MCP client."""

import asyncio
import json
import stat

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

KEYS = {
    "claude": "mcpServers",
    "claude-code": "mcpServers",
    "cursor": "mcpServers",
    "gemini": "mcpServers",
    "vscode": "servers",
    "windsurf": "mcpServers",
}


def servers(file, client):
    return json.loads(file.read_text())[KEYS[client]]


@pytest.mark.parametrize("client", KEYS)
def test_a_client_gets_an_entry_with_the_options_of_serve(run, museum, tmp_path, client):
    file = tmp_path / "deep" / "mcp.json"

    result = run("install", client, museum, "--tag", "Tickets", "--file", file, "--yes")

    assert result.exit_code == 0
    assert '+    "redocly-museum-api": {' in result.stdout
    entry = servers(file, client)["redocly-museum-api"]
    assert entry["args"][-4:] == ["serve", str(museum), "--tag", "Tickets"]
    assert set(entry) == {"command", "args"}


def test_a_client_starts_what_is_written(run, museum, tmp_path, monkeypatch):
    file = tmp_path / "mcp.json"
    monkeypatch.chdir(museum.parent)
    assert run("install", "cursor", museum.name, "--file", file, "--yes").exit_code == 0
    entry = servers(file, "cursor")["redocly-museum-api"]

    async def listed():
        started = StdioServerParameters(**entry, cwd=tmp_path)
        async with stdio_client(started) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [tool.name for tool in (await session.list_tools()).tools]

    assert "buy_museum_tickets" in asyncio.run(listed())


def test_a_server_of_several_apis_is_started_over_stdio(run, museum, tmp_path):
    config, file = tmp_path / "apis.toml", tmp_path / "mcp.json"
    config.write_text(f'[serve]\n[apis.museum]\nsource = "{museum}"\n')

    assert run("install", "cursor", config, "--file", file, "--yes").exit_code == 0

    entry = servers(file, "cursor")["openapi-tools"]
    assert entry["args"][-4:] == ["serve", str(config), "--transport", "stdio"]


def test_other_servers_and_the_indentation_stay(run, museum, tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{\n    "theme": "ä",\n    "servers": {\n        "a": {"x": 1}\n    }\n}')
    file.chmod(0o640)

    result = run("install", "vscode", museum, "--file", file, "--name", "m", "--yes")

    data = json.loads(file.read_text())
    assert (data["theme"], data["servers"]["a"]) == ("ä", {"x": 1})
    assert '\n    "theme": "ä"' in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert result.exit_code == 0
    again = run("install", "vscode", museum, "--file", file, "--name", "m", "--yes")
    assert again.stdout == f"{file}: m is there already; nothing changes.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]


def test_nothing_is_written_without_a_yes(run, museum, tmp_path):
    file = tmp_path / "mcp.json"

    result = run("install", "cursor", museum, "--file", file)

    assert (result.exit_code, file.exists()) == (1, False)
    assert result.stderr == "not written; --yes writes it without asking.\n"


@pytest.mark.parametrize(
    ("client", "env", "note"),
    [
        ("cursor", {"TOKEN": "${env:TOKEN}"}, ""),
        ("claude-code", {"TOKEN": "${TOKEN}"}, ""),
        ("gemini", {"TOKEN": "$TOKEN"}, ""),
        ("claude", None, "this client must get TOKEN from the environment"),
    ],
)
def test_a_credential_is_named_and_never_written(run, museum, tmp_path, client, env, note):
    file = tmp_path / "mcp.json"
    told = {"TOKEN": "s3cret-value"}

    result = run(
        "install", client, museum, "--bearer", "$TOKEN", "--file", file, "--yes", env=told
    )  # fmt: skip

    entry = servers(file, client)["redocly-museum-api"]
    assert entry.get("env") == env
    assert "s3cret-value" not in file.read_text() + result.output
    assert note in result.stderr


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("cursor", {"url": "http://localhost:8000/mcp"}),
        ("vscode", {"type": "http", "url": "http://localhost:8000/mcp"}),
        ("windsurf", {"serverUrl": "http://localhost:8000/mcp"}),
        ("gemini", {"httpUrl": "http://localhost:8000/mcp"}),
    ],
)
def test_a_client_connects_to_a_server_that_runs(run, tmp_path, client, entry):
    file = tmp_path / "mcp.json"

    run("install", client, "--url", "http://localhost:8000/mcp", "--file", file, "--yes")

    assert servers(file, client) == {"openapi-tools": entry}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("cursor", "missing.yaml"), "missing.yaml: no such file."),
        (("cursor",), "give SPEC"),
        (("cursor", "MUSEUM", "--mdoe", "search"), "--mode"),
        (("cursor", "MUSEUM", "--transport", "http"), "for http give --url"),
        (("cursor", "-"), "the client speaks there"),
        (("cursor", "MUSEUM", "--bearer", "$NOT_SET"), "NOT_SET is not set"),
        (("claude", "--url", "http://localhost/mcp"), "give SPEC instead of --url"),
        (("cursor", "MUSEUM", "--url", "http://localhost/mcp"), "leave out SPEC"),
        (("emacs", "MUSEUM"), "'claude', 'claude-code', 'cursor'"),
    ],
)
def test_a_mistake_is_one_line(refused, museum, given, said):
    given = [str(museum) if part == "MUSEUM" else part for part in given]

    refused("install", *given, said=[said])


@pytest.mark.parametrize("text", ["{ // mine\n}", "[]", '{"mcpServers": 3}', "[" * 100_000])
def test_a_file_that_is_not_plain_json_stays(refused, museum, tmp_path, text):
    file = tmp_path / "mcp.json"
    file.write_text(text)

    refused("install", "cursor", museum, "--file", file, "--yes", said=["Add by hand: {"])

    assert file.read_text() == text


def test_a_file_that_cannot_be_read_or_written_is_an_error(refused, run, museum, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")
    (tmp_path / "latin").write_bytes(b'{"a": "\xff"}')

    refused("install", "cursor", museum, "--file", tmp_path / "latin", said=["not UTF-8 text"])
    refused("install", "cursor", museum, "--file", tmp_path / "folder", said=["is a directory"])
    result = run("install", "cursor", museum, "--file", tmp_path / "plain" / "x", "--yes")
    assert result.exit_code == 2
    assert "cannot be" in result.stderr
