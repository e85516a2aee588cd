"""Read YAML fast where nothing in the text can be misread.

yaml12 is five times as fast as the exact reader, but the last of two equal keys wins, integers of
more than 64 bits become floats, merge keys stay keys, aliases are copied without bound, and the
second document of a stream is dropped. A text in which any of that could happen is left to the
exact reader; when in doubt it is left, too. So is every text that yaml12 does not take.
"""

from __future__ import annotations

import io
import re
from typing import Any

from openapi_tools.loader.limits import MAX_NODES
from openapi_tools.loader.parse_json import DENSE_BYTES, paused_gc
from openapi_tools.loader.plain import count_keys

_CONTROLS = {*range(ord(" ")), 0x7F} - {*b"\t\n\r"}
_OTHERS = bytes({*range(256)} - _CONTROLS)
_DEEPEST = 400
"""Columns that a line may begin with: no block nests deeper, and yaml12 has a stack to overflow."""

_FIRST_LINE = re.compile(rb"%%| *\t|[ \t?:-]{%d}" % _DEEPEST)
# Every pattern begins with a literal byte: that lets `re` skip through megabytes.
_LINE = re.compile(rb"\n(?:%%|[ \t?:-]{%d})" % _DEEPEST)
_TAB_INDENT = re.compile(rb"\n *\t")
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"<<",
        rb"!(?:!(?:str|int|float|bool|null|map|seq)|<tag:yaml)",
        rb"\+(?<![^\s\[{,:?-]\+)[-+][0-9]",  # `+-1` is text, yaml12 reads a number
        rb"0(?<![^\s\[{,:?-]0)[xo](?:[-+]|[0-9a-fA-F]{16})",  # likewise; or more than 64 bits
        rb"\r(?!\n)",
    )
)
_SPACES = {
    rb"\xc2": rb"[\x85\xa0]",
    rb"\xe1": rb"\x9a\x80",
    rb"\xe2": rb"(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)",
    rb"\xe3": rb"\x80\x80",
}
"""Unicode's spaces, by their first byte: text of nothing else is null for yaml12."""
_SPACE = b"|".join(first + rest for first, rest in _SPACES.items())
_UNICODE_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"\xc2[\x80-\x84\x86-\x9f]",
        rb"\xef(?:\xbb\xbf|\xbf[\xbe\xbf])",
        *(
            rb"%b(?<![^\s\[{,:?-]%b)%b(?:%b| )*(?:[\r\n\[\]{},#:]|\Z)"
            % (first, first, rest, _SPACE)
            for first, rest in _SPACES.items()
        ),
    )
)
_ANCHOR = re.compile(rb"&\S")
_MAX_AMPERSANDS = 50_000
_WINDOW = 200
_ODD_KEY = re.compile(
    rb"""(?<![\w.:"'])(?:[-+]0|\+|0[0-9xo])[0-9a-fA-F]*\s*[:,}]|(?<![^\s\[{,-])\?\s"""
)


def read_fast(data: bytes) -> dict[str, Any] | None:
    """Return the mapping that a YAML text is, or None when the exact reader has to look at it.

    Args:
        data: UTF-8 without a byte order mark.
    """
    import yaml12

    if _is_doubtful(data):
        return None
    try:
        with paused_gc():
            # Asked for one document it would drop what follows, a line with less indentation too.
            documents = yaml12.read_yaml(io.BytesIO(data), multi=True)
    except ValueError:
        return None
    if len(documents) != 1 or _ends_in_block(documents[0], data):
        return None
    return _accept(documents[0], data)


def _is_doubtful(data: bytes) -> bool:
    """Tell whether the text has anything that yaml12 reads otherwise, or that costs too much."""
    return (
        (len(data) > DENSE_BYTES and sum(map(data.count, (b"\n", b",", b"[", b"{"))) > MAX_NODES)
        or bool(data.translate(None, _OTHERS))
        or any(pattern.search(data) for pattern in _PATTERNS)
        or (not data.isascii() and any(pattern.search(data) for pattern in _UNICODE_PATTERNS))
        or bool(_FIRST_LINE.match(data) or _LINE.search(data))
        or (b"\t" in data and bool(_TAB_INDENT.search(data)))
        or _has_anchor(data)
    )


def _has_anchor(data: bytes) -> bool:
    """Tell whether there may be an anchor; without one there is no alias either."""
    if data.count(b"&") > _MAX_AMPERSANDS:
        return True
    return any(_is_anchor(data, match.start()) for match in _ANCHOR.finditer(data))


def _is_anchor(data: bytes, index: int) -> bool:
    """Tell whether an ampersand may begin an anchor: it begins a node, or follows a tag."""
    before = data[max(index - _WINDOW, 0) : index]
    tail = before.rstrip(b" \t")
    if not tail or tail.endswith((b"\r", b"\n", b",", b":")):
        return True
    if tail.endswith((b"?", b"-")) and tail != before:
        return True
    if tail.endswith((b"[", b"{")) and not tail[-2:-1].strip(b" \t\r\n[{,:"):
        return True
    if tail == before and not tail.endswith((b"[", b"{")):
        return False
    token = tail.split()[-1]
    return b"!" in token or len(token) >= _WINDOW - 1


def _ends_in_block(root: Any, data: bytes) -> bool:
    """Tell whether the document may end in a block scalar without a line break of its own.

    yaml12 gives it one even where the file has none (YAML 1.2.2, section 8.1.1.2).
    """
    texts, last = [], root
    while last.__class__ in (dict, list) and last:
        key, last = next(reversed(last.items())) if last.__class__ is dict else ("", last[-1])
        texts.append(key)
    return any(
        isinstance(text, str)
        and text.endswith("\n")
        and (not text.strip("\n") or not data.endswith(b"\n"))
        for text in (*texts, last)
    )


def _accept(root: Any, data: bytes) -> dict[str, Any] | None:
    """Return the root when it is plain data, integer keys made text; None when in doubt."""
    if root.__class__ is not dict:
        return None
    if count_keys(root, below=2**63) is not None:
        return root
    if _ODD_KEY.search(data) or not _write_keys(root):
        return None
    return root if count_keys(root, below=2**63) is not None else None


def _write_keys(root: dict[Any, Any]) -> bool:
    """Make integer keys text, in place; say whether that was all that had to be done."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        values = node
        if node.__class__ is dict:
            if any(key.__class__ is not str for key in node) and not _write_keys_of(node):
                return False
            values = node.values()
        stack += [value for value in values if value.__class__ in (dict, list)]
    return True


def _write_keys_of(node: dict[Any, Any]) -> bool:
    """Make the integer keys of one mapping text; False for other keys, or when two become one."""
    items = list(node.items())
    if any(key.__class__ not in (str, int) for key, _ in items):
        return False
    node.clear()
    node.update((str(key), value) for key, value in items)
    return len(node) == len(items)
