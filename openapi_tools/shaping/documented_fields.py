"""JMESPath expressions compared with the schema of a documented answer.

An expression is applied to the schema as it would be to a value: a name that no such answer can
have is a mistake. Where the schema leaves members open, everything is accepted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.json_values import as_string, resolve_reference
from openapi_tools.options import close_names
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 2_000  # schemas that are looked at for one expression; beyond that everything is accepted
_SHOWN = 12
_OPEN: dict[str, Any] = {}
_OTHERS = ("additionalProperties", "patternProperties", "unevaluatedProperties")


def compare(expression: str, tree: dict[str, Any], schema: dict[str, Any]) -> None:
    """Raise SettingsError for a name in an expression that cannot be in the documented answer."""
    with suppress(RecursionError):
        _Walk(expression, schema).result(tree, schema)


@dataclass(slots=True)
class _Shape:
    """The values that a schema allows: their types (None for any), members and items."""

    kinds: frozenset[str] | None = None
    members: dict[str, list[Any]] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    is_open: bool = False  # there may be members of other names

    def takes(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    def is_vague(self) -> bool:
        return self.is_open or (self.takes("object") and not self.members)


@dataclass(slots=True)
class _Walk:
    _expression: str
    _root: dict[str, Any]
    _left: int = _MOST

    def result(self, node: dict[str, Any], schema: Any) -> Any:  # noqa: C901, PLR0911, PLR0912 -- one case for each type of node
        inner = node.get("children", ())
        match node["type"]:
            case "field":
                return self._member(node["value"], schema)
            case "current" | "identity":
                return schema
            case "index":
                return self._items(schema)
            case "slice":
                return _list_of(self._items(schema))
            case "subexpression" | "pipe" | "index_expression":
                for step in inner:
                    schema = self.result(step, schema)
                return schema
            case "flatten":
                return self._flattened(self.result(inner[0], schema))
            case "projection" | "filter_projection":
                item = self._items(self.result(inner[0], schema))
                for condition in inner[2:]:
                    self.result(condition, item)
                return _list_of(self.result(inner[1], item))
            case "value_projection":
                shape = self._shape(self.result(inner[0], schema))
                values = [_OPEN] if shape.is_vague() else map(_any_of, shape.members.values())
                return _list_of(self.result(inner[1], _any_of(values)))
            case "function_expression":
                return self._function(node["value"], inner, schema)
            case "multi_select_dict":
                made = {each["value"]: self.result(each["children"][0], schema) for each in inner}
                return {"properties": made}
        found = _any_of([self.result(each, schema) for each in inner])
        if node["type"] == "multi_select_list":
            return _list_of(found)
        return found if node["type"] in ("or_expression", "and_expression") else _OPEN

    def _function(self, name: str, inner: list[Any], schema: Any) -> Any:
        """Look at the arguments of a function; most functions give anything."""
        plain = [self.result(each, schema) for each in inner if each["type"] != "expref"]
        item = self._items(plain[0]) if len(plain) < len(inner) else _OPEN
        for each in inner:
            if each["type"] == "expref":
                self.result(each["children"][0], item)
        return plain[0] if name in ("reverse", "sort", "sort_by") else _OPEN

    def _member(self, name: str, schema: Any) -> Any:
        shape = self._shape(schema)
        if name in shape.members:
            return _any_of(shape.members[name])
        if shape.is_vague():
            return _OPEN
        if shape.members:
            raise self._fault(f"it has no member {name!r:.60}", shape.members)
        if shape.takes("array"):
            inner = self._shape(_any_of(shape.items or [_OPEN])).members
            hint = f"; write [].{name}" if name in inner else ""
            raise self._fault(f"{name!r:.60} is chosen from a list{hint}", () if hint else inner)
        raise self._fault(f"{name!r:.60} is chosen from a value without members")

    def _items(self, schema: Any) -> Any:
        shape = self._shape(schema)
        if not shape.takes("array"):
            kind = "an object" if shape.members else "a value"
            raise self._fault(f"items are chosen from {kind}, not from a list", shape.members)
        return _any_of(shape.items or [_OPEN])

    def _flattened(self, schema: Any) -> Any:
        item = self._items(schema)  # items that are lists give their own items
        shape = self._shape(item)
        own = [] if shape.kinds == frozenset({"array"}) else [item]
        return _list_of(_any_of([*own, *(shape.items if "array" in (shape.kinds or ()) else ())]))

    def _shape(self, schema: Any, seen: tuple[str, ...] = ()) -> _Shape:
        self._left -= 1
        if not isinstance(schema, dict) or self._left < 0:
            return _Shape(is_open=True)
        parts = [_own(schema)]
        if (reference := as_string(schema.get("$ref"))) in seen:
            return _Shape(is_open=True)
        if reference:
            target = resolve_reference(self._root, reference.removeprefix("#"))
            parts.append(self._shape(target, (*seen, reference)))
        parts += [self._shape(part, seen) for part in schema.get("allOf", ())]
        for union in ("anyOf", "oneOf"):
            if branches := schema.get(union):
                parts.append(_either([self._shape(part, seen) for part in branches]))
        depending = [schema[key] for key in ("then", "else") if key in schema]
        for part in (*depending, *schema.get("dependentSchemas", {}).values()):
            shape = self._shape(part, seen)
            parts.append(replace(shape, kinds=None))  # it may apply, or not
        return _both(parts)

    def _fault(self, reason: str, names: Iterable[str] = ()) -> SettingsError:
        known, asked = list(names), reason.partition("'")[2].partition("'")[0]
        told = close_names(asked, known)
        if known and told == ".":
            more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
            told = f"; there are {', '.join(known[:_SHOWN])}{more}."
        shown = excerpt(repr(self._expression), 100)
        return SettingsError(f"fields: {shown} does not fit the documented answer: {reason}{told}")


def _own(schema: dict[str, Any]) -> _Shape:
    kind = schema.get("type")
    kinds = frozenset([kind] if isinstance(kind, str) else kind) if kind else None
    if kinds is None and not schema.keys().isdisjoint(("items", "prefixItems")):
        kinds = frozenset({"array"})
    properties = schema.get("properties") or {}
    others = (schema.get(keyword, False) for keyword in _OTHERS)
    items = [*schema.get("prefixItems", ()), *([schema["items"]] if "items" in schema else ())]
    return _Shape(
        frozenset({"object"}) if kinds is None and properties else kinds,
        {name: [part] for name, part in properties.items()},
        items,
        is_open=any(other is not False for other in others),
    )


def _both(shapes: list[_Shape]) -> _Shape:
    made = _Shape()
    for shape in shapes:
        if shape.kinds is not None:
            made.kinds = shape.kinds if made.kinds is None else made.kinds & shape.kinds
        for name, parts in shape.members.items():
            made.members.setdefault(name, []).extend(parts)
        made.items += shape.items
        made.is_open |= shape.is_open
    return made


def _either(shapes: list[_Shape]) -> _Shape:
    made = _both([_Shape(None, s.members, s.items, is_open=s.is_vague()) for s in shapes])
    if all(shape.kinds is not None for shape in shapes):
        made.kinds = frozenset().union(*(shape.kinds or () for shape in shapes))
    return made


def _any_of(schemas: Iterable[Any]) -> Any:
    listed = list(schemas)
    return listed[0] if len(listed) == 1 else {"anyOf": listed} if listed else _OPEN


def _list_of(schema: Any) -> Any:
    return {"type": "array", "items": schema}
