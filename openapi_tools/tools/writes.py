"""Writes: what one changes, before a person decides about it; and one write for one key.

The present state is read before the call. A step of a workflow that runs again gets the answer of
its first write. Where the API takes a key in a header (`Settings(idempotency_header=…)`), it sees
to that. Else the shared state keeps a mark before the write is sent, and its result afterwards: a
process that ends in between leaves the mark, and the call is not made again, as it may have run.

Spec: RFC 9110, sections 8.8.3 (`ETag`), 13.1.1 (`If-Match`) and 15.5.13 (412); RFC 6902; RFC 7396.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.http_rules import essence, is_json
from openapi_tools.json_values import as_dict, compact, digest_of, find, follow, pointer_token, same
from openapi_tools.options import member_of, with_members
from openapi_tools.redaction import hidden
from openapi_tools.requests.excerpts import (
    describe_pointer,
    describe_value,
    in_ascii,
    shorten_line,
)
from openapi_tools.result import Changes, ToolResult
from openapi_tools.shared_state import LEASE, key_of, read_record
from openapi_tools.tools.session import PerCall
from openapi_tools.tools.tool import OperationTool, called

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from openapi_tools.model import Operation
    from openapi_tools.shared_state import SharedState
    from openapi_tools.tools.execution import PreparedCall

    _Given = Mapping[str, Any]
    _Line = tuple[str, str]
    _Tools = list[OperationTool]

logger = logging.getLogger("openapi_tools")

_METHODS = ("PUT", "PATCH", "DELETE")
_SECONDS, _BYTES = 5.0, 256 * 1024  # of the one read
_LINES, _VALUE, _DELETED = 20, 100, 1_000
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_OUTSIDE = ("header", "cookie")
_PATCH = "application/json-patch+json"
_MISSING = object()
_NOT_FOUND = 404
_REMEMBERED = 86_400.0  # seconds for a key
_LONGEST = 1_000
_REFUSED, _FAULTS, _UNAVAILABLE = 400, 500, 503


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
                return _told(tool, arguments, beside, state)
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


def _told(tool: OperationTool, arguments: _Given, beside: _Tools, state: ToolResult) -> Changes:
    names = {t.method: t.name for t in beside if _same_place(t.path, tool.path)}
    undo = _undo(tool, names, beside, is_there=state.success)
    if not state.success:
        what = "creates it" if tool.method == "PUT" else "finds nothing to change"
        return Changes((f"nothing is there yet (404): the call {what}",), undo)
    found = list(_lines(tool, arguments, state.output))
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


def _lines(tool: OperationTool, arguments: _Given, state: Any) -> Iterator[_Line]:
    """Yield each change: its place, and the line about it."""
    if tool.method == "DELETE":
        yield "", f"deletes {describe_value(hidden(state), _DELETED)}"
        return
    request = tool.preview(dict(arguments))
    kind = request.headers.get("content-type", "")
    try:
        sent = json.loads(request.content) if is_json(kind) else _MISSING
    except ValueError:
        sent = _MISSING
    if sent is _MISSING:
        yield "", "the body is not JSON, so its properties are not compared"
    elif essence(kind) == _PATCH:
        yield from _steps(sent, state)
    else:
        known = _members(tool) if tool.method == "PUT" else frozenset()
        yield from _differences(state, sent, known, replaces=tool.method == "PUT")


def _members(tool: OperationTool) -> frozenset[str]:
    """Return the members that the body may have: others are the server's own."""
    body = tool.operation.body
    if body is None or body.properties:
        return frozenset(part.name for part in (body.properties if body else ()))
    root = tool.input_schema
    return frozenset(as_dict(follow(root, root["properties"].get(body.argument)).get("properties")))


def _differences(
    old: Any, new: Any, known: frozenset[str] | None, *, replaces: bool, place: str = ""
) -> Iterator[_Line]:
    """Yield a line for each property that differs; `known` are those that may be left out."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if not same(old, new):
            yield _line(place, old, new)
        return
    for name in new:
        inner = place + pointer_token(name)
        before = old.get(name, _MISSING)
        yield from _differences(before, new[name], None, replaces=replaces, place=inner)
    for name in old if replaces else ():
        if name not in new and (known is None or name in known):
            yield _line(place + pointer_token(name), old[name], _MISSING)


def _steps(sent: Any, state: Any) -> Iterator[_Line]:
    for step in sent if isinstance(sent, list) else ():
        place, verb = str(as_dict(step).get("path", "")), as_dict(step).get("op")
        if verb in ("add", "replace", "remove"):
            new = step.get("value") if verb != "remove" else _MISSING
            yield _line(place, _at(state, place), new)
        elif verb != "test":
            start = describe_pointer(str(as_dict(step).get("from", "")))
            shown_place = describe_pointer(place)
            verb = shorten_line(in_ascii(str(verb)), _VALUE)
            yield shown_place, f"{verb} from {start} to {shown_place}"


def _at(value: Any, place: str) -> Any:
    try:
        return find(value, place)
    except LookupError:
        return _MISSING


def _line(place: str, old: Any, new: Any) -> _Line:
    """Return one difference in words, without a secret that its name tells of."""
    name = place.rpartition("/")[2]
    old, new = (v if v is _MISSING else hidden({name: v})[name] for v in (old, new))
    before = "is new" if old is _MISSING else f"was {describe_value(old, _VALUE)}"
    after = "is removed" if new is _MISSING else f"becomes {describe_value(new, _VALUE)}"
    shown_place = describe_pointer(place) if place else "the whole"
    return shown_place, f"{shown_place}: {before}, {after}"


@dataclass(frozen=True, slots=True)
class _KeptResult:
    output: Any
    metadata: dict[str, Any]
    header_note: str


@dataclass(frozen=True, slots=True)
class _WriteRecord:
    arguments: str
    result: _KeptResult | None


_RECORD = TypeAdapter(_WriteRecord)


@dataclass(frozen=True, slots=True)
class Once:
    """One write with a key: `place` is where the state keeps it."""

    state: SharedState
    place: str
    arguments: str
    repeatable: bool  # to send it twice does what once does

    async def known(self, *, alone: bool = False) -> ToolResult | None:
        """Return the result of an earlier call with the key; None for the first one.

        InputError if that call had other arguments. CallError if it may have run and ended without
        a result, as this call is `alone`.
        """
        if (kept := await self.state.get(self.place)) is None:
            return None
        try:
            record = read_record(kept, _RECORD)
        except ValueError as error:  # it was written, so an earlier call may have run
            logger.warning("the record of a write is damaged: %s", error)
            record = _WriteRecord(self.arguments, None)
        if record.arguments != self.arguments:
            raise InputError(
                "this idempotency key was used for a call with other arguments; give each write "
                "a key of its own. It was not sent."
            )
        if (result := record.result) is not None:
            metadata = {**result.metadata, "replayed": True}
            return ToolResult.ok(result.output, metadata, header_note=result.header_note)
        if self.repeatable or not alone:
            return None
        raise CallError(
            "connection",
            "an earlier call with this idempotency key may have run, and its answer is not known; "
            "it was not sent again. Look at what is there, then call with another key.",
            retryable=False,
        )

    async def send(self, send: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Return the result of an earlier call, or send this one and remember its result."""
        async with self.state.alone(f"{self.place}:turn", LEASE):
            if (known := await self.known(alone=True)) is not None:
                return known
            await self._keep(None)
            try:
                result = await send()
            except OpenAPIToolsError as error:
                # A call that must not be repeated was never sent.
                facts = error.facts if isinstance(error, CallError) and error.attempts else None
                if facts is None or facts.get("retryable"):
                    await self._forget()
                raise
            await self._ended(result)
            return result

    async def _ended(self, result: ToolResult) -> None:
        status = (result.error or {}).get("status") or 0
        if result.success:
            # Whatever fails here: the API has done the write, and that is what the model hears.
            try:
                await self._keep(result)
            except (OpenAPIToolsError, OSError, ValueError) as error:
                logger.warning("the result of a write could not be kept: %s", error)
        elif _REFUSED <= status < _FAULTS or status == _UNAVAILABLE:
            await self._forget()

    async def _forget(self) -> None:
        """Remove the record of a call that did nothing; its error stays what it is."""
        try:
            await self.state.remove(self.place)
        except (OpenAPIToolsError, OSError) as error:
            logger.warning("the key of a write that failed stays in use: %s", error)

    async def _keep(self, result: ToolResult | None) -> None:
        names = ("output", "metadata", "header_note")
        known = None if result is None else {name: getattr(result, name) for name in names}
        mark = {"arguments": self.arguments, "result": known}
        await self.state.put(self.place, compact(mark), _REMEMBERED)


def once_for(tool: OperationTool, server: str, prepared: PreparedCall, context: Any) -> Once | None:
    """Return how a write with a key is sent once; None where the API or its method sees to that.

    InputError for an unusable key, or where nothing can keep the promise.
    """
    settings, key = tool.settings, member_of(context, "idempotency_key")
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST:
        raise InputError(f"'idempotency_key' must be a text of 1 to {_LONGEST} characters.")
    if prepared.key:
        prepared.key = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([key, tool.name])))
    if prepared.key or tool.read_only or settings.dry_run:
        return None
    if settings.state is None and tool.idempotent:
        return None
    if settings.state is None:
        raise InputError(
            "'idempotency_key' needs the header in which the API takes a key, "
            "Settings(idempotency_header=…), or Settings(state=…). It was not sent."
        )
    names = [server, tool.name, tool.method, tool.path, prepared.user, key]
    place = key_of("once", prepared.user, digest_of(names))
    arguments = digest_of(prepared.arguments)
    return Once(settings.state, place, arguments, repeatable=tool.idempotent)
