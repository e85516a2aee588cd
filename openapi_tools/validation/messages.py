"""Messages for a model about the faults of a value."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Place = tuple[str | int, ...]
    Schema = dict[str, Any] | bool

_KINDS = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_TYPES = (
    (type(None), "null"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
)
_SHOWN = 80
_LEAST = 4
_LARGEST_INTEGER_BITS = 1024
_LISTED = 20
_NAME = 100
_COMPARED = 500


class Flaw(NamedTuple):
    """One thing that is wrong.

    Attributes:
        place: The way into the input: names and indexes.
        keyword: Of JSON Schema; `additionalProperties` also for unevaluated members, `false` where
            nothing is allowed.
        limit: What the keyword asks for.
        value: What was given.
        remark: Added to the sentence, for instance which alternative was looked at.
    """

    place: tuple[str | int, ...]
    keyword: str
    limit: Any
    value: Any
    remark: str = ""


def sentence(flaw: Flaw) -> str:
    """Describe a fault and the allowed values in a sentence, without the place."""
    phrase = _PHRASES.get(flaw.keyword)
    text = phrase(flaw) if phrase else f"{show(flaw.value)} does not fit its schema"
    return f"{text}{flaw.remark}."


def show(value: Any, room: int = _SHOWN) -> str:
    """Return a value in few characters, strings in single quotes, the rest as JSON writes it.

    Args:
        value: JSON-native.
        room: Characters, more or less.
    """
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            text = redacted(value)
            return repr(text) if len(text) <= room else f"{text[: room - 1]!r}…"
        case list() | dict():
            return _show_parts(value, room)
        case int() if value.bit_length() > _LARGEST_INTEGER_BITS:
            return "a number too large for JSON"
        case _:
            text = repr(value)
            return text if len(text) <= room else f"{text[: room - 1]}…"


def _show_parts(value: list[Any] | dict[str, Any], room: int) -> str:
    """Return an array or object with as many of its parts as there is room for."""
    opening, closing = "[]" if isinstance(value, list) else "{}"
    half = room // 2
    if half < _LEAST:
        return f"{opening}…{closing}"
    if isinstance(value, list):
        parts = (show(item, half) for item in value)
    else:
        parts = (f"{show(name, half)}: {show(member, half)}" for name, member in value.items())
    return f"{opening}{_row(parts, len(value), room)}{closing}"


def _row(shown: Iterable[str], count: int, room: int) -> str:
    """Return as many texts as fit, with the number of those that did not."""
    row: list[str] = []
    for text in islice(shown, _LISTED):
        if row and room < len(text):
            break
        row.append(text)
        room -= len(text) + 2
    if len(row) < count:
        row.append(f"… {count - len(row)} more")
    return ", ".join(row)


def kind_of(value: Any) -> str:
    """Return the JSON type of a value with its article: `"an integer"`."""
    return _KINDS[next((name for kind, name in _TYPES if isinstance(value, kind)), "object")]


def _kinds(types: Any) -> str:
    names = [types] if isinstance(types, str) else list(dict.fromkeys(types))
    return " or ".join(_KINDS.get(name, name) for name in names)


def _wrong_type(flaw: Flaw) -> str:
    given = show(flaw.value)
    text = f"expected {_kinds(flaw.limit)}, got {given}"
    if given != kind_of(flaw.value):
        text += f" ({kind_of(flaw.value)})"
    if isinstance(flaw.value, str) and _would_fit(flaw.value, flaw.limit):
        text += "; give it without quotes"
    return text


def _would_fit(text: str, types: Any) -> bool:
    """Whether a string holds a number, boolean, array or object that would fit."""
    try:
        meant = json.loads(text) if len(text) <= _SHOWN else None
    except (ValueError, RecursionError):
        return False
    wanted = types if isinstance(types, list) else [types]
    kind = kind_of(meant)
    return meant is not None and any(
        _KINDS.get(name) == kind or (name == "number" and kind == "an integer") for name in wanted
    )


def _unknown(flaw: Flaw) -> str:
    """Say that a name is unknown, and which ones are close or, if they are few, known."""
    import difflib

    known = [name for name in flaw.limit if len(name) <= _NAME]
    if not known:
        return "is not known here; leave it out"
    name = str(flaw.place[-1])[:_NAME]
    close = difflib.get_close_matches(name, known[:_COMPARED], n=3)
    text = "is not known here"
    if close:
        text += f"; did you mean {' or '.join(map(repr, close))}?"
    if len(known) > _LISTED:
        return text if close else f"{text}, nor is any name like it; leave it out"
    return (
        f"{text} Known: {', '.join(map(repr, known))}"
        if close
        else (f"{text}; known are {', '.join(map(repr, known))}")
    )


def _repeated(flaw: Flaw) -> str:
    seen: dict[str, int] = {}
    for index, item in enumerate(flaw.value):
        first = seen.setdefault(json.dumps(item, sort_keys=True), index)
        if first != index:
            return f"items {first} and {index} are equal, all have to differ"
    return "some items are equal, all have to differ"


def _too_few(flaw: Flaw) -> str:
    least = flaw.limit.get("minContains", 1)
    return f"needs {least} or more items that fit {show(flaw.limit['contains'], 200)}"


def _too_many(flaw: Flaw) -> str:
    most, items = flaw.limit["maxContains"], show(flaw.limit["contains"], 200)
    return f"at most {most} items may fit {items}"


def _counted(noun: str, bound: str) -> Callable[[Flaw], str]:
    """Return the phrase for a limit on a length, in units of `noun`."""

    def phrase(flaw: Flaw) -> str:
        return f"has {len(flaw.value)} {noun}, {bound} {flaw.limit} allowed"

    return phrase


def _bounded(bound: str) -> Callable[[Flaw], str]:
    """Return the phrase for a limit on a number."""

    def phrase(flaw: Flaw) -> str:
        return f"{show(flaw.value)} is out of range, {bound} {show(flaw.limit)} is allowed"

    return phrase


def _not_of_pattern(flaw: Flaw) -> str:
    return f"{show(flaw.value)} does not match the pattern {show(flaw.limit, 200)}"


def _several_fit(flaw: Flaw) -> str:
    return (
        f"fits {' and '.join(flaw.limit)}, of which exactly one may fit; "
        "leave out what belongs to the others"
    )


_PHRASES: dict[str, Callable[[Flaw], str]] = {
    "additionalProperties": _unknown,
    "const": lambda flaw: f"{show(flaw.value)} is not {show(flaw.limit)}",
    "contains": _too_few,
    "maxContains": _too_many,
    "minContains": _too_few,
    "dependentRequired": lambda flaw: f"required when {flaw.limit!r} is given",
    "enum": lambda flaw: f"{show(flaw.value)} is not one of {show(flaw.limit, 500)}",
    "exclusiveMaximum": _bounded("less than"),
    "exclusiveMinimum": _bounded("more than"),
    "false": lambda _: "is not allowed here; leave it out",
    "maxItems": _counted("items", "at most"),
    "maxLength": _counted("characters", "at most"),
    "maxProperties": _counted("members", "at most"),
    "maximum": _bounded("at most"),
    "minItems": _counted("items", "at least"),
    "minLength": _counted("characters", "at least"),
    "minProperties": _counted("members", "at least"),
    "minimum": _bounded("at least"),
    "multipleOf": lambda flaw: f"{show(flaw.value)} is not a multiple of {show(flaw.limit)}",
    "not": lambda flaw: (
        f"{show(flaw.value)} is not allowed: it fits {show(flaw.limit, 200)}, which is ruled out"
    ),
    "oneOf": _several_fit,
    "pattern": _not_of_pattern,
    "required": lambda _: "required but not given",
    "type": _wrong_type,
    "unevaluatedItems": lambda flaw: f"{show(flaw.value)} has items that are not allowed here",
    "uniqueItems": _repeated,
}
