"""What changes for the tools between two documents, or between two lists of an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.changes.schema_changes import Difference
from openapi_tools.changes.tool_changes import (
    compare_records,
    describe_difference,
    find_renames,
    find_scheme_differences,
)
from openapi_tools.codegen.package_data import ToolRecord
from openapi_tools.common.json_values import as_dict, join_pointer
from openapi_tools.errors import SourceError, format_count
from openapi_tools.model import Operation, SecurityScheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi_tools.model import Skipped
    from openapi_tools.toolsets.toolset import Toolset

# Starts of differences of an operation that an added or removed argument brings with it.
_FOLLOWS_THE_SCHEMA = ("parameter", "body", "the order")


class _ToolList(NamedTuple):
    """The tools of one version by name, their security schemes, and the skipped operations."""

    records: dict[str, ToolRecord]
    schemes: Mapping[str, SecurityScheme]
    skipped: tuple[Skipped, ...] = ()


class _ToolDifference(NamedTuple):
    """A difference of one tool: its kind, a line about it, and whether it breaks callers."""

    kind: str
    line: str
    breaking: bool


def differences_of(old: Toolset | Any, new: Toolset | Any) -> list[dict[str, Any]]:
    """Return what changes for the tools between two versions.

    A difference that several tools share is one dict; the other differences of a tool are one
    dict for the tool. Schemas of responses are not compared, but the lines about responses in
    descriptions are.

    Args:
        old: The tools of a document; or an MCP server's response to `tools/list` as plain data.
        new: The same, of the later version.

    Returns:
        Breaking differences first. Each dict has `kind` (`added`, `removed`, `renamed`, `schema`,
        `operation` or `description`), `breaking`, `pointer` (a JSON Pointer to the operation of
        the first tool in the new document; for a removed tool in the old one), `message` (one
        line), `details` (a line for each difference), `tools` (their names), and `tool`: the name
        if there is one tool only, otherwise empty.

    Raises:
        SourceError: A value is neither.
        DocumentError: A tool cannot be built.
    """
    before, after = _read_tools(old), _read_tools(new)
    removed = {name: r for name, r in before.records.items() if name not in after.records}
    added = {name: r for name, r in after.records.items() if name not in before.records}
    names = find_renames(removed, added)
    pairs = {
        name: (before.records[old_name], record)
        for name, record in after.records.items()
        if (old_name := names.get(name, name)) in before.records
    }
    differences = {name: _compare_tools(before, after, *pair) for name, pair in pairs.items()}
    findings = [
        *_group_differences(differences, after.records),
        *(_added_or_removed("added", r, before) for name, r in added.items() if name not in names),
        *(
            _added_or_removed("removed", record, after)
            for name, record in removed.items()
            if name not in names.values()
        ),
    ]
    return sorted(findings, key=lambda finding: not finding["breaking"])


def listed_tools(response: Any) -> list[dict[str, Any]] | None:
    """Return the tools of an MCP server's response to `tools/list`; None for another value.

    Spec: Model Context Protocol 2025-11-25, Server Features, Tools.
    """
    result = response.get("result", response) if isinstance(response, dict) else response
    tools = result.get("tools") if isinstance(result, dict) else result
    if not isinstance(tools, list):
        return None
    are_tools = all(isinstance(as_dict(tool).get("name"), str) for tool in tools)
    return tools if are_tools else None


def _read_tools(source: Any) -> _ToolList:
    if hasattr(source, "security_schemes"):
        records = [ToolRecord(t.name, t.description, t.input_schema, t.operation) for t in source]
        by_name = {record.name: record for record in records}
        return _ToolList(by_name, source.security_schemes, source.skipped)
    if (tools := listed_tools(source)) is None:
        raise SourceError("is neither tools nor an MCP server's response to `tools/list`.")
    return _ToolList({tool["name"]: _read_listed_tool(tool) for tool in tools}, {})


def _read_listed_tool(tool: dict[str, Any]) -> ToolRecord:
    hints = {k: v for k, v in as_dict(tool.get("annotations")).items() if isinstance(v, bool)}
    description = str(tool.get("description") or "")
    schema = as_dict(tool.get("inputSchema"))
    return ToolRecord(tool["name"], description, schema, Operation("", "", hints=hints))


def _compare_tools(
    before: _ToolList, after: _ToolList, old: ToolRecord, new: ToolRecord
) -> list[_ToolDifference]:
    by_kind = compare_records(old, new)
    schemes = find_scheme_differences(before.schemes, after.schemes, new.operation)
    by_kind["operation"] = [*by_kind.get("operation", []), *schemes]
    if "schema" in by_kind:
        by_kind["operation"] = [
            difference
            for difference in by_kind["operation"]
            if difference.breaking or not difference.what.startswith(_FOLLOWS_THE_SCHEMA)
        ]
    if old.name != new.name:
        name = Difference("", "name", breaking=True, before=old.name, after=new.name)
        by_kind = {"renamed": [name], **by_kind}
    return list(
        dict.fromkeys(
            _ToolDifference(kind, _line(kind, difference), difference.breaking)
            for kind, differences in by_kind.items()
            for difference in differences
        )
    )


def _line(kind: str, difference: Difference) -> str:
    return (
        f"description {describe_difference(difference)}"
        if kind == "description"
        else describe_difference(difference)
    )


def _group_differences(
    differences: Mapping[str, list[_ToolDifference]], records: Mapping[str, ToolRecord]
) -> Iterable[dict[str, Any]]:
    tools_by_difference: dict[_ToolDifference, list[str]] = {}
    for name, tool_differences in differences.items():
        for difference in tool_differences:
            tools_by_difference.setdefault(difference, []).append(name)
    shared = {d: tools for d, tools in tools_by_difference.items() if len(tools) > 1}
    for difference, tools in shared.items():
        yield _finding([difference], [records[name] for name in tools])
    for name, tool_differences in differences.items():
        if unshared := [difference for difference in tool_differences if difference not in shared]:
            yield _finding(unshared, [records[name]])


def _finding(differences: list[_ToolDifference], records: list[ToolRecord]) -> dict[str, Any]:
    ordered = sorted(differences, key=lambda difference: not difference.breaking)
    lines = [difference.line for difference in ordered]
    is_one = len(records) == 1
    subject = records[0].name if is_one else format_count(len(records), "tool")
    rest = f"; and {len(lines) - 1} more" if len(lines) > 1 else ""
    kinds = [difference.kind for difference in ordered]
    return {
        "kind": "renamed" if "renamed" in kinds else kinds[0],
        "breaking": ordered[0].breaking,
        "pointer": _pointer(records[0]),
        "message": f"{subject}: {lines[0]}{rest}",
        "details": lines,
        "tools": [record.name for record in records],
        "tool": records[0].name if is_one else "",
    }


def _added_or_removed(kind: str, record: ToolRecord, other: _ToolList) -> dict[str, Any]:
    request = (record.operation.method, record.operation.path)
    reasons = [s.reason for s in other.skipped if (s.method, s.path) == request]
    line = " ".join(request).strip()
    line = f"{line}, skipped in the other version: {reasons[0]}" if reasons else line
    return {
        "kind": kind,
        "breaking": kind == "removed",
        "pointer": _pointer(record),
        "message": f"{record.name}: {line}" if line else record.name,
        "details": [line],
        "tools": [record.name],
        "tool": record.name,
    }


def _pointer(record: ToolRecord) -> str:
    operation = record.operation
    is_call = bool(operation.method)
    keys = ("paths", operation.path, operation.method.lower())
    return join_pointer(keys if is_call else ("tools", record.name))
