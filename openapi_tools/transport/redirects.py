"""Redirects: which are the result of a call, which are followed, and which are refused.

Spec: RFC 9110, section 15.4.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx

from openapi_tools.common.http_rules import has_dot_segment, is_read_request
from openapi_tools.errors import CallError
from openapi_tools.redaction import excerpt
from openapi_tools.transport.failures import redirect_error, request_path
from openapi_tools.transport.urls import InvalidUrlError, read_url

if TYPE_CHECKING:
    from collections.abc import Collection

# 300, 304 and 305 name no single target.
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_SAME_REQUEST = frozenset({307, 308})  # ask for the same method and body
# As RFC 2068, section 10.3, recommended; RFC 9110, section 15.4, has no number. Within one origin
# only loops are longer.
_MOST_READS = 5
_MOST_WRITES = 1


def is_result(request: httpx.Request, status: int, documented: Collection[str]) -> bool:
    """Whether a redirect is the result of an operation, and no failure if it is not followed.

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
    """Return the request that a redirect asks for, or the error if it must not be followed.

    A redirect that is the only documented success is the result, and is not followed. If a 2xx is
    documented too, it is the result only if it cannot be followed.

    Args:
        request: The request that was redirected.
        response: The redirect, whose status is one of `REDIRECT_STATUSES`.
        followed: How many redirects came before.
        base: The URL below which redirects have to stay; empty for the whole origin.
        documented: As for `is_result`.

    Returns:
        None if the response is the result.
    """
    status = response.status_code
    if "location" not in response.headers:
        return None
    ends_here = is_result(request, status, documented)
    is_other_read = status == HTTPStatus.SEE_OTHER and not _is_plain_read(request)
    if ends_here and (is_other_read or not any(each.startswith("2") for each in documented)):
        return None
    try:
        return _redirect(request, response, followed, base)
    except CallError as error:
        return None if ends_here else error


def _redirect(
    request: httpx.Request, response: httpx.Response, followed: int, base: str
) -> httpx.Request:
    status = response.status_code

    def refuse(to: str, why: str) -> CallError:
        return redirect_error(request, to, why, status=status)

    # Equal ones are one; of different ones proxies and clients take different ones.
    locations = set(response.headers.get_list("location"))
    if len(locations) > 1:
        raise refuse("several locations", "there must be only one")
    try:
        target = read_url(locations.pop(), request.url).copy_with(fragment=None)
    except InvalidUrlError:
        raise refuse("a location", "it is not a URL") from None
    if why := _find_refusal(request, target, followed, status):
        raise refuse(_without_secrets(target), why)
    headers = [line for line in request.headers.raw if line[0].lower() != b"host"]
    # The body is bytes, or opens its files again each time that it is sent.
    redirected = httpx.Request(
        request.method,
        target,
        headers=[(b"Host", target.netloc), *headers],
        stream=request.stream,
        extensions=dict(request.extensions),
    )
    redirected.method = request.method  # httpx writes it in upper case
    if isinstance(request.stream, httpx.ByteStream):
        redirected.read()
    path = target.raw_path.partition(b"?")[0].decode("ascii", "replace")
    below = read_url(base).raw_path.decode("ascii").rstrip("/") if base else ""
    # The path of the server bounds what the credentials are for, as of several tenants on one
    # host.
    if (path != below and not path.startswith(f"{below}/")) or has_dot_segment(path):
        raise refuse(request_path(redirected), f"it leads out of {below or '/'}")
    return redirected


def _find_refusal(request: httpx.Request, target: httpx.URL, followed: int, status: int) -> str:
    origins = {(url.scheme, url.host, url.port) for url in (request.url, target)}
    # Also from http to https: a network attacker answers plain http, and chooses the host.
    if len(origins) > 1 or target.userinfo:
        return "it leads to another origin"
    if _is_plain_read(request):
        return f"there were {_MOST_READS} redirects before it" if followed >= _MOST_READS else ""
    if status not in _SAME_REQUEST or (
        request.method in ("GET", "HEAD") and not is_read_request(request)
    ):
        return "only GET and HEAD without a body are, and other methods after a 307 or 308"
    if followed >= _MOST_WRITES:
        return "a request with a body, or one that writes, is redirected once"
    return ""


def _is_plain_read(request: httpx.Request) -> bool:
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    return request.method in ("GET", "HEAD") and not has_body and is_read_request(request)


def _without_secrets(url: httpx.URL) -> str:
    # User, password and query may be secret.
    host = url.raw_host.decode("ascii", "replace")
    port = f":{url.port}" if url.port is not None else ""
    path = url.raw_path.partition(b"?")[0].decode("ascii", "replace")
    text = f"{url.scheme}://{host}{port}{path}" if host else f"a {url.scheme}: URL"
    return excerpt(text, 200)
