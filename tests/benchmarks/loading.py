"""What it costs to load published documents, without the cache and from it."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from typing import TYPE_CHECKING, Any

from published import DOCUMENTS, GITHUB, OPENAI, STRIPE, environment
from pydantic_core import from_json, to_json
from rows import BEYOND, Row, at_most
from timing import Sample, interleaved, timed

from openapi_tools import load_tools
from openapi_tools.loading.parse import paused_gc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from published import Document

    from openapi_tools import Toolset

TOOLS = 4
"""How many first schemas are looked at for each round of the others."""
YAML_GOAL = 8


def described(source: bytes | Path | dict[str, Any]) -> tuple[Toolset, list[tuple[str, str]]]:
    toolset = load_tools(source)
    return toolset, [(tool.name, tool.description) for tool in toolset]


def with_schemas(source: bytes | Path | dict[str, Any]) -> object:
    toolset, texts = described(source)
    return toolset, texts, [tool.input_schema for tool in toolset]


def loads(rounds: int) -> Iterator[Row]:
    for document in DOCUMENTS:
        yield from _load(document, rounds)


def _load(document: Document, rounds: int) -> Iterator[Row]:
    data = document.as_json().read_bytes()
    parsed = from_json(data)
    took = interleaved(
        rounds,
        {
            "parse": lambda: from_json(data),
            "paused": lambda: _paused(data),
            "json": lambda: json.loads(data),
            "load": lambda: described(data),
            "schemas": lambda: with_schemas(data),
            "dict": lambda: described(parsed),
        },
    )
    parse, name = took["parse"], document.name
    goals = [() if most is None else (at_most(most),) for most in document[2:]]
    size = f"{len(data) / 1e6:.1f} MB, {len(load_tools(data))} tools"
    yield Row(f"{name}: parse (pydantic_core)", parse, note=size)
    for key, title, goal in (
        ("paused", "parse, collector paused", ()),
        ("json", "parse (json)", ()),
        ("load", "names, descriptions", goals[0]),
        ("schemas", "the same and all input schemas", goals[1]),
        ("dict", "names, descriptions of a parsed dict", goals[2]),
    ):
        yield Row(f"{name}: {title}", took[key], took[key].over(parse), goal)


def _paused(data: bytes) -> object:
    with paused_gc():
        return from_json(data)


def first_schemas(rounds: int) -> Iterator[Row]:
    count = TOOLS * rounds
    for document in DOCUMENTS:
        data = document.as_json().read_bytes()
        runs = [_first(data, number / count) for number in range(count)]
        took, parse = (Sample(seconds) for seconds in zip(*runs, strict=True))
        goals, note = (at_most(150, "us"),), f"{count} tools"
        yield Row(f"{document.name}, median", took, took.over(parse), goals, note=note)
        yield Row(f"{document.name}, 90th percentile", Sample((took.quantile(0.9),)))


def _first(data: bytes, share: float) -> tuple[float, float]:
    tools = list(load_tools(data))
    tool = tools[int(share * len(tools))]
    begin = time.process_time()
    schema = tool.input_schema  # built when it is first looked at
    took = time.process_time() - begin
    text = to_json(schema)
    return took, timed(lambda: from_json(text))


def yaml_loads(rounds: int) -> Iterator[Row]:
    for document in (GITHUB, STRIPE, OPENAI):
        file, twin = document.as_yaml(), document.as_json().read_bytes()
        same = load_tools(file).document == from_json(twin)
        took = interleaved(
            rounds, {"parse": lambda t=twin: from_json(t), "load": lambda f=file: described(f)}
        )
        yield Row(f"{document.name}: parse of the JSON twin", took["parse"])
        ratio, goals = took["load"].over(took["parse"]), (at_most(YAML_GOAL),)
        note = (
            f"{file.stat().st_size / 1e6:.1f} MB; {'equals' if same else 'DIFFERS from'} the twin"
        )
        yield Row(f"{document.name}: load of the YAML", took["load"], ratio, goals, note=note)


def variables(folder: str) -> dict[str, str]:
    return {"OPENAPI_TOOLS_CACHE": "on", "OPENAPI_TOOLS_CACHE_DIR": folder}


def second_loads(rounds: int) -> Iterator[Row]:
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
