"""ExAthena: a document's tools as a Mix project with an Elixir module for each tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.codegen.exathena.project_files import render_project
from openapi_tools.codegen.exathena.project_plan import plan_project

if TYPE_CHECKING:
    from openapi_tools.codegen.package_data import PackageData


def build_project(data: PackageData) -> tuple[PackageData, dict[str, str]]:
    """Return the data that a project can hold, and its files without the manifest.

    Raises:
        SettingsError: None of the tools can be written for ExAthena.
    """
    project = plan_project(data)
    return project.contents, render_project(project)
