"""Documents that change under a running server."""

import asyncio
import json
import os
import signal

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp_api import texts
from servers.recorder import CannedResponse, Held, Recorder
from team_servers import client_of, document, host_team, write_configuration

from openapi_tools.serving import served_apis

PETS = document("Pets", "list_pets")
LARGER = document("Pets", "list_pets", "list_cats")
KINDS = [("Content-Type", "application/json")]


async def names_of(client):
    return [tool.name for tool in (await client.list_tools()).tools]


def document_response(doc, etag):
    return CannedResponse(headers=[*KINDS, ("ETag", etag)], body=json.dumps(doc).encode())


@pytest.fixture
async def source():
    """A server that has a document, and says so of an unchanged one."""
    async with Recorder(document_response(PETS, '"1"')) as running:
        yield running


def config_of(tmp_path, source, *keys):
    table = f'source = "{source.url}/openapi.json"\nsettings = {{ base_url = "{source.url}" }}'
    return write_configuration(
        tmp_path, "\n".join(keys), pets=table, shop=document("Shop", "list_orders")
    )


async def test_a_document_is_asked_for_again_on_a_schedule_and_clients_hear_of_changes(
    source, tmp_path
):
    async with (
        host_team(config_of(tmp_path, source, "refresh = 0.05")) as server,
        client_of(server.url) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        before = await names_of(client)
        source.responses.append(CannedResponse(304, headers=[("ETag", '"1"')], body=b""))
        source.response = document_response(LARGER, '"2"')
        await asyncio.wait_for(anext(changes), 20)
        after = await names_of(client)
        result = await client.call_tool("list_cats", {})

    asked = [request.header("If-None-Match") for request in source.requests]
    assert before == ["list_pets", "list_orders"]
    assert after == ["list_pets", "list_cats", "list_orders"]
    assert not result.is_error
    assert '"1"' in asked


async def test_a_document_that_cannot_be_read_again_keeps_its_tools_and_shows(
    source, tmp_path, caplog
):
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    async with host_team(config_of(tmp_path, source)) as server, client_of(server.url) as client:
        source.response = CannedResponse(500, body=b"s3cr3t")
        await server.apis.refresh()
        server.apis.on_refresh()
        names = await names_of(client)
        ready, metrics = await server.get("/readyz"), (await server.get("/metrics")).text
        source.response = document_response(PETS, '"1"')
        await server.apis.refresh()
        again = await server.get("/readyz")

    state = ready.json()["apis"]["pets"]
    assert names == ["list_pets", "list_orders"]
    assert (ready.status_code, state["ready"]) == (200, True)
    assert state["stale"] == "document_unreadable"
    assert "status 500" in caplog.text
    assert 'openapi_tools_document_stale{api="pets"} 1.0' in metrics
    assert "stale" not in again.json()["apis"]["pets"]


async def test_a_failure_that_lasts_is_a_line_and_its_end_another(source, tmp_path, caplog):
    caplog.set_level("INFO", "openapi_tools.serving")
    async with host_team(config_of(tmp_path, source)) as server:
        for status in (500, 500, 502, 502):
            source.response = CannedResponse(status)
            await server.apis.refresh()
        source.response = document_response(PETS, '"1"')
        for _ in range(2):
            await server.apis.refresh()

    where = f"pets: {source.url}/openapi.json:"
    assert [record.getMessage() for record in caplog.records] == [
        f"{where} the server responded with status 500.",
        f"{where} the server responded with status 502.",
        "pets: the document is readable again",
    ]


async def test_an_api_that_could_not_be_loaded_is_tried_again(source, tmp_path, monkeypatch):
    monkeypatch.setattr(served_apis, "_RETRY_SECONDS", 0.05)
    source.response = CannedResponse(404)
    async with (
        host_team(config_of(tmp_path, source)) as server,
        client_of(server.url) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        before, unready = await names_of(client), await server.get("/readyz")
        source.response = document_response(PETS, '"1"')
        await asyncio.wait_for(anext(changes), 20)
        after, ready = await names_of(client), await server.get("/readyz")

    assert (before, unready.json()["apis"]["pets"]["ready"]) == (["list_orders"], False)
    assert (after, ready.json()["apis"]["pets"]["ready"]) == (["list_pets", "list_orders"], True)


async def test_nothing_is_reported_where_only_the_bytes_of_a_document_changed(source, tmp_path):
    async with host_team(config_of(tmp_path, source)) as server:
        before = server.apis.apis[0].toolset
        source.response = document_response({**PETS, "x-note": "changed"}, '"2"')
        await server.apis.refresh()

        assert server.apis.apis[0].toolset is before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP here")
async def test_a_signal_has_documents_read_at_once_and_a_running_call_ends_on_the_old_tools(
    tmp_path,
):
    """The API responds once the document has changed."""
    async with Held(CannedResponse(body=b'{"old": true}')) as api:
        table = f'source = "pets.json"\nbase_url = "{api.url}"'
        (tmp_path / "pets.json").write_text(json.dumps(PETS))
        async with (
            host_team(write_configuration(tmp_path, pets=table)) as server,
            client_of(server.url) as client,
            client.listen(tools_list_changed=True) as changes,
        ):
            old = server.apis.apis[0].toolset
            call = asyncio.create_task(client.call_tool("list_pets", {}))
            await asyncio.wait_for(api.changed.wait(), 20)
            (tmp_path / "pets.json").write_text(json.dumps(document("Pets", "list_cats")))
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.wait_for(anext(changes), 20)
            after = await names_of(client)
            api.release.set()
            result = await asyncio.wait_for(call, 20)
            retiring = [*server.apis._retiring]
            await asyncio.wait_for(asyncio.gather(*retiring), 20)

    assert after == ["list_cats"]
    assert texts(result) == ['{"old":true}']
    closed = await old["list_pets"].execute({})
    assert closed.error["type"] == "connection"
    assert "closed" in closed.error["message"]


async def test_a_fault_of_ours_in_one_document_is_logged_and_the_others_are_served(
    source, tmp_path, monkeypatch, caplog
):
    loaded = served_apis.load_with_record

    def load(config, overrides, record):
        if config.data.source == "shop.json":
            raise RecursionError
        return loaded(config, overrides, record)

    monkeypatch.setattr(served_apis, "load_with_record", load)
    async with host_team(config_of(tmp_path, source)) as server:
        ready = await server.get("/readyz")
        monkeypatch.setattr(served_apis, "load_with_record", loaded)
        await server.apis.refresh()
        again = await server.get("/readyz")

    assert ready.json()["apis"]["shop"] == {"ready": False, "reason": "internal_error"}
    assert "Traceback" in caplog.text
    assert again.status_code == 200


async def test_warnings_of_a_document_are_logged_once(source, tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("SHOP_KEY", raising=False)
    doc = document("Pets", "list_pets")
    doc["components"] = {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}
    source.response = document_response(doc, '"1"')
    table = f'source = "{source.url}/openapi.json"\ncredentials = {{ key = "${{SHOP_KEY}}" }}'
    async with host_team(write_configuration(tmp_path, pets=table)) as server:
        await server.apis.refresh()

    lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(lines) == 1
    assert lines[0].startswith("pets: ")
    assert "SHOP_KEY is not set" in lines[0]


async def test_a_fault_while_tools_are_offered_does_not_end_the_schedule(
    source, tmp_path, monkeypatch, caplog
):
    original, failed = served_apis.offer_tools, asyncio.Event()

    def fail_once(*arguments):
        if not failed.is_set():
            failed.set()
            raise RuntimeError("once")
        return original(*arguments)

    async with (
        host_team(config_of(tmp_path, source, "refresh = 0.05")) as server,
        client_of(server.url) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        monkeypatch.setattr(served_apis, "offer_tools", fail_once)
        source.response = document_response(LARGER, '"2"')
        await asyncio.wait_for(anext(changes), 20)
        names = await names_of(client)

    assert failed.is_set()
    assert names == ["list_pets", "list_cats", "list_orders"]
    assert "changed tools could not be offered" in caplog.text
