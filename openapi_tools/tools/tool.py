"""A tool: one operation that a model can call."""

from __future__ import annotations

import copy
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import bare
from openapi_tools.forks import importing
from openapi_tools.http_rules import can_override, is_destructive, is_idempotent, is_read
from openapi_tools.options import functions_of

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
)
_is_imported = threading.Event()
_HOOKS = ("on_invoke", "run", "on_output", "on_error")


class OperationTool:
    """One operation of a document as a tool.

    A subclass provides the first four attributes: a generated one as plain values, a loaded one at
    the first access.

    Attributes:
        name: Unique in its toolset, `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
        description: For the model; plain text, never empty.
        input_schema: JSON Schema 2020-12 of the input: a closed object at the root. It is shared;
            `get_schema()` gives a copy.
        operation: How the API is called, as plain data.
        guards: The hooks of its calls; None without any.

    Args:
        session: Shared with other tools; a tool without one calls the document's server with the
            default settings and no credentials.
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
        """Whether a call changes nothing (RFC 9110, section 9.2.1)."""
        return is_read(self.operation)

    @property
    def idempotent(self) -> bool:
        """Whether two equal calls have the effect of one (RFC 9110, section 9.2.2)."""
        return is_idempotent(self.method) and not can_override(self.operation)

    @property
    def destructive(self) -> bool:
        """Whether a call may change or delete things: true for all but reads."""
        return not self.read_only

    @property
    def parallel_safe(self) -> bool:
        """Whether calls may run concurrently: true for reads."""
        return self.read_only

    @property
    def strict(self) -> bool:
        """Whether every argument is required and none is optional."""
        schema = self.input_schema
        return len(schema.get("required", ())) == len(schema["properties"])

    @property
    def annotations(self) -> dict[str, bool]:
        """All four of MCP's hints; `destructiveHint` counts a POST as additive."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": is_destructive(self.method) or can_override(self.operation),
            "idempotentHint": self.idempotent,
            "openWorldHint": True,
        }

    @property
    def schema(self) -> dict[str, Any]:
        """Alias of `input_schema`."""
        return self.input_schema

    @property
    def parameters(self) -> dict[str, Any]:
        """Alias of `input_schema`."""
        return self.input_schema

    @property
    def needs_approval(self) -> bool:
        """Whether a guardrail of `require_approval` is on the tool."""
        return self.guards is not None and self.guards.needs_approval

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
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
            input: The arguments, which are not changed; a `_tool_call_id` among them is repeated
                in the result.
            context: A `Context` for this call, or an object or mapping like it.
            profile: Of the model's definition; its changes of the schema are undone.

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
        """Run a tool call as `execute` does: a `ToolCall`, or any coordinator's or provider's."""
        try:
            return await (await self._ready()).answer(call, context)
        except BaseException as error:  # noqa: BLE001 -- and raised on
            context = None  # what a traceback of this frame would show
            raise bare(error)  # noqa: B904 -- the same one

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as a call would use them, without calling.

        Raises:
            InputError: They do not fit.
        """
        return self._called().check(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send, with `***` in place of credentials.

        Raises:
            InputError: The arguments do not fit.
            CallError: No server is usable.
        """
        return self._called().preview(arguments)

    async def on_invoke(self, call: ToolCall, context: Any) -> ToolCall | ToolResult | None:
        """Run the input guardrails on a call whose arguments fit; subclasses may override it.

        Returns:
            The call to make (None for this one), or an answer in place of making it.

        Raises:
            CallError: A guardrail refuses.
            InputError: The arguments that a guardrail gives do not fit.
        """
        return await self._called().admit(call, context)

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        """Make a call without guardrails.

        Returns:
            The API's answer; an error result for an error status.

        Raises:
            CallError: The API gave no usable answer.
            InputError: The arguments do not fit.
        """
        return await self._called().run(call, context)

    async def on_output(self, result: ToolResult, context: Any) -> ToolResult:
        """Run the output guardrails on a result or error result.

        Raises:
            CallError: A guardrail withholds it.
        """
        return await self._called().release(result, context)

    async def on_error(self, error: Exception, context: Any) -> ToolResult:
        """Return the result of the functions for failures, else an error result."""
        return await self._called().explain(error, context)

    def add_input_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that pass, change or refuse calls.

        Args:
            guardrails: Each is called with the `ToolCall` and the context and may be async. None
                and True pass the call; a `ToolCall` or a mapping replaces the arguments, a
                `ToolResult` the call; False and exceptions refuse it (`denied`).

        Raises:
            SettingsError: They are not functions.
        """
        self._guarded().add_inputs(functions_of(guardrails, "guardrails"), self)

    def add_output_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that pass, change or withhold results.

        Args:
            guardrails: Each is called with the `ToolResult` and the context and may be async. None
                passes it, a `ToolResult` replaces it; exceptions withhold it (`denied`).

        Raises:
            SettingsError: They are not functions.
        """
        self._guarded().outputs.extend(functions_of(guardrails, "guardrails"))

    def add_on_error_func(self, on_error_func: Callable[..., Any]) -> None:
        """Add a function for failures.

        Args:
            on_error_func: Is called with the exception and the context and may be async. It
                returns a `ToolResult`, or None; the first result counts.

        Raises:
            SettingsError: It is not a function.
        """
        self._guarded().errors.extend(functions_of(on_error_func, "on_error_func"))

    def __reduce__(self) -> Any:
        if self._session is None:
            return type(self), ()
        return self._session.__reduce__()

    def _guarded(self) -> Guards:
        if self.guards is None:
            from openapi_tools.tools.guardrails import Guards

            self.guards = Guards()
        return self.guards

    async def _ready(self) -> Caller:
        """Return the caller; the first call of a program imports in a thread."""
        if self._caller is None and not _is_imported.is_set():
            await _imported()
        return self._called()

    def _called(self) -> Caller:
        """Return the caller, made at the first call."""
        if self._caller is None:
            with importing:
                from openapi_tools.tools.pipeline import Caller

            kind = type(self)
            own = any(getattr(kind, name) is not getattr(OperationTool, name) for name in _HOOKS)
            self._caller = Caller(self, self._session, own_hooks=own)
        return self._caller


async def _imported() -> None:
    """Import the modules of a call in a thread, as that takes a few hundred milliseconds."""
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # another library's loop: the call says so
        return
    await loop.run_in_executor(None, _import)


def _import() -> None:
    with importing:
        for name in _NEEDED:
            import_module(name)
        import_module("jsonschema_rs").is_valid({}, None)  # which makes it look for Python's types
        _is_imported.set()
