"""The table of a tool's arguments that `show` prints, nested properties included."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.cli.argument_values import accepts_file, allowed_values
from openapi_tools.cli.output import clean
from openapi_tools.cli.styles import style_name, style_secondary
from openapi_tools.cli.text_layout import format_grid, pad_to_width, text_width, wrap_text
from openapi_tools.common.json_values import as_dict, as_list, dump_json, follow_references
from openapi_tools.model import DEFAULT_STYLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Schema = Mapping[str, Any]

_DEEPEST = 3
_LISTED = 20  # branches of a union
_MOST_NESTED = 40  # properties listed below one argument
_MOST_COUNTED = 1000  # properties below one argument that are counted
# Schemas that are looked into for the properties of one object: an iterator yields one for each.
_MOST_OPENED = 500
_HEADINGS = ("Name", "Type", "Required", "Default", "Location", "Description")
_WIDEST = (30, 26, 8, 16, 28)
_ENOUGH = 40  # columns of a description beside the other cells
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """An argument, or a property inside one, as text that is safe for a terminal.

    Attributes:
        name: The argument; a property is indented, and begins with `.`, or `[].` in a list.
        kind: Its types in words.
        required: `yes`, or empty.
        default: The default value, or empty.
        location: Where the argument goes in the request; empty for a property.
        notes: The values that it takes, and its description.
    """

    name: str
    kind: str
    required: str
    default: str
    location: str
    notes: tuple[str, ...]

    @property
    def cells(self) -> list[str]:
        """The cells but for the description."""
        return [self.name, self.kind, self.required, self.default, self.location]

    @property
    def margin(self) -> str:
        """The spaces before the name."""
        return self.name[: len(self.name) - len(self.name.lstrip())]


def list_argument_rows(
    schema: dict[str, Any], argument_facts: Sequence[dict[str, Any]]
) -> Iterator[ArgumentRow]:
    """Yield a row for each argument of an input schema, followed by rows for its properties.

    Args:
        schema: The input schema of a tool.
        argument_facts: The name and location of each argument, from `describe_tool_facts`.
    """
    locations = {facts["argument"]: _describe_location(facts) for facts in argument_facts}
    required = as_list(schema.get("required"))
    for name, entry in as_dict(schema.get("properties")).items():
        location = locations.get(name, "nowhere")
        yield _make_row(name, entry, schema, is_required=name in required, location=location)
        nested = list(islice(_list_nested_rows(entry, schema, _INDENT), _MOST_COUNTED + 1))
        yield from nested[:_MOST_NESTED]
        if len(nested) > _MOST_NESTED:
            over = "over " if len(nested) > _MOST_COUNTED else ""
            rest = f"{_INDENT}… {over}{min(len(nested), _MOST_COUNTED) - _MOST_NESTED} more"
            yield ArgumentRow(rest, "", "", "", "", ("--schema prints all.",))


def _list_nested_rows(node: Any, root: dict[str, Any], margin: str) -> Iterator[ArgumentRow]:
    if len(margin) > _DEEPEST * len(_INDENT) or accepts_file(node, root):
        return
    prefix, properties, required = _open_object(node, root, iter(range(_MOST_OPENED)))
    for name, entry in properties.items():
        is_required = name in required
        yield _make_row(f"{margin}{prefix}{name}", entry, root, is_required=is_required)
        yield from _list_nested_rows(entry, root, margin + _INDENT)


def _open_object(
    node: Any, root: dict[str, Any], left: Iterator[int], depth: int = 0
) -> tuple[str, dict[str, Any], list[Any]]:
    schema = follow_references(root, node)
    properties, required = dict(as_dict(schema.get("properties"))), as_list(schema.get("required"))
    if depth > _DEEPEST or next(left, None) is None:
        return ".", properties, required
    for part in as_list(schema.get("allOf")):
        _, inner, names = _open_object(part, root, left, depth + 1)
        properties, required = {**inner, **properties}, [*required, *names]
    if properties:
        return ".", properties, required
    if isinstance(schema.get("items"), dict):
        prefix, properties, required = _open_object(schema["items"], root, left, depth + 1)
        return f"[]{prefix}", properties, required
    branches = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    opened = [_open_object(branch, root, left, depth + 1) for branch in branches[:_LISTED]]
    objects = [each for each in opened if each[1]]
    # Of several kinds of object, the rows would not say which belong together.
    return objects[0] if len(objects) == 1 else (".", {}, [])


def _make_row(
    name: str, entry: Any, root: dict[str, Any], *, is_required: bool, location: str = ""
) -> ArgumentRow:
    resolved = follow_references(root, entry)
    values = allowed_values(entry, root)
    description = clean(str(resolved.get("description", "")), lines=False)
    enum = clean(f"enum: {', '.join(values)}", lines=False) if values else ""
    margin, default = name[: len(name) - len(name.lstrip())], resolved.get("default")
    return ArgumentRow(
        name=margin + clean(name, lines=False),
        kind=clean(" or ".join(_describe_types(entry, root, 0)) or "any"),
        required="yes" if is_required else "",
        default=clean(format_value(default)) if "default" in resolved else "",
        location=clean(location),
        notes=tuple(filter(None, (enum, description))),
    )


def format_value(value: Any) -> str:
    """Return a value as it is written on a command line."""
    # The first of two `@` says that no file is meant.
    text = value if isinstance(value, str) and value else dump_json(value)
    return f"@{text}" if text.startswith("@") else text


def _describe_types(schema: Any, root: dict[str, Any], depth: int) -> list[str]:
    schema = follow_references(root, schema)
    declared = schema.get("type")
    if declared:
        types = declared if isinstance(declared, list) else [declared]
        return [_describe_type(kind, schema, root, depth) for kind in types]
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


def _describe_type(kind: Any, schema: Schema, root: dict[str, Any], depth: int) -> str:
    if kind == "array":
        return _describe_array(schema, root, depth)
    if kind == "string" and schema.get("format"):
        return f"string ({schema['format']})"
    return "file" if kind == "object" and accepts_file(schema, root) else str(kind)


def _describe_array(schema: Schema, root: dict[str, Any], depth: int) -> str:
    items = schema.get("items", {})
    types = _describe_types(items, root, depth + 1) if depth < _DEEPEST else []
    if len(types) > 1:
        return f"array of ({' or '.join(types)})"
    return f"array of {types[0]}" if types else "array"


def _describe_location(facts: dict[str, Any]) -> str:
    location, name = facts["in"], facts["name"]
    wire_name = "" if name == facts["argument"] else f" {name}"
    if location == "body":
        part = f"header {facts['header']} of " if facts.get("header") else ""
        return f"{part}body{wire_name}" if name else f"{part}whole body"
    style = facts["style"]
    # Only `form`, and `cookie` of OpenAPI 3.2, are exploded by default.
    has_defaults = style == DEFAULT_STYLES.get(location) and facts["explode"] == (
        style in ("form", "cookie")
    )
    described = style + (", explode" if facts["explode"] else "")
    notation = facts["media_type"] or ("" if has_defaults else described)
    return f"{location}{wire_name}" + (f" ({notation})" if notation else "")


def format_argument_table(rows: Sequence[ArgumentRow], width: int | None) -> Iterator[str]:
    """Yield the lines of a table; None is a pipe, where each row is one line.

    Descriptions stand in a last column if that is wide enough, otherwise below their row. On a
    narrow terminal a row takes several lines.
    """
    table = [list(_HEADINGS[:-1]), *(row.cells for row in rows)]
    longest = [max(map(text_width, column)) for column in zip(*table, strict=True)]
    if width is None:
        yield from _format_lines(rows, longest)
        return
    widths = list(map(min, longest, _WIDEST))
    total = sum(widths) + 2 * (len(widths) - 1)
    rest = width - total - 2
    widest_note = max(text_width(note) for row in rows for note in (*row.notes, ""))
    if total > width:
        for row in rows:
            yield from _stack_row(row, width)
    elif rest >= min(_ENOUGH, max(widest_note, len(_HEADINGS[-1]))):
        yield from _format_beside(rows, [*widths, rest])
    else:
        yield from _format_below(rows, widths, width)


def _format_lines(rows: Sequence[ArgumentRow], widths: Sequence[int]) -> Iterator[str]:
    for cells in (_HEADINGS, *([*row.cells, ". ".join(row.notes)] for row in rows)):
        padded = map(pad_to_width, cells, (*widths, 0))
        yield "  ".join(padded).rstrip()


def _format_beside(rows: Sequence[ArgumentRow], widths: Sequence[int]) -> Iterator[str]:
    ((heading,),) = format_grid([_HEADINGS], widths)
    yield style_secondary(heading)
    table = [[*row.cells, "\n".join(row.notes)] for row in rows]
    for row, (first, *others) in zip(rows, format_grid(table, widths), strict=True):
        yield _style_row(first, row)
        yield from others


def _format_below(rows: Sequence[ArgumentRow], widths: Sequence[int], width: int) -> Iterator[str]:
    ((heading,),) = format_grid([_HEADINGS[:-1]], widths)
    yield style_secondary(heading)
    grid = format_grid([row.cells for row in rows], widths)
    for row, (first, *others) in zip(rows, grid, strict=True):
        yield _style_row(first, row)
        yield from others
        yield from _indent_notes(row, width)


def _style_row(line: str, row: ArgumentRow) -> str:
    start = len(row.margin)
    name, gap, rest = line[start:].partition("  ")
    return f"{line[:start]}{style_name(name)}{gap}{rest}"


def _stack_row(row: ArgumentRow, width: int) -> Iterator[str]:
    text_columns = max(width - len(row.margin), 2)
    name = row.name.lstrip()
    required = "required" if row.required else ""
    default = f"default {row.default}" if row.default else ""
    facts = ", ".join(filter(None, (row.kind, required, default, row.location)))
    text = f"{name}: {facts}" if facts else name
    first, *others = wrap_text(text, text_columns, indent=_INDENT)
    yield row.margin + style_name(first[: len(name)]) + first[len(name) :]
    yield from (row.margin + line for line in others)
    yield from _indent_notes(row, width)


def _indent_notes(row: ArgumentRow, width: int) -> Iterator[str]:
    margin = row.margin + _INDENT * 2
    for note in row.notes:
        yield from (margin + line for line in wrap_text(note, width - len(margin)))
