"""openapi-core's errors in one short line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST = 240


def lines(errors: Iterable[Exception]) -> Iterator[str]:
    """Yield what each error says: the place, then what is wrong there.

    Only the errors' own words and the causes that they name are used; no traceback, no whole body.
    """
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
    """Return text on one line, its middle left out where it is long."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    half = (limit - 3) // 2
    return f"{line[:half]} … {line[-half:]}"


def pointer(keys: Iterable[Any]) -> str:
    """Return keys as a JSON Pointer.

    Spec: RFC 6901, section 3.
    """
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def _place(error: Exception) -> str:
    """Return what the error is about: a parameter, a header, the body."""
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
