"""Compare requests with the document: arguments that the API requires, ignores, or adds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from openapi_tools.common.http_rules import find_link, names_secret
from openapi_tools.common.json_values import as_dict, as_list, as_string
from openapi_tools.learning.deviations import Deviation, DocumentChange, create_deviation
from openapi_tools.learning.evidence import NO_JSON
from openapi_tools.learning.shapes import is_name
from openapi_tools.responses.error_results import find_faulty_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.learning.evidence import RecordedExchange
    from openapi_tools.learning.schema_places import Keys, SchemaPlaces
    from openapi_tools.tools.tool import OperationTool

REFUSAL_STATUSES = (400, 422)
"""Statuses of responses that refuse the input (RFC 9110, sections 15.5.1 and 15.5.21)."""
_SUCCESS = range(200, 300)
_LEAST_ITEMS = 2  # that show that a filter is ignored
_NEXT_PAGE_KEYS = ("next", "next_page", "nextPage", "next_url", "nextUrl", "next_link", "nextLink")
_PARENTS_OF_NEXT_PAGE = ("links", "_links", "paging", "pagination", "meta")
_PAGE_SIZE_NAMES = (
    "limit",
    "per_page",
    "perPage",
    "page_size",
    "pageSize",
    "max_results",
    "maxResults",
)


class _ParameterPlace(NamedTuple):
    """Where an operation lists a parameter, and where it is described."""

    entry: Keys
    target: Keys


@dataclass(slots=True)
class _ArgumentEvidence:
    """The exchanges that show a deviation of an argument, and how many contradict it."""

    sources: list[str] = field(default_factory=list)
    contradictions: int = 0


@dataclass(slots=True)
class RequestObserver:
    """Collects what exchanges show about the arguments of all operations."""

    places: SchemaPlaces
    _required: dict[tuple[Keys, str], _ArgumentEvidence] = field(
        default_factory=lambda: defaultdict(_ArgumentEvidence)
    )
    _ignored: dict[tuple[Keys, str], _ArgumentEvidence] = field(
        default_factory=lambda: defaultdict(_ArgumentEvidence)
    )
    _paging: dict[tuple[Keys, str], _ArgumentEvidence] = field(
        default_factory=lambda: defaultdict(_ArgumentEvidence)
    )
    _page_types: dict[tuple[Keys, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    _successes: list[tuple[Keys, frozenset[str]]] = field(default_factory=list)

    def add(self, operation: Keys, tool: OperationTool, exchange: RecordedExchange) -> None:
        """Add an exchange of a tool, whose operation is at these keys."""
        sent_names = _sent_names(exchange)
        if exchange.status in _SUCCESS:
            self._successes.append((operation, sent_names))
            self._observe_filters(operation, exchange)
            self._observe_pages(operation, tool, exchange)
        elif exchange.status in REFUSAL_STATUSES and exchange.body is not NO_JSON:
            self._observe_refusal(operation, tool, exchange, sent_names)

    def find_deviations(self) -> Iterator[Deviation]:
        """Yield the deviations of requests from the document."""
        yield from self._find_required()
        yield from self._find_ignored()
        yield from self._find_paging()

    def _find_required(self) -> Iterator[Deviation]:
        for (operation, name), evidence in self._required.items():
            evidence.contradictions = sum(
                place == operation and name not in sent_names
                for place, sent_names in self._successes
            )
            if changes := self._propose_required(operation, name):
                message = f"the API refuses calls without the argument {name}, which is optional"
                yield _make_deviation("argument", changes[0].keys, message, evidence, changes)

    def _find_ignored(self) -> Iterator[Deviation]:
        # From the end, so that a removal does not shift the parameters that are removed later.
        for (operation, name), evidence in sorted(self._ignored.items(), key=self._sort_from_end):
            place = self._find_parameter(operation, name)
            if evidence.sources and place is not None:
                message = f"responses do not depend on the parameter {name}"
                # A parameter of a path belongs to all of its operations.
                is_own = place.entry[:-2] == operation
                changes = [DocumentChange(place.entry)] if is_own else []
                yield _make_deviation("ignored", place.entry, message, evidence, changes)

    def _find_paging(self) -> Iterator[Deviation]:
        for (operation, name), evidence in self._paging.items():
            kinds = self._page_types[operation, name]
            parameter = self._make_parameter(
                name, "integer" if set(kinds) == {"integer"} else "string"
            )
            change = DocumentChange(operation, {"parameters": [parameter]})
            message = f"the URL of the next page has the undocumented parameter {name}"
            yield _make_deviation("paging", operation, message, evidence, [change])

    def _sort_from_end(self, pair: tuple[tuple[Keys, str], object]) -> int:
        place = self._find_parameter(*pair[0])
        number = place.entry[-1] if place is not None else 0
        return -int(number)

    def _observe_refusal(
        self,
        operation: Keys,
        tool: OperationTool,
        exchange: RecordedExchange,
        sent_names: frozenset[str],
    ) -> None:
        faulty_arguments = find_faulty_arguments(exchange.body, tool.operation)
        required = set(as_list(tool.input_schema.get("required")))
        wire_names = {
            each.argument: each.name
            for each in tool.operation.parameters
            if each.location == "query"
        }
        if tool.operation.body is not None:
            wire_names |= {each.argument: each.name for each in tool.operation.body.properties}
        for pointer in faulty_arguments.values():
            argument = pointer.removeprefix("/")
            name = wire_names.get(argument)
            if name is not None and argument not in required and name not in sent_names:
                self._required[operation, name].sources.append(exchange.source)

    def _observe_filters(self, operation: Keys, exchange: RecordedExchange) -> None:
        items = _find_items(exchange.body)
        if items is None:
            return
        for name, values in parse_qs(urlsplit(exchange.url).query).items():
            is_obeyed = self._is_filter_obeyed(operation, name, values[-1], items)
            if is_obeyed is False:
                self._ignored[operation, name].sources.append(exchange.source)
            elif is_obeyed:
                self._ignored[operation, name].contradictions += 1

    def _is_filter_obeyed(
        self, operation: Keys, name: str, value: str, items: list[Any]
    ) -> bool | None:
        # None if the items do not show it: fewer items than the limit may be all there are.
        place = self._find_parameter(operation, name)
        if place is None:
            return None
        if name in _PAGE_SIZE_NAMES and value.isdecimal() and int(value):
            return None if len(items) < int(value) else len(items) == int(value)
        parameter = as_dict(self.places.node_at(place.target))
        schema = as_dict(parameter.get("schema")) or parameter
        values = [item[name] for item in items if isinstance(item, dict) and name in item]
        texts = [str(each).lower() for each in values if isinstance(each, str | bool)]
        if not texts or len(texts) < len(values):
            return None
        if value in as_list(schema.get("enum")) or schema.get("type") == "boolean":
            return all(text == value.lower() for text in texts)
        # A date, for instance, may begin a range.
        return None if "format" in schema else _is_text_filter_obeyed(texts, value.lower())

    def _observe_pages(
        self, operation: Keys, tool: OperationTool, exchange: RecordedExchange
    ) -> None:
        next_query = _read_query(_find_next_url(exchange))
        sent_query = parse_qs(urlsplit(exchange.url).query)
        declared = {each.name for each in tool.operation.parameters}
        for name, values in next_query.items():
            if name in declared or not is_name(name) or sent_query.get(name) == values:
                continue
            if names_secret(name):  # credentials are no arguments
                continue
            self._paging[operation, name].sources.append(exchange.source)
            kind = "integer" if values[-1].isdecimal() else "string"
            self._page_types[operation, name][kind] += 1

    def _propose_required(self, operation: Keys, name: str) -> list[DocumentChange]:
        if (place := self._find_parameter(operation, name)) is not None:
            required = {"required": True}
            if place.entry == place.target and place.entry[:-2] == operation:
                return [DocumentChange(place.entry, required)]
            # Other operations share it, so this one gets a copy.
            parameter = {**as_dict(self.places.node_at(place.target)), **required}
            if place.entry[:-2] != operation:  # an operation's parameter overrides its path's
                return [DocumentChange(operation, {"parameters": [parameter]})]
            # At the same index, so that no other parameter moves.
            return [
                DocumentChange((*place.entry, "$ref")),
                DocumentChange(place.entry, parameter),
            ]
        for schema in self._body_schemas(operation):
            branch = self.places.find_branch(schema, ["object"])
            if branch is not None and name in self.places.properties_at(branch):
                if isinstance(as_dict(self.places.node_at(branch)).get("required"), list):
                    return [DocumentChange((*branch, "required"), name)]
                return [DocumentChange(branch, {"required": [name]})]
        return []

    def _body_schemas(self, operation: Keys) -> Iterator[Keys]:
        body = self.places.follow((*operation, "requestBody"))
        content = as_dict(as_dict(self.places.node_at(body)).get("content")) if body else {}
        yield from ((*(body or ()), "content", kind, "schema") for kind in content)
        for place in self._parameter_places(operation):
            if as_dict(self.places.node_at(place.target)).get("in") == "body":
                yield (*place.target, "schema")

    def _find_parameter(self, operation: Keys, name: str) -> _ParameterPlace | None:
        for place in self._parameter_places(operation):
            node = as_dict(self.places.node_at(place.target))
            if node.get("name") == name and node.get("in") in ("query", "formData"):
                return place
        return None

    def _parameter_places(self, operation: Keys) -> Iterator[_ParameterPlace]:
        for holder in (operation, operation[:2]):
            listed = as_list(as_dict(self.places.node_at(holder)).get("parameters"))
            for number in range(len(listed)):
                entry = (*holder, "parameters", number)
                if (target := self.places.follow(entry)) is not None:
                    yield _ParameterPlace(entry, target)

    def _make_parameter(self, name: str, type_name: str) -> dict[str, Any]:
        schema = {"type": type_name}
        details = schema if "swagger" in self.places.document else {"schema": schema}
        return {"name": name, "in": "query", **details}


def _is_text_filter_obeyed(texts: list[str], part: str) -> bool | None:
    # A filter may compare strings in many ways: it is ignored only if no item matches at all.
    matches = [part in text for text in texts]
    if all(matches):
        return True
    return None if any(matches) or len(texts) < _LEAST_ITEMS else False


def _read_query(address: str) -> dict[str, list[str]]:
    try:
        return parse_qs(urlsplit(address).query)
    except ValueError:  # a response may give anything as a URL
        return {}


def _sent_names(exchange: RecordedExchange) -> frozenset[str]:
    query = parse_qs(urlsplit(exchange.url).query, keep_blank_values=True)
    return frozenset(query) | frozenset(as_dict(exchange.request_body))


def _make_deviation(
    kind: str, keys: Keys, message: str, evidence: _ArgumentEvidence, changes: list[DocumentChange]
) -> Deviation:
    return create_deviation(
        kind,
        keys,
        message,
        observations=len(evidence.sources),
        sources=evidence.sources,
        changes=changes,
        contradictions=evidence.contradictions,
    )


def _find_items(body: Any) -> list[Any] | None:
    if isinstance(body, list):
        return body
    lists = [part for part in as_dict(body).values() if isinstance(part, list)]
    return lists[0] if len(lists) == 1 else None


def _find_next_url(exchange: RecordedExchange) -> str:
    if address := find_link(exchange.headers.get("link", ""), "next"):
        return address
    body = as_dict(exchange.body)
    for holder in (body, *(as_dict(body.get(name)) for name in _PARENTS_OF_NEXT_PAGE)):
        for name in _NEXT_PAGE_KEYS:
            value = holder.get(name)
            address = as_string(as_dict(value).get("href")) or as_string(value)
            if "?" in address:
                return address
    return ""
