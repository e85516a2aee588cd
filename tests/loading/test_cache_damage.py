"""Damaged and foreign files in the cache: the document is loaded as if there were none."""

import gc
import os
import shutil
import signal
import sqlite3
import threading
import warnings
import zlib
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cached import cached_files, is_from_cache
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openapi_tools import DocumentError, InvalidDocument, Settings, load_tools

pytestmark = pytest.mark.untraced  # test_cache.py reaches the same lines, but for a few
SPEC = Path(__file__).parents[2] / "specs" / "petstore.yaml"
LARGE = SPEC.with_name("discord.json")
"""More than SQLite reads at the load."""

EXPECTED = load_tools(SPEC, settings=Settings(cache=False))
SCHEMAS = {tool.name: (tool.description, tool.input_schema) for tool in EXPECTED}
PLACES = st.integers(0, 200_000)


OTHER_TEXTS = [
    b"\xff",
    b"[" * 5000,
    b"{}",
    b"[]",
    b'"x"',
    b'{"openapi": 3}',
    b"1e999",
    b"null",
    b'{"/paths": 5}',
    b'{"/paths": [7]}',
    b"[[], [], [], {}, [], [7]]",
]


@pytest.fixture
def folder(eager):
    """A cache that has the document as a file and as a text."""
    load_tools(SPEC)
    load_tools(SPEC.read_bytes())
    return eager


def schemas(toolset):
    return {tool.name: (tool.description, tool.input_schema) for tool in toolset}


def check(folder, change):
    """Change the files, load the document from what is left, and put the files back."""
    good = {path: path.read_bytes() for path in cached_files(folder)}
    for path, data in good.items():
        path.write_bytes(change(data))
    for toolset in map(load_tools, (SPEC, SPEC.read_bytes())):
        assert schemas(toolset) == SCHEMAS
        assert toolset.document == EXPECTED.document
        assert [tool.operation for tool in toolset] == [tool.operation for tool in EXPECTED]
    for path, data in good.items():
        path.write_bytes(data)


def swap_pages(data, one, other):
    """Let two pages change places, as file systems may leave them after a crash."""
    pages = [data[start : start + 16384] for start in range(0, len(data), 16384)]
    one, other = one % len(pages), other % len(pages)
    pages[one], pages[other] = pages[other], pages[one]
    return b"".join(pages)


def flip_bits(data, at, mask):
    at %= len(data)
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


DAMAGE = {
    "a wrong byte": st.builds(
        lambda at, mask: lambda data: flip_bits(data, at, mask), PLACES, st.integers(1, 255)
    ),
    "cut, whatever follows": st.builds(
        lambda at, tail: lambda data: data[: at % len(data)] + tail, PLACES, st.binary(max_size=50)
    ),
    "anything": st.binary(max_size=200).map(lambda anything: lambda _: anything),
    "pages that changed places": st.builds(
        lambda one, other: lambda data: swap_pages(data, one, other), PLACES, PLACES
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_not_used(folder, damage):
    @settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(damage)
    def damaged(change):
        check(folder, change)

    damaged()


def execute(path, *statement):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(*statement).fetchone()


def put(path, place, data):
    """Replace a row by one with a right checksum."""
    total = zlib.crc32(data, zlib.crc32(place.encode()))
    execute(path, "INSERT OR REPLACE INTO part VALUES (?, ?, ?)", (place, data, total))


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE part",
        "DELETE FROM part",
        "DELETE FROM part WHERE place LIKE 'keys/%'",
        "DELETE FROM part WHERE place LIKE '/%'",
        "UPDATE part SET data = NULL WHERE place = 'facts'",
        "UPDATE part SET data = CAST(data AS TEXT)",
        "UPDATE part SET sum = 'x' WHERE place LIKE '/%'",
        "UPDATE part SET place = CAST(place AS BLOB)",
        "UPDATE part SET data = (SELECT data FROM part WHERE place = 'label')",
        "ALTER TABLE part DROP COLUMN sum",
        "ALTER TABLE part ADD COLUMN other",
        "ALTER TABLE part RENAME TO other",
    ],
)
def test_a_database_of_another_kind(folder, statement):
    for path in cached_files(folder):
        execute(path, statement)

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


@pytest.mark.parametrize("place", ["label", "facts", "keys/paths", "/openapi", "/paths/~1pets"])
@pytest.mark.parametrize("text", OTHER_TEXTS)
def test_rows_that_are_other_json(folder, place, text):
    for path in cached_files(folder):
        put(path, place, text)

    are_harmless()


@pytest.mark.parametrize("left", [None, 0, 1, 10_000], ids=["damaged", "empty", "1", "10,000"])
def test_a_file_damaged_or_cut_after_the_load_is_read_from_the_document(folder, left):
    """Were it mapped into memory, the look at a shorter one would end the process."""
    expected = schemas(load_tools(LARGE))
    toolset = load_tools(LARGE)
    for path in cached_files(folder):
        if left is None:
            path.write_bytes(b"\xff" * path.stat().st_size)
        else:
            os.truncate(path, left)

    assert schemas(toolset) == expected
    assert len(cached_files(folder)) == 2  # the files that were not looked at


@pytest.mark.parametrize("begin", [b"", b"\xff" * 10_000], ids=["cut", "damaged"])
def test_what_happens_to_the_copy_of_a_text_after_the_load_changes_nothing(folder, begin):
    toolset = load_tools(SPEC.read_bytes())
    for path in cached_files(folder):
        path.write_bytes(begin)

    assert schemas(toolset) == SCHEMAS
    assert schemas(load_tools(SPEC.read_bytes())) == SCHEMAS


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
    shutil.copyfile(LARGE, copy)
    load_tools(copy)
    toolset = load_tools(copy)
    copy.write_bytes(LARGE.read_bytes() + b"\n")
    for path in cached_files(folder):
        os.truncate(path, 0)

    with pytest.raises(InvalidDocument, match=r"damaged.*load it again"):
        [tool.input_schema for tool in toolset]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_read_while_threads_of_the_parent_do(folder):
    """Children share the open file with their parent.

    They are forked before the threads start: a child never gets a lock that a thread of the parent
    held at the fork, in SQLite either (docs/limits.md).
    """
    toolset = load_tools(SPEC)
    assert is_from_cache(toolset)
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(schemas(toolset))) for _ in range(4)]
    start, held = os.pipe()
    children = []
    for _ in range(8):
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            child = os.fork()  # pytest may have threads
        if child == 0:  # pragma: no cover -- another process
            code = 1
            # Ends a child that hangs; faulthandler waits for a thread of the parent.
            signal.alarm(30)
            try:
                os.close(held)
                os.read(start, 1)  # ends when the parent closes the other end
                code = 0 if schemas(toolset) == SCHEMAS else 2
            finally:
                os._exit(code)
        children.append(child)
    for thread in threads:
        thread.start()
    os.close(held)
    for thread in threads:
        thread.join()
    os.close(start)

    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert seen == [SCHEMAS] * 4
