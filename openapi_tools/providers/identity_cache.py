"""Results cached by the identity of schemas, which the tools of a document share.

Spec: JSON Schema 2020-12, Core, section 8.2.4 (`$defs`).
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from openapi_tools.common.json_schema import iter_definition_names
from openapi_tools.common.json_values import json_size, omit_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Schema = dict[str, Any]

_Result = TypeVar("_Result")


class IdentityCache(Generic[_Result]):
    """Results for objects by their ids; the objects are kept, so that no id is reused."""

    def __init__(self) -> None:
        self._results: dict[int, tuple[Any, _Result]] = {}

    def find(self, key: Any, compute: Callable[[Any], _Result]) -> _Result:
        """Return the result for an object, computed when it is first asked for."""
        pair = self._results.get(id(key))
        if pair is None:
            pair = self._results[id(key)] = (key, compute(key))
        return pair[1]


class SchemaSizes:
    """Bytes and references of schemas; each definition that tools share is written once."""

    def __init__(self) -> None:
        self._sizes: IdentityCache[int] = IdentityCache()
        self._definitions: IdentityCache[tuple[int, list[str]]] = IdentityCache()

    def size(self, schema: Schema) -> int:
        """Return the bytes of a schema as JSON: as many as `json_size` returns."""
        return self._sizes.find(schema, self._add_sizes)

    def definition_size(self, node: Any) -> int:
        """Return the bytes of a definition as JSON."""
        return self._definitions.find(node, _measure)[0]

    def references(self, node: Any) -> list[str]:
        """Return the names of the definitions that a definition refers to."""
        return self._definitions.find(node, _measure)[1]

    def count_references(self, schema: Schema) -> Counter[str]:
        """Return how often a schema refers to each definition, by its name."""
        definitions = schema.get("$defs", {})
        names = iter_definition_names(json.dumps(omit_keys(schema, ["$defs"])))
        references = (self._definitions.find(node, _measure)[1] for node in definitions.values())
        return Counter(chain(names, *references))

    def _add_sizes(self, schema: Schema) -> int:
        definitions = schema.get("$defs")
        if not definitions:
            return json_size(schema)
        sizes = ((name, self.definition_size(node)) for name, node in definitions.items())
        return size_with_definitions(json_size(omit_keys(schema, ["$defs"])), sizes)


def _measure(node: Any) -> tuple[int, list[str]]:
    text = json.dumps(node)
    return len(text), [*iter_definition_names(text)]


def size_with_definitions(rest: int, definitions: Iterable[tuple[str, int]]) -> int:
    """Return the bytes of a schema whose other keywords have `rest` bytes."""
    sizes = [_name_size(name) + len(": , ") + size for name, size in definitions]
    if not sizes:
        return rest
    return rest + len('"$defs": ') + sum(sizes) + (len(", ") if rest > len("{}") else 0)


_name_size = lru_cache(maxsize=4096)(json_size)
