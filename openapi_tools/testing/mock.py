"""An API that answers from its own document, without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx

from openapi_tools.errors import SettingsError
from openapi_tools.http_rules import essence
from openapi_tools.json_values import follow
from openapi_tools.openapi_core import find_route
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from openapi_tools.openapi_core.exchange_check import Judge

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
_LINES = ("application/jsonl", "application/x-ndjson", "application/ndjson")


def mock_client(
    document: Document | Callable[[], Document],
    *,
    judge: bool = True,
    problems: list[str] | None = None,
    base_path: str | None = None,
) -> httpx.AsyncClient:
    """Return a client whose requests are answered from a document.

    An operation answers with its lowest 2xx response (else `default`): the example that the
    document gives, otherwise a value made from the schema, the same one every time. Nothing
    leaves the process. A request that fits no operation gets 404.

    Args:
        document: A parsed document of any version, or a function that gives it when the first
            request comes.
        judge: Have openapi-core check every request against the document.
        problems: A list to which every problem that openapi-core finds is added, one line each.
            Lines that begin with `not judged` say what it could not check: Swagger 2.0 above all.
        base_path: What stands before the document's paths in the URLs that are requested; when
            None, for any server, or nothing.

    Raises:
        SettingsError: The document is neither; a toolset has one as `toolset.document`.
    """
    transport = _answering(document, problems if judge else None, base_path)
    # Some `auth` lets calls without credentials through: a mock needs none.
    return _MockClient(transport=transport, auth=httpx.Auth())


def _answering(
    document: Document | Callable[[], Document], problems: list[str] | None, base_path: str | None
) -> httpx.MockTransport:
    """Return the transport of a mock client; without a list of problems it judges nothing."""

    @cache
    def parsed() -> Document:
        found = document() if callable(document) else document
        if not isinstance(found, Mapping):
            kind = type(found).__name__
            reason = f"a mock client answers from a parsed document, not {kind!r}"
            raise SettingsError(f"{reason}; give `toolset.document`.")
        return found

    @cache
    def judge() -> Judge:
        from openapi_tools.openapi_core.exchange_check import Judge

        return Judge(parsed(), base_path)

    async def answer(request: httpx.Request) -> httpx.Response:
        await request.aread()
        found = parsed()
        if problems is not None:
            problems.extend(judge().request(request))
        return _answer(request, found, base_path)

    if not callable(document):
        parsed()
    return httpx.MockTransport(answer)


class _MockClient(httpx.AsyncClient):
    """A client for the calls of a document, which does not fetch the document itself."""

    fetches_documents = False


def _answer(request: httpx.Request, document: Document, base_path: str | None) -> httpx.Response:
    """Return what a document shows as the answer to a request."""
    target = request.url.raw_path.decode("ascii")
    route = find_route(document, request.method, target, base_path=base_path)
    if route is None:
        detail = f"{request.method} {request.url.path}: the document has no such operation"
        return httpx.Response(404, json={"title": "Not Found", "detail": detail})
    responses = follow(document, route.operation.get("responses"))
    status, response = _choose_response(responses, document)
    headers = _headers_of(response, document)
    produces = route.operation.get("produces", document.get("produces"))
    media_type, content = _encode(
        response, document, accept=request.headers.get("accept", ""), produces=produces
    )
    if status in (204, 205, 304):
        return httpx.Response(status, headers=headers)
    if media_type:
        headers["content-type"] = media_type
    return httpx.Response(status, headers=headers, content=content)


def _choose_response(responses: Document, document: Document) -> tuple[int, Document]:
    """Return the status and the Response Object of an answer that succeeds."""
    # Spec: OpenAPI 3.1.2, section 4.16 (Responses Object).
    known: dict[int, Any] = {}
    for key in sorted(responses, key=lambda key: str(key).upper()):
        code = str(key).upper().replace("XX", "00")
        if len(code) == len("200") and code.isdecimal():
            known[int(code)] = responses[key]
    good = [status for status in known if 200 <= status < 300]  # noqa: PLR2004 -- HTTP's classes
    if not good and "default" in responses:
        return 200, follow(document, responses["default"])
    status = min(good or known, default=200)
    return status, follow(document, known.get(status))


def _headers_of(response: Document, document: Document) -> dict[str, str]:
    """Return the headers that a response requires or shows."""
    # Spec: OpenAPI 3.1.2, section 4.21 (Header Object).
    found = {}
    for name, entry in _mapping(response.get("headers")).items():
        header = follow(document, entry)
        if "example" in header or header.get("required") is True:
            value = header.get("example", sample(header.get("schema", {}), document))
            text = value if isinstance(value, str) else json.dumps(value)
            is_own = name.lower() in _OWN_HEADERS
            if not is_own and _TOKEN.fullmatch(name) and text.isascii() and text.isprintable():
                found[name] = text
    return found


def _encode(
    response: Document, document: Document, *, accept: str, produces: Any
) -> tuple[str, bytes]:
    """Return the media type and the body of a response; both empty when it has none."""
    content = _mapping(response.get("content"))
    if "swagger" in document:
        content = _content_of_2(response, produces)
    if not content:
        return "", b""
    media_type = _preferred(list(content), accept)
    entry = follow(document, content[media_type])
    concrete = _RANGES.get(media_type, media_type).replace("*", "sample")
    value = _value(entry, document)
    # A JSON example that is written as text is common.
    kind, schema = essence(concrete), follow(document, entry.get("schema"))
    if "json" in kind and isinstance(value, str) and schema.get("type") in ("object", "array"):
        with suppress(ValueError):
            value = json.loads(value)
    return concrete, _bytes(value, kind)


def _content_of_2(response: Document, produces: Any) -> dict[str, Any]:
    """Return a 2.0 response as the `content` that OpenAPI 3 would write."""
    # Spec: OpenAPI 2.0, Response Object and Example Object.
    examples = _mapping(response.get("examples"))
    schema = response.get("schema")
    if schema is None and not examples:
        return {}
    listed = [item for item in produces if isinstance(item, str)] if produces else []
    kinds = list(examples) or listed or ["application/json"]
    if isinstance(schema, Mapping) and schema.get("type") == "file":
        schema = {"type": "string", "format": "binary"}
        kinds = listed or ["application/octet-stream"]
    shown = {kind: {"example": examples[kind]} for kind in kinds if kind in examples}
    return {kind: shown.get(kind, {"schema": schema}) for kind in kinds}


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
        return entry["example"]
    for example in _mapping(entry.get("examples")).values():
        shown = follow(document, example)
        # OpenAPI 3.2 names the value `dataValue`, or gives its bytes as `serializedValue`.
        for key in ("value", "dataValue", "serializedValue"):
            if key in shown:
                return shown[key]
    if "itemSchema" in entry:
        return [sample(entry["itemSchema"], document)]
    return sample(entry.get("schema", {}), document)


def _bytes(value: Any, media_type: str) -> bytes:
    """Return a value as a body of a media type."""
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


def _mapping(value: Any) -> Document:
    return value if isinstance(value, Mapping) else {}
