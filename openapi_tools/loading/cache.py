"""The document cache: its folder, which documents are in it, and whether a copy is still valid.

A copy of a file is valid while its size, times and inode are the same, that of a string while its
hash is, that of a URL while its server says so. Mappings are not cached, nor are documents that
refer to others. A failure of the folder costs time, never a load.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from platformdirs import user_cache_path

from openapi_tools._version import __version__
from openapi_tools.errors import SourceError, format_count
from openapi_tools.loading import cache_file, cache_folder
from openapi_tools.loading import source as sources
from openapi_tools.loading.keyword_values import is_longer
from openapi_tools.loading.references import Resource
from openapi_tools.loading.source import (
    NO_SOURCE,
    Source,
    address_of,
    parse_document,
    read_file,
    read_source,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.document_overlays import Overlays
    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.tool_operations import DocumentOperations
    from openapi_tools.settings import Settings

LIMIT_BYTES = 512 * 1024 * 1024  # of the folder; the least recently used files go first

_FRESH = 100_000_000  # nanoseconds: a file changed more recently may change again with equal times
_SECOND = 1_000_000_000
_COARSE = 20  # factor for `_FRESH` on file systems with times in 1 s (ext3, HFS+) or 2 s (FAT)
_ALLOWANCE = 1024 * 1024  # bytes that the JSON of any document may have
_FOLDER = "OPENAPI_TOOLS_CACHE_DIR"
_DOCUMENT_NAME = re.compile(r"[0-9a-f]{40}\.index")
_PART_NAME = re.compile(r"new-[a-z0-9_]+\.part")
_DERIVED_NAME = re.compile(r"([0-9a-f]{40})-[0-9a-f]{16}\.(?:search|definitions)")
_NAMES = (_DOCUMENT_NAME, _PART_NAME, _DERIVED_NAME)
_DAY = 24 * 60 * 60
_HOUR = 60 * 60
_log = logging.getLogger("openapi_tools.cache")
offline = False
"""Whether copies are used without asking the servers of their URLs: for completion."""


class CacheEntry(NamedTuple):
    """A file of the folder: name (a hash), bytes, day of the last use as seconds since 1970."""

    name: str
    size: int
    used: float

    @property
    def is_whole(self) -> bool:
        """Whether its writer has put it in place; others are unfinished or left by a crash."""
        return _DOCUMENT_NAME.fullmatch(self.name) is not None


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """A document as the cache has it, or its source.

    Attributes:
        file: The copy in the cache, if it is still good.
        entry: The document in it, whose root is read by parts.
        source: The bytes that have to be parsed otherwise.
        label: That of the copy to write; None for a document that is not to be cached.
        derived_file: What is made of its tools, such as their search index.
        remarks: Warnings of the load that wrote the copy, and about its age.
    """

    file: cache_file.DocumentFile | None = None
    entry: Resource | None = None
    source: Source = NO_SOURCE
    label: cache_file.Label | None = None
    derived_file: cache_folder.DerivedFile | None = None
    remarks: tuple[str, ...] = ()


class DocumentCache:
    """Looks one load's document up in the cache, and writes it there."""

    def __init__(self, settings: Settings, overlays: Overlays, fetcher: Fetcher | None) -> None:
        self._settings = settings
        self._overlays = overlays
        self._fetcher = fetcher

    def look_up(self, source: str | os.PathLike[str] | bytes) -> CacheLookup:
        """Return a document from the cache if its copy is still valid, else its source.

        Raises:
            SourceError: The source cannot be read.
            InvalidOverlay: The document is not cached, and an overlay is wrong.
        """
        address = address_of(source)
        if isinstance(address, Path):
            return self._look_up_file(address)
        if address is None or self._fetcher is None:
            return self._look_up_string(source)
        return self._look_up_url(address, self._fetcher)

    def write_copy(self, lookup: CacheLookup, operations: DocumentOperations) -> None:
        """Write a document into the cache, if its lookup says so.

        Not one that refers to others, whose changes would not be noticed, nor one that is too long
        as JSON.
        """
        if lookup.label is None or lookup.derived_file is None:
            return
        label, path = lookup.label._replace(tools=len(operations.tools)), lookup.derived_file.path
        # YAML's aliases are written out as JSON.
        entry, most = operations.document.entry, 4 * label.length + _ALLOWANCE
        is_single = operations.document.references.is_single
        if is_single and (entry.is_tree or not is_longer(entry.root, most)):
            try:
                _write(path, lambda part: cache_file.write_document(part, label, operations))
                _remove_derived(path)  # of the copy before
            except (OSError, ValueError) as error:  # a lone surrogate, which YAML can write
                _log.debug(
                    "not written: %s", getattr(error, "strerror", "") or type(error).__name__
                )
            else:
                return
        _remove(path.name)

    def _look_up_file(self, path: Path) -> CacheLookup:
        # Taken before the file is read: a change during that makes the stamps differ.
        stamp = _stamp(path, self._settings)
        if stamp is None:
            self._overlays.check()
            return CacheLookup(source=read_file(path, self._settings))

        def reread() -> Any:
            """Return the document in a file that is unchanged, else None."""
            with suppress(SourceError):
                data = read_file(path, self._settings).data or b""
                if _stamp(path, self._settings) == stamp:
                    root = parse_document(data, name=str(path)).root
                    return self._overlays.apply(root)[0]
            return None

        uri = os.path.abspath(path)  # noqa: PTH100 -- as `read_file` has it
        name, file = self._open_copy("file", uri)
        if file is not None and file.label.stamp == stamp:
            return self._use_copy(file, Resource(None, uri, str(path)), reread)
        source = read_file(path, self._settings)
        # Another change within the resolution of the clock would leave the stamp as it is.
        changed = max(stamp[1:3])
        fresh = _FRESH if changed % _SECOND else _FRESH * _COARSE
        if _stamp(path, self._settings) != stamp or time.time_ns() - changed < fresh:
            return CacheLookup(source=source)
        return self._plan_copy(source, name, cache_file.Label(source=uri, stamp=stamp))

    def _look_up_string(self, source: Any) -> CacheLookup:
        document = read_source(source, self._settings)
        if len(document.data or b"") < sources.MIN_CACHED_BYTES:
            return CacheLookup(source=document)
        digest = document.digest
        name, file = self._open_copy("text", digest)
        if file is not None and file.label.digest == digest:
            return self._use_copy(file, Resource(None))
        return self._plan_copy(document, name, cache_file.Label(digest=digest))

    def _look_up_url(self, url: str, fetcher: Fetcher) -> CacheLookup:
        if fetcher.is_personal and not offline:
            self._overlays.check()
            # A document behind a login may differ by user, and must not be readable in a shared
            # folder.
            return CacheLookup(source=fetcher.fetch_entry())
        name, file = self._open_copy("url", url)
        label = file.label if file is not None else cache_file.Label()
        try:
            source = _fetch_changes(fetcher, url, label)
            if source.data is None and _hash_address(source) != label.place:
                source = fetcher.fetch_entry()  # the 304 is about another document
        except SourceError as error:
            if file is None or not self._settings.stale or not error.passing:
                raise
            age = describe_age(time.time() - label.kept)
            remark = (
                f"{label.source} was not read: {error.reason} The cached copy is from {age} ago."
            )
            entry = Resource(None, label.uri, label.source, public=label.public)
            return self._use_copy(file, entry, remarks=(remark,))
        if fetcher.is_personal:  # the server asked for credentials during the fetch
            return CacheLookup(source=source)
        if not source.can_store:
            _remove(name)
        digest, place = source.digest, _hash_address(source)
        is_same = source.data is None or (label.place, label.digest) == (place, digest)
        if file is not None and is_same:
            fetcher.digest = label.digest
            is_public = source.public or label.public
            return self._use_copy(file, Resource(None, source.uri, source.name, public=is_public))
        label = cache_file.Label(
            source=source.name,
            digest=digest,
            uri=source.uri.partition("?")[0],
            place=place,
            public=source.public,
            etag=source.etag,
            modified=source.modified,
        )
        return self._plan_copy(source, name, label)

    def _open_copy(self, kind: str, key: str) -> tuple[str, cache_file.DocumentFile | None]:
        # Settings that shape names and descriptions are part of the name; those of schemas are not,
        # as schemas are built from the copy.
        settings, overlays = self._settings, self._overlays
        options = (settings.prefix, str(settings.short_names), str(settings.description_chars))
        parts = (kind, key, *options, ",".join(settings.describe), overlays.digest)
        text = "\0".join(parts if overlays.digest else parts[:-1])
        name = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40] + ".index"
        file = _open(name, whole=kind != "file")
        if file is None or file.label.length > settings.max_document_bytes:
            overlays.check()
            return name, None
        return name, file

    def _use_copy(
        self,
        file: cache_file.DocumentFile,
        entry: Resource,
        reread: Callable[[], Any] = lambda: None,
        remarks: tuple[str, ...] = (),
    ) -> CacheLookup:
        def replace_damaged() -> Any:
            _remove(file.name)
            return reread()

        entry.root = file.root(entry.name, replace_damaged)
        path = folder() / file.name
        derived_file = self._derived_file(path, file.label)
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _DAY:  # avoids a write at each load
                os.utime(path)
        return CacheLookup(
            file, entry, derived_file=derived_file, remarks=(*remarks, *file.remarks)
        )

    def _plan_copy(self, source: Source, name: str, label: cache_file.Label) -> CacheLookup:
        if not source.can_store:
            return CacheLookup(source=source)
        label = label._replace(length=len(source.data or b""), kept=int(time.time()))
        derived_file = self._derived_file(folder() / name, label)
        return CacheLookup(source=source, label=label, derived_file=derived_file)

    def _derived_file(self, path: Path, label: cache_file.Label) -> cache_folder.DerivedFile:
        label, settings = label._replace(tools=0), self._settings
        has_store = settings.files is not None or settings.download_dir is not None
        # What schemas depend on, beside the settings that the name of the file is made of.
        files = has_store, bool(settings.file_roots)
        form = repr((__version__, label, settings.body, settings.media_types, files))
        return cache_folder.DerivedFile(path, form)


def _stamp(path: Path, settings: Settings) -> list[int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    if not sources.MIN_CACHED_BYTES <= status.st_size <= settings.max_document_bytes:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def _fetch_changes(fetcher: Fetcher, url: str, label: cache_file.Label) -> Source:
    if offline:
        raise SourceError("its server is not contacted.", source=url, passing=True)
    return fetcher.fetch_entry(etag=label.etag, modified=label.modified)


def _hash_address(source: Source) -> str:
    # The query of a URL may be a secret, which a label must not hold.
    return hashlib.sha256(source.uri.encode()).hexdigest()


def _open(name: str, *, whole: bool = False) -> cache_file.DocumentFile | None:
    path = folder().absolute() / name
    with suppress(cache_file.UnusableFileError):
        if cache_folder.is_trusted(path):
            return cache_file.DocumentFile(path, whole=whole)
    return None


def folder() -> Path:
    """Return the folder, which may not exist: the environment's, or the system's for the user."""
    if path := os.environ.get(_FOLDER):
        return Path(path)
    default = user_cache_path("openapi-tools", appauthor=False)
    # Without a home `~` would be a folder of that name in the current one.
    return default if default.is_absolute() else Path(os.devnull) / default.name


def _write(path: Path, fill: Callable[[Path], Any]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Who can write into the folder could replace the file before it is read.
    if not cache_folder.is_ours(path.parent.stat()):
        _log.debug("not written: others can write into the cache's folder")
        return
    cache_folder.replace_cache_file(path, fill)
    listed = entries()
    size = sum(entry.size for entry in listed)
    for entry in reversed(listed):  # the least used first
        is_left_over = not entry.is_whole and time.time() - entry.used > _HOUR
        if size > LIMIT_BYTES or is_left_over:
            size -= entry.size * _remove(entry.name)


def _remove(name: str) -> bool:
    path = folder() / name
    with suppress(OSError):
        _remove_derived(path)
        path.unlink()
        return True
    return False


def _remove_derived(path: Path) -> None:
    for derived in cache_folder.derived_paths(path):
        derived.unlink(missing_ok=True)


def entries() -> list[CacheEntry]:
    """Return the files of the package in the folder, unfinished ones too, the last used first."""
    by_name: dict[str, CacheEntry] = {}
    with suppress(OSError):
        for file in os.scandir(folder()):
            if any(
                kind.fullmatch(file.name) for kind in (_DOCUMENT_NAME, _PART_NAME, _DERIVED_NAME)
            ):
                with suppress(OSError):  # another process may have removed it
                    status = file.stat(follow_symlinks=False)
                    by_name[file.name] = CacheEntry(file.name, status.st_size, status.st_mtime)
    for name in [*by_name]:
        derived = _DERIVED_NAME.fullmatch(name)
        if derived and (document := by_name.get(f"{derived[1]}.index")):
            size = document.size + by_name.pop(name).size
            by_name[document.name] = document._replace(size=size)
    return sorted(by_name.values(), key=lambda entry: -entry.used)


def labelled_entries() -> Iterator[tuple[CacheEntry, cache_file.Label | None]]:
    """Yield the files of the cache with their labels; None for an unusable file."""
    for entry in entries():
        file = _open(entry.name) if entry.is_whole else None
        yield entry, None if file is None else file.label


def clear() -> tuple[int, int]:
    """Empty the folder, and return how many documents and how many bytes were removed."""
    removed = [entry for entry in entries() if _remove(entry.name)]
    return sum(entry.is_whole for entry in removed), sum(entry.size for entry in removed)


def describe_age(seconds: float) -> str:
    """Return a duration in words, for instance `"3 days"`."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if (count := int(seconds // length)) > 0:
            return f"{format_count(count, unit)}"
    return "less than a minute"
