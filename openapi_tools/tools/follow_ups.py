"""What follows a response: further pages, or the end of a long-running operation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from openapi_tools.observability import current_observation
from openapi_tools.requests import find_tool_for_url
from openapi_tools.responses.error_results import error_text
from openapi_tools.responses.long_running import FAILED, LongRunningReader
from openapi_tools.responses.paging import PageReader
from openapi_tools.result import ToolResult
from openapi_tools.transport.failures import retry_after
from openapi_tools.transport.urls import read_url, remove_pairs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx

    from openapi_tools.auth import CallCredentials
    from openapi_tools.tools.call import Call, CallOptions
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool_protocol import Tool

    Poll = Callable[[str, bool], Awaitable[tuple[ToolResult, Any]]]

_FIRST_PAUSE, _LONGEST_PAUSE, _SHORTEST_PAUSE = 0.5, 15.0, 0.05
"""Seconds between polls, if the API does not say when to ask again."""
_REASON = 1200  # characters


class FollowUps:
    """Reads what follows the responses of one tool, at addresses below its server only."""

    def __init__(self, tool: Tool, session: Session, server: str) -> None:
        self._tool = tool
        self._session = session
        self._server = server
        self._operation = tool.operation

    def page_reader(
        self,
        arguments: Mapping[str, Any],
        url: httpx.URL,
        credentials: CallCredentials,
        options: CallOptions,
    ) -> PageReader:
        """Return the reader that finds the next page in the response to a call's request."""
        hidden = [name for name, _ in credentials.auth.query]
        return PageReader(
            self._operation,
            self._tool.input_schema,
            arguments=arguments,
            url=remove_pairs(url, hidden),
            server=self._server,
            hidden=hidden,
            linked=options.is_linked,
            followed=bool(options.address),
        )

    def long_running_reader(self, call: Call, *, may_be_state: bool) -> LongRunningReader:
        """Return the reader that finds a long-running operation, in the response to a read, too."""
        response, hidden = call.response, [name for name, _ in call.credentials.auth.query]
        return LongRunningReader(
            response.status,
            remove_pairs(response.request.url, hidden),
            self._server,
            find_tool=self._find_poll_tool,
            polled=call.options.is_poll,
            accepts_states=may_be_state,
            pause=retry_after(response.headers),
        )

    def _find_poll_tool(self, address: str) -> tuple[str, dict[str, Any]] | None:
        neighbours = self._session.find_neighbours(self._tool) or ()
        candidates = (tool for tool in neighbours if self._is_at_server(tool))
        return find_tool_for_url(candidates, read_url(address), self._server)

    def _is_at_server(self, tool: Tool) -> bool:
        return self._session.origin_policy(tool.operation).server == self._server

    async def wait_until_done(
        self, result: ToolResult, reader: LongRunningReader, poll: Poll, wait: float
    ) -> ToolResult:
        """Wait for the end of a long-running operation; after `wait` seconds say how to go on."""
        result, reader = await _poll_until_done(result, reader, poll, wait)
        if reader.long_operation.state == FAILED:
            reason = error_text(reader.reason, _REASON)
            label = f"{self._operation.method} {self._operation.path}"
            message = f"{label} was accepted, but the operation failed{reason and f': {reason}'}"
            facts = {"status": result.metadata.get("status"), "body": result.output}
            return ToolResult.failed("http", message, metadata=result.metadata, facts=facts)
        if reader.goes_on:
            result.metadata["job"] = {"tool": self._tool.name, **reader.handle()}
        return result


async def _poll_until_done(
    result: ToolResult, reader: LongRunningReader, poll: Poll, wait: float
) -> tuple[ToolResult, LongRunningReader]:
    loop = asyncio.get_running_loop()
    end, pause, retry_delay = loop.time() + wait, _FIRST_PAUSE, reader.pause
    result_url = reader.long_operation.result_url
    while reader.goes_on and reader.long_operation.url:
        delay = pause if retry_delay is None else max(retry_delay, _SHORTEST_PAUSE)
        if loop.time() + delay >= end:
            return result, reader
        status = result.metadata.get("status")
        current_observation().report_retry(delay, status=status, retry_after=retry_delay)
        await asyncio.sleep(delay)
        pause = min(2 * pause, _LONGEST_PAUSE)
        # A poll that hangs ends with the caller's time; the state can be requested later.
        try:
            async with asyncio.timeout_at(end):
                response, following = await poll(reader.long_operation.url, True)
        except TimeoutError:
            return result, reader
        retry_delay = None if following is None else following.pause
        if following is not None and following.long_operation:
            result, reader = response, following
        # After a temporary failure, such as 503, the same URL is requested again.
        elif not (response.error or {}).get("retryable"):
            return response, reader
    # The state named another address for the result, for instance Azure's `Location` at the
    # end; or the first response did, beside `Azure-AsyncOperation`.
    if reader.is_done and reader.long_operation.url:
        result, _ = await poll(reader.long_operation.url, False)
    elif reader.is_done and result_url:
        response, _ = await poll(result_url, False)
        result = response if response.success else result  # some have nothing there
    return result, reader
