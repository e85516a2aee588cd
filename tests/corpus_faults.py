"""Count what clients and models stumble over in the tools of all published documents.

`python tests/corpus_faults.py [PATH …]` prints, for the documents of `../shared/corpus` or those
named: arguments that no value fits, examples and defaults that their schema refuses, arrays without
`items` in each profile before and after the cut to 16 kB, and the CPU time of all definitions for
each document and profile, the worst first. What is no fault of the package is in `EXPLAINED`, by
name; the exit code is 1 for anything else.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus
import jsonschema_rs
from makers import ImpossibleError, Turns

from openapi_tools import OpenAPIToolsError, Settings, load_tools
from openapi_tools.common.json_schema import (
    SCHEMA_KEYWORDS,
    SCHEMA_LIST_KEYWORDS,
    SUBSCHEMA_KEYWORDS,
)
from openapi_tools.common.json_values import resolve_reference
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]
EXPLAINED: dict[tuple[str, str, str], str] = {}
"""Reasons by document, tool and place, of what is left."""
TURNS = 6
VALUES: tuple[Any, ...] = ({}, [], "", "a", "1", 0, 1, 0.5, True, None)  # tried after a sample


def parts_of(schema: Any, place: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield every schema in one, with its place."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key in SUBSCHEMA_KEYWORDS & schema.keys():
        value = schema[key]
        if key in SCHEMA_KEYWORDS:
            yield from parts_of(value, f"{place}/{key}")
        else:
            pairs = enumerate(value) if key in SCHEMA_LIST_KEYWORDS else value.items()
            for name, part in pairs:
                yield from parts_of(part, f"{place}/{key}/{name}")


def accepts(schema: Any, root: Schema, value: Any) -> bool:
    """Return whether a part of an input schema accepts a value; yes where no validator can tell."""
    whole = {"$defs": root.get("$defs", {}), "allOf": [schema]}
    try:
        return jsonschema_rs.Draft202012Validator(whole).is_valid(value)
    except (ValueError, jsonschema_rs.ValidationError):
        return True


def is_dead(schema: Any, root: Schema) -> bool:
    """Return whether none of the values that are tried fits."""
    if not isinstance(schema, dict):
        return not schema
    node = resolve_reference(root, schema["$ref"]) if "$ref" in schema else schema
    values = [*node.get("enum", ()), *node.get("examples", ())] if isinstance(node, dict) else []
    if any(accepts(schema, root, value) for value in (sample(schema, root), *values[:3], *VALUES)):
        return False
    return not any(accepts(schema, root, value) for value in generate_values(schema, root))


def generate_values(schema: Schema, root: Schema) -> Iterator[Any]:
    """Yield values that are made for a schema, alternative by alternative, small and large."""
    for turn in range(TURNS):
        for is_full in (False, True):
            with suppress(ImpossibleError):
                yield Turns(root, turn, full=is_full, deepest=40).value([schema], 0)


def dead_arguments(tool: Any) -> Iterator[str]:
    """Yield the places of arguments, and of properties in them, that no value fits."""
    root = tool.input_schema
    for place, part in parts_of(root):
        for name, schema in part.get("properties", {}).items():
            if is_dead(schema, root):
                yield f"{place}/properties/{name}"


def refused_values(tool: Any) -> Iterator[str]:
    """Yield the places of examples and defaults that their own schema refuses."""
    root = tool.input_schema
    for place, part in parts_of(root):
        values = [*part.get("examples", ()), *([part["default"]] if "default" in part else [])]
        bare = {key: value for key, value in part.items() if key not in ("examples", "default")}
        if any(not accepts(bare, root, value) for value in values):
            yield place


def bare_arrays(schema: Schema) -> Iterator[str]:
    """Yield the places of arrays without `items`."""
    for place, part in parts_of(schema):
        if "array" in part.get("type", ()) and "items" not in part:
            yield place


def schema_of(definition: Schema) -> Schema:
    """Return the input schema of a definition."""
    function = definition.get("function", definition)
    keys = ("parameters", "input_schema", "inputSchema", "parameters_json_schema")
    return next(function[key] for key in keys if key in function)


class Report:
    """What was found in a document, by kind."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self.open: list[str] = []

    def note(self, kind: str, tool: str, places: Iterator[str]) -> None:
        for place in places:
            reason = EXPLAINED.get((self.path, tool, place))
            self.counts[kind] += reason is None
            if reason is None:
                self.open.append(f"  {kind}: {tool}{place}")


def look_at(path: Path, name: str) -> tuple[Report, dict[str, float]]:
    """Return the faults of a document's tools, and seconds of CPU for each profile."""
    report, seconds = Report(name), dict[str, float]()
    for bytes_of, label in ((0, "whole"), (None, "cut")):
        options = {} if bytes_of is None else {"definition_bytes": bytes_of}
        try:
            toolset = load_tools(path, settings=Settings(cache=False, **options))
        except OpenAPIToolsError:
            return report, seconds
        tools = [tool for tool in toolset if schema_or_none(tool) is not None]
        for tool in tools if label == "whole" else ():
            report.note("no value fits", tool.name, dead_arguments(tool))
            report.note("refused example", tool.name, refused_values(tool))
            report.note("bare array", tool.name, bare_arrays(tool.input_schema))
        for profile in PROFILES:
            start = time.process_time()
            definitions = toolset.definitions(profile)
            if label == "cut":
                seconds[profile] = time.process_time() - start
            for each in definitions:
                named = each.get("function", each)["name"]
                kind = f"bare array, {profile}, {label}"
                report.note(kind, named, bare_arrays(schema_of(each)))
    return report, seconds


def schema_or_none(tool: Any) -> Schema | None:
    """Return a tool's input schema, None where building it fails."""
    try:
        return tool.input_schema
    except OpenAPIToolsError:
        return None


def main() -> int:
    """Print the faults of each document, the slowest definitions and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=5, help="lines of a document")
    parser.add_argument("--slowest", type=int, default=20, help="lines of CPU times")
    chosen = parser.parse_args()
    listed = [(path, str(path)) for path in chosen.paths]
    listed = listed or [(entry.file, entry.path) for entry in corpus.entries()]
    sums: Counter[str] = Counter()
    costs: list[tuple[float, str, str]] = []
    for path, name in listed:
        report, seconds = look_at(path, name)
        sums += report.counts
        costs += ((spent, profile, name) for profile, spent in seconds.items())
        if report.open:
            print(f"{name}: {dict(report.counts)}")
            print(*islice(report.open, chosen.most), sep="\n")
    print(f"{len(listed)} documents: {dict(sums) or 'no faults'}; {len(EXPLAINED)} explained")
    for spent, profile, name in sorted(costs, reverse=True)[: chosen.slowest]:
        print(f"{spent:.2f} s of CPU: {name}, {profile}")
    for profile in PROFILES:
        spent = sum(cost for cost, each, _ in costs if each == profile)
        print(f"{profile}: {spent:.1f} s of CPU in all")
    return 1 if sums else 0


if __name__ == "__main__":
    sys.exit(main())
