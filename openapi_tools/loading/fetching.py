"""Fetch a document over HTTP with the sender of calls, in an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
import threading
import time
from contextvars import Context
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import Credentials, OriginPolicy, check_credentials, declares_scheme
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.schemes import TokenContext
from openapi_tools.common.options import type_name
from openapi_tools.errors import CallError, ErrorType, SettingsError, SourceError
from openapi_tools.loading.source import Source, too_large
from openapi_tools.model import Operation
from openapi_tools.requests import credential_origins, document_server_url, origin_of
from openapi_tools.requests.document_request import add_auth, make_document_request
from openapi_tools.responses.text_content import is_html_page
from openapi_tools.tools.session import add_default_settings, has_identity
from openapi_tools.transport import APIResponse, Sender, SendOptions
from openapi_tools.transport.asgi import application_client
from openapi_tools.transport.failures import describe_request
from openapi_tools.transport.network_policy import DocumentPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    import httpx

    from openapi_tools.common.options import Client
    from openapi_tools.loading.fetch_record import FetchRecord
    from openapi_tools.model import SecurityScheme, Server
    from openapi_tools.settings import Settings

_SETTINGS = ("allow_private", "base_url", "ca_file", "trust_env")
_LOGIN_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
# RFC 9110, section 8.8.3. A validator of a server is sent back, so it must not hold a line
# break.
_ETAG = re.compile(r'(W/)?"[!#-~]{0,500}"')
_DATE = re.compile(r"[ -~]{1,60}")
_CALL = re.compile(r"GET \S+?:? ")
_IN_PROCESS = "http://localhost"


def adapt_application(app: Any, settings: Settings) -> tuple[Any, Settings, httpx.AsyncClient]:
    """Return source, settings and client for an ASGI application in this process."""
    if not inspect.iscoroutinefunction(app) and not inspect.iscoroutinefunction(type(app).__call__):
        reason = "source must be a document or an ASGI application, such as FastAPI's"
        raise SettingsError(f"{reason}, not {type_name(app)}.")

    most = max(settings.max_document_bytes, settings.max_response_bytes, settings.max_file_bytes)
    place = getattr(app, "openapi_url", "/openapi.json")
    client = application_client(app, most)
    source = f"{_IN_PROCESS}{place}" if place else app.openapi()
    return source, add_default_settings(settings, base_url=_IN_PROCESS), client


class Fetcher:
    """Fetches the documents of one load, with the user's credentials where they may go.

    That is to origins that the settings name; without any, to that of the entry document's URL,
    once its server asks for them or the document says that its API is there.

    Attributes:
        loop: An event loop of another thread that sends the requests; else one of its own does.
        warnings: Why the entry document was read without credentials.
        digest: The digest of an entry document that may be fetched again as a user; else empty.
    """

    def __init__(
        self,
        url: str,
        settings: Settings,
        *,
        credentials: Mapping[str, Any] | None = None,
        client: Client | None = None,
        record: FetchRecord | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.loop = loop
        self.warnings: list[str] = []
        self.digest = ""
        self._url = url
        self._address = str(make_document_request(url).url)
        self._settings = settings
        self._client = client
        self._record = record
        self._user_credentials = dict(check_credentials(credentials))
        self._client_identifies = has_identity(client)
        self._origins = credential_origins(settings)
        # Until the document is read only credentials that bring their scheme can be sent.
        self._with_scheme = {
            name: value for name, value in self._user_credentials.items() if declares_scheme(value)
        }
        self._credentials = Credentials(self._with_scheme, {}, ca_file=settings.ca_file)
        self._operation = Operation("GET", "/")
        self._can_identify = bool(self._with_scheme) or self._client_identifies

    @property
    def is_personal(self) -> bool:
        """Whether the document may be for this user alone, so that it is not cached."""
        inside = self._bounds(self._address).allows_server
        return self._client is not None or (self._can_identify and inside)

    def fetch_entry(self, *, etag: str = "", modified: str = "") -> Source:
        """Fetch the entry document; `data` is None if the cached version is still good."""
        deadline = time.monotonic() + self._settings.timeout
        # RFC 9110, section 13.1: with both, servers look at the first alone.
        conditions = {"If-None-Match": etag} if etag else {"If-Modified-Since": modified}
        result = self._fetch_once(self._url, deadline, conditions if etag or modified else {})
        # Credentials that nobody asked for are not sent: the URL may be that of a public page.
        if _wants_login(result) and self._can_identify and self._origins is None:
            self._origins = frozenset({origin_of(self._address)})
            result = self._fetch_once(self._url, deadline)
        source = self._require_source(result, self._url)
        if self._user_credentials or self._client_identifies:
            self.digest = source.digest
        return source

    def fetch_as_user(
        self,
        schemes: Mapping[str, SecurityScheme],
        requirements: Iterable[Mapping[str, tuple[str, ...]]],
        servers: Callable[[], tuple[Server, ...]],
    ) -> Source | None:
        """Fetch the entry document with the credentials of its schemes.

        Args:
            schemes: The security schemes of the document.
            requirements: Its security requirements.
            servers: Returns its servers; called if their origin matters.

        Returns:
            The document; None if credentials do not change it.
        """
        if not self.digest:
            return None
        declared = {
            name: value for name, value in self._user_credentials.items() if name in schemes
        }
        was_inside = self._bounds(self._address).allows_server
        if not declared and (was_inside or not self._can_identify):
            return None
        # A document that names its own origin as the API's may get the credentials of the API.
        if self._origins is None:
            with contextlib.suppress(CallError):
                api_origin = origin_of(document_server_url(servers(), self._settings))
                self._origins = frozenset({api_origin} & {origin_of(self._address)})
        if not self._bounds(self._address).allows_server:
            return None
        usable = self._with_scheme | declared
        self._credentials = Credentials(usable, schemes, ca_file=self._settings.ca_file)
        self._operation = Operation(
            "GET", "/", security=(*requirements, *({name: ()} for name in declared))
        )
        self._can_identify = True
        result = self._fetch_once(self._url)
        if isinstance(result, CallError):
            self.warn(self._describe_error(result))
            return None
        return None if result.digest == self.digest else result

    def warn(self, reason: str) -> None:
        """Add a warning that the entry document was read without credentials; `reason` says why."""
        name = _name(make_document_request(self._url))
        self.warnings.append(f"{name} was read without credentials, because with them: {reason}")

    def fetch(self, url: str, *, found_in_public: bool = False) -> Source:
        """Fetch a document that another one names: a public one may name public ones only."""
        return self._require_source(self._fetch_once(url, found_in_public=found_in_public), url)

    def _bounds(self, address: str) -> OriginPolicy:
        return OriginPolicy(
            address,
            self._origins or frozenset(),
            lenient=True,
            client_adds_credentials=self._client_identifies,
        )

    def _fetch_once(
        self,
        url: str,
        deadline: float | None = None,
        conditions: Mapping[str, str] | None = None,
        *,
        found_in_public: bool = False,
    ) -> Source | CallError:
        record = self._record
        if record is not None:
            recorded = record.take_result(url, is_conditional=bool(conditions))
            if recorded is not None:
                return recorded
        result = self._request_source(url, deadline, conditions, found_in_public=found_in_public)
        if record is not None:
            record.add_result(url, result)
        return result

    def _request_source(
        self,
        url: str,
        deadline: float | None,
        conditions: Mapping[str, str] | None,
        *,
        found_in_public: bool,
    ) -> Source | CallError:
        settings = self._settings
        deadline = deadline or time.monotonic() + settings.timeout
        request = make_document_request(url, conditions)
        policy = DocumentPolicy(settings, public=found_in_public)
        # Not the settings themselves: retries, the HTTP cache and limits are for calls of tools.
        limits: Any = SimpleNamespace(
            **{name: getattr(settings, name) for name in _SETTINGS},
            timeout=deadline - time.monotonic(),
            max_response_bytes=settings.max_document_bytes,
            concurrency=1,
            retries=0,
            transport="auto",
        )
        coroutine = self._send(request, limits, policy)
        try:
            if self.loop is not None:
                response = asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()
            else:
                response = _run_in_thread(coroutine)
            _check_status(response, conditional=bool(conditions))
        except CallError as error:
            return error
        headers = response.headers
        etag, modified = (headers.get(name, "") for name in ("etag", "last-modified"))
        directives = headers.get("cache-control", "").lower().replace(" ", "").split(",")
        return Source(
            None if response.status == HTTPStatus.NOT_MODIFIED else response.content,
            # Without a credential in its query, and without one that a redirect repeats.
            uri=self._credentials.redactor.text(
                str(response.request.url if response.redirects else request.url)
            ),
            name=_name(request),
            public=policy.public,
            etag=etag if _ETAG.fullmatch(etag) else "",
            modified=modified if _DATE.fullmatch(modified) else "",
            can_store="no-store" not in directives,
        )

    async def _send(
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
                lambda: Channel.for_call(attempts.transport, bounds, redactor.learn), redactor
            )
            auth = (await self._credentials.resolve(self._operation, bounds, context)).auth
            options = SendOptions(
                auth=auth.httpx_auth,
                certificate=auth.certificate,
                trusted=bounds.allows_server,
                learn=redactor.learn,
            )
            return await attempts.send(add_auth(request, auth), options)

    def _require_source(self, result: Source | CallError, url: str) -> Source:
        if not isinstance(result, CallError):
            return result
        name = _name(make_document_request(url))
        if result.kind == "too_large":
            raise too_large(self._settings.max_document_bytes, name)
        passing = result.facts.get("retryable") is True
        reason = f"{self._describe_error(result)} {self._hint(result)}".rstrip()
        raise SourceError(reason, source=name, passing=passing)

    def _describe_error(self, error: CallError) -> str:
        if error.kind == "timeout":
            return "no complete response within the timeout."
        return self._credentials.redactor.text(_CALL.sub("", error.reason, count=1))

    def _hint(self, error: CallError) -> str:
        if not _wants_login(error):
            if error.facts.get("status") == HTTPStatus.NOT_FOUND:
                return "Documents are often at /openapi.json, /swagger.json or /v3/api-docs."
            is_down = error.kind == "connection" and error.facts.get("retryable")
            return "Check the URL, and that the server is running." if is_down else ""
        bounds = self._bounds(self._address)
        if bounds.allows_server and self._can_identify:
            return "The credentials of this load were sent."
        if self._can_identify:
            return bounds.describe_refusal("the document")
        return (
            "If it needs a login, pass a credential with a scheme of its own, "
            "credentials={'login': {'scheme': 'bearer', 'value': …}}, or a client that is "
            "logged in."
        )


def _wants_login(result: Source | CallError) -> bool:
    if isinstance(result, CallError):
        return result.kind == "redirect" or result.facts.get("status") in _LOGIN_STATUSES
    return is_html_page(result.data or b"")


def _name(request: httpx.Request) -> str:
    return str(request.url.copy_with(query=None))


def _run_in_thread(coroutine: Coroutine[Any, Any, APIResponse]) -> APIResponse:
    # In a thread: the loop of this one may be running, and a load blocks it.
    # Not `asyncio.run`: it waits for the executor's threads, in which a resolver may hang.
    loop = asyncio.new_event_loop()
    # An empty context: variables of the caller's libraries may be bound to its loop.
    task = loop.create_task(coroutine, context=Context())

    def run() -> None:
        with contextlib.closing(loop):
            loop.run_until_complete(asyncio.wait({task}))
            loop.run_until_complete(loop.shutdown_asyncgens())

    thread = threading.Thread(target=run, name="fetch a document", daemon=True)
    thread.start()
    thread.join()
    return task.result()


def _check_status(response: APIResponse, *, conditional: bool) -> None:
    if response.cut:
        kind: ErrorType = "timeout" if response.cut == "timeout" else "too_large"
        raise CallError(kind, "", retryable=True)
    status = response.status
    if status == HTTPStatus.OK or (status == HTTPStatus.NOT_MODIFIED and conditional):
        return
    is_passing = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    reason = f"the server responded with status {status}."
    raise CallError("http", reason, status=status, retryable=is_passing)
