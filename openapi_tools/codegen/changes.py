"""Changes between two sets of tools, tool by tool and in words, and whether they break a caller.

A caller breaks when a tool is gone or renamed, its schema may refuse a valid input, calls go to
another server, credentials that were enough may not be, or a method that only read changes things.
Descriptions, paths, media types and styles break no caller.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from os.path import commonprefix
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Literal

from openapi_tools.codegen import compatibility
from openapi_tools.codegen.compatibility import MISSING, Difference
from openapi_tools.codegen.package_data import Unreadable, one_line
from openapi_tools.http_rules import is_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.codegen.package_data import Record
    from openapi_tools.model import Operation, Parameter, RequestBody, SecurityScheme, Server

    Records = Mapping[str, Record]
    Known = Mapping[str, Record | None]
    Requirements = tuple[Mapping[str, tuple[str, ...]], ...]

Kind = Literal["added", "removed", "renamed", "schema", "description", "operation", "unreadable"]

_CREDENTIAL = ("type", "name", "location", "scheme")
_KIND_WIDTH = 13
_MOST_LINES = 10
_LONGEST_NAME = 100
_CONTEXT = 20
_SHOWN = 60
_LISTED = 4
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _SHOWN
_SHORT.maxlevel = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one tool."""

    kind: Kind
    tool: str
    breaking: bool
    details: tuple[str, ...] = ()
    before: str = ""


def changes(old: Known, new: Records, *, unreadable: Iterable[Unreadable] = ()) -> list[Change]:
    """Return what changed, in the order of the new tools; removed tools come last.

    A removed and an added tool are one renamed tool when method and path are the same, or else
    operation id and schema. An old tool that is None is only a name; unreadable ones break.
    """
    faults = {fault.tool or fault.path: fault for fault in unreadable}
    names = renames(
        {name: record for name, record in old.items() if record and name not in new},
        {name: record for name, record in new.items() if name not in {**old, **faults}},
    )
    found: list[Change] = []
    for name, record in new.items():
        before = names.get(name, name)
        if name in faults:
            continue
        if before not in old:
            found.append(Change("added", name, breaking=False, details=_call(record)))
        if before != name:
            found.append(Change("renamed", name, breaking=True, before=before))
        if (known := old.get(before)) is not None:
            parts = compared(known, record)
            found += (_change(kind, name, parts[kind]) for kind in parts)
    found += [
        Change("removed", name, breaking=True, details=_call(record))
        for name, record in old.items()
        if name not in new and name not in names.values()
    ]
    return found + [
        Change("unreadable", name, breaking=True, details=(one_line(str(fault)),))
        for name, fault in faults.items()
    ]


def scheme_changes(
    old: Mapping[str, SecurityScheme], new: Mapping[str, SecurityScheme], records: Iterable[Record]
) -> Iterator[Change]:
    """Yield a change for each record whose operation uses a changed security scheme."""
    for record in records:
        if parts := scheme_differences(old, new, record.operation):
            yield _change("operation", record.name, parts)


def scheme_differences(
    old: Mapping[str, SecurityScheme], new: Mapping[str, SecurityScheme], operation: Operation
) -> list[Difference]:
    """Return how the security schemes that an operation uses differ."""
    named = dict.fromkeys(name for names in operation.security for name in names)
    return [
        part
        for name in named
        if name in old and name in new
        for part in _field_differences(f"scheme {shown(name)}: ", old[name], new[name], _CREDENTIAL)
    ]


def as_data(change: Change) -> dict[str, Any]:
    """Return a change as JSON-native data; `before` is there when the tool was renamed."""
    data = asdict(change) | {"details": list(change.details)}
    return {key: value for key, value in data.items() if key != "before" or value}


def in_words(change: Change) -> str:
    """Return a change as one line, or with one more line for each of several details."""
    name = _on_one_line(change.tool)
    if change.before:
        name = f"{_on_one_line(change.before)} -> {name}"
    line = f"{change.kind:<{_KIND_WIDTH}}{name}" + (": breaking" if change.breaking else "")
    if len(change.details) == 1:
        return f"{line}: {change.details[0]}"
    return "\n    ".join([line, *change.details])


def shown(value: Any) -> str:
    """Return a value as short text on one line."""
    try:
        text = _SHORT.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a very large number"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def detail(found: Difference) -> str:
    """Return a difference as one line, for instance `/limit: maximum was 30, is 20 now`."""
    text = _text(found.what, found.before, found.after)
    if not found.place:
        return text
    joint = " " if text.startswith("is ") else ": "
    return f"{_on_one_line(found.place)}{joint}{text}"


def _text(what: str, before: Any, after: Any) -> str:
    if what in (compatibility.NO_LONGER, compatibility.ALSO):
        values = after if before is MISSING else before
        more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
        return f"{what} {', '.join(map(shown, values[:_LISTED]))}{more}"
    if before is MISSING:
        return what if after is MISSING else f"{what} is {shown(after)} now"
    if after is MISSING:
        return f"{what} {shown(before)} is gone"
    if isinstance(before, str) and isinstance(after, str):
        # Long texts are shown from shortly before they differ.
        start = max(len(commonprefix([before, after])) - _CONTEXT, 0)  # noqa: RUF071 -- characters
        if start and max(len(before), len(after)) > _SHOWN:
            before, after = f"…{before[start:]}", f"…{after[start:]}"
    return f"{what} was {shown(before)}, is {shown(after)} now".strip()


def _on_one_line(text: str) -> str:
    return text if text.isprintable() and len(text) <= _LONGEST_NAME else shown(text)


def _call(record: Record | None) -> tuple[str, ...]:
    call = record and f"{record.operation.method} {record.operation.path}"
    return (_on_one_line(call),) if call else ()


def renames(gone: Records, fresh: Records) -> dict[str, str]:
    """Return the old names of renamed tools by their new ones."""
    names: dict[str, str] = {}
    for key_of in (_address, _identity):
        left: dict[Any, list[str]] = {}
        for name, record in gone.items():
            if name not in names.values() and all(key := key_of(record)):
                left.setdefault(key, []).append(name)
        for name, record in fresh.items():
            if name not in names and (same := left.get(key_of(record))):
                names[name] = same.pop(0)
    return names


def _address(record: Record) -> tuple[str, str]:
    return record.operation.method, record.operation.path


def _identity(record: Record) -> tuple[str, str | None]:
    return record.operation.operation_id, compatibility.json_of(
        record.input_schema, sort_keys=False
    )


def compared(old: Record, new: Record) -> dict[Kind, list[Difference]]:
    """Return the differences of two versions of one tool, by kind."""
    words = Difference("", "", breaking=False, before=old.description, after=new.description)
    found: dict[Kind, list[Difference]] = {
        "schema": _schema_differences(old.input_schema, new.input_schema),
        "description": [words] if old.description != new.description else [],
        "operation": list(_operation_differences(old.operation, new.operation)),
    }
    return {kind: parts for kind, parts in found.items() if parts}


def _change(kind: Kind, name: str, found: list[Difference]) -> Change:
    ordered = sorted(found, key=lambda part: not part.breaking)
    lines = [detail(part) for part in ordered[:_MOST_LINES]]
    if more := len(found) - len(lines):
        lines.append(
            f"and {more} more" if len(found) < compatibility.MOST_DIFFERENCES else "and many more"
        )
    return Change(kind, name, breaking=ordered[0].breaking, details=tuple(lines))


def _schema_differences(old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    before, after = (compatibility.json_of(schema, sort_keys=False) for schema in (old, new))
    if before is not None and before == after:
        return []
    what = "only names of definitions or an order changed"
    return compatibility.differences(old, new) or [Difference("", what, breaking=False)]


def _operation_differences(old: Operation, new: Operation) -> Iterator[Difference]:
    for found in _field_differences("", old, new):
        compare = _COMPARISONS.get(found.what)
        yield from compare(found.before, found.after) if compare else (found,)


def _field_differences(
    what: str, old: Any, new: Any, breaking: tuple[str, ...] = ()
) -> Iterator[Difference]:
    for item in fields(old):
        before, after = getattr(old, item.name), getattr(new, item.name)
        if before != after:
            label = f"{what}{item.name.replace('_', ' ')}"
            yield Difference("", label, item.name in breaking, before, after)


def _method(old: str, new: str) -> Iterator[Difference]:
    # Permission to read is not permission to change.
    yield Difference("", "method", is_safe(old) and not is_safe(new), old, new)


def _servers(old: tuple[Server, ...], new: tuple[Server, ...]) -> Iterator[Difference]:
    urls = [shown(server.url) for server in (*old[:1], *new[:1])]
    if old[:1] == new[:1]:
        what = "the alternatives to the server changed"
    elif not old or not new:
        what = f"server {urls[0]} is {'gone' if old else 'new'}"
    elif urls[0] != urls[1]:
        what = f"server {urls[0]} -> {urls[1]}"
    else:
        what = f"server {urls[0]}: its variables changed"
    yield Difference("", what, breaking=old[:1] != new[:1])


def _security(old: Requirements, new: Requirements) -> Iterator[Difference]:
    """Compare security: credentials that met an old alternative must meet a new one."""
    enough = all(any(_meets(had, now) for now in new or ({},)) for had in old or ({},))
    yield Difference("", "security", not enough, _alternatives(old), _alternatives(new))


def _meets(had: Mapping[str, tuple[str, ...]], now: Mapping[str, tuple[str, ...]]) -> bool:
    return all(name in had and set(now[name]) <= set(had[name]) for name in now)


def _alternatives(requirements: Requirements) -> str:
    """Return alternatives as text: `a + b (read, write), or c`."""
    alternatives = []
    for requirement in requirements:
        parts = [f"{n} ({', '.join(s)})" if s else n for n, s in requirement.items()]
        alternatives.append(" + ".join(parts) or "nothing")
    return ", or ".join(alternatives) or "nothing"


def _parameters(old: tuple[Parameter, ...], new: tuple[Parameter, ...]) -> Iterator[Difference]:
    before = {parameter.argument: parameter for parameter in old}
    after = {parameter.argument: parameter for parameter in new}
    for name, parameter in {**after, **before}.items():
        what = f"parameter {shown(name)}"
        if name in before and name in after:
            yield from _field_differences(f"{what}: ", before[name], after[name])
        else:
            what += f" ({_on_one_line(parameter.location)})"
            state = "new" if name in after else "gone"
            yield Difference("", f"{what} is {state}", breaking=False)
    if list(before) != list(after) and before.keys() == after.keys():
        yield Difference("", "the order of the parameters changed", breaking=False)


def _body(old: RequestBody | None, new: RequestBody | None) -> Iterator[Difference]:
    if old is None or new is None:
        yield Difference("", f"{'no' if new is None else 'a'} body is sent now", breaking=False)
    else:
        yield from _field_differences("body: ", old, new)


_COMPARISONS: dict[str, Callable[[Any, Any], Iterator[Difference]]] = {
    "method": _method,
    "parameters": _parameters,
    "body": _body,
    "servers": _servers,
    "security": _security,
}
