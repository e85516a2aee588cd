"""FastMCP and google-adk, each in an environment of its own.

python tests/benchmarks/peers.py --install [FOLDER]

makes those environments, with the versions that are published; `run.py --peers FOLDER` uses them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from answering import BODY, DOCUMENT, QUERY
from calling import CALLS
from loading import described
from published import GITHUB, MADE
from rows import Row, at_least
from timing import Sample, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = MADE / "peers"
_PROGRAMS = Path(__file__).parent / "peer_programs"


class Peer(NamedTuple):
    name: str
    package: str
    program: str
    ready: str
    faster: float
    calls: tuple[str, ...]

    def python(self, folder: Path) -> Path:
        return folder / self.package / ("Scripts" if os.name == "nt" else "bin") / "python"

    def absent(self, folder: Path) -> str:
        if self.python(folder).exists():
            return ""
        return "not installed: python tests/benchmarks/peers.py --install"


FASTMCP = Peer(
    "FastMCP", "fastmcp", "fastmcp_tools.py", "from_openapi, list_tools", 20, ("FastMCP: tool.run",)
)
ADK = Peer(
    "google-adk",
    "google-adk",
    "adk_tools.py",
    "OpenAPIToolset, get_tools",
    40,
    ("google-adk: run_async", "google-adk: run_async, one transport"),
)
PEERS = (FASTMCP, ADK)


class Running:
    def __init__(self, peer: Peer, folder: Path) -> None:
        self.peer = peer
        command = [str(peer.python(folder)), str(_PROGRAMS / peer.program)]
        pipe = subprocess.PIPE
        self.version = ""
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, do: str, **question: Any) -> dict[str, Any]:
        self._process.stdin.write(f"{json.dumps({'do': do, **question})}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline() or "{}")
        if not answer or "error" in answer:
            raise RuntimeError(f"{self.peer.name}: {answer.get('error', 'its process ended')}")
        return answer

    def call(self, method: str) -> dict[str, float]:
        name = "list" if method == "GET" else "create"
        arguments = {"owner": "ada", "repo": "rex", **(QUERY if method == "GET" else BODY)}
        took = self.ask("call", name=name, arguments=arguments, count=CALLS)
        return {f"{self.peer.name}: {kind}": seconds for kind, seconds in took.items()}

    def close(self) -> None:
        self._process.communicate()


@contextlib.contextmanager
def started(folder: Path, url: str = "http://127.0.0.1:9") -> Iterator[list[Running]]:
    running = [Running(peer, folder) for peer in PEERS if not peer.absent(folder)]
    try:
        for peer in running:
            peer.version = peer.ask("start", document=DOCUMENT, url=url)["version"]
        yield running
    finally:
        for peer in running:
            peer.close()


def ready(rounds: int, folder: Path) -> Iterator[Row]:
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    with started(folder) as running:
        for number in range(max(rounds // 3, 1) + 1):
            seconds = {peer.peer.name: _load(peer) for peer in running if number}
            own = timed(lambda: described(GITHUB.file))
            if number:  # the first round is ours alone: theirs take seconds and cache nothing
                ours.append(own)
                for name, value in seconds.items():
                    theirs.setdefault(name, []).append(value)
        versions = {peer.peer.name: f"version {peer.version}" for peer in running}
    own = Sample(tuple(ours))
    yield Row("openapi_tools: load_tools, names, descriptions", own)
    for peer in PEERS:
        name, took = f"{peer.name}: json.load, {peer.ready}", theirs.get(peer.name)
        if took is None:
            yield Row(name, note=peer.absent(folder))
        else:
            sample = Sample(tuple(took))
            goals = (at_least(peer.faster),)
            yield Row(name, sample, sample.over(own), goals, note=versions[peer.name])


def _load(running: Running) -> float:
    return running.ask("load", path=str(GITHUB.file))["seconds"]


def install(folder: Path) -> None:
    for peer in PEERS:
        venv.create(folder / peer.package, with_pip=True)
        pip = [str(peer.python(folder)), "-m", "pip", "install", "--quiet", peer.package]
        subprocess.run(pip, check=True)
        print(f"{peer.name} is in {folder / peer.package}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--install", nargs="?", const=FOLDER, type=Path, required=True)
    install(parser.parse_args().install.resolve())


if __name__ == "__main__":
    main()
