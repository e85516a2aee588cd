"""Answers that a document shows: its examples, or values made from its schemas."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import httpx

from openapi_tools.http_rules import essence
from openapi_tools.json_values import as_dict, follow_references
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from openapi_tools.openapi_core import Route

Document = Mapping[str, Any]

_MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "application/pdf": b"%PDF-1.7\n",
    "application/zip": b"PK\x05\x06" + bytes(18),
}
_OWN_HEADERS = ("content-type", "content-length", "content-encoding", "transfer-encoding")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RANGES = {
    "*/*": "application/json",
    "application/*": "application/json",
    "image/*": "image/png",
    "text/*": "text/plain",
}
_WITHOUT_BODY = (204, 205, 304)
_DEEPEST = 12
_LINES = ("application/jsonl", "application/x-ndjson", "application/ndjson")


class Shown(NamedTuple):
    """An answer that a document shows, before it is written as bytes."""

    status: int
    headers: dict[str, str]
    media_type: str = ""  # empty without content
    value: Any = None

    def response(self) -> httpx.Response:
        """Return it as a response of httpx."""
        if self.status in _WITHOUT_BODY:
            return httpx.Response(self.status, headers=self.headers)
        headers, content = self.headers, b""
        if self.media_type:
            headers = {**headers, "content-type": self.media_type}
            content = _bytes(self.value, essence(self.media_type))
        return httpx.Response(self.status, headers=headers, content=content)


def concrete_type(media_type: str) -> str:
    """Return a media type of a range, or the media type itself."""
    return _RANGES.get(media_type, media_type).replace("*", "sample")


def problem(status: int, detail: str, **members: Any) -> Shown:
    """Return an error answer (RFC 9457)."""
    value = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, **members}
    return Shown(status, {}, "application/problem+json", value)


class Fault(NamedTuple):
    """A failure among the `answers` of `mock_api`; its methods make the usual ones."""

    error: type[httpx.TransportError] | None = None
    seconds: float = 0.0  # before the error or the answer
    then: Any = None  # the answer without an error; None for the document's

    @classmethod
    def slow(cls, seconds: float, then: Any = None) -> Fault:
        """Answer after some seconds; `then` is any answer, the document's by default."""
        return cls(None, seconds, then)

    @classmethod
    def reset(cls) -> Fault:
        """Close the connection without an answer."""
        return cls(httpx.ReadError)

    @classmethod
    def timeout(cls) -> Fault:
        """Never answer: in the process a timeout at once, over a socket silence."""
        return cls(httpx.ReadTimeout)

    @staticmethod
    def rate_limited(retry_after: int = 1) -> tuple[int, Any, dict[str, str]]:
        """Answer 429 with `Retry-After`, in seconds (RFC 6585, section 4)."""
        return 429, {"detail": "too many requests"}, {"Retry-After": str(retry_after)}


def shown(document: Document, route: Route, accept: str = "", status: int | None = None) -> Shown:
    """Return what a document shows as an operation's answer.

    The lowest 2xx response (else `default`), unless a status is given; of several media types one
    that `accept` names, else JSON.
    """
    responses = follow_references(document, route.operation.get("responses"))
    status, response = _choose_response(responses, document, status)
    content = as_dict(response.get("content"))
    headers = _headers_of(response, document)
    if not content:
        return Shown(status, headers)
    media_type = _preferred(list(content), accept)
    entry = follow_references(document, content[media_type])
    concrete = concrete_type(media_type)
    value = _value(entry, document)
    # A JSON example that is written as text is common.
    kind, schema = essence(concrete), follow_references(document, entry.get("schema"))
    if "json" in kind and isinstance(value, str) and schema.get("type") in ("object", "array"):
        with suppress(ValueError):
            value = json.loads(value)
    return Shown(status, headers, concrete, value)


async def faulted(answer: Any, request: httpx.Request) -> Any:
    """Return an answer after the wait of a `Fault`, or raise its error; None for the document's."""
    if isinstance(answer, Fault):
        # Without a network, httpx does not watch its own time limit.
        patience = request.extensions.get("timeout", {}).get("read")
        is_late = patience is not None and answer.seconds > patience
        await asyncio.sleep(patience if is_late else answer.seconds)
        if is_late or answer.error is not None:
            error = answer.error or httpx.ReadTimeout
            raise error("the mock does not answer", request=request)
        answer = answer.then
    if isinstance(answer, Exception):
        raise answer
    return answer


def chosen_answer(
    chosen: Any, document: Document, route: Route, accept: str
) -> Shown | httpx.Response:
    """Return an answer in a form that `mock_api` takes; None for the document's."""
    if isinstance(chosen, httpx.Response):
        status = chosen.status_code  # a response is sent once
        return httpx.Response(status, headers=chosen.headers, content=chosen.content)
    if chosen is None or (isinstance(chosen, int) and not isinstance(chosen, bool)):
        return shown(document, route, accept, chosen)
    status, value, *more = chosen if isinstance(chosen, tuple) else (None, chosen)
    found = shown(document, route, accept, status)
    headers = found.headers | dict(*more)
    if value is None:
        return Shown(found.status, headers)
    kind = "application/octet-stream" if isinstance(value, bytes) else "application/json"
    kind = "text/plain" if isinstance(value, str) else kind
    if "json" in found.media_type or (found.media_type and isinstance(value, str | bytes)):
        kind = found.media_type
    return Shown(found.status, headers, kind, value)


def _choose_response(
    responses: Document, document: Document, wanted: int | None
) -> tuple[int, Document]:
    """Return the status and the Response Object of an answer: that of a status, or a success."""
    # Spec: OpenAPI 3.1.2, section 4.16 (Responses Object).
    if wanted is not None:
        keys = {str(key).upper(): key for key in responses}
        names = (str(wanted), f"{wanted // 100}XX", "DEFAULT")
        found = next((responses[keys[name]] for name in names if name in keys), None)
        return wanted, follow_references(document, found)
    known: dict[int, Any] = {}
    for key in sorted(responses, key=lambda key: str(key).upper()):
        code = str(key).upper().replace("XX", "00")
        if len(code) == len("200") and code.isdecimal():
            known[int(code)] = responses[key]
    good = [status for status in known if 200 <= status < 300]  # noqa: PLR2004 -- HTTP's classes
    if not good and "default" in responses:
        return 200, follow_references(document, responses["default"])
    status = min(good or known, default=200)
    return status, follow_references(document, known.get(status))


def _headers_of(response: Document, document: Document) -> dict[str, str]:
    """Return the headers that a response requires or shows."""
    # Spec: OpenAPI 3.1.2, section 4.21 (Header Object).
    found = {}
    for name, entry in as_dict(response.get("headers")).items():
        header = follow_references(document, entry)
        if "example" in header or header.get("required") is True:
            value = header.get("example", sample(header.get("schema", {}), document))
            text = value if isinstance(value, str) else json.dumps(value)
            is_own = name.lower() in _OWN_HEADERS
            if not is_own and _TOKEN.fullmatch(name) and text.isascii() and text.isprintable():
                found[name] = text
    return found


def _preferred(media_types: list[str], accept: str) -> str:
    for wanted in map(essence, accept.split(",")):
        for media_type in media_types:
            if essence(media_type) == wanted != "*/*":
                return media_type
    return next((kind for kind in media_types if "json" in kind.lower()), media_types[0])


def _value(entry: Document, document: Document) -> Any:
    """Return what a Media Type Object shows: its example, or a sample of its schema."""
    # Spec: OpenAPI 3.1.2, section 4.14 (Media Type Object).
    if "example" in entry:
        return _filled(entry["example"], document)
    for example in as_dict(entry.get("examples")).values():
        found = follow_references(document, example)
        # OpenAPI 3.2 names the value `dataValue`, or gives its bytes as `serializedValue`.
        for key in ("value", "dataValue", "serializedValue"):
            if key in found:
                return _filled(found[key], document)
    if "itemSchema" in entry:
        return [sample(entry["itemSchema"], document)]
    return sample(entry.get("schema", {}), document)


def _filled(value: Any, document: Document, depth: int = 0) -> Any:
    """Return an example, with the examples that its own `$ref` name in their places."""
    # Not of the standard; GitHub's document has it.
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_filled(item, document, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    target = value.get("$ref")
    if len(value) == 1 and isinstance(target, str) and target.startswith("#/components/examples/"):
        found = follow_references(document, value)
        return _filled(found["value"], document, depth + 1) if "value" in found else value
    return {key: _filled(member, document, depth + 1) for key, member in value.items()}


def _bytes(value: Any, media_type: str) -> bytes:
    if isinstance(value, bytes):
        return value
    items = value if isinstance(value, list) else [value]
    if media_type == "application/json-seq":
        text = "".join(f"\x1e{_json(item)}\n" for item in items)
    elif media_type in _LINES:
        text = "".join(f"{_json(item)}\n" for item in items)
    elif "json" in media_type:
        text = _json(value)
    elif isinstance(value, str) and (media_type.startswith("text/") or "xml" in media_type):
        text = value
    elif media_type == "text/event-stream":
        text = "".join(f"data: {_json(item)}\n\n" for item in items)
    elif "xml" in media_type:
        text = '<?xml version="1.0" encoding="UTF-8"?><sample/>'
    elif media_type == "application/x-www-form-urlencoded" and isinstance(value, Mapping):
        text = urlencode(value, doseq=True)
    elif media_type.startswith("text/"):
        text = _json(value)
    else:
        return _MAGIC.get(media_type, b"\x00\x01\x02\x03")
    return text.encode(errors="replace")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, default=str)
