"""Mount the tools of documents into Amplifier, with its results, hook events and approval."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractContextManager, AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import openapi_tools
from openapi_tools.contracts import requiring
from openapi_tools.contracts.amplifier.amplifier_results import translated
from openapi_tools.errors import CredentialsError, DeniedError, InputError, SettingsError
from openapi_tools.options import members_of
from openapi_tools.result import ToolResult
from openapi_tools.tools.guardrails import question_of, settled
from openapi_tools.tools.packages import check_selected, options_of
from openapi_tools.tools.pipeline import call_id_in
from openapi_tools.tools.tool_call import Context, ToolCall, member_of, read_call, with_approve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

with requiring("amplifier"):
    from amplifier_core.approval import ApprovalTimeoutError

_CHANNEL = "observability.events"
_EVENTS = ("started", "completed", "error")
_CALL_ID = "_tool_call_id"
_YES, _NO = "Allow", "Deny"
_WAIT = 300.0
_LONGEST_ID = 256
_KEYS = ("spec", "specs", "select", "credentials", "base_url", "settings")

logger = logging.getLogger("openapi_tools")


async def mount(
    coordinator: Any, config: Mapping[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    """Mount the tools of OpenAPI documents, as a mount plan's configuration says; all or none.

    Args:
        coordinator: Amplifier's, or whatever has `await mount("tools", tool, name=…)`.
        config: `spec` (a URL, a path or a parsed document) and, all optional, `select`,
            `credentials`, `base_url` and `settings`; or `specs`, a list of such mappings. Without
            any, nothing is mounted.

    Returns:
        An async function that unmounts the tools and closes the connections.

    Raises:
        SettingsError: A configuration that does not fit, or a tool's name that is taken.
        CredentialsError: A scheme that a document does not have, or a variable that is not set.
        DocumentError: A document that cannot be used.
        SourceError: A document that cannot be read.
    """
    async with AsyncExitStack() as stack:
        toolsets = {}
        for place, part in _parts(config):
            toolset = await _loaded(place, part)
            toolsets[place] = await stack.enter_async_context(toolset)
            _tell(place, toolset)
        _check_names(toolsets)
        for toolset in toolsets.values():
            stack.push_async_callback(await toolset.mount(coordinator))
        return stack.pop_all().aclose


def _tell(place: str, toolset: Toolset) -> None:
    """Log skipped operations and warnings, as the author of a mount plan has no toolset to ask."""
    for item in toolset.skipped:
        operation = f"{item.method} {item.path}".strip()
        logger.warning("%s: skipped %s: %s", place, operation, item.reason)
    for warning in toolset.warnings:
        logger.warning("%s: %s", place, warning)


def _check_names(toolsets: Mapping[str, Toolset]) -> None:
    places: dict[str, str] = {}
    for place, toolset in toolsets.items():
        taken = [tool.name for tool in toolset if tool.name in places]
        if taken:
            hint = "give one of them settings: {prefix: …}."
            reason = f"{places[taken[0]]} has a tool of the same name, {taken[0]}; {hint}"
            raise SettingsError(f"{place}: {reason}")
        places |= dict.fromkeys((tool.name for tool in toolset), place)


def _parts(config: Mapping[str, Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the configuration of each document, by its place."""
    if config is None:
        return []
    given = _checked(config, "configuration", _KEYS)
    if "specs" not in given:
        return [("configuration", given)] if given else []
    if len(given) > 1:
        reason = "put what belongs to a document beside its 'spec'."
        raise SettingsError(f"configuration: 'specs' stands alone; {reason}")
    if not isinstance(given["specs"], list | tuple):
        kind = type(given["specs"]).__name__
        raise SettingsError(f"configuration: 'specs' must be a list of mappings, not {kind}.")
    places = [(f"specs/{index}", part) for index, part in enumerate(given["specs"])]
    keys = tuple(key for key in _KEYS if key != "specs")
    return [(place, _checked(part, place, keys)) for place, part in places]


def _checked(given: Any, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if given is None:
        raise SettingsError(f"{place}: must be a mapping by name, not NoneType.")
    known = members_of(given, keys, place)
    whole = "specs" in keys
    if known.get("spec") is None and not (whole and ("specs" in known or not known)):
        raise SettingsError(f"{place}: there is no 'spec'; give the URL or the path of a document.")
    return known


async def _loaded(place: str, part: Mapping[str, Any]) -> Toolset:
    try:
        options = options_of({key: value for key, value in part.items() if key != "spec"})
        return check_selected(
            await openapi_tools.aload_tools(part["spec"], **options), options["select"]
        )
    except SettingsError as error:
        raise SettingsError(_at(place, error.reason)) from error
    except CredentialsError as error:
        raise CredentialsError(_at(place, error.reason), scheme=error.scheme) from error


def _at(place: str, reason: str) -> str:
    """Return a reason with its place; where there is one document only, it says enough itself."""
    return reason if place == "configuration" else f"{place}: {reason}"


def present(
    coordinator: Any, tools: Iterable[OperationTool]
) -> AbstractContextManager[list[Presented]]:
    """Return a context that gives the tools adapted to Amplifier and announces their events.

    Args:
        coordinator: A `ModuleCoordinator`; it lists the events until the context ends.
        tools: Any tools of this package.
    """
    presented = [Presented(tool, coordinator) for tool in tools]
    events = [f"{tool.name}:{event}" for tool in presented for event in _EVENTS]
    coordinator.register_contributor(_CHANNEL, "openapi-tools", events.copy)
    return _Announced(presented, events)


class _Announced(AbstractContextManager["list[Presented]"]):
    """A context manager; a generator would also end when it is garbage collected."""

    def __init__(self, presented: list[Presented], events: list[str]) -> None:
        self._presented = presented
        self._events = events

    def __enter__(self) -> list[Presented]:
        return self._presented

    def __exit__(self, *_: object) -> None:
        self._events.clear()  # a contributor cannot be taken back


class Presented:
    """A tool whose results are those of `amplifier_core`, and whose calls its hooks hear of.

    Other attributes are the tool's: `annotations`, `read_only`, `schema` and the rest.

    Args:
        tool: The tool.
        coordinator: Where it is mounted.
    """

    def __init__(self, tool: OperationTool, coordinator: Any) -> None:
        self._tool = tool
        self._coordinator = coordinator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tool, name)

    def __repr__(self) -> str:
        return repr(self._tool)

    @property
    def name(self) -> str:
        """The tool's name, under which it is mounted."""
        return self._tool.name

    @property
    def description(self) -> str:
        """For the model."""
        return self._tool.description

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the input."""
        return self._tool.input_schema

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
        return self._tool.get_schema()

    async def __call__(self, call: Any, context: Any = None) -> Any:
        """Run a tool call, as `OperationTool` does; the result is Amplifier's."""
        try:
            read = read_call(call)
        except InputError:
            read = ToolCall(name="")
        if read.name != self.name:  # the tool reports the error
            return translated(await self._tool(call, context))
        return await self.execute({**read.arguments, _CALL_ID: read.id}, context=context)

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,
    ) -> Any:
        """Call the API."""
        call_id = self._call_id(input)
        facts: dict[str, Any] = {"tool_call_id": call_id[:_LONGEST_ID]} if call_id else {}
        await self._tell("started", facts)
        start = time.perf_counter()
        result = await self._result(input, self._context(context))
        facts |= {"success": result.success, "duration": round(time.perf_counter() - start, 6)}
        if result.error is not None:
            facts["error_type"] = result.error.get("type")
        await self._tell("completed" if result.success else "error", facts)
        return translated(result.for_call(call_id))

    async def _result(self, given: dict[str, Any], context: Any) -> ToolResult:
        if _told(_told(self._coordinator, "cancellation"), "is_immediate") is True:
            return ToolResult.failed("denied", f"{self.name} was not called: the session ends.")
        return await self._tool.execute(given, context=context)

    def _context(self, given: Any) -> Any:
        context = Context(state=self._coordinator) if given is None else given
        asks = _told(self._coordinator, "approval_system") is not None
        if not asks or member_of(context, "approve") is not None:
            return context
        return with_approve(context, self._approve)

    def _call_id(self, given: object) -> str:
        """Return the id of this call where the coordinator or the input gives it.

        loop-streaming tells it by the task that calls; loop-basic keeps it to itself.
        """
        calls = _told(self._coordinator, "_tool_dispatch_contexts")
        call = calls.get(asyncio.current_task()) if isinstance(calls, dict) else None
        known = call.get("tool_call_id") if isinstance(call, dict) else None
        return known if isinstance(known, str) and known else call_id_in(given)

    async def _tell(self, event: str, facts: dict[str, Any]) -> None:
        name, data = f"{self.name}:{event}", {"tool_name": self.name, **facts}
        with suppress(Exception):  # who listens decides nothing about the call
            hooks = self._coordinator.hooks
            if _is_heard(hooks, name):
                await settled(hooks.emit(name, data))

    async def _approve(self, call: ToolCall) -> bool:
        """Ask the coordinator's approval system."""
        tool = self._tool
        prompt = question_of(tool, call)
        try:
            answer = await self._coordinator.approval_system.request_approval(
                prompt, [_YES, _NO], _WAIT, "deny"
            )
        except (ApprovalTimeoutError, TimeoutError):
            reason = f"{tool.name} was not approved: no answer within {_WAIT:.0f} seconds."
            raise DeniedError(reason) from None
        return bool(answer == _YES)


def _is_heard(hooks: Any, event: str) -> bool:
    """Tell whether an event may have handlers, as emitting takes a fifth of a millisecond."""
    listeners = getattr(hooks, "list_handlers", None)
    known = listeners(event) if callable(listeners) else None
    return not isinstance(known, dict) or any(known.values())


def _told(holder: Any, name: str) -> Any:
    with suppress(Exception):
        return getattr(holder, name, None)
    return None
