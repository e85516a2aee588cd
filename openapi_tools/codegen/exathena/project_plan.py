"""What stands where in an ExAthena project: a module for each tool that can be written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openapi_tools.codegen.exathena.elixir_literals import Unwritable, literal
from openapi_tools.codegen.exathena.elixir_names import ToolNames
from openapi_tools.codegen.exathena.operation_data import operation_data
from openapi_tools.codegen.literals import Code
from openapi_tools.errors import SettingsError
from openapi_tools.http_rules import is_read
from openapi_tools.json_pointer import pointer_token
from openapi_tools.model import Skipped

if TYPE_CHECKING:
    from openapi_tools.codegen.package_data import PackageData, Record
    from openapi_tools.model import Operation

_INDENT = 4


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """A tool as it stands in a module.

    Attributes:
        record: What it says.
        module: The last part of its module's name.
        stem: Its file without `.ex`.
        description: For the model.
        schema: Of the input.
        operation: What the helper runs.
        reads: Whether a call changes nothing.
    """

    record: Record
    module: Code
    stem: Code
    description: Code
    schema: Code
    operation: Code
    reads: Code


@dataclass(frozen=True, slots=True)
class Project:
    """An ExAthena project, all but its files.

    Attributes:
        contents: What it is made from, less what is left out; that stands in `skipped`.
        modules: One for each tool.
    """

    contents: PackageData
    modules: tuple[ModulePlan, ...]


def plan_project(contents: PackageData) -> Project:
    """Return the plan of a project.

    Args:
        contents: Of the document; operations that the helper cannot call are left out of it.

    Raises:
        SettingsError: None of its tools can be written.
    """
    names, home = ToolNames(), _home(contents)
    modules: list[ModulePlan] = []
    left_out: list[Skipped] = []
    for record in contents.records:
        try:
            _check_server(record.operation, home)
            modules.append(_module(record, contents, names))
        except Unwritable as error:
            left_out.append(_skipped(record.operation, str(error)))
    if left_out and not modules:
        reason = left_out[0].reason
        raise SettingsError(f"target: no tool can be written for ExAthena; the first: {reason}")
    known = replace(
        contents,
        records=tuple(module.record for module in modules),
        skipped=(*contents.skipped, *left_out),
    )
    return Project(known, tuple(modules))


def _module(record: Record, contents: PackageData, names: ToolNames) -> ModulePlan:
    data = operation_data(record.name, record.operation, contents.schemes)
    operation = literal(data, indent=2, lead=len("  @operation "))
    schema = literal(record.input_schema, indent=_INDENT)
    description = literal(_whole(record.description), indent=_INDENT)
    module, stem = names.claim(record.name)  # last, so that what is left out takes no name
    return ModulePlan(
        record,
        module=module,
        stem=stem,
        description=description,
        schema=schema,
        operation=operation,
        reads=Code("true" if is_read(record.operation) else "false"),
    )


def _whole(text: str) -> str:
    """Return prose without halves of surrogate pairs."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _home(contents: PackageData) -> str:
    """Return the server of most operations: what `base_url` stands for."""
    servers = Counter(_server(record.operation) for record in contents.records)
    return max(servers, key=lambda found: servers[found]) if servers else ""


def _server(operation: Operation) -> str:
    return repr(operation.servers[:1])


def _check_server(operation: Operation, home: str) -> None:
    """Raise for an operation that is served elsewhere: a project has one base URL.

    Raises:
        Unwritable: It is.
    """
    if _server(operation) != home:
        url = operation.servers[0].url if operation.servers else ""
        reason = f"it is served at {url!r:.100}, most others elsewhere, and `base_url` is one;"
        raise Unwritable(f"{reason} select these operations into a project of their own.")


def _skipped(operation: Operation, reason: str) -> Skipped:
    place = f"/paths{pointer_token(operation.path)}/{operation.method.lower()}"
    return Skipped(place, reason, method=operation.method, path=operation.path)
