"""Notices when code reaches for the network, for another process or for somebody's files."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOUD = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec")
_OWN = tuple(
    os.path.realpath(folder)
    for folder in {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])}
)


class _Watch:
    """What was seen while somebody looked; hooks cannot be taken out again."""

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        self.folders: tuple[str, ...] = ()
        self.added = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.seen is None:
            return
        if event.startswith(_LOUD) or (event == "open" and self._is_strange(arguments[0])):
            self.seen.append(f"{event} {arguments!r:.200}")

    def _is_strange(self, path: Any) -> bool:
        """Whether a path is neither a module of ours nor of Python."""
        if not isinstance(path, str | bytes):
            return False
        return not os.path.realpath(os.fsdecode(path)).startswith((*_OWN, *self.folders))


_watch = _Watch()


@contextmanager
def nothing_reached(*folders: Path) -> Iterator[None]:
    """Fail if a connection is made, a process started, or a file opened outside some folders."""
    if not _watch.added:
        _watch.added = True
        sys.addaudithook(_watch)
    _watch.seen, _watch.folders = [], tuple(os.path.realpath(folder) for folder in folders)
    try:
        yield
        assert _watch.seen == [], _watch.seen
    finally:
        _watch.seen = None
