"""What generating a package costs, and importing it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from loading import Row
from timing import Sample, children

if TYPE_CHECKING:
    from collections.abc import Iterator

GITHUB = Path("github") / "api.github.com.json"

# Everything of the runtime that a package's tools need is there before the package is imported.
IMPORTING = """
import json, resource, sys, time
from openapi_tools.runtime import *
import openapi_tools.runtime.calling, openapi_tools.runtime.send, openapi_tools.runtime.auth
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


def generates(rounds: int, corpus: Path) -> Iterator[Row]:
    """Time whole processes that generate GitHub's package, then what importing it takes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "github"
        command = (
            "from openapi_tools import generate_package; import shutil; "
            f"shutil.rmtree({str(output)!r}, ignore_errors=True); "
            f"generate_package({str(corpus / GITHUB)!r}, {str(output)!r}, name='github')"
        )
        parse = f"import json; json.load(open({str(corpus / GITHUB)!r}, 'rb'))"
        took = children(rounds, {"parse": parse, "generate": command})
        ratio = took["generate"].over(took["parse"])
        yield Row("a process that parses GitHub's JSON", took["parse"].shown(), "", "")
        yield Row(
            "a process that generates its package",
            took["generate"].shown(),
            f"{ratio:.1f} x",
            "3 s",
        )
        yield from _imports(rounds, output)


def _imports(rounds: int, output: Path) -> Iterator[Row]:
    names = ("import the package", "one tool", "all tools", "load() with all of them")
    goals = ("5 ms", "10 ms", "150 ms, 20 MiB", "")
    runs = [_import_once(output) for _ in range(rounds + 1)][1:]  # the first one compiles
    for number, (name, goal) in enumerate(zip(names, goals, strict=True)):
        seconds = Sample(tuple(run[0][number] for run in runs))
        grown = sorted(run[1][number] for run in runs)[len(runs) // 2] / 2**20
        yield Row(f"  beyond the runtime: {name}", seconds.shown(), f"{grown:.1f} MiB", goal)


def _import_once(output: Path) -> list[list[float]]:
    """Return seconds and bytes of each step."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING],
        cwd=output,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # else every run compiles anew
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[list[float]] = json.loads(done.stdout)
    return found
