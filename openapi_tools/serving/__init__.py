"""Serves tools over MCP: over stdio and streamable HTTP."""
