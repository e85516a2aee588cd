"""openapi-core's errors: those that matter, in one short line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.json_pointer import pointer
from openapi_tools.openapi_core.adapters import is_judged
from openapi_tools.openapi_core.local_references import follow
from openapi_tools.redaction import redacted

if TYPE_CHECKING:
    from openapi_tools.openapi_core.routes import Route

_LONGEST = 240
_TEXT_OF: dict[str, Any] = {"integer": int, "number": int | float, "boolean": bool}


def about_parameters(
    errors: Iterator[Exception], document: Mapping[str, Any]
) -> Iterator[Exception]:
    """Yield the errors about parameters, except missing credentials.

    Some documents declare the header or query parameter of an API key as a parameter too.
    """
    from openapi_core.validation.request.exceptions import MissingParameterError

    keys = set(_places_of_keys(document))
    for error in errors:
        place: Any = isinstance(error, MissingParameterError) and error
        if not place or (place.location, place.name.lower()) not in keys:
            yield error


def about_body(errors: Iterator[Exception], content_type: str) -> Iterator[Exception]:
    """Yield the errors about a body.

    Bodies other than JSON and forms are not compared with a schema; a media type that the document
    does not list is reported for every body.
    """
    from openapi_core.templating.media_types.exceptions import MediaTypeFinderError
    from openapi_core.validation.request.exceptions import MissingRequestBody

    for error in errors:
        about_type = isinstance(error.__cause__, MediaTypeFinderError)
        judged = not content_type or is_judged(content_type) or about_type
        optional = isinstance(error, MissingRequestBody)
        if judged and not optional and not (_is_multipart(content_type) and _drop_untyped(error)):
            yield error


def has_no_content(status: int, route: Route, document: Mapping[str, Any]) -> bool:
    """Whether a response declares no content; openapi-core demands a body all the same."""
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


def lines(errors: Iterable[Exception]) -> Iterator[str]:
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


def shorten(text: str, limit: int = _LONGEST) -> str:
    """Return text on one line, without its middle where it is too long."""
    line = " ".join(redacted(text).split())
    if len(line) <= limit:
        return line
    half = (limit - 3) // 2
    return f"{line[:half]} … {line[-half:]}"


def _place(error: Exception) -> str:
    """Return the parameter, header or body that an error is about."""
    name, location = getattr(error, "name", ""), getattr(error, "location", "")
    if location and error.__cause__ is not None:
        return f"{location} parameter {name!r}: "
    if name and error.__cause__ is not None:
        return f"header {name!r}: "
    return "body: " if error.__cause__ is not None else ""


def _detail(error: Any) -> str:
    """Return one schema error with its place inside the value."""
    where = pointer(getattr(error, "absolute_path", ()))
    return f"{where}: {error.message}" if where else str(getattr(error, "message", error))
