"""JSON Schemas as a graph: which schema hands a value, or parts of it, to which others.

Spec: JSON Schema 2020-12, Core, sections 8 and 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from openapi_tools.json_pointer import find
from openapi_tools.schema_keywords import ONE_SCHEMA, SCHEMA_LISTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    Node = dict[str, Any]
    Groups = list[list[Node]]


def resolve(root: dict[str, Any] | bool, reference: str) -> Any:
    """Return what a `$ref` names inside the schema; None when there is nothing.

    Spec: RFC 6901, section 6.
    """
    try:
        return find(root, unquote(reference))
    except LookupError:
        return None


def groups(node: Node, root: Node) -> Groups:
    """Return the schemas that a schema hands a value or its parts to.

    Those of one group never see the same part.
    """
    found: list[Iterable[Any]] = []
    for keyword, value in node.items():
        if keyword in ("properties", "prefixItems"):
            found.append(value.values() if isinstance(value, dict) else value)
        elif keyword in ONE_SCHEMA:
            found.append([value])
        elif keyword in SCHEMA_LISTS:
            found += [[branch] for branch in value]
        elif keyword in ("dependentSchemas", "patternProperties"):
            found += [[member] for member in value.values()]
        elif keyword == "$ref":
            found.append([resolve(root, value)])
    schemas = ([child for child in group if isinstance(child, dict)] for group in found)
    return [group for group in schemas if group]
