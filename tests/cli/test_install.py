"""`openapi-tools install` writes a server into the configuration of an MCP client."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from openapi_tools.cli import install_command as module

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

    async def list_tools_of_client():
        started = StdioServerParameters(**entry, cwd=tmp_path)
        async with stdio_client(started) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [tool.name for tool in (await session.list_tools()).tools]

    assert "buy_museum_tickets" in asyncio.run(list_tools_of_client())


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
    assert again.stdout == f"{file}: m is already there; nothing changes.\n"
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
        ("claude", None, "start this client in an environment that has TOKEN"),
    ],
)
def test_a_credential_is_named_and_never_written(run, museum, tmp_path, client, env, note):
    file = tmp_path / "mcp.json"
    variables = {"TOKEN": "s3cret-value"}

    result = run(
        "install", client, museum, "--bearer", "$TOKEN", "--file", file, "--yes", env=variables
    )  # fmt: skip

    entry = servers(file, client)["redocly-museum-api"]
    assert entry.get("env") == env
    assert "s3cret-value" not in file.read_text() + result.output
    assert note in result.stderr


ONE_API = """
source = "{museum}"
base_url = "${{URL}}"
[credentials]
MuseumPlaceholderAuth = ["${{USER_NAME}}", "${{PASSWORD}}"]
"""
SEVERAL_APIS = """
[apis.museum]
source = "{museum}"
base_url = "${{URL}}"
[apis.museum.credentials]
MuseumPlaceholderAuth = ["${{USER_NAME}}", "${{PASSWORD}}"]
"""


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (ONE_API, "{config}"),
        (ONE_API, "{museum} --config {config}"),
        (SEVERAL_APIS, "{config}"),
    ],
    ids=["SPEC", "--config", "several APIs"],
)
def test_variables_of_a_configuration_are_named(run, museum, tmp_path, text, arguments):
    config, file = tmp_path / "api.toml", tmp_path / "mcp.json"
    config.write_text(text.format(museum=museum))
    words = arguments.format(config=config, museum=museum).split()

    result = run("install", "cursor", *words, "--file", file, "--yes", env={"URL": "http://a.org"})

    assert result.exit_code == 0, result.output
    (entry,) = servers(file, "cursor").values()
    names = ("URL", "USER_NAME", "PASSWORD")
    assert entry["env"] == {name: f"${{env:{name}}}" for name in names}


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
    ("arguments", "message"),
    [
        (("cursor", "missing.yaml"), "missing.yaml: no such file."),
        (("cursor",), "pass SPEC"),
        (("cursor", "MUSEUM", "--mdoe", "search"), "--mode"),
        (("cursor", "MUSEUM", "--transport", "http"), "for http use --url"),
        (("cursor", "-"), "which the client uses"),
        (("cursor", "MUSEUM", "--bearer", "$NOT_SET"), "NOT_SET is not set"),
        (("claude", "--url", "http://localhost/mcp"), "pass SPEC instead of --url"),
        (("cursor", "MUSEUM", "--url", "http://localhost/mcp"), "leave out SPEC"),
        (("emacs", "MUSEUM"), "'claude', 'claude-code', 'cursor'"),
    ],
)
def test_a_mistake_is_one_line(refused, museum, arguments, message):
    arguments = [str(museum) if part == "MUSEUM" else part for part in arguments]

    refused("install", *arguments, messages=[message])


REFUSED = {
    "comments": ("{ // mine\n}", "it may have comments"),
    "an array": ("[]", "is not JSON with an object 'mcpServers'"),
    "null": ("null", "is not JSON with an object 'mcpServers'"),
    "a string": ('"mcpServers"', "is not JSON with an object 'mcpServers'"),
    "another type": ('{"mcpServers": 3}', "is not JSON with an object 'mcpServers'"),
    "no servers": ('{"mcpServers": null}', "is not JSON with an object 'mcpServers'"),
    "a list of servers": ('{"mcpServers": [{}]}', "is not JSON with an object 'mcpServers'"),
    "a trailing comma": ('{"mcpServers": {},}', "it may have comments"),
    "100,000 brackets": ("[" * 100_000, "is not JSON"),
    "10,000 levels": ('{"a": ' * 10_000 + "1" + "}" * 10_000, "is not JSON"),
    "900 levels": ('{"a": ' * 900 + "1" + "}" * 900, ""),
    "a key twice": ('{"mcpServers": {"a": {}, "b": {}, "a": {}}}', 'has the key "a" twice'),
    "a large number": ('{"a": 1e999}', "has the number 1e999, which cannot be written unchanged"),
    "a long number": ('{"a": 0.1234567890123456789}', "cannot be written unchanged"),
    "thousands of digits": ('{"a": %s}' % ("9" * 5_000), "is not JSON"),
    "NaN": ('{"a": NaN}', "is not JSON"),
    "two values": ("{}{}", "is not JSON"),
    "NUL": ('{"a": "\0"}', "is not JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_would_not_be_the_same_stays(run, museum, tmp_path, case):
    text, message = REFUSED[case]
    file = tmp_path / "mcp.json"
    file.write_text(text)

    result = run("install", "cursor", museum, "--file", file, "--yes")

    if result.exit_code == 0:  # Python writes as many levels as it reads, from 3.12 on
        assert case == "900 levels"
        assert len(servers(file, "cursor")) == 1
    else:
        assert result.exit_code == 2
        assert message in result.stderr
        assert "Add by hand: {" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
        assert file.read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]


KEPT = {
    "a byte order mark": b'\xef\xbb\xbf{\n  "a": 1\n}\n',
    "line ends of Windows": b'{\r\n\t"a": 1\r\n}\r\n',
    "no line end": b'{"a": 1}',
    "half a character": b'{"a": 1, "b": "\\ud800", "c": "\xc3\xa4"}',
    "numbers": b'{"a": 1, "b": 1.50, "c": 123456789012345678901234567890, "d": 1e3, "e": -0.0}',
    "empty": b"",
    "spaces": b" \n",
    "servers": b'{"mcpServers": {"a": {"x": [1, null, true]}}, "a": 1}',
}


@pytest.mark.parametrize("case", KEPT)
def test_what_a_file_has_is_kept(run, museum, tmp_path, case):
    before = KEPT[case]
    file = tmp_path / "mcp.json"
    file.write_bytes(before)

    assert run("install", "cursor", museum, "--file", file, "--yes").exit_code == 0

    after = file.read_bytes()
    old, new = (json.loads(data.decode("utf-8-sig").strip() or "{}") for data in (before, after))
    assert new.pop("mcpServers").keys() - old.pop("mcpServers", {}).keys() == {"redocly-museum-api"}
    assert new == old
    assert after.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf")
    assert after.count(b"\r\n") == (after.count(b"\n") if b"\r\n" in before else 0)


def test_a_new_file_is_of_its_user_only_and_a_link_is_followed(run, museum, tmp_path):
    kept = tmp_path / "kept" / "mcp.json"
    link = tmp_path / "mcp.json"
    link.symlink_to(kept)

    for _ in range(2):
        assert run("install", "cursor", museum, "--file", link, "--yes").exit_code == 0

    assert link.is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in kept.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o640])
def test_a_file_keeps_its_mode(run, museum, tmp_path, mode):
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    file.chmod(mode)

    assert run("install", "cursor", museum, "--file", file, "--yes").exit_code == 0

    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_files_and_links_beside_it_are_not_written_through(run, museum, tmp_path, monkeypatch):
    file, victim = tmp_path / "mcp.json", tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda _: "0")
    (tmp_path / ".mcp.json.0").symlink_to(victim)

    result = run("install", "cursor", museum, "--file", file, "--yes")

    assert (result.exit_code, file.exists()) == (2, False)
    assert "cannot be written (File exists)" in result.stderr
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("kind", ["read-only", "changed meanwhile", "cannot be renamed"])
def test_a_file_that_is_not_ours_to_replace_stays(run, museum, tmp_path, monkeypatch, kind):
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    if kind == "read-only":
        file.chmod(0o444)
    elif kind == "changed meanwhile":
        write = module.print_text
        change = lambda text: (write(text), file.write_text('{"x": 1}'))  # noqa: E731
        monkeypatch.setattr(module, "print_text", change)
    else:
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "broken")))

    result = run("install", "cursor", museum, "--file", file, "--yes")

    words = {"read-only": "is read-only", "cannot be renamed": "cannot be written (broken)"}
    assert words.get(kind, "has changed meanwhile; nothing was written") in result.stderr
    assert result.exit_code == 2
    assert file.read_text() == ('{"x": 1}' if kind == "changed meanwhile" else "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]


def test_a_file_that_cannot_be_read_or_written_is_an_error(refused, run, museum, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")
    (tmp_path / "latin").write_bytes(b'{"a": "\xff"}')

    refused("install", "cursor", museum, "--file", tmp_path / "latin", messages=["not UTF-8 text"])
    refused("install", "cursor", museum, "--file", tmp_path / "folder", messages=["is a directory"])
    os.mkfifo(tmp_path / "pipe")
    refused(
        "install", "cursor", museum, "--file", tmp_path / "pipe", messages=["not a regular file"]
    )
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused("install", "cursor", museum, "--file", tmp_path / "loop", messages=["cannot be read"])
    result = run("install", "cursor", museum, "--file", tmp_path / "plain" / "x", "--yes")
    assert result.exit_code == 2
    assert "cannot be" in result.stderr
