"""Fetch a document over HTTP with the sender of calls, in an event loop of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
import logging
import re
import threading
import time
from contextvars import Context
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools._version import __version__
from openapi_tools.auth import Credentials, OriginPolicy, brings_scheme
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.schemes import TokenContext
from openapi_tools.errors import CallError, ErrorType, SettingsError, SourceError
from openapi_tools.http_rules import InvalidUrlError, read_url
from openapi_tools.loading.source import Source, too_large
from openapi_tools.loading.versions import root_servers
from openapi_tools.model import Operation
from openapi_tools.options import credentials_of, kind_of
from openapi_tools.requests import named_origins, origin_of, url_of
from openapi_tools.requests.builder import with_auth
from openapi_tools.responses.shown_text import looks_like_html
from openapi_tools.tools.session import brings_identity, settings_with
from openapi_tools.transport import APIResponse, Sender, SendOptions
from openapi_tools.transport.content_codings import CODINGS
from openapi_tools.transport.failures import describe_request
from openapi_tools.transport.network_policy import DocumentPolicy

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.loading.operations import Document
    from openapi_tools.options import Client
    from openapi_tools.settings import Settings

_HEADERS = {
    "Accept": "application/json, application/yaml;q=0.9, */*;q=0.5",
    "Accept-Encoding": CODINGS,
    "User-Agent": f"openapi-tools/{__version__}",
    "Connection": "close",
}
_SETTINGS = ("allow_private", "base_url", "ca_file", "trust_env")
_LOGIN_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_ETAG = re.compile(r'(W/)?"[!#-~]{0,500}"')
_DATE = re.compile(r"[ -~]{1,60}")
_CALL = re.compile(r"GET \S+?:? ")
_LARGEST_PORT = 65535
_IN_PROCESS = "http://localhost"
logger = logging.getLogger("openapi_tools")


def of_application(app: Any, settings: Settings) -> tuple[Any, Settings, httpx.AsyncClient]:
    """Return source, settings and client for an ASGI application in this process."""
    if not inspect.iscoroutinefunction(app) and not inspect.iscoroutinefunction(type(app).__call__):
        reason = "source: give a document or an ASGI application, such as FastAPI's"
        raise SettingsError(f"{reason}, not {kind_of(app)}.")

    most = max(settings.max_document_bytes, settings.max_response_bytes, settings.max_file_bytes)

    async def logged(scope: Any, receive: Any, send: Any) -> None:
        size = 0

        async def bounded(message: Any) -> None:
            nonlocal size
            await asyncio.sleep(0)  # lets a deadline end a stream
            await send(message)  # httpx keeps all, so that what is too large is told as such
            size += len(message.get("body", b""))
            if size > most:
                raise OSError(f"the answer has more than {most:,} bytes")

        try:
            await app(scope, receive, bounded)
        except Exception:
            logger.exception("the application failed at %s", scope["path"])
            raise

    place = getattr(app, "openapi_url", "/openapi.json")
    client = httpx.AsyncClient(transport=httpx.ASGITransport(logged, raise_app_exceptions=False))
    source = f"{_IN_PROCESS}{place}" if place else app.openapi()
    return source, settings_with(settings, base_url=_IN_PROCESS), client


class Fetcher:
    """Fetches the documents of one load, with the user's credentials where they may go.

    That is to origins that the settings name; without any, to that of the entry document's URL,
    once its server asks for them or the document says that its API is there. It sends in `loop` of
    another thread, if given. `digest` is that of a document that may have to be fetched again.
    `record` has, or gets, the results.
    """

    def __init__(
        self,
        url: str,
        settings: Settings,
        credentials: Any = None,
        client: Client | None = None,
        *,
        record: FetchRecord | None = None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.warnings: list[str] = []
        self.digest = ""
        self._url = url
        self._address = str(_request(url).url)
        self._settings = settings
        self._client = client
        self._record = record
        self._given = dict(credentials_of(credentials))
        self._brings = brings_identity(client)
        self._origins = named_origins(settings)
        self._own = {name: value for name, value in self._given.items() if brings_scheme(value)}
        self._credentials = Credentials(self._own, {}, ca_file=settings.ca_file)
        self._operation = Operation("GET", "/")
        self._can_identify = bool(self._own) or self._brings

    @property
    def is_personal(self) -> bool:
        """Whether the document may be for this user alone, so that it is not cached."""
        inside = self._bounds(self._address).inside
        return self._client is not None or (self._can_identify and inside)

    def entry(self, *, etag: str = "", modified: str = "") -> Source:
        """Fetch the entry document; `data` is None if the cached version is still good."""
        deadline = time.monotonic() + self._settings.timeout
        # RFC 9110, section 13.1: with both, servers look at the first alone.
        conditions = {"If-None-Match": etag} if etag else {"If-Modified-Since": modified}
        found = self._attempt(self._url, deadline, conditions if etag or modified else {})
        if _wants_login(found) and self._can_identify and self._origins is None:
            self._origins = frozenset({origin_of(self._address)})
            found = self._attempt(self._url, deadline)
        source = self._checked(found, self._url)
        if self._given or self._brings:
            self.digest = source.digest
        return source

    def again(self, document: Document) -> Source | None:
        """Fetch the entry document with its schemes' credentials; None if they change nothing."""
        if not self.digest:
            return None
        schemes = document.security.schemes
        given = {name: value for name, value in self._given.items() if name in schemes}
        was_inside = self._bounds(self._address).inside
        if not given and (was_inside or not self._can_identify):
            return None
        if self._origins is None:
            with contextlib.suppress(CallError):
                own_origin = origin_of(url_of(root_servers(document), self._settings))
                self._origins = frozenset({own_origin} & {origin_of(self._address)})
        if not self._bounds(self._address).inside:
            return None
        given_all = self._own | given
        self._credentials = Credentials(given_all, schemes, ca_file=self._settings.ca_file)
        alternatives = document.security.requirements(document.root, document.entry)
        self._operation = Operation(
            "GET", "/", security=(*alternatives, *({name: ()} for name in given))
        )
        self._can_identify = True
        found = self._attempt(self._url)
        if isinstance(found, CallError):
            self.warn(self._reason(found))
            return None
        return None if found.digest == self.digest else found

    def warn(self, reason: str) -> None:
        """Add a warning that the entry document was read without credentials; `reason` says why."""
        name = _name(_request(self._url))
        self.warnings.append(f"{name} was read without credentials, as with them: {reason}")

    def fetch(self, url: str, *, found_in_public: bool = False) -> Source:
        """Fetch a document that another one names: a public one may name public ones only."""
        return self._checked(self._attempt(url, found_in_public=found_in_public), url)

    def _bounds(self, address: str) -> OriginPolicy:
        return OriginPolicy(
            address, self._origins or frozenset(), lenient=True, client_brings=self._brings
        )

    def _attempt(
        self,
        url: str,
        deadline: float | None = None,
        conditions: Mapping[str, str] | None = None,
        *,
        found_in_public: bool = False,
    ) -> Source | CallError:
        record = self._record
        if record is not None:
            known = record.take(url, is_conditional=bool(conditions))
            if known is not None:
                return known
        found = self._ask(url, deadline, conditions, found_in_public=found_in_public)
        if record is not None:
            record.add(url, found)
        return found

    def _ask(
        self,
        url: str,
        deadline: float | None,
        conditions: Mapping[str, str] | None,
        *,
        found_in_public: bool,
    ) -> Source | CallError:
        settings = self._settings
        deadline = deadline or time.monotonic() + settings.timeout
        request = _request(url, conditions)
        policy = DocumentPolicy(settings, public=found_in_public)
        limits: Any = SimpleNamespace(
            **{name: getattr(settings, name) for name in _SETTINGS},
            timeout=deadline - time.monotonic(),
            max_response_bytes=settings.max_document_bytes,
            concurrency=1,
            retries=0,
            transport="auto",
        )
        work = self._answer(request, limits, policy)
        try:
            if self.loop is not None:
                answer = asyncio.run_coroutine_threadsafe(work, self.loop).result()
            else:
                answer = _apart(work)
            _check_status(answer, conditional=bool(conditions))
        except CallError as error:
            return error
        headers = answer.headers
        etag, modified = (headers.get(name, "") for name in ("etag", "last-modified"))
        directives = headers.get("cache-control", "").lower().replace(" ", "").split(",")
        return Source(
            None if answer.status == HTTPStatus.NOT_MODIFIED else answer.content,
            # Without a credential in its query, and without one that a redirect repeats.
            uri=self._credentials.redactor.text(
                str(answer.request.url if answer.redirects else request.url)
            ),
            name=_name(request),
            public=policy.public,
            etag=etag if _ETAG.fullmatch(etag) else "",
            modified=modified if _DATE.fullmatch(modified) else "",
            keep="no-store" not in directives,
        )

    async def _answer(
        self, request: httpx.Request, limits: Settings, policy: DocumentPolicy
    ) -> APIResponse:
        if limits.timeout <= 0:
            raise CallError("timeout", "", retryable=True)
        bounds, redactor = self._bounds(str(request.url)), self._credentials.redactor
        async with (
            contextlib.aclosing(Sender(limits, self._client, policy=policy)) as sender,
            sender.attempts(describe_request(request)) as attempts,
        ):
            context = TokenContext(
                lambda: Channel.over(attempts.transport, bounds, redactor.know), redactor
            )
            auth = (await self._credentials.grant(self._operation, bounds, context)).auth
            options = SendOptions(
                auth=auth.httpx_auth,
                certificate=auth.certificate,
                trusted=bounds.inside,
                learn=redactor.know,
            )
            return await attempts.send(with_auth(request, auth), options)

    def _checked(self, found: Source | CallError, url: str) -> Source:
        if not isinstance(found, CallError):
            return found
        name = _name(_request(url))
        if found.kind == "too_large":
            raise too_large(self._settings.max_document_bytes, name)
        passing = found.facts.get("retryable") is True
        reason = f"{self._reason(found)} {self._hint(found)}".rstrip()
        raise SourceError(reason, source=name, passing=passing)

    def _reason(self, error: CallError) -> str:
        if error.kind == "timeout":
            return "no complete answer in time (timeout)."
        return self._credentials.redactor.text(_CALL.sub("", error.reason, count=1))

    def _hint(self, found: CallError) -> str:
        if not _wants_login(found):
            if found.facts.get("status") == HTTPStatus.NOT_FOUND:
                return "Documents are often at /openapi.json, /swagger.json or /v3/api-docs."
            is_down = found.kind == "connection" and found.facts.get("retryable")
            return "Check the address, and that the server runs." if is_down else ""
        bounds = self._bounds(self._address)
        if bounds.inside and self._can_identify:
            return "The credentials that were given went along."
        if self._can_identify:
            return bounds.refusal("the document")
        return (
            "If that is a login, give a credential with a scheme of its own, "
            "credentials={'login': {'scheme': 'bearer', 'value': …}}, or a client that logs in."
        )


def _wants_login(found: Source | CallError) -> bool:
    """Tell whether a server seems to ask for a login: by a status, a redirect or a page."""
    if isinstance(found, CallError):
        return found.kind == "redirect" or found.facts.get("status") in _LOGIN_STATUSES
    return looks_like_html(found.data or b"")


def _name(request: httpx.Request) -> str:
    return str(request.url.copy_with(query=None))


def _apart(work: Coroutine[Any, Any, APIResponse]) -> APIResponse:
    """Run a coroutine in a thread with its own loop, as this thread's loop may be running."""
    # Not `asyncio.run`: it waits for the executor's threads, in which a resolver may hang.
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


def _check_status(answer: APIResponse, *, conditional: bool) -> None:
    if answer.cut:
        kind: ErrorType = "timeout" if answer.cut == "timeout" else "too_large"
        raise CallError(kind, "", retryable=True)
    status = answer.status
    if status == HTTPStatus.OK or (status == HTTPStatus.NOT_MODIFIED and conditional):
        return
    passes = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    reason = f"the server answered with status {status}."
    raise CallError("http", reason, status=status, retryable=passes)


def _request(url: str, conditions: Mapping[str, str] | None = None) -> httpx.Request:
    """Return the request for a URL; user and password become a header."""
    try:
        address = read_url(url)
    except InvalidUrlError:
        raise SourceError("the URL is not valid.") from None
    bare = address.copy_with(userinfo=b"", fragment=None)
    if not address.host or (address.port or 0) > _LARGEST_PORT:
        raise SourceError("the URL has no host, or no possible port.")
    headers = {**_HEADERS, **(conditions or {})}
    if address.userinfo:
        pair = f"{address.username}:{address.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return httpx.Request("GET", bare, headers=headers)
