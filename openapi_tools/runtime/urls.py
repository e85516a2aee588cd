"""The URLs of one server's requests: its address is parsed once, a plain target not at all.

To parse a URL takes the HTTP client longer than all else that is done to a request, and it has no
public way to give a URL another path without parsing it. So this sets the one attribute that
`httpx.URL(url)` itself copies, after trying it out; with another release of httpx in which that
gives another URL, and for a target in which a parser might change something, it parses.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import httpx

from openapi_tools.errors import CallError

_PLAIN = re.compile(
    r"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]++|%[0-9A-Fa-f]{2})*+"
    r"(?:\?(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]++|%[0-9A-Fa-f]{2})++)?+"
)
"""A target that is in its final form for every parser, unless it has a dot segment.

Spec: RFC 3986, sections 3.3 and 3.4.
"""
_TRIED = "/a%2Fb/-._~!$&'()*+,;=:@c?x=%3F&y=/?:@"


class Address(NamedTuple):
    """A server's address as the HTTP client reads it.

    Attributes:
        base: As it is written, without a slash at its end.
        scheme: `"https"`.
        netloc: Host, and port unless it is the scheme's own.
        path: Of the address, without a slash at its end.
        parts: What a URL of the client is made of; None where it has to be parsed.
    """

    base: str
    scheme: str
    netloc: bytes
    path: bytes
    parts: Any = None

    def url(self, target: str, *, is_plain: bool = False) -> httpx.URL:
        """Return the URL of a target below the address.

        Args:
            target: Path and query, encoded, without dot segments: `"/pets/7?full=1"`.
            is_plain: `needs_no_parser` would say so.

        Raises:
            CallError: `denied`; the HTTP client reads another place.
        """
        if self.parts is not None and (is_plain or needs_no_parser(target)):
            return _filled(self, target)
        url = httpx.URL(self.base + target)
        there = (url.scheme, url.netloc, url.raw_path)
        if there != (self.scheme, self.netloc, self.path + target.encode()):
            raise CallError("denied", "the request would leave its server; it is not sent.")
        return url


@lru_cache(maxsize=1024)
def read_address(base: str) -> Address:
    """Return a server's address as the HTTP client reads it.

    Args:
        base: As `server.server_url` gives it.

    Raises:
        CallError: `connection`; it is none.
    """
    try:
        url = httpx.URL(base)
    except (httpx.InvalidURL, ValueError) as error:
        raise CallError("connection", f"the server address is no address ({error}).") from None
    address = Address(base, url.scheme, url.netloc, url.raw_path.rstrip(b"/"))
    with_parts = address._replace(parts=getattr(url, "_uri_reference", None))
    return with_parts if _gives_the_same(with_parts) else address


def needs_no_parser(target: str) -> bool:
    """Tell whether a target is in its final form for every parser."""
    return "/." not in target and _PLAIN.fullmatch(target) is not None


def _filled(address: Address, target: str) -> httpx.URL:
    path, mark, query = target.partition("?")
    parts = address.parts
    # Scheme, user, host and port are the address's; there is no fragment. `_replace` takes longer.
    filled = (*parts[:4], address.path.decode("ascii") + path, query if mark else None, None)
    url = httpx.URL.__new__(httpx.URL)
    url._uri_reference = parts._make(filled)  # noqa: SLF001 -- see above
    return url


def _gives_the_same(address: Address) -> bool:
    """Tell whether a URL that is filled in is the one that is parsed."""
    try:
        made, parsed = _filled(address, _TRIED), httpx.URL(address.base + _TRIED)
        return (made, str(made), made.raw_path, made.netloc, made.host, made.port) == (
            *(parsed, str(parsed), parsed.raw_path, parsed.netloc, parsed.host, parsed.port),
        )
    except (AttributeError, TypeError, ValueError):
        return False
