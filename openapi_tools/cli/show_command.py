"""`openapi-tools show`: all about one tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import command_options as shared
from openapi_tools.cli.output import as_json, clean, members, say
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.model import Operation
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_DEEPEST = 3
_LISTED = 20


@click.command("show")
@click.argument("spec")
@click.argument("tool")
@click.option("--json", "wants_json", is_flag=True, help="Write JSON.")
@shared.identifying
@shared.configuring
@shared.reading
def show(spec: str, tool: str, *, wants_json: bool) -> None:
    """Show TOOL of SPEC: description, arguments and their places, servers, security, schema."""
    toolset = shared.load(shared.source_of(spec))
    found = shared.tool_of(toolset, tool)
    if wants_json:
        say(as_json(_as_data(found, toolset)))
    else:
        say(clean("\n".join(_lines(found, toolset))))


def _as_data(tool: OperationTool, toolset: Toolset) -> dict[str, Any]:
    operation = tool.operation
    return {
        **members(tool, ("name", "description", "method", "path")),
        "operation_id": operation.operation_id,
        "tags": list(tool.tags),
        **members(tool, ("deprecated", "read_only", "idempotent", "destructive", "input_schema")),
        "not_checked": list(_unchecked(tool)),
        "arguments": _places(operation),
        "servers": [server.url for server in operation.servers],
        "security": [
            {name: list(scopes) for name, scopes in alternative.items()}
            for alternative in operation.security
        ],
        "security_schemes": {
            name: _scheme(toolset, name)
            for alternative in operation.security
            for name in alternative
        },
    }


def _lines(tool: OperationTool, toolset: Toolset) -> Iterator[str]:
    yield tool.name
    yield f"{tool.method} {tool.path}"
    yield ""
    yield tool.description
    yield ""
    yield "Arguments" if tool.input_schema.get("properties") else "Arguments: none"
    yield from _arguments(tool)
    yield ""
    yield f"Servers: {', '.join(server.url for server in tool.operation.servers) or 'none'}"
    yield f"Security: {_security(tool, toolset)}"
    yield from (f"Not checked here: {note}" for note in _unchecked(tool))
    yield ""
    yield "Input schema"
    yield as_json(tool.input_schema)


def _arguments(tool: OperationTool) -> Iterator[str]:
    """Yield one line per argument: name, type, required or not, place in the request."""
    schema = tool.input_schema
    properties: Mapping[str, Any] = schema.get("properties", {})
    ways = {place["argument"]: _in_words(place) for place in _places(tool.operation)}
    width = max(map(len, properties), default=0)
    for name, entry in properties.items():
        need = ", required" if name in schema.get("required", ()) else ""
        kind = " or ".join(_types(entry, schema, 0)) or "any"
        yield f"  {name:{width}}  {kind}{need} -> {ways.get(name, 'nowhere')}"


def _unchecked(tool: OperationTool) -> tuple[str, ...]:
    return tuple(note.removesuffix("; not checked") for note in Checker(tool.input_schema).notes)


def _types(schema: Any, root: dict[str, Any], depth: int) -> list[str]:
    """Return the kinds of value that a schema takes; none where it does not say."""
    schema = shared.resolved(schema, root)
    named = schema.get("type")
    if named:
        kinds = named if isinstance(named, list) else [named]
        return [_array(schema, root, depth) if kind == "array" else str(kind) for kind in kinds]
    if "enum" in schema or "const" in schema:
        return ["enum"]
    if depth >= _DEEPEST:
        return []
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        if not isinstance(branches, list):
            continue
        found = [_types(branch, root, depth + 1) for branch in branches[:_LISTED]]
        if keyword == "allOf":
            return next(filter(None, found), [])
        if found and all(found):
            more = ["…"] if len(branches) > _LISTED else []
            return [*dict.fromkeys(kind for kinds in found for kind in kinds), *more]
    return []


def _array(schema: dict[str, Any], root: dict[str, Any], depth: int) -> str:
    items = _types(schema.get("items", {}), root, depth + 1) if depth < _DEEPEST else []
    if len(items) > 1:
        return f"array of ({' or '.join(items)})"
    return f"array of {items[0]}" if items else "array"


def _security(tool: OperationTool, toolset: Toolset) -> str:
    """Return the security requirements as words: alternatives, and what each needs together."""
    alternatives = [
        " and ".join(f"{name} ({_scheme(toolset, name)})" for name in alternative) or "none"
        for alternative in tool.operation.security
    ]
    return ", or ".join(alternatives) or "none"


def _scheme(toolset: Toolset, name: str) -> str:
    scheme = toolset.security_schemes.get(name)
    if scheme is None:
        return "not defined in the document"
    detail = f"{scheme.location} {scheme.name}" if scheme.type == "apiKey" else scheme.scheme
    return f"{scheme.type} {detail}".strip()


def _places(operation: Operation) -> list[dict[str, Any]]:
    """Return the place of each argument in the request; the name `""` is the whole body."""
    found = [
        {"argument": parameter.argument, "in": parameter.location, "name": parameter.name}
        | {"style": parameter.style, "explode": bool(parameter.explode)}
        | members(parameter, ("allow_reserved", "media_type"))
        for parameter in operation.parameters
    ]
    body = operation.body
    if body is None:
        return found
    common = {"in": "body", "media_type": body.media_type}
    if body.argument:
        found.append({"argument": body.argument, "name": "", **common})
    found += ({"argument": m.argument, "name": m.name, **common} for m in body.properties)
    for encoding in body.encodings:
        found += (
            {"argument": h.argument, "name": encoding.name, "header": h.name, **common}
            for h in encoding.headers
        )
    return found


def _in_words(place: dict[str, Any]) -> str:
    if place["in"] != "body":
        how = place["media_type"] or place["style"] + (", explode" if place["explode"] else "")
        return f"{place['in']} {place['name']} ({how})"
    whole = f"member {place['name']} of the body" if place["name"] else "the body"
    part = f", header {place['header']} of its part" if place.get("header") else ""
    return f"{whole}{part} ({place['media_type']})"
