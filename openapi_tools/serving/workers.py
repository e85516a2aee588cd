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

from openapi_tools.errors import OpenAPIToolsError, require_extra
from openapi_tools.serving import web_server
from openapi_tools.serving.server_records import FOLDER, logger, write_logs
from openapi_tools.serving.team_server import WebServer, start_server

with require_extra("serve"):  # the extra `mcp` may bring an older uvicorn
    from uvicorn.config import STARTUP_FAILURE
    from uvicorn.supervisors import Multiprocess
    from uvicorn.supervisors.multiprocess import Process

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from openapi_tools.serving.served_apis import Handover
    from openapi_tools.serving.team_server import StartedServer


_PATIENCE = 10.0  # seconds in which a worker must respond to its supervisor
_FIRST_POLL = 0.02  # seconds to wait for a response until the first worker is ready: saves a tick
# Importing takes seconds on a busy machine, and all workers start at once.
_START = 120.0  # seconds in which a worker must respond that still imports its modules


class WorkerStart(NamedTuple):
    """What a worker starts with; sent through a pipe, as documents may be private."""

    config: str
    options: dict[str, Any]
    port: int
    log: str = "text"  # until the configuration is read, which may be invalid by now
    handover: Handover | None = None


def worker_app(start: WorkerStart) -> Any:
    """Return the app of a worker."""
    write_logs(start.log)
    try:
        server = start_server(
            start.config, start.options, logs=True, again=True, handover=start.handover
        )
    except OpenAPIToolsError as error:  # the file was changed; the supervisor retries
        logger.error("%s", error)
        raise SystemExit(1) from None
    return WebServer(server, start.port, owns_process=True).app


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Aggregate the metrics of this process and its workers while the body runs.

    Enter it before the first import of prometheus_client, which reads the variable then.
    """
    with tempfile.TemporaryDirectory(prefix="openapi-tools-") as folder:
        os.environ[FOLDER] = folder
        yield


@dataclass(slots=True)
class _Health:
    """What is known of a worker."""

    pinged_at: float = 0.0  # when a ping without a response was sent (`time.monotonic`); 0 for none
    has_responded: bool = False
    is_ready: bool = False


class WorkerSupervisor(Multiprocess):
    """Starts workers, announces the first that is ready, and replaces each that ends.

    Uvicorn's own check waits for each worker in turn, which delays signals, and replaces a worker
    whose imports take 5 s. This one sends a ping and looks for the response later.
    """

    def __init__(
        self,
        make_config: Callable[[Handover | None], Any],
        listener: socket.socket,
        handover: Handover,
        *,
        announce: Callable[[], object],
        count_restart: Callable[[], object],
    ) -> None:
        super().__init__(make_config(handover), [listener])
        # A later worker reads the documents as they are then.
        self._later_config = make_config(None)
        self._announce: Callable[[], object] | None = announce
        self._count_restart = count_restart
        self._health: WeakKeyDictionary[Process, _Health] = WeakKeyDictionary()
        self.is_interrupted = False

    def init_processes(self) -> None:
        """Start the workers."""
        super().init_processes()
        self.config = self._later_config

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or do not respond, and log each."""
        for index, process in enumerate(self.processes):
            if self.should_exit.is_set() or self.signal_queue:
                return  # a terminal sends its signal to the workers too, so none has crashed
            if process.exitcode is not None:
                self._replace_worker(index, _describe_end(process))
            elif self._is_hung(process):
                self._replace_worker(index, "did not respond and was stopped")
        if self._announce is not None and any(each.is_ready for each in self._health.values()):
            self._announce()
            self._announce = None

    def _is_hung(self, process: Process) -> bool:
        health, now = self._health.setdefault(process, _Health()), time.monotonic()
        with suppress(OSError, EOFError, UnpicklingError):
            if not health.pinged_at:
                process.parent_conn.send(b"ping")
                health.pinged_at = now
            if process.parent_conn.poll(0 if self._announce is None else _FIRST_POLL):
                health.is_ready = process.parent_conn.recv() is True
                health.pinged_at, health.has_responded = 0.0, True
        patience = _PATIENCE if health.has_responded else _START
        return bool(health.pinged_at) and now - health.pinged_at > patience

    def _replace_worker(self, index: int, reason: str) -> None:
        old = self.processes[index]
        # Not `terminate`: a worker that does not respond may not handle SIGTERM either.
        old.kill()
        old.join()
        if old.exitcode == STARTUP_FAILURE:  # the next one would fail in the same way
            logger.error("worker %s cannot start; the server ends", old.pid)
            self.should_exit.set()
            return
        new = Process(self.config, self.sockets)
        new.start()
        self.processes[index] = new
        logger.warning("worker %s %s and is replaced by worker %s", old.pid, reason, new.pid)
        self._count_restart()

    def handle_int(self) -> None:
        """Shut down, and remember that it was Ctrl-C."""
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
        return f"was stopped by {signal.Signals(-code).name}"
    return f"was stopped by signal {-code}"


def run_workers(
    server: StartedServer,
    listener: socket.socket,
    *,
    announce: Callable[[], object],
    count_restart: Callable[[], object],
) -> None:
    """Serve a configuration with several processes, on a listening socket.

    Raises:
        KeyboardInterrupt: SIGINT has shut them down.
    """

    def make_config(handover: Handover | None) -> Any:
        port, log = listener.getsockname()[1], server.serve.log
        start = WorkerStart(server.config, server.options, port, log, handover)
        limits = web_server.uvicorn_limits(server.serve)
        workers = server.serve.workers
        options = {"factory": True, "workers": workers, **limits}
        return web_server.make_config(partial(worker_app, start), options)

    supervisor = WorkerSupervisor(
        make_config, listener, server.handover, announce=announce, count_restart=count_restart
    )
    supervisor.run()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise click.ClickException("the workers cannot start; the log has the reason.")
    if supervisor.is_interrupted:
        raise KeyboardInterrupt
