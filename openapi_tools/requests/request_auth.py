"""The part of a request that credentials add, and previews of requests with it masked."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, InputError
from openapi_tools.http_rules import header_key
from openapi_tools.redaction import Redactor
from openapi_tools.requests.encoding import (
    OWN_HEADERS,
    check_cookie_name,
    check_cookie_value,
    check_header,
    is_token,
    percent_encode,
    shown,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

    import httpx

    _Pairs = tuple[tuple[str, str], ...]

_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization"})
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """The parts of a request that credentials add; arguments cannot replace them.

    Attributes:
        headers: Name and value pairs, for instance `(("Authorization", "Bearer …"),)`.
        query: Unencoded, for instance `(("api_key", "…"),)`.
        cookies: Sent unchanged, for instance `(("session", "…"),)`.
        httpx_auth: An `httpx.Auth` that sees the finished request and its answer.
        certificate: A TLS context that presents a client certificate.
    """

    headers: _Pairs = field(default=(), repr=False)
    query: _Pairs = field(default=(), repr=False)
    cookies: _Pairs = field(default=(), repr=False)
    httpx_auth: Any = field(default=None, repr=False)
    certificate: ssl.SSLContext | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        pairs = self.headers or self.query or self.cookies
        return bool(pairs) or self.httpx_auth is not None or self.certificate is not None


def joined(parts: Iterable[RequestAuth]) -> RequestAuth:
    """Return one value for all schemes of a requirement; at most one has `httpx_auth`."""
    parts = [part for part in parts if part]
    return RequestAuth(
        headers=tuple(pair for part in parts for pair in part.headers),
        query=tuple(pair for part in parts for pair in part.query),
        cookies=tuple(pair for part in parts for pair in part.cookies),
        httpx_auth=next((p.httpx_auth for p in parts if p.httpx_auth is not None), None),
        certificate=next((p.certificate for p in parts if p.certificate is not None), None),
    )


def auth_headers(present: set[str], auth: RequestAuth) -> _Pairs:
    """Return the credentials' headers; none may be among those present, given by `header_key`."""
    for name, text in auth.headers:
        if not is_token(name) or header_key(name) in OWN_HEADERS - _CREDENTIAL_HEADERS:
            reason = f"no credential can be sent as the header {shown(name)}."
            raise CallError("credentials", reason)
        _check_credential(name, check_header, text)
    check_unset(present, tuple((header_key(name), "") for name, _ in auth.headers))
    return auth.headers


def auth_query(auth: RequestAuth) -> list[str]:
    """Return the credentials' pairs of the query, encoded."""
    return [f"{percent_encode(name)}={percent_encode(text)}" for name, text in auth.query]


def auth_cookies(cookies: list[str], auth: RequestAuth) -> list[str]:
    """Return the credentials' cookies; none may be among those of the arguments."""
    for name, text in auth.cookies:
        _check_credential(name, check_cookie_name, name)
        _check_credential(name, check_cookie_value, text)
    sent = {p.partition("=")[0] for cookie in cookies for p in re.split("; |&", cookie)}
    check_unset(sent, auth.cookies)
    return [f"{name}={text}" for name, text in auth.cookies]


def check_unset(sent: set[str], added: _Pairs) -> None:
    """Raise InputError when an argument sets the name of a credential."""
    for name, _ in added:
        if name in sent:
            raise InputError(f"{shown(name)} is set by the credentials; leave it out.")


def _check_credential(name: str, check: Callable[[str], None], text: str) -> None:
    """Turn a fault of a credential into an error that does not show it."""
    try:
        check(text)
    except InputError:
        reason = f"the credential for {shown(name)} has characters that cannot be sent there."
        raise CallError("credentials", reason) from None


@dataclass(frozen=True, slots=True)
class Preview:
    """A request that is not sent, or not yet; `***` replaces secrets.

    `str(preview)` is the request in the form of HTTP/1.1.

    Attributes:
        tool: Name of the tool.
        arguments: The model's, as they fit the tool.
        method: For instance `"DELETE"`.
        url: Whole.
        headers: Name and value pairs, in the order in which they are sent.
        body: As text, cut after 20,000 characters; a size in words for binary data; None for none.
        note: A remark, for instance that a credential is missing; may be empty.
        call_id: Of the call; empty when it has none.
    """

    tool: str
    arguments: dict[str, Any]
    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    note: str = ""
    call_id: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        body = [] if self.body is None else ["", self.body]
        headers = [f"{name}: {value}" for name, value in self.headers]
        return "\n".join([f"{self.method} {self.url}", *headers, *body])

    def as_data(self) -> dict[str, Any]:
        """Return the request as JSON-native data: method, url, headers, body, and a note."""
        members: dict[str, Any] = {
            "method": self.method,
            "url": self.url,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
        }
        return {**members, "note": self.note} if self.note else members


def preview_of(
    request: httpx.Request,
    tool: str,
    arguments: dict[str, Any],
    *,
    redactor: Redactor | None = None,
) -> Preview:
    """Return the preview of a request that was built with masked credentials."""
    redactor = Redactor() if redactor is None else redactor
    return Preview(
        tool,
        copy.deepcopy(redactor.data(arguments)),  # an approver may not change the call
        request.method,
        redactor.text(str(request.url).replace("%2A%2A%2A", "***")),
        tuple((name, redactor.text(value)) for name, value in request.headers.multi_items()),
        _body(request.content, redactor),
    )


def _body(content: bytes, redactor: Redactor) -> str | None:
    if not content:
        return None
    try:
        text = redactor.text(content.decode())
    except UnicodeDecodeError:
        return f"({len(content)} bytes that are not text)"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters in all)"
