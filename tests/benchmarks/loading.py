"""What it costs to load published documents, with no cache."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from published import DOCUMENTS, GITHUB, OPENAI, STRIPE
from pydantic_core import from_json, to_json
from rows import Row, at_most
from timing import Sample, interleaved, timed

from openapi_tools import load_tools
from openapi_tools.loading.parse import paused_gc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from published import Document

    from openapi_tools import Toolset

TOOLS = 4
"""How many first schemas are looked at for each round of the others."""
YAML_GOAL = 8


def described(source: bytes | Path | dict[str, Any]) -> tuple[Toolset, list[tuple[str, str]]]:
    """Load a document and look at the name and description of every tool."""
    toolset = load_tools(source)
    return toolset, [(tool.name, tool.description) for tool in toolset]


def with_schemas(source: bytes | Path | dict[str, Any]) -> object:
    """Do the same and look at every input schema."""
    toolset, texts = described(source)
    return toolset, texts, [tool.input_schema for tool in toolset]


def loads(rounds: int) -> Iterator[Row]:
    """Time load steps; a YAML document is measured as the JSON that says the same."""
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
    """Time the first look at a schema: one tool of each fresh load, spread over the document."""
    count = TOOLS * rounds
    for document in DOCUMENTS:
        data = document.as_json().read_bytes()
        runs = [_first(data, number / count) for number in range(count)]
        took, parse = (Sample(seconds) for seconds in zip(*runs, strict=True))
        goals, note = (at_most(150, "us"),), f"{count} tools"
        yield Row(f"{document.name}, median", took, took.over(parse), goals, note=note)
        yield Row(f"{document.name}, 90th percentile", Sample((took.quantile(0.9),)))


def _first(data: bytes, share: float) -> tuple[float, float]:
    """Return the seconds of the look, and of the parse of that schema as JSON."""
    tools = list(load_tools(data))
    tool = tools[int(share * len(tools))]
    begin = time.process_time()
    schema = tool.input_schema  # built when it is first looked at
    took = time.process_time() - begin
    text = to_json(schema)
    return took, timed(lambda: from_json(text))


def yaml_loads(rounds: int) -> Iterator[Row]:
    """Time first loads of YAML documents beside the parse of their JSON twins."""
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
