"""The document cache: from it or not, the tools are the same; what is no longer so is not used."""

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import corpus
import httpx
import hypothesis
import platformdirs
import pytest
from cached import is_from_cache, kept
from fuzz.mutations import TAMPERED

from openapi_tools import NotPicklableError, OpenAPIToolsError, Settings, SourceError, load_tools
from openapi_tools.loading import cache, cache_file
from openapi_tools.loading.parse import DUPLICATES_BYTES
from openapi_tools.loading.plain_data import LazyDict
from openapi_tools.transport.sender import Answer

SPECS = Path(__file__).parents[2] / "specs"
FILES = sorted(path for path in SPECS.iterdir() if path.suffix in (".json", ".yaml"))
PETSTORE = SPECS / "petstore.yaml"
OFF = Settings(cache=False)
LONG_AGO = 1_600_000_000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own, which keeps small documents too, and new files."""
    where = tmp_path / "cache"
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(where))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr(cache, "MIN_BYTES", 1)
    monkeypatch.setattr(cache, "_FRESH", 0)
    return where


def everything(toolset):
    """Return all that can be seen of a toolset."""
    return {
        "tools": [
            (
                tool.name,
                tool.method,
                tool.path,
                tool.description,
                tool.tags,
                tool.deprecated,
                json.dumps(tool.input_schema),
                tool.operation,
                tool.strict,
                repr(tool),
            )
            for tool in toolset
        ],
        "skipped": toolset.skipped,
        "warnings": toolset.warnings,
        "schemes": toolset.security_schemes,
        "counts": toolset.counts,
        "document": json.dumps(toolset.document),
    }


def document(summary="Get it", **more):
    """Return a document with one tool."""
    operation = {"operationId": "get_it", "summary": summary, "responses": {}, **more}
    root = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}}
    return {**root, "servers": [{"url": "http://a.example"}], "paths": {"/it": {"get": operation}}}


@pytest.fixture
def file(tmp_path):
    """Write a document, and return where it is."""

    def write(root, name="openapi.json"):
        path = tmp_path / name
        path.write_text(json.dumps(root))
        return path

    return write


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_from_the_cache_a_document_has_the_same_tools(path):
    assert is_from_cache(check_same(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("read", [Path.read_bytes, Path.read_text], ids=["bytes", "text"])
def test_a_text_is_known_by_its_hash(path, read, folder):
    assert is_from_cache(check_same(read(path)))
    assert len(kept(folder)) == 1


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.parametrize("entry", corpus.parameters(corpus.entries()))
def test_from_the_cache_a_published_document_has_the_same_tools(entry, folder):
    first = load_tools(entry.file)
    again = load_tools(entry.file)

    assert is_from_cache(again) == (len(first) > 0 and len(kept(folder)) == 1)
    assert everything(again) == everything(load_tools(entry.file, settings=OFF))


def check_same(source):
    """Load a document twice, and without the cache; return the second toolset."""
    first, again = load_tools(source), load_tools(source)
    assert everything(again) == everything(first) == everything(load_tools(source, settings=OFF))
    return again


def outcome(source, **options):
    """Return all that can be seen of what a load gives, or its error."""
    try:
        return everything(load_tools(source, **options))
    except OpenAPIToolsError as error:
        return type(error), str(error)


@pytest.mark.long
@pytest.mark.untraced
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(TAMPERED)
def test_from_the_cache_any_document_has_the_same_tools_or_the_same_error(case):
    data = case.data().replace(b'"1e400"', b"1e400")
    if data.startswith(b"{"):  # above this size numbers out of range are not looked for
        data = data[:-1] + b" " * DUPLICATES_BYTES + data[-1:]

    first, second = outcome(data), outcome(data)

    assert first == second == outcome(data, settings=OFF)


@pytest.mark.parametrize("place", ["schema", "value", "extension", "example"])
@pytest.mark.parametrize("number", ["1e400", "-1e999"])
def test_a_document_with_a_number_that_is_not_finite_is_the_same_from_the_cache(place, number):
    places = {
        "schema": {"schema": {"type": "number", "maximum": "PLACE"}},
        "value": {"schema": {"type": "number", "enum": [1, "PLACE"], "default": "PLACE"}},
        "extension": {"x-a": ["PLACE"], "schema": {}},
        "example": {"example": {"a": "PLACE"}, "schema": {}},
    }
    root = document(parameters=[{"name": "n", "in": "query", **places[place]}])
    text = json.dumps({**root, "x-size": "PLACE"}).replace('"PLACE"', number)

    assert is_from_cache(check_same(text + " " * DUPLICATES_BYTES))


def test_tools_look_at_their_own_parts_of_the_document_only():
    load_tools(SPECS / "discord.json")
    toolset = load_tools(SPECS / "discord.json")

    first = next(iter(toolset))
    assert first.input_schema
    node = first._node

    root = node.resource.root
    assert type(root) is LazyDict
    assert list(dict.keys(root["paths"])) == [first.path]
    assert type(toolset.document) is dict
    assert toolset.document["paths"][first.path] is node.item


def test_a_toolset_from_the_cache_is_pickled_as_little_as_another():
    load_tools(PETSTORE)

    with pytest.raises(NotPicklableError):
        pickle.dumps(load_tools(PETSTORE))


def test_settings_that_shape_tools_have_files_of_their_own(folder):
    path = PETSTORE
    plain = [tool.name for tool in load_tools(path)]
    prefixed = Settings(prefix="pets_", description_chars=20, body="nested")
    first = everything(load_tools(path, settings=prefixed))
    again = load_tools(path, settings=prefixed)

    assert is_from_cache(again)
    assert everything(again) == first
    assert [tool.name for tool in again] == [f"pets_{name}" for name in plain]
    assert len(kept(folder)) == 2
    assert [tool.name for tool in load_tools(path)] == plain


def kept_after(*args, **options):
    load_tools(*args, **options)
    return kept(cache.folder())


def test_strict_loads_and_mappings_take_no_part():
    assert kept_after(SPECS / "museum.yaml", strict=True) == []
    assert kept_after(document()) == []


def test_the_settings_turn_it_off():
    assert kept_after(SPECS / "museum.yaml", settings=OFF) == []


@pytest.mark.parametrize("word", ["off", "OFF", " off "])
def test_the_environment_turns_it_off(word, monkeypatch):
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE", word)

    assert kept_after(SPECS / "museum.yaml") == []


def test_without_sqlite_nothing_is_kept(monkeypatch):
    """Some builds of Python lack the module."""
    monkeypatch.setitem(sys.modules, "_sqlite3", None)

    assert kept_after(SPECS / "museum.yaml") == []


def test_small_documents_are_not_kept(monkeypatch):
    monkeypatch.setattr(cache, "MIN_BYTES", 64 * 1024)

    assert kept_after(SPECS / "museum.yaml") == []
    assert kept_after((SPECS / "museum.yaml").read_bytes()) == []
    assert len(kept_after(SPECS / "gotify.json")) == 1


def test_a_file_that_changed_just_now_is_not_kept(file, monkeypatch):
    monkeypatch.setattr(cache, "_FRESH", 10**12)

    assert kept_after(file(document())) == []


def test_a_changed_file_is_read_anew(file):
    load_tools(file(document("One")))
    changed = file(document("Two"))

    assert load_tools(changed)["get_it"].description == "Two"
    assert is_from_cache(load_tools(changed))


@pytest.mark.parametrize("before", [None, LONG_AGO], ids=["another time", "times set back"])
def test_a_file_of_other_content_is_read_anew(file, before):
    path = file(document("One"))
    if before:
        os.utime(path, (before, before))
    load_tools(path)
    path.write_text(path.read_text().replace("One", "Two"))
    os.utime(path, (LONG_AGO, LONG_AGO))

    assert load_tools(path)["get_it"].description == "Two"


@pytest.mark.parametrize("tick", [10**9, 2 * 10**9])
def test_a_file_system_that_counts_whole_seconds_is_given_time(file, folder, monkeypatch, tick):
    """Where times are so coarse, a change within the same one does not show in them."""

    def coarse(path, settings):
        size, *times, inode, device = stamp(path, settings)
        return [size, *(time_ // tick * tick for time_ in times), inode, device]

    stamp = cache._stamp
    monkeypatch.setattr(cache, "_FRESH", 100_000_000)
    monkeypatch.setattr(cache, "_stamp", coarse)
    path = file(document("One"))
    begun = path.stat().st_mtime_ns // tick * tick
    monkeypatch.setattr(time, "time_ns", lambda: begun + tick - 1)

    load_tools(path)
    assert kept(folder) == []

    monkeypatch.setattr(time, "time_ns", lambda: begun + tick + 10**9)
    load_tools(path)
    assert len(kept(folder)) == 1


def test_a_file_that_is_gone_is_an_error(file):
    path = file(document())
    load_tools(path)
    path.unlink()

    with pytest.raises(SourceError, match="no such file"):
        load_tools(path)


def test_a_file_that_changes_while_it_is_read_is_not_kept(file, folder, monkeypatch):
    path = file(document("One"))
    read = cache.read_file

    def change(*args):
        found = read(*args)
        path.write_text(json.dumps(document("Three")))
        return found

    monkeypatch.setattr(cache, "read_file", change)

    assert load_tools(path)["get_it"].description == "One"
    assert kept(folder) == []


def test_the_limit_of_size_holds_for_what_is_kept(file):
    path = file(document())
    load_tools(path)
    load_tools(path.read_bytes())

    for source in (path, path.read_bytes()):
        with pytest.raises(SourceError, match="larger than 20 bytes"):
            load_tools(source, settings=Settings(max_document_bytes=20))


def test_messages_name_the_path_as_it_is_given_now(file, monkeypatch):
    path = file({"openapi": "3.1.0", "paths": {}})
    load_tools(path)
    monkeypatch.chdir(path.parent)

    warnings = load_tools("openapi.json").warnings

    assert warnings == ("openapi.json: no paths with operations, hence no tools.",)


def test_a_document_that_refers_to_others_is_not_kept(tmp_path, file, folder):
    (tmp_path / "other.json").write_text('{"schema": {"type": "string"}}')
    parameter = {"name": "q", "in": "query", "schema": {"$ref": "other.json#/schema"}}
    path = file(document(parameters=[parameter]))
    load_tools(path)
    assert kept(folder) == []

    (tmp_path / "other.json").write_text('{"schema": {"type": "integer"}}')

    schema = load_tools(path)["get_it"].input_schema
    assert schema["$defs"][next(iter(schema["$defs"]))] == {"type": "integer"}


def test_a_document_that_might_refer_to_others_is_not_kept(file, folder):
    parameter = {"name": "q", "in": "query", "schema": {"$ref": "http://b.example/x.json"}}
    text = json.dumps(document(parameters=[parameter]))

    toolset = load_tools(text)

    assert [entry.path for entry in toolset.skipped] == ["/it"]
    assert kept(folder) == []


def test_a_document_that_refers_to_itself_by_name_is_kept(file):
    schemas = {"Id": {"type": "integer"}}
    parameter = {
        "name": "id",
        "in": "query",
        "schema": {"$ref": "openapi.json#/components/schemas/Id"},
    }
    path = file({**document(parameters=[parameter]), "components": {"schemas": schemas}})

    assert is_from_cache(check_same(path))


@pytest.mark.parametrize(
    "ref",
    [
        "#",
        "#/components",
        "#/components/schemas",
        "#/paths",
        "#anchor",
        "urn:x#/components/schemas/A",
    ],
)
def test_references_to_odd_places_lead_there_too(ref, file):
    schemas = {"A": {"type": "object", "$anchor": "anchor"}}
    root = document(parameters=[{"name": "q", "in": "query", "schema": {"$ref": ref}}])

    check_same(file({**root, "$id": "urn:x", "components": {"schemas": schemas}}))


@pytest.mark.parametrize(
    "ref", ["#/components/pathItems/A", "#/paths/~1it", "#/components/pathItems", "#/paths"]
)
def test_path_items_that_are_references_are_found_again(ref, file):
    root = document()
    shared = {"post": {"operationId": "post_it", "responses": {}}}
    root["paths"]["/other/{id}"] = {"$ref": ref, "summary": "Beside"}

    check_same(file({**root, "components": {"pathItems": {"A": shared}}}))


def test_yaml_that_grows_when_aliases_are_written_out_is_not_kept(folder):
    long = "x" * 10_000
    uses = "\n".join(f"  x-{number}: *a" for number in range(2000))
    text = f"openapi: 3.1.0\npaths:\n  /it: {{get: {{responses: {{}}}}}}\ninfo:\n  a: &a {long}\n"

    toolset = load_tools(text + uses)

    assert len(toolset) == 1
    assert kept(folder) == []


def test_yaml_with_aliases_is_kept(folder):
    text = """
openapi: 3.1.0
paths:
  /one: {get: &get {parameters: &all [{name: a, in: query, schema: {type: string}}]}}
  /two: {get: *get, post: {parameters: *all}}
"""
    assert is_from_cache(check_same(text))


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_file_whose_name_is_no_text_is_not_kept(file, folder):
    path = file(document()).rename(os.fsdecode(os.fsencode(folder.parent) + b"/\xff.json"))

    assert len(load_tools(path)) == len(load_tools(path)) == 1
    assert kept(folder) == []


def test_numbers_survive(file):
    numbers = [0, -0.0, 1.0, 1e22, 1.5e-7, 2**70, -(2**64), 5e-324, 1e300, 0.1]
    schema = {"type": "number", "enum": numbers}
    path = file(document(parameters=[{"name": "n", "in": "query", "schema": schema}]))
    load_tools(path)

    again = load_tools(path)["get_it"].input_schema["properties"]["n"]["enum"]

    assert list(map(repr, again)) == list(map(repr, numbers))


def test_answers_are_checked_as_before():
    settings = Settings(check_answers=True)
    load_tools(SPECS / "museum.yaml", settings=settings)

    toolset = load_tools(SPECS / "museum.yaml", settings=settings)

    request = httpx.Request("GET", "https://redocly.com/_mock/docs/openapi/museum-api/museum-hours")
    headers = httpx.Headers({"content-type": "application/json"})
    answer = Answer(request, 200, headers, b'[{"date": 1}]')

    assert is_from_cache(toolset)
    assert any("date" in line for line in toolset.session.check_answer(request, answer))


def test_threads_may_look_at_once():
    first = [tool.input_schema for tool in load_tools(SPECS / "discord.json")]
    toolset = load_tools(SPECS / "discord.json")
    seen = []

    def look():
        seen.append([tool.input_schema for tool in toolset])
        seen.append(toolset.document)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(found in (first, toolset.document) for found in seen)
    assert len(seen) == 16


def test_files_are_for_their_owner_alone(folder):
    load_tools(PETSTORE)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in kept(folder)] == [0o600]


def test_a_folder_that_others_can_write_into_is_not_used(folder):
    folder.mkdir()
    folder.chmod(0o777)

    load_tools(PETSTORE)

    assert kept(folder) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_file_of_another_user_is_not_used(folder):
    load_tools(PETSTORE)
    os.chown(kept(folder)[0], 12345, 12345)

    assert not is_from_cache(load_tools(PETSTORE))
    assert is_from_cache(load_tools(PETSTORE))


def test_a_file_that_others_can_write_is_not_used(folder):
    load_tools(PETSTORE)
    kept(folder)[0].chmod(0o666)

    assert not is_from_cache(load_tools(PETSTORE))


def test_a_link_is_not_used_but_replaced(folder, tmp_path):
    load_tools(PETSTORE)
    path = kept(folder)[0]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    assert not is_from_cache(load_tools(PETSTORE))
    assert not path.is_symlink()
    assert is_from_cache(load_tools(PETSTORE))


def test_a_folder_or_pipe_in_place_of_a_file_is_no_obstacle(folder):
    load_tools(PETSTORE)
    path = kept(folder)[0]
    path.unlink()
    path.mkdir()
    assert len(load_tools(PETSTORE)) == 19

    path.rmdir()
    os.mkfifo(path, 0o600)
    assert len(load_tools(PETSTORE)) == 19


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "obstacle",
    [
        lambda folder, _: folder.write_text(""),
        lambda _, patch: patch.setattr(Path, "replace", full),
        lambda _, patch: patch.setattr(
            cache_file, "_SETUP", f"PRAGMA max_page_count = 1; {cache_file._SETUP}"
        ),
        lambda _, patch: patch.setattr(
            cache_file, "_SETUP", f"PRAGMA max_page_count = 2; {cache_file._SETUP}"
        ),
        lambda _, patch: patch.setenv("OPENAPI_TOOLS_CACHE_DIR", "/proc/nowhere/cache"),
    ],
    ids=["a file in place", "disk full at once", "full after a page", "after two", "no folder"],
)
def test_a_folder_that_cannot_be_written_is_no_obstacle(obstacle, folder, monkeypatch):
    obstacle(folder, monkeypatch)

    assert len(load_tools(PETSTORE)) == 19
    assert kept(folder) == []


def test_a_user_without_a_home_has_no_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE_DIR")
    monkeypatch.setattr(cache, "user_cache_path", lambda *_, **__: Path("~/.cache/x"))
    monkeypatch.chdir(tmp_path)

    assert len(load_tools(PETSTORE)) == 19
    assert list(tmp_path.iterdir()) == []
    assert cache.entries() == []


def test_the_folder_is_the_systems_for_the_user(monkeypatch):
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE_DIR")

    assert cache.folder() == platformdirs.user_cache_path("openapi-tools", appauthor=False)


def test_what_an_older_version_kept_is_not_used(folder, monkeypatch):
    load_tools(PETSTORE)
    monkeypatch.setattr(cache_file, "__version__", "999")

    assert not is_from_cache(load_tools(PETSTORE))
    assert is_from_cache(load_tools(PETSTORE))
    assert len(kept(folder)) == 1


def test_what_was_unused_for_longest_goes_first(folder, monkeypatch):
    load_tools(PETSTORE)
    load_tools(SPECS / "museum.yaml")
    sizes = [path.stat().st_size for path in kept(folder)]
    for path in kept(folder):
        os.utime(path, (LONG_AGO, LONG_AGO))
    load_tools(PETSTORE)  # a use
    monkeypatch.setattr(cache, "LIMIT_BYTES", sum(sizes))

    load_tools(SPECS / "cafe.yaml")

    assert is_from_cache(load_tools(SPECS / "cafe.yaml"))
    monkeypatch.setattr(cache, "LIMIT_BYTES", 2**40)
    assert not is_from_cache(load_tools(SPECS / "museum.yaml"))


def test_a_use_is_noted_once_a_day(folder):
    load_tools(PETSTORE)
    path = kept(folder)[0]
    an_hour_ago = time.time() - 3600
    os.utime(path, (an_hour_ago, an_hour_ago))
    load_tools(PETSTORE)
    assert path.stat().st_mtime == pytest.approx(an_hour_ago)

    os.utime(path, (LONG_AGO, LONG_AGO))
    load_tools(PETSTORE)

    assert path.stat().st_mtime > an_hour_ago


def test_what_a_killed_writer_left_is_removed_in_time(folder):
    folder.mkdir(mode=0o700)
    for name, age in (("new-old.part", 7200), ("new-young.part", 60), ("else.part", 7200)):
        (folder / name).write_text("half")
        os.utime(folder / name, (time.time() - age, time.time() - age))

    load_tools(PETSTORE)

    names = [path.name for path in kept(folder)]
    assert [name for name in names if name.endswith(".part")] == ["else.part", "new-young.part"]


_WRITER = """
import sys
from openapi_tools import load_tools
from openapi_tools.loading import cache as keeping
keeping.MIN_BYTES, keeping._FRESH = 1, 0
for _ in range(int(sys.argv[2])):
    assert len(load_tools(sys.argv[1])) == 242
    from openapi_tools.loading.cache import clear
    if len(sys.argv) > 3:
        clear()
"""


def writer(*args):
    """Start a process that loads a document again and again."""
    path = os.pathsep.join([str(SPECS.parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(SPECS / "discord.json"), *args],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
    )


def test_processes_that_write_at_once_do_not_disturb_each_other(folder):
    writers = [writer("8", "clear"), writer("8", "clear"), writer("8")]
    said = [process.communicate(timeout=300)[1] for process in writers]

    assert said == [b"", b"", b""]
    assert [process.returncode for process in writers] == [0, 0, 0]


@pytest.mark.long
def test_a_killed_writer_leaves_nothing_that_is_taken_for_a_document(folder):
    for wait in (0.0, 0.01, 0.02, 0.05):
        process = writer("1000", "clear")
        end = time.monotonic() + 60
        while not kept(folder) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(wait)
        process.kill()
        process.communicate()

        assert everything(load_tools(SPECS / "discord.json")) == everything(
            load_tools(SPECS / "discord.json", settings=OFF)
        )
