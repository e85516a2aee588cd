"""The tools of one document, which share a client, or of several documents.

Methods import what they need, as loading and listing tools need none of it.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from openapi_tools.common.options import Select
from openapi_tools.errors import format_count
from openapi_tools.toolsets.definition_lists import DefinitionLists
from openapi_tools.toolsets.document_info import DocumentInfo
from openapi_tools.toolsets.function_tools import FunctionSource, FunctionTool
from openapi_tools.toolsets.hooks import ToolHooks
from openapi_tools.toolsets.tool_lookup import find_tool, select_tools
from openapi_tools.toolsets.unions import check_parts, unite_info, unite_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from openapi_tools.code.limits import CodeLimits
    from openapi_tools.model import SecurityScheme, Skipped
    from openapi_tools.result import ToolResult
    from openapi_tools.search.finder import Finder, Hit
    from openapi_tools.search.meta_tools import MetaTool
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.pages import PagedItems
    from openapi_tools.toolsets.toolset_calls import ToolsetCalls


class Toolset(ToolHooks):
    """The tools of one document, or of several.

    Iterating gives the tools in the document's order, `toolset["name"]` one of them, also by its
    operationId or as `"GET /path"`.
    """

    def __init__(
        self,
        tools: Iterable[OperationTool],
        session: Session,
        info: DocumentInfo | None = None,
        *,
        parts: tuple[Toolset, ...] = (),
        source: FunctionSource | None = None,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.session = session
        self._parts = parts
        if not parts:
            session.toolset = weakref.ref(self)
        self._info = info or DocumentInfo()
        self._source = source  # of functions, which reach the tools of the one part
        self._definitions = DefinitionLists()
        self._finder: Finder | None = None
        self._whole: Toolset | None = None

    @classmethod
    def union(cls, *toolsets: Toolset, names: Iterable[str] = ()) -> Toolset:
        """Return one toolset with the tools of several; each keeps its session and guardrails.

        Tools whose name is in several toolsets get a prefix: the one in `names` at the index of
        their toolset, or the title of their document.

        Raises:
            SettingsError: Not a toolset, or none.
        """
        check_parts(toolsets, cls)
        tools = unite_tools(toolsets, tuple(names))
        union = cls(tools, toolsets[0].session, unite_info(toolsets), parts=toolsets)
        for session in union.sessions:
            session.add_union(weakref.ref(union))
        return union

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[OperationTool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> OperationTool:
        if isinstance(name, str) and name in self._tools:
            return self._tools[name]
        return find_tool(self._tools, name, self.skipped)

    def __repr__(self) -> str:
        return f"<toolset of {format_count(len(self), 'tool')}>"

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions of its documents."""
        sessions = [session for part in self._parts for session in part.sessions]
        return tuple(dict.fromkeys(sessions)) or (self.session,)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The operations that did not become tools, with location and reason."""
        return self._info.skipped

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on the document and on `definitions`."""
        return (*self._info.warnings(), *self._definitions.list_notes())

    @property
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """The document's security schemes by name: the keys of `credentials`."""
        return self._info.security_schemes

    @property
    def counts(self) -> dict[str, int]:
        """Counts of operations, skipped ones, and webhooks, callbacks and links (not tools)."""
        return self._info.counts()

    @property
    def document(self) -> Any:
        """The parsed document; None when the tools were not loaded from one."""
        return self._info.document()

    @property
    def bundled(self) -> Any:
        """The document, with those that it refers to under the key `x-documents`; or None."""
        return self._info.bundled()

    def select(self, select: Select) -> Toolset:
        """Return the tools that are selected: the same ones, with their client and guardrails.

        Raises:
            SettingsError: It is not a selection, or it selects nothing, as no tool has one of its
                tags, methods, names or paths.
        """
        part = self.with_tools(select_tools(self, select, self.skipped))
        part._whole = self  # noqa: SLF001 -- its own
        return part

    def with_tools(
        self,
        tools: Iterable[OperationTool],
        remarks: Iterable[str] = (),
        skipped: Iterable[Skipped] | None = None,
    ) -> Toolset:
        """Return a toolset of other tools, with further warnings; client and document stay."""
        notes, old = tuple(remarks), self._info
        left_out = old.skipped if skipped is None else tuple(skipped)
        info = replace(old, warnings=lambda: (*notes, *old.warnings()), skipped=left_out)
        return Toolset(tools, self.session, info, parts=self._parts, source=self._source)

    def definitions(
        self, profile: str, *, defer: bool = False, programmatic: bool = False
    ) -> list[dict[str, Any]]:
        """Return the tools for a provider's API, but for unsupported ones: see `warnings`.

        Args:
            profile: `openai`, `openai_strict`, `openai_responses`, `anthropic`, `gemini` or `mcp`.
            defer: Let the provider load definitions when its own search finds them: for
                `anthropic`, `openai_responses` and, in the same form, `openai`.
            programmatic: Let programs of the model call the tools, too, and declare the schemas of
                their responses: for `openai_responses`.

        Returns:
            One dict for each tool; schemas are shared, so do not change them.

        Raises:
            SettingsError: The profile is unknown, does not defer, or has no programs.
        """
        return self._definitions.make(
            self, profile, self._info.index, defer=defer, programmatic=programmatic
        )

    def search(self, query: str, limit: int = 8) -> list[Hit]:
        """Return the tools that match a query best, the best first.

        Args:
            query: Words of a task; several lines are several queries, which share the hits.
            limit: Hits at most.

        Returns:
            Hits with `tool`, `score` and `needs`: the tools that yield its arguments, by argument.

        Raises:
            SettingsError: The query is not a string, or the limit is not a number above 0.
        """
        return self._find_finder().hits(query, limit)

    def producers(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return the tools whose responses yield what a tool requires, by argument, best first.

        Raises:
            KeyError: No tool has this name.
        """
        return self._find_finder().producers(self.called[name].name)

    def meta_tools(self) -> Toolset:
        """Return three tools that reach all others: `search_tools`, `describe_tools`, `call_tool`.

        They are for more tools than a model can read at once. A call passes the checks, guardrails
        and approval of the tool that it calls.
        """
        # Start-up time: tools are loaded, shown and called without it.
        from openapi_tools.search.meta_tools import meta_tools

        return self._make_functions(meta_tools)

    def code_tools(self, limits: CodeLimits | None = None) -> Toolset:
        """Return two tools, `search` and `run_code`: a program calls the others in a sandbox.

        Args:
            limits: The time, memory, calls and output of one run; by default `CodeLimits()`.

        Raises:
            MissingExtraError: The extra `code` is not installed.
        """
        from openapi_tools.code.code_tools import make_code_tools  # needs the extra `code`

        return self._make_functions(lambda tools: make_code_tools(tools, limits))

    def only(self, takes: Callable[[OperationTool], bool]) -> Toolset:
        """Return the toolset for a caller who may use some tools only, also behind functions."""
        part = self.called.select(Select(where=takes))
        part._info = replace(part._info, skipped=())  # noqa: SLF001 -- hidden ones, too
        source = self._source
        return part if source is None else part._make_functions(source.make)  # noqa: SLF001 -- its own

    def _make_functions(self, make: Callable[[Toolset], Iterable[MetaTool]]) -> Toolset:
        source = FunctionSource(make, tuple(make(self)))
        tools = [FunctionTool(function, self.session) for function in source.functions]
        info = DocumentInfo(
            warnings=lambda: self.warnings,
            document=lambda: self.document,
            info=self._info.read_info,
        )
        return Toolset(tools, self.session, info, parts=(self,), source=source)

    @property
    def called(self) -> Toolset:
        """The tools that call an API: those behind `meta_tools` and `code_tools`, else its own."""
        return self if self._source is None else self._parts[0].called

    def _find_finder(self) -> Finder:
        if self._source is not None:
            return self.called._find_finder()  # noqa: SLF001 -- its own
        if self._finder is None:
            # Start-up time, as above.
            from openapi_tools.search.finder import create_finder

            whole = None if self._whole is None else self._whole._find_finder()  # noqa: SLF001
            parts = [part._find_finder() for part in self._parts]  # noqa: SLF001
            self._finder = create_finder(self, self._info.index, whole, parts)
        return self._finder

    @property
    def _calls(self) -> ToolsetCalls:
        # Start-up time: tools are loaded and shown without what calls need.
        from openapi_tools.toolsets.toolset_calls import ToolsetCalls

        return ToolsetCalls(self, self._definitions.profile)

    async def call(
        self,
        call: Any,
        arguments: dict[str, Any] | None = None,
        *,
        context: Any = None,
        profile: str | None = None,
        wait: float | None = None,
        fields: str | None = None,
    ) -> ToolResult:
        """Call a tool by name, or run a model's tool call.

        Args:
            call: The tool's name, or a tool call of any coordinator or provider.
            arguments: The arguments, if `call` is a name.
            context: As for `execute`.
            profile: The profile of the model's definitions; by default that of the last
                `definitions`.
            wait: Seconds to wait for a long-running operation; by default what the context, the
                tool or the settings say.
            fields: JMESPath that chooses parts of the response, for instance
                `"[].{id: id, title: title}"`; it is checked before the call.

        Returns:
            As `execute`; an error result also for an unknown tool or an unreadable call.
        """
        return await self._calls.call(
            call, arguments, context=context, profile=profile, wait=wait, fields=fields
        )

    async def run_function_calls(
        self, items: Iterable[Any], *, context: Any = None
    ) -> list[dict[str, Any]]:
        """Run the `function_call` items in the output of OpenAI's Responses API.

        Reads run side by side; a write waits for the calls before it and runs alone. Other items
        are left out.

        Args:
            items: The `output` of a response: the SDK's objects, or dicts.
            context: As for `execute`, for each call.

        Returns:
            A `function_call_output` item for each call, in order: JSON by the `output_schema` for
            calls of a program, and if the last `definitions` declare schemas; else for a model.
        """
        structured = self._definitions.declares_responses(self)
        return await self._calls.run_function_calls(items, context=context, structured=structured)

    def pages(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        max_items: int | None = None,
        max_pages: int = 1000,
        timeout: float | None = None,
        on_page: Callable[[PagedItems], Any] | None = None,
        context: Any = None,
    ) -> PagedItems:
        """Return the items of a paged call, page after page: `async for item in pages`.

        Every page is a call as by `call`, with its checks, guardrails, credentials and events.

        Args:
            name: The name of the tool.
            arguments: The arguments of the first page.
            max_items: Items at most; all by default.
            max_pages: Pages at most.
            timeout: Seconds for all pages; no limit by default.
            on_page: Called with the pages after each of them; may be async.
            context: As for `execute`.

        Returns:
            An asynchronous iterator, which raises nothing but cancellation; `await pages.collect()`
            returns one result. `reason` says why it ended: `complete`; a limit (`max_items`,
            `max_pages`, `timeout`); `loop`: a URL, a cursor or items came again; `no_progress`: ten
            pages without items; `outside`: the next page is not one of the API; `no_way`: no
            argument requests more; `no_items`: no list; `dry_run`; or `error`, with its result in
            `error`. `following` has the arguments that continue.
        """
        limits = (max_items, max_pages, timeout)
        return self._calls.pages(name, arguments, limits, on_page=on_page, context=context)

    async def resume(
        self, job: Mapping[str, Any], *, wait: float | None = None, context: Any = None
    ) -> ToolResult:
        """Request the state of a long-running operation, and wait for its end.

        Args:
            job: The `metadata["job"]` of an earlier result. Only URLs of the API are requested.
            wait: Seconds, as for `call`.
            context: As for `execute`.

        Returns:
            The result of the operation, an error result if it failed, or another handle.
        """
        return await self._calls.resume(job, wait=wait, context=context)

    async def mount(self, coordinator: Any) -> Callable[[], Awaitable[None]]:
        """Mount every tool into a coordinator, under its own name.

        Args:
            coordinator: An object with `await mount("tools", tool, name=…)`.

        Returns:
            An async function that unmounts the tools and closes the connections, unless another
            coordinator still has tools of the same document.

        Raises:
            SettingsError: It is not a coordinator, or a tool of such a name is mounted already.
        """
        return await self._calls.mount(coordinator)

    def __reduce__(self) -> Any:
        return self.session.__reduce__()

    async def aclose(self) -> None:
        """Close the connections, but not a client of yours; later calls are error results."""
        if self._source is not None:
            await self._source.aclose()
        for session in self.sessions:
            await session.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def document_info_of(tools: object) -> DocumentInfo:
    """Return what a toolset knows about its document; nothing for tools of another kind."""
    return tools._info if isinstance(tools, Toolset) else DocumentInfo()  # noqa: SLF001 -- its own
