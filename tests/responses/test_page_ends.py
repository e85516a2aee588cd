"""Lists that say how many items there are: none is called complete when it is not."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from documents import document, operation
from mcp import Client
from servers.site import Site, SiteResponse

from openapi_tools import Settings, load_tools
from openapi_tools.cli import commands
from openapi_tools.contracts.mcp import create_server

ITEMS = [{"id": number} for number in range(1, 8)]
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
LIST = {"type": "array", "items": {"type": "object", "properties": {"id": INTEGER}}}


def query(name, schema, **fields):
    return {"name": name, "in": "query", "schema": schema, **fields}


def in_json(name, schema):
    return {"name": name, "in": "query", "content": {"application/json": {"schema": schema}}}


def list_operation(*parameters, schema=None):
    ok = {"description": "ok"}
    if schema is not None:
        ok["content"] = {"application/json": {"schema": schema}}
    return {"get": operation(parameters=list(parameters), responses={"200": ok})}


PAGED = {"type": "object", "properties": {"page": INTEGER, "page_size": INTEGER}}
WRAPPED = {"type": "object", "properties": {"content": LIST}}
PATHS = {
    "/strings": list_operation(query("page", STRING), query("page_size", STRING), schema=LIST),
    "/string-offsets": list_operation(query("offset", STRING), query("limit", STRING), schema=LIST),
    "/rison": list_operation(
        in_json("q", {"$ref": "#/components/schemas/Paged"}),
        schema={
            "type": "object",
            "properties": {
                "count": INTEGER,
                "ids": {"type": "array", "items": INTEGER},
                "result": LIST,
            },
        },
    ),
    **{
        f"/{name}": list_operation(query("page", INTEGER), query("size", INTEGER), schema=WRAPPED)
        for name in ("spring-from-0", "spring-from-1", "counts-from-1", "next-object", "next-true")
    },
    "/next-offset": list_operation(query("offset", INTEGER)),
    "/neighbour": list_operation(),
    "/object-cursor": list_operation(query("cursor", STRING), schema=LIST),
    "/total": list_operation(),
    "/total-beside-limit": list_operation(query("limit", INTEGER)),
    "/full": list_operation(query("limit", INTEGER)),
    "/whole": list_operation(query("limit", INTEGER)),
    "/said-to-end": list_operation(query("limit", INTEGER)),
}


def part(start, size):
    return ITEMS[start : start + size]


def respond(request):
    arguments = {
        name: values[-1] for name, values in parse_qs(urlsplit(request.path).query).items()
    }
    arguments |= request.query
    size = int(arguments.get("page_size", arguments.get("limit", 3)))
    q = json.loads(arguments.get("q", "{}"))
    inner = part(q.get("page", 0) * q.get("page_size", 3), q.get("page_size", 3))
    page = {key: int(arguments.get("page", key)) for key in (0, 1)}
    wrapped = [
        {"content": part((page[base] - base) * 3, 3), "totalPages": 3, "number": page[base] - base}
        for base in (0, 1)
    ]
    next_page = {"page": page[1] + 1, "limit": 3} if page[1] < 3 else None
    bodies = {
        "/spring-from-0": wrapped[0],
        "/spring-from-1": wrapped[1],
        "/counts-from-1": {**wrapped[1], "number": page[1]},
        "/next-object": {"content": wrapped[1]["content"], "next": next_page},
        "/next-true": {"content": wrapped[1]["content"], "next": next_page is not None},
        "/next-offset": {"items": part(0, 3), "next_offset": 3},
        "/neighbour": {"id": 1, "items": ITEMS, "next": {"id": 2}, "next_id": 2},
        "/object-cursor": {"items": part(0, 3), "next_cursor": {"id": 3}},
        "/strings": part((int(arguments.get("page", 1)) - 1) * size, size),
        "/string-offsets": part(int(arguments.get("offset", 0)), size),
        "/rison": {"count": 7, "ids": [item["id"] for item in inner], "result": inner},
        "/total": {"items": part(0, 3), "total": 7},
        "/total-beside-limit": {"items": part(0, 3), "total": 7},
        "/said-to-end": {"items": part(0, size), "has_more": False},
        "/whole": {"items": part(0, 3), "total": 3},
        "/full": {"items": part(0, min(size, 5))},
    }
    return SiteResponse(bodies[request.path])


@pytest.fixture(scope="module")
def site():
    with Site(respond) as running:
        yield running


@pytest.fixture
async def tools(site):
    source = document(PATHS, components={"schemas": {"Paged": PAGED}})
    settings = Settings(base_url=site.url, cache=False)
    async with load_tools(source, settings=settings) as toolset:
        yield toolset


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_strings", {"page_size": "3"}),
        ("get_strings", {"page_size": "3", "page": "1"}),
        ("get_string_offsets", {"limit": "3"}),
        ("get_spring_from_0", {}),  # its second page, number 1, was left out
        ("get_spring_from_1", {}),
        ("get_spring_from_1", {"page": 1}),
        ("get_counts_from_1", {}),
        ("get_next_object", {}),
        ("get_next_true", {}),
        ("get_rison", {}),
        ("get_rison", {"q": {"page_size": 2}}),
    ],
)
async def test_all_items_come(tools, name, arguments):
    pages = tools.pages(name, arguments)

    assert [item async for item in pages] == ITEMS
    assert pages.reason == "complete"


ENDS = {
    "a total above what came": ("get_total", {}, "no_way", "3 of 7 items were returned"),
    "a total, and a limit that helps not": (
        "get_total_beside_limit",
        {},
        "no_way",
        "3 of 7 items were returned",
    ),
    "a token that no argument takes": ("get_next_offset", {}, "no_way", "there are more items"),
    "a cursor that is an object": ("get_object_cursor", {}, "no_way", "there are more items"),
    "as many as were asked for": (
        "get_full",
        {"limit": 3},
        "no_way",
        "3 items were returned, as many as",
    ),
    "a link to another resource": ("get_neighbour", {}, "complete", ""),
    "fewer than were asked for": ("get_full", {"limit": 9}, "complete", ""),
    "a total that came": ("get_whole", {"limit": 3}, "complete", ""),
    "no more, says the response": ("get_said_to_end", {"limit": 3}, "complete", ""),
}


@pytest.mark.parametrize(("name", "arguments", "reason", "words"), ENDS.values(), ids=ENDS)
async def test_what_is_not_whole_is_not_called_complete(tools, name, arguments, reason, words):
    pages = tools.pages(name, arguments)
    _ = [item async for item in pages]
    result = await tools.call(name, arguments)

    assert pages.reason == reason
    assert words in pages.stopped
    assert words in result.header_note
    assert bool(result.header_note) is bool(words)
    assert result.success


async def test_a_model_reads_it_over_mcp(tools):
    async with Client(create_server(tools)) as client:
        result = await client.call_tool("get_total", {})

    texts = [block.text for block in result.content]
    assert "More: 3 of 7 items were returned; no argument requests more" in texts


def test_the_command_line_ends_with_another_code(site, tmp_path):
    file = tmp_path / "things.json"
    file.write_text(json.dumps(document(PATHS, components={"schemas": {"Paged": PAGED}})))
    command = ["call", str(file), "get_total", "--all-pages", "--base-url", site.url]

    done = CliRunner().invoke(commands, command)

    assert done.exit_code == 3
    assert (
        "no_way: 3 items came in 1 page; 3 of 7 items were returned; no argument requests more"
        in done.stderr
    )
