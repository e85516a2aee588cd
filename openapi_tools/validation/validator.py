"""Whether a value fits a schema, told in bounded time.

The compiled validator tells what it can tell soon; the rest is left to the walk of the module
`explain`, whose steps are small, and what even that cannot finish counts as fitting. The API checks
its input too: refusing what may be right would make it unusable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.validation.check_costs import ANY_CHEAP, price_of
from openapi_tools.validation.explain import Explainer, Unfinished

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    from openapi_tools.validation.check_costs import Price


class Validator:
    """A compiled validator that is asked only what it can answer soon.

    Args:
        schema: As `prepare` returns it; it has to be cheap, or without alternatives.
        compiled: Of that schema.
        heavy: Some of its keywords cost more than a look.
    """

    def __init__(
        self, schema: dict[str, Any], compiled: Draft202012Validator, *, heavy: bool
    ) -> None:
        self._compiled = compiled
        self._explainer = Explainer(schema)
        self._schema = schema
        self._heavy = heavy
        self._price: Price | None = None

    def is_valid(self, value: Any) -> bool:
        """Tell whether a value fits; yes, where finding out takes too long.

        Args:
            value: JSON-native.
        """
        if not self._heavy and ANY_CHEAP.affords(value):
            return self._compiled.is_valid(value)
        if self._price is None:
            self._price = price_of(self._schema)
        if self._price.affords(value):
            return self._compiled.is_valid(value)
        return holds(self._explainer, value)


def holds(explainer: Explainer, value: Any) -> bool:
    """Tell whether a value fits, by walking through it; yes, where that takes too long.

    Args:
        explainer: Of the schema.
        value: JSON-native.
    """
    try:
        return explainer.holds(value)
    except Unfinished:
        return True
