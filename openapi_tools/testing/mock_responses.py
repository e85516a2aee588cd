"""Responses that a document describes: its examples, or values made from its schemas."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from openapi_tools.common.http_rules import essence
from openapi_tools.common.json_values import as_dict, follow_references
from openapi_tools.transport.doubles import (
    RESET_ERROR,
    TIMEOUT_ERROR,
    copy_response,
    make_response,
)
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    import httpx

    from openapi_tools.conformance.routes import Route

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


class MockResponse(NamedTuple):
    """A response that a document describes, before it is written as bytes."""

    status: int
    headers: dict[str, str]
    media_type: str = ""  # empty without content
    value: Any = None

    def to_httpx(self) -> httpx.Response:
        """Return it as a response of httpx."""
        if self.status in _WITHOUT_BODY:
            return make_response(self.status, self.headers)
        headers, content = self.headers, b""
        if self.media_type:
            headers = {**headers, "content-type": self.media_type}
            content = _encode_value(self.value, essence(self.media_type))
        return make_response(self.status, headers, content)


def concrete_type(media_type: str) -> str:
    """Return a media type of a range, or the media type itself."""
    return _RANGES.get(media_type, media_type).replace("*", "sample")


def problem_response(status: int, detail: str, **fields: Any) -> MockResponse:
    """Return an error response (RFC 9457)."""
    value = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, **fields}
    return MockResponse(status, {}, "application/problem+json", value)


class Fault(NamedTuple):
    """A failure among the `responses` of `mock_api`; its methods create the usual ones."""

    error: type[httpx.TransportError] | None = None
    seconds: float = 0.0  # before the error or the response
    then: Any = None  # the response without an error; None for the document's

    @classmethod
    def slow(cls, seconds: float, then: Any = None) -> Fault:
        """Respond after some seconds; `then` is any response, the document's by default."""
        return cls(None, seconds, then)

    @classmethod
    def reset(cls) -> Fault:
        """Close the connection without a response."""
        return cls(RESET_ERROR)

    @classmethod
    def timeout(cls) -> Fault:
        """Never respond: in the process a timeout at once, over a socket silence."""
        return cls(TIMEOUT_ERROR)

    @staticmethod
    def rate_limited(retry_after: int = 1) -> tuple[int, Any, dict[str, str]]:
        """Respond with 429 and `Retry-After`, in seconds (RFC 6585, section 4)."""
        return 429, {"detail": "too many requests"}, {"Retry-After": str(retry_after)}


def documented_response(
    document: Document, route: Route, accept: str = "", status: int | None = None
) -> MockResponse:
    """Return the response that a document describes for an operation.

    The lowest 2xx response (else `default`), unless a status is given; of several media types one
    that `accept` names, else JSON.
    """
    responses = follow_references(document, route.operation.get("responses"))
    status, response = _choose_response(responses, document, status)
    content = as_dict(response.get("content"))
    headers = _documented_headers(response, document)
    if not content:
        return MockResponse(status, headers)
    media_type = _choose_media_type(list(content), accept)
    entry = follow_references(document, content[media_type])
    concrete = concrete_type(media_type)
    value = _documented_value(entry, document)
    # A JSON example that is written as text is common.
    kind, schema = essence(concrete), follow_references(document, entry.get("schema"))
    if "json" in kind and isinstance(value, str) and schema.get("type") in ("object", "array"):
        with suppress(ValueError):
            value = json.loads(value)
    return MockResponse(status, headers, concrete, value)


async def apply_fault(response: Any, request: httpx.Request) -> Any:
    """Wait as a `Fault` says, then return its response or raise its error."""
    if isinstance(response, Fault):
        # Without a network, httpx does not watch its own time limit.
        read_timeout = request.extensions.get("timeout", {}).get("read")
        is_late = read_timeout is not None and response.seconds > read_timeout
        await asyncio.sleep(read_timeout if is_late else response.seconds)
        if is_late or response.error is not None:
            error = response.error or TIMEOUT_ERROR
            raise error("the mock does not respond", request=request)
        response = response.then
    if isinstance(response, Exception):
        raise response
    return response


def build_response(
    configured: Any, document: Document, route: Route, accept: str
) -> MockResponse | httpx.Response:
    """Return a response from any form that `mock_api` takes; None for the document's."""
    if (response := copy_response(configured)) is not None:
        return response
    if configured is None or (isinstance(configured, int) and not isinstance(configured, bool)):
        return documented_response(document, route, accept, configured)
    parts = configured if isinstance(configured, tuple) else (None, configured)
    status, value, *headers_part = parts
    documented = documented_response(document, route, accept, status)
    headers = documented.headers | dict(*headers_part)
    if value is None:
        return MockResponse(documented.status, headers)
    kind = "application/octet-stream" if isinstance(value, bytes) else "application/json"
    kind = "text/plain" if isinstance(value, str) else kind
    if "json" in documented.media_type or (
        documented.media_type and isinstance(value, str | bytes)
    ):
        kind = documented.media_type
    return MockResponse(documented.status, headers, kind, value)


def _choose_response(
    responses: Document, document: Document, status: int | None
) -> tuple[int, Document]:
    # Spec: OpenAPI 3.1.2, section 4.16 (Responses Object).
    if status is not None:
        keys = {str(key).upper(): key for key in responses}
        names = (str(status), f"{status // 100}XX", "DEFAULT")
        response = next((responses[keys[name]] for name in names if name in keys), None)
        return status, follow_references(document, response)
    responses_by_status: dict[int, Any] = {}
    for key in sorted(responses, key=lambda key: str(key).upper()):
        code = str(key).upper().replace("XX", "00")
        if len(code) == len("200") and code.isdecimal():
            responses_by_status[int(code)] = responses[key]
    good = [code for code in responses_by_status if 200 <= code < 300]  # noqa: PLR2004 -- HTTP's
    if not good and "default" in responses:
        return 200, follow_references(document, responses["default"])
    success_status = min(good or responses_by_status, default=200)
    return success_status, follow_references(document, responses_by_status.get(success_status))


def _documented_headers(response: Document, document: Document) -> dict[str, str]:
    # Spec: OpenAPI 3.1.2, section 4.21 (Header Object).
    headers = {}
    for name, entry in as_dict(response.get("headers")).items():
        header = follow_references(document, entry)
        if "example" in header or header.get("required") is True:
            value = header.get("example", sample(header.get("schema", {}), document))
            text = value if isinstance(value, str) else json.dumps(value)
            is_own = name.lower() in _OWN_HEADERS
            if not is_own and _TOKEN.fullmatch(name) and text.isascii() and text.isprintable():
                headers[name] = text
    return headers


def _choose_media_type(media_types: list[str], accept: str) -> str:
    for accepted in map(essence, accept.split(",")):
        for media_type in media_types:
            if essence(media_type) == accepted != "*/*":
                return media_type
    return next((kind for kind in media_types if "json" in kind.lower()), media_types[0])


def _documented_value(entry: Document, document: Document) -> Any:
    # Spec: OpenAPI 3.1.2, section 4.14 (Media Type Object).
    if "example" in entry:
        return _resolve_examples(entry["example"], document)
    for example in as_dict(entry.get("examples")).values():
        resolved = follow_references(document, example)
        # OpenAPI 3.2 names the value `dataValue`, or gives its bytes as `serializedValue`.
        for key in ("value", "dataValue", "serializedValue"):
            if key in resolved:
                return _resolve_examples(resolved[key], document)
    if "itemSchema" in entry:
        return [sample(entry["itemSchema"], document)]
    return sample(entry.get("schema", {}), document)


def _resolve_examples(value: Any, document: Document, depth: int = 0) -> Any:
    # Not of the standard; GitHub's document has it.
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_resolve_examples(item, document, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    target = value.get("$ref")
    if len(value) == 1 and isinstance(target, str) and target.startswith("#/components/examples/"):
        resolved = follow_references(document, value)
        return (
            _resolve_examples(resolved["value"], document, depth + 1)
            if "value" in resolved
            else value
        )
    return {key: _resolve_examples(item, document, depth + 1) for key, item in value.items()}


def _encode_value(value: Any, media_type: str) -> bytes:
    if isinstance(value, bytes):
        return value
    items = value if isinstance(value, list) else [value]
    if media_type == "application/json-seq":
        text = "".join(f"\x1e{_dump_json(item)}\n" for item in items)
    elif media_type in _LINES:
        text = "".join(f"{_dump_json(item)}\n" for item in items)
    elif "json" in media_type:
        text = _dump_json(value)
    elif isinstance(value, str) and (media_type.startswith("text/") or "xml" in media_type):
        text = value
    elif media_type == "text/event-stream":
        text = "".join(f"data: {_dump_json(item)}\n\n" for item in items)
    elif "xml" in media_type:
        text = '<?xml version="1.0" encoding="UTF-8"?><sample/>'
    elif media_type == "application/x-www-form-urlencoded" and isinstance(value, Mapping):
        text = urlencode(value, doseq=True)
    elif media_type.startswith("text/"):
        text = _dump_json(value)
    else:
        return _MAGIC.get(media_type, b"\x00\x01\x02\x03")
    return text.encode(errors="replace")


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, default=str)
