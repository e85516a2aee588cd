"""Check requests and answers against a document with openapi-core."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_core.deserializing.styles import StyleDeserializersFactory
from openapi_core.templating.datatypes import TemplateResult
from openapi_core.templating.media_types.exceptions import MediaTypeFinderError
from openapi_core.templating.paths.datatypes import PathOperationServer
from openapi_core.validation import request as request_validators
from openapi_core.validation import response as response_validators
from openapi_core.validation.request.exceptions import MissingParameterError, MissingRequestBody

from openapi_tools.json_values import pointer
from openapi_tools.openapi_core.adapters import (
    Decoders,
    SeenAnswer,
    is_judged,
    media_type,
    see_request,
    style_decoders,
)
from openapi_tools.openapi_core.document_check import closed_path, shorten
from openapi_tools.openapi_core.routes import Route, find_route, follow

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

_STATUS_WITHOUT_BODY = (204, 205, 304)
_TEXT_OF: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool}


class Judge:
    """Checks exchanges against one document.

    It does not check the document itself (`lint` does), security requirements, or other documents;
    it fetches nothing. It never raises: a line that begins with `not judged` says what openapi-core
    could not check.

    Args:
        document: The parsed document.
        base_path: As in `find_route`.
    """

    def __init__(self, document: Mapping[str, Any], base_path: str | None = None) -> None:
        self.document = document
        self._base_path = base_path
        self._spec: Any = None

    def request(self, request: httpx.Request) -> list[str]:
        """Return the errors of a request whose body has been read; one line each."""
        return self._ask(request, self._request_errors)

    def answer(
        self, request: httpx.Request, status: int, headers: Mapping[str, str], content: bytes
    ) -> list[str]:
        """Return the errors of an answer; one line each."""
        seen = SeenAnswer(status, headers, content or None, media_type(headers))
        return self._ask(request, lambda *asked: self._answer_errors(seen, *asked))

    def _ask(
        self,
        request: httpx.Request,
        errors: Callable[[httpx.Request, Route], Iterator[Exception]],
    ) -> list[str]:
        """Return the errors as lines, each once."""
        if "swagger" in self.document:
            return ["not judged: openapi-core reads OpenAPI 3, this is a Swagger 2.0 document"]
        try:
            target = request.url.raw_path.decode("ascii")
            route = find_route(self.document, request.method, target, base_path=self._base_path)
            if route is None:
                return [f"{request.method} {request.url.path}: the document has no such operation"]
            # openapi-core warns about deprecated parameters and unknown schemes.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(dict.fromkeys(_lines(errors(request, route))))
        except Exception as error:  # noqa: BLE001 -- a check never stops a call
            return [shorten(f"not judged: openapi-core gave up ({type(error).__name__}: {error})")]

    def _request_errors(self, request: httpx.Request, route: Route) -> Iterator[Exception]:
        seen = see_request(request, route, self.document)
        parameters = self._validator("RequestParameters", route).iter_errors(seen)
        yield from _about_parameters(parameters, self.document)
        body = self._validator("RequestBody", route, seen.content_type).iter_errors(seen)
        yield from _about_body(body, seen.content_type)

    def _answer_errors(
        self, answer: SeenAnswer, request: httpx.Request, route: Route
    ) -> Iterator[Exception]:
        if not isinstance(route.operation.get("responses"), Mapping):
            return
        seen = see_request(request, route, self.document)
        yield from self._validator("ResponseHeaders", route).iter_errors(seen, answer)
        if request.method == "HEAD" or answer.status_code in _STATUS_WITHOUT_BODY:
            return
        if answer.data is not None or not _has_no_content(answer.status_code, route, self.document):
            kind = answer.content_type
            data = self._validator("ResponseData", route, kind).iter_errors(seen, answer)
            yield from _about_body(data, kind)

    def _validator(self, part: str, route: Route, content_type: str = "") -> Any:
        """Return openapi-core's validator for one part of an exchange."""
        version = "".join(str(self.document.get("openapi", "")).split(".")[:2])
        module = request_validators if part.startswith("Request") else response_validators
        make = getattr(module, f"V{version}{part}Validator", None)
        if make is None:
            raise LookupError(f"it knows no version {self.document.get('openapi')!r}")
        if self._spec is None:
            # Without a handler, Python writes its remarks about unions to standard error.
            logging.getLogger("openapi_core").addHandler(logging.NullHandler())
            self._spec = closed_path(self.document)
        return make(
            self._spec,
            path_finder_cls=partial(_Found, route),
            extra_media_type_deserializers=Decoders(content_type),
            style_deserializers_factory=StyleDeserializersFactory(
                make.schema_casters_factory, style_deserializers=style_decoders()
            ),
        )


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


def _about_parameters(
    errors: Iterator[Exception], document: Mapping[str, Any]
) -> Iterator[Exception]:
    """Yield the errors about parameters, except missing credentials.

    Some documents declare the header or query parameter of an API key as a parameter too.
    """
    keys = set(_places_of_keys(document))
    for error in errors:
        place: Any = isinstance(error, MissingParameterError) and error
        if not place or (place.location, place.name.lower()) not in keys:
            yield error


def _about_body(errors: Iterator[Exception], content_type: str) -> Iterator[Exception]:
    """Yield the errors about a body.

    Bodies other than JSON and forms are not compared with a schema; a media type that the document
    does not list is reported for every body.
    """
    for error in errors:
        about_type = isinstance(error.__cause__, MediaTypeFinderError)
        judged = not content_type or is_judged(content_type) or about_type
        optional = isinstance(error, MissingRequestBody)
        if judged and not optional and not (_is_multipart(content_type) and _drop_untyped(error)):
            yield error


def _has_no_content(status: int, route: Route, document: Mapping[str, Any]) -> bool:
    """Whether a response declares no content; openapi-core demands a body all the same."""
    responses = follow(document, route.operation["responses"])
    response = follow(document, responses.get(str(status), responses.get("default")))
    return isinstance(response, Mapping) and not response.get("content")


def _places_of_keys(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    for entry in schemes.values() if isinstance(schemes, Mapping) else ():
        scheme = follow(document, entry)
        if isinstance(scheme, Mapping) and scheme.get("type") == "apiKey":
            yield str(scheme.get("in")), str(scheme.get("name")).lower()


def _is_multipart(content_type: str) -> bool:
    return content_type.startswith("multipart/")


def _drop_untyped(error: Exception) -> bool:
    """Drop errors about the type of multipart parts; return whether none is left.

    All parts are text or bytes; openapi-core reads `1` as a number in other forms only.
    """
    cause: Any = error.__cause__
    details = getattr(cause, "schema_errors", None)
    if not details:
        return False
    cause.schema_errors = [detail for detail in details if not _is_untyped(detail)]
    return not cause.schema_errors


def _is_untyped(detail: Any) -> bool:
    """Whether a schema error is about bytes, or a number or boolean that is written as text."""
    if isinstance(detail.instance, bytes):
        return True
    if detail.validator != "type" or not isinstance(detail.instance, str):
        return False
    try:
        value = json.loads(detail.instance)
    except ValueError:
        return False
    asked = detail.validator_value
    return any(isinstance(value, _TEXT_OF[kind]) for kind in _TEXT_OF if kind == asked)


def _lines(errors: Iterable[Exception]) -> Iterator[str]:
    """Yield one line for each error: the place, then the fault."""
    for error in errors:
        cause = error.__cause__
        details = getattr(cause, "schema_errors", None)
        if type(cause).__name__ == "DeserializeError":
            yield shorten(f"not judged: {_place(error)}openapi-core does not read it here")
        elif details:
            yield from (shorten(f"{_place(error)}{_detail(item)}") for item in details)
        else:
            yield shorten(f"{_place(error)}{cause or error}")


def _place(error: Exception) -> str:
    name, location = getattr(error, "name", ""), getattr(error, "location", "")
    if location and error.__cause__ is not None:
        return f"{location} parameter {name!r}: "
    if name and error.__cause__ is not None:
        return f"header {name!r}: "
    return "body: " if error.__cause__ is not None else ""


def _detail(error: Any) -> str:
    where = pointer(getattr(error, "absolute_path", ()))
    return f"{where}: {error.message}" if where else str(getattr(error, "message", error))
