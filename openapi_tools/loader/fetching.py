"""Fetch a document over HTTP with the sender of calls, in an event loop of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import threading
import time
from contextvars import Context
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx

from openapi_tools._version import __version__
from openapi_tools.errors import CallError, SourceError
from openapi_tools.loader.source import Source, too_large
from openapi_tools.runtime.send import Answer, Sender
from openapi_tools.runtime.sending.codings import CODINGS
from openapi_tools.runtime.sending.network import DocumentPolicy

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from openapi_tools.errors import ErrorType
    from openapi_tools.runtime.settings import Settings

_T = TypeVar("_T")
_HEADERS = {
    "Accept": "application/json, application/yaml;q=0.9, */*;q=0.5",
    "Accept-Encoding": CODINGS,
    "User-Agent": f"openapi-tools/{__version__}",
    "Connection": "close",
}
_SETTINGS = ("allow_private", "base_url", "ca_file", "trust_env")
_OK = 200
_NOT_MODIFIED = 304
_SERVER_ERRORS = 500
_ETAG = re.compile(r'(W/)?"[!#-~]{0,500}"')
_DATE = re.compile(r"[ -~]{1,60}")
_CALL = re.compile(r"GET \S+?:? ")
_LARGEST_PORT = 65535


def get(
    url: str,
    settings: Settings,
    *,
    deadline: float,
    found_in_public: bool = False,
    etag: str = "",
    modified: str = "",
) -> Source:
    """Fetch a document.

    Args:
        url: An absolute http or https URL.
        settings: For `max_document_bytes`, `allow_private`, `ca_file` and `trust_env`.
        deadline: `time.monotonic()` by which the last byte has to be there.
        found_in_public: The URL stood in a document that came from a public address; this one may
            not come from another kind, unless `allow_private` says so.
        etag: Of the version that is at hand, which need not be sent again.
        modified: When that version last changed.

    Returns:
        The document; its `data` is None where the server says that it did not change.

    Raises:
        SourceError: It could not be had; the reason never holds user, password or query.
    """
    request = _request(url, _conditions(etag, modified))
    name = str(request.url.copy_with(query=None))
    policy = DocumentPolicy(settings, public=found_in_public)
    try:
        answer = _apart(_answer(request, _limits(settings, deadline), policy))
        _check_status(answer, conditional=bool(etag or modified))
    except CallError as error:
        raise _refusal(error, name, settings) from None
    data = None if answer.status == _NOT_MODIFIED else answer.content
    uri = str(answer.request.url)
    return Source(data, uri=uri, name=name, public=policy.public, **_told(answer.headers))


def _refusal(error: CallError, name: str, settings: Settings) -> SourceError:
    """Return why a document could not be had, from the reason why a call failed."""
    if error.kind == "too_large":
        return too_large(settings.max_document_bytes, name)
    reason = _CALL.sub("", error.reason, count=1)
    if error.kind == "timeout":
        reason = "no complete answer in time (timeout)."
    return SourceError(reason, source=name, passing=error.facts.get("retryable") is True)


def _limits(settings: Settings, deadline: float) -> Settings:
    """Return the settings of one request for a document."""
    kept = {name: getattr(settings, name) for name in _SETTINGS}
    limits = SimpleNamespace(
        **kept,
        timeout=deadline - time.monotonic(),
        max_response_bytes=settings.max_document_bytes,
        concurrency=1,
        retries=0,
        transport="httpx",  # one request does not earn back what it takes to import aiohttp
    )
    return cast("Settings", limits)


async def _answer(request: httpx.Request, limits: Settings, policy: DocumentPolicy) -> Answer:
    if limits.timeout <= 0:
        raise CallError("timeout", "", retryable=True)
    sender = Sender(limits, policy=policy)
    try:
        return await sender.send(request)
    finally:
        await sender.aclose()


def _apart(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a thread and an event loop of its own: this thread's loop may be running.

    The loop does not wait for threads of its executor, in which a resolver may hang.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work, context=Context())

    def run() -> None:
        with contextlib.closing(loop):
            loop.run_until_complete(asyncio.wait({task}))
            loop.run_until_complete(loop.shutdown_asyncgens())

    thread = threading.Thread(target=run, name="fetch a document", daemon=True)
    thread.start()
    thread.join()
    return task.result()


def _check_status(answer: Answer, *, conditional: bool) -> None:
    """Refuse an answer that is not a document, or not a whole one."""
    if answer.cut:
        kind: ErrorType = "timeout" if answer.cut == "timeout" else "too_large"
        raise CallError(kind, "", retryable=True)
    status = answer.status
    if status == _OK or (status == _NOT_MODIFIED and conditional):
        return
    reason = f"the server answered with status {status}."
    raise CallError("http", reason, retryable=status >= _SERVER_ERRORS)


def _conditions(etag: str, modified: str) -> dict[str, str]:
    """Return the headers that ask for another version than the one at hand (RFC 9110, 13.1)."""
    if etag:
        return {"If-None-Match": etag}
    return {"If-Modified-Since": modified} if modified else {}


def _told(headers: httpx.Headers) -> dict[str, Any]:
    """Return what a server says of the version that it sent, and whether it may be kept."""
    etag, modified = (headers.get(name, "") for name in ("etag", "last-modified"))
    directives = headers.get("cache-control", "").lower().replace(" ", "").split(",")
    return {
        "etag": etag if _ETAG.fullmatch(etag) else "",
        "modified": modified if _DATE.fullmatch(modified) else "",
        "keep": "no-store" not in directives,
    }


def _request(url: str, conditions: dict[str, str]) -> httpx.Request:
    """Return the request for a URL; user and password become a header."""
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise SourceError("the URL is not valid.") from None
    bare = address.copy_with(userinfo=b"", fragment=None)
    if not address.host or (address.port or 0) > _LARGEST_PORT:
        raise SourceError("the URL has no host, or no possible port.")
    headers = _HEADERS | conditions
    if address.userinfo:
        pair = f"{address.username}:{address.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return httpx.Request("GET", bare, headers=headers)
