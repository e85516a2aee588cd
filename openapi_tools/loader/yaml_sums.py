"""What a fast YAML parser drops without a word, found by counting.

Of two equal keys it keeps the last. But each key has a colon in the text. The other colons stand in
scalars, which the parser gives back, and in comments. Where the sum is right nothing was dropped.
The sum is one-sided: what cannot be told makes it too large, and what would make it too small
(escaped colons, keys without a colon) is looked for as well. Tags are found by the same sum over
exclamation marks.
"""

from __future__ import annotations

import re
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def may_repeat(data: bytes, nodes: list[Any]) -> bool:
    """Tell whether a key may stand twice in a mapping; False is certain.

    Args:
        data: YAML without anchors, tags and merge keys.
        nodes: All mappings and lists that were made from it; keys are text.
    """
    words = "\0".join(_words(nodes)).encode()
    keys = sum(len(node) for node in nodes if node.__class__ is dict)
    surplus = data.count(b":") - words.count(b":") - keys
    if surplus and surplus != _colons_of_comments(data, words):
        return True
    return bool(
        _ESCAPE.search(data)
        or _EXPLICIT_KEY.search(data)
        or (data.count(b"{") != words.count(b"{") and _has_hidden_keys(data))
    )


def has_tags(data: bytes, nodes: list[Any]) -> bool:
    """Tell whether a text may have tags, which the parser drops; False is certain.

    Args:
        data: YAML without anchors and merge keys.
        nodes: All mappings and lists that were made from it; keys are text.
    """
    found = sum(map(str.count, _words(nodes), repeat("!")))
    return data.count(b"!") != found or bool(_ESCAPE.search(data))


def _words(nodes: list[Any]) -> Iterator[str]:
    """Return all keys and values that are text."""
    mappings = [node for node in nodes if node.__class__ is dict]
    lists = [node for node in nodes if node.__class__ is list]
    values = chain(chain.from_iterable(map(dict.values, mappings)), chain.from_iterable(lists))
    texts = [value for value in values if value.__class__ is str]
    return chain(chain.from_iterable(mappings), texts)


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
