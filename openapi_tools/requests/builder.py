"""An operation and its arguments as a request: the only module that builds URLs.

The URL is concatenated, never joined, and compared with the client's own reading of it: neither a
document nor a model can move a request off its server and base path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_plus

import httpx

from openapi_tools._version import __version__
from openapi_tools.errors import CallError, InputError
from openapi_tools.http_rules import (
    InvalidUrlError,
    can_override,
    has_dot_segment,
    has_override,
    header_key,
    read_url,
)
from openapi_tools.json_values import pointer_token
from openapi_tools.media_types import is_form, is_media_type
from openapi_tools.requests.body import build_content, form_text
from openapi_tools.requests.encoding import (
    OWN_HEADERS,
    PATH_LITERAL,
    check_cookie_name,
    check_cookie_value,
    check_header,
    check_length,
    is_token,
    keep_triples,
    percent_encode,
    placed,
    shown,
)
from openapi_tools.requests.multipart import sources_of
from openapi_tools.requests.request_auth import RequestAuth
from openapi_tools.requests.server_urls import VARIABLE, server_url
from openapi_tools.requests.styles import (
    content_text,
    cookie_text,
    header_text,
    path_text,
    query_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.model import Operation, Parameter
    from openapi_tools.settings import Settings

    _Line = tuple[bytes, bytes]

_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization"})
_NO_AUTH = RequestAuth()
_USER_AGENT = (b"User-Agent", f"openapi-tools/{__version__}".encode())
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""Methods that send `Content-Length: 0` without a body (RFC 9110, section 8.6)."""

_PATH_PART = re.compile(r"(?:\{[^{}]*\}|[^?#])*")


class _Address(NamedTuple):
    """A server's address, as text and as the HTTP client reads it, with its path."""

    base: str
    url: httpx.URL
    path: bytes


class _Template(NamedTuple):
    """A path of a document: encoded literals and names of variables in turn."""

    path: tuple[str, ...]
    query: tuple[str, ...]

    @property
    def ends_in_variable(self) -> bool:
        """Whether the last segment is one variable and nothing else."""
        return len(self.path) > 1 and not self.path[-1] and self.path[-3].endswith("/")


@dataclass(slots=True)
class _Places:
    """The arguments by their place, each already encoded for it."""

    path: dict[str, str] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)


class RequestPlan:
    """Builds the requests of one operation; work that is the same for all is done once.

    Args:
        operation: The operation to call.
        settings: Server and file folders.

    Raises:
        CallError: The server or the method is not valid.
    """

    __slots__ = ("_address", "_operation", "_own", "_settings", "_template")

    def __init__(self, operation: Operation, settings: Settings) -> None:
        if not is_token(operation.method):
            raise CallError("invalid_input", f"{shown(operation.method)} is not a valid method.")
        self._operation = operation
        self._settings = settings
        self._address = _read_address(server_url(operation, settings))
        self._template = _read_template(operation.path)
        self._own = (
            (b"Host", self._address.url.netloc),
            (b"Accept", _accept(operation.accept).encode("latin-1")),
            (b"Accept-Encoding", b"gzip, deflate"),
            _USER_AGENT,
        )

    def build(self, arguments: Mapping[str, Any], auth: RequestAuth = _NO_AUTH) -> httpx.Request:
        """Return the request that the document describes for these arguments.

        Args:
            arguments: Validated, JSON-native values by argument name; only those that were given.
            auth: Added by the credentials; an argument cannot set the same.

        Raises:
            InputError: A value cannot be sent; the pointer names the argument.
            CallError: This package cannot write such a body, or a credential cannot be sent.
        """
        operation, settings = self._operation, self._settings
        places = _places(operation, arguments, settings)
        target = _path(operation, self._template, places)
        target += _query(self._template, operation, places, auth)
        content = build_content(operation.body, arguments, settings) if operation.body else None
        headers = self._headers(places, auth)
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

    def _headers(self, places: _Places, auth: RequestAuth) -> list[_Line]:
        """Return the header lines besides those that describe the body."""
        lines = [*self._own]
        if not (places.headers or places.cookies or auth.headers or auth.cookies):
            return lines
        set_by_arguments = {header_key(name) for name, _ in places.headers}
        if "user-agent" in set_by_arguments:
            lines.remove(_USER_AGENT)
        texts = [*places.headers, *_auth_headers(set_by_arguments, auth)]
        cookies = [*places.cookies, *_auth_cookies(places.cookies, auth)]
        if cookies:
            texts.insert(0, ("Cookie", "; ".join(cookies)))
        return [*lines, *((name.encode(), text.encode("latin-1")) for name, text in texts)]

    def _url(self, target: str) -> httpx.URL:
        """Return the URL of a target below the server's address."""
        address = self._address
        check_length(address.base + target)
        raw_path = address.path + target.encode()
        url = address.url.copy_with(raw_path=raw_path)
        if (url.netloc, url.raw_path) != (address.url.netloc, raw_path):
            raise CallError("denied", "the request would leave its server; it is not sent.")
        return url


def build_request(
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    settings: Settings,
    auth: RequestAuth = _NO_AUTH,
) -> httpx.Request:
    """Return a single request, as `RequestPlan` and its `build` do."""
    return RequestPlan(operation, settings).build(arguments, auth)


def with_auth(request: httpx.Request, auth: RequestAuth) -> httpx.Request:
    """Return a request without arguments with credentials added; its own headers stay."""
    headers = list(request.headers.raw)
    for name, text in _auth_headers(set(), auth):
        if name not in request.headers:
            headers.append((name.encode(), text.encode("latin-1")))
    if cookies := _auth_cookies([], auth):
        headers.append((b"Cookie", "; ".join(cookies).encode("latin-1")))
    url = request.url
    if auth.query:
        query = [url.query.decode("ascii"), *_auth_query(auth)]
        url = url.copy_with(query="&".join(filter(None, query)).encode("ascii"))
    return httpx.Request(request.method, url, headers=headers)


@lru_cache(maxsize=1024)
def _read_address(base: str) -> _Address:
    try:
        url = read_url(base)
    except InvalidUrlError as error:
        raise CallError("connection", f"the server address is not valid ({error}).") from None
    return _Address(base, url, url.raw_path.rstrip(b"/"))


@lru_cache(maxsize=8192)
def _read_template(path: str) -> _Template:
    """Read a document's path; the part after `#` only tells operations apart."""
    match = _PATH_PART.match(path)
    before = match[0] if match else ""
    query = path[len(before) :].partition("#")[0].removeprefix("?")
    before = before if before.startswith("/") else f"/{before}"
    return _Template(_pieces(before, PATH_LITERAL), _pieces(query, PATH_LITERAL + "?[]|"))


def _pieces(template: str, safe: str) -> tuple[str, ...]:
    pieces = VARIABLE.split(template)
    return tuple(p if i % 2 else keep_triples(p, safe) for i, p in enumerate(pieces))


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
    """Write a whole query string (OpenAPI 3.2.0, section 4.12.1)."""
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


def _path(operation: Operation, template: _Template, places: _Places) -> str:
    """Return the path with its variables filled in (OpenAPI 3.2.0, section 4.8.2)."""
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


def _query(template: _Template, operation: Operation, places: _Places, auth: RequestAuth) -> str:
    """Return the query with its `?`: the path key's own, the arguments', the credentials'."""
    pairs = [_joined(template.query, operation, places), *places.query]
    if auth.query:
        sent = {unquote_plus(p.partition("=")[0]) for pair in pairs for p in pair.split("&")}
        _check_unset(sent, auth.query)
        pairs += _auth_query(auth)
    query = "&".join(filter(None, pairs))
    if has_override(query) and not can_override(operation):
        raise InputError("a query with '_method' may change the method; leave it out.")
    return f"?{query}" if query else ""


@lru_cache(maxsize=1024)
def _accept(media_types: tuple[str, ...]) -> str:
    """Return the `Accept` header: anything else as a last resort (RFC 9110, section 12.5.1)."""
    listed = [media_type for media_type in media_types if is_media_type(media_type)]
    if not listed or "*/*" in listed:
        return ", ".join(listed) or "*/*"
    return ", ".join([*listed, "*/*;q=0.1"])


def _auth_headers(present: set[str], auth: RequestAuth) -> tuple[tuple[str, str], ...]:
    for name, text in auth.headers:
        if not is_token(name) or header_key(name) in OWN_HEADERS - _CREDENTIAL_HEADERS:
            reason = f"no credential can be sent as the header {shown(name)}."
            raise CallError("credentials", reason)
        _check_credential(name, check_header, text)
    _check_unset(present, tuple((header_key(name), "") for name, _ in auth.headers))
    return auth.headers


def _auth_query(auth: RequestAuth) -> list[str]:
    return [f"{percent_encode(name)}={percent_encode(text)}" for name, text in auth.query]


def _auth_cookies(cookies: list[str], auth: RequestAuth) -> list[str]:
    for name, text in auth.cookies:
        _check_credential(name, check_cookie_name, name)
        _check_credential(name, check_cookie_value, text)
    sent = {p.partition("=")[0] for cookie in cookies for p in re.split("; |&", cookie)}
    _check_unset(sent, auth.cookies)
    return [f"{name}={text}" for name, text in auth.cookies]


def _check_credential(name: str, check: Callable[[str], None], text: str) -> None:
    """Turn a fault of a credential into an error that does not show it."""
    try:
        check(text)
    except InputError:
        reason = f"the credential for {shown(name)} has characters that cannot be sent there."
        raise CallError("credentials", reason) from None


def _check_unset(sent: set[str], added: tuple[tuple[str, str], ...]) -> None:
    for name, _ in added:
        if name in sent:
            raise InputError(f"{shown(name)} is set by the credentials; leave it out.")
