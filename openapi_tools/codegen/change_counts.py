"""What changed of one tool as kinds and numbers: words that no document has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.codegen.changes import compared
from openapi_tools.codegen.compatibility import MOST_DIFFERENCES
from openapi_tools.errors import counted
from openapi_tools.json_values import as_dict, split_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi_tools.codegen.compatibility import Difference
    from openapi_tools.codegen.package_data import Record

_WORDS = frozenset({"$comment", "description", "example", "examples", "title"})
_REQUEST = {
    "method": "the method",
    "path": "the path",
    "server": "the server",
    "the alternatives": "the server",
    "security": "the security",
    "scheme": "the security",
}


def count_changes(old: Record, new: Record, schemes: Sequence[Difference] = ()) -> str:
    """Return what differs, for instance `"2 arguments added, 1 description changed"`."""
    found = compared(old, new)
    before, after = (as_dict(each.input_schema.get("properties")) for each in (old, new))
    schema = found.get("schema", [])
    words = [part for part in schema if part.what in _WORDS] + found.get("description", [])
    changed = {split_pointer(part.place)[:1] for part in schema if part.what not in _WORDS}
    arguments = {keys[0] for keys in changed if keys} & before.keys() & after.keys()
    counts = [
        (len(after.keys() - before.keys()), "argument", "added"),
        (len(before.keys() - after.keys()), "argument", "removed"),
        (len(arguments), "argument", "changed"),
        (len(words), "description", "changed"),
    ]
    listed = [f"{counted(count, noun)} {verb}" for count, noun, verb in counts if count]
    if () in changed:
        listed.append("the input as a whole changed")
    parts = _request_parts([*found.get("operation", []), *schemes])
    listed += (f"{part} changed" for part in dict.fromkeys(parts))
    many = "at least " if len(schema) >= MOST_DIFFERENCES else ""
    return many + (", ".join(listed) or "the request changed")


def _request_parts(found: Iterable[Difference]) -> Iterator[str]:
    for part in found:
        # These follow from arguments that are added or removed.
        if part.what.endswith((" is new", " is gone")) or part.what == "body: properties":
            continue
        known = (name for start, name in _REQUEST.items() if part.what.startswith(start))
        yield next(known, "the request")
