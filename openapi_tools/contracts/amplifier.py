"""Amplifier: mount the tools of documents, with its results, hook events and approval.

The entry point `tool-openapi` of the group `amplifier.modules` names `mount`. Every mount into an
Amplifier coordinator uses `present`: of loaded toolsets and of generated packages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, suppress
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr, model_serializer

import openapi_tools
from openapi_tools.contracts import advise, blocks_of
from openapi_tools.errors import CredentialsError, DeniedError, InputError, SettingsError, requiring
from openapi_tools.options import member_of, members_of, with_members
from openapi_tools.providers.definitions import shown
from openapi_tools.result import (
    Context,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResult,
    contents_of,
    read_call,
)
from openapi_tools.tools.guardrails import make_question, settled
from openapi_tools.tools.packages import check_selected, options_of
from openapi_tools.tools.pipeline import call_id_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

with requiring("amplifier"):
    from amplifier_core import ToolResult as CoreResult
    from amplifier_core.approval import ApprovalTimeoutError

__amplifier_module_type__ = "tool"
__all__ = ["mount", "present", "translated"]

_CHANNEL = "observability.events"
_EVENTS = ("started", "completed", "error")
_CALL_ID = "_tool_call_id"
_YES, _NO = "Allow", "Deny"
_WAIT = 300.0
_LONGEST_ID = 256
_MEMBERS = ("spec", "select", "credentials", "base_url", "settings", "overlays")
_KEYS = ("spec", "specs", *_MEMBERS[1:])

logger = logging.getLogger("openapi_tools")


async def mount(
    coordinator: Any, config: Mapping[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    """Mount the tools of OpenAPI documents, as a mount plan's configuration says; all or none.

    Args:
        coordinator: Amplifier's, or any object with `await mount("tools", tool, name=…)`.
        config: `spec` (a URL, a path or a parsed document) and, all optional, `select`,
            `credentials`, `base_url` and `settings`; or `specs`, a list of such mappings. Without
            any, nothing is mounted.

    Returns:
        An async function that unmounts the tools and closes the connections.

    Raises:
        SettingsError: A configuration that does not fit, or a tool's name that is taken.
        CredentialsError, DocumentError, SourceError: As `load_tools`, for one of the documents.
    """
    async with AsyncExitStack() as stack:
        toolsets: list[Toolset] = []
        places: dict[str, str] = {}
        for place, part in _parts(config):
            toolset = await stack.enter_async_context(await _loaded(place, part))
            toolsets.append(toolset)
            _log(place, toolset)
            _claim_names(places, place, toolset)
        for toolset in toolsets:
            stack.push_async_callback(await toolset.mount(coordinator))
        return stack.pop_all().aclose


def _log(place: str, toolset: Toolset) -> None:
    """Log skipped operations and warnings, as the author of a mount plan has no toolset to ask."""
    for item in toolset.skipped:
        operation = f"{item.method} {item.path}".strip()
        logger.warning("%s: skipped %s: %s", place, operation, item.reason)
    for warning in toolset.warnings:
        logger.warning("%s: %s", place, warning)


def _claim_names(places: dict[str, str], place: str, toolset: Toolset) -> None:
    for taken in (tool.name for tool in toolset if tool.name in places):
        hint = "give one of them settings: {prefix: …}."
        reason = f"{places[taken]} has a tool of the same name, {taken}; {hint}"
        raise SettingsError(f"{place}: {reason}")
    places |= dict.fromkeys((tool.name for tool in toolset), place)


def _parts(config: Mapping[str, Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
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
    return [(place, _checked(part, place, _MEMBERS)) for place, part in places]


def _checked(given: Any, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    known = members_of(given, keys, place)
    whole = keys is _KEYS and ("specs" in known or not known)
    if known.get("spec") is None and not whole:
        raise SettingsError(f"{place}: there is no 'spec'; give the URL or the path of a document.")
    return known


async def _loaded(place: str, part: Mapping[str, Any]) -> Toolset:
    prefix = "" if place == "configuration" else f"{place}: "  # one document needs no place
    try:
        others = {key: value for key, value in part.items() if key not in ("spec", "overlays")}
        options = options_of(others) | {"overlays": part.get("overlays") or ()}
        toolset = await openapi_tools.aload_tools(part["spec"], **options)
        return check_selected(toolset, options["select"])
    except CredentialsError as error:
        raise CredentialsError(f"{prefix}{error.reason}", scheme=error.scheme) from error
    except SettingsError as error:
        raise SettingsError(f"{prefix}{error.reason}") from error


def present(
    coordinator: Any, tools: Iterable[OperationTool]
) -> AbstractContextManager[list[Presented]]:
    """Return a context that gives the tools adapted to Amplifier and announces their events."""
    advise(tools)
    called = {tool.name: tool for tool in getattr(tools, "called", ())}
    presented = [Presented(tool, coordinator, called) for tool in tools]
    events = [f"{tool.name}:{event}" for tool in presented for event in _EVENTS]
    coordinator.register_contributor(_CHANNEL, "openapi-tools", events.copy)
    return _Announced(presented, events)


class _Announced(nullcontext["list[Presented]"]):
    """A context manager; a generator would also end when it is garbage collected."""

    def __init__(self, presented: list[Presented], events: list[str]) -> None:
        super().__init__(presented)
        self._events = events

    def __exit__(self, *_: object) -> None:
        self._events.clear()  # a contributor cannot be taken back


class Presented:
    """A tool as Amplifier takes it: within the budget of definitions, its calls told to hooks."""

    def __init__(self, tool: OperationTool, coordinator: Any, called: Any = None) -> None:
        self._tool = tool
        self._called = called or {}
        self._coordinator = coordinator
        self.name = tool.name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tool, name)

    def __repr__(self) -> str:
        return repr(self._tool)

    @cached_property
    def _shown(self) -> tuple[str, dict[str, Any]]:
        return shown(self._tool, "openai")

    @property
    def description(self) -> str:
        """The tool's description for the model."""
        return self._shown[0]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema that the model sees; `schema` and `parameters` are the same."""
        return self._shown[1]

    schema = parameters = input_schema

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the schema that the model sees."""
        return deepcopy(self.input_schema)

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
        if _told(_told(self._coordinator, "cancellation"), "is_immediate") is True:
            reason = f"{self.name} was not called: the session ends."
            result = ToolResult.failed("denied", reason)
        else:
            result = await self._tool.execute(input, context=self._context(context))
        facts |= {"success": result.success, "duration": round(time.perf_counter() - start, 6)}
        if result.error is not None:
            facts["error_type"] = result.error.get("type")
        await self._tell("completed" if result.success else "error", facts)
        return translated(result.for_call(call_id))

    def _context(self, given: Any) -> Any:
        context = Context(state=self._coordinator) if given is None else given
        asks = _told(self._coordinator, "approval_system") is not None
        known = member_of(context, "approve") is not None
        own = {"approve": self._approve, "offered": self._called or None}
        return with_members(context, **own) if asks and not known else context

    def _call_id(self, given: object) -> str:
        # loop-streaming stores it by the calling task; loop-basic does not expose it.
        calls = _told(self._coordinator, "_tool_dispatch_contexts")
        call = calls.get(asyncio.current_task()) if isinstance(calls, dict) else None
        known = call.get("tool_call_id") if isinstance(call, dict) else None
        return known if isinstance(known, str) and known else call_id_in(given)

    async def _tell(self, event: str, facts: dict[str, Any]) -> None:
        name, data = f"{self.name}:{event}", {"tool_name": self.name, **facts}
        with suppress(Exception):  # a failing hook does not fail the call
            await settled(self._coordinator.hooks.emit(name, data))

    async def _approve(self, call: ToolCall) -> bool:
        prompt = await make_question(self._called.get(call.name, self._tool), call)
        try:
            answer = await self._coordinator.approval_system.request_approval(
                prompt, [_YES, _NO], _WAIT, "deny"
            )
        except (ApprovalTimeoutError, TimeoutError):
            reason = f"{call.name} was not approved: no answer within {_WAIT:.0f} seconds."
            raise DeniedError(reason) from None
        return bool(answer == _YES)


def _told(holder: Any, name: str) -> Any:
    with suppress(Exception):
        return getattr(holder, name, None)
    return None


def translated(result: ToolResult) -> Any:
    """Return a result as the `ToolResult` of `amplifier_core`."""
    blocks = blocks_of(result, lambda text: {"type": "text", "text": text}, _image)
    has_images = any(block["type"] == "image" for block in blocks)
    shown = "\n".join(map(str, contents_of(result.output, ""))) if has_images else result.output
    # The message has the API's own words already; as `body` they would be shown twice.
    error = result.error and {key: result.error[key] for key in result.error if key != "body"}
    content = blocks if has_images else None
    made = AmplifierResult(success=result.success, output=shown, error=error, content=content)
    return made.made_of(result)


def _image(data: str, media_type: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


class AmplifierResult(CoreResult):  # type: ignore[misc]  # it ships no types
    """A result that is readable under every orchestrator.

    loop-basic shows the model `str(result)`, or `to_dict()` where that exists; so it does not.
    loop-streaming shows it `model_dump()`, as JSON if that is an object or an array.
    """

    _origin: ToolResult | None = PrivateAttr(default=None)

    def made_of(self, origin: ToolResult | None) -> Self:
        """Set the original result and return this one."""
        self._origin = origin
        return self

    def _source(self) -> ToolResult:
        return self._origin or ToolResult.ok(self.output)

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return not self.success

    # As of the original result.
    tool_call_id = property(lambda self: self._source().tool_call_id)
    metadata = property(lambda self: self._source().metadata)
    header_note = property(lambda self: self._source().header_note)

    def as_content(self) -> list[TextContent | ImageContent]:
        """Return the result as contents for a model: texts, and images as images."""
        return self._source().as_content()

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model."""
        # The package's method drops control characters, and has texts for empty results.
        ours = ToolResult.ok(self.output, self.metadata, header_note=self.header_note)
        text = "" if self.output is None and not self.success else str(ours)
        empty = CoreResult(success=self.success, error=self.error)
        shown = CoreResult(output=text).get_serialized_output() or empty.get_serialized_output()
        return str(shown)

    def __str__(self) -> str:
        return self.get_serialized_output()

    def model_copy(self, *, update: dict[str, Any] | None = None, deep: bool = False) -> Any:
        """Return a copy with the images, which a dump leaves out."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        data = {**(deepcopy(fields) if deep else fields), **(update or {})}
        return type(self).model_validate(data).made_of(self._origin)

    def model_dump(self, **options: Any) -> Any:
        """Return the output for a model; with any option the fields, as pydantic does."""
        if options:
            return super().model_dump(**options)
        whole = isinstance(self.output, dict | list) and not self.header_note
        return self.output if whole else str(self)

    @model_serializer(mode="wrap")
    def serialize_model(self, handler: Any, info: Any) -> Any:
        """Leave out empty and repeated members, and images."""
        dump = handler(self)
        if not self.content or info.mode == "python":
            dump.pop("content", None)
        if self.error is None:
            dump.pop("error", None)
        elif self.output == self.error.get("message"):
            dump.pop("output", None)
        return dump
