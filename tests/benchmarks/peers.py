"""FastMCP and google-adk, each in an environment of its own or in this one.

`run.py --peers FOLDER` uses those of another folder.
"""

import contextlib
import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from calling import CALLS, find_call
from loading import load_descriptions
from loopback import DOCUMENT
from published import GITHUB, WORK_FOLDER
from rows import Row, at_least
from timing import samples, time_action

FOLDER = WORK_FOLDER / "peers"
FILE = str(GITHUB.file)
_PROGRAMS = Path(__file__).parent / "peer_programs"


class Peer(NamedTuple):
    name: str
    package: str
    program: str
    ready: str
    faster: float
    calls: tuple[str, ...]

    def python(self, folder):
        return find_python(folder, self.package)

    def absent(self, folder):
        if self.python(folder).exists():
            return ""
        return f"not installed: there is no {self.python(folder)}"


def find_python(folder, package):
    """Return the interpreter for a peer: this one if it has no environment of its own."""
    python = folder / package / ("Scripts" if os.name == "nt" else "bin") / "python"
    with contextlib.suppress(PackageNotFoundError):
        if not python.exists() and version(package):
            return Path(sys.executable)
    return python


FASTMCP = Peer(
    "FastMCP", "fastmcp", "fastmcp_tools.py", "from_openapi, list_tools", 40, ("FastMCP: tool.run",)
)
ADK_CALLS = ("google-adk: run_async", "google-adk: run_async, one transport")
ADK = Peer("google-adk", "google-adk", "adk_tools.py", "OpenAPIToolset, get_tools", 40, ADK_CALLS)
PEERS = (FASTMCP, ADK)


class Running:
    def __init__(self, peer, folder):
        self.peer = peer
        command = [str(peer.python(folder)), str(_PROGRAMS / peer.program)]
        pipe = subprocess.PIPE
        self.version = ""
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, do, **question):
        self._process.stdin.write(f"{json.dumps({'do': do, **question})}\n")
        self._process.stdin.flush()
        response = json.loads(self._process.stdout.readline() or "{}")
        if not response or "error" in response:
            raise RuntimeError(f"{self.peer.name}: {response.get('error', 'its process ended')}")
        return response

    def call(self, method):
        name, arguments = find_call(method)
        took = self.ask("call", name=name, arguments=arguments, count=CALLS)
        return {f"{self.peer.name}: {kind}": seconds for kind, seconds in took.items()}

    def close(self):
        self._process.communicate()


@contextlib.contextmanager
def start_peers(folder, url="http://127.0.0.1:9"):
    running = [Running(peer, folder) for peer in PEERS if not peer.absent(folder)]
    try:
        for peer in running:
            peer.version = peer.ask("start", document=DOCUMENT, url=url)["version"]
        yield running
    finally:
        for peer in running:
            peer.close()


def ready(rounds, folder):
    with start_peers(folder) as running:
        runs = []
        for number in range(max(rounds // 3, 1) + 1):
            # The first round is ours alone: theirs take seconds and cache nothing.
            asked = running if number else ()
            run = {peer.peer.name: peer.ask("load", path=FILE)["seconds"] for peer in asked}
            runs.append({**run, "own": time_action(lambda: load_descriptions(GITHUB.file))})
        versions = {peer.peer.name: f"version {peer.version}" for peer in running}
    took = samples(runs)
    yield Row("openapi_tools: load_tools, names, descriptions", took["own"])
    for peer in PEERS:
        name, theirs = f"{peer.name}: json.load, {peer.ready}", took.get(peer.name)
        if theirs is None:
            yield Row(name, note=peer.absent(folder))
        else:
            goals, note = (at_least(peer.faster),), versions[peer.name]
            yield Row(name, theirs, theirs.ratio_to(took["own"]), goals, note=note)
