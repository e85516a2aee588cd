"""Folders that hold a generated package."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
from output_folders import MANIFEST, OLD

from openapi_tools.codegen import writer
from openapi_tools.codegen.writer import write_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def out(tmp_path):
    """A folder that holds the old package and nothing else."""
    write_files(tmp_path / "out", OLD, manifest=MANIFEST)
    return tmp_path / "out"


@pytest.fixture(params=["alone", "shared", "closed"])
def output(request, out, monkeypatch):
    """The same; beside somebody's own files; where folders cannot be swapped."""
    if request.param == "shared":
        (out / "own.py").write_text("OWN = 1\n")
        (out / "museum_tools" / "own.txt").write_text("mine")
    if request.param == "closed":

        def refuse(one: Path, other: Path) -> None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(other))

        monkeypatch.setattr(writer, "swap_folders", refuse)
    return out
