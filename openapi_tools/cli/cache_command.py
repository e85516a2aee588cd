"""`openapi-tools cache`: the documents of the cache."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_note,
    print_text,
    terminal_width,
)
from openapi_tools.cli.styles import style_secondary
from openapi_tools.cli.text_layout import pad_to_width, shorten_path, text_width
from openapi_tools.errors import format_count
from openapi_tools.loading import cache

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEGABYTE = 1_000_000
_HEADINGS = ("Size", "Age", "Tools", "Source")
_LEAST_SOURCE = 24  # columns beside the other cells


def manage_cache(*, wants_clear: bool, wants_json: bool) -> None:
    """List the cached documents, or remove them."""
    data: dict[str, Any] = {"folder": str(cache.folder())}
    if wants_clear:
        count, size = cache.clear()
        data |= {"removed": count, "bytes": size}
        lines = [f"{format_count(count, 'document')} removed, {_format_size(size)} freed."]
    else:
        data["documents"] = documents = list(_list_documents())
        lines = list(_format_documents(documents))
    if wants_json:
        print_json(format_json(data))
    for line in lines if not wants_json else ():
        print_text(line)
    if not wants_clear and not wants_json:
        total = format_count(len(data["documents"]), "document")
        print_note(f"{total} in {data['folder']}; --clear removes them.")


def _list_documents() -> Iterator[dict[str, Any]]:
    for entry, label in cache.labelled_entries():
        if label is None:  # damaged, unfinished, or written by another version
            yield {"source": None, "size": entry.size, "age": None, "tools": None}
        else:
            seconds = max(int(time.time()) - label.kept, 0)
            source = label.source or "(text)"
            yield {"source": source, "size": entry.size, "age": seconds, "tools": label.tools}


def _format_documents(documents: list[dict[str, Any]]) -> Iterator[str]:
    rows = list(map(_document_cells, documents))
    width = terminal_width()
    if width is None:
        yield from map("\t".join, rows)
        return
    table = [_HEADINGS, *rows]
    widths = [max(map(text_width, column)) for column in zip(*table, strict=True)][:-1]
    rest = width - sum(widths) - 2 * len(widths)
    for cells in table if rows else ():
        line = "  ".join(map(pad_to_width, cells[:-1], widths))
        # The end of a URL or a path tells documents apart.
        source = shorten_path(cells[-1], rest if rest >= _LEAST_SOURCE else width - 2)
        line = f"{line}  {source}" if rest >= _LEAST_SOURCE else f"{line.rstrip()}\n  {source}"
        yield style_secondary(line) if cells is _HEADINGS else line


def _document_cells(document: dict[str, Any]) -> tuple[str, str, str, str]:
    size, source = _format_size(document["size"]), document["source"]
    if source is None:
        return size, "-", "-", "(unusable: another version, damaged or unfinished)"
    age, tools = cache.describe_age(document["age"]), format_count(document["tools"], "tool")
    return size, age, tools, clean(source, lines=False)


def _format_size(size: int) -> str:
    return f"{size / 1000:.1f} kB" if size < _MEGABYTE else f"{size / _MEGABYTE:.1f} MB"
