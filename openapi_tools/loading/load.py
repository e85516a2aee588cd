"""`load_tools`: from a document to its tools, the steps in order."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from openapi_tools import errors
from openapi_tools.loading import configured_tools, loaded_tool, plain
from openapi_tools.loading.lazy_dict import materialize
from openapi_tools.loading.openapi_3 import as_openapi_3
from openapi_tools.loading.operations import Document
from openapi_tools.loading.parse import parse, paused_gc
from openapi_tools.loading.references import Resource
from openapi_tools.loading.source import NO_OVERLAYS, fetcher_of, read_overlays, read_source
from openapi_tools.loading.versions import root_servers
from openapi_tools.options import Select, credentials_of, kind_of
from openapi_tools.requests import origin_of
from openapi_tools.tools.session import (
    About,
    Provenance,
    Session,
    open_session,
    settings_of,
    unknown_tool,
)
from openapi_tools.tools.toolset import Toolset

if TYPE_CHECKING:
    import asyncio

    from openapi_tools.json_values import Node
    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.loading.source import Overlays, Source
    from openapi_tools.options import Client
    from openapi_tools.settings import Settings, SettingsMembers
    from openapi_tools.shaping.configuration import ConfigFile


_IN_CONFIGURATION = "Set {name!r} in [credentials] of the configuration."
Overlay = str | os.PathLike[str] | bytes | Mapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]  # ASGI, called with scope, receive, send


def load_tools(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any] | Application | None = None,
    *,
    select: Select | None = None,
    credentials: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    client: Client | None = None,
    strict: bool = False,
    overlays: Sequence[Overlay] | Overlay = (),
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    **members: Unpack[SettingsMembers],
) -> Toolset:
    """Turn every operation of an OpenAPI document into a tool, in the document's order.

    One that cannot be called correctly is left out and listed in `toolset.skipped`.

    Args:
        source: A URL, a path, a dict, or JSON or YAML as a string or bytes; None for that of the
            configuration. The path of a `.toml` file is a configuration. An ASGI application, such
            as FastAPI's, is called in this process; its document is read from it.
        select: Which operations become tools; all by default. Names do not depend on it.
        credentials: By the document's scheme names: a text for an API key or a token, `(user,
            password)`, an `OAuth2`, and more; docs/auth.md has all of it. They fetch a URL, too.
        settings: How the document is read and the API called.
        client: An `httpx.AsyncClient`, or one of httpx2, for its transport, authentication and
            headers; not closed.
        strict: Raise for the first operation that would be skipped, and for duplicate keys, in
            documents of any size.
        overlays: OpenAPI Overlays, each given as `source` may be; applied to the document in order,
            before anything else reads it.
        config: A configuration: the path of an `openapi-tools.toml` or a pyproject.toml, or a dict
            of its keys. Arguments of this call count over it.
        members: Settings one by one, over `settings`: `base_url="http://localhost:8000"`.

    Raises:
        SourceError: The document cannot be read.
        DocumentError: It is not an OpenAPI document of a supported version; the pointer says where.
        InvalidOverlay: An overlay is wrong, or does not fit the document.
        CredentialsError: A scheme that the document does not have, or a wrong kind of value.
        SettingsError: A selection, settings or a client of another type; or a configuration that
            is wrong or does not fit the document.
    """
    try:
        given = Given(source, settings_of(settings, members), credentials, overlays)
        return _loaded(given, select, client, config, strict=strict)
    except errors.OpenAPIToolsError as error:
        # A traceback of this frame shows no secret.
        source, credentials, overlays, given, members = "", None, (), NOTHING_GIVEN, {}
        raise errors.bare(error)  # noqa: B904 -- the same one


def load_with_record(
    config: ConfigFile, members: Mapping[str, Any], record: FetchRecord
) -> Toolset:
    """Load the tools of a configuration as `load_tools`, with a record of what is fetched.

    Args:
        config: The configuration.
        members: Settings one by one, under those of the configuration.
        record: Gets what servers answer, or has it from the same load in another process.
    """
    given = Given(None, settings_of(None, members), None)
    return _loaded(given, None, None, config, strict=False, record=record)


def _loaded(
    given: Given,
    select: Select | None,
    client: Client | None,
    config: str | os.PathLike[str] | Mapping[str, Any] | ConfigFile | None,
    *,
    strict: bool,
    loop: asyncio.AbstractEventLoop | None = None,
    record: FetchRecord | None = None,
) -> Toolset:
    select, credentials = Select.of(select), credentials_of(given.credentials)
    given = given._replace(credentials=credentials)
    file, (source, settings, secrets, overlays) = configured(config, given)
    if callable(source):
        from openapi_tools.loading.fetching import of_application

        if client is not None:
            raise errors.SettingsError("client: an application is called in this process; omit it.")
        source, settings, client = of_application(source, settings)
    more: Node = {"credentials": secrets, "client": client}
    fetcher = fetcher_of(source, settings, **more, record=record)
    if fetcher is not None:
        fetcher.loop = loop  # a caller's event loop, as long as the caller waits for the documents
    try:
        with paused_gc():
            known = read_overlays(overlays, settings, fetcher, record=record, **more)
            reader = Reader(settings, fetcher, known, duplicates=strict, strict=strict)
            if not strict and not isinstance(source, Mapping) and is_cache_on(settings):
                toolset = _through_cache(source, reader, **more)
            else:
                toolset = tools_of(reader.read(source), strict=strict, **more)
    finally:
        if fetcher is not None:
            fetcher.loop = None
    if file is not None:
        toolset = with_config(toolset, file, credentials, selects=select is None)
        if file.data.lock:
            # Start-up time: few configurations have a lock, and judging changes needs much.
            from openapi_tools.codegen import tool_lock

            lock = tool_lock.read_lock(file.folder / file.data.lock)
            toolset, _ = tool_lock.apply_lock(toolset, lock, file.data.policy)
    return toolset if select is None else toolset.select(select)


def with_config(
    toolset: Toolset, file: ConfigFile, credentials: Mapping[str, Any] | None, *, selects: bool
) -> Toolset:
    """Return a document's tools as a configuration selects and shapes them, with its warnings."""
    file.check_schemes(toolset.security_schemes)
    tools = configured_tools.shaped_tools(toolset, file, selects=selects)
    advice = toolset.session.credentials.advice
    advice.variables = file.unset_variables(credentials_of(credentials))
    advice.instruction = _IN_CONFIGURATION
    return toolset.with_tools(tools, file.remarks(credentials_of(credentials)))


class Given(NamedTuple):
    """The source and the options of a load, from a caller or from a configuration."""

    source: Any
    settings: Any
    credentials: Any
    overlays: Any = ()


NOTHING_GIVEN = Given("", None, None)


def configured(config: Any, given: Given) -> tuple[ConfigFile | None, Given]:
    """Return a configuration, or None, and the options of the caller merged over its own."""
    source, file = given.source, None
    is_config = isinstance(source, str | os.PathLike) and os.fspath(source).endswith(".toml")
    if config is None and is_config:
        given, config = given._replace(source=None), source
    if config is not None:
        from openapi_tools.shaping.configuration import ConfigFile, read_configuration  # pydantic

        if not isinstance(config, str | os.PathLike | Mapping | ConfigFile):
            form = 'a path, as "openapi-tools.toml", or a dict of its keys'
            raise errors.SettingsError(f"config: give {form}, not {kind_of(config)}.")
        file = config if isinstance(config, ConfigFile) else read_configuration(config)
        given = Given(*file.under(*given))
    if given.source is None:
        raise errors.SettingsError("source: give a document, or a configuration that names one.")
    return file, given


def is_cache_on(settings: Settings) -> bool:
    """Tell whether the cache can be used, and neither settings nor environment turn it off."""
    is_off = os.environ.get("OPENAPI_TOOLS_CACHE", "").strip().lower() == "off"
    return settings.cache and not is_off and find_spec("_sqlite3") is not None


class Reader(NamedTuple):
    """How the document of one load is read: from where, and with which overlays and checks.

    `duplicates` looks for repeated keys in documents of any size, `strict` refuses them.
    """

    settings: Settings
    fetcher: Fetcher | None = None
    overlays: Overlays = NO_OVERLAYS
    duplicates: bool = False
    strict: bool = False

    def read(self, source: str | os.PathLike[str] | bytes | Mapping[str, Any]) -> Document:
        """Return the parsed document; errors are as of `load_tools`."""
        self.overlays.check()
        found = read_source(source, self.settings, self.fetcher)
        if found.value is None:
            return self.personal(self.parsed(found))
        root, told = self.overlays.applied(plain(found.value, name=found.name))
        entry = Resource(root, name=found.name)
        return Document(entry, self.settings, remarks=tuple(told), strict=self.strict)

    def parsed(self, found: Source) -> Document:
        """Return the document in the bytes that were read."""
        look = self.duplicates or None
        parsed = parse(found.data or b"", name=found.name, duplicates=look, strict=self.strict)
        root, told = self.overlays.applied(parsed.root, found.uri, found.name)
        entry = Resource(root, found.uri, found.name, public=found.public)
        entry.is_tree = parsed.is_tree and root is parsed.root
        remarks = (*parsed.warnings, *told)
        return Document(entry, self.settings, self.fetcher, remarks, strict=self.strict)

    def personal(self, document: Document) -> Document:
        """Return the document as its server gives it to the user; itself where it is the same."""
        if self.fetcher is None or (found := self.fetcher.again(document)) is None:
            return document
        try:
            return self.parsed(found)
        except errors.DocumentError as error:
            self.fetcher.warn(error.reason)
            return document


def _through_cache(source: str | os.PathLike[str] | bytes, reader: Reader, **more: Any) -> Toolset:
    from openapi_tools.loading import cache

    found = cache.find(source, reader)
    if isinstance(found, cache.Hit):
        try:
            document = Document(found.entry, reader.settings, reader.fetcher, found.remarks)
            operations, index = found.operations, found.beside
            if (own := reader.personal(document)) is document:
                return tools_of(document, operations=operations, index=index, **more)
        except errors.DocumentError:  # only valid documents are cached: this copy was changed
            own = reader.read(source)
        return tools_of(own, **more)
    document = reader.parsed(found.source)
    if (own := reader.personal(document)) is not document:
        return tools_of(own, **more)
    operations = loaded_tool.find_operations(document, strict=False)
    toolset = tools_of(document, operations=operations, index=found.beside, **more)
    if found.label and found.beside:
        tools = [tool.facts for tool in toolset if isinstance(tool, loaded_tool.LoadedTool)]
        cache.keep(found.label, found.beside.path, document, operations._replace(tools=tools))
    return toolset


async def aload_tools(
    source: str | os.PathLike[str] | bytes | Mapping[str, Any] | Application | None = None,
    *,
    select: Select | None = None,
    credentials: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    client: Client | None = None,
    strict: bool = False,
    overlays: Sequence[Overlay] | Overlay = (),
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    **members: Unpack[SettingsMembers],
) -> Toolset:
    """Run `load_tools` in a thread, so that the event loop is not blocked."""
    import asyncio

    loop = asyncio.get_running_loop()

    def load() -> Toolset:
        given = Given(source, settings_of(settings, members), credentials, overlays)
        return _loaded(given, select, client, config, strict=strict, loop=loop)

    try:
        return await asyncio.to_thread(load)
    except errors.OpenAPIToolsError as error:
        source, credentials, overlays, members = "", None, (), {}  # as above
        raise errors.bare(error)  # noqa: B904 -- the same one


def tools_of(
    document: Document,
    *,
    credentials: Mapping[str, Any] | None = None,
    client: Client | None = None,
    strict: bool = False,
    operations: loaded_tool.Operations | None = None,
    index: Any = None,
    hides_keys: bool = True,
) -> Toolset:
    """Return the tools of a document; errors are as of `load_tools`.

    With `hides_keys` parameters that the credentials fill are no arguments.
    """
    found = operations or loaded_tool.find_operations(document, strict=strict)
    references = document.references
    told = () if references.fetcher is None else tuple(references.fetcher.warnings)
    session = _open_session(document, credentials, client)
    filled = session.filled_parameters if hides_keys else frozenset()
    if index is not None and filled:  # the same document has other arguments
        index = index.formed(repr(sorted(filled)))
    others = list(_others(document, found, session, has_credentials=bool(credentials)))
    number = len(found.tools) + len(found.skipped)
    counts = {"operations": number, "skipped": len(found.skipped)}
    about = About(
        skipped=tuple(found.skipped),
        warnings=cache(
            lambda: (*document.remarks, *told, *references.warnings, *found.warnings(), *others)
        ),
        security_schemes=document.security.schemes,
        counts=lambda: counts | found.counts(),
        document=lambda: materialize(document.root),
        bundled=lambda: references.bundled,
        index=index,
    )
    shared = loaded_tool.Shared(document, session, filled)
    tools = map(loaded_tool.LoadedTool, found.tools, repeat(shared), found.nodes)
    return Toolset(tools, session, about)


def _open_session(
    document: Document, credentials: Mapping[str, Any] | None, client: Client | None
) -> Session:
    references, settings = document.references, document.settings
    origin = origin_of(document.entry.uri)
    session = open_session(
        settings,
        credentials=credentials,
        schemes=document.security.schemes,
        client=client,
        provenance=Provenance(root_servers(document), references.has_public, origin),
    )
    if settings.check_responses:
        from openapi_tools.openapi_core import make_response_check

        session.check_answer = make_response_check(
            lambda: as_openapi_3(references.bundled), base_url=lambda: session.settings.base_url
        )
    return session


def _others(
    document: Document, found: loaded_tool.Operations, session: Session, *, has_credentials: bool
) -> Iterator[str]:
    if isinstance(kinds := document.settings.media_types, dict):
        names = [tool.name for tool in found.tools]
        missing = [name for name in kinds if name not in names]
        yield from (f"media_types: {unknown_tool(name, names)}" for name in missing)
    if not found.tools and not found.skipped:
        yield f"{document.entry.name or 'the document'}: no paths with operations, hence no tools."
    if has_credentials or session.client_brings:
        with contextlib.suppress(errors.CallError):  # it has no usable server
            if not (bounds := session.home()).inside:
                yield bounds.refusal()
    yield from document.security.warnings
    for name, word in document.security.key_prefixes if has_credentials else ():
        if session.credentials.lacks_word(name):
            yield (
                f"the key for {name!r:.100} is sent unchanged, but by the document's description "
                f"it begins with a word: '{word} …'; give it so if the API refuses the key."
            )
