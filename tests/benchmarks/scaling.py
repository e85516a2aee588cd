"""With which power of a document's size loading grows."""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from processes import RESIDENT
from published import DISCORD, STRIPE
from pydantic_core import from_json, to_json
from repeating import repeated
from rows import POWER, Goal, Row
from timing import Sample, exponent, timed, told

from openapi_tools import Settings, load_tools
from openapi_tools.loading.parse import paused_gc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from published import Document

OPERATIONS = (500, 1000, 2000, 4000, 8000, 11_000)
"""About how many operations the documents have: the last one as many as Microsoft Graph's."""
GOALS = (Goal(0.9, 1.1),)
ROOM = Settings(max_document_bytes=2**28)
_GROWTH = f"""{RESIDENT}
kept = load_tools(sys.argv[1], settings=Settings(max_document_bytes=2**28))
listed = [(tool.name, tool.description) for tool in kept]
print((resident() - before) / 2**20)
"""


def scales(rounds: int) -> Iterator[Row]:
    for document in (DISCORD, STRIPE):
        with tempfile.TemporaryDirectory() as folder:
            files = _copies(document, Path(folder))
            largest = max(files)
            took = _times(
                {count: file.read_bytes() for count, file in files.items()}, max(rounds // 3, 2)
            )
            took["memory"] = {
                count: Sample((float(told(("-c", _GROWTH, str(file)))),), "MiB")
                for count, file in files.items()
            }
        for what, samples in took.items():
            power = exponent([(count, sample.median) for count, sample in samples.items()])
            name = f"{document.name}: {what}"
            note = f"{min(files)} to {largest} operations; the time is the largest one's"
            goals = () if what == "parse" else GOALS
            yield Row(name, samples[largest], power, goals, POWER, note)


def _copies(document: Document, folder: Path) -> dict[int, Path]:
    root = from_json(document.as_json().read_bytes())
    each = len(load_tools(root))
    files = {}
    for copies in sorted({max(round(count / each), 1) for count in OPERATIONS}):
        files[copies * each] = folder / f"{copies}.json"
        files[copies * each].write_bytes(to_json(repeated(root, copies)))
    return files


def _times(documents: Mapping[int, bytes], rounds: int) -> dict[str, dict[int, Sample]]:
    found: dict[int, list[tuple[float, float, float]]] = {count: [] for count in documents}
    for number in range(rounds + 1):
        for count, data in documents.items():
            seconds = _steps(data)
            if number:
                found[count].append(seconds)
    taken = {
        count: [Sample(each) for each in zip(*runs, strict=True)] for count, runs in found.items()
    }
    return {
        "parse": {count: parse for count, (parse, _, _) in taken.items()},
        "load": {count: load for count, (_, load, _) in taken.items()},
        "load, names, descriptions": {count: listed for count, (_, _, listed) in taken.items()},
    }


def _steps(data: bytes) -> tuple[float, float, float]:
    """Return the seconds of the parse, of the load, and of that with all names and descriptions.

    The collector rests during the parse, as it does in a load: it walks what was parsed so far
    again and again, and that grows with more than the size.
    """
    with paused_gc():
        parse = timed(lambda: from_json(data))
    gc.collect()
    begin = time.process_time()
    toolset = load_tools(data, settings=ROOM)
    loaded = time.process_time()
    listed = [(tool.name, tool.description) for tool in toolset]
    ended = time.process_time()
    assert len(listed) == len(toolset)
    return parse, loaded - begin, ended - begin
