"""The package that stands in a folder, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from output_folders import MANIFEST, OLD, PY, files_in, with_manifest

from openapi_tools.codegen.output_state import read_output

if TYPE_CHECKING:
    from pathlib import Path


def test_every_file_that_the_manifest_lists_is_read(out: Path) -> None:
    (out / "own.py").write_text("mine")

    found = read_output(out, manifest=MANIFEST)

    assert found == OLD
    assert next(iter(found)) == MANIFEST


def test_nothing_is_read_without_a_manifest(out: Path, tmp_path: Path) -> None:
    (out / MANIFEST).unlink()

    assert read_output(out, manifest=MANIFEST) == {}
    assert read_output(tmp_path / "nowhere", manifest=MANIFEST) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"generator": "other"}', "[" * 100_000])
def test_a_manifest_that_is_none_stands_alone(out: Path, text: str) -> None:
    (out / MANIFEST).write_text(text)

    assert read_output(out, manifest=MANIFEST) == {MANIFEST: text}


def test_what_cannot_be_read_is_left_out(out: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (out / "README.md").unlink()
    (out / "museum_tools/__init__.py").unlink()
    (out / "museum_tools/__init__.py").mkdir()
    (out / "museum_tools/tools_events.py").unlink()
    (out / "museum_tools/tools_events.py").symlink_to(tmp_path / "secret")

    found = read_output(out, manifest=MANIFEST)

    left_out = {"README.md", "museum_tools/__init__.py", "museum_tools/tools_events.py"}
    assert OLD.keys() - found.keys() == left_out


def test_a_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.py").write_text(PY)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "pkg").symlink_to("../other")
    (tmp_path / "out" / MANIFEST).write_text(with_manifest({"pkg/a.py": PY})[MANIFEST])

    assert read_output(tmp_path / "out", manifest=MANIFEST).keys() == {MANIFEST}


@pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "a/../../secret", "a\\b", "a//b"])
def test_a_manifest_names_no_file_elsewhere(out: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    text = OLD[MANIFEST].replace('"README.md"', f'"{path}"'.replace("\\", "\\\\"))
    (out / MANIFEST).write_text(text)

    assert read_output(out, manifest=MANIFEST) == {MANIFEST: text}


def test_bytes_that_are_no_text_are_shown_as_such(out: Path) -> None:
    (out / "README.md").write_bytes(b"a\xff")

    assert read_output(out, manifest=MANIFEST)["README.md"] == "a\ufffd"


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "\ud800"])
def test_a_folder_that_can_be_none_holds_nothing(tmp_path: Path, name: str) -> None:
    assert read_output(tmp_path / name, manifest=MANIFEST) == {}
    assert files_in(tmp_path) == {}
