"""Which redirects are followed: those of reads, inside the origin, a few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.http_rules import reads
from openapi_tools.redaction import excerpt
from openapi_tools.transport.transport_errors import not_followed
from openapi_tools.urls import InvalidUrlError, read_url

if TYPE_CHECKING:
    import httpx

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
"""Spec: RFC 9110, section 15.4; 300, 304 and 305 name no one place to go to."""

_MOST = 5
_FOLLOWED = frozenset({"GET", "HEAD"})
_SHOWN = 200


def redirected(
    request: httpx.Request, response: httpx.Response, followed: int
) -> httpx.Request | None:
    """Return the request that a redirect asks for.

    Another origin may be anyone's: neither credentials nor the input go there. A second POST would
    act twice.

    Args:
        request: What was answered with the redirect.
        response: The redirect; its body is not read.
        followed: How many redirects led to `request`.

    Returns:
        The next request; None when the redirect does not say where to.

    Raises:
        CallError: `redirect`, when it is not followed.
    """
    places = set(response.headers.get_list("location"))
    if not places:
        return None
    import httpx

    status = response.status_code
    if len(places) > 1:
        raise not_followed(request, "several places", "only one can be meant", status=status)
    try:
        target = read_url(places.pop(), request.url).copy_with(fragment=None)
    except InvalidUrlError:
        raise not_followed(request, "a place", "it is no address", status=status) from None
    if refusal := _refusal(request, target, followed):
        raise not_followed(request, _shown(target), refusal, status=status)
    kept = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
    return httpx.Request(request.method, target, headers=kept, extensions=dict(request.extensions))


def _refusal(request: httpx.Request, target: httpx.URL, followed: int) -> str:
    """Return why a redirect is not followed; empty when it is."""
    if _origin(request.url) != _origin(target) or target.userinfo:
        return "it leads to another origin"
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    if request.method not in _FOLLOWED or has_body or not reads(request):
        return "only GET and HEAD without a body are"
    if followed == _MOST:
        return f"there were {_MOST} before it"
    return ""


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _shown(url: httpx.URL) -> str:
    """Return an address without what may be secret in it: user, password, query."""
    host = url.raw_host.decode("ascii", "replace")
    port = f":{url.port}" if url.port is not None else ""
    path = url.raw_path.partition(b"?")[0].decode("ascii", "replace")
    text = f"{url.scheme}://{host}{port}{path}" if host else f"a {url.scheme}: address"
    return excerpt(text, _SHOWN)
