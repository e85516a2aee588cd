"""What whole processes cost: time and memory of starting, loading, the command line, generating."""

import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from loading import variables
from published import GITHUB
from rows import Row, at_most, compare_rows
from timing import child, run_program, samples, turns

COMMAND = ("-m", "openapi_tools")
FILE = str(GITHUB.file)
LISTING = (*COMMAND, "list", FILE)
STARTS = (
    ("pass", "python -c pass"),
    ("package", "import openapi_tools", at_most(1.5)),
    ("load_tools", "from openapi_tools import load_tools"),
    ("help", "openapi-tools --help", at_most(150, "ms")),
    ("first", "openapi-tools list, GitHub, cache off"),
    ("second", "openapi-tools list, GitHub, from the cache", at_most(300, "ms")),
)


def starts(rounds):
    with tempfile.TemporaryDirectory() as folder:
        actions = {
            "pass": lambda: child(("-c", "pass")),
            "package": lambda: child(("-c", "import openapi_tools")),
            "load_tools": lambda: child(("-c", "from openapi_tools import load_tools")),
            "help": lambda: child((*COMMAND, "--help")),
            "first": lambda: child(LISTING),
            "second": lambda: child(LISTING, variables(folder)),
        }
        took = turns(2 * rounds, actions)  # short ones differ by more than what is looked for
    return compare_rows(took, "pass", STARTS)


# What a load and a schema import counts in the peaks below, not as growth: the engine of patterns
# alone takes 4 MiB, and any call needs it.
RESIDENT = """
import hashlib, sys
from pydantic_core import from_json
from openapi_tools import Settings, load_tools
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
schema = b'{"schema": {"type": "string", "pattern": "^a$"}, "name": "a", "in": "query"}'
small = b'{"openapi": "3.1.0", "paths": {"/": {"get": {"parameters": [%b]}}}}' % schema
small += b" " * 2**20  # large enough to import all of it
[(tool.name, tool.description, tool.input_schema, tool.operation) for tool in load_tools(small)]
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


GROWTH = (
    ("parse", "GitHub: growth by the parse (pydantic_core)"),
    ("load", "GitHub: growth by a load, names, descriptions"),
    ("schemas", "GitHub: the same, all input schemas and operations"),
)
PEAKS = (
    ("pass", "peak of `python -c pass`"),
    ("parse", "peak of a process that parses GitHub's JSON (json)"),
    ("first", "peak of one that lists GitHub's tools", at_most(100, "MiB")),
    ("second", "the same from the cache", at_most(40, "MiB")),
)


def memory(rounds):
    if not Path("/proc/self/statm").exists():
        yield Row("memory", note="not measured: this system has no /proc")
        return
    runs = max(rounds // 3, 1)

    def growth(kind):
        return float(run_program(("-c", _GROWTH, kind, FILE)))

    def peak(program="", environment=None):
        return float(run_program(("-c", program + _PEAK, FILE), environment))

    grown = turns(runs, {kind: partial(growth, kind) for kind, *_ in GROWTH}, "MiB")
    yield from compare_rows(grown, "parse", GROWTH)
    with tempfile.TemporaryDirectory() as folder:
        cached = partial(peak, _LIST, variables(folder))
        listing = {"first": partial(peak, _LIST), "second": cached}
        actions = {"pass": peak, "parse": partial(peak, _PARSE), **listing}
        took = turns(runs, actions, "MiB")
    yield from compare_rows(took, "pass", PEAKS)


# Everything of the runtime that a package's tools need is there before the package is imported.
IMPORTING = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from openapi_tools.runtime import *
import openapi_tools.tools.caller, openapi_tools.transport, openapi_tools.auth
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


STEPS = {
    "import the package": [at_most(5, "ms")],
    "one tool": [at_most(10, "ms")],
    "all tools": [at_most(150, "ms")],
    "load() with all of them": [],
}
GENERATES = (
    ("parse", "a process that parses GitHub's JSON"),
    ("generate", "a process that generates its package", at_most(3000, "ms")),
)


def generates(rounds):
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "github")
        command = (
            "from openapi_tools import generate_package; import shutil; "
            f"shutil.rmtree({output!r}, ignore_errors=True); "
            f"generate_package({FILE!r}, {output!r}, name='github')"
        )
        parse = f"import json; json.load(open({FILE!r}, 'rb'))"
        programs = {"parse": parse, "generate": command}
        took = turns(rounds, {key: partial(child, ("-c", code)) for key, code in programs.items()})
        yield from compare_rows(took, "parse", GENERATES)
        yield from _imports(rounds, output)


def _imports(rounds, output):
    runs = [_import_once(output) for _ in range(rounds + 1)]  # the first one compiles
    took = samples([{"pass": nothing, **marks} for nothing, marks, _ in runs])
    table = [(name, f"beyond the runtime: {name}", *goals) for name, goals in STEPS.items()]
    first, *rows = compare_rows(took, "pass", [("pass", "python -c pass"), *table])
    yield first
    for number, row in enumerate(rows):
        grown = sorted(sizes[number] for _, _, sizes in runs[1:])[rounds // 2] / 2**20
        yield replace(row, note=f"{grown:+.1f} MiB")


def _import_once(output):
    nothing = child(("-c", "pass"))
    marks, sizes = json.loads(run_program(("-c", IMPORTING, output)))
    return nothing, dict(zip(STEPS, marks, strict=True)), sizes
