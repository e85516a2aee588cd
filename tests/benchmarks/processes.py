"""What whole processes cost: time and memory of starting, loading, the command line, generating."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from loading import variables
from published import GITHUB
from rows import Row, at_most
from timing import Sample, child, told, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rows import Goal

COMMAND = ("-m", "openapi_tools")
LISTING = (*COMMAND, "list", str(GITHUB.file))


def starts(rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        took = turns(
            2 * rounds,  # short ones differ by more than what is looked for
            {
                "pass": lambda: child(("-c", "pass")),
                "package": lambda: child(("-c", "import openapi_tools")),
                "load_tools": lambda: child(("-c", "from openapi_tools import load_tools")),
                "help": lambda: child((*COMMAND, "--help")),
                "first": lambda: child(LISTING),
                "second": lambda: child(LISTING, variables(folder)),
            },
        )
    nothing = took["pass"]
    yield Row("python -c pass", nothing)
    for key, name, goals in (
        ("package", "import openapi_tools", (at_most(1.5),)),
        ("load_tools", "from openapi_tools import load_tools", ()),
        ("help", "openapi-tools --help", (at_most(150, "ms"),)),
        ("first", "openapi-tools list, GitHub, cache off", ()),
    ):
        yield Row(name, took[key], took[key].over(nothing), goals)
    name = "openapi-tools list, GitHub, from the cache"
    second = took["second"]
    yield Row(name, second, second.over(nothing), (at_most(250, "ms"),))


# What a load imports counts in the peaks below, not as growth; OpenSSL alone would be 4 MiB.
RESIDENT = """
import hashlib, sys
from pydantic_core import from_json
from openapi_tools import Settings, load_tools
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
empty = b'{"openapi": "3.1.0", "paths": {}}' + b" " * 2**20  # large enough to import all of it
[(tool.name, tool.description) for tool in load_tools(empty)]
before = resident()
"""
"""The start of a program that measures how its memory grows."""
_GROWTH = f"""{RESIDENT}
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
            "second": lambda: float(told(("-c", _LIST + _PEAK, file), variables(folder))),
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


# Everything of the runtime that a package's tools need is there before the package is imported.
IMPORTING = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from openapi_tools.runtime import *
import openapi_tools.tools.pipeline, openapi_tools.transport.sender, openapi_tools.auth.credentials
Settings()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

marks, sizes = [time.process_time()], [resident()]
def mark():
    marks.append(time.process_time())
    sizes.append(resident())

import github_tools
mark()
from github_tools import IssuesList
mark()
tools = [getattr(github_tools, name) for name in dir(github_tools) if name[0].isupper()]
mark()
toolset = github_tools.load()
mark()
assert len(tools) == len(toolset) > 1000
print(json.dumps([[b - a for a, b in zip(x, x[1:])] for x in (marks, sizes)]))
"""


STEPS: tuple[tuple[str, tuple[Goal, ...]], ...] = (
    ("import the package", (at_most(5, "ms"),)),
    ("one tool", (at_most(10, "ms"),)),
    ("all tools", (at_most(150, "ms"),)),
    ("load() with all of them", ()),
)


def generates(rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "github"
        command = (
            "from openapi_tools import generate_package; import shutil; "
            f"shutil.rmtree({str(output)!r}, ignore_errors=True); "
            f"generate_package({str(GITHUB.file)!r}, {str(output)!r}, name='github')"
        )
        parse = f"import json; json.load(open({str(GITHUB.file)!r}, 'rb'))"
        took = turns(
            rounds,
            {"parse": lambda: child(("-c", parse)), "generate": lambda: child(("-c", command))},
        )
        yield Row("a process that parses GitHub's JSON", took["parse"])
        made = took["generate"]
        ratio = made.over(took["parse"])
        yield Row("a process that generates its package", made, ratio, (at_most(3000, "ms"),))
        yield from _imports(rounds, output)


def _imports(rounds: int, output: Path) -> Iterator[Row]:
    runs = [_import_once(output) for _ in range(rounds + 1)][1:]  # the first one compiles
    nothing = Sample(tuple(run[2][0] for run in runs))
    yield Row("python -c pass", nothing)
    for number, (name, goals) in enumerate(STEPS):
        took = Sample(tuple(run[0][number] for run in runs))
        grown = sorted(run[1][number] for run in runs)[len(runs) // 2] / 2**20
        title = f"beyond the runtime: {name}"
        yield Row(title, took, took.over(nothing), goals, note=f"{grown:+.1f} MiB")


def _import_once(output: Path) -> list[list[float]]:
    nothing = child(("-c", "pass"))
    found: list[list[float]] = json.loads(told(("-c", IMPORTING, str(output))))
    return [*found, [nothing]]
