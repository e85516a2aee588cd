"""openapi-core's errors without those that say nothing about the request or answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.judge.forms import is_judged
from openapi_tools.judge.references import follow

if TYPE_CHECKING:
    from openapi_tools.judge.routes import Route

_TEXT_OF: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool}


def about_parameters(
    errors: Iterator[Exception], document: Mapping[str, Any]
) -> Iterator[Exception]:
    """Yield the errors about parameters, but none for credentials that are missing.

    Some documents declare the header or query parameter of an API key as a parameter too.
    """
    from openapi_core.validation.request.exceptions import MissingParameterError

    keys = set(_places_of_keys(document))
    for error in errors:
        place: Any = isinstance(error, MissingParameterError) and error
        if not place or (place.location, place.name.lower()) not in keys:
            yield error


def about_body(errors: Iterator[Exception], content_type: str) -> Iterator[Exception]:
    """Yield the errors that mean something for a body of this type.

    Bodies that are neither JSON nor forms are not compared; that they are of a media type that
    the document does not list is told of all.
    """
    from openapi_core.templating.media_types.exceptions import MediaTypeFinderError
    from openapi_core.validation.request.exceptions import MissingRequestBody

    for error in errors:
        about_type = isinstance(error.__cause__, MediaTypeFinderError)
        judged = not content_type or is_judged(content_type) or about_type
        optional = isinstance(error, MissingRequestBody)
        if judged and not optional and not (_is_multipart(content_type) and _drop_untyped(error)):
            yield error


def says_nothing(status: int, route: Route, document: Mapping[str, Any]) -> bool:
    """Whether a response has an empty `content`, which openapi-core takes for some content."""
    responses = follow(document, route.operation["responses"])
    response = follow(document, responses.get(str(status), responses.get("default")))
    return isinstance(response, Mapping) and not response.get("content")


def _places_of_keys(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield location and name of the document's API keys."""
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    for entry in schemes.values() if isinstance(schemes, Mapping) else ():
        scheme = follow(document, entry)
        if isinstance(scheme, Mapping) and scheme.get("type") == "apiKey":
            yield str(scheme.get("in")), str(scheme.get("name")).lower()


def _is_multipart(content_type: str) -> bool:
    """Whether a body has parts."""
    return content_type.startswith("multipart/")


def _drop_untyped(error: Exception) -> bool:
    """Drop what openapi-core says only because parts are text and bytes, as all of them are.

    It does not read `1` as a number there, although it does so in other forms.

    Returns:
        Whether nothing else is left of the error.
    """
    cause: Any = error.__cause__
    details = getattr(cause, "schema_errors", None)
    if not details:
        return False
    cause.schema_errors = [detail for detail in details if not _is_written_otherwise(detail)]
    return not cause.schema_errors


def _is_written_otherwise(detail: Any) -> bool:
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
