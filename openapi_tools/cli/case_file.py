"""`openapi-tools init --cases`: a file of cases from a document's own operations and examples."""

from __future__ import annotations

import asyncio
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.cli.output import tool_summary
from openapi_tools.common.json_values import escape_controls
from openapi_tools.common.visible_text import strip_hidden, truncate_text
from openapi_tools.errors import SettingsError
from openapi_tools.testing.evaluation.cases import read_cases, resolve_cases
from openapi_tools.testing.evaluation.runner import CaseRunner
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_MOST_ATTEMPTS = 12  # tools of each kind that are called until one succeeds
_SECONDS = 30.0
_KINDS = ("read-only", "additive", "destructive")
_LONGEST_TASK = 1000
_HEAD = """\
# Tasks for a model, what must happen at a mock of the API, and what must not.
#   openapi-tools eval SPEC --cases FILE --model module:function
# Write each task as your users would say it, and add cases for what matters to you.
# docs/eval-cases.schema.json is the JSON Schema of this file.
"""
_COMMENTS = {
    "name": "The name of this case in reports.",
    "task": "What the model is asked to do.",
    "calls": "Calls that must succeed, in any order; `order: exact` requires this one.",
    "tool": "A name, an operationId, or a method and path.",
    "arguments": "These must be equal; `schema:` takes a JSON Schema, `jmespath:` a condition.",
    "forbid": "Tools by name or pattern, and a limit of calls; attempts count.",
    "limits": "When a run is ended.",
    "approve": "The reply to requests for approval; false denies writes.",
    "unused_state": "The mock's state at the end: a request, and JMESPath that must be true.",
}
_UNUSED = {
    "unused_state": '    #   state: {"GET /path": "length(@) == `3`"}',
    "forbid": '    # forbid: {tools: ["delete_*"], writes: false, calls: 6}',
    "limits": "    # limits: {turns: 8, tokens: 4000}",
    "approve": "    # approve: true",
}


class _OneCallModel:
    """A model that makes one call, then ends the run."""

    def __init__(self) -> None:
        self.call: dict[str, Any] = {}

    async def __call__(self, messages: list[dict[str, Any]], _: Any) -> Any:
        if len(messages) > 1:
            return {"content": "Done."}
        function = {"name": self.call["tool"], "arguments": self.call["arguments"]}
        return {"tool_calls": [{"function": function}]}


def format_cases(toolset: Toolset) -> str:
    """Return a commented file of cases, each of which was passed by its expected call.

    Raises:
        SettingsError: No tool could be called with generated arguments.
    """
    cases = asyncio.run(_make_cases(toolset))
    if not cases:
        raise SettingsError("no tool could be called with its examples; write the cases by hand.")
    lines = [_HEAD, "cases:"]
    for index, case in enumerate(cases):
        lines += _format_case(case, is_first=index == 0)
    return "\n".join(lines) + "\n"


async def _make_cases(toolset: Toolset) -> list[dict[str, Any]]:
    model = _OneCallModel()
    runner = CaseRunner(toolset, model, mode="tools", seconds=_SECONDS)
    try:
        cases = [await _make_first_case(kind, runner, model, toolset) for kind in _KINDS]
    finally:
        await runner.aclose()
    return [case for case in cases if case is not None]


async def _make_first_case(
    kind: str, runner: CaseRunner, model: _OneCallModel, toolset: Toolset
) -> dict[str, Any] | None:
    tools = (tool for tool in toolset if tool.safety == kind and not tool.deprecated)
    for tool in islice(tools, _MOST_ATTEMPTS):
        arguments = _sample_arguments(tool)
        call = {"tool": tool.name, "arguments": arguments}
        task = _describe_task(tool, arguments)
        case: dict[str, Any] = {"name": tool.name.replace("_", "-"), "task": task}
        case["expect"] = {"calls": [call]}
        paths = list(_state_paths(tool, toolset))
        runner.reset()
        before = [await _count_items(runner, path) for path in paths]
        model.call = call
        run = await runner.run(resolve_cases(read_cases([case]), toolset)[0], seed=0)
        if not run.passed:
            continue
        for path, count in zip(paths, before, strict=True):
            now = await _count_items(runner, path)
            if now not in (None, count):
                case["expect"]["state"] = {f"GET {path}": f"length(@) == `{now}`"}
        return case
    return None


def _sample_arguments(tool: OperationTool) -> dict[str, Any]:
    schema, body = tool.input_schema, tool.operation.body
    samples = sample(schema, schema)
    names = list(schema.get("required", ()))
    if body is not None and {one.argument for one in tool.operation.parameters} >= {*names}:
        # An update without a change would be no task.
        names += [one.argument for one in body.properties[:1]]
    return {name: samples[name] for name in names if name in samples}


async def _count_items(runner: CaseRunner, path: str) -> int | None:
    _, value = await runner.read_state(path)
    return len(value) if isinstance(value, list) else None


def _describe_task(tool: OperationTool, arguments: dict[str, Any]) -> str:
    values = [f"{name} {_write_value(value)}" for name, value in arguments.items()]
    summary = tool_summary(tool).rstrip(".")
    task = f"{summary}: {', '.join(values)}." if values else f"{summary}."
    return truncate_text(" ".join(strip_hidden(task).split()), _LONGEST_TASK)


def _write_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _state_paths(tool: OperationTool, toolset: Toolset) -> Iterator[str]:
    # A write changes the list at its own path, or at the path above.
    if tool.read_only:
        return
    paths = {tool.path, tool.path.rpartition("/")[0]}
    for other in toolset:
        is_list = other.method == "GET" and other.path in paths and "{" not in other.path
        if is_list and not other.input_schema.get("required"):
            yield other.path


def _format_case(case: dict[str, Any], *, is_first: bool) -> Iterator[str]:
    # Only the first case has comments.
    comments = _COMMENTS if is_first else {}
    call = case["expect"]["calls"][0]
    lines = {
        "name": f"  - name: {_quote(case['name'])}",
        "task": f"    task: {_quote(case['task'])}",
        "calls": "    expect:\n      calls:",
        "tool": f"        - tool: {_quote(call['tool'])}",
        "arguments": f"          arguments: {_quote(call['arguments'])}",
    }
    for name, expression in case["expect"].get("state", {}).items():
        lines["state"] = f"      state:\n        {_quote(name)}: {_quote(expression)}"
    if is_first:
        lines |= _UNUSED
    for key, line in lines.items():
        if comment := comments.get(key):
            yield f"{line[: len(line) - len(line.lstrip())]}# {comment}"
        yield line


def _quote(value: Any) -> str:
    # JSON is YAML, and in it no string of a document can end the line or the file.
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return escape_controls(text)
