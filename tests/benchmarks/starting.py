"""What whole processes cost: starting, importing, the command line."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import caching
from published import GITHUB
from rows import Row, at_most
from timing import child, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = ("-m", "openapi_tools")
LISTING = (*COMMAND, "list", str(GITHUB.file))


def starts(rounds: int) -> Iterator[Row]:
    """Time processes that do little."""
    with tempfile.TemporaryDirectory() as folder:
        took = turns(
            2 * rounds,  # short ones differ by more than what is looked for
            {
                "pass": lambda: child(("-c", "pass")),
                "package": lambda: child(("-c", "import openapi_tools")),
                "load_tools": lambda: child(("-c", "from openapi_tools import load_tools")),
                "help": lambda: child((*COMMAND, "--help")),
                "first": lambda: child(LISTING),
                "second": lambda: child(LISTING, caching.variables(folder)),
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
