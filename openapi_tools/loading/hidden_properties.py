"""Properties that a direction leaves out: `readOnly` in requests, `writeOnly` in responses.

Spec: OpenAPI 3.1.1, section 4.8.24; 3.0.4, section 4.7.24.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import Node, as_dict, as_list, is_true

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.references import References, Resource

_MAX_BRANCHES = 1000  # schemas in one another's `allOf` that are looked into


class HiddenProperties:
    """Finds the properties of one document's schemas that have a mark, such as `readOnly`."""

    def __init__(self, references: References, mark: str, limits: Callable[[Node], bool]) -> None:
        self._references = references
        self._mark = mark
        self._limits = limits

    def drop_required(self, out: Node, node: Node, resource: Resource) -> None:
        """Drop the names from `required`, in place, that a schema or a branch of it marks."""
        properties = out.get("properties", {})
        if "allOf" not in node and len(properties) == len(as_dict(node.get("properties"))):
            return  # most schemas
        hidden = set(self._marked_names(node, resource)) - properties.keys()
        out["required"] = [name for name in out["required"] if name not in hidden]
        if not out["required"]:
            del out["required"]

    def _marked_names(self, node: Any, resource: Resource) -> Iterator[str]:
        pending = [(node, resource)]
        seen: set[tuple[int, int]] = set()
        while pending and len(seen) < _MAX_BRANCHES:
            node, owner, _ = self._references.follow(*pending.pop(), stops=self._limits)
            key = (id(node), id(owner))
            if not isinstance(node, dict) or key in seen:
                continue
            seen.add(key)
            if "$ref" in node:
                pending.append((node, owner))
            for name, schema in as_dict(node.get("properties")).items():
                if self.is_hidden(schema, owner):
                    yield name
            pending += [(branch, owner) for branch in as_list(node.get("allOf"))]

    def is_hidden(self, value: Any, resource: Resource) -> bool:
        """Return whether a property, or the component it refers to, has the mark."""
        if not isinstance(value, dict):
            return False
        if self._mark in value and is_true(value[self._mark]):
            return True
        if "$ref" not in value:
            return False
        target = self._references.follow(value, resource).node
        return isinstance(target, dict) and is_true(target.get(self._mark))
