"""An operation and its arguments as a request: the only module that builds URLs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import httpx

from openapi_tools import requests
from openapi_tools._version import __version__
from openapi_tools.common import http_rules
from openapi_tools.common.json_values import pointer_token
from openapi_tools.errors import CallError, InputError
from openapi_tools.requests import RequestAuth, encoding
from openapi_tools.requests.body import RequestContent, form_text, sources_of, write_content
from openapi_tools.requests.encoding import quote_excerpt
from openapi_tools.requests.path_templates import VARIABLE, split_template
from openapi_tools.transport.urls import (
    LONGEST_CACHED,
    InvalidUrlError,
    read_cached_url,
    read_url,
    remove_pairs,
    resolve_api_url,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from openapi_tools.model import Operation, Parameter, RequestBody
    from openapi_tools.settings import Settings
    from openapi_tools.state.file_store import StoredFile

_NO_AUTH = RequestAuth()
_USER_AGENT = (b"User-Agent", f"openapi-tools/{__version__}".encode())
# Methods that send `Content-Length: 0` without a body (RFC 9110, section 8.6).
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(slots=True)
class _EncodedArguments:
    """The arguments by location, each encoded for it."""

    path: dict[str, str] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)


class RequestPlan:
    """Builds the requests of one operation; CallError for an unusable server or method."""

    __slots__ = (
        "_base",
        "_default_headers",
        "_leading_argument",
        "_netloc",
        "_operation",
        "_path",
        "_settings",
        "_templates",
    )

    def __init__(self, operation: Operation, settings: Settings) -> None:
        if not encoding.is_token(operation.method):
            raise CallError(
                "invalid_input", f"{quote_excerpt(operation.method)} is not a valid method."
            )
        self._operation = operation
        self._settings = settings
        try:
            url = read_url(requests.server_url(operation, settings))
            # httpx drops a default port where the scheme is in lower case.
            url = read_url(str(url))
        except InvalidUrlError as error:
            reason = f"the server address is not valid ({error})."
            raise CallError("connection", reason) from None
        self._netloc, self._path = url.netloc, url.raw_path.rstrip(b"/")
        self._base = f"{url.scheme}://{(self._netloc + self._path).decode('ascii')}"
        self._templates = split_template(operation.path)
        self._leading_argument = _leading_argument(operation)
        self._default_headers = (
            (b"Host", self._netloc),
            (b"Accept", _accept_header(operation.accept).encode("latin-1")),
            (b"Accept-Encoding", b"gzip, deflate"),
            _USER_AGENT,
        )

    def build(self, arguments: Mapping[str, Any], auth: RequestAuth = _NO_AUTH) -> httpx.Request:
        """Return the request for validated arguments; an InputError points at one of them."""
        operation, settings = self._operation, self._settings
        places = self._encode(arguments)
        target = _build_path(operation, self._templates[0], places)
        target += _build_query(operation, self._templates[1], places, auth)
        content = build_content(operation.body, arguments, settings) if operation.body else None
        headers = self._build_headers(places, auth)
        body: bytes | list[bytes | StoredFile] = b""
        if content is not None:
            headers.append((b"Content-Type", content.media_type.encode("latin-1")))
            body = content.data
        if body or operation.method.upper() in _WITH_BODY:
            length = len(body) if isinstance(body, bytes) else sum(map(len, body))
            headers.append((b"Content-Length", b"%d" % length))
        url = self._build_url(target)
        stream = httpx.ByteStream(body) if isinstance(body, bytes) else _PartStream(body)
        request = httpx.Request(operation.method, url, headers=headers, stream=stream)
        request.method = operation.method  # httpx writes it in upper case
        if isinstance(body, bytes):
            request.read()
        return request

    def _encode(self, arguments: Mapping[str, Any]) -> _EncodedArguments:
        if self._leading_argument in arguments:
            arguments = {
                **arguments,
                self._leading_argument: self._relative_path(arguments[self._leading_argument]),
            }
        return _encode_arguments(self._operation, arguments, self._settings)

    def _relative_path(self, value: Any) -> Any:
        # Models copy such a path from responses, where it may begin with a slash or with the
        # server's base path, or be a whole URL of the server.
        if not isinstance(value, str):
            return value
        base = self._path.decode("ascii")
        if http_rules.WEB_URL.match(value):
            if not value.startswith(f"{self._base}/"):
                reason = (
                    f"{quote_excerpt(value)} is not a URL of this API; its server is {self._base}."
                )
                raise InputError(reason, pointer=pointer_token(self._leading_argument))
            return value.removeprefix(f"{self._base}/")
        if base and value.startswith(f"{base}/"):
            return value.removeprefix(f"{base}/")
        return value.removeprefix("/")

    def build_follow_up(
        self, address: str, arguments: Mapping[str, Any], auth: RequestAuth = _NO_AUTH
    ) -> httpx.Request:
        """Return a GET request for a URL in a response; CallError if it is not the API's."""
        try:
            url = resolve_api_url(address, read_url(f"{self._base}/"), self._base)
        except InvalidUrlError as error:
            raise CallError("denied", f"the address is not requested: {error}.") from None
        path = url.raw_path[len(self._path) :].partition(b"?")[0].decode("ascii")
        own_pairs = remove_pairs(url, [name for name, _ in auth.query]).query.decode("ascii")
        query = "&".join(filter(None, [own_pairs, *requests.auth_query(auth)]))
        # Rails, Laravel and others read another method from `_method`: a GET would become a
        # DELETE.
        if http_rules.has_override(query):
            raise CallError("denied", "not requested, as '_method' may change the method.")
        headers = self._build_headers(self._encode(arguments), auth)
        url = self._build_url(path + (f"?{query}" if query else ""))
        request = httpx.Request("GET", url, headers=headers)
        request.read()
        return request

    def _build_headers(
        self, places: _EncodedArguments, auth: RequestAuth
    ) -> list[tuple[bytes, bytes]]:
        lines = [*self._default_headers]
        if not (places.headers or places.cookies or auth.headers or auth.cookies):
            return lines
        set_by_arguments = {http_rules.header_key(name) for name, _ in places.headers}
        # An API that documents the header wants the caller's own (RFC 9110, section 10.1.5).
        if "user-agent" in set_by_arguments:
            lines.remove(_USER_AGENT)
        texts = [*places.headers, *requests.auth_headers(set_by_arguments, auth)]
        if cookies := [*places.cookies, *requests.auth_cookies(places.cookies, auth)]:
            texts.insert(0, ("Cookie", "; ".join(cookies)))
        return [*lines, *((name.encode(), text.encode("latin-1")) for name, text in texts)]

    def _build_url(self, target: str) -> httpx.URL:
        text = self._base + target
        encoding.check_length(text)
        is_cacheable = "?" not in target and len(text) <= LONGEST_CACHED
        # As the client reads it: no value may lead elsewhere.
        url = read_cached_url(text) if is_cacheable else read_url(text)
        if (url.netloc, url.raw_path) != (self._netloc, self._path + target.encode()):
            raise CallError("denied", "the request would go to another server; it was not sent.")
        return url


class _PartStream(httpx.AsyncByteStream):
    """A body of bytes and files; the files are read again each time it is sent."""

    def __init__(self, parts: list[bytes | StoredFile]) -> None:
        self.parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            pieces = part.pieces()
            try:
                while piece := await asyncio.to_thread(next, pieces, b""):
                    yield piece
            finally:
                with suppress(ValueError):  # it is being read: then it closes the file itself
                    pieces.close()


def describe_files(request: httpx.Request) -> httpx.Request:
    """Return a request to look at: files in its body are named instead of read."""
    if isinstance(request.stream, _PartStream):
        parts = (p if isinstance(p, bytes) else str(p).encode() for p in request.stream.parts)
        request.stream = httpx.ByteStream(b"".join(parts))
        request.read()
    return request


def build_content(
    body: RequestBody, arguments: Mapping[str, Any], settings: Settings
) -> RequestContent | None:
    """Return the body of a request; None when no argument feeds it and it is not required."""
    if body.choice:
        kind = arguments.get(body.choice)
        body = next((other for other in body.choices if other.media_type == kind), body)
    if body.argument:
        if body.argument not in arguments:
            if body.required:
                raise InputError(
                    "the request body is required.", pointer=pointer_token(body.argument)
                )
            return None
        value = arguments[body.argument]
    else:
        value = {p.name: arguments[p.argument] for p in body.properties if p.argument in arguments}
        if not value and not body.required:
            return None
    is_plain = not body.file and _is_plain_json(body.media_type)
    if not is_plain and not http_rules.is_media_type(body.media_type):
        raise CallError("invalid_input", f"{body.media_type!r} is not a valid media type.")
    sources = None if is_plain else sources_of(body.encodings, arguments, settings)
    try:
        if sources is None:
            return RequestContent(body.media_type, encoding.json_bytes(value))
        return write_content(body, value, sources)
    except InputError as error:
        raise _point_at_argument(body, error) from None


@lru_cache(maxsize=1024)
def _is_plain_json(media_type: str) -> bool:
    return (
        http_rules.is_json(media_type)
        and not http_rules.is_wildcard(media_type)
        and http_rules.is_media_type(media_type)
    )


def _point_at_argument(body: RequestBody, error: InputError) -> InputError:
    if body.argument:
        return encoding.point_at_argument(error, body.argument)
    name, slash, rest = error.pointer.removeprefix("/").partition("/")
    arguments = {pointer_token(p.name): p.argument for p in body.properties}
    argument = pointer_token(arguments.get(f"/{name}", name)) if name else ""
    return InputError(error.reason, pointer=argument + slash + rest)


def _leading_argument(operation: Operation) -> str:
    match = VARIABLE.match(operation.path)
    return match[1] and _path_argument(match[1], operation) if match else ""


def _encode_arguments(
    operation: Operation, arguments: Mapping[str, Any], settings: Settings
) -> _EncodedArguments:
    places = _EncodedArguments()
    for parameter in operation.parameters:
        if parameter.argument not in arguments:
            continue
        try:
            _encode_argument(parameter, arguments[parameter.argument], places, settings)
        except (InputError, UnicodeEncodeError, RecursionError) as error:
            raise encoding.point_at_argument(error, parameter.argument) from None
    return places


def _encode_argument(
    parameter: Parameter, value: Any, places: _EncodedArguments, settings: Settings
) -> None:
    match parameter.location:
        case "path":
            places.path[parameter.name] = encoding.path_text(parameter, value)
        case "query":
            places.query += [
                f"{name}={text}" for name, text in encoding.query_pairs(parameter, value)
            ]
        case "header" if http_rules.header_key(parameter.name) not in encoding.OWN_HEADERS:
            if not encoding.is_token(parameter.name):
                reason = (
                    f"{quote_excerpt(parameter.name)} is not a valid header name; leave it out."
                )
                raise InputError(reason)
            if (text := encoding.header_text(parameter, value)) is not None:
                places.headers.append((parameter.name, text))
        case "cookie":
            places.cookies += filter(None, [encoding.cookie_text(parameter, value)])
        case "querystring" if value is not None:  # OpenAPI 3.2.0, section 4.12.1
            if http_rules.is_form(parameter.media_type):
                query = form_text(value, sources_of((), {}, settings))
            else:
                query = encoding.percent_encode(encoding.content_text(parameter.media_type, value))
            places.query += filter(None, [query])


def _build_path(operation: Operation, template: tuple[str, ...], places: _EncodedArguments) -> str:
    # OpenAPI 3.2.0, section 4.8.2.
    path = _fill_template(template, operation, places)
    names = template[1::2]
    gap = next((name for name in names if not places.path[name]), None)
    if gap is not None:
        ends_in_variable = not template[-1] and template[-3].endswith("/")
        if gap != names[-1] or not ends_in_variable:
            reason = "the value cannot be empty, because the path would have an empty segment."
            raise InputError(reason, pointer=pointer_token(_path_argument(gap, operation)))
    encoding.check_length(path)
    # Servers and proxies join empty segments, each in its own way.
    if "//" in path and any(parameter.slashes for parameter in operation.parameters):
        reason = "the path would have an empty segment; leave out the slash at the end."
        raise InputError(reason, pointer=pointer_token(_path_argument(names[-1], operation)))
    if http_rules.has_dot_segment(path):
        if not names:
            raise CallError(
                "connection", f"the path {quote_excerpt(operation.path)} leads elsewhere."
            )
        reason = "the path would have a '.' or '..' segment; the request was not sent."
        raise InputError(reason, pointer=pointer_token(_path_argument(names[-1], operation)))
    return path


def _fill_template(pieces: tuple[str, ...], operation: Operation, places: _EncodedArguments) -> str:
    filled = list(pieces)
    for index in range(1, len(pieces), 2):
        name = pieces[index]
        if name not in places.path:
            raise InputError(
                "missing path parameter.", pointer=pointer_token(_path_argument(name, operation))
            )
        filled[index] = places.path[name]
    return "".join(filled)


def _path_argument(name: str, operation: Operation) -> str:
    arguments = (
        p.argument for p in operation.parameters if p.location == "path" and p.name == name
    )
    return next(arguments, name)


def _build_query(
    operation: Operation, template: tuple[str, ...], places: _EncodedArguments, auth: RequestAuth
) -> str:
    pairs = [_fill_template(template, operation, places), *places.query]
    if auth.query:
        sent = {unquote_plus(p.partition("=")[0]) for pair in pairs for p in pair.split("&")}
        requests.check_credential_names(sent, auth.query)
        pairs += requests.auth_query(auth)
    query = "&".join(filter(None, pairs))
    if http_rules.has_override(query) and not http_rules.can_override(operation):
        raise InputError("a query with '_method' may change the method; leave it out.")
    return f"?{query}" if query else ""


def _accept_header(media_types: tuple[str, ...]) -> str:
    # Anything else as a last resort: a server without the listed types would answer 406
    # (RFC 9110, section 12.5.1).
    listed = [media_type for media_type in media_types if http_rules.is_media_type(media_type)]
    if not listed or "*/*" in listed:
        return ", ".join(listed) or "*/*"
    return ", ".join([*listed, "*/*;q=0.1"])
