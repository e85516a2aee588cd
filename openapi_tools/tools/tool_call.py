"""Tool calls in the form of any coordinator or provider, their contexts, and their pages."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
import math
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from openapi_tools import shaping
from openapi_tools.errors import InputError
from openapi_tools.json_values import compact
from openapi_tools.options import kind_of
from openapi_tools.result import ToolResult
from openapi_tools.validation.tool_input import id_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from openapi_tools.model import AnswerShape, Paging
    from openapi_tools.shaping.paging import Step

logger = logging.getLogger("openapi_tools")

# Amplifier, MCP and OpenAI say `arguments`, Anthropic `input`, Gemini, LangChain and Pydantic-AI
# `args`, LlamaIndex `tool_kwargs`. A responses call of OpenAI has an `id` of its own beside the
# `call_id` that the answer has to name.
_WRAPPERS = ("function_call", "functionCall", "function", "params")
_IDS = ("call_id", "tool_call_id", "tool_id", "id")
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "input", "args", "tool_kwargs")
_EMPTY = 10
"""Pages without items, one after another, after which an answer counts as endless."""


class ToolCall(BaseModel):
    """A model's call of a tool.

    Attributes:
        id: The call's identifier, repeated in its result; may be empty.
        name: The tool's name.
        arguments: As the tool's input schema describes them.
    """

    model_config = ConfigDict(frozen=True)

    id: str = ""
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


def read_call(given: object) -> ToolCall:
    """Return the call in an object or a mapping.

    Args:
        given: A tool call as Amplifier, OpenAI (chat and responses), Anthropic, Gemini, MCP,
            LangChain, Pydantic-AI, LlamaIndex or the Agent Framework have it. Arguments may be a
            mapping, or JSON text of an object; missing ones count as none.

    Raises:
        InputError: It is not a tool call; the message names the missing part.
    """
    if isinstance(given, ToolCall):
        return given
    inner = _inner(given)
    name = _first(inner, _NAMES)
    if not isinstance(name, str) or not name:
        raise InputError(f"{type(given).__name__} is not a tool call: it has no name of a tool.")
    arguments = _arguments(_first(inner, _ARGUMENTS))
    try:
        return ToolCall(id=read_id(given), name=name, arguments=arguments)
    except ValidationError:
        raise InputError("the arguments of a call have to be an object with names.") from None


def read_id(given: object) -> str:
    """Return the id of a call, also where its arguments cannot be read; empty without one."""
    return id_text(_first(_inner(given), _IDS) or _first(given, _IDS))


def _arguments(given: object) -> dict[str, Any]:
    if isinstance(given, str | bytes):
        try:
            given = from_json(given, allow_inf_nan=False) if given.strip() else None
        except ValueError as error:
            raise InputError(f"the arguments of a call are not valid JSON: {error}.") from None
    if given is None:
        return {}
    own: dict[str, Any] | None = _safe(dict, given) if isinstance(given, Mapping) else None
    if own is None:
        kind = type(given).__name__
        raise InputError(f"the arguments of a call have to be an object, not {kind}.")
    return own


def _inner(given: object) -> object:
    """Return the part of an object that holds the name of a tool."""
    parts = (_member(given, key) for key in _WRAPPERS)
    return next((part for part in parts if isinstance(_first(part, _NAMES), str)), given)


def _first(given: object, keys: tuple[str, ...]) -> Any:
    return next((found for key in keys if (found := _member(given, key)) is not None), None)


def _member(given: object, key: str) -> Any:
    if isinstance(given, Mapping):
        return _safe(given.get, key)
    return None if isinstance(given, str | bytes) else _safe(getattr, given, key, None)


def _safe(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a function's result, None when it fails: a foreign object runs its own code."""
    try:
        return function(*arguments)
    except Exception:
        logger.exception("a tool call cannot be read")
        return None


@dataclass(frozen=True, slots=True)
class Context:
    """Credentials, approval and state of one call.

    A coordinator's own context works, too: any object with these attributes, or a mapping with
    these keys.

    Attributes:
        credentials: By scheme name, as for `load_tools`; they replace the toolset's own.
        approve: Asks a human about a call and returns True for a yes; may be async.
        state: Anything for your guardrails.
        wait: Seconds to wait for the end of long work; None for what the tool or settings say.
        answer: An `AnswerShape`, or a mapping of its members: how this answer is made smaller.
        fields: A JMESPath expression that chooses parts of the answer, before that of `answer`.
    """

    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    approve: Callable[[ToolCall], bool | Awaitable[bool]] | None = None
    state: Any = None
    wait: float | None = None
    answer: AnswerShape | Mapping[str, Any] | None = None
    fields: str | None = None


@dataclass(slots=True, eq=False)
class PerCall:
    """Options of one call beside its arguments and its context.

    The `address`, of a page or of long work, is asked in place of the operation's own. A page is
    not cut; it is `linked` if the one before it named its address. `after` is set by the call.
    """

    tool: str
    wait: float | None = None
    address: str = ""
    is_page: bool = False
    linked: bool = False
    is_poll: bool = False
    after: Any = None


PLAIN = PerCall("")
"""The options of a call with arguments and context only."""
per_call: ContextVar[PerCall | None] = ContextVar("openapi_tools_per_call", default=None)
"""The options for the next call, which takes and unsets them."""


def taken(tool: str) -> PerCall | None:
    """Return the options set around the call of a tool, and unset them."""
    found = per_call.get()
    if found is None or found.tool != tool:
        return None
    per_call.set(None)
    return found


def member_of(context: object, name: str) -> Any:
    """Return a member of a `Context`, or of an object or mapping like it; None without it."""
    if isinstance(context, Mapping):
        return context.get(name)
    return getattr(context, name, None)


def wait_of(own: PerCall | None, context: object) -> float | None:
    """Return the seconds that a call says to wait for the end of long work; None for nothing."""
    given = None if own is None else own.wait
    if given is None and context is not None:
        given = member_of(context, "wait")
    if given is None or (isinstance(given, int | float) and 0 <= given < math.inf):
        return given
    raise InputError(f"'wait' must be a number of seconds, not {given!r:.60}.")


async def context_for(source: Any, *facts: Any) -> Any:
    """Return the context of a call in a coordinator, whose own context `facts` may hold.

    The source is a context for all calls, a function of the facts that returns one and may be
    async, or None for a `Context` whose `state` is the first fact.
    """
    if source is None:
        return Context(state=facts[0]) if facts else None
    given = source(*facts) if callable(source) else source
    return await given if inspect.isawaitable(given) else given


def with_members(context: Any, **members: Any) -> Any:
    """Return a copy of a context with other members."""
    if context is None or isinstance(context, Mapping):
        return {**(context or {}), **members}
    return _Overlaid(context, members)


class _Overlaid:
    def __init__(self, context: Any, members: dict[str, Any]) -> None:
        self._context = context
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._context, name)


def pages_fault(name: Any, arguments: Any, limits: Mapping[str, Any]) -> str:
    """Return why pages cannot be read; empty where they can."""
    if not isinstance(name, str):
        return f"pages: give the name of a tool, not {kind_of(name)}."
    if not isinstance(arguments, Mapping):
        return f"pages: the arguments must be a mapping by name, not {kind_of(arguments)}."
    for limit, value in limits.items():
        is_count = limit != "timeout" and value is not None
        fits = isinstance(value, int) if is_count else isinstance(value, int | float | None)
        fits = fits and (value is not None or limit != "max_pages")
        if not fits or isinstance(value, bool) or (value is not None and not value > 0):
            return f"pages: {limit!r} must be a number above 0, not {value!r:.60}."
    return ""


class Pages:
    """The items of a paged call: `async for item in pages`, or `await pages.collect()`.

    Nothing is raised but cancellation. It is iterated once.

    Attributes:
        reason: Why it ended: `complete`, `max_items`, `max_pages`, `timeout`, `loop`,
            `no_progress`, `outside`, `no_way`, `no_items`, `dry_run` or `error`; empty before.
        stopped: The same in one line.
        error: The result of the page that failed; None without one.
        pages: How many pages came.
        items: How many of their items were given.
        following: The arguments that go on behind the last page; empty where they are not known.
    """

    def __init__(
        self,
        call: Callable[[Step | None], Awaitable[tuple[Any, Step | None]]],
        paging: Paging | None,
        limits: Mapping[str, Any],
        on_page: Callable[[Pages], Any] | None = None,
    ) -> None:
        self._call, self._paging, self._on_page = call, paging, on_page
        self._most, self._most_pages = limits["max_items"], limits["max_pages"]
        self._seconds = limits["timeout"]
        self._step: Step | None = None
        self._first: ToolResult | None = None
        self._seen: set[str] = set()
        self._changes: dict[str, Any] = {}
        self._digests: list[bytes] = []
        self._empty = self._skipped = 0
        self.reason = self.stopped = ""
        self.error: ToolResult | None = None
        self.pages = self.items = 0
        self.following: dict[str, Any] = {}

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the items; each page is asked for when the one before it has been read."""
        now = asyncio.get_running_loop().time()
        end = None if self._seconds is None else now + self._seconds
        while not self.reason:
            for item in await self._page(end):
                if self.items == self._most:
                    self._stop("max_items", "in the middle of a page")
                    return
                self.items += 1
                yield item
            await self._go_on()

    async def collect(self) -> ToolResult:
        """Return one result with all items, and with a note of how it ended.

        Items that came before a failure are its output; it is an error result then.
        """
        items = [item async for item in self]
        names = ("pages", "items", "reason", "stopped", "following")
        facts = {"paging": {name: getattr(self, name) for name in names}}
        note, failed = "" if self.reason == "complete" else self.stopped, self.error
        if failed is None and self._first is not None and self.reason != "dry_run":
            made = ToolResult.ok(items, facts, header_note=note)
            return made.for_call(self._first.tool_call_id)
        if failed is None or failed.error is None or not self.pages:
            return failed or self._first or ToolResult.failed("timeout", self.stopped)
        told: Any = {"metadata": {**failed.metadata, **facts}, "output": items, "header_note": note}
        others = dict(failed.error)
        made = ToolResult.failed(others.pop("type"), others.pop("message"), facts=others, **told)
        return made.for_call(failed.tool_call_id)

    async def _page(self, end: float | None) -> list[Any]:
        """Return the next page's items; empty where it failed."""
        step, self._step = self._step, None
        if step is not None and step.arguments:
            self._changes |= step.arguments
            step = step._replace(arguments=dict(self._changes))
        self._step = step  # where to go on if it fails
        try:
            async with asyncio.timeout_at(end):
                result, following = await self._call(step)
        except TimeoutError:
            return self._stop("timeout", f"after {self._seconds:g} s")
        if not result.success:
            self.error = result
            reason = (result.error or {}).get("message", result.output)
            return self._stop("error", f"page {self.pages + 1} failed: {reason}")
        self._first = self._first or result
        self._step = None
        if result.metadata.get("dry_run"):
            return self._stop("dry_run", "nothing was sent")
        return self._taken(step, result.output, following)

    def _taken(self, step: Step | None, output: Any, following: Step | None) -> list[Any]:
        items = [] if output is None else shaping.paging.items_of(output, self._paging)
        if items is None and not self.pages:
            return self._stop("no_items", "the answer holds no list")
        items = items or []
        digest = hashlib.blake2b(compact(items), digest_size=16).digest()
        self._step = following
        if step is not None and step.first and digest == self._digests[0]:
            return []  # the first page again: its number is 1
        if items and digest in self._digests and not self._grows:
            self._step = None
            return self._stop("loop", f"page {self.pages + 1} has the items of an earlier page")
        self._digests.append(digest)
        self.pages += 1
        self._empty = 0 if items else self._empty + 1
        if self._grows:  # a greater page begins with the items of the last one
            items, self._skipped = items[self._skipped :], len(items)
        return items

    @property
    def _grows(self) -> bool:
        return self._paging is not None and self._paging.style == "limit"

    async def _go_on(self) -> None:
        """Decide after a page whether another one is asked for."""
        step = self._step
        self.following = {**self._changes, **step.arguments} if step and step.arguments else {}
        if not self.reason:
            key = json.dumps([step.arguments or step.url]) if step is not None else ""
            if step is None:
                self._stop("complete", "")
            elif self.items == self._most:
                self._stop("max_items", shaping.paging.words_of(step))
            elif step.outside:
                self._stop("outside", f"the next page is not requested: {step.outside}")
            elif not step.arguments and not step.url:
                verb = "are" if step.sure > shaping.paging.LIKELY else "may be"
                self._stop("no_way", f"there {verb} more items, and no argument asks for them")
            elif key in self._seen:
                self._stop("loop", "the next page is one that was asked for before")
            elif self._empty >= _EMPTY:
                self._stop("no_progress", f"{self._empty} pages in a row were empty")
            elif self.pages >= self._most_pages:
                self._stop("max_pages", shaping.paging.words_of(step))
            self._seen.add(key)
        await self._tell()

    async def _tell(self) -> None:
        if self._on_page is None:
            return
        try:
            told = self._on_page(self)
            if inspect.isawaitable(told):
                await told
        except Exception:
            logger.exception("a function for progress failed; the pages go on")

    def _stop(self, reason: str, words: str) -> list[Any]:
        self.reason = reason
        came = f"{self.items} items came in {self.pages} pages"
        self.stopped = f"{reason}: {came}" + (f"; {words}" if words else "")
        return []
