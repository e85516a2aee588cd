"""A server as several processes, with uvicorn's own supervisor; needs the extra `serve`."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.errors import OpenAPIToolsError, requiring
from openapi_tools.serving.audit_log import logger
from openapi_tools.serving.team_server import Started, WebServer, started, uvicorn_limits
from openapi_tools.serving.web_server import config_of

if TYPE_CHECKING:
    import socket

with requiring("serve"):  # the extra `mcp` may bring an older uvicorn
    from uvicorn.config import STARTUP_FAILURE
    from uvicorn.supervisors import Multiprocess

OPTIONS = "OPENAPI_TOOLS_SERVE"
"""The variable that tells workers the file and the options of the command; it holds no secret."""
_FACTORY = "openapi_tools.serving.worker_processes:worker_app"


class _Workers(Multiprocess):
    def handle_hup(self) -> None:
        """Have each worker read its documents again."""
        for process in self.processes:
            if process.pid is not None:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(process.pid, signal.SIGHUP)


def worker_app() -> Any:
    """Return the app of a worker, as the variable `OPTIONS` says."""
    told = json.loads(os.environ[OPTIONS])
    try:
        found = started(told["config"], told["given"], logs=True, again=True)
    except OpenAPIToolsError as error:  # the file was changed; the supervisor tries again
        logger.error("%s", error)
        raise SystemExit(1) from None
    return WebServer(found, told["port"]).app


def run_workers(server: Started, place: socket.socket) -> None:
    """Serve a configuration with several processes, on a socket that listens."""
    options = {"config": server.config, "given": server.given, "port": place.getsockname()[1]}
    with tempfile.TemporaryDirectory(prefix="openapi-tools-") as folder:
        os.environ |= {OPTIONS: json.dumps(options), "PROMETHEUS_MULTIPROC_DIR": folder}
        told = {"factory": True, "workers": server.serve.workers, **uvicorn_limits(server.serve)}
        workers = _Workers(config_of(_FACTORY, **told), [place])
        workers.run()
    if any(process.exitcode == STARTUP_FAILURE for process in workers.processes):
        raise click.ClickException("the workers cannot start; the log has the reason.")
