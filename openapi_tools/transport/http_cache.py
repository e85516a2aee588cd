"""Answers that are kept by HTTP's own rules (RFC 9111); hishel decides, a shared state keeps them.

Each user, credential and set of request headers has answers of its own: all of them are part of the
key. So one answer at most fits a request, and `Vary` is met.
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
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import httpx
from pydantic import Field, TypeAdapter

from openapi_tools.errors import CallError, requiring
from openapi_tools.http_rules import reads
from openapi_tools.json_values import digest_of
from openapi_tools.shared_state import read_record, state_key
from openapi_tools.transport.exchange import APIResponse

with requiring("http-cache"):
    import hishel

if TYPE_CHECKING:
    from openapi_tools.shared_state import SharedState

logger = logging.getLogger("openapi_tools")

_LARGEST = 1024 * 1024  # bytes of an answer that is kept
_LONGEST = 86_400.0  # seconds
_PATIENCE = 1.0
_OWN_RULES = ("cache-control", "content-length", "pragma", "range", "transfer-encoding")
_LIFETIME = re.compile(r"(?:s-maxage|max-age)\s*=", re.IGNORECASE)
_BODY_HEADERS = frozenset(
    {"content-encoding", "content-length", "content-range", "content-type", "transfer-encoding"}
)

Pairs = list[tuple[str, str]]
Send = Callable[[httpx.Request], Awaitable[APIResponse]]


# Lines that HTTP allows (RFC 9110, sections 5.1 and 5.5): a damaged one must not break a request.
_Name = Annotated[str, Field(pattern=r"\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\z")]
_Value = Annotated[str, Field(pattern=r"\A[^\x00-\x08\x0a-\x1f\x7f]*\z")]
_Seconds = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
_Status = Annotated[int, Field(ge=200, le=599)]
_HEAD = TypeAdapter(tuple[_Status, list[tuple[_Name, _Value]], _Seconds, _Seconds, str])


class Kept(NamedTuple):
    """An answer that is kept; `mark` tells that no call has changed its address since."""

    status: int
    headers: Pairs
    content: bytes
    received: float
    elapsed: float
    mark: str

    def header(self, name: str) -> str | None:
        """Return the first line of a header."""
        return next((value for known, value in self.headers if known == name), None)

    def as_bytes(self) -> bytes:
        """Return it as it is stored."""
        head = (self.status, self.headers, self.received, self.elapsed, self.mark)
        return json.dumps(head).encode() + b"\n" + self.content

    @classmethod
    def of(cls, stored: bytes | None, mark: str) -> Kept | None:
        """Return a stored answer; None without one, or when its address was written to."""
        if stored is None:
            return None
        head, _, content = stored.partition(b"\n")
        try:
            status, headers, received, elapsed, told = read_record(head, _HEAD)
        except ValueError as error:
            logger.warning("a cached response is damaged, so the API is asked: %s", error)
            return None
        return cls(status, headers, content, received, elapsed, mark) if told == mark else None

    def freshened(self, answer: Any, mark: str) -> Kept:
        """Return it with the headers of a 304 (RFC 9111, section 3.2)."""
        newer = [(n, v) for n, v in answer.headers.multi_items() if n not in _BODY_HEADERS]
        names = {name for name, _ in newer}
        older = [(name, value) for name, value in self.headers if name not in names | {"age"}]
        return self._replace(
            headers=[*older, *newer], received=time.time(), elapsed=answer.elapsed, mark=mark
        )


class HttpCache:
    """The answers of one toolset; `client` tells a user's own client from all others."""

    def __init__(self, state: SharedState, client: str = "") -> None:
        self._state = state
        self._client = client

    async def send(self, request: httpx.Request, user: str, send: Send) -> APIResponse:
        """Return the cached response to a user's request, or the one that `send` gets.

        Raises:
            CallError: As `send`; and where a write could not be noted, so that it was not sent.
        """
        place = f"http:changed:{digest_of(str(request.url).partition('?')[0])}"
        if not reads(request):
            return await self._written(place, request, send)
        # Conditions and ranges are the caller's affair.
        names = [name.lower() for name in request.headers]
        is_own = any(name in _OWN_RULES or name.startswith("if-") for name in names)
        if request.method != "GET" or is_own:
            return await send(request)
        return await self._read(request, user, place, send)

    async def _written(self, place: str, request: httpx.Request, send: Send) -> APIResponse:
        """Send a write, and mark what is kept of its address as changed, for every user."""
        await self._mark(place)
        try:
            return await send(request)
        finally:  # a read may have kept the old state meanwhile
            # Whatever fails here: the API has done the write, and that is what the model hears.
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._mark(place)
            except (CallError, OSError) as error:  # a TimeoutError is an OSError
                reason = type(error).__name__
                logger.warning("kept answers may be old: a write could not be noted (%s)", reason)

    async def _mark(self, place: str) -> None:
        mark = secrets.token_hex(8).encode()
        await self._state.put(place, mark, 2 * _LONGEST)  # longer than any answer is kept

    async def _read(self, request: httpx.Request, user: str, place: str, send: Send) -> APIResponse:
        lines = sorted(request.headers.multi_items())
        digest = digest_of([self._client, "GET", str(request.url), user, lines])
        key = state_key("http", user, digest)
        try:
            async with asyncio.timeout(_PATIENCE):
                stored, found = await asyncio.gather(self._state.get(key), self._state.get(place))
        except (CallError, TimeoutError):  # the answer can be had without it
            return await send(request)
        mark = "" if found is None else found.decode(errors="replace")
        kept = Kept.of(stored, mark)
        rules = _Rules(request, user)
        state = rules.begun(kept)
        if kept is not None and isinstance(state, hishel.FromCache):
            return _cached_response(request, kept, "cached")
        answer = await send(rules.conditional(state))
        state = rules.next(state, answer)
        if isinstance(state, hishel.CacheMiss):  # a 304 about another answer than the kept one
            answer = await send(request)
            state = rules.next(state, answer)
        elif kept is not None and isinstance(state, hishel.NeedToBeUpdated):
            kept = kept.freshened(answer, mark)
            await self._keep(key, kept if rules.keeps(kept) else None)
            response = _cached_response(request, kept, "revalidated")
            response.attempts = answer.attempts
            return response
        new = _kept(answer, mark) if isinstance(state, hishel.StoreAndUse) else None
        if new is not None or kept is not None:
            await self._keep(key, new)
        return answer

    async def _keep(self, key: str, kept: Kept | None) -> None:
        with suppress(CallError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                if kept is None:
                    await self._state.remove(key)
                else:
                    await self._state.put(key, kept.as_bytes(), _LONGEST)


class _Rules:
    """The rules for one request, by hishel's states; each user's answers are a private cache."""

    def __init__(self, request: httpx.Request, user: str) -> None:
        self._asked, headers = request, request.headers
        is_private = bool(user) or "authorization" in headers or "cookie" in headers
        self._options = hishel.CacheOptions(shared=not is_private, supported_methods=["GET"])
        known = hishel.Headers(dict(headers.multi_items()))
        self._request = hishel.Request("GET", str(request.url), known)

    def begun(self, kept: Kept | None) -> Any:
        entries = []
        if kept is not None:
            entries = [hishel.Entry(uuid.uuid4(), self._request, self._response(kept))]
        return hishel.IdleClient(self._options).next(self._request, entries)

    def conditional(self, state: Any) -> httpx.Request:
        """Return the request that asks whether a kept answer still holds, if there is one."""
        if not isinstance(state, hishel.NeedRevalidation):
            return self._asked
        wanted, known, asked = (
            ("If-None-Match", "If-Modified-Since"),
            state.request.headers,
            self._asked,
        )
        more = {n: known[n] for n in wanted if n in known and known[n].isascii()}
        lines = type(asked.headers)([*asked.headers.raw, *httpx.Headers(more).raw])
        return httpx.Request("GET", asked.url, headers=lines, extensions=dict(asked.extensions))

    def next(self, state: Any, answer: Any) -> Any:
        kept = _kept(answer, "")
        if kept is None and answer.status != 304:  # noqa: PLR2004
            return None
        about = Kept(answer.status, answer.headers.multi_items(), b"", time.time(), 0.0, "")
        state = state.next(self._response(kept or about))
        while isinstance(state, hishel.InvalidateEntries):
            state = state.next()
        return state

    def keeps(self, kept: Kept) -> bool:
        """Whether an answer may be kept."""
        state = hishel.CacheMiss(self._options, self._request).next(self._response(kept))
        return isinstance(state, hishel.StoreAndUse)

    def _response(self, kept: Kept) -> Any:
        """Return an answer as hishel reads it: its date is when its age was 0, by our clock.

        Without a lifetime it is asked about each time: guesses (RFC 9111, 4.2.2) surprise.
        """
        headers: dict[str, list[str]] = {}
        for name, value in kept.headers:
            headers.setdefault(name, []).append(value)
        control = ", ".join(headers.get("cache-control", []))
        if not _LIFETIME.search(control):
            lifetime = _until_expiry(kept)
            control += ", no-cache" if lifetime is None else f", max-age={lifetime}"
        if "no-store" in control.lower():  # wherever it stands: hishel overlooks some places
            control = "no-store"
        began = formatdate(kept.received - _age(kept), usegmt=True)
        known = {**headers, "cache-control": [control], "date": [began]}
        return hishel.Response(kept.status, hishel.Headers(known))


def _kept(answer: Any, mark: str) -> Kept | None:
    """Return an answer as it is kept; None where it cannot be, or where that is of no use."""
    headers = answer.headers
    is_whole = not (answer.cut or answer.redirects or answer.file)
    named = {"etag", "expires", "last-modified"} & set(headers)
    is_of_use = named or _LIFETIME.search(headers.get("cache-control", ""))
    if not is_whole or not is_of_use or len(answer.content) > _LARGEST:
        return None
    if "*" in headers.get("vary", ""):
        return None
    facts = (answer.content, time.time(), answer.elapsed, mark)
    return Kept(answer.status, headers.multi_items(), *facts)


def _cached_response(request: httpx.Request, kept: Kept, how: str) -> APIResponse:
    """Return a cached response with its `Age` (RFC 9111, section 5.1)."""
    seconds = int(_age(kept) + max(0.0, time.time() - kept.received))
    lines = [pair for pair in kept.headers if pair[0] != "age"]
    headers = httpx.Headers([*lines, ("age", str(seconds))], encoding="utf-8")
    return APIResponse(request, kept.status, headers, kept.content, attempts=0, cached=how)


def _age(kept: Kept) -> float:
    """Return the seconds that an answer's age was when it came (RFC 9111, section 4.2.3)."""
    told = (kept.header("age") or "").strip()
    value = float(told) if told.isdecimal() and len(told) < 10 else 0.0  # noqa: PLR2004
    date = _seconds(kept.header("date"))
    apparent = 0.0 if date is None else max(0.0, kept.received - date)
    return max(apparent, value + kept.elapsed)


def _until_expiry(kept: Kept) -> int | None:
    """Return the lifetime that `Expires` gives; None without it, 0 for an unreadable one."""
    if (expires := kept.header("expires")) is None:
        return None
    end, date = _seconds(expires), _seconds(kept.header("date"))
    return 0 if end is None else max(0, int(end - (kept.received if date is None else date)))


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime((date or "")[:60]).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
