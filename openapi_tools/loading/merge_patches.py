"""Schemas of JSON Merge Patch bodies, in which null removes a property at every level.

Spec: RFC 7396, sections 1 and 2. An array is replaced as a whole, so null in one is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import DEFINITIONS_PREFIX
from openapi_tools.loading.keyword_values import make_nullable

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.common.json_values import Node

_VALUES = frozenset({"additionalProperties", "unevaluatedProperties"})
_VALUE_MAPS = frozenset({"properties", "patternProperties"})
# Keywords whose schemas apply to the same value, but for `if` and `not`: the more these accept, the
# less the whole schema does.
_SAME_VALUE = frozenset({"then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"})


def patch_schema(schema: Any, rename: Callable[[str], str]) -> Any:
    """Return a converted schema that also takes null for each property, at every level.

    Args:
        schema: A schema as `Schemas.convert` returns it.
        rename: Returns the name of a definition's patch form, for the `$ref`s in the result.
    """
    if not isinstance(schema, dict):
        return schema
    return {key: _patch_keyword(key, value, rename) for key, value in schema.items()}


def _patch_keyword(key: str, value: Any, rename: Callable[[str], str]) -> Any:
    if key == "$ref":
        return DEFINITIONS_PREFIX + rename(value.removeprefix(DEFINITIONS_PREFIX))
    if key in _VALUES:
        return _make_removable(value, rename)
    if key in _VALUE_MAPS:
        return {name: _make_removable(part, rename) for name, part in value.items()}
    return _patch_branches(key, value, rename) if key in _SAME_VALUE else value


def _patch_branches(key: str, value: Any, rename: Callable[[str], str]) -> Any:
    if key == "dependentSchemas":
        return {name: patch_schema(part, rename) for name, part in value.items()}
    if isinstance(value, list):
        return [patch_schema(part, rename) for part in value]
    return patch_schema(value, rename)


def _make_removable(schema: Any, rename: Callable[[str], str]) -> Any:
    patched = patch_schema(schema, rename)
    if not isinstance(patched, dict) or patched == {"not": {}} or _has_null(patched):
        return patched
    return make_nullable(dict(patched))


def _has_null(schema: Node) -> bool:
    branches = schema.get("anyOf", ())
    return {"type": "null"} in branches and not schema.keys() & {"type", "enum", "const", "$ref"}
