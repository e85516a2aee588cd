"""Check requests and answers against a document with openapi-core.

Its own readings are corrected where they depart from the standard.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from http.cookies import CookieError, SimpleCookie
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from openapi_tools.errors import requiring
from openapi_tools.http_rules import is_form
from openapi_tools.json_values import follow, pointer
from openapi_tools.openapi_core import Route, Routes, shorten
from openapi_tools.openapi_core.document_check import LinearPatterns, closed_path

with requiring("testing"):
    from openapi_core.datatypes import RequestParameters
    from openapi_core.deserializing.styles import (
        StyleDeserializersFactory,
        style_deserializers,
        util,
    )
    from openapi_core.deserializing.styles.exceptions import EmptyQueryParameterValue
    from openapi_core.templating.datatypes import TemplateResult
    from openapi_core.templating.media_types.exceptions import MediaTypeFinderError
    from openapi_core.templating.paths.datatypes import PathOperationServer
    from openapi_core.validation import request as request_validators
    from openapi_core.validation import response as response_validators
    from openapi_core.validation.request.exceptions import MissingParameterError, MissingRequestBody
    from werkzeug.datastructures import Headers, ImmutableMultiDict

if TYPE_CHECKING:
    import httpx

    Document = Mapping[str, Any]
    Errors = Callable[[httpx.Request, Route], Iterator[Exception]]

_STATUS_WITHOUT_BODY = (204, 205, 304)
_TEXT_OF: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool, "object": dict}
_JUDGED = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_ALL_BRACKETS = re.compile(r"(?:\[[^\[\]]*+\])++")


class Judge:
    """Checks exchanges against one document; it fetches nothing and never raises.

    A line that begins with `not judged` says what openapi-core could not check.
    """

    def __init__(self, document: Document, base_path: str | None = None) -> None:
        self.document = document
        self._base_path = base_path

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self.document, self._base_path)

    @cached_property
    def _spec(self) -> Any:
        # Without a handler, Python writes its remarks about unions to standard error.
        logging.getLogger("openapi_core").addHandler(logging.NullHandler())
        return closed_path(self.document)

    def request(self, request: httpx.Request) -> list[str]:
        """Return the errors of a request whose body has been read; one line each."""
        return self._ask(request, self._request_errors)

    def answer(
        self, request: httpx.Request, status: int, headers: Mapping[str, str], content: bytes
    ) -> list[str]:
        """Return the errors of an answer; one line each."""
        answer = SimpleNamespace(status_code=status, headers=headers, data=content or None)
        answer.content_type = _media_type(headers)
        return self._ask(request, partial(self._answer_errors, answer))

    def _ask(self, request: httpx.Request, errors: Errors) -> list[str]:
        if "swagger" in self.document:
            return ["not judged: openapi-core reads OpenAPI 3, this is a Swagger 2.0 document"]
        try:
            route = self._routes.find(request.method, request.url.raw_path.decode("ascii"))
            if route is None:
                return [f"{request.method} {request.url.path}: the document has no such operation"]
            # openapi-core warns about deprecated parameters and unknown schemes.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(dict.fromkeys(_lines(errors(request, route))))
        except Exception as error:  # noqa: BLE001 -- a check never stops a call
            return [shorten(f"not judged: openapi-core gave up ({type(error).__name__}: {error})")]

    def _request_errors(self, request: httpx.Request, route: Route) -> Iterator[Exception]:
        seen = _seen(request, route, self.document)
        for error in self._validator("RequestParameters", route).iter_errors(seen):
            if not _is_right(error, route, self.document):
                yield error
        body = self._validator("RequestBody", route, seen.content_type).iter_errors(seen)
        yield from _about_body(body, seen.content_type)

    def _answer_errors(
        self, answer: SimpleNamespace, request: httpx.Request, route: Route
    ) -> Iterator[Exception]:
        if not isinstance(route.operation.get("responses"), Mapping):
            return
        seen = _seen(request, route, self.document)
        yield from self._validator("ResponseHeaders", route).iter_errors(seen, answer)
        if request.method == "HEAD" or answer.status_code in _STATUS_WITHOUT_BODY:
            return
        if answer.data is not None or not _has_no_content(answer.status_code, route, self.document):
            kind = answer.content_type
            data = self._validator("ResponseData", route, kind).iter_errors(seen, answer)
            yield from _about_body(data, kind)

    def _validator(self, part: str, route: Route, content_type: str = "") -> Any:
        version = "".join(str(self.document.get("openapi", "")).split(".")[:2])
        module = request_validators if part.startswith("Request") else response_validators
        if (make := getattr(module, f"V{version}{part}Validator", None)) is None:
            raise LookupError(f"it knows no version {self.document.get('openapi')!r}")
        return make(
            self._spec,
            path_finder_cls=partial(_Found, route),
            schema_validators_factory=LinearPatterns(make.schema_validators_factory),
            extra_media_type_deserializers=_Decoders(content_type),
            style_deserializers_factory=StyleDeserializersFactory(
                make.schema_casters_factory, style_deserializers=_style_decoders()
            ),
        )


def _is_right(error: Any, route: Route, document: Document) -> bool:
    """Tell whether openapi-core is wrong about a parameter: one that is there, or of its type."""
    named = [p for p in _parameters(route, document) if p.get("name") == error.name]
    declared = next((p for p in named if p.get("in") == error.location), {})
    if isinstance(error, MissingParameterError):
        is_key = (error.location, error.name.lower()) in _places_of_keys(document)
        found = _path_variables(route.variables).get(error.name, "")
        mark = {"label": ".", "matrix": ";"}.get(declared.get("style", ""), "")
        return is_key or (error.location == "path" and found.startswith(mark))
    if not isinstance(error.__cause__, EmptyQueryParameterValue):
        return "content" not in declared and _drop_untyped(error)
    schema = follow(document, declared.get("schema"))
    schema = follow(document, schema.get("items", schema))
    other = {"minLength", "enum", "const", "format", "pattern"} & schema.keys()
    return schema.get("type", "string") == "string" and not other


def _parameters(route: Route, document: Document) -> Iterator[Mapping[str, Any]]:
    for listed in (route.operation.get("parameters"), route.item.get("parameters")):
        for entry in listed if isinstance(listed, list) else ():
            yield follow(document, entry)


class _Found:
    """A path finder for openapi-core that knows the route already."""

    def __init__(self, route: Route, spec: Any, **_more: object) -> None:
        self.route = route
        self.spec = spec

    def find(self, _method: str, _name: str) -> Any:
        item = self.spec / "paths" / self.route.path
        operation = item
        for key in self.route.pointer[2:]:
            operation /= key
        result = TemplateResult(self.route.path, dict(self.route.variables))
        return PathOperationServer(item, operation, None, result, None)


def _seen(request: httpx.Request, route: Route, document: Document) -> SimpleNamespace:
    """Return a request, whose body has been read, in openapi-core's protocol."""
    encoded, kind = request.url.query.decode("ascii", "replace"), _media_type(request.headers)
    pairs: dict[str, list[tuple[str, Any]]] = {
        "query": list(parse_qsl(encoded, keep_blank_values=True)),
        "cookie": list(_cookies(request.headers.get("cookie", ""))),
    }
    for parameter in _parameters(route, document):
        if parameter.get("in") in pairs:
            _join_members(pairs[parameter["in"]], parameter, document)
    return SimpleNamespace(
        method=request.method.lower(),
        path_pattern=route.path,
        parameters=RequestParameters(
            path=_path_variables(route.variables),
            query=ImmutableMultiDict(pairs["query"]),
            header=Headers(request.headers.multi_items()),
            cookie=ImmutableMultiDict(pairs["cookie"]),
        ),
        # openapi-core takes an empty form for no body.
        body=request.content or (b"&" if is_form(kind) else None),
        content_type=kind,
        host_url="",  # servers are not checked
        path="",
    )


def _media_type(headers: Mapping[str, str]) -> str:
    """Return the content type, its name in lower case; `multipart/…; boundary=X` keeps its X."""
    name, semicolon, rest = headers.get("content-type", "").partition(";")
    return name.strip().lower() + semicolon + rest


def _path_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return path variables under openapi-core's names, RFC 6570's; it reads `;x` as `;x=` only."""
    plain = {name.strip(".;?*"): value for name, value in variables.items()}
    full = {name: re.sub(r"(;[^;=]+)(?=;|$)", r"\1=", value) for name, value in plain.items()}
    shapes = ("{}", ".{}", ".{}*", ";{}", ";{}*")
    return {shape.format(name): full[name] for name in full for shape in shapes}


def _cookies(header: str) -> Iterator[tuple[str, str]]:
    for part in header.split(";"):
        name, equals, value = part.strip().partition("=")
        if value.startswith('"'):  # RFC 6265, section 4.1.1
            with suppress(CookieError, KeyError):
                value = SimpleCookie(f"a={value}")["a"].value
        if equals:
            yield name, unquote(value)


def _join_members(
    pairs: list[tuple[str, Any]], parameter: Mapping[str, Any], document: Document
) -> None:
    """Add an exploded object under its own name, where openapi-core looks for it."""
    schema = follow(document, parameter.get("schema"))
    exploded = parameter.get("style", "form") == "form" and parameter.get("explode", True) is True
    members = schema.get("properties")
    if not exploded or schema.get("type") != "object" or not isinstance(members, Mapping):
        return
    known = {name: text for name, text in pairs if name in members}
    if known:
        pairs.append((str(parameter["name"]), known))


def _is_judged(content_type: str) -> bool:
    """Tell whether a body can be compared with its schema: JSON and forms."""
    name = content_type.partition(";")[0].strip()
    return name in _JUDGED or name.endswith("+json")


class _Decoders(dict[str, Callable[..., Any]]):
    """Decoders by the document's media type, which may be a range such as `*/*`.

    openapi-core takes `+json` and ranges for bytes; bodies that are not judged stay bytes, XML
    above all, which it would parse. The content type is empty for parameters and headers.
    """

    def __init__(self, content_type: str) -> None:
        super().__init__()
        self._raw = bool(content_type) and not _is_judged(content_type)
        self._json = "json" in content_type.partition(";")[0]

    def __contains__(self, key: object) -> bool:
        is_json = str(key).endswith("+json") or (self._json and key != "application/json")
        return self._raw or is_json

    def __missing__(self, key: str) -> Callable[..., Any]:
        return lambda value, **_parameters: value if self._raw else json.loads(value)


def _style_decoders() -> dict[str, Any]:
    """Return openapi-core's decoders by style, some of them replaced."""
    # It splits `spaceDelimited` at the characters `%20` although it is given decoded values, wants
    # `explode: true` beside `deepObject`, whose members it reads one level deep, looks for exploded
    # objects under their own name, and stumbles over the bytes of multipart bodies.
    own = {"spaceDelimited": partial(util.delimited_loads, delimiter=" ")}
    decoders = {**style_deserializers, **own, "deepObject": _deep_object}
    return {style: partial(_decoded, decoder) for style, decoder in decoders.items()}


def _decoded(decoder: Any, explode: object, name: str, kind: object, location: Any) -> Any:
    value = location.get(name)
    if isinstance(value, Mapping):  # of `_join_members`
        return dict(value)
    if isinstance(value, bytes):
        pairs = [
            (key, item.decode(errors="replace") if isinstance(item, bytes) else item)
            for key, item in location.items(multi=True)
        ]
        location = type(location)(pairs)
    return decoder(explode, name, kind, location)


def _deep_object(_explode: object, name: str, _type: object, location: Any) -> Any:
    found: dict[str, Any] = {}
    for key, value in location.items(multi=True):
        keys = key.removeprefix(name) if key.startswith(name) else ""
        if _ALL_BRACKETS.fullmatch(keys):
            _plant(found, _BRACKETS.findall(keys), value)
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


def _about_body(errors: Iterator[Exception], content_type: str) -> Iterator[Exception]:
    """Yield the errors about a body; a media type that is not listed is reported for every body."""
    is_judged = not content_type or _is_judged(content_type)
    is_multipart = content_type.startswith("multipart/")
    for error in errors:
        about_type = isinstance(error.__cause__, MediaTypeFinderError)
        ignored = isinstance(error, MissingRequestBody) or (is_multipart and _drop_untyped(error))
        if (is_judged or about_type) and not ignored:
            yield error


def _has_no_content(status: int, route: Route, document: Mapping[str, Any]) -> bool:
    """Whether a response declares no content; openapi-core demands a body all the same."""
    responses = follow(document, route.operation["responses"])
    declared = responses.get(str(status), responses.get("default"))
    return declared is not None and not follow(document, declared).get("content")


def _places_of_keys(document: Document) -> Iterator[tuple[str, str]]:
    yield from (("header", name) for name in ("accept", "authorization", "content-type"))
    schemes = follow(document, follow(document, document.get("components")).get("securitySchemes"))
    for scheme in (follow(document, entry) for entry in schemes.values()):
        if str(scheme.get("type")).lower() == "apikey":  # as loading reads it
            yield str(scheme.get("in")).lower(), str(scheme.get("name")).lower()


def _drop_untyped(error: Exception) -> bool:
    """Drop errors about values that are still the text on the wire; tell whether none is left."""
    cause: Any = error.__cause__
    details = getattr(cause, "schema_errors", None)
    if not details:
        return False
    cause.schema_errors = [detail for detail in details if not _is_untyped(detail)]
    return not cause.schema_errors


def _is_untyped(detail: Any) -> bool:
    """Tell whether an error is about bytes, a number or boolean in a text, or a read-only whole."""
    if isinstance(detail.instance, bytes) or (detail.validator, *detail.path) == ("readOnly",):
        return True
    if detail.validator != "type" or not isinstance(detail.instance, str):
        return False
    try:
        value = json.loads(detail.instance)
    except ValueError:
        return False
    asked = detail.validator_value
    return isinstance(asked, str) and isinstance(value, _TEXT_OF.get(asked, ()))


def _lines(errors: Iterable[Exception]) -> Iterator[str]:
    """Yield one line for each error: the place, then the fault."""
    for error in errors:
        cause, place = error.__cause__, _place(error)
        details = getattr(cause, "schema_errors", None)
        if type(cause).__name__ == "DeserializeError":
            yield shorten(f"not judged: {place}openapi-core does not read it here")
        elif details:
            for item in details:
                where = pointer(getattr(item, "absolute_path", ()))
                text = str(getattr(item, "message", item))
                # It takes names in the mapping of a discriminator for references.
                _, is_reference, named = text.partition("reference '")
                is_missing = " could not be resolved" in named.partition("\n")[0]
                known = not (is_reference and is_missing and not named.startswith("#"))
                line = place + (f"{where}: {text}" if where else text)
                yield shorten(line if known else f"not judged: {line}")
        else:
            yield shorten(f"{place}{cause or error}")


def _place(error: Exception) -> str:
    name, location = getattr(error, "name", ""), getattr(error, "location", "")
    kind = f"{location} parameter" if location else "header"
    return "" if error.__cause__ is None else f"{kind} {name!r}: " if name else "body: "
