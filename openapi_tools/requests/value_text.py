"""Values as text, before any place of a request adds its own rules."""

from __future__ import annotations

import json
from typing import Any

from openapi_tools.errors import CallError, InputError
from openapi_tools.json_pointer import pointer_token

CHARSETS = frozenset({"utf-8", "us-ascii", "iso-8859-1", "utf-16"})
"""What text in a body may be written in, when its media type says so."""

_INTEGRAL = 1e16
"""Below this, every integral float is written without exponent by Python and by ECMAScript."""

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

FAULTS = (UnicodeEncodeError, RecursionError, ValueError, TypeError)
"""What writing a value can raise when it holds something that no request can carry."""


def plain_text(value: Any) -> str:
    """Return a string, number or boolean as text; an array or object as JSON.

    The standard leaves arrays and objects inside arrays and objects undefined; JSON text is what
    most gateways and clients send there.

    Spec: OpenAPI 3.2.0, Appendix B; ECMA-262, Number::toString for the exponent of floats.

    Raises:
        InputError: The value is no JSON value, for instance NaN.
    """
    if isinstance(value, str):
        return value
    if type(value) is int and -_INTEGRAL < value < _INTEGRAL:
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return json_text(value)


def json_text(value: Any, *, ascii_only: bool = False) -> str:
    r"""Return compact JSON text.

    Args:
        value: JSON-native.
        ascii_only: Write other characters as `\u` escapes, for places that carry ASCII only.

    Raises:
        InputError: As `json_bytes`.
    """
    data = json_bytes(value)
    return _ASCII.encode(value) if ascii_only else data.decode()


def json_bytes(value: Any) -> bytes:
    """Return compact JSON in UTF-8.

    Spec: RFC 8259.

    Raises:
        InputError: The value is no JSON value, or nested too deep; the pointer names the member.
    """
    try:
        return _COMPACT.encode(value).encode()
    except FAULTS as error:
        raise InputError(fault_reason(error), pointer=_faulty_member(value)) from None


def encode_text(text: str, charset: str = "") -> bytes:
    """Return the text in a charset that a media type names; UTF-8 when it names none.

    Raises:
        CallError: The charset is none of `CHARSETS`.
        InputError: The text has characters that the charset does not have.
    """
    codec = charset.lower() or "utf-8"
    if codec not in CHARSETS:
        raise CallError("invalid_input", f"text in the charset {charset!r} cannot be written.")
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        reason = fault_reason(error) if codec == "utf-8" else f"{codec} lacks some characters."
        raise InputError(reason) from None


def fault_reason(error: Exception) -> str:
    """Return, for a model, why a value cannot be written."""
    match error:
        case UnicodeEncodeError():
            return "the text holds half of a surrogate pair; give whole Unicode characters."
        case RecursionError():
            return "the value is nested too deep to be written."
        case _:
            return f"the value cannot be written as JSON ({error})."


def placed(error: Exception, argument: str) -> InputError:
    """Return the error with its whole place: the argument, then the member inside it."""
    if isinstance(error, InputError):
        return InputError(error.reason, pointer=pointer_token(argument) + error.pointer)
    return InputError(fault_reason(error), pointer=pointer_token(argument))


def _float_text(value: float) -> str:
    if value.is_integer() and abs(value) < _INTEGRAL:
        return str(int(value))
    return json_text(value).replace("e-0", "e-")


def _faulty_member(value: Any) -> str:
    """Return the pointer of the innermost member that JSON cannot write."""
    steps = ""
    while (key := _faulty_key(value)) is not None:
        steps += pointer_token(key)
        value = value[key]
    return steps


def _faulty_key(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else ()
    for key, member in enumerate(value) if isinstance(value, list) else pairs:
        try:
            _COMPACT.encode(member).encode()
        except RecursionError:
            return None
        except FAULTS:
            return key
    return None
