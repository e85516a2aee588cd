"""Manifests, and the package in a folder read back by its manifest."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_folders import MANIFEST, OLD, STALE
from source_characters import unseen_in

from openapi_tools.codegen.output_state import (
    Manifest,
    add_manifest,
    read_manifest,
    read_output,
    sha256_of,
)
from openapi_tools.codegen.package_data import PackageData, ToolRecord
from openapi_tools.model import Operation

FILES = {"museum_tools/py.typed": "", "README.md": "readme"}
PATHS = st.from_regex(r"a[A-Za-z0-9_.-]{0,8}(/[a-z]{1,8})?", fullmatch=True)


def data_of(*tools, **fields):
    records = (ToolRecord(tool, "", {}, Operation("GET", "/")) for tool in tools)
    return PackageData(fields.pop("api", "museum"), tuple(records), **fields)


def write_manifest(files, data, layout="package"):
    """The text of the manifest, which is the last file."""
    *rest, (_, text) = add_manifest(files, data, layout=layout).items()
    assert rest == [*files.items()]
    return text


DATA = data_of("events_list", "events_create", title="Museum", version="1.0", document_hash="0")
TEXT = write_manifest(FILES, DATA)
MUSEUM = Manifest(
    "museum",
    "package",
    ("events_list", "events_create"),
    {path: sha256_of(text.encode()) for path, text in FILES.items()},
)


def change_manifest(**fields):
    return json.dumps({**json.loads(TEXT), **fields})


@pytest.mark.long
@given(
    st.dictionaries(PATHS, st.text()),
    st.lists(st.text()),
    st.text(),
    st.sampled_from(["package", "module", "exathena"]),
)
def test_a_manifest_reads_back_equal_and_is_visible(files, tools, text, layout):
    data = data_of(*tools, api=text, title=text, version=text, document_hash=text)

    manifest = write_manifest(files, data, layout)

    digests = {path: sha256_of(content.encode()) for path, content in files.items()}
    assert unseen_in(manifest) == []
    result = read_manifest(manifest)
    assert replace(result, short_names={}) == Manifest(text, layout, tuple(tools), digests)


def test_a_delete_character_is_an_escape():
    assert "\\u007f" in write_manifest(
        {}, data_of(api="a", title="\x7f", version="1", document_hash="0")
    )


def test_keys_of_later_versions_and_a_lone_surrogate_do_no_harm():
    text = write_manifest(FILES, replace(DATA, title="\ud800 \u202e\x00"))
    document = {**json.loads(text)["document"], "pages": 3}

    assert document["title"] == "\ud800 \u202e\x00"
    assert read_manifest(change_manifest(extra={"a": 1}, document=document)) == MUSEUM


NONE = [
    *("", "no json", "null", "[]", "{}", '{"generator": "openapi-tools"}', "\ufeff" + TEXT),
    *("[" * 100_000, '{"generator":' * 50_000, "1" * 10_000, TEXT + TEXT, "<<<<<<< ours\n" + TEXT),
]
WRONG: list[dict[str, object]] = [
    *({"generator": "another"}, {"generator": ["openapi-tools"]}, {"api": 1}, {"api": None}),
    *({"layout": "folder"}, {"layout": ["package"]}, {"version": 1.0}, {"document": {}}),
    {"document": {"title": "a", "version": 1, "sha256": "b"}},
    *({"tools": "events_list"}, {"tools": ["events_list", 1]}, {"tools": {"events_list": 1}}),
    *({"files": []}, {"files": {"README.md": None}}, {"files": {"README.md": "abc"}}),
    {"files": {"README.md": sha256_of(b"").upper()}},
    {"files": {"README.md": sha256_of(b"") + "\n"}},
]


@pytest.mark.parametrize("text", [*NONE, *(change_manifest(**fields) for fields in WRONG)])
def test_any_other_text_is_not_a_manifest(text):
    assert read_manifest(text) is None


def test_every_file_that_a_valid_manifest_lists_is_read(out, tmp_path):
    (out / "own.py").write_text("mine")

    output = read_output(out, manifest=MANIFEST)
    (out / MANIFEST).write_text("{")

    assert output == OLD
    assert next(iter(output)) == MANIFEST
    assert read_output(out, manifest=MANIFEST) == {MANIFEST: "{"}
    assert read_output(tmp_path / "nowhere", manifest=MANIFEST) == {}


def test_what_cannot_be_read_is_left_out_and_no_link_followed(out, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (out / "museum_tools/old").rename(tmp_path / "old")
    (out / "museum_tools/old").symlink_to(tmp_path / "old")
    for path in ("README.md", "museum_tools/__init__.py", "museum_tools/tools_events.py"):
        (out / path).unlink()
    (out / "museum_tools/__init__.py").mkdir()
    (out / "museum_tools/tools_events.py").symlink_to(tmp_path / "secret")

    output = read_output(out, manifest=MANIFEST)

    left_out = {"README.md", "museum_tools/__init__.py", "museum_tools/tools_events.py", *STALE}
    assert OLD.keys() - output.keys() == left_out
