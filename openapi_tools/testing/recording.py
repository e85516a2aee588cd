"""Requests without credentials, and cassettes: exchanges that are recorded and replayed."""

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
from urllib.parse import parse_qs

import httpx

from openapi_tools.errors import CallError, SettingsError, SourceError
from openapi_tools.http_rules import is_form, is_json, is_multipart, names_credential, parameter
from openapi_tools.redaction import MASK, Redactor, excerpt, hidden
from openapi_tools.redaction.marked_schemas import EXTENSION
from openapi_tools.transport.exchange import learn_headers
from openapi_tools.validation import SMALL_TEXT

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from openapi_tools.openapi_core import Route
    from openapi_tools.tools.marked_values import MarkedValues
    from openapi_tools.tools.tool import OperationTool

MODES = ("none", "once", "all")
_OF_CONNECTION = ("content-encoding", "content-length", "transfer-encoding", "connection", "date")


def hidden_request(request: httpx.Request, marked: MarkedValues | None) -> dict[str, Any]:
    """Return method, URL and body of a request that has been read, without secrets.

    The values that are `marked` are those of the tool that sent it.
    """
    url = str(request.url.copy_with(userinfo=b""))
    url = hidden(url) if marked is None else marked.hide_url(url)
    body = hidden_body(request.content, request.headers, marked)
    return {"method": request.method, "url": url, "body": body}


def hidden_headers(headers: httpx.Headers, marked: MarkedValues | None = None) -> dict[str, str]:
    """Return headers by name in lower case, without credentials and marked values."""
    names = frozenset[str]() if marked is None else marked.names
    return {
        name: MASK if names_credential(name) or name in names else hidden(value)
        for name, value in headers.items()
    }


@dataclass(slots=True)
class RecordedCall:
    """A request that a mock received, without credentials.

    Attributes:
        tool: The tool's name; method and path of an operation without one, else empty.
        arguments: The tool's, as far as the request tells them: texts, numbers and booleans,
            arrays of these, and the body.
        method: Upper case.
        url: With the query.
        headers: By name in lower case; credentials are `***`.
        body: JSON as data, a form as a dict, else a text or `{"base64": …}`; None without any.
        problems: How the request breaks the document, one line each.
        status: Of the answer; 0 for none.
    """

    method: str
    url: str
    body: Any
    headers: dict[str, str]
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    status: int = 0


def hidden_body(content: bytes, headers: httpx.Headers, marked: MarkedValues | None) -> Any:
    """Return a body as `body_of` does, without secrets."""
    if marked is None:
        return body_of(content, headers, hidden)
    if content and marked.body is not None and marked.body.is_secret:
        return MASK
    if is_json(headers.get("content-type", "")):
        return body_of(content, headers, lambda value: hidden(value, marked.body))
    return body_of(content, headers, lambda value: hidden(value, names=marked.names))


def body_of(
    content: bytes, headers: httpx.Headers, shown: Callable[[Any], Any] = lambda part: part
) -> Any:
    """Return a body as data where it is JSON or a form, else as text or `{"base64": …}`."""
    kind = headers.get("content-type", "")
    if is_multipart(kind):
        content = content.replace(parameter(kind, "boundary").encode() or b"--", b"boundary")
    try:
        text = content.decode()
    except ValueError:
        return {"base64": base64.b64encode(shown(content)).decode()}
    if is_form(kind):
        pairs = parse_qs(text, keep_blank_values=True)
        return shown({name: v[0] if len(v) == 1 else v for name, v in pairs.items()})
    with suppress(ValueError, RecursionError):
        if is_json(kind):
            return shown(json.loads(text))
    return shown(text) or None


def arguments_of(tool: OperationTool, request: httpx.Request, route: Route) -> dict[str, Any]:
    """Return the arguments that a request was made of, so far as they can be read back."""
    operation, schemas = tool.operation, tool.input_schema["properties"]
    body = body_of(request.content, request.headers)
    path = {name.strip(".;?*"): text for name, text in route.variables.items()}
    made: dict[str, Any] = {}
    for declared in operation.parameters:
        name = declared.name
        found = {
            "path": [path[name]] if name in path else [],
            "query": request.url.params.get_list(name),
            "header": request.headers.get_list(name),
        }.get(declared.location, [])
        if found:
            made[declared.argument] = _read(found, schemas.get(declared.argument, {}))
    if operation.body is not None and body is not None:
        if operation.body.argument:
            made[operation.body.argument] = body
        elif isinstance(body, dict):
            known = [each for each in operation.body.properties if each.name in body]
            made |= {each.argument: body[each.name] for each in known}
    return made


def _read(texts: list[str], schema: Mapping[str, Any]) -> Any:
    """Return an argument from its texts on the wire."""
    kind = schema.get("type")
    if kind == "array":
        texts = texts[0].split(",") if len(texts) == 1 else texts
        items = schema.get("items")
        return [_read([text], items if isinstance(items, dict) else {}) for text in texts]
    if kind != "string":
        with suppress(ValueError):
            return json.loads(texts[0])
    return texts[0]


class Cassette(httpx.AsyncBaseTransport):
    """A transport that records exchanges to a JSON file, and replays them without a network.

    `with` writes the file at its end, without credentials. Requests are the same if method, URL and
    body are; several answers to one are given in order, the last one again and again.

    Args:
        path: The file; its folder is made.
        mode: `none` replays, `all` records, `once` records where there is no file.
        transport: Sends what is recorded; by default httpx's own.

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
            raise SettingsError(f"mode: {mode!r:.40} is none of {', '.join(MODES)}.")
        self._path, self._transport, self._known = Path(path), transport, Redactor()
        self.records = mode == "all" or (mode == "once" and not self._path.exists())
        self._tape: list[Any] = []
        self._lines: list[str] = []
        self._given: Counter[str] = Counter()
        self._unmatched: list[str] = []
        if not self.records:
            try:
                self._tape = json.loads(self._path.read_bytes())
                self._lines = [_line(entry["request"]) for entry in self._tape]
            except (OSError, ValueError, LookupError, TypeError) as error:
                reason = f"cannot be replayed ({excerpt(repr(error), 200)}); record it again."
                raise SourceError(reason, source=str(path)) from None

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Return a client for `load_tools`; a replay needs no credentials."""
        given = options if self.records else {"auth": httpx.Auth(), **options}
        return httpx.AsyncClient(transport=self, **given)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send and record a request, or answer it from the file."""
        await request.aread()
        learn_headers((), request, self._known.know)
        marked = request.extensions.get(EXTENSION)
        describe = partial(hidden_request, request, marked)
        is_long = len(request.content) > SMALL_TEXT
        asked = await asyncio.to_thread(describe) if is_long else describe()
        if not self.records:
            return _replayed(self._taken(asked))
        if self._transport is None:
            limits = httpx.Limits(max_keepalive_connections=0)  # documents have another event loop
            self._transport = httpx.AsyncHTTPTransport(limits=limits)
        response = await self._transport.handle_async_request(request)
        content = await response.aread()
        await response.aclose()
        for name in _OF_CONNECTION:
            response.headers.pop(name, None)
        hidden_fields = hidden_headers(response.headers, marked)
        answer = {"status": response.status_code, "headers": hidden_fields}
        describe = partial(_written, content, response.headers, marked)
        is_long = len(content) > SMALL_TEXT
        answer |= await asyncio.to_thread(describe) if is_long else describe()
        self._tape.append({"request": asked, "answer": answer})
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    def _taken(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the next answer to a request; the last one again where there is no other."""
        wanted = _line(asked)
        found = [at for at, line in enumerate(self._lines) if line == wanted]
        if found:
            self._given[wanted] += 1
            at = found[min(self._given[wanted], len(found)) - 1]
            answer: dict[str, Any] = self._tape[at]["answer"]
            return answer
        close = difflib.get_close_matches(wanted, self._lines, 1, 0)
        nearest = f"the nearest one recorded is {close[0]:.500}" if close else "it is empty"
        reason = f"{self._path.name} has no answer for {wanted:.500}; {nearest}."
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


def _line(request: dict[str, Any]) -> str:
    """Return a request as text, without the credentials in its query: a replay has none."""
    start, _, query = request["url"].partition("?")
    pairs = [pair for pair in query.split("&") if pair.partition("=")[2] != MASK]
    url = f"{start}?{'&'.join(pairs)}".rstrip("?&")
    body = "" if request["body"] is None else f" {request['body']!r}"
    return f"{request['method']} {url}{body}"


def _written(content: bytes, headers: httpx.Headers, marked: MarkedValues | None) -> dict[str, Any]:
    """Return an answer's content, without secrets, as a member of its record."""
    schema, names = (None, frozenset[str]()) if marked is None else (marked.response, marked.names)
    with suppress(ValueError, RecursionError):
        if is_json(headers.get("content-type", "")):
            # A response may repeat what only the request's schema marks.
            return {"json": hidden(json.loads(content.decode()), schema, names)}
    content = hidden(content, names=names)
    try:
        return {"text": content.decode()}
    except ValueError:
        return {"base64": base64.b64encode(content).decode()}


def _replayed(answer: dict[str, Any]) -> httpx.Response:
    content = answer.get("text", "").encode() or base64.b64decode(answer.get("base64", ""))
    if "json" in answer:
        content = json.dumps(answer["json"]).encode()
    headers = httpx.Headers(answer["headers"], encoding="utf-8")
    return httpx.Response(answer["status"], headers=headers, content=content)
