from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import JSON

from openapi_tools.codegen.manifest import Manifest, digest, is_plain_path, read_manifest

MUSEUM = Manifest(
    api="museum",
    layout="package",
    version="0.1.0",
    document={"title": "Museum", "version": "1.0", "sha256": digest(b"document")},
    tools=("events_list", "events_create"),
    files={"museum_tools/py.typed": digest(b""), "README.md": digest(b"readme")},
)
PATHS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}(/[a-z]{1,8})?", fullmatch=True)
MANIFESTS = st.builds(
    Manifest,
    api=st.text(),
    layout=st.sampled_from(["package", "module"]),
    version=st.text(),
    document=st.fixed_dictionaries({key: st.text() for key in ("title", "version", "sha256")}),
    tools=st.lists(st.text()).map(tuple),
    files=st.dictionaries(PATHS, st.binary().map(digest)),
)


def changed(**members: object) -> str:
    return json.dumps({**json.loads(MUSEUM.to_json()), **members})


def test_the_digest_is_the_sha256_in_hexadecimal():
    assert digest(b"tools") == hashlib.sha256(b"tools").hexdigest()


def test_a_manifest_is_plain_json_in_a_fixed_order():
    text = MUSEUM.to_json()

    assert list(json.loads(text)) == [
        "generator",
        "version",
        "api",
        "layout",
        "document",
        "tools",
        "files",
    ]
    assert text.startswith('{\n  "generator": "openapi-tools",\n')
    assert text.endswith("}\n")
    assert list(json.loads(text)["files"]) == ["README.md", "museum_tools/py.typed"]
    assert json.loads(text)["tools"] == ["events_list", "events_create"]


def test_equal_manifests_give_equal_text_however_they_were_made():
    other = replace(
        MUSEUM,
        document=dict(reversed(MUSEUM.document.items())),
        files=dict(reversed(MUSEUM.files.items())),
    )

    assert other.to_json() == MUSEUM.to_json()


@given(MANIFESTS)
def test_a_manifest_reads_back_equal_and_is_ascii(manifest: Manifest):
    text = manifest.to_json()

    assert text.isascii()
    assert read_manifest(text) == manifest


def test_a_title_with_a_lone_surrogate_is_kept():
    manifest = replace(MUSEUM, document={**MUSEUM.document, "title": "\ud800 \u202e\x00"})

    assert read_manifest(manifest.to_json()) == manifest


def test_members_of_later_versions_are_ignored():
    document = {**MUSEUM.document, "pages": 3}

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
        "\ufeff" + MUSEUM.to_json(),
        "[" * 100_000,
        '{"generator":' * 50_000,
        "1" * 10_000,
        MUSEUM.to_json() + MUSEUM.to_json(),
        "<<<<<<< ours\n" + MUSEUM.to_json(),
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

    assert found is None or found.to_json()


@given(st.text())
def test_no_text_raises(text: str):
    assert read_manifest(text) is None
