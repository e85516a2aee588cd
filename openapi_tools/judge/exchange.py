"""httpx's requests and answers, seen as openapi-core wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from openapi_tools.judge.references import follow

if TYPE_CHECKING:
    import httpx
    from openapi_core.datatypes import RequestParameters

    from openapi_tools.judge.routes import Route


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request in openapi-core's protocol.

    Attributes:
        method: Lower case.
        path_pattern: The path template that was found; openapi-core need not search.
        parameters: By location.
        body: None when there is none.
        content_type: With its parameters.
        host_url: Empty: servers are no matter here.
        path: As `path_pattern`.
    """

    method: str
    path_pattern: str
    parameters: RequestParameters
    body: bytes | None
    content_type: str
    host_url: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """An answer in openapi-core's protocol.

    Attributes:
        status_code: The status.
        headers: By name, in any case.
        data: None when there is none.
        content_type: With its parameters.
    """

    status_code: int
    headers: Mapping[str, str]
    data: bytes | None
    content_type: str


def see_request(request: httpx.Request, route: Route, document: Mapping[str, Any]) -> SeenRequest:
    """Return a request, whose body has been read, in openapi-core's protocol."""
    from openapi_core.datatypes import RequestParameters
    from werkzeug.datastructures import Headers, ImmutableMultiDict

    query: list[tuple[str, Any]] = parse_qsl(
        request.url.query.decode("ascii", "replace"), keep_blank_values=True
    )
    cookies: list[tuple[str, Any]] = list(_cookies(request.headers.get("cookie", "")))
    for parameter in _parameters(document, route):
        _join_members(query if parameter["in"] == "query" else cookies, parameter, document)
    return SeenRequest(
        method=request.method.lower(),
        path_pattern=route.path,
        parameters=RequestParameters(
            path=_path_variables(route.variables),
            query=ImmutableMultiDict(query),
            header=Headers(request.headers.multi_items()),
            cookie=ImmutableMultiDict(cookies),
        ),
        body=request.content or None,
        content_type=media_type(request.headers),
    )


def media_type(headers: Mapping[str, str]) -> str:
    """Return the content type, its name in lower case; `multipart/…; boundary=X` keeps its X."""
    name, semicolon, rest = headers.get("content-type", "").partition(";")
    return name.strip().lower() + semicolon + rest


def _parameters(document: Mapping[str, Any], route: Route) -> Iterator[Mapping[str, Any]]:
    """Yield the query and cookie parameters of an operation."""
    for place in (route.operation, route.item):
        listed = place.get("parameters")
        for entry in listed if isinstance(listed, list) else ():
            parameter = follow(document, entry)
            if isinstance(parameter, Mapping) and parameter.get("in") in ("query", "cookie"):
                yield parameter


def _path_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return path variables under all names by which openapi-core looks for them.

    It asks for label and matrix values by the name that RFC 6570 would give them in the template,
    which no OpenAPI template has.
    """
    shapes = ("{}", ".{}", ".{}*", ";{}", ";{}*")
    plain = {name.strip(".;?*"): value for name, value in variables.items()}
    return {shape.format(name): plain[name] for name in plain for shape in shapes}


def _cookies(header: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a Cookie header."""
    for part in header.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals:
            yield name, unquote(_unquoted(value))


def _unquoted(value: str) -> str:
    """Return a cookie's value without the quotes that may stand around it (RFC 6265, 4.1.1)."""
    if not value.startswith('"'):
        return value
    try:
        return SimpleCookie(f"a={value}")["a"].value
    except (CookieError, KeyError):
        return value


def _join_members(
    pairs: list[tuple[str, Any]], parameter: Mapping[str, Any], document: Mapping[str, Any]
) -> None:
    """Add an exploded object under its own name, as openapi-core reads it.

    On the wire it stands under the names of its members, of which openapi-core knows nothing.
    """
    schema = follow(document, parameter.get("schema"))
    exploded = parameter.get("style", "form") == "form" and parameter.get("explode", True) is True
    if not exploded or not isinstance(schema, Mapping) or schema.get("type") != "object":
        return
    members = schema.get("properties")
    known = {name: text for name, text in pairs if isinstance(members, Mapping) and name in members}
    if known:
        pairs.append((str(parameter["name"]), known))
