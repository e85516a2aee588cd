"""An operation and its arguments as a request: the one place that builds URLs.

The URL is concatenated, never joined, and what the HTTP client might read otherwise is compared
with what it reads: nothing that a document or a model says moves a request off its server and base
path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import httpx

from openapi_tools._version import __version__
from openapi_tools.errors import CallError, InputError
from openapi_tools.http_rules import can_override, has_dot_segment, has_override, header_key
from openapi_tools.json_pointer import pointer_token
from openapi_tools.media_types import is_form, is_media_type
from openapi_tools.requests.body import build_content, form_text
from openapi_tools.requests.encoding import (
    OWN_HEADERS,
    check_cookie_name,
    check_cookie_value,
    check_header,
    check_length,
    is_token,
    percent_encode,
    shown,
)
from openapi_tools.requests.multipart import sources_of
from openapi_tools.requests.path_templates import read_template
from openapi_tools.requests.request_additions import Additions
from openapi_tools.requests.server_urls import server_url
from openapi_tools.requests.styles import (
    content_text,
    cookie_text,
    header_text,
    path_text,
    query_pairs,
)
from openapi_tools.requests.value_text import placed
from openapi_tools.urls import InvalidUrlError, read_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.model import Operation, Parameter
    from openapi_tools.requests.path_templates import Template
    from openapi_tools.settings import Settings

    _Line = tuple[bytes, bytes]

_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization"})
_NO_ADDITIONS = Additions()
_USER_AGENT = (b"User-Agent", f"openapi-tools/{__version__}".encode())
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose requests say that they have no body (RFC 9110, section 8.6)."""


@dataclass(frozen=True, slots=True)
class _Address:
    """A server's address as the HTTP client reads it.

    Attributes:
        base: The address as text, without a slash at its end.
        scheme: `"https"`.
        netloc: Host, and port unless it is the scheme's default.
        path: The address's path, without a slash at its end.
    """

    base: str
    scheme: str
    netloc: bytes
    path: bytes


@dataclass(slots=True)
class _Places:
    """Where the arguments go, each already encoded for its place."""

    path: dict[str, str] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)


class RequestPlan:
    """Builds the requests of one operation: what does not depend on arguments is done once.

    Args:
        operation: What is called.
        settings: Where it is served, and from which folders files may come.

    Raises:
        CallError: There is no usable server, or the method is none.
    """

    __slots__ = ("_address", "_operation", "_own", "_settings", "_template")

    def __init__(self, operation: Operation, settings: Settings) -> None:
        if not is_token(operation.method):
            raise CallError("invalid_input", f"{shown(operation.method)} is no method.")
        self._operation = operation
        self._settings = settings
        self._address = _read_address(server_url(operation, settings))
        self._template = read_template(operation.path)
        self._own = (
            (b"Host", self._address.netloc),
            (b"Accept", _accept(operation.accept).encode("latin-1")),
            (b"Accept-Encoding", b"gzip, deflate"),
            _USER_AGENT,
        )

    def build(
        self,
        arguments: Mapping[str, Any],
        additions: Additions = _NO_ADDITIONS,
    ) -> httpx.Request:
        """Return the request that the document describes for these arguments.

        Args:
            arguments: Validated, JSON-native values by argument name; only those that were given.
            additions: What credentials add; an argument cannot set the same.

        Raises:
            InputError: A value cannot be sent; the pointer names the argument.
            CallError: Nothing here writes such a body, or a credential cannot be sent.
        """
        operation, settings = self._operation, self._settings
        places = _places(operation, arguments, settings)
        target = _path(operation, self._template, places)
        target += _query(self._template, operation, places, additions)
        content = build_content(operation.body, arguments, settings) if operation.body else None
        headers = self._headers(places, additions)
        body = b""
        if content is not None:
            headers.append((b"Content-Type", content.media_type.encode("latin-1")))
            body = content.data
        if body or operation.method.upper() in _WITH_BODY:
            headers.append((b"Content-Length", b"%d" % len(body)))
        url, stream = self._url(target), httpx.ByteStream(body)
        request = httpx.Request(operation.method, url, headers=headers, stream=stream)
        request.method = operation.method  # httpx writes it in upper case
        request.read()
        return request

    def _headers(self, places: _Places, additions: Additions) -> list[_Line]:
        """Return the header lines besides those that describe the body."""
        if not (places.headers or places.cookies or additions):
            return [*self._own]
        lines = [*self._own]
        set_by_arguments = {header_key(name) for name, _ in places.headers}
        if "user-agent" in set_by_arguments:
            lines.remove(_USER_AGENT)
        texts = [*places.headers, *_added_headers(set_by_arguments, additions)]
        cookies = [*places.cookies, *_added_cookies(places, additions)]
        if cookies:
            texts.insert(0, ("Cookie", "; ".join(cookies)))
        return [*lines, *((name.encode(), text.encode("latin-1")) for name, text in texts)]

    def _url(self, target: str) -> httpx.URL:
        """Return the URL of a target below the server's address."""
        address, text = self._address, self._address.base + target
        check_length(text)
        url = read_url(text)
        expected = (address.scheme, address.netloc, address.path + target.encode())
        if (url.scheme, url.netloc, url.raw_path) != expected:
            raise CallError("denied", "the request would leave its server; it is not sent.")
        return url


@lru_cache(maxsize=1024)
def _read_address(base: str) -> _Address:
    """Return a server's address as the HTTP client reads it."""
    try:
        url = read_url(base)
    except InvalidUrlError as error:
        raise CallError("connection", f"the server address is not valid ({error}).") from None
    return _Address(base, url.scheme, url.netloc, url.raw_path.rstrip(b"/"))


def build_request(
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    settings: Settings,
    additions: Additions = _NO_ADDITIONS,
) -> httpx.Request:
    """Return a single request, as `RequestPlan` and its `build` do."""
    return RequestPlan(operation, settings).build(arguments, additions)


def with_additions(request: httpx.Request, additions: Additions) -> httpx.Request:
    """Return a request without arguments with credentials added; headers that it has stay.

    Args:
        request: For instance the one for a document.
        additions: What credentials add.

    Raises:
        CallError: `credentials`: one cannot be sent in its place.
    """
    headers = list(request.headers.raw)
    for name, text in _added_headers(set(), additions):
        if name not in request.headers:
            headers.append((name.encode(), text.encode("latin-1")))
    if cookies := _added_cookies(_Places(), additions):
        headers.append((b"Cookie", "; ".join(cookies).encode("latin-1")))
    query = [request.url.query.decode("ascii"), *_added_query(additions)]
    url = request.url
    if additions.query:
        url = url.copy_with(query="&".join(filter(None, query)).encode("ascii"))
    return httpx.Request(request.method, url, headers=headers)


def _places(operation: Operation, arguments: Mapping[str, Any], settings: Settings) -> _Places:
    places = _Places()
    for parameter in operation.parameters:
        if parameter.argument not in arguments:
            continue
        try:
            _place(parameter, arguments[parameter.argument], places, settings)
        except (InputError, UnicodeEncodeError, RecursionError) as error:
            raise placed(error, parameter.argument) from None
    return places


def _place(parameter: Parameter, value: Any, places: _Places, settings: Settings) -> None:
    match parameter.location:
        case "path":
            places.path[parameter.name] = path_text(parameter, value)
        case "query":
            places.query += [f"{name}={text}" for name, text in query_pairs(parameter, value)]
        case "header":
            if header_key(parameter.name) not in OWN_HEADERS:
                places.headers += _header(parameter, value)
        case "cookie":
            places.cookies += filter(None, [cookie_text(parameter, value)])
        case "querystring":
            places.query += filter(None, [_querystring(parameter, value, settings)])


def _querystring(parameter: Parameter, value: Any, settings: Settings) -> str:
    """Write a whole query string.

    Spec: OpenAPI 3.2.0, section 4.12.1, Parameter Locations.
    """
    if value is None:
        return ""
    if is_form(parameter.media_type):
        return form_text(value, sources_of((), {}, settings))
    return percent_encode(content_text(parameter.media_type, value))


def _header(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    if not is_token(parameter.name):
        raise InputError(f"{shown(parameter.name)} cannot be the name of a header; leave it out.")
    text = header_text(parameter, value)
    return [] if text is None else [(parameter.name, text)]


def _path(operation: Operation, template: Template, places: _Places) -> str:
    """Return the path with its variables filled in.

    Spec: OpenAPI 3.2.0, section 4.8.2, Path Templating.
    """
    names = template.path[1::2]
    path = _joined(template.path, operation, places)
    if not all(map(places.path.get, names)):
        gap = next(name for name in names if not places.path[name])
        if gap != names[-1] or not template.ends_in_variable:
            reason = "the value would leave a gap in the path; it cannot be empty here."
            raise InputError(reason, pointer=_pointer(gap, operation))
    check_length(path)
    if has_dot_segment(path):
        if not names:
            raise CallError("connection", f"the path {shown(operation.path)} leads elsewhere.")
        reason = "the path would have a '.' or '..' segment; it is not sent."
        raise InputError(reason, pointer=_pointer(names[-1], operation))
    return path


def _joined(pieces: tuple[str, ...], operation: Operation, places: _Places) -> str:
    if len(pieces) == 1:
        return pieces[0]
    filled = list(pieces)
    for index in range(1, len(pieces), 2):
        name = pieces[index]
        if name not in places.path:
            raise InputError("a value is needed for the path.", pointer=_pointer(name, operation))
        filled[index] = places.path[name]
    return "".join(filled)


def _pointer(name: str, operation: Operation) -> str:
    found = (p.argument for p in operation.parameters if p.location == "path" and p.name == name)
    return pointer_token(next(found, name))


def _query(template: Template, operation: Operation, places: _Places, additions: Additions) -> str:
    """Return the query with its `?`: the path key's own, the arguments', the credentials'."""
    pairs = [_joined(template.query, operation, places), *places.query]
    if additions.query:
        sent = {unquote_plus(p.partition("=")[0]) for pair in pairs for p in pair.split("&")}
        _check_unset(sent, additions.query)
        pairs += _added_query(additions)
    query = "&".join(filter(None, pairs))
    if has_override(query) and not can_override(operation):
        raise InputError("a query that says '_method' may change what is done; leave it out.")
    return f"?{query}" if query else ""


@lru_cache(maxsize=1024)
def _accept(media_types: tuple[str, ...]) -> str:
    """Return what is asked for, and anything else as a last resort (RFC 9110, section 12.5.1)."""
    listed = [media_type for media_type in media_types if is_media_type(media_type)]
    if not listed or "*/*" in listed:
        return ", ".join(listed) or "*/*"
    return ", ".join([*listed, "*/*;q=0.1"])


def _added_headers(present: set[str], additions: Additions) -> tuple[tuple[str, str], ...]:
    for name, text in additions.headers:
        if not is_token(name) or header_key(name) in OWN_HEADERS - _CREDENTIAL_HEADERS:
            raise CallError(
                "credentials", f"no credential can be sent as the header {shown(name)}."
            )
        _check_credential(name, check_header, text)
    _check_unset(present, tuple((header_key(name), "") for name, _ in additions.headers))
    return additions.headers


def _added_query(additions: Additions) -> list[str]:
    return [f"{percent_encode(name)}={percent_encode(text)}" for name, text in additions.query]


def _added_cookies(places: _Places, additions: Additions) -> list[str]:
    for name, text in additions.cookies:
        _check_credential(name, check_cookie_name, name)
        _check_credential(name, check_cookie_value, text)
    sent = {p.partition("=")[0] for cookie in places.cookies for p in re.split("; |&", cookie)}
    _check_unset(sent, additions.cookies)
    return [f"{name}={text}" for name, text in additions.cookies]


def _check_credential(name: str, check: Callable[[str], None], text: str) -> None:
    """Turn what is wrong with a credential into an error that does not show it."""
    try:
        check(text)
    except InputError:
        reason = f"the credential for {shown(name)} has characters that cannot be sent there."
        raise CallError("credentials", reason) from None


def _check_unset(sent: set[str], added: tuple[tuple[str, str], ...]) -> None:
    for name, _ in added:
        if name in sent:
            raise InputError(f"{shown(name)} is set by the credentials; leave it out.")
