"""The message about a missing credential names what its reader can do."""

import json

import pytest
from click.testing import CliRunner
from documents import document, operation
from mcp import Client

from openapi_tools import load_tools
from openapi_tools.cli import commands
from openapi_tools.contracts.mcp import create_server

KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
SHOP = document(
    {"/orders": {"get": operation(operationId="list_orders")}},
    servers=[{"url": "http://127.0.0.1:9"}],
    security=[{"key": []}],
    components={"securitySchemes": {"key": KEY}},
)
SCHEME = "Missing credential for 'key' (API key, header 'X-Key')"
NOT_SENT = "; the request was not sent"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Write the document, and a configuration that reads a variable which is not set."""
    monkeypatch.delenv("SHOP_KEY", raising=False)
    (tmp_path / "shop.json").write_text(json.dumps(SHOP))
    (tmp_path / "shop.toml").write_text(
        'source = "shop.json"\ncredentials = { key = "${SHOP_KEY}" }\n'
    )
    (tmp_path / "bare.toml").write_text('source = "shop.json"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("shop.json", f"{SCHEME}{NOT_SENT}. Pass credentials={{'key': …}} to load_tools()."),
        ("shop.toml", f"{SCHEME}: the environment variable SHOP_KEY is not set{NOT_SENT}."),
        ("bare.toml", f"{SCHEME}{NOT_SENT}. Set 'key' in [credentials] of the configuration."),
    ],
)
async def test_in_python(shop, file, message):
    async with load_tools(shop / file) as toolset:
        result = await toolset.call("list_orders", {})

    assert (result.error["type"], str(result)) == ("credentials", message)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("shop.json", f"{SCHEME}{NOT_SENT}. Set it with --credential 'key=$NAME'."),
        ("shop.toml", f"{SCHEME}: the environment variable SHOP_KEY is not set{NOT_SENT}."),
    ],
)
def test_on_the_command_line(shop, file, message):
    done = CliRunner().invoke(commands, ["call", str(shop / file), "list_orders"])

    assert done.exit_code == 1
    assert message in done.stderr


async def test_over_mcp(shop):
    async with (
        load_tools(shop / "shop.toml") as toolset,
        Client(create_server(toolset)) as client,
    ):
        result = await client.call_tool("list_orders", {})

    reason = "the environment variable SHOP_KEY is not set on the server"
    assert result.content[0].text == f"{SCHEME}: {reason}{NOT_SENT}."


async def test_a_credential_of_the_caller_overrides_the_variable(shop):
    async with load_tools(shop / "shop.toml", credentials={"key": "k"}) as toolset:
        result = await toolset.call("list_orders", {})

    assert result.error["type"] == "connection"
