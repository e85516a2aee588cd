"""The deviations that evidence shows: exchanges and calls are observed by operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openapi_tools.common.json_values import join_pointer, split_pointer
from openapi_tools.learning.deviations import KINDS, Deviation
from openapi_tools.learning.exchange_routes import find_route, list_routes
from openapi_tools.learning.request_observer import RequestObserver
from openapi_tools.learning.response_observer import ResponseObserver
from openapi_tools.learning.schema_places import SchemaPlaces
from openapi_tools.learning.server_observer import ServerObserver
from openapi_tools.toolsets.document_info import document_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.conformance.routes import Routes
    from openapi_tools.learning.evidence import Evidence
    from openapi_tools.toolsets.toolset import Toolset

_MOST_AT_ONE_PLACE = 20  # deviations of one kind


@dataclass(frozen=True, slots=True)
class LearnedDeviations:
    """The deviations that evidence shows, and how much of it belongs to an operation.

    Attributes:
        deviations: The deviations in the order of `KINDS`.
        matched_count: Number of exchanges and audited calls that belong to an operation.
        unmatched: The entries that fit no operation, as `file:entry`.
    """

    deviations: tuple[Deviation, ...]
    matched_count: int
    unmatched: tuple[str, ...]


def learn_deviations(
    toolset: Toolset, evidence: Evidence, *, at_least: int = 1
) -> LearnedDeviations:
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
    return LearnedDeviations(tuple(frequent), total - len(unmatched), tuple(unmatched))


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
        if not 300 <= exchange.status < 400:  # noqa: PLR2004 -- redirects: ServerObserver
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
    # A server may send another header each time. `Shape` already limits names of properties.
    by_place: dict[tuple[str, str], list[Deviation]] = {}
    for deviation in deviations:
        by_place.setdefault((deviation.kind, deviation.pointer), []).append(deviation)
    for (kind, pointer), group in by_place.items():
        if kind == "property" or len(group) <= _MOST_AT_ONE_PLACE:
            yield from group
            continue
        group.sort(key=lambda deviation: -deviation.observations)
        yield from group[:_MOST_AT_ONE_PLACE]
        rare = group[_MOST_AT_ONE_PLACE:]
        message = f"there are {len(rare)} more of this kind here, seen less often"
        observations = sum(deviation.observations for deviation in rare)
        yield Deviation(kind, pointer, message, observations, rare[0].sources)
