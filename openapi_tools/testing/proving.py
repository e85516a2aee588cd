"""Prove tools against their own document: each is called through the mock, with sampled input."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi_tools.http_rules import essence, is_form, is_json, is_multipart, is_wildcard
from openapi_tools.json_values import (
    follow_references,
    join_pointer,
    omit_keys,
    split_pointer,
    transform_schemas,
)
from openapi_tools.openapi_core import operation_at
from openapi_tools.testing.mock import UNJUDGED
from openapi_tools.testing.mock_answers import concrete_type
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import Operation, RequestBody
    from openapi_tools.result import ToolResult
    from openapi_tools.testing.mock import MockApi
    from openapi_tools.testing.recording import RecordedCall
    from openapi_tools.tools.toolset import Toolset

_ORDER = ("ok", "skipped", UNJUDGED, "failed")
_EXAMPLE = "the document's example does not match its schema"
_OWN_VALUE = "a default or example of the document does not match its schema"
_NO_SAMPLE = f"{UNJUDGED}: no sampled input fits the document"
_UNSENT = "an empty array or object is not sent"
_UNSURE = re.compile(
    "valid under each of|under each of {|could not be resolved|discriminating property"
    "|not a valid regular expression"
)
"""Errors about unions, discriminators and patterns that do not tell whether a value fits."""

_EMPTY = "Missing required request body"  # a form without members has no bytes
_SWITCHING_PROTOCOLS = 101


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict on one tool.

    Attributes:
        tool: Its name.
        request: Of its requests: `"ok"`, `"failed"` or `"not judged"`.
        answer: The same of its answers, which come from the document itself.
        reason: The first fault, else the first part that was not judged; empty if there is none.
        pointer: JSON Pointer of the operation.
        cause: Of a failure: `"document"` where a default or an example in it breaks its own schema
            and nothing else is wrong, `"tool"` for a wrong request or a wrong reading of the
            answer.
    """

    tool: str
    request: str = "ok"
    answer: str = "ok"
    reason: str = ""
    pointer: str = ""
    cause: str = ""

    @property
    def verdict(self) -> str:
        """`"proved"`, `"failed"`, `"not judged"`, or `"skipped"`: an operation without a tool."""
        worst = max((self.request, self.answer), key=_ORDER.index)
        return "proved" if worst == "ok" else worst


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The proof of one input, and by argument why its sampled value was not a right one."""

    proof: Proof
    misfits: dict[str, str] = field(default_factory=dict)


async def prove(toolset: Toolset, api: MockApi) -> list[Proof]:
    """Call every tool, with the required arguments only and with all; judge requests and answers.

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
    for arguments in _inputs(schema, tool.operation.body):
        attempt = await _attempt(tool, api, arguments)
        if attempt.misfits:
            proofs.append(await _second_proof(tool, api, arguments, attempt))
        else:
            proofs.append(attempt.proof)
    return replace(max(proofs, key=_rank), pointer=tool.pointer)


def _rank(proof: Proof) -> tuple[int, bool]:
    """Return how bad a proof is; the tool's fault is worse than the document's."""
    return max(map(_ORDER.index, (proof.request, proof.answer))), proof.cause == "tool"


async def _second_proof(
    tool: Any, api: MockApi, arguments: dict[str, Any], first: _Attempt
) -> Proof:
    """Return the proof of other values for those arguments whose sample was not right."""
    schema = tool.input_schema
    plain = _without_own_values(schema)
    made = sample(plain, plain)
    others = arguments | {name: made[name] for name in first.misfits if name in made}
    if others == arguments:
        return first.proof
    second = await _attempt(tool, api, others)
    if second.misfits:
        return first.proof
    own = [why for why in first.misfits.values() if why != _UNSENT]
    if not own or second.proof.cause == "tool" or second.proof.request != "ok":
        return second.proof
    reason = f"request: {_OWN_VALUE}: {own[0]}"
    return replace(second.proof, request="failed", reason=reason, cause="document")


def _without_own_values(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's schema without defaults and examples, and with little that may be empty.

    Definitions may refer to themselves, so they may stay empty.
    """
    definitions = schema.get("$defs", {})
    filled = transform_schemas(omit_keys(schema, ["$defs"]), lambda node: _not_empty(_plain(node)))
    return {
        **filled,
        "$defs": {name: transform_schemas(definitions[name], _plain) for name in definitions},
    }


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    return omit_keys(node, ["default", "example", "examples"])


def _not_empty(node: dict[str, Any]) -> dict[str, Any]:
    if node.get("type") == "array" and node.get("maxItems") != 0:
        return {"minItems": 1, **node}
    if node.get("type") != "object" or node.get("required"):
        return node
    if properties := node.get("properties"):
        return {**node, "required": [*properties][:1]}
    return node if node.get("additionalProperties") is False else {"minProperties": 1, **node}


async def _attempt(tool: Any, api: MockApi, arguments: dict[str, Any]) -> _Attempt:
    if misfits := _misfits(arguments, tool.input_schema):
        told = f"no sampled input fits: {next(iter(misfits.values()))}"
        return _Attempt(Proof(tool.name, UNJUDGED, UNJUDGED, told), misfits)
    sent, known = len(api.calls), len(api.problems)
    result = await tool.execute(arguments)
    if len(api.calls) == sent:
        told = f"the sampled input was not sent: {result.output}"
        return _Attempt(Proof(tool.name, UNJUDGED, UNJUDGED, told))
    document, call = api.openapi_3, api.calls[-1]
    _, operation = operation_at(document, tool.pointer)
    problems = list(_relevant(document, operation, call, api.problems[known:]))
    if any(not problem.startswith(UNJUDGED) for problem in problems):
        misfits, problems = _explained(tool, api, arguments, problems)
    is_shown = _shows_answer(document, operation)
    return _Attempt(_judged(tool.name, result, problems, call, is_shown=is_shown), misfits)


def _misfits(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, str]:
    """Return why sampled arguments do not fit a tool's schema, by argument."""
    try:  # a tool sends what takes too long to check
        faults = list(jsonschema_rs.validator_for(schema).iter_errors(arguments))
    except (ValueError, jsonschema_rs.ValidationError):  # such as a pattern that is too large
        return {}
    found: dict[str, str] = {}
    for fault in faults:
        name = str(next(iter(fault.instance_path), ""))
        found.setdefault(name, f"{join_pointer(fault.instance_path)}: {fault.message}")
    return found


def _explained(
    tool: Any, api: MockApi, arguments: dict[str, Any], problems: list[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the arguments whose values the document refuses, and the problems that they explain.

    Whatever the tool made of such values, the request cannot be right: these are not its faults.
    """
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
    """Yield arguments, how a problem about them begins, and what is wrong with their values."""
    operation: Operation = tool.operation
    names = {(one.location, one.name): one.argument for one in operation.parameters}
    values = {key: arguments[name] for key, name in names.items() if name in arguments}
    for (location, wire), value in values.items():
        if _has_empty(value):
            place = f"{location} parameter {wire!r}"
            yield names[location, wire], place, _UNSENT
            yield names[location, wire], f"Missing required {location} parameter: {wire}", _UNSENT
    body = _body_of(tool, api, arguments)
    members, whole = {}, ""
    if operation.body is not None:
        members = {one.name: one.argument for one in operation.body.properties}
        whole = operation.body.argument
    if body and not is_json(body[0]):
        for wire, value in body[1].items() if isinstance(body[1], dict) else ():
            if _has_empty(value):
                yield members.get(wire, whole), "body: ", _UNSENT
    for fault in api.judge.sample_faults(split_pointer(tool.pointer), values, body):
        if fault.location != "body":
            place = f"{fault.location} parameter {fault.name!r}"
            yield names[fault.location, fault.name], place, fault.message
        elif whole or fault.name in members:
            yield whole or members[fault.name], "body: ", fault.message
        else:
            yield from ((name, "body: ", fault.message) for name in members.values())


def _body_of(tool: Any, api: MockApi, arguments: dict[str, Any]) -> tuple[str, Any] | None:
    """Return the media type in the document, and the value, of a body that was sent."""
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
    given = {one.name: one.argument for one in body.properties if one.argument in arguments}
    value: Any = {name: arguments[argument] for name, argument in given.items()}
    if body.argument:
        value = arguments.get(body.argument)
    return None if key is None or value is None else (key, _without_files(value))


def _without_files(value: Any) -> Any:
    """Return a body's value with a string for each file object."""
    if isinstance(value, list):
        return [_without_files(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() >= {"base64", "filename"}:
        return "sample"
    return {name: _without_files(item) for name, item in value.items()}


def _has_empty(value: Any) -> bool:
    # RFC 6570, section 2.3: an empty list or map is undefined, and leaves nothing on the wire.
    parts = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return value in ({}, []) or any(part is None or _has_empty(part) for part in parts)


def _relevant(
    document: Any, operation: Any, call: RecordedCall, problems: list[str]
) -> Iterator[str]:
    """Yield the problems of a request, but for those that openapi-core cannot know."""
    kind = essence(call.headers.get("content-type", ""))
    body = follow_references(document, operation.get("requestBody"))
    content = follow_references(
        document, follow_references(document, body.get("content")).get(kind)
    )
    unions = {"oneOf", "anyOf"} & follow_references(document, content.get("schema")).keys()
    for problem in problems:
        if ("form" in kind and unions) or _UNSURE.search(problem):
            yield f"{UNJUDGED}: {problem.removeprefix(f'{UNJUDGED}: ')}"
        elif problem != _EMPTY or not is_form(kind):
            yield problem


def _inputs(schema: dict[str, Any], body: RequestBody | None) -> Iterator[dict[str, Any]]:
    """Yield sampled arguments: the required ones, and all if there are more."""
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


def _shows_answer(document: Any, operation: Any) -> bool:
    """Tell whether the document has an example of an answer of success."""
    responses = follow_references(document, operation.get("responses"))
    good = (
        follow_references(document, node)
        for code, node in responses.items()
        if str(code)[0] in "2d"
    )
    kinds = (follow_references(document, node.get("content")).values() for node in good)
    return any("example" in kind or "examples" in kind for some in kinds for kind in some)


def _judged(
    tool: str, result: ToolResult, problems: list[str], call: RecordedCall, *, is_shown: bool
) -> Proof:
    error = result.error or {}
    # A value made for a schema that it does not fit is not the tool's fault.
    fault = _EXAMPLE if is_shown else f"{UNJUDGED}: no sample fits"
    answered = [
        p if p.startswith(UNJUDGED) else f"{UNJUDGED if _UNSURE.search(p) else fault}: {p}"
        for p in result.metadata.get("answer_problems", ())
    ]
    if call.status == _SWITCHING_PROTOCOLS:
        answered.append(f"{UNJUDGED}: {result.output}")
    elif error and "status" not in error:  # an error status is read like any other answer
        answered.append(f"{error['type']}: {result.output}")
    told = [("request", p) for p in problems] + [("answer", p) for p in answered]
    told.sort(key=lambda pair: (pair[1].startswith(UNJUDGED), pair[1].startswith(_EXAMPLE)))
    reason = f"{told[0][0]}: {told[0][1].removeprefix(f'{UNJUDGED}: ')}" if told else ""
    verdicts = _verdict(problems), _verdict(answered)
    cause = "document" if told and told[0][1].startswith(_EXAMPLE) else "tool"
    return Proof(tool, *verdicts, reason, cause=cause if "failed" in verdicts else "")


def _verdict(problems: list[str]) -> str:
    if not problems:
        return "ok"
    return UNJUDGED if all(p.startswith(UNJUDGED) for p in problems) else "failed"
