"""From checked arguments to the API's answer: approve, grant, build, send, read."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from openapi_tools.auth.credentials import NOTHING, TokenContext
from openapi_tools.errors import DeniedError, OpenAPIToolsError
from openapi_tools.redaction import hide
from openapi_tools.requests.builder import RequestPlan
from openapi_tools.requests.preview import Preview, preview_of
from openapi_tools.requests.server_urls import with_own_path
from openapi_tools.responses.reader import read_answer
from openapi_tools.result import ToolResult
from openapi_tools.tools.context import member_of
from openapi_tools.tools.guardrails import ask
from openapi_tools.transport.exchange import SendOptions
from openapi_tools.transport.transport_errors import timed_out
from openapi_tools.validation.tool_input import is_large

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from openapi_tools.auth.credentials import Credentials, Grant, OriginPolicy
    from openapi_tools.auth.token_channel import Channel
    from openapi_tools.redaction import Redactor
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.transport.sender import Answer, Attempts

logger = logging.getLogger("openapi_tools")
_Found = TypeVar("_Found")

_LARGE = 32 * 1024
"""Bytes of an answer from which on it is read in a thread: a few milliseconds' work."""
_GRACE = 0.25
"""Seconds beyond the time of a call for reading an answer that was cut when it was over."""
_UNAUTHORIZED = 401
_NOT_FOUND = 404


@dataclass(slots=True, eq=False)
class Parcel:
    """One call on its way.

    Attributes:
        arguments: They fit the tool.
        credentials: The toolset's, and those of this call before them.
        bounds: Where it goes, and where credentials may.
        redactor: Knows the secrets of the toolset and of this call.
        key: Idempotency key; empty for none.
        grant: What it is granted, once that is known.
        request: What is sent, once it is built.
    """

    arguments: dict[str, Any]
    credentials: Credentials
    bounds: OriginPolicy
    redactor: Redactor
    key: str = ""
    grant: Grant = NOTHING
    request: httpx.Request | None = None


class Delivery:
    """Brings the calls of one tool to its API.

    Args:
        tool: What is called.
        session: What it shares with other tools.
    """

    __slots__ = ("_about", "_bounds", "_grant", "_options", "_plan", "_session", "_tool")

    def __init__(self, tool: OperationTool, session: Session) -> None:
        self._tool = tool
        self._session = session
        self._about = ""
        # What is the same for every call: found by the first one.
        self._bounds: OriginPolicy | None = None
        self._grant: Grant | None = None
        self._options: SendOptions | None = None
        self._plan: RequestPlan | None = None

    async def result(
        self, arguments: dict[str, Any], context: Any = None, call_id: str = ""
    ) -> ToolResult:
        """Return what the API answers.

        Raises:
            CallError: There is no answer that can be used.
            InputError: A value cannot be sent.
            CredentialsError: Credentials of the context do not fit the document.
        """
        session, settings = self._session, self._session.settings
        redactor = session.redactor.for_call()
        try:
            parcel = self._parcel(arguments, context, redactor)
            if settings.dry_run:
                preview = await self._seen(parcel, call_id)
                return ToolResult.ok(preview.as_data(), {"dry_run": True})
            if settings.approve is not None and self._is_asked_for():
                await self._approve(parcel, call_id)
            async with session.sender.attempts(self._about) as attempts:
                await self._carry(parcel, attempts)
            return await self._read(attempts, parcel)
        except OpenAPIToolsError as error:
            hide(error, redactor)
            raise

    async def _carry(self, parcel: Parcel, attempts: Attempts) -> None:
        """Send a call; once more with newer credentials, should there be some."""
        parcel.grant = self._grant_of(parcel) or await self._granted(parcel, attempts, None)
        answer = await attempts.send(*self._packed(parcel))
        if answer.status == _UNAUTHORIZED and parcel.grant.renewable:
            newer = await self._granted(parcel, attempts, parcel.grant)
            if newer.auth != parcel.grant.auth:
                parcel.grant = newer
                await attempts.send(*self._packed(parcel))

    def _packed(self, parcel: Parcel) -> tuple[httpx.Request, SendOptions]:
        """Return the request of a call with the credentials that it has now, and its options."""
        options = self._options_of(parcel)
        parcel.request = self._built(parcel, parcel.grant)
        return parcel.request, options

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send, with `***` in place of credentials.

        Raises:
            CallError: There is no server to send it to.
            InputError: A value cannot be sent.
        """
        return self._masked(self._parcel(arguments, None, self._session.redactor))[0]

    def _parcel(self, arguments: dict[str, Any], context: Any, redactor: Redactor) -> Parcel:
        session, operation = self._session, self._tool.operation
        credentials = session.credentials
        if context is not None:
            credentials = credentials.overlaid(member_of(context, "credentials"), redactor)
        bounds = self._bounds
        if bounds is None:
            bounds = self._bounds = session.bounds(operation)
            self._about = f"{operation.method} {operation.path}"
        parcel = Parcel(arguments, credentials, bounds, redactor)
        if session.settings.idempotency_header and not self._tool.idempotent:
            parcel.key = str(uuid.uuid4())
        return parcel

    def _masked(self, parcel: Parcel) -> tuple[httpx.Request, str]:
        """Return the request with masked credentials, and what to note about it."""
        grant = parcel.credentials.masked(self._tool.operation, parcel.bounds)
        return self._built(parcel, grant), grant.note

    async def _seen(self, parcel: Parcel, call_id: str) -> Preview:
        """Return the preview of a call; that of a large one is made in a thread."""
        if is_large(parcel.arguments):
            return await asyncio.to_thread(self._previewed, parcel, call_id)
        return self._previewed(parcel, call_id)

    def _previewed(self, parcel: Parcel, call_id: str) -> Preview:
        request, note = self._masked(parcel)
        preview = preview_of(request, self._tool.name, parcel.arguments, redactor=parcel.redactor)
        return replace(preview, note=note, call_id=call_id)

    def _is_asked_for(self) -> bool:
        """Whether somebody has to approve the calls of this tool."""
        rule = self._session.settings.approve_for
        if callable(rule):
            return bool(rule(self._tool))
        if rule == "destructive":
            return self._tool.destructive
        return rule == "all" or rule in self._tool.operation.extensions

    async def _approve(self, parcel: Parcel, call_id: str) -> None:
        verdict = await ask(self._session.settings.approve, await self._seen(parcel, call_id))
        if verdict is not True:
            raise DeniedError(f"{self._tool.name} was not approved; it was not sent.")

    def _channel(self, attempts: Attempts, parcel: Parcel) -> Channel:
        from openapi_tools.auth.token_channel import Channel

        session = self._session

        def learn(*secrets: str) -> None:
            session.redactor.know(*secrets, passing=True)
            parcel.redactor.know(*secrets)  # however many others there are

        return Channel.over(attempts.transport, parcel.bounds, learn)

    def _grant_of(self, parcel: Parcel) -> Grant | None:
        """Return what is granted to every call; None when a call has to ask."""
        return self._grant if parcel.credentials is self._session.credentials else None

    async def _granted(self, parcel: Parcel, attempts: Attempts, stale: Grant | None) -> Grant:
        """Return the credentials of a call; functions of the user's are asked for some."""
        operation, bounds = self._tool.operation, parcel.bounds

        def channel() -> Channel:
            return self._channel(attempts, parcel)

        context = TokenContext(channel, parcel.redactor)
        grant = await parcel.credentials.grant(operation, bounds, context, stale)
        if not grant.renewable and parcel.credentials is self._session.credentials:
            self._grant = grant
        return grant

    def _built(self, parcel: Parcel, grant: Grant) -> httpx.Request:
        settings = self._session.settings
        if self._plan is None:
            self._plan = RequestPlan(self._tool.operation, settings)
        request = self._plan.build(parcel.arguments, grant.auth)
        header = settings.idempotency_header
        if parcel.key and header and header not in request.headers:
            request.headers[header] = parcel.key
        return request

    def _options_of(self, parcel: Parcel) -> SendOptions:
        """Return the options of a call; most calls share them."""
        if self._options is None:
            inside = parcel.bounds.inside
            traced = inside and self._session.settings.trace_context
            self._options = SendOptions(base=parcel.bounds.server, trusted=inside, traced=traced)
        auth = parcel.grant.auth
        others = auth.httpx_auth is not None or self._session.client_brings
        if not others and auth.certificate is None and not parcel.key:
            return self._options
        return replace(
            self._options,
            auth=auth.httpx_auth,
            certificate=auth.certificate,
            keyed=bool(parcel.key),
            learn=parcel.redactor.know if others else None,
        )

    async def _read(self, attempts: Attempts, parcel: Parcel) -> ToolResult:
        """Return what an answer means, without the secrets that a server repeats."""
        answer, read = attempts.answer, self._result
        if len(answer.content) > _LARGE:
            result = await self._apart(attempts, read, answer, parcel.redactor)
        else:
            result = read(answer, parcel.redactor)
        note = parcel.grant.note
        if note:
            result.metadata["notes"] = [*result.metadata.get("notes", ()), note]
        if result.error is not None and result.error["type"] == "auth":
            result = _explained(result, note or self._lacking(parcel))
        if answer.status != _NOT_FOUND:
            self._session.is_placed = True
        elif not self._session.is_placed:
            result = _explained(result, self._misplaced(parcel))
        check = self._session.check_answer
        if check is not None and parcel.request is not None:
            problems = await self._apart(attempts, check, parcel.request, answer)
            result.metadata["answer_problems"] = parcel.redactor.data(problems)
        return result

    async def _apart(self, attempts: Attempts, work: Callable[..., _Found], *given: Any) -> _Found:
        """Do work on an answer in a thread, within the time of the call."""
        try:
            async with asyncio.timeout_at(attempts.deadline + _GRACE):
                return await asyncio.to_thread(work, *given)
        except TimeoutError:
            seconds = self._session.settings.timeout
            raise timed_out(attempts.answer.request, seconds) from None

    def _result(self, answer: Answer, redactor: Redactor) -> ToolResult:
        operation, settings = self._tool.operation, self._session.settings
        return read_answer(answer, operation, settings, redactor=redactor)

    def _misplaced(self, parcel: Parcel) -> str:
        """Say that the settings leave out the path of the document's own server, if they do."""
        url = with_own_path(self._tool.operation, self._session.settings)
        if not url:
            return ""
        reason = "base_url lacks the path of the document's own server"
        return parcel.redactor.text(f"{reason}; if that is wrong, give Settings(base_url={url!r})")

    def _lacking(self, parcel: Parcel) -> str:
        if parcel.grant.auth:
            return ""
        return parcel.credentials.lacking(self._tool.operation)


def _explained(result: ToolResult, why: str) -> ToolResult:
    """Return an error result that also says what may be the reason."""
    if not why or result.error is None:
        return result
    facts = dict(result.error)
    kind, message = facts.pop("type"), facts.pop("message")
    return ToolResult.failed(kind, f"{message} ({why})", metadata=result.metadata, facts=facts)
