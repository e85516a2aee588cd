"""HTTP's rules for methods, header names and path segments, and how servers bend them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_plus

from openapi_tools.media_types import is_form, is_multipart

if TYPE_CHECKING:
    import httpx

    from openapi_tools.model import Operation, RequestBody

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
_IDEMPOTENT = _SAFE | {"PUT", "DELETE"}
_HEADERS = frozenset({"x-http-method", "x-http-method-override", "x-method-override"})
_MEMBER = "_method"

_DECODINGS = 8
_BLANK = r"[\x00-\x20\x7f]*"
_DOT_SEGMENT = re.compile(
    rf"(?:^|[/\\]){_BLANK}\.{_BLANK}(?:\.{_BLANK})?(?:[;?#\x00][^/\\]*)?(?=[/\\]|$)"
)


def is_safe(method: str) -> bool:
    """Whether a method only reads (RFC 9110, section 9.2.1)."""
    return method in _SAFE


def is_idempotent(method: str) -> bool:
    """Whether two equal calls do no more than one (RFC 9110, section 9.2.2)."""
    return method in _IDEMPOTENT


def is_destructive(method: str) -> bool:
    """Whether a method changes or deletes what is there; POST adds, as clients of MCP see it."""
    return method not in _SAFE and method != "POST"


def can_override(operation: Operation) -> bool:
    """Whether a call can ask for another method: in a header, its query or a form.

    Frameworks read `X-HTTP-Method-Override` and its like, and `_method`, for clients without PUT or
    DELETE.
    """
    for parameter in operation.parameters:
        if parameter.location == "header" and header_key(parameter.name) in _HEADERS:
            return True
        if parameter.location == "query" and parameter.name.lower() == _MEMBER:
            return True
    return has_override(operation.path.partition("?")[2]) or _of_form(operation.body)


def is_read(operation: Operation) -> bool:
    """Whether the calls of an operation only read."""
    return is_safe(operation.method) and not can_override(operation)


def _of_form(body: RequestBody | None) -> bool:
    if body is None:
        return False
    form = is_form(body.media_type) or is_multipart(body.media_type)
    named = form and any(member.name.lower() == _MEMBER for member in body.properties)
    return named or any(map(_of_form, body.choices))


def has_override(query: str) -> bool:
    """Whether a query has a `_method`."""
    if "method" not in query.lower():
        return False
    return any(unquote_plus(p.partition("=")[0]).lower() == _MEMBER for p in query.split("&"))


def reads(request: httpx.Request) -> bool:
    """Whether a request only reads."""
    return is_safe(request.method) and not _overrides(request)


def repeats(request: httpx.Request) -> bool:
    """Whether two equal requests do no more than one."""
    return is_idempotent(request.method) and not _overrides(request)


def _overrides(request: httpx.Request) -> bool:
    query = request.url.query.decode("ascii", "replace")
    return has_override(query) or not _HEADERS.isdisjoint(map(header_key, request.headers))


def header_key(name: str) -> str:
    """Return a header's name as it is compared: servers take `_` and `-` for the same character.

    Spec: RFC 3875, section 4.1.18: both become `_`.
    """
    return name.lower().replace("_", "-")


def has_dot_segment(text: str) -> bool:
    """Whether a server that decodes the text, once or several times, could read `.` or `..` in it.

    A segment ends at `/` or a backslash; what servers strip from it (path parameters after `;`,
    blanks, control characters, all behind a NUL) does not hide the dots. Text that is still encoded
    after eight decodings counts as one that could.
    """
    for _ in range(_DECODINGS):
        if "." in text and _DOT_SEGMENT.search(text):
            return True
        if "%" not in text or (decoded := unquote(text)) == text:
            return False
        text = decoded
    return True
