"""Text in responses: charsets, control characters, HTML pages.

Charsets are decoded from an allow-list of labels. Python's own lookup is not used: it knows codecs
that decompress or run long, and takes names that no server means.

Spec: WHATWG Encoding Standard, section 4.2 (names and labels).
"""

from __future__ import annotations

import codecs
import html
import re
from contextlib import suppress
from typing import NamedTuple

from openapi_tools.common import http_rules
from openapi_tools.redaction import excerpt

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")
# U+FFFD in the response itself: the server replaced bytes, nothing was lost here.
_GENUINE = {"utf-8": b"\xef\xbf\xbd", "utf-8-sig": b"\xef\xbf\xbd"}
_PIECE = 64 * 1024  # of text at once: one long step would hold up all threads


class DecodedText(NamedTuple):
    """The requested part of a text, notes on lost bytes, and the length of the whole."""

    text: str
    notes: list[str]
    length: int


def decode_text(content: bytes, charset: str = "", *, most: int | None = None) -> DecodedText:
    """Return at most `most` characters of bytes; as UTF-8 if the charset is not supported."""
    codec = _find_codec(content, charset)
    notes = []
    if not codec and charset and not content.isascii():
        quoted = excerpt(charset, 60)
        notes.append(f"the charset {quoted!r} is not supported; the text was decoded as UTF-8")
    codec = codec or "utf-8"
    if most is None and len(content) <= _PIECE:
        with suppress(UnicodeDecodeError):
            text = content.decode(codec)
            return DecodedText(text, notes, len(text))
    text, length, replaced = _decode(content, codec, most)
    genuine = _GENUINE.get(codec)
    if replaced and (genuine is None or replaced > content.count(genuine)):
        notes.append(f"bytes that are not valid {codec} were replaced by U+FFFD")
    return DecodedText(text, notes, length)


def to_utf8(content: bytes, charset: str = "") -> bytes:
    """Return text in UTF-8 as `decode_text` reads it; UTF-8 stays the same object."""
    if _find_codec(content, charset) in ("", "utf-8", "utf-8-sig"):
        return content
    return decode_text(content, charset).text.encode(errors="surrogatepass")


def is_mostly_text(content: bytes, charset: str = "") -> bool:
    """Return whether at least nine tenths of the beginning are text."""
    beginning = content[:_PIECE].strip(b"\0")
    text = decode_text(beginning, charset).text
    return 10 * (len(_CONTROLS.findall(text)) + text.count("\ufffd")) <= len(text)


def _find_codec(content: bytes, charset: str) -> str:
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), "")
    return marked or find_codec(charset)


def _decode(content: bytes, codec: str, most: int | None) -> tuple[str, int, int]:
    decoder = codecs.getincrementaldecoder(codec)("replace")
    kept: list[str] = []
    length = replaced = 0
    for start in range(0, len(content), _PIECE):
        end = start + _PIECE
        piece = decoder.decode(content[start:end], final=end >= len(content))
        if most is None or length < most:
            kept.append(piece if most is None else piece[: most - length])
        length += len(piece)
        replaced += piece.count("\ufffd")
    return "".join(kept), length, replaced


def clean_text(text: str) -> str:
    r"""Return text without surrogates and control characters; `\n`, `\r` and `\t` are kept."""
    if len(text) > _PIECE:
        starts = range(0, len(text), _PIECE)
        return "".join(clean_text(text[start : start + _PIECE]) for start in starts)
    text = _CONTROLS.sub("", text)
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


LOOKED_AT = 200_000  # characters of a page that are read

# Comments, hidden elements whole, tags and declarations; each ends with the page at the latest.
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<hidden>noscript|script|style|svg|template|title)(?![a-z0-9-])[^>]*"
    r"(?:>.*?(?:</(?P=hidden)[^>]*(?:>|\Z)|\Z)|\Z)"
    r"|</?(?P<name>[a-z][a-z0-9-]{0,30})[^>]*(?:>|\Z)|<[!?/][^>]*(?:>|\Z)",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_MARKUP = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"(?<!\s)[^\S\n]*+\n\s*+")
# A page may begin with a byte order mark and a comment, for instance a licence.
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype html|html)",
    re.IGNORECASE | re.DOTALL,
)
_INLINE = frozenset(  # and the absent name of a comment
    {"", "a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "u"}
)


def is_html_page(content: bytes) -> bool:
    """Whether bytes begin as an HTML page does."""
    return _PAGE.match(content[:2000]) is not None


def has_markup(text: str) -> bool:
    """Whether text holds a tag, a comment or an entity of HTML."""
    return _MARKUP.search(text) is not None or _ENTITY.search(text) is not None


def extract_page_text(page: str) -> str:
    """Return an HTML page as text, without scripts, after a label with its title."""
    page = page[:LOOKED_AT]
    title_tag = re.search(r"<title[^>]{0,200}>([^<]{0,300})", page, re.IGNORECASE)
    title = " ".join(_normalize_text(title_tag[1]).split()) if title_tag else ""
    label = f'[HTML page "{title}"]' if title else "[HTML page]"
    return f"{label} {_normalize_text(_TAG.sub(_replace_tag, page))}".rstrip()


def _replace_tag(tag: re.Match[str]) -> str:
    is_inline = not tag["hidden"] and (tag["name"] or "").lower() in _INLINE
    return "" if is_inline else "\n"


def _normalize_text(text: str) -> str:
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _BLANKS.sub(" ", clean_text(text))
    return _LINES.sub("\n", text).strip()


# Codecs of Python by the labels that the standard gives them; where it names a superset (GBK is
# decoded as GB18030, Shift_JIS as windows-31J, EUC-KR as windows-949), the codec is that one.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "utf-16-be": "unicodefffe utf-16be",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2"
    " iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3"
    " iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4"
    " iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595"
    " iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6"
    " iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126"
    " iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138"
    " iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591"
    " iso_8859-1 iso_8859-1:1987 l1 latin1 windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9"
    " iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk"
    " gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989"
    " ksc5601 ksc_5601 windows-949",
}

_OTHER_LABELS = {
    # The standard reads both as windows-1252; what calls itself ASCII today and is not is UTF-8.
    **dict.fromkeys(("ascii", "us-ascii"), "utf-8"),
    "latin-1": "cp1252",  # Python's own name for it
}

_CODECS = {
    label: codec for codec, labels in _LABELS.items() for label in labels.split()
} | _OTHER_LABELS


def find_codec(label: str) -> str:
    """Return Python's codec for a charset's label; empty if it is not one of the standard's."""
    return _CODECS.get(label.strip(" \t\r\n\f\"'").lower(), "")


_HTML_TYPES = frozenset({"application/xhtml+xml", "text/html"})
_DECLARATION_BYTES = 1024  # bytes, as browsers look for a declaration
_OF_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9._-]{1,40})")
_OF_HTML = re.compile(
    rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE
)


def charset_of(media_type: str, content: bytes) -> str:
    """Return the charset that a media type names, else the XML or HTML itself; may be empty.

    Spec: RFC 7303, section 3; WHATWG HTML, section 13.2.3.2.
    """
    if named := http_rules.parameter(media_type, "charset"):
        return named
    is_html = http_rules.essence(media_type) in _HTML_TYPES
    if not is_html and not http_rules.is_xml(media_type):
        return ""
    beginning = content[:_DECLARATION_BYTES]
    declaration = _OF_XML.search(beginning) or (_OF_HTML.search(beginning) if is_html else None)
    label = declaration[1].decode("ascii") if declaration else ""
    # Who could read that such a declaration names UTF-16 has not read UTF-16.
    return "" if find_codec(label).startswith("utf-16") else label
