"""A document as a file of the cache: its parts, the facts of its tools, and a label.

```text
parts   JSON of each path item, each component, …
facts   JSON: what a load finds before any schema is asked for, and where the parts are
label   JSON, one line: of which document, of which version of this package
openapi-tools index <format> <CRC-32 of the label> <bytes of the label>
```
So it is written in one go. Whatever is not exactly so is no index: the document is then loaded as
if there were none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from openapi_tools._version import __version__
from openapi_tools.loading.lazy_document import are, cut, is_table
from openapi_tools.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.loading.cache import View

_FORMAT = 1
_LAST = b"openapi-tools index %d %08x %08d\n"
_LAST_PATTERN = re.compile(rb"openapi-tools index 1 ([0-9a-f]{8}) ([0-9]{8})\n")
_PIECE = 1024 * 1024
_LAST_BYTES = len(_LAST % (_FORMAT, 0, 0))


class Label(NamedTuple):
    """Of which document an index is.

    Attributes:
        source: What listings call it: a path, a URL without user, password and query; empty for
            text and bytes.
        stamp: What tells whether a file is still the same: size, times, inode.
        digest: SHA-256 of the document's bytes, hexadecimal.
        length: How many bytes those are.
        tools: How many tools it has.
        kept: When it was read; seconds since 1970.
        uri: Base of relative references, without user, password and query.
        place: SHA-256 of that base with its query, hexadecimal.
        public: It was fetched from a public address.
        etag: What its server called it.
        modified: When it last changed, in its server's words.
    """

    source: str = ""
    stamp: list[int] = []  # noqa: RUF012 -- never changed; JSON has no tuples
    digest: str = ""
    length: int = 0
    tools: int = 0
    kept: int = 0
    uri: str = ""
    place: str = ""
    public: bool = False
    etag: str = ""
    modified: str = ""


_EMPTY = Label()
_MORE = ("parts", "total", "facts", "sum")


class Facts(NamedTuple):
    """What a load finds before any schema is asked for; of the usable operations in columns.

    Attributes:
        names: Of the tools.
        descriptions: Of the tools.
        methods: Upper case.
        paths: The keys in `paths`.
        members: Their places in the path items, JSON Pointers without the first `/`.
        groups: All tags that an operation has, each such list once.
        tags: Of each operation, its number among them.
        deprecated: The numbers of the operations that the document advises against.
        skipped: The other operations.
        warnings: About operations.
        remarks: The parser's.
        counts: Of webhooks, callbacks and links.
    """

    names: list[str]
    descriptions: list[str]
    methods: list[str]
    paths: list[str]
    members: list[str]
    groups: list[list[str]]
    tags: list[int]
    deprecated: list[int]
    skipped: list[Skipped]
    warnings: list[str]
    remarks: list[str]
    counts: dict[str, int]


_TEXTS = ("names", "descriptions", "methods", "paths", "members")


class Index(NamedTuple):
    """An index that was read.

    Attributes:
        label: Of which document it is.
        facts: Of its tools.
        table: Where its parts are, as `slices.cut` says it.
    """

    label: Label
    facts: Facts
    table: dict[str, Any]


def write_index(
    label: Label, facts: Facts, root: dict[str, Any], write: Callable[[bytes], object]
) -> None:
    """Write an index, piece by piece.

    Args:
        label: Of which document it is.
        facts: Of its tools.
        root: The document as plain data.
        write: Is given the pieces.

    Raises:
        ValueError: It cannot be written as JSON.
    """
    from pydantic_core import to_json

    total = 0

    def part(data: bytes) -> None:
        nonlocal total
        total = crc32(data, total)
        write(data)

    table = cut(root, part)
    skipped = [[entry.pointer, entry.reason, entry.method, entry.path] for entry in facts.skipped]
    told = to_json({**facts._asdict(), "skipped": skipped, "table": table})
    more = {"parts": table["end"], "total": total, "facts": len(told), "sum": crc32(told)}
    line = to_json({"version": __version__, **label._asdict(), **more}) + b"\n"
    write(told)
    write(line)
    write(_LAST % (_FORMAT, crc32(line), len(line)))


def read_label(view: View) -> tuple[Label, dict[str, int]] | None:
    """Return of which document an index is, and what else its label says; None when it is none.

    Args:
        view: The whole file.
    """
    end = len(view) - _LAST_BYTES
    match = _LAST_PATTERN.fullmatch(view.read(end, len(view)))
    if match is None:
        return None
    line = view.read(end - int(match[2]), end)
    node = _object(line, int(match[1], 16))
    if node is None or node.pop("version", None) != __version__:
        return None
    more = {key: node.pop(key, None) for key in _MORE}
    if node.keys() != _EMPTY._asdict().keys() or set(map(type, more.values())) != {int}:
        return None
    label = Label(**node)
    if list(map(type, label)) != list(map(type, _EMPTY)) or not are(label.stamp, int):
        return None
    size = more["parts"] + more["facts"] + len(line) + _LAST_BYTES
    return (label, more) if size == len(view) else None


def read_index(view: View, *, whole: bool) -> Index | None:
    """Return an index; None when the file is none, is damaged, or of another version.

    Args:
        view: The whole file.
        whole: Look for damage in the parts too, which takes a while for large documents.
    """
    found = read_label(view)
    if found is None:
        return None
    label, more = found
    parts = more["parts"]
    if whole and _sum(view, parts) != more["total"]:
        return None
    node = _object(view.read(parts, parts + more["facts"]), more["sum"])
    if node is None or not is_table(table := node.pop("table", None)):
        return None
    facts = _facts(node)
    return Index(label, facts, table) if facts is not None else None


def _sum(view: View, end: int) -> int:
    """Return the CRC-32 of the parts."""
    total = 0
    for begin in range(0, end, _PIECE):
        total = crc32(view.read(begin, min(begin + _PIECE, end)), total)
    return total


def _object(data: bytes, total: int) -> dict[str, Any] | None:
    """Return the JSON object in some bytes, if they have that CRC-32."""
    from pydantic_core import from_json

    if crc32(data) != total:
        return None
    try:
        node = from_json(data, cache_strings="keys")
    except ValueError:
        return None
    return node if isinstance(node, dict) else None


def _facts(node: dict[str, Any]) -> Facts | None:
    """Return the facts, if they are whole."""
    if node.keys() != set(Facts._fields):
        return None
    columns = [node[name] for name in _TEXTS]
    numbers, skipped, counts = node["tags"], node["skipped"], node["counts"]
    good = (
        all(are(column, str) for column in (*columns, node["warnings"], node["remarks"]))
        and all(are(column, list) for column in (node["groups"], skipped))
        and all(are(group, str) for group in (*node["groups"], *skipped))
        and set(map(len, skipped)) <= {len(Skipped.__match_args__)}
        and are(numbers, int)
        and set(numbers) <= set(range(len(node["groups"])))
        and len(set(map(len, (*columns, numbers)))) == 1
        and are(node["deprecated"], int)
        and isinstance(counts, dict)
        and are(list(counts.values()), int)
    )
    return Facts(**{**node, "skipped": [Skipped(*entry) for entry in skipped]}) if good else None
