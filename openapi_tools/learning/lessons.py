"""Match evidence with operations, and find the deviations that it shows."""

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
from openapi_tools.toolsets.document_info import document_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.learning.evidence import Evidence, RecordedExchange
    from openapi_tools.toolsets.toolset import Toolset

_MOST_AT_A_PLACE = 20  # deviations of one kind


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the evidence shows.

    Attributes:
        deviations: In the order of `KINDS`.
        matched: Number of exchanges and audited calls that belong to an operation.
        unmatched: The entries that fit no operation, as `file:entry`.
    """

    deviations: tuple[Deviation, ...]
    matched: int
    unmatched: tuple[str, ...]


def learn_deviations(toolset: Toolset, evidence: Evidence, *, at_least: int = 1) -> Lesson:
    """Return the deviations of an API from the document of its toolset.

    Args:
        toolset: All tools of the document.
        evidence: Recorded exchanges and audited calls.
        at_least: Deviations with fewer observations are left out.
    """
    places = SchemaPlaces(toolset.document)
    responses, requests = ResponseObserver(places), RequestObserver(places)
    servers = ServerObserver(places)
    for exchange in evidence.exchanges:
        servers.add(exchange)
    # Exchanges after a redirect have the path of the server's new URL.
    routes = list_routes(toolset, servers.moved_paths())
    unmatched = [
        *_observe_exchanges(toolset, evidence, routes, responses, requests),
        *_observe_audited_calls(toolset, evidence, responses),
    ]
    deviations = [
        *responses.find_deviations(),
        *requests.find_deviations(),
        *servers.find_deviations(),
    ]
    frequent = [item for item in _limit_places(deviations) if item.observations >= at_least]
    frequent.sort(key=lambda item: KINDS.index(item.kind))
    total = len(evidence.exchanges) + len(evidence.audited_calls)
    return Lesson(tuple(frequent), total - len(unmatched), tuple(unmatched))


def _observe_exchanges(
    toolset: Toolset,
    evidence: Evidence,
    routes: list[Routes],
    responses: ResponseObserver,
    requests: RequestObserver,
) -> Iterator[str]:
    # Yields the exchanges that fit no operation.
    tools = {document_pointer(tool): tool for tool in toolset}
    for exchange in evidence.exchanges:
        route = find_route(routes, exchange)
        if route is None:
            yield exchange.source
            continue
        if not 300 <= exchange.status < 400:  # noqa: PLR2004 -- the server observer has redirects
            responses.add(route.pointer, exchange)
        if (tool := tools.get(join_pointer(route.pointer))) is not None:
            requests.add(route.pointer, tool, exchange)


def _observe_audited_calls(
    toolset: Toolset, evidence: Evidence, responses: ResponseObserver
) -> Iterator[str]:
    # Yields the calls of unknown tools.
    tools = {tool.name: tool for tool in toolset}
    for call in evidence.audited_calls:
        tool = tools.get(call.tool)
        if tool is None:
            yield call.source
        elif call.status:
            responses.add_status(split_pointer(document_pointer(tool)), call.status, call.source)


def _limit_places(deviations: Iterable[Deviation]) -> Iterator[Deviation]:
    # A server may send another header each time. Names of properties are limited where they are
    # collected.
    by_place: dict[tuple[str, str], list[Deviation]] = {}
    for deviation in deviations:
        by_place.setdefault((deviation.kind, deviation.pointer), []).append(deviation)
    for (kind, pointer), listed in by_place.items():
        if kind == "property" or len(listed) <= _MOST_AT_A_PLACE:
            yield from listed
            continue
        listed.sort(key=lambda deviation: -deviation.observations)
        yield from listed[:_MOST_AT_A_PLACE]
        rare = listed[_MOST_AT_A_PLACE:]
        message = f"there are {len(rare)} more of this kind here, seen less often"
        observations = sum(deviation.observations for deviation in rare)
        yield Deviation(kind, pointer, message, observations, rare[0].sources)


def list_routes(toolset: Toolset, moved_paths: Iterable[str] = ()) -> list[Routes]:
    """Return the routes of a document at its own addresses, and at those that it has moved to."""
    return [Routes(toolset.document, base) for base in (_base_path(toolset), *moved_paths)]


def find_route(routes: list[Routes], exchange: RecordedExchange) -> Route | None:
    """Return the operation of an exchange, None without one."""
    address = urlsplit(exchange.url)
    target = f"{address.path}?{address.query}" if address.query else address.path
    matches = (each.find(exchange.method, target) for each in routes)
    return next((route for route in matches if route is not None), None)


def _base_path(toolset: Toolset) -> str | None:
    if (base_url := toolset.session.settings.base_url) is not None:
        return urlsplit(base_url).path
    document = toolset.document
    return as_string(document.get("basePath")) if "swagger" in document else None
