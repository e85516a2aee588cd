"""From checked arguments to the API's answer: approve, grant, build, send, read."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from openapi_tools import responses, shaping, tools
from openapi_tools.auth.schemes import TokenContext
from openapi_tools.errors import CallError, DeniedError, InputError, OpenAPIToolsError
from openapi_tools.http_rules import is_safe
from openapi_tools.model import AnswerShape
from openapi_tools.options import member_of, with_members
from openapi_tools.redaction import Redactor, excerpt, redact_error
from openapi_tools.redaction.marked_schemas import EXTENSION
from openapi_tools.requests import Preview, preview_request
from openapi_tools.requests.builder import RequestPlan, describe_files
from openapi_tools.responses.reader import read_response
from openapi_tools.result import Context, ToolResult, context_for, user_of
from openapi_tools.shaping.list_reader import ListReader
from openapi_tools.tools.explanations import explain_failure
from openapi_tools.tools.fixed_values import FixedValues
from openapi_tools.tools.guardrails import asked, takes_approval
from openapi_tools.tools.prepared_call import PreparedCall
from openapi_tools.tools.session import PLAIN, PerCall
from openapi_tools.transport.exchange import SendOptions
from openapi_tools.transport.failures import timeout_error
from openapi_tools.validation import is_large

if TYPE_CHECKING:
    import httpx

    from openapi_tools.auth import Grant
    from openapi_tools.auth.authorization_server import Channel
    from openapi_tools.responses.response_shape import ResponseShaper, ResponseShapes
    from openapi_tools.shaping.files import ResponseFiles
    from openapi_tools.tools.following import Following
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.writes import Once
    from openapi_tools.transport import APIResponse, Attempts, Sender

_Found = TypeVar("_Found")

_LARGE = 32 * 1024  # bytes that are read in a thread: a few milliseconds' work
_GRACE = 0.25  # seconds beyond the time of a call to read an answer that it cut
_STORE_GRACE = 5.0  # more than a shared state takes until it gives up
_WORK = frozenset({b"operation-location", b"azure-asyncoperation", b"location"})


class Execution:
    """Brings the calls of one tool to its API; CallError for an unusable server or method."""

    def __init__(self, tool: OperationTool, session: Session) -> None:
        self._tool = tool
        self._session = session
        self._operation = tool.operation
        self._about = f"{self._operation.method} {self._operation.path}"
        self._reads = is_safe(self._operation.method)
        self._bounds = session.bounds(self._operation)
        self._plan = RequestPlan(self._operation, session.settings)
        inside = self._bounds.inside
        self._options = SendOptions(
            base=self._bounds.server,
            redirects=self._operation.redirects,
            trusted=inside,
            traced=inside and session.settings.trace_context,
            repeatable=self._operation.hints.get("idempotent"),
            caches=session.settings.http_cache,
        )
        self._grant: Grant | None = None
        self._fixed = FixedValues(self._operation.fixed, session.redactor)
        self._sender: Sender | None = None
        self._files: ResponseFiles | None = None
        if session.settings.download_dir is not None or session.settings.files is not None:
            store: Any = shaping.files.find_store(session.settings)
            self._files = shaping.files.ResponseFiles(store, session.settings)
        self._following: Following | None = None
        self._shapes: ResponseShapes | None = None
        known, own = session.settings, self._operation.answer
        if own is not None or known.drop or known.max_items or not known.nulls:
            self._shapes = responses.response_shape.ResponseShapes(tool, known)
        self._shaper = None if self._shapes is None else self._shapes.default_shaper

    async def result(
        self, arguments: dict[str, Any], context: Any, call_id: str, own: PerCall
    ) -> ToolResult:
        """Send the request and return the API's result, or raise an OpenAPIToolsError."""
        session, settings = self._session, self._session.settings
        redactor = session.redactor.for_call()
        try:
            if callable(given := member_of(context, "credentials")):
                found = await context_for(given, self._tool)
                context = with_members(context, credentials=found)
            prepared = self._prepare(arguments, context, redactor)
            prepared.own, prepared.wait = own, self._waits(own, context)
            prepared.changes, prepared.shaper = own.changes, self._shaper
            if context is not None:
                prepared.whole = member_of(context, "whole") is True
                prepared.for_remote = member_of(context, "remote") is True
                prepared.shaper = await self._shaper_for(context, prepared.wait)
            once: Once | None = None
            if context is not None and member_of(context, "idempotency_key") is not None:
                once = tools.writes.once_for(self._tool, self._bounds.server, prepared, context)
            if settings.dry_run:
                preview = await self._seen(prepared, call_id)
                return ToolResult.ok(preview.as_data(), {"dry_run": True})
            self._fixed.read()  # before a person is asked: a variable may not be set
            if once is not None and (known := await once.known()) is not None:
                return known
            if settings.approve is not None and takes_approval(self._tool, settings):
                if own.most_bytes:
                    raise DeniedError("a read that needs approval is not made before a write.")
                preview = await self._with_changes(prepared, context, call_id)
                verdict = await asked(settings.approve, preview)
                if verdict is not True:
                    raise DeniedError(f"{self._tool.name} was not approved; it was not sent.")
            send = partial(self._sent, prepared)
            return await (send() if once is None else once.send(send))
        except OpenAPIToolsError as error:
            _hide(error, redactor, for_remote=member_of(context, "remote") is True)
            raise

    async def _sent(self, prepared: PreparedCall) -> ToolResult:
        result = await self._delivered(prepared)
        return await self._ended(result, prepared) if prepared.after is not None else result

    async def _delivered(self, prepared: PreparedCall) -> ToolResult:
        address = prepared.own.address.removeprefix(self._bounds.server).partition("?")[0]
        about = f"GET {excerpt(repr(address)[1:-1], 200)}" if address else self._about
        if self._sender is None:
            self._sender = self._session.sender
        async with self._sender.attempts(about, self._operation.timeout) as attempts:
            response = await self._carry(prepared, attempts)
        try:
            result = await self._read(attempts, prepared, response)
        finally:
            response.discard_file()
        if prepared.own is not PLAIN:
            prepared.own.after = prepared.after
        return result

    async def _ended(self, result: ToolResult, prepared: PreparedCall) -> ToolResult:
        if not getattr(prepared.after, "long_operation", None) or self._following is None:
            return result

        async def ask(url: str, *, is_poll: bool) -> tuple[ToolResult, Any]:
            prepared.own, prepared.after = PerCall(address=url, is_poll=is_poll), None
            try:
                return await self._delivered(prepared), prepared.after
            except CallError as error:
                _hide(error, prepared.redactor, for_remote=prepared.for_remote)
                return ToolResult.failed(error.kind, error.reason, facts=error.facts), None

        wait = self._session.settings.wait if prepared.wait is None else prepared.wait
        return await self._following.ended((result, prepared.after), ask, wait)

    def _after(self, prepared: PreparedCall, answer: APIResponse) -> Any:
        """Return the reader of what follows an answer: pages or long work; None for neither."""
        own, headers, reads = prepared.own, answer.headers, self._reads
        is_given = own.wait is not None or self._operation.wait is not None
        is_waited = is_given and reads and not own.is_page and self._operation.paging is None
        begins = not reads and any(name.lower() in _WORK for name, _ in headers.raw)
        is_work = own.is_poll or is_waited or begins or answer.status == HTTPStatus.ACCEPTED
        is_list = own.is_page or self._operation.paging is not None or (reads and "link" in headers)
        if not (reads or is_work or is_list):
            is_work = shaping.long_work.may_name_task(answer.status, answer.content)
        if is_work:
            return self._follow().work_reader(prepared, answer, loosely=is_waited)
        if is_list:
            return self._follow().page_reader(prepared, answer)
        if not reads:
            return None
        return ListReader(prepared.arguments, lambda: self._follow().page_reader(prepared, answer))

    def _follow(self) -> Following:
        if self._following is None:
            made = tools.following.Following
            self._following = made(self._tool, self._session, self._bounds.server)
        return self._following

    def _waits(self, own: PerCall, context: Any) -> float | None:
        given = own.wait
        if given is None and context is not None:
            given = member_of(context, "wait")
        if given is None:
            return self._operation.wait
        if isinstance(given, int | float) and 0 <= given < math.inf:
            return given
        raise InputError(f"'wait' must be a number of seconds, not {given!r:.60}.")

    async def _shaper_for(self, context: Any, wait: float | None) -> ResponseShaper | None:
        shape, fields = member_of(context, "answer"), member_of(context, "fields")
        if not isinstance(context, Context | Mapping):  # members of others may differ
            fields = fields if isinstance(fields, str) else None
            shape = shape if isinstance(shape, AnswerShape | Mapping) else None
        if shape is None and fields is None:
            return self._shaper
        if self._shapes is None:
            self._shapes = responses.response_shape.ResponseShapes(
                self._tool, self._session.settings
            )
        usual = 0 if self._reads else self._session.settings.wait
        # At the end of long work another operation's answer may come.
        is_known = not (usual if wait is None else wait)
        return await self._shapes.shaper_for_call(shape, fields, is_known=is_known)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request of a call, as `OperationTool.preview` does."""
        return self._masked(self._prepare(arguments, None, self._session.redactor))[0]

    def _prepare(self, arguments: dict[str, Any], context: Any, redactor: Redactor) -> PreparedCall:
        credentials, user = self._session.credentials, ""
        if context is not None:
            user = user_of(context)
            given = member_of(context, "credentials")
            credentials = credentials.overlaid(given, redactor, user)
        operation = self._operation
        if operation.fixed or operation.defaults:  # of the user's configuration
            arguments = {**operation.defaults, **arguments, **self._fixed.masked}
        prepared = PreparedCall(arguments, credentials, redactor, user=user)
        if self._session.settings.idempotency_header and not self._tool.idempotent:
            prepared.key = str(uuid.uuid4())
        return prepared

    def _masked(self, prepared: PreparedCall) -> tuple[httpx.Request, str]:
        """Return the request with masked credentials, and what to note about it."""
        grant = prepared.credentials.masked(self._operation, self._bounds)
        return describe_files(self._built(prepared, prepared.arguments, grant)), grant.note

    async def _seen(
        self, prepared: PreparedCall, call_id: str, *, is_question: bool = False
    ) -> Preview:
        """Return the preview of a call; that of a large one is made in a thread."""
        make_preview = partial(self._previewed, prepared, call_id, is_question=is_question)
        if self._is_slow(prepared):
            return await asyncio.to_thread(make_preview)
        return make_preview()

    def _is_slow(self, prepared: PreparedCall) -> bool:
        # A store of the user's own may wait for a server to open the file of a handle.
        return self._session.settings.files is not None or is_large(prepared.arguments)

    async def _with_changes(self, prepared: PreparedCall, context: Any, call_id: str) -> Preview:
        """Return the preview of a call with what it changes, which is noted for the request."""
        if prepared.changes is None:
            reading = tools.state_changes.changes_of(self._tool, prepared.arguments, context)
            prepared.changes = await reading
        preview, seen = await self._seen(prepared, call_id, is_question=True), prepared.changes
        return preview if seen is None else replace(preview, changes=seen.lines, undo=seen.undo)

    def _previewed(self, prepared: PreparedCall, call_id: str, *, is_question: bool) -> Preview:
        request, note = self._masked(prepared)
        name, arguments = self._tool.name, prepared.arguments
        if is_question:
            marked = self._tool.marked_values
            request, arguments = marked.hide_request(request), marked.hide_arguments(arguments)
        preview = preview_request(request, name, arguments, redactor=prepared.redactor)
        return replace(preview, note=note, call_id=call_id)

    async def _carry(self, prepared: PreparedCall, attempts: Attempts) -> APIResponse:
        """Send a call; after a 401 again, if newer credentials exist."""
        # All calls with the session's credentials may share a grant.
        shared = self._grant if prepared.credentials is self._session.credentials else None
        prepared.grant = shared or await self._granted(prepared, attempts, None)
        answer = await self._send(prepared, attempts)
        if answer.status == HTTPStatus.UNAUTHORIZED and prepared.grant.renewable:
            newer = await self._granted(prepared, attempts, prepared.grant)
            if newer.auth != prepared.grant.auth:
                prepared.grant = newer
                answer = await self._send(prepared, attempts)
        return answer

    async def _send(self, prepared: PreparedCall, attempts: Attempts) -> APIResponse:
        options = self._options_of(prepared)
        prepared.request = await self._build(prepared)
        if self._sender is not None and not self._sender.owns_client:  # it may be a cassette's
            prepared.request.extensions[EXTENSION] = self._tool.marked_values
        return await attempts.send(prepared.request, options)

    async def _build(self, prepared: PreparedCall) -> httpx.Request:
        if self._session.settings.files is not None:  # a store of the user's own may be slow
            return await asyncio.to_thread(self._build_with_secrets, prepared)
        return self._build_with_secrets(prepared)

    def _build_with_secrets(self, prepared: PreparedCall) -> httpx.Request:
        # Secrets among fixed values are in the request only, and in no frame that waits for it.
        arguments = {**prepared.arguments, **self._fixed.read()}
        return self._built(prepared, arguments, prepared.grant)

    async def _granted(
        self, prepared: PreparedCall, attempts: Attempts, stale: Grant | None
    ) -> Grant:
        """Return the grant of a call; fetches tokens, and calls the user's functions."""

        def learn(*secrets: str) -> None:
            self._session.redactor.learn(*secrets, passing=True)
            prepared.redactor.learn(*secrets)  # however many others there are

        def channel() -> Channel:
            from openapi_tools.auth.authorization_server import Channel

            return Channel.over(attempts.transport, self._bounds, learn)

        context = TokenContext(channel, prepared.redactor)
        grant = await prepared.credentials.grant(self._operation, self._bounds, context, stale)
        if not grant.renewable and prepared.credentials is self._session.credentials:
            self._grant = grant
        return grant

    def _built(
        self, prepared: PreparedCall, arguments: dict[str, Any], grant: Grant
    ) -> httpx.Request:
        if prepared.own.address:
            return self._plan.build_follow_up(prepared.own.address, arguments, grant.auth)
        request = self._plan.build(arguments, grant.auth)
        header = self._session.settings.idempotency_header
        if prepared.key and header and header not in request.headers:
            request.headers[header] = prepared.key
        if prepared.changes and prepared.changes.etag and "if-match" not in request.headers:
            request.headers["If-Match"] = prepared.changes.etag
        return request

    def _options_of(self, prepared: PreparedCall) -> SendOptions:
        """Return the options of a call; most calls share them."""
        auth = prepared.grant.auth
        others = auth.httpx_auth is not None or self._session.client_brings
        most = prepared.own.most_bytes
        own = prepared.user or most or (prepared.own.is_poll and self._options.caches)
        if not (others or auth.certificate or prepared.key or self._files or own):
            return self._options
        files = self._files
        return replace(
            self._options,
            auth=auth.httpx_auth,
            certificate=auth.certificate,
            repeatable=True if prepared.key else self._options.repeatable,
            learn=prepared.redactor.learn if others else None,
            download=files and partial(files.begin, prepared.redactor),
            user=prepared.user,
            caches=self._options.caches and not (prepared.own.is_poll or most),
            most=most,
        )

    async def _read(
        self, attempts: Attempts, prepared: PreparedCall, answer: APIResponse
    ) -> ToolResult:
        """Return the result of an answer, without secrets that the server repeats."""
        session, redactor = self._session, prepared.redactor
        operation, settings = self._operation, session.settings
        after, shaper = self._after(prepared, answer), prepared.shaper
        prepared.after = after
        if prepared.own.is_page or prepared.whole:
            shaper = responses.response_shape.remove_limits(shaper)
        keep = self._files and partial(self._files.keep, for_remote=prepared.for_remote)

        def read() -> ToolResult:
            about: Any = {"keep": keep, "after": after and after.read, "shaper": shaper}
            return read_response(answer, operation, settings, redactor=redactor, **about)

        chooses = shaper is not None and bool(shaper.fields)
        chooses = chooses or settings.files is not None  # a user's store may be slow
        in_thread = len(answer.content) > _LARGE or answer.file is not None or chooses
        result = await self._apart(attempts, answer, read) if in_thread else read()
        if note := prepared.grant.note:
            result.metadata["notes"] = [*result.metadata.get("notes", ()), note]
        session.is_placed = session.is_placed or answer.status != HTTPStatus.NOT_FOUND
        result = explain_failure(result, prepared, answer, operation, session)
        check = session.check_answer
        if check is not None and prepared.request is not None and not prepared.own.address:
            request = describe_files(prepared.request)
            problems = await self._apart(attempts, answer, check, request, answer)
            result.metadata["response_problems"] = redactor.data(problems)
        return result

    async def _apart(
        self, attempts: Attempts, answer: APIResponse, work: Callable[..., _Found], *given: Any
    ) -> _Found:
        """Do work on an answer in a thread, within the time of the call."""
        # The response is there: a store that hangs for a while does not make it an error.
        grace = _GRACE if self._session.settings.files is None else _STORE_GRACE
        try:
            async with asyncio.timeout_at(attempts.deadline + grace):
                return await asyncio.to_thread(work, *given)
        except TimeoutError:
            raise timeout_error(answer.request, attempts.seconds) from None


def _hide(error: OpenAPIToolsError, redactor: Redactor, *, for_remote: bool) -> None:
    """Take secrets out of an error, and folders of this machine for a remote client."""
    if for_remote and isinstance(error, CallError):
        error.leave_out_folder()
    redact_error(error, redactor)
