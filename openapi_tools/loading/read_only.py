"""Members that only the server may write: they are not offered, and so not required.

Spec: OpenAPI 3.0.4, section 4.7.24.2, `readOnly`; Swagger 2.0, "Schema Object".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.loading.schema_keywords import is_true

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.loading.references import References, Resource

_MOST = 32
"""Schemas in one another's `allOf` that are looked into."""


class ReadOnly:
    """Finds the members of one document's schemas that only the server may write.

    Args:
        references: Resolves `$ref`.
    """

    def __init__(self, references: References) -> None:
        self._references = references
        self._known: dict[str, bool] = {}

    def not_required_of_any(
        self, out: dict[str, Any], node: dict[str, Any], resource: Resource
    ) -> None:
        """Drop from a merged `required` what any branch says that only the server writes.

        Args:
            out: The converted schema, changed in place.
            node: As the document has it, with `allOf`.
            resource: The document it stands in.
        """
        if "required" not in out:
            return
        hidden = set(self._hidden(node, resource, _MOST)) - out.get("properties", {}).keys()
        out["required"] = [name for name in out["required"] if name not in hidden]
        if not out["required"]:
            del out["required"]

    def _hidden(self, node: Any, resource: Resource, depth: int) -> Iterator[str]:
        """Yield the members of a schema and of its `allOf` that only the server may write."""
        node, resource, _ = self._references.follow(node, resource)
        if not isinstance(node, dict) or depth == 0:
            return
        members = node.get("properties")
        for name, member in members.items() if isinstance(members, dict) else ():
            if self.is_hidden(member, resource):
                yield name
        branches = node.get("allOf")
        for branch in branches if isinstance(branches, list) else ():
            yield from self._hidden(branch, resource, depth - 1)

    def is_hidden(self, value: Any, resource: Resource) -> bool:
        """Tell whether a member, or the component it refers to, is `readOnly`."""
        if not isinstance(value, dict):
            return False
        if "readOnly" in value and is_true(value["readOnly"]):
            return True
        if "$ref" not in value:
            return False
        ref = value["$ref"] if resource is self._references.entry else None
        hidden = self._known.get(ref) if type(ref) is str else None
        if hidden is None:
            found = self._references.follow(value, resource).node
            hidden = isinstance(found, dict) and is_true(found.get("readOnly"))
            if type(ref) is str:
                self._known[ref] = hidden
        return hidden

    def not_required(self, out: dict[str, Any], node: dict[str, Any], resource: Resource) -> None:
        """Drop members from `required` that are not offered.

        Args:
            out: The converted schema with `required`, changed in place.
            node: As the document has it.
            resource: The document it stands in.
        """
        members = node.get("properties")
        offered = out.get("properties", ())
        if isinstance(members, dict) and len(offered) < len(members):
            out["required"] = [
                name
                for name in out["required"]
                if name in offered or not self.is_hidden(members.get(name), resource)
            ]
        if not out["required"]:
            del out["required"]
