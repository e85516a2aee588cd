"""Toolsets of several documents: names, sessions, credentials, files, long work."""

from contextlib import ExitStack

import httpx
import pytest
from documents import document, operation
from packages import import_package
from servers.recorder import CannedResponse, Recorder

from openapi_tools import (
    Select,
    SettingsError,
    Toolset,
    generate_package,
    load_tools,
    require_approval,
)

KEY = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
NUMBER = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}


def api(title, *names, server="http://a.example.com", **fields):
    """Return a document with an operation of each name."""
    paths = {f"/{name}": {"get": operation(operationId=name)} for name in names}
    root_fields = {
        "info": {"title": title, "version": "1"},
        "components": KEY,
        "security": [{"key": []}],
    }
    return document(
        paths | fields.pop("paths", {}), servers=[{"url": server}], **root_fields, **fields
    )


async def test_two_servers_get_their_own_credentials_only():
    echo = CannedResponse(body=b'"zoo-secret-4711"')
    async with Recorder(echo) as zoo, Recorder() as shop:
        parts = [
            load_tools(
                api(title, "list_items", own_name, server=server.url),
                credentials={"key": f"{title.lower()}-secret-471{n}"},
            )
            for n, (title, own_name, server) in enumerate(
                [("Zoo", "feed", zoo), ("Shop", "sell", shop)], start=1
            )
        ]
        both = Toolset.union(*parts)
        meta = both.meta_tools()

        async with both:
            result = await both.call("zoo_list_items", {})
            for name in ("zoo_list_items", "shop_list_items", "feed", "sell"):
                assert (await meta.call("call_tool", {"name": name})).success

    keys = [{request.header("x-key") for request in each.requests} for each in (zoo, shop)]
    assert keys == [{"zoo-secret-4711"}, {"shop-secret-4712"}]
    assert len(zoo.requests) == 3
    assert "zoo-secret" not in str(result)
    assert [tool.name for tool in both] == ["zoo_list_items", "feed", "shop_list_items", "sell"]
    assert both.sessions == tuple(part.session for part in parts)
    closed = await parts[0].call("feed", {})
    assert closed.is_error


def test_names_that_are_equal_get_the_title_as_prefix():
    titles = ["Zoo API", "Zoo API", "1st Über-Shop", "", "x" * 100]
    both = Toolset.union(*(load_tools(api(title, "list_items")) for title in titles))

    assert [tool.name for tool in both] == [
        "zoo_list_items",
        "zoo_list_items_2",
        "api3_list_items",
        "api4_list_items",
        f"{'x' * 24}_list_items",
    ]


def test_facts_of_all_documents_are_joined():
    one = load_tools(api("Zoo", "feed"))
    two = load_tools(api("Shop", "sell", paths={"/bad": {"get": {"parameters": 3}}}))

    both = Toolset.union(one, two)

    assert both.counts.keys() == one.counts.keys()
    assert both.counts["operations"] == one.counts["operations"] + two.counts["operations"]
    assert both.counts["webhooks"] == 0
    assert both.skipped == (*one.skipped, *two.skipped)
    assert set(one.warnings) <= set(both.warnings)
    assert both.search("sell")[0].tool is both["sell"]


@pytest.mark.parametrize("arguments", [(), (3,), ([],), (None,)])
def test_other_values_are_refused(arguments):
    with pytest.raises(SettingsError, match="union: expected toolsets, got"):
        Toolset.union(*arguments)


async def test_guardrails_and_selections_reach_every_part():
    parts = [load_tools(api(title, "list_items", title.lower())) for title in ("Zoo", "Shop")]
    both = Toolset.union(*parts)
    some = both.select(Select(names=["*list_items"]))
    refused = []
    some.add_input_guardrails([lambda call, _: refused.append(call.name) or False])
    both.add_input_guardrails([require_approval(Select(names=["zoo"]))])

    results = [await some.call(tool.name, {}) for tool in some]
    direct = await parts[0].call("list_items", {})

    assert [result.error["type"] for result in (*results, direct)] == ["denied"] * 3
    assert refused == ["zoo_list_items", "shop_list_items", "list_items"]
    assert parts[0]["zoo"].needs_approval
    assert some.sessions == both.sessions
    assert [hit.tool.name for hit in some.search("list items zoo")] == [tool.name for tool in some]


async def test_a_union_of_unions_keeps_every_session():
    parts = [load_tools(api(title, "list_items")) for title in ("A", "B", "C")]

    whole = Toolset.union(Toolset.union(*parts[:2]), parts[2])

    assert len(whole) == 3
    assert whole.sessions == tuple(part.session for part in parts)
    assert len(whole.search("list items")) == 3


async def test_long_work_names_the_tools_of_the_union():
    def respond(request):
        if request.method == "POST":
            return httpx.Response(202, json={}, headers={"Location": "/jobs/7"})
        return httpx.Response(200, json={"id": 7, "key": request.headers["x-key"]})

    def part(title, key):
        paths = {
            "/jobs": {"post": operation(operationId="start")},
            "/jobs/{id}": {"get": operation(operationId="look", parameters=[NUMBER])},
        }
        client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
        root = api(title, paths=paths)
        return load_tools(root, client=client, credentials={"key": key})

    parts = [part("Zoo", "zoo-key-8811"), part("Shop", "shop-key-8812")]
    both = Toolset.union(*parts)

    begun = await both.call("shop_start", {})
    result = await parts[1].call("start", {})
    ended = await both.resume(begun.metadata["job"], wait=5)

    assert begun.header_note == 'The operation is still running: call shop_look with {"id": 7}'
    assert result.header_note == 'The operation is still running: call look with {"id": 7}'
    assert ended.output["id"] == 7


def test_generated_tools_are_renamed_with_what_they_are(tmp_path):
    with ExitStack() as stack:
        parts = []
        for name in ("joined_zoo", "joined_shop"):
            generate_package(api(name, "list_items"), tmp_path / name, name=name)
            package = stack.enter_context(import_package(tmp_path / name, f"{name}_tools"))
            parts.append(package.load(credentials={"key": "k-9911"}))

    both = Toolset.union(*parts)

    assert [tool.name for tool in both] == ["api1_list_items", "api2_list_items"]
    assert both["api1_list_items"].input_schema == parts[0]["list_items"].input_schema
    assert both["api1_list_items"].operation is parts[0]["list_items"].operation
    preview = both["api2_list_items"].preview({})
    assert preview.headers["x-key"] == "***"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_files_of_each_document_are_read_over_mcp(tmp_path, mode):
    mcp = pytest.importorskip("mcp", reason="mcp is not installed")
    from openapi_tools.contracts.mcp import create_server

    def part(title):
        def respond(_):
            named = {"Content-Type": "application/pdf"}
            return httpx.Response(200, content=b"%PDF-1.7 " + title.encode(), headers=named)

        client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
        options = {"settings": {"download_dir": tmp_path / title}, "credentials": {"key": "k-771"}}
        return load_tools(api(title, f"scan_{title}"), client=client, **options)

    for title in ("a", "b"):
        (tmp_path / title).mkdir()
    both = Toolset.union(load_tools(api("plain", "none")), part("a"), part("b"))
    async with mcp.Client(create_server(both), mode=mode) as client:
        links = []
        for name in ("scan_a", "scan_b"):
            content = (await client.call_tool(name, {})).content
            links += [each for each in content if each.type == "resource_link"]
        read = [(await client.read_resource(link.uri)).contents[0].blob for link in links]

    assert len(set(read)) == 2
