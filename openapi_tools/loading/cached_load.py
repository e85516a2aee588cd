"""A load through the cache: what is kept of a document already, and what will be.

A file is the same as long as its size, times and inode are, a text as long as its hash is; of a URL
its server is asked. A mapping is not kept, nor is a document that refers to others.
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
from openapi_tools.loading.cache import (
    entries,
    is_whole,
    note_use,
    open_file,
    remove_file,
    write_file,
)
from openapi_tools.loading.cache_file import Facts, Label, read_index, read_label, write_index
from openapi_tools.loading.lazy_document import Area, Slices
from openapi_tools.loading.parse import parse
from openapi_tools.loading.references import Resource
from openapi_tools.loading.source import address_of, read_file, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.cache import Entry
    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.operations import Document
    from openapi_tools.loading.source import Source
    from openapi_tools.settings import Settings

MIN_BYTES = 64 * 1024
"""A smaller document, unless it is fetched, is parsed as fast as it is looked for."""

_FRESH = 100_000_000
"""Nanoseconds: a file that changed just now may change again without its times telling."""

_SECOND = 1_000_000_000
_COARSE = 20
"""So many times `_FRESH` where a file system counts seconds (ext3, HFS+), or every other (FAT)."""

_ROOM = 1024 * 1024
_log = logging.getLogger("openapi_tools.cache")


class Slot(NamedTuple):
    """Where a document is to be kept.

    Attributes:
        name: Of the file.
        label: All of it but the number of tools.
    """

    name: str
    label: Label


class Found(NamedTuple):
    """A document, from the cache or not.

    Attributes:
        entry: The document.
        remarks: What its parser remarked, and how old a copy is where that matters.
        facts: What is known of its operations; None when it was parsed.
        slot: Where it is to be kept; None when it is, or is not to be.
    """

    entry: Resource
    remarks: tuple[str, ...] = ()
    facts: Facts | None = None
    slot: Slot | None = None


class _Kept(NamedTuple):
    """A file of the cache that was read; `root` gives the document, by name and second source."""

    name: str
    label: Label
    facts: Facts
    root: Callable[[str, Callable[[], Any]], Slices]


def find(
    source: str | os.PathLike[str] | bytes, settings: Settings, fetcher: Fetcher | None
) -> Found:
    """Return a document, from the cache where it is there and still the same.

    Args:
        source: As for `load_tools`, but for a mapping.
        settings: Says what may be read, and what tools look like.
        fetcher: As `fetcher_of` makes it of the source.

    Raises:
        SourceError: It cannot be read.
        DocumentError: It cannot be parsed.
    """
    where = address_of(source)
    if isinstance(where, Path):
        return _find_file(where, settings)
    if where is None or fetcher is None:
        return _find_text(source, settings)
    return _find_url(where, settings, fetcher)


def keep(slot: Slot, document: Document, facts: Facts) -> None:
    """Write what the next load of a document need not find out again.

    Args:
        slot: Where.
        document: Which refers to no other one; else it is not kept.
        facts: What was found.
    """
    label = slot.label._replace(tools=len(facts.names))
    if not document.references.alone:
        remove_file(slot.name)
        return
    try:
        write_file(slot.name, lambda write: write_index(label, facts, document.root, write))
    except ValueError as error:  # half of a surrogate pair, which YAML can write
        _log.debug("not kept: %s", error)
        remove_file(slot.name)


def _name(kind: str, key: str, settings: Settings) -> str:
    """Return the name of a document's file, which tells nothing of it."""
    text = "\0".join((kind, key, settings.prefix, str(settings.description_chars)))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40] + ".index"


def _open(name: str, settings: Settings, *, whole: bool = False) -> _Kept | None:
    """Return what is kept under a name, if it is good and not larger than allowed.

    Args:
        name: Of the file.
        settings: For `max_document_bytes`.
        whole: Look for damage everywhere now: the document cannot be read again later.
    """
    view = open_file(name)
    if view is not None and whole:
        view.hold()
    index = read_index(view, whole=whole) if view is not None else None
    if view is None or index is None or index.label.length > settings.max_document_bytes:
        return None

    def root(called: str, again: Callable[[], Any]) -> Slices:
        def healed() -> Any:
            remove_file(name)
            return again()

        return Slices(Area(view, name=called, again=healed), index.table)

    return _Kept(name, index.label, index.facts, root)


def _nothing() -> None:
    """Give no document, where it cannot be read a second time."""


def listed() -> Iterator[tuple[Entry, Label | None]]:
    """Yield the files of the cache, and of which document each is; None for what is no good."""
    for entry in entries():
        view = open_file(entry.name) if is_whole(entry) else None
        found = read_label(view) if view is not None else None
        yield entry, found[0] if found is not None else None


def _hit(kept: _Kept, entry: Resource, *remarks: str) -> Found:
    note_use(kept.name)
    return Found(entry, (*remarks, *kept.facts.remarks), kept.facts)


def _parsed(found: Source, slot: Slot | None = None) -> Found:
    """Return a document that was not kept, to be kept where it can be."""
    data = found.data or b""
    parsed = parse(data, name=found.name)
    if slot is not None and not parsed.is_tree:
        room = 4 * len(data) + _ROOM
        if _weight(parsed.root, room) > room:
            remove_file(slot.name)
            slot = None
    entry = Resource(parsed.root, found.uri, found.name, public=found.public)
    return Found(entry, parsed.warnings, slot=slot)


def _weight(root: Any, limit: int) -> int:
    """Return about how long a document is as JSON, aliases written out, or more than the limit."""
    size, stack = 0, [root]
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
    return size


def _find_file(path: Path, settings: Settings) -> Found:
    stamp = _stamp(path, settings)
    if stamp is None:
        return _parsed(read_file(path, settings))
    uri = os.path.abspath(path)  # noqa: PTH100 -- as `read_file` has it
    name = _name("file", uri, settings)
    kept = _open(name, settings)
    if kept is not None and kept.label.stamp == stamp:

        def again() -> Any:
            return _reread(path, stamp, settings)

        return _hit(kept, Resource(kept.root(str(path), again), uri, str(path)))
    found = read_file(path, settings)
    if _stamp(path, settings) != stamp or _is_fresh(max(stamp[1:3])):
        return _parsed(found)
    label = Label(uri, stamp, length=stamp[0], kept=int(time.time()))
    return _parsed(found, Slot(name, label))


def _stamp(path: Path, settings: Settings) -> list[int] | None:
    """Return what tells whether a file is still the same; None for one that is not kept."""
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
    """Return the document in a file that is still the same, else None."""
    try:
        data = read_file(path, settings).data or b""
    except SourceError:
        return None
    return parse(data, name=str(path)).root if _stamp(path, settings) == stamp else None


def _find_text(source: Any, settings: Settings) -> Found:
    found = read_source(source, settings)
    if len(found.data or b"") < MIN_BYTES:
        return _parsed(found)
    digest = found.digest
    name = _name("text", digest, settings)
    kept = _open(name, settings, whole=True)
    if kept is not None and kept.label.digest == digest:
        return _hit(kept, Resource(kept.root("", _nothing)))
    label = Label(digest=digest, length=len(found.data or b""), kept=int(time.time()))
    return _parsed(found, Slot(name, label))


def _find_url(url: str, settings: Settings, fetcher: Fetcher) -> Found:
    if fetcher.is_personal:
        return _parsed(fetcher.entry())
    name = _name("url", url, settings)
    kept = _open(name, settings, whole=True)
    label = kept.label if kept is not None else Label()
    try:
        found = fetcher.entry(etag=label.etag, modified=label.modified)
        if found.data is None and _place(found) != label.place:
            found = fetcher.entry()  # what is not modified is another document
    except SourceError as error:
        if kept is None or not settings.stale or not error.passing:
            raise
        return _stale(kept, error)
    if fetcher.is_personal:  # by now: its server asked for credentials
        return _parsed(found)
    if not found.keep:
        remove_file(name)
    if kept is not None and _is_same(found, label):
        root = kept.root(found.name, _nothing)
        public = found.public or label.public
        fetcher.digest = label.digest
        return _hit(kept, Resource(root, found.uri, found.name, public=public))
    return _parsed(found, Slot(name, _label(found)) if found.keep else None)


def _is_same(found: Source, label: Label) -> bool:
    """Tell whether what is kept is what its server has."""
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
    """Return what stands for an address whose query may be a secret."""
    return hashlib.sha256(found.uri.encode()).hexdigest()


def _stale(kept: _Kept, error: SourceError) -> Found:
    """Return the copy of a document whose server does not answer."""
    label = kept.label
    ago = age(time.time() - label.kept)
    remark = f"{label.source} was not read: {error.reason} This is the copy of {ago} ago."
    root = kept.root(label.source, _nothing)
    entry = Resource(root, label.uri, label.source, public=label.public)
    return _hit(kept, entry, remark)


def age(seconds: float) -> str:
    """Return a time in words, for instance `"3 days"`.

    Args:
        seconds: How long it is.
    """
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if (count := int(seconds // length)) > 0:
            return f"{count} {unit}{'s' * (count > 1)}"
    return "less than a minute"
