"""The items of a paged call, page after page."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_values import dump_json_bytes, select_attributes
from openapi_tools.common.options import type_name
from openapi_tools.errors import format_count
from openapi_tools.responses import paging
from openapi_tools.result import ToolResult
from openapi_tools.tools.argument_reader import find_operation
from openapi_tools.tools.call import CallOptions
from openapi_tools.toolsets.tool_calls import call_named_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from openapi_tools.responses.paging import Step
    from openapi_tools.toolsets.tool_calls import CallableTools

logger = logging.getLogger("openapi_tools")

# Servers that filter after paging return some empty pages, with more behind them.
_MOST_EMPTY = 10  # empty pages in a row, after which the pages count as endless
_FACTS = ("pages", "items", "reason", "stopped", "following")
_RESPONSE_FACTS = ("status", "media_type", "headers")


class PageLimits(NamedTuple):
    """The limits of all pages together: items, pages, seconds."""

    max_items: int | None
    max_pages: int
    timeout: float | None


def _find_fault(name: Any, arguments: Any, limits: PageLimits) -> str:
    if not isinstance(name, str):
        return f"pages: expected the name of a tool, not {type_name(name)}."
    if not isinstance(arguments, Mapping):
        return f"pages: the arguments must be a mapping by name, not {type_name(arguments)}."
    for limit, value in limits._asdict().items():
        if value is None and limit != "max_pages":
            continue
        kinds = int | float if limit == "timeout" else int
        if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
            return f"pages: {limit!r} must be a number above 0, not {value!r:.60}."
    return ""


class PagedItems:
    """The items of a paged call: `async for item in pages`, or `await pages.collect()`.

    Nothing is raised but cancellation. It is iterated once.

    Attributes:
        reason: Why it ended: `complete`, `max_items`, `max_pages`, `timeout`, `loop`,
            `no_progress`, `outside`, `no_way`, `no_items`, `dry_run` or `error`; empty before.
        stopped: The same in one line.
        error: The result of the page that failed; None without one.
        pages: How many pages came.
        items: How many of their items were yielded.
        following: The arguments of the next page; empty where they are not known.
    """

    def __init__(
        self,
        toolset: CallableTools,
        name: str,
        arguments: dict[str, Any] | None,
        *,
        limits: PageLimits,
        profile: str | None,
        context: Any,
        on_page: Callable[[PagedItems], Any] | None,
    ) -> None:
        self._toolset, self._name = toolset, name
        self._arguments = {} if arguments is None else arguments
        self._profile, self._context = profile, context
        self._fault = _find_fault(self._name, self._arguments, limits)
        operation = None
        if not self._fault:
            with suppress(KeyError):  # the first page says so
                operation = find_operation(toolset[self._name])
        self._paging = operation.paging if operation is not None else None
        self._on_page = on_page
        self._limits = limits
        self._step: Step | None = None
        self._first: ToolResult | None = None
        self._requested: set[str] = set()  # the steps to earlier pages
        self._changes: dict[str, Any] = {}
        self._digests: list[bytes] = []
        self._total: int | None = None  # items in all, as the last page says
        self._empty = self._skipped = 0
        self.reason = self.stopped = ""
        self.error: ToolResult | None = None
        self.pages = self.items = 0
        self.following: dict[str, Any] = {}

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the items; each page is requested when the one before it has been read."""
        now = asyncio.get_running_loop().time()
        seconds = self._limits.timeout
        end = None if seconds is None else now + seconds
        while not self.reason:
            for item in await self._request_page(end):
                if self.items == self._limits.max_items:
                    self._stop("max_items", "in the middle of a page")
                    return
                self.items += 1
                yield item
            await self._prepare_next()

    async def collect(self) -> ToolResult:
        """Return one result with all items, and with a note of how it ended.

        After a failure it is an error result, whose output are the items that came before.
        """
        items = [item async for item in self]
        facts: dict[str, Any] = {"paging": select_attributes(self, _FACTS)}
        note, failure = "" if self.reason == "complete" else self.stopped, self.error
        if failure is None and self._first is not None and self.reason != "dry_run":
            metadata = self._first.metadata
            facts |= {name: metadata[name] for name in _RESPONSE_FACTS if name in metadata}
            result = ToolResult.ok(items, facts, header_note=note)
            return result.for_call(self._first.tool_call_id)
        if failure is None or failure.error is None or not self.pages:
            return failure or self._first or ToolResult.failed("timeout", self.stopped)
        error = dict(failure.error)
        result = ToolResult.failed(
            error.pop("type"),
            error.pop("message"),
            facts=error,
            metadata={**failure.metadata, **facts},
            output=items,
            header_note=note,
        )
        return result.for_call(failure.tool_call_id)

    async def _call(self, step: Step | None) -> tuple[ToolResult, Step | None]:
        if self._fault:
            return ToolResult.failed("invalid_input", self._fault), None
        changes, address = (step.arguments, step.url) if step is not None else ({}, "")
        options = CallOptions(
            address="" if changes else address,
            is_page=True,
            is_linked=step is not None and step.is_linked,
        )
        result, reader = await call_named_tool(
            self._toolset,
            self._name,
            {**self._arguments, **changes},
            self._context,
            self._profile,
            options,
        )
        self._total = getattr(reader, "total", None)
        return result, getattr(reader, "step", None)

    async def _request_page(self, end: float | None) -> list[Any]:
        step, self._step = self._step, None
        if step is not None and step.arguments:
            self._changes |= step.arguments
            step = step._replace(arguments=dict(self._changes))
        self._step = step  # where to go on if it fails
        try:
            async with asyncio.timeout_at(end):
                result, next_step = await self._call(step)
        except TimeoutError:
            return self._stop("timeout", f"after {self._limits.timeout:g} s")
        if not result.success:
            self.error = result
            reason = (result.error or {}).get("message", result.output)
            return self._stop("error", f"page {self.pages + 1} failed: {reason}")
        self._first = self._first or result
        self._step = None
        if result.metadata.get("dry_run"):
            return self._stop("dry_run", "nothing was sent")
        return self._read_page(step, result.output, next_step)

    def _read_page(self, step: Step | None, output: Any, next_step: Step | None) -> list[Any]:
        items = [] if output is None else paging.find_items(output, self._paging)
        if items is None and not self.pages:
            return self._stop("no_items", "the response contains no list")
        items = items or []
        # A digest, so that no page is kept in memory for the comparison.
        digest = hashlib.blake2b(dump_json_bytes(items), digest_size=16).digest()
        self._step = next_step
        # Servers disagree whether the first page is number 0 or 1.
        if step is not None and step.may_repeat and digest == self._digests[0]:
            return []
        # A server that ignores the argument sends the same page for ever.
        if items and digest in self._digests and not self._grows:
            self._step = None
            return self._stop("loop", f"page {self.pages + 1} repeats the items of an earlier page")
        self._digests.append(digest)
        self.pages += 1
        self._empty = 0 if items else self._empty + 1
        if self._grows:  # a greater page begins with the items of the last one
            items, self._skipped = items[self._skipped :], len(items)
        return items

    @property
    def _grows(self) -> bool:
        return self._paging is not None and self._paging.style == "limit"

    async def _prepare_next(self) -> None:
        step = self._step
        self.following = {**self._changes, **step.arguments} if step and step.arguments else {}
        if not self.reason:
            key = json.dumps([step.arguments or step.url]) if step is not None else ""
            if step is None:
                self._stop_after_last_page()
            elif self.items == self._limits.max_items:
                self._stop("max_items", paging.describe_step(step))
            # An address elsewhere may be an attacker's, and gets no credentials.
            elif step.refusal:
                self._stop("outside", f"the next page is not requested: {step.refusal}")
            elif not step.arguments and not step.url:
                verb = "are" if step.certainty > paging.LIKELY else "may be"
                message = f"there {verb} more items, but no argument requests them"
                self._stop("no_way", step.shortfall or message)
            elif key in self._requested:
                self._stop("loop", "the next page was requested before")
            elif self._empty >= _MOST_EMPTY:
                self._stop("no_progress", f"{self._empty} pages in a row were empty")
            elif self.pages >= self._limits.max_pages:
                self._stop("max_pages", paging.describe_step(step))
            self._requested.add(key)
        await self._report_progress()

    def _stop_after_last_page(self) -> None:
        # The items that came may be fewer than the API says it has.
        if self._starts_at_first_page and self._total is not None and self.items < self._total:
            message = f"{self.items} of {self._total} were returned; no argument requests more"
            self._stop("no_way", message)
        else:
            self._stop("complete", "")

    @property
    def _starts_at_first_page(self) -> bool:
        options = self._paging
        if options is None or not options.argument:
            return True
        argument = options.argument.partition(".")[0]
        return argument not in self._arguments or options.style == "limit"

    async def _report_progress(self) -> None:
        if self._on_page is None:
            return
        try:
            waiting = self._on_page(self)
            if inspect.isawaitable(waiting):
                await waiting
        except Exception:  # code of a user
            logger.exception("a progress function failed; reading pages continues")

    def _stop(self, reason: str, message: str) -> list[Any]:
        self.reason = reason
        came = f"{format_count(self.items, 'item')} came in {format_count(self.pages, 'page')}"
        self.stopped = f"{reason}: {came}" + (f"; {message}" if message else "")
        return []
