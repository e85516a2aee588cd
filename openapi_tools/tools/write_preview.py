"""What a PUT, PATCH or DELETE would change, read before a person decides about it.

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

from openapi_tools.common.http_rules import essence, is_json
from openapi_tools.common.json_values import (
    as_dict,
    follow_references,
    is_equal,
    pointer_token,
    resolve_pointer,
    split_pointer,
)
from openapi_tools.common.options import context_value, find_variables, replace_context_values
from openapi_tools.errors import CallError, OpenAPIToolsError
from openapi_tools.redaction import redact_data
from openapi_tools.requests.excerpts import (
    describe_pointer,
    describe_value,
    escape_ascii,
    shorten_and_count,
)
from openapi_tools.result import Changes, ToolResult
from openapi_tools.validation.check_cost import is_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openapi_tools.model import Operation
    from openapi_tools.redaction.marked_schemas import MarkedSchema
    from openapi_tools.tools.marked_values import MarkedValues
    from openapi_tools.tools.tool_protocol import Tool

    _Line = tuple[str, str]  # a pointer to the property, and what changes there
    _MakeLine = Callable[[str, Any, Any], _Line]

_METHODS = ("PUT", "PATCH", "DELETE")
_SECONDS, _BYTES = 5.0, 256 * 1024  # of the one read
_LINES, _VALUE, _DELETED = 20, 100, 1_000  # changes; characters of a value, of a deleted resource
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_NOT_IN_URL = ("header", "cookie")
_PATCH = "application/json-patch+json"
_MISSING = object()
_NOT_FOUND = 404


async def find_changes(tool: Tool, arguments: Mapping[str, Any], context: Any) -> Changes | None:
    """Return what a PUT, PATCH or DELETE changes; None where nothing reads the present state.

    A GET of the same toolset reads it once, with the credentials of the call, for five seconds and
    256 KiB at most. It has to be a safe operation of the same path that needs no other arguments.
    """
    is_shown = tool.method in _METHODS and tool.settings.show_changes
    if not is_shown or tool.session is None:
        return None
    # A read that fails or takes too long leaves the question without changes, and stops no write.
    neighbours = list(_find_neighbours(tool, context_value(context, "offered")))
    with suppress(OpenAPIToolsError, TimeoutError):
        for reader in (other for other in neighbours if _is_reader(other, tool)):
            read_arguments = _arguments_of_read(tool, reader, arguments)
            if read_arguments is None:
                continue
            state = await _read_state(reader, read_arguments, context)
            if state is not None:
                marked = reader.marked_values
                describe = partial(_describe_changes, tool, arguments, neighbours, state, marked)
                if is_large([arguments, state.output]):
                    return await asyncio.to_thread(describe)
                return describe()
    return None


def _find_neighbours(tool: Tool, visible: Any) -> Iterator[Tool]:
    session: Any = tool.session
    server = session.origin_policy(tool.operation).server
    is_mapping = isinstance(visible, Mapping)
    tools = visible.values() if is_mapping else session.find_neighbours(tool) or ()
    for other in tools:
        with suppress(CallError):
            is_near = other.session is session and other.method
            if is_near and session.origin_policy(other.operation).server == server:
                yield other


def _is_reader(other: Tool, tool: Tool) -> bool:
    # A read that a person has to approve would ask a question within a question.
    is_read = other.method == "GET" and _is_same_path(other.path, tool.path)
    shape = other.operation.answer
    is_whole = shape is None or not shape.fields
    return is_read and is_whole and other.read_only and not other.needs_approval


def _is_same_path(path: str, other: str) -> bool:
    return _VARIABLE.sub("{}", path) == _VARIABLE.sub("{}", other)


def _arguments_of_read(
    tool: Tool, reader: Tool, arguments: Mapping[str, Any]
) -> dict[str, Any] | None:
    write, read = tool.operation, reader.operation
    sent = {**write.defaults, **arguments, **write.fixed}
    keys = _parameter_keys(write)
    values = {keys[p.argument]: sent[p.argument] for p in write.parameters if p.argument in sent}
    read_arguments: dict[str, Any] = {}
    for name, key in _parameter_keys(read).items():
        value = values.pop(key, _MISSING)
        if value is not _MISSING and read.fixed.get(name, value) != value:
            return None
        if value is not _MISSING and name not in read.fixed:
            if find_variables(value):  # a secret of the write that the read does not have
                return None
            read_arguments[name] = value
    # A parameter that only the write has may choose another resource, unless it is a header.
    is_same = all(location in _NOT_IN_URL for location, _ in values)
    return reader.check(read_arguments) if is_same else None


def _parameter_keys(operation: Operation) -> dict[str, tuple[str, Any]]:
    # Variables of equal paths may have different names, so their position counts.
    positions = {name: number for number, name in enumerate(_VARIABLE.findall(operation.path))}
    keys: dict[str, tuple[str, Any]] = {}
    for parameter in operation.parameters:
        name: Any = parameter.name
        if parameter.location == "path":
            name = positions.get(name, name)
        keys[parameter.argument] = (parameter.location, name)
    return keys


async def _read_state(reader: Tool, arguments: dict[str, Any], context: Any) -> ToolResult | None:
    read_context = replace_context_values(
        context, whole=True, most_bytes=_BYTES, wait=0, approve=None, answer=None, fields=None
    )
    async with asyncio.timeout(_SECONDS):
        result = await reader.execute(arguments, context=read_context)
    if (result.error or {}).get("status") == _NOT_FOUND:
        return result
    is_known = result.success and result.output is not None
    return result if is_known and not result.metadata.keys() & {"dry_run", "truncated"} else None


def _describe_changes(
    tool: Tool,
    arguments: Mapping[str, Any],
    neighbours: list[Tool],
    state: ToolResult,
    marked: MarkedValues,
) -> Changes:
    names = {t.method: t.name for t in neighbours if _is_same_path(t.path, tool.path)}
    undo = _describe_undo(tool, names, neighbours, exists=state.success)
    if not state.success:
        effect = "creates it" if tool.method == "PUT" else "finds nothing to change"
        return Changes((f"it does not exist yet (404): the call {effect}",), undo)
    changes = list(_find_lines(tool, arguments, state.output, marked))
    lines = [line for _, line in changes[:_LINES]] or ["no property changes"]
    if left_out := [target for target, _ in changes[_LINES:]]:
        rest = f" and {len(left_out) - _LINES:,} more" if len(left_out) > _LINES else ""
        lines.append(f"and {len(left_out):,} more: {', '.join(left_out[:_LINES])}{rest}")
    etag = state.metadata.get("headers", {}).get("etag", "")
    is_strong = etag.startswith('"') and etag.isascii()  # a weak one never matches in `If-Match`
    return Changes(tuple(lines), undo, etag if is_strong else "")


def _describe_undo(
    tool: Tool, names: dict[str, str], neighbours: list[Tool], *, exists: bool
) -> str:
    if not exists:
        name = names.get("DELETE", "") if tool.method == "PUT" else ""
        return f"call {name}" if name else "no tool does"
    if tool.method != "DELETE":
        former = "state" if tool.method == "PUT" else "values"
        return f"call {tool.name} with the previous {former}"
    if "PUT" in names:
        return f"call {names['PUT']} with the previous state"
    # A deleted resource can be created again if its collection takes a POST.
    parent_path = tool.path.rstrip("/").rpartition("/")[0]
    creators = (
        t.name for t in neighbours if t.method == "POST" and _is_same_path(t.path, parent_path)
    )
    name = next(creators, "")
    return (
        f"call {name} with the previous state (it may get another id)" if name else "no tool does"
    )


def _find_lines(
    tool: Tool, arguments: Mapping[str, Any], state: Any, marked: MarkedValues
) -> Iterator[_Line]:
    if tool.method == "DELETE":
        yield "", f"deletes {describe_value(redact_data(state, marked.response), _DELETED)}"
        return
    make_line = partial(_make_line, (tool.marked_values.body, marked.response))
    request = tool.preview(dict(arguments))
    kind = request.headers.get("content-type", "")
    # The preview's masked secrets are compared as such: a person sees no value of one.
    try:
        sent = json.loads(request.content) if is_json(kind) else _MISSING
    except ValueError:
        sent = _MISSING
    if sent is _MISSING:
        yield "", "the body is not JSON, so its properties are not compared"
    elif essence(kind) == _PATCH:
        yield from _find_patch_steps(sent, state, make_line)
    else:
        is_put = tool.method == "PUT"
        writable = _writable_properties(tool) if is_put else frozenset()
        yield from _find_differences(state, sent, writable, replaces=is_put, make_line=make_line)


def _writable_properties(tool: Tool) -> frozenset[str]:
    # Properties that the body cannot have are the server's own: a PUT leaves them as they are.
    body = tool.operation.body
    if body is None or body.properties:
        return frozenset(part.name for part in (body.properties if body else ()))
    root = tool.input_schema
    return frozenset(
        as_dict(follow_references(root, root["properties"].get(body.argument)).get("properties"))
    )


def _find_differences(
    old: Any,
    new: Any,
    writable: frozenset[str] | None,
    *,
    replaces: bool,
    make_line: _MakeLine,
    pointer: str = "",
) -> Iterator[_Line]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if not is_equal(old, new):
            yield make_line(pointer, old, new)
        return
    for name, value in new.items():
        yield from _find_differences(
            old.get(name, _MISSING),
            value,
            None,
            replaces=replaces,
            make_line=make_line,
            pointer=pointer + pointer_token(name),
        )
    for name in old if replaces else ():
        if name not in new and (writable is None or name in writable):
            yield make_line(pointer + pointer_token(name), old[name], _MISSING)


def _find_patch_steps(sent: Any, state: Any, make_line: _MakeLine) -> Iterator[_Line]:
    for step in sent if isinstance(sent, list) else ():
        pointer, verb = str(as_dict(step).get("path", "")), as_dict(step).get("op")
        if verb in ("add", "replace", "remove"):
            new = step.get("value") if verb != "remove" else _MISSING
            yield make_line(pointer, _find_value(state, pointer), new)
        elif verb != "test":
            start = describe_pointer(str(as_dict(step).get("from", "")))
            target = describe_pointer(pointer)
            verb = shorten_and_count(escape_ascii(str(verb)), _VALUE)
            yield target, f"{verb} from {start} to {target}"


def _find_value(value: Any, pointer: str) -> Any:
    try:
        return resolve_pointer(value, pointer)
    except LookupError:
        return _MISSING


def _make_line(schemas: Iterable[MarkedSchema | None], pointer: str, old: Any, new: Any) -> _Line:
    names = [key for key in split_pointer(pointer) if not key.isdecimal()]
    name = names[-1] if names else ""  # of an item, that of its list
    marked = [schema.find_schema(pointer) for schema in schemas if schema is not None]

    def mask_secrets(value: Any) -> Any:
        if value is _MISSING:
            return value
        masked = next(iter(redact_data({name: value}).values()))
        for schema in marked:
            masked = redact_data(masked, schema)
        return masked

    old, new = mask_secrets(old), mask_secrets(new)
    before = "is new" if old is _MISSING else f"was {describe_value(old, _VALUE)}"
    after = "is removed" if new is _MISSING else f"becomes {describe_value(new, _VALUE)}"
    target = describe_pointer(pointer) if pointer else "the whole"
    return target, f"{target}: {before}, {after}"
