"""A tool: one operation that a model can call."""

from __future__ import annotations

import copy
import sys
import threading
from typing import TYPE_CHECKING, Any, Literal

from openapi_tools.common.http_rules import can_override, is_destructive, is_idempotent, is_read
from openapi_tools.common.options import list_functions
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.errors import strip_traceback
from openapi_tools.tools.call import Call
from openapi_tools.tools.marked_values import MarkedValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.result import ToolCall, ToolResult
    from openapi_tools.settings import Settings
    from openapi_tools.tools.caller import Caller
    from openapi_tools.tools.guardrails import Guards
    from openapi_tools.tools.session import Session

_is_imported = threading.Event()  # what a first call needs
_STEPS = ("on_invoke", "run", "on_output", "on_error")


class OperationTool:
    """One operation of a document as a tool.

    Subclasses provide the first four attributes: generated ones as plain values, loaded ones at the
    first access. A tool without a session calls the document's server with the default settings and
    no credentials.

    Attributes:
        guards: The guardrails of the tool; None without any.
    """

    __slots__ = ("_caller", "_marked", "_session", "guards")

    def __init__(self, session: Session | None = None) -> None:
        self._session = session
        self.guards: Guards | None = None
        self._caller: Caller | None = None
        self._marked: MarkedValues | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset, `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """For the model; plain text, never empty."""
        raise NotImplementedError

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the input, a closed object; shared, so do not change it."""
        raise NotImplementedError

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """JSON Schema 2020-12 of a response; None if unknown, as in generated packages."""

    @property
    def operation(self) -> Operation:
        """How the API is called, as plain data."""
        raise NotImplementedError

    @property
    def operation_id(self) -> str:
        """The document's own id; empty when it has none."""
        try:
            return self.operation.operation_id
        except NotImplementedError:  # a tool of another kind
            return ""

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
        """Whether a call changes nothing (RFC 9110, section 9.2.1).

        That is not so where an argument can ask for another method: `_method` in a query or form,
        `X-HTTP-Method-Override` and its like.
        """
        return self.operation.hints.get("read_only", is_read(self.operation))

    @property
    def idempotent(self) -> bool:
        """Whether two equal calls have the effect of one (RFC 9110, section 9.2.2)."""
        usual = is_idempotent(self.method) and not can_override(self.operation)
        return self.operation.hints.get("idempotent", usual)

    @property
    def destructive(self) -> bool:
        """Whether a call may change or delete data; a POST only adds, as MCP's hints have it."""
        usual = is_destructive(self.method) or can_override(self.operation)
        return not self.read_only and self.operation.hints.get("destructive", usual)

    @property
    def safety(self) -> Literal["read-only", "additive", "destructive"]:
        """What a call may do to the API's data."""
        if self.read_only:
            return "read-only"
        return "destructive" if self.destructive else "additive"

    @property
    def parallel_safe(self) -> bool:
        """Whether calls may run concurrently: true for reads."""
        return self.read_only

    @property
    def strict(self) -> bool:
        """Whether every argument is required and none is optional."""
        return set(self.input_schema["properties"]) == {*self.input_schema.get("required", ())}

    @property
    def annotations(self) -> dict[str, bool]:
        """All four of MCP's hints."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": True,
        }

    @property
    def schema(self) -> dict[str, Any]:
        """Alias of `input_schema`, as is `parameters`."""
        return self.input_schema

    parameters = schema

    @property
    def settings(self) -> Settings:
        """The settings of its document's session; the defaults without one."""
        return DEFAULT_SETTINGS if self._session is None else self._session.settings

    @property
    def session(self) -> Session | None:
        """The session of its document; None without one."""
        return self._session

    @property
    def needs_approval(self) -> bool:
        """Whether a guardrail of `require_approval` is on the tool."""
        return self.guards is not None and self.guards.needs_approval

    @property
    def calls_another(self) -> bool:
        """Whether each call runs another tool, the `target_tool`; true for `call_tool` only."""
        return False

    @property
    def marked_values(self) -> MarkedValues:
        """The values of its calls that its schemas mark as secret."""
        if self._marked is None:
            self._marked = MarkedValues(self)
        return self._marked

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
        return copy.deepcopy(self.input_schema)

    def target_tool(self, arguments: Mapping[str, Any]) -> tuple[OperationTool, Mapping[str, Any]]:
        """Return the tool that a call runs, and its arguments; only `call_tool` runs another.

        Approval and questions to a person are about that tool.
        """
        return self, arguments

    def repair_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments that do not fit, in another form; only `call_tool` changes them."""
        return arguments

    def with_name(self, name: str) -> OperationTool:
        """Return the same tool, with its session and guardrails, under another name."""
        renamed = self._copy_as(name)
        renamed.guards = self._require_guards()
        return renamed

    def with_session(self, session: Session) -> OperationTool:
        """Return the same tool for another session, with copies of its guardrails."""
        copied = self._copy_as(self.name)
        copied._session = session  # noqa: SLF001 -- its own
        if self.guards is not None:
            copied.guards = self.guards.copy()
        return copied

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
            profile: The profile of the model's definition; its changes of the schema are undone.

        Returns:
            The API's response as a result, or an error result; nothing is raised but cancellation.
        """
        try:
            caller = self._caller or await self._load_caller()
            return await caller.execute(Call(self, input, context, profile))
        except BaseException as error:  # noqa: BLE001 -- it is raised again
            # Cancellation passes, but trackers of errors store the variables of frames.
            context = None
            raise strip_traceback(error)  # noqa: B904 -- the same exception

    async def __call__(self, call: Any, context: Any = None) -> ToolResult:
        """Run a tool call as `execute` does: a `ToolCall`, or any coordinator's or provider's."""
        try:
            return await (await self._load_caller()).execute_tool_call(call, context)
        except BaseException as error:  # noqa: BLE001 -- it is raised again
            context = None  # a traceback of this frame would show it
            raise strip_traceback(error)  # noqa: B904 -- the same exception

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as a call would use them, without calling.

        Raises:
            InputError: They do not fit.
        """
        return self._find_caller().check(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send, with `***` in place of credentials.

        Raises:
            InputError, CallError: The arguments do not fit, or no server is usable.
        """
        return self._find_caller().preview(arguments)

    async def on_invoke(self, call: ToolCall, context: Any) -> ToolCall | ToolResult | None:
        """Run the input guardrails on a call with valid arguments; subclasses may override it.

        Returns:
            The call to make (None for this one), or a result instead of the call.

        Raises:
            CallError, InputError: A guardrail refuses, or returns arguments that are not valid.
        """
        return call if self.guards is None else await self.guards.admit(call, context, self)

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        """Make a call without guardrails, and return the API's response or an error result.

        Raises:
            CallError: The API gave no usable response.
            InputError: The arguments do not fit.
        """
        return await self._find_caller().run_tool_call(call, context)

    async def on_output(self, result: ToolResult, context: Any) -> ToolResult:
        """Run the output guardrails on a result or error result.

        Raises:
            CallError: A guardrail withholds it.
        """
        return result if self.guards is None else await self.guards.release(result, context)

    async def on_error(self, error: Exception, context: Any) -> ToolResult:
        """Return the result of a function for failures, or else the error as a result."""
        explained = None if self.guards is None else await self.guards.explain(error, context)
        return explained or self._find_caller().error_result(error)

    def add_input_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions of the `ToolCall` and the context, which may be async.

        None and True pass the call; a `ToolCall` or a mapping replaces the arguments, a
        `ToolResult` the call; False and exceptions refuse it (`denied`).

        Raises:
            SettingsError: They are not functions.
        """
        self._require_guards().add_inputs(list_functions(guardrails, "guardrails"), self)

    def add_output_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions of the `ToolResult` and the context, which may be async.

        None passes the result, a `ToolResult` replaces it; exceptions withhold it (`denied`).

        Raises:
            SettingsError: They are not functions.
        """
        self._require_guards().outputs.extend(list_functions(guardrails, "guardrails"))

    def add_on_error_func(self, on_error_func: Callable[..., Any]) -> None:
        """Add a function of an exception and the context, which may be async.

        It returns a `ToolResult` or None; of several functions, the first result counts.

        Raises:
            SettingsError: It is not a function.
        """
        self._require_guards().errors.extend(list_functions(on_error_func, "on_error_func"))

    def __reduce__(self) -> Any:
        return (type(self), ()) if self._session is None else self._session.__reduce__()

    def _copy_as(self, name: str) -> OperationTool:
        # Names are attributes of classes: a generated tool's is one of its module.
        kind: Any = type(self)
        subclass = type(kind)(kind.__name__, (kind,), {"name": name})
        renamed: OperationTool = subclass(self._session)
        vars(renamed).update({**getattr(self, "__dict__", {}), "name": name})
        return renamed

    def _require_guards(self) -> Guards:
        if self.guards is None:
            # Start-up time: most tools have no guardrails.
            from openapi_tools.tools.guardrails import Guards

            self.guards = Guards()
        return self.guards

    async def _load_caller(self) -> Caller:
        # The first call of a program imports httpx, h11 and more for some 100 ms. In a thread,
        # so that the event loop goes on meanwhile.
        if self._caller is None and not _is_imported.is_set():
            # Not imported here: it takes 10 ms, and a loop of asyncio has imported it.
            asyncio: Any = sys.modules.get("asyncio")
            try:
                loop = asyncio.get_running_loop()
            except (AttributeError, RuntimeError):  # another library's loop: the call says so
                return self._find_caller()
            await loop.run_in_executor(None, self._find_caller)
        return self._find_caller()

    def _find_caller(self) -> Caller:
        if self._caller is None:
            # Start-up time: it imports all that a call needs, such as the network's modules.
            from openapi_tools.tools.caller import Caller

            _is_imported.set()
            kind = type(self)
            own_steps = [n for n in _STEPS if getattr(kind, n) is not getattr(OperationTool, n)]
            self._caller = Caller(self, self._session, has_own_steps=bool(own_steps))
        return self._caller


async def execute_call(tool: OperationTool, call: Call) -> ToolResult:
    """Make a call as `execute` does, with options that `execute` does not take."""
    try:
        caller = await tool._load_caller()  # noqa: SLF001 -- of this module
        return await caller.execute(call)
    except BaseException as error:  # noqa: BLE001 -- it is raised again
        raise strip_traceback(error)  # noqa: B904 -- the same exception
