"""Print what loading and calling cost, as ratios taken in one run.

    python tests/benchmarks/run.py [--quick] [row …]

Rows: `load`, `first`, `memory`, `yaml`, `call`, `import`, `generate`. docs/benchmarks.md says what
each means.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import calling
import generating
import loading
from timing import children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loading import Row

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def imports(rounds: int, _: Path) -> Iterator[Row]:
    """Time whole processes that import the package."""
    codes = {
        "pass": "pass",
        "package": "import openapi_tools",
        "load_tools": "from openapi_tools import load_tools",
    }
    took = children(2 * rounds, codes)
    yield loading.Row("python -c pass", took["pass"].shown(), "", "")
    ratio = took["package"].over(took["pass"])
    yield loading.Row("import openapi_tools", took["package"].shown(), f"{ratio:.2f} x", "1.5 x")
    ratio = took["load_tools"].over(took["pass"])
    yield loading.Row(
        "from openapi_tools import load_tools", took["load_tools"].shown(), f"{ratio:.2f} x", ""
    )


SECTIONS: dict[str, tuple[str, Callable[[int, Path], Iterator[Row]]]] = {
    "load": ("Load, on top of the JSON parse of the same bytes", loading.loads),
    "first": ("First input schema of one tool, right after a load", loading.first_schemas),
    "memory": ("Growth of resident memory, in a process of its own", loading.memory),
    "yaml": ("First load of YAML against the same document as JSON", loading.yaml_loads),
    "call": ("A call without a network, on the same httpx client", calling.calls),
    "import": ("Start of a process", imports),
    "generate": ("A generated package of GitHub's document", generating.generates),
}


def main() -> int:
    """Print the rows that were asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="row", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer runs, for a first look")
    asked = parser.parse_args()
    if unknown := set(asked.rows) - SECTIONS.keys():
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    if not CORPUS.is_dir():
        print(f"{CORPUS} is absent: the documents that are measured are not at hand")
        return 1
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {load}")
    print("CPU time: median (lowest-highest) of interleaved runs; differences under 15 % are noise")
    for name in asked.rows or SECTIONS:
        title, measure = SECTIONS[name]
        print(f"\n{title}")
        for row in measure(3 if asked.quick else 9, CORPUS):
            goal = f"goal {row.goal}" if row.goal else ""
            print(f"  {row.name:<58} {row.took:<32} {row.ratio:<10} {goal}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
