"""Validates arguments against the part of an input schema that can be checked.

jsonschema-rs judges. Published documents hold keywords that no validator takes: regular expressions
of another dialect, unknown types, limits of the wrong type. Those are left out, each with a note.
Where a verdict might take too long, costly keywords are left out, too; where even the rest might,
the arguments count as fitting: the API checks its input too. Nothing is looked up outside a schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common import json_schema, json_values
from openapi_tools.errors import InputError
from openapi_tools.redaction import excerpt
from openapi_tools.validation.check_cost import (
    DEEPEST_INPUT,
    LARGEST_PATTERN,
    SMALL_TEXT,
    SMALL_VALUES,
    UNUSABLE,
    PricedValidator,
    ValueSize,
    compile_schema,
    import_validators,
    measure_value,
    pattern_size,
    subschema_groups,
    validation_cost,
)
from openapi_tools.validation.example_calls import explain_flaws
from openapi_tools.validation.messages import Flaw, describe_flaw, read_flaws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import UnionType

    from openapi_tools.validation.check_cost import Node, Schema

_MOST_REPORTED = 5
_LONGEST_POINTER = 500
# More than the five that are shown, as misplaced arguments are grouped.
_LOOKED_AT = 60
_MOST_ERRORS = 5_000  # errors that may be made at once; each takes some microseconds
_TEXT = 1_000  # characters whose copy into an error costs as much as one error
_COPY = 0.1  # cost, in errors, of copying a value into the error of its container
_NAMES = 50.0  # errors by `propertyNames` of an object; each of them holds a copy of it
_LARGEST = 150_000  # values of an argument that may be copied into one error
_MOST_LARGE = 100

_COMPILED = json_schema.ASSERTION_KEYWORDS | {"maxContains", "minContains"}
_SHAPES: tuple[tuple[frozenset[str], type | UnionType], ...] = (
    (json_schema.SCHEMA_LIST_KEYWORDS, list),
    (json_schema.SCHEMA_MAP_KEYWORDS, dict),
    (json_schema.SCHEMA_KEYWORDS, dict | bool),
)
_COSTLY = frozenset(  # keywords that may take long for a large value
    {"anyOf", "contains", "dependentRequired", "dependentSchemas", "if", "multipleOf", "not"}
    | {"oneOf", "pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties"}
    | {"uniqueItems"}
)
_DEEPEST = 200  # nesting of JSON values inside a schema; jsonschema-rs gives up at 250
_MOST_SCHEMAS = 20_000  # the most schemas inside a schema; shared ones count once for each use
_POINTER = 200
_PATTERNS = 4_000_000  # bytes of all compiled patterns of a schema; that takes some 40 ms
_COUNTED = re.compile(r"\{\d")  # in patterns that the engine may refuse for size, but late


class Checker:
    """Checks arguments against an input schema (JSON Schema 2020-12, patterns of ECMA-262).

    A keyword that cannot be checked is left out, and `notes` says so; `format` is an annotation.
    """

    def __init__(self, schema: Node) -> None:
        self._original = schema
        self._full_validator = prepare_validator(schema)
        self.notes = self._full_validator.notes
        self._schema = self._full_validator.schema
        self._properties = self._schema.get("properties", {})
        self._errors: dict[tuple[str | None, int], float] = {}

    def fits(self, arguments: Any) -> bool:
        """Return whether arguments from `accept_input` fit; True if a check would take too long."""
        judge = self._affordable_validator(measure_value(arguments))
        return judge is None or judge.validator.is_valid(arguments)

    @cached_property
    def fits_small(self) -> Callable[[Any], bool]:
        """The function that does so for arguments of `accept_small_input`, mostly unmeasured."""
        full = self._full_validator
        # The largest of them, whose values all have names, and the deepest.
        size = ValueSize(2 * SMALL_VALUES + 1, SMALL_TEXT, 0, [1] * (DEEPEST_INPUT + 1))
        return full.validator.is_valid if full.can_check(size) else self.fits

    def check(self, arguments: dict[str, Any], *, example: bool = False) -> None:
        """Raise InputError for arguments that do not fit, with location, value and allowed values.

        The first five faults have a line each; an example call follows where asked for and of help.
        """
        if not self.fits(arguments):
            flaws = list(islice(self._iter_flaws(arguments), _LOOKED_AT))
            flaws, call = explain_flaws(flaws, self._original)
            raise _compose_error(flaws, call if example else "")

    def _affordable_validator(self, size: ValueSize) -> PricedValidator | None:
        if self._full_validator.can_check(size):
            return self._full_validator
        return self._cheap_validator if self._cheap_validator.can_check(size) else None

    @cached_property
    def _cheap_validator(self) -> PricedValidator:
        return prepare_validator(self._schema, cheap=True)

    def _iter_flaws(self, arguments: dict[str, Any]) -> Iterator[Flaw]:
        # jsonschema-rs makes all errors at once, with copies of values. An argument that may have
        # very many is checked on its own, and one error of it is reported.
        large = self._large_arguments(arguments)
        small = {name: value for name, value in arguments.items() if name not in large}
        judge = self._affordable_validator(measure_value(small))
        if judge is not None:
            flaws = read_flaws(judge.validator.iter_errors(small), judge.schema)
            yield from (flaw for flaw in flaws if not large.keys() & flaw.place[:1])
        for name in islice(large, _MOST_LARGE):
            yield from self._iter_flaws_of_large(name, arguments[name])

    def _large_arguments(self, arguments: dict[str, Any]) -> dict[str, None]:
        left, large = float(_MOST_ERRORS), dict[str, None]()
        for name, value in arguments.items():
            errors = self._errors_in_argument(name, measure_value(value))
            if errors > left:
                large[name] = None
            else:
                left -= errors
        return large

    def _errors_in_argument(self, name: str, size: ValueSize) -> float:
        errors = before = 0.0
        for depth, values in enumerate(size.levels):
            by_value = self._errors_by_value(name, depth)
            if by_value > _MOST_ERRORS:
                return by_value
            errors += values * (by_value - before + by_value * _COPY)
            before = by_value
        return errors + before * size.characters / _TEXT

    def _errors_by_value(self, name: str, depth: int) -> float:
        key = (name if name in self._properties else None, depth)
        if key not in self._errors:
            properties = {name: self._properties[name]} if name in self._properties else {}
            node = {**self._schema, "properties": properties}
            self._errors[key] = validation_cost(node, self._schema, _possible_errors, depth + 1)
        return self._errors[key]

    def _iter_flaws_of_large(self, name: str, value: Any) -> Iterator[Flaw]:
        if name in self._properties:
            properties, definitions = {name: self._properties[name]}, self._schema.get("$defs", {})
            checker = Checker({"properties": properties, "$defs": definitions})
            if not checker.fits({name: value}):
                flaws = checker._iter_first_flaws({name: value})
                yield next(flaws, Flaw((name,), "", None, value))
        elif self._schema.get("additionalProperties") is False:
            yield Flaw((name,), "additionalProperties", list(self._properties), value)

    def _iter_first_flaws(self, arguments: dict[str, Any]) -> Iterator[Flaw]:
        size, judge = measure_value(arguments), self._cheap_validator
        if size.values <= _LARGEST and judge.can_check(size):
            try:
                judge.validator.validate(arguments)
            except import_validators().ValidationError as error:
                yield from read_flaws([error], judge.schema)


def _possible_errors(node: Node) -> float:
    return 1.0 + len(node.get("required", ())) + _NAMES * ("propertyNames" in node)


def _compose_error(flaws: list[Flaw], call: str) -> InputError:
    if not flaws:
        return InputError(
            "the arguments do not match the schema; there are too many of them to say where."
        )
    described = [
        (excerpt(json_values.join_pointer(f.place), _LONGEST_POINTER), describe_flaw(f))
        for f in flaws[:_MOST_REPORTED]
    ]
    place, first = described[0]
    lines = [f"{where}: {text}" if where else text for where, text in described[1:]]
    if len(flaws) > _MOST_REPORTED:
        lines.append("There are more errors.")
    if call:
        lines.append(f"Example: {call}")
    return InputError("\n".join([first, *lines]), pointer=place)


def prepare_validator(schema: Node, *, cheap: bool = False) -> PricedValidator:
    """Return the part of a schema that can be checked, or be checked soon, with its validator."""
    # First with all keywords: few schemas fail, and to try each keyword alone takes far longer.
    for careful in (False, True):
        copy = _CheckableSchema(schema, careful, cheap)
        try:
            validator = compile_schema(copy.schema)
        except UNUSABLE as error:
            reason = str(error).partition("\n")[0]
        else:
            return PricedValidator(copy.schema, validator, tuple(copy.notes))
    note = f"the schema cannot be checked as a whole ({reason:.100})"
    return PricedValidator(copy.schema, None, (*copy.notes, note))


def _compiles(keyword: str, value: object) -> bool:
    try:
        compile_schema({keyword: value})
    except UNUSABLE:
        return False
    return True


def _is_costly(keyword: str, value: Any) -> bool:
    if keyword in ("enum", "const"):
        literals = value if isinstance(value, list) else [value]
        return any(isinstance(literal, list | dict) for literal in literals)
    return keyword in _COSTLY


@dataclass(slots=True)
class _CheckableSchema:
    """The part of a schema that is checked; a `careful` one has only keywords that compile."""

    original: Node
    careful: bool
    cheap: bool
    schema: Node = field(init=False)
    notes: list[str] = field(default_factory=list)
    _references: list[tuple[Node, str]] = field(default_factory=list)
    _left_out: list[tuple[Node, str]] = field(default_factory=list)
    _position: tuple[Node, str] = field(default_factory=lambda: ({}, ""))
    _count: int = 0
    _pattern_budget: int = _PATTERNS

    def __post_init__(self) -> None:
        copied = self._copy_schema(self.original, "", 0)
        self.schema = copied if isinstance(copied, dict) else {}
        for node, place in self._references:
            if not isinstance(
                json_values.resolve_reference(self.schema, node["$ref"]), dict | bool
            ):
                self._position = (node, "$ref")
                self._leave_out(place, "points to nothing in the schema")
                del node["$ref"]
        if self._left_out:
            _relax_schema(self.schema, self._left_out)

    def _leave_out(self, place: str, reason: str) -> None:
        self.notes.append(f"{place[:_POINTER]}: {reason}; not checked")
        self._left_out.append(self._position)

    def _copy_schema(self, node: object, place: str, depth: int) -> Schema:
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            self._leave_out(place, "is not a schema")
            return True
        self._count += 1
        if depth > _DEEPEST or self._count > _MOST_SCHEMAS:
            if self._count <= _MOST_SCHEMAS + 1:
                self._leave_out(place, "is nested too deeply, or the schema is too large")
            else:
                self._left_out.append(self._position)
            return True
        outer = self._position
        copied: Node = {}
        for keyword, value in node.items():
            self._position = (copied, keyword)
            for part in self._copy_keyword(keyword, value, f"{place}/{keyword}", depth + 1):
                copied[keyword] = part
        self._position = outer
        if "$ref" in copied:
            self._references.append((copied, f"{place}/$ref"))
        return copied

    def _copy_keyword(self, keyword: str, value: Any, place: str, depth: int) -> Iterator[Any]:
        if fault := self._find_fault(keyword, value):
            self._leave_out(place, fault)
        elif keyword in json_schema.SCHEMA_KEYWORDS:
            yield self._copy_schema(value, place, depth)
        elif keyword in json_schema.SCHEMA_LIST_KEYWORDS:
            yield [self._copy_schema(v, f"{place}/{i}", depth + 1) for i, v in enumerate(value)]
        elif keyword in json_schema.SCHEMA_MAP_KEYWORDS:
            yield dict(self._copy_properties(keyword, value, place, depth + 1))
        elif keyword in _COMPILED or keyword == "$ref":
            yield value

    def _find_fault(self, keyword: str, value: Any) -> str:
        shape = next((shape for words, shape in _SHAPES if keyword in words), None)
        if shape is not None and not (isinstance(value, shape) and value != []):
            return "contains no schema where one is expected"
        if keyword == "$ref" and not (isinstance(value, str) and f"{value}/".startswith("#/")):
            return "points outside the schema"
        if keyword == "$dynamicRef":
            return "is not supported"
        if self.cheap and _is_costly(keyword, value):
            return "may take too long"
        if keyword == "pattern" and isinstance(value, str):
            is_usable = self._can_compile(value)
        else:
            is_usable = not self.careful or keyword not in _COMPILED or _compiles(keyword, value)
        return "" if is_usable else "has a value that cannot be checked"

    def _can_compile(self, pattern: str) -> bool:
        if self._pattern_budget <= 0:
            return False
        size = pattern_size(pattern)
        self._pattern_budget -= size or (LARGEST_PATTERN if _COUNTED.search(pattern) else 0)
        return size > 0

    def _copy_properties(
        self, keyword: str, value: dict[Any, Any], place: str, depth: int
    ) -> Iterator[tuple[str, Schema]]:
        for name, node in value.items():
            inner = place + json_values.pointer_token(name)
            if not isinstance(name, str):
                self._leave_out(inner, "has a name that is not a string")
            elif keyword == "patternProperties" and not self._can_compile(name):
                self._leave_out(inner, "has a name that cannot be checked")
            else:
                yield name, self._copy_schema(node, inner, depth)


def _relax_schema(root: Node, left_out: list[tuple[Node, str]]) -> None:
    # `left_out` has the schemas that miss a part, each with the keyword of that part.
    for node, keyword in left_out:
        if keyword in ("properties", "patternProperties"):
            _remove_keywords(node, "additionalProperties", "unevaluatedProperties")
        if keyword == "prefixItems":
            _remove_keywords(node, "items", "unevaluatedItems")
    nodes, parents = [root], {id(root): list[int]()}
    for node in nodes:  # which grows
        for child in (child for _, group in subschema_groups(node, root) for child in group):
            if id(child) not in parents:
                nodes.append(child)
                parents[id(child)] = []
            parents[id(child)].append(id(node))
    weak = {id(node) for node, _ in left_out}
    reached = list(weak)
    for one in reached:
        above = set(parents.get(one, ())) - weak
        weak |= above
        reached += above
    for node in nodes:
        _relax_node(node, root, weak)


def _remove_keywords(node: Node, *keywords: str) -> None:
    for keyword in keywords:
        node.pop(keyword, None)


def _relax_node(node: Node, root: Node, weak: set[int]) -> None:
    def is_weak(*keywords: str) -> bool:
        parts = {keyword: node[keyword] for keyword in keywords if keyword in node}
        return any(
            id(child) in weak for _, group in subschema_groups(parts, root) for child in group
        )

    # Where a branch accepts more than the document says, a value may fit two of them.
    if is_weak("oneOf"):
        node["allOf"] = [*node.get("allOf", ()), {"anyOf": node.pop("oneOf")}]
    # A `not` of a schema that accepts more would refuse valid values.
    if is_weak("not"):
        _remove_keywords(node, "not")
    if is_weak("if"):
        _remove_keywords(node, "if", "then", "else")
    if is_weak("contains"):
        _remove_keywords(node, "maxContains")
    if is_weak("$ref", "allOf", "anyOf", "if", "then", "else", "dependentSchemas"):
        _remove_keywords(node, "unevaluatedItems", "unevaluatedProperties")
