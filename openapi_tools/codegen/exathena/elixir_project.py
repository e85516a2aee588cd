"""Plan a Mix project with a module for each tool, and render its files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.exathena.elixir_literals import Unwritable, literal
from openapi_tools.codegen.exathena.operation_data import ToolNames, operation_data
from openapi_tools.codegen.literals import Code
from openapi_tools.codegen.render import common_values
from openapi_tools.codegen.templating import Templates, markdown
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.http_rules import is_read
from openapi_tools.json_values import pointer_token
from openapi_tools.model import Skipped
from openapi_tools.requests.server_urls import server_url
from openapi_tools.settings import Settings
from openapi_tools.tools.packages import class_name

if TYPE_CHECKING:
    from openapi_tools.codegen.package_data import PackageData, Record
    from openapi_tools.model import Operation

_FOLDER = Path(__file__).parent / "templates"
_WRITERS = {"ex": literal, "exs": literal, "md": markdown}
_HELPERS = ("arguments", "request", "secrets", "text")  # parts of the HTTP helper
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,5})(?:\.(?:0|[1-9][0-9]{0,5})){2}")  # as Mix takes it
_INDENT = 4


@dataclass(frozen=True, slots=True)
class ToolModule:
    """A tool's module: the last part of its name, the stem of its file, and its values."""

    record: Record
    module: Code
    stem: Code
    description: Code
    schema: Code
    operation: Code
    reads: Code


def build_project(data: PackageData) -> tuple[PackageData, dict[str, str]]:
    """Return the data that a project can hold, and its files by path without the manifest.

    Operations that the helper cannot call are moved to `skipped`.

    Raises:
        SettingsError: None of the tools can be written for ExAthena.
    """
    names, home = ToolNames(), _home(data)
    modules: list[ToolModule] = []
    left_out: list[Skipped] = []
    for record in data.records:
        try:
            _check_server(record.operation, home)
            modules.append(_module(record, data, names))
        except Unwritable as error:
            left_out.append(_skipped(record.operation, str(error)))
    if left_out and not modules:
        reason = left_out[0].reason
        raise SettingsError(f"target: no tool can be written for ExAthena; the first: {reason}")
    records = tuple(module.record for module in modules)
    kept = replace(data, records=records, skipped=(*data.skipped, *left_out))
    return kept, _files(kept, modules)


def _module(record: Record, data: PackageData, names: ToolNames) -> ToolModule:
    called = operation_data(record.name, record.operation, data.schemes)
    description = record.description.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    values = {
        "description": literal(description, indent=_INDENT),
        "schema": literal(record.input_schema, indent=_INDENT),
        "operation": literal(called, indent=2, lead=len("  @operation ")),
        "reads": literal(is_read(record.operation)),
    }
    module, stem = names.claim(record.name)  # last: tools that are left out take no name
    return ToolModule(record, module, stem, **values)


def _files(data: PackageData, modules: list[ToolModule]) -> dict[str, str]:
    templates = Templates(_FOLDER, writers=_WRITERS)
    values = _values(data, modules)
    app = values["app"]

    def render(name: str, **more: Any) -> str:
        return templates.render(name, values | more)

    files = {"mix.exs": render("mix.exs"), "README.md": render("README.md")}
    files[f"lib/{app}.ex"] = render("tools.ex")
    files[f"lib/{app}/http.ex"] = render("http.ex")
    for part in _HELPERS:
        files[f"lib/{app}/http/{part}.ex"] = render(f"{part}.ex")
    for module in modules:
        files[f"lib/{app}/tools/{module.stem}.ex"] = render("tool.ex", tool=module)
    return files


def _values(data: PackageData, modules: list[ToolModule]) -> dict[str, Any]:
    """Return the values of every template."""
    common = common_values(data)
    root = Code(class_name(common["package"]))
    rows = zip(common["records"], modules, strict=True)
    return {
        **common,
        "app": common["package"],
        "root": root,
        "server": literal(_default_server(data)),
        "modules": literal([Code(f"{root}.Tools.{m.module}") for m in modules], indent=_INDENT),
        "project_version": data.version if _VERSION.fullmatch(data.version) else "0.1.0",
        "rows": [row | {"module": module.module} for row, module in rows],
    }


def _default_server(data: PackageData) -> str | None:
    """Return the document's server, used without a `base_url`; None if it has none."""
    try:
        return server_url(data.records[0].operation, Settings())
    except (CallError, IndexError):
        return None


def _home(data: PackageData) -> str:
    """Return the server of most operations, which `base_url` replaces."""
    servers = Counter(_server(record.operation) for record in data.records)
    return max(servers, key=lambda found: servers[found]) if servers else ""


def _server(operation: Operation) -> str:
    return repr(operation.servers[:1])


def _check_server(operation: Operation, home: str) -> None:
    """Refuse an operation on another server: a project has one base URL."""
    if _server(operation) != home:
        url = operation.servers[0].url if operation.servers else ""
        reason = f"it is served at {url!r:.100}, most others elsewhere, and `base_url` is one;"
        raise Unwritable(f"{reason} select these operations into a project of their own.")


def _skipped(operation: Operation, reason: str) -> Skipped:
    place = f"/paths{pointer_token(operation.path)}/{operation.method.lower()}"
    return Skipped(place, reason, method=operation.method, path=operation.path)
