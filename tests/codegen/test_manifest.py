from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import JSON

from openapi_tools.codegen.output_state import (
    Manifest,
    digest,
    is_plain_path,
    read_manifest,
    with_manifest,
)
from openapi_tools.codegen.package_data import PackageData, Record
from openapi_tools.model import Operation

FILES = {"museum_tools/py.typed": "", "README.md": "readme"}
PATHS = st.from_regex(r"a[A-Za-z0-9_.-]{0,8}(/[a-z]{1,8})?", fullmatch=True)


def data_of(*tools: str, **members: str) -> PackageData:
    records = (Record(tool, "", {}, Operation("GET", "/")) for tool in tools)
    return PackageData(members.pop("api", "museum"), tuple(records), **members)


def written(files: dict[str, str], data: PackageData, layout: str = "package") -> str:
    """The text of the manifest, which is the last file."""
    *others, (_, text) = with_manifest(files, data, layout=layout).items()
    assert others == [*files.items()]
    return text


DATA = data_of("events_list", "events_create", title="Museum", version="1.0", document_hash="0")
TEXT = written(FILES, DATA)
MUSEUM = Manifest(
    "museum",
    "package",
    ("events_list", "events_create"),
    {path: digest(text.encode()) for path, text in FILES.items()},
)


def changed(**members: object) -> str:
    return json.dumps({**json.loads(TEXT), **members})


def test_the_digest_is_the_sha256_in_hexadecimal():
    assert digest(b"tools") == hashlib.sha256(b"tools").hexdigest()


def test_a_manifest_is_plain_json_in_a_fixed_order():
    members = json.loads(TEXT)

    assert list(members) == [
        "generator",
        "version",
        "api",
        "layout",
        "document",
        "tools",
        "files",
    ]
    assert TEXT.startswith('{\n  "generator": "openapi-tools",\n')
    assert TEXT.endswith("}\n")
    assert members["document"] == {"title": "Museum", "version": "1.0", "sha256": "0"}
    assert list(members["files"]) == ["README.md", "museum_tools/py.typed"]
    assert members["tools"] == ["events_list", "events_create"]


def test_the_order_of_files_does_not_matter():
    assert written(dict(reversed(FILES.items())), DATA) == TEXT


@pytest.mark.long
@given(
    st.dictionaries(PATHS, st.text()),
    st.lists(st.text()),
    st.text(),
    st.sampled_from(["package", "module", "exathena"]),
)
def test_a_manifest_reads_back_equal_and_is_ascii(files, tools, text, layout):
    data = data_of(*tools, api=text, title=text, version=text, document_hash=text)

    manifest = written(files, data, layout)

    digests = {path: digest(content.encode()) for path, content in files.items()}
    assert manifest.isascii()
    assert read_manifest(manifest) == Manifest(text, layout, tuple(tools), digests)


def test_a_title_with_a_lone_surrogate_is_kept():
    text = written(FILES, replace(DATA, title="\ud800 \u202e\x00"))

    assert json.loads(text)["document"]["title"] == "\ud800 \u202e\x00"
    assert read_manifest(text) == MUSEUM


def test_members_of_later_versions_are_ignored():
    document = {**json.loads(TEXT)["document"], "pages": 3}

    assert read_manifest(changed(extra={"a": 1}, document=document)) == MUSEUM


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "null",
        "[]",
        '"openapi-tools"',
        "{}",
        '{"generator": "openapi-tools"}',
        '{"generator": "openapi-tools", ',
        "\ufeff" + TEXT,
        "[" * 100_000,
        '{"generator":' * 50_000,
        "1" * 10_000,
        TEXT + TEXT,
        "<<<<<<< ours\n" + TEXT,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_manifest_is_none(text: str):
    assert read_manifest(text) is None


@pytest.mark.parametrize(
    "members",
    [
        {"generator": "another"},
        {"generator": ["openapi-tools"]},
        {"api": 1},
        {"api": None},
        {"layout": "folder"},
        {"layout": ["package"]},
        {"version": 1.0},
        {"document": []},
        {"document": {}},
        {"document": {"title": "a", "version": 1, "sha256": "b"}},
        {"tools": "events_list"},
        {"tools": ["events_list", 1]},
        {"tools": {"events_list": 1}},
        {"files": []},
        {"files": {"README.md": None}},
        {"files": {"README.md": "abc"}},
        {"files": {"README.md": digest(b"").upper()}},
        {"files": {"README.md": digest(b"") + "\n"}},
    ],
    ids=str,
)
def test_wrong_members_make_it_unreadable(members: dict[str, object]):
    assert read_manifest(changed(**members)) is None


OUTSIDE = [
    "",
    ".",
    "..",
    "../a",
    "a/../b",
    "a/..",
    "/etc/passwd",
    "//host/share",
    "C:/a",
    "C:a",
    "a\\b",
    "..\\a",
    "a\0",
    "a\n",
    "a/",
    "a//b",
    "./a",
    ".git/config",
    "a/.git/hooks/pre-commit",
    "-rf",
    "a b",
    "é.py",
    "~/a",
    "a.py:stream",
]


@pytest.mark.parametrize("path", OUTSIDE, ids=repr)
def test_a_path_that_could_lead_elsewhere_makes_it_unreadable(path: str):
    assert not is_plain_path(path)
    assert read_manifest(changed(files={path: digest(b"")})) is None


@pytest.mark.parametrize("path", ["a", "README.md", "a/b/c.py", "__init__.py", "a-b.c_d", "0.py"])
def test_plain_paths_are_read(path: str):
    manifest = read_manifest(changed(files={path: digest(b"")}))

    assert is_plain_path(path)
    assert manifest is not None
    assert manifest.files == {path: digest(b"")}


@given(
    st.dictionaries(
        st.sampled_from(["generator", "api", "layout", "version", "document", "tools", "files"]),
        st.just("openapi-tools") | st.just("package") | JSON,
    )
    | JSON
)
def test_no_json_raises(value: object):
    found = read_manifest(json.dumps(value))

    assert found is None or isinstance(found.api, str)


@given(st.text())
def test_no_text_raises(text: str):
    assert read_manifest(text) is None
