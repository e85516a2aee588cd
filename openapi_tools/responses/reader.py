"""Responses as results, without secrets."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from openapi_tools.common.http_rules import (
    essence,
    find_link,
    header_label,
    is_json,
    should_keep_header,
)
from openapi_tools.errors import CallError
from openapi_tools.responses.content import (
    BodyContent,
    ContentOptions,
    RawBody,
    keep_file,
    read_content,
)
from openapi_tools.responses.error_results import error_result, unreadable_result
from openapi_tools.responses.json_content import (
    GROWTH,
    READ_IN_PART,
    VALUES,
    append_mark,
    encode_json,
    fit_value,
    read_json,
    truncation_advice,
)
from openapi_tools.responses.text_content import charset_of, clean_text, decode_text, to_utf8
from openapi_tools.result import ToolResult
from openapi_tools.transport.redirects import is_result
from openapi_tools.transport.urls import InvalidUrlError, read_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import httpx

    from openapi_tools.model import Operation, Paging
    from openapi_tools.redaction import Redactor
    from openapi_tools.responses.content import KeepFile
    from openapi_tools.responses.response_shape import ResponseShaper
    from openapi_tools.settings import Settings
    from openapi_tools.transport import APIResponse

_CONDITIONS = ("if-none-match", "if-modified-since")  # which a 304 answers (RFC 9110, 15.4.5)

_MARKER = 20  # characters around the note at the end of a cut output
_JSON, _JSON_STARTS = "application/json", (b"{", b"[")
_OCTETS = "application/octet-stream"
_VALUE = 50  # bytes of a JSON value, on average: more are read where larger responses are allowed
_LONGEST = 1024  # characters of a header that a result keeps

# Headers of a result go into logs, traces and other programs; a server may send thousands.
_MOST_HEADERS = 40
_LONGEST_LIST = 8192
_EXPOSED = "access-control-expose-headers"
_NONE = frozenset({"", "-1", "0", "false", "none", "null"})
_NUMBER = re.compile(r"[0-9]{1,20}")
_ABSOLUTE = re.compile("[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_RANGE = re.compile(r"(?:[\w-]{1,30} )?(?:[0-9]{1,20}-[0-9]{1,20}|\*)/(?:[0-9]{1,20}|\*)", re.ASCII)

_LABELS = ("Next page", "Total", "Content-Range", "Location")
_EACH = 3  # headers with the same label in a note
_NOTE_CHARS = 1200
_ADVICE = 220  # characters left for advice about a cut, if the limit is at least `_ROOMY`
_ROOMY = 2000


def read_response(
    response: APIResponse,
    operation: Operation,
    settings: Settings,
    *,
    redactor: Redactor | None = None,
    keep: KeepFile | None = None,
    read_follow_up: Callable[[Any, Mapping[str, str]], str] | None = None,
    shaper: ResponseShaper | None = None,
) -> ToolResult:
    """Return a response as a result; CallError if no whole value came in time.

    Secrets are masked before anything is read or cut. `read_follow_up` finds the next page, or a
    long-running operation, and describes it in a line or an empty string.
    """
    response, notes = _mask_secrets(response, redactor) if redactor else (response, [])
    headers = _select_headers(response.headers, operation.response_headers)
    media_type = headers.pop("content-type", "")[:_LONGEST]
    metadata = _response_metadata(response, headers, media_type)
    if not _is_success(response, operation):
        return error_result(response, operation, metadata)
    most = settings.max_output_chars if shaper is None else shaper.max_chars
    try:
        content = _read_body(
            response, media_type, operation, settings, limit=_reserve_advice_space(most), keep=keep
        )
    except CallError as error:
        return unreadable_result(error, response, metadata, operation.timeout or settings.timeout)
    content.notes = [*notes, *content.notes]
    is_redirect = response.status >= HTTPStatus.MULTIPLE_CHOICES
    if is_redirect and headers.get("location"):
        _add_location(content, response, headers)
    if content.file is not None:
        metadata["file"] = content.file
    following = read_follow_up(content.value, headers) if read_follow_up is not None else ""
    note = _header_note(headers, following, limit=most if is_redirect else _NOTE_CHARS)
    if shaper is not None:
        note = "; ".join(filter(None, (shaper.apply(content, metadata, cut=response.cut), note)))
        if redactor and shaper.fields:  # which may have joined pieces of a secret
            content.value = redactor.data(content.value)
    output = _build_output(
        content,
        response,
        metadata,
        most=most,
        paging=operation.paging,
        setting=settings.max_output_chars,
        shaper=shaper,
    )
    return ToolResult.ok(output, metadata, header_note=note)


def _is_success(response: APIResponse, operation: Operation) -> bool:
    if response.status == HTTPStatus.NOT_MODIFIED:
        return any(name in response.request.headers for name in _CONDITIONS)
    is_success = 200 <= response.status < 300  # noqa: PLR2004
    return is_success or is_result(response.request, response.status, operation.redirects)


def _response_metadata(
    response: APIResponse, headers: dict[str, str], media_type: str
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "status": response.status,
        "media_type": essence(media_type),
        "headers": {name: value[:_LONGEST] for name, value in headers.items()},
        "elapsed": response.elapsed,
        "attempts": response.attempts,
    }
    if "location" in headers:
        is_redirect = response.status >= HTTPStatus.MULTIPLE_CHOICES
        metadata["location"] = headers["location"][: None if is_redirect else _LONGEST]
    if response.redirects:
        metadata["redirects"] = response.redirects
    if response.cached:
        metadata |= {"cached": True, response.cached: True}
    return metadata


def _read_body(
    response: APIResponse,
    media_type: str,
    operation: Operation,
    settings: Settings,
    *,
    limit: int,
    keep: KeepFile | None,
) -> BodyContent:
    values = max(VALUES, settings.max_response_bytes // _VALUE)
    if response.unread:
        note = f"Success; the response could not be read: {response.unread}"
        return BodyContent(note, [note])
    if response.file is None and (response.method == "HEAD" or not response.content):
        return BodyContent(None)
    if response.file is None and media_type == _JSON:
        try:
            return BodyContent(*read_json(response.content, values=values), is_data=True)
        except ValueError:
            pass  # read below, which describes the error
    disposition = response.headers.get("content-disposition", "")[:_LONGEST]
    if response.file is not None and keep is not None:
        return keep_file(keep, response.file, disposition, essence(media_type) or _OCTETS)
    body = RawBody(response.content, media_type, disposition, cut=bool(response.cut))
    shape = ContentOptions(
        max_chars=limit,
        keep=keep,
        base64=settings.max_base64_bytes,
        html=any("html" in media_type for media_type in operation.accept),
        values=values,
    )
    return read_content(body, shape)


def _add_location(content: BodyContent, response: APIResponse, headers: dict[str, str]) -> None:
    # The page of a redirect only repeats its address.
    content.notes.append(f"the response is a redirect ({response.status}), which was not followed")
    location = headers.pop("location")
    with suppress(InvalidUrlError):
        if not _ABSOLUTE.match(location):  # which stays to the letter: it may be signed
            location = str(read_url(location, response.request.url))
    if content.is_data and content.value:
        headers["location"] = location  # for the line after the output
    else:
        content.value, content.is_data = {"location": location}, True
        content.omitted = content.whole = 0


def _build_output(
    content: BodyContent,
    response: APIResponse,
    metadata: dict[str, Any],
    *,
    most: int,
    paging: Paging | None,
    setting: int,
    shaper: ResponseShaper | None,
) -> Any:
    notes = list(content.notes)
    ending = READ_IN_PART if READ_IN_PART in notes else ""
    if response.cut:
        why = "the timeout expired" if response.cut == "timeout" else "it grew too large"
        notes.append(f"the stream was cut because {why}")
        ending = f"the stream was longer; {why}"
    # A chosen value may be larger than the response.
    size = len(response.content) if "shaped" not in metadata else most * GROWTH + 1
    omitted_items = metadata.get("shaped", {}).get("items", 0)
    limit = most - (len(ending) + _MARKER if ending else 0)
    limit = _reserve_advice_space(limit) if omitted_items else limit
    value, is_cut = fit_value(content.value, size, limit)
    if is_cut and limit == most:
        value, _ = fit_value(content.value, size, _reserve_advice_space(most))
    if (is_cut or content.cut or omitted_items) and not ending and most >= _ROOMY:
        limits = (most, setting) if is_cut or content.cut else None
        value = append_mark(
            value,
            truncation_advice(
                paging,
                limits,
                has_fields=shaper is not None and shaper.chooses,
                max_items=shaper.max_items if omitted_items and shaper else 0,
            ),
        )
    if content.omitted or content.whole or is_cut or ending:
        total = content.omitted or content.whole or decode_text(response.content, most=0).length
        kept = 0 if content.omitted else len(encode_json(value))
        metadata["truncated"] = {"chars": total, "kept": kept}
    if notes:
        metadata["notes"] = notes
    value = append_mark(value, ending) if ending and not isinstance(value, str) else value
    if "shaped" in metadata:
        metadata["shaped"] |= {"received": len(response.content), "chars": len(encode_json(value))}
    return value


def _reserve_advice_space(most: int) -> int:
    return most - _ADVICE if most >= _ROOMY else most


def _mask_secrets(response: APIResponse, redactor: Redactor) -> tuple[APIResponse, list[str]]:
    # Before anything is read or cut: half a secret is not found.
    notes: list[str] = []
    content, lines = response.content, response.headers.raw
    media_type = response.headers.get("content-type", "")
    # RFC 8259, section 8.1: JSON is UTF-8. With a byte order mark it may be another encoding.
    is_plain = media_type == _JSON and content.startswith(_JSON_STARTS)
    plain = content if is_plain else to_utf8(content, charset_of(media_type, content))
    # Most responses hold none, and one search proves it. No tag continues over `<>`.
    everything = b"\n<>\n".join((plain, *(value for _, value in lines)))
    if redactor.content(everything) is everything:
        return response, notes
    masked = redactor.content(plain)
    if masked is not plain:
        content = masked if plain is content else codecs.BOM_UTF8 + masked
        if is_json(media_type):
            with suppress(ValueError):  # text under a wrong name
                value, faults = read_json(plain)
                if READ_IN_PART not in faults:
                    notes = faults
                    # A mask in place of a number, or of two names, leaves it JSON.
                    content = to_json(redactor.data(value), inf_nan_mode="constants")
    lines = [(name, redactor.content(value)) for name, value in lines]
    return replace(response, content=content, headers=type(response.headers)(lines)), notes


def _select_headers(headers: httpx.Headers, declared: Collection[str] = ()) -> dict[str, str]:
    # The useful ones come first, so that `_MOST_HEADERS` cuts the others: those that the document
    # declares, or that the server exposes to scripts of other sites (WHATWG Fetch, CORS protocol).
    lines = [(*_classify_header(raw_name), raw_value) for raw_name, raw_value in headers.raw]
    exposed = [
        value[:_LONGEST_LIST].decode("latin-1") for name, _, value in lines if name == _EXPOSED
    ]
    wanted_names = {
        *declared,
        *(name.strip() for values in exposed for name in values.lower().split(",")),
    }
    headers_by_name: dict[str, str] = {}
    for group in (True, None) if wanted_names else (True,):
        for name, is_selected, value in lines:
            if is_selected is group and (is_selected or name in wanted_names):
                _add_header(headers_by_name, name, value)
    return headers_by_name


@lru_cache(maxsize=1024)
def _classify_header(raw_name: bytes) -> tuple[str, bool | None]:
    name = raw_name.decode("latin-1").lower()[:_LONGEST]
    return name, should_keep_header(name)


def _add_header(headers_by_name: dict[str, str], name: str, raw_value: bytes) -> None:
    # RFC 9110, section 5.3: lines of one name are joined with commas.
    if len(headers_by_name) <= _MOST_HEADERS or name in headers_by_name or name == "content-type":
        try:
            text = raw_value.decode()
        except UnicodeDecodeError:
            text = raw_value.decode("latin-1")
        value = text if text.isprintable() else clean_text(text)
        headers_by_name[name] = (
            f"{headers_by_name[name]}, {value}" if name in headers_by_name else value
        )


def _header_note(
    headers: Mapping[str, str], following: str = "", *, limit: int = _NOTE_CHARS
) -> str:
    facts_by_label: dict[str, list[str]] = {}
    left = limit
    for name, value in headers.items():
        label = header_label(name)
        label = "" if following and label in ("Next page", "Location") else label
        fact = (
            _header_fact(label, find_link(value, "next") if name == "link" else value)
            if label
            else ""
        )
        if fact and len(facts_by_label.setdefault(label, [])) < _EACH:
            fact = fact if len(fact) <= left else "too long to display"
            left -= len(fact)
            facts_by_label[label].append(fact if name == label.lower() else f"{fact} ({name})")
    facts = [
        f"{label}: {', '.join(facts_by_label[label])}"
        for label in _LABELS
        if label in facts_by_label
    ]
    return "; ".join(filter(None, [following, *facts]))


def _header_fact(label: str, value: str) -> str:
    if label == "Total":
        return value if _NUMBER.fullmatch(value) else ""
    if label == "Content-Range":
        return value if _RANGE.fullmatch(value) else ""
    is_word = value.isprintable() and " " not in value
    return value if is_word and value.lower() not in _NONE else ""
