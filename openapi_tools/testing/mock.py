"""An API that responds from its own document: in the process, or on loopback."""

from __future__ import annotations

import asyncio
import inspect
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import follow_references
from openapi_tools.conformance.response_check import make_exchange_checker
from openapi_tools.conformance.routes import METHODS, Route, Routes
from openapi_tools.errors import (
    OpenAPIToolsError,
    SettingsError,
    missing_extra_error,
    require_extra,
)
from openapi_tools.loading.load import load_tools
from openapi_tools.loading.openapi_3 import convert_to_openapi_3
from openapi_tools.testing.mock_responses import (
    Document,
    MockResponse,
    apply_fault,
    build_response,
    documented_response,
    problem_response,
)
from openapi_tools.testing.mock_state import MockState
from openapi_tools.testing.recording import RecordedCall, read_arguments
from openapi_tools.tools.exchange_records import describe_request, hide_headers, read_body
from openapi_tools.toolsets.toolset import Toolset
from openapi_tools.transport.asgi import serve_request
from openapi_tools.transport.doubles import FunctionTransport, make_client
from openapi_tools.validation.check_cost import SMALL_TEXT

if TYPE_CHECKING:
    import httpx

    from openapi_tools.conformance.exchange_check import ExchangeChecker
    from openapi_tools.tools.tool import OperationTool

ADDRESS = "http://mock.invalid"
_HOME = "/openapi.json"
_SERVERS = ("servers", "host", "basePath", "schemes")
_VARIABLE = re.compile(r"\{[^{}]*\}")
NOT_JUDGED_PREFIX = "not judged"


class MockApi:
    """An ASGI application that responds from a document; `mock_api` creates it.

    Attributes:
        calls: The requests so far, in order.
        problems: Every problem of the requests so far, one line each. Lines that begin with
            `not judged` name parts that openapi-core could not check.
        openapi_url: None: `load_tools(api)` takes the document from `openapi()`.
    """

    openapi_url = None

    def __init__(
        self,
        source: Any,
        responses: Mapping[str, Any],
        *,
        judge: bool,
        refuse: bool,
        state: bool,
        base_path: str | None,
    ) -> None:
        self.calls: list[RecordedCall] = []
        self.problems: list[str] = []
        self._source = source
        self._responses = dict(responses)
        self._judges = judge
        self._refuses = refuse
        self._keeps_state = state
        self._base_path = base_path
        self.clear()
        if not inspect.isroutine(source):
            _ = self._read, self._configured_responses  # raise now

    def clear(self) -> None:
        """Forget the calls, the problems and the state; lists of responses begin again."""
        self.calls.clear()
        self.problems.clear()
        self._calls_by_operation: Counter[str] = Counter()
        self._state = MockState(lambda: self.openapi_3) if self._keeps_state else None

    @property
    def faults(self) -> list[str]:
        """The problems without those that openapi-core could not check."""
        return [line for line in self.problems if not line.startswith(NOT_JUDGED_PREFIX)]

    def openapi(self) -> Document:
        """Return the document."""
        return self._read[0]

    @cached_property
    def openapi_3(self) -> Document:
        """The document as it is judged and shown: of Swagger 2.0 its form in OpenAPI 3."""
        return convert_to_openapi_3(self.openapi())

    @cached_property
    def _read(self) -> tuple[Document, Toolset | None]:
        source = self._source() if inspect.isroutine(self._source) else self._source
        if isinstance(source, Mapping):
            with suppress(OpenAPIToolsError):  # a mock responds from a broken document, too
                toolset = load_tools(source)
                return toolset.bundled, toolset
            return source, None
        toolset = source if isinstance(source, Toolset) else load_tools(source)
        if not isinstance(toolset.bundled, Mapping):
            raise SettingsError(
                "a mock needs the document; pass it, as these tools were loaded without one."
            )
        return toolset.bundled, toolset

    @cached_property
    def _tools(self) -> dict[str, OperationTool]:
        toolset = self._read[1]
        return {_operation_key(tool.method, tool.path): tool for tool in toolset or ()}

    @cached_property
    def _configured_responses(self) -> dict[str, Any]:
        document, toolset = self._read
        toolset = load_tools(document) if self._responses and toolset is None else toolset
        try:
            tools = [toolset[name] for name in self._responses] if toolset is not None else []
        except KeyError as error:
            raise SettingsError(f"responses: {error.args[0]}") from None
        places = [_operation_key(tool.method, tool.path) for tool in tools]
        return dict(zip(places, self._responses.values(), strict=False))

    @cached_property
    def checker(self) -> ExchangeChecker:
        """The checker of requests."""
        return make_exchange_checker(self.openapi_3, self._base_path)

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self.openapi_3, self._base_path)

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """A transport for an `httpx.AsyncClient`."""
        return FunctionTransport(self._respond)

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Return a client for `load_tools`; options are those of `httpx.AsyncClient`."""
        client_options = {"base_url": ADDRESS, **options}
        return make_client(self.transport, client_options, fetches_documents=False)

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[str]:
        """Serve on loopback, for other processes; yields the URL. The document is `/openapi.json`.

        Requests for another host than 127.0.0.1 and localhost are refused with status 421.

        Raises: MissingExtraError without uvicorn; OSError if the port is in use.
        """
        with require_extra("testing"):
            from openapi_tools import http_server  # needs uvicorn
        advice = "This mock responds to 127.0.0.1 and localhost only."
        check = http_server.HostCheck(http_server.LOOPBACK, advice=advice)
        guarded = http_server.HostGuard(self, check)
        with (
            socket.create_server(("127.0.0.1", port)) as listener,
            http_server.serve_in_thread(http_server.make_server(guarded), listener) as url,
        ):
            yield url

    def assert_called(self, tool: str, **arguments: Any) -> RecordedCall:
        """Return the last call of a tool with these arguments, or raise AssertionError."""
        for call in reversed(self.calls):
            if call.tool == tool and arguments.items() <= call.arguments.items():
                return call
        seen = "\n".join(f"  {call.tool or call.url}({call.arguments})" for call in self.calls)
        raise AssertionError(f"{tool} was not called with {arguments}; calls:\n{seen or '  none'}")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer as an ASGI application."""
        if scope["type"] == "lifespan":
            while (message := (await receive())["type"]) != "lifespan.shutdown":
                await send({"type": f"{message}.complete"})
            await send({"type": f"{message}.complete"})
        if scope["type"] != "http":
            return
        await serve_request(self._respond, ADDRESS, scope, receive, send)

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        target = request.url.raw_path.decode("ascii")
        route = self._routes.find(request.method, target, request.headers)
        if route is None and request.url.path == _HOME and request.method == "GET":
            paths = _without_servers(self.openapi().get("paths"), 3)
            document = _without_servers(self.openapi(), 1) | {"paths": paths}
            return MockResponse(200, {}, "application/json", document).to_httpx()
        record = partial(self._record_call, request, route)
        is_long = len(request.content) > SMALL_TEXT
        call = await asyncio.to_thread(record) if is_long else record()
        self.calls.append(call)
        outcome = await self._make_response(request, route, call)
        response = outcome.to_httpx() if isinstance(outcome, MockResponse) else outcome
        call.status = response.status_code
        return response

    def _record_call(self, request: httpx.Request, route: Route | None) -> RecordedCall:
        place = "" if route is None else _operation_key(request.method, route.template)
        tool = self._tools.get(place)
        marked = None if tool is None else tool.marked_values
        headers = hide_headers(request.headers, marked)
        call = RecordedCall(**describe_request(request, marked), headers=headers)
        if route is not None:
            call.tool = f"{request.method} {route.path}"
            if tool is not None and marked is not None:
                call.tool = tool.name
                call.arguments = marked.hide_arguments(read_arguments(tool, request, route))
        if self._judges:
            call.problems = self.checker.request_errors(request)
            self.problems.extend(call.problems)
        return call

    async def _make_response(
        self, request: httpx.Request, route: Route | None, call: RecordedCall
    ) -> MockResponse | httpx.Response:
        faults = [line for line in call.problems if not line.startswith(NOT_JUDGED_PREFIX)]
        if route is None:
            target = request.url.raw_path.decode("ascii")
            allowed = [name.upper() for name in METHODS if self._routes.find(name, target)]
            detail = f"{request.method} {request.url.path}: the document has no such operation"
            response = problem_response(405 if allowed else 404, detail)
            return response._replace(headers={"allow": ", ".join(allowed)}) if allowed else response
        if faults and self._refuses:
            responses = follow_references(self.openapi_3, route.operation.get("responses"))
            return problem_response(422 if "422" in responses else 400, faults[0], problems=faults)
        accept = request.headers.get("accept", "")
        configured = self._next_configured(_operation_key(request.method, route.template))
        if callable(configured):
            configured = configured(call)
            configured = await configured if inspect.isawaitable(configured) else configured
        configured = await apply_fault(configured, request)
        if configured is None and self._state is not None:
            documented = documented_response(self.openapi_3, route, accept)
            body = read_body(request.content, request.headers)
            return self._state.respond(request.method, route, body, documented)
        return build_response(configured, self.openapi_3, route, accept)

    def _next_configured(self, key: str) -> Any:
        configured = self._configured_responses.get(key)
        if not isinstance(configured, list):
            return configured
        position = min(self._calls_by_operation[key], len(configured) - 1)
        self._calls_by_operation[key] += 1
        return configured[position] if configured else None


def mock_api(
    document: Any,
    *,
    judge: bool | None = True,
    refuse: bool = True,
    responses: Mapping[str, Any] | None = None,
    state: bool = True,
    base_path: str | None = None,
) -> MockApi:
    """Return an API that responds from its document; nothing leaves the process.

    An operation returns its lowest 2xx response (else `default`): the example in the document,
    otherwise a value generated from the schema, the same one every time.

    Args:
        document: As `load_tools` takes it; a `Toolset`; or a function that returns either when the
            first request comes.
        judge: Have openapi-core check every request; None where it is installed.
        refuse: Respond to a request that violates the document with 422 (where the operation lists
            that) or 400, and the problems. False only records them.
        responses: By tool name, operationId or `GET /path`: a body, `(status, body)`, `(status,
            body, headers)`, a status alone for the document's example, a `Fault`, an exception, an
            `httpx.Response`, a function of the `RecordedCall` that returns one of these, or a list
            of these for one call each, the last one for all that follow.
        state: Let creating, changing and deleting have effects on later reads, where paths and
            responses show how: `/pets` and `/pets/{id}`.
        base_path: The path before the document's paths in requested URLs; None for that of any of
            its servers, or none.

    Raises:
        SourceError, DocumentError: The document cannot be read.
        SettingsError: It is not a document, or `responses` names an unknown tool.
        MissingExtraError: openapi-core is not installed; pass `judge=False`.
    """
    installed = find_spec("openapi_core") is not None
    if judge and not installed:
        raise missing_extra_error("openapi_core", "testing")
    is_judged = installed if judge is None else judge
    return MockApi(
        document,
        responses or {},
        judge=is_judged,
        refuse=refuse,
        state=state,
        base_path=base_path,
    )


def mock_client(
    document: Any,
    *,
    judge: bool = True,
    problems: list[str] | None = None,
    base_path: str | None = None,
) -> httpx.AsyncClient:
    """Return a client of a `mock_api` that has no state and refuses no request.

    `problems` is a list to which every problem that openapi-core finds is added, one line each. The
    other arguments, and errors, are those of `mock_api`.
    """
    is_judged = judge and problems is not None
    api = mock_api(document, judge=is_judged, refuse=False, state=False, base_path=base_path)
    if problems is not None:
        api.problems = problems
    return api.client()


def _operation_key(method: str, path: str) -> str:
    return f"{method} {_VARIABLE.sub('{}', path)}"


def _without_servers(part: Any, depth: int) -> Any:
    # Spec: OpenAPI 3.1.2, section 4.1.1: the default of `servers` is `/`.
    if not depth or not isinstance(part, Mapping):
        return part
    return {name: _without_servers(part[name], depth - 1) for name in part if name not in _SERVERS}
