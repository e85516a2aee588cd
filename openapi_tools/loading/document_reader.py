"""Read the document of one load, and the documents that its references name.

Spec: OpenAPI 3.2.0, section 4.6; RFC 3986, section 5 (relative references).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from openapi_tools.common.http_rules import WEB_URL
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.errors import DocumentError, SettingsError, UnresolvableReference
from openapi_tools.loading.document import Document
from openapi_tools.loading.document_overlays import Overlays, list_overlays
from openapi_tools.loading.plain_data import as_plain_data
from openapi_tools.loading.references import Resource
from openapi_tools.loading.source import (
    address_of,
    is_small_file,
    parse_document,
    read_file,
    read_source,
)

if TYPE_CHECKING:
    import asyncio

    from openapi_tools.common.options import Client
    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.source import Source
    from openapi_tools.settings import Settings


@dataclass(frozen=True, slots=True, repr=False)
class LoadOptions:
    """Arguments of `load_tools`, or those merged with a configuration."""

    source: Any
    settings: Settings
    credentials: Any = None
    overlays: Any = ()
    client: Client | None = None
    strict: bool = False


EMPTY_OPTIONS = LoadOptions("", DEFAULT_SETTINGS)
"""Options without secrets, which replace others in the frames of a traceback."""


class DocumentReader:
    """Reads the document of one load: from its source, or as its server gives it to the user.

    With `find_duplicates` it looks for duplicate keys in documents of any size.
    """

    def __init__(
        self,
        options: LoadOptions,
        *,
        find_duplicates: bool = False,
        record: FetchRecord | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.options = options
        self.settings = options.settings
        self._find_duplicates = find_duplicates or options.strict
        self._record = record
        self.fetcher: Fetcher | None = None
        url = address_of(options.source)
        if isinstance(url, str):
            self.fetcher = make_fetcher(
                url,
                self.settings,
                credentials=options.credentials,
                client=options.client,
                record=record,
                loop=loop,
            )

    @property
    def can_use_cache(self) -> bool:
        """Whether the cache is on, and may have the document."""
        is_off = os.environ.get("OPENAPI_TOOLS_CACHE", "").strip().lower() == "off"
        # `strict` looks for faults that only the document's own text shows.
        is_possible = not self.options.strict and not isinstance(self.options.source, Mapping)
        # Start-up time: a small file needs none of what the cache imports.
        is_on = self.settings.cache and not is_off and not is_small_file(self.options.source)
        return is_possible and is_on and find_spec("_sqlite3") is not None

    @cached_property
    def overlays(self) -> Overlays:
        """The overlays, read before the document."""
        return Overlays(list(map(self._read_overlay, list_overlays(self.options.overlays))))

    def _read_overlay(self, overlay: Any) -> Source:
        url = address_of(overlay)
        if not isinstance(url, str):
            return read_source(overlay, self.settings)
        if self.fetcher is not None:
            return self.fetcher.fetch(url)
        # Without a document on the web only the settings say where credentials may go.
        is_named = self.settings.credential_origins
        fetcher = make_fetcher(
            url,
            self.settings,
            credentials=self.options.credentials if is_named else None,
            client=self.options.client if is_named else None,
            record=self._record,
        )
        return fetcher.fetch_entry()

    def _apply_overlays(self, root: Any, *addresses: str) -> tuple[Any, tuple[str, ...]]:
        if self.options.overlays in ((), []):
            return root, ()
        root, remarks = self.overlays.apply(root, *addresses)
        return root, tuple(remarks)

    def read(self) -> Document:
        """Return the parsed document; raise as `load_tools` does."""
        if self.options.overlays not in ((), []):
            self.overlays.check()  # before the document is fetched
        if self.fetcher is not None:
            source = self.fetcher.fetch_entry()
        else:
            source = read_source(self.options.source, self.settings)
        if source.value is None:
            return self.read_as_user(self.parse(source))
        root, remarks = self._apply_overlays(as_plain_data(source.value, name=source.name))
        return self.make_document(Resource(root, name=source.name), remarks)

    def parse(self, source: Source) -> Document:
        """Return the document in the bytes of a source."""
        parsed = parse_document(
            source.data or b"",
            name=source.name,
            find_duplicates=self._find_duplicates or None,
            strict=self.options.strict,
        )
        root, remarks = self._apply_overlays(parsed.root, source.uri, source.name)
        entry = Resource(root, source.uri, source.name, public=source.public)
        entry.is_tree = parsed.is_tree and root is parsed.root
        return self.make_document(entry, (*parsed.warnings, *remarks))

    def make_document(self, entry: Resource, remarks: tuple[str, ...]) -> Document:
        """Return the document with a parsed root, which resolves references on demand."""
        retriever = DocumentRetriever(
            entry, self.settings, self.fetcher, strict=self.options.strict
        )
        return Document(entry, self.settings, retriever, remarks)

    def read_as_user(self, document: Document) -> Document:
        """Return the document as its server gives it to the user; itself where it is the same."""
        # Some servers list only what the user may call (SERVE_PUBLIC of drf-spectacular). Only the
        # document says how credentials are sent, so it is fetched first without them.
        fetcher = self.fetcher
        if fetcher is None or not fetcher.digest:
            return document
        security = document.security
        requirements = security.requirements(document.root, document.entry)
        source = fetcher.fetch_as_user(security.schemes, requirements, document.root_servers)
        if source is None:
            return document
        try:
            return self.parse(source)
        except DocumentError as error:
            fetcher.warn(error.reason)
            return document

    def release_loop(self) -> None:
        """Let later fetches use a loop of their own: the caller no longer waits in its own."""
        if self.fetcher is not None:
            self.fetcher.loop = None


class DocumentRetriever:
    """Reads the documents that references name: files below a folder, URLs below the document's.

    It holds no `Document`: in a cycle of objects that would outlive its tools.
    """

    def __init__(
        self,
        entry: Resource,
        settings: Settings,
        fetcher: Fetcher | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self._entry = entry
        self._settings = settings
        self._fetcher = fetcher
        self._strict = strict
        self._resources = {entry.uri: entry} if entry.uri else {}
        self._parser_warnings: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about fetching, and those of the parser about other documents."""
        fetcher_warnings = () if self._fetcher is None else self._fetcher.warnings
        return (*fetcher_warnings, *self._parser_warnings)

    def retrieve(self, address: str, base: Resource) -> Resource:
        """Return the document at an address, relative to that of the document that names it.

        Raises:
            UnresolvableReference: The user has not allowed to read from there.
            SourceError: It cannot be read.
            InvalidDocument: It is neither JSON nor YAML.
        """
        source = self._read(address, base)
        # Several references may lead to one document, by redirects or symbolic links.
        if source.uri not in self._resources:
            parsed = parse_document(source.data or b"", name=source.name, strict=self._strict)
            self._parser_warnings += [f"{source.name}#{warning}" for warning in parsed.warnings]
            self._resources[source.uri] = Resource(
                parsed.root, source.uri, source.name, public=source.public
            )
        return self._resources[source.uri]

    def _read(self, address: str, base: Resource) -> Source:
        url = urljoin(base.uri, address) if WEB_URL.match(base.uri) else address
        if not WEB_URL.match(url) and not url.startswith("//"):
            return read_file(self._resolve_path(address, base), self._settings)
        self._check_url(url)
        if self._fetcher is None:
            self._fetcher = make_fetcher(url, self._settings)
        return self._fetcher.fetch(url, found_in_public=base.public)

    def _check_url(self, url: str) -> None:
        # A document must not make its reader send requests wherever it likes (SSRF): only URLs
        # below its own folder are fetched, and those that the user allows.
        folder = urljoin(self._entry.uri, ".") if WEB_URL.match(self._entry.uri) else ""
        # Servers decode once or twice before they resolve `..`, and some take `\\` for `/`.
        is_plain = ".." not in unquote(unquote(url)) and "\\" not in unquote(url)
        for prefix in filter(None, (folder, *self._settings.ref_urls)):
            is_below = url.startswith(f"{prefix.removesuffix('/')}/")  # at a path boundary
            if is_plain and (url == prefix or is_below):
                return
        advice = "allow it with Settings(ref_urls=[…]) or bundle the document."
        reason = f"points to another URL, which is not read; {advice}"
        raise UnresolvableReference(reason, source=self._entry.name)

    def _resolve_path(self, address: str, base: Resource) -> Path:
        # A document must not show files of this machine to a model: only those below its folder, or
        # below `ref_root`, are read.
        is_file = bool(base.uri) and not WEB_URL.match(base.uri)
        own_folder = Path(self._entry.uri).parent if is_file and self._entry.uri else None
        root = self._settings.ref_root or own_folder
        name = unquote(address)
        # On Windows a colon or two backslashes begin a drive, a stream or a host.
        if root is None or ":" in name or "\0" in name or name.startswith("\\\\"):
            advice = "name a folder with Settings(ref_root=…) or bundle the document."
            reason = f"points to another file, which is not read; {advice}"
            raise UnresolvableReference(reason, source=base.name)
        folder = Path(base.uri).parent if is_file else root
        # Resolved before the comparison: links may lead out of the folder.
        path = (folder / name).resolve()
        if not path.is_relative_to(root.resolve()):
            reason = "points outside the document's folder, or outside 'ref_root'"
            reason = f"{reason}; name a wider one with Settings(ref_root=…)."
            raise UnresolvableReference(reason, source=base.name)
        return path


def make_fetcher(
    url: str,
    settings: Settings,
    *,
    credentials: Mapping[str, Any] | None = None,
    client: Client | None = None,
    record: FetchRecord | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Fetcher:
    """Return the fetcher of one load, by arguments of `load_tools`; its class says more."""
    if getattr(client, "fetches_documents", True) is False:
        client = None  # of `openapi_tools.testing`
    fetcher: Fetcher = _import_fetching().Fetcher(
        url, settings, credentials=credentials, client=client, record=record, loop=loop
    )
    return fetcher


def adapt_application(options: LoadOptions) -> LoadOptions:
    """Return the options for a source that is an ASGI application in this process."""
    if options.client is not None:
        raise SettingsError("client: an application is called in this process; omit it.")
    source, settings, client = _import_fetching().adapt_application(
        options.source, options.settings
    )
    return replace(options, source=source, settings=settings, client=client)


def _import_fetching() -> Any:
    # Start-up time: it imports httpx, which documents in files do not need.
    from openapi_tools.loading import fetching

    return fetching
