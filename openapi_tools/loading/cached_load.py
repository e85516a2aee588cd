"""Loads through the cache: whether a document is cached, and whether its copy is still good.

A file is unchanged as long as its size, times and inode are, a text as long as its hash is; of a
URL its server is asked. Mappings are not cached, nor are documents that refer to others.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import SourceError
from openapi_tools.loading import cache
from openapi_tools.loading.cache_file import (
    CacheFile,
    Label,
    UnusableFileError,
    write_document,
)
from openapi_tools.loading.parse import parse
from openapi_tools.loading.references import Resource
from openapi_tools.loading.source import address_of, read_file, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.loaded_tool import Facts
    from openapi_tools.loading.operations import Document
    from openapi_tools.loading.source import Source
    from openapi_tools.settings import Settings

MIN_BYTES = 64 * 1024
"""Smaller local documents are not cached: parsing them is as fast as a lookup."""

_FRESH = 100_000_000
"""Nanoseconds: a file that changed just now may change again without its times telling."""

_SECOND = 1_000_000_000
_COARSE = 20
"""So many times `_FRESH` where a file system counts seconds (ext3, HFS+), or every other (FAT)."""

_ROOM = 1024 * 1024
_log = logging.getLogger("openapi_tools.cache")


class Slot(NamedTuple):
    """Where a document is to be cached.

    Attributes:
        name: Of the file.
        label: All of it but the number of tools.
    """

    name: str
    label: Label


class Hit(NamedTuple):
    """A document from the cache.

    Attributes:
        entry: The document.
        facts: Of its tools.
        remarks: How old the copy is, where that matters.
    """

    entry: Resource
    facts: Facts
    remarks: tuple[str, ...] = ()


class Miss(NamedTuple):
    """A document that is not cached.

    Attributes:
        source: Its bytes.
        slot: Where it is to be cached; None where it is not.
    """

    source: Source
    slot: Slot | None = None


def find(
    source: str | os.PathLike[str] | bytes, settings: Settings, fetcher: Fetcher | None
) -> Hit | Miss:
    """Return a document, from the cache where its copy is there and still good.

    Args:
        source: As for `load_tools`, but not a mapping.
        settings: Limits what may be read, and shapes tools.
        fetcher: As `fetcher_of` makes it of the source.

    Raises:
        SourceError: It cannot be read.
    """
    where = address_of(source)
    if isinstance(where, Path):
        return _find_file(where, settings)
    if where is None or fetcher is None:
        return _find_text(source, settings)
    return _find_url(where, settings, fetcher)


def keep(slot: Slot, document: Document, facts: Facts) -> None:
    """Write a document into the cache, unless it refers to others or is too long as JSON.

    Args:
        slot: Where.
        document: The document.
        facts: Of its tools.
    """
    label = slot.label._replace(tools=len(facts.tools))
    room = 4 * label.length + _ROOM
    if not document.references.alone or _is_longer(document.entry, room):
        cache.remove_file(slot.name)
        return
    try:
        cache.write_file(slot.name, lambda path: write_document(path, label, facts, document.root))
    except ValueError as error:  # half of a surrogate pair, which YAML can write
        _log.debug("not kept: %s", error)
        cache.remove_file(slot.name)


def listed() -> Iterator[tuple[cache.Entry, Label | None]]:
    """Yield the files of the cache with their labels; None for a file of no use."""
    for entry in cache.entries():
        path = cache.trusted_file(entry.name) if entry.is_whole else None
        try:
            yield entry, None if path is None else CacheFile(path).label
        except UnusableFileError:
            yield entry, None


def _is_longer(entry: Resource, limit: int) -> bool:
    """Tell whether a document with aliases is longer as JSON, where they are written out."""
    size, stack = 0, [] if entry.is_tree else [entry.root]
    while stack and size <= limit:
        node = stack.pop()
        if isinstance(node, dict):
            size += sum(map(len, node)) + 4 * len(node)
            stack += node.values()
        elif isinstance(node, list):
            size += len(node)
            stack += node
        else:
            size += len(node) if isinstance(node, str) else 8
    return size > limit


def _name(kind: str, key: str, settings: Settings) -> str:
    """Return the name of a document's file, which reveals nothing of it."""
    text = "\0".join((kind, key, settings.prefix, str(settings.description_chars)))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40] + ".index"


def _open(name: str, settings: Settings, *, whole: bool = False) -> CacheFile | None:
    """Return a file of the cache that can be used; `whole` as in `CacheFile`."""
    path = cache.trusted_file(name)
    if path is None:
        return None
    try:
        file = CacheFile(path, whole=whole)
    except UnusableFileError:
        return None
    return file if file.label.length <= settings.max_document_bytes else None


def _hit(file: CacheFile, entry: Resource, again: Callable[[], Any], *remarks: str) -> Hit:
    """Return a document from the cache; its entry lacks the root, which `again` reads again."""

    def reread() -> Any:
        cache.remove_file(file.name)
        return again()

    entry.root = file.root(entry.name, reread)
    cache.note_use(file.name)
    return Hit(entry, file.facts, remarks)


def _no_original() -> None:
    """Give no document, where it cannot be read a second time."""


def _find_file(path: Path, settings: Settings) -> Hit | Miss:
    stamp = _stamp(path, settings)
    if stamp is None:
        return Miss(read_file(path, settings))
    uri = os.path.abspath(path)  # noqa: PTH100 -- as `read_file` has it
    name = _name("file", uri, settings)
    copy = _open(name, settings)
    if copy is not None and copy.label.stamp == stamp:
        return _hit(copy, Resource(None, uri, str(path)), lambda: _reread(path, stamp, settings))
    found = read_file(path, settings)
    if _stamp(path, settings) != stamp or _is_fresh(max(stamp[1:3])):
        return Miss(found)
    return Miss(found, Slot(name, Label(uri, stamp, length=stamp[0], kept=int(time.time()))))


def _stamp(path: Path, settings: Settings) -> list[int] | None:
    """Return a file's size, times and inode; None for one that is not to be cached."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    if not MIN_BYTES <= status.st_size <= settings.max_document_bytes:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def _is_fresh(changed: int) -> bool:
    """Tell whether a file that changed then may have changed since without its times telling."""
    return time.time_ns() - changed < _FRESH * (1 if changed % _SECOND else _COARSE)


def _reread(path: Path, stamp: list[int], settings: Settings) -> Any:
    """Return the document in a file that is unchanged, else None."""
    try:
        data = read_file(path, settings).data or b""
    except SourceError:
        return None
    return parse(data, name=str(path)).root if _stamp(path, settings) == stamp else None


def _find_text(source: Any, settings: Settings) -> Hit | Miss:
    found = read_source(source, settings)
    length = len(found.data or b"")
    if length < MIN_BYTES:
        return Miss(found)
    digest = found.digest
    name = _name("text", digest, settings)
    copy = _open(name, settings, whole=True)
    if copy is not None and copy.label.digest == digest:
        return _hit(copy, Resource(None), _no_original)
    return Miss(found, Slot(name, Label(digest=digest, length=length, kept=int(time.time()))))


def _find_url(url: str, settings: Settings, fetcher: Fetcher) -> Hit | Miss:
    if fetcher.is_personal:
        return Miss(fetcher.entry())
    name = _name("url", url, settings)
    copy = _open(name, settings, whole=True)
    label = copy.label if copy is not None else Label()
    try:
        found = fetcher.entry(etag=label.etag, modified=label.modified)
        if found.data is None and _place(found) != label.place:
            found = fetcher.entry()  # another document is the one that is not modified
    except SourceError as error:
        if copy is None or not settings.stale or not error.passing:
            raise
        return _stale(copy, error)
    if fetcher.is_personal:  # by now: its server asked for credentials
        return Miss(found)
    if not found.keep:
        cache.remove_file(name)
    if copy is not None and _is_same(found, label):
        fetcher.digest = label.digest
        public = found.public or label.public
        return _hit(copy, Resource(None, found.uri, found.name, public=public), _no_original)
    return Miss(found, Slot(name, _label(found)) if found.keep else None)


def _is_same(found: Source, label: Label) -> bool:
    """Tell whether the cached document is the one that its server has."""
    if found.data is None:
        return True
    return label.place == _place(found) and label.digest == found.digest


def _label(found: Source) -> Label:
    return Label(
        found.name,
        digest=found.digest,
        length=len(found.data or b""),
        kept=int(time.time()),
        uri=found.uri.partition("?")[0],
        place=_place(found),
        public=found.public,
        etag=found.etag,
        modified=found.modified,
    )


def _place(found: Source) -> str:
    """Return a hash of an address, whose query may be a secret."""
    return hashlib.sha256(found.uri.encode()).hexdigest()


def _stale(copy: CacheFile, error: SourceError) -> Hit:
    """Return the copy of a document whose server does not answer."""
    label = copy.label
    ago = cache.age(time.time() - label.kept)
    remark = f"{label.source} was not read: {error.reason} This is the copy of {ago} ago."
    entry = Resource(None, label.uri, label.source, public=label.public)
    return _hit(copy, entry, _no_original, remark)
