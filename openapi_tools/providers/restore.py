"""Arguments in a provider's form -> arguments that fit the input schema.

The value and the input schema are walked together, and each change of a profile is undone. Of
several alternatives the first that fits the restored value counts. A string that writes JSON, where
the schema takes no string, is read: clients send objects, arrays, numbers and booleans so.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import TYPES, is_type
from openapi_tools.common.json_values import contains_value, unique_values
from openapi_tools.providers import containers
from openapi_tools.providers.alternatives import Alternatives, FormChecker
from openapi_tools.providers.containers import ENTRIES, KEY, VALUE, ObjectProperties
from openapi_tools.providers.forms import CannotExpress, form_type, is_anything
from openapi_tools.providers.identity_cache import IdentityCache
from openapi_tools.validation.json_strings import parse_json_string

if TYPE_CHECKING:
    from openapi_tools.providers.forms import Form

# A value with many levels and alternatives could take a minute; it is then left unchanged,
# and checked like any other.
_MOST_RESULTS = 10_000
_MOST_COMPARISONS = 50_000
_STRUCTURES = frozenset({"object", "array"})
_TYPE_RANKS = {"object": 0, "null": 2}
# Exceptions of a malformed schema; then nothing is restored.
_FAULTS = (CannotExpress, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class Restorer:
    """Undoes the changes that a profile makes to a tool's schema; without one, unambiguous ones."""

    def __init__(self, schema: dict[str, Any], profile: str = "") -> None:
        self._root = {key: value for key, value in schema.items() if key != "$defs"}
        self._null_is_absent = profile == "openai_strict"
        self._is_subset = profile in ("openai_strict", "gemini")
        fitting = FormChecker(schema.get("$defs", {}))
        self._fits, self._accepts = fitting.fits, fitting.accepts
        self._forms = Alternatives(schema)
        self._options: IdentityCache[list[Form]] = IdentityCache()
        self._properties: IdentityCache[ObjectProperties] = IdentityCache()
        self._results: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._comparisons = 0
        self._lock = threading.RLock()

    def restore(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by the profile's schema as the input schema takes them."""
        with self._lock:  # large arguments come from threads
            self._comparisons = 0
            try:
                restored = self._restore_value(self._root, arguments)
            except _FAULTS:
                return arguments
            finally:
                self._results.clear()
        return restored if isinstance(restored, dict) else arguments

    def _restore_value(self, node: Any, value: Any) -> Any:
        if not isinstance(value, dict | list):
            return self._restore_with_options(node, value)
        key = (id(node), id(value))
        result = self._results.get(key)
        if result is None:
            if len(self._results) >= _MOST_RESULTS:
                raise CannotExpress("the value is too large for its schema")
            # The value is kept, so that its id stays its own.
            result = self._results[key] = (value, self._restore_with_options(node, value))
        return result[1]

    def _restore_with_options(self, node: Any, value: Any) -> Any:
        forms = self._options.find(node, self._rank_options)
        if isinstance(value, str) and not self._is_subset:
            value = _read_string(forms, value)
        if len(forms) == 1:
            return self._restore_by_form(forms[0], value)
        self._comparisons += len(forms)
        if self._comparisons > _MOST_COMPARISONS:
            raise CannotExpress("there are too many alternatives for so large a value")
        if not self._is_subset and any(self._fits(form, value) for form in forms):
            return value
        for form in self._order_forms(forms, value):
            undone = self._restore_by_form(form, value)
            if self._fits(form, undone):
                return undone
        return value

    def _order_forms(self, forms: list[Form], value: Any) -> list[Form]:
        if isinstance(value, str):
            late = [form for form in forms if form_type(form) in ("object", "array")]
        elif isinstance(value, list):
            late = [
                form for form in forms if form_type(form) == "object" and form.get("properties")
            ]
        else:
            return forms
        return [*(form for form in forms if not any(form is one for one in late)), *late]

    def _rank_options(self, node: Any) -> list[Form]:
        return sorted(
            self._find_options(node), key=lambda form: _TYPE_RANKS.get(form_type(form) or "", 1)
        )

    def _find_options(self, node: Any) -> list[Form]:
        with suppress(CannotExpress):
            return self._forms.options(node)
        return [{}]

    def _restore_by_form(self, form: Form, value: Any) -> Any:
        if "enum" in form:
            named = isinstance(value, str) and not contains_value(form["enum"], value)
            return containers.label_values(form["enum"]).get(value, value) if named else value
        if is_anything(form):
            return _restore_entries(value) if self._is_subset else value
        if self._is_subset and isinstance(value, str):
            value = parse_json_string(value, _STRUCTURES.intersection([form_type(form)]))
        match form_type(form):
            case "object":
                return self._restore_object(form, value)
            case "array" if isinstance(value, list):
                rest = form.get("items", form.get("unevaluatedItems", True))
                schemas = chain(form.get("prefixItems", ()), repeat(rest))
                items = [self._restore_value(*pair) for pair in zip(schemas, value, strict=False)]
                return unique_values(items) if form.get("uniqueItems") is True else items
            case "null":
                return None if value == "null" else value
        return value

    def _restore_object(self, form: Form, value: Any) -> Any:
        properties = self._properties.find(form, self._find_properties)
        open_properties = properties.open_properties
        if self._is_subset and ENTRIES not in properties.declared:
            value = _read_entries(value)
        if containers.are_pairs(value) and (
            self._is_subset or (open_properties is not None and not properties.declared)
        ):
            names: Any = (
                True if open_properties is None or properties.declared else open_properties.key
            )
            value = {self._restore_value(names, pair[KEY]): pair[VALUE] for pair in value}
        if not isinstance(value, dict):
            return value
        undone: dict[str, Any] = {}
        for name, item in self._restore_names(properties, value).items():
            if name not in properties.declared:
                undone[name] = (
                    item
                    if open_properties is None
                    else self._restore_value(open_properties.value, item)
                )
            elif item is not None or not self._is_absent(properties, name):
                undone[name] = self._restore_value(properties.declared[name], item)
        return undone

    def _is_absent(self, properties: ObjectProperties, name: str) -> bool:
        optional = name not in properties.required
        return optional and (
            self._null_is_absent or not self._accepts(properties.declared[name], None)
        )

    def _is_undeclared(
        self, properties: ObjectProperties, name: str, pairs: dict[str, Any]
    ) -> bool:
        if name not in properties.declared:
            return True
        node = properties.declared[name]
        return self._accepts(node, self._restore_value(node, pairs[name]))

    def _find_properties(self, form: Form) -> ObjectProperties:
        try:
            return containers.find_properties(form, self._fits)
        except CannotExpress:
            declared = form.get("properties", {})
            return ObjectProperties(declared, frozenset(form.get("required", ())), None, 0, None)

    def _restore_names(self, properties: ObjectProperties, value: dict[str, Any]) -> dict[str, Any]:
        names = _map_portable_names(properties.declared, value)
        named = {names.get(name, name): item for name, item in value.items()}
        extras = containers.open_properties_name(properties.declared)
        open_properties = properties.open_properties
        if extras not in named or not (
            self._is_subset or (open_properties is not None and properties.declared)
        ):
            return named
        if named[extras] is None:
            # Null may also be the value of a property of that name.
            open_name = (
                open_properties is not None
                and not self._is_subset
                and self._accepts(open_properties.key, extras)
            )
            if not (
                open_name
                and open_properties is not None
                and self._accepts(open_properties.value, None)
            ):
                del named[extras]
        elif containers.are_pairs(named[extras]):
            pairs = {pair[KEY]: pair[VALUE] for pair in named.pop(extras)}
            named = {
                name: pairs[name] for name in pairs if self._is_undeclared(properties, name, pairs)
            } | named
        return named


def _read_string(forms: list[Form], text: str) -> Any:
    types: set[str] = set()
    for form in forms:
        declared = [value for value in form.get("enum", ()) if not isinstance(value, str)]
        if "enum" in form and not contains_value(form["enum"], text):
            types.update(name for name in TYPES for value in declared if is_type(value, name))
        elif "enum" in form or form.get("type", "string") == "string":
            return text
        else:
            types.add(form["type"])
    return parse_json_string(text, types)


def _map_portable_names(declared: dict[str, Any], value: dict[str, Any]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in declared:
        if name not in value and not containers.is_portable(name):
            forms = (form for form in containers.portable_names(name) if form in value)
            names |= {form: name for form in forms if form not in declared}
    return names


def _restore_entries(value: Any) -> Any:
    if isinstance(value, list):
        return [_restore_entries(item) for item in value]
    named = _read_entries(value)
    if named is value:
        return value
    return {name: _restore_entries(item) for name, item in named.items()}


def _read_entries(value: Any) -> Any:
    if (
        isinstance(value, dict)
        and value.keys() == {ENTRIES}
        and containers.are_pairs(value[ENTRIES])
    ):
        return {pair[KEY]: pair[VALUE] for pair in value[ENTRIES]}
    return value
