"""Results of calls that failed: the message in an error's body, and the arguments that it names."""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import join_pointer
from openapi_tools.errors import CallError, ErrorType
from openapi_tools.responses.content import ContentOptions, RawBody, read_content
from openapi_tools.responses.json_content import (
    cut_string,
    cut_value,
    encode_json,
    fit_value,
)
from openapi_tools.result import ToolResult
from openapi_tools.transport.failures import retry_after, timeout_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import Operation
    from openapi_tools.transport import APIResponse

_TYPES: dict[int, ErrorType] = {401: "auth", 403: "auth", 429: "rate_limited"}
# 408 and 425 ask for the same request again (RFC 9110, section 15.5.9; RFC 8470, section 5.2).
# Not 500: the work may be half done.
_RETRYABLE = frozenset({408, 425, 429, 502, 503, 504})
_SERVER_FAULTS = 500
# Some 600 tokens: what to do differently stands at the beginning of an error.
_ERROR_CHARS = 2400
_ERROR_READ = 1_000_000
_ERROR_HEAD = 64_000
_LONGEST = 1024  # characters of a media type
_UNFINISHED = 1200  # characters of the message in a response that the timeout cut

# Properties that hold a sentence, in the order of the message.
_MESSAGE_KEYS = (
    *("title", "error_description", "message", "Message", "errorMessage", "error_message"),
    *("detail", "details", "description", "reason", "msg", "error"),
)
_NESTED = ("error", "fault", "Error", "meta")
# FastAPI's `detail`, Rails' and JSON:API's `errors`, Google's `details`, RFC 9457's
# `invalid-params`.
_LISTS = ("errors", "detail", "details", "violations", "invalid_params", "invalid-params", "issues")
_FAULT_LOCATIONS = (
    *("loc", "field", "path", "pointer", "param", "parameter", "property", "name", "source"),
)
_CODES = ("code", "type", "status", "error")
_READ_KEYS = {*_MESSAGE_KEYS, *_NESTED, *_LISTS, *_CODES} | {
    *("instance", "timestamp", "path", "statusCode")
}
_GOOGLE = "fieldViolations"
_SURE_LOCATIONS = ("loc", "field", "param", "parameter", "property")
# Where frameworks say that a value came from, before the path to it: FastAPI's `loc` is
# `["body", "name"]`, JSON:API's pointer `/data/attributes/name`.
_WRAPPERS = {"body", "query", "path", "header", "cookie", "data", "attributes", "request", "params"}
_STEP = re.compile(r"[^\s.\[\]/#$]{1,100}")
_QUOTED = re.compile(r"['\"`]([\w.\[\]-]{1,60})['\"`]")
_PLAIN = re.compile(r"[\W_]+")
_PROSE = 1200
_LINES = 10
_LINE = 500


def error_result(
    response: APIResponse, operation: Operation, metadata: dict[str, Any]
) -> ToolResult:
    """Return the result of a response whose status is an error."""
    status = response.status
    redirected = 300 <= status < 400 and status != HTTPStatus.NOT_MODIFIED  # noqa: PLR2004
    kind = _TYPES.get(status, "redirect" if redirected else "http")
    body = _read_error_body(response)
    facts = {
        "status": status,
        "retryable": status in _RETRYABLE,
        "retry_after": retry_after(response.headers),
        "body": body,
    }
    fields = (
        find_faulty_arguments(body, operation) if kind == "http" and status < _SERVER_FAULTS else {}
    )
    facts |= {"fields": list(fields.values())} if fields else {}
    return ToolResult.failed(
        kind, error_message(response, body, fields), metadata=metadata, facts=facts
    )


def _read_error_body(response: APIResponse) -> Any:
    if response.method == "HEAD":
        return None
    # Of an error that is longer than any API's, a beginning is enough.
    data = (
        response.content if len(response.content) <= _ERROR_READ else response.content[:_ERROR_HEAD]
    )
    body = RawBody(data, response.headers.get("content-type", "")[:_LONGEST])
    shape = ContentOptions(max_chars=_ERROR_CHARS, binary=False)
    try:
        value = read_content(body, shape).value
    except CallError:
        value = read_content(RawBody(body.data), shape).value
    if value is None or value == "":
        return None
    return fit_value(value, len(body.data), _ERROR_CHARS)[0]


def unreadable_result(
    error: CallError, response: APIResponse, facts: dict[str, Any], limit: float
) -> ToolResult:
    """Return the result of a response that cannot be read; its type is `timeout` if that cut it."""
    if not response.cut:
        reason = f"{response.method} {response.path} returned {response.status}, but {error.reason}"
        status = {"status": response.status}
        return ToolResult.failed(error.kind, reason, metadata=facts, facts=status)
    late = timeout_error(response.request, limit)
    late.attempts = response.attempts
    body = error.facts.get("body")
    if body is None:
        raise late from None
    body, _ = fit_value(body, len(response.content), _ERROR_CHARS)
    message = error_text(encode_json(body), _UNFINISHED)
    reason = f"{late.reason} The response had begun ({response.status}): {message}"
    late.facts |= {"status": response.status, "body": body}
    return ToolResult.failed("timeout", reason, metadata=facts, facts=late.facts)


def error_message(response: APIResponse, body: Any, fields: dict[str, str]) -> str:
    """Return an error's message: status, the body's message, arguments that it does not name."""
    phrase = ""
    with suppress(ValueError):
        phrase = f" {HTTPStatus(response.status).phrase}"
    start = f"{response.method} {response.path} returned {response.status}{phrase}"
    if response.status == HTTPStatus.NOT_MODIFIED:
        return f"{start}, although the request had no condition such as If-None-Match."
    text = error_text(body, _PROSE)
    places_unnamed = [to for name, to in fields.items() if to != f"/{name}" or name not in text]
    hint = (
        f"\nLook at {' and '.join(dict.fromkeys(places_unnamed))[:_LINE]}."
        if places_unnamed
        else ""
    )
    return f"{start}: {text}{hint}" if text else f"{start}."


def error_text(body: Any, max_chars: int) -> str:
    """Return the message of an error's body, of problem details (RFC 9457) or common shapes."""
    if body is None or isinstance(body, str):
        text = (body or "").strip()
    else:
        parts = list(dict.fromkeys(islice(_iter_lines(body), _LINES + 1)))
        text = "\n".join(part[:_LINE] for part in parts[:_LINES])
        rest = body
        if text:  # facts for the caller to act on
            properties = body.items() if isinstance(body, dict) else ()
            rest = {name: value for name, value in properties if name not in _READ_KEYS and value}
        if rest:
            text = f"{text} {encode_json(cut_value(rest, max(max_chars - len(text), 40)))}".lstrip()
    return text if len(text) <= max_chars else cut_string(text, max_chars)[:max_chars]


def _iter_lines(body: Any) -> Iterator[str]:
    if isinstance(body, list):
        yield from filter(None, map(_fault_line, body[:_LINES]))
    if not isinstance(body, dict):
        return
    if sentence := _sentence(body):
        yield sentence
    for name in _LISTS:
        yield from _iter_faults(body.get(name))
    inner = next((body[name] for name in _NESTED if isinstance(body.get(name), dict)), None)
    if inner is not None:
        yield from _iter_lines(inner)


def _sentence(body: dict[str, Any]) -> str:
    texts: list[str] = []
    for text in (body[name].strip() for name in _MESSAGE_KEYS if isinstance(body.get(name), str)):
        if text and not any(text in other for other in texts):
            texts.append(text)
    sentences = [text for text in texts if " " in text]
    codes = [text for text in texts if " " not in text]
    codes += islice((body[name] for name in _CODES if _is_code(body.get(name))), 1)
    complete = [text if text.endswith((".", "!", "?", ":")) else f"{text}." for text in sentences]
    codes_unsaid = [
        code for code in dict.fromkeys(codes) if not any(code in text for text in complete)
    ]
    if not complete:
        return " ".join(codes_unsaid)
    return " ".join([*complete, f"({', '.join(codes_unsaid)})"] if codes_unsaid else complete)


def _is_code(code: object) -> bool:
    # `about:blank` is the type of untyped problems (RFC 9457, section 4.2.1).
    return isinstance(code, str) and 0 < len(code) <= _LINE and code != "about:blank"


def _iter_faults(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value[: _LINES + 1]:
            yield from filter(None, [_fault_line(item)])
            yield from _iter_faults(item.get(_GOOGLE)) if isinstance(item, dict) else ()
    elif isinstance(value, dict):
        for field, reasons in islice(value.items(), _LINES + 1):
            texts = reasons if isinstance(reasons, list) else [reasons]
            if lines := [*filter(None, map(_fault_line, texts[:_LINES]))]:
                yield f"{field}: {'; '.join(lines)}"
            elif isinstance(reasons, dict):
                inner = (f"{field}.{line}" for line in _iter_faults(reasons))
                # zod's `format()`: each level has a list `_errors` beside the fields.
                yield from (line.replace("._errors:", ":", 1) for line in inner)


def _fault_line(item: Any) -> str:
    if isinstance(item, str):
        return item.strip()
    if not isinstance(item, dict):
        return ""
    sentence = _sentence(item)
    place = next(
        (text for name in _FAULT_LOCATIONS if (text := _fault_location(item.get(name)))), ""
    )
    return f"{place}: {sentence}" if place and sentence else sentence or place


def _fault_location(value: Any) -> str:
    match value:
        case str():
            return value
        case list():
            return ".".join(str(step) for step in value[:20] if isinstance(step, str | int))
        case {"pointer": str(place)} | {"parameter": str(place)}:
            return place
        case _:
            return ""


def find_faulty_arguments(body: Any, operation: Operation) -> dict[str, str]:
    """Return the arguments that an error's body names: a JSON Pointer for each name of the API."""
    bodies = [] if operation.body is None else [operation.body, *operation.body.choices]
    properties = [(part.name, part.argument) for body in bodies for part in body.properties]
    whole = next((body.argument for body in bodies if body.argument), "")
    parameters = [(part.name, part.argument) for part in operation.parameters]
    places = list(dict.fromkeys(islice(_iter_locations(body), _LINES)))
    quoted = [] if places else _QUOTED.findall(error_text(body, _LINE))
    faulty: dict[str, str] = {}
    for place in (*places, *quoted[:_LINES]):
        steps = _STEP.findall(place)[:20]
        of_body = steps[:1] in (["body"], ["data"])
        pairs = [*parameters, *properties] if of_body else [*properties, *parameters]
        arguments_by_name = {
            _fold_name(name): argument for name, argument in [(whole, whole), *pairs] if name
        }
        keys = _argument_path(steps, arguments_by_name) or (
            [whole, *steps] if whole and steps and places else []
        )
        if keys and keys[0] not in operation.fixed:
            faulty[place] = join_pointer(keys)
    return faulty


def _argument_path(steps: list[str], arguments_by_name: dict[str, str]) -> list[str]:
    for start, step in enumerate(steps):
        is_wrapper = step in _WRAPPERS and steps[start + 1 :] != []
        is_outside = is_wrapper and _fold_name(steps[start + 1]) in arguments_by_name
        if _fold_name(step) in arguments_by_name and not is_outside:
            return [arguments_by_name[_fold_name(step)], *steps[start + 1 :]]
        if (name := _fold_name("".join(steps[start:]))) in arguments_by_name:  # `page[size]`
            return [arguments_by_name[name]]
        if start and not is_wrapper:  # the first step may be the name of a model
            break
    return []


def _fold_name(name: str) -> str:
    return _PLAIN.sub("", name).lower()


def _iter_locations(
    value: Any, depth: int = 0, names: tuple[str, ...] = _SURE_LOCATIONS
) -> Iterator[str]:
    if isinstance(value, list) and depth < _LINES:
        for item in value[:_LINES]:
            yield from _iter_locations(item, depth + 1, _FAULT_LOCATIONS)
    elif isinstance(value, dict) and depth < _LINES:
        yield from islice(filter(None, (_fault_location(value.get(name)) for name in names)), 1)
        for name in (*_LISTS, _GOOGLE, "causes", *_NESTED):
            inner: Any = value.get(name)
            is_by_field = name == "errors" and isinstance(inner, dict)
            yield from (
                _iter_fields(inner, depth) if is_by_field else _iter_locations(inner, depth + 1)
            )


def _iter_fields(value: dict[str, Any], depth: int) -> Iterator[str]:
    for name, reasons in islice(value.items(), _LINES):
        if name == "_errors" or not isinstance(reasons, dict) or depth >= _LINES:
            yield name
        else:
            for place in _iter_fields(reasons, depth + 1):
                yield name if place == "_errors" else f"{name}.{place}"
