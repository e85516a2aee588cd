"""Redirects: which are the result of a call, which are followed, and which are refused.

Spec: RFC 9110, section 15.4.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx

from openapi_tools.errors import CallError
from openapi_tools.http_rules import InvalidUrlError, has_dot_segment, read_url, reads
from openapi_tools.redaction import excerpt
from openapi_tools.transport.failures import redirect_error, request_path

if TYPE_CHECKING:
    from collections.abc import Collection

# 300, 304 and 305 name no single target.
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_SAME_REQUEST = frozenset({307, 308})  # ask for the same method and body
_MOST_READS = 5
_MOST_WRITES = 1


def is_result(request: httpx.Request, status: int, documented: Collection[str]) -> bool:
    """Whether a redirect is what an operation gives, and no failure if it is not followed.

    After a write a 303 says that it was done, and where more is to be read (RFC 9110, 15.4.4).

    Args:
        request: The request that was redirected.
        status: The status of the response.
        documented: The operation's statuses below 400, where a redirect is among them.
    """
    is_redirect = 300 <= status < 400 and status != HTTPStatus.NOT_MODIFIED  # noqa: PLR2004
    if status == HTTPStatus.SEE_OTHER and not _is_plain_read(request):
        return True
    return is_redirect and (str(status) in documented or "3XX" in documented)


def next_request(
    request: httpx.Request,
    response: httpx.Response,
    followed: int,
    *,
    base: str,
    documented: Collection[str],
) -> httpx.Request | CallError | None:
    """Return the request that a redirect asks for, or the error for one that is not followed.

    None: the response is the result. A redirect that is the only documented success is one, and is
    not followed; beside a documented 2xx it is one where it cannot be followed.
    """
    status = response.status_code
    if status not in REDIRECT_STATUSES or "location" not in response.headers:
        return None
    ends_here = is_result(request, status, documented)
    is_other_read = status == HTTPStatus.SEE_OTHER and not _is_plain_read(request)
    if ends_here and (is_other_read or not any(each.startswith("2") for each in documented)):
        return None
    try:
        return _redirected(request, response, followed, base)
    except CallError as error:
        return None if ends_here else error


def _redirected(
    request: httpx.Request, response: httpx.Response, followed: int, base: str
) -> httpx.Request:
    status = response.status_code

    def refused(to: str, why: str) -> CallError:
        return redirect_error(request, to, why, status=status)

    places = set(response.headers.get_list("location"))
    if len(places) > 1:
        raise refused("several places", "only one can be meant")
    try:
        target = read_url(places.pop(), request.url).copy_with(fragment=None)
    except InvalidUrlError:
        raise refused("a place", "it is not an address") from None
    if why := _refusal(request, target, followed, status):
        raise refused(_shown(target), why)
    others = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
    extensions = dict(request.extensions)
    # The body is bytes, or opens its files anew each time that it is sent.
    following = httpx.Request(
        request.method,
        target,
        headers=[(b"Host", target.netloc), *others],
        stream=request.stream,
        extensions=extensions,
    )
    following.method = request.method  # httpx writes it in upper case
    if isinstance(request.stream, httpx.ByteStream):
        following.read()
    path = target.raw_path.partition(b"?")[0].decode("ascii", "replace")
    below = read_url(base).raw_path.decode("ascii").rstrip("/") if base else ""
    if (path != below and not path.startswith(f"{below}/")) or has_dot_segment(path):
        raise refused(request_path(following), f"it leads out of {below or '/'}")
    return following


def _refusal(request: httpx.Request, target: httpx.URL, followed: int, status: int) -> str:
    origins = {(url.scheme, url.host, url.port) for url in (request.url, target)}
    if len(origins) > 1 or target.userinfo:
        return "it leads to another origin"
    if _is_plain_read(request):
        return f"there were {_MOST_READS} before it" if followed >= _MOST_READS else ""
    if status not in _SAME_REQUEST or (request.method in ("GET", "HEAD") and not reads(request)):
        return "only GET and HEAD without a body are, and others after a 307 or 308"
    if followed >= _MOST_WRITES:
        return "a request with a body, or one that writes, is redirected once"
    return ""


def _is_plain_read(request: httpx.Request) -> bool:
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    return request.method in ("GET", "HEAD") and not has_body and reads(request)


def _shown(url: httpx.URL) -> str:
    """Return an address without user, password and query, which may be secret."""
    host = url.raw_host.decode("ascii", "replace")
    port = f":{url.port}" if url.port is not None else ""
    path = url.raw_path.partition(b"?")[0].decode("ascii", "replace")
    text = f"{url.scheme}://{host}{port}{path}" if host else f"a {url.scheme}: address"
    return excerpt(text, 200)
