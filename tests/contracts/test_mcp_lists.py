"""The list of a server's tools beside a cached document: when it is used, and when it is not."""

import json
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from documents import document, operation
from mcp import Client

from openapi_tools import Settings, load_tools
from openapi_tools.contracts import mcp_lists
from openapi_tools.contracts.mcp import create_server
from openapi_tools.loading import cache

MUSEUM = Path(__file__).parents[2] / "specs" / "museum.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of the test's own, which keeps small and new documents and all lists."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr("openapi_tools.loading.source.MIN_CACHED_BYTES", 1)
    monkeypatch.setattr(cache, "_FRESH", 0)
    monkeypatch.setattr(mcp_lists, "MIN_SECONDS", 0)
    return tmp_path / "cache"


@pytest.fixture
def described(monkeypatch):
    """The names of the tools that are described, not read."""
    names, describe = [], mcp_lists.describe_tool

    def record(tool, *arguments):
        names.append(tool.name)
        return describe(tool, *arguments)

    monkeypatch.setattr(mcp_lists, "describe_tool", record)
    return names


async def list_of(toolset):
    """Return what a client lists, as JSON."""
    async with toolset, Client(create_server(toolset)) as client:
        return (await client.list_tools()).model_dump_json()


def lists_in(folder):
    return sorted(folder.glob("*.definitions"))


async def test_the_second_server_reads_the_same_list(folder, described):
    first = await list_of(load_tools(MUSEUM))
    count = len(described)

    assert await list_of(load_tools(MUSEUM)) == first
    assert len(described) == count == 8
    assert await list_of(load_tools(MUSEUM, settings=Settings(cache=False))) == first
    (file,) = lists_in(folder)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "settings",
    [
        {"definitions": "tight"},
        {"definition_bytes": 2048},
        {"idempotency_argument": True},
        {"response_schemas": True},
        {"prefix": "my_"},
        {"description_chars": 40},
    ],
    ids=lambda settings: next(iter(settings)),
)
async def test_tools_with_other_settings_have_a_list_of_their_own(settings):
    await list_of(load_tools(MUSEUM))

    listed = await list_of(load_tools(MUSEUM, settings=Settings(**settings)))

    uncached = Settings(cache=False, **settings)
    assert listed == await list_of(load_tools(MUSEUM, settings=uncached))


@pytest.mark.parametrize("settings", [{"download_dir": "files"}, {"file_roots": ["."]}])
async def test_where_files_may_come_from_is_part_of_the_list(tmp_path, monkeypatch, settings):
    monkeypatch.chdir(tmp_path)
    body = {"content": {"multipart/form-data": {"schema": {
        "type": "object",
        "properties": {"photo": {"type": "string", "format": "binary"}},
    }}}}  # fmt: skip
    path = tmp_path / "photos.json"
    path.write_text(json.dumps(document({"/photos": {"post": operation(requestBody=body)}})))
    plain = await list_of(load_tools(path))

    listed = await list_of(load_tools(path, settings=Settings(**settings)))

    assert listed != plain
    assert listed == await list_of(load_tools(path, settings=Settings(cache=False, **settings)))
    assert load_tools(path, settings=Settings(**settings)).definitions("mcp") != load_tools(
        path
    ).definitions("mcp")


async def test_selected_and_shaped_tools_have_a_list_of_their_own():
    await list_of(load_tools(MUSEUM))

    listed = json.loads(await list_of(load_tools(MUSEUM, select={"read_only": True})))
    shaped = {"tools": {"get_museum_hours": {"description": "When it is open."}}}
    other = json.loads(await list_of(load_tools(MUSEUM, config=shaped)))

    assert 0 < len(listed["tools"]) < 8
    assert "When it is open." in [tool["description"] for tool in other["tools"]]


@pytest.mark.parametrize("content", [b"", b"x" * 100])
async def test_a_damaged_list_is_written_again(folder, content):
    first = await list_of(load_tools(MUSEUM))
    (file,) = lists_in(folder)
    whole = file.read_bytes()
    file.write_bytes(content)

    assert await list_of(load_tools(MUSEUM)) == first
    assert file.read_bytes() == whole


async def test_a_list_that_the_protocol_does_not_have_is_written_again(folder, monkeypatch):
    with monkeypatch.context() as other_version:
        other_version.setattr(mcp_lists, "to_json", lambda _: b'{"tools": [{"name": 1}]}')
        first = await list_of(load_tools(MUSEUM))
    (file,) = lists_in(folder)
    other = file.read_bytes()

    assert await list_of(load_tools(MUSEUM)) == first
    assert file.read_bytes() != other


async def test_a_list_that_others_can_write_is_not_read(folder, described):
    first = await list_of(load_tools(MUSEUM))
    (file,) = lists_in(folder)
    file.chmod(0o666)

    assert await list_of(load_tools(MUSEUM)) == first
    assert len(described) == 16


async def test_a_server_of_a_cached_document_reads_its_title_only(monkeypatch):
    load_tools(MUSEUM)
    toolset = load_tools(MUSEUM)
    reads = []
    monkeypatch.setattr("openapi_tools.loading.lazy_dict.LazyDict.plain", reads.append)

    server = create_server(toolset)

    assert server.name == "Redocly Museum API"
    assert reads == []
