"""How much memory loads take, in processes of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import caching
from published import GITHUB
from rows import Row, at_most
from timing import told, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a load imports counts in the peaks below, not as growth; OpenSSL alone would be 4 MiB.
_GROWTH = """
import hashlib, sys
from pydantic_core import from_json
from openapi_tools import load_tools
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
empty = b'{"openapi": "3.1.0", "paths": {}}' + b" " * 2**20  # large enough to import all of it
[(tool.name, tool.description) for tool in load_tools(empty)]
before = resident()
what, path = sys.argv[1:]
if what == "parse":
    with open(path, "rb") as file:
        kept = from_json(file.read())
else:
    kept = load_tools(path)
    listed = [(tool.name, tool.description) for tool in kept]
if what == "schemas":
    schemas = [(tool.input_schema, tool.operation) for tool in kept]
print((resident() - before) / 2**20)
"""
# Linux counts what the parent had at the fork into `ru_maxrss`, but not into this.
_PEAK = """
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 2**10)
"""
_LIST = """
import sys
from openapi_tools import load_tools
kept = load_tools(sys.argv[1])
listed = [(tool.name, tool.description) for tool in kept]
"""
_PARSE = """
import json, sys
with open(sys.argv[1], "rb") as file:
    kept = json.load(file)
"""


def memory(rounds: int) -> Iterator[Row]:
    """Compare the growth by a parse with that by a load; then whole processes."""
    if not Path("/proc/self/statm").exists():
        yield Row("memory", note="not measured: this system has no /proc")
        return
    runs = max(rounds // 3, 1)
    yield from _growth(runs)
    yield from _peaks(runs)


def _growth(runs: int) -> Iterator[Row]:
    kinds = ("parse", "load", "schemas")
    file = str(GITHUB.file)
    took = turns(
        runs,
        {kind: lambda kind=kind: float(told(("-c", _GROWTH, kind, file))) for kind in kinds},
        "MiB",
    )
    parse, load, schemas = (took[kind] for kind in kinds)
    yield Row("GitHub: growth by the parse (pydantic_core)", parse)
    yield Row(
        "GitHub: growth by a load, names, descriptions", load, load.over(parse), (at_most(1.1),)
    )
    yield Row("GitHub: the same, all input schemas and operations", schemas, schemas.over(parse))


def _peaks(runs: int) -> Iterator[Row]:
    file = str(GITHUB.file)
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "pass": lambda: float(told(("-c", _PEAK))),
            "parse": lambda: float(told(("-c", _PARSE + _PEAK, file))),
            "first": lambda: float(told(("-c", _LIST + _PEAK, file))),
            "second": lambda: float(told(("-c", _LIST + _PEAK, file), caching.variables(folder))),
        }
        took = turns(runs, asked, "MiB")
    nothing = took["pass"]
    yield Row("peak of `python -c pass`", nothing)
    parse, first = took["parse"], took["first"]
    yield Row("peak of a process that parses GitHub's JSON (json)", parse, parse.over(nothing))
    goals = (at_most(100, "MiB"),)
    yield Row("peak of one that lists GitHub's tools", first, first.over(nothing), goals)
    second, goals = took["second"], (at_most(35, "MiB"),)
    yield Row("the same from the cache", second, second.over(nothing), goals)
