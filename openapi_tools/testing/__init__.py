"""What tests of code that uses tools need: an API that answers from its document."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openapi_tools.testing.mock import mock_client
    from openapi_tools.testing.samples import sample

__all__ = ["mock_client", "sample"]


def __getattr__(name: str) -> object:
    """Import what is asked for, and httpx with it, when it is asked for."""
    if name == "mock_client":
        from openapi_tools.testing.mock import mock_client

        return mock_client
    if name == "sample":
        from openapi_tools.testing.samples import sample

        return sample
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
