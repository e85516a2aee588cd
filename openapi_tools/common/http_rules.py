"""HTTP methods, headers, URLs and media types, and common deviations of servers."""

from __future__ import annotations

import codecs
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_plus

if TYPE_CHECKING:
    import httpx

    from openapi_tools.model import Operation, RequestBody

# RFC 9110, section 9.2.1; QUERY is that of draft-ietf-httpbis-safe-method-w-body.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
_IDEMPOTENT = _SAFE | {"PUT", "DELETE"}
# Rails, Laravel, Express (`method-override`) and Google's APIs let these replace a POST's
# method; some servers also that of a GET.
_OVERRIDE_HEADERS = frozenset({"x-http-method", "x-http-method-override", "x-method-override"})
_OVERRIDE_NAME = "_method"

_CREDENTIAL = re.compile(
    r"auth(?!or(?!i[sz]))|cookie|credential|csrf|jwt|key|pass|secret|session|signature|token|xsrf",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"(?:^sig|token|secret|passw(?:or)?d|passphrase|pwd|api[-_]?key|private[-_]?key|credentials?"
    r"|authorization|jwt|signature|assertion|cookie)$",
    re.IGNORECASE,
)
# `page_token` and `next_cursor` are no secrets: a model needs them for the next page.
_PAGE = re.compile("(?:page|next|prev|continu|sync|cursor)", re.IGNORECASE)
_KEPT_HEADER = re.compile(
    r"(?:x-)?(?:allow|content-(?:disposition|language|length|range|type)|etag|last-modified|link"
    r"|(?:operation-)?location|azure-asyncoperation|pagination|retry-after)|(?:x-)?rate-?limit.*|.*(?:request-?id|correlation-id)"
)
_PAGING = "(?:page|pagination|paging)?"
_NEXT_HEADER = re.compile(
    rf"{_PAGING}(?:next(?:page)?(?:cursor|id|key|link|marker|number|offset|range|token|ur[il])?"
    r"|cursornext|has(?:more|next(?:page)?))|(?:ms)?continuation(?:token)?"
)
_TOTAL_HEADER = re.compile(
    rf"(?:wp|item|list|result|{_PAGING})total"
    r"(?:count|elements|entries|hits|items|objects|pages|records|results|rows|size)?"
    rf"|{_PAGING}(?:page|items?|records?|results?)count"
)
_LONGEST_NAME = 40

_LONGEST_LINKS = 8192
_LONGEST_PARAMETERS = 512
_LINK = re.compile(r'<([^<>]*)>((?:[^<"]|"[^"]*")*)')
WEB_URL = re.compile(r"https?://", re.IGNORECASE)  # how a web URL begins

# Proxies and frameworks decode a path once or twice each.
_DECODINGS = 8
_SPACES = r"[\x00-\x20\x7f]*"
# Servers strip spaces, control characters, parameters after `;` and all behind a NUL.
_DOT_SEGMENT = re.compile(
    rf"(?:^|[/\\]){_SPACES}\.{_SPACES}(?:\.{_SPACES})?(?:[;?#\x00][^/\\]*)?(?=[/\\]|$)"
)


def find_link(links: str, relation: str) -> str:
    """Return the target of a relation in a `Link` header (RFC 8288, 3); empty without one."""
    for target, parameters in _LINK.findall(links[:_LONGEST_LINKS]):
        if relation in parameter(parameters[:_LONGEST_PARAMETERS], "rel").lower().split():
            return str(target).strip()
    return ""


def is_safe(method: str) -> bool:
    """Whether a method only reads (RFC 9110, section 9.2.1)."""
    return method in _SAFE


def is_idempotent(method: str) -> bool:
    """Whether two equal calls do no more than one (RFC 9110, section 9.2.2)."""
    return method in _IDEMPOTENT


def is_destructive(method: str) -> bool:
    """Whether a method changes or deletes data; POST counts as adding, as in MCP clients."""
    return method not in _SAFE and method != "POST"


def can_override(operation: Operation) -> bool:
    """Whether a call can override its method: by a header, or `_method` in a query or form."""
    for parameter in operation.parameters:
        match parameter.location:
            case "header" if header_key(parameter.name) in _OVERRIDE_HEADERS:
                return True
            case "query" if parameter.name.lower() == _OVERRIDE_NAME:
                return True
    return has_override(operation.path.partition("?")[2]) or _form_has_override(operation.body)


def is_read(operation: Operation) -> bool:
    """Whether the calls of an operation only read."""
    return is_safe(operation.method) and not can_override(operation)


def _form_has_override(body: RequestBody | None) -> bool:
    if body is None:
        return False
    form = is_form(body.media_type) or is_multipart(body.media_type)
    has_name = form and any(item.name.lower() == _OVERRIDE_NAME for item in body.properties)
    return has_name or any(map(_form_has_override, body.choices))


def has_override(query: str) -> bool:
    """Whether a query has a `_method`."""
    if "method" not in query.lower():
        return False
    return any(
        unquote_plus(p.partition("=")[0]).lower() == _OVERRIDE_NAME for p in query.split("&")
    )


def is_read_request(request: httpx.Request) -> bool:
    """Whether a request only reads."""
    return is_safe(request.method) and not _request_has_override(request)


def is_repeatable(request: httpx.Request) -> bool:
    """Whether two equal requests do no more than one."""
    return is_idempotent(request.method) and not _request_has_override(request)


def _request_has_override(request: httpx.Request) -> bool:
    query = request.url.query.decode("ascii", "replace")
    return has_override(query) or not _OVERRIDE_HEADERS.isdisjoint(map(header_key, request.headers))


def header_key(name: str) -> str:
    """Return a header's name for comparisons: servers take `_` for `-` (RFC 3875, 4.1.18)."""
    return name.lower().replace("_", "-")


def parameter_key(location: str, name: str) -> tuple[str, str]:
    """Return a parameter's location and name for comparisons; headers as by `header_key`."""
    return location, header_key(name) if location == "header" else name


def has_dot_segment(text: str) -> bool:
    """Whether a server that decodes a string, once or several times, could read `.` or `..`."""
    for _ in range(_DECODINGS):
        if "." in text and _DOT_SEGMENT.search(text):
            return True
        if "%" not in text or (decoded := unquote(text)) == text:
            return False
        text = decoded
    return True  # still encoded


def names_credential(name: str) -> bool:
    """Whether a header's name says that it holds a credential."""
    return _CREDENTIAL.search(name) is not None


def names_secret(name: str) -> bool:
    """Whether the name of a property or query parameter says that it holds a credential.

    Fewer names than of headers: data has keys and sessions, and paging has tokens.
    """
    return _SECRET.search(name) is not None and _PAGE.match(name) is None


def should_keep_header(name: str) -> bool | None:
    """Whether results keep a response header; None if the document or the response must name it."""
    if header_label(name) or _KEPT_HEADER.fullmatch(name):
        return True
    return False if names_credential(name) else None


@lru_cache(maxsize=1024)
def header_label(name: str) -> str:
    """Return a response header's label in the line for a model; empty for most."""
    if name in ("content-range", "location"):
        return name.title()
    if len(name) > _LONGEST_NAME:
        return ""
    word = name.removeprefix("x-").replace("-", "").replace("_", "")
    if name == "link" or _NEXT_HEADER.fullmatch(word):
        return "Next page"
    return "Total" if _TOTAL_HEADER.fullmatch(word) else ""


_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 -- RFC 9110's word for it
_VALUE = r"[!#$%&'*+\-./^_`|~0-9A-Za-z]+"  # documents write `type=text/html` without quotes
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"'
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[ \t]*{_TOKEN}=(?:{_VALUE}|{_QUOTED}))*")
_PARAMETER = re.compile(rf"(?<![ \t])[ \t]*+;[ \t]*({_TOKEN})=({_VALUE}|{_QUOTED})")

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# As much as a result can hold; a file with text at its beginning is text.
_SNIFFED = 256 * 1024
_JSON = frozenset({"application/json", "text/json"})
_XML = frozenset({"application/xml", "text/xml"})
_BYTES = ("application/pdf", "audio/", "font/", "image/", "video/")
_LINES = frozenset(
    f"application/{name}" for name in ("jsonl", "jsonlines", "ndjson", "x-jsonlines", "x-ndjson")
)
_TEXTS = "ecmascript graphql javascript jsonpath sql toml x-sh x-yaml yaml"
_TEXT = frozenset(f"application/{name}" for name in _TEXTS.split())


@lru_cache(maxsize=1024)
def is_media_type(text: str) -> bool:
    """Whether a string is a media type, with or without parameters (RFC 9110, section 8.3.1)."""
    return _MEDIA_TYPE.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def essence(media_type: str) -> str:
    """Return the media type in lower case, without its parameters: `"text/plain"`."""
    return media_type.partition(";")[0].strip().lower()


def parameter(media_type: str, name: str) -> str:
    """Return a parameter of the media type without quotes, for instance its charset, or `""`."""
    for key, value in _PARAMETER.findall(media_type):
        if key.lower() == name:
            return str(value).strip('"')
    return ""


def remove_parameter(media_type: str, name: str) -> str:
    """Return the media type without one parameter."""
    remaining = (m[0] for m in _PARAMETER.finditer(media_type) if m[1].lower() != name)
    return media_type.partition(";")[0].strip() + "".join(remaining)


def is_wildcard(media_type: str) -> bool:
    """Whether it stands for several media types, for instance `image/*`."""
    return "*" in essence(media_type)


def matches_type(media_type: str, pattern: str) -> bool:
    """Whether a media type is the one that `pattern` names, or one of those."""
    kind, pattern_kind = essence(media_type), essence(pattern)
    return kind == pattern_kind or (is_wildcard(pattern) and fnmatchcase(kind, pattern_kind))


def is_json(media_type: str) -> bool:
    """Whether it holds one JSON value: `application/json`, `text/json` and every `+json`."""
    kind = essence(media_type)
    return kind in _JSON or kind.endswith("+json")


def is_merge_patch(media_type: str) -> bool:
    """Whether null removes a property in it (RFC 7396); Kubernetes' strategic form included."""
    return essence(media_type).endswith("merge-patch+json")


def is_form(media_type: str) -> bool:
    """Whether it is `application/x-www-form-urlencoded`."""
    return essence(media_type) == "application/x-www-form-urlencoded"


def is_multipart(media_type: str) -> bool:
    """Whether it is `multipart/form-data` or another multipart type (RFC 2046, section 5.1)."""
    return essence(media_type).startswith("multipart/")


def is_json_lines(media_type: str) -> bool:
    """Whether it holds one JSON value per line."""
    return essence(media_type) in _LINES


def is_json_sequence(media_type: str) -> bool:
    """Whether it is a JSON text sequence: `application/json-seq` and `+json-seq` (RFC 7464)."""
    kind = essence(media_type)
    return kind == "application/json-seq" or kind.endswith("+json-seq")


def is_sequential(media_type: str) -> bool:
    """Whether it holds one JSON value after another (OpenAPI 3.2.0, section 4.14.3.1)."""
    return is_json_lines(media_type) or is_json_sequence(media_type)


def is_bytes(media_type: str) -> bool:
    """Whether it is none of the kinds that values and text are written as."""
    kinds = (is_json, is_form, is_multipart, is_sequential, is_text, is_wildcard)
    return not any(is_kind(media_type) for is_kind in kinds)


def is_xml(media_type: str) -> bool:
    """Whether it holds XML: `application/xml`, `text/xml` and every `+xml`."""
    kind = essence(media_type)
    return kind in _XML or kind.endswith("+xml")


def is_text(media_type: str) -> bool:
    """Whether a person could read it as text and it is none of the structured kinds but XML."""
    kind = essence(media_type)
    if is_json(kind) or is_form(kind) or is_sequential(kind):
        return False
    return kind.startswith("text/") or kind in _TEXT or is_xml(kind) or kind.endswith("+yaml")


def is_always_bytes(media_type: str) -> bool:
    """Whether its content is never shown as text: PDF, fonts, images but SVG, sound, film."""
    return essence(media_type).startswith(_BYTES) and not is_text(media_type)


def is_readable(content: bytes) -> bool:
    """Whether bytes are UTF-8 text, by their first 256 KiB."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        text = decoder.decode(content[:_SNIFFED], final=len(content) <= _SNIFFED)
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None
