"""`openapi-tools cache`: the documents of the cache."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from openapi_tools.cli.output import clean, format_json, print_note, print_text
from openapi_tools.errors import format_count
from openapi_tools.loading import cache

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEGABYTE = 1_000_000


def manage_cache(*, wants_clear: bool, wants_json: bool) -> None:
    """List the cached documents, or remove them."""
    data: dict[str, Any] = {"folder": str(cache.folder())}
    if wants_clear:
        count, size = cache.clear()
        data |= {"removed": count, "bytes": size}
        lines = [f"{format_count(count, 'document')} removed, {_format_size(size)} freed."]
    else:
        data["documents"] = documents = list(_list_documents())
        lines = [_format_document(document) for document in documents]
    for line in [format_json(data)] if wants_json else lines:
        print_text(line)
    if not wants_clear and not wants_json:
        print_note(
            f"{format_count(len(lines), 'document')} in {data['folder']}; --clear removes them."
        )


def _list_documents() -> Iterator[dict[str, Any]]:
    for entry, label in cache.labelled_entries():
        if label is None:  # damaged, unfinished, or written by another version
            yield {"source": None, "size": entry.size, "age": None, "tools": None}
        else:
            seconds = max(int(time.time()) - label.kept, 0)
            source = label.source or "(text)"
            yield {"source": source, "size": entry.size, "age": seconds, "tools": label.tools}


def _format_document(document: dict[str, Any]) -> str:
    size, source = _format_size(document["size"]), document["source"]
    if source is None:
        return f"{size}\t-\t-\t(unusable: another version, damaged or unfinished)"
    age, tools = cache.describe_age(document["age"]), format_count(document["tools"], "tool")
    return f"{size}\t{age}\t{tools}\t{clean(source, lines=False)}"


def _format_size(size: int) -> str:
    return f"{size / 1000:.1f} kB" if size < _MEGABYTE else f"{size / _MEGABYTE:.1f} MB"
