"""Changes between two sets of tools, tool by tool and in words, and whether they break a caller.

A caller breaks when a tool is removed or renamed, its schema may refuse a valid input, calls go to
another server, credentials that sufficed may not suffice, or a method that only read changes
things. Descriptions, paths, media types and styles break no caller.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from os.path import commonprefix
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Literal

from openapi_tools.changes import schema_changes
from openapi_tools.changes.schema_changes import MISSING, Difference
from openapi_tools.codegen.package_data import UnreadableTool, to_one_line
from openapi_tools.common.http_rules import is_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.codegen.package_data import ToolRecord
    from openapi_tools.model import Operation, Parameter, RequestBody, SecurityScheme, Server

    Records = Mapping[str, ToolRecord]
    OptionalRecords = Mapping[str, ToolRecord | None]
    Requirements = tuple[Mapping[str, tuple[str, ...]], ...]

Kind = Literal["added", "removed", "renamed", "schema", "description", "operation", "unreadable"]

_CREDENTIAL = ("type", "name", "location", "scheme")
_KIND_WIDTH = 13
_MOST_LINES = 10
_LONGEST_NAME = 100
_CONTEXT = 20
_LONGEST_VALUE = 60
_MOST_LISTED = 4
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _LONGEST_VALUE
_SHORT.maxlevel = 3


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One change of one tool."""

    kind: Kind
    tool: str
    breaking: bool
    details: tuple[str, ...] = ()
    before: str = ""


def find_changes(
    old: OptionalRecords, new: Records, *, unreadable: Iterable[UnreadableTool] = ()
) -> list[ToolChange]:
    """Return what changed, in the order of the new tools; removed tools come last.

    A removed and an added tool are one renamed tool when method and path are the same, or else
    operation id and schema. An old tool that is None is only a name; unreadable ones break.
    """
    unreadable_by_name = {fault.tool or fault.path: fault for fault in unreadable}
    old_names = find_renames(
        {name: record for name, record in old.items() if record and name not in new},
        {name: record for name, record in new.items() if name not in {**old, **unreadable_by_name}},
    )
    changes: list[ToolChange] = []
    for name, record in new.items():
        old_name = old_names.get(name, name)
        if name in unreadable_by_name:
            continue
        if old_name not in old:
            changes.append(
                ToolChange("added", name, breaking=False, details=_describe_call(record))
            )
        if old_name != name:
            changes.append(ToolChange("renamed", name, breaking=True, before=old_name))
        if (old_record := old.get(old_name)) is not None:
            parts = compare_records(old_record, record)
            changes += (_make_change(kind, name, parts[kind]) for kind in parts)
    changes += [
        ToolChange("removed", name, breaking=True, details=_describe_call(record))
        for name, record in old.items()
        if name not in new and name not in old_names.values()
    ]
    return changes + [
        ToolChange("unreadable", name, breaking=True, details=(to_one_line(str(fault)),))
        for name, fault in unreadable_by_name.items()
    ]


def find_scheme_changes(
    old: Mapping[str, SecurityScheme],
    new: Mapping[str, SecurityScheme],
    records: Iterable[ToolRecord],
) -> Iterator[ToolChange]:
    """Yield a change for each record whose operation uses a changed security scheme."""
    for record in records:
        if differences := find_scheme_differences(old, new, record.operation):
            yield _make_change("operation", record.name, differences)


def find_scheme_differences(
    old: Mapping[str, SecurityScheme], new: Mapping[str, SecurityScheme], operation: Operation
) -> list[Difference]:
    """Return how the security schemes that an operation uses differ."""
    named = dict.fromkeys(name for names in operation.security for name in names)
    return [
        part
        for name in named
        if name in old and name in new
        for part in _compare_fields(
            f"scheme {quote_briefly(name)}: ", old[name], new[name], _CREDENTIAL
        )
    ]


def change_to_data(change: ToolChange) -> dict[str, Any]:
    """Return a change as JSON-native data; `before` is there when the tool was renamed."""
    data = asdict(change) | {"details": list(change.details)}
    return {key: value for key, value in data.items() if key != "before" or value}


def describe_change(change: ToolChange) -> str:
    """Return a change as one line, or with one more line for each of several details."""
    name = _shorten_name(change.tool)
    if change.before:
        name = f"{_shorten_name(change.before)} -> {name}"
    line = f"{change.kind:<{_KIND_WIDTH}}{name}" + (": breaking" if change.breaking else "")
    if len(change.details) == 1:
        return f"{line}: {change.details[0]}"
    return "\n    ".join([line, *change.details])


def quote_briefly(value: Any) -> str:
    """Return a value as short text on one line."""
    try:
        text = _SHORT.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a very large number"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def describe_difference(difference: Difference) -> str:
    """Return a difference as one line, for instance `/limit: maximum was 30, is 20 now`."""
    text = _describe_values(difference.what, difference.before, difference.after)
    if not difference.pointer:
        return text
    separator = " " if text.startswith("is ") else ": "
    return f"{_shorten_name(difference.pointer)}{separator}{text}"


def _describe_values(what: str, before: Any, after: Any) -> str:
    if what in (schema_changes.REMOVED_VALUES, schema_changes.ADDED_VALUES):
        values = after if before is MISSING else before
        rest = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
        return f"{what} {', '.join(map(quote_briefly, values[:_MOST_LISTED]))}{rest}"
    if before is MISSING:
        return what if after is MISSING else f"{what} is {quote_briefly(after)} now"
    if after is MISSING:
        return f"{what} {quote_briefly(before)} is gone"
    if isinstance(before, str) and isinstance(after, str):
        # Long texts are shown from shortly before they differ.
        start = max(len(commonprefix([before, after])) - _CONTEXT, 0)  # noqa: RUF071 -- characters
        if start and max(len(before), len(after)) > _LONGEST_VALUE:
            before, after = f"…{before[start:]}", f"…{after[start:]}"
    return f"{what} was {quote_briefly(before)}, is {quote_briefly(after)} now".strip()


def _shorten_name(text: str) -> str:
    return text if text.isprintable() and len(text) <= _LONGEST_NAME else quote_briefly(text)


def _describe_call(record: ToolRecord | None) -> tuple[str, ...]:
    request = record and f"{record.operation.method} {record.operation.path}"
    return (_shorten_name(request),) if request else ()


def find_renames(removed: Records, added: Records) -> dict[str, str]:
    """Return the old names of renamed tools by their new ones."""
    names: dict[str, str] = {}
    for key_of in (_address, _identity):
        unmatched: dict[Any, list[str]] = {}
        for name, record in removed.items():
            if name not in names.values() and all(key := key_of(record)):
                unmatched.setdefault(key, []).append(name)
        for name, record in added.items():
            if name not in names and (old_names := unmatched.get(key_of(record))):
                names[name] = old_names.pop(0)
    return names


def _address(record: ToolRecord) -> tuple[str, str]:
    return record.operation.method, record.operation.path


def _identity(record: ToolRecord) -> tuple[str, str | None]:
    return record.operation.operation_id, schema_changes.write_json(
        record.input_schema, sort_keys=False
    )


def compare_records(old: ToolRecord, new: ToolRecord) -> dict[Kind, list[Difference]]:
    """Return the differences of two versions of one tool, by kind."""
    description = Difference("", "", breaking=False, before=old.description, after=new.description)
    differences_by_kind: dict[Kind, list[Difference]] = {
        "schema": _compare_schemas(old.input_schema, new.input_schema),
        "description": [description] if old.description != new.description else [],
        "operation": list(_compare_operations(old.operation, new.operation)),
    }
    return {kind: differences for kind, differences in differences_by_kind.items() if differences}


def _make_change(kind: Kind, name: str, differences: list[Difference]) -> ToolChange:
    by_severity = sorted(differences, key=lambda part: not part.breaking)
    lines = [describe_difference(part) for part in by_severity[:_MOST_LINES]]
    if rest := len(differences) - len(lines):
        lines.append(
            f"and {rest} more"
            if len(differences) < schema_changes.MOST_DIFFERENCES
            else "and many more"
        )
    return ToolChange(kind, name, breaking=by_severity[0].breaking, details=tuple(lines))


def _compare_schemas(old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    before, after = (schema_changes.write_json(schema, sort_keys=False) for schema in (old, new))
    if before is not None and before == after:
        return []
    what = "only names of definitions or an order changed"
    return schema_changes.compare_schemas(old, new) or [Difference("", what, breaking=False)]


def _compare_operations(old: Operation, new: Operation) -> Iterator[Difference]:
    for difference in _compare_fields("", old, new):
        compare = _COMPARISONS.get(difference.what)
        yield from compare(difference.before, difference.after) if compare else (difference,)


def _compare_fields(
    label: str, old: Any, new: Any, breaking: tuple[str, ...] = ()
) -> Iterator[Difference]:
    for field in fields(old):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if before != after:
            field_label = f"{label}{field.name.replace('_', ' ')}"
            yield Difference("", field_label, field.name in breaking, before, after)


def _compare_methods(old: str, new: str) -> Iterator[Difference]:
    # Permission to read is not permission to change.
    yield Difference("", "method", is_safe(old) and not is_safe(new), old, new)


def _compare_servers(old: tuple[Server, ...], new: tuple[Server, ...]) -> Iterator[Difference]:
    urls = [quote_briefly(server.url) for server in (*old[:1], *new[:1])]
    if old[:1] == new[:1]:
        what = "the alternatives to the server changed"
    elif not old or not new:
        what = f"server {urls[0]} is {'gone' if old else 'new'}"
    elif urls[0] != urls[1]:
        what = f"server {urls[0]} -> {urls[1]}"
    else:
        what = f"server {urls[0]}: its variables changed"
    yield Difference("", what, breaking=old[:1] != new[:1])


def _compare_security(old: Requirements, new: Requirements) -> Iterator[Difference]:
    # Credentials that met an old alternative must meet a new one.
    is_enough = all(any(_is_met(had, now) for now in new or ({},)) for had in old or ({},))
    yield Difference(
        "", "security", not is_enough, _describe_alternatives(old), _describe_alternatives(new)
    )


def _is_met(held: Mapping[str, tuple[str, ...]], required: Mapping[str, tuple[str, ...]]) -> bool:
    return all(name in held and set(required[name]) <= set(held[name]) for name in required)


def _describe_alternatives(requirements: Requirements) -> str:
    alternatives = []
    for requirement in requirements:
        parts = [f"{n} ({', '.join(s)})" if s else n for n, s in requirement.items()]
        alternatives.append(" + ".join(parts) or "nothing")
    return ", or ".join(alternatives) or "nothing"


def _compare_parameters(
    old: tuple[Parameter, ...], new: tuple[Parameter, ...]
) -> Iterator[Difference]:
    before = {parameter.argument: parameter for parameter in old}
    after = {parameter.argument: parameter for parameter in new}
    for name, parameter in {**after, **before}.items():
        what = f"parameter {quote_briefly(name)}"
        if name in before and name in after:
            yield from _compare_fields(f"{what}: ", before[name], after[name])
        else:
            what += f" ({_shorten_name(parameter.location)})"
            state = "new" if name in after else "gone"
            yield Difference("", f"{what} is {state}", breaking=False)
    if list(before) != list(after) and before.keys() == after.keys():
        yield Difference("", "the order of the parameters changed", breaking=False)


def _compare_bodies(old: RequestBody | None, new: RequestBody | None) -> Iterator[Difference]:
    if old is None or new is None:
        yield Difference("", f"{'no' if new is None else 'a'} body is sent now", breaking=False)
    else:
        yield from _compare_fields("body: ", old, new)


_COMPARISONS: dict[str, Callable[[Any, Any], Iterator[Difference]]] = {
    "method": _compare_methods,
    "parameters": _compare_parameters,
    "body": _compare_bodies,
    "servers": _compare_servers,
    "security": _compare_security,
}
