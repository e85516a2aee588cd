"""ExAthena: a document's tools as a Mix project with an Elixir module for each tool."""

from openapi_tools.codegen.exathena.elixir_project import build_project as build_project
