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
_LEAST_OF_A_VALUE = 2  # enum values recur in responses; names and free text seldom do


@dataclass(slots=True)
class _ObservedResponse:
    """Responses of one status and media type."""

    shape: Shape = field(default_factory=Shape)
    count: int = 0
    sources: list[str] = field(default_factory=list)
    has_retry_after: bool = False


@dataclass(slots=True)
class ResponseObserver:
    """Collects the responses of all operations and compares them with the document."""

    places: SchemaPlaces
    _seen: dict[tuple[Keys, int, str], _ObservedResponse] = field(default_factory=dict)
    _shapes: dict[Keys, Shape] = field(default_factory=dict)

    def add(self, operation: Keys, exchange: RecordedExchange) -> None:
        """Add a response of the operation at these keys."""
        key = (operation, exchange.status, exchange.media_type)
        seen = self._seen.setdefault(key, _ObservedResponse())
        seen.count += 1
        seen.sources.append(exchange.source)
        seen.has_retry_after |= "retry-after" in exchange.headers
        if exchange.body is not NO_JSON:
            seen.shape.add(exchange.body, exchange.source)

    def add_status(self, operation: Keys, status: int, source: str) -> None:
        """Add the status of a response that was not recorded."""
        seen = self._seen.setdefault((operation, status, ""), _ObservedResponse())
        seen.count += 1
        seen.sources.append(source)

    def find_deviations(self) -> Iterator[Deviation]:
        """Yield the deviations of responses from the document."""
        undocumented: dict[tuple[Keys, int], list[tuple[str, _ObservedResponse]]] = {}
        for (operation, status, kind), seen in self._seen.items():
            response = self._find_response(operation, status)
            if response is None:
                undocumented.setdefault((operation, status), []).append((kind, seen))
            elif kind:
                yield from self._compare_media_type(response, kind, seen)
        is_wrong_server = all(status == _NOT_FOUND for _, status, _ in self._seen)
        for (operation, status), listed in undocumented.items():
            if status < _FIRST_SERVER_ERROR:
                deviation = self._describe_status(operation, status, listed)
                # If every response is a 404, the calls went to the wrong URL or server.
                yield replace(deviation, changes=()) if is_wrong_server else deviation
        deviations = [
            deviation
            for keys, shape in self._shapes.items()
            for deviation in self._compare_schema(keys, shape)
        ]
        yield from map(partial(_drop_replacement, deviations=deviations), deviations)

    def _find_response(self, operation: Keys, status: int) -> Keys | None:
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
        self, operation: Keys, status: int, listed: list[tuple[str, _ObservedResponse]]
    ) -> Deviation:
        count = sum(seen.count for _, seen in listed)
        response: dict[str, Any] = {"description": "Seen in recorded calls."}
        if any(seen.has_retry_after for _, seen in listed):
            schema = {"type": "integer"}
            header = schema if "swagger" in self.places.document else {"schema": schema}
            response["headers"] = {"Retry-After": header}
        for kind, seen in listed:
            response = self._add_content(response, kind, seen.shape)
        return create_deviation(
            "status",
            (*operation, "responses"),
            f"the status {status} is not documented",
            observations=count,
            sources=[source for _, seen in listed for source in seen.sources],
            changes=[DocumentChange((*operation, "responses"), {str(status): response})],
        )

    def _add_content(self, response: dict[str, Any], kind: str, shape: Shape) -> dict[str, Any]:
        schema = shape.to_schema() if shape.count else {}
        if "swagger" in self.places.document:
            return {**response, "schema": schema} if schema else response
        if not kind:
            return response
        media_type = {"schema": schema} if schema else {}
        return {**response, "content": {**response.get("content", {}), kind: media_type}}

    def _compare_media_type(
        self, response: Keys, kind: str, seen: _ObservedResponse
    ) -> Iterator[Deviation]:
        if not response:  # in another document
            return
        node = as_dict(self.places.node_at(response))
        if "swagger" in self.places.document:
            if "schema" in node and is_json(kind):
                self._assign((*response, "schema"), seen.shape)
            return
        content = node.get("content")
        declared = next(
            (key for key in as_dict(content) if _matches_declared(kind, str(key))), None
        )
        if declared is not None:
            if is_json(kind):
                self._assign((*response, "content", declared, "schema"), seen.shape)
            return
        if not content and not seen.shape.count:
            return  # content that is not JSON, such as an empty page, where none is documented
        yield create_deviation(
            "media-type",
            response,
            f"responses have the media type {kind}, which is not documented",
            observations=seen.count,
            sources=seen.sources,
            changes=[DocumentChange(response, self._add_content({}, kind, seen.shape))],
        )

    def _assign(self, keys: Keys, shape: Shape) -> None:
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
                self._assign(properties[name], part)
        if shape.items is not None:
            self._assign((*place, "items"), shape.items)

    def _compare_schema(self, keys: Keys, shape: Shape) -> Iterator[Deviation]:
        type_deviation = self._compare_type(keys, shape)
        # A proposed type includes null.
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
        # Lists are merged: null is added to those that are there (Overlay 1.1.0, section 4.4.3).
        null: dict[str, Any] = {"enum": [None]} if isinstance(node.get("enum"), list) else {}
        match node.get("type"):
            case str(kind):
                types = null | {"type": [kind, "null"]}
                return [DocumentChange((*keys, "type")), DocumentChange(keys, types)]
            case list():
                return [DocumentChange(keys, null | {"type": ["null"]})]
        for keyword in ("anyOf", "oneOf"):
            if isinstance(node.get(keyword), list):
                null[keyword] = [{"type": "null"}]
                return [DocumentChange(keys, null)]
        if null:
            return [DocumentChange(keys, null)]
        # The schema stays as it is, as one of two alternatives.
        return [DocumentChange(keys), DocumentChange(keys[:-1], {keys[-1]: _add_null_branch(node)})]

    def _describe_type(
        self, keys: Keys, shape: Shape, wrong: list[str], declared: set[str]
    ) -> Deviation:
        fitting = sum(n for kind, n in shape.types.items() if fits_type(kind, declared))
        is_clear = len(wrong) == 1 and not fitting
        seen = [*wrong, "null"] if shape.types["null"] else wrong
        changes = self._change_type(keys, shape, wrong[0], declared)
        return create_deviation(
            "type",
            keys,
            f"the value is of type {' or '.join(seen)}, the document says "
            f"{' or '.join(sorted(declared))}",
            observations=sum(shape.types[name] for name in wrong),
            sources=shape.sources,
            changes=changes if len(wrong) == 1 else [],
            contradictions=0 if is_clear else fitting or 1,
        )

    def _change_type(
        self, keys: Keys, shape: Shape, seen: str, declared: set[str]
    ) -> list[DocumentChange]:
        node = as_dict(self.places.node_at(keys))
        removed = ["type", "format", "enum", "pattern"]
        types = [seen]
        if not declared.isdisjoint({"array", "object"}):
            # What is documented stays, beside what was seen: other calls may return it.
            if not self.places.has_null_type:
                return []
            removed, types = ["type"], [*sorted(declared), seen]
        update: dict[str, Any] = {"type": types if len(types) > 1 else seen}
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
            if text not in values and count >= _LEAST_OF_A_VALUE
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
            seen = shape.properties[name].count if name in shape.properties else 0
            missing = shape.types["object"] - seen
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


def _drop_replacement(deviation: Deviation, deviations: list[Deviation]) -> Deviation:
    # A schema that is replaced would undo what others change in it: it is proposed next time.
    for change in deviation.changes:
        replaced, size = change.keys, len(change.keys)
        if deviation.kind == "null" and change.update is None and replaced[-1] != "type":
            inner = (c.keys for each in deviations if each is not deviation for c in each.changes)
            if any(keys[:size] == replaced for keys in inner):
                return replace(deviation, changes=())
    return deviation


def _sort_key(pair: tuple[str, Keys]) -> list[tuple[bool, Any]]:
    return [(isinstance(key, str), key) for key in pair[1]]


def _matches_declared(kind: str, declared: str) -> bool:
    return matches_type(kind, essence(declared)) or essence(declared) == kind


def _add_null_branch(node: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(node), {"type": "null"}]}
