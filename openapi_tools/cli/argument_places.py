"""How each argument of a tool travels, as data and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import Operation, Parameter, RequestBody


def travels(operation: Operation) -> list[dict[str, Any]]:
    """Return for every argument where it goes: its `in`, its name there and how it is written.

    `in` is `path`, `query`, `header`, `cookie`, `querystring` or `body`; the name `""` in the body
    means the whole body.
    """
    found = [_parameter(parameter) for parameter in operation.parameters]
    return [*found, *(_body(operation.body) if operation.body else ())]


def in_words(travel: dict[str, Any]) -> str:
    """Return one argument's way as a short phrase."""
    if travel["in"] != "body":
        how = travel["media_type"] or travel["style"] + (", explode" if travel["explode"] else "")
        return f"{travel['in']} {travel['name']} ({how})"
    whole = f"member {travel['name']} of the body" if travel["name"] else "the body"
    part = f", header {travel['header']} of its part" if travel.get("header") else ""
    return f"{whole}{part} ({travel['media_type']})"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    """Return the way of a parameter."""
    return {
        "argument": parameter.argument,
        "in": parameter.location,
        "name": parameter.name,
        "style": parameter.style,
        "explode": bool(parameter.explode),
        "allow_reserved": parameter.allow_reserved,
        "media_type": parameter.media_type,
    }


def _body(body: RequestBody) -> Iterator[dict[str, Any]]:
    """Yield the ways of the arguments that are the body or its members."""
    common = {"in": "body", "media_type": body.media_type}
    if body.argument:
        yield {"argument": body.argument, "name": "", **common}
    for member in body.properties:
        yield {"argument": member.argument, "name": member.name, **common}
    for encoding in body.encodings:
        for header in encoding.headers:
            yield {
                "argument": header.argument,
                "name": encoding.name,
                "header": header.name,
                **common,
            }
