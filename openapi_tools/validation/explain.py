"""Where an input does not fit its schema, and why.

The verdict on a call's input comes from jsonschema-rs. Its errors hold copies of everything they
speak of, for all alternatives of all alternatives, so this module finds its own: it walks schema
and input together, looks at every pair of them once, and stops when it has said enough.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.schema_keywords import ASSERTIONS, UNIONS
from openapi_tools.validation.applicators import APPLICATORS
from openapi_tools.validation.check_costs import AT_ONCE, is_odd, value_price
from openapi_tools.validation.engine import UNUSABLE, compile_schema, slowness
from openapi_tools.validation.messages import BRIEF, Flaw
from openapi_tools.validation.schema_graph import resolve
from openapi_tools.validation.unique_items import MANY, repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema_rs import Draft202012Validator

    from openapi_tools.validation.messages import Place, Schema

_LOOKS = 50_000
_WORDS = 5_000
_TIME = 1_000_000_000.0
"""Nanoseconds that the assertions of a look may take together, by the same estimate."""

_TEXT = 50.0
"""Nanoseconds for a character of items that are compared."""

_MEMBERS = 100
_CIRCLE = True
_FILE = frozenset({"base64", "text"})
_FILE_HINT = '; give {"text": …} or {"base64": …}'


class Unfinished(Exception):  # noqa: N818 -- no fault: a limit was reached
    """The input is too large, or the schema too tangled, to be looked at as a whole."""


class Explainer:
    """What is needed to look at inputs of one schema.

    Args:
        schema: As `prepare` returns it.
        cheap: As `is_cheap` says.
    """

    def __init__(self, schema: dict[str, Any], *, cheap: bool = False) -> None:
        self._root = schema
        self._cheap = cheap
        self._assertions: dict[tuple[int, str], Draft202012Validator | None] = {}
        self._prices: dict[int, tuple[float, float]] = {}
        self._patterns: dict[str, Draft202012Validator] = {}

    def holds(self, value: Any) -> bool:
        """Tell whether a value fits.

        Raises:
            Unfinished: It would take too long.
        """
        try:
            return _Look(self).holds(self._root, value)
        except RecursionError:
            raise Unfinished from None

    def flaws(self, value: Any, count: int) -> list[Flaw]:
        """Return the first `count` things that are wrong; fewer when looking takes too long."""
        found: list[Flaw] = []
        try:
            for flaw in _Look(self).flaws(self._root, value, ()):
                if flaw not in found:
                    found.append(flaw)
                if len(found) == count:
                    break
        except (Unfinished, RecursionError):
            pass
        return found or self._unfit_members(value)

    def _unfit_members(self, value: Any) -> list[Flaw]:
        """Return which members do not fit, where finding out why would take too long."""
        known = self._root.get("properties", {})
        if not self._cheap or not isinstance(value, dict):
            return []
        definitions = {"$defs": self._root.get("$defs", {})}
        schemas = ((name, known[name]) for name in value if isinstance(known.get(name), dict))
        return [
            Flaw((name,), "", None, value[name])
            for name, schema in islice(schemas, _MEMBERS)
            if (validator := _compiled({**schema, **definitions})) is not None
            and not validator.is_valid(value[name])
        ]

    def resolve(self, reference: str) -> Schema:
        """Return the schema that a `$ref` names."""
        found: Schema = resolve(self._root, reference)
        return found

    def price(self, schema: dict[str, Any], value: Any) -> float:
        """Return how many nanoseconds the assertions of a schema may take for a value."""
        key = id(schema)
        if key not in self._prices:
            self._prices[key] = (value_price(schema), slowness(schema.get("pattern")))
        per_value, per_character = self._prices[key]
        if isinstance(value, str):
            return per_value + len(value) * per_character
        return per_value * 10 if is_odd(value) else per_value

    def fits(self, schema: dict[str, Any], value: Any, keyword: str = "") -> bool:
        """Tell whether a value fits the keywords that need no other schema.

        Args:
            schema: It may hold others too.
            value: What was given.
            keyword: The only one that counts; the empty string for all, `-` and a keyword for all
                but that.
        """
        key = (id(schema), keyword)
        if key not in self._assertions:
            names = ASSERTIONS - {keyword[1:]} if keyword[:1] in ("", "-") else {keyword}
            own = {name: limit for name, limit in schema.items() if name in names}
            self._assertions[key] = _compiled(own) if own else None
        validator = self._assertions[key]
        return validator is None or validator.is_valid(value)

    def matches(self, pattern: str, text: str) -> bool:
        """Tell whether a name matches a regular expression (ECMA-262).

        Raises:
            Unfinished: It would take too long.
        """
        if len(text) * slowness(pattern) > AT_ONCE:
            raise Unfinished
        if pattern not in self._patterns:
            self._patterns[pattern] = compile_schema({"pattern": pattern})
        return self._patterns[pattern].is_valid(text)


class _Look:
    """One look at one input; `Look` of the module `applicators` says what its methods mean."""

    def __init__(self, explainer: Explainer) -> None:
        self.resolve = explainer.resolve
        self._explainer = explainer
        self._known: dict[tuple[int, int], bool] = {}
        self._repeated: dict[int, bool] = {}
        self._words = _WORDS
        self._time = _TIME

    def matches(self, pattern: str, text: str) -> bool:
        self._spend(len(text) * slowness(pattern))
        return self._explainer.matches(pattern, text)

    def holds(self, schema: Schema, value: Any) -> bool:
        if isinstance(schema, bool):
            return schema
        key = (id(schema), id(value))
        if key not in self._known:
            if len(self._known) >= _LOOKS:
                raise Unfinished
            self._known[key] = _CIRCLE
            self._known[key] = next(self.flaws(schema, value, None), None) is None
        return self._known[key]

    def flaws(self, schema: Schema, value: Any, place: Place | None) -> Iterator[Flaw]:
        if isinstance(schema, bool):
            if not schema:
                yield BRIEF if place is None else Flaw(place, "false", None, value)
            return
        if place is not None:
            self._words -= 1
            if self._words < 0:
                yield Flaw(place, "", None, value)
                return
        wrong_type = False
        for flaw in self._own_flaws(schema, value, place):
            wrong_type |= flaw.keyword == "type"
            yield flaw
        for keyword in schema:
            # Alternatives of another type would be judged by what they do not say of this one.
            if (applies := APPLICATORS.get(keyword)) and not (wrong_type and keyword in UNIONS):
                yield from applies(self, schema, value, place)

    def _own_flaws(self, schema: dict[str, Any], value: Any, place: Place | None) -> Iterator[Flaw]:
        """Give what is wrong in the eyes of a schema's own assertions."""
        left_out = ""
        price = self._explainer.price(schema, value)
        if isinstance(value, str) and price > AT_ONCE:
            # The API matches it itself; a text that long is hardly ever one that a pattern is for.
            left_out, price = "pattern", 0.0
        self._spend(price)
        if isinstance(value, list) and len(value) > MANY and schema.get("uniqueItems") is True:
            left_out = "uniqueItems"
            if self._is_repeated(value):
                yield BRIEF if place is None else Flaw(place, left_out, True, value)
        if self._explainer.fits(schema, value, f"-{left_out}" if left_out else ""):
            return
        if place is None:
            yield BRIEF
        else:
            names = schema.keys() & ASSERTIONS - {left_out}
            yield from self._assertion_flaws(schema, names, value, place)

    def _assertion_flaws(
        self, schema: dict[str, Any], names: Iterable[str], value: Any, place: Place
    ) -> Iterator[Flaw]:
        """Give what is wrong; of a value of the wrong type, nothing but that."""
        for keyword in sorted(names, key=lambda name: (name != "type", name)):
            if self._explainer.fits(schema, value, keyword):
                continue
            limit = schema[keyword]
            if keyword == "type":
                is_file = schema.get("properties", {}).keys() >= _FILE
                yield Flaw(place, keyword, limit, value, _FILE_HINT if is_file else "")
                return
            yield from _placed(Flaw(place, keyword, limit, value))

    def _is_repeated(self, items: list[Any]) -> bool:
        if id(items) not in self._repeated:
            found = repeated(items, lambda length: self._spend(length * _TEXT))
            self._repeated[id(items)] = found is not None
        return self._repeated[id(items)]

    def _spend(self, price: float) -> None:
        """Count how long it may take.

        Raises:
            Unfinished: It takes too long.
        """
        self._time -= price
        if self._time < 0:
            raise Unfinished


def _compiled(schema: dict[str, Any]) -> Draft202012Validator | None:
    try:
        return compile_schema(schema)
    except UNUSABLE:
        return None


def _placed(flaw: Flaw) -> Iterator[Flaw]:
    """Give what an assertion found; a missing member is placed where it should be."""
    place, keyword, limit, value, _ = flaw
    match keyword:
        case "required":
            missing = (name for name in limit if name not in value)
            yield from (Flaw((*place, name), "required", None, None) for name in missing)
        case "dependentRequired":
            for name, needed in limit.items():
                missing = (other for other in needed if name in value and other not in value)
                yield from (Flaw((*place, other), keyword, name, None) for other in missing)
        case _:
            yield flaw
