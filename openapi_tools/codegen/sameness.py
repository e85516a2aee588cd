"""Whether schemas are the same but for their words, and what a reference leads to.

Spec: JSON Schema 2020-12, Core, section 8.2.3 (`$ref`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.codegen.wording import MISSING, is_word, same
from openapi_tools.runtime.checking.graph import ONE_SCHEMA, SCHEMA_LISTS, SCHEMA_MAPS, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    Schema = dict[str, Any]
    Pair = tuple[Any, Any]

NOTHING: Schema = {"not": {}}
"""The schema `false` as an object."""
ANYTHING: Schema = {}
"""The schema `true` as an object."""

_DEFINITIONS = frozenset({"$defs", "definitions"})
_MOST_STEPS = 100


class Followed(NamedTuple):
    """What a schema comes to.

    Attributes:
        words: What is told on the way to it; what stands nearest counts.
        schema: It, with a `$ref` only where keywords stand beside that; None when a reference leads
            nowhere or the value is no schema.
    """

    words: Schema
    schema: Schema | None


def followed(node: Any, root: Schema) -> Followed:
    """Return what a schema comes to when references that stand alone are followed."""
    words: Schema = {}
    for _ in range(_MOST_STEPS):
        if isinstance(node, bool):
            node = ANYTHING if node else NOTHING
        if not isinstance(node, dict):
            break
        rest = [key for key in node if not is_word(key)]
        words = {key: node[key] for key in node if is_word(key)} | words
        if rest != ["$ref"]:
            return Followed(words, node)
        node = target(node, root)
    return Followed(words, None)


def target(node: Schema, root: Schema) -> Any:
    """Return what the `$ref` of a schema leads to; None when that is nothing in the schema."""
    reference = node.get("$ref")
    is_local = isinstance(reference, str) and f"{reference}/".startswith("#/")
    return resolve(root, str(reference)) if is_local else None


def is_nothing(schema: Schema) -> bool:
    """Tell whether a schema refuses everything, in the ways that documents say so."""
    return schema.get("not", False) in (True, {})


class Sameness:
    """Tells which parts of two schemas are the same but for their words.

    References may lead to definitions of other names, as long as those are the same.

    Args:
        old: The one schema.
        new: The other one.
    """

    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old, new
        self._known: set[tuple[int, int]] = set()

    def of(self, old: Any, new: Any) -> bool:
        """Tell whether a schema in the old one is the same as one in the new one."""
        return self._all_alike([(old, new)])

    def of_keywords(self, old: Schema, new: Schema, keywords: Iterable[str]) -> bool:
        """Tell whether some keywords of two schemas are the same."""
        waiting: list[Pair] = []
        return all(self._add(word, old, new, waiting) for word in keywords) and self._all_alike(
            waiting
        )

    def _all_alike(self, waiting: list[Pair]) -> bool:
        seen: set[tuple[int, int]] = set()
        while waiting:
            old, new = waiting.pop()
            key = (id(old), id(new))
            if not (isinstance(old, dict) and isinstance(new, dict)):
                if not same(old, new):
                    return False
            elif key not in seen and key not in self._known:
                seen.add(key)
                words = [word for word in {**old, **new} if not is_word(word)]
                if not all(self._add(word, old, new, waiting) for word in words):
                    return False
        self._known |= seen
        return True

    def _add(self, keyword: str, old: Schema, new: Schema, waiting: list[Pair]) -> bool:
        """Add the schemas of a keyword to those to be looked at; False where it differs itself."""
        before, after = old.get(keyword, MISSING), new.get(keyword, MISSING)
        if keyword in _DEFINITIONS or before is after is MISSING:
            return True
        if keyword == "$ref":
            ends = target(old, self._old), target(new, self._new)
            if None in ends:
                return same(before, after) and ends == (None, None)
            waiting.append(ends)
        elif keyword in ONE_SCHEMA:
            waiting.append((before, after))
        elif keyword in SCHEMA_LISTS and isinstance(before, list) and isinstance(after, list):
            waiting += zip(before, after, strict=False)
            return len(before) == len(after)
        elif keyword in SCHEMA_MAPS and isinstance(before, dict) and isinstance(after, dict):
            waiting += [(before[name], after[name]) for name in before.keys() & after.keys()]
            return before.keys() == after.keys()
        else:
            return same(before, after)
        return True
