"""The index in the document cache: which one is used, and when it is rebuilt."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openapi_tools import Settings, load_tools
from openapi_tools.cli import commands
from openapi_tools.loading import cache
from openapi_tools.runtime import Operation, OperationTool
from openapi_tools.search.index import Index

SPECS = Path(__file__).parents[2] / "specs"
MUSEUM, GOTIFY = SPECS / "museum.yaml", SPECS / "gotify.json"
QUERY = "buy tickets\nevents"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of the test's own, which keeps small and new documents, too."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr("openapi_tools.loading.source.MIN_CACHED_BYTES", 1)
    monkeypatch.setattr(cache, "_FRESH", 0)
    return tmp_path / "cache"


@pytest.fixture
def built_sizes(monkeypatch):
    """Count how many indexes are made."""
    numbers, of = [], Index.build
    monkeypatch.setattr(Index, "build", lambda tools: numbers.append(len(tools)) or of(tools))
    return numbers


def hits(toolset, query=QUERY):
    return [(hit.tool.name, hit.score, hit.needs) for hit in toolset.search(query)]


def sides(folder):
    return sorted(folder.glob("*.search"))


def test_the_second_load_reads_the_index_and_finds_the_same(folder, built_sizes):
    first = hits(load_tools(MUSEUM))
    again = hits(load_tools(MUSEUM))

    assert first == again == hits(load_tools(MUSEUM, settings=Settings(cache=False)))
    assert built_sizes == [8, 8]  # the first and the one without the cache
    assert len(sides(folder)) == 1
    assert sides(folder)[0].stat().st_mode & 0o777 == 0o600


def test_needs_come_from_the_cache_too():
    query = "delete one message"
    first = hits(load_tools(GOTIFY), query)

    assert any(needs for _, _, needs in first)
    assert hits(load_tools(GOTIFY), query) == first


SPOILT = {
    "empty": lambda data: b"",
    "short": lambda data: data[:-1],
    "changed": lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
    "long": lambda data: data + b"\0",
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_damaged_index_is_rebuilt(folder, built_sizes, spoil):
    first = hits(load_tools(MUSEUM))
    (side,) = sides(folder)
    whole = side.read_bytes()
    side.write_bytes(spoil(whole))

    assert hits(load_tools(MUSEUM)) == first
    assert built_sizes == [8, 8]
    assert side.read_bytes() == whole


def test_an_index_that_others_can_write_is_not_read(folder, built_sizes):
    hits(load_tools(MUSEUM))
    sides(folder)[0].chmod(0o666)

    hits(load_tools(MUSEUM))

    assert built_sizes == [8, 8]


def test_tools_of_another_form_have_an_index_of_their_own(folder, built_sizes):
    shaped = {"tools": {"buy_museum_tickets": {"description": "Obtain passes", "name": "passes"}}}
    plain = hits(load_tools(MUSEUM), "passes")

    for _ in range(2):
        assert hits(load_tools(MUSEUM, config=shaped), "passes")[0][0] == "passes"
        assert hits(load_tools(MUSEUM, settings=Settings(body="nested"))) != []
    assert hits(load_tools(MUSEUM), "passes") == plain
    assert built_sizes == [8, 8, 8]
    assert len(sides(folder)) == 3


def test_a_selection_uses_the_index_of_the_whole_document(folder, built_sizes):
    for tags in ("Events", "Tickets"):
        assert hits(load_tools(MUSEUM, select={"tags": tags}))

    assert built_sizes == [8]


def test_tools_of_the_users_own_are_indexed_again(folder):
    class PlainTool(OperationTool):
        name = "own"
        input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 -- not changed
        operation = Operation("GET", "/own")

        def __init__(self, description):
            super().__init__()
            self.words = description

        description = property(lambda self: self.words)

    for words in ("Feed lions", "Feed tigers"):
        toolset = load_tools(MUSEUM)
        mixed = toolset.with_tools([*toolset, PlainTool(words)])
        assert next(name for name, _, _ in hits(mixed, words)) == "own"
        assert len(hits(mixed, "lions")) == words.count("lions")
    assert sides(folder) == []


def test_only_some_forms_are_kept(folder):
    for number in range(7):
        config = {"tools": {"buy_museum_tickets": {"description": f"Tickets {number}"}}}
        hits(load_tools(MUSEUM, config=config))

    assert len(sides(folder)) == 4


def test_a_changed_document_has_a_new_index(folder, tmp_path):
    path = tmp_path / "api.json"
    results = []
    for word in ("lions", "tigers"):
        operation = {"summary": f"List the {word}", "responses": {"200": {"description": "OK"}}}
        root = {"openapi": "3.1.0", "info": {"title": "Zoo", "version": "1"}}
        path.write_text(json.dumps({**root, "paths": {"/all": {"get": operation}}}))
        results.append([hits(load_tools(path), query) != [] for query in ("lions", "tigers")])

    assert results == [[True, False], [False, True]]
    assert len(sides(folder)) == 1


def test_the_index_goes_with_its_document(folder):
    hits(load_tools(MUSEUM))
    (entry,) = cache.entries()

    assert entry.size == sum(path.stat().st_size for path in folder.iterdir())
    listed = CliRunner().invoke(commands, ["cache", "--json"])
    assert [each["tools"] for each in json.loads(listed.stdout)["documents"]] == [8]
    assert cache.clear() == (1, entry.size)
    assert list(folder.iterdir()) == []


def test_an_index_without_its_document_is_not_written(folder):
    toolset = load_tools(MUSEUM)
    cache.clear()

    assert hits(toolset)
    assert list(folder.iterdir()) == []
