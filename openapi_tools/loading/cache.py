"""The document cache: its folder, which documents are in it, and whether a copy is still good.

A file is unchanged as long as its size, times and inode are, a text as long as its hash is; of a
URL its server is asked. Mappings are not cached, nor are documents that refer to others. A failure
of the folder costs time, never a load.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from platformdirs import user_cache_path

from openapi_tools.errors import SourceError, counted
from openapi_tools.json_values import select_attributes
from openapi_tools.loading import cache_file
from openapi_tools.loading.keyword_values import is_longer
from openapi_tools.loading.parse import parse
from openapi_tools.loading.references import Resource
from openapi_tools.loading.source import address_of, read_file, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.load import Reader
    from openapi_tools.loading.loaded_tool import Operations
    from openapi_tools.loading.operations import Document
    from openapi_tools.loading.source import Source
    from openapi_tools.settings import Settings

LIMIT_BYTES = 512 * 1024 * 1024  # the folder is kept below it: the least used files go first
MIN_BYTES = 64 * 1024  # smaller local documents are not cached: parsing them is as fast as a lookup

_FRESH = 100_000_000  # nanoseconds: a file changed more recently may change again with equal times
_SECOND = 1_000_000_000
_COARSE = 20  # factor for `_FRESH` on file systems with times in 1 s (ext3, HFS+) or 2 s (FAT)
_ROOM = 1024 * 1024
_FOLDER = "OPENAPI_TOOLS_CACHE_DIR"
_NAME = re.compile(r"[0-9a-f]{40}\.index")
_PART = re.compile(r"new-[a-z0-9_]+\.part")
_SIDE = re.compile(r"([0-9a-f]{40})-[0-9a-f]{16}\.search")
_DAY = 24 * 60 * 60
_HOUR = 60 * 60
_log = logging.getLogger("openapi_tools.cache")
offline = False
"""Whether copies are used without asking the servers of their URLs: for completion."""


class Entry(NamedTuple):
    """A file of the folder: name (a hash), bytes, day of the last use as seconds since 1970."""

    name: str
    size: int
    used: float

    @property
    def is_whole(self) -> bool:
        """Whether its writer has put it in place; others are unfinished or left by a crash."""
        return _NAME.fullmatch(self.name) is not None


class Hit(NamedTuple):
    """A document from the cache, and its operations."""

    entry: Resource
    operations: Operations
    beside: cache_file.IndexFile
    remarks: tuple[str, ...]


class Miss(NamedTuple):
    """The bytes of a document that is not cached; its label if it is to be, beside its index."""

    source: Source
    label: cache_file.Label | None = None
    beside: cache_file.IndexFile | None = None


def find(source: str | os.PathLike[str] | bytes, reader: Reader) -> Hit | Miss:
    """Return a document from the cache where its copy is still good; errors as of `read_source`."""
    where = address_of(source)
    if isinstance(where, Path):
        return _find_file(where, reader)
    if where is None or reader.fetcher is None:
        return _find_text(source, reader)
    return _find_url(where, reader, reader.fetcher)


def _find_file(path: Path, reader: Reader) -> Hit | Miss:
    settings = reader.settings
    stamp = _stamp(path, settings)
    if stamp is None:
        reader.overlays.check()
        return Miss(read_file(path, settings))

    def reread() -> Any:
        """Return the document in a file that is unchanged, else None."""
        with suppress(SourceError):
            data = read_file(path, settings).data or b""
            if _stamp(path, settings) == stamp:
                return reader.overlays.applied(parse(data, name=str(path)).root)[0]
        return None

    uri = os.path.abspath(path)  # noqa: PTH100 -- as `read_file` has it
    name, copy = _look_up("file", uri, reader)
    if copy is not None and copy.label.stamp == stamp:
        return _hit(copy, reader, Resource(None, uri, str(path)), reread)
    found = read_file(path, settings)
    changed = max(stamp[1:3])
    fresh = _FRESH if changed % _SECOND else _FRESH * _COARSE
    if _stamp(path, settings) != stamp or time.time_ns() - changed < fresh:
        return Miss(found)
    return _to_keep(found, name, reader, source=uri, stamp=stamp)


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


def _find_text(source: Any, reader: Reader) -> Hit | Miss:
    found = read_source(source, reader.settings)
    if len(found.data or b"") < MIN_BYTES:
        return Miss(found)
    digest = found.digest
    name, copy = _look_up("text", digest, reader)
    if copy is not None and copy.label.digest == digest:
        return _hit(copy, reader, Resource(None))
    return _to_keep(found, name, reader, digest=digest)


def _find_url(url: str, reader: Reader, fetcher: Fetcher) -> Hit | Miss:
    if fetcher.is_personal and not offline:
        reader.overlays.check()
        return Miss(fetcher.entry())
    name, copy = _look_up("url", url, reader)
    label = copy.label if copy is not None else cache_file.Label()
    try:
        found = _entry(fetcher, url, label)
        if found.data is None and _place(found) != label.place:
            found = fetcher.entry()  # the 304 is about another document
    except SourceError as error:
        if copy is None or not reader.settings.stale or not error.passing:
            raise
        ago = age(time.time() - label.kept)
        remark = f"{label.source} was not read: {error.reason} This is the copy of {ago} ago."
        entry = Resource(None, label.uri, label.source, public=label.public)
        return _hit(copy, reader, entry, remarks=(remark,))
    if fetcher.is_personal:  # the server asked for credentials during the fetch
        return Miss(found)
    if not found.keep:
        _remove(name)
    digest, place = found.digest, _place(found)
    if copy is not None and (found.data is None or (label.place, label.digest) == (place, digest)):
        fetcher.digest = label.digest
        public = found.public or label.public
        return _hit(copy, reader, Resource(None, found.uri, found.name, public=public))
    own = select_attributes(found, ("public", "etag", "modified"))
    own |= {"source": found.name, "uri": found.uri.partition("?")[0], "place": place}
    return _to_keep(found, name, reader, digest=digest, **own)


def _to_keep(found: Source, name: str, reader: Reader, **facts: Any) -> Miss:
    """Return a document that is not cached, with its place unless its server forbids to keep it."""
    if not found.keep:
        return Miss(found)
    label = cache_file.Label(length=len(found.data or b""), kept=int(time.time()), **facts)
    return Miss(found, label, cache_file.IndexFile.of(folder() / name, label, reader.settings))


def _entry(fetcher: Fetcher, url: str, label: Any) -> Source:
    if offline:
        raise SourceError("its server is not asked.", source=url, passing=True)
    return fetcher.entry(etag=label.etag, modified=label.modified)


def _place(found: Source) -> str:
    """Return a hash of an address, whose query may be a secret."""
    return hashlib.sha256(found.uri.encode()).hexdigest()


def _look_up(kind: str, key: str, reader: Reader) -> tuple[str, cache_file.CacheFile | None]:
    """Return the name of a document's file, which reveals nothing of it, and the file if usable."""
    settings, overlays = reader.settings, reader.overlays
    chosen = (settings.prefix, str(settings.short_names), str(settings.description_chars))
    parts = (kind, key, *chosen, ",".join(settings.describe), overlays.digest)
    text = "\0".join(parts if overlays.digest else parts[:-1])
    name = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40] + ".index"
    copy = _open(name, whole=kind != "file")
    if copy is None or copy.label.length > settings.max_document_bytes:
        overlays.check()
        return name, None
    return name, copy


def _open(name: str, *, whole: bool = False) -> cache_file.CacheFile | None:
    """Return a file that can be used and is the user's alone; `whole` as in `CacheFile`."""
    path = folder().absolute() / name
    with suppress(cache_file.UnusableFileError):
        return cache_file.CacheFile(path, whole=whole) if cache_file.is_trusted(path) else None
    return None


def _hit(
    file: cache_file.CacheFile,
    reader: Reader,
    entry: Resource,
    again: Callable[[], Any] = lambda: None,
    remarks: tuple[str, ...] = (),
) -> Hit:
    """Return a document from the cache; its entry lacks the root, which `again` reads again."""

    def reread() -> Any:
        _remove(file.name)
        return again()

    entry.root = file.root(entry.name, reread)
    path = folder() / file.name
    index = cache_file.IndexFile.of(path, file.label, reader.settings)
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:  # to spare a write at each load
            os.utime(path)
    return Hit(entry, file.operations, index, (*remarks, *file.remarks))


def keep(label: cache_file.Label, path: Path, document: Document, operations: Operations) -> None:
    """Write a document into the cache, unless it refers to others or is too long as JSON."""
    label = label._replace(tools=len(operations.tools))
    # Aliases are written out as JSON.
    entry, most = document.entry, 4 * label.length + _ROOM
    if document.references.alone and (entry.is_tree or not is_longer(entry.root, most)):
        try:
            _write(path, lambda part: cache_file.write_document(part, label, operations, document))
            _remove_sides(path)  # of the copy before
        except (OSError, ValueError) as error:  # half of a surrogate pair, which YAML can write
            _log.debug("not written: %s", getattr(error, "strerror", "") or type(error).__name__)
        else:
            return
    _remove(path.name)


def folder() -> Path:
    """Return the folder, which may not exist: the environment's, or the system's for the user."""
    if named := os.environ.get(_FOLDER):
        return Path(named)
    found = user_cache_path("openapi-tools", appauthor=False)
    # Without a home `~` would be a folder of that name in the current one.
    return found if found.is_absolute() else Path(os.devnull) / found.name


def _write(path: Path, fill: Callable[[Path], Any]) -> None:
    """Fill a file beside the named one, rename it, and make room for it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not cache_file.is_ours(path.parent.stat()):
        _log.debug("not written: others can write into the cache's folder")
        return
    cache_file.put(path, fill)
    found = entries()
    size = sum(entry.size for entry in found)
    for entry in reversed(found):
        left_over = not entry.is_whole and time.time() - entry.used > _HOUR
        if size > LIMIT_BYTES or left_over:
            size -= entry.size * _remove(entry.name)


def _remove(name: str) -> bool:
    path = folder() / name
    with suppress(OSError):
        _remove_sides(path)
        path.unlink()
        return True
    return False


def _remove_sides(path: Path) -> None:
    for side in cache_file.sides(path):
        side.unlink(missing_ok=True)


def entries() -> list[Entry]:
    """Return the files of the package in the folder, unfinished ones too, the last used first."""
    found: dict[str, Entry] = {}
    with suppress(OSError):
        for file in os.scandir(folder()):
            if any(kind.fullmatch(file.name) for kind in (_NAME, _PART, _SIDE)):
                with suppress(OSError):  # another process may have removed it
                    status = file.stat(follow_symlinks=False)
                    found[file.name] = Entry(file.name, status.st_size, status.st_mtime)
    for name in [*found]:
        side = _SIDE.fullmatch(name)
        if side and (whole := found.get(f"{side[1]}.index")):
            found[whole.name] = whole._replace(size=whole.size + found.pop(name).size)
    return sorted(found.values(), key=lambda entry: -entry.used)


def listed() -> Iterator[tuple[Entry, cache_file.Label | None]]:
    """Yield the files of the cache with their labels; None for an unusable file."""
    for entry in entries():
        copy = _open(entry.name) if entry.is_whole else None
        yield entry, None if copy is None else copy.label


def clear() -> tuple[int, int]:
    """Empty the folder, and return how many documents and how many bytes were removed."""
    removed = [entry for entry in entries() if _remove(entry.name)]
    return sum(entry.is_whole for entry in removed), sum(entry.size for entry in removed)


def age(seconds: float) -> str:
    """Return a duration in words, for instance `"3 days"`."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if (count := int(seconds // length)) > 0:
            return f"{counted(count, unit)}"
    return "less than a minute"
