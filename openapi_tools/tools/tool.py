"""A tool: one operation that a model can call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import bare
from openapi_tools.forks import importing
from openapi_tools.http_rules import can_override, is_destructive, is_idempotent, is_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.guardrails import Guards
    from openapi_tools.tools.pipeline import Caller
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool_call import ToolCall

_NEEDED = (
    "openapi_tools.tools.pipeline",
    "openapi_tools.transport.sender",
    "encodings.idna",  # which sockets ask for with the first name of a host
    "importlib.readers",  # which certifi asks for
    "sniffio",
    "tenacity",
)
_is_imported = threading.Event()
_HOOKS = ("on_invoke", "run", "on_output", "on_error")


class OperationTool:
    """One operation of a document as a tool.

    A subclass gives the first four attributes: a generated one as plain values, a loaded one when
    they are first looked at.

    Attributes:
        name: Unique in its toolset, `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
        description: For the model; plain text, never empty.
        input_schema: JSON Schema 2020-12 of the input: a closed object at the root. It is shared;
            `get_schema()` gives a copy.
        operation: How the API is called, as plain data.
        guards: What is hung into its calls; None as long as there is nothing.

    Args:
        session: What it shares with other tools; a tool made without one calls the document's
            server with the default settings and no credentials.
    """

    __slots__ = ("_caller", "_session", "guards")

    def __init__(self, session: Session | None = None) -> None:
        self._session = session
        self.guards: Guards | None = None
        self._caller: Caller | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """For the model; plain text, never empty."""
        raise NotImplementedError

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the input; shared, so do not change it."""
        raise NotImplementedError

    @property
    def operation(self) -> Operation:
        """How the API is called, as plain data."""
        raise NotImplementedError

    @property
    def method(self) -> str:
        """The HTTP method, upper case."""
        return self.operation.method

    @property
    def path(self) -> str:
        """The path as in the document."""
        return self.operation.path

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        return self.operation.tags

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self.operation.deprecated

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing (RFC 9110, section 9.2.1), nor can ask for more."""
        return is_read(self.operation)

    @property
    def idempotent(self) -> bool:
        """Whether two equal calls do no more than one (RFC 9110, section 9.2.2)."""
        return is_idempotent(self.method) and not can_override(self.operation)

    @property
    def destructive(self) -> bool:
        """Whether a call may change or delete things: the careful guess for all but reads."""
        return not self.read_only

    @property
    def parallel_safe(self) -> bool:
        """Whether it may run beside other calls: true for reads."""
        return self.read_only

    @property
    def strict(self) -> bool:
        """Whether every argument is required and none is optional."""
        schema = self.input_schema
        return len(schema.get("required", ())) == len(schema["properties"])

    @property
    def annotations(self) -> dict[str, bool]:
        """What MCP calls the hints of a tool; all four of them.

        `destructiveHint` goes by the method alone, where a POST adds; `destructive` is careful.
        """
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": is_destructive(self.method) or can_override(self.operation),
            "idempotentHint": self.idempotent,
            "openWorldHint": True,
        }

    @property
    def schema(self) -> dict[str, Any]:
        """The input schema, under another of its names."""
        return self.input_schema

    @property
    def parameters(self) -> dict[str, Any]:
        """The input schema, under another of its names."""
        return self.input_schema

    @property
    def needs_approval(self) -> bool:
        """Whether a guardrail of `require_approval` is on the tool."""
        from openapi_tools.tools.guardrails import Approval

        inputs = () if self.guards is None else self.guards.inputs
        return any(isinstance(guard, Approval) for guard in inputs)

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
        import copy

        return copy.deepcopy(self.input_schema)

    def __repr__(self) -> str:
        return f"<tool {self.name}: {self.method} {self.path}>"

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,
        profile: str | None = None,
    ) -> ToolResult:
        """Call the API.

        Args:
            input: The arguments as JSON-native data, as the input schema describes them; a
                `_tool_call_id` is taken out and given back in the result. It is not changed.
            context: What belongs to this one call: a `Context`, or anything like it.
            profile: Whose definition the model was given; what that widened is undone.

        Returns:
            The answer, or an error result; nothing is raised but cancellation.
        """
        try:
            caller = self._caller or await self._ready()
            return await caller.result(input, context, profile)
        except BaseException as error:  # noqa: BLE001 -- and raised on
            context = None  # what a traceback of this frame would show
            raise bare(error)  # noqa: B904 -- the same one

    async def __call__(self, call: Any, context: Any = None) -> ToolResult:
        """Run a tool call.

        Args:
            call: A `ToolCall`, or the call as a coordinator or a provider hands it over.
            context: As for `execute`.

        Returns:
            As `execute`; an error result also for what is no call, or one of another tool.
        """
        try:
            return await (await self._ready()).answer(call, context)
        except BaseException as error:  # noqa: BLE001 -- and raised on
            context = None  # what a traceback of this frame would show
            raise bare(error)  # noqa: B904 -- the same one

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as a call takes them, without calling.

        Args:
            arguments: As for `execute`.

        Raises:
            InputError: They do not fit.
        """
        return self._called().check(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send, with `***` in place of credentials.

        Args:
            arguments: As for `execute`.

        Raises:
            InputError: The arguments do not fit.
            CallError: There is no server to send it to.
        """
        return self._called().preview(arguments)

    async def on_invoke(self, call: ToolCall, context: Any) -> ToolCall | ToolResult | None:
        """Ask the input guardrails; a subclass may do more, or other things.

        Args:
            call: Its arguments fit the tool.
            context: As for `execute`.

        Returns:
            The call to make (None for this one), or an answer in place of making it.

        Raises:
            CallError: A guardrail refuses.
            InputError: The arguments that a guardrail gives do not fit.
        """
        return await self._called().admit(call, context)

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        """Make a call, past all guardrails.

        Args:
            call: What to call with.
            context: As for `execute`.

        Returns:
            What the API answers, an error result if it says so.

        Raises:
            CallError: There is no answer that can be used.
            InputError: The arguments do not fit.
        """
        return await self._called().run(call, context)

    async def on_output(self, result: ToolResult, context: Any) -> ToolResult:
        """Ask the output guardrails about a result of whatever kind.

        Args:
            result: What would be given back.
            context: As for `execute`.

        Raises:
            CallError: A guardrail withholds it.
        """
        return await self._called().release(result, context)

    async def on_error(self, error: Exception, context: Any) -> ToolResult:
        """Ask the functions for failures, and say what happened if none of them does.

        Args:
            error: What was raised; for an error answer of the API a `CallError`.
            context: As for `execute`.
        """
        return await self._called().explain(error, context)

    def add_input_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that let a call go on, change it or refuse it.

        Args:
            guardrails: Each is called with the `ToolCall` and the context and may be async. None
                and True let the call go on; a `ToolCall` or a mapping gives other arguments, a
                `ToolResult` the answer; False and whatever is raised refuse it (`denied`). One
                function alone is meant as a list of it.

        Raises:
            SettingsError: They are not functions.
        """
        from openapi_tools.options import functions_of
        from openapi_tools.tools.guardrails import Approval

        given = functions_of(guardrails, "guardrails")
        added = (g for g in given if not isinstance(g, Approval) or g.takes(self))
        self._guarded().inputs.extend(added)

    def add_output_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that let a result go, change it or withhold it.

        Args:
            guardrails: Each is called with the `ToolResult` and the context and may be async. None
                lets it go, a `ToolResult` replaces it; whatever is raised withholds it (`denied`).

        Raises:
            SettingsError: They are not functions.
        """
        from openapi_tools.options import functions_of

        self._guarded().outputs.extend(functions_of(guardrails, "guardrails"))

    def add_on_error_func(self, on_error_func: Callable[..., Any]) -> None:
        """Add a function for failures.

        Args:
            on_error_func: Is called with the exception and the context and may be async. It gives
                the `ToolResult` to return, or None; the first that gives one decides.

        Raises:
            SettingsError: It is not a function.
        """
        from openapi_tools.options import functions_of

        self._guarded().errors.extend(functions_of(on_error_func, "on_error_func"))

    def __reduce__(self) -> Any:
        if self._session is None:
            return type(self), ()
        return self._session.__reduce__()

    def _guarded(self) -> Guards:
        """Return what is hung into this tool's calls."""
        if self.guards is None:
            from openapi_tools.tools.guardrails import Guards

            self.guards = Guards()
        return self.guards

    async def _ready(self) -> Caller:
        """Return what calls this tool; the first call of a program leaves imports to a thread."""
        if self._caller is None and not _is_imported.is_set():
            await _imported()
        return self._called()

    def _called(self) -> Caller:
        """Return what calls this tool; made at the first call, so that looks cost little."""
        if self._caller is None:
            with importing:
                from openapi_tools.tools.pipeline import Caller

            kind = type(self)
            own = any(getattr(kind, name) is not getattr(OperationTool, name) for name in _HOOKS)
            self._caller = Caller(self, self._session, own_hooks=own)
        return self._caller


async def _imported() -> None:
    """Import what calls need: a few hundred milliseconds, which no event loop should wait for."""
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # another library's loop: the call says so
        return
    await loop.run_in_executor(None, _import)


def _import() -> None:
    from importlib import import_module

    with importing:
        for name in _NEEDED:
            import_module(name)
        import_module("jsonschema_rs").is_valid({}, None)  # which makes it look for Python's types
        _is_imported.set()
