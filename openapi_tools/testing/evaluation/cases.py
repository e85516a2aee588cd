"""Read cases, and check them against the tools: names, arguments, contradictions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError

from openapi_tools.common.json_values import join_pointer
from openapi_tools.common.options import close_names, type_name
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.errors import DocumentError, InvalidCases, describe_choices, format_count
from openapi_tools.loading.source import parse_document, read_file
from openapi_tools.testing.evaluation.case_tables import (
    CaseFile,
    CaseLimits,
    EvalCase,
    Expectations,
    ExpectedCall,
    Prohibitions,
)
from openapi_tools.testing.evaluation.workflow_cases import Workflow, WorkflowFile, make_cases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi_tools.toolsets.toolset import Toolset

_GLOB = frozenset("*?[")
_KINDS = dict.fromkeys(("dict_type", "model_type"), "an object")
_KINDS |= {"list_type": "an array", "string_type": "a string", "bool_type": "true or false"}
_KINDS |= {"int_type": "an integer"}
_TABLES: dict[str, type[BaseModel]] = {"cases": EvalCase, "calls": ExpectedCall}
_TABLES |= {"expect": Expectations, "forbid": Prohibitions, "limits": CaseLimits}


class CaseSource(NamedTuple):
    """Cases and the name of their file, which is empty if they are not from one.

    The workflows of an Arazzo document become cases when the tools are known.
    """

    name: str
    cases: Sequence[EvalCase]
    workflows: Sequence[Workflow] = ()

    def make_error(self, keys: tuple[object, ...], reason: str) -> InvalidCases:
        """Return the error for a place below the cases."""
        return InvalidCases(reason, source=self.name, pointer=join_pointer(("cases", *keys)))


def read_cases(source: Any) -> CaseSource:
    """Return the cases of a YAML or JSON file, of its parsed data, or of a list.

    An Arazzo document is read, too.

    Raises:
        InvalidCases: They break the format; the message says where.
        SourceError: The file cannot be read.
    """
    if isinstance(source, CaseSource):
        return source
    if isinstance(source, list):
        source = {"cases": source}
    if isinstance(source, Mapping):
        return _validate(source, "")
    if not isinstance(source, str | os.PathLike):
        reason = f"cases must be a path, a dict or a list, not {type_name(source)}."
        raise InvalidCases(reason)
    name = str(source)
    data = read_file(Path(source), DEFAULT_SETTINGS).data
    try:
        root = parse_document(data or b"", name=name, strict=True, expected="'cases'").root
    except DocumentError as error:
        raise InvalidCases(error.reason, source=name, pointer=error.pointer) from None
    return _validate(root, name)


def _validate(root: Any, name: str) -> CaseSource:
    try:
        if isinstance(root, Mapping) and "arazzo" in root:
            return CaseSource(name, (), WorkflowFile.model_validate(root).workflows)
        return CaseSource(name, CaseFile.model_validate(root).cases)
    except ValidationError as error:
        fault = error.errors()[0]
    keys = tuple(key for key in fault["loc"] if key != "[key]")
    raise InvalidCases(_describe_fault(fault, keys), source=name, pointer=join_pointer(keys))


def _describe_fault(fault: Any, keys: tuple[int | str, ...]) -> str:
    kind = fault["type"]
    if kind == "extra_forbidden":
        names = [key for key in keys[:-1] if isinstance(key, str)]
        table = _TABLES[names[-1]] if names else CaseFile
        allowed = [field.alias or name for name, field in table.model_fields.items()]
        close = close_names(keys[-1], allowed)
        return f"unknown key{f'; {describe_choices(allowed)}.' if close == '.' else close}"
    if kind in _KINDS:
        return f"this must be {_KINDS[kind]}."
    text = str(fault["msg"]).removeprefix("Value error, ")
    return text if text.endswith(".") else f"{text[:1].lower()}{text[1:]}."


def resolve_cases(source: CaseSource, toolset: Toolset) -> list[EvalCase]:
    """Return the cases with each tool under its own name, not an operationId or a path.

    Raises:
        InvalidCases: A tool or an argument is unknown, a name is used twice, or a case can never
            pass, because what it expects is forbidden.
    """
    if source.workflows:
        cases = make_cases(source.workflows, toolset, source.name)
        source = source._replace(cases=cases, workflows=())
    names: set[str] = set()
    resolved = []
    for index, case in enumerate(source.cases):
        if case.name in names:
            raise source.make_error((index, "name"), f"another case is called {case.name!r:.100}.")
        names.add(case.name)
        resolved.append(_resolve_case(source, index, case, toolset))
    return resolved


def _resolve_case(source: CaseSource, index: int, case: EvalCase, toolset: Toolset) -> EvalCase:
    calls = []
    for at, call in enumerate(case.expect.calls):
        keys: tuple[object, ...] = (index, "expect", "calls", at)
        tool = _find_tool(source, (*keys, "tool"), call.tool, toolset)
        properties = tool.input_schema.get("properties", {})
        for name in call.arguments:
            if name not in properties:
                reason = f"{tool.name} has no such argument{close_names(name, properties)}"
                raise source.make_error((*keys, "arguments", name), reason)
        calls.append(call.model_copy(update={"tool": tool.name}))
    patterns = [
        pattern
        if _GLOB & set(pattern)
        else _find_tool(source, (index, "forbid", "tools", at), pattern, toolset).name
        for at, pattern in enumerate(case.forbid.tools)
    ]
    case = case.model_copy(
        update={
            "expect": case.expect.model_copy(update={"calls": calls}),
            "forbid": case.forbid.model_copy(update={"tools": patterns}),
        }
    )
    for keys, reason in _find_contradictions(case, toolset):
        raise source.make_error((index, *keys), reason)
    return case


def _find_tool(source: CaseSource, keys: tuple[object, ...], name: str, toolset: Toolset) -> Any:
    try:
        return toolset[name]
    except KeyError as error:
        raise source.make_error(keys, str(error.args[0])) from None


def _find_contradictions(
    case: EvalCase, toolset: Toolset
) -> Iterator[tuple[tuple[object, ...], str]]:
    for at, call in enumerate(case.expect.calls):
        keys: tuple[object, ...] = ("expect", "calls", at, "tool")
        if pattern := find_forbidden(case, call.tool):
            yield keys, f"{call.tool} is expected, but `forbid.tools` has {pattern!r:.100}."
        if not case.forbid.writes and not toolset[call.tool].read_only:
            yield keys, f"{call.tool} is expected, but it writes, and `forbid.writes` is false."
    count, most = len(case.expect.calls), case.forbid.calls
    if most is not None and count > most:
        reason = f"{format_count(most, 'call')} allowed, but {count} are expected."
        yield ("forbid", "calls"), reason


def find_forbidden(case: EvalCase, tool: str) -> str:
    """Return the pattern of a case that forbids a tool; empty if none does."""
    matches = (pattern for pattern in case.forbid.tools if fnmatchcase(tool, pattern))
    return next(matches, "")
