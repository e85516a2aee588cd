"""Descriptions that tell a model the constraints for which a provider has no keyword."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.providers.simple_forms import Form

HARD = frozenset(
    {"not", "if", "then", "else", "contains", "minContains", "maxContains", "dependentSchemas"}
    | {"dependentRequired", "minProperties", "multipleOf", "patternProperties", "prefixItems"}
    | {"propertyNames", "unevaluatedItems", "unevaluatedProperties", "uniqueItems"}
)
"""Keywords that a schema may lose to be said in more providers' schemas."""
_LONGEST = 200
_LONGEST_SCHEMA = 1_000


def told(schema: Form, form: Form, formats: Mapping[str, frozenset[str]]) -> Form:
    """Return a description and a format, as far as a provider knows it; else it is described.

    Args:
        schema: What the words go with.
        form: Whose words they are.
        formats: The formats that a provider knows, by type.
    """
    said = form.get("description", "")
    words: Form = {}
    named = form.get("format")
    if isinstance(named, str):
        if named in formats.get(main_type(schema), ()) and "enum" not in schema:
            words["format"] = named
        elif named not in said:
            said = _sentence(said, f"Format: {named}.")
    if said:
        words["description"] = said
    pattern = form.get("pattern", "")
    if pattern and main_type(schema) == "string" and not schema.keys() & {"pattern", "enum"}:
        return described(words, f"Pattern: `{pattern[:_LONGEST]}`.")
    return words


def with_default(words: Form, form: Form) -> Form:
    """Return a description that also names the default."""
    default = form.get("default")
    if default is None or len(text := json.dumps(default, ensure_ascii=False)) > _LONGEST:
        return words
    return described(words, f"Default: {text}.")


def described(words: Form, sentence: str) -> Form:
    """Return words with one more sentence."""
    return {**words, "description": _sentence(words.get("description", ""), sentence)}


def loosened(schema: Form) -> list[Form]:
    """Return schemas that accept more and tell the rest in words, the closest one first."""
    hard = {key: schema[key] for key in schema if key in HARD}
    rest = {key: schema[key] for key in schema if key not in HARD}
    if "prefixItems" in hard:  # other items than those are what `items` speaks of
        hard |= {"items": rest.pop("items")} if "items" in rest else {}
    words = {key: rest[key] for key in ("description",) if key in rest}
    found = [(rest, hard), (words, {key: schema[key] for key in schema if key not in words})]
    return [described(loose, f"JSON Schema: {_as_json(said)}.") for loose, said in found if said]


def called(schema: Form, name: str) -> Form:
    """Return the schema of a member that has another name for the provider, with its own name."""
    words = f"Sent as `{name}`. {schema.get('description', '')}".strip()
    return {**({"anyOf": [schema]} if "$ref" in schema else schema), "description": words}


def main_type(schema: Form) -> str:
    """Return the type of a schema beside null; empty for anything else."""
    kinds = schema.get("type", "")
    listed: list[Any] = kinds if isinstance(kinds, list) else [kinds]
    others = [name for name in listed if name != "null"]
    return str(others[0]) if len(others) == 1 else ""


def _as_json(schema: Form) -> str:
    return json.dumps(schema, ensure_ascii=False, default=str)[:_LONGEST_SCHEMA]


def _sentence(said: str, more: str) -> str:
    if not said:
        return more
    return f"{said} {more}" if said.endswith((".", "!", "?", ":", "`")) else f"{said}. {more}"
