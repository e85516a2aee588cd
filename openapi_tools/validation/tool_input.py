"""The model's input, taken as JSON.

JSON values are accepted. Python values that frameworks put into a tool's input become JSON by
these rules:

- Pydantic models, dataclasses and mappings become objects; tuples, sets and deques become arrays.
- Dates, times, durations, UUIDs, paths, URLs and IP addresses become strings, as pydantic writes
  them (ISO 8601, RFC 9562).
- A Decimal becomes a number; one that a float cannot hold exactly is refused.
- A float such as 5.0 becomes the integer 5, in every location of a request.
- An enum member becomes its value.
- Bytes are refused: `{"base64": …}` says which bytes are meant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from openapi_tools.common.json_values import normalize_number, pointer_token
from openapi_tools.errors import InputError
from openapi_tools.redaction import excerpt
from openapi_tools.result import id_text
from openapi_tools.validation.check_cost import DEEPEST_INPUT, SMALL_TEXT, SMALL_VALUES, is_extreme
from openapi_tools.validation.messages import format_value, kind_of

if TYPE_CHECKING:
    from openapi_tools.settings import Settings

CALL_ID = "_tool_call_id"
_MOST_VALUES = 250_000
_LARGEST_INTEGER_BITS = 1024
# Converters from subclasses to the plain types, without calling methods of the subclass.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}


def accept_input(arguments: object, settings: Settings) -> dict[str, Any]:
    """Return the arguments of a call as JSON-native data, copied, without `_tool_call_id`.

    InputError for what JSON or a request cannot hold, and for more than the limits.
    """
    # By their types: `isinstance` asks the value too, which is code of its own.
    if type(arguments) is not dict and not issubclass(type(arguments), Mapping):
        raise InputError(
            f"expected an object with the arguments, got {_describe_value(arguments)}."
        )
    return _InputCopier(settings.max_input_chars, _MOST_VALUES).copy_object(
        arguments, 1, without=CALL_ID
    )


def accept_small_input(arguments: object, settings: Settings) -> dict[str, Any] | None:
    """Return what `accept` returns; None for a large input, and for types other than JSON's."""
    if type(arguments) is not dict:
        return None
    limit = min(settings.max_input_chars, SMALL_TEXT)
    try:
        return _InputCopier(limit, SMALL_VALUES, True).copy_object(arguments, 1, without=CALL_ID)
    except _LargeError:
        return None


class _LargeError(Exception):
    """The input is not small."""


def call_id_of(arguments: object) -> str:
    """Return the id of the call that an input carries; empty when it has none."""
    call_id: Any = None
    mapping: Any = arguments
    if issubclass(type(arguments), dict):
        call_id = dict.get(mapping, CALL_ID)  # a subclass may have a `get` of its own
    elif issubclass(type(arguments), Mapping):
        call_id = mapping.get(CALL_ID)
    return id_text(call_id)


def _describe_value(value: object) -> str:
    # The value is not yet known to be JSON: its `repr` could be long, or run code.
    if value is None or issubclass(type(value), list | tuple):
        return "null" if value is None else "an array"
    if type(value) in (bool, int, float, str):
        return f"{kind_of(value)} ({format_value(value)})"
    return f"a value of type {type(value).__name__}"


@dataclass(slots=True)
class _InputCopier:
    """Copies a value within limits; if it has to be small, a larger one raises `_LargeError`."""

    _characters_left: int
    _values_left: int
    _is_small: bool = False

    def copy_object(self, value: Any, depth: int, *, without: str | None = None) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        characters = 2
        is_dict = issubclass(type(value), dict)  # whose class may have an `items` of its own
        for name, item in dict.items(value) if is_dict else value.items():
            self._count_values(1)
            if type(name) is str and name == without:
                continue
            if type(name) is str and name.isascii():
                characters += len(name) + 4
                if type(item) is str and item.isascii():
                    characters += len(item)
                    copied[name] = item
                    continue
            try:
                copied[self._copy_name(name)] = self._copy_value(item, depth)
            except InputError as error:
                pointer = pointer_token(_printable_name(name)) + error.pointer
                raise InputError(error.reason, pointer=pointer) from None
        self._take_characters(characters)
        return copied

    def _copy_array(self, value: Any, depth: int) -> list[Any]:
        copied: list[Any] = []
        characters = 2
        self._count_values(len(value))
        for item in value:
            if type(item) is str and item.isascii():
                characters += len(item) + 4
                copied.append(item)
                continue
            try:
                copied.append(self._copy_value(item, depth))
            except InputError as error:
                raise InputError(error.reason, pointer=f"/{len(copied)}{error.pointer}") from None
        self._take_characters(characters)
        return copied

    def _copy_value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is bool or value is None:
            self._characters_left -= 4
        elif kind is int or kind is float:
            self._check_number(value)
            return value if kind is int else normalize_number(value)
        elif kind is str:
            self._take_characters(len(value) + 4)
            try:
                value.encode()
            except UnicodeEncodeError:
                reason = "the string contains a lone surrogate; use whole Unicode characters."
                raise InputError(reason) from None
        elif depth >= DEEPEST_INPUT:
            raise InputError(f"the input is nested deeper than {DEEPEST_INPUT} levels.")
        elif kind is dict:
            return self.copy_object(value, depth + 1)
        elif kind is list:
            return self._copy_array(value, depth + 1)
        elif self._is_small:
            raise _LargeError
        else:
            return self._convert_value(value, depth + 1)
        return value

    def _copy_name(self, name: Any) -> str:
        if type(name) is str and name.isascii():
            return name
        if self._is_small and type(name) is not str:
            raise _LargeError
        if not isinstance(name, str):
            kind = type(name).__name__
            raise InputError(f"property names must be strings, got a value of type {kind}.")
        plain: str = self._copy_value(str.__str__(name), 1)
        return plain

    def _count_values(self, values: int) -> None:
        self._values_left -= values
        if self._values_left < 0:
            self._refuse(f": it has over {_MOST_VALUES:,} values; pass less at once.")

    def _take_characters(self, count: int) -> None:
        self._characters_left -= count
        if self._characters_left < 0:
            self._refuse("; pass less at once (max_input_chars).")

    def _refuse(self, reason: str) -> None:
        raise _LargeError if self._is_small else InputError(f"the input is too large{reason}")

    def _check_number(self, value: float) -> None:
        self._take_characters(8)
        if isinstance(value, int):
            if value.bit_length() > _LARGEST_INTEGER_BITS:
                raise InputError("the number is too large; JSON numbers end at about 1.8e308.")
        elif value - value != 0:
            raise InputError(f"{value!r} is not a JSON number; pass a finite one.")
        if self._is_small and is_extreme(value):
            raise _LargeError

    def _convert_value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if issubclass(kind, Enum):
            return self._copy_value(value.value, depth)
        for base, as_plain in _PLAIN.items():
            if issubclass(kind, base):
                return self._copy_value(as_plain(value), depth)
        if issubclass(kind, Mapping):
            return self.copy_object(value, depth)
        if issubclass(kind, list):
            return self._copy_array(list.copy(value), depth)
        if issubclass(kind, deque):  # pydantic converts these since 2.14 only
            return self._copy_array(list(deque.__iter__(value)), depth)
        if issubclass(kind, bytes | bytearray | memoryview):
            raise InputError('bytes are not JSON; pass a file as {"base64": "…"} or {"text": "…"}.')
        return self._copy_value(
            _read_decimal(value) if issubclass(kind, Decimal) else _dump_by_pydantic(value), depth
        )


def _printable_name(name: object) -> str:
    if not isinstance(name, str):
        return f"({type(name).__name__})"
    return excerpt(name, 100).encode(errors="backslashreplace").decode()


def _read_decimal(value: Decimal) -> float:
    if not value.is_finite():
        raise InputError(f"{value} is not a JSON number; pass a finite one.")
    if value.adjusted() > 308:  # noqa: PLR2004 -- the largest exponent of a double
        raise InputError("the number is too large; JSON numbers end at about 1.8e308.")
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    if Decimal(repr(number)) != value:
        raise InputError(f"{value!s:.50} has more digits than a JSON number holds; pass a string.")
    return number


def _dump_by_pydantic(value: object) -> Any:
    try:
        return to_jsonable_python(value, inf_nan_mode="constants")
    except (ValueError, TypeError, RecursionError):
        name = type(value).__name__
        raise InputError(f"a value of type {name} is not JSON; pass plain data.") from None
