"""What it costs to load published documents."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json
from timing import Sample, interleaved

from openapi_tools import load_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools import Toolset


class Row(NamedTuple):
    """One line of output.

    Attributes:
        name: What was measured.
        took: Time or memory.
        ratio: To the row that it is compared with.
        goal: Of the ratio or the time.
    """

    name: str
    took: str
    ratio: str
    goal: str


class _Document(NamedTuple):
    """A document that is measured.

    Attributes:
        name: For the output.
        path: Below the corpus.
        goals: Names and descriptions, then all input schemas too, as multiples of the parse; and
            the first schema in microseconds.
    """

    name: str
    path: str
    goals: tuple[str, str, str] = ("", "", "")


DOCUMENTS = (
    _Document("GitHub", "github/api.github.com.json", ("0.5 x", "1 x", "300 us")),
    _Document("Kubernetes", "kubernetes/swagger.json", ("", "", "300 us")),
    _Document("Discord", "discord/openapi.json", ("", "", "300 us")),
    _Document("Stripe", "stripe/stripe-old.yaml", ("", "", "300 us")),
    _Document("OpenAI", "openai/openapi.yaml", ("", "", "300 us")),
)


def loads(rounds: int, corpus: Path) -> Iterator[Row]:
    """Time load steps; a YAML document is measured as the JSON that says the same."""
    with tempfile.TemporaryDirectory() as folder:
        for document in DOCUMENTS:
            file = _as_json(corpus / document.path, Path(folder))
            yield from _load(document, file, rounds)


def _load(document: _Document, file: Path, rounds: int) -> Iterator[Row]:
    data = file.read_bytes()
    took = interleaved(
        rounds,
        {
            "parse": lambda: from_json(data),
            "json": lambda: json.loads(data),
            "load": lambda: _described(data),
            "schemas": lambda: _with_schemas(data),
        },
    )
    parse = took["parse"]
    name = f"{document.name}, {len(data) / 1e6:.1f} MB, {len(load_tools(file))} tools"
    yield Row(f"{name}: parse (pydantic_core)", parse.shown(), "1 x", "")
    yield Row("  parse (json)", took["json"].shown(), f"{took['json'].over(parse):.2f} x", "")
    described, schemas = took["load"].above(parse), took["schemas"].above(parse)
    for key, title, ratio, goal in (
        ("load", "  parse, names, descriptions", described, document.goals[0]),
        ("schemas", "  the same and all input schemas", schemas - described, document.goals[1]),
    ):
        yield Row(title, took[key].shown(), f"+{ratio:.2f} x", f"+{goal}" if goal else "")


def _described(data: bytes) -> tuple[Toolset, list[tuple[str, str]]]:
    toolset = load_tools(data)
    return toolset, [(tool.name, tool.description) for tool in toolset]


def _with_schemas(data: bytes) -> object:
    toolset, described = _described(data)
    return toolset, described, [tool.input_schema for tool in toolset]


def first_schemas(rounds: int, corpus: Path) -> Iterator[Row]:
    """Time the first look at a schema: one tool of each fresh load, spread over the document."""
    for document in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            file = _as_json(corpus / document.path, Path(folder))
            seconds = [_first(file, number / rounds) for number in range(rounds)]
        yield Row(document.name, Sample(tuple(seconds)).shown("us"), "", document.goals[2])


def _first(file: Path, share: float) -> float:
    tools = list(load_tools(file))
    tool = tools[int(share * len(tools))]
    begin = time.process_time()
    tool.input_schema  # noqa: B018 -- built when it is first looked at
    return time.process_time() - begin


_GROWTH = """
import sys
from pydantic_core import from_json
from openapi_tools import load_tools
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
load_tools({"openapi": "3.1.0", "paths": {}})
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
print(resident() - before)
"""


def memory(rounds: int, corpus: Path) -> Iterator[Row]:
    """Compare the growth by a parse with that by a load."""
    if not Path("/proc/self/statm").exists():
        yield Row("not measured: this system has no /proc", "", "", "")
        return
    file = corpus / DOCUMENTS[0].path
    found: dict[str, list[float]] = {"parse": [], "load": [], "schemas": []}
    for _ in range(max(rounds // 3, 1)):
        for what, sizes in found.items():
            sizes.append(_grown(what, file) / 2**20)
    parse = sorted(found["parse"])[len(found["parse"]) // 2]
    for what, title in (
        ("parse", "GitHub: parse (pydantic_core)"),
        ("load", "GitHub: load, names, descriptions"),
        ("schemas", "GitHub: load, all input schemas and operations"),
    ):
        sizes = sorted(found[what])
        median = sizes[len(sizes) // 2]
        shown = f"{median:.1f} MiB ({sizes[0]:.1f}-{sizes[-1]:.1f})"
        yield Row(title, shown, f"{median / parse:.2f} x", "1.1 x" if what == "load" else "")


def _grown(what: str, file: Path) -> int:
    command = [sys.executable, "-c", _GROWTH, what, str(file)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def yaml_loads(rounds: int, corpus: Path) -> Iterator[Row]:
    """Time loads of YAML documents beside loads of their JSON twins."""
    with tempfile.TemporaryDirectory() as folder:
        for document in DOCUMENTS:
            file = corpus / document.path
            if file.suffix == ".json":
                continue
            twin = _as_json(file, Path(folder))
            actions = {"yaml": lambda f=file: load_tools(f), "json": lambda f=twin: load_tools(f)}
            took = interleaved(rounds, actions)
            yield Row(f"{document.name} as JSON", took["json"].shown(), "1 x", "")
            ratio = took["yaml"].over(took["json"])
            yield Row(f"{document.name} as YAML", took["yaml"].shown(), f"{ratio:.1f} x", "")


def _as_json(file: Path, folder: Path) -> Path:
    """Return the document itself, or the JSON that says the same."""
    if file.suffix == ".json":
        return file
    twin = folder / f"{file.stem}.json"
    if not twin.exists():
        twin.write_text(json.dumps(load_tools(file).document, ensure_ascii=False), encoding="utf-8")
    return twin
