"""`load_tools`: from a document to its tools, the steps in order."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, DocumentError, OpenAPIToolsError, bare
from openapi_tools.json_pointer import unescape
from openapi_tools.loading import security
from openapi_tools.loading.cache import is_on
from openapi_tools.loading.cached_tools import KeptTool, Maker, Usable, facts_of
from openapi_tools.loading.inputs import Inputs
from openapi_tools.loading.lazy_document import whole
from openapi_tools.loading.loaded_tool import LoadedTool, Shared
from openapi_tools.loading.naming import tool_names
from openapi_tools.loading.operations import Declared, Document
from openapi_tools.loading.parse import parse, plain
from openapi_tools.loading.parse_json import paused_gc
from openapi_tools.loading.references import Resource
from openapi_tools.loading.servers import root_servers
from openapi_tools.loading.source import fetcher_of, read_source
from openapi_tools.loading.unreadable_keywords import unreadable
from openapi_tools.loading.usability import Checks
from openapi_tools.model import Skipped
from openapi_tools.options import credentials_of, settings_of
from openapi_tools.requests.server_urls import origin_of
from openapi_tools.tools.session import Provenance, open_session
from openapi_tools.tools.toolset import About, Select, Toolset

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import httpx
    import httpx2

    from openapi_tools.loading.cache_file import Facts
    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.source import Source
    from openapi_tools.model import SecurityScheme
    from openapi_tools.settings import Settings
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.transport.sender import Answer


def load_tools(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any],
    *,
    select: Select | None = None,
    credentials: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    client: httpx.AsyncClient | httpx2.AsyncClient | None = None,
    strict: bool = False,
) -> Toolset:
    """Turn every operation of an OpenAPI document into a tool.

    One that cannot be called correctly is left out and listed in `toolset.skipped`.

    Args:
        source: A URL, a path, a dict, or JSON or YAML as a string or bytes.
        select: Which operations become tools; all by default. Names do not depend on it.
        credentials: By the document's scheme names: a text for an API key or a token, `(user,
            password)`, an `OAuth2`, and more; docs/auth.md has all of it. They fetch a URL, too.
        settings: How the document is read and the API called.
        client: An `httpx.AsyncClient`, or one of httpx2, for its transport, authentication and
            headers; not closed.
        strict: Raise for the first operation that would be skipped, and look for duplicate keys in
            documents of any size.

    Returns:
        The tools in the document's order.

    Raises:
        SourceError: The document cannot be read.
        DocumentError: It is not an OpenAPI document of a supported version; the pointer says where.
        CredentialsError: A scheme that the document does not have, or a wrong kind of value.
        SettingsError: A selection, settings or a client of another type.
    """
    try:
        return _loaded(source, select, settings, credentials, client, strict=strict)
    except OpenAPIToolsError as error:
        source, credentials = "", None  # what a traceback of this frame would show
        raise bare(error)  # noqa: B904 -- the same one


def _loaded(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any],
    select: Select | None,
    settings: Settings | None,
    credentials: Mapping[str, Any] | None,
    client: httpx.AsyncClient | httpx2.AsyncClient | None,
    *,
    strict: bool,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Toolset:
    select, settings = Select.of(select), settings_of(settings)
    more: dict[str, Any] = {"credentials": credentials_of(credentials), "client": client}
    fetcher = fetcher_of(source, settings, **more)
    with paused_gc(), _sending_in(loop, fetcher):
        if not strict and not isinstance(source, Mapping) and is_on(settings):
            toolset = _through_cache(source, settings, fetcher, **more)
        else:
            document, remarks = read_document(source, settings, duplicates=strict, fetcher=fetcher)
            toolset = tools_of(document, strict=strict, remarks=remarks, **more)
    return toolset if select is None else toolset.select(select)


@contextlib.contextmanager
def _sending_in(loop: asyncio.AbstractEventLoop | None, fetcher: Fetcher | None) -> Iterator[None]:
    """Let documents be fetched in a caller's event loop, as long as the caller waits for them."""
    if fetcher is not None:
        fetcher.loop = loop
    try:
        yield
    finally:
        if fetcher is not None:
            fetcher.loop = None


def _through_cache(
    source: str | os.PathLike[str] | bytes,
    settings: Settings,
    fetcher: Fetcher | None,
    **more: Any,
) -> Toolset:
    """Return the tools of a document from its cached copy, or cache the document."""
    from openapi_tools.loading.cached_load import find, keep

    found = find(source, settings, fetcher)
    try:
        document = Document(found.entry, settings, fetcher)
        if personal := _personal(document, fetcher):
            return tools_of(personal[0], remarks=personal[1], **more)
        usable = found.facts or _usable(document, strict=False)
        told = () if fetcher is None else fetcher.warnings
        toolset = tools_of(document, usable=usable, remarks=(*found.remarks, *told), **more)
    except DocumentError:
        if found.facts is None:
            raise
        # The cached copy was a good document once: it was changed on disk.
        document, remarks = read_document(source, settings, duplicates=False, fetcher=fetcher)
        return tools_of(document, remarks=remarks, **more)
    if found.slot is not None and isinstance(usable, Usable):
        keep(found.slot, document, facts_of(document, toolset, usable, found.remarks))
    return toolset


async def aload_tools(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any],
    *,
    select: Select | None = None,
    credentials: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    client: httpx.AsyncClient | httpx2.AsyncClient | None = None,
    strict: bool = False,
) -> Toolset:
    """Do what `load_tools` does in a thread, so that an event loop goes on meanwhile."""
    import asyncio

    loop = asyncio.get_running_loop()

    def load() -> Toolset:
        return _loaded(source, select, settings, credentials, client, strict=strict, loop=loop)

    try:
        return await asyncio.to_thread(load)
    except OpenAPIToolsError as error:
        source, credentials = "", None  # what a traceback of this frame would show
        raise bare(error)  # noqa: B904 -- the same one


def read_document(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any],
    settings: Settings,
    *,
    duplicates: bool,
    fetcher: Fetcher | None = None,
) -> tuple[Document, tuple[str, ...]]:
    """Return the parsed document, and what is to be said of reading it.

    Args:
        source: As for `load_tools`.
        settings: Says what may be read.
        duplicates: Look for duplicate keys in a document of any size.
        fetcher: As `fetcher_of` makes it of the source.

    Raises:
        SourceError: It cannot be read.
        DocumentError: It cannot be parsed.
    """
    found = read_source(source, settings, fetcher)
    if found.value is not None:
        entry = Resource(plain(found.value, name=found.name), name=found.name)
        return Document(entry, settings), ()
    document, remarks = _parsed(found, settings, fetcher, duplicates=duplicates)
    if personal := _personal(document, fetcher, duplicates=duplicates):
        return personal
    return document, remarks if fetcher is None else (*remarks, *fetcher.warnings)


def _parsed(
    found: Source, settings: Settings, fetcher: Fetcher | None, *, duplicates: bool
) -> tuple[Document, tuple[str, ...]]:
    parsed = parse(found.data or b"", name=found.name, duplicates=True if duplicates else None)
    entry = Resource(parsed.root, found.uri, found.name, public=found.public)
    return Document(entry, settings, fetcher), parsed.warnings


def _personal(
    document: Document, fetcher: Fetcher | None, *, duplicates: bool = False
) -> tuple[Document, tuple[str, ...]] | None:
    """Return the document as its server gives it to the user; None where it is the same."""
    if fetcher is None or (found := fetcher.again(document)) is None:
        return None
    try:
        return _parsed(found, document.settings, fetcher, duplicates=duplicates)
    except DocumentError as error:
        fetcher.warn(error.reason)
        return None


def tools_of(
    document: Document,
    *,
    credentials: Mapping[str, Any] | None = None,
    client: httpx.AsyncClient | httpx2.AsyncClient | None = None,
    strict: bool = False,
    remarks: Iterable[str] = (),
    usable: Usable | Facts | None = None,
) -> Toolset:
    """Return the tools of a document.

    Args:
        document: With the settings of its tools.
        credentials: As for `load_tools`.
        client: As for `load_tools`.
        strict: Raise for the first operation that would be skipped.
        remarks: What its parser remarked.
        usable: Its operations, when they are known.

    Raises:
        DocumentError: As for `load_tools`.
        CredentialsError: As for `load_tools`.
        SettingsError: As for `load_tools`.
    """
    found = usable or _usable(document, strict=strict)
    operations = len(found[0]) + len(found.skipped)
    schemes = security.schemes(document)
    session = open_session(
        document.settings,
        credentials=credentials,
        schemes=schemes,
        client=client,
        provenance=_provenance(document),
    )
    if document.settings.check_answers:
        session.check_answer = _answer_checker(document)
    others = (
        *_unknown(document.settings, found),
        *_empty(document, operations),
        *(_unsent(session) if credentials or session.client_brings else ()),
        *(_bare_keys(document, session) if credentials else ()),
    )
    about = About(
        skipped=tuple(found.skipped),
        warnings=cache(lambda: (*remarks, *_warnings(document, found), *others)),
        security_schemes=schemes,
        counts=lambda: _counts(document, found),
        document=lambda: whole(document.root),
    )
    return Toolset(_tools(document, found, session, schemes), session, about)


def _warnings(document: Document, found: Usable | Facts) -> list[str]:
    if not isinstance(found, Usable):
        return found.warnings
    return [*found.warnings, *unreadable(document, [declared for _, declared in found.good])]


def _provenance(document: Document) -> Provenance:
    origin = origin_of(document.entry.uri)
    return Provenance(root_servers(document), document.references.has_public, origin)


def _usable(document: Document, *, strict: bool) -> Usable:
    """Return the usable operations with their names, the others, and warnings."""
    listed = list(document.operations())
    declared = [item for item in listed if isinstance(item, Declared)]
    checks = Checks(document, declared)
    names = tool_names(declared, document.settings.prefix)
    if len(declared) == len(listed) and not checks.doubtful:
        return Usable(list(zip(names, declared, strict=True)), [], [])
    good: list[tuple[str, Declared]] = []
    skipped: list[Skipped] = []
    waiting = iter(names)
    for item in listed:
        try:
            if isinstance(item, DocumentError):
                raise item
            name = next(waiting)
            checks.check(item)
        except DocumentError as error:
            if strict:
                raise
            skipped.append(_skipped(item, error))
        else:
            good.append((name, item))
    return Usable(good, skipped, checks.warnings)


def _skipped(item: Declared | DocumentError, error: DocumentError) -> Skipped:
    if isinstance(item, Declared):
        return Skipped(error.pointer or item.pointer, error.reason, item.method, item.path)
    path = error.pointer.split("/")[2] if error.pointer.count("/") > 1 else ""
    return Skipped(error.pointer, error.reason, path=unescape(path))


def _tools(
    document: Document,
    found: Usable | Facts,
    session: Session,
    schemes: Mapping[str, SecurityScheme],
) -> Sequence[OperationTool]:
    shared = Shared(Inputs(document, session.settings, schemes), session)
    if isinstance(found, Usable):
        return [LoadedTool(name, declared, shared) for name, declared in found.good]

    def make(number: int) -> LoadedTool:
        declared = document.declared(found.paths[number], found.members[number])
        return LoadedTool(found.names[number], declared, shared)

    maker = Maker(found, session, make, shared.turn)
    return [KeptTool(number, maker) for number in range(len(found.names))]


def _counts(document: Document, found: Usable | Facts) -> dict[str, int]:
    more = document.counts() if isinstance(found, Usable) else found.counts
    skipped = len(found.skipped)
    return {"operations": len(found[0]) + skipped, "skipped": skipped, **more}


def _empty(document: Document, operations: int) -> list[str]:
    if operations:
        return []
    return [f"{document.entry.name or 'the document'}: no paths with operations, hence no tools."]


def _unknown(settings: Settings, found: Usable | Facts) -> list[str]:
    """Warn of media types for tools that do not exist."""
    if not isinstance(settings.media_types, dict):
        return []
    from openapi_tools.tools.dispatch import no_such_tool

    names = [name for name, _ in found.good] if isinstance(found, Usable) else list(found.names)
    missing = [name for name in settings.media_types if name not in names]
    return [f"media_types: {no_such_tool(name, names)}" for name in missing]


def _unsent(session: Session) -> list[str]:
    """Warn where credentials are given and the document's own server does not get them."""
    try:
        bounds = session.home()
    except CallError:
        return []
    return [] if bounds.inside else [bounds.refusal()]


def _bare_keys(document: Document, session: Session) -> Iterator[str]:
    """Warn of keys without the word that they begin with, as the document describes them."""
    for name, word in security.prefixes(document).items():
        if session.credentials.lacks_word(name):
            yield (
                f"the key for {name!r:.100} is sent as it is, but by the document's description "
                f"it begins with a word: '{word} …'; give it so if the API refuses the key."
            )


def _answer_checker(document: Document) -> Callable[[httpx.Request, Answer], list[str]]:
    """Return what compares answers with the document; it asks openapi-core."""
    from openapi_tools.openapi_core import make_checker

    return make_checker(lambda: whole(document.root), base_url=document.settings.base_url)
