"""What responses say about servers: where they moved, and how many calls they allow."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from openapi_tools.common.json_values import as_dict, as_list, as_string
from openapi_tools.learning.deviations import Deviation, DocumentChange, create_deviation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.learning.evidence import RecordedExchange
    from openapi_tools.learning.schema_places import Keys, SchemaPlaces

_PERMANENT = (301, 308)  # RFC 9110, sections 15.4.2 and 15.4.9
_LIMIT_HEADERS = ("ratelimit-limit", "x-ratelimit-limit", "x-rate-limit-limit")
_RETRY_AFTER = "retry-after"
_MOST_MOVES = 8
_PLAIN_PATH = re.compile(r"(/[\w.~-]{1,64}){0,8}", re.ASCII)


@dataclass(slots=True)
class ServerObserver:
    """Collects permanent redirects and the headers about rate limits."""

    places: SchemaPlaces
    _moves: dict[tuple[int, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    _refused_moves: list[str] = field(default_factory=list)
    _limits: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    _retry_sources: list[str] = field(default_factory=list)

    def add(self, exchange: RecordedExchange) -> None:
        """Add an exchange of any operation."""
        if exchange.status in _PERMANENT:
            self._observe_move(exchange)
        for name in _LIMIT_HEADERS:
            text = exchange.headers.get(name, "").partition(",")[0].partition(";")[0].strip()
            if text.isascii() and text.isdecimal() and len(text) <= 9:  # noqa: PLR2004
                self._limits[name, int(text)].append(exchange.source)
        if _RETRY_AFTER in exchange.headers:
            self._retry_sources.append(exchange.source)

    def moved_paths(self) -> Iterator[str]:
        """Yield the paths of the URLs that servers have moved to."""
        # A server that redirects to another URL each time has not moved.
        for _, address in islice(self._moves, _MOST_MOVES):
            yield urlsplit(address).path

    def find_deviations(self) -> Iterator[Deviation]:
        """Yield the moves and the rate limits of servers."""
        yield from self._find_moves()
        yield from self._find_limits()

    def _find_moves(self) -> Iterator[Deviation]:
        totals = Counter[int]()
        for (number, _), sources in self._moves.items():
            totals[number] += len(sources)
        for (number, address), sources in self._moves.items():
            keys: Keys = ("servers", number)
            yield create_deviation(
                "server",
                keys,
                "the server redirects permanently to another URL on the same host",
                observations=len(sources),
                sources=sources,
                changes=[DocumentChange(keys, {"url": address})],
                contradictions=totals[number] - len(sources),
            )
        if self._refused_moves:
            yield create_deviation(
                "redirect",
                (),
                "the server redirects permanently to another origin or path; a proposal would send "
                "credentials there",
                observations=len(self._refused_moves),
                sources=self._refused_moves,
            )

    def _find_limits(self) -> Iterator[Deviation]:
        for (name, number), sources in self._limits.items():
            yield create_deviation(
                "limit",
                (),
                f"the header {name} gives a limit of {number} calls; see Settings(rate=…)",
                observations=len(sources),
                sources=sources,
            )
        if self._retry_sources:
            yield create_deviation(
                "limit",
                (),
                "responses have the header Retry-After; see Settings(rate=…)",
                observations=len(self._retry_sources),
                sources=self._retry_sources,
            )

    def _observe_move(self, exchange: RecordedExchange) -> None:
        old = exchange.url
        try:
            target = urljoin(old, exchange.headers.get("location", ""))
            is_safe = _is_safe_for_credentials(urlsplit(old), urlsplit(target))
        except ValueError:  # not a URL
            return
        for number, server in enumerate(as_list(self.places.document.get("servers"))):
            url = as_string(as_dict(server).get("url")).rstrip("/")
            moved = _find_new_server(url, old, target) if is_safe else ""
            if moved:
                self._moves[number, moved].append(exchange.source)
                return
        if target != old:
            self._refused_moves.append(exchange.source)


def _find_new_server(server: str, old: str, target: str) -> str:
    # Empty unless the redirect replaces the server's part of the URL only.
    before = urljoin(old, server) if server else ""
    if not before or not old.startswith(f"{before}/"):
        return ""
    moved = target.removesuffix(old[len(before) :])
    # Models read the new path, so it must be plain.
    address = urlsplit(moved)
    is_plain = _PLAIN_PATH.fullmatch(address.path)
    if not is_plain or "?" in moved or "#" in moved or moved in (target, before):
        return ""
    # A relative URL stays relative to the document.
    return address.path or "/" if server.startswith("/") else moved


def _is_safe_for_credentials(old: SplitResult, new: SplitResult) -> bool:
    # Otherwise a redirect could send credentials to any server, or unencrypted.
    if (old.scheme, old.netloc.lower()) == (new.scheme, new.netloc.lower()):
        return old.scheme in ("http", "https") and "@" not in new.netloc
    is_encrypted_now = (old.scheme, new.scheme) == ("http", "https")
    return is_encrypted_now and new.netloc.lower() == old.hostname
