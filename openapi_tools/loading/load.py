"""`load_tools`: from a document to its tools, the steps in order."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Unpack

from openapi_tools import errors
from openapi_tools.auth import check_credentials
from openapi_tools.common.json_values import PausedGC
from openapi_tools.common.options import Select
from openapi_tools.conformance.response_check import make_response_check
from openapi_tools.loading.document_reader import (
    DocumentReader,
    LoadOptions,
    adapt_application,
)
from openapi_tools.loading.lazy_dict import materialize
from openapi_tools.loading.loaded_tool import LoadedTool, ToolBuilder
from openapi_tools.loading.openapi_3 import convert_to_openapi_3
from openapi_tools.loading.source import is_configuration
from openapi_tools.loading.tool_operations import find_operations
from openapi_tools.requests import origin_of
from openapi_tools.tools.session import (
    Provenance,
    Session,
    make_settings,
    open_session,
)
from openapi_tools.toolsets.document_info import DocumentInfo
from openapi_tools.toolsets.tool_lookup import describe_unknown_tool
from openapi_tools.toolsets.toolset import Toolset

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from openapi_tools.common.options import Client
    from openapi_tools.configuration.config_file import ConfigFile
    from openapi_tools.loading.cache import CacheLookup, DocumentCache
    from openapi_tools.loading.document import Document
    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.loading.tool_operations import DocumentOperations
    from openapi_tools.settings import Settings, SettingsMembers

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

    Operations that cannot be called correctly are listed in `toolset.skipped` instead.

    Args:
        source: A URL, a path, a dict, or JSON or YAML as a string or bytes; None for that of the
            configuration. The path of a `.toml` file is a configuration. An ASGI application, such
            as FastAPI's, is called in this process; its document is read from it.
        select: Which operations become tools; all by default. Names do not depend on it.
        credentials: By the document's scheme names: a string for an API key or a token, `(user,
            password)`, an `OAuth2`, and more; see docs/auth.md. They also fetch the document.
        settings: How the document is read and the API called.
        client: An `httpx.AsyncClient`, or one of httpx2, for its transport, authentication and
            headers; not closed.
        strict: Raise for the first operation that would be skipped, and for duplicate keys, in
            documents of any size.
        overlays: OpenAPI Overlays, each from any source; applied to the document in order, before
            anything else reads it.
        config: A configuration: the path of an `openapi-tools.toml` or a pyproject.toml, or a dict
            of its keys. Arguments of this call override it.
        members: Single settings, which override `settings`: `base_url="http://localhost:8000"`.

    Raises:
        SourceError: The document cannot be read.
        DocumentError: It is not an OpenAPI document of a supported version; the pointer says where.
        InvalidOverlay: An overlay is not valid, or does not match the document.
        CredentialsError: A scheme that the document does not have, or a wrong kind of value.
        SettingsError: A selection, settings, a client or a configuration is not valid.
    """
    try:
        settings = make_settings(settings, members)
        return load_by_options(
            LoadOptions(source, settings, credentials, overlays, client, strict), select, config
        )
    except errors.OpenAPIToolsError as error:
        # Tracebacks may show local variables, which here hold secrets.
        source, credentials, overlays, members = "", None, (), {}
        raise errors.strip_traceback(error)  # noqa: B904 -- the same exception


def load_with_record(
    config: ConfigFile, overrides: Mapping[str, Any], record: FetchRecord | None
) -> Toolset:
    """Load the tools of a configuration as `load_tools` does, with a record of its fetches.

    Args:
        config: The configuration.
        overrides: Single settings, which override those of the configuration.
        record: Stores the responses of servers, or replays those of the same load in another
            process; None to do neither.
    """
    options = LoadOptions(None, make_settings(None, overrides), None)
    return load_by_options(options, None, config, record=record)


def load_by_options(
    options: LoadOptions,
    select: Select | None,
    config: str | os.PathLike[str] | Mapping[str, Any] | ConfigFile | None,
    *,
    loop: asyncio.AbstractEventLoop | None = None,
    record: FetchRecord | None = None,
) -> Toolset:
    """Load tools as `load_tools` does, with its arguments as options.

    Args:
        options: How the document is read.
        select: Which operations become tools; None for all.
        config: A configuration; None for that of the options' source, if it is one.
        loop: The event loop of another thread that fetches the document.
        record: As for `load_with_record`.
    """
    if select is not None:
        select = Select.parse(select)  # before anything is read
    credentials, file = options.credentials, None
    if credentials is not None:
        check_credentials(credentials)
    if config is not None or options.source is None or is_configuration(options.source):
        # Start-up time: it builds models of pydantic.
        from openapi_tools.loading import configured_tools

        options, file = configured_tools.read_options(options, config)
    if callable(options.source):
        options = adapt_application(options)
    reader = DocumentReader(options, record=record, loop=loop)
    # Garbage collection would walk the growing document again and again: a third of the time.
    try:
        with PausedGC():
            if reader.can_use_cache:
                toolset = _load_through_cache(reader)
            else:
                operations = find_operations(reader.read(), strict=options.strict)
                toolset = make_toolset(operations, options.credentials, options.client)
    finally:
        reader.release_loop()
    # The caller's selection replaces the configuration's, but names tools as that does.
    if file is not None:
        toolset = configured_tools.apply_configuration(
            toolset, file, credentials, selects=select is None
        )
        toolset = configured_tools.apply_lock(toolset, file)
    return toolset if select is None else toolset.select(select)


def _load_through_cache(reader: DocumentReader) -> Toolset:
    from openapi_tools.loading import cache  # start-up time: it imports sqlite3

    document_cache = cache.DocumentCache(reader.settings, reader.overlays, reader.fetcher)
    lookup = document_cache.look_up(reader.options.source)
    if lookup.file is None or lookup.entry is None:
        return _load_and_write_copy(reader, document_cache, lookup)
    try:
        document = reader.make_document(lookup.entry, lookup.remarks)
        if (user_document := reader.read_as_user(document)) is document:
            operations = lookup.file.operations(document)._replace(derived_file=lookup.derived_file)
            return make_toolset(operations, reader.options.credentials, reader.options.client)
    except errors.DocumentError:  # only valid documents are cached, so this copy was changed
        user_document = reader.read()
    operations = find_operations(user_document, strict=False)
    return make_toolset(operations, reader.options.credentials, reader.options.client)


def _load_and_write_copy(
    reader: DocumentReader, document_cache: DocumentCache, lookup: CacheLookup
) -> Toolset:
    document = reader.parse(lookup.source)
    user_document = reader.read_as_user(document)
    operations = find_operations(user_document, strict=False)
    # The cache does not know users, so a document for one user is not cached.
    if user_document is document:
        operations = operations._replace(derived_file=lookup.derived_file)
    toolset = make_toolset(operations, reader.options.credentials, reader.options.client)
    if user_document is document:
        tools = [tool.facts for tool in toolset if isinstance(tool, LoadedTool)]
        document_cache.write_copy(lookup, operations._replace(tools=tools))
    return toolset


def make_toolset(
    operations: DocumentOperations,
    credentials: Mapping[str, Any] | None = None,
    client: Client | None = None,
    *,
    hides_keys: bool = True,
) -> Toolset:
    """Return the tools of a document; raise as `load_tools` does.

    Args:
        operations: The operations that become tools.
        credentials: The credentials by scheme name.
        client: The user's HTTP client.
        hides_keys: Whether to leave out the arguments that credentials fill.
    """
    document = operations.document
    session = _open_session(document, credentials, client)
    may_fill = hides_keys and (bool(credentials) or client is not None)
    filled = session.filled_parameters if may_fill else frozenset[tuple[str, str]]()
    derived_file = operations.derived_file
    if derived_file is not None and filled:  # its tools have fewer arguments
        derived_file = derived_file.with_form(repr(sorted(filled)))
    session_warnings = list(
        _session_warnings(operations, session, has_credentials=bool(credentials))
    )
    number = len(operations.tools) + len(operations.skipped)
    counts = {"operations": number, "skipped": len(operations.skipped)}
    info = DocumentInfo(
        skipped=tuple(operations.skipped),
        warnings=cache(
            lambda: (
                *document.remarks,
                *document.retriever.warnings,
                *operations.warnings(),
                *session_warnings,
            )
        ),
        security_schemes=document.security.schemes,
        counts=lambda: counts | operations.counts(),
        document=lambda: materialize(document.root),
        bundled=lambda: document.references.bundled,
        index=derived_file,
        info=lambda: materialize(document.root.get("info")),
    )
    builder = ToolBuilder(document, session, filled)
    # For operations from the cache, `nodes` repeats None without end.
    tools = map(LoadedTool, operations.tools, repeat(builder), operations.nodes)
    return Toolset(tools, session, info)


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
        provenance=Provenance(document.root_servers(), references.has_public, origin),
    )
    if settings.check_responses:
        session.check_exchange = make_response_check(
            lambda: convert_to_openapi_3(references.bundled),
            base_url=lambda: session.settings.base_url,
        )
    return session


def _session_warnings(
    operations: DocumentOperations, session: Session, *, has_credentials: bool
) -> Iterator[str]:
    document = operations.document
    if isinstance(kinds := document.settings.media_types, dict):
        names = [tool.name for tool in operations.tools]
        missing = [name for name in kinds if name not in names]
        yield from (f"media_types: {describe_unknown_tool(name, names)}" for name in missing)
    if not operations.tools and not operations.skipped:
        name = document.entry.name or "the document"
        yield f"{name}: it has no operations, so there are no tools."
    if has_credentials or session.client_adds_credentials:
        with suppress(errors.CallError):  # it has no usable server
            if not (bounds := session.default_policy()).allows_server:
                yield bounds.describe_refusal()
    yield from document.security.warnings
    for name, prefix in document.security.key_prefixes if has_credentials else ():
        if session.credentials.has_bare_key(name):
            yield (
                f"the key for {name!r:.100} is sent unchanged, but according to the document "
                f"it begins with a word: '{prefix} …'; add the word if the API refuses the key."
            )
