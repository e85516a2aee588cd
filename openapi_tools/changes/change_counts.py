"""The changes of one tool as kinds and numbers, in words that do not come from a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.changes.schema_changes import MOST_DIFFERENCES
from openapi_tools.changes.tool_changes import compare_records
from openapi_tools.common.json_values import as_dict, split_pointer
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi_tools.changes.schema_changes import Difference
    from openapi_tools.codegen.package_data import ToolRecord

_WORDS = frozenset({"$comment", "description", "example", "examples", "title"})
_REQUEST = {
    "method": "the method",
    "path": "the path",
    "server": "the server",
    "the alternatives": "the server",
    "security": "the security",
    "scheme": "the security",
}


def count_changes(old: ToolRecord, new: ToolRecord, schemes: Sequence[Difference] = ()) -> str:
    """Return what differs, for instance `"2 arguments added, 1 description changed"`."""
    differences = compare_records(old, new)
    before, after = (as_dict(each.input_schema.get("properties")) for each in (old, new))
    schema = differences.get("schema", [])
    descriptions = [part for part in schema if part.what in _WORDS] + differences.get(
        "description", []
    )
    changed = {split_pointer(part.pointer)[:1] for part in schema if part.what not in _WORDS}
    arguments = {keys[0] for keys in changed if keys} & before.keys() & after.keys()
    counts = [
        (len(after.keys() - before.keys()), "argument", "added"),
        (len(before.keys() - after.keys()), "argument", "removed"),
        (len(arguments), "argument", "changed"),
        (len(descriptions), "description", "changed"),
    ]
    phrases = [f"{format_count(count, noun)} {verb}" for count, noun, verb in counts if count]
    if () in changed:
        phrases.append("the input as a whole changed")
    request_parts = _request_parts([*differences.get("operation", []), *schemes])
    phrases += (f"{part} changed" for part in dict.fromkeys(request_parts))
    many = "at least " if len(schema) >= MOST_DIFFERENCES else ""
    return many + (", ".join(phrases) or "the request changed")


def _request_parts(differences: Iterable[Difference]) -> Iterator[str]:
    for difference in differences:
        # These follow from arguments that are added or removed.
        if (
            difference.what.endswith((" is new", " is gone"))
            or difference.what == "body: properties"
        ):
            continue
        names = (name for start, name in _REQUEST.items() if difference.what.startswith(start))
        yield next(names, "the request")
