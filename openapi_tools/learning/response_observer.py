"""Compare responses with their documentation: statuses, media types and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.common.http_rules import essence, is_json, matches_type
from openapi_tools.common.json_values import as_dict, as_list
from openapi_tools.errors import format_count
from openapi_tools.learning.deviations import Deviation, DocumentChange, create_deviation
from openapi_tools.learning.evidence import NO_JSON
from openapi_tools.learning.schema_places import fits_type
from openapi_tools.learning.shapes import Shape, is_name
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from openapi_tools.learning.evidence import RecordedExchange
    from openapi_tools.learning.schema_places import Keys, SchemaPlaces

_FIRST_SERVER_ERROR = 500
_NOT_FOUND = 404
_MOST_ENUM_VALUES = 10
_LEAST_OCCURRENCES = 2  # of an enum value; names and free text seldom recur


@dataclass(slots=True)
class _ObservedResponse:
    """The responses of an operation with the same status and media type."""

    shape: Shape = field(default_factory=Shape)
    count: int = 0
    sources: list[str] = field(default_factory=list)
    has_retry_after: bool = False


@dataclass(slots=True)
class ResponseObserver:
    """Collects the responses of all operations and compares them with the document."""

    places: SchemaPlaces
    _responses: dict[tuple[Keys, int, str], _ObservedResponse] = field(default_factory=dict)
    _shapes: dict[Keys, Shape] = field(default_factory=dict)

    def add(self, operation: Keys, exchange: RecordedExchange) -> None:
        """Add an exchange of the operation at these keys."""
        key = (operation, exchange.status, exchange.media_type)
        observed = self._responses.setdefault(key, _ObservedResponse())
        observed.count += 1
        observed.sources.append(exchange.source)
        observed.has_retry_after |= "retry-after" in exchange.headers
        if exchange.body is not NO_JSON:
            observed.shape.add(exchange.body, exchange.source)

    def add_status(self, operation: Keys, status: int, source: str) -> None:
        """Add the status of a response of which nothing else is known."""
        observed = self._responses.setdefault((operation, status, ""), _ObservedResponse())
        observed.count += 1
        observed.sources.append(source)

    def find_deviations(self) -> Iterator[Deviation]:
        """Yield the deviations of responses from the document."""
        undocumented: dict[tuple[Keys, int], dict[str, _ObservedResponse]] = {}
        for (operation, status, media_type), observed in self._responses.items():
            response = self._find_response(operation, status)
            if response is None:
                undocumented.setdefault((operation, status), {})[media_type] = observed
            elif media_type:
                yield from self._compare_media_type(response, media_type, observed)
        is_wrong_server = all(status == _NOT_FOUND for _, status, _ in self._responses)
        for (operation, status), responses in undocumented.items():
            if status < _FIRST_SERVER_ERROR:
                deviation = self._describe_status(operation, status, responses)
                # If every response is a 404, the calls went to the wrong URL or server.
                yield replace(deviation, changes=()) if is_wrong_server else deviation
        deviations = [
            deviation
            for keys, shape in self._shapes.items()
            for deviation in self._compare_schema(keys, shape)
        ]
        yield from map(partial(_withhold_replacement, deviations=deviations), deviations)

    def _find_response(self, operation: Keys, status: int) -> Keys | None:
        # None if the document has none for the status, `()` if it is in another document.
        # OpenAPI 3.2.0, section 4.16: an exact status comes before a range, and that before the
        # default.
        responses = (*operation, "responses")
        listed = as_dict(self.places.node_at(responses))
        spellings = {str(key): key for key in listed}
        for name in (str(status), f"{status // 100}XX", f"{status // 100}xx", "default"):
            if name in spellings and (name != "default" or status >= 300):  # noqa: PLR2004
                return self.places.follow((*responses, spellings[name])) or ()
        return None if isinstance(self.places.node_at(responses), Mapping) else ()

    def _describe_status(
        self, operation: Keys, status: int, responses: dict[str, _ObservedResponse]
    ) -> Deviation:
        count = sum(observed.count for observed in responses.values())
        response: dict[str, Any] = {"description": "Seen in recorded calls."}
        if any(observed.has_retry_after for observed in responses.values()):
            schema = {"type": "integer"}
            header = schema if "swagger" in self.places.document else {"schema": schema}
            response["headers"] = {"Retry-After": header}
        for media_type, observed in responses.items():
            response = self._add_content(response, media_type, observed.shape)
        return create_deviation(
            "status",
            (*operation, "responses"),
            f"the status {status} is not documented",
            observations=count,
            sources=[source for observed in responses.values() for source in observed.sources],
            changes=[DocumentChange((*operation, "responses"), {str(status): response})],
        )

    def _add_content(
        self, response: dict[str, Any], media_type: str, shape: Shape
    ) -> dict[str, Any]:
        schema = shape.to_schema() if shape.count else {}
        if "swagger" in self.places.document:
            return {**response, "schema": schema} if schema else response
        if not media_type:
            return response
        content = {**response.get("content", {}), media_type: {"schema": schema} if schema else {}}
        return {**response, "content": content}

    def _compare_media_type(
        self, response: Keys, media_type: str, observed: _ObservedResponse
    ) -> Iterator[Deviation]:
        if not response:
            return
        node = as_dict(self.places.node_at(response))
        if "swagger" in self.places.document:
            if "schema" in node and is_json(media_type):
                self._add_shape((*response, "schema"), observed.shape)
            return
        content = node.get("content")
        declared = next(
            (key for key in as_dict(content) if _matches_declared(media_type, str(key))), None
        )
        if declared is not None:
            if is_json(media_type):
                self._add_shape((*response, "content", declared, "schema"), observed.shape)
            return
        if not content and not observed.shape.count:
            return  # no content is documented, and this is not JSON: an empty page, for instance
        yield create_deviation(
            "media-type",
            response,
            f"responses have the media type {media_type}, which is not documented",
            observations=observed.count,
            sources=observed.sources,
            changes=[DocumentChange(response, self._add_content({}, media_type, observed.shape))],
        )

    def _add_shape(self, keys: Keys, shape: Shape) -> None:
        if not shape.count or self.places.node_at(keys) is None:
            return
        nulls, values = shape.split_nulls()
        self._shapes.setdefault(keys, Shape()).merge(nulls)
        place = self.places.find_branch(keys, shape.value_types)
        if place is None or not values.count:
            return
        self._shapes.setdefault(place, Shape()).merge(values)
        properties = self.places.properties_at(place)
        for name, part in shape.properties.items():
            if name in properties:
                self._add_shape(properties[name], part)
        if shape.items is not None:
            self._add_shape((*place, "items"), shape.items)

    def _compare_schema(self, keys: Keys, shape: Shape) -> Iterator[Deviation]:
        type_deviation = self._compare_type(keys, shape)
        # A proposed type already includes null.
        has_type = type_deviation is not None and type_deviation.is_proposed
        if shape.types["null"] and not has_type and not self.places.allows_null(keys):
            yield self._describe_null(keys, shape)
        if type_deviation is not None:
            yield type_deviation
            return
        if self.places.follow(keys) != keys or not shape.value_types:
            return
        yield from self._compare_enum(keys, shape)
        if shape.types["object"]:
            yield from self._compare_properties(keys, shape)
            yield from self._compare_required(keys, shape)

    def _compare_type(self, keys: Keys, shape: Shape) -> Deviation | None:
        if self.places.follow(keys) != keys:
            return None
        declared = self.places.types_at(keys)
        wrong = [name for name in shape.value_types if not fits_type(name, declared)]
        return self._describe_type(keys, shape, wrong, declared) if wrong else None

    def _describe_null(self, keys: Keys, shape: Shape) -> Deviation:
        return create_deviation(
            "null",
            keys,
            "the value is null, which its schema does not allow",
            observations=shape.types["null"],
            sources=shape.sources_of_null,
            changes=self._allow_null(keys),
        )

    def _allow_null(self, keys: Keys) -> list[DocumentChange]:
        node = as_dict(self.places.node_at(keys))
        if not self.places.has_null_type:
            return [DocumentChange(keys, {self.places.nullable: True})]
        # An update appends null to existing lists (Overlay 1.1.0, section 4.4.3).
        null: dict[str, Any] = {"enum": [None]} if isinstance(node.get("enum"), list) else {}
        match node.get("type"):
            case str(name):
                types = null | {"type": [name, "null"]}
                return [DocumentChange((*keys, "type")), DocumentChange(keys, types)]
            case list():
                return [DocumentChange(keys, null | {"type": ["null"]})]
        for keyword in ("anyOf", "oneOf"):
            if isinstance(node.get(keyword), list):
                null[keyword] = [{"type": "null"}]
                return [DocumentChange(keys, null)]
        if null:
            return [DocumentChange(keys, null)]
        # Any other schema becomes one of two alternatives.
        return [DocumentChange(keys), DocumentChange(keys[:-1], {keys[-1]: _add_null_branch(node)})]

    def _describe_type(
        self, keys: Keys, shape: Shape, wrong: list[str], declared: set[str]
    ) -> Deviation:
        fitting = sum(n for name, n in shape.types.items() if fits_type(name, declared))
        is_clear = len(wrong) == 1 and not fitting
        type_names = [*wrong, "null"] if shape.types["null"] else wrong
        changes = self._change_type(keys, shape, wrong[0], declared)
        return create_deviation(
            "type",
            keys,
            f"the value is of type {' or '.join(type_names)}, the document says "
            f"{' or '.join(sorted(declared))}",
            observations=sum(shape.types[name] for name in wrong),
            sources=shape.sources,
            changes=changes if len(wrong) == 1 else [],
            contradictions=0 if is_clear else fitting or 1,
        )

    def _change_type(
        self, keys: Keys, shape: Shape, seen_type: str, declared: set[str]
    ) -> list[DocumentChange]:
        node = as_dict(self.places.node_at(keys))
        removed = ["type", "format", "enum", "pattern"]
        types = [seen_type]
        if not declared.isdisjoint({"array", "object"}):
            # The documented type stays, too: other calls may return it.
            if not self.places.has_null_type:
                return []
            removed, types = ["type"], [*sorted(declared), seen_type]
        update: dict[str, Any] = {"type": types if len(types) > 1 else seen_type}
        if self.places.has_null_type and (shape.types["null"] or "null" in as_list(node["type"])):
            update = {"type": [*types, "null"]}
        elif shape.types["null"]:
            update[self.places.nullable] = True
        removals = [DocumentChange((*keys, name)) for name in removed if name in node]
        return [*removals, DocumentChange(keys, update)]

    def _compare_enum(self, keys: Keys, shape: Shape) -> Iterator[Deviation]:
        values = as_list(as_dict(self.places.node_at(keys)).get("enum"))
        new = {
            text: count
            for text, count in sorted(shape.symbols.items())
            if text not in values and count >= _LEAST_OCCURRENCES
        }
        if not values or not new or len(new) > _MOST_ENUM_VALUES:
            return
        yield create_deviation(
            "enum",
            keys,
            f"{format_count(len(new), 'undocumented enum value')}: {', '.join(new)}",
            observations=sum(new.values()),
            sources=shape.sources,
            changes=[DocumentChange((*keys, "enum"), text) for text in new],
        )

    def _compare_properties(self, keys: Keys, shape: Shape) -> Iterator[Deviation]:
        holder = self.places.holder_of_properties(keys)
        declared = self.places.properties_at(keys)
        new = [name for name in shape.properties if name not in declared]
        if holder is None or not new or shape.is_map(new):
            return
        for name in filter(is_name, new):
            part = shape.properties[name]
            yield create_deviation(
                "property",
                holder,
                f"the property {name} is not documented",
                observations=part.count,
                sources=[*part.sources, *part.sources_of_null],
                changes=[
                    DocumentChange(holder, {"properties": {name: self._nullable_schema(part)}})
                ],
            )

    def _nullable_schema(self, shape: Shape) -> dict[str, Any]:
        schema = shape.to_schema()
        if not shape.types["null"] or "type" not in schema:
            return schema
        if self.places.has_null_type:
            return {**schema, "type": [schema["type"], "null"]}
        return {**schema, self.places.nullable: True}

    def _compare_required(self, keys: Keys, shape: Shape) -> Iterator[Deviation]:
        # From the end, so that a removal does not shift the names that are removed later.
        for name, place in sorted(self.places.required_at(keys), key=_sort_key, reverse=True):
            present = shape.properties[name].count if name in shape.properties else 0
            missing = shape.types["object"] - present
            is_written = as_dict(
                self.places.node_at(self.places.properties_at(keys).get(name, ()))
            ).get("writeOnly")
            if missing > 0 and not is_written:
                yield create_deviation(
                    "required",
                    place,
                    f"the required property {excerpt(name, 64)!r} is missing",
                    observations=missing,
                    sources=shape.sources,
                    changes=[DocumentChange(place)],
                )


def _withhold_replacement(deviation: Deviation, deviations: list[Deviation]) -> Deviation:
    # Replacing a schema would undo other changes inside it, so it is proposed after these.
    for change in deviation.changes:
        replaced, size = change.keys, len(change.keys)
        if deviation.kind == "null" and change.update is None and replaced[-1] != "type":
            inner = (c.keys for each in deviations if each is not deviation for c in each.changes)
            if any(keys[:size] == replaced for keys in inner):
                return replace(deviation, changes=())
    return deviation


def _sort_key(pair: tuple[str, Keys]) -> list[tuple[bool, Any]]:
    return [(isinstance(key, str), key) for key in pair[1]]


def _matches_declared(media_type: str, declared: str) -> bool:
    return matches_type(media_type, essence(declared)) or essence(declared) == media_type


def _add_null_branch(node: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(node), {"type": "null"}]}
