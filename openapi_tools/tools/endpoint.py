"""The operation of a tool at its server: how its requests are built and sent."""

from __future__ import annotations

import asyncio
import importlib.readers  # noqa: F401 -- certifi would import it during the first call
import re
import uuid
from dataclasses import replace
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from openapi_tools.common.http_rules import is_safe
from openapi_tools.redaction import excerpt
from openapi_tools.redaction.marked_schemas import EXTENSION
from openapi_tools.requests import Preview, preview_request
from openapi_tools.requests.builder import RequestPlan, describe_files
from openapi_tools.responses.list_reader import ListReader
from openapi_tools.responses.response_shape import ResponseShapes
from openapi_tools.state.file_store import ResponseFiles, find_store
from openapi_tools.tools.fixed_arguments import FixedArguments
from openapi_tools.tools.follow_ups import FollowUps
from openapi_tools.transport.exchange import SendOptions
from openapi_tools.validation.check_cost import is_large

if TYPE_CHECKING:
    import httpx

    from openapi_tools.auth import CallCredentials
    from openapi_tools.responses.long_running import LongRunningReader
    from openapi_tools.responses.paging import PageReader
    from openapi_tools.responses.response_shape import ResponseShaper
    from openapi_tools.tools.call import Call
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool_protocol import Tool
    from openapi_tools.transport import APIResponse, Sender

# Headers with the address of a long-running operation.
_LOCATIONS = frozenset({b"operation-location", b"azure-asyncoperation", b"location"})
# Searched in lower case: with `re.IGNORECASE` a search takes thirty times as long.
_TASK_WORDS = re.compile(rb"href|job|link|monitor|operation|poll|progress|self|stat|task|ur[il]")
_LARGEST_TASK = 8 * 1024  # bytes of a body that names a task; longer ones hold a resource


class Endpoint:
    """The operation of one tool at its server.

    Attributes:
        operation: The tool's operation.
        label: Its name in messages: `"GET /pets/{petId}"`.
        is_read: The method only reads.
        policy: The server's address, and where credentials may go.
        plan: Builds requests.
        options: How requests are sent, unless a call needs other options.
        session: The session of the tool's document.
        credentials: The session's credentials, which those of a call override.
        shared_credentials: The credentials of all calls that have none of their own; None before
            the first such call, and if each call has to fetch them.
        fixed: The arguments that the configuration fixes.
        follow_ups: Reads further pages, and waits for long-running operations.
        files: Stores files of responses; None if there is no store.
        shaper: Makes responses smaller, unless a call asks for another shape; None if they stay.

    Raises:
        CallError: The server's address cannot be used.
        SettingsError: The shape of the tool's responses is wrong.
    """

    def __init__(self, tool: Tool, session: Session) -> None:
        self.operation = operation = tool.operation
        self.label = f"{operation.method} {operation.path}"
        self.is_read = is_safe(operation.method)
        self.policy = session.origin_policy(operation)
        self._tool = tool
        self._settings = settings = session.settings
        self.session = session
        self.credentials = session.credentials
        self.plan = RequestPlan(operation, settings)
        self.options = SendOptions(
            base=self.policy.server,
            redirects=operation.redirects,
            trusted=self.policy.allows_server,
            traced=self.policy.allows_server and settings.trace_context,
            repeatable=operation.hints.get("idempotent"),
            caches=settings.http_cache,
        )
        self.shared_credentials: CallCredentials | None = None
        self.fixed = FixedArguments(operation.fixed, session.redactor)
        self.follow_ups = FollowUps(tool, session, self.policy.server)
        store = find_store(settings)
        self.files = None if store is None else ResponseFiles(store, settings)
        is_shaped = settings.drop or settings.max_items or not settings.nulls
        is_shaped = is_shaped or operation.answer is not None
        self.shaper: ResponseShaper | None = self.shapes.default_shaper if is_shaped else None

    @cached_property
    def shapes(self) -> ResponseShapes:
        """The shapes that calls may ask for."""
        return ResponseShapes(self._tool, self._settings)

    def label_of(self, address: str) -> str:
        """Return the label of a page, or of the state of a long-running operation."""
        path = address.removeprefix(self.policy.server).partition("?")[0]
        return f"GET {excerpt(repr(path)[1:-1], 200)}"

    def add_configured_values(self, call: Call) -> None:
        """Add the arguments and the key that the configuration and the settings give."""
        operation = self.operation
        if operation.fixed or operation.defaults:
            call.arguments = {**operation.defaults, **call.arguments, **self.fixed.masked}
        if self._settings.idempotency_header and not self._tool.idempotent:
            call.idempotency_key = str(uuid.uuid4())

    @cached_property
    def sender(self) -> Sender:
        """The sender of the session, which connects at the first call."""
        return self.session.sender

    async def build_request(self, call: Call) -> httpx.Request:
        """Return the request with its credentials and the secrets among the fixed arguments."""
        if self._settings.files is None:
            request = self._build_with_secrets(call)
        else:  # a store of the user's own may be slow
            request = await asyncio.to_thread(self._build_with_secrets, call)
        if not self.sender.owns_client:  # the user's client may be a cassette's
            request.extensions[EXTENSION] = self._tool.marked_values
        return request

    def _build_with_secrets(self, call: Call) -> httpx.Request:
        # Secrets are in the request only, and in no frame that waits for the response.
        fixed = self.fixed.read() if self.operation.fixed else {}
        return self._build(call, {**call.arguments, **fixed}, call.credentials)

    def build_masked_request(self, call: Call) -> tuple[httpx.Request, str]:
        """Return the request with masked credentials, and a note about them."""
        credentials = call.user_credentials.mask(self.operation, self.policy)
        return describe_files(self._build(call, call.arguments, credentials)), credentials.note

    def _build(
        self, call: Call, arguments: dict[str, Any], credentials: CallCredentials
    ) -> httpx.Request:
        if call.options.address:
            return self.plan.build_follow_up(call.options.address, arguments, credentials.auth)
        request = self.plan.build(arguments, credentials.auth)
        header = self._settings.idempotency_header
        if call.idempotency_key and header and header not in request.headers:
            request.headers[header] = call.idempotency_key
        # RFC 9110, section 13.1.1: the server refuses the write if somebody changed what the
        # approver saw.
        if call.changes and call.changes.etag and "if-match" not in request.headers:
            request.headers["If-Match"] = call.changes.etag
        return request

    def send_options(self, call: Call) -> SendOptions:
        """Return how the request is sent; most calls share the options."""
        auth, is_poll, key = call.credentials.auth, call.options.is_poll, call.idempotency_key
        has_auth = auth.httpx_auth is not None or self.session.client_adds_credentials
        is_usual = not (has_auth or auth.certificate or key or self.files or call.user)
        if is_usual and not (call.most_bytes or (is_poll and self.options.caches)):
            return self.options
        return replace(
            self.options,
            auth=auth.httpx_auth,
            certificate=auth.certificate,
            repeatable=True if key else self.options.repeatable,
            learn=call.redactor.learn if has_auth else None,
            download=self.files and partial(self.files.begin, call.redactor),
            user=call.user,
            caches=self.options.caches and not (is_poll or call.most_bytes),
            max_bytes=call.most_bytes,
        )

    def find_follow_up(self, call: Call) -> PageReader | LongRunningReader | ListReader | None:
        """Return the reader of the next page or of a long-running operation; None for neither."""
        options, response, operation = call.options, call.response, self.operation
        # The response to a read may be a state if the caller or the configuration waits for one.
        waits = options.wait is not None or operation.wait is not None
        may_be_state = waits and self.is_read and not options.is_page and operation.paging is None
        is_long_running = options.is_poll or may_be_state or response.status == HTTPStatus.ACCEPTED
        if not (is_long_running or self.is_read):
            is_long_running = any(name.lower() in _LOCATIONS for name, _ in response.headers.raw)
        is_page = options.is_page or operation.paging is not None
        is_page = is_page or (self.is_read and "link" in response.headers)
        if not (self.is_read or is_long_running or is_page):
            is_long_running = _may_name_task(response)
        if is_long_running:
            return self.follow_ups.long_running_reader(call, may_be_state=may_be_state)
        # The reader gets what it needs instead of the call, which holds the reader: in a cycle,
        # large responses would stay in memory until the next collection of all generations.
        make_reader = partial(
            self.follow_ups.page_reader,
            call.arguments,
            response.request.url,
            call.credentials,
            options,
        )
        if is_page:
            return make_reader()
        return ListReader(call.arguments, make_reader) if self.is_read else None

    async def preview_request(self, call: Call, *, for_person: bool = False) -> Preview:
        """Return the preview of a call; that of a large one is made in a thread."""
        make_preview = partial(self._make_preview, call, for_person=for_person)
        # A store of the user's own may wait for a server to open the file of a handle.
        if self._settings.files is not None or is_large(call.arguments):
            return await asyncio.to_thread(make_preview)
        return make_preview()

    def _make_preview(self, call: Call, *, for_person: bool) -> Preview:
        request, note = self.build_masked_request(call)
        arguments = call.arguments
        if for_person:
            marked = self._tool.marked_values
            request, arguments = marked.hide_request(request), marked.hide_arguments(arguments)
        preview = preview_request(request, self._tool.name, arguments, redactor=call.redactor)
        return replace(preview, note=note, call_id=call.id)


def _may_name_task(response: APIResponse) -> bool:
    # Most writes begin no long-running operation: their responses are not read for one.
    is_success = response.status in (HTTPStatus.OK, HTTPStatus.CREATED)
    is_small = 0 < len(response.content) <= _LARGEST_TASK
    return is_success and is_small and _TASK_WORDS.search(response.content.lower()) is not None
