"""Bytes as text that can be shown: no mojibake without a word about it, no control characters."""

from __future__ import annotations

import re

_CODECS = {
    "ascii": "utf-8",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "us-ascii": "utf-8",
    "utf-16": "utf-16",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf-8": "utf-8",
    "utf8": "utf-8",
}
"""Charsets that are honoured: a server may name any codec of Python's, some of which are no text.

ASCII is read as UTF-8, of which it is a part.
"""

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")


def decode_text(content: bytes, charset: str = "") -> tuple[str, list[str]]:
    """Return bytes as text.

    Spec: RFC 9110, section 8.3.2; WHATWG Encoding, section 6 for byte order marks.

    Args:
        content: The bytes.
        charset: As the server named it; UTF-8 when it is empty or not honoured.

    Returns:
        The text, and a note when it is not quite what was sent.
    """
    codec = next((codec for mark, codec in _MARKS if content.startswith(mark)), "")
    notes = []
    if not codec:
        codec = _CODECS.get(charset.strip().lower(), "")
        if not codec and charset and not content.isascii():
            notes.append(f"the charset {charset!r:.60} is not supported, the text is read as UTF-8")
    codec = codec or "utf-8"
    try:
        return content.decode(codec), notes
    except UnicodeDecodeError:
        notes.append(f"bytes that are no {codec} are shown as U+FFFD")
        return content.decode(codec, "replace"), notes


def clean_text(text: str) -> str:
    r"""Return text without surrogates and control characters; `\n`, `\r` and `\t` are kept."""
    text = _CONTROLS.sub("", text)
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def is_readable(content: bytes) -> bool:
    """Whether bytes of no known kind are UTF-8 text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None
