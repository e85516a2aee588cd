"""Amplifier: tools in the words of `amplifier_core`, and the module `tool-openapi`.

`mount` is what the entry point `tool-openapi` of the group `amplifier.modules` names. `present` is
what every mount into an Amplifier coordinator uses: of loaded toolsets and of generated packages.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr, model_serializer

from openapi_tools.contracts import import_extra
from openapi_tools.errors import CredentialsError, DeniedError, SettingsError
from openapi_tools.runtime.content import ImageContent
from openapi_tools.runtime.context import Context
from openapi_tools.runtime.plans import options_of
from openapi_tools.runtime.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from openapi_tools.runtime.calls import ToolCall
    from openapi_tools.runtime.tool import OperationTool
    from openapi_tools.runtime.toolset import Toolset

__amplifier_module_type__ = "tool"
__all__ = ["mount", "present"]

_KEYS = ("spec", "specs", "select", "credentials", "base_url", "settings")
_CHANNEL = "observability.events"
_EVENTS = ("started", "completed", "error")
_CALL_ID = "_tool_call_id"
_YES, _NO = "Allow", "Deny"
_WAIT = 300.0
_SHOWN = 1000


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
        toolsets = []
        for place, part in _parts(config):
            toolset = await _loaded(place, part)
            toolsets.append(await stack.enter_async_context(toolset))
        for toolset in toolsets:
            stack.push_async_callback(await toolset.mount(coordinator))
        return stack.pop_all().aclose


def _parts(config: Mapping[str, Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the configuration of each document, with the place where it stands.

    Raises:
        SettingsError: It is no configuration.
    """
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
    """Return a mapping that has known keys only.

    Raises:
        SettingsError: It has others, or is none.
    """
    if not isinstance(given, Mapping):
        raise SettingsError(f"{place}: must be a mapping by name, not {type(given).__name__}.")
    for key in given:
        if key not in keys:
            raise SettingsError(f"{place}: there is no {key!r:.60}; there are {', '.join(keys)}.")
    if given and given.get("spec") is None and "specs" not in given:
        raise SettingsError(f"{place}: there is no 'spec'; give the URL or the path of a document.")
    return given


async def _loaded(place: str, part: Mapping[str, Any]) -> Toolset:
    """Return the tools of one document.

    Raises:
        OpenAPIToolsError: As `mount` says; an error of the configuration tells the place.
    """
    from openapi_tools import aload_tools

    try:
        options = options_of({key: value for key, value in part.items() if key != "spec"})
        return await aload_tools(part["spec"], **options)
    except SettingsError as error:
        raise SettingsError(_at(place, error.reason)) from error
    except CredentialsError as error:
        raise CredentialsError(_at(place, error.reason), scheme=error.scheme) from error


def _at(place: str, reason: str) -> str:
    """Return a reason with its place; where there is one document only, it says enough itself."""
    return reason if place == "configuration" else f"{place}: {reason}"


@contextmanager
def present(coordinator: Any, tools: Iterable[OperationTool]) -> Iterator[list[Presented]]:
    """Give the tools as Amplifier takes them, and announce their events.

    Args:
        coordinator: A `ModuleCoordinator`; it learns the names of the events for as long as the
            context is open.
        tools: Any tools of this package.
    """
    presented = [Presented(tool, coordinator) for tool in tools]
    events = [f"{tool.name}:{event}" for tool in presented for event in _EVENTS]
    coordinator.register_contributor(_CHANNEL, "openapi-tools", events.copy)
    try:
        yield presented
    finally:
        events.clear()  # a contributor cannot be taken back


class Presented:
    """A tool whose results are those of `amplifier_core`, and whose calls are told to its hooks.

    What it does not have itself is the tool's: `annotations`, `read_only`, `schema` and the rest.

    Args:
        tool: What is called.
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

    async def execute(self, input: dict[str, Any]) -> Any:  # noqa: A002 -- the contract's name
        """Call the API.

        Args:
            input: The arguments; a `_tool_call_id` is taken out and given back in the result.

        Returns:
            A `ToolResult` of `amplifier_core`; nothing is raised but cancellation.
        """
        call_id = self._call_id(input)
        facts: dict[str, Any] = {"tool_call_id": call_id} if call_id else {}
        await self._tell("started", facts)
        start = time.perf_counter()
        result = await self._result({**input, _CALL_ID: call_id} if call_id else input)
        facts |= {"success": result.success, "duration": round(time.perf_counter() - start, 6)}
        if result.error is not None:
            facts["error_type"] = result.error.get("type")
        await self._tell("completed" if result.success else "error", facts)
        return translated(result)

    async def _result(self, given: dict[str, Any]) -> ToolResult:
        if getattr(getattr(self._coordinator, "cancellation", None), "is_immediate", False) is True:
            return ToolResult.failed("denied", f"{self.name} was not called: the session ends.")
        asked = getattr(self._coordinator, "approval_system", None)
        approve = None if asked is None else self._approve
        context = Context(approve=approve, state=self._coordinator)
        return await self._tool.execute(given, context=context)

    def _call_id(self, given: object) -> str:
        """Return the id of this call, as far as input or coordinator tell it.

        loop-streaming tells it by the task that calls; loop-basic keeps it to itself.
        """
        if not isinstance(given, Mapping):
            return ""
        calls = getattr(self._coordinator, "_tool_dispatch_contexts", None)
        call = calls.get(asyncio.current_task()) if isinstance(calls, Mapping) else None
        known = call.get("tool_call_id") if isinstance(call, Mapping) else None
        return str(given.get(_CALL_ID) or known or "")

    async def _tell(self, event: str, facts: dict[str, Any]) -> None:
        name, data = f"{self.name}:{event}", {"tool_name": self.name, **facts}
        with suppress(Exception):  # who listens decides nothing about the call
            hooks = self._coordinator.hooks
            if _is_heard(hooks, name):
                await hooks.emit(name, data)

    async def _approve(self, call: ToolCall) -> bool:
        """Ask the coordinator's approval system.

        Raises:
            DeniedError: Nobody answered.
        """
        # ASCII: no character of a model's arguments can rewrite what a terminal shows.
        text = json.dumps(call.arguments, default=str)
        more = f"… ({len(text)} characters)" if len(text) > _SHOWN else ""
        tool = self._tool
        prompt = f"Call {tool.name} ({tool.method} {tool.path}) with {text[:_SHOWN]}{more}?"
        nobody = import_extra("amplifier_core.approval", "amplifier").ApprovalTimeoutError
        try:
            answer = await self._coordinator.approval_system.request_approval(
                prompt, [_YES, _NO], _WAIT, "deny"
            )
        except (nobody, TimeoutError):
            reason = f"{tool.name} was not approved: nobody answered in {_WAIT:.0f} seconds."
            raise DeniedError(reason) from None
        return bool(answer == _YES)


def _is_heard(hooks: Any, event: str) -> bool:
    """Tell whether somebody may listen; an event is emitted in a fifth of a millisecond."""
    listeners = getattr(hooks, "list_handlers", None)
    known = listeners(event) if callable(listeners) else None
    return not isinstance(known, dict) or any(known.values())


def translated(result: ToolResult) -> Any:
    """Return a result as the `ToolResult` of `amplifier_core`.

    Args:
        result: Of a tool. An image becomes an `ImageBlock` of `content`; `output` names it then, as
            loops that know nothing of `content` would show its base64 text to the model.
    """
    try:
        return _translated(result)
    except (TypeError, ValueError, RecursionError) as error:
        # A guardrail may give an output that is no JSON.
        reason = f"the result cannot be shown ({type(error).__name__})."
        failed = ToolResult.failed("protocol", reason, metadata=result.metadata)
        return _translated(failed.for_call(result.tool_call_id))


def _translated(result: ToolResult) -> Any:
    contents, shown = result.as_content(), result.output
    blocks = None
    if any(isinstance(part, ImageContent) for part in contents):
        shown = "\n".join(map(_told, contents))
        blocks = list(map(_block, contents))
    # The message has the API's own words already; as `body` they would be shown twice.
    error = result.error and {key: result.error[key] for key in result.error if key != "body"}
    made = result_class()(success=result.success, output=shown, error=error, content=blocks)
    str(made)  # raises for what is no JSON
    return made.made_of(result)


def _told(part: Any) -> str:
    if not isinstance(part, ImageContent):
        return str(part.text)
    size = len(part.data) * 3 // 4 - part.data[-2:].count("=")
    return f"[image: {part.media_type}, {size} bytes]"


def _block(part: Any) -> dict[str, Any]:
    """Return a content block as `amplifier_core` validates it."""
    if not isinstance(part, ImageContent):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image", "source": source}


class _Views:
    """What our results say beyond the fields of `amplifier_core`."""

    _origin: ToolResult | None
    success: bool
    output: Any
    error: dict[str, Any] | None

    def made_of(self, origin: ToolResult | None) -> Self:
        """Note what this result was made of, and return it."""
        self._origin = origin
        return self

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return not self.success

    @property
    def tool_call_id(self) -> str:
        """The id of the call, where input or coordinator told it."""
        return "" if self._origin is None else self._origin.tool_call_id

    @property
    def metadata(self) -> dict[str, Any]:
        """Facts about the answer."""
        return {} if self._origin is None else self._origin.metadata

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model.

        The package's own method takes out the control characters that providers refuse, and knows
        what to say where there is no output; it would spell every letter beyond ASCII in JSON as an
        escape.
        """
        plain = _plain_class()
        shown = plain(output=str(ToolResult.ok(self.output))).get_serialized_output()
        return str(shown or plain(success=self.success, error=self.error).get_serialized_output())

    def __str__(self) -> str:
        return self.get_serialized_output()


def _plain_class() -> Any:
    return import_extra("amplifier_core", "amplifier").ToolResult


@cache
def result_class() -> type[Any]:
    """Return our subclass of `amplifier_core.ToolResult`.

    loop-basic shows the model `str(result)`, and `to_dict()` instead where there is one; so there
    is none. loop-streaming shows it `model_dump()`, as JSON if that is an object or an array.
    """

    class AmplifierResult(_Views, _plain_class()):  # type: ignore[misc]  # it ships no types
        """A result that is clean under every orchestrator."""

        _origin: ToolResult | None = PrivateAttr(default=None)

        def model_copy(self, *, update: dict[str, Any] | None = None, deep: bool = False) -> Any:
            """Return a copy; the images are in it, which a dump leaves out."""
            fields = {name: getattr(self, name) for name in type(self).model_fields}
            data = {**(deepcopy(fields) if deep else fields), **(update or {})}
            return type(self).model_validate(data).made_of(self._origin)

        def model_dump(self, **options: Any) -> Any:
            """Return what a model is to be shown; with any option the fields, as pydantic does."""
            if options:
                return super().model_dump(**options)
            return self.output if isinstance(self.output, dict | list) else str(self)

        @model_serializer(mode="wrap")
        def serialize_model(self, handler: Any, info: Any) -> Any:
            """Leave out what says nothing, what is said twice, and what no text can show."""
            dump = handler(self)
            if not self.content or info.mode == "python":
                dump.pop("content", None)
            if self.error is None:
                dump.pop("error", None)
            elif self.output == self.error.get("message"):
                dump.pop("output", None)
            return dump

    return AmplifierResult
