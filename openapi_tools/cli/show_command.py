"""`openapi-tools show` prints everything about one tool."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.browse.tool_facts import describe_tool_facts
from openapi_tools.cli.argument_values import allowed_values
from openapi_tools.cli.output import (
    clean,
    format_json,
    print_json,
    print_paged,
    terminal_width,
)
from openapi_tools.cli.styles import style_secondary
from openapi_tools.cli.text_layout import format_grid, text_width, wrap_text
from openapi_tools.cli.tool_loading import find_tool, load_spec, report_missing_server
from openapi_tools.common.json_values import dump_json, follow_references
from openapi_tools.model import DEFAULT_STYLES
from openapi_tools.validation.example_calls import example_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.tools.tool import OperationTool

_DEEPEST = 3
_LISTED = 20
_HEADINGS = ("Name", "Type", "Required", "Default", "Location", "Description")
_WIDEST = (30, 24, 8, 16, 28)
_ENOUGH = 40  # columns of a description beside the other cells
_READABLE = 100  # columns of running text


def show_tool(spec: str, tool: str, *, wants_json: bool, wants_schema: bool) -> None:
    """Show TOOL of SPEC: description, arguments, servers, security, schema."""
    toolset = load_spec(spec)
    target = find_tool(toolset, tool)
    if wants_schema or wants_json:
        data = target.input_schema if wants_schema else describe_tool_facts(target, toolset)
        print_json(format_json(data))
    else:
        # A call needs the options of a server configuration again, so the example has them.
        view = getattr(toolset.session.served, "arguments", [])
        command = shlex.join(["openapi-tools", "call", spec, target.name, *view])
        facts = describe_tool_facts(target, toolset)
        print_paged("\n".join(_format_tool(target, facts, command, terminal_width())))
    report_missing_server(toolset, target)


def _format_tool(
    tool: OperationTool, facts: dict[str, Any], command: str, width: int | None
) -> Iterator[str]:
    yield click.style(clean(tool.name), bold=True)
    yield clean(f"{tool.method} {tool.path}", lines=False)
    yield ""
    description = clean(tool.description)
    yield from wrap_text(description, min(width, _READABLE)) if width else [description]
    yield ""
    yield _heading("Arguments") if tool.input_schema.get("properties") else "Arguments: none"
    yield from _format_arguments(tool, facts, width)
    yield ""
    for title, text in _list_facts(tool, facts):
        yield f"{_heading(title)}: {clean(text, lines=False)}"
    schema = format_json(tool.input_schema)
    yield f"{_heading('Example')}: {clean(f'{command}{_format_example(tool)}', lines=False)}"
    if width is None:
        yield from ("", "Input schema", schema)
    else:
        yield f"{_heading('Input schema')}: {schema.count(chr(10)) + 1} lines; --schema shows them."


def _format_example(tool: OperationTool) -> str:
    text = example_call(tool.input_schema)
    try:
        arguments = json.loads(text or "{}")
    except ValueError:  # it was shortened
        return f" --json {shlex.quote(text)}"
    return "".join(
        f" {name}={value if value == '…' else shlex.quote(_format_value(value))}"
        for name, value in arguments.items()
    )


def _heading(text: str) -> str:
    return click.style(text, bold=True)


def _list_facts(tool: OperationTool, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Servers", ", ".join(facts["servers"]) or "none"
    yield "Security", _describe_security(facts)
    if facts["operation_id"]:
        yield "Operation", facts["operation_id"]
    if tool.tags:
        yield "Tags", ", ".join(tool.tags)
    hints = [tool.safety, *(hint for hint in ("idempotent", "deprecated") if facts[hint])]
    yield "Calls are", ", ".join(hints)
    if tool.operation.body is not None:
        yield "Body", tool.operation.body.media_type
    for title, shape in facts["shape"].items():
        if shape:
            yield title.capitalize(), ", ".join(f"{n} {dump_json(v)}" for n, v in shape.items())
    yield from (("Not checked here", note) for note in facts["not_checked"])


def _format_arguments(
    tool: OperationTool, facts: dict[str, Any], width: int | None
) -> Iterator[str]:
    separator = "\n" if width else ". "
    rows = [[clean(cell) for cell in row] for row in _argument_rows(tool, facts, separator)]
    if not rows:
        return
    table = [list(_HEADINGS), *rows]
    longest = [max(map(text_width, column)) for column in zip(*table, strict=True)]
    widths = longest if width is None else list(map(min, longest[:-1], _WIDEST))
    rest = longest[-1] if width is None else width - sum(widths) - 2 * len(widths)
    is_beside = rest >= min(_ENOUGH, longest[-1])
    widths = [*widths[: len(_WIDEST)], *([rest] if is_beside else [])]
    cells = [row[: len(widths)] for row in table]
    for row, lines in zip(table, format_grid(cells, widths), strict=True):
        if row is table[0]:
            yield style_secondary(lines[0])
            continue
        yield lines[0].replace(row[0], click.style(row[0], fg="cyan"), 1)
        yield from lines[1:]
        if not is_beside and row[-1]:
            yield from (f"    {line}" for line in wrap_text(row[-1], (width or 0) - 4))


def _argument_rows(
    tool: OperationTool, facts: dict[str, Any], separator: str
) -> Iterator[list[str]]:
    schema = tool.input_schema
    locations = {place["argument"]: _describe_location(place) for place in facts["arguments"]}
    for name, entry in schema.get("properties", {}).items():
        resolved = follow_references(schema, entry)
        kind = " or ".join(_describe_types(entry, schema, 0)) or "any"
        if kind == "string" and resolved.get("format"):
            kind = f"string ({resolved['format']})"
        values = allowed_values(entry, schema)
        description = " ".join(str(resolved.get("description", "")).split())
        parts = [f"enum: {', '.join(values)}"] if values else []
        yield [
            name,
            kind,
            "yes" if name in schema.get("required", ()) else "",
            _format_value(resolved["default"]) if "default" in resolved else "",
            locations.get(name, "nowhere"),
            separator.join([*parts, *([description] if description else [])]),
        ]


def _format_value(value: Any) -> str:
    # The first of two `@` says that no file is meant.
    text = value if isinstance(value, str) and value else dump_json(value)
    return f"@{text}" if text.startswith("@") else text


def _describe_types(schema: Any, root: dict[str, Any], depth: int) -> list[str]:
    schema = follow_references(root, schema)
    declared = schema.get("type")
    if declared:
        types = declared if isinstance(declared, list) else [declared]
        return [
            _describe_array(schema, root, depth) if kind == "array" else str(kind) for kind in types
        ]
    if "enum" in schema or "const" in schema:
        return ["enum"]
    if depth >= _DEEPEST:
        return []
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        if not isinstance(branches, list):
            continue
        types_by_branch = [_describe_types(each, root, depth + 1) for each in branches[:_LISTED]]
        if keyword == "allOf":
            return next(filter(None, types_by_branch), [])
        if types_by_branch and all(types_by_branch):
            ellipsis = ["…"] if len(branches) > _LISTED else []
            unique = dict.fromkeys(kind for types in types_by_branch for kind in types)
            return [*unique, *ellipsis]
    return []


def _describe_array(schema: dict[str, Any], root: dict[str, Any], depth: int) -> str:
    items = schema.get("items", {})
    types = _describe_types(items, root, depth + 1) if depth < _DEEPEST else []
    if len(types) > 1:
        return f"array of ({' or '.join(types)})"
    return f"array of {types[0]}" if types else "array"


def _describe_security(facts: dict[str, Any]) -> str:
    kinds = facts["security_schemes"]
    alternatives = [
        " and ".join(f"{name} ({kinds[name]})" for name in alternative) or "none"
        for alternative in facts["security"]
    ]
    return ", or ".join(alternatives) or "none"


def _describe_location(place: dict[str, Any]) -> str:
    location, name = place["in"], place["name"]
    wire_name = "" if name == place["argument"] else f" {name}"
    if location == "body":
        part = f"header {place['header']} of " if place.get("header") else ""
        return f"{part}body{wire_name}" if name else f"{part}whole body"
    style = place["style"]
    # Only `form`, and `cookie` of OpenAPI 3.2, are exploded by default.
    has_defaults = style == DEFAULT_STYLES.get(location) and place["explode"] == (
        style in ("form", "cookie")
    )
    described = style + (", explode" if place["explode"] else "")
    notation = place["media_type"] or ("" if has_defaults else described)
    return f"{location}{wire_name}" + (f" ({notation})" if notation else "")
