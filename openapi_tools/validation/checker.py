"""Validates arguments against an input schema, and describes their faults.

jsonschema-rs judges. Where that might take too long, costly keywords are left out; where even the
rest might, the arguments count as fitting: the API checks its input too.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InputError
from openapi_tools.json_values import pointer
from openapi_tools.validation.engine import SMALL_TEXT, SMALL_VALUES, Size, looks, size_of
from openapi_tools.validation.input_schema import prepare
from openapi_tools.validation.messages import Flaw, read_flaws, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.validation.engine import Judge, Node

_TOLD = 5
_SMALL = Size(2 * SMALL_VALUES + 1, SMALL_TEXT, 0, [1] * 101)
"""The most that a small input has: names count as values, and 100 levels may be below it."""
_MOST_ERRORS = 5_000
"""Errors that may be made at once; each takes some microseconds."""
_TEXT = 1_000
"""Characters whose copy into an error costs as much as one error."""
_COPY = 0.1
"""Cost, in errors, of copying a value into the error of its container."""
_NAMES = 50.0
"""Errors by `propertyNames` of an object; each of them holds a copy of it."""
_LARGEST = 150_000
"""Values of an argument that may be copied into one error."""
_MEMBERS = 100


class Checker:
    """Checks arguments against an input schema.

    Spec: JSON Schema 2020-12; `format` is an annotation. Regular expressions are ECMA-262's as far
    as an engine without backtracking reads them.

    The schema may be as faulty as documents are: a keyword that cannot be checked is left out, and
    `notes` says so.
    """

    def __init__(self, schema: Node) -> None:
        self._whole = prepare(schema)
        self.notes = self._whole.notes
        self._schema = self._whole.schema
        self._known = self._schema.get("properties", {})
        self._cheap: Judge | None = None
        self._affords_small: bool | None = None
        self._errors: dict[tuple[str | None, int], float] = {}

    def fits(self, arguments: Any, *, is_small: bool = False) -> bool:
        """Tell whether the arguments fit, as far as that can be told in time.

        They are as `accept` returns them; those of `accept_small` are small.
        """
        if is_small:
            if self._affords_small is None:
                self._affords_small = self._whole.affords(_SMALL)
            if self._affords_small:
                return bool(self._whole.validator.is_valid(arguments))
        judge = self._judge(size_of(arguments))
        return judge is None or judge.validator.is_valid(arguments)

    def check(self, arguments: dict[str, Any]) -> None:
        """Raise an error that describes the faults of arguments; do nothing when they fit.

        Raises:
            InputError: They do not fit; it gives place, value and allowed values, one line
                for each of the first five faults. Its pointer is the first of those places.
        """
        if not self.fits(arguments):
            raise _explained(list(islice(self._flaws(arguments), _TOLD + 1)))

    def _judge(self, size: Size) -> Judge | None:
        """Return a judge that is done in time with a value of this size."""
        if self._whole.affords(size):
            return self._whole
        judge = self._cheaper()
        return judge if judge.affords(size) else None

    def _cheaper(self) -> Judge:
        if self._cheap is None:
            self._cheap = prepare(self._schema, cheap=True)
        return self._cheap

    def _flaws(self, arguments: dict[str, Any]) -> Iterator[Flaw]:
        """Yield the flaws of arguments; those with too many possible errors are checked alone."""
        large = self._large(arguments)
        others = {name: value for name, value in arguments.items() if name not in large}
        judge = self._judge(size_of(others))
        if judge is not None:
            flaws = read_flaws(judge.validator.iter_errors(others), judge.schema)
            yield from (flaw for flaw in flaws if not large.keys() & flaw.place[:1])
        for name in islice(large, _MEMBERS):
            yield from self._flaws_of_large(name, arguments[name])

    def _large(self, arguments: dict[str, Any]) -> dict[str, None]:
        """Return the names of arguments that may have too many errors."""
        left, large = float(_MOST_ERRORS), dict[str, None]()
        for name, value in arguments.items():
            errors = self._errors_in(name, size_of(value))
            if errors > left:
                large[name] = None
            else:
                left -= errors
        return large

    def _errors_in(self, name: str, size: Size) -> float:
        """Return how many errors an argument may have at most."""
        errors = before = 0.0
        for depth, values in enumerate(size.levels):
            by_value = self._errors_by_value(name, depth)
            if by_value > _MOST_ERRORS:
                return by_value
            errors += values * (by_value - before + by_value * _COPY)
            before = by_value
        return errors + before * size.characters / _TEXT

    def _errors_by_value(self, name: str, depth: int) -> float:
        """Return how many errors a value at that depth, and those that hold it, may have."""
        key = (name if name in self._known else None, depth)
        if key not in self._errors:
            own = {name: self._known[name]} if name in self._known else {}
            node = {**self._schema, "properties": own}
            self._errors[key] = looks(node, self._schema, _errors_of, depth + 1)
        return self._errors[key]

    def _flaws_of_large(self, name: str, value: Any) -> Iterator[Flaw]:
        """Give one flaw of an argument that may have too many."""
        if name in self._known:
            alone, definitions = {name: self._known[name]}, self._schema.get("$defs", {})
            checker = Checker({"properties": alone, "$defs": definitions})
            if not checker.fits({name: value}):
                first = checker._first_flaws({name: value})
                yield next(first, Flaw((name,), "", None, value))
        elif self._schema.get("additionalProperties") is False:
            yield Flaw((name,), "additionalProperties", list(self._known), value)

    def _first_flaws(self, arguments: dict[str, Any]) -> Iterator[Flaw]:
        """Give the flaws of the first error by cheap keywords, for values not too large."""
        from jsonschema_rs import ValidationError

        size, judge = size_of(arguments), self._cheaper()
        if size.values <= _LARGEST and judge.affords(size):
            try:
                judge.validator.validate(arguments)
            except ValidationError as error:
                yield from read_flaws([error], judge.schema)


def _errors_of(node: Node) -> float:
    return 1.0 + len(node.get("required", ())) + _NAMES * ("propertyNames" in node)


def _explained(flaws: list[Flaw]) -> InputError:
    if not flaws:
        return InputError("the arguments do not fit the schema; there are too many to say where.")
    shown = [(pointer(flaw.place), sentence(flaw)) for flaw in flaws]
    place, first = shown[0]
    others = [f"{where}: {text}" if where else text for where, text in shown[1:_TOLD]]
    if len(shown) > _TOLD:
        others.append("There is more.")
    return InputError("\n".join([first, *others]), pointer=place)
