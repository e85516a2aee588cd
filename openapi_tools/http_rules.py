"""HTTP methods, headers, URLs and media types, and common deviations of servers."""

from __future__ import annotations

import codecs
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import httpx

    from openapi_tools.model import Operation, RequestBody

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
_IDEMPOTENT = _SAFE | {"PUT", "DELETE"}
_HEADERS = frozenset({"x-http-method", "x-http-method-override", "x-method-override"})
_MEMBER = "_method"

_CREDENTIAL = re.compile(
    r"auth(?!or(?!i[sz]))|cookie|credential|csrf|jwt|key|pass|secret|session|signature|token|xsrf",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"(?:^sig|token|secret|passw(?:or)?d|passphrase|pwd|api[-_]?key|private[-_]?key|credentials?"
    r"|authorization|jwt|signature|assertion|cookie)$",
    re.IGNORECASE,
)
_PAGE = re.compile("(?:page|next|prev|continu|sync|cursor)", re.IGNORECASE)
_KEPT = re.compile(
    r"(?:x-)?(?:allow|content-(?:disposition|language|length|range|type)|etag|last-modified|link"
    r"|(?:operation-)?location|azure-asyncoperation|pagination|retry-after)|(?:x-)?rate-?limit.*|.*(?:request-?id|correlation-id)"
)
_PAGING = "(?:page|pagination|paging)?"
_NEXT = re.compile(
    rf"{_PAGING}(?:next(?:page)?(?:cursor|id|key|link|marker|number|offset|range|token|ur[il])?"
    r"|cursornext|has(?:more|next(?:page)?))|(?:ms)?continuation(?:token)?"
)
_TOTAL = re.compile(
    rf"(?:wp|item|list|result|{_PAGING})total"
    r"(?:count|elements|entries|hits|items|objects|pages|records|results|rows|size)?"
    rf"|{_PAGING}(?:page|items?|records?|results?)count"
)
_LONGEST_NAME = 40
_MEMBERS_READ = 200
LONGEST_MEMBER = 60
_OTHER = re.compile(r"[^a-z0-9]")

# Names in answers, folded, that tell about pages.
CONTAINERS = frozenset(
    {"meta", "metadata", "links", "paging", "pagination", "pageinfo", "pages", "page", "cursors"}
    | {"responsemetadata", "info", "response", "result", "data", "listmeta", "resultinfo"}
)
NEXT = re.compile(
    r"(?:page|pagination|paging)?next(?:page|results?)?"
    r"(?:cursor|id|key|link|marker|number|offset|token|ur[il]|href|start)?"
    r"|(?:odata)?nextlink|cursornext|nextcontinuationtoken|endcursor|nextrecordsurl"
)
SAME = frozenset({"cursor", "continue", "bookmark", "scrollid", "pagingtoken", "paginationtoken"})
"""Arguments whose next value may be in an answer under their own name."""
FLAGS = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "moreavailable", "istruncated"})
TOTALS = re.compile(r"(?:page)?total(?:count|elements|entries|hits|items|records|results|size)?")
LISTS = (
    *("items", "data", "results", "result", "records", "entries", "values", "value", "elements"),
    "content",
)
SIZES = frozenset(
    {"limit", "perpage", "pagesize", "pagelimit", "maxresults", "maxitems", "maxkeys", "top"}
    | {"maxrecords", "itemsperpage", "resultsperpage", "maxpagesize"}
)
"""Arguments that take the number of items of a response."""

_LONGEST_LINKS = 8192
_LONGEST_PARAMETERS = 512
_LINK = re.compile(r'<([^<>]*)>((?:[^<"]|"[^"]*")*)')
WEB = re.compile(r"https?://", re.IGNORECASE)  # the beginning of an address on the web
_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\\\ud800-\udfff]")

_DECODINGS = 8
_BLANK = r"[\x00-\x20\x7f]*"
# Servers strip blanks, control characters, parameters after `;` and all behind a NUL.
_DOT_SEGMENT = re.compile(
    rf"(?:^|[/\\]){_BLANK}\.{_BLANK}(?:\.{_BLANK})?(?:[;?#\x00][^/\\]*)?(?=[/\\]|$)"
)


class InvalidUrlError(ValueError):
    """A text is not a URL."""


def read_url(text: str, base: httpx.URL | None = None) -> httpx.URL:
    """Return a URL, absolute or relative to `base`; every part of it is valid."""
    import httpx  # loading a document needs none of it

    try:
        url = httpx.URL(text) if base is None else base.join(text)
        url.host  # noqa: B018 -- decodes `xn--` labels, with errors of other packages
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidUrlError(str(error)) from None
    return url


def inner_url(target: str, base: httpx.URL, server: str) -> httpx.URL:
    """Return an address that an answer names, if the API has it; else InvalidUrlError says why."""
    target = target.strip()
    if _UNFIT.search(target):
        raise InvalidUrlError("it is not an address")
    target = target.partition("#")[0]
    url = read_url(target) if WEB.match(target) else read_url(target, base)
    scheme, netloc, below = _home(server)
    if (url.scheme, url.netloc.lower()) != (scheme, netloc) or url.userinfo:
        raise InvalidUrlError("it leads to another origin")
    path = url.raw_path.partition(b"?")[0].decode("ascii")
    if (path != below and not path.startswith(f"{below}/")) or has_dot_segment(path):
        raise InvalidUrlError(f"it leads out of {below or '/'}")
    return url


@lru_cache(maxsize=256)
def _home(server: str) -> tuple[str, bytes, str]:
    home = read_url(str(read_url(server)))  # which drops a default port
    path = home.raw_path.partition(b"?")[0].decode("ascii")
    return home.scheme, home.netloc.lower(), path.rstrip("/")


def without_pairs(url: httpx.URL, names: Collection[str]) -> httpx.URL:
    """Return a URL without the pairs of its query that have one of the names."""
    if not names:
        return url
    pairs = url.query.decode("ascii").split("&")
    kept = [p for p in pairs if unquote_plus(p.partition("=")[0]) not in names]
    return url.copy_with(query="&".join(filter(None, kept)).encode("ascii") or None)


def linked(links: str, relation: str) -> str:
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
    """Whether a call can ask for another method: by a header, or `_method` in query or form."""
    for parameter in operation.parameters:
        match parameter.location:
            case "header" if header_key(parameter.name) in _HEADERS:
                return True
            case "query" if parameter.name.lower() == _MEMBER:
                return True
    return has_override(operation.path.partition("?")[2]) or _of_form(operation.body)


def is_read(operation: Operation) -> bool:
    """Whether the calls of an operation only read."""
    return is_safe(operation.method) and not can_override(operation)


def _of_form(body: RequestBody | None) -> bool:
    if body is None:
        return False
    form = is_form(body.media_type) or is_multipart(body.media_type)
    named = form and any(member.name.lower() == _MEMBER for member in body.properties)
    return named or any(map(_of_form, body.choices))


def has_override(query: str) -> bool:
    """Whether a query has a `_method`."""
    if "method" not in query.lower():
        return False
    return any(unquote_plus(p.partition("=")[0]).lower() == _MEMBER for p in query.split("&"))


def reads(request: httpx.Request) -> bool:
    """Whether a request only reads."""
    return is_safe(request.method) and not _overrides(request)


def repeats(request: httpx.Request) -> bool:
    """Whether two equal requests do no more than one."""
    return is_idempotent(request.method) and not _overrides(request)


def _overrides(request: httpx.Request) -> bool:
    query = request.url.query.decode("ascii", "replace")
    return has_override(query) or not _HEADERS.isdisjoint(map(header_key, request.headers))


def header_key(name: str) -> str:
    """Return a header's name for comparisons: servers take `_` for `-` (RFC 3875, 4.1.18)."""
    return name.lower().replace("_", "-")


def parameter_key(location: str, name: str) -> tuple[str, str]:
    """Return a parameter's location and name for comparisons; headers as by `header_key`."""
    return location, header_key(name) if location == "header" else name


def has_dot_segment(text: str) -> bool:
    """Whether a server that decodes the text, once or several times, could read `.` or `..`."""
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
    """Whether a member's or a query parameter's name says that it holds a credential.

    Fewer names than of headers: data has keys and sessions, and paging has tokens.
    """
    return _SECRET.search(name) is not None and _PAGE.match(name) is None


def is_kept(name: str) -> bool | None:
    """Whether results keep a response header; None: if the document or the answer names it."""
    if header_label(name) or _KEPT.fullmatch(name):
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
    if name == "link" or _NEXT.fullmatch(word):
        return "Next page"
    return "Total" if _TOTAL.fullmatch(word) else ""


def folded(name: str) -> str:
    """Return the letters and digits of a name in lower case; empty for a long name."""
    return _OTHER.sub("", name.lower()) if len(name) <= LONGEST_MEMBER else ""


def members_in(value: Any, containers: Collection[str], depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the members of an answer by folded name, the outermost first, down some containers."""
    members = list(value.items())[:_MEMBERS_READ] if isinstance(value, dict) else []
    yield from ((folded(name), member) for name, member in members)
    for name, member in members:
        if depth and isinstance(member, dict) and folded(name) in containers:
            yield from members_in(member, containers, depth - 1)


_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 -- RFC 9110's word for it
_VALUE = r"[!#$%&'*+\-./^_`|~0-9A-Za-z]+"  # documents write `type=text/html` without quotes
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"'
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[ \t]*{_TOKEN}=(?:{_VALUE}|{_QUOTED}))*")
_PARAMETER = re.compile(rf"(?<![ \t])[ \t]*+;[ \t]*({_TOKEN})=({_VALUE}|{_QUOTED})")

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
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
    """Whether the text is a media type, with or without parameters (RFC 9110, section 8.3.1)."""
    return _MEDIA_TYPE.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def essence(media_type: str) -> str:
    """Return the media type in lower case, without its parameters: `"text/plain"`."""
    return media_type.partition(";")[0].strip().lower()


def parameter(media_type: str, name: str) -> str:
    """Return a parameter of the media type without quotes, for instance its charset, or `""`."""
    for found, value in _PARAMETER.findall(media_type):
        if found.lower() == name:
            return str(value).strip('"')
    return ""


def without_parameter(media_type: str, name: str) -> str:
    """Return the media type without one parameter."""
    kept = (m[0] for m in _PARAMETER.finditer(media_type) if m[1].lower() != name)
    return media_type.partition(";")[0].strip() + "".join(kept)


def is_wildcard(media_type: str) -> bool:
    """Whether it stands for several media types, for instance `image/*`."""
    return "*" in essence(media_type)


def matches(media_type: str, pattern: str) -> bool:
    """Whether a media type is the one that `pattern` names, or one of those."""
    kind, wanted = essence(media_type), essence(pattern)
    return kind == wanted or (is_wildcard(pattern) and fnmatchcase(kind, wanted))


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
    return not any(holds(media_type) for holds in kinds)


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
