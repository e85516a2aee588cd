"""What a fast YAML parser drops without a word, found by counting.

Of two equal keys it keeps the last. But each key has a colon in the text. The other colons stand in
scalars, which the parser gives back, and in comments. Where the sum is right nothing was dropped.
The sum is one-sided: what cannot be told makes it too large, and what would make it too small
(escaped colons, keys without a colon) is looked for as well. Tags are found by the same sum over
exclamation marks.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 256
"""Mappings and lists that are looked through at once: they fit a processor's cache."""

_S = rb"[ \t\r\n]*+"
_QUOTED = rb"""(?:"[^"\\\r\n]*+"|'[^'\r\n]*+')"""
_BARE = rb"""[\w.$/+~^\x80-\xff-](?:[^"'\[\]{},:#\r\n]|:(?=[^\s,\[\]{}]))*+"""
_VALUE = rb"(?:%b|%b)" % (_QUOTED, _BARE)
_KEY = rb"(?:%b%b:|%b:(?=[ \t\r\n]))" % (_QUOTED, _S, _BARE)


def _listed(item: bytes) -> bytes:
    """Return the pattern of the items of a flow collection, by the pattern of one."""
    return rb"(?:%b%b(?:,%b%b%b)*+,?%b)?" % (item, _S, _S, item, _S, _S)


def _mapping(value: bytes) -> bytes:
    """Return the pattern of a flow mapping in which each key has a colon."""
    return rb"\{%b%b\}" % (_S, _listed(rb"%b%b(?:%b)?" % (_KEY, _S, value)))


_SCALARS = rb"%b|\[%b%b\]" % (_VALUE, _S, _listed(_VALUE))
_FLOW_MAPPING = re.compile(_mapping(rb"%b|%b" % (_SCALARS, _mapping(_SCALARS))))
_BRACE = re.compile(rb"\{(?<![^\s\[{,:]\{)")
_ESCAPE = re.compile(rb"\\(?:x|u00|U000000)(?:3[aA]|7[bB]|21)")
"""A colon, a brace or an exclamation mark that is not there as such."""

_EXPLICIT_KEY = re.compile(rb"\?(?<![^\s\[{,-]\?)\s")
_COMMENT = re.compile(rb"#(?<![^ \t\n]#)[^\r\n]*")
_MAX_COMMENTS = 200
_BLOCK_HEADER = re.compile(rb"([|>][-+0-9]*)[ \t]*(?:#[^\n]*)?\r?\n\s*([^\s\"\\,\[\]{}]*)")
_MAX_PLACES = 50_000
_WINDOW = 200


def words_of(nodes: list[Any]) -> bytes:
    r"""Return all keys and values that are text, each between two `\0`.

    Args:
        nodes: Mappings and lists; what lies near in memory is taken together.
    """
    some = (nodes[start : start + CHUNK] for start in range(0, len(nodes), CHUNK))
    return b"\0".join([b"", *map(_join, some), b""])


def _join(nodes: list[Any]) -> bytes:
    """Return the texts of a few nodes."""
    mappings = [node for node in nodes if node.__class__ is dict]
    lists = [node for node in nodes if node.__class__ is list]
    values = chain(chain.from_iterable(map(dict.values, mappings)), chain.from_iterable(lists))
    texts = [value for value in values if value.__class__ is str]
    return "\0".join(chain(chain.from_iterable(mappings), texts)).encode()


def may_repeat(data: bytes, words: bytes, nodes: list[Any]) -> bool:
    """Tell whether a key may stand twice in a mapping; False is certain.

    Args:
        data: YAML without anchors, tags and merge keys.
        words: All texts that were made from it.
        nodes: All mappings and lists that were; keys are text.
    """
    keys = sum(len(node) for node in nodes if node.__class__ is dict)
    surplus = data.count(b":") - words.count(b":") - keys
    if surplus and surplus != _colons_of_comments(data, words):
        return True
    return bool(
        _ESCAPE.search(data)
        or _EXPLICIT_KEY.search(data)
        or (data.count(b"{") != words.count(b"{") and _has_hidden_keys(data))
    )


def has_tags(data: bytes, words: bytes) -> bool:
    """Tell whether a text may have tags, which the parser drops; False is certain.

    Args:
        data: YAML without anchors and merge keys.
        words: All texts that were made from it.
    """
    return data.count(b"!") != words.count(b"!") or bool(_ESCAPE.search(data))


def has_broken_flow(data: bytes, words: bytes) -> bool:
    """Tell whether `|` or `>` may begin a text in a flow collection, where no block may stand.

    Spec: YAML 1.2.2, section 7.3.3: no plain scalar begins so either.

    Args:
        data: YAML that the parser took.
        words: All texts that were made from it.
    """
    if b"\0|" not in words and b"\0>" not in words:
        return False
    found = list(islice(chain(places(b"|", data), places(b">", data)), _MAX_PLACES + 1))
    return len(found) > _MAX_PLACES or any(_is_misplaced(data, at, words) for at in found)


def places(byte: bytes, data: bytes) -> Iterator[int]:
    """Yield where a byte stands."""
    index = data.find(byte)
    while index >= 0:
        yield index
        index = data.find(byte, index + 1)


def _is_misplaced(data: bytes, index: int, words: bytes) -> bool:
    """Tell whether a text may begin here with `|` or `>`, without quotes and outside of a block."""
    before = data[max(index - _WINDOW, 0) : index].rstrip()
    if not before.endswith(b":"):
        return not before or before.endswith((b"[", b"{", b","))
    header = _BLOCK_HEADER.match(data, index)
    if not header:
        return True
    text = b"\0" + header[1]  # what it is if it does not head a block
    return text + b" " + header[2] in words or text + b"\0" in words


def _colons_of_comments(data: bytes, words: bytes) -> int:
    """Return how many colons certainly stand in comments; 0 when looking would take long.

    What looks like a comment may be part of a scalar. Then, without quotes and escapes, it is
    among the words as it stands.
    """
    found = [comment for comment in _COMMENT.findall(data) if b":" in comment]
    if len(found) > _MAX_COMMENTS:
        return 0
    return sum(
        comment.count(b":")
        for comment in found
        if not set(b"\"'\\") & set(comment) and comment.rstrip() not in words
    )


def _has_hidden_keys(data: bytes) -> bool:
    """Tell whether a flow mapping may have a key without a colon, as `{a, b: 1}` has."""
    return any(not _FLOW_MAPPING.match(data, found.start()) for found in _BRACE.finditer(data))
