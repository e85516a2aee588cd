"""The earlier response that a value of a request comes from, found by equal values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.learning.shapes import is_name

if TYPE_CHECKING:
    from openapi_tools.learning.schema_places import Keys

_MOST_OF_A_VALUE = 256  # origins in all responses
_MOST_ORIGINS = 16  # of one value in one response
# Shorter strings, and smaller or round integers, are often equal by chance.
_SHORTEST_STRING = 8  # characters
_LEAST_INTEGER = 100_000
_ROUND = 1_000
# So are dates, times and decimals.
_COMMON = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d|[-+]?\d+\.\d+\Z", re.ASCII)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_IDENTIFIERS = frozenset(
    {"id", "uuid", "guid", "key", "slug", "token", "cursor", "number", "sha", "ref", "handle"}
)


class Origin(NamedTuple):
    """A value of the response of a step; `number` is the step's place in the record."""

    number: int
    step: str
    tool: str
    keys: Keys
    is_string: bool

    @property
    def name(self) -> str:
        """The property that has the value; empty for the whole response."""
        return next((key for key in reversed(self.keys) if isinstance(key, str)), "")


class SentValue(NamedTuple):
    """A value of a request.

    Attributes:
        name: The name of the parameter or property.
        value: A scalar.
        in_url: It is sent as a string whatever its type.
        is_path: It is a parameter of the path, which identifies something.
        producers: The tools whose responses are documented to yield it.
    """

    name: str
    value: Any
    in_url: bool = False
    is_path: bool = False
    producers: tuple[str, ...] = ()


@dataclass(slots=True)
class ValueOrigins:
    """The values of all responses so far, and the constants that the caller sent before them."""

    # By value, then by what the rank of an origin depends on: of equal ones the first is the best.
    _origins: dict[str, dict[tuple[str, str, bool], Origin]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _sent_at: dict[tuple[str, str], int] = field(default_factory=dict)

    def add_constant(self, number: int, name: str, value: Any) -> None:
        """Note a value that a step sends and that no response has yielded."""
        if (text := _format_scalar(value)) is not None:
            self._sent_at.setdefault((text, _fold_name(name)), number)
            self._sent_at.setdefault((text, ""), number)

    def add_response(self, number: int, step: str, tool: str, body: Any) -> None:
        """Note the values of the response of a step."""
        counts: dict[str, int] = defaultdict(int)
        for keys, value in _iter_scalars(body):
            text = _format_scalar(value)
            if text is not None and counts[text] < _MOST_ORIGINS:
                counts[text] += 1
                origin = Origin(number, step, tool, keys, isinstance(value, str))
                origins = self._origins[text]
                if len(origins) < _MOST_OF_A_VALUE:
                    origins.setdefault((tool, _fold_name(origin.name), origin.is_string), origin)

    def find_origin(self, sent: SentValue) -> Origin | None:
        """Return the first of the best origins of a value; None if none is clear."""
        text = _format_scalar(sent.value)
        if text is None:
            return None
        is_string = isinstance(sent.value, str)
        ranked = [
            (rank, index, origin)
            for index, origin in enumerate(self._origins.get(text, {}).values())
            if (sent.in_url or origin.is_string == is_string)
            and not self._is_echo(text, origin, sent)
            and (rank := _rank(origin, sent)) is not None
        ]
        return min(ranked)[2] if ranked else None

    def _is_echo(self, text: str, origin: Origin, sent: SentValue) -> bool:
        # A response may repeat what the caller sent. A small number may have two meanings, so it
        # is an echo only under the same name.
        names = [_fold_name(sent.name), _fold_name(origin.name)]
        names += [""] if _is_specific(sent.value) else []
        numbers = (self._sent_at.get((text, name)) for name in names)
        return any(number is not None and number <= origin.number for number in numbers)


def _rank(origin: Origin, sent: SentValue) -> int | None:
    name, other = _fold_name(sent.name), _fold_name(origin.name)
    produces = origin.tool in sent.producers
    is_id = bool(other) and name.endswith(other) and _is_identifier(origin.name)
    if _is_specific(sent.value):
        if name == other:
            return 0
        return 1 if produces and is_id else 2
    # An `id` of `1` may belong to anything, unless the document names its producer.
    is_own_name = len(_WORDS.findall(sent.name)) > 1 or produces
    identifies = sent.is_path or _is_identifier(sent.name)
    if name == other and is_own_name and identifies:
        return 0
    return 1 if produces and is_id else None


def _is_specific(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) >= _LEAST_INTEGER and value % _ROUND != 0
    if value.isdecimal():
        return len(value) <= 20 and _is_specific(int(value))  # noqa: PLR2004 -- digits
    has_digit = any(char.isdigit() for char in value)
    has_space = any(char.isspace() for char in value)
    return (
        len(value) >= _SHORTEST_STRING and has_digit and not has_space and not _COMMON.match(value)
    )


def _is_identifier(name: str) -> bool:
    words = _WORDS.findall(name)
    return bool(words) and words[-1].lower() in _IDENTIFIERS


@lru_cache(maxsize=10_000)
def _fold_name(name: str) -> str:
    return "".join(_WORDS.findall(name)).casefold()


def _format_scalar(value: Any) -> str | None:
    # Numbers with fractions are amounts, which identify nothing.
    if isinstance(value, str):
        return value
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_integer and abs(value) < 10**30 else None


def _iter_scalars(body: Any) -> Iterator[tuple[Keys, Any]]:
    # In document order, and not by recursion, which deep responses would exhaust.
    stack: list[tuple[Keys, Any]] = [((), body)]
    while stack:
        keys, value = stack.pop()
        if isinstance(value, Mapping):
            # Keys that are data must not end up in a pointer: `ada@example.com`, but not `@type`.
            names = [key for key in value if is_name(key) and "@" not in key[1:]]
            items = [((*keys, key), value[key]) for key in names]
            stack += reversed(items)
        elif isinstance(value, list):
            stack += [((*keys, at), part) for at, part in reversed(list(enumerate(value)))]
        else:
            yield keys, value
