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
from openapi_tools.loader.yaml_sums import has_tags, may_repeat

_FIRST_LINE = re.compile(rb"%|\.\.\.| *\t")
# Every pattern begins with a literal byte: that lets `re` skip through megabytes.
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"<<",
        rb"%(?<=\n%)",
        rb"\xef\xbb\xbf",
        rb"0(?:(?<=[-+]0)[xo]|[xo][0-9a-fA-F]{3000})",  # text, for fast_yaml a number; or text
        rb"\?(?:(?<=[\s\[{,:][\[{,]\?)|(?<=[\[{,] \?))[^\s?]",  # `{?a: b}`; the key may be `a`
    )
)
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_TAB = re.compile(rb"\n[ -]*\t")
_ANCHOR = re.compile(rb"&\S")
_TAG = re.compile(rb"!")
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
    if nodes is None or (_may_have(_TAG, data) and has_tags(data, nodes)):
        return None
    return None if check and may_repeat(data, nodes) else root


def _is_doubtful(data: bytes) -> bool:
    """Tell whether the text has anything that is read otherwise, or that costs too much."""
    return (
        (len(data) > DENSE_BYTES and sum(map(data.count, (b"\n", b",", b"[", b"{"))) > MAX_NODES)
        or any(pattern.search(data) for pattern in _PATTERNS)
        or (b"\r" in data and bool(_LONE_RETURN.search(data)))
        or (b"\t" in data and bool(_TAB.search(data)))
        or bool(_FIRST_LINE.match(data))
        or _may_have(_ANCHOR, data)
    )


def _may_have(indicator: re.Pattern[bytes], data: bytes) -> bool:
    """Tell whether an indicator stands where a node may begin."""
    starts = [found.start() for found in islice(indicator.finditer(data), _MANY)]
    return len(starts) == _MANY or any(_begins_node(data, start) for start in starts)


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
    level: list[Any] = [root]
    budget, has_others = MAX_NODES, False
    while level:
        nodes += level
        # Members of a whole level at once, half the time of a loop over each: of a mapping its
        # values, and its keys too if one is not text (or if this Python always shows them).
        found = gc.get_referents(*level)
        size = sum(map(len, level))
        budget -= size
        has_others = has_others or len(found) != size
        if budget < 0:
            return None
        level = []
        for value in found:
            kind = value.__class__
            if kind is str:
                continue
            if kind is dict or kind is list:
                level.append(value)
            elif kind is int or kind is float:
                if not -MAX_NUMBER < value < MAX_NUMBER:
                    return None
            elif kind is not bool and value is not None:
                return None
    return None if has_others and not _write_keys(nodes, data) else nodes


def _write_keys(nodes: list[Any], data: bytes) -> bool:
    """Make integer keys text; say whether that was all that had to be done."""
    mixed = [
        node
        for node in nodes
        if node.__class__ is dict and not all(key.__class__ is str for key in node)
    ]
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
