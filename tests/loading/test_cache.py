"""The document cache: from it or not, the tools are the same; what is no longer so is not used."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import corpus
import httpx
import hypothesis
import platformdirs
import pytest
from cached import cached_files, is_from_cache
from documents import document, operation
from fuzz.mutations import TAMPERED

from openapi_tools import OpenAPIToolsError, Settings, SourceError, load_tools
from openapi_tools.loading import cache, cache_file
from openapi_tools.loading.lazy_dict import LazyDict
from openapi_tools.loading.source import DUPLICATES_BYTES

pytestmark = pytest.mark.usefixtures("eager")

SPECS = Path(__file__).parents[2] / "specs"
PETSTORE, MUSEUM, DISCORD = (
    SPECS / name for name in ("petstore.yaml", "museum.yaml", "discord.json")
)
OFF = Settings(cache=False)
LONG_AGO = 1_600_000_000


def everything(toolset):
    """Return all that can be seen of a toolset."""
    names = ("name", "description", "tags", "deprecated", "operation", "strict")
    tools = [[repr(tool), *(getattr(tool, name) for name in names)] for tool in toolset]
    schemas = json.dumps([tool.input_schema for tool in toolset])
    reports = (toolset.skipped, toolset.warnings, toolset.security_schemes, toolset.counts)
    return tools, schemas, reports, json.dumps(toolset.document)


def api(summary="Get it", paths=(), components=None, **fields):
    """Return a document with one tool, and further paths."""
    get = operation(operationId="get_it", summary=summary, **fields)
    extra = {"components": components} if components else {}
    return document({"/it": {"get": get}, **dict(paths)}, **extra)


def referring(ref):
    return {"parameters": [{"name": "q", "in": "query", "schema": {"$ref": ref}}]}


@pytest.fixture
def file(tmp_path):
    """Write a document, and return where it is."""

    def write(root):
        path = tmp_path / "openapi.json"
        path.write_text(json.dumps(root))
        return path

    return write


def check_same(source):
    """Load a document twice, and without the cache; return the second toolset."""
    first, again = load_tools(source), load_tools(source)
    assert everything(again) == everything(first) == everything(load_tools(source, settings=OFF))
    return again


@pytest.mark.parametrize("read", [Path, Path.read_bytes, Path.read_text])
def test_from_the_cache_a_document_has_the_same_tools(read, eager):
    assert is_from_cache(check_same(read(MUSEUM)))
    assert len(cached_files(eager)) == 1


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.parametrize("entry", corpus.parameters(corpus.entries()))
def test_from_the_cache_a_published_document_has_the_same_tools(entry, eager):
    first, again = load_tools(entry.file), load_tools(entry.file)

    assert is_from_cache(again) == (len(first) > 0 and len(cached_files(eager)) == 1)
    assert everything(again) == everything(load_tools(entry.file, settings=OFF))


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


@pytest.mark.parametrize("number", ["1e400", "-1e999"])
def test_a_document_with_numbers_that_are_not_finite_is_the_same_from_the_cache(number):
    schemas = [
        {"type": "number", "maximum": "PLACE"},
        {"type": "number", "enum": [1, "PLACE"], "default": "PLACE"},
        {"x-a": ["PLACE"], "example": {"a": "PLACE"}},
    ]
    listed = [{"name": f"n{n}", "in": "query", "schema": each} for n, each in enumerate(schemas)]
    text = json.dumps({**api(parameters=listed), "x-size": "PLACE"}).replace('"PLACE"', number)

    assert is_from_cache(check_same(text + " " * DUPLICATES_BYTES))


def test_numbers_survive(file):
    numbers = [-0.0, 1.0, 1e22, 1.5e-7, 2**70, -(2**64), 5e-324, 1e300, 0.1]
    parameter = {"name": "n", "in": "query", "schema": {"type": "number", "enum": numbers}}

    schema = check_same(file(api(parameters=[parameter])))["get_it"].input_schema

    assert repr(schema["properties"]["n"]["enum"]) == repr(numbers)


def test_tools_look_at_their_own_parts_of_the_document_only():
    load_tools(DISCORD)
    toolset = load_tools(DISCORD)
    first = next(iter(toolset))

    assert first.input_schema

    root = first._node.resource.root
    assert type(root) is LazyDict
    assert list(dict.keys(root["paths"])) == [first.path]
    assert type(toolset.document) is dict


OTHER_TOOLS = [
    {"prefix": "x_"},
    {"description_chars": 20},
    {"short_names": False},
    {"describe": ()},
]


def test_settings_that_shape_tools_have_files_of_their_own(eager, file):
    responses = {"200": {"description": "A report on every past run"}}
    get = operation(operationId="read_it_get", summary="Look at it again", responses=responses)
    path = file(document({"/it": {"get": get}}))
    usual = everything(load_tools(path))

    for number, fields in enumerate(OTHER_TOOLS):
        first = everything(load_tools(path, **fields))
        again = load_tools(path, **fields)

        assert is_from_cache(again)
        assert everything(again) == first != usual
        assert len(cached_files(eager)) == number + 2
    assert everything(load_tools(path)) == usual


SMALLEST = "openapi_tools.loading.source.MIN_CACHED_BYTES"
UNUSED = {
    "a strict load": (MUSEUM, {"strict": True}, None),
    "a mapping": (api(), {}, None),
    "turned off by a setting": (MUSEUM, {"settings": OFF}, None),
    "turned off by the environment": (
        MUSEUM, {}, lambda patch: patch.setenv("OPENAPI_TOOLS_CACHE", " Off ")
    ),
    "a Python without SQLite": (
        MUSEUM, {}, lambda patch: patch.setitem(sys.modules, "_sqlite3", None)
    ),
    "a small file": (MUSEUM, {}, lambda patch: patch.setattr(SMALLEST, 64 * 1024)),
    "a small text": (MUSEUM.read_bytes(), {}, lambda patch: patch.setattr(SMALLEST, 64 * 1024)),
    "a file that changed just now": (
        MUSEUM, {}, lambda patch: patch.setattr(cache, "_FRESH", time.time_ns())
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "options", "change"), UNUSED.values(), ids=UNUSED)
def test_what_takes_no_part_is_not_cached(source, options, change, eager, monkeypatch):
    if change:
        change(monkeypatch)

    assert len(load_tools(source, **options)) > 0
    assert cached_files(eager) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, None), (None, LONG_AGO), (LONG_AGO, LONG_AGO)],
    ids=["now", "another time", "times set back"],
)
def test_a_file_of_other_content_is_read_again(file, before, after):
    path = file(api("One"))
    if before:
        os.utime(path, (before, before))
    load_tools(path)
    file(api("Two"))
    if after:
        os.utime(path, (after, after))

    assert load_tools(path)["get_it"].description == "Two"
    assert is_from_cache(load_tools(path))


@pytest.mark.parametrize("tick", [10**9, 2 * 10**9])
def test_a_file_system_that_counts_whole_seconds_is_given_time(file, eager, monkeypatch, tick):
    """Where times are so coarse, a change within the same one does not show in them."""

    def coarse(path, settings):
        size, *times, inode, device = stamp(path, settings)
        return [size, *(time_ // tick * tick for time_ in times), inode, device]

    stamp = cache._stamp
    monkeypatch.setattr(cache, "_FRESH", 100_000_000)
    monkeypatch.setattr(cache, "_stamp", coarse)
    path = file(api())
    begun = path.stat().st_mtime_ns // tick * tick

    for later, count in ((tick - 1, 0), (tick + 10**9, 1)):
        monkeypatch.setattr(time, "time_ns", lambda later=later: begun + later)
        load_tools(path)
        assert len(cached_files(eager)) == count


def test_a_file_that_changes_while_it_is_read_is_not_cached(file, eager, monkeypatch):
    path = file(api("One"))
    read = cache.read_file

    def change(*args):
        result = read(*args)
        file(api("Three"))
        return result

    monkeypatch.setattr(cache, "read_file", change)

    assert load_tools(path)["get_it"].description == "One"
    assert cached_files(eager) == []


def test_a_file_that_is_gone_or_too_large_is_an_error_as_without_a_cache(file):
    path = file(api())
    load_tools(path)
    load_tools(path.read_bytes())

    for source in (path, path.read_bytes()):
        with pytest.raises(SourceError, match="larger than 20 bytes"):
            load_tools(source, settings=Settings(max_document_bytes=20))
    path.unlink()
    with pytest.raises(SourceError, match="no such file"):
        load_tools(path)


def test_messages_name_the_path_as_it_is_given_now(file, monkeypatch):
    path = file({"openapi": "3.1.0", "paths": {}})
    load_tools(path)
    monkeypatch.chdir(path.parent)

    warnings = load_tools("openapi.json").warnings

    assert warnings == ("openapi.json: it has no operations, so there are no tools.",)


@pytest.mark.parametrize("ref", ["other.json#/schema", "http://b.example/x.json"])
def test_a_document_that_refers_to_others_is_not_cached(ref, tmp_path, file, eager):
    (tmp_path / "other.json").write_text('{"schema": {"type": "string"}}')

    toolset = load_tools(file(api(**referring(ref))))

    assert len(toolset) + len(toolset.skipped) == 1
    assert cached_files(eager) == []


@pytest.mark.parametrize(
    "ref",
    [
        *("#", "#/components", "#/components/schemas", "#/paths", "#anchor"),
        *("urn:x#/components/schemas/A", "openapi.json#/components/schemas/A"),
    ],
)
def test_references_to_odd_places_of_a_document_lead_there_too(ref, file):
    components = {"schemas": {"A": {"type": "object", "$anchor": "anchor"}}}
    root = api(**referring(ref), components=components)
    identity = {} if ref.startswith("openapi") else {"$id": "urn:x"}

    assert is_from_cache(check_same(file({**root, **identity})))


@pytest.mark.parametrize(
    "ref", ["#/components/pathItems/A", "#/paths/~1it", "#/components/pathItems", "#/paths"]
)
def test_path_items_that_are_references_are_found_again(ref, file):
    paths = {"/other/{id}": {"$ref": ref, "summary": "Beside"}}
    shared = {"A": {"post": operation(operationId="post_it")}}

    check_same(file(api(paths=paths, components={"pathItems": shared})))


def test_yaml_that_grows_when_aliases_are_written_out_is_not_cached(eager):
    uses = "\n".join(f"  x-{number}: *a" for number in range(2000))
    paths = "{/it: {get: {responses: {}}}}"

    toolset = load_tools(f"openapi: 3.1.0\npaths: {paths}\ninfo:\n  a: &a {'x' * 10_000}\n{uses}")

    assert len(toolset) == 1
    assert cached_files(eager) == []


def test_yaml_with_aliases_is_cached():
    text = """
openapi: 3.1.0
paths:
  /one: {get: &get {parameters: &all [{name: a, in: query, schema: {type: string}}]}}
  /two: {get: *get, post: {parameters: *all}}
"""
    assert is_from_cache(check_same(text))


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_file_whose_name_is_no_unicode_is_not_cached(file, eager):
    path = file(api()).rename(os.fsdecode(os.fsencode(eager.parent) + b"/\xff.json"))

    assert len(load_tools(path)) == len(load_tools(path)) == 1
    assert cached_files(eager) == []


async def test_responses_are_checked_as_before():
    body = b'[{"date": 1}]'
    headers = {"content-type": "application/json"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))
    settings = Settings(check_responses=True, anonymous=True)
    load_tools(MUSEUM, settings=settings)

    async with httpx.AsyncClient(transport=transport) as client:
        toolset = load_tools(MUSEUM, settings=settings, client=client)
        result = await toolset["get_museum_hours"].execute({})

    assert is_from_cache(toolset)
    assert "date" in str(result.metadata["response_problems"])


def test_files_are_for_their_owner_alone(eager):
    load_tools(PETSTORE)

    assert eager.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in cached_files(eager)] == [0o600]


def link(path, _):
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda path, _: os.chown(path, 12345, 12345),
            marks=pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="needs root"),
        ),
        lambda path, _: path.chmod(0o666),
        link,
        lambda _, patch: patch.setattr(cache_file, "_VERSION", ["999", 4]),
    ],
    ids=["another user's", "others can write", "a link", "an older version's"],
)
def test_a_file_of_others_is_not_used_but_replaced(change, eager, monkeypatch):
    load_tools(PETSTORE)
    (path,) = cached_files(eager)
    change(path, monkeypatch)

    assert not is_from_cache(load_tools(PETSTORE))
    assert is_from_cache(load_tools(PETSTORE))
    assert cached_files(eager) == [path]
    assert not path.is_symlink()


@pytest.mark.parametrize("obstacle", [Path.mkdir, lambda path: os.mkfifo(path, 0o600)])
def test_a_folder_or_pipe_in_place_of_a_file_is_no_obstacle(obstacle, eager):
    load_tools(PETSTORE)
    (path,) = cached_files(eager)
    path.unlink()
    obstacle(path)

    assert len(load_tools(PETSTORE)) == 19


def full(*_):
    raise OSError(28, "No space left on device")


def pages(count):
    """Let a file have so many pages only."""
    setup = f"PRAGMA max_page_count = {count}; {cache_file._SETUP}"
    return lambda _, patch: patch.setattr(cache_file, "_SETUP", setup)


def open_to_all(folder, _):
    folder.mkdir()
    folder.chmod(0o777)


OBSTACLES = {
    "a file in place": lambda folder, _: folder.write_text(""),
    "disk full at once": lambda _, patch: patch.setattr(Path, "replace", full),
    "full after a page": pages(1),
    "full after two": pages(2),
    "no folder": lambda _, patch: patch.setenv("OPENAPI_TOOLS_CACHE_DIR", "/proc/nowhere/cache"),
    "a folder that others can write into": open_to_all,
}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_a_folder_that_cannot_be_used_is_no_obstacle(obstacle, eager, monkeypatch):
    obstacle(eager, monkeypatch)

    assert len(load_tools(PETSTORE)) == 19
    assert cached_files(eager) == []


def test_the_folder_is_the_systems_and_a_user_without_a_home_has_none(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE_DIR")
    assert cache.folder() == platformdirs.user_cache_path("openapi-tools", appauthor=False)

    monkeypatch.setattr(cache, "user_cache_path", lambda *_, **__: Path("~/.cache/x"))
    monkeypatch.chdir(tmp_path)

    assert len(load_tools(PETSTORE)) == 19
    assert list(tmp_path.iterdir()) == []
    assert cache.entries() == []


def test_what_was_unused_for_longest_goes_first(eager, monkeypatch):
    load_tools(PETSTORE)
    load_tools(MUSEUM)
    sizes = [path.stat().st_size for path in cached_files(eager)]
    for path in cached_files(eager):
        os.utime(path, (LONG_AGO, LONG_AGO))
    load_tools(PETSTORE)  # a use
    monkeypatch.setattr(cache, "LIMIT_BYTES", sum(sizes))

    load_tools(SPECS / "cafe.yaml")

    assert is_from_cache(load_tools(SPECS / "cafe.yaml"))
    monkeypatch.setattr(cache, "LIMIT_BYTES", 2**40)
    assert not is_from_cache(load_tools(MUSEUM))


def test_a_use_is_noted_once_a_day(eager):
    load_tools(PETSTORE)
    (path,) = cached_files(eager)
    an_hour_ago = time.time() - 3600

    for last, noted in ((an_hour_ago, False), (LONG_AGO, True)):
        os.utime(path, (last, last))
        load_tools(PETSTORE)
        assert (path.stat().st_mtime > last + 60) is noted


def test_what_a_killed_writer_left_is_removed_in_time(eager):
    eager.mkdir(mode=0o700)
    for name, age in (("new-old.part", 7200), ("new-young.part", 60), ("else.part", 7200)):
        (eager / name).write_text("half")
        os.utime(eager / name, (time.time() - age, time.time() - age))

    load_tools(PETSTORE)

    assert [path.name for path in cached_files(eager) if path.suffix == ".part"] == [
        "else.part",
        "new-young.part",
    ]


_WRITER = """
import sys
from openapi_tools import load_tools
from openapi_tools.loading import cache, source
source.MIN_CACHED_BYTES, cache._FRESH = 1, 0
for _ in range(int(sys.argv[2])):
    assert len(load_tools(sys.argv[1])) == 242
    if len(sys.argv) > 3:
        cache.clear()
"""


def writer(*args):
    """Start a process that loads a document again and again."""
    path = os.pathsep.join([str(SPECS.parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(DISCORD), *args],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
    )


def test_processes_that_write_at_once_do_not_disturb_each_other():
    writers = [writer("4", "clear"), writer("4", "clear"), writer("4")]
    errors = [process.communicate(timeout=300)[1] for process in writers]

    assert errors == [b"", b"", b""]
    assert [process.returncode for process in writers] == [0, 0, 0]


@pytest.mark.long
def test_a_killed_writer_leaves_nothing_that_is_taken_for_a_document(eager):
    for wait in (0.0, 0.01, 0.02, 0.05):
        process = writer("1000", "clear")
        end = time.monotonic() + 60
        while not cached_files(eager) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(wait)
        process.kill()
        process.communicate()

        check_same(DISCORD)
