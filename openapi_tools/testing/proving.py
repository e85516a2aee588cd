"""Prove tools against their own document: each is called through the mock, with sampled input."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi_tools.http_rules import essence, is_form, is_wildcard
from openapi_tools.json_values import follow, pointer
from openapi_tools.openapi_core import operation_at
from openapi_tools.testing.mock import UNJUDGED
from openapi_tools.testing.mock_answers import concrete_type
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.model import RequestBody
    from openapi_tools.result import ToolResult
    from openapi_tools.testing.mock import MockApi
    from openapi_tools.testing.recording import RecordedCall
    from openapi_tools.tools.toolset import Toolset

_ORDER = ("ok", "skipped", UNJUDGED, "failed")
_EXAMPLE = "the document's example does not match its schema"
_UNSURE = re.compile(
    "valid under each of|under each of {|could not be resolved|discriminating property"
    "|not a valid regular expression"
)
"""Errors about unions, discriminators and patterns that do not tell whether a value fits."""

_EMPTY = "Missing required request body"  # a form without members has no bytes


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict on one tool.

    Attributes:
        tool: Its name.
        request: Of its requests: `"ok"`, `"failed"` or `"not judged"`.
        answer: The same of its answers, which come from the document itself.
        reason: The first fault, else the first part that was not judged; empty if there is none.
        pointer: JSON Pointer of the operation.
        cause: Of a failure: `"document"` where an example in it breaks its own schema and nothing
            else is wrong, `"tool"` for a wrong request or a wrong reading of the answer.
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


async def prove(toolset: Toolset, api: MockApi) -> list[Proof]:
    """Call every tool, with the required arguments only and with all; judge requests and answers.

    Args:
        toolset: Loaded with `client=api.client()` and `Settings(anonymous=True,
            check_answers=True, base_url=…)`.
        api: A mock of the same document, made with `refuse=False` and `state=False`.
    """
    return [await _proved(tool, api) for tool in toolset]


async def _proved(tool: Any, api: MockApi) -> Proof:
    found = []
    for arguments in _inputs(tool.input_schema, tool.operation.body):
        if told := _misfit(arguments, tool.input_schema):
            found.append(Proof(tool.name, UNJUDGED, UNJUDGED, told))
        else:
            found.append(await _called(tool, api, arguments))
    worst = max(found, key=lambda proof: max(map(_ORDER.index, (proof.request, proof.answer))))
    return replace(worst, pointer=tool.pointer)


def _misfit(arguments: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return why sampled arguments do not fit a schema; empty where they do."""
    try:  # a tool sends what takes too long to check
        fault = next(iter(jsonschema_rs.validator_for(schema).iter_errors(arguments)), None)
    except (ValueError, jsonschema_rs.ValidationError):  # such as a pattern that is too large
        return ""
    place = pointer(fault.instance_path) if fault else ""
    return f"no sampled input fits: {place}: {fault.message}" if fault else ""


async def _called(tool: Any, api: MockApi, arguments: dict[str, Any]) -> Proof:
    sent, known = len(api.calls), len(api.problems)
    result = await tool.execute(arguments)
    if len(api.calls) == sent:
        told = f"the sampled input was not sent: {result.output}"
        return Proof(tool.name, UNJUDGED, UNJUDGED, told)
    document = api.openapi()
    _, operation = operation_at(document, tool.pointer)
    problems = list(_relevant(document, operation, api.calls[-1], api.problems[known:]))
    return _judged(tool.name, result, problems, is_shown=_shows_answer(document, operation))


def _relevant(
    document: Any, operation: Any, call: RecordedCall, problems: list[str]
) -> Iterator[str]:
    """Yield the problems of a request, but for those that openapi-core cannot know."""
    kind = essence(call.headers.get("content-type", ""))
    body = follow(document, operation.get("requestBody"))
    content = follow(document, follow(document, body.get("content")).get(kind))
    unions = {"oneOf", "anyOf"} & follow(document, content.get("schema")).keys()
    for problem in problems:
        if ("form" in kind and unions) or _UNSURE.search(problem):
            yield f"{UNJUDGED}: {problem}"
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
    responses = follow(document, operation.get("responses"))
    good = (follow(document, node) for code, node in responses.items() if str(code)[0] in "2d")
    kinds = (follow(document, node.get("content")).values() for node in good)
    return any("example" in kind or "examples" in kind for some in kinds for kind in some)


def _judged(tool: str, result: ToolResult, problems: list[str], *, is_shown: bool) -> Proof:
    error = result.error or {}
    # A value made for a schema that it does not fit is not the tool's fault.
    fault = _EXAMPLE if is_shown else f"{UNJUDGED}: no sample fits"
    answered = [
        p if p.startswith(UNJUDGED) else f"{UNJUDGED if _UNSURE.search(p) else fault}: {p}"
        for p in result.metadata.get("answer_problems", ())
    ]
    if error and "status" not in error:  # an error status is read like any other answer
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
