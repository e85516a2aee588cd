"""Faults that need more than one call, or a call of their own."""

import asyncio

import pytest
from servers.fault_process import FaultProcess
from servers.fault_routes import FaultSite, case_of, fault_document
from servers.faults import Faults, answer

from openapi_tools import Settings, load_tools

pytestmark = pytest.mark.untraced


def toolset_of(url, *slugs, **settings):
    routes = [case_of(slug) for slug in (*slugs, "echo")]
    given = Settings(**{"base_url": url, "timeout": 10} | settings)
    return load_tools(fault_document(routes), settings=given)


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("method", ["get", "post"])
async def test_a_connection_that_breaks_when_it_is_used_again(method):
    async with FaultSite() as site, toolset_of(site.url, "reset-when-reused") as toolset:
        await toolset["get_reset_when_reused"].execute({})

        result = await toolset[f"{method}_reset_when_reused"].execute({})

        assert not result.is_error or result.error["type"] == "connection"
        # A read may be tried once more; a POST never.
        assert site.seen["POST /reset-when-reused"] <= 1
        assert site.seen["GET /reset-when-reused"] <= 3


@pytest.mark.parametrize("slug", ["503-for-ever", "429-seconds", "reset-before-headers", "401"])
async def test_a_post_is_sent_once_however_often_others_are_tried(slug):
    async with FaultSite() as site, toolset_of(site.url, slug, retries=2) as toolset:
        result = await toolset[f"post_{slug}".replace("-", "_")].execute({"text": "x"})

        assert result.is_error
        assert site.seen[f"POST /{slug}"] == 1


async def test_plain_http_on_a_port_for_tls_is_a_connection_error():
    plain = answer(b"{}", "Connection: close", status="400 Bad Request")

    async def behave(peer):
        await peer.write(plain)
        await peer.hang()

    async with Faults(behave) as server:
        url = server.url.replace("http:", "https:")
        async with toolset_of(url, timeout=5) as toolset:
            result = await toolset["get_echo"].execute({})

    assert result.error["type"] == "connection"


async def test_an_answer_that_contradicts_the_schema_is_passed_on_with_the_place():
    settings = {"check_answers": True}
    async with FaultSite() as site, toolset_of(site.url, "contradicts-schema", **settings) as tools:
        result = await tools["get_contradicts_schema"].execute({})

    assert result.output == {"id": "seven"}
    assert "id" in str(result.metadata["answer_problems"])


async def test_an_attachment_is_written_into_the_folder_and_nowhere_else(tmp_path):
    folder = tmp_path / "inner" / "folder"
    async with (
        FaultSite() as site,
        toolset_of(site.url, "attachment", download_dir=folder) as toolset,
    ):
        result = await toolset["get_attachment"].execute({})

    assert files_in(tmp_path) == [folder / "evil.pdf"]
    assert result.output["file"] == str(folder / "evil.pdf")


async def test_20_mb_of_json_are_cut_and_say_how_long_they_were():
    room = {"max_response_bytes": 32 * 2**20, "max_output_chars": 10_000, "timeout": 60}
    async with FaultSite() as site, toolset_of(site.url, "json-20-mb", **room) as toolset:
        result = await toolset["get_json_20_mb"].execute({})

    assert result.success
    assert len(str(result)) <= 10_000
    assert result.output[0]["name"] == "Rex"
    assert result.metadata["truncated"]["chars"] > 19_900_000


@pytest.mark.long
async def test_a_thousand_calls_at_once_have_their_own_answers():
    with FaultProcess() as site:
        async with toolset_of(site.url, timeout=60) as toolset:
            calls = (toolset["get_echo"].execute({"q": str(number)}) for number in range(1000))
            results = await asyncio.gather(*calls)

    assert [result.output for result in results] == [{"echo": f"q={i}"} for i in range(1000)]


@pytest.mark.parametrize(
    "stream",
    [b"data: " + b"x" * 3_000_000, b"\n" * 3_000_000, b":\n" * 1_000_000, b"data\n" * 600_000],
    ids=["no line end", "blank lines", "comments", "empty data"],
)
async def test_a_stream_of_nothing_is_read_soon(stream):
    async def behave(peer):
        await peer.request()
        await peer.write(answer(stream, "Content-Type: text/event-stream"))

    async with Faults(behave) as server, toolset_of(server.url) as toolset:
        async with asyncio.timeout(10):
            result = await toolset["get_echo"].execute({})

    assert result.success
    assert result.output[-1] == "… the answer goes on; only its beginning was read"
    assert result.metadata["truncated"]["chars"] == len(stream)
