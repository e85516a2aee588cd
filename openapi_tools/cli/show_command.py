"""`openapi-tools show` prints everything about one tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.browse.tool_facts import describe_tool_facts
from openapi_tools.cli.argument_table import (
    format_argument_table,
    format_value,
    list_argument_rows,
)
from openapi_tools.cli.argument_values import accepts_file
from openapi_tools.cli.output import clean, format_json, print_json, print_paged, terminal_width
from openapi_tools.cli.styles import METHOD_COLOURS, style_name
from openapi_tools.cli.text_layout import text_width, wrap_command, wrap_text
from openapi_tools.cli.tool_loading import find_tool, load_spec, report_missing_server
from openapi_tools.common.json_values import dump_json, follow_references
from openapi_tools.validation.example_calls import example_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.tools.tool import OperationTool

_READABLE = 100  # columns of running text
_FILE = "@FILE"


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
        command = ["openapi-tools", "call", spec, target.name, *view, *_example_words(target)]
        facts = describe_tool_facts(target, toolset)
        print_paged("\n".join(_format_tool(target, facts, command, terminal_width())))
    report_missing_server(toolset, target)


def _format_tool(
    tool: OperationTool, facts: dict[str, Any], command: list[str], width: int | None
) -> Iterator[str]:
    method = click.style(clean(tool.method), fg=METHOD_COLOURS.get(tool.safety))
    path = clean(tool.path, lines=False)
    yield style_name(clean(tool.name))
    first, *others = _wrap(f"{tool.method} {path}", width)
    yield method + first.removeprefix(tool.method)
    yield from others
    yield ""
    description = clean(tool.description)
    yield from wrap_text(description, min(width, _READABLE)) if width else [description]
    yield ""
    rows = list(list_argument_rows(tool.input_schema, facts["arguments"]))
    yield style_name("Arguments") if rows else "Arguments: none"
    yield from format_argument_table(rows, width) if rows else ()
    yield ""
    for title, text in _list_facts(tool, facts):
        first, *others = _wrap(f"{title}: {clean(text, lines=False)}", width)
        yield style_name(title) + first.removeprefix(title)
        yield from others
    yield from _format_example(command, width)
    schema = format_json(tool.input_schema)
    if width is None:
        yield from ("", "Input schema", schema)
    else:
        title, lines = "Input schema", schema.count("\n") + 1
        first, *others = _wrap(f"{title}: {lines} lines; --schema prints them.", width)
        yield style_name(title) + first.removeprefix(title)
        yield from others


def _wrap(text: str, width: int | None) -> list[str]:
    return wrap_text(text, width, indent="  ") if width else [text]


def _format_example(command: list[str], width: int | None) -> Iterator[str]:
    words = [clean(word, lines=False) for word in command]
    title = "Example: "
    # A shell reads a command of several lines only if nothing stands before it.
    if width and text_width(title) + text_width(wrap_command(words, None)[0]) > width:
        yield style_name("Example") + ":"
        yield from wrap_command(words, width)
    else:
        yield style_name("Example") + ": " + wrap_command(words, None)[0]


def _example_words(tool: OperationTool) -> list[str]:
    schema = tool.input_schema
    text = example_call(schema)
    try:
        arguments = json.loads(text or "{}")
    except ValueError:  # it was shortened
        return ["--json", text]
    properties = schema.get("properties", {})
    return [
        _format_pair(name, value, properties.get(name, {}), schema)
        for name, value in arguments.items()
    ]


def _format_pair(name: str, value: Any, entry: Any, schema: dict[str, Any]) -> str:
    items = follow_references(schema, entry).get("items", {})
    if accepts_file(entry, schema) or (isinstance(value, list) and accepts_file(items, schema)):
        return f"{name}={_FILE}"
    is_json = isinstance(value, dict | list)
    return f"{name}:={dump_json(value)}" if is_json else f"{name}={format_value(value)}"


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


def _describe_security(facts: dict[str, Any]) -> str:
    kinds = facts["security_schemes"]
    alternatives = [
        " and ".join(f"{name} ({kinds[name]})" for name in alternative) or "none"
        for alternative in facts["security"]
    ]
    return ", or ".join(alternatives) or "none"
