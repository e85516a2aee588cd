"""URLs as the HTTP client reads them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

import httpx

from openapi_tools.common.http_rules import WEB_URL, has_dot_segment

if TYPE_CHECKING:
    from collections.abc import Collection

_UNSENDABLE = re.compile(r"[\x00-\x20\x7f-\x9f\\\ud800-\udfff]")
LONGEST_CACHED = 512  # characters of a URL


class InvalidUrlError(ValueError):
    """A string is not a valid URL, or may not be requested."""


def read_url(text: str, base: httpx.URL | None = None) -> httpx.URL:
    """Return a URL, absolute or relative to `base`.

    Raises:
        InvalidUrlError: A part of it is not valid.
    """
    try:
        url = httpx.URL(text) if base is None else base.join(text)
        url.host  # noqa: B018 -- decodes `xn--` labels, with errors of other packages
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidUrlError(str(error)) from None
    return url


# Many calls of a tool go to one URL, and parsing it takes a tenth of a call's time.
read_cached_url = lru_cache(maxsize=256)(read_url)
"""As `read_url`, but only for short URLs without query and user, which may be secret."""


def resolve_api_url(target: str, base: httpx.URL, server: str) -> httpx.URL:
    """Return the URL that a response refers to.

    Args:
        target: The reference, absolute or relative.
        base: The URL of the request.
        server: The URL of the server, which the target must be below.

    Raises:
        InvalidUrlError: It is not a URL, or not below the server's.
    """
    target = target.strip()
    if _UNSENDABLE.search(target):
        raise InvalidUrlError("it is not a URL")
    target = target.partition("#")[0]
    url = read_url(target) if WEB_URL.match(target) else read_url(target, base)
    scheme, netloc, below = _server_parts(server)
    if (url.scheme, url.netloc.lower()) != (scheme, netloc) or url.userinfo:
        raise InvalidUrlError("it leads to another origin")
    path = url.raw_path.partition(b"?")[0].decode("ascii")
    if (path != below and not path.startswith(f"{below}/")) or has_dot_segment(path):
        raise InvalidUrlError(f"it leads out of {below or '/'}")
    return url


@lru_cache(maxsize=256)
def _server_parts(server: str) -> tuple[str, bytes, str]:
    home = read_url(str(read_url(server)))  # a second parse drops a default port
    path = home.raw_path.partition(b"?")[0].decode("ascii")
    return home.scheme, home.netloc.lower(), path.rstrip("/")


def remove_pairs(url: httpx.URL, names: Collection[str]) -> httpx.URL:
    """Return a URL without the query parameters of these names."""
    if not names:
        return url
    pairs = url.query.decode("ascii").split("&")
    remaining = [p for p in pairs if unquote_plus(p.partition("=")[0]) not in names]
    return url.copy_with(query="&".join(filter(None, remaining)).encode("ascii") or None)
