"""Read YAML fast where nothing in the text can be misread.

fast_yaml reads scalars as the exact reader does, at a tenth of its cost. But the last of two equal
keys wins, unknown tags are dropped, aliases are copied, merge keys follow rules of its own, and a
key becomes the number that it looks like. A text in which any of that could happen is left to the
exact reader; when in doubt it is left, too. So is every text that fast_yaml does not take: what is
wrong with it, and where, the exact reader says.
"""

from __future__ import annotations

import gc
import re
from itertools import islice
from typing import Any

from openapi_tools.loader.limits import MAX_DEPTH, MAX_NODES, MAX_NUMBER
from openapi_tools.loader.parse_json import DENSE_BYTES, paused_gc
from openapi_tools.loader.yaml_sums import (
    CHUNK,
    has_broken_flow,
    has_tags,
    may_repeat,
    places,
    words_of,
)

_BEGINNING = re.compile(rb"(?:[ \r]*+(?:#[^\n]*+)?\n)*+(?:%|\.\.\.| *\t)")
"""A directive, or the end of a document that did not begin."""

# Every pattern begins with a literal byte: that lets `re` skip through megabytes.
_RARE = tuple(
    (lead, re.compile(pattern))
    for lead, pattern in (
        (b"<", rb"<<"),
        (b"%", rb"%(?<=\n%)"),
        (b"\xef", rb"\xef\xbb\xbf"),
        (b"\r", rb"\r(?!\n)"),
        # `{?a: b}`; the key may be `a`
        (b"?", rb"\?(?:(?<=[\s\[{,:][\[{,]\?)|(?<=[\[{,] \?))[^\s?]"),
    )
)
_NUMBER = re.compile(rb"0(?:(?<=[-+]0)[xo]|[xo][0-9a-fA-F]{3000})")
"""Text that is a number for fast_yaml, or the other way round."""

_TAB = re.compile(rb"\n[ -]*\t")
_NO_NODE = re.compile(rb"&\s|!(?<=\[!)\w+\](?![\s,:#\]}]|\Z)")
"""No name; or Markdown's `[!NOTE]`, which would be a tag in a list, and nothing follows one so."""

_FEW = 2000
"""Places that are found one by one sooner than by a look at every byte."""

_MANY = 50_000
"""Ampersands or exclamation marks of a text that nobody wrote; each costs a look."""

_WINDOW = 200
_ODD_KEYS = (
    re.compile(rb"0(?<![^\s\[{,]0)[0-9xo][0-9a-fA-F]*\s*[:,}]"),
    re.compile(rb"-(?<![^\s\[{,]-)0[0-9]*\s*[:,}]"),
    re.compile(rb"\+(?<![^\s\[{,]\+)[0-9]+\s*[:,}]"),
    re.compile(rb"\?(?<![^\s\[{,-]\?)\s"),  # no colon need follow
)
"""Keys that may be integers and not written as Python writes them."""

_TEXT = {str}


def read_fast(data: bytes, *, check: bool = False) -> dict[str, Any] | None:
    """Return the mapping that a YAML text is, or None when the exact reader has to look at it.

    Args:
        data: UTF-8 without a byte order mark.
        check: Leave a text in which a key may stand twice; without it the last one counts.
    """
    import fast_yaml

    if _is_doubtful(data):
        return None
    try:
        with paused_gc():
            root = fast_yaml.safe_load(data.decode(), max_depth=MAX_DEPTH, max_documents=1)
    except ValueError:
        return None
    if root.__class__ is not dict or _ends_in_block(root, data):
        return None
    nodes = _settle(root, data)
    return None if nodes is None or _is_lossy(data, nodes, check=check) else root


def _is_doubtful(data: bytes) -> bool:
    """Tell whether the text has anything that is read otherwise, or that costs too much."""
    return (
        (len(data) > DENSE_BYTES and sum(map(data.count, (b"\n", b",", b"[", b"{"))) > MAX_NODES)
        or bool(_BEGINNING.match(data))
        or any(_stands(pattern, lead, data) for lead, pattern in _RARE)
        or bool(_NUMBER.search(data))
        or (b"\t" in data and bool(_TAB.search(data)))
        or _may_have(b"&", data)
    )


def _is_lossy(data: bytes, nodes: list[Any], *, check: bool) -> bool:
    """Tell whether the parser may have dropped tags or, where asked for, anything else."""
    tags = _may_have(b"!", data)
    if not (tags or check):
        return False
    words = words_of(nodes)
    if tags and has_tags(data, words):
        return True
    return check and (may_repeat(data, words, nodes) or has_broken_flow(data, words))


def _stands(pattern: re.Pattern[bytes], lead: bytes, data: bytes) -> bool:
    """Do as the pattern's search does, by leaps where the byte that it begins with is rare."""
    found = list(islice(places(lead, data), _FEW))
    if any(pattern.match(data, at) for at in found):
        return True
    return len(found) == _FEW and bool(pattern.search(data, found[-1] + 1))


def _may_have(indicator: bytes, data: bytes) -> bool:
    """Tell whether an anchor or a tag may stand where a node may begin."""
    starts = list(islice(places(indicator, data), _MANY))
    return len(starts) == _MANY or any(
        _begins_node(data, start) and not _NO_NODE.match(data, start) for start in starts
    )


def _begins_node(data: bytes, index: int) -> bool:
    """Tell whether a node may begin at an index, if that is not inside of a scalar."""
    for _ in range(_WINDOW):
        before = data[max(index - _WINDOW, 0) : index]
        tail = before.rstrip(b" \t")
        if not tail or tail.endswith((b"\r", b"\n", b",", b":")):
            return True
        if tail.endswith((b"?", b"-")):
            return tail != before
        if not tail.endswith((b"[", b"{")):
            return False
        index -= len(before) - len(tail) + 1  # the bracket begins a node, or is text
    return True


def _ends_in_block(root: Any, data: bytes) -> bool:
    """Tell whether the document may end in a block scalar without a line break of its own.

    fast_yaml gives it one even where the file has none (YAML 1.2.2, section 8.1.1.2).
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


def _settle(root: dict[Any, Any], data: bytes) -> list[Any] | None:
    """Make integer keys text, in place.

    Returns:
        All mappings and lists; None when that does not make it plain data, or it is too large.
    """
    nodes: list[Any] = []
    others: list[Any] = []
    waiting: list[Any] = [root]
    budget = MAX_NODES
    while waiting:
        some = waiting[-CHUNK:]
        del waiting[-CHUNK:]
        nodes += some
        # The members of many at once, half the time of a loop over each: of a mapping its
        # values, and its keys too if one is not text (or if this Python always shows them).
        found = gc.get_referents(*some)
        size = sum(map(len, some))
        budget -= size
        if budget < 0:
            return None
        if len(found) != size:
            others += some
        for value in found:
            kind = type(value)
            if kind is str:
                continue
            if kind is dict or kind is list:
                waiting.append(value)
            elif kind is int or kind is float:
                if not -MAX_NUMBER < value < MAX_NUMBER:
                    return None
            elif kind is not bool and value is not None:
                return None
    return nodes if _write_keys(others, data) else None


def _write_keys(nodes: list[Any], data: bytes) -> bool:
    """Make integer keys text; say whether that was all that had to be done."""
    mixed = [node for node in nodes if type(node) is dict and set(map(type, node)) - _TEXT]
    if not mixed:
        return True
    return all(map(_write_keys_of, mixed)) and not any(key.search(data) for key in _ODD_KEYS)


def _write_keys_of(node: dict[Any, Any]) -> bool:
    """Make the integer keys of one mapping text; False for other keys, or when two become one."""
    items = list(node.items())
    if any(key.__class__ not in (str, int) for key, _ in items):
        return False
    node.clear()
    node.update((str(key), value) for key, value in items)
    return len(node) == len(items)
