"""What it costs to load published documents, without the cache and from it."""

import itertools
import json
import tempfile
import time
from dataclasses import replace

from published import DOCUMENTS, GITHUB, OPENAI, STRIPE, environment
from pydantic_core import from_json, to_json
from rows import BEYOND, Row, at_most, compare_rows
from timing import Sample, interleave, time_action

from openapi_tools import load_tools
from openapi_tools.common.json_values import PausedGC

TOOLS = 4
"""How many first schemas are looked at for each round of the others."""


def load_descriptions(source):
    toolset = load_tools(source)
    return toolset, [(tool.name, tool.description) for tool in toolset]


def with_schemas(source):
    toolset, texts = load_descriptions(source)
    return toolset, texts, [tool.input_schema for tool in toolset]


def loads(rounds):
    for document in DOCUMENTS:
        data = document.as_json().read_bytes()
        took = interleave(rounds, _parses_and_loads(data))
        names, schemas, of_dict = [[at_most(most)] for most in document.goals] or [[]] * 3
        table = (
            ("parse", "parse (pydantic_core)"),
            ("paused", "parse, collector paused"),
            ("json", "parse (json)"),
            ("load", "names, descriptions", *names),
            ("schemas", "the same and all input schemas", *schemas),
            ("dict", "names, descriptions of a parsed dict", *of_dict),
        )
        parse, *rows = compare_rows(took, "parse", table, f"{document.name}: ")
        yield replace(parse, note=f"{len(data) / 1e6:.1f} MB, {len(load_tools(data))} tools")
        yield from rows


def _parses_and_loads(data):
    parsed = from_json(data)
    return {
        "parse": lambda: from_json(data),
        "paused": lambda: _parse_paused(data),
        "json": lambda: json.loads(data),
        "load": lambda: load_descriptions(data),
        "schemas": lambda: with_schemas(data),
        "dict": lambda: load_descriptions(parsed),
    }


def _parse_paused(data):
    with PausedGC():
        return from_json(data)


def first_schemas(rounds):
    count = TOOLS * rounds
    for document in DOCUMENTS:
        data = document.as_json().read_bytes()
        runs = [_first(data, number / count) for number in range(count)]
        took, parse = (Sample(seconds) for seconds in zip(*runs, strict=True))
        yield Row(f"{document.name}, median", took, took.ratio_to(parse), note=f"{count} tools")
        yield Row(f"{document.name}, 90th percentile", Sample((took.quantile(0.9),)))


def _first(data, share):
    tools = list(load_tools(data))
    tool = tools[int(share * len(tools))]
    begin = time.process_time()
    schema = tool.input_schema  # built when it is first looked at
    took = time.process_time() - begin
    text = to_json(schema)
    return took, time_action(lambda: from_json(text))


def yaml_loads(rounds):
    for document in (GITHUB, STRIPE, OPENAI):
        file, twin = document.as_yaml(), document.as_json().read_bytes()
        same = load_tools(file).document == from_json(twin)
        actions = {
            "parse": lambda t=twin: from_json(t),
            "load": lambda f=file: load_descriptions(f),
        }
        table = (("parse", "parse of the JSON twin"), ("load", "load of the YAML"))
        parse, load = compare_rows(
            interleave(rounds, actions), "parse", table, f"{document.name}: "
        )
        yield parse
        verdict = "equals" if same else "DIFFERS from"
        yield replace(load, note=f"{file.stat().st_size / 1e6:.1f} MB; {verdict} the twin")


def variables(folder):
    return {"OPENAPI_TOOLS_CACHE": "on", "OPENAPI_TOOLS_CACHE_DIR": folder}


def second_loads(rounds):
    for document in DOCUMENTS:
        data = document.as_json().read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            actions = {"parse": lambda d=data: from_json(d), **_loads(document, folder)}
            took = interleave(rounds, actions)
        second = [at_most(0.11), at_most(10, "ms")] if document is GITHUB else []
        table = (
            ("parse", "parse of the JSON"),
            ("first", f"first load ({document.file.suffix[1:]}), cache off"),
            ("written", "first load that fills the cache"),
            ("second", "second load", *second),
            ("schemas", "second load, all input schemas"),
        )
        parse, first, written, *rows = compare_rows(took, "parse", table, f"{document.name}: ")
        cost = written.ratio - first.ratio
        yield from (parse, first, replace(written, ratio=cost, form=BEYOND), *rows)


def _loads(document, folder):
    numbers = itertools.count()

    def load_cached(load, place):
        with environment(**variables(place)):
            return load(document.file)

    return {
        "first": lambda: load_descriptions(document.file),
        "written": lambda: load_cached(load_descriptions, f"{folder}/{next(numbers)}"),
        "second": lambda: load_cached(load_descriptions, f"{folder}/kept"),
        "schemas": lambda: load_cached(with_schemas, f"{folder}/kept"),
    }
