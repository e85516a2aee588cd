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
from contextlib import suppress
from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import CallError, requiring
from openapi_tools.http_rules import is_safe
from openapi_tools.json_values import digest_of

with requiring("http-cache"):
    import hishel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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


class Asked(NamedTuple):
    """A request: its headers hold the credential, `user` names the caller."""

    method: str
    url: str
    headers: Pairs
    user: str

    @property
    def is_private(self) -> bool:
        """Whether the key stands for one user or one credential only."""
        return bool(self.user) or any(
            name.lower() in ("authorization", "cookie") for name, _ in self.headers
        )

    @property
    def is_plain(self) -> bool:
        """Whether any answer to it may be kept; conditions and ranges are the caller's affair."""
        names = [name.lower() for name, _ in self.headers]
        own = any(name in _OWN_RULES or name.startswith("if-") for name in names)
        return self.method == "GET" and not own


class Kept(NamedTuple):
    """An answer that is kept; `mark` tells that no call has changed its address since."""

    status: int
    headers: Pairs
    content: bytes
    received: float
    elapsed: float
    mark: str
    how: str = ""  # "cached", or "revalidated" where the server was asked whether it still holds

    def as_bytes(self) -> bytes:
        """Return it as it is stored."""
        head = (self.status, self.headers, self.received, self.elapsed, self.mark)
        return json.dumps(head).encode() + b"\n" + self.content

    @classmethod
    def of(cls, stored: bytes | None, mark: str) -> Kept | None:
        """Return a stored answer; None without one, or when its address was written to."""
        head, _, content = (stored or b"").partition(b"\n")
        try:
            status, headers, received, elapsed, told = json.loads(head)
            pairs = [(name, value) for name, value in headers]
        except (ValueError, TypeError):
            return None
        return cls(status, pairs, content, received, elapsed, mark) if told == mark else None

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

    async def answered(
        self, asked: Asked, send: Callable[[dict[str, str]], Awaitable[Any]]
    ) -> Kept | None:
        """Return the kept answer to a request; None where `send`, given more headers, got one.

        Raises:
            CallError: As `send`; and where a write could not be noted, so that it was not sent.
        """
        place = f"http:changed:{digest_of(asked.url.partition('?')[0])}"
        if not is_safe(asked.method):
            await self._written(place, send)
        elif not asked.is_plain:
            await send({})
        else:
            return await self._read(asked, place, send)
        return None

    async def _written(self, place: str, send: Callable[[dict[str, str]], Awaitable[Any]]) -> None:
        """Send a write, and mark what is kept of its address as changed, for every user."""
        await self._mark(place)
        try:
            await send({})
        finally:  # a read may have kept the old state meanwhile
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._mark(place)
            except (CallError, TimeoutError):
                logger.warning("kept answers may be old: a write could not be noted")

    async def _mark(self, place: str) -> None:
        mark = secrets.token_hex(8).encode()
        await self._state.put(place, mark, 2 * _LONGEST)  # longer than any answer is kept

    async def _read(
        self, asked: Asked, place: str, send: Callable[[dict[str, str]], Awaitable[Any]]
    ) -> Kept | None:
        key = f"http:{digest_of([self._client, *asked[:2], asked.user, sorted(asked.headers)])}"
        try:
            stored, found = await asyncio.gather(self._state.get(key), self._state.get(place))
        except CallError:  # the answer can be had without it
            await send({})
            return None
        mark = "" if found is None else found.decode()
        kept = Kept.of(stored, mark)
        rules = _Rules(asked)
        state = rules.begun(kept)
        if kept is not None and isinstance(state, hishel.FromCache):
            return _aged(kept, "cached")
        answer = await send(rules.added(state))
        state = rules.next(state, answer)
        if isinstance(state, hishel.CacheMiss):  # a 304 about another answer than the kept one
            answer = await send({})
            state = rules.next(state, answer)
        elif kept is not None and isinstance(state, hishel.NeedToBeUpdated):
            kept = kept.freshened(answer, mark)
            await self._keep(key, kept if rules.keeps(kept) else None)
            return _aged(kept, "revalidated")
        new = _kept(answer, mark) if isinstance(state, hishel.StoreAndUse) else None
        if new is not None or kept is not None:
            await self._keep(key, new)
        return None

    async def _keep(self, key: str, kept: Kept | None) -> None:
        with suppress(CallError):
            if kept is None:
                await self._state.remove(key)
            else:
                await self._state.put(key, kept.as_bytes(), _LONGEST)


class _Rules:
    """The rules for one request, by hishel's states; each user's answers are a private cache."""

    def __init__(self, asked: Asked) -> None:
        self._options = hishel.CacheOptions(shared=not asked.is_private, supported_methods=["GET"])
        headers = hishel.Headers(dict(asked.headers))
        self._request = hishel.Request("GET", asked.url, headers)

    def begun(self, kept: Kept | None) -> Any:
        entries = []
        if kept is not None:
            entries = [hishel.Entry(uuid.uuid4(), self._request, self._response(kept))]
        return hishel.IdleClient(self._options).next(self._request, entries)

    def added(self, state: Any) -> dict[str, str]:
        """Return the headers that ask whether a kept answer still holds."""
        if not isinstance(state, hishel.NeedRevalidation):
            return {}
        wanted, known = ("If-None-Match", "If-Modified-Since"), state.request.headers
        return {n: known[n] for n in wanted if n in known and known[n].isascii()}

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
            headers.setdefault(name.lower(), []).append(value)
        control = ", ".join(headers.get("cache-control", []))
        if not _LIFETIME.search(control):
            lifetime = _until_expiry(headers, kept.received)
            control += ", no-cache" if lifetime is None else f", max-age={lifetime}"
        if "no-store" in control.lower():  # wherever it stands: hishel overlooks some places
            control = "no-store"
        began = formatdate(kept.received - _age(headers, kept), usegmt=True)
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


def _aged(kept: Kept, how: str) -> Kept:
    """Return an answer with its `Age` (RFC 9111, section 5.1)."""
    headers = {name: [value] for name, value in kept.headers}
    seconds = int(_age(headers, kept) + max(0.0, time.time() - kept.received))
    others = [pair for pair in kept.headers if pair[0].lower() != "age"]
    return kept._replace(headers=[*others, ("age", str(seconds))], how=how)


def _age(headers: dict[str, list[str]], kept: Kept) -> float:
    """Return the seconds that an answer's age was when it came (RFC 9111, section 4.2.3)."""
    told = headers.get("age", ["0"])[0].strip()
    value = float(told) if told.isdecimal() and len(told) < 10 else 0.0  # noqa: PLR2004
    date = _seconds(headers.get("date", [""])[0])
    apparent = 0.0 if date is None else max(0.0, kept.received - date)
    return max(apparent, value + kept.elapsed)


def _until_expiry(headers: dict[str, list[str]], received: float) -> int | None:
    """Return the lifetime that `Expires` gives; None without it, 0 for an unreadable one."""
    if "expires" not in headers:
        return None
    end, date = _seconds(headers["expires"][0]), _seconds(headers.get("date", [""])[0])
    return 0 if end is None else max(0, int(end - (received if date is None else date)))


def _seconds(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date[:60]).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
