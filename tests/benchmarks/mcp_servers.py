"""MCP servers as processes: ours, that of the package `mcp` alone, FastMCP's and mcpify's."""

import contextlib
import importlib.metadata
import os
import resource
import socket
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from loopback import DOCUMENT
from mcp_messages import INITIALIZED, LIST, initialization
from peers import find_python
from timing import cpu_clock, memory_of

_PROGRAMS = Path(__file__).parent / "peer_programs"
_PATIENCE = 60.0


@dataclass(frozen=True)
class Program:
    """A server: its command for a document, without and with a port.

    Attributes:
        package: The distribution whose version is printed.
        python: Runs it, if there is such a file.
        options: Added to the command.
        checkout: A folder with the package `openapi_tools`, in place of the installed one.
    """

    name: str
    package: str
    python: Path
    words: tuple[str, ...]
    http_words: tuple[str, ...]
    options: tuple[str, ...] = ()
    checkout: Path | None = None

    def stdio_command(self, document):
        return self._fill_in((*self.words, *self.options), document, 0)

    def http_command(self, document, port):
        return self._fill_in((*self.http_words, *self.options), document, port)

    def environment(self, variables=None):
        # Without compiled modules every process would compile what it imports. `-m` would look in
        # the working directory first, which may be a checkout, too.
        isolation = (
            {}
            if self.checkout is None
            else {"PYTHONPATH": str(self.checkout), "PYTHONSAFEPATH": "1"}
        )
        return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **isolation, **(variables or {})}

    def _fill_in(self, words, document, port):
        filled = (word.format(document=document, port=port) for word in words)
        return [str(self.python), *filled]

    def version(self):
        """Return the version; empty if it is not installed."""
        if not self.python.exists():
            return ""
        look = f"from importlib.metadata import version; print(version({self.package!r}))"
        done = subprocess.run(
            [str(self.python), "-c", look], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def missing(self):
        """Return why it is not measured; empty if it is."""
        return "" if self.version() else f"not measured: {self.package} is not installed"


def serving_programs(folder, older=None):
    """Return the servers that are compared, by a short key.

    Args:
        folder: Where servers have environments of their own; `openapi-tools` is also that of the
            bare server.
        older: Another checkout of this package, measured beside it.
    """
    python = find_python(folder, "openapi-tools")
    bare, fastmcp = (str(_PROGRAMS / name) for name in ("bare_server.py", "fastmcp_server.py"))
    serve = ("-m", "openapi_tools", "serve", "{document}")
    mcpify = ("-m", "mcpify", "serve", "{document}")
    programs = {
        "bare": Program(
            "package mcp alone, JSON", "mcp", python, (bare, "stdio"), (bare, "http", "{port}")
        ),
        "own": Program(
            "openapi-tools serve",
            "openapi-tools",
            python,
            serve,
            (*serve, "--transport", "http", "--port", "{port}"),
        ),
        "fastmcp": Program(
            "FastMCP",
            "fastmcp",
            find_python(folder, "fastmcp"),
            (fastmcp, "{document}", "stdio"),
            (fastmcp, "{document}", "http", "{port}"),
        ),
        "mcpify": Program(
            "mcpify serve",
            "mcpify-openapi",
            find_python(folder, "mcpify"),
            mcpify,
            (*mcpify, "--http", "{port}"),
        ),
    }
    if older is not None:
        name = f"{programs['own'].name} of {older.name}"
        programs["older"] = replace(programs["own"], name=name, checkout=older)
    return programs


def with_options(program, options):
    """Return a server whose command has further options."""
    return replace(program, options=options)


def small_document(url="http://127.0.0.1:9"):
    return {**DOCUMENT, "servers": [{"url": url}]}


def start_once(program, document, variables=None):
    """Return CPU seconds and peak MiB of a process that lists its tools over stdio, and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        program.stdio_command(document),
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
        env=program.environment(variables),
    ) as process:
        _send_line(process, initialization())
        process.stdout.readline()
        _send_line(process, INITIALIZED)
        _send_line(process, LIST)
        tools = process.stdout.readline()
        peak = memory_of(process.pid, "VmHWM")
        process.stdin.close()
        process.wait(_PATIENCE)
    if b'"tools"' not in tools:
        raise RuntimeError(f"{program.name} lists no tools: {tools[:200]!r}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, peak


def _send_line(process, message):
    process.stdin.write(message + b"\n")
    process.stdin.flush()


@dataclass(frozen=True)
class RunningServer:
    port: int
    pid: int

    def cpu(self):
        return cpu_clock(self.pid)


@contextlib.contextmanager
def run_server(program, document, variables=None):
    """Run a server over HTTP on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nothing = subprocess.DEVNULL
    command = program.http_command(document, port)
    environment = program.environment(variables)
    process = subprocess.Popen(command, stdout=nothing, stderr=nothing, env=environment)
    try:
        _wait_for_port(process, port)
        yield RunningServer(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait_for_port(process, port):
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args} does not listen")


def versions(programs):
    """Return the versions of what is measured, for the head of the output."""
    by_package = {program.package: program.version() for program in programs.values()}
    by_package |= {
        name: _installed_version(name) for name in ("pydantic-monty", "redis", "uvicorn")
    }
    return ", ".join(f"{name} {version}" for name, version in by_package.items() if version)


def _installed_version(name):
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return ""
