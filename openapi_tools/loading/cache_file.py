"""A document as an SQLite file: a label, the facts of its tools, and its parts.

One table holds them all as JSON: rows `label` and `facts`, and one for each path item, component
and other part, by its JSON Pointer; the keys of an object that is split into parts are in a row of
their own. Each row has a checksum, so that damage which SQLite does not notice is found when the
row is read.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from pydantic_core import from_json, to_json

from openapi_tools._version import __version__
from openapi_tools.common.json_values import Node, PausedGC, pointer_token, resolve_pointer
from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.lazy_dict import LazyDict
from openapi_tools.loading.tool_operations import DocumentOperations, ToolFacts
from openapi_tools.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from openapi_tools.loading.document import Document

_VERSION = [__version__, 8]  # of the package, and of this form
# Properties of the root whose own properties are parts.
_SPLIT = frozenset({"paths", "components", "definitions", "parameters", "responses", "webhooks"})

# No journal and no sync: a file is written once, beside its place, and renamed; a broken one is
# found by its checksums.
_SETUP = """
PRAGMA page_size = 16384;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE part (place TEXT PRIMARY KEY, data BLOB, sum INTEGER);
"""
_ROW = "SELECT data, sum FROM part WHERE place = ?"
_DAMAGED = (
    "its cached copy was damaged and has been removed; load it again (docs/cache.md has more)."
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


# Makes a tuple of each row without running Python code for it.
_make_facts = partial(tuple.__new__, ToolFacts)


class UnusableFileError(Exception):
    """The file is damaged, or not one that this version of the package has written."""


class DocumentFile:
    """A file of the cache, open for reading; with `whole` it is read and verified now."""

    def __init__(self, path: Path, *, whole: bool = False) -> None:
        # Threads share one connection; a row may be read while another is decoded.
        self._lock = threading.RLock()
        self._rows: dict[str, bytes] | None = None
        # Files are replaced and never changed, so SQLite need not lock them.
        address = f"{path.as_uri()}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            # SQLite would keep 2 MB of pages of each document. Rows are read once, so only the few
            # pages of the index are used again.
            self._connection.execute("PRAGMA cache_size = 8")
        except sqlite3.Error:
            raise UnusableFileError from None
        self.name = path.name
        try:
            version, *label = self._value("label")
            if version != _VERSION:
                raise UnusableFileError
            self.label = Label(*label)
            tools, skipped, self._warnings, self._counts, self.remarks, self._root_keys = (
                self._value("facts")
            )
            if len(tools) != len(ToolFacts._fields) or not _are_keys(self._root_keys):
                raise UnusableFileError
            self._tools = list(map(_make_facts, zip(*tools, strict=True)))
            self._skipped = [Skipped(*each) for each in skipped]
        except (TypeError, ValueError):
            raise UnusableFileError from None
        if whole:
            self._rows = dict(self._read_rows())
            self._connection.close()

    def __del__(self) -> None:
        with suppress(AttributeError, sqlite3.Error):  # of a file that could not be opened
            self._connection.close()

    def operations(self, document: Document) -> DocumentOperations:
        """Return the operations of the document that is made of this file."""
        warnings, counts = self._warnings, self._counts
        return DocumentOperations(
            document, self._tools, self._skipped, lambda: warnings, lambda: counts
        )

    def root(self, name: str, reread: Callable[[], Any]) -> LazyDict:
        """Return the document, read by parts; `reread` reads the original if a part is damaged."""
        original: list[Any] = []

        def lazy_object(place: str, keys: list[str]) -> LazyDict:
            return LazyDict(keys, lambda key: part(place + pointer_token(key)))

        def part(place: str) -> Any:
            try:
                keys = self._keys_at(place)
                return self._value(place) if keys is None else lazy_object(place, keys)
            except UnusableFileError:
                original[:] = original or [reread()]
            try:
                return resolve_pointer(original[0], place)
            except LookupError:
                raise InvalidDocument(_DAMAGED, source=name) from None

        return lazy_object("", self._root_keys)

    def _keys_at(self, place: str) -> list[str] | None:
        # Those of an object that is split into parts, else None.
        first, _, inner = place[1:].partition("/")
        if first not in _SPLIT or (inner and (first != "components" or "/" in inner)):
            return None
        with suppress(UnusableFileError):  # no such row: another value is there
            keys = self._value(f"keys{place}")
            return keys if _are_keys(keys) else None
        return None

    def _value(self, place: str) -> Any:
        try:
            if self._rows is not None:
                data = self._rows[place]
            else:
                with self._lock:
                    row = self._connection.execute(_ROW, (place,)).fetchone()
                data = _check_row(place, *row)
            # A number like `1e400`, which large documents may have, is there as `Infinity`.
            with PausedGC():
                return from_json(data)
        except (KeyError, TypeError, ValueError, sqlite3.Error):  # no such row, or another type
            raise UnusableFileError from None

    def _read_rows(self) -> Iterator[tuple[str, bytes]]:
        try:
            for place, data, total in self._connection.execute("SELECT * FROM part"):
                yield place, _check_row(place, data, total)
        except (AttributeError, ValueError, sqlite3.Error):  # other columns or types
            raise UnusableFileError from None


def _are_keys(value: Any) -> bool:
    return isinstance(value, list) and {*map(type, value)} <= {str}


def _check_row(place: str, data: Any, total: Any) -> bytes:
    if not isinstance(data, bytes) or _checksum(place, data) != total:
        raise UnusableFileError
    return data


def _checksum(place: str, data: bytes) -> int:
    return crc32(data, crc32(place.encode()))


def write_document(path: Path, label: Label, operations: DocumentOperations) -> None:
    """Write a document and its operations into an empty file; ValueError for other than JSON."""
    document = operations.document
    # No journal and no fsync: the file is renamed when it is whole, and checksums find what a
    # crash of the machine loses.
    keys: dict[str, list[str]] = {}
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(_SETUP)
            connection.execute("BEGIN")
            insert = "INSERT INTO part VALUES (?, ?, ?)"
            connection.executemany(insert, _rows(_parts(document.root, keys)))
            tools = list(zip(*operations.tools, strict=True)) or [()] * len(ToolFacts._fields)
            fields = Skipped.__match_args__
            skipped = [[getattr(each, name) for name in fields] for each in operations.skipped]
            warnings, counts = operations.warnings(), operations.counts()
            facts = (tools, skipped, warnings, counts, document.remarks, keys.pop(""))
            rows: Node = {"label": (_VERSION, *label), "facts": facts}
            rows |= {f"keys{place}": names for place, names in keys.items()}
            connection.executemany(insert, _rows(rows.items()))
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise OSError(str(error)) from None


def _rows(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, bytes, int]]:
    for place, value in parts:
        data = to_json(value)
        yield place, data, _checksum(place, data)


def _parts(root: Node, keys: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    # A tool reads its path item and the components it refers to, of thousands.
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
