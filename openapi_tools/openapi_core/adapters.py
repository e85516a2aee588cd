"""Requests and answers in openapi-core's protocols, and decoders that follow the standard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from openapi_core.datatypes import RequestParameters
from openapi_core.deserializing.styles import style_deserializers, util
from werkzeug.datastructures import Headers, ImmutableMultiDict

from openapi_tools.openapi_core.routes import follow

if TYPE_CHECKING:
    import httpx

    from openapi_tools.openapi_core.routes import Route

_JUDGED = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request in openapi-core's protocol; `host_url` is empty, since servers are not checked."""

    method: str
    path_pattern: str
    parameters: RequestParameters
    body: bytes | None
    content_type: str
    host_url: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """An answer in openapi-core's protocol."""

    status_code: int
    headers: Mapping[str, str]
    data: bytes | None
    content_type: str


def see_request(request: httpx.Request, route: Route, document: Mapping[str, Any]) -> SeenRequest:
    """Return a request, whose body has been read, in openapi-core's protocol."""
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
    for place in (route.operation, route.item):
        listed = place.get("parameters")
        for entry in listed if isinstance(listed, list) else ():
            parameter = follow(document, entry)
            if isinstance(parameter, Mapping) and parameter.get("in") in ("query", "cookie"):
                yield parameter


def _path_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return path variables under openapi-core's names: RFC 6570's for label and matrix values."""
    shapes = ("{}", ".{}", ".{}*", ";{}", ";{}*")
    plain = {name.strip(".;?*"): value for name, value in variables.items()}
    return {shape.format(name): plain[name] for name in plain for shape in shapes}


def _cookies(header: str) -> Iterator[tuple[str, str]]:
    for part in header.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals:
            yield name, unquote(_unquoted(value))


def _unquoted(value: str) -> str:
    """Return a cookie's value without quotes around it (RFC 6265, section 4.1.1)."""
    if not value.startswith('"'):
        return value
    try:
        return SimpleCookie(f"a={value}")["a"].value
    except (CookieError, KeyError):
        return value


def _join_members(
    pairs: list[tuple[str, Any]], parameter: Mapping[str, Any], document: Mapping[str, Any]
) -> None:
    """Add an exploded object under its own name, where openapi-core looks for it."""
    schema = follow(document, parameter.get("schema"))
    exploded = parameter.get("style", "form") == "form" and parameter.get("explode", True) is True
    if not exploded or not isinstance(schema, Mapping) or schema.get("type") != "object":
        return
    members = schema.get("properties")
    known = {name: text for name, text in pairs if isinstance(members, Mapping) and name in members}
    if known:
        pairs.append((str(parameter["name"]), known))


def is_judged(content_type: str) -> bool:
    """Whether a body of this type can be compared with its schema: JSON and forms."""
    name = content_type.partition(";")[0].strip()
    return name in _JUDGED or name.endswith("+json")


class Decoders(dict[str, Callable[..., Any]]):
    """Decoders by the document's media type, which may be a range such as `*/*`.

    openapi-core takes `+json` and ranges for bytes; bodies that are not judged stay bytes, XML
    above all, which it would parse.

    Args:
        content_type: That of the body; empty for parameters and headers.
    """

    def __init__(self, content_type: str) -> None:
        super().__init__()
        self._raw = bool(content_type) and not is_judged(content_type)
        self._json = "json" in content_type.partition(";")[0]

    def __contains__(self, key: object) -> bool:
        is_json = str(key).endswith("+json") or (self._json and key != "application/json")
        return self._raw or is_json

    def __missing__(self, key: str) -> Callable[..., Any]:
        if self._raw:
            return lambda value, **_parameters: value
        return lambda value, **_parameters: json.loads(value)


def style_decoders() -> dict[str, Any]:
    """Return openapi-core's decoders by style, some of them replaced.

    It splits `spaceDelimited` at the characters `%20` although it is given decoded values, wants
    `explode: true` beside `deepObject`, whose members it reads one level deep, looks for exploded
    objects under their own name, and stumbles over the bytes of multipart bodies.
    """
    decoders = {
        **style_deserializers,
        "form": partial(_form, util.form_loads),
        "spaceDelimited": partial(util.delimited_loads, delimiter=" "),
        "deepObject": _deep_object,
    }
    return {style: partial(_from_text, decoder) for style, decoder in decoders.items()}


def _from_text(decoder: Any, explode: object, name: str, kind: object, location: Any) -> Any:
    """Decode a value; multipart values may be bytes."""
    value = location.get(name)
    if isinstance(value, bytes):
        pairs = [
            (key, item.decode(errors="replace") if isinstance(item, bytes) else item)
            for key, item in location.items(multi=True)
        ]
        location = type(location)(pairs)
    return decoder(explode, name, kind, location)


def _form(decoder: Any, explode: object, name: str, kind: object, location: Any) -> Any:
    """Return the value of a `form` parameter; an exploded object has been put together before."""
    value = location.get(name)
    return dict(value) if isinstance(value, Mapping) else decoder(explode, name, kind, location)


def _deep_object(_explode: object, name: str, _type: object, location: Any) -> Any:
    found: dict[str, Any] = {}
    for key, value in location.items(multi=True):
        match = re.fullmatch(rf"{re.escape(name)}((?:\[[^\[\]]*\])+)", key)
        if match:
            _plant(found, _BRACKETS.findall(match.group(1)), value)
    if not found:
        raise KeyError(name)
    return _with_arrays(found)


def _plant(tree: dict[str, Any], keys: list[str], value: str) -> None:
    """Set a value deep inside, `[]` being the next free index."""
    for key in keys[:-1]:
        branch = tree.setdefault(key or str(len(tree)), {})
        tree = branch if isinstance(branch, dict) else tree
    tree[keys[-1] or str(len(tree))] = value


def _with_arrays(tree: Any) -> Any:
    if not isinstance(tree, Mapping):
        return tree
    if all(key.isdecimal() for key in tree):
        return [_with_arrays(value) for value in tree.values()]
    return {key: _with_arrays(value) for key, value in tree.items()}
