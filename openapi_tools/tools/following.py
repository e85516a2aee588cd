"""What follows an answer: further pages, and the end of long work."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools import shaping
from openapi_tools.errors import counted
from openapi_tools.http_rules import read_url, without_pairs
from openapi_tools.json_values import dump_json_bytes, select_attributes
from openapi_tools.observability import current
from openapi_tools.options import kind_of
from openapi_tools.requests import find_tool_for_url
from openapi_tools.responses.error_results import error_text
from openapi_tools.result import ToolResult
from openapi_tools.tools.pipeline import answer_call, operation_of
from openapi_tools.tools.session import PerCall
from openapi_tools.transport.failures import retry_after

if TYPE_CHECKING:
    from openapi_tools.shaping.long_work import LongRunningReader
    from openapi_tools.shaping.paging import PageReader, Step
    from openapi_tools.tools.prepared_call import PreparedCall
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset
    from openapi_tools.transport import APIResponse

logger = logging.getLogger("openapi_tools")

_EMPTY = 10  # pages without items, one after another, after which an answer counts as endless
_FIRST_PAUSE, _LONGEST_PAUSE, _SHORTEST_PAUSE = 0.5, 15.0, 0.05
"""Seconds between questions about long work, where the API does not name them."""
_WORDS = 1200
_FACTS = ("pages", "items", "reason", "stopped", "following")


@dataclass(frozen=True, slots=True)
class Following:
    """What may follow the answers of one tool, whose server is given."""

    tool: OperationTool
    session: Session
    server: str

    def page_reader(self, prepared: PreparedCall, answer: APIResponse) -> PageReader:
        """Return the reader that finds the page after an answer."""
        own, added = prepared.own, _added(prepared)
        found: PageReader = shaping.paging.PageReader(
            self.tool.operation,
            self.tool.input_schema,
            arguments=prepared.arguments,
            url=without_pairs(answer.request.url, added),
            server=self.server,
            hidden=added,
            linked=own.linked,
            followed=bool(own.address),
        )
        return found

    def work_reader(
        self, prepared: PreparedCall, answer: APIResponse, *, loosely: bool
    ) -> LongRunningReader:
        """Return the reader that finds long work; `loosely` in the answer to a read, too."""
        found: LongRunningReader = shaping.long_work.LongRunningReader(
            answer.status,
            without_pairs(answer.request.url, _added(prepared)),
            self.server,
            find_tool=self._asker,
            polled=prepared.own.is_poll,
            accepts_states=loosely,
            pause=retry_after(answer.headers),
        )
        return found

    def _asker(self, address: str) -> tuple[str, dict[str, Any]] | None:
        """Return the tool of the same toolset that asks for an address, and its arguments."""
        toolset, bounds = self.session.offered(self.tool), self.session.bounds
        same = (t for t in toolset or () if bounds(t.operation).server == self.server)
        return find_tool_for_url(same, read_url(address), self.server)

    async def ended(
        self,
        known: tuple[ToolResult, LongRunningReader],
        ask: Callable[..., Awaitable[tuple[ToolResult, Any]]],
        wait: float,
    ) -> ToolResult:
        """Wait for the end of long work, as long as the call may; else say how to go on."""
        result, reader = await _to_end(known, ask, wait)
        if reader.long_operation.state == shaping.long_work.FAILED:
            words = error_text(reader.reason, _WORDS)
            about = f"{self.tool.operation.method} {self.tool.operation.path}"
            message = f"{about} was accepted, but its work failed{words and f': {words}'}"
            facts = {"status": result.metadata.get("status"), "body": result.output}
            return ToolResult.failed("http", message, metadata=result.metadata, facts=facts)
        if reader.goes_on:
            result.metadata["job"] = {"tool": self.tool.name, **reader.handle()}
        return result


def _added(prepared: PreparedCall) -> list[str]:
    return [name for name, _ in prepared.grant.auth.query]


async def _to_end(
    known: tuple[ToolResult, LongRunningReader],
    ask: Callable[..., Awaitable[tuple[ToolResult, Any]]],
    wait: float,
) -> tuple[ToolResult, LongRunningReader]:
    """Ask for the state of work until it ends, and for its result; or until the time is over."""
    loop = asyncio.get_running_loop()
    (result, reader), end, pause = known, loop.time() + wait, _FIRST_PAUSE
    asked = reader.pause
    while reader.goes_on and reader.long_operation.url:
        rest = pause if asked is None else max(asked, _SHORTEST_PAUSE)
        if loop.time() + rest >= end:
            return result, reader
        current().report_retry(rest, status=result.metadata.get("status"), retry_after=asked)
        await asyncio.sleep(rest)
        pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            async with asyncio.timeout_at(end):
                answer, following = await ask(reader.long_operation.url, is_poll=True)
        except TimeoutError:
            return result, reader
        asked = None if following is None else following.pause
        if following is not None and following.long_operation:
            result, reader = answer, following
        elif not (answer.error or {}).get("retryable"):
            return answer, reader
    if reader.is_done and reader.long_operation.url:
        result, _ = await ask(reader.long_operation.url, is_poll=False)
    return result, reader


async def resumed(toolset: Toolset, job: Any, *, wait: float | None, context: Any) -> ToolResult:
    """Ask how long work goes on, as `Toolset.resume` does."""
    name, url = (job.get("tool"), job.get("url")) if isinstance(job, Mapping) else (None, None)
    if not isinstance(name, str) or not isinstance(url, str):
        reason = "a job has a tool and a url, as the metadata['job'] of a result."
        return ToolResult.failed("invalid_input", reason)
    own = PerCall(wait, address=url, is_poll=True)
    return await answer_call(toolset, (name, {}), profile=None, context=context, own=own)


def _fault(name: Any, arguments: Any, limits: Mapping[str, Any]) -> str:
    if not isinstance(name, str):
        return f"pages: give the name of a tool, not {kind_of(name)}."
    if not isinstance(arguments, Mapping):
        return f"pages: the arguments must be a mapping by name, not {kind_of(arguments)}."
    for limit, value in limits.items():
        if value is None and limit != "max_pages":
            continue
        kinds = int | float if limit == "timeout" else int
        if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
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
        toolset: Toolset,
        given: tuple[Any, Any],
        limits: Mapping[str, Any],
        profile: str | None,
        *,
        context: Any,
        on_page: Callable[[Pages], Any] | None,
    ) -> None:
        self._toolset, self._name = toolset, given[0]
        self._arguments = {} if given[1] is None else given[1]
        self._told: dict[str, Any] = {"profile": profile, "context": context}
        self._fault = _fault(self._name, self._arguments, limits)
        operation = None
        if not self._fault:
            with suppress(KeyError):  # the first page says so
                operation = operation_of(toolset[self._name])
        self._paging = operation.paging if operation is not None else None
        self._on_page = on_page
        self._most, self._most_pages = limits["max_items"], limits["max_pages"]
        self._seconds = limits["timeout"]
        self._step: Step | None = None
        self._first: ToolResult | None = None
        self._seen: set[str] = set()
        self._changes: dict[str, Any] = {}
        self._digests: list[bytes] = []
        self._total: int | None = None  # items in all, as the last page says
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
        facts: dict[str, Any] = {"paging": select_attributes(self, _FACTS)}
        note, failed = "" if self.reason == "complete" else self.stopped, self.error
        if failed is None and self._first is not None and self.reason != "dry_run":
            told = self._first.metadata
            names = ("status", "media_type", "headers")
            facts |= {name: told[name] for name in names if name in told}
            made = ToolResult.ok(items, facts, header_note=note)
            return made.for_call(self._first.tool_call_id)
        if failed is None or failed.error is None or not self.pages:
            return failed or self._first or ToolResult.failed("timeout", self.stopped)
        more: Any = {"metadata": {**failed.metadata, **facts}, "output": items, "header_note": note}
        others = dict(failed.error)
        made = ToolResult.failed(others.pop("type"), others.pop("message"), facts=others, **more)
        return made.for_call(failed.tool_call_id)

    async def _call(self, step: Step | None) -> tuple[ToolResult, Any]:
        if self._fault:
            return ToolResult.failed("invalid_input", self._fault), None
        changes, address = (step.arguments, step.url) if step is not None else ({}, "")
        linked = step is not None and step.linked
        own = PerCall(address="" if changes else address, is_page=True, linked=linked)
        given = (self._name, {**self._arguments, **changes})
        result = await answer_call(self._toolset, given, **self._told, own=own)
        self._total = getattr(own.after, "total", None)
        return result, getattr(own.after, "step", None)

    async def _page(self, end: float | None) -> list[Any]:
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
        items = [] if output is None else shaping.paging.find_items(output, self._paging)
        if items is None and not self.pages:
            return self._stop("no_items", "the answer holds no list")
        items = items or []
        digest = hashlib.blake2b(dump_json_bytes(items), digest_size=16).digest()
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
        step = self._step
        self.following = {**self._changes, **step.arguments} if step and step.arguments else {}
        if not self.reason:
            key = json.dumps([step.arguments or step.url]) if step is not None else ""
            if step is None:
                self._end()
            elif self.items == self._most:
                self._stop("max_items", shaping.paging.describe_step(step))
            elif step.outside:
                self._stop("outside", f"the next page is not requested: {step.outside}")
            elif not step.arguments and not step.url:
                verb = "are" if step.sure > shaping.paging.LIKELY else "may be"
                words = f"there {verb} more items, and no argument asks for them"
                self._stop("no_way", step.shortfall or words)
            elif key in self._seen:
                self._stop("loop", "the next page is one that was asked for before")
            elif self._empty >= _EMPTY:
                self._stop("no_progress", f"{self._empty} pages in a row were empty")
            elif self.pages >= self._most_pages:
                self._stop("max_pages", shaping.paging.describe_step(step))
            self._seen.add(key)
        await self._tell()

    def _end(self) -> None:
        """Stop behind the last page; the items that came may be fewer than the API says it has."""
        if self._is_whole and self._total is not None and self.items < self._total:
            words = f"{self.items} of {self._total} came; no argument asks for more"
            self._stop("no_way", words)
        else:
            self._stop("complete", "")

    @property
    def _is_whole(self) -> bool:
        """Whether the first page was that of the API, and not one that the caller asked for."""
        paging = self._paging
        if paging is None or not paging.argument:
            return True
        argument = paging.argument.partition(".")[0]
        return argument not in self._arguments or paging.style == "limit"

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
        came = f"{counted(self.items, 'item')} came in {counted(self.pages, 'page')}"
        self.stopped = f"{reason}: {came}" + (f"; {words}" if words else "")
        return []
