"""The tools of one document, sharing one client."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

from openapi_tools.errors import SettingsError
from openapi_tools.options import functions_of, kind_of, members_of
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from types import TracebackType

    from openapi_tools.model import SecurityScheme, Skipped
    from openapi_tools.observability.observers import Event
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool


@dataclass(frozen=True, slots=True)
class Select:
    """Which operations become tools: those that satisfy every given member.

    Attributes:
        tags: It has one of these tags.
        methods: It has one of these methods, in any case.
        names: Its tool name matches one of these patterns (`*`, `?`, `[…]`).
        paths: Its path matches one of these patterns; `*` matches `/` too.
        deprecated: False leaves deprecated operations out, True takes only those.
        where: Any test of the tool.

    Raises:
        SettingsError: A member of another type.
    """

    tags: Iterable[str] = ()
    methods: Iterable[str] = ()
    names: Iterable[str] = ()
    paths: Iterable[str] = ()
    deprecated: bool | None = None
    where: Callable[[OperationTool], bool] | None = None

    def __post_init__(self) -> None:
        for name in ("tags", "methods", "names", "paths"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        if self.deprecated is not None and not isinstance(self.deprecated, bool):
            raise _unfit("deprecated", "true or false", self.deprecated)
        if self.where is not None and not callable(self.where):
            raise _unfit("where", "a function of the tool", self.where)

    @classmethod
    def of(cls, given: Any) -> Select | None:
        """Return a selection; a mapping has its members, a function is its `where`; None for None.

        Raises:
            SettingsError: It is something else, or has a wrong member.
        """
        if given is None or isinstance(given, Select):
            return given
        if isinstance(given, Mapping):
            return cls(**members_of(given, tuple(cls.__dataclass_fields__), "select"))
        if callable(given) and not isinstance(given, type):
            return cls(where=given)
        raise SettingsError(f"select: give Select(tags=…, methods=…, …), not {kind_of(given)}.")

    def takes(self, tool: OperationTool) -> bool:
        """Tell whether a tool is selected."""
        return (
            (not self.tags or bool(set(self.tags) & set(tool.tags)))
            and (not self.methods or tool.method in {method.upper() for method in self.methods})
            and self.takes_name(tool.name)
            and (not self.paths or _matches(tool.path, self.paths))
            and (self.deprecated is None or tool.deprecated == self.deprecated)
            and (self.where is None or self.where(tool))
        )

    def takes_name(self, name: str) -> bool:
        """Tell whether a tool of this name may be selected."""
        return not self.names or _matches(name, self.names)


def _texts(name: str, given: Any) -> tuple[str, ...]:
    """Return the texts of a member; one text counts as a list of it."""
    listed = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if all(isinstance(text, str) for text in listed):
        return listed
    raise _unfit(name, "a text or a list of texts", given)


def _unfit(name: str, kind: str, given: object) -> SettingsError:
    return SettingsError(f"select: {name!r} must be {kind}, not {given!r:.60}.")


def _matches(text: str, patterns: Iterable[str]) -> bool:
    """Tell whether a text is one of the patterns or matches one; braces of paths are literal."""
    return any(text == pattern or fnmatchcase(text, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """Facts about the document of a toolset.

    Attributes:
        skipped: Operations that did not become tools.
        warnings: Returns other remarks on the document.
        security_schemes: By the document's names.
        counts: Returns the numbers of webhooks, callbacks and links.
        document: Returns the parsed document.
    """

    skipped: tuple[Skipped, ...] = ()
    warnings: Callable[[], tuple[str, ...]] = tuple
    security_schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)
    counts: Callable[[], dict[str, int]] = dict
    document: Callable[[], Any] = lambda: None


class Toolset:
    """The tools of one document.

    Iterating gives the tools in the document's order, `toolset["name"]` one of them.

    Args:
        tools: The tools.
        session: Shared by the tools, for modules of this package.
        about: Facts about their document.
    """

    def __init__(
        self, tools: Iterable[OperationTool], session: Session, about: About | None = None
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.session = session
        self._about = about or About()
        self._profile: str | None = None
        self._notes: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[OperationTool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> OperationTool:
        try:
            return self._tools[name]
        except KeyError:
            raise KeyError(no_such_tool(name, list(self._tools))) from None

    def __repr__(self) -> str:
        return f"<toolset of {len(self)} tools>"

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The operations that did not become tools, with place and reason."""
        return self._about.skipped

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on the document and on `definitions`."""
        notes = (note for listed in self._notes.values() for note in listed)
        return (*self._about.warnings(), *notes)

    @property
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """The document's security schemes by name: the keys of `credentials`."""
        return self._about.security_schemes

    @property
    def counts(self) -> dict[str, int]:
        """How many operations, skipped ones, webhooks, callbacks and links the document has.

        The last three are never tools. Counted anew at each look.
        """
        return self._about.counts()

    @property
    def document(self) -> Any:
        """The parsed document; None when the tools were not loaded from one."""
        return self._about.document()

    def select(self, select: Select) -> Toolset:
        """Return the tools that are selected: the same ones, with their client and guardrails.

        Raises:
            SettingsError: It is not a selection.
        """
        wanted = Select.of(select)
        chosen = [tool for tool in self if wanted is None or wanted.takes(tool)]
        return Toolset(chosen, self.session, self._about)

    def definitions(self, profile: str) -> list[dict[str, Any]]:
        """Return the tools for a provider's API.

        Unsupported tools are left out; `warnings` gives the reasons.

        Args:
            profile: `openai`, `openai_strict`, `anthropic`, `gemini` or `mcp`.

        Returns:
            One dict for each tool; schemas are shared, so do not change them.

        Raises:
            SettingsError: The profile is unknown.
        """
        from openapi_tools.providers.definitions import LIMITS, CannotExpress, check_profile, define
        from openapi_tools.providers.shaping import Memory

        check_profile(profile)
        memory, found, notes = Memory(), [], []
        for tool in self:
            try:
                definition = define(tool, profile, memory, loosely=True)
            except CannotExpress as error:
                notes.append(f"{profile}: {tool.name} is left out: {error}")
                continue
            found.append(definition.value)
            notes += (f"{profile}: {tool.name}: {note}" for note in definition.notes)
        if len(found) > LIMITS.get(profile, len(found)):
            most = f"{LIMITS[profile]} tools in one request, and these are {len(found)}"
            notes.append(f"{profile}: the provider takes {most}; select those that you need.")
        self._profile, self._notes[profile] = profile, notes
        return found

    async def call(
        self,
        call: Any,
        arguments: dict[str, Any] | None = None,
        *,
        context: Any = None,
        profile: str | None = None,
    ) -> ToolResult:
        """Call a tool by name, or run a model's tool call.

        Args:
            call: The tool's name, or a tool call of any coordinator or provider.
            arguments: Of the call, when it is given by name.
            context: As for `execute`.
            profile: Of the model's definitions; by default that of the last `definitions`.

        Returns:
            As `execute`; an error result also for an unknown tool or an unreadable call.
        """
        from openapi_tools.tools.pipeline import answer_call

        known = self._profile if profile is None else profile
        return await answer_call(self, call, arguments, profile=known, context=context)

    def add_input_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that pass, change or refuse calls to each tool.

        Args:
            guardrails: As for a tool; those of `require_approval` go to the tools they are for.

        Raises:
            SettingsError: They are not functions.
        """
        guardrails = functions_of(guardrails, "guardrails")
        for tool in self:
            tool.add_input_guardrails(guardrails)

    def add_output_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that pass, change or withhold results to each tool.

        Raises:
            SettingsError: They are not functions.
        """
        guardrails = functions_of(guardrails, "guardrails")
        for tool in self:
            tool.add_output_guardrails(guardrails)

    def add_on_error_func(self, on_error_func: Callable[..., Any]) -> None:
        """Add a function for failures to each tool."""
        for tool in self:
            tool.add_on_error_func(on_error_func)

    def subscribe(self, function: Callable[[Event], object]) -> Callable[[], None]:
        """Have a function called with the events of each call: started, retry, completed, error.

        Args:
            function: Called in the task of the call, so it has to be quick; its exceptions are
                logged once.

        Returns:
            A function that ends this.

        Raises:
            SettingsError: It is a coroutine function.
        """
        return self.session.observers.subscribe(function)

    async def mount(self, coordinator: Any) -> Callable[[], Awaitable[None]]:
        """Mount every tool into a coordinator, under its own name.

        Args:
            coordinator: An object with `await mount("tools", tool, name=…)`.

        Returns:
            An async function that unmounts the tools and closes the connections, unless another
            coordinator still holds tools of the same document.

        Raises:
            SettingsError: It is not a coordinator, or a tool of such a name is mounted already.
        """
        from openapi_tools.tools.mounting import mount_tools

        return await mount_tools(self, coordinator, self.session)

    def __reduce__(self) -> Any:
        return self.session.__reduce__()

    async def aclose(self) -> None:
        """Close the connections, but not a client of yours; later calls are error results."""
        await self.session.sender.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def no_such_tool(name: object, names: list[str]) -> str:
    """Return the message for an unknown tool, with close names."""
    close = difflib.get_close_matches(str(name), names, n=3)
    hint = f"; close names: {', '.join(close)}" if close else f" among {len(names)} tools"
    return f"no tool is called {excerpt(repr(name), 100)}{hint}."
