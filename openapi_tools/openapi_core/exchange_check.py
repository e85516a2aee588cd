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
from openapi_tools.json_values import follow_references
from openapi_tools.openapi_core import Route, Routes, shorten
from openapi_tools.openapi_core.document_check import LinearPatterns, closed_path
from openapi_tools.openapi_core.text_values import TextReader, UndefinedReading
from openapi_tools.openapi_core.value_check import (
    NOT_JUDGED,
    Declared,
    SampleFault,
    ValueCheck,
    describe,
    parameters_of,
)

with requiring("testing"):
    from openapi_core.datatypes import RequestParameters
    from openapi_core.deserializing.media_types.util import data_form_loads
    from openapi_core.templating.datatypes import TemplateResult
    from openapi_core.templating.media_types.exceptions import MediaTypeFinderError
    from openapi_core.templating.paths.datatypes import PathOperationServer
    from openapi_core.templating.responses.exceptions import ResponseFinderError
    from openapi_core.templating.responses.finders import ResponseFinder
    from openapi_core.validation import request as request_validators
    from openapi_core.validation import response as response_validators
    from openapi_core.validation.request.exceptions import MissingRequestBody
    from werkzeug.datastructures import Headers, ImmutableMultiDict

if TYPE_CHECKING:
    import httpx
    from jsonschema_path import SchemaPath

    Document = Mapping[str, Any]
    Lines = Callable[[httpx.Request, Route], Iterator[str]]

_STATUS_WITHOUT_BODY = (204, 205, 304)
_TEXT_OF: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool, "object": dict}
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_JUDGED = ("application/json", *_FORMS)


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

    @cached_property
    def _keys(self) -> frozenset[tuple[str, str]]:
        return frozenset(_places_of_keys(self.document))

    def request(self, request: httpx.Request) -> list[str]:
        """Return the errors of a request whose body has been read; one line each."""
        return self._ask(request, self._request_lines)

    def answer(
        self, request: httpx.Request, status: int, headers: Mapping[str, str], content: bytes
    ) -> list[str]:
        """Return the errors of an answer; one line each."""
        answer = SimpleNamespace(status_code=status, headers=headers, data=content or None)
        answer.content_type = _media_type(headers)
        return self._ask(request, partial(self._answer_lines, answer))

    def sample_faults(
        self,
        pointer: tuple[str, ...],
        values: Mapping[tuple[str, str], Any],
        body: tuple[str, Any] | None,
    ) -> list[SampleFault]:
        """Return how values depart from the schemas of an operation, before they are written.

        Args:
            pointer: The keys that lead to the operation.
            values: Of parameters, by location and name.
            body: Media type and value; None for no body.
        """
        route = Route(pointer, {}, {}, pointer[1], {})
        item, operation = self._paths(route)
        check = self._check("RequestBody", ())
        found: list[SampleFault] = []
        for declared in parameters_of(operation, item):
            key = (declared.location, declared.name)
            if key in values:
                found += check.sample_faults(declared.schema, values[key], declared.place, key)
        if body is not None:
            schema = operation / "requestBody" / "content" / body[0] / "schema"
            found += check.sample_faults(schema, body[1], "body: ", ("body", ""))
        return found

    def _ask(self, request: httpx.Request, lines: Lines) -> list[str]:
        try:
            route = self._routes.find(
                request.method, request.url.raw_path.decode("ascii"), request.headers
            )
            if route is None:
                return [f"{request.method} {request.url.path}: the document has no such operation"]
            # openapi-core warns about deprecated parameters and unknown schemes.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(dict.fromkeys(lines(request, route)))
        except Exception as error:  # noqa: BLE001 -- a check never stops a call
            return [shorten(f"not judged: openapi-core gave up ({type(error).__name__}: {error})")]

    def _request_lines(self, request: httpx.Request, route: Route) -> Iterator[str]:
        item, operation = self._paths(route)
        parameters = list(parameters_of(operation, item))
        texts = _texts(request, route)
        check = self._check("RequestBody", {declared.name for declared in parameters})
        for declared in parameters:
            yield from check.errors(declared, texts.get(declared.location))
        seen = _seen(request, route)
        body = self._validator("RequestBody", route, seen.content_type).iter_errors(seen)
        yield from _lines(_about_body(body, seen.content_type))

    def _answer_lines(
        self, answer: SimpleNamespace, request: httpx.Request, route: Route
    ) -> Iterator[str]:
        if not isinstance(route.operation.get("responses"), Mapping):
            return
        _, operation = self._paths(route)
        check = self._check("ResponseHeaders", ())
        try:
            response = ResponseFinder(operation / "responses").find(str(answer.status_code))
        except ResponseFinderError as error:
            yield shorten(str(error))
            return
        for declared in _headers_of(response):
            yield from check.errors(declared, answer.headers)
        if request.method == "HEAD" or answer.status_code in _STATUS_WITHOUT_BODY:
            return
        if answer.data is not None or not _has_no_content(answer.status_code, route, self.document):
            kind = answer.content_type
            seen = _seen(request, route)
            data = self._validator("ResponseData", route, kind).iter_errors(seen, answer)
            yield from _lines(_about_body(data, kind))

    def _paths(self, route: Route) -> tuple[SchemaPath, SchemaPath]:
        """Return the path item and the operation."""
        item = operation = self._spec / "paths" / route.path
        for key in route.pointer[2:]:
            operation /= key
        return item, operation

    def _parts(self, part: str) -> Any:
        version = "".join(str(self.document.get("openapi", "")).split(".")[:2])
        module = request_validators if part.startswith("Request") else response_validators
        if (make := getattr(module, f"V{version}{part}Validator", None)) is None:
            raise LookupError(f"it knows no version {self.document.get('openapi')!r}")
        return make

    def _reader(self, part: str, taken: Iterable[str] = ()) -> TextReader:
        make = self._parts(part)
        validators = LinearPatterns(make.schema_validators_factory)
        return TextReader(self.document, validators, make.schema_casters_factory, taken)

    def _check(self, part: str, taken: Iterable[str]) -> ValueCheck:
        reader = self._reader(part, taken)
        return ValueCheck(self._spec, reader, self._keys)

    def _validator(self, part: str, route: Route, content_type: str) -> Any:
        reader = self._reader(part)
        return self._parts(part)(
            self._spec,
            path_finder_cls=partial(_Found, route, *self._paths(route)),
            schema_validators_factory=reader.validators,
            extra_media_type_deserializers=_Decoders(content_type),
            style_deserializers_factory=reader,
        )


def _headers_of(response: SchemaPath) -> Iterator[Declared]:
    # Spec: OpenAPI 3.2.0, section 4.17: a header named Content-Type is ignored.
    for name, path in response.get("headers", {}).items():
        if name.lower() != "content-type":
            yield Declared(path, name, "header", path.read_value())


class _Found:
    """A path finder for openapi-core that knows the route already."""

    def __init__(
        self, route: Route, item: SchemaPath, operation: SchemaPath, _spec: Any, **_more: object
    ) -> None:
        self._found = PathOperationServer(
            item, operation, None, TemplateResult(route.path, dict(route.variables)), None
        )

    def find(self, _method: str, _name: str) -> Any:
        return self._found


def _texts(request: httpx.Request, route: Route) -> dict[str, Any]:
    """Return the strings of a request by location and name."""
    encoded = request.url.query.decode("ascii", "replace")
    return {
        "path": _path_variables(route.variables),
        "query": ImmutableMultiDict(parse_qsl(encoded, keep_blank_values=True)),
        "header": Headers(request.headers.multi_items()),
        "cookie": ImmutableMultiDict(list(_cookies(request.headers.get("cookie", "")))),
    }


def _seen(request: httpx.Request, route: Route) -> SimpleNamespace:
    """Return a request, whose body has been read, in openapi-core's protocol."""
    kind = _media_type(request.headers)
    return SimpleNamespace(
        method=request.method.lower(),
        path_pattern=route.path,
        parameters=RequestParameters(),  # they are checked apart
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
        return self._raw or is_json or key == "multipart/form-data"

    def __missing__(self, key: str) -> Callable[..., Any]:
        if key == "multipart/form-data" and not self._raw:
            return _read_parts
        return lambda value, **_parameters: value if self._raw else json.loads(value)


class _Parts(ImmutableMultiDict[str, Any]):
    """The parts of a multipart body; openapi-core takes no part for an empty array."""

    def getlist(self, key: str, type: Any = None) -> list[Any]:  # noqa: A002 -- werkzeug's name
        if key not in self:
            raise KeyError(key)
        return super().getlist(key, type)


def _read_parts(value: bytes, **parameters: str) -> _Parts:
    parts: Any = data_form_loads(value, **parameters)
    return _Parts(list(parts.items(multi=True)))


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
    responses = follow_references(document, route.operation["responses"])
    declared = responses.get(str(status), responses.get("default"))
    return declared is not None and not follow_references(document, declared).get("content")


def _places_of_keys(document: Document) -> Iterator[tuple[str, str]]:
    schemes = follow_references(
        document, follow_references(document, document.get("components")).get("securitySchemes")
    )
    for scheme in (follow_references(document, entry) for entry in schemes.values()):
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
    """Yield one line for each error of a body."""
    try:
        for error in errors:
            cause = error.__cause__
            place = "" if cause is None else "body: "
            details = getattr(cause, "schema_errors", None)
            if type(cause).__name__ == "DeserializeError":
                yield shorten(f"{NOT_JUDGED}: {place}openapi-core does not read it here")
            elif details:
                yield from describe(details, place)
            else:
                yield shorten(f"{place}{cause or error}")
    except UndefinedReading as error:
        yield f"{NOT_JUDGED}: body: {error}"
