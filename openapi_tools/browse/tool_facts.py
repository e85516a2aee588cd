"""The facts of one tool, as `show --json` prints them and the page displays them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import select_attributes
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from openapi_tools.model import Operation
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset


def describe_tool_facts(tool: OperationTool, toolset: Toolset) -> dict[str, Any]:
    """Return the arguments of a tool, their locations in the request, and how it is called."""
    operation, notes = tool.operation, Checker(tool.input_schema).notes
    return {
        **select_attributes(tool, ("name", "description", "method", "path")),
        "operation_id": operation.operation_id,
        "tags": list(tool.tags),
        **select_attributes(
            tool, ("deprecated", "read_only", "idempotent", "destructive", "safety")
        ),
        "input_schema": tool.input_schema,
        "not_checked": [note.removesuffix("; not checked") for note in notes],
        "arguments": _argument_locations(operation),
        "servers": _server_urls(tool),
        "security": [
            {name: list(scopes) for name, scopes in alternative.items()}
            for alternative in operation.security
        ],
        "shape": _tool_shape(operation),
        "security_schemes": {
            name: _describe_scheme(toolset, name)
            for alternative in operation.security
            for name in alternative
        },
    }


def _server_urls(tool: OperationTool) -> list[str]:
    if tool.settings.base_url is not None:
        return [tool.settings.base_url]
    return [server.url for server in tool.operation.servers]


def _tool_shape(operation: Operation) -> dict[str, dict[str, Any]]:
    # What a configuration sets and the schema does not show.
    response_shape, pages = (
        asdict(part) if part else {} for part in (operation.answer, operation.paging)
    )
    limits = select_attributes(operation, ("timeout", "wait"))
    parts = {"fixed": operation.fixed, "limits": limits, "answers": response_shape, "pages": pages}
    return {
        name: {key: value for key, value in part.items() if name == "fixed" or value or value == 0}
        for name, part in parts.items()
    }


def _describe_scheme(toolset: Toolset, name: str) -> str:
    # For instance `http bearer`.
    scheme = toolset.security_schemes.get(name)
    if scheme is None:
        return "not defined in the document"
    detail = f"{scheme.location} {scheme.name}" if scheme.type == "apiKey" else scheme.scheme
    return f"{scheme.type} {detail}".strip()


def _argument_locations(operation: Operation) -> list[dict[str, Any]]:
    # The name `""` is the whole body.
    locations = [
        {"argument": parameter.argument, "in": parameter.location, "name": parameter.name}
        | {"style": parameter.style, "explode": bool(parameter.explode)}
        | select_attributes(parameter, ("allow_reserved", "media_type"))
        for parameter in operation.parameters
    ]
    body = operation.body
    if body is None:
        return locations
    common = {"in": "body", "media_type": body.media_type}
    if body.argument:
        locations.append({"argument": body.argument, "name": "", **common})
    locations += ({"argument": m.argument, "name": m.name, **common} for m in body.properties)
    for encoding in body.encodings:
        locations += (
            {"argument": h.argument, "name": encoding.name, "header": h.name, **common}
            for h in encoding.headers
        )
    return locations
