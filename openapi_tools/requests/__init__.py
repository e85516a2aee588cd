"""The server's URL of a request, the parts that credentials add, and previews of requests."""

from __future__ import annotations

import copy
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from openapi_tools.common.http_rules import has_dot_segment, header_key
from openapi_tools.common.json_schema import coerce_value
from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.redaction import Redactor
from openapi_tools.requests.encoding import (
    OWN_HEADERS,
    PATH_LITERAL,
    check_cookie_name,
    check_cookie_value,
    check_header,
    is_token,
    keep_triples,
    percent_encode,
    quote_excerpt,
)
from openapi_tools.requests.excerpts import describe_body
from openapi_tools.requests.path_templates import VARIABLE, match_path

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import httpx

    from openapi_tools.model import Operation, Server, ServerVariable
    from openapi_tools.settings import Settings

    _Pairs = tuple[tuple[str, str], ...]

# Stricter than RFC 3986, sections 3.2 and 3.3: no user, no percent-encoded host, no backslash,
# as clients disagree about where such an address leads.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\x00-\x20\x7f/?#@:\[\]\\%<>^`{|}\"]+)"
    r"(?::(?P<port>[0-9]{0,5}))?(?P<path>/[^\x00-\x1f\x7f?#\\]*)?",
    re.IGNORECASE,
)
_IN_AUTHORITY = re.compile(r"[^\x00-\x20\x7f/?#@\\%]*")
_IN_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_SCHEME = re.compile(rf"{_IN_SCHEME.pattern}:")
_QUERY = re.compile("[?#]")
_HIGHEST_PORT = 65535
_HINT = "set the API's address with Settings(base_url=…)"


def server_url(operation: Operation, settings: Settings) -> str:
    """Return `base_url` or the first server, without a trailing slash; CallError for none."""
    if settings.base_url is not None:
        return _check_server_url(settings.base_url)
    return document_server_url(operation.servers, settings)


def document_server_url(servers: Sequence[Server], settings: Settings) -> str:
    """Return the URL of a document's first server, without a trailing slash."""
    if not servers:
        raise CallError("connection", f"the document names no server; {_HINT}.")
    url = _fill_variables(servers[0], settings.server_variables)
    if not _SCHEME.match(url):
        server = quote_excerpt(url)
        reason = f"server {server} is relative, and the document was not loaded from a URL"
        raise CallError("connection", f"the document's {reason}; {_HINT}.")
    return _check_server_url(url)


# For the hint of a 404: a `base_url` replaces the whole server, and users often leave out its
# `/v1`.
def base_url_with_server_path(operation: Operation, settings: Settings) -> str:
    """Return `base_url` with the path of the document's server appended; empty if it has that."""
    if settings.base_url is None:
        return ""
    try:
        paths = [
            urlsplit(_fill_variables(server, settings.server_variables)).path.rstrip("/")
            for server in operation.servers
        ]
    except (CallError, ValueError):
        return ""
    base = settings.base_url.rstrip("/")
    return base + paths[0] if paths and not any(map(base.endswith, paths)) else ""


def _fill_variables(server: Server, values: Mapping[str, str]) -> str:
    # Each part is filled on its own: a value with `/`, `?` or `@` in the host would send the
    # credentials to another server.
    if "{" not in server.url:
        return server.url  # most
    scheme, mark, rest = server.url.partition("://")
    if not mark:
        return _substitute_variables(server.url, server.variables, values)
    end = re.search(r"[/?#]", rest)
    authority = rest[: end.start()] if end else rest
    parts = ((scheme, _IN_SCHEME), (authority, _IN_AUTHORITY), (rest[len(authority) :], None))
    parts_filled = [
        _substitute_variables(part, server.variables, values, allowed) for part, allowed in parts
    ]
    return f"{parts_filled[0]}://{parts_filled[1]}{parts_filled[2]}"


def _substitute_variables(
    template: str,
    variables: Mapping[str, ServerVariable],
    values: Mapping[str, str],
    pattern: re.Pattern[str] | None = None,
) -> str:
    def value_of(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        value = values.get(match[1], variable.default if variable else None)
        if value is None:
            reason = "has no value; set Settings(server_variables=…)"
        elif match[1] in values and variable and variable.enum and value not in variable.enum:
            reason = f"is {value!r}; expected one of {', '.join(map(repr, variable.enum))}"
        elif pattern and not pattern.fullmatch(value):
            reason = f"would change the server's host; {_HINT}"
        else:
            return value
        raise CallError("connection", f"server variable {match[1]!r} {reason}.")

    return VARIABLE.sub(value_of, template)


@lru_cache(maxsize=1024)
def _check_server_url(url: str) -> str:
    match = _URL.fullmatch(url)
    path = keep_triples(match["path"] or "", PATH_LITERAL) if match else ""
    if match is None or int(match["port"] or 0) > _HIGHEST_PORT or has_dot_segment(path):
        # The part before an @ may be a password.
        named = "" if "@" in url else f" {quote_excerpt(url)}"
        reason = f"the server address{named} is not a plain http or https address"
        raise CallError("connection", f"{reason} of host, port and path; {_HINT}.")
    authority = url[: match.start("path")] if match["path"] else url
    return authority + path.rstrip("/")


def credential_origins(settings: Settings) -> frozenset[str] | None:
    """Return the origins that the settings name for credentials; None if they name none."""
    if settings.credential_origins is not None:
        return frozenset(map(origin_of, settings.credential_origins))
    return frozenset({origin_of(settings.base_url)}) if settings.base_url else None


@lru_cache(maxsize=1024)
def origin_of(url: str) -> str:
    """Return the origin of an http(s) URL without its default port (RFC 6454); empty for others."""
    # The whole address has to match: a cut could fall within the host or port.
    match = _URL.fullmatch(_QUERY.split(url, maxsplit=1)[0])
    if match is None or int(match["port"] or 0) > _HIGHEST_PORT:
        return ""
    scheme, host, port = match["scheme"].lower(), match["host"].lower(), match["port"]
    default_port = {"http": "80", "https": "443"}[scheme]
    return f"{scheme}://{host}" + (
        f":{int(port)}" if port and port.lstrip("0") != default_port else ""
    )


def find_tool_for_url(
    tools: Iterable[Any], url: httpx.URL, server: str
) -> tuple[str, dict[str, Any]] | None:
    """Return the tool whose GET operation requests a URL, and the arguments for it."""
    base = server.partition("://")[2].partition("/")[2].rstrip("/")
    path = url.raw_path.partition(b"?")[0].decode("ascii").removeprefix(f"/{base}" if base else "")
    candidates = (t for t in tools if t.method == "GET" and t.path.count("/") == path.count("/"))
    # Concrete paths first: `/users/me` before `/users/{id}` (OpenAPI 3.1.2, Paths Object).
    for tool in sorted(candidates, key=lambda tool: tool.path.count("{")):
        before, values = next(match_path(tool.path, path), ("/", list[str]()))
        is_same = before == "" and all(values)
        arguments = _match_arguments(tool, values, url) if is_same else None
        with suppress(OpenAPIToolsError):
            if arguments is not None:
                return tool.name, tool.check(arguments)
    return None


def _match_arguments(tool: Any, values: Iterable[str], url: httpx.URL) -> dict[str, Any] | None:
    properties, names = tool.input_schema["properties"], VARIABLE.findall(tool.path)
    query = parse_qs(url.query.decode("ascii"), keep_blank_values=True)
    remaining = {("path", name): unquote(value) for name, value in zip(names, values, strict=True)}
    remaining |= {("query", n): v[0] if len(v) == 1 else "" for n, v in query.items()}
    arguments: dict[str, Any] = {}
    for parameter in tool.operation.parameters:
        name, value = parameter.argument, remaining.pop((parameter.location, parameter.name), None)
        if value is not None and name in properties:
            arguments[name] = coerce_value(value, properties[name])
        elif value is not None and str(tool.operation.fixed.get(name, value)) != value:
            return None  # it would ask for another address
    return None if remaining or None in arguments.values() else arguments


# Framing headers belong to the request; only these two of them are made for credentials.
_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization"})
# Characters of a body in a preview, which a person reads.
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """The parts of a request that credentials add, unencoded; arguments cannot replace them."""

    headers: _Pairs = field(default=(), repr=False)
    query: _Pairs = field(default=(), repr=False)
    cookies: _Pairs = field(default=(), repr=False)
    httpx_auth: Any = field(default=None, repr=False)  # sees the request and its response
    certificate: ssl.SSLContext | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        pairs = self.headers or self.query or self.cookies
        return bool(pairs) or self.httpx_auth is not None or self.certificate is not None


def combine_auth(parts: Iterable[RequestAuth]) -> RequestAuth:
    """Return one value for all schemes of a requirement; at most one has `httpx_auth`."""
    combined = RequestAuth()
    for part in parts:
        combined = RequestAuth(
            *(
                combined.headers + part.headers,
                combined.query + part.query,
                combined.cookies + part.cookies,
            ),
            part.httpx_auth if combined.httpx_auth is None else combined.httpx_auth,
            combined.certificate or part.certificate,
        )
    return combined


def auth_headers(present: set[str], auth: RequestAuth) -> _Pairs:
    """Return the credentials' headers; none may be among those present, given by `header_key`."""
    for name, text in auth.headers:
        if not is_token(name) or header_key(name) in OWN_HEADERS - _CREDENTIAL_HEADERS:
            reason = f"a credential cannot be sent in the header {quote_excerpt(name)}."
            raise CallError("credentials", reason)
        _check_credential(name, check_header, text)
    check_credential_names(present, tuple((header_key(name), "") for name, _ in auth.headers))
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
    check_credential_names(sent, auth.cookies)
    return [f"{name}={text}" for name, text in auth.cookies]


def check_credential_names(sent: set[str], added: _Pairs) -> None:
    """Raise InputError when an argument sets the name of a credential."""
    for name, _ in added:
        if name in sent:
            raise InputError(f"{quote_excerpt(name)} is set by the credentials; leave it out.")


def _check_credential(name: str, check: Callable[[str], None], text: str) -> None:
    # The error of a check quotes the value, which is a secret here.
    try:
        check(text)
    except InputError:
        reason = (
            f"the credential for {quote_excerpt(name)} has characters that cannot be sent there."
        )
        raise CallError("credentials", reason) from None


@dataclass(frozen=True, slots=True)
class Preview:
    """A request that is not sent, or not yet; `***` replaces secrets.

    `str(preview)` is the request in the form of HTTP/1.1.

    Attributes:
        tool: Name of the tool.
        arguments: The model's, after validation.
        method: For instance `"DELETE"`.
        url: Whole.
        headers: Name and value pairs, in the order in which they are sent.
        body: As a string; above 20,000 characters long strings in it are shortened. For binary
            data its size in words; None for none.
        note: A remark, for instance that a credential is missing; may be empty.
        call_id: The id of the call; empty if it has none.
        changes: What a PUT, PATCH or DELETE changes, one line each; empty if unknown.
        undo: Which call undoes it, in words; empty like `changes`.
    """

    tool: str
    arguments: dict[str, Any]
    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    note: str = ""
    call_id: str = field(default="", kw_only=True)
    changes: tuple[str, ...] = field(default=(), kw_only=True)
    undo: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        body = [] if self.body is None else ["", self.body]
        headers = [f"{name}: {value}" for name, value in self.headers]
        return "\n".join([f"{self.method} {self.url}", *headers, *body])

    def as_data(self) -> dict[str, Any]:
        """Return the request as JSON-native data: method, url, headers, body, and a note."""
        headers, note = [*map(list, self.headers)], {"note": self.note} if self.note else {}
        start = {"method": self.method, "url": self.url}
        return {**start, "headers": headers, "body": self.body, **note}


def preview_request(
    request: httpx.Request,
    tool: str,
    arguments: dict[str, Any],
    *,
    redactor: Redactor | None = None,
) -> Preview:
    """Return the preview of a request that was built with masked credentials."""
    redactor = redactor or Redactor()
    return Preview(
        tool,
        copy.deepcopy(redactor.data(arguments)),  # an approver may not change the call
        request.method,
        # A masked credential in the query has been percent-encoded with it.
        redactor.text(str(request.url).replace("%2A%2A%2A", "***")),
        tuple((name, redactor.text(value)) for name, value in request.headers.multi_items()),
        _describe_content(request.content, redactor),
    )


def _describe_content(content: bytes, redactor: Redactor) -> str | None:
    if not content:
        return None
    try:
        text = redactor.text(content.decode())
    except UnicodeDecodeError:
        return f"({len(content)} bytes that are not text)"
    return describe_body(text, _LONGEST)
