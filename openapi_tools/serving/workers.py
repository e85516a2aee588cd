"""The processes that serve one configuration on one socket, and their supervisor."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import click

from openapi_tools.errors import OpenAPIToolsError, requiring
from openapi_tools.serving import web_server
from openapi_tools.serving.server_records import FOLDER, logger, write_logs
from openapi_tools.serving.team_server import WebServer, started, uvicorn_limits

with requiring("serve"):  # the extra `mcp` may bring an older uvicorn
    from uvicorn.config import STARTUP_FAILURE
    from uvicorn.supervisors import Multiprocess
    from uvicorn.supervisors.multiprocess import Process

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from openapi_tools.serving.served_apis import Handover
    from openapi_tools.serving.team_server import Started


_PATIENCE = 10.0  # seconds for a worker to answer its supervisor
_LOOK = 0.02  # the same until the first answers: half a tick sooner than to look again later
_START = 120.0  # the same for one that still imports its modules


class WorkerStart(NamedTuple):
    """What a worker starts with; it goes through a pipe, as documents may be private."""

    config: str
    given: dict[str, Any]
    port: int
    log: str = "text"  # until the file is read, which may be wrong by now
    handover: Handover | None = None


def worker_app(start: WorkerStart) -> Any:
    """Return the app of a worker."""
    write_logs(start.log)
    try:
        server = started(start.config, start.given, logs=True, again=True, handover=start.handover)
    except OpenAPIToolsError as error:  # the file was changed; the supervisor tries again
        logger.error("%s", error)
        raise SystemExit(1) from None
    return WebServer(server, start.port).app


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Have this process and its workers add up metrics while the body runs.

    It begins before the first import of prometheus_client, which looks at the variable then.
    """
    with tempfile.TemporaryDirectory(prefix="openapi-tools-") as folder:
        os.environ[FOLDER] = folder
        yield


@dataclass(slots=True)
class _Health:
    """What a worker has said about itself; times are of `time.monotonic`."""

    asked: float = 0.0  # when a question without an answer was sent; 0 for none
    has_answered: bool = False
    is_ready: bool = False


class WorkerSupervisor(Multiprocess):
    """Starts workers, announces the first that answers, and replaces each that ends.

    Uvicorn's own check waits for each worker in turn, signals wait with it, and a worker whose
    imports take 5 s is replaced before it can answer. This one asks and looks again later.
    """

    def __init__(
        self,
        make_config: Callable[[Handover | None], Any],
        place: socket.socket,
        handover: Handover,
        *,
        announce: Callable[[], object],
        count_restart: Callable[[], object],
    ) -> None:
        super().__init__(make_config(handover), [place])
        # A later worker reads the documents as they are then.
        self._later = make_config(None)
        self._announce: Callable[[], object] | None = announce
        self._count_restart = count_restart
        self._health: WeakKeyDictionary[Process, _Health] = WeakKeyDictionary()
        self.is_interrupted = False

    def init_processes(self) -> None:
        """Start the workers."""
        super().init_processes()
        self.config = self._later

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or do not answer, and log each."""
        for index, process in enumerate(self.processes):
            if self.should_exit.is_set() or self.signal_queue:
                return  # a terminal sends its signal to the workers, too: none of them has died
            if process.exitcode is not None:
                self._replace(index, _describe_end(process))
            elif self._is_hung(process):
                self._replace(index, "did not answer and was ended")
        if self._announce is not None and any(each.is_ready for each in self._health.values()):
            self._announce()
            self._announce = None

    def _is_hung(self, process: Process) -> bool:
        """Ask a worker how it is, or look for its answer to the question before."""
        health, now = self._health.setdefault(process, _Health()), time.monotonic()
        with suppress(OSError, EOFError, UnpicklingError):
            if not health.asked:
                process.parent_conn.send(b"ping")
                health.asked = now
            if process.parent_conn.poll(0 if self._announce is None else _LOOK):
                health.is_ready = process.parent_conn.recv() is True
                health.asked, health.has_answered = 0.0, True
        patience = _PATIENCE if health.has_answered else _START
        return bool(health.asked) and now - health.asked > patience

    def _replace(self, index: int, reason: str) -> None:
        old = self.processes[index]
        old.kill()
        old.join()
        if old.exitcode == STARTUP_FAILURE:  # the next one would fail in the same way
            logger.error("worker %s cannot start; the server ends", old.pid)
            self.should_exit.set()
            return
        new = Process(self.config, self.sockets)
        new.start()
        self.processes[index] = new
        logger.warning("worker %s %s; worker %s replaces it", old.pid, reason, new.pid)
        self._count_restart()

    def handle_int(self) -> None:
        """End in order, and remember that it was Ctrl-C."""
        self.is_interrupted = True
        super().handle_int()

    def handle_hup(self) -> None:
        """Have each worker read its documents again."""
        for process in self.processes:
            if process.pid is not None:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(process.pid, signal.SIGHUP)


def _describe_end(process: Process) -> str:
    code = process.exitcode or 0
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def run_workers(
    server: Started,
    place: socket.socket,
    *,
    announce: Callable[[], object],
    count_restart: Callable[[], object],
) -> None:
    """Serve a configuration with several processes, on a socket that listens.

    Raises:
        KeyboardInterrupt: SIGINT has ended them, in order.
    """

    def make_config(handover: Handover | None) -> Any:
        port, log = place.getsockname()[1], server.serve.log
        start = WorkerStart(server.config, server.given, port, log, handover)
        limits = uvicorn_limits(server.serve)
        workers = server.serve.workers
        return web_server.config_of(
            partial(worker_app, start), factory=True, workers=workers, **limits
        )

    supervisor = WorkerSupervisor(
        make_config, place, server.handover, announce=announce, count_restart=count_restart
    )
    supervisor.run()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise click.ClickException("the workers cannot start; the log has the reason.")
    if supervisor.is_interrupted:
        raise KeyboardInterrupt
