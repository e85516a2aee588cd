"""An API that answers from its own document: in the process, or on loopback."""

from __future__ import annotations

import asyncio
import inspect
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools.errors import OpenAPIToolsError, SettingsError, missing_extra, requiring
from openapi_tools.json_values import follow_references
from openapi_tools.loading.load import load_tools
from openapi_tools.loading.openapi_3 import as_openapi_3
from openapi_tools.openapi_core import METHODS, Route, Routes, make_exchange_checker
from openapi_tools.testing.mock_answers import (
    Document,
    Shown,
    chosen_answer,
    faulted,
    problem,
    shown,
)
from openapi_tools.testing.mock_state import State
from openapi_tools.testing.recording import (
    RecordedCall,
    arguments_of,
    body_of,
    hidden_headers,
    hidden_request,
)
from openapi_tools.tools.toolset import Toolset
from openapi_tools.validation import SMALL_TEXT

if TYPE_CHECKING:
    from openapi_tools.openapi_core.exchange_check import ExchangeChecker
    from openapi_tools.tools.tool import OperationTool

ADDRESS = "http://mock.invalid"
_HOME = "/openapi.json"
_SERVERS = ("servers", "host", "basePath", "schemes")
_VARIABLE = re.compile(r"\{[^{}]*\}")
UNJUDGED = "not judged"


class MockApi:
    """An ASGI application that answers from a document; `mock_api` makes it.

    Attributes:
        calls: The requests so far, in order.
        problems: Every problem of the requests so far, one line each. Lines that begin with
            `not judged` name parts that openapi-core could not check.
        openapi_url: None: `load_tools(api)` takes the document from `openapi()`.
    """

    openapi_url = None

    def __init__(self, source: Any, answers: Mapping[str, Any], **options: Any) -> None:
        self.calls: list[RecordedCall] = []
        self.problems: list[str] = []
        self._source = source
        self._answers = dict(answers)
        self._options = options
        self.clear()
        if not inspect.isroutine(source):
            _ = self._read, self._chosen  # raise now

    def clear(self) -> None:
        """Forget the calls, the problems and the state; lists of answers begin anew."""
        self.calls.clear()
        self.problems.clear()
        self._given: Counter[str] = Counter()
        self._state = State(lambda: self.openapi_3) if self._options["state"] else None

    @property
    def faults(self) -> list[str]:
        """The problems without those that openapi-core could not check."""
        return [line for line in self.problems if not line.startswith(UNJUDGED)]

    def openapi(self) -> Document:
        """Return the document."""
        return self._read[0]

    @cached_property
    def openapi_3(self) -> Document:
        """The document as it is judged and shown: of Swagger 2.0 its form in OpenAPI 3."""
        return as_openapi_3(self.openapi())

    @cached_property
    def _read(self) -> tuple[Document, Toolset | None]:
        """The document, and its tools if these are known."""
        source = self._source() if inspect.isroutine(self._source) else self._source
        if isinstance(source, Mapping):
            with suppress(OpenAPIToolsError):  # a mock answers from a broken document, too
                toolset = load_tools(source)
                return toolset.bundled, toolset
            return source, None
        toolset = source if isinstance(source, Toolset) else load_tools(source)
        if not isinstance(toolset.bundled, Mapping):
            raise SettingsError("a mock answers from a document: these tools have none, give it.")
        return toolset.bundled, toolset

    @cached_property
    def _tools(self) -> dict[str, OperationTool]:
        """The tools by method and path."""
        toolset = self._read[1]
        return {_place_of(tool.method, tool.path): tool for tool in toolset or ()}

    @cached_property
    def _chosen(self) -> dict[str, Any]:
        """The user's answers by method and path."""
        document, toolset = self._read
        toolset = load_tools(document) if self._answers and toolset is None else toolset
        try:
            tools = [toolset[name] for name in self._answers] if toolset is not None else []
        except KeyError as error:
            raise SettingsError(f"answers: {error.args[0]}") from None
        places = [_place_of(tool.method, tool.path) for tool in tools]
        return dict(zip(places, self._answers.values(), strict=False))

    @cached_property
    def judge(self) -> ExchangeChecker:
        """What checks requests."""
        return make_exchange_checker(self.openapi_3, self._options["base_path"])

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self.openapi_3, self._options["base_path"])

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """A transport for an `httpx.AsyncClient`."""
        return httpx.MockTransport(self._respond)

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Return a client for `load_tools`; options are those of `httpx.AsyncClient`."""
        # Some `auth` lets calls without credentials through.
        given = {"auth": httpx.Auth(), "base_url": ADDRESS, **options}
        return _MockClient(transport=self.transport, **given)

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[str]:
        """Serve on loopback, for other processes; gives the URL. The document is `/openapi.json`.

        Requests for another host than 127.0.0.1 and localhost are refused with status 421.

        Raises: MissingExtraError without uvicorn; OSError if the port is in use.
        """
        with requiring("testing"):
            import uvicorn

            from openapi_tools import http_server
        advice = "This mock answers to 127.0.0.1 and localhost only."
        check = http_server.HostCheck(http_server.LOOPBACK, advice=advice)
        guarded = http_server.HostGuard(self, check)
        with socket.create_server(("127.0.0.1", port)) as listening:
            config = uvicorn.Config(
                guarded, log_level="critical", lifespan="off", **http_server.PARSING
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            finally:
                server.should_exit = True
                thread.join()

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
        request = await _request_of(scope, receive)
        try:
            response = await self._respond(request)
        except httpx.TimeoutException:
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        except httpx.TransportError:  # a server closes a connection whose answer lacks its end
            response = httpx.Response(200, headers={"content-length": "1"})
        lines = [(name.lower(), value) for name, value in response.headers.raw]
        status = response.status_code
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": response.content})

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        target = request.url.raw_path.decode("ascii")
        route = self._routes.find(request.method, target, request.headers)
        if route is None and request.url.path == _HOME and request.method == "GET":
            paths = _local(self.openapi().get("paths"), 3)
            return httpx.Response(200, json=_local(self.openapi(), 1) | {"paths": paths})
        record = partial(self._recorded, request, route)
        is_long = len(request.content) > SMALL_TEXT
        call = await asyncio.to_thread(record) if is_long else record()
        self.calls.append(call)
        answer = await self._answer(request, route, call)
        response = answer.response() if isinstance(answer, Shown) else answer
        call.status = response.status_code
        return response

    def _recorded(self, request: httpx.Request, route: Route | None) -> RecordedCall:
        place = "" if route is None else _place_of(request.method, route.template)
        tool = self._tools.get(place)
        marked = None if tool is None else tool.marked_values
        headers = hidden_headers(request.headers, marked)
        call = RecordedCall(**hidden_request(request, marked), headers=headers)
        if route is not None:
            call.tool = f"{request.method} {route.path}"
            if tool is not None and marked is not None:
                call.tool = tool.name
                call.arguments = marked.hide_arguments(arguments_of(tool, request, route))
        if self._options["judge"]:
            call.problems = self.judge.request_errors(request)
            self.problems.extend(call.problems)
        return call

    async def _answer(
        self, request: httpx.Request, route: Route | None, call: RecordedCall
    ) -> Shown | httpx.Response:
        document, faults = self.openapi_3, [p for p in call.problems if not p.startswith(UNJUDGED)]
        if route is None:
            target = request.url.raw_path.decode("ascii")
            allowed = [name.upper() for name in METHODS if self._routes.find(name, target)]
            detail = f"{request.method} {request.url.path}: the document has no such operation"
            told = problem(405 if allowed else 404, detail)
            return told._replace(headers={"allow": ", ".join(allowed)}) if allowed else told
        if faults and self._options["refuse"]:
            known = follow_references(document, route.operation.get("responses"))
            return problem(422 if "422" in known else 400, faults[0], problems=faults)
        place, accept = _place_of(request.method, route.template), request.headers.get("accept", "")
        chosen = self._chosen.get(place)
        if isinstance(chosen, list):
            chosen = chosen[min(self._given[place], len(chosen) - 1)] if chosen else None
            self._given[place] += 1
        if callable(chosen):
            chosen = chosen(call)
            chosen = await chosen if inspect.isawaitable(chosen) else chosen
        chosen = await faulted(chosen, request)
        if chosen is None and self._state is not None:
            found = shown(document, route, accept)
            body = body_of(request.content, request.headers)
            return self._state.answer(request.method, route, body, found)
        return chosen_answer(chosen, document, route, accept)


class _MockClient(httpx.AsyncClient):
    """A client for the calls of a document, which does not fetch the document itself."""

    fetches_documents = False


def mock_api(
    document: Any,
    *,
    judge: bool | None = True,
    refuse: bool = True,
    answers: Mapping[str, Any] | None = None,
    state: bool = True,
    base_path: str | None = None,
) -> MockApi:
    """Return an API that answers from its document; nothing leaves the process.

    An operation answers with its lowest 2xx response (else `default`): the example that the
    document gives, otherwise a value made from the schema, the same one every time.

    Args:
        document: As `load_tools` takes it; a `Toolset`; or a function that returns either when the
            first request comes.
        judge: Have openapi-core check every request; None where it is installed.
        refuse: Answer a request that breaks the document with 422 (where the operation lists that)
            or 400, and the problems. False only records them.
        answers: By tool name, operationId or `GET /path`: a body, `(status, body)`, `(status,
            body, headers)`, a status alone for the document's example, a `Fault`, an exception, an
            `httpx.Response`, a function of the `RecordedCall` that returns one of these, or a list
            of these for one call each, the last one for all that follow.
        state: Let creating, changing and deleting have effects on later reads, where paths and
            answers show how: `/pets` and `/pets/{id}`.
        base_path: The path before the document's paths in requested URLs; None for that of any of
            its servers, or none.

    Raises:
        SourceError, DocumentError: The document cannot be read.
        SettingsError: It is not a document, or `answers` names a tool that is not there.
        MissingExtraError: openapi-core is not installed; give `judge=False`.
    """
    installed = find_spec("openapi_core") is not None
    if judge and not installed:
        raise missing_extra("openapi_core", "testing")
    judged = installed if judge is None else judge
    options = {"judge": judged, "refuse": refuse, "state": state, "base_path": base_path}
    return MockApi(document, answers or {}, **options)


def mock_client(
    document: Any,
    *,
    judge: bool = True,
    problems: list[str] | None = None,
    base_path: str | None = None,
) -> httpx.AsyncClient:
    """Return a client of a `mock_api` that keeps no state and refuses no request.

    `problems` is a list to which every problem that openapi-core finds is added, one line each. The
    other arguments, and errors, are those of `mock_api`.
    """
    judged = judge and problems is not None
    api = mock_api(document, judge=judged, refuse=False, state=False, base_path=base_path)
    if problems is not None:
        api.problems = problems
    return api.client()


def _place_of(method: str, path: str) -> str:
    """Return the key of an operation, whatever its variables are called: `GET /pets/{}`."""
    return f"{method} {_VARIABLE.sub('{}', path)}"


async def _request_of(scope: Any, receive: Any) -> httpx.Request:
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    body += message.get("body", b"")
    raw = scope.get("raw_path") or scope["path"].encode()
    path = raw.removeprefix(scope.get("root_path", "").encode())
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    url = ADDRESS + (path + query).decode("ascii")
    return httpx.Request(scope["method"], url, headers=scope["headers"], content=body)


def _local(part: Any, depth: int) -> Any:
    """Return a part of a document without servers, so that its own address is the only one."""
    # Spec: OpenAPI 3.1.2, section 4.1.1: the default of `servers` is `/`.
    if not depth or not isinstance(part, Mapping):
        return part
    return {name: _local(part[name], depth - 1) for name in part if name not in _SERVERS}
