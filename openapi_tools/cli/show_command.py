"""`openapi-tools show` prints everything about one tool."""

from __future__ import annotations

import json
import shlex
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.browse.tool_facts import facts_of
from openapi_tools.cli import as_json, clean, columns, head_of, pad, page, say, width_of
from openapi_tools.cli import command_options as shared
from openapi_tools.cli.typed_arguments import values_of
from openapi_tools.json_values import dump_json, follow_references
from openapi_tools.model import DEFAULT_STYLES
from openapi_tools.validation.example_calls import example_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.tools.tool import OperationTool

_DEEPEST = 3
_LISTED = 20
_HEADS = ("Name", "Type", "Required", "Default", "Where", "Description")
_WIDEST = (30, 24, 8, 16, 28)
_ENOUGH = 40  # columns of a description beside the other cells
_READABLE = 100  # columns of running text


@shared.command("show")
def show(spec: str, tool: str, *, wants_json: bool, wants_schema: bool) -> None:
    """Show TOOL of SPEC: description, arguments and their places, servers, security, schema.

    TOOL is a name, an operationId, or a method and a path as 'GET /pets'. A terminal gets the
    schema with --schema only.
    """
    toolset = shared.load(shared.source_of(spec))
    found = shared.tool_of(toolset, tool)
    if wants_schema or wants_json:
        say(as_json(found.input_schema if wants_schema else facts_of(found, toolset)))
    else:
        # As options of a server's file are needed again, the example has them.
        view = getattr(toolset.session.served, "arguments", [])
        line = shlex.join(["openapi-tools", "call", spec, found.name, *view])
        page("\n".join(_lines(found, facts_of(found, toolset), line, columns())))
    shared.tell_address(toolset, found)


def _lines(
    tool: OperationTool, facts: dict[str, Any], line: str, width: int | None
) -> Iterator[str]:
    yield click.style(clean(tool.name), bold=True)
    yield clean(f"{tool.method} {tool.path}", lines=False)
    yield ""
    said = clean(tool.description)
    yield from wrapped(said, min(width, _READABLE)) if width else [said]
    yield ""
    yield _heading("Arguments") if tool.input_schema.get("properties") else "Arguments: none"
    yield from _arguments(tool, facts, width)
    yield ""
    for title, text in _facts(tool, facts):
        yield f"{_heading(title)}: {clean(text, lines=False)}"
    schema = as_json(tool.input_schema)
    yield f"{_heading('Example')}: {clean(f'{line}{_example(tool)}', lines=False)}"
    if width is None:
        yield from ("", "Input schema", schema)
    else:
        yield f"{_heading('Input schema')}: {schema.count(chr(10)) + 1} lines; --schema shows them."


def _example(tool: OperationTool) -> str:
    """Return the required arguments as a command line gives them, with `…` for other texts."""
    text = example_call(tool.input_schema)
    try:
        given = json.loads(text or "{}")
    except ValueError:  # shortened
        return f" --json {shlex.quote(text)}"
    return "".join(
        f" {name}={value if value == '…' else shlex.quote(_plain(value))}"
        for name, value in given.items()
    )


def _heading(text: str) -> str:
    return click.style(text, bold=True)


def _facts(tool: OperationTool, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Servers", ", ".join(facts["servers"]) or "none"
    yield "Security", _security(facts)
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


def _arguments(tool: OperationTool, facts: dict[str, Any], width: int | None) -> Iterator[str]:
    """Yield a table: a row for each argument, its description below where there is no room."""
    rows = [[clean(cell) for cell in row] for row in _rows(tool, facts, "\n" if width else ". ")]
    if not rows:
        return
    table = [list(_HEADS), *rows]
    natural = [max(map(width_of, column)) for column in zip(*table, strict=True)]
    widths = natural if width is None else list(map(min, natural[:-1], _WIDEST))
    room = natural[-1] if width is None else width - sum(widths) - 2 * len(widths)
    is_beside = room >= min(_ENOUGH, natural[-1])
    widths = [*widths[: len(_WIDEST)], *([room] if is_beside else [])]
    for row, lines in zip(table, grid([row[: len(widths)] for row in table], widths), strict=True):
        if row is table[0]:
            yield _heading(lines[0])
            continue
        yield lines[0].replace(row[0], click.style(row[0], fg="cyan"), 1)
        yield from lines[1:]
        if not is_beside and row[-1]:
            yield from (f"    {line}" for line in wrapped(row[-1], (width or 0) - 4))


def _rows(tool: OperationTool, facts: dict[str, Any], between: str) -> Iterator[list[str]]:
    """Yield for each argument its cells; values and words of the last one are joined."""
    schema = tool.input_schema
    ways = {place["argument"]: _where(place) for place in facts["arguments"]}
    for name, entry in schema.get("properties", {}).items():
        own = follow_references(schema, entry)
        kind = " or ".join(_types(entry, schema, 0)) or "any"
        kind = f"{kind} ({own['format']})" if kind == "string" and own.get("format") else kind
        values = values_of(entry, schema)
        words = " ".join(str(own.get("description", "")).split())
        told = [f"enum: {', '.join(values)}"] if values else []
        need = "yes" if name in schema.get("required", ()) else ""
        default = _plain(own["default"]) if "default" in own else ""
        yield [
            *(name, kind, need, default, ways.get(name, "nowhere")),
            between.join([*told, *([words] if words else [])]),
        ]


def _plain(value: Any) -> str:
    """Return a value as `name=` takes it; the first of two `@` says that no file is meant."""
    text = value if isinstance(value, str) and value else dump_json(value)
    return f"@{text}" if text.startswith("@") else text


def _types(schema: Any, root: dict[str, Any], depth: int) -> list[str]:
    """Return the kinds of value that a schema takes; none where it does not say."""
    schema = follow_references(root, schema)
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


def _security(facts: dict[str, Any]) -> str:
    kinds = facts["security_schemes"]
    alternatives = [
        " and ".join(f"{name} ({kinds[name]})" for name in alternative) or "none"
        for alternative in facts["security"]
    ]
    return ", or ".join(alternatives) or "none"


def _where(place: dict[str, Any]) -> str:
    """Return the place of an argument in the request, and how it is written if that is unusual."""
    kind, name = place["in"], place["name"]
    if kind == "body":
        part = f"header {place['header']} of " if place.get("header") else ""
        own = "" if name == place["argument"] else f" {name}"
        return f"{part}body{own}" if name else f"{part}whole body"
    style, usual = place["style"], DEFAULT_STYLES.get(kind)
    own = "" if name == place["argument"] else f" {name}"
    is_usual = style == usual and place["explode"] == (style in ("form", "cookie"))
    way = style + (", explode" if place["explode"] else "")
    how = place["media_type"] or ("" if is_usual else way)
    return f"{kind}{own}" + (f" ({how})" if how else "")


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most a width, broken at blanks where there are some."""
    lines, width = list[str](), max(width, 2)
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            if line and width_of(line) + 1 + width_of(word) > width:
                lines.append(line)
                line = ""
            line += f" {word}" if line else word
            while width_of(line) > width:
                head = head_of(line, width)
                lines.append(head)
                line = line[len(head) :]
        lines.append(line)
    return lines


def grid(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[list[str]]:
    """Yield for each row its lines: cells wrapped to the widths of their columns, side by side."""
    for row in rows:
        cells = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        lines = zip_longest(*cells, fillvalue="")
        yield ["  ".join(map(pad, line, widths)).rstrip() for line in lines]
