"""Records of requests without credentials, and cassettes, which record and replay exchanges."""

from __future__ import annotations

import asyncio
import base64
import difflib
import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from openapi_tools.errors import CallError, SettingsError, SourceError
from openapi_tools.redaction import MASK, Redactor, excerpt
from openapi_tools.redaction.marked_schemas import EXTENSION
from openapi_tools.tools.exchange_records import (
    CONNECTION_HEADERS,
    describe_request,
    describe_response,
    read_body,
)
from openapi_tools.transport.auth_flow import learn_headers
from openapi_tools.transport.doubles import (
    FunctionTransport,
    make_client,
    make_network_transport,
    make_response,
)
from openapi_tools.validation.check_cost import SMALL_TEXT

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import httpx

    from openapi_tools.conformance.routes import Route
    from openapi_tools.tools.tool import OperationTool

MODES = ("none", "once", "all")


@dataclass(slots=True)
class RecordedCall:
    """A request that a mock received, without credentials.

    Attributes:
        tool: The name of the tool; the method and path of an operation without a tool; empty if
            the request fits no operation.
        arguments: The tool's arguments that can be read back from the request: strings, numbers
            and booleans, arrays of these, and the body.
        method: The method in upper case.
        url: The URL with its query.
        headers: The headers by name in lower case; credentials are `***`.
        body: JSON as data, a form as a dict, else a string or `{"base64": …}`; None without any.
        problems: How the request violates the document, one line each.
        status: The status of the response; 0 without one.
    """

    method: str
    url: str
    body: Any
    headers: dict[str, str]
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    status: int = 0


def read_arguments(tool: OperationTool, request: httpx.Request, route: Route) -> dict[str, Any]:
    """Return the arguments that a request was made of, so far as they can be read back."""
    operation = tool.operation
    body = read_body(request.content, request.headers)
    arguments = read_parameters(tool, request.url, route, headers=request.headers)
    if operation.body is not None and body is not None:
        if operation.body.argument:
            arguments[operation.body.argument] = body
        elif isinstance(body, dict):
            properties = [each for each in operation.body.properties if each.name in body]
            arguments |= {each.argument: body[each.name] for each in properties}
    return arguments


def read_parameters(
    tool: OperationTool, url: httpx.URL, route: Route, *, headers: httpx.Headers | None = None
) -> dict[str, Any]:
    """Return the arguments that the URL, and the headers, of a request were made of."""
    schemas = tool.input_schema["properties"]
    path = {name.strip(".;?*"): text for name, text in route.variables.items()}
    arguments: dict[str, Any] = {}
    for declared in tool.operation.parameters:
        name = declared.name
        values = {
            "path": [path[name]] if name in path else [],
            "query": url.params.get_list(name),
            "header": headers.get_list(name) if headers is not None else [],
        }.get(declared.location, [])
        if values:
            arguments[declared.argument] = _read_argument(
                values, schemas.get(declared.argument, {})
            )
    return arguments


def _read_argument(values: list[str], schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "array":
        values = values[0].split(",") if len(values) == 1 else values
        items = schema.get("items")
        return [_read_argument([text], items if isinstance(items, dict) else {}) for text in values]
    if kind != "string":
        with suppress(ValueError):
            return json.loads(values[0])
    return values[0]


class Cassette(FunctionTransport):
    """A transport that records exchanges to a JSON file, and replays them without a network.

    `with` writes the file at its end, without credentials. A request is replayed if its method, URL
    and body are equal; several responses to one are returned in order, the last one repeatedly.

    Args:
        path: The file; its folder is created.
        mode: `none` replays, `all` records, `once` records where there is no file.
        transport: The transport that sends what is recorded; by default that of httpx.

    Raises:
        SettingsError: An unknown mode.
        SourceError: There is nothing to replay; after `with`, requests that were not recorded.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: str = "once",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if mode not in MODES:
            raise SettingsError(f"mode must be one of {', '.join(MODES)}, not {mode!r:.40}.")
        super().__init__(self._exchange)
        self._path, self._transport, self._redactor = Path(path), transport, Redactor()
        self.records = mode == "all" or (mode == "once" and not self._path.exists())
        self._tape: list[Any] = []
        self._lines: list[str] = []
        self._replay_counts: Counter[str] = Counter()
        self._unmatched: list[str] = []
        if not self.records:
            try:
                self._tape = json.loads(self._path.read_bytes())
                self._lines = [_request_line(entry["request"]) for entry in self._tape]
                _ = [entry["response"] for entry in self._tape]  # absent in older cassettes
            except FileNotFoundError:
                reason = "no such cassette; record it with the mode 'once'."
                raise SourceError(reason, source=str(path)) from None
            except (OSError, ValueError, LookupError, TypeError) as error:
                reason = f"cannot be replayed ({excerpt(repr(error), 200)}); record it again."
                raise SourceError(reason, source=str(path)) from None

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Return a client for `load_tools`; a replay needs no credentials."""
        return make_client(self, options, needs_credentials=self.records)

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        learn_headers((), request, self._redactor.learn)
        marked = request.extensions.get(EXTENSION)
        describe = partial(describe_request, request, marked)
        is_long = len(request.content) > SMALL_TEXT
        recorded_request = await asyncio.to_thread(describe) if is_long else describe()
        if not self.records:
            return _replay_response(self._take_response(recorded_request))
        if self._transport is None:
            self._transport = make_network_transport()
        response = await self._transport.handle_async_request(request)
        content = await response.aread()
        await response.aclose()
        for name in CONNECTION_HEADERS:
            response.headers.pop(name, None)
        describe = partial(describe_response, request, content, response.headers, marked)
        is_long = len(content) + len(request.content) > SMALL_TEXT
        described = await asyncio.to_thread(describe) if is_long else describe()
        recorded_response = {"status": response.status_code, **described}
        self._tape.append({"request": recorded_request, "response": recorded_response})
        return make_response(response.status_code, response.headers, content)

    def _take_response(self, recorded_request: dict[str, Any]) -> dict[str, Any]:
        request_line = _request_line(recorded_request)
        positions = [at for at, line in enumerate(self._lines) if line == request_line]
        if positions:
            self._replay_counts[request_line] += 1
            at = positions[min(self._replay_counts[request_line], len(positions)) - 1]
            response: dict[str, Any] = self._tape[at]["response"]
            return response
        close = difflib.get_close_matches(request_line, self._lines, 1, 0)
        nearest = f"the closest recorded request is {close[0]:.500}" if close else "it is empty"
        reason = f"{self._path.name} has no response for {request_line:.500}; {nearest}."
        self._unmatched.append(reason)
        raise CallError("connection", reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.records and kind is None and self._tape:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self._tape, indent=2, ensure_ascii=False)
            self._path.write_text(text + "\n", encoding="utf-8", errors="surrogatepass")
        if kind is None and self._unmatched:
            raise SourceError(self._unmatched[0], source=str(self._path))


def _request_line(request: dict[str, Any]) -> str:
    # Without the credentials in its query, as a replay has none.
    start, _, query = request["url"].partition("?")
    pairs = [pair for pair in query.split("&") if pair.partition("=")[2] != MASK]
    url = f"{start}?{'&'.join(pairs)}".rstrip("?&")
    body = "" if request["body"] is None else f" {request['body']!r}"
    return f"{request['method']} {url}{body}"


def _replay_response(recorded: dict[str, Any]) -> httpx.Response:
    content = recorded.get("text", "").encode() or base64.b64decode(recorded.get("base64", ""))
    if "json" in recorded:
        content = json.dumps(recorded["json"]).encode()
    return make_response(recorded["status"], recorded["headers"], content)
