"""Every operation of an OpenAPI document as a tool that an LLM agent can call.

`load_tools(source)` reads a document, `await toolset["name"].execute(arguments)` calls the API,
`generate_package(source, folder)` writes the tools as a package. The names below are
imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 -- a clone may run without pip, which would say so
    version = ".".join(map(str, sys.version_info[:2]))
    reason = f"openapi_tools needs Python 3.11 or later; this is {version}."
    raise (SystemExit if sys.argv[:1] == ["-m"] else ImportError)(reason)

from openapi_tools._version import __version__
from openapi_tools.common.lazy_names import load_public_name

TYPE_CHECKING = False  # type checkers take it for true; `typing` would double the start's cost
if TYPE_CHECKING:
    from typing import Any

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.auth.schemes import ClientCertificate
    from openapi_tools.code.limits import CodeLimits
    from openapi_tools.common.options import Select
    from openapi_tools.errors import (
        CallError,
        CredentialsError,
        DeniedError,
        DocumentError,
        InputError,
        InvalidDocument,
        InvalidOverlay,
        MissingExtraError,
        NotPicklableError,
        OpenAPIToolsError,
        OutputError,
        PendingApproval,
        SettingsError,
        SourceError,
        UnresolvableReference,
        UnsupportedFeature,
    )
    from openapi_tools.generate import Report, generate_package
    from openapi_tools.loading.async_load import aload_tools
    from openapi_tools.loading.load import load_tools
    from openapi_tools.model import Skipped
    from openapi_tools.observability.events import Event
    from openapi_tools.requests import Preview
    from openapi_tools.result import Context, ImageContent, TextContent, ToolCall, ToolResult
    from openapi_tools.settings import Settings
    from openapi_tools.state.file_protocols import FileStore
    from openapi_tools.state.file_store import FolderStore
    from openapi_tools.state.redis_state import RedisState
    from openapi_tools.state.shared_state import MemoryState, SharedState
    from openapi_tools.state.state_files import StateFiles
    from openapi_tools.tools.guardrails import require_approval
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

# Public names by module; the others are exceptions.
_HOMES = {
    "auth.oauth2": ("OAuth2",),
    "auth.schemes": ("ClientCertificate",),
    "code.limits": ("CodeLimits",),
    "generate": ("Report", "generate_package"),
    "loading.async_load": ("aload_tools",),
    "loading.load": ("load_tools",),
    "model": ("Skipped",),
    "observability.events": ("Event",),
    "common.options": ("Select",),
    "requests": ("Preview",),
    "result": ("Context", "ImageContent", "TextContent", "ToolCall", "ToolResult"),
    "settings": ("Settings",),
    "state.file_protocols": ("FileStore",),
    "state.file_store": ("FolderStore",),
    "state.redis_state": ("RedisState",),
    "state.shared_state": ("MemoryState", "SharedState"),
    "state.state_files": ("StateFiles",),
    "tools.guardrails": ("require_approval",),
    "tools.tool": ("OperationTool",),
    "toolsets.toolset": ("Toolset",),
}

__all__ = [
    "CallError",
    "ClientCertificate",
    "CodeLimits",
    "Context",
    "CredentialsError",
    "DeniedError",
    "DocumentError",
    "Event",
    "FileStore",
    "FolderStore",
    "ImageContent",
    "InputError",
    "InvalidDocument",
    "InvalidOverlay",
    "MemoryState",
    "MissingExtraError",
    "NotPicklableError",
    "OAuth2",
    "OpenAPIToolsError",
    "OperationTool",
    "OutputError",
    "PendingApproval",
    "Preview",
    "RedisState",
    "Report",
    "Select",
    "Settings",
    "SettingsError",
    "SharedState",
    "Skipped",
    "SourceError",
    "StateFiles",
    "TextContent",
    "ToolCall",
    "ToolResult",
    "Toolset",
    "UnresolvableReference",
    "UnsupportedFeature",
    "__version__",
    "aload_tools",
    "generate_package",
    "load_tools",
    "require_approval",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    return load_public_name(__name__, name, _HOMES, default="errors")


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
