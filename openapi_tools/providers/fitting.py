"""Whether a value fits a form, decided without a validator where that is plain."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from openapi_tools.json_values import holds
from openapi_tools.providers.simple_forms import WORDS, is_a
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.engine import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.providers.simple_forms import Form

_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": is_a,
    "enum": lambda value, values: holds(values, value),
    "minLength": lambda value, least: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most: not isinstance(value, str) or len(value) <= most,
    "minimum": lambda value, least: not is_a(value, "number") or value >= least,
    "maximum": lambda value, most: not is_a(value, "number") or value <= most,
}
_BY_VALUE = WORDS | {"enum"}
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
        self._leads_to: dict[str, set[str]] = {}
        self._judges: dict[int, tuple[Form, Callable[[Any], bool]]] = {}

    def fits(self, form: Form, value: Any) -> bool:
        """Tell whether a form accepts a value.

        Args:
            form: Without unions; the same form may be asked about often.
            value: JSON-native.
        """
        if form.keys() <= _BY_VALUE and "enum" in form:
            return holds(form["enum"], value)
        tests = [(key, _TESTS[key]) for key in form if key in _TESTS]
        if not all(holds_for(value, form[key]) for key, holds_for in tests):
            return False
        scalar = not isinstance(value, dict | list)
        plain = (key in _TESTS or key in WORDS or (scalar and key in _OF_MEMBERS) for key in form)
        return all(plain) or self.accepts(form, value)

    def _reached(self, form: Form) -> dict[str, Any]:
        """Return the definitions that a form leads to; a document has hundreds of others."""
        reached: dict[str, Any] = {}
        waiting = list(_references(form))
        while waiting:
            name = waiting.pop()
            if name not in reached and name in self._definitions:
                reached[name] = self._definitions[name]
                if name not in self._leads_to:
                    self._leads_to[name] = _references(reached[name])
                waiting += self._leads_to[name]
        return reached

    def accepts(self, form: Form, value: Any) -> bool:
        """Tell whether any schema accepts a value; yes, where finding out takes too long."""
        known = self._judges.get(id(form))
        if known is None:
            checker = Checker({**form, "$defs": self._reached(form)})
            known = self._judges[id(form)] = (form, checker.fits)
        return known[1](value)


def _references(node: Any) -> set[str]:
    """Return the names of the definitions that a schema refers to."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            reference = part.get("$ref")
            if isinstance(reference, str):
                found.add(reference.removeprefix("#/$defs/"))
            waiting += part.values()
    return found


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
