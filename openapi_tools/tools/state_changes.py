"""What a PUT, PATCH or DELETE changes, read before a person decides about it.

Spec: RFC 9110, sections 8.8.3 (`ETag`) and 13.1.1 (`If-Match`); RFC 6902; RFC 7396.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, OpenAPIToolsError
from openapi_tools.http_rules import essence, is_json
from openapi_tools.json_values import (
    as_dict,
    follow_references,
    is_equal,
    pointer_token,
    resolve_pointer,
    split_pointer,
)
from openapi_tools.options import member_of, variables_in, with_members
from openapi_tools.redaction import redact_data
from openapi_tools.requests.excerpts import (
    describe_pointer,
    describe_value,
    escape_ascii,
    shorten_line,
)
from openapi_tools.result import Changes, ToolResult
from openapi_tools.tools.session import PerCall
from openapi_tools.tools.tool import OperationTool, called
from openapi_tools.validation import is_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openapi_tools.model import Operation
    from openapi_tools.redaction.marked_schemas import MarkedSchema
    from openapi_tools.tools.marked_values import MarkedValues

    _Given = Mapping[str, Any]
    _Line = tuple[str, str]
    _LineOf = Callable[[str, Any, Any], _Line]
    _Tools = list[OperationTool]

_METHODS = ("PUT", "PATCH", "DELETE")
_SECONDS, _BYTES = 5.0, 256 * 1024  # of the one read
_LINES, _VALUE, _DELETED = 20, 100, 1_000
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_OUTSIDE = ("header", "cookie")
_PATCH = "application/json-patch+json"
_MISSING = object()
_NOT_FOUND = 404


async def changes_of(tool: OperationTool, arguments: _Given, context: Any) -> Changes | None:
    """Return what a PUT, PATCH or DELETE changes; None where nothing reads the present state.

    A GET of the same toolset reads it once, with the credentials of the call, for five seconds and
    256 KiB at most. It has to be a safe operation of the same path that needs no other arguments.
    """
    is_wanted = tool.method in _METHODS and tool.settings.show_changes
    if not is_wanted or tool.session is None:
        return None
    beside = list(_beside(tool, member_of(context, "offered")))
    with suppress(OpenAPIToolsError, TimeoutError):
        for reader in (other for other in beside if _is_reader(other, tool)):
            given = _given(tool, reader, arguments)
            if given is not None and (state := await _read(reader, given, context)):
                describe = partial(_told, tool, arguments, beside, state, reader.marked_values)
                if is_large([arguments, state.output]):
                    return await asyncio.to_thread(describe)
                return describe()
    return None


def _beside(tool: OperationTool, offered: Any) -> Iterator[OperationTool]:
    """Yield the tools of the same server and session, of those that the caller sees."""
    session: Any = tool.session
    server = session.bounds(tool.operation).server
    seen = offered.values() if isinstance(offered, Mapping) else session.offered(tool) or ()
    for other in seen:
        with suppress(CallError):
            is_near = other.session is session and other.method
            if is_near and session.bounds(other.operation).server == server:
                yield other


def _is_reader(other: OperationTool, tool: OperationTool) -> bool:
    chooses = other.method == "GET" and _same_place(other.path, tool.path)
    own = other.operation.answer
    is_whole = own is None or not own.fields
    return chooses and is_whole and other.read_only and not other.needs_approval


def _same_place(path: str, other: str) -> bool:
    return _VARIABLE.sub("{}", path) == _VARIABLE.sub("{}", other)


def _given(tool: OperationTool, reader: OperationTool, arguments: _Given) -> dict[str, Any] | None:
    """Return the arguments of the read; None where it would ask for something else."""
    known, call = tool.operation, reader.operation
    sent = {**known.defaults, **arguments, **known.fixed}
    keys = _keys(known)
    wanted = {keys[p.argument]: sent[p.argument] for p in known.parameters if p.argument in sent}
    found: dict[str, Any] = {}
    for name, key in _keys(call).items():
        value = wanted.pop(key, _MISSING)
        if value is not _MISSING and call.fixed.get(name, value) != value:
            return None
        if value is not _MISSING and name not in call.fixed:
            if variables_in(value):  # a secret of the write that the read does not have
                return None
            found[name] = value
    # What only the write takes may choose another resource, unless it is a header.
    is_same = all(location in _OUTSIDE for location, _ in wanted)
    return reader.check(found) if is_same else None


def _keys(operation: Operation) -> dict[str, tuple[str, Any]]:
    """Return what each argument feeds: the number of a path's variable, or a parameter's name."""
    places = {name: number for number, name in enumerate(_VARIABLE.findall(operation.path))}
    known = ((p, places if p.location == "path" else {}) for p in operation.parameters)
    return {p.argument: (p.location, numbers.get(p.name, p.name)) for p, numbers in known}


async def _read(reader: OperationTool, arguments: _Given, context: Any) -> ToolResult | None:
    """Return the answer with the whole state, or that there is none; None for any other."""
    own = PerCall(wait=0, most_bytes=_BYTES)
    told = with_members(context, whole=True, approve=None, answer=None, fields=None)
    async with asyncio.timeout(_SECONDS):
        result = await called(reader, arguments, own, told)
    if (result.error or {}).get("status") == _NOT_FOUND:
        return result
    is_known = result.success and result.output is not None
    return result if is_known and not result.metadata.keys() & {"dry_run", "truncated"} else None


def _told(
    tool: OperationTool,
    arguments: _Given,
    beside: _Tools,
    state: ToolResult,
    marked: MarkedValues,
) -> Changes:
    names = {t.method: t.name for t in beside if _same_place(t.path, tool.path)}
    undo = _undo(tool, names, beside, is_there=state.success)
    if not state.success:
        what = "creates it" if tool.method == "PUT" else "finds nothing to change"
        return Changes((f"nothing is there yet (404): the call {what}",), undo)
    found = list(_lines(tool, arguments, state.output, marked))
    lines = [line for _, line in found[:_LINES]] or ["no property changes"]
    if left_out := [place for place, _ in found[_LINES:]]:
        more = f" and {len(left_out) - _LINES:,} more" if len(left_out) > _LINES else ""
        lines.append(f"and {len(left_out):,} more: {', '.join(left_out[:_LINES])}{more}")
    etag = state.metadata.get("headers", {}).get("etag", "")
    is_strong = etag.startswith('"') and etag.isascii()  # a weak one never matches in `If-Match`
    return Changes(tuple(lines), undo, etag if is_strong else "")


def _undo(tool: OperationTool, names: dict[str, str], beside: _Tools, *, is_there: bool) -> str:
    if not is_there:
        name = names.get("DELETE", "") if tool.method == "PUT" else ""
        return f"call {name}" if name else "no tool does"
    if tool.method != "DELETE":
        what = "state" if tool.method == "PUT" else "values"
        return f"call {tool.name} with the former {what}"
    if "PUT" in names:
        return f"call {names['PUT']} with the former state"
    above = tool.path.rstrip("/").rpartition("/")[0]
    creates = (t.name for t in beside if t.method == "POST" and _same_place(t.path, above))
    name = next(creates, "")
    return f"call {name} with the former state (it may get another id)" if name else "no tool does"


def _lines(
    tool: OperationTool, arguments: _Given, state: Any, marked: MarkedValues
) -> Iterator[_Line]:
    """Yield each change: its place, and the line about it."""
    if tool.method == "DELETE":
        yield "", f"deletes {describe_value(redact_data(state, marked.response), _DELETED)}"
        return
    line = partial(_line, (tool.marked_values.body, marked.response))
    request = tool.preview(dict(arguments))
    kind = request.headers.get("content-type", "")
    try:
        sent = json.loads(request.content) if is_json(kind) else _MISSING
    except ValueError:
        sent = _MISSING
    if sent is _MISSING:
        yield "", "the body is not JSON, so its properties are not compared"
    elif essence(kind) == _PATCH:
        yield from _steps(sent, state, line)
    else:
        known = _members(tool) if tool.method == "PUT" else frozenset()
        replaces = tool.method == "PUT"
        yield from _differences(state, sent, known, replaces=replaces, line=line)


def _members(tool: OperationTool) -> frozenset[str]:
    """Return the members that the body may have: others are the server's own."""
    body = tool.operation.body
    if body is None or body.properties:
        return frozenset(part.name for part in (body.properties if body else ()))
    root = tool.input_schema
    return frozenset(
        as_dict(follow_references(root, root["properties"].get(body.argument)).get("properties"))
    )


def _differences(
    old: Any,
    new: Any,
    known: frozenset[str] | None,
    *,
    replaces: bool,
    line: _LineOf,
    place: str = "",
) -> Iterator[_Line]:
    """Yield a line for each property that differs; `known` are those that may be left out."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if not is_equal(old, new):
            yield line(place, old, new)
        return
    for name in new:
        inner = place + pointer_token(name)
        before = old.get(name, _MISSING)
        yield from _differences(before, new[name], None, replaces=replaces, line=line, place=inner)
    for name in old if replaces else ():
        if name not in new and (known is None or name in known):
            yield line(place + pointer_token(name), old[name], _MISSING)


def _steps(sent: Any, state: Any, line: _LineOf) -> Iterator[_Line]:
    for step in sent if isinstance(sent, list) else ():
        place, verb = str(as_dict(step).get("path", "")), as_dict(step).get("op")
        if verb in ("add", "replace", "remove"):
            new = step.get("value") if verb != "remove" else _MISSING
            yield line(place, _at(state, place), new)
        elif verb != "test":
            start = describe_pointer(str(as_dict(step).get("from", "")))
            shown_place = describe_pointer(place)
            verb = shorten_line(escape_ascii(str(verb)), _VALUE)
            yield shown_place, f"{verb} from {start} to {shown_place}"


def _at(value: Any, place: str) -> Any:
    try:
        return resolve_pointer(value, place)
    except LookupError:
        return _MISSING


def _line(schemas: Iterable[MarkedSchema | None], place: str, old: Any, new: Any) -> _Line:
    """Return one difference in words, without secrets that are named or marked."""
    names = [key for key in split_pointer(place) if not key.isdecimal()]
    name = names[-1] if names else ""  # of an item, that of its list
    marked = [schema.find_schema(place) for schema in schemas if schema is not None]

    def hide(value: Any) -> Any:
        if value is _MISSING:
            return value
        masked = next(iter(redact_data({name: value}).values()))
        for schema in marked:
            masked = redact_data(masked, schema)
        return masked

    old, new = hide(old), hide(new)
    before = "is new" if old is _MISSING else f"was {describe_value(old, _VALUE)}"
    after = "is removed" if new is _MISSING else f"becomes {describe_value(new, _VALUE)}"
    shown_place = describe_pointer(place) if place else "the whole"
    return shown_place, f"{shown_place}: {before}, {after}"
