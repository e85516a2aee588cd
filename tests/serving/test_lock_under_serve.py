"""A document that changes under a running server: quarantined by the lock, accepted, back again."""

import asyncio
import json

import pytest
from documents import document, operation
from mcp import Client, MCPError
from servers.recorder import CannedResponse

from openapi_tools import load_tools
from openapi_tools.changes import tool_lock
from openapi_tools.serving.served_apis import ServedApis
from openapi_tools.serving.serving_tables import read_serving


def root(url, **limit):
    parameter = {"name": "limit", "in": "query", "schema": {"type": "integer", **limit}}
    paths = {
        "/pets": {"get": operation(operationId="list_pets", parameters=[parameter])},
        "/owners": {"get": operation(operationId="list_owners")},
    }
    return document(paths, servers=[{"url": url}])


@pytest.fixture
def files(tmp_path, recorder):
    """The files of a server: its document, its lock and its configuration."""
    recorder.response = CannedResponse(body=b"[]")
    spec, lock = tmp_path / "pets.json", tmp_path / "openapi-tools.lock"
    spec.write_text(json.dumps(root(recorder.url, maximum=30)))
    tool_lock.write_lock(tool_lock.make_lock(load_tools(spec), lock))
    config = tmp_path / "serve.toml"
    config.write_text('[apis.pets]\nsource = "pets.json"\nlock = "openapi-tools.lock"\n')
    return spec, lock, config


async def test_a_changed_tool_is_quarantined_while_the_server_runs(files, recorder, caplog):
    spec, lock, config = files
    apis = ServedApis.from_configuration(read_serving(config))
    apis.load()
    server = apis.make_servers()
    changes = []

    async def note_change(message):
        changes.append(getattr(message, "method", type(message).__name__))

    async with Client(server, mode="legacy", message_handler=note_change) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {
            "list_pets",
            "list_owners",
        }
        spec.write_text(json.dumps(root(recorder.url, maximum=20)))
        await apis.refresh()

        assert [tool.name for tool in (await client.list_tools()).tools] == ["list_owners"]
        assert "pets: openapi-tools.lock: quarantined: list_pets changed" in caplog.text
        assert "/limit: maximum was 30, is 20 now" in caplog.text
        with pytest.raises(MCPError, match=r"quarantined.*: 1 argument changed; .*--accept"):
            await client.call_tool("list_pets", {"limit": 5})
        assert not (await client.call_tool("list_owners", {})).is_error

        now = tool_lock.make_lock(load_tools(spec), lock)
        tool_lock.write_lock(tool_lock.accept_changes(tool_lock.read_lock(lock), now))
        await apis.refresh()
        assert not (await client.call_tool("list_pets", {"limit": 5})).is_error
        await asyncio.sleep(0.05)
    await apis.aclose()

    assert changes == ["notifications/tools/list_changed"] * 2
    assert [request.target for request in recorder.requests] == ["/owners", "/pets?limit=5"]


async def test_a_load_that_the_lock_refuses_leaves_the_older_tools(files, recorder):
    spec, _, config = files
    config.write_text(config.read_text() + 'policy = "refuse"\n')
    apis = ServedApis.from_configuration(read_serving(config))
    apis.load()
    apis.make_servers()
    spec.write_text(json.dumps(root(recorder.url, maximum=20)))
    await apis.refresh()
    (api,) = apis.apis
    await apis.aclose()

    assert "maximum was 30, is 20 now" in api.stale
    assert len(api.toolset) == 2
