"""Learn how an API departs from its document, from what was seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openapi_tools.common.json_values import as_string, join_pointer, split_pointer
from openapi_tools.conformance.routes import Route, Routes
from openapi_tools.learning.deviations import KINDS, Deviation
from openapi_tools.learning.request_observer import RequestObserver
from openapi_tools.learning.response_observer import ResponseObserver
from openapi_tools.learning.schema_places import SchemaPlaces
from openapi_tools.learning.server_observer import ServerObserver

if TYPE_CHECKING:
    from openapi_tools.learning.evidence import Evidence, RecordedExchange
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the evidence shows.

    Attributes:
        deviations: In the order of their kinds.
        read: How many exchanges and audited calls belong to an operation.
        unmatched: The entries that fit no operation, as `file:entry`.
    """

    deviations: tuple[Deviation, ...]
    read: int
    unmatched: tuple[str, ...]


def learn_deviations(toolset: Toolset, evidence: Evidence, *, at_least: int = 1) -> Lesson:
    """Return how what was seen departs from the document of a toolset.

    Args:
        toolset: All tools of the document.
        evidence: What was seen.
        at_least: Deviations that were seen less often are left out.
    """
    document = toolset.document
    places = SchemaPlaces(document)
    tools = {_pointer_of(tool): tool for tool in toolset}
    names = {tool.name: tool for tool in toolset}
    responses, requests = ResponseObserver(places), RequestObserver(places)
    servers, unmatched, read = ServerObserver(places), list[str](), 0
    for exchange in evidence.exchanges:
        servers.add(exchange)
    routes = [Routes(document, base) for base in (_base_path(toolset), *servers.moved_paths())]
    for exchange in evidence.exchanges:
        route = _find_route(routes, exchange)
        if route is None:
            unmatched.append(exchange.source)
            continue
        read += 1
        if not 300 <= exchange.status < 400:  # noqa: PLR2004 -- redirects are of the server
            responses.add(route.pointer, exchange)
        if (tool := tools.get(join_pointer(route.pointer))) is not None:
            requests.add(route.pointer, tool, exchange)
    for call in evidence.audited_calls:
        tool = names.get(call.tool)
        if tool is None:
            unmatched.append(call.source)
        else:
            read += 1
            if call.status:
                responses.add_status(split_pointer(_pointer_of(tool)), call.status, call.source)
    deviations = [
        *responses.find_deviations(),
        *requests.find_deviations(),
        *servers.find_deviations(),
    ]
    kept = [item for item in deviations if item.observations >= at_least]
    kept.sort(key=lambda item: KINDS.index(item.kind))
    return Lesson(tuple(kept), read, tuple(unmatched))


def _find_route(routes: list[Routes], exchange: RecordedExchange) -> Route | None:
    address = urlsplit(exchange.url)
    target = f"{address.path}?{address.query}" if address.query else address.path
    matches = (each.find(exchange.method, target) for each in routes)
    return next((route for route in matches if route is not None), None)


def _pointer_of(tool: OperationTool) -> str:
    return str(getattr(tool, "pointer", ""))


def _base_path(toolset: Toolset) -> str | None:
    if (base_url := toolset.session.settings.base_url) is not None:
        return urlsplit(base_url).path
    document = toolset.document
    return as_string(document.get("basePath")) if "swagger" in document else None
