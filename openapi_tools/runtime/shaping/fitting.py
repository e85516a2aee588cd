"""Whether a value fits a form, decided without a validator where that is plain."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from openapi_tools.runtime.checking.schema import compile_schema, prepare
from openapi_tools.runtime.shaping.forms import WORDS, holds, is_a

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jsonschema_rs import Draft202012Validator

    from openapi_tools.runtime.shaping.forms import Form

_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": is_a,
    "enum": lambda value, values: holds(values, value),
    "minLength": lambda value, least: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most: not isinstance(value, str) or len(value) <= most,
    "minimum": lambda value, least: not is_a(value, "number") or value >= least,
    "maximum": lambda value, most: not is_a(value, "number") or value <= most,
}
_OF_MEMBERS = frozenset(
    {"additionalProperties", "items", "maxItems", "maxProperties", "minItems", "minProperties"}
    | {"patternProperties", "prefixItems", "properties", "propertyNames", "required", "uniqueItems"}
)
"""Keywords that say nothing of scalars."""


class Fitting:
    """Decides about the forms of one input schema.

    Args:
        definitions: Its `$defs`.
    """

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._validators: dict[int, tuple[Form, Draft202012Validator | None]] = {}

    def fits(self, form: Form, value: Any) -> bool:
        """Tell whether a form accepts a value.

        Args:
            form: Without unions; the same form may be asked about often.
            value: JSON-native.
        """
        tests = [(key, _TESTS[key]) for key in form if key in _TESTS]
        if not all(holds_for(value, form[key]) for key, holds_for in tests):
            return False
        scalar = not isinstance(value, dict | list)
        plain = (key in _TESTS or key in WORDS or (scalar and key in _OF_MEMBERS) for key in form)
        return all(plain) or self._is_valid(form, value)

    def _is_valid(self, form: Form, value: Any) -> bool:
        known = self._validators.get(id(form))
        if known is None:
            validator = prepare({**form, "$defs": self._definitions}).validator
            known = self._validators[id(form)] = (form, validator)
        return known[1] is None or known[1].is_valid(value)


def checked_pattern(form: Form) -> str | None:
    """Return the regular expression of strings; None for one that no call is checked against.

    Providers refuse those too: the ones that look around, count too far, or are faulty.
    """
    pattern = form.get("pattern")
    return pattern if isinstance(pattern, str) and _is_checked(pattern) else None


@lru_cache(maxsize=1024)
def _is_checked(pattern: str) -> bool:
    try:
        compile_schema({"pattern": pattern})
    except ValueError:
        return False
    return True
