"""Prove tools against their own document: each is called through the mock, with sampled input."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi_tools.common.http_rules import essence, is_form, is_json, is_multipart, is_wildcard
from openapi_tools.common.json_schema import transform_schemas
from openapi_tools.common.json_values import (
    as_list,
    follow_references,
    join_pointer,
    omit_keys,
    split_pointer,
)
from openapi_tools.conformance.routes import operation_at
from openapi_tools.testing.mock import NOT_JUDGED_PREFIX
from openapi_tools.testing.mock_responses import concrete_type
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import Operation, RequestBody
    from openapi_tools.result import ToolResult
    from openapi_tools.testing.mock import MockApi
    from openapi_tools.testing.recording import RecordedCall
    from openapi_tools.toolsets.toolset import Toolset

_ORDER = ("ok", "skipped", NOT_JUDGED_PREFIX, "failed")
_EXAMPLE = "the document's example does not match its schema"
_OWN_VALUE = "a default or example of the document does not match its schema"
_NO_SAMPLE = f"{NOT_JUDGED_PREFIX}: no sampled input matches the document"
_UNSENT = "an empty array or object is not sent"
# Errors about unions, discriminators and patterns that do not tell whether a value fits.
_UNSURE = re.compile(
    "valid under each of|under each of {|could not be resolved|discriminating property"
    "|not a valid regular expression"
)

_EMPTY = "Missing required request body"  # a form without properties has no bytes
_SWITCHING_PROTOCOLS = 101


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict on one tool.

    Attributes:
        tool: Its name.
        request: The verdict on its requests: `"ok"`, `"failed"` or `"not judged"`.
        response: The same of its responses, which come from the document itself.
        reason: The first fault, else the first part that was not judged; empty if there is none.
        pointer: JSON Pointer of the operation.
        cause: Of a failure: `"document"` where a default or an example in it breaks its own schema
            and nothing else is wrong, `"tool"` for a wrong request or a wrong reading of the
            response.
    """

    tool: str
    request: str = "ok"
    response: str = "ok"
    reason: str = ""
    pointer: str = ""
    cause: str = ""

    @property
    def verdict(self) -> str:
        """`"proved"`, `"failed"`, `"not judged"`, or `"skipped"`: an operation without a tool."""
        worst = max((self.request, self.response), key=_ORDER.index)
        return "proved" if worst == "ok" else worst


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The proof of one input, and by argument why its sampled value was not a right one."""

    proof: Proof
    misfits: dict[str, str] = field(default_factory=dict)


async def prove_tools(toolset: Toolset, api: MockApi) -> list[Proof]:
    """Call every tool, with the required arguments only and with all; check requests and responses.

    Where a sampled value does not fit the document, the call is repeated with another one.

    Args:
        toolset: Loaded with `client=api.client()` and `Settings(anonymous=True,
            check_responses=True, base_url=…)`.
        api: A mock of the same document, made with `refuse=False` and `state=False`.
    """
    return [await _prove_tool(tool, api) for tool in toolset]


async def _prove_tool(tool: Any, api: MockApi) -> Proof:
    schema = tool.input_schema
    proofs = []
    for arguments in sample_inputs(schema, tool.operation.body):
        attempt = await _try_input(tool, api, arguments)
        if attempt.misfits:
            proofs.append(await _second_proof(tool, api, arguments, attempt))
        else:
            proofs.append(attempt.proof)
    return replace(max(proofs, key=_rank_proof), pointer=tool.pointer)


def _rank_proof(proof: Proof) -> tuple[int, bool]:
    return max(map(_ORDER.index, (proof.request, proof.response))), proof.cause == "tool"


async def _second_proof(
    tool: Any, api: MockApi, arguments: dict[str, Any], first: _Attempt
) -> Proof:
    schema = tool.input_schema
    schema_without_values = _remove_documented_values(schema)
    samples = sample(schema_without_values, schema_without_values)
    other_arguments = arguments | {name: samples[name] for name in first.misfits if name in samples}
    if other_arguments == arguments:
        return first.proof
    second = await _try_input(tool, api, other_arguments)
    if second.misfits:
        return first.proof
    reasons = [why for why in first.misfits.values() if why != _UNSENT]
    if not reasons or second.proof.cause == "tool" or second.proof.request != "ok":
        return second.proof
    reason = f"request: {_OWN_VALUE}: {reasons[0]}"
    return replace(second.proof, request="failed", reason=reason, cause="document")


def _remove_documented_values(schema: dict[str, Any]) -> dict[str, Any]:
    # Definitions may refer to themselves, so arrays and objects in them may stay empty.
    definitions = schema.get("$defs", {})
    filled = transform_schemas(
        omit_keys(schema, ["$defs"]), lambda node: _require_content(_remove_examples(node))
    )
    return {
        **filled,
        "$defs": {
            name: transform_schemas(definitions[name], _remove_examples) for name in definitions
        },
    }


def _remove_examples(node: dict[str, Any]) -> dict[str, Any]:
    return omit_keys(node, ["default", "example", "examples"])


def _require_content(node: dict[str, Any]) -> dict[str, Any]:
    if node.get("type") == "array" and node.get("maxItems") != 0:
        return {"minItems": 1, **node}
    if node.get("type") != "object" or node.get("required"):
        return node
    if properties := node.get("properties"):
        return {**node, "required": [*properties][:1]}
    return node if node.get("additionalProperties") is False else {"minProperties": 1, **node}


async def _try_input(tool: Any, api: MockApi, arguments: dict[str, Any]) -> _Attempt:
    if misfits := _find_misfits(arguments, tool.input_schema):
        reason = f"no sampled input matches: {next(iter(misfits.values()))}"
        return _Attempt(Proof(tool.name, NOT_JUDGED_PREFIX, NOT_JUDGED_PREFIX, reason), misfits)
    call_count, problem_count = len(api.calls), len(api.problems)
    result = await tool.execute(arguments)
    if len(api.calls) == call_count:
        reason = f"the sampled input was not sent: {result.output}"
        return _Attempt(Proof(tool.name, NOT_JUDGED_PREFIX, NOT_JUDGED_PREFIX, reason))
    document, call = api.openapi_3, api.calls[-1]
    _, operation = operation_at(document, tool.pointer)
    problems = list(_filter_problems(document, operation, call, api.problems[problem_count:]))
    if any(not problem.startswith(NOT_JUDGED_PREFIX) for problem in problems):
        misfits, problems = _explain_problems(tool, api, arguments, problems)
    is_shown = _has_response_example(document, operation)
    return _Attempt(_make_proof(tool.name, result, problems, call, is_shown=is_shown), misfits)


def _find_misfits(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, str]:
    try:  # a tool sends what takes too long to check
        faults = list(jsonschema_rs.validator_for(schema).iter_errors(arguments))
    except (ValueError, jsonschema_rs.ValidationError):  # such as a pattern that is too large
        return {}
    reasons: dict[str, str] = {}
    for fault in faults:
        name = str(next(iter(fault.instance_path), ""))
        reasons.setdefault(name, f"{join_pointer(fault.instance_path)}: {fault.message}")
    return reasons


def _explain_problems(
    tool: Any, api: MockApi, arguments: dict[str, Any], problems: list[str]
) -> tuple[dict[str, str], list[str]]:
    # Whatever the tool made of such values, the request cannot be right: these are not its
    # faults.
    misfits: dict[str, str] = {}
    places: dict[str, str] = {}
    for name, place, why in _sample_faults(tool, api, arguments):
        places[place] = why
        misfits.setdefault(name, why)
    lines = []
    for problem in problems:
        is_explained = any(problem.startswith(place) for place in places)
        lines.append(f"{_NO_SAMPLE}: {problem}" if is_explained else problem)
    return (misfits, lines) if lines != problems else ({}, problems)


def _sample_faults(
    tool: Any, api: MockApi, arguments: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    operation: Operation = tool.operation
    names = {(one.location, one.name): one.argument for one in operation.parameters}
    values = {key: arguments[name] for key, name in names.items() if name in arguments}
    for (location, wire), value in values.items():
        if _has_empty(value):
            place = f"{location} parameter {wire!r}"
            yield names[location, wire], place, _UNSENT
            yield names[location, wire], f"Missing required {location} parameter: {wire}", _UNSENT
    body = _sent_body(tool, api, arguments)
    arguments_by_property, whole = {}, ""
    if operation.body is not None:
        arguments_by_property = {one.name: one.argument for one in operation.body.properties}
        whole = operation.body.argument
    if body and not is_json(body[0]):
        for wire, value in body[1].items() if isinstance(body[1], dict) else ():
            if _has_empty(value):
                yield arguments_by_property.get(wire, whole), "body: ", _UNSENT
    for fault in api.checker.sample_faults(split_pointer(tool.pointer), values, body):
        if fault.location != "body":
            place = f"{fault.location} parameter {fault.name!r}"
            yield names[fault.location, fault.name], place, fault.message
        elif whole or fault.name in arguments_by_property:
            yield whole or arguments_by_property[fault.name], "body: ", fault.message
        else:
            yield from ((name, "body: ", fault.message) for name in arguments_by_property.values())


def _sent_body(tool: Any, api: MockApi, arguments: dict[str, Any]) -> tuple[str, Any] | None:
    body: RequestBody | None = tool.operation.body
    kind = essence(api.calls[-1].headers.get("content-type", ""))
    if body is None or not (is_json(kind) or is_form(kind) or is_multipart(kind)):
        return None
    document = api.openapi_3
    declared = follow_references(
        document, operation_at(document, tool.pointer)[1].get("requestBody")
    )
    content = follow_references(document, declared.get("content"))
    key = next((key for key in content if essence(key) == kind or is_wildcard(key)), None)
    argument_names = {
        one.name: one.argument for one in body.properties if one.argument in arguments
    }
    value: Any = {name: arguments[argument] for name, argument in argument_names.items()}
    if body.argument:
        value = arguments.get(body.argument)
    return None if key is None or value is None else (key, _without_files(value))


def _without_files(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_files(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() >= {"base64", "filename"}:
        return "sample"
    return {name: _without_files(item) for name, item in value.items()}


def _has_empty(value: Any) -> bool:
    # RFC 6570, section 2.3: an empty list or map is undefined, and leaves nothing on the wire.
    parts = value.values() if isinstance(value, dict) else as_list(value)
    return value in ({}, []) or any(part is None or _has_empty(part) for part in parts)


def _filter_problems(
    document: Any, operation: Any, call: RecordedCall, problems: list[str]
) -> Iterator[str]:
    kind = essence(call.headers.get("content-type", ""))
    body = follow_references(document, operation.get("requestBody"))
    content = follow_references(
        document, follow_references(document, body.get("content")).get(kind)
    )
    unions = {"oneOf", "anyOf"} & follow_references(document, content.get("schema")).keys()
    for problem in problems:
        if ("form" in kind and unions) or _UNSURE.search(problem):
            yield f"{NOT_JUDGED_PREFIX}: {problem.removeprefix(f'{NOT_JUDGED_PREFIX}: ')}"
        elif problem != _EMPTY or not is_form(kind):
            yield problem


def sample_inputs(schema: dict[str, Any], body: RequestBody | None) -> Iterator[dict[str, Any]]:
    """Yield inputs for a tool: its required arguments, and all if there are more."""
    everything: dict[str, Any] = sample(schema, schema)
    file = everything.get(body.argument) if body and is_wildcard(body.media_type) else None
    if body and isinstance(file, dict) and "filename" in file:
        file["content_type"] = concrete_type(body.media_type)
    for name, part in schema.get("properties", {}).items():
        if part == {} and name in everything:  # any value; an object has many ways to be sent
            everything[name] = "sample"
    required = {name: everything[name] for name in schema.get("required", ()) if name in everything}
    yield required
    if everything != required:
        yield everything


def _has_response_example(document: Any, operation: Any) -> bool:
    responses = follow_references(document, operation.get("responses"))
    good = (
        follow_references(document, node)
        for code, node in responses.items()
        if str(code)[0] in "2d"
    )
    kinds = (follow_references(document, node.get("content")).values() for node in good)
    return any("example" in kind or "examples" in kind for some in kinds for kind in some)


def _make_proof(
    tool: str, result: ToolResult, problems: list[str], call: RecordedCall, *, is_shown: bool
) -> Proof:
    error = result.error or {}
    # A value made for a schema that it does not fit is not the tool's fault.
    fault = _EXAMPLE if is_shown else f"{NOT_JUDGED_PREFIX}: no sample matches"
    problems_of_response = [
        p
        if p.startswith(NOT_JUDGED_PREFIX)
        else f"{NOT_JUDGED_PREFIX if _UNSURE.search(p) else fault}: {p}"
        for p in result.metadata.get("response_problems", ())
    ]
    if call.status == _SWITCHING_PROTOCOLS:
        problems_of_response.append(f"{NOT_JUDGED_PREFIX}: {result.output}")
    elif error and "status" not in error:  # an error status is read like any other response
        problems_of_response.append(f"{error['type']}: {result.output}")
    reasons = [("request", p) for p in problems] + [("response", p) for p in problems_of_response]
    reasons.sort(
        key=lambda pair: (pair[1].startswith(NOT_JUDGED_PREFIX), pair[1].startswith(_EXAMPLE))
    )
    reason = (
        f"{reasons[0][0]}: {reasons[0][1].removeprefix(f'{NOT_JUDGED_PREFIX}: ')}"
        if reasons
        else ""
    )
    verdicts = _judge_problems(problems), _judge_problems(problems_of_response)
    cause = "document" if reasons and reasons[0][1].startswith(_EXAMPLE) else "tool"
    return Proof(tool, *verdicts, reason, cause=cause if "failed" in verdicts else "")


def _judge_problems(problems: list[str]) -> str:
    if not problems:
        return "ok"
    return NOT_JUDGED_PREFIX if all(p.startswith(NOT_JUDGED_PREFIX) for p in problems) else "failed"
