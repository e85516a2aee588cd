"""Workflows as cases, whose expected calls are the steps, and the replay of their calls.

Spec: Arazzo 1.1.0; only steps that call operations one after the other.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from openapi_tools.common.arazzo import (
    INPUT,
    RESPONSE_BODY,
    STEP_OUTPUT,
    holds_expression,
    is_expression,
)
from openapi_tools.common.json_values import as_dict, dump_json, join_pointer, resolve_pointer
from openapi_tools.common.options import close_names
from openapi_tools.errors import InvalidCases
from openapi_tools.testing.evaluation.case_tables import EvalCase
from openapi_tools.testing.evaluation.model_replies import ModelError
from openapi_tools.toolsets.document_info import document_pointer
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_LEAST_TURNS = 20
_LONGEST_FILLED = 10_000_000  # characters of the values in a string
_EMBEDDED = re.compile(r"\{(\$[^{}]*)\}")
_SOURCE = re.compile(r"\$sourceDescriptions\.[\w-]+\.")
# These change the order of the calls, or their arguments, which cases cannot express.
_UNSUPPORTED = (
    *("workflowId", "channelPath", "action", "onSuccess", "onFailure"),
    *("replacements", "reference"),
)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, value: Any) -> Any:
        aliases = {field.alias for field in cls.model_fields.values()}
        for key in _UNSUPPORTED:
            if isinstance(value, dict) and key in value and key not in aliases:
                raise ValueError(f"{key} is not supported: steps call operations in their order.")
        return value


class _StepParameter(_Part):
    name: str
    location: str = Field(alias="in")
    value: Any


class _StepBody(_Part):
    payload: Any = None


class _WorkflowStep(_Part):
    step_id: str = Field(alias="stepId", min_length=1)
    operation_id: str | None = Field(default=None, alias="operationId")
    operation_path: str | None = Field(default=None, alias="operationPath")
    parameters: list[_StepParameter] = Field(default_factory=list)
    request_body: _StepBody | None = Field(default=None, alias="requestBody")
    outputs: dict[str, Any] = Field(default_factory=dict)


class Workflow(_Part):
    """A workflow of an Arazzo document."""

    workflow_id: str = Field(alias="workflowId", min_length=1)
    summary: str = ""
    description: str = ""
    inputs: dict[str, Any] = Field(default_factory=dict)
    parameters: list[_StepParameter] = Field(default_factory=list)
    steps: list[_WorkflowStep] = Field(min_length=1, max_length=100)

    @property
    def task(self) -> str:
        """The task of its case."""
        return self.description or self.summary or self.workflow_id


class WorkflowFile(_Part):
    """An Arazzo document, as far as cases need it."""

    arazzo: str = Field(pattern=r"^1\.\d+\.\d+")
    workflows: list[Workflow] = Field(min_length=1)


class WorkflowCall(NamedTuple):
    """A step as a call of a tool; its arguments may contain expressions."""

    step_id: str
    tool: str
    arguments: dict[str, Any]
    outputs: dict[str, Any]


def make_cases(workflows: Sequence[Workflow], toolset: Toolset, source: str) -> list[EvalCase]:
    """Return a case for each workflow: its steps in order, with the arguments that are constants.

    Raises:
        InvalidCases: A step calls no operation of the tools, or passes an unknown argument.
    """
    return [_make_case(workflow, toolset, source, at) for at, workflow in enumerate(workflows)]


def _make_case(workflow: Workflow, toolset: Toolset, source: str, at: int) -> EvalCase:
    calls = _list_calls(workflow, toolset, source, at)
    expected = [
        {
            "tool": call.tool,
            "arguments": {n: v for n, v in call.arguments.items() if not _has_expression(v)},
            "schema": _make_schema(
                {n: v for n, v in call.arguments.items() if _has_expression(v)}, is_open=True
            ),
        }
        for call in calls
    ]
    case = {
        "name": workflow.workflow_id,
        "task": workflow.task,
        "expect": {"calls": expected, "order": "exact"},
        # The usual 20 would end a long workflow before its last step.
        "limits": {"turns": max(_LEAST_TURNS, 2 * len(calls))},
    }
    try:
        return EvalCase.model_validate(case)
    except ValidationError:  # such as a dict of Python whose keys are no strings
        raise _StepPlace(source, ("workflows", at)).make_error("a value is not JSON.") from None


def _list_calls(workflow: Workflow, toolset: Toolset, source: str, at: int) -> list[WorkflowCall]:
    names: set[str] = set()
    calls = []
    for number, step in enumerate(workflow.steps):
        place = _StepPlace(source, ("workflows", at, "steps", number))
        if step.step_id in names:
            raise place.make_error(f"another step is called {step.step_id!r:.100}.", "stepId")
        names.add(step.step_id)
        tool = _find_tool(step, toolset, place)
        parameters = {(part.location, part.name): part for part in workflow.parameters}
        parameters |= {(part.location, part.name): part for part in step.parameters}
        arguments = dict(_read_parameters(list(parameters.values()), tool, place))
        if step.request_body is not None:
            arguments |= _read_payload(step.request_body.payload, tool, place)
        calls.append(WorkflowCall(step.step_id, tool.name, arguments, step.outputs))
    return calls


class _StepPlace(NamedTuple):
    """Where a step is: the name of the file, and the keys that lead to the step."""

    source: str
    keys: tuple[object, ...]

    def make_error(self, reason: str, *keys: object) -> InvalidCases:
        """Return the error for a place below the step."""
        pointer = join_pointer((*self.keys, *keys))
        return InvalidCases(reason, source=self.source, pointer=pointer)


def _find_tool(step: _WorkflowStep, toolset: Toolset, place: _StepPlace) -> OperationTool:
    if step.operation_id is not None:
        operation_id = _SOURCE.sub("", step.operation_id)
        try:
            return toolset[operation_id]
        except KeyError as error:
            raise place.make_error(str(error.args[0]), "operationId") from None
    if step.operation_path is None:
        raise place.make_error("the step has neither operationId nor operationPath.")
    pointer = unquote(step.operation_path.partition("#")[2])
    tools = {document_pointer(tool): tool for tool in toolset}
    if pointer not in tools:
        raise place.make_error(f"no tool is at {pointer!r:.200}.", "operationPath")
    return tools[pointer]


def _read_parameters(
    parameters: Sequence[_StepParameter], tool: OperationTool, place: _StepPlace
) -> Iterator[tuple[str, Any]]:
    declared = {(part.location, part.name): part.argument for part in tool.operation.parameters}
    for at, part in enumerate(parameters):
        argument = declared.get((part.location, part.name))
        if argument is None:
            close = close_names(part.name, [name for _, name in declared])
            reason = f"{tool.name} has no parameter {part.name!r:.100} in {part.location}{close}"
            raise place.make_error(reason, "parameters", at)
        # An argument that a configuration fixes is not passed by calls.
        if argument in tool.input_schema["properties"]:
            yield argument, part.value


def _read_payload(payload: Any, tool: OperationTool, place: _StepPlace) -> dict[str, Any]:
    body = tool.operation.body
    if body is None:
        raise place.make_error(f"{tool.name} takes no body.", "requestBody")
    if body.argument:
        return {body.argument: payload}
    if is_expression(payload):
        return {}
    if not isinstance(payload, dict):
        raise place.make_error("this must be an object.", "requestBody", "payload")
    names = {part.name: part.argument for part in body.properties}
    for name in payload:
        if name not in names:
            reason = f"{tool.name} has no such argument{close_names(str(name), names)}"
            raise place.make_error(reason, "requestBody", "payload", name)
    arguments = {names[name]: value for name, value in payload.items()}
    return {n: v for n, v in arguments.items() if n in tool.input_schema["properties"]}


def _has_expression(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_expression, value.values()))
    if isinstance(value, list):
        return any(map(_has_expression, value))
    return holds_expression(value)


def _make_schema(value: Any, *, is_open: bool = False) -> Any:
    if isinstance(value, dict):
        properties = {key: _make_schema(part) for key, part in value.items()}
        closed = {} if is_open else {"additionalProperties": False}
        return {"type": "object", "properties": properties, "required": [*value], **closed}
    if isinstance(value, list):
        count = {"minItems": len(value), "maxItems": len(value)}
        return {"type": "array", "prefixItems": list(map(_make_schema, value)), **count}
    return {} if holds_expression(value) else {"const": value}


def make_replay(
    workflows: Sequence[Workflow], toolset: Toolset, source: str = ""
) -> Callable[..., Any]:
    """Return a model that makes the calls of workflows; links take values of the new responses."""
    calls = {w.task: _list_calls(w, toolset, source, at) for at, w in enumerate(workflows)}
    inputs = {w.task: _sample_inputs(w.inputs) for w in workflows}

    async def reply(messages: list[dict[str, Any]], _: Any) -> dict[str, Any]:
        task = messages[0]["content"]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if len(results) == len(calls[task]):
            return {"role": "assistant", "content": "Done."}
        values = _ReplayValues(calls[task], results, inputs[task])
        call = calls[task][len(results)]
        function = {"name": call.tool, "arguments": dump_json(values.fill(call.arguments))}
        return {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}

    return reply


def _sample_inputs(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        name: part["default"] if "default" in as_dict(part) else sample(part, schema)
        for name, part in as_dict(schema.get("properties")).items()
    }


class _ReplayValues(NamedTuple):
    """The values that the expressions of a step may refer to."""

    calls: list[WorkflowCall]
    results: list[str]
    inputs: dict[str, Any]

    def fill(self, value: Any) -> Any:
        """Return a value with its expressions replaced."""
        if isinstance(value, dict):
            return {key: self.fill(part) for key, part in value.items()}
        if isinstance(value, list):
            return list(map(self.fill, value))
        if is_expression(value):
            return self._evaluate(value)
        if holds_expression(value):
            return "".join(self._fill_string(value))
        return value

    def _fill_string(self, text: str) -> Iterator[str]:
        # Each step may repeat the values of the step before many times.
        size = end = 0
        for match in _EMBEDDED.finditer(text):
            value = self._embed(match[1])
            size += len(value)
            if size > _LONGEST_FILLED:
                raise ModelError(f"a string has more than {_LONGEST_FILLED:,} characters.")
            yield from (text[end : match.start()], value)
            end = match.end()
        yield text[end:]

    def _embed(self, expression: str) -> str:
        value = self._evaluate(expression)
        return value if isinstance(value, str) else dump_json(value)

    def _evaluate(self, expression: str) -> Any:
        name = INPUT.fullmatch(expression)
        if name and name[1] in self.inputs:
            return self.inputs[name[1]]
        output = STEP_OUTPUT.fullmatch(expression)
        for call, result in zip(self.calls, self.results, strict=False):
            if output and call.step_id == output[1]:
                body = RESPONSE_BODY.fullmatch(str(call.outputs.get(output[2])))
                if body:
                    return _read_result(call, result, f"{body[1] or ''}{output[3] or ''}")
        raise ModelError(f"{expression:.200} refers to no input or output of an earlier step.")


def _read_result(call: WorkflowCall, result: str, pointer: str) -> Any:
    try:
        return resolve_pointer(json.loads(result), pointer)
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ModelError(f"the response of {call.step_id} has no {pointer or 'JSON'}.") from None
