"""Read parameters, headers and fields of forms from text by their schemas.

openapi-core chooses one reading by `type`, and stops where that is missing, a list or inside a
union. Here every reading that the schema allows is tried, and the first that matches is used.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object), its styles above all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import TYPES
from openapi_tools.common.json_values import as_dict, as_list, follow_references
from openapi_tools.errors import require_extra

with require_extra("testing"):
    from openapi_core.deserializing.styles import (
        StyleDeserializersFactory,
        style_deserializers,
        util,
    )
    from openapi_core.util import forcebool

if TYPE_CHECKING:
    from jsonschema_path import SchemaPath
    from openapi_core.casting.schemas.factories import SchemaCastersFactory
    from openapi_core.validation.schemas.factories import SchemaValidatorsFactory

Node = Mapping[str, Any]
Branch = tuple[Node, ...]
"""Schemas that hold together: a schema, its `allOf`, and one branch of each union."""

_MOST_BRANCHES = 64
_MOST_SCHEMAS, _DEEPEST = 2000, 16  # of one value; unions may refer to themselves
_LONGEST_NUMBER = 400
_INTEGER = re.compile(r"[+-]?[0-9]++")
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_ALL_BRACKETS = re.compile(r"(?:\[[^\[\]]*+\])++")
_SCALARS = frozenset({"integer", "number", "boolean", "null", "string"})
_HOLDERS = {"array": {"items", "prefixItems"}, "object": {"properties", "additionalProperties"}}
_STYLES_OF_SEVERAL = ("deepObject", "pipeDelimited", "spaceDelimited")  # not for single values
_DELIMITERS = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|"}
_NESTED = "OpenAPI does not define how an array or object inside another value is written"
_SEVERAL = "a property of an exploded object occurs more than once"


class _RepeatedValues(list[str]):
    """The values of a name that occurs several times, whose object may be another parameter."""


class UndefinedReading(Exception):  # noqa: N818 -- the request is not wrong
    """The standard does not say how the value is written; the message is the reason."""


class TextReader(StyleDeserializersFactory):
    """Makes readers of values for openapi-core, and for the check of parameters.

    `taken` has the names of all parameters, which are not properties of an exploded object.
    """

    def __init__(
        self,
        document: Node,
        validators: SchemaValidatorsFactory,
        casters: SchemaCastersFactory,
        taken: Iterable[str] = (),
    ) -> None:
        super().__init__(casters)
        self._document = document
        self.validators = validators
        self._taken = frozenset(taken)

    def create(
        self, spec: SchemaPath, schema: SchemaPath, style: str, explode: bool, name: str
    ) -> Any:
        """Return a reader; its `deserialize` takes a location's texts by name."""
        schema_value = schema.read_value() if schema.exists() else {}
        style_decoder = _StyleDecoder(style, explode, name, self._taken)
        return _ValueReader(
            self._document,
            schema_value,
            style_decoder,
            partial(self.validators.create, spec, schema),
        )


class _ValueReader:
    def __init__(
        self, document: Node, schema: Any, style: _StyleDecoder, validator: Callable[[], Any]
    ) -> None:
        self._document = document
        self._schema = schema
        self._style = style
        self._make_validator = validator
        self._left = _MOST_SCHEMAS

    @cached_property
    def _validator(self) -> Any:
        return self._make_validator().validator

    def deserialize(self, location: Any) -> Any:
        """Return the value that fits, else any; KeyError where it is missing."""
        texts = _decode_parts(location)
        values = []
        undefined = missing = None
        for branch in self._branches(self._schema):
            for shape in _shapes_of_branch(branch):
                try:
                    raw = self._style.read(shape, branch, texts)
                    values.append(self._convert(raw, branch))
                except KeyError as error:
                    missing = error
                except UndefinedReading as error:
                    undefined = undefined or error
        fitting = self._choose(values, (self._schema,), is_sure=undefined is None)
        if fitting:
            return fitting[0]
        raise undefined or missing or KeyError

    def _choose(self, values: list[Any], schemas: Branch, *, is_sure: bool = True) -> list[Any]:
        if is_sure and len(values) < 2:  # noqa: PLR2004 -- nothing to choose
            return values
        for value in values:
            if all(self._validator.evolve(schema=schema).is_valid(value) for schema in schemas):
                return [value]
        return values[:1] if is_sure else []

    def _branches(self, schema: Any, depth: int = 0) -> Iterator[Branch]:
        self._left -= 1
        node = follow_references(self._document, schema)
        branches: list[Branch] = [(node,)]
        unions = [[part] for part in as_list(node.get("allOf"))]
        unions += [as_list(node[key]) for key in ("anyOf", "oneOf") if as_list(node.get(key))]
        for union in unions if self._left > 0 and depth < _DEEPEST else ():
            parts = (branch for part in union for branch in self._branches(part, depth + 1))
            inner = list(islice(parts, _MOST_BRANCHES))
            pairs = (parent + branch for parent in branches for branch in inner)
            branches = list(islice(pairs, _MOST_BRANCHES))
        yield from branches

    def _convert(self, raw: Any, branch: Branch) -> Any:
        if isinstance(raw, list) and not (isinstance(raw, _RepeatedValues) and _is_single(branch)):
            return [
                self._convert_part(item, _item_schemas(branch, place))
                for place, item in enumerate(raw)
            ]
        if isinstance(raw, Mapping):
            return {
                name: self._convert_part(raw[name], _property_schemas(branch, name)) for name in raw
            }
        types = _types_of_branch(branch)
        if isinstance(raw, _RepeatedValues):
            raise UndefinedReading(_SEVERAL)
        if types and not types & _SCALARS:
            return self._convert(_split_inner(raw, branch), branch)
        return (self._choose(list(_read_scalars(raw, types)), branch) or [raw])[0]

    def _convert_part(self, raw: Any, schemas: list[Any]) -> Any:
        schema = schemas[0] if len(schemas) == 1 else {"allOf": schemas}
        if not schemas:
            return raw
        values, undefined = [], None
        for branch in self._branches(schema):
            try:
                values.append(self._convert(raw, branch))
            except UndefinedReading as error:
                undefined = error
        fitting = self._choose(values, (schema,), is_sure=undefined is None)
        if undefined is not None and not fitting:
            raise undefined
        return fitting[0]


def _decode_parts(location: Any) -> Any:
    if not any(isinstance(value, bytes) for value in location.values()):
        return location
    pairs = location.items(multi=True)
    return type(location)((name, _decode_part(value)) for name, value in pairs)


def _decode_part(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _types_of_branch(branch: Branch) -> frozenset[str]:
    kinds = [node.get("type") for node in branch]
    listed = [[kind] if isinstance(kind, str) else as_list(kind) for kind in kinds]
    # Types of other languages, such as `any`, say nothing.
    if declared := [known_types for names in listed if (known_types := TYPES.intersection(names))]:
        with_integers = [names | {"integer"} if "number" in names else names for names in declared]
        return frozenset.intersection(*with_integers) or declared[0]
    keys = {key for node in branch for key in node}
    return frozenset(kind for kind, holders in _HOLDERS.items() if holders & keys)


def _split_inner(text: str, branch: Branch) -> list[str]:
    # Swagger 2.0 alone defines an array inside an array (Items Object).
    formats = (node.get("collectionFormat") for node in branch)
    if delimiter := next((_DELIMITERS[key] for key in formats if key in _DELIMITERS), ""):
        return text.split(delimiter)
    raise UndefinedReading(_NESTED)


def _is_single(branch: Branch) -> bool:
    types = _types_of_branch(branch)
    return bool(types) and "array" not in types


def _shapes_of_branch(branch: Branch) -> Iterator[str]:
    types = _types_of_branch(branch)
    yield from (kind for kind in _HOLDERS if kind in types)
    if not types or types & _SCALARS:
        yield ""


def _item_schemas(branch: Branch, place: int) -> list[Any]:
    schemas = []
    for node in branch:
        prefix_items = as_list(node.get("prefixItems"))
        schema = prefix_items[place] if place < len(prefix_items) else node.get("items")
        schemas += [schema] if isinstance(schema, Mapping) else []
    return schemas


def _property_schemas(branch: Branch, name: str) -> list[Any]:
    schemas = []
    for node in branch:
        properties = as_dict(node.get("properties"))
        schema = properties.get(name, node.get("additionalProperties"))
        schemas += [schema] if isinstance(schema, Mapping) else []
    return schemas


def _read_scalars(text: str, types: frozenset[str]) -> Iterator[Any]:
    is_short = len(text) < _LONGEST_NUMBER
    if not types:
        yield text
    if (not types or types & {"integer", "number"}) and is_short:
        if _INTEGER.fullmatch(text):
            yield int(text)
        elif _NUMBER.fullmatch(text) and types != {"integer"}:
            yield float(text)
    if "boolean" in types or (not types and text in ("true", "false")):
        with suppress(ValueError):
            yield forcebool(text)
    if "null" in types and text in ("", "null"):
        yield None
    if "string" in types:
        yield text


@dataclass(frozen=True, slots=True)
class _StyleDecoder:
    """How a value is written, and the names that no exploded object has."""

    style: str
    explode: bool
    name: str
    taken: frozenset[str]

    def read(self, shape: str, branch: Branch, location: Any) -> Any:
        """Return the strings of a value; KeyError where there are none."""
        if self.style in _STYLES_OF_SEVERAL and not shape:
            return location[self.name]  # not defined, but nothing else can be meant
        if self.style == "deepObject":
            return _read_brackets(self.name, location)
        if self.style == "form" and self.explode and shape == "object":
            return _read_exploded_object(branch, self.taken, location)
        how = f"{self.style!r} with explode" if self.explode else repr(self.style)
        undefined = UndefinedReading(f"OpenAPI does not define style {how} for an {shape}")
        decoder = _DECODERS.get(self.style)
        # An exploded array fails below; of an exploded object there is nothing by its name.
        if decoder is None or (self.style in _STYLES_OF_SEVERAL and self.explode):
            raise undefined
        try:
            return decoder(self.explode, self.name, shape, location)
        except (ValueError, TypeError, AttributeError) as error:
            raise undefined from error


def _read_exploded_object(
    branch: Branch, parameter_names: frozenset[str], location: Any
) -> dict[str, Any]:
    keys = {key for node in branch for key in node.get("properties") or ()}
    if any(node.get("additionalProperties") not in (None, False) for node in branch) or not keys:
        keys |= set(location) - parameter_names
    values = {key: location.getlist(key) for key in location if key in keys}
    if not values:
        raise KeyError
    return {
        key: texts[0] if len(texts) == 1 else _RepeatedValues(texts)
        for key, texts in values.items()
    }


def _read_brackets(name: str, location: Any) -> Any:
    tree: dict[str, Any] = {}
    for key, value in location.items(multi=True):
        keys = key.removeprefix(name) if key.startswith(name) else ""
        if _ALL_BRACKETS.fullmatch(keys):
            _set_nested_value(tree, _BRACKETS.findall(keys), value)
    if not tree:
        raise KeyError(name)
    return _indexes_to_arrays(tree)


def _set_nested_value(tree: dict[str, Any], keys: list[str], value: str) -> None:
    for key in keys[:-1]:
        branch = tree.setdefault(key or str(len(tree)), {})
        tree = branch if isinstance(branch, dict) else tree
    tree[keys[-1] or str(len(tree))] = value


def _indexes_to_arrays(tree: Any) -> Any:
    if not isinstance(tree, Mapping):
        return tree
    if all(key.isdecimal() for key in tree):
        return [_indexes_to_arrays(value) for value in tree.values()]
    return {key: _indexes_to_arrays(value) for key, value in tree.items()}


def _read_label(
    explode: bool,
    name: str,
    shape: str,
    location: Any,
) -> Any:
    # Some versions of the standard print `.blue.black` where RFC 6570 has `.blue,black`.
    parts = location.get(f".{name}", "")[1:].split(".")
    if explode or not shape or len(parts) == 1 or "," in location[f".{name}"]:
        return util.label_loads(explode, name, shape, location)
    return parts if shape == "array" else dict(zip(parts[::2], parts[1::2], strict=True))


# It splits `spaceDelimited` at the characters `%20` although it is given decoded values, and has no
# style `cookie` (OpenAPI 3.2.0), whose pairs are cookies as those of `form` are.
_DECODERS: dict[str, Callable[..., Any]] = {
    **style_deserializers,
    "spaceDelimited": partial(util.delimited_loads, delimiter=" "),
    "tabDelimited": partial(util.delimited_loads, delimiter="\t"),  # `tsv` of Swagger 2.0
    "cookie": util.form_loads,
    "label": _read_label,
}
