"""What changed between two sets of tools, tool by tool, and what of it breaks a caller.

A caller is whoever uses a tool: a model and its prompt, a program with recorded inputs, the people
who set up credentials. Breaking is

- a tool that is gone or has another name;
- a schema that may refuse an input that was valid (see `narrowing`);
- another server than before, since data and credentials go to another address;
- security requirements that credentials which were enough may not meet, and a security scheme that
  takes another kind of credential;
- a method that changes things where the old one only read.

Not breaking are words, and how a call travels otherwise: path, media type and styles are the
runtime's business.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from openapi_tools.codegen.evaluation import one_line
from openapi_tools.codegen.narrowing import MOST_DETAILS, differences
from openapi_tools.codegen.wording import Detail, changed, shown
from openapi_tools.runtime.methods import is_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.codegen.evaluation import Unreadable
    from openapi_tools.codegen.package_data import Record
    from openapi_tools.model import Operation, Parameter, RequestBody, SecurityScheme, Server

    Records = Mapping[str, Record]
    Requirements = tuple[Mapping[str, tuple[str, ...]], ...]

Kind = Literal["added", "removed", "renamed", "schema", "description", "operation", "unreadable"]

_MOST_LINES = 10
_KIND_WIDTH = 13
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed about one tool.

    Attributes:
        kind: What changed; `unreadable` when the old tool cannot be compared.
        tool: The tool's name, the new one where it has two.
        breaking: A caller of the old tool may fail.
        details: What it was and is now, one line each; what is breaking comes first.
        before: The old name of a renamed tool.
    """

    kind: Kind
    tool: str
    breaking: bool
    details: tuple[str, ...] = ()
    before: str = ""


def changes(old: Records, new: Records, *, unreadable: Iterable[Unreadable] = ()) -> list[Change]:
    """Return what changed, in the order of the new tools; what is gone comes last.

    A tool that changed in several ways gives several changes. One that is gone and one that is new
    are the same tool renamed when method and path are the same, or else operation id and schema.

    Args:
        old: The tools as they were, by name.
        new: The tools as they are.
        unreadable: Old tools that could not be read; taken to be breaking, as nobody can tell.
    """
    faults = {fault.tool or fault.path: fault for fault in unreadable}
    names = _renames(
        {name: record for name, record in old.items() if name not in new},
        {name: record for name, record in new.items() if name not in {**old, **faults}},
    )
    found: list[Change] = []
    for name, record in new.items():
        if name in faults:
            continue
        before = names.get(name, name)
        if before not in old:
            found.append(Change("added", name, breaking=False, details=(_call(record),)))
            continue
        if before != name:
            found.append(Change("renamed", name, breaking=True, before=before))
        found += _compared(name, old[before], record)
    found += [
        Change("removed", name, breaking=True, details=(_call(record),))
        for name, record in old.items()
        if name not in new and name not in names.values()
    ]
    return found + [
        Change("unreadable", name, breaking=True, details=(one_line(str(fault)),))
        for name, fault in faults.items()
    ]


def name_changes(old: Iterable[str], new: Iterable[Record]) -> Iterator[Change]:
    """Yield which tools are new and which are gone, where only the names of the old ones are known.

    Args:
        old: Names of the tools as they were.
        new: The tools as they are.
    """
    before, after = dict.fromkeys(old), {record.name: record for record in new}
    for name, record in after.items():
        if name not in before:
            yield Change("added", name, breaking=False, details=(_call(record),))
    for name in before:
        if name not in after:
            yield Change("removed", name, breaking=True)


def scheme_changes(
    old: Mapping[str, SecurityScheme],
    new: Mapping[str, SecurityScheme],
    records: Iterable[Record],
) -> Iterator[Change]:
    """Yield a change for each tool that needs a security scheme which is another one now.

    Args:
        old: The schemes as they were, by name.
        new: The schemes as they are.
        records: The tools that were there before, as they are.
    """
    found = {name: list(_scheme_details(name, old[name], new[name])) for name in new if name in old}
    for record in records:
        named = dict.fromkeys(n for names in record.operation.security for n in names)
        details = [detail for name in named for detail in found.get(name, ())]
        if details:
            yield Change(
                "operation",
                record.name,
                breaking=any(detail.breaking for detail in details),
                details=tuple(detail.text for detail in details),
            )


def _scheme_details(name: str, old: SecurityScheme, new: SecurityScheme) -> Iterator[Detail]:
    for item in fields(old):
        before, after = getattr(old, item.name), getattr(new, item.name)
        if before != after:
            what = f"scheme {shown(name)}: {item.name.replace('_', ' ')}"
            breaking = item.name in ("type", "name", "location", "scheme")
            yield Detail("", changed(what, before, after), breaking=breaking)


def as_data(change: Change) -> dict[str, Any]:
    """Return a change as JSON-native data; `before` is there when the tool was renamed."""
    data = {
        "kind": change.kind,
        "tool": change.tool,
        "breaking": change.breaking,
        "details": list(change.details),
    }
    return data | ({"before": change.before} if change.before else {})


def in_words(change: Change) -> str:
    """Return a change as text: one line, or one more for each detail when there are several."""
    name = _on_one_line(change.tool)
    if change.before:
        name = f"{_on_one_line(change.before)} -> {name}"
    line = f"{change.kind:<{_KIND_WIDTH}}{name}" + (": breaking" if change.breaking else "")
    if len(change.details) == 1:
        return f"{line}: {change.details[0]}"
    return "\n    ".join([line, *change.details])


def _on_one_line(text: str) -> str:
    """Return a text as it is where that is short and can be seen, else quoted."""
    return text if text.isprintable() and len(text) <= _LONGEST_NAME else shown(text)


def _call(record: Record) -> str:
    return _on_one_line(f"{record.operation.method} {record.operation.path}")


def _renames(gone: Records, fresh: Records) -> dict[str, str]:
    """Return the old names of the new tools that had another one."""
    names: dict[str, str] = {}
    for key_of in (_address, _identity):
        left: dict[Any, list[str]] = {}
        for name, record in gone.items():
            if name not in names.values() and (key := key_of(record)) is not None:
                left.setdefault(key, []).append(name)
        for name, record in fresh.items():
            if name not in names and (same := left.get(key_of(record))):
                names[name] = same.pop(0)
    return names


def _address(record: Record) -> tuple[str, str]:
    return record.operation.method, record.operation.path


def _identity(record: Record) -> tuple[str, str] | None:
    text = _text(record.input_schema)
    known = record.operation.operation_id and text is not None
    return (record.operation.operation_id, str(text)) if known else None


def _text(schema: dict[str, Any]) -> str | None:
    """Return a schema as it is written; None when it cannot be."""
    try:
        return json.dumps(schema)
    except (RecursionError, TypeError, ValueError):
        return None


def _compared(name: str, old: Record, new: Record) -> Iterator[Change]:
    """Yield what changed about a tool that is still there."""
    if details := _schema_details(old.input_schema, new.input_schema):
        yield _change("schema", name, details)
    if old.description != new.description:
        text = changed("", old.description, new.description).strip()
        yield Change("description", name, breaking=False, details=(text,))
    if details := list(_operation_details(old.operation, new.operation)):
        yield _change("operation", name, details)


def _change(kind: Kind, name: str, details: list[Detail]) -> Change:
    ordered = sorted(details, key=lambda detail: not detail.breaking)
    lines = [_line(detail) for detail in ordered[:_MOST_LINES]]
    if more := len(details) - len(lines):
        lines.append(f"and {more} more" if len(details) < MOST_DETAILS else "and many more")
    return Change(kind, name, breaking=ordered[0].breaking, details=tuple(lines))


def _line(detail: Detail) -> str:
    if not detail.place:
        return detail.text
    joint = " " if detail.text.startswith("is ") else ": "
    return f"{_on_one_line(detail.place)}{joint}{detail.text}"


def _schema_details(old: dict[str, Any], new: dict[str, Any]) -> list[Detail]:
    before, after = _text(old), _text(new)
    if before is not None and before == after:
        return []
    found = differences(old, new)
    if not found and before is not None:
        text = "only names of definitions, an order, how a number is written or inner words changed"
        found = [Detail("", text, breaking=False)]
    return found


def _operation_details(old: Operation, new: Operation) -> Iterator[Detail]:
    for item in fields(old):
        before, after = getattr(old, item.name), getattr(new, item.name)
        if before != after:
            compare = _COMPARISONS.get(item.name)
            if compare is None:
                what = item.name.replace("_", " ")
                yield Detail("", changed(what, before, after), breaking=False)
            else:
                yield from compare(before, after)


def _method(old: str, new: str) -> Iterator[Detail]:
    """Compare methods; who let a tool read has not let it change things."""
    yield Detail("", changed("method", old, new), breaking=is_safe(old) and not is_safe(new))


def _servers(old: tuple[Server, ...], new: tuple[Server, ...]) -> Iterator[Detail]:
    """Compare servers; a call goes to the first one."""
    urls = [server.url for server in (*old[:1], *new[:1])]
    if old[:1] == new[:1]:
        yield Detail("", "the alternatives to the server changed", breaking=False)
    elif not old or not new:
        yield Detail("", f"server {shown(urls[0])} is {'gone' if old else 'new'}", breaking=True)
    elif urls[0] != urls[1]:
        yield Detail("", f"server {shown(urls[0])} -> {shown(urls[1])}", breaking=True)
    else:
        text = f"server {shown(urls[0])}: its variables changed"
        yield Detail("", text, breaking=True)


def _security(old: Requirements, new: Requirements) -> Iterator[Detail]:
    """Compare security; whoever met an alternative before must meet one now."""
    breaking = not all(any(_meets(had, now) for now in new or ({},)) for had in old or ({},))
    yield Detail("", changed("security", _in_words(old), _in_words(new)), breaking)


def _meets(had: Mapping[str, tuple[str, ...]], now: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether who met one requirement meets another: no other schemes, no further scopes."""
    return all(name in had and set(now[name]) <= set(had[name]) for name in now)


def _in_words(requirements: Requirements) -> str:
    """Return alternatives as text: `a + b (read, write), or c`."""
    alternatives = []
    for requirement in requirements:
        parts = [f"{n} ({', '.join(s)})" if s else n for n, s in requirement.items()]
        alternatives.append(" + ".join(parts) or "nothing")
    return ", or ".join(alternatives) or "nothing"


def _parameters(old: tuple[Parameter, ...], new: tuple[Parameter, ...]) -> Iterator[Detail]:
    before = {parameter.argument: parameter for parameter in old}
    after = {parameter.argument: parameter for parameter in new}
    for name, parameter in {**after, **before}.items():
        what = f"parameter {shown(name)}"
        if name in before and name in after:
            yield from _field_changes(what, before[name], after[name])
        else:
            place = f"({_on_one_line(parameter.location)})"
            yield Detail("", f"{what} {place} is {'new' if name in after else 'gone'}", False)
    if list(before) != list(after) and before.keys() == after.keys():
        yield Detail("", "the order of the parameters changed", breaking=False)


def _body(old: RequestBody | None, new: RequestBody | None) -> Iterator[Detail]:
    if old is None or new is None:
        yield Detail("", f"{'no' if new is None else 'a'} body is sent now", breaking=False)
    else:
        yield from _field_changes("body", old, new)


def _field_changes(what: str, old: Any, new: Any) -> Iterator[Detail]:
    """Yield the fields of a value of the model that differ."""
    for item in fields(old):
        before, after = getattr(old, item.name), getattr(new, item.name)
        if before != after:
            text = changed(f"{what}: {item.name.replace('_', ' ')}", before, after)
            yield Detail("", text, breaking=False)


_COMPARISONS: dict[str, Callable[[Any, Any], Iterator[Detail]]] = {
    "method": _method,
    "parameters": _parameters,
    "body": _body,
    "servers": _servers,
    "security": _security,
}
