"""What all tests share."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
import pytest_asyncio
from servers.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

# Python keeps what it compiled, also where its variable says otherwise: tests start hundreds of
# processes, and each of them would compile this package, each run all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test is about speed: a busy machine would decide it.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

pytest_plugins = ["openapi_tools.pytest_plugin"]
LEFT_OUT = pytest.StashKey[int]()
LONGEST = (
    *("fuzz/test_fuzz.py", "tests/test_packaging.py", "contracts/test_extras.py"),
    *("providers/test_budget_corpus.py", "tests/test_docs.py", "tests/test_first_hour.py"),
    *("testing/test_proofs.py", "providers/test_response_schemas.py", "serving/test_load.py"),
    *("tests/test_parity.py", "trust/test_patterns.py", "tests/test_properties.py"),
)
"""The files that begin first, so that no process is left with one of them at the end."""

CASES: Counter[str] = Counter()  # of each test that ran in this process
EACH = 4

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"


def pytest_configure(config):
    """Keep documents in a folder of the test run's own, in every process that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs so; children inherit it, and tests interrupt children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = tempfile.TemporaryDirectory(prefix="openapi-tools-cache-")
    os.environ["OPENAPI_TOOLS_CACHE_DIR"] = folder.name
    config.add_cleanup(folder.cleanup)


@pytest.fixture(params=["httpx", "httpx2"])
def library(request):
    """Each package whose `AsyncClient` may be a user's own."""
    return importlib.import_module(request.param)


def _is_traced(item: pytest.Item) -> bool:
    """Return whether coverage sees a test: of many cases, the first four and each fourth."""
    if item.get_closest_marker("untraced") is not None:
        return False
    case = CASES[item.nodeid.partition("[")[0]]
    CASES[item.nodeid.partition("[")[0]] += 1
    return case < EACH or case % EACH == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keep coverage out of tests that are marked `untraced`, and out of most cases of large tables.

    Its tracing nearly doubles what a test takes: those that bound their own time, or that go
    through whole documents and thousands of made ones, run without; others reach the same lines.
    """
    if _is_traced(item):
        return (yield)
    tracer, in_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type] -- that is how it is taken away
    try:
        return (yield)
    finally:
        threading.settrace(in_threads)  # type: ignore[arg-type]
        sys.settrace(tracer)


def pytest_collection_modifyitems(items):
    """Put `LONGEST` before all others; `--dist=loadfile` gives each file to one process."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))


def pytest_deselected(items):
    """Count the long tests that `-m "not long"` leaves out."""
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config = long[0].config
        config.stash[LEFT_OUT] = len(long)
        if hasattr(config, "workeroutput"):
            config.workeroutput["left_out"] = len(long)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a process of pytest-xdist."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter):
    """Say which tests did not run and why, before the names of those that failed.

    pytest's own list has a line for each place in a file, more than fit on a screen.
    """
    skipped = terminalreporter.stats.get("skipped", ())
    for reason, count in Counter(report.longrepr[2] for report in skipped).most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
    if count := terminalreporter.config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} long ones left out: `pytest -m long` runs them")


@pytest.fixture(scope="session")
def shared():
    """The folder with published documents and test vectors; not part of this repository."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: the published documents and vectors are not at hand")
    return SHARED


@pytest.fixture
async def recorder():
    """A loopback server that keeps the exact bytes it received."""
    async with Recorder() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def wire():
    """Calls the one operation of a document and looks at what a server saw.

    One event loop, one server and one client for a module: such tests are marked
    `pytest.mark.asyncio(loop_scope="module")`.
    """
    import httpx
    from servers.wire import Wire

    async with Recorder() as running, httpx.AsyncClient() as client:
        yield Wire(running, client)
