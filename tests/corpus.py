"""The published documents of `../shared/corpus`: which there are, and their tools."""

import csv
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from openapi_tools import load_tools
from openapi_tools.common.json_values import resolve_reference

FOLDER = Path(__file__).parents[2] / "shared" / "corpus"
ABSENT = f"{FOLDER} is absent: the published documents are not at hand"
REAL_KINDS = ("vendor", "aggregator")
"""Kinds of documents that describe a real API; the others show features of the standard."""


class Entry(NamedTuple):
    """A line of `INDEX.csv`: a document, its path below the folder, its size in bytes."""

    path: str
    kind: str
    version: str
    format: str
    size: int
    operations: int

    @property
    def is_real(self):
        """Whether it describes a real API."""
        return self.kind in REAL_KINDS

    @property
    def file(self):
        return FOLDER / self.path


@lru_cache(maxsize=1)
def entries():
    """Return all entry documents; none when the folder is absent."""
    index = FOLDER / "INDEX.csv"
    if not index.is_file():
        return ()
    names = ("path", "kind", "version", "format", "bytes", "operations")
    with index.open(encoding="utf-8", newline="") as lines:
        rows = [[row[name] for name in names] for row in csv.DictReader(lines)]
    return tuple(Entry(*texts, int(size), int(count)) for *texts, size, count in rows)


def parameters(chosen):
    """Return documents for `parametrize`; one skipped case when there are none at hand."""
    listed = [pytest.param(entry, id=entry.path) for entry in chosen]
    return listed or [pytest.param(None, marks=pytest.mark.skip(reason=ABSENT), id="no corpus")]


@lru_cache(maxsize=2)
def toolset_of(entry):
    """Return the tools of a document, loaded once for tests that follow one another."""
    return load_tools(entry.file)


def operations_of(root):
    """Yield (method, path, Operation Object, its place) of what stands in the document itself.

    Path items that are references are left out.
    """
    methods = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
    for path, item in (root.get("paths") or {}).items():
        for key, node in item.items() if isinstance(item, dict) else ():
            if key in methods and isinstance(node, dict):
                yield key.upper(), path, node, ["paths", path, key]


def tools_by_place(toolset):
    """Return the tools by method and path."""
    return {(tool.method, tool.path): tool for tool in toolset}


def follow(root, node):
    """Return what references inside the document lead to; None when they lead elsewhere."""
    for _ in range(32):
        if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
            return node
        node = resolve_reference(root, node["$ref"]) if node["$ref"].startswith("#/") else None
    return None
