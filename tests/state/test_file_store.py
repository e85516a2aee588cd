"""Files that do not pass the model: downloads and uploads by handle."""

import asyncio
import gc
import hashlib
import io
import json
import os
import re
import resource
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from documents import document, operation
from packages import import_package
from servers.file_server import BLOCK, digest_of, serving
from stored_files import API, PATHS, load_mocked, names, serve_content, written_by

from openapi_tools import FolderStore, Settings, SettingsError, generate_package, load_tools

MEBIBYTE = 1 << 20
HANDLE = re.compile(r"[\w.-]+-[b-z]{12}(\.\w+)?")


@pytest.fixture(scope="module")
def url():
    """The address of the API of large files."""
    with serving() as address:
        yield address


@pytest.fixture
def folder(tmp_path):
    """The folder of a store, which does not exist yet."""
    return tmp_path / "files"


def tools(url, folder, **options):
    """Return the tools of the API of large files."""
    return load_tools(f"{url}/openapi.json", settings=Settings(download_dir=folder, **options))


async def test_a_response_is_a_handle_that_every_file_argument_takes(url, folder):
    events = []
    async with tools(url, folder) as toolset:
        toolset.subscribe(events.append)
        download = await toolset.call("get_file", {"megabytes": 3})
        file = {"handle": download.output["handle"]}
        whole = await toolset.call("put_whole", {"body": file})
        parts = await toolset.call("post_parts", {"file": file, "note": "n"})
        named = await toolset.call("post_parts", {"file": {**file, "filename": "other.pdf"}})

    (name,) = names(folder)
    assert HANDLE.fullmatch(name)
    kept = {"handle": name, "file": str(folder / name), "media_type": "application/pdf"}
    assert download.output == {**kept, "bytes": 3 * MEBIBYTE}
    facts = {"bytes": 3 * MEBIBYTE, "sha256": digest_of(3)}
    assert whole.output == facts
    assert parts.output == {**facts, "name": "report.pdf", "note": "n"}
    assert named.output["name"] == "other.pdf"
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert len(str(download)) < 300
    assert [content.text for content in download.as_content()] == [str(download)]
    assert all(len(repr(event)) < 1000 for event in events)


@pytest.fixture(scope="module")
def described(url):
    """The document of the API of large files."""
    return httpx.get(f"{url}/openapi.json").json()


async def test_clients_of_the_user_download_and_upload_too(url, described, folder, library):
    async with library.AsyncClient() as client:
        settings = Settings(download_dir=folder, base_url=url)
        toolset = load_tools(described, client=client, settings=settings)
        download = await toolset.call("get_file", {"megabytes": 2})
        sent = await toolset.call("put_whole", {"body": {"handle": download.output["handle"]}})

    assert sent.output == {"bytes": 2 * MEBIBYTE, "sha256": digest_of(2)}


@contextmanager
def little_memory(most):
    """Fail when the process takes more memory than this many bytes beyond what it has."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    before = _memory("VmRSS")
    yield
    assert _memory("VmHWM") - before < most


def _memory(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)[1]) * 1024


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in /proc")
async def test_files_of_50_mb_go_from_one_api_to_another_in_little_memory(url, folder):
    one, other = (tools(url, folder) for _ in range(2))
    async with one, other:
        await one.call("get_file", {"megabytes": 1})
        await other.call("put_whole", {"body": {"text": "a"}})
        with little_memory(16 * MEBIBYTE):
            download = await one.call("get_file", {"megabytes": 50})
            file = {"handle": download.output["handle"]}
            whole = await other.call("put_whole", {"body": file})
            parts = await other.call("post_parts", {"file": file})

    assert download.output["bytes"] == 50 * MEBIBYTE
    assert whole.output["sha256"] == parts.output["sha256"] == digest_of(50)
    assert len(str(download)) + len(str(whole)) + len(str(parts)) < 1000


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in /proc")
async def test_a_masked_download_and_a_bomb_take_little_memory(url, folder):
    key = {"in": "header", "name": "X-Key", "value": "k3y-of-the-large-files"}
    settings = Settings(download_dir=folder, max_file_bytes=64 * MEBIBYTE)
    async with load_tools(
        f"{url}/openapi.json", credentials={"k": key}, settings=settings
    ) as toolset:
        await toolset.call("get_file", {"megabytes": 1})
        with little_memory(24 * MEBIBYTE):
            download = await toolset.call("get_file", {"megabytes": 50})
            bomb = await toolset.call("get_bomb", {"megabytes": 2000})

    assert digest_of(50) == hashlib.sha256(written_by(download)).hexdigest()
    assert bomb.error["type"] == "too_large"
    assert len(names(folder)) == 2


async def test_a_compressed_response_is_decompressed_into_its_file(url, folder):
    async with tools(url, folder, max_file_bytes=4 * MEBIBYTE) as toolset:
        kept = await toolset.call("get_bomb", {"megabytes": 3})
        bomb = await toolset.call("get_bomb", {"megabytes": 5})

    assert written_by(kept) == bytes(3 * MEBIBYTE)
    assert bomb.error["message"].endswith(
        "larger than allowed (max_file_bytes); request less of it."
    )
    assert names(folder) == [kept.output["handle"]]


@pytest.mark.parametrize(
    ("name", "arguments", "options", "kind"),
    [
        ("get_broken", {}, {}, "connection"),
        ("get_broken", {"slow": True}, {"timeout": 1.0}, "timeout"),
        ("get_file", {"megabytes": 3}, {"max_file_bytes": 2 * MEBIBYTE}, "too_large"),
    ],
    ids=["broken", "slow", "too large by its header"],
)
async def test_a_download_that_fails_leaves_no_file(url, folder, name, arguments, options, kind):
    async with tools(url, folder, **options) as toolset:
        result = await toolset.call(name, arguments)
        again = await toolset.call("get_file", {"megabytes": 1})

    assert result.error["type"] == kind
    assert names(folder) == [again.output["handle"]]


async def test_a_cancelled_download_leaves_no_file(url, folder):
    async with tools(url, folder) as toolset:
        call = asyncio.create_task(toolset.call("get_broken", {"slow": True}))
        while not any(path.stat().st_size for path in folder.glob(".*")):  # noqa: ASYNC110 -- no event tells
            await asyncio.sleep(0.01)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

    assert call.cancelled()
    assert names(folder) == []


async def test_a_full_disk_is_an_error_and_leaves_no_file(url, folder):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with tools(url, folder) as toolset:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MEBIBYTE, before[1]))
        try:
            result = await toolset.call("get_file", {"megabytes": 2})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert (result.error["type"], result.error["status"]) == ("protocol", 200)
    assert "could not be written to a file (File too large)" in result.error["message"]
    assert names(folder) == []


async def test_downloads_at_once_and_of_one_name_have_files_of_their_own(url, folder):
    async with tools(url, folder) as toolset:
        calls = (toolset.call("get_file", {"megabytes": 1 + n % 2}) for n in range(6))
        results = await asyncio.gather(*calls)

    handles = [result.output["handle"] for result in results]
    assert names(folder) == sorted(handles)
    for number, handle in enumerate(handles):
        assert (folder / handle).read_bytes() == BLOCK * 16 * (1 + number % 2)


async def test_a_file_is_sent_again_for_a_retry(url, folder):
    async with tools(url, folder, retries=1) as toolset:
        download = await toolset.call("get_file", {"megabytes": 1})
        arguments = {"body": {"handle": download.output["handle"]}, "fail_first": True}
        result = await toolset.call("put_whole", arguments)

    assert result.output == {"bytes": MEBIBYTE, "sha256": digest_of(1)}
    assert result.metadata["attempts"] == 2


HOSTILE = [
    *("", ".", "..", "../secret-bcdfghjkmnpq.txt", "/etc/passwd", "a/b-bcdfghjkmnpq.txt"),
    *("..%2fsecret-bcdfghjkmnpq.txt", "..\\secret-bcdfghjkmnpq.txt", "secret-bcdfghjkmnpq.txt\0"),
    *("mine.txt", "report.pdf", "link-bcdfghjkmnpq.txt", "folder-bcdfghjkmnpq", "x" * 5000),
    *("pipe-bcdfghjkmnpq", ".hidden-bcdfghjkmnpq", "none-bcdfghjkmnpq.txt"),
    *("secret-bcdfghjkmnpq.txt\n", "C:secret-bcdfghjkmnpq.txt", "file:///etc/passwd"),
    "inner-bcdfghjkmnpq/x-bcdfghjkmnpq",
]


@pytest.mark.parametrize("handle", HOSTILE)
async def test_no_handle_leads_out_of_the_store_or_to_another_file(handle, folder):
    folder.mkdir()
    outside = folder.parent / "secret-bcdfghjkmnpq.txt"
    outside.write_text("secret")
    (folder / "mine.txt").write_text("secret")
    (folder / ".hidden-bcdfghjkmnpq").write_text("secret")
    (folder / "link-bcdfghjkmnpq.txt").symlink_to(outside)
    (folder / "inner-bcdfghjkmnpq").mkdir()
    (folder / "folder-bcdfghjkmnpq").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe-bcdfghjkmnpq")
    sent = []

    result = await load_mocked(sent.append, folder).call("put", {"body": {"handle": handle}})

    assert result.error["type"] == "invalid_input"
    assert result.output == (
        "/body/handle: no such file; pass the `handle` of an earlier response as it was returned."
    )
    assert sent == []


async def test_a_handle_is_offered_only_with_a_store_and_paths_only_with_roots(tmp_path):
    def sources(**options):
        schema = load_tools(API, settings=Settings(**options))["put"].input_schema
        file = schema["properties"]["body"]
        assert file["oneOf"] == [{"required": [name]} for name in [*file["properties"]][:-2]]
        return [*file["properties"]][:-2]

    assert sources() == ["base64", "text"]
    assert sources(download_dir=tmp_path) == ["handle", "base64", "text"]
    both = sources(files=FolderStore(tmp_path), file_roots=(tmp_path,))
    assert both == ["handle", "base64", "text", "path"]
    refused = await load_mocked(serve_content(b"")).call(
        "put", {"body": {"handle": "a-bcdfghjkmnpq"}}
    )
    assert refused.error["type"] == "invalid_input"


async def test_a_generated_package_takes_what_it_is_loaded_with(folder, tmp_path):
    settings = Settings(download_dir=folder, file_roots=(tmp_path,))
    report = generate_package(API, tmp_path / "package", name="by_handle", settings=settings)
    download, received = await load_mocked(serve_content(BLOCK * 8), folder).call("get"), []

    def respond(request):
        received.append(request.content)
        return httpx.Response(204)

    client = httpx.AsyncClient(transport=httpx.MockTransport(respond))
    with import_package(tmp_path / "package", "by_handle_tools") as package:
        for settings_ in (Settings(), Settings(file_roots=(tmp_path,)), settings):
            loaded = load_tools(API, settings=settings_)
            generated = package.load(settings=settings_)
            pairs = zip(loaded, generated, strict=True)
            assert all(json.dumps(a.input_schema) == json.dumps(b.input_schema) for a, b in pairs)
        toolset = package.load(download_dir=folder, client=client)
        result = await toolset.call("put", {"body": {"handle": download.output["handle"]}})

    assert result.success
    assert received == [BLOCK * 8]
    assert any("download_dir has no effect on a package" in line for line in report.warnings)


class MemoryStore:
    """A store that is not a folder."""

    def __init__(self):
        self.kept = {}

    def put(self, content, *, filename="", media_type=""):
        handle = f"h{len(self.kept)}"
        self.kept[handle] = (content.read(), filename, media_type)
        return handle

    def open(self, handle):
        return io.BytesIO(self.kept[handle][0])


@pytest.mark.parametrize("size", [100, 1000], ids=["small", "large"])
async def test_a_store_of_the_users_keeps_files_in_its_own_way(size):
    store, received = MemoryStore(), []

    def respond(request):
        received.append(request.content)
        return httpx.Response(200, content=BLOCK * (size // 100), headers=headers)

    headers = {"Content-Type": "image/tiff", "Content-Disposition": "inline; filename=../a.tif"}
    toolset = load_mocked(respond, files=store)
    download = await toolset.call("get")
    sent = await toolset.call("put", {"body": {"handle": "h0"}})
    missing = await toolset.call("put", {"body": {"handle": "h7"}})

    content = BLOCK * (size // 100)
    assert download.output == {"handle": "h0", "media_type": "image/tiff", "bytes": len(content)}
    assert store.kept["h0"] == (content, "../a.tif", "image/tiff")
    assert sent.success
    assert received[1] == content
    assert missing.error["type"] == "invalid_input"


async def test_a_store_that_fails_is_an_error_or_a_note():
    class Full(MemoryStore):
        def put(self, content, *, filename="", media_type=""):
            raise OSError(28, "No space left on device")

    large = await load_mocked(serve_content(BLOCK * 8), files=Full()).call("get")
    small = await load_mocked(serve_content(BLOCK[:100]), files=Full()).call("get")

    assert large.error["type"] == "protocol"
    assert "No space left on device" in large.error["message"]
    assert small.output["bytes"] == 100
    assert "No space left on device" in small.metadata["notes"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"files": "a/folder"}, "files: a store needs the methods put and open"),
        ({"files": FolderStore}, "files: a store needs the methods put and open"),
        (
            {"files": FolderStore("a"), "download_dir": "b"},
            "files: download_dir already",
        ),
        ({"max_file_bytes": 0}, "max_file_bytes: "),
    ],
)
def test_a_wrong_store_is_refused(options, message):
    with pytest.raises(SettingsError, match=re.escape(message)):
        Settings(**options)


def test_a_store_given_in_code_replaces_the_folder_of_a_configuration(tmp_path):
    config, store = {"settings": {"download_dir": str(tmp_path)}}, MemoryStore()

    replaced = load_tools(API, config=config, settings=Settings(files=store))
    kept = load_tools(API, config=config)

    assert (replaced.session.settings.files, kept.session.settings.files) == (store, None)
    assert replaced.session.settings.download_dir is None


LARGE = 300_000


@pytest.mark.parametrize(
    ("kind", "content", "is_file"),
    [
        ("application/pdf", b"%PDF" + b"a" * LARGE, True),
        ("application/zip", bytes(LARGE), True),
        ("application/zip", b"word " * (LARGE // 5), False),
        ("application/octet-stream", bytes(LARGE), True),
        ("application/octet-stream", b"word " * (LARGE // 5), True),
        ("application/vnd.unheard-of", b"word " * (LARGE // 5), False),
        ("image/svg+xml", b"<svg>" + b"a" * LARGE, False),
        ("application/json", b'"' + b"a" * LARGE + b'"', False),
        ("text/csv", b"a,b\n" * (LARGE // 4), False),
        ("", bytes(LARGE), True),
        ("", b'{"a": "' + b"a" * LARGE + b'"}', False),
    ],
)
async def test_the_same_bodies_are_files_whether_small_or_large(folder, kind, content, is_file):
    small = content[: len(content) // 20] if is_file else b""
    result = await load_mocked(serve_content(content, kind), folder).call("get")
    little = await load_mocked(serve_content(small, kind), folder, max_output_chars=100).call("get")

    kept = [path.read_bytes() for path in folder.glob("*")]
    assert sorted(kept, key=len) == ([small, content] if is_file else [])
    assert ("file" in result.metadata, "file" in little.metadata) == (is_file, is_file)


async def test_text_that_is_too_large_and_errors_are_not_files(folder):
    page = serve_content(b"word " * LARGE, "application/vnd.unheard-of")
    text = await load_mocked(page, folder, max_response_bytes=400_000).call("get")

    def fail(_):
        return httpx.Response(500, content=BLOCK * 8, headers={"Content-Type": "application/pdf"})

    failed = await load_mocked(fail, folder).call("get")

    assert "larger than allowed (max_response_bytes)" in text.error["message"]
    assert failed.error["type"] == "http"
    assert names(folder) == []


async def test_check_responses_and_head_go_with_a_store(folder):
    paths = {**PATHS, "/head": {"head": operation(operationId="head")}}
    root = document(paths, servers=[{"url": "http://api.example.com"}])
    handler = serve_content(BLOCK * 8)
    toolset = load_mocked(handler, folder, document=root, check_responses=True)
    download = await toolset.call("get")
    sent = await toolset.call("put", {"body": {"handle": download.output["handle"]}})
    head = await load_mocked(serve_content(b""), folder, document=root).call("head")

    assert download.success
    assert sent.success
    assert "response_problems" in sent.metadata
    assert head.output is None


async def test_a_folder_without_hard_links_keeps_files_as_well(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)

    result = await load_mocked(serve_content(BLOCK * 8), folder).call("get")

    assert names(folder) == [result.output["handle"]]
    assert written_by(result) == BLOCK * 8


def test_a_name_that_is_taken_is_not_used(folder, monkeypatch):
    letters = iter("b" * 24 + "c" * 12)
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    store = FolderStore(folder)

    handles = [store.put(io.BytesIO(text), filename="a.txt") for text in (b"one", b"two")]

    assert handles == ["a-bbbbbbbbbbbb.txt", "a-cccccccccccc.txt"]
    assert [(folder / handle).read_bytes() for handle in handles] == [b"one", b"two"]
    assert repr(store) == f"FolderStore({str(folder)!r})"
