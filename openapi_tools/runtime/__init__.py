"""Call time: all that a tool needs once its document has been read.

The names below are what generated packages import; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openapi_tools.model import (
        Encoding,
        Operation,
        Parameter,
        Property,
        RequestBody,
        SecurityScheme,
        Server,
        ServerVariable,
        Skipped,
    )
    from openapi_tools.runtime.packages import (
        list_package,
        load_package,
        mount_package,
        tool_class,
    )
    from openapi_tools.runtime.settings import Settings
    from openapi_tools.runtime.tool import OperationTool
    from openapi_tools.runtime.toolset import Select, Toolset

_HOMES = {
    "Encoding": "model",
    "Operation": "model",
    "OperationTool": "runtime.tool",
    "Parameter": "model",
    "Property": "model",
    "RequestBody": "model",
    "SecurityScheme": "model",
    "Select": "runtime.toolset",
    "Server": "model",
    "ServerVariable": "model",
    "Settings": "runtime.settings",
    "Skipped": "model",
    "Toolset": "runtime.toolset",
    "list_package": "runtime.packages",
    "load_package": "runtime.packages",
    "mount_package": "runtime.packages",
    "tool_class": "runtime.packages",
}

__all__ = [
    "Encoding",
    "Operation",
    "OperationTool",
    "Parameter",
    "Property",
    "RequestBody",
    "SecurityScheme",
    "Select",
    "Server",
    "ServerVariable",
    "Settings",
    "Skipped",
    "Toolset",
    "list_package",
    "load_package",
    "mount_package",
    "tool_class",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used (PEP 562)."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"openapi_tools.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
