"""What generating a package costs, and importing it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from published import GITHUB
from rows import Row, at_most
from timing import Sample, child, told, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rows import Goal

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
    """Time whole processes that generate GitHub's package, then what importing it takes."""
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
    """Return seconds and bytes of each step, and what a process costs that does nothing."""
    nothing = child(("-c", "pass"))
    found: list[list[float]] = json.loads(told(("-c", IMPORTING, str(output))))
    return [*found, [nothing]]
