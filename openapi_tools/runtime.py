"""Everything a tool needs to be called, once its document has been read.

The names below are what generated packages import; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.lazy_names import load_public_name

if TYPE_CHECKING:
    from openapi_tools.common.options import Select
    from openapi_tools.model import (
        AnswerShape,
        Encoding,
        Operation,
        Paging,
        Parameter,
        Property,
        RequestBody,
        SecurityScheme,
        Server,
        ServerVariable,
        Skipped,
    )
    from openapi_tools.settings import Settings, SettingsMembers
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.packages import (
        list_package,
        load_package,
        mount_package,
        tool_class,
    )
    from openapi_tools.toolsets.toolset import Toolset

# Names by module; the others are in `model`.
_HOMES = {
    "common.options": ("Select",),
    "settings": ("Settings", "SettingsMembers"),
    "toolsets.packages": ("list_package", "load_package", "mount_package", "tool_class"),
    "tools.tool": ("OperationTool",),
    "toolsets.toolset": ("Toolset",),
}

__all__ = [
    "AnswerShape",
    "Encoding",
    "Operation",
    "OperationTool",
    "Paging",
    "Parameter",
    "Property",
    "RequestBody",
    "SecurityScheme",
    "Select",
    "Server",
    "ServerVariable",
    "Settings",
    "SettingsMembers",
    "Skipped",
    "Toolset",
    "list_package",
    "load_package",
    "mount_package",
    "tool_class",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used (PEP 562)."""
    return load_public_name(__name__, name, _HOMES, default="model")


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
