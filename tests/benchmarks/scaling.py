"""With which power of a document's size loading grows."""

import gc
import tempfile
import time
from pathlib import Path

from processes import RESIDENT
from published import DISCORD, STRIPE
from pydantic_core import from_json, to_json
from repeating import repeat_document
from rows import POWER, Goal, Row
from timing import exponent, run_program, samples, time_action

from openapi_tools import Settings, load_tools
from openapi_tools.common.json_values import PausedGC

OPERATIONS = (500, 1000, 2000, 4000, 8000, 11_000)
"""About how many operations the documents have: the last one as many as Microsoft Graph's."""
GOALS = (Goal(0.9, 1.15),)
LIMITS = Settings(max_document_bytes=2**28)
_GROWTH = f"""{RESIDENT}
kept = load_tools(sys.argv[1], settings=Settings(max_document_bytes=2**28))
listed = [(tool.name, tool.description) for tool in kept]
print((resident() - before) / 2**20)
"""


def scales(rounds):
    for document in (DISCORD, STRIPE):
        with tempfile.TemporaryDirectory() as folder:
            files = _copies(document, Path(folder))
            largest = max(files)
            data = {count: file.read_bytes() for count, file in files.items()}
            runs = [_time_steps(data) for _ in range(max(rounds // 3, 2) + 1)]
            grown = {
                ("memory", count): float(run_program(("-c", _GROWTH, str(file))))
                for count, file in files.items()
            }
        took = samples(runs) | samples([{}, grown], "MiB")
        for what in ("parse", "load", "load, names, descriptions", "memory"):
            power = exponent([(count, took[what, count].median) for count in files])
            note = f"{min(files)} to {largest} operations"
            goals = () if what == "parse" else GOALS
            yield Row(f"{document.name}: {what}", took[what, largest], power, goals, POWER, note)


def _copies(document, folder):
    root = from_json(document.as_json().read_bytes())
    each = len(load_tools(root))
    files = {}
    for copies in sorted({max(round(count / each), 1) for count in OPERATIONS}):
        files[copies * each] = folder / f"{copies}.json"
        files[copies * each].write_bytes(to_json(repeat_document(root, copies)))
    return files


def _time_steps(documents):
    samples = {}
    for count, data in documents.items():
        names = ("parse", "load", "load, names, descriptions")
        samples |= {(name, count): took for name, took in zip(names, _steps(data), strict=True)}
    return samples


def _steps(data):
    """Return the seconds of the parse, of the load, and of that with all names and descriptions.

    The collector rests during the parse, as it does in a load: it walks what was parsed so far
    again and again, and that grows with more than the size.
    """
    with PausedGC():
        parse = time_action(lambda: from_json(data))
    gc.collect()
    begin = time.process_time()
    toolset = load_tools(data, settings=LIMITS)
    loaded = time.process_time()
    listed = [(tool.name, tool.description) for tool in toolset]
    ended = time.process_time()
    assert len(listed) == len(toolset)
    return parse, loaded - begin, ended - begin
