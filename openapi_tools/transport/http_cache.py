"""The HTTP cache (RFC 9111): hishel applies its rules, and a shared state stores the responses.

The key has the user, the credentials and all other request headers. So each request has one cached
response at most, and `Vary` is met.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import httpx
from pydantic import Field, TypeAdapter

from openapi_tools.common.http_rules import is_read_request
from openapi_tools.common.json_values import digest_of
from openapi_tools.errors import CallError, require_extra
from openapi_tools.state.shared_state import read_record, state_key
from openapi_tools.transport.exchange import APIResponse

with require_extra("http-cache"):
    import hishel

if TYPE_CHECKING:
    from openapi_tools.state.shared_state import SharedState

logger = logging.getLogger("openapi_tools")

_LARGEST_BODY = 1024 * 1024
_LIFETIME_SECONDS = 86_400.0  # of a cached response in the state
_STATE_TIMEOUT = 1.0  # a call must not wait long for a cache
_LONGEST_AGE = 10  # digits
_CALLERS_RULES = ("cache-control", "content-length", "pragma", "range", "transfer-encoding")
_HAS_LIFETIME = re.compile(r"(?:s-maxage|max-age)\s*=", re.IGNORECASE)
_BODY_HEADERS = frozenset(
    {"content-encoding", "content-length", "content-range", "content-type", "transfer-encoding"}
)

SendRequest = Callable[[httpx.Request], Awaitable[APIResponse]]


# Header lines that HTTP allows (RFC 9110, sections 5.1 and 5.5). The state may be damaged, and what
# it returns must not break a request.
_Name = Annotated[str, Field(pattern=r"\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\z")]
_Value = Annotated[str, Field(pattern=r"\A[^\x00-\x08\x0a-\x1f\x7f]*\z")]
_Seconds = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
_Status = Annotated[int, Field(ge=200, le=599)]
_HEAD = TypeAdapter(tuple[_Status, list[tuple[_Name, _Value]], _Seconds, _Seconds, str])


class CachedResponse(NamedTuple):
    """A response in the cache; `mark` shows whether a call has changed its URL since."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes
    received: float
    elapsed: float
    mark: str

    def header(self, name: str) -> str | None:
        """Return the first line of a header."""
        return next((value for key, value in self.headers if key == name), None)

    def to_bytes(self) -> bytes:
        """Return it as it is stored."""
        head = (self.status, self.headers, self.received, self.elapsed, self.mark)
        return json.dumps(head).encode() + b"\n" + self.content

    @classmethod
    def from_bytes(cls, stored: bytes | None, mark: str) -> CachedResponse | None:
        """Return a stored response; None without one, or if a call has changed its URL since."""
        if stored is None:
            return None
        head, _, content = stored.partition(b"\n")
        try:
            status, headers, received, elapsed, stored_mark = read_record(head, _HEAD)
        except ValueError as error:
            logger.warning("a cached response is damaged, so the API is called: %s", error)
            return None
        if stored_mark != mark:
            return None
        return cls(status, headers, content, received, elapsed, mark)

    def with_headers_of(self, response: APIResponse, mark: str) -> CachedResponse:
        """Return it with the headers of a 304 (RFC 9111, section 3.2)."""
        updates = [(n, v) for n, v in response.headers.multi_items() if n not in _BODY_HEADERS]
        replaced = {name for name, _ in updates} | {"age"}
        lines = [(name, value) for name, value in self.headers if name not in replaced]
        return self._replace(
            headers=[*lines, *updates], received=time.time(), elapsed=response.elapsed, mark=mark
        )


class HttpCache:
    """The cached responses of one toolset; `client` separates a user's own client from others."""

    def __init__(self, state: SharedState, client: str = "") -> None:
        self._state = state
        self._client = client

    async def send(self, request: httpx.Request, user: str, send: SendRequest) -> APIResponse:
        """Return the cached response to a user's request, or the one that `send` gets.

        Raises:
            CallError: As `send`; and where a write could not be noted, so that it was not sent.
        """
        # Without the query, as a write to `/pets` changes `/pets?page=2`, too.
        mark_key = f"http:changed:{digest_of(str(request.url).partition('?')[0])}"
        if not is_read_request(request):
            return await self._send_write(mark_key, request, send)
        # Conditions and ranges are the caller's affair.
        names = [name.lower() for name in request.headers]
        if any(name in _CALLERS_RULES or name.startswith("if-") for name in names):
            return await send(request)
        if request.method != "GET":
            return await send(request)
        return await self._read(request, user, mark_key, send)

    async def _send_write(
        self, mark_key: str, request: httpx.Request, send: SendRequest
    ) -> APIResponse:
        # Before the write, too: a call that is cut off in the middle may have changed the
        # resource. RFC 9111, section 4.4, invalidates after a success only.
        await self._renew_mark(mark_key)
        try:
            return await send(request)
        finally:
            # A read may have cached the old state during the write, so the mark changes again.
            # A failure of that is only logged: the API has done the write.
            try:
                async with asyncio.timeout(_STATE_TIMEOUT):
                    await self._renew_mark(mark_key)
            except (CallError, OSError) as error:  # a TimeoutError is an OSError
                reason = type(error).__name__
                message = "cached responses may be stale: a write could not be recorded (%s)"
                logger.warning(message, reason)

    async def _renew_mark(self, mark_key: str) -> None:
        mark = secrets.token_hex(8).encode()
        await self._state.put(mark_key, mark, 2 * _LIFETIME_SECONDS)  # it outlives every response

    async def _read(
        self, request: httpx.Request, user: str, mark_key: str, send: SendRequest
    ) -> APIResponse:
        lines = sorted(request.headers.multi_items())
        digest = digest_of([self._client, "GET", str(request.url), user, lines])
        key = state_key("http", user, digest)
        try:
            async with asyncio.timeout(_STATE_TIMEOUT):
                stored, stored_mark = await asyncio.gather(
                    self._state.get(key), self._state.get(mark_key)
                )
        except (CallError, TimeoutError):  # the API can be asked without the cache
            return await send(request)
        mark = "" if stored_mark is None else stored_mark.decode(errors="replace")
        cached = CachedResponse.from_bytes(stored, mark)
        rules = _CacheRules(request, user)
        state = rules.start(cached)
        if cached is not None and isinstance(state, hishel.FromCache):
            return _to_api_response(request, cached, "cached")
        response = await send(rules.conditional_request(state))
        state = rules.advance(state, response)
        if isinstance(state, hishel.CacheMiss):  # a 304 about another response than the cached one
            response = await send(request)
            state = rules.advance(state, response)
        elif cached is not None and isinstance(state, hishel.NeedToBeUpdated):
            cached = cached.with_headers_of(response, mark)
            await self._store(key, cached if rules.can_store(cached) else None)
            revalidated = _to_api_response(request, cached, "revalidated")
            revalidated.attempts = response.attempts
            return revalidated
        is_stored = isinstance(state, hishel.StoreAndUse)
        entry = _to_cached_response(response, mark) if is_stored else None
        if entry is not None or cached is not None:
            await self._store(key, entry)
        return response

    async def _store(self, key: str, entry: CachedResponse | None) -> None:
        with suppress(CallError, TimeoutError):
            async with asyncio.timeout(_STATE_TIMEOUT):
                if entry is None:
                    await self._state.remove(key)
                else:
                    await self._state.put(key, entry.to_bytes(), _LIFETIME_SECONDS)


class _CacheRules:
    """The rules for one request, by hishel's states; a user's responses are in a private cache."""

    def __init__(self, request: httpx.Request, user: str) -> None:
        headers = request.headers
        is_private = bool(user) or "authorization" in headers or "cookie" in headers
        self._request = request
        self._options = hishel.CacheOptions(shared=not is_private, supported_methods=["GET"])
        lines = hishel.Headers(dict(headers.multi_items()))
        self._hishel_request = hishel.Request("GET", str(request.url), lines)

    def start(self, cached: CachedResponse | None) -> Any:
        entries = []
        if cached is not None:
            response = self._hishel_response(cached)
            entries = [hishel.Entry(uuid.uuid4(), self._hishel_request, response)]
        return hishel.IdleClient(self._options).next(self._hishel_request, entries)

    def conditional_request(self, state: Any) -> httpx.Request:
        """Return the request, with the conditions under which a cached response still holds."""
        if not isinstance(state, hishel.NeedRevalidation):
            return self._request
        request, lines = self._request, state.request.headers
        names = ("If-None-Match", "If-Modified-Since")
        conditions = {name: lines[name] for name in names if name in lines}
        sendable = {name: value for name, value in conditions.items() if value.isascii()}
        headers = type(request.headers)([*request.headers.raw, *httpx.Headers(sendable).raw])
        extensions = dict(request.extensions)
        return httpx.Request("GET", request.url, headers=headers, extensions=extensions)

    def advance(self, state: Any, response: APIResponse) -> Any:
        entry = _to_cached_response(response, "")
        if entry is None:
            if response.status != HTTPStatus.NOT_MODIFIED:
                return None
            lines = response.headers.multi_items()
            entry = CachedResponse(response.status, lines, b"", time.time(), 0.0, "")
        state = state.next(self._hishel_response(entry))
        while isinstance(state, hishel.InvalidateEntries):
            state = state.next()
        return state

    def can_store(self, entry: CachedResponse) -> bool:
        miss = hishel.CacheMiss(self._options, self._hishel_request)
        return isinstance(miss.next(self._hishel_response(entry)), hishel.StoreAndUse)

    def _hishel_response(self, entry: CachedResponse) -> Any:
        headers: dict[str, list[str]] = {}
        for name, value in entry.headers:
            headers.setdefault(name, []).append(value)
        control = ", ".join(headers.get("cache-control", []))
        if not _HAS_LIFETIME.search(control):
            # Without a lifetime every use is revalidated: heuristics (RFC 9111, section 4.2.2)
            # would surprise users.
            lifetime = _seconds_until_expiry(entry)
            control += ", no-cache" if lifetime is None else f", max-age={lifetime}"
        if "no-store" in control.lower():  # hishel overlooks it behind some other directives
            control = "no-store"
        # The date at which its age was 0, by this machine's clock: hishel compares no other one.
        start = formatdate(entry.received - _initial_age(entry), usegmt=True)
        lines = {**headers, "cache-control": [control], "date": [start]}
        return hishel.Response(entry.status, hishel.Headers(lines))


def _to_cached_response(response: APIResponse, mark: str) -> CachedResponse | None:
    headers = response.headers
    is_whole = not (response.cut or response.redirects or response.file)
    validators = {"etag", "expires", "last-modified"} & set(headers)
    is_of_use = validators or _HAS_LIFETIME.search(headers.get("cache-control", ""))
    if not is_whole or not is_of_use or len(response.content) > _LARGEST_BODY:
        return None
    # RFC 9111, section 4.1: never matches another request.
    if "*" in headers.get("vary", ""):
        return None
    return CachedResponse(
        response.status,
        headers.multi_items(),
        response.content,
        received=time.time(),
        elapsed=response.elapsed,
        mark=mark,
    )


def _to_api_response(request: httpx.Request, cached: CachedResponse, how: str) -> APIResponse:
    seconds = int(_initial_age(cached) + max(0.0, time.time() - cached.received))
    lines = [pair for pair in cached.headers if pair[0] != "age"]
    headers = httpx.Headers([*lines, ("age", str(seconds))], encoding="utf-8")
    return APIResponse(request, cached.status, headers, cached.content, attempts=0, cached=how)


def _initial_age(cached: CachedResponse) -> float:
    age = (cached.header("age") or "").strip()
    # RFC 9111, section 5.1: an `Age` that is no number is ignored.
    value = float(age) if age.isdecimal() and len(age) < _LONGEST_AGE else 0.0
    date = _timestamp(cached.header("date"))
    apparent = 0.0 if date is None else max(0.0, cached.received - date)
    return max(apparent, value + cached.elapsed)


def _seconds_until_expiry(cached: CachedResponse) -> int | None:
    if (expires := cached.header("expires")) is None:
        return None
    end, date = _timestamp(expires), _timestamp(cached.header("date"))
    # RFC 9111, section 5.3: an invalid date, above all `0`, is in the past.
    return 0 if end is None else max(0, int(end - (cached.received if date is None else date)))


def _timestamp(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime((date or "")[:60]).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
