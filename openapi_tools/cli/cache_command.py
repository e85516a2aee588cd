"""`openapi-tools cache`: list or remove cached documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import as_json, clean, remark, say
from openapi_tools.loading import cache as folder
from openapi_tools.loading.cache import age
from openapi_tools.loading.cached_load import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

_KILO = 1000


@click.command("cache")
@click.option("--clear", "wants_clear", is_flag=True, help="Remove all of them.")
@click.option("--json", "wants_json", is_flag=True, help="Write JSON.")
def cache(*, wants_clear: bool, wants_json: bool) -> None:
    """List the documents of the cache: size, age, tools, source."""
    if wants_clear:
        count, size = folder.clear()
        if wants_json:
            say(as_json({"folder": str(folder.folder()), "removed": count, "bytes": size}))
        else:
            say(f"{count} document{'s' * (count != 1)} removed, {_size(size)} are free.")
        return
    documents = list(_documents())
    if wants_json:
        say(as_json({"folder": str(folder.folder()), "documents": documents}))
        return
    for document in documents:
        say(_line(document))
    remark(f"{len(documents)} in {folder.folder()}; --clear removes them.")


def _documents() -> Iterator[dict[str, Any]]:
    for entry, label in listed():
        if label is None:
            yield {"source": None, "size": entry.size, "age": None, "tools": None}
        else:
            seconds = max(int(time.time()) - label.kept, 0)
            source = label.source or "(text)"
            yield {"source": source, "size": entry.size, "age": seconds, "tools": label.tools}


def _line(document: dict[str, Any]) -> str:
    """Return a document as a line; a damaged one, or one of another version, has no source."""
    if document["source"] is None:
        return (
            f"{_size(document['size'])}\t-\t-\t(of no use: another version, damaged or unfinished)"
        )
    tools = f"{document['tools']} tool{'s' * (document['tools'] != 1)}"
    source = clean(document["source"], lines=False)
    return "\t".join((_size(document["size"]), age(document["age"]), tools, source))


def _size(count: int) -> str:
    if count < _KILO * _KILO:
        return f"{count / _KILO:.1f} kB"
    return f"{count / _KILO / _KILO:.1f} MB"
