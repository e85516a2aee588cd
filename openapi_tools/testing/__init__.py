"""For tests of code that uses tools: an API that responds from its document."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openapi_tools.testing.mock import MockApi, mock_api, mock_client
    from openapi_tools.testing.mock_responses import Fault
    from openapi_tools.testing.pytest_plugin import CoordinatorConformance, Seen, ToolConformance
    from openapi_tools.testing.recording import Cassette, RecordedCall
    from openapi_tools.validation.samples import sample

__all__ = [
    "Cassette",
    "CoordinatorConformance",
    "Fault",
    "MockApi",
    "RecordedCall",
    "Seen",
    "ToolConformance",
    "mock_api",
    "mock_client",
    "sample",
]

_HOMES = {
    **dict.fromkeys(("Cassette", "RecordedCall"), "testing.recording"),
    **dict.fromkeys(("CoordinatorConformance", "Seen", "ToolConformance"), "testing.pytest_plugin"),
    **dict.fromkeys(("MockApi", "mock_api", "mock_client"), "testing.mock"),
    "Fault": "testing.mock_responses",
    "sample": "validation.samples",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"openapi_tools.{_HOMES[name]}"), name)
