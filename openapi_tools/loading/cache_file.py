"""A document as an SQLite file: a label, the facts of its tools, and its parts.

One table holds them all as JSON: rows `label`, `facts` and `keys`, and one for each path item,
component and other member, by its JSON Pointer. Each row has a checksum, so that damage which
SQLite does not notice is found when the row is read. Beside it may be the index of its search.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from pydantic_core import from_json, to_json

from openapi_tools._version import __version__
from openapi_tools.errors import InvalidDocument
from openapi_tools.json_values import Node, pointer_token, resolve_pointer
from openapi_tools.loading.lazy_dict import LazyDict
from openapi_tools.loading.loaded_tool import Operations, ToolFacts
from openapi_tools.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from openapi_tools.loading.operations import Document
    from openapi_tools.settings import Settings

_OTHERS_WRITE = 0o022
_HASH = hashlib.sha256().digest_size
_SIDES = 4  # indexes that are kept for a document: its tools differ by settings and configurations
_VERSION = [__version__, 5]  # of the package, and of this form
_SPLIT = frozenset({"paths", "components", "definitions", "parameters", "responses", "webhooks"})
"""Members of the root of which each member is a part of its own."""

_SETUP = """
PRAGMA page_size = 16384;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE part (place TEXT PRIMARY KEY, data BLOB, sum INTEGER);
"""
_DAMAGED = (
    "its copy in the cache is damaged, and was removed; load it again (docs/cache.md has more)."
)


class Label(NamedTuple):
    """The document that a file was made of; hashes are SHA-256, hexadecimal.

    The stamp is size, times and inode of its file; `uri` has no query, whose hash is in `place`.
    """

    source: str = ""
    stamp: list[int] = []  # noqa: RUF012 -- never changed; JSON has no tuples
    digest: str = ""
    length: int = 0
    tools: int = 0
    kept: int = 0
    uri: str = ""
    place: str = ""
    public: bool = False
    etag: str = ""
    modified: str = ""


class UnusableFileError(Exception):
    """The file is damaged, or not one that this version of the package has written."""


class IndexFile(NamedTuple):
    """The search index beside a document's file `path`; `form` is what its tools are made of."""

    path: Path
    form: str

    @classmethod
    def of(cls, path: Path, label: Label, settings: Settings) -> IndexFile:
        """Return the file for a document's tools as the settings form them."""
        copy = label._replace(tools=0)
        return cls(path, repr((__version__, copy, settings.body, settings.media_types)))

    def formed(self, how: str) -> IndexFile:
        """Return the file for the same tools in another form."""
        return self._replace(form=f"{self.form}\0{how}")

    def read(self) -> bytes | None:
        """Return the index that was written; None without one, or for a damaged one."""
        path = self._own()
        with suppress(OSError):
            data = path.read_bytes() if is_trusted(path) else b""
            return data[_HASH:] if data[:_HASH] == self._sum(data[_HASH:]) else None
        return None

    def write(self, data: bytes) -> None:
        """Write an index, unless the document is not in the cache."""
        if is_trusted(self.path):
            with suppress(OSError):
                put(self._own(), lambda path: path.write_bytes(self._sum(data) + data))
                for old in sides(self.path)[_SIDES:]:
                    old.unlink()

    def _own(self) -> Path:
        return self.path.with_name(f"{self.path.stem}-{self._sum(b'').hex()[:16]}.search")

    def _sum(self, data: bytes) -> bytes:
        return hashlib.sha256(self.form.encode("utf-8", "surrogatepass") + b"\0" + data).digest()


def sides(path: Path) -> list[Path]:
    """Return the index files beside a document's file, the last written first."""
    found = path.parent.glob(f"{path.stem}-*.search")
    return sorted(found, key=lambda each: -each.stat().st_mtime)


class CacheFile:
    """A file of the cache, open for reading; with `whole` it is read and verified now."""

    def __init__(self, path: Path, *, whole: bool = False) -> None:
        self._lock = threading.RLock()
        self._rows: dict[str, bytes] | None = None
        # Files are replaced and never changed, so SQLite need not lock them.
        address = f"{path.as_uri()}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        except sqlite3.Error:
            raise UnusableFileError from None
        self.name = path.name
        try:
            version, *label = self._value("label")
            if version != _VERSION:
                raise UnusableFileError
            self.label = Label(*label)
            tools, skipped, warnings, counts, self.remarks = self._value("facts")
            self.operations = Operations(
                list(map(ToolFacts, *tools)),
                [Skipped(*each) for each in skipped],
                lambda: warnings,
                lambda: counts,
            )
            self._keys = self._value("keys")
        except (TypeError, ValueError):
            raise UnusableFileError from None
        if whole:
            self._rows = dict(self._select("SELECT * FROM part"))
            self._connection.close()

    def __del__(self) -> None:
        with suppress(AttributeError, sqlite3.Error):  # of a file that could not be opened
            self._connection.close()

    def root(self, name: str, reread: Callable[[], Any]) -> LazyDict:
        """Return the document, read by parts; `reread` reads it itself where a part is damaged."""
        original: list[Any] = []

        def members(place: str) -> LazyDict:
            return LazyDict(self._keys[place], lambda key: member(place + pointer_token(key)))

        def member(place: str) -> Any:
            if place in self._keys:
                return members(place)
            try:
                return self._value(place)
            except UnusableFileError:
                original[:] = original or [reread()]
            try:
                return resolve_pointer(original[0], place)
            except LookupError:
                raise InvalidDocument(_DAMAGED, source=name) from None

        return members("")

    def _value(self, place: str) -> Any:
        try:
            if self._rows is not None:
                data = self._rows[place]
            else:
                with self._lock:
                    data = dict(self._select("SELECT * FROM part WHERE place = ?", place))[place]
            # A number like `1e400`, which large documents may have, is there as `Infinity`.
            return from_json(data)
        except (KeyError, ValueError):
            raise UnusableFileError from None

    def _select(self, query: str, *values: str) -> Iterator[tuple[str, bytes]]:
        try:
            for place, data, total in self._connection.execute(query, values):
                if not isinstance(data, bytes) or _sum(place, data) != total:
                    raise UnusableFileError
                yield place, data
        except (AttributeError, ValueError, sqlite3.Error):  # other columns or types
            raise UnusableFileError from None


def _sum(place: str, data: bytes) -> int:
    return crc32(data, crc32(place.encode()))


def write_document(path: Path, label: Label, operations: Operations, document: Document) -> None:
    """Write a document and its operations into an empty file; ValueError for other than JSON."""
    keys: dict[str, list[str]] = {}
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(_SETUP)
            connection.execute("BEGIN")
            insert = "INSERT INTO part VALUES (?, ?, ?)"
            connection.executemany(insert, _rows(_parts(document.root, keys)))
            tools, skipped, warnings, counts, _ = operations
            columns = list(zip(*tools, strict=True)) or [()] * len(ToolFacts._fields)
            listed = [[getattr(each, name) for name in Skipped.__match_args__] for each in skipped]
            facts = (columns, listed, warnings(), counts(), document.remarks)
            told = {"label": (_VERSION, *label), "facts": facts, "keys": keys}
            connection.executemany(insert, _rows(told.items()))
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise OSError(str(error)) from None


def is_trusted(path: Path) -> bool:
    """Tell whether a file is regular and the user's alone, and its folder, too."""
    try:
        status = path.lstat()
        return stat.S_ISREG(status.st_mode) and is_ours(status) and is_ours(path.parent.stat())
    except (OSError, ValueError):
        return False


def is_ours(status: os.stat_result) -> bool:
    """Tell whether a file or folder is the user's own and not writable by others."""
    if not hasattr(os, "geteuid"):
        return True  # Windows guards a user's folders by other means
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE


def put(path: Path, fill: Callable[[Path], Any]) -> None:
    """Fill a file beside the named one, and rename it."""
    part = path.with_name(f"new-{os.urandom(8).hex()}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        fill(part)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _rows(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, bytes, int]]:
    for place, value in parts:
        data = to_json(value)
        yield place, data, _sum(place, data)


def _parts(root: Node, keys: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a document by pointer, and record the keys of the split objects."""
    waiting = [("", root, _SPLIT)]
    while waiting:
        place, node, split = waiting.pop()
        keys[place] = list(node)
        for key, value in node.items():
            inner = place + pointer_token(key)
            if key in split and isinstance(value, dict):
                kinds = frozenset(value) if inner == "/components" else frozenset[str]()
                waiting.append((inner, value, kinds))
            else:
                yield inner, value
