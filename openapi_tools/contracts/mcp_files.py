"""Files of responses as resources of an MCP server.

Spec: Model Context Protocol 2026-07-28 and 2025-11-25, server/resources.
"""

from __future__ import annotations

import base64
import mimetypes
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts.mcp_messages import is_remote, replace_surrogates
from openapi_tools.errors import OpenAPIToolsError, SettingsError, require_extra
from openapi_tools.state.file_store import find_file
from openapi_tools.state.shared_state import FairShares

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from openapi_tools.result import ToolResult
    from openapi_tools.settings import Settings

with require_extra("mcp"):
    import anyio
    from mcp import MCPError, types
    from mcp.types import INVALID_PARAMS
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

_FILES = "openapi-tools://files/"
_MOST_FILES = 1000  # that a server lists, of all sessions together


def client_key(request: ServerRequestContext[Any], only: object) -> object | None:
    """Return an object that all requests of a client share; None if nothing identifies clients.

    Args:
        request: The request of the client.
        only: The object for the one client of standard input and output.
    """
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return request.session.client_params
    return None if is_remote(request) else only  # stdio has one client


class FileResources:
    """The files that responses have put into a toolset's store, as resources."""

    def __init__(self) -> None:
        self.settings: list[Settings] = []  # of several documents, each with its own store
        self._resources: dict[str, tuple[weakref.ref[Any], dict[str, Any]]] = {}
        self._shares = FairShares(_MOST_FILES)

    def make_links(
        self, request: ServerRequestContext[Any], result: ToolResult
    ) -> list[dict[str, Any]]:
        """Return links to the file of a result, which the client then finds in its list."""
        file = result.metadata.get("file")
        if not isinstance(file, Mapping):
            return []
        handle, kind = str(file["handle"]), str(file["media_type"])
        resource = {"uri": _FILES + handle, "name": handle, "mimeType": kind, "size": file["bytes"]}
        if (owner := client_key(request, self)) is not None:
            self._resources[handle] = (weakref.ref(owner), resource)
            for leaving in self._shares.add(handle, id(owner)):
                del self._resources[leaving]
        return [{"type": "resource_link", **resource}]

    async def list_resources(
        self, request: ServerRequestContext[Any], _: Any
    ) -> types.ListResourcesResult:
        """Return the files of the client's own calls."""
        client = client_key(request, self)
        resources = self._resources.values()
        listed = [file for owner, file in resources if client is not None and owner() is client]
        return types.ListResourcesResult.model_validate({"resources": listed})

    async def read_resource(
        self, _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the content of a file; MCPError if there is none."""
        if not self.settings:
            raise MCPError(code=INVALID_PARAMS, message="this server has no such resource.")
        try:
            contents = await anyio.to_thread.run_sync(self._contents, str(params.uri))
        except OpenAPIToolsError as error:
            raise MCPError(code=INVALID_PARAMS, message=replace_surrogates(error.reason)) from None
        return types.ReadResourceResult.model_validate({"contents": [contents]})

    def _contents(self, uri: str) -> dict[str, Any]:
        handle = uri.removeprefix(_FILES) if uri.startswith(_FILES) else ""
        for settings in self.settings:
            with suppress(OpenAPIToolsError):
                find_file("handle", handle, settings)
                break
        file = find_file("handle", handle, settings)
        if file.size > settings.max_response_bytes:
            reason = f"the file of {file.size} bytes is larger than allowed (max_response_bytes)."
            raise SettingsError(reason)
        kind = mimetypes.guess_type(handle)[0] or "application/octet-stream"
        data = base64.b64encode(b"".join(file.pieces())).decode()
        return {"uri": uri, "mimeType": kind, "blob": data}
