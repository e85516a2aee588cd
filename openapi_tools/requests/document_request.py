"""The request for a document, which has no arguments."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import httpx

from openapi_tools import requests
from openapi_tools._version import __version__
from openapi_tools.errors import SourceError
from openapi_tools.transport.content_codings import CODINGS
from openapi_tools.transport.urls import InvalidUrlError, read_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.requests import RequestAuth

_HEADERS = {
    "Accept": "application/json, application/yaml;q=0.9, */*;q=0.5",
    "Accept-Encoding": CODINGS,
    "User-Agent": f"openapi-tools/{__version__}",
    # The event loop ends with the fetch, so nothing could use the connection again.
    "Connection": "close",
}
_LARGEST_PORT = 65535


def make_document_request(url: str, conditions: Mapping[str, str] | None = None) -> httpx.Request:
    """Return the request for a document.

    Args:
        url: The URL; a user in it is sent as a header.
        conditions: Headers such as `If-None-Match`.

    Raises:
        SourceError: The URL cannot be requested.
    """
    try:
        address = read_url(url)
    except InvalidUrlError:
        raise SourceError("the URL is not valid.") from None
    # RFC 3986, section 3.2.1: logs and messages show URLs, so the user goes into a header.
    bare_url = address.copy_with(userinfo=b"", fragment=None)
    if not address.host or (address.port or 0) > _LARGEST_PORT:
        raise SourceError("the URL has no host, or its port is not valid.")
    headers = {**_HEADERS, **(conditions or {})}
    if address.userinfo:
        pair = f"{address.username}:{address.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return httpx.Request("GET", bare_url, headers=headers)


def add_auth(request: httpx.Request, auth: RequestAuth) -> httpx.Request:
    """Return a request without arguments, with credentials added; its own headers stay."""
    headers = list(request.headers.raw)
    for name, text in requests.auth_headers(set(), auth):
        if name not in request.headers:
            headers.append((name.encode(), text.encode("latin-1")))
    if cookies := requests.auth_cookies([], auth):
        headers.append((b"Cookie", "; ".join(cookies).encode("latin-1")))
    url = request.url
    if auth.query:
        query = [url.query.decode("ascii"), *requests.auth_query(auth)]
        url = url.copy_with(query="&".join(filter(None, query)).encode("ascii"))
    return httpx.Request(request.method, url, headers=headers)
