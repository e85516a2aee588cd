"""From the plan of an ExAthena project to its files, as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.exathena.elixir_literals import literal
from openapi_tools.codegen.exathena.elixir_names import application, root_module
from openapi_tools.codegen.literals import Code
from openapi_tools.codegen.render import common_values
from openapi_tools.codegen.templating import Templates
from openapi_tools.errors import CallError
from openapi_tools.requests.server_urls import server_url
from openapi_tools.settings import Settings

if TYPE_CHECKING:
    from openapi_tools.codegen.exathena.project_plan import ModulePlan, Project

_FOLDER = Path(__file__).parent / "templates"
_PARTS = ("arguments", "request", "secrets", "text")  # of the HTTP helper
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,5})(?:\.(?:0|[1-9][0-9]{0,5})){2}")


def render_project(project: Project) -> dict[str, str]:
    """Return every file of a Mix project but the manifest, by relative path.

    Args:
        project: Its plan.
    """
    values, templates = _values(project), Templates(_FOLDER)
    app = values["app"]

    def render(name: str, **more: Any) -> str:
        return templates.render(name, values | more)

    files = {"mix.exs": render("mix.exs"), "README.md": render("README.md")}
    files[f"lib/{app}.ex"] = render("tools.ex")
    files[f"lib/{app}/http.ex"] = render("http.ex")
    for part in _PARTS:
        files[f"lib/{app}/http/{part}.ex"] = render(f"{part}.ex")
    for module in project.modules:
        files[f"lib/{app}/tools/{module.stem}.ex"] = render("tool.ex", tool=module)
    return files


def _values(project: Project) -> dict[str, Any]:
    """Return what every template may use."""
    contents = project.contents
    common = common_values(contents)
    root = root_module(contents.api)
    modules = [Code(f"{root}.Tools.{module.module}") for module in project.modules]
    rows = zip(common["records"], project.modules, strict=True)
    return {
        **common,
        "app": application(contents.api),
        "root": root,
        "server": literal(_server(project)),
        "modules": literal(modules, indent=4),
        "project_version": _version(contents.version),
        "rows": [row | {"module": _module(module)} for row, module in rows],
    }


def _module(module: ModulePlan) -> Code:
    return module.module


def _server(project: Project) -> str | None:
    """Return the document's server, which stands in for a `base_url`; None where it tells none."""
    try:
        return server_url(project.modules[0].record.operation, Settings())
    except (CallError, IndexError):
        return None


def _version(text: str) -> str:
    """Return the document's version where Mix takes it."""
    return text if _VERSION.fullmatch(text) else "0.1.0"
