"""The tools as an MCP server: `create_server(toolset)`, for each transport of the package `mcp`."""

from __future__ import annotations

from openapi_tools.contracts.mcp.server import create_server

__all__ = ["create_server"]
