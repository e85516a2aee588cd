"""A second opinion: openapi-core checks requests, answers and documents.

The mock uses it for requests, `Settings(check_answers=True)` for answers, `lint` for documents.
Loading and calling do not need it.
"""

from __future__ import annotations

from openapi_tools.openapi_core.exchange_check import Judge
from openapi_tools.openapi_core.local_references import follow
from openapi_tools.openapi_core.routes import Route, find_route

__all__ = ["Judge", "Route", "find_route", "follow"]
