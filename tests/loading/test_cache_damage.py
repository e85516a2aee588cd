"""Files of the cache that are damaged or made to do harm: the document is loaded as if without."""

from __future__ import annotations

import gc
import json
import os
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openapi_tools import InvalidDocument, Settings, load_tools
from openapi_tools._version import __version__
from openapi_tools.loading import cached_load

pytestmark = pytest.mark.untraced  # test_cache.py reaches the same lines, but for a few
SPEC = Path(__file__).parents[2] / "specs" / "petstore.yaml"
EXPECTED = load_tools(SPEC, settings=Settings(cache=False))
SCHEMAS = {tool.name: (tool.description, tool.input_schema) for tool in EXPECTED}
OFTEN = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache that knows the document as a file and as a text."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr(cached_load, "MIN_BYTES", 1)
    monkeypatch.setattr(cached_load, "_FRESH", 0)
    load_tools(SPEC)
    load_tools(SPEC.read_bytes())
    return tmp_path


def check(folder, change):
    """Change what is kept, and load the document from what is left."""
    good = {path: path.read_bytes() for path in folder.iterdir()}
    for path, data in good.items():
        path.write_bytes(change(data))
    for source in (SPEC, SPEC.read_bytes()):
        toolset = load_tools(source)
        found = {tool.name: (tool.description, tool.input_schema) for tool in toolset}
        assert found == SCHEMAS
        assert toolset.document == EXPECTED.document
        assert [tool.operation for tool in toolset] == [tool.operation for tool in EXPECTED]
    for path, data in good.items():
        path.write_bytes(data)


@given(at=st.integers(0, 100_000), mask=st.integers(1, 255))
@OFTEN
def test_one_wrong_byte(folder, at, mask):
    def change(data):
        place = at % len(data)
        return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]

    check(folder, change)


@given(at=st.integers(0, 100_000), more=st.binary(max_size=50))
@OFTEN
def test_a_cut_file_whatever_follows(folder, at, more):
    check(folder, lambda data: data[: at % len(data)] + more)


@given(data=st.binary(max_size=200))
@OFTEN
def test_a_file_of_anything(folder, data):
    check(folder, lambda _: data)


@given(
    begin=st.integers(0, 100_000),
    length=st.integers(1, 5000),
    filler=st.binary(min_size=1, max_size=1),
)
@OFTEN
def test_a_hole(folder, begin, length, filler):
    def change(data):
        begins = begin % len(data)
        ends = min(begins + length, len(data))
        return data[:begins] + filler * (ends - begins) + data[ends:]

    check(folder, change)


def parts_of(data):
    """Take a file of the cache apart: its parts, facts, label."""
    *_, last = data[:-1].rsplit(b"\n", 1)
    size = int(last.rsplit(b" ", 1)[1])
    body = data[: -len(last) - 1]
    label = json.loads(body[-size:])
    rest = body[:-size]
    return rest[: label["parts"]], json.loads(rest[label["parts"] :]), label


def joined(parts, facts, label):
    """Put a file of the cache together, with sums that are right."""
    told = json.dumps(facts).encode()
    more = {"parts": len(parts), "total": zlib.crc32(parts), "facts": len(told)}
    line = json.dumps({**label, **more, "sum": zlib.crc32(told)}).encode() + b"\n"
    return (
        parts + told + line + b"openapi-tools index 1 %08x %08d\n" % (zlib.crc32(line), len(line))
    )


def test_a_file_put_together_by_hand_is_taken(folder):
    check(folder, lambda data: joined(*parts_of(data)))


_ODD = [None, True, 0, -1, 10**30, "", "x", [], [1], ["x"], [["x"]], {}, {"x": 1}, [[]], [{}]]
_FACTS = ["names", "descriptions", "methods", "paths"]
_FACTS += ["members", "groups", "tags", "deprecated", "skipped", "warnings", "remarks", "counts"]


def is_harmless(toolset):
    """Look at everything: errors are those of documents, or there are none."""
    for tool in toolset:
        with suppress(InvalidDocument):
            assert tool.description is not None
            assert tool.tags is not None
            assert tool.deprecated in (True, False)
            assert tool.path is not None
            assert tool.input_schema
            assert tool.operation
    assert toolset.skipped is not None
    assert toolset.counts
    with suppress(InvalidDocument):
        assert type(toolset.document) is dict


@pytest.mark.parametrize("name", [*_FACTS, "table", "other"])
@pytest.mark.parametrize("value", _ODD, ids=repr)
def test_facts_with_right_sums_that_are_none(folder, name, value):
    for path in folder.iterdir():
        parts, facts, label = parts_of(path.read_bytes())
        path.write_bytes(joined(parts, {**facts, name: value}, label))

    for source in (SPEC, SPEC.read_bytes()):
        is_harmless(load_tools(source))


@pytest.mark.parametrize("name", ["keys", "begin", "ends", "sums", "inner", "end", "other"])
@pytest.mark.parametrize("value", _ODD, ids=repr)
@pytest.mark.parametrize("place", [(), ("paths",), ("components",), ("components", "schemas")])
def test_tables_with_right_sums_that_are_none(folder, place, name, value):
    for path in folder.iterdir():
        parts, facts, label = parts_of(path.read_bytes())
        table = facts["table"]
        for key in place:
            table = table["inner"][key]
        table[name] = value
        path.write_bytes(joined(parts, facts, label))

    for source in (SPEC, SPEC.read_bytes()):
        is_harmless(load_tools(source))


@pytest.mark.parametrize(
    "name", ["parts", "total", "facts", "sum", "stamp", "length", "version", "etag"]
)
@pytest.mark.parametrize("value", _ODD, ids=repr)
def test_labels_with_right_sums_that_are_none(folder, name, value):
    def change(data):
        parts, facts, label = parts_of(data)
        told = json.dumps(facts).encode()
        more = {"parts": len(parts), "total": zlib.crc32(parts), "facts": len(told)}
        node = {**label, **more, "sum": zlib.crc32(told), name: value}
        line = json.dumps(node).encode() + b"\n"
        last = b"openapi-tools index 1 %08x %08d\n" % (zlib.crc32(line), len(line))
        return parts + told + line + last

    check(folder, change)


@pytest.mark.parametrize("text", ["[" * 5000, "{}", "null", "[]", '"x"', '{"openapi": 3}', "1e999"])
def test_parts_that_are_other_json(folder, text):
    """As if somebody had written an index for another document in the place of this one."""
    for path in folder.iterdir():
        _, facts, label = parts_of(path.read_bytes())
        data = text.encode()
        count = len(facts["table"]["keys"])
        table = facts["table"]
        table |= {"inner": {}, "begin": 0, "ends": [len(data)] * count, "end": len(data)}
        table["sums"] = [zlib.crc32(data)] + [0] * (count - 1)
        path.write_bytes(joined(data, facts, label))

    for source in (SPEC, SPEC.read_bytes()):
        is_harmless(load_tools(source))


def test_a_file_damaged_after_the_load_is_read_from_the_document(folder):
    toolset = load_tools(SPEC)
    for path in folder.iterdir():
        data = path.read_bytes()
        with path.open("r+b") as file:
            file.write(b"\xff" * (len(data) // 2))

    found = {tool.name: (tool.description, tool.input_schema) for tool in toolset}

    assert found == SCHEMAS
    assert len(list(folder.iterdir())) == 1  # that of the text, which was not looked at


@pytest.mark.parametrize("left", [0, 1, 10_000])
def test_a_file_cut_after_the_load_is_read_from_the_document(folder, left):
    """Were it mapped into memory, the look would end the process."""
    toolset = load_tools(SPEC)
    for path in folder.iterdir():
        os.truncate(path, left)

    assert {tool.name: (tool.description, tool.input_schema) for tool in toolset} == SCHEMAS


@pytest.mark.parametrize("begin", [b"", b"\xff" * 10_000], ids=["cut", "damaged"])
def test_what_happens_to_the_copy_of_a_text_after_the_load_changes_nothing(folder, begin):
    toolset = load_tools(SPEC.read_bytes())
    for path in folder.iterdir():
        path.write_bytes(begin)

    assert {tool.name: (tool.description, tool.input_schema) for tool in toolset} == SCHEMAS
    assert {tool.name for tool in load_tools(SPEC.read_bytes())} == set(SCHEMAS)


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
    copy = tmp_path / "copy.yaml"
    copy.write_bytes(SPEC.read_bytes())
    load_tools(copy)
    toolset = load_tools(copy)
    copy.write_bytes(SPEC.read_bytes() + b"\n")
    for path in folder.glob("*.index"):
        data = path.read_bytes()
        with path.open("r+b") as file:
            file.write(b"\xff" * (len(data) // 2))

    with pytest.raises(InvalidDocument, match=r"damaged.*load it again"):
        [tool.input_schema for tool in toolset]


def test_the_version_of_the_package_is_in_each_file(folder):
    assert all(
        parts_of(path.read_bytes())[2]["version"] == __version__ for path in folder.iterdir()
    )
