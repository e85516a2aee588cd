"""Files in the cache's folder: which ones are trusted, and how they are written."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_WRITABLE_BY_OTHERS = 0o022
_HASH_BYTES = hashlib.sha256().digest_size
# Files of each kind beside a document: its tools differ by settings, profiles, configurations.
_MOST_FILES = {"search": 4, "definitions": 8}


class DerivedFile(NamedTuple):
    """A file of data derived from a cached document, such as the search index of its tools.

    Attributes:
        path: The file of the document.
        form: What the data depend on besides the document, such as settings; a file of another
            form is not read.
        kind: `search` for the index, `definitions` for the tools' definitions for a provider.
    """

    path: Path
    form: str
    kind: str = "search"

    def with_form(self, addition: str) -> DerivedFile:
        """Return the file for the same tools in another form."""
        return self._replace(form=f"{self.form}\0{addition}")

    def definitions_file(self, form: str) -> DerivedFile:
        """Return the file for the definitions of the tools in a form."""
        return self.with_form(form)._replace(kind="definitions")

    def read(self) -> bytes | None:
        """Return the data; None if there is none, or if it is damaged."""
        path = self._derived_path()
        with suppress(OSError):
            content = path.read_bytes() if is_trusted(path) else b""
            data = content[_HASH_BYTES:]
            return data if content[:_HASH_BYTES] == self._hash(data) else None
        return None

    def write(self, data: bytes) -> None:
        """Write data, unless the document is not in the cache."""
        if is_trusted(self.path):
            with suppress(OSError):
                replace_cache_file(
                    self._derived_path(), lambda path: path.write_bytes(self._hash(data) + data)
                )
                for old in derived_paths(self.path, self.kind)[_MOST_FILES[self.kind] :]:
                    old.unlink()

    def _derived_path(self) -> Path:
        return self.path.with_name(f"{self.path.stem}-{self._hash(b'').hex()[:16]}.{self.kind}")

    def _hash(self, data: bytes) -> bytes:
        return hashlib.sha256(self.form.encode("utf-8", "surrogatepass") + b"\0" + data).digest()


def derived_paths(path: Path, kind: str = "*") -> list[Path]:
    """Return the files that are derived from a document's file, the last written first."""
    paths = path.parent.glob(f"{path.stem}-*.{kind}")
    return sorted(paths, key=lambda each: -each.stat().st_mtime)


def is_trusted(path: Path) -> bool:
    """Return whether a file is regular, and it and its folder belong to the user alone."""
    # Whoever can write into the cache decides which tools a model gets, and where they send.
    try:
        status = path.lstat()
        return stat.S_ISREG(status.st_mode) and is_ours(status) and is_ours(path.parent.stat())
    except (OSError, ValueError):
        return False


def is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder is the user's own and not writable by others."""
    if not hasattr(os, "geteuid"):
        return True  # Windows guards a user's folders by other means
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


def replace_cache_file(path: Path, fill: Callable[[Path], Any]) -> None:
    """Fill a new file next to the named one, and rename it."""
    part = path.with_name(f"new-{os.urandom(8).hex()}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        fill(part)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
