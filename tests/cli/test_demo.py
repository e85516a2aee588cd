"""`openapi-tools demo`: three servers in one process, and the commands that it prints."""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
from fastmcp import Client

from openapi_tools.cli import demo_command

SPECS = Path(__file__).parents[2] / "specs"
LINES = 8


@contextmanager
def running(**environment):
    """Run the command, and give its process and what it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "openapi_tools", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        yield process, "".join(process.stdout.readline() for _ in range(LINES))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def addresses_in(text):
    return {
        name: re.search(rf"^{name}.*?(http\S+)$", text, re.MULTILINE)[1]
        for name in ("API", "Tools", "MCP")
    }


def interrupt(process):
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors, time.monotonic() - begin


async def call_over_mcp(url):
    async with Client(url) as client:
        tools = await client.list_tools()
        result = await client.call_tool("get_museum_hours", {"limit": 1})
        return [tool.name for tool in tools], result.content[0].text


def test_the_mock_the_page_and_the_mcp_server_run_together():
    with running() as (process, text):
        addresses = addresses_in(text)
        names, output = asyncio.run(call_over_mcp(addresses["MCP"]))
        with urllib.request.urlopen(addresses["Tools"], timeout=30) as response:
            page = response.read().decode()
        code, errors, _ = interrupt(process)

    assert "get_museum_hours" in names
    assert "timeOpen" in output
    assert "<html" in page
    assert code == 130
    assert "Ctrl-C" in errors
    assert "Traceback" not in errors
    for address in addresses.values():
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(address, timeout=5)


def test_the_commands_that_it_prints_work_as_they_are(tmp_path):
    with running() as (_, text):
        commands = [shlex.split(line) for line in text.splitlines() if line.startswith("  ")]
        outputs = []
        for program, *arguments in commands:
            assert program == "openapi-tools"
            options = ["--file", tmp_path / "mcp.json", "--yes"] if "install" in arguments else []
            done = subprocess.run(
                [sys.executable, "-m", "openapi_tools", *arguments, *options],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
            outputs.append(done.stdout)

    assert len(commands) == 3
    assert outputs[0].startswith("buy_museum_tickets(")
    assert "timeOpen" in outputs[1]
    assert addresses_in(text)["MCP"] in (tmp_path / "mcp.json").read_text()


def test_an_open_stream_does_not_keep_it_alive():
    async def interrupt_while_connected(process, url):
        async with Client(url):
            return await asyncio.to_thread(interrupt, process)

    with running() as (process, text):
        url = addresses_in(text)["MCP"]
        try:
            code, _, seconds = asyncio.run(interrupt_while_connected(process, url))
        except* (OSError, RuntimeError):  # of the client, whose server is gone
            code, seconds = process.returncode, 0

    assert code == 130
    assert seconds < 15


def test_the_page_opens_in_the_browser(run, monkeypatch):
    served = []
    monkeypatch.setattr(demo_command, "serve_page", lambda *_, **options: served.append(options))

    assert run("demo", "--open").exit_code == 0
    assert served[0]["opens"] is True


@pytest.mark.parametrize("missing", ["uvicorn", "mcp"])
def test_without_the_extra_one_line_says_what_to_install(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from openapi_tools.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "demo"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert re.fullmatch(r"openapi-tools: error: .*\[mcp\].*\n", done.stderr)


def test_the_document_of_the_package_is_the_published_one():
    folder = files("openapi_tools.cli").joinpath("demo")

    assert folder.joinpath("museum.yaml").read_bytes() == (SPECS / "museum.yaml").read_bytes()
    assert "Copyright (c) 2023 Redocly LLC" in folder.joinpath("LICENSE").read_text()
