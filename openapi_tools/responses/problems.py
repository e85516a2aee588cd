"""An API's own words about an error."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.responses.server_json import encode
from openapi_tools.responses.truncation import cut_text, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = (
    "title",
    "error_description",
    "message",
    "Message",
    "errorMessage",
    "error_message",
    "detail",
    "details",
    "description",
    "reason",
    "msg",
    "error",
)
"""Members that hold a sentence, in the order of the message."""

_NESTED = ("error", "fault", "Error", "meta")
_LISTS = ("errors", "detail", "details", "violations", "invalid_params", "invalid-params", "issues")
_PLACES = ("loc", "field", "path", "pointer", "param", "parameter", "property", "name", "source")
_CODES = ("code", "type", "status", "error")
_SAID = frozenset(
    (*_WORDS, *_NESTED, *_LISTS, *_CODES, "instance", "timestamp", "path", "statusCode")
)
_LINES = 10
_LINE = 500


def words_of(body: Any, room: int) -> str:
    """Return the message of an error's body: sentences, then a line for each single fault.

    Problem details, and the shapes that most APIs share: `message`, `error` as text or object,
    `errors` as list or as lists by field, FastAPI's `detail` with `loc` and `msg`, OAuth's
    `error_description`. Other members, and bodies without words, follow as JSON.

    Spec: RFC 9457, section 3; RFC 6749, section 5.2.

    Args:
        body: JSON-native or text; members may have any type.
        room: Characters at most.
    """
    if body is None or isinstance(body, str):
        text = (body or "").strip()
    else:
        parts = list(dict.fromkeys(islice(_parts(body), _LINES + 1)))
        text = "\n".join(part[:_LINE] for part in parts[:_LINES])
        rest = _unsaid(body) if text else body
        if rest:
            text = f"{text} {encode(shorten(rest, max(room - len(text), 40)))}".lstrip()
    return text if len(text) <= room else cut_text(text, room)[:room]


def _unsaid(body: Any) -> dict[str, Any]:
    """Return the members that are not words: facts for the caller to act on."""
    if not isinstance(body, dict):
        return {}
    return {name: value for name, value in body.items() if name not in _SAID and value}


def _parts(body: Any) -> Iterator[str]:
    """Give the sentence of a body, then its single faults."""
    if isinstance(body, list):
        yield from (line for item in body[:_LINES] if (line := _line(item)))
    if not isinstance(body, dict):
        return
    inner = next((body[name] for name in _NESTED if isinstance(body.get(name), dict)), None)
    sentence = _sentence(body)
    if sentence:
        yield sentence
    for name in _LISTS:
        yield from _faults(body.get(name))
    if inner is not None:
        yield from _parts(inner)


def _sentence(body: dict[str, Any]) -> str:
    """Return the sentences of an object, and its short code when they do not hold it."""
    said: list[str] = []
    for text in (body[name].strip() for name in _WORDS if isinstance(body.get(name), str)):
        if text and not any(text in other for other in said):
            said.append(text)
    sentences = [text for text in said if " " in text]
    codes = [text for text in said if " " not in text]
    if code := next((body[name] for name in _CODES if _is_code(body.get(name))), ""):
        codes.append(code)
    ended = [text if text.endswith((".", "!", "?", ":")) else f"{text}." for text in sentences]
    unsaid = [code for code in dict.fromkeys(codes) if not any(code in text for text in ended)]
    if not ended:
        return " ".join(unsaid)
    return " ".join([*ended, f"({', '.join(unsaid)})"] if unsaid else ended)


def _is_code(code: object) -> bool:
    """Whether a code is a short name; `about:blank` is the type of untyped problems."""
    return isinstance(code, str) and 0 < len(code) <= _LINE and code != "about:blank"


def _faults(value: Any) -> Iterator[str]:
    """Give a line for each fault of a list, or of lists by field."""
    if isinstance(value, list):
        yield from (line for item in value[: _LINES + 1] if (line := _line(item)))
    elif isinstance(value, dict):
        for field, reasons in islice(value.items(), _LINES + 1):
            texts = reasons if isinstance(reasons, list) else [reasons]
            said = [text for item in texts[:_LINES] if (text := _line(item))]
            if said:
                yield f"{field}: {'; '.join(said)}"


def _line(item: Any) -> str:
    """Return one fault in one line, its place first."""
    if isinstance(item, str):
        return item.strip()
    if not isinstance(item, dict):
        return ""
    sentence = _sentence(item)
    place = next((text for name in _PLACES if (text := _place(item.get(name)))), "")
    return f"{place}: {sentence}" if place and sentence else sentence or place


def _place(value: Any) -> str:
    """Return the place of a fault: a name, a pointer, or the steps of a path."""
    match value:
        case str():
            return value
        case list():
            return ".".join(str(step) for step in value[:20] if isinstance(step, str | int))
        case {"pointer": str(place)} | {"parameter": str(place)}:
            return place
        case _:
            return ""
