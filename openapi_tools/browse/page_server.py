"""Serves the page on this machine, as an ASGI application.

Only the page itself is open to everyone who can reach the port. Data, previews and calls need the
key of this run, which is part of the URL that the command prints, and which no other page can read.
Requests for another host name (DNS rebinding) and from other origins are refused.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from hmac import compare_digest
from http.client import OK
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.one_file import ASSETS, PAGE
from openapi_tools.browse.page_data import PageData, describe_request
from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.result import Context

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

    Scope = Mapping[str, Any]
    Receive = Callable[[], Awaitable[Mapping[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]

with require_extra("browse"):
    from openapi_tools.http_server import HostCheck, RequestRefusedError

KEY_HEADER = "x-openapi-tools-key"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_DATA = frozenset(
    f"/api/{name}" for name in ("index", "costs", "needs", "words", "tool", "preview", "execute")
)
_LARGEST = 16_000_000  # bytes of a request
# The page shows strings from documents and responses. If one of them got in as markup, no
# script of it would run, and nothing could be sent elsewhere.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class PageServer:
    """An ASGI application for one user: the page, its data, previews and calls.

    Args:
        toolset: The tools.
        hosts: The names of this server, with ports.
        problems: Filled by a mock with the problems it finds; None if calls go to the API.
        changes: Since an older document; None without one.
    """

    def __init__(self, toolset: Toolset, hosts: list[str], *, problems: Any, changes: Any) -> None:
        self.key = secrets.token_urlsafe(24)
        self._data = PageData(toolset, changes, is_mock=problems is not None)
        self._problems = problems
        self._lock = asyncio.Lock()
        advice = "this server responds to 127.0.0.1 and localhost only."
        self._check_host = HostCheck(hosts, advice=advice)
        self._files = {f"/{p.name}": p for p in ASSETS.iterdir() if p.suffix in _TYPES}
        self._files["/"] = self._files.pop(f"/{PAGE}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        if scope["type"] != "http":
            return
        kind, status = "application/json", OK
        try:
            scope = self._check_host(scope)
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            self._check_origin(headers)
            file = self._files.get(scope["path"])
            if scope["method"] == "GET" and file is not None:
                kind, content = f"{_TYPES[file.suffix]}; charset=utf-8", file.read_bytes()
            else:
                self._check_request(scope, headers)
                body = await _read_body(headers, receive)
                content = self._encode_json(await self._respond(scope["path"], body))
        except RequestRefusedError as refused:
            status, content = refused.status, self._encode_json({"error": refused.message})
        response_headers = _HEADERS | {"content-type": kind, "content-length": str(len(content))}
        if status != OK:
            response_headers["connection"] = "close"  # a refused request may have an unread body
        pairs = [(name.encode(), value.encode()) for name, value in response_headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content})

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        origin = f"http://{headers['host']}"
        if headers.get("origin", origin) != origin:
            raise RequestRefusedError(403, "requests from other pages are refused.")

    def _check_request(self, scope: Scope, headers: Mapping[str, str]) -> None:
        if not compare_digest(headers.get(KEY_HEADER, "").encode(), self.key.encode()):
            raise RequestRefusedError(401, "open the URL that `openapi-tools browse` printed.")
        if scope["method"] != "POST" or scope["path"] not in _DATA:
            raise RequestRefusedError(404, "this server has no such data.")

    async def _respond(self, path: str, body: Mapping[str, Any]) -> Any:
        if path in ("/api/preview", "/api/execute"):
            tool, arguments = self._find_tool(body.get("name")), body.get("arguments")
            if not isinstance(arguments, dict):
                raise RequestRefusedError(400, "`arguments` must be an object.")
            if path == "/api/preview":
                return describe_request(tool, arguments, is_mock=self._data.is_mock)
            return await self._execute(tool, arguments, approved=body.get("approved") is True)
        if path == "/api/words":  # seconds for a large document; it shares nothing with the others
            return await asyncio.to_thread(self._data.words)
        # A thread, as the definitions of a thousand tools take a second; one at a time, as they
        # share what was written before.
        async with self._lock:
            return await asyncio.to_thread(self._read_data, path, body)

    def _read_data(self, path: str, body: Mapping[str, Any]) -> Any:
        if path == "/api/index":
            return self._data.index()
        if path == "/api/needs":
            return self._data.needs()
        if path == "/api/costs":
            if body.get("profile") not in PROFILES:
                raise RequestRefusedError(404, f"use one of the profiles {', '.join(PROFILES)}.")
            return self._data.costs(body["profile"])
        return self._data.details(self._find_tool(body.get("name")))

    def _encode_json(self, value: Any) -> bytes:
        # Without the secrets of any document.
        for session in self._data.toolset.sessions:
            value = session.redactor.data(value)
        return json.dumps(value, default=str).encode()

    async def _execute(
        self, tool: OperationTool, arguments: dict[str, Any], *, approved: bool
    ) -> dict[str, Any]:
        if not (tool.read_only or approved):
            return {"needs_approval": True, "preview": describe_request(tool, arguments)}
        context = Context(approve=lambda _: approved)
        result = await self._data.toolset.call(tool.name, arguments, context=context)
        problems = self._problems or []
        new_problems, problems[:] = list(problems), []
        text = str(result)
        return {
            **result.model_dump(),
            "bytes": len(text.encode("utf-8", "surrogatepass")),
            "tokens": self._data.counting[1](text),
            "note": result.header_note,
            "metadata": result.metadata,
            "contents": [part.model_dump() for part in result.as_content()],
            "problems": new_problems,
        }

    def _find_tool(self, name: Any) -> OperationTool:
        try:
            return self._data.toolset[name if isinstance(name, str) else ""]
        except KeyError as error:
            raise RequestRefusedError(404, error.args[0]) from None


async def _read_body(headers: Mapping[str, str], receive: Receive) -> dict[str, Any]:
    # A form of another page can send neither this media type nor the key.
    if "origin" not in headers or headers.get("content-type") != "application/json":
        raise RequestRefusedError(403, "only this server's own page may send this.")
    content = b""
    while True:
        message = await receive()
        content += message.get("body", b"")
        if len(content) > _LARGEST:
            raise RequestRefusedError(413, f"the request is larger than {_LARGEST:,} bytes.")
        if not message.get("more_body"):
            break
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestRefusedError(400, "send a JSON object.")
    return body
