"""Read a document from a URL, a path, text or bytes, or take a parsed mapping."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from openapi_tools.errors import InvalidDocument, InvalidOverlay, SettingsError, SourceError
from openapi_tools.http_rules import WEB
from openapi_tools.json_values import dump_json_bytes
from openapi_tools.loading import MAX_DEPTH, plain
from openapi_tools.loading.parse import Parsed, parse
from openapi_tools.options import kind_of

if TYPE_CHECKING:
    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.options import Client
    from openapi_tools.settings import Settings
    from openapi_tools.shaping.overlays import Overlay

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=\S)")
_HOST = re.compile(
    r"(?P<local>localhost|\[[0-9A-Fa-f:.]+\]|[0-9.]+|[A-Za-z0-9.-]+(?=:))(?::[0-9]{1,5})?/\S*"
    r"|(?:[A-Za-z0-9-]+\.)+(?!(?:json|ya?ml)/)[A-Za-z]{2,}/\S*"
)
"""A host and a path. One on this machine, or with a port, most often speaks plain http."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document's origin and bytes, or a mapping as `value`; neither if it did not change.

    `uri` is the base of references, without user; its name has no query. `keep` is not `no-store`.
    """

    data: bytes | None
    value: Mapping[str, Any] | None = None
    uri: str = ""
    name: str = ""
    public: bool = False
    etag: str = ""
    modified: str = ""
    keep: bool = True

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hexadecimal digits."""
        return hashlib.sha256(self.data or b"").hexdigest()


def fetcher_of(
    source: object,
    settings: Settings,
    credentials: Any = None,
    client: Client | None = None,
    *,
    record: FetchRecord | None = None,
) -> Fetcher | None:
    """Return the fetcher of one load, by arguments of `load_tools`; None if it is not of a URL."""
    where = address_of(source)
    if not isinstance(where, str):
        return None
    from openapi_tools.loading.fetching import Fetcher

    if getattr(client, "fetches_documents", True) is False:
        client = None  # of `openapi_tools.testing`
    return Fetcher(where, settings, credentials, client, record=record)


def read_source(
    source: str | os.PathLike[str] | bytes | bytearray | Mapping[str, Any],
    settings: Settings,
    fetcher: Fetcher | None = None,
) -> Source:
    """Read a document from any source: a text is a URL, a document by its looks, or a path."""
    if isinstance(source, Mapping):
        return Source(None, source)
    where = address_of(source)
    if isinstance(where, Path):
        return read_file(where, settings)
    if fetcher := fetcher or fetcher_of(source, settings):
        return fetcher.entry()
    if not isinstance(source, str | bytes | bytearray):
        kind = type(source).__name__
        raise SourceError(f"a document is a URL, a path, a dict, text or bytes, not {kind!r}.")
    try:
        data = source.encode() if isinstance(source, str) else bytes(source)
    except UnicodeEncodeError as error:
        raise SourceError(f"the text has half a surrogate pair at offset {error.start}.") from None
    if len(data) > settings.max_document_bytes:
        raise too_large(settings.max_document_bytes, "")
    return Source(data)


def address_of(source: object) -> str | Path | None:
    """Return the URL or the path that a source is; None when it is a document itself."""
    if isinstance(source, os.PathLike):
        return Path(os.fsdecode(source))
    if not isinstance(source, str):
        return None
    if WEB.match(source):
        return source
    if "\n" in source or not source.strip() or source.lstrip()[0] in "{[<":
        return None  # a document
    check_host(source)
    if scheme := _SCHEME.match(source):
        raise SourceError(
            f"{scheme[1].lower()!r} addresses are not read; give the path instead, or http(s)."
        )
    return Path(source)


def check_host(source: str) -> None:
    """Raise SourceError for an address without `http://` or `https://` that is no file either."""
    host = _HOST.fullmatch(source)
    if host is None or Path(source).exists():
        return
    scheme = "http" if host["local"] else "https"
    raise SourceError(f"no such file; did you mean {scheme}://{source}?", source=source)


def read_file(path: Path, settings: Settings) -> Source:
    """Read a file, after a check of its kind and size; devices and pipes may never end."""
    name, limit = str(path), settings.max_document_bytes
    try:
        _check_kind(path.stat().st_mode, name)
        at_once = getattr(os, "O_NONBLOCK", 0)  # should a pipe have taken the place of the file
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
            status = os.fstat(file.fileno())
            _check_kind(status.st_mode, name)
            # One byte more than allowed tells that the file has grown.
            data = file.read(limit + 1) if status.st_size <= limit else None
        if data is None or len(data) > limit:
            raise too_large(limit, name)
    except FileNotFoundError:
        raise SourceError("no such file.", source=name) from None
    except PermissionError:
        raise SourceError("may not be read.", source=name) from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror or type(error).__name__})."
        raise SourceError(reason, source=name) from None
    except ValueError:
        raise SourceError("is not a valid path.", source=name) from None
    # References are relative to the path as given, not to where a link leads: no `resolve()`.
    return Source(data, uri=os.path.abspath(path), name=name)  # noqa: PTH100 -- as said


def too_large(limit: int, name: str) -> SourceError:
    """Return the error for a document over the limit, in bytes."""
    reason = f"larger than {limit:,} bytes; raise Settings(max_document_bytes=…) if that is right."
    return SourceError(reason, source=name)


def _check_kind(mode: int, name: str) -> None:
    if stat.S_ISDIR(mode):
        raise SourceError("is a folder; give the document's file.", source=name)
    if not stat.S_ISREG(mode):
        raise SourceError("is not a regular file but a device, pipe or socket.", source=name)


def relative_place(uri: str, entry: str) -> str:
    """Return a resource's path from the entry document; its bare URL at another origin."""
    if uri == entry:
        return ""
    there, here = urlsplit(uri), urlsplit(entry)
    if (there.scheme, there.hostname, there.port) != (here.scheme, here.hostname, here.port):
        return f"{there.scheme}://{there.hostname}:{there.port or ''}{there.path}"
    return posixpath.relpath(there.path or "/", posixpath.dirname(here.path) or "/")


class Overlays:
    """The overlays of one load, read at once; their `digest` is of names and contents, or empty."""

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        self._sources = [
            source if source.name else replace(source, name=f"overlays[{index}]")
            for index, source in enumerate(sources)
        ]
        self._made: list[Overlay] | None = None if sources else []
        parts = [part for source in self._sources for part in _key(source)]
        self.digest = hashlib.sha256(dump_json_bytes(parts)).hexdigest() if parts else ""
        self._remarks: list[str] = []

    def check(self) -> None:
        """Check them all, or raise InvalidOverlay for the first mistake."""
        if self._made is None:
            from openapi_tools import json_paths
            from openapi_tools.shaping import overlays

            self._apply, self._queries = overlays.apply_overlays, json_paths.Queries()
            parsed = [(source.name, _parsed_overlay(source)) for source in self._sources]
            self._made = [
                overlays.read_overlay(found.root, name, self._queries) for name, found in parsed
            ]
            self._remarks = [f"{name}: {told}" for name, found in parsed for told in found.warnings]

    def applied(self, root: Any, *addresses: str) -> tuple[Any, list[str]]:
        """Return a document with the overlays applied, and warnings; `addresses` are its own."""
        self.check()
        if not self._made:
            return root, []
        others = [
            f"{source.name}#/extends: {overlay.extends!r:.200} is not the document that is loaded."
            for source, overlay in zip(self._sources, self._made, strict=True)
            if _is_of_another(overlay.extends, source.uri, addresses)
        ]
        root, warnings = self._apply(root, self._made, self._queries, max_depth=MAX_DEPTH)
        return root, [*self._remarks, *others, *warnings]


NO_OVERLAYS = Overlays()


def read_overlays(
    given: Any,
    settings: Settings,
    fetcher: Fetcher | None,
    *,
    record: FetchRecord | None = None,
    **more: Any,
) -> Overlays:
    """Read the overlays of one load; credentials go to origins that the settings name."""
    if isinstance(given, str | os.PathLike | bytes | Mapping):
        given = [given]
    if not isinstance(given, list | tuple):
        form = 'a list of URLs, paths, dicts or texts, as ["overlay.yaml"]'
        raise SettingsError(f"overlays: give {form}, not {kind_of(given)}.")

    def read(source: Any) -> Source:
        if fetcher is not None and isinstance(where := address_of(source), str):
            return fetcher.fetch(where)
        known = more if settings.credential_origins else {}
        return read_source(source, settings, fetcher_of(source, settings, **known, record=record))

    return Overlays(list(map(read, given)))


def _key(source: Source) -> tuple[str, str]:
    if source.value is None:
        return source.name, source.digest
    text = dump_json_bytes(_parsed_overlay(source).root)
    return source.name, hashlib.sha256(text).hexdigest()


def _parsed_overlay(source: Source) -> Parsed:
    try:
        if source.value is not None:
            return Parsed(plain(source.value, name=source.name))
        return parse(source.data or b"", name=source.name, wanted="'overlay'")
    except InvalidDocument as error:
        raise InvalidOverlay(error.reason, source=source.name, pointer=error.pointer) from None


def _is_of_another(extends: str, base: str, addresses: Sequence[str]) -> bool:
    """Tell whether an overlay names a place of the same kind as the document's, but another."""
    try:
        if WEB.match(extends) or WEB.match(base):
            named = _bare_url(urljoin(base, extends))
            known = [_bare_url(address) for address in addresses if WEB.match(address)]
        else:
            path = Path(base).parent / unquote(urlsplit(extends).path)
            named = os.path.realpath(path)
            known = [os.path.realpath(a) for a in addresses if a and not WEB.match(a)]
            known = known if base or path.is_absolute() else []
    except ValueError:  # not a URL, or not a path
        return True
    return bool(extends and known) and named not in known


def _bare_url(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".lower()
