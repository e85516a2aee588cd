"""The tools of a server as a skill, for clients of MCP 2026-07-28 (SEP-2640)."""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from corpus import ABSENT, FOLDER
from hostile_documents import PAYLOADS, hostile
from mcp_api import DOCUMENT, host_server, write_document
from mcp_api import serve_process as serve
from skill_rules import assert_front_matter, assert_skill, list_examples, split_front_matter

from openapi_tools import Toolset, load_tools
from openapi_tools.contracts.mcp import create_server
from openapi_tools.contracts.mcp_skills import EXTENSION, add_skills

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client, MCPError, types
from mcp.client.extension import ClientExtension
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND

URI = "skill://pet/SKILL.md"


class Skills(ClientExtension):
    identifier = EXTENSION


class GetParams(types.RequestParams):
    uri: str


class SkillResult(types.Result):
    model_config = types.Result.model_config | {"extra": "allow"}


class ListRequest(types.Request[types.PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: types.PaginatedRequestParams


class GetRequest(types.Request[GetParams, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: GetParams


async def list_skills(client):
    request = ListRequest(params=types.PaginatedRequestParams())
    return (await client.session.send_request(request, SkillResult)).model_dump(by_alias=True)


async def get_skill(client, uri):
    request = GetRequest(params=GetParams(uri=uri))
    return (await client.session.send_request(request, SkillResult)).model_dump(by_alias=True)


async def read_text(client, uri):
    (contents,) = (await client.read_resource(uri)).contents
    return contents.text


async def read_texts(client, entry):
    """Return the files of a skill by their paths, each as its digest and size promise."""
    texts = {}
    root = entry["uri"].removesuffix("SKILL.md")
    for resource in entry["resources"]:
        text = await read_text(client, resource["uri"])
        data = text.encode()
        digest = hashlib.sha256(data).hexdigest()
        assert (resource["digest"], resource["size"]) == (f"sha256:{digest}", len(data))
        texts[resource["uri"].removeprefix(root)] = text
    return texts


def create_skill_server(document=DOCUMENT, **options):
    """Return a server of a document, with skills."""
    server = create_server(load_tools(document), **options)
    add_skills(server)
    return server


def connect(server, *extensions, mode="auto"):
    return Client(server, mode=mode, extensions=list(extensions))


async def test_a_client_reads_the_skill_of_a_server():
    async with connect(create_skill_server(), Skills()) as client:
        listed = await list_skills(client)
        (entry,) = listed["skills"]
        one = await get_skill(client, entry["uri"])
        texts = await read_texts(client, entry)
        (resource,) = (await client.list_resources()).resources
        declared = client.session.server_capabilities

    assert EXTENSION in declared.extensions
    assert declared.resources is not None
    assert (entry["uri"], one["skill"]) == (URI, entry)
    for response in (listed, one):
        assert response["resultType"] == "complete"
        assert (response["ttlMs"] > 0, response["cacheScope"]) == (True, "private")
    assert_skill(texts, "pet")
    fields, _ = split_front_matter(texts["SKILL.md"])
    assert entry["frontmatter"] == fields
    assert (resource.uri, resource.name, resource.mime_type) == (URI, "pet", "text/markdown")
    assert resource.description == fields["description"]


async def test_examples_are_calls_of_tools_that_the_server_has():
    async with connect(create_skill_server(), Skills()) as client:
        (entry,) = (await list_skills(client))["skills"]
        texts = await read_texts(client, entry)
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    examples = [example.partition(" ") for example in list_examples(texts)]

    assert sorted(name for name, _, _ in examples) == sorted(tools)
    for name, _, arguments in examples:
        required = tools[name].input_schema.get("required", [])
        assert json.loads(arguments).keys() == {*required}
    # No copy of the document, which may have operations that the client may not see.
    assert {path.partition("/")[0] for path in texts} == {"SKILL.md", "references"}


async def test_a_skill_has_only_what_its_client_may_see():
    server = create_skill_server(visible=lambda tool, _: tool.name.startswith("get_"))
    async with connect(server, Skills()) as client:
        (entry,) = (await list_skills(client))["skills"]
        texts = await read_texts(client, entry)

    assert "get_photo" in "".join(texts.values())
    assert "add_pet" not in "".join(texts.values())
    assert len(list_examples(texts)) == 2


@pytest.mark.parametrize("mode", ["tools", "search", "code"])
async def test_tools_of_several_apis_are_one_skill_in_every_mode(mode):
    specs = Path(__file__).parents[2] / "specs"
    whole = Toolset.union(load_tools(specs / "museum.yaml"), load_tools(specs / "petstore.yaml"))
    ways = {"tools": lambda: whole, "search": whole.meta_tools, "code": whole.code_tools}
    server = create_server(ways[mode]())
    add_skills(server)
    async with connect(server, Skills()) as client:
        (entry,) = (await list_skills(client))["skills"]
        texts = await read_texts(client, entry)

    assert_skill(texts, "apis")
    assert len(list_examples(texts)) == len(whole)


async def test_the_skill_follows_the_tools_of_the_server():
    server = create_skill_server()
    async with connect(server, Skills()) as client:
        (before,) = (await list_skills(client))["skills"]
        await server.replace(load_tools(DOCUMENT).select({"names": ["get_pet"]}))
        (after,) = (await list_skills(client))["skills"]
        texts = await read_texts(client, after)
        await server.replace([])
        empty = await list_skills(client)

    assert before["resources"] != after["resources"]
    assert len(list_examples(texts)) == 1
    assert empty["skills"] == []


async def test_clients_that_do_not_ask_find_no_skill():
    async with connect(create_skill_server()) as client:
        listed = (await client.list_resources()).resources
    async with connect(create_skill_server(), mode="legacy") as client:
        older = (await client.list_resources()).resources
        for ask in (list_skills, partial(get_skill, uri=URI)):
            with pytest.raises(MCPError) as raised:
                await ask(client)
            assert raised.value.error.code == METHOD_NOT_FOUND
        with pytest.raises(MCPError):
            await client.read_resource(URI)

    assert (listed, older) == ([], [])


@pytest.mark.parametrize(
    "uri", ["skill://pet", "skill://other/SKILL.md", "skill://pet/assets/openapi.json", ""]
)
async def test_an_unknown_skill_or_file_is_an_error_of_the_protocol(uri):
    async with connect(create_skill_server(), Skills()) as client:
        for ask in (partial(get_skill, client), client.read_resource):
            with pytest.raises(MCPError) as raised:
                await ask(uri)
            assert raised.value.error.code == INVALID_PARAMS


async def test_files_of_calls_stay_resources_beside_the_skill(tmp_path):
    server = create_server(load_tools(DOCUMENT, download_dir=tmp_path))
    add_skills(server)
    await server.replace(load_tools(DOCUMENT, download_dir=tmp_path))
    async with connect(server, Skills()) as client:
        listed = (await client.list_resources()).resources
        with pytest.raises(MCPError, match="file"):
            await client.read_resource("openapi-tools://files/none")

    assert [resource.uri for resource in listed] == [URI]


@pytest.mark.parametrize("name", ["fence", "YAML", "headings", "HTML", "table"])
async def test_a_hostile_document_breaks_out_of_nothing(name):
    async with connect(create_skill_server(hostile(PAYLOADS[name])), Skills()) as client:
        (entry,) = (await list_skills(client))["skills"]
        texts = await read_texts(client, entry)

    assert_skill(texts, entry["frontmatter"]["name"])
    assert split_front_matter(texts["SKILL.md"])[0] == entry["frontmatter"]


async def test_fastmcps_client_accepts_the_skill():
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    skills = pytest.importorskip("fastmcp.skills", reason="this fastmcp has no skills")
    extensions = [skills.SkillsClientExtension()]
    async with (
        host_server(create_skill_server()) as url,
        fastmcp.Client(url, extensions=extensions) as client,
    ):
        (entry,) = await client.list_skills()
        same = await client.get_skill(entry.uri)
        (contents,) = await client.read_resource(entry.uri)

    assert entry == same
    assert (entry.uri, entry.frontmatter.name) == (URI, "pet")
    (main,) = (each for each in entry.resources if each.uri == URI)
    assert main.digest == f"sha256:{hashlib.sha256(contents.text.encode()).hexdigest()}"
    assert_front_matter(entry.frontmatter.root, "pet")


async def test_the_command_serve_has_a_skill(tmp_path):
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    skills = pytest.importorskip("fastmcp.skills", reason="this fastmcp has no skills")
    extensions = [skills.SkillsClientExtension()]
    async with (
        serve(write_document(tmp_path)) as url,
        fastmcp.Client(url, extensions=extensions) as one,
    ):
        (entry,) = await one.list_skills()

    assert entry.uri == URI


@pytest.mark.long
async def test_a_large_api_keeps_the_limits_of_the_extension():
    path = FOLDER / "github" / "api.github.com.json"
    if not path.is_file():
        pytest.skip(ABSENT)
    async with connect(create_skill_server(path), Skills()) as client:
        (entry,) = (await list_skills(client))["skills"]

    assert len(entry["resources"]) <= 512
    assert sum(each["size"] for each in entry["resources"]) < 16 * 1024 * 1024
