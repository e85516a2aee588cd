"""Files of responses as resources of an MCP server."""

import base64
import io

import httpx
import pytest
from documents import document, operation
from tools.handlers import load_with_handler

from openapi_tools import FolderStore, load_tools
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.contracts.mcp import create_server

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client, MCPError
from mcp_api import MODES, client_of, texts

SCAN = bytes(range(256)) * 2400
PATHS = {
    "/scan": {"get": operation(operationId="get_scan")},
    "/like": {"get": operation(operationId="look_alike")},
}
LIKE = {"handle": "like-bcdfghjkmnpq.pdf", "media_type": "application/pdf", "bytes": 7}


@pytest.fixture(params=MODES)
def mode(request):
    """The two eras of the protocol."""
    return request.param


def tools(folder, *, size=None, **options):
    """Return tools whose API responds with a scan, or with JSON that looks like a file."""

    def respond(request):
        if request.url.path.endswith("/like"):
            return httpx.Response(200, json=LIKE)
        return httpx.Response(200, content=SCAN[:size], headers={"Content-Type": "image/tiff"})

    return load_with_handler(
        document(PATHS), respond, settings={"download_dir": folder, **options}
    )[0]


async def test_a_response_links_to_its_file_and_the_server_reads_it(mode, tmp_path):
    toolset = tools(tmp_path)
    async with Client(create_server(toolset), mode=mode) as client:
        before = (await client.list_resources()).resources
        result = await client.call_tool("get_scan", {})
        like = await client.call_tool("look_alike", {})
        listed = (await client.list_resources()).resources
        (read,) = (await client.read_resource(result.content[1].uri)).contents

    (path,) = tmp_path.iterdir()
    link = result.content[1]
    assert (link.type, link.name, link.size) == ("resource_link", path.name, len(SCAN))
    assert (link.uri, link.mime_type) == (f"openapi-tools://files/{path.name}", "image/tiff")
    assert result.structured_content["handle"] == path.name
    assert len(texts(result)[0]) < 300
    assert [content.type for content in like.content] == ["text"]
    assert before == []
    assert [each.name for each in listed] == [path.name]
    assert base64.b64decode(read.blob) == SCAN


async def test_a_session_lists_its_own_files_only(tmp_path):
    server = create_server(tools(tmp_path))
    async with Client(server, mode="legacy") as one, Client(server, mode="legacy") as other:
        result = await one.call_tool("get_scan", {})
        lists = [(await client.list_resources()).resources for client in (one, other)]

    assert [[each.uri for each in listed] for listed in lists] == [[result.content[1].uri], []]


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("openapi-tools://files/../secret", "no such file"),
        ("openapi-tools://files/none-bcdfghjkmnpq.pdf", "no such file"),
        ("file:///etc/passwd", "no such file"),
        ("openapi-tools://files/{large}", "larger than allowed (max_response_bytes)"),
    ],
)
async def test_nothing_else_is_read_and_no_more_than_is_allowed(uri, message, tmp_path, mode):
    (tmp_path / "secret").write_text("secret")
    large = FolderStore(tmp_path / "files").put(io.BytesIO(bytes(20_000)))
    toolset = tools(tmp_path / "files", max_response_bytes=10_000)
    async with Client(create_server(toolset), mode=mode) as client:
        with pytest.raises(MCPError, match=message.partition(" (")[0]):
            await client.read_resource(uri.format(large=large))


async def test_without_a_store_there_are_no_resources(mode, tmp_path):
    toolset = load_tools(document(PATHS))
    async with Client(create_server(toolset), mode=mode) as client:
        assert client.server_capabilities.resources is None
    async with Client(create_server(list(tools(tmp_path))), mode=mode) as client:
        result = await client.call_tool("get_scan", {})
        assert client.server_capabilities.resources is None

    assert [content.type for content in result.content] == ["text"]


CALLS = {
    "a tool": (lambda toolset: toolset, "get_scan", {}),
    "call_tool": (lambda toolset: toolset.meta_tools(), "call_tool", {"name": "get_scan"}),
    "a program": (
        lambda toolset: toolset.code_tools(),
        "run_code",
        {"code": "found = await get_scan()\nprint(found)\n[found, json.dumps(found)]"},
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("size", [20_000, 600_000])
async def test_a_remote_client_reads_no_path_of_the_server(call, size, mode, tmp_path):
    pytest.importorskip("pydantic_monty")
    make, name, arguments = CALLS[call]
    toolset = tools(tmp_path / "private", size=size)
    async with client_of(create_server(make(toolset)), mode) as client:
        result = await client.call_tool(name, arguments)

    words = result.model_dump_json()
    (path,) = (tmp_path / "private").iterdir()
    assert path.name in words
    assert "private" not in words


@pytest.mark.parametrize("call", CALLS)
async def test_a_client_on_this_machine_reads_the_path(call, mode, tmp_path):
    pytest.importorskip("pydantic_monty")
    make, name, arguments = CALLS[call]
    async with Client(create_server(make(tools(tmp_path))), mode=mode) as client:
        result = await client.call_tool(name, arguments)

    (path,) = tmp_path.iterdir()
    assert str(path) in result.model_dump_json().replace("\\\\", "\\")


@pytest.mark.parametrize("kind", ["a folder that cannot be made", "a token file", "no token"])
@pytest.mark.parametrize("remote", [True, False])
async def test_an_error_for_a_remote_client_names_no_folder(kind, remote, mode, tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    file = private / "tokens.json"
    settings, options, credentials = {}, {}, None
    if kind == "a folder that cannot be made":
        file.write_text("")
        settings["download_dir"] = file / "files"
    else:
        if kind == "a token file":
            file.write_text("{}")
            file.chmod(0o644)
        flow = {"authorizationUrl": "https://a.example/a", "tokenUrl": "https://a.example/t"}
        scheme = {
            "type": "oauth2",
            "flows": {"authorizationCode": {**flow, "scopes": {}}},
        }
        options = {"components": {"securitySchemes": {"o": scheme}}, "security": [{"o": []}]}
        credentials = {"o": OAuth2(client_id="me", token_file=file)}
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(
            lambda _: httpx.Response(200, content=SCAN, headers={"Content-Type": "image/tiff"})
        )
    )
    root = document(PATHS, servers=[{"url": "https://api.example"}], **options)
    toolset = load_tools(root, settings=settings, credentials=credentials, client=client)
    server = create_server(toolset)
    async with client_of(server, mode) if remote else Client(server, mode=mode) as caller:
        result = await caller.call_tool("get_scan", {})
    await client.aclose()

    words = " ".join(texts(result))
    assert result.is_error
    assert ("private" in words) == (not remote and kind != "a folder that cannot be made")
    assert ("tokens.json" in words) == (kind != "a folder that cannot be made")
