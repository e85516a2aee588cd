"""Damaged and foreign files in the cache: the document is loaded as if there were none."""

import gc
import json
import os
import shutil
import sqlite3
import threading
import warnings
import zlib
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cached import is_from_cache, kept
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openapi_tools import DocumentError, InvalidDocument, Settings, load_tools
from openapi_tools._version import __version__
from openapi_tools.loading import cache

pytestmark = pytest.mark.untraced  # test_cache.py reaches the same lines, but for a few
SPEC = Path(__file__).parents[2] / "specs" / "petstore.yaml"
LARGE = SPEC.with_name("discord.json")
"""More than SQLite reads at the load."""

EXPECTED = load_tools(SPEC, settings=Settings(cache=False))
SCHEMAS = {tool.name: (tool.description, tool.input_schema) for tool in EXPECTED}
OFTEN = settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def mostly_long(first, *others):
    return [first, *(pytest.param(each, marks=pytest.mark.long) for each in others)]


ODD = mostly_long(None, ["x"], True, -1, 10**30, "x", [], [[1]], {"x": 1})
OBJECTS = [b"[" * 5000, b"{}", b"[]", b'"x"', b'{"openapi": 3}', b"1e999", b"", b"null"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache that has the document as a file and as a text."""
    where = tmp_path / "cache"
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(where))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr(cache, "MIN_BYTES", 1)
    monkeypatch.setattr(cache, "_FRESH", 0)
    load_tools(SPEC)
    load_tools(SPEC.read_bytes())
    return where


def schemas(toolset):
    return {tool.name: (tool.description, tool.input_schema) for tool in toolset}


def check(folder, change):
    """Change the files, and load the document from what is left."""
    good = {path: path.read_bytes() for path in kept(folder)}
    for path, data in good.items():
        path.write_bytes(change(data))
    for source in (SPEC, SPEC.read_bytes()):
        toolset = load_tools(source)
        assert schemas(toolset) == SCHEMAS
        assert toolset.document == EXPECTED.document
        assert [tool.operation for tool in toolset] == [tool.operation for tool in EXPECTED]
    for path, data in good.items():
        path.write_bytes(data)


@given(at=st.integers(0, 200_000), mask=st.integers(1, 255))
@OFTEN
def test_one_wrong_byte(folder, at, mask):
    def change(data):
        place = at % len(data)
        return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]

    check(folder, change)


@pytest.mark.parametrize("at", range(0, 120, 12))
def test_a_wrong_byte_in_the_headers(folder, at):
    check(folder, lambda data: data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])


@given(at=st.integers(0, 200_000), more=st.binary(max_size=50))
@OFTEN
def test_a_cut_file_whatever_follows(folder, at, more):
    check(folder, lambda data: data[: at % len(data)] + more)


@given(data=st.binary(max_size=200))
@OFTEN
def test_a_file_of_anything(folder, data):
    check(folder, lambda _: data)


@given(begin=st.integers(0, 200_000), length=st.integers(1, 10_000), filler=st.integers(0, 255))
@OFTEN
def test_a_hole(folder, begin, length, filler):
    def change(data):
        begins = begin % len(data)
        ends = min(begins + length, len(data))
        return data[:begins] + bytes([filler]) * (ends - begins) + data[ends:]

    check(folder, change)


@given(one=st.integers(0, 100), other=st.integers(0, 100))
@OFTEN
def test_pages_that_changed_places(folder, one, other):
    """As file systems may leave them after a crash."""

    def change(data):
        pages = [data[start : start + 16384] for start in range(0, len(data), 16384)]
        first, second = one % len(pages), other % len(pages)
        pages[first], pages[second] = pages[second], pages[first]
        return b"".join(pages)

    check(folder, change)


def execute(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(*statement)


def put(path, place, value):
    """Replace a row by one with a right checksum."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    total = zlib.crc32(data, zlib.crc32(place.encode()))
    execute(path, ("INSERT OR REPLACE INTO part VALUES (?, ?, ?)", (place, data, total)))


def get(path, place):
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT data FROM part WHERE place = ?"
        return json.loads(connection.execute(query, (place,)).fetchone()[0])


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE part",
        "DELETE FROM part",
        "DELETE FROM part WHERE place = 'keys'",
        "DELETE FROM part WHERE place LIKE '/%'",
        "UPDATE part SET data = 1",
        "UPDATE part SET data = NULL WHERE place = 'facts'",
        "UPDATE part SET data = CAST(data AS TEXT)",
        "UPDATE part SET sum = NULL",
        "UPDATE part SET sum = 'x' WHERE place LIKE '/%'",
        "UPDATE part SET place = CAST(place AS BLOB)",
        "UPDATE part SET place = CAST('/' || place AS BLOB) WHERE place LIKE '/%'",
        "UPDATE part SET data = (SELECT data FROM part WHERE place = 'label')",
        "ALTER TABLE part DROP COLUMN sum",
        "ALTER TABLE part ADD COLUMN other",
        "ALTER TABLE part RENAME TO other",
    ],
)
def test_a_database_of_another_kind(folder, statement):
    for path in kept(folder):
        execute(path, (statement,))

    for source in (SPEC, SPEC.read_bytes()):
        assert schemas(load_tools(source)) == SCHEMAS


def are_harmless():
    """Load both and look at everything: errors are those of documents, or there are none."""
    for toolset in map(load_tools, (SPEC, SPEC.read_bytes())):
        for tool in toolset:
            with suppress(DocumentError):
                assert None not in (tool.description, tool.tags, tool.path)
                assert tool.deprecated in (True, False)
                assert tool.input_schema
                assert tool.operation
        assert toolset.skipped is not None
        assert toolset.counts
        with suppress(DocumentError):
            assert type(toolset.document) is dict


@pytest.mark.parametrize(
    ("place", "name"),
    [
        *(("facts", name) for name in ("tools", "skipped", "warnings", "remarks", "counts")),
        *(("label", name) for name in ("version", "format", "stamp", "length", "etag")),
        *(("keys", name) for name in ("", "/paths", "/components", "/components/schemas")),
        *(("facts", "other"), ("label", "other"), ("keys", "other")),
    ],
)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_rows_with_right_sums_and_wrong_members(folder, place, name, value):
    for path in kept(folder):
        put(path, place, get(path, place) | {name: value})

    are_harmless()


@pytest.mark.parametrize("at", range(7))
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_tools_with_right_sums_and_wrong_members(folder, at, value):
    for path in kept(folder):
        facts = get(path, "facts")
        facts["tools"][at][0] = value
        put(path, "facts", facts)

    are_harmless()


@pytest.mark.parametrize("place", ["label", "facts", "keys", "/openapi", "/paths", "/paths/~1pets"])
@pytest.mark.parametrize("text", mostly_long(b"\xff", *OBJECTS))
def test_rows_that_are_other_json(folder, place, text):
    for path in kept(folder):
        put(path, place, text)

    are_harmless()


def test_a_file_damaged_after_the_load_is_read_from_the_document(folder):
    expected = schemas(load_tools(LARGE))
    toolset = load_tools(LARGE)
    for path in kept(folder):
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.write(b"\xff" * size)

    assert schemas(toolset) == expected
    assert len(kept(folder)) == 2  # the files that were not looked at


@pytest.mark.parametrize("left", [0, 1, 10_000])
def test_a_file_cut_after_the_load_is_read_from_the_document(folder, left):
    """Were it mapped into memory, the look would end the process."""
    expected = schemas(load_tools(LARGE))
    toolset = load_tools(LARGE)
    for path in kept(folder):
        os.truncate(path, left)

    assert schemas(toolset) == expected


@pytest.mark.parametrize("begin", [b"", b"\xff" * 10_000], ids=["cut", "damaged"])
def test_what_happens_to_the_copy_of_a_text_after_the_load_changes_nothing(folder, begin):
    toolset = load_tools(SPEC.read_bytes())
    for path in kept(folder):
        path.write_bytes(begin)

    assert schemas(toolset) == SCHEMAS
    assert {tool.name for tool in load_tools(SPEC.read_bytes())} == set(SCHEMAS)


def test_a_folder_that_is_gone_after_the_load_changes_nothing(folder):
    toolsets = [load_tools(SPEC), load_tools(SPEC.read_bytes())]
    shutil.rmtree(folder)

    assert [schemas(toolset) for toolset in toolsets] == [SCHEMAS, SCHEMAS]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
def test_no_file_stays_open_but_for_a_path(folder):
    def count():
        links = Path("/proc/self/fd").iterdir()
        return sum(link.is_symlink() and str(folder) in str(link.readlink()) for link in links)

    text = load_tools(SPEC.read_bytes())
    assert count() == 0

    file = load_tools(SPEC)
    assert count() == 1

    del file
    gc.collect()
    assert count() == 0
    assert text


def test_a_copy_of_a_changed_file_that_is_damaged_says_so(folder, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes(LARGE.read_bytes())
    load_tools(copy)
    toolset = load_tools(copy)
    copy.write_bytes(LARGE.read_bytes() + b"\n")
    for path in kept(folder):
        os.truncate(path, 0)

    with pytest.raises(InvalidDocument, match=r"damaged.*load it again"):
        [tool.input_schema for tool in toolset]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_read_while_threads_do(folder):
    """Children share the open file with their parent."""
    toolset = load_tools(SPEC)
    assert is_from_cache(toolset)
    threads = [threading.Thread(target=schemas, args=(toolset,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(8):
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            child = os.fork()
        if child == 0:  # pragma: no cover -- another process
            os._exit(0 if schemas(toolset) == SCHEMAS else 1)
        children.append(child)
    for thread in threads:
        thread.join()

    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert schemas(toolset) == SCHEMAS


def test_the_version_of_the_package_is_in_each_file(folder):
    assert [get(path, "label")["version"] for path in kept(folder)] == [__version__] * 2
