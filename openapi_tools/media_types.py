"""Media types: their names and the kinds of content that they announce."""

from __future__ import annotations

import codecs
import re
from fnmatch import fnmatchcase
from functools import lru_cache

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 -- RFC 9110's word for it
_VALUE = r"[!#$%&'*+\-./^_`|~0-9A-Za-z]+"  # documents write `type=text/html` without quotes
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"'
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[ \t]*{_TOKEN}=(?:{_VALUE}|{_QUOTED}))*")
_PARAMETER = re.compile(rf"[ \t]*;[ \t]*({_TOKEN})=({_VALUE}|{_QUOTED})")

_JSON = frozenset({"application/json", "text/json"})
_XML = frozenset({"application/xml", "text/xml"})
_BYTES = ("application/pdf", "audio/", "font/", "image/", "video/")
_LINES = frozenset(
    {
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/x-jsonlines",
        "application/x-ndjson",
    }
)
_TEXT = frozenset(
    {
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/jsonpath",
        "application/sql",
        "application/toml",
        "application/x-sh",
        "application/x-yaml",
        "application/yaml",
    }
)


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
    """Whether it holds one JSON value after another.

    Spec: OpenAPI 3.2.0, section 4.14.3.1, Sequential Media Types.
    """
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


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SNIFFED = 256 * 1024


def is_readable(content: bytes) -> bool:
    """Whether bytes are UTF-8 text, by their first 256 KiB."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        text = decoder.decode(content[:_SNIFFED], final=len(content) <= _SNIFFED)
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None
