"""Check requests and responses against a document with openapi-core.

Its results are corrected where they depart from the standard.
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

from openapi_tools.common.http_rules import is_form
from openapi_tools.common.json_values import follow_references
from openapi_tools.conformance.document_check import LinearPatterns, closed_path
from openapi_tools.conformance.findings import elide_middle
from openapi_tools.conformance.routes import Route, Routes
from openapi_tools.conformance.text_values import TextReader, UndefinedReading
from openapi_tools.conformance.value_check import (
    NOT_JUDGED,
    DeclaredValue,
    SampleFault,
    ValueCheck,
    describe_errors,
    parameters_of,
)
from openapi_tools.errors import require_extra

with require_extra("testing"):
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

# RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5.
_STATUS_WITHOUT_BODY = (204, 205, 304)
_PYTHON_TYPES: dict[str, Any] = {
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "object": dict,
}
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_JUDGED = ("application/json", *_FORMS)


class ExchangeChecker:
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
        # Without a handler, Python writes openapi-core's warnings about unions to standard error.
        logging.getLogger("openapi_core").addHandler(logging.NullHandler())
        return closed_path(self.document)

    @cached_property
    def _keys(self) -> frozenset[tuple[str, str]]:
        return frozenset(_api_key_locations(self.document))

    def request_errors(self, request: httpx.Request) -> list[str]:
        """Return the errors of a request whose body has been read; one line each."""
        return self._collect_lines(request, self._request_lines)

    def response_errors(
        self, request: httpx.Request, status: int, headers: Mapping[str, str], content: bytes
    ) -> list[str]:
        """Return the errors of a response; one line each."""
        response = SimpleNamespace(status_code=status, headers=headers, data=content or None)
        response.content_type = _media_type(headers)
        return self._collect_lines(request, partial(self._response_lines, response))

    def sample_faults(
        self,
        pointer: tuple[str, ...],
        values: Mapping[tuple[str, str], Any],
        body: tuple[str, Any] | None,
    ) -> list[SampleFault]:
        """Return how values depart from the schemas of an operation, before they are written.

        Args:
            pointer: The keys that lead to the operation.
            values: The values of parameters, by location and name.
            body: Media type and value; None for no body.
        """
        route = Route(pointer, {}, {}, pointer[1], {})
        item, operation = self._spec_paths(route)
        check = self._value_check("RequestBody", ())
        faults: list[SampleFault] = []
        for declared in parameters_of(operation, item):
            key = (declared.location, declared.name)
            if key in values:
                faults += check.sample_faults(declared.schema, values[key], declared.label, key)
        if body is not None:
            schema = operation / "requestBody" / "content" / body[0] / "schema"
            faults += check.sample_faults(schema, body[1], "body: ", ("body", ""))
        return faults

    def _collect_lines(self, request: httpx.Request, lines: Lines) -> list[str]:
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
            return [
                elide_middle(f"not judged: openapi-core gave up ({type(error).__name__}: {error})")
            ]

    def _request_lines(self, request: httpx.Request, route: Route) -> Iterator[str]:
        item, operation = self._spec_paths(route)
        parameters = list(parameters_of(operation, item))
        strings = _strings_by_location(request, route)
        check = self._value_check("RequestBody", {declared.name for declared in parameters})
        for declared in parameters:
            yield from check.find_errors(declared, strings.get(declared.location))
        core_request = _to_openapi_core(request, route)
        body = self._validator("RequestBody", route, core_request.content_type).iter_errors(
            core_request
        )
        yield from _describe_body_errors(_filter_body_errors(body, core_request.content_type))

    def _response_lines(
        self, response: SimpleNamespace, request: httpx.Request, route: Route
    ) -> Iterator[str]:
        if not isinstance(route.operation.get("responses"), Mapping):
            return
        _, operation = self._spec_paths(route)
        check, status = self._value_check("ResponseHeaders", ()), response.status_code
        try:
            declared_response = ResponseFinder(operation / "responses").find(str(status))
        except ResponseFinderError as error:
            yield elide_middle(str(error))
            return
        for declared in _declared_headers(declared_response):
            yield from check.find_errors(declared, response.headers)
        if request.method == "HEAD" or status in _STATUS_WITHOUT_BODY:
            return
        if response.data is not None or not _has_no_content(status, route, self.document):
            kind = response.content_type
            core_request = _to_openapi_core(request, route)
            errors = self._validator("ResponseData", route, kind).iter_errors(
                core_request, response
            )
            yield from _describe_body_errors(_filter_body_errors(errors, kind))

    def _spec_paths(self, route: Route) -> tuple[SchemaPath, SchemaPath]:
        item = operation = self._spec / "paths" / route.path
        for key in route.pointer[2:]:
            operation /= key
        return item, operation

    def _validator_class(self, part: str) -> Any:
        version = "".join(str(self.document.get("openapi", "")).split(".")[:2])
        module = request_validators if part.startswith("Request") else response_validators
        if (validator_class := getattr(module, f"V{version}{part}Validator", None)) is None:
            raise LookupError(f"it does not support version {self.document.get('openapi')!r}")
        return validator_class

    def _text_reader(self, part: str, parameter_names: Iterable[str] = ()) -> TextReader:
        validator_class = self._validator_class(part)
        validators = LinearPatterns(validator_class.schema_validators_factory)
        return TextReader(
            self.document, validators, validator_class.schema_casters_factory, parameter_names
        )

    def _value_check(self, part: str, parameter_names: Iterable[str]) -> ValueCheck:
        reader = self._text_reader(part, parameter_names)
        return ValueCheck(self._spec, reader, self._keys)

    def _validator(self, part: str, route: Route, content_type: str) -> Any:
        reader = self._text_reader(part)
        return self._validator_class(part)(
            self._spec,
            path_finder_cls=partial(_KnownRouteFinder, route, *self._spec_paths(route)),
            schema_validators_factory=reader.validators,
            extra_media_type_deserializers=_Decoders(content_type),
            style_deserializers_factory=reader,
        )


def _declared_headers(response: SchemaPath) -> Iterator[DeclaredValue]:
    # Spec: OpenAPI 3.2.0, section 4.17: a header named Content-Type is ignored.
    for name, path in response.get("headers", {}).items():
        if name.lower() != "content-type":
            yield DeclaredValue(path, name, "header", path.read_value())


class _KnownRouteFinder:
    """A path finder for openapi-core that returns the route that is already known."""

    def __init__(
        self, route: Route, item: SchemaPath, operation: SchemaPath, _spec: Any, **_options: object
    ) -> None:
        self._path_operation = PathOperationServer(
            item, operation, None, TemplateResult(route.path, dict(route.variables)), None
        )

    def find(self, _method: str, _name: str) -> Any:
        return self._path_operation


def _strings_by_location(request: httpx.Request, route: Route) -> dict[str, Any]:
    encoded = request.url.query.decode("ascii", "replace")
    return {
        "path": _path_variables(route.variables),
        "query": ImmutableMultiDict(parse_qsl(encoded, keep_blank_values=True)),
        "header": Headers(request.headers.multi_items()),
        "cookie": ImmutableMultiDict(list(_cookies(request.headers.get("cookie", "")))),
    }


def _to_openapi_core(request: httpx.Request, route: Route) -> SimpleNamespace:
    kind = _media_type(request.headers)
    return SimpleNamespace(
        method=request.method.lower(),
        path_pattern=route.path,
        parameters=RequestParameters(),  # they are checked by `ValueCheck`
        # openapi-core treats an empty form as no body.
        body=request.content or (b"&" if is_form(kind) else None),
        content_type=kind,
        host_url="",  # servers are not checked
        path="",
    )


def _media_type(headers: Mapping[str, str]) -> str:
    # `multipart/…; boundary=X` keeps its X: only the name is in lower case.
    name, semicolon, rest = headers.get("content-type", "").partition(";")
    return name.strip().lower() + semicolon + rest


def _path_variables(variables: Mapping[str, str]) -> dict[str, str]:
    # openapi-core finds variables by their expressions in RFC 6570, and reads `;x` as `;x=` only.
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


class _MultipartValues(ImmutableMultiDict[str, Any]):
    """The parts of a multipart body; openapi-core takes no part for an empty array."""

    def getlist(self, key: str, type: Any = None) -> list[Any]:  # noqa: A002 -- werkzeug's name
        if key not in self:
            raise KeyError(key)
        return super().getlist(key, type)


def _read_parts(value: bytes, **parameters: str) -> _MultipartValues:
    parts: Any = data_form_loads(value, **parameters)
    return _MultipartValues(list(parts.items(multi=True)))


def _filter_body_errors(errors: Iterator[Exception], content_type: str) -> Iterator[Exception]:
    # openapi-core reports a media type that is not listed for every body.
    is_judged = not content_type or _is_judged(content_type)
    is_multipart = content_type.startswith("multipart/")
    for error in errors:
        is_about_type = isinstance(error.__cause__, MediaTypeFinderError)
        is_ignored = isinstance(error, MissingRequestBody) or (
            is_multipart and _drop_false_alarms(error)
        )
        if (is_judged or is_about_type) and not is_ignored:
            yield error


def _has_no_content(status: int, route: Route, document: Mapping[str, Any]) -> bool:
    responses = follow_references(document, route.operation["responses"])
    response = responses.get(str(status), responses.get("default"))
    return response is not None and not follow_references(document, response).get("content")


def _api_key_locations(document: Document) -> Iterator[tuple[str, str]]:
    schemes = follow_references(
        document, follow_references(document, document.get("components")).get("securitySchemes")
    )
    for scheme in (follow_references(document, entry) for entry in schemes.values()):
        if str(scheme.get("type")).lower() == "apikey":  # as loading reads it
            yield str(scheme.get("in")).lower(), str(scheme.get("name")).lower()


def _drop_false_alarms(error: Exception) -> bool:
    # Parts of a multipart body are text, which openapi-core compares with types such as integer.
    # Returns whether no other error is left.
    cause: Any = error.__cause__
    details = getattr(cause, "schema_errors", None)
    if not details:
        return False
    cause.schema_errors = [detail for detail in details if not _is_false_alarm(detail)]
    return not cause.schema_errors


def _is_false_alarm(detail: Any) -> bool:
    if isinstance(detail.instance, bytes) or (detail.validator, *detail.path) == ("readOnly",):
        return True
    if detail.validator != "type" or not isinstance(detail.instance, str):
        return False
    try:
        value = json.loads(detail.instance)
    except ValueError:
        return False
    expected_type = detail.validator_value
    return isinstance(expected_type, str) and isinstance(
        value, _PYTHON_TYPES.get(expected_type, ())
    )


def _describe_body_errors(errors: Iterable[Exception]) -> Iterator[str]:
    try:
        for error in errors:
            cause = error.__cause__
            label = "" if cause is None else "body: "
            details = getattr(cause, "schema_errors", None)
            if type(cause).__name__ == "DeserializeError":
                yield elide_middle(f"{NOT_JUDGED}: {label}openapi-core does not read it here")
            elif details:
                yield from describe_errors(details, label)
            else:
                yield elide_middle(f"{label}{cause or error}")
    except UndefinedReading as error:
        yield f"{NOT_JUDGED}: body: {error}"
