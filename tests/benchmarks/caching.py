"""What the second load of a document costs, from the cache, and what writing the cache does."""

from __future__ import annotations

import itertools
import tempfile
from typing import TYPE_CHECKING

from loading import described, with_schemas
from published import DOCUMENTS, GITHUB, environment
from pydantic_core import from_json
from rows import BEYOND, Row, at_most
from timing import interleaved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from published import Document


def variables(folder: str) -> dict[str, str]:
    """Return the environment in which documents are cached in a folder."""
    return {"OPENAPI_TOOLS_CACHE": "on", "OPENAPI_TOOLS_CACHE_DIR": folder}


def second_loads(rounds: int) -> Iterator[Row]:
    """Time first and second loads of files beside the parse of the JSON that says the same."""
    for document in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            yield from _second(document, folder, rounds)


def _second(document: Document, folder: str, rounds: int) -> Iterator[Row]:
    data = document.as_json().read_bytes()
    took = interleaved(rounds, {"parse": lambda: from_json(data), **_loads(document, folder)})
    parse, first, written = took["parse"], took["first"], took["written"]
    name = document.name
    yield Row(f"{name}: parse of the JSON", parse)
    kind = document.file.suffix[1:]
    yield Row(f"{name}: first load ({kind}), cache off", first, first.over(parse))
    cost = written.over(parse) - first.over(parse)
    yield Row(f"{name}: first load that fills the cache", written, cost, (at_most(1),), BEYOND)
    for key, title, goals in (
        ("second", "second load", _goals(document)),
        ("schemas", "second load, all input schemas", ()),
    ):
        yield Row(f"{name}: {title}", took[key], took[key].over(parse), goals)


def _goals(document: Document) -> tuple:
    return (at_most(0.1), at_most(10, "ms")) if document is GITHUB else (at_most(0.1),)


def _loads(document: Document, folder: str) -> dict[str, Callable[[], object]]:
    """Return ways to load a document; in the first round the second load is a first one."""
    numbers = itertools.count()

    def cached(load: Callable[[Path], object], place: str) -> object:
        with environment(**variables(place)):
            return load(document.file)

    return {
        "first": lambda: described(document.file),
        "written": lambda: cached(described, f"{folder}/{next(numbers)}"),
        "second": lambda: cached(described, f"{folder}/kept"),
        "schemas": lambda: cached(with_schemas, f"{folder}/kept"),
    }
