"""The operations that recorded exchanges belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openapi_tools.common.json_values import as_string
from openapi_tools.conformance.routes import Route, Routes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.learning.evidence import RecordedExchange
    from openapi_tools.toolsets.toolset import Toolset


def list_routes(toolset: Toolset, moved_paths: Iterable[str] = ()) -> list[Routes]:
    """Return the routes of a document below its servers' paths, then below each other path.

    Args:
        toolset: The tools of the document.
        moved_paths: Paths of URLs that its servers have moved to, such as `/v2`.
    """
    return [Routes(toolset.document, base) for base in (_base_path(toolset), *moved_paths)]


def find_route(routes: list[Routes], exchange: RecordedExchange) -> Route | None:
    """Return the operation that an exchange belongs to, or None."""
    address = urlsplit(exchange.url)
    target = f"{address.path}?{address.query}" if address.query else address.path
    matches = (table.find(exchange.method, target) for table in routes)
    return next((route for route in matches if route is not None), None)


def _base_path(toolset: Toolset) -> str | None:
    if (base_url := toolset.session.settings.base_url) is not None:
        return urlsplit(base_url).path
    document = toolset.document
    return as_string(document.get("basePath")) if "swagger" in document else None
