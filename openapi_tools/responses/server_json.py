"""JSON from a server as native values, and the words in the JSON of its errors."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from openapi_tools.json_values import join_pointer
from openapi_tools.responses.rounded_decimals import ROUNDED, has_rounded
from openapi_tools.responses.shown_text import clean_text, cut_text, decode_text, encode, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import Operation
    from openapi_tools.transport import APIResponse

VALUES = 200_000  # default for the most values of one JSON text: some 25 MB of objects
PARTLY = "the response is longer; only its beginning was read"
"""The note on a text with more values or lines than can be shown."""

_DEEPEST = 200
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_ESCAPED = (b"\\u00", b"\\b", b"\\f")  # escapes of control characters
_BLANK = b" \t\r\n\0\xef\xbb\xbf\xfe\xff"
_ENDS = {b"[": b"]", b"{": b"}"}
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{},]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}
_HEAD = 400_000
_LENIENT = json.JSONDecoder(strict=False, parse_constant=str)
_NO_STRICT_JSON = "the response is not strict JSON; it was parsed leniently"


def read_json(content: bytes, charset: str = "", *, values: int = VALUES) -> tuple[Any, list[str]]:
    """Return the value of JSON text, the first `values` of more, and notes on its faults."""
    if len(content) > values and sum(map(content.count, (b",", b"[", b"{"))) > values:
        start = content[:_HEAD].lstrip(_BLANK)[:1]
        if content[-_HEAD:].rstrip(_BLANK)[-1:] != _ENDS.get(start):
            raise ValueError("it does not end")
        value, notes = read_begun(content, charset)
        return value, [*dict.fromkeys((*notes, PARTLY))]
    try:
        value = from_json(content, allow_inf_nan=False)
    except ValueError:
        return _read_leniently(content, charset)
    notes = [ROUNDED] if has_rounded(content) else []
    return (clean(value) if _is_suspicious(content) else value), notes


def _is_suspicious(content: bytes) -> bool:
    """Whether a string in it may hold a control character."""
    # Searches for bytes are ten times as fast as one for a pattern, most so for a single one.
    if b"\\" in content and any(map(content.__contains__, _ESCAPED)):
        return True
    return b"\x7f" in content or (b"\xc2" in content and _C1.search(content) is not None)


def read_begun(content: bytes, charset: str = "") -> tuple[Any, list[str]]:
    """Return the values at the beginning of JSON text, which may end anywhere, and notes."""
    text, notes, _ = decode_text(content[:_HEAD], charset)
    head = _closed(text.removeprefix("\ufeff"))
    try:
        value = from_json(head.encode(), allow_inf_nan=True)
    except ValueError:
        value = _decoded(head)
    notes += [ROUNDED] if has_rounded(head.encode()) else []
    return clean(value), [*notes, PARTLY] if len(content) > _HEAD else notes


def _closed(text: str) -> str:
    """Return JSON text up to its last comma or bracket, with all brackets closed."""
    # pydantic's parser for unfinished text takes wrong text too.
    closers: list[str] = []
    end = depth = 0
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if mark == '"':  # a text without an end
            break
        if mark in _CLOSERS:
            closers.append(_CLOSERS[mark])
        elif mark in ",]}":
            closers = closers if mark == "," else closers[:-1]
            end, depth = token.end() - (mark == ","), len(closers)
    return text[:end] + "".join(reversed(closers[:depth]))


def _decoded(text: str) -> Any:
    try:
        return _LENIENT.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _read_leniently(content: bytes, charset: str) -> tuple[Any, list[str]]:
    text, notes, _ = decode_text(content, charset)
    text = text.removeprefix("\ufeff")
    value = clean(_decoded(text))
    notes += [ROUNDED] if has_rounded(text.encode(errors="replace")) else []
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        notes.append(_NO_STRICT_JSON)
    return value, notes


def clean(value: Any, depth: int = 0) -> Any:
    """Return a value without NaN, surrogates and control characters, or raise `ValueError`."""
    match value:
        case str():
            return clean_text(value)
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case list() | dict() if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        case list():
            return [clean(item, depth + 1) for item in value]
        case dict():
            return {clean_text(k): clean(v, depth + 1) for k, v in value.items()}
        case _:
            return value


_WORDS = (
    *("title", "error_description", "message", "Message", "errorMessage", "error_message"),
    *("detail", "details", "description", "reason", "msg", "error"),
)
"""Members that hold a sentence, in the order of the message."""
_NESTED = ("error", "fault", "Error", "meta")
_LISTS = ("errors", "detail", "details", "violations", "invalid_params", "invalid-params", "issues")
_PLACES = ("loc", "field", "path", "pointer", "param", "parameter", "property", "name", "source")
_CODES = ("code", "type", "status", "error")
_SAID = {*_WORDS, *_NESTED, *_LISTS, *_CODES, "instance", "timestamp", "path", "statusCode"}
_GOOGLE = "fieldViolations"
_OWN = ("loc", "field", "param", "parameter", "property")
_WRAPPERS = {"body", "query", "path", "header", "cookie", "data", "attributes", "request", "params"}
_STEP = re.compile(r"[^\s.\[\]/#$]{1,100}")
_QUOTED = re.compile(r"['\"`]([\w.\[\]-]{1,60})['\"`]")
_PLAIN = re.compile(r"[\W_]+")
_PROSE = 1200
_LINES = 10
_LINE = 500


def message_of(answer: APIResponse, body: Any, fields: dict[str, str]) -> str:
    """Return an error's message: status, its body's words, and arguments that those do not name."""
    phrase = ""
    with suppress(ValueError):
        phrase = f" {HTTPStatus(answer.status).phrase}"
    start = f"{answer.method} {answer.path} returned {answer.status}{phrase}"
    if answer.status == HTTPStatus.NOT_MODIFIED:
        return f"{start}, although the request had no condition such as If-None-Match."
    words = words_of(body, _PROSE)
    others = [to for name, to in fields.items() if to != f"/{name}" or name not in words]
    named = f"\nLook at {' and '.join(dict.fromkeys(others))[:_LINE]}." if others else ""
    return f"{start}: {words}{named}" if words else f"{start}."


def words_of(body: Any, room: int) -> str:
    """Return the message of an error's body, of problem details (RFC 9457) or common shapes."""
    if body is None or isinstance(body, str):
        text = (body or "").strip()
    else:
        parts = list(dict.fromkeys(islice(_parts(body), _LINES + 1)))
        text = "\n".join(part[:_LINE] for part in parts[:_LINES])
        rest = body
        if text:  # facts for the caller to act on
            members = body.items() if isinstance(body, dict) else ()
            rest = {name: value for name, value in members if name not in _SAID and value}
        if rest:
            text = f"{text} {encode(shorten(rest, max(room - len(text), 40)))}".lstrip()
    return text if len(text) <= room else cut_text(text, room)[:room]


def _parts(body: Any) -> Iterator[str]:
    if isinstance(body, list):
        yield from filter(None, map(_line, body[:_LINES]))
    if not isinstance(body, dict):
        return
    if sentence := _sentence(body):
        yield sentence
    for name in _LISTS:
        yield from _faults(body.get(name))
    inner = next((body[name] for name in _NESTED if isinstance(body.get(name), dict)), None)
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
    codes += islice((body[name] for name in _CODES if _is_code(body.get(name))), 1)
    ended = [text if text.endswith((".", "!", "?", ":")) else f"{text}." for text in sentences]
    unsaid = [code for code in dict.fromkeys(codes) if not any(code in text for text in ended)]
    if not ended:
        return " ".join(unsaid)
    return " ".join([*ended, f"({', '.join(unsaid)})"] if unsaid else ended)


def _is_code(code: object) -> bool:
    """Whether a code is a short name; `about:blank` is the type of untyped problems."""
    return isinstance(code, str) and 0 < len(code) <= _LINE and code != "about:blank"


def _faults(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value[: _LINES + 1]:
            yield from filter(None, [_line(item)])
            yield from _faults(item.get(_GOOGLE)) if isinstance(item, dict) else ()
    elif isinstance(value, dict):
        for field, reasons in islice(value.items(), _LINES + 1):
            texts = reasons if isinstance(reasons, list) else [reasons]
            if said := [*filter(None, map(_line, texts[:_LINES]))]:
                yield f"{field}: {'; '.join(said)}"
            elif isinstance(reasons, dict):
                inner = (f"{field}.{line}" for line in _faults(reasons))
                yield from (line.replace("._errors:", ":", 1) for line in inner)


def _line(item: Any) -> str:
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


def at_fault(body: Any, operation: Operation) -> dict[str, str]:
    """Return the arguments that an error's body names: a JSON Pointer for each name of the API."""
    fed = [] if operation.body is None else [operation.body, *operation.body.choices]
    members = [(part.name, part.argument) for body in fed for part in body.properties]
    whole = next((body.argument for body in fed if body.argument), "")
    others = [(part.name, part.argument) for part in operation.parameters]
    places = list(dict.fromkeys(islice(_places(body), _LINES)))
    quoted = [] if places else _QUOTED.findall(words_of(body, _LINE))
    found: dict[str, str] = {}
    for place in (*places, *quoted[:_LINES]):
        steps = _STEP.findall(place)[:20]
        of_body = steps[:1] in (["body"], ["data"])
        pairs = [*others, *members] if of_body else [*members, *others]
        known = {_plain(name): argument for name, argument in [(whole, whole), *pairs] if name}
        keys = _argument(steps, known) or ([whole, *steps] if whole and steps and places else [])
        if keys and keys[0] not in operation.fixed:
            found[place] = join_pointer(keys)
    return found


def _argument(steps: list[str], known: dict[str, str]) -> list[str]:
    """Return the steps of an API's place from an argument on; none where it names no argument."""
    for start, step in enumerate(steps):
        is_wrapper = step in _WRAPPERS and steps[start + 1 :] != []
        is_outside = is_wrapper and _plain(steps[start + 1]) in known
        if _plain(step) in known and not is_outside:
            return [known[_plain(step)], *steps[start + 1 :]]
        if (name := _plain("".join(steps[start:]))) in known:  # `page[size]`
            return [known[name]]
        if start and not is_wrapper:  # the first step may be the name of a model
            break
    return []


def _plain(name: str) -> str:
    return _PLAIN.sub("", name).lower()


def _places(value: Any, depth: int = 0, names: tuple[str, ...] = _OWN) -> Iterator[str]:
    """Yield the fields that an error's body names; the items of a list do it by more members."""
    if isinstance(value, list) and depth < _LINES:
        for item in value[:_LINES]:
            yield from _places(item, depth + 1, _PLACES)
    elif isinstance(value, dict) and depth < _LINES:
        yield from islice(filter(None, (_place(value.get(name)) for name in names)), 1)
        for name in (*_LISTS, _GOOGLE, "causes", *_NESTED):
            inner: Any = value.get(name)
            is_by_field = name == "errors" and isinstance(inner, dict)
            yield from _fields(inner, depth) if is_by_field else _places(inner, depth + 1)


def _fields(value: dict[str, Any], depth: int) -> Iterator[str]:
    for name, reasons in islice(value.items(), _LINES):
        if name == "_errors" or not isinstance(reasons, dict) or depth >= _LINES:
            yield name
        else:
            for place in _fields(reasons, depth + 1):
                yield name if place == "_errors" else f"{name}.{place}"
