"""What an XML body looks like, for a model that has to write one.

Spec: OpenAPI 3.1.2, section 4.8.26, XML Object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from openapi_tools.loader.references import References, Resource

_DEEPEST = 6
_MOST = 80
_LONGEST = 1500


def outline(node: Any, resource: Resource, references: References) -> str:
    """Return a body's elements and attributes with the types of their values.

    Args:
        node: The body's Schema Object.
        resource: The document that it stands in.
        references: Resolves `$ref`.

    Returns:
        For instance `<Pet id="integer"><name>string</name></Pet>`, cut where it is long; empty when
        the schema says nothing of its structure.
    """
    ref = node.get("$ref") if isinstance(node, dict) else None
    name = ref.rsplit("/", 1)[-1] if isinstance(ref, str) else "root"
    text = _Outline(references).element(node, resource, name, _DEEPEST)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


class _Outline:
    """Writes elements until there are too many to show."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._left = _MOST

    def element(self, node: Any, resource: Resource, name: str, depth: int) -> str:
        """Return one element with what is in it."""
        self._left -= 1
        schema, resource, _ = self._references.follow(node, resource)
        if not isinstance(schema, dict):
            return _tag(name, "", "")
        name = _named(schema, name)
        if schema.get("type") == "array":
            wrapped = _xml(schema).get("wrapped") is True
            more = depth > 0 and self._left > 0
            item = self.element(schema.get("items"), resource, name, depth - 1) if more else "…"
            return _tag(name, "", item) if wrapped else item
        members = _members(schema, resource, self._references)
        if not members:
            return _tag(name, "", escape(str(schema.get("type", ""))))
        return _tag(name, *self._content(members, depth)) if depth > 0 else _tag(name, "", "…")

    def _content(self, members: dict[str, tuple[Any, Resource]], depth: int) -> tuple[str, str]:
        """Return the attributes and the elements inside an element."""
        attributes, inner = "", ""
        for key, (member, owner) in members.items():
            plain = self._references.follow(member, owner).node
            if self._left <= 0:
                return attributes, f"{inner}…"
            if isinstance(plain, dict) and _xml(plain).get("attribute") is True:
                attributes += f" {_named(plain, key)}={quoteattr(str(plain.get('type', '')))}"
            else:
                inner += self.element(member, owner, key, depth - 1)
        return attributes, inner


def _members(
    schema: dict[str, Any], resource: Resource, references: References
) -> dict[str, tuple[Any, Resource]]:
    """Return the members of an object, those of its `allOf` among them."""
    found: dict[str, tuple[Any, Resource]] = {}
    branches = schema.get("allOf")
    for branch in branches if isinstance(branches, list) else ():
        part, owner, _ = references.follow(branch, resource)
        if isinstance(part, dict) and isinstance(part.get("properties"), dict):
            found |= {key: (member, owner) for key, member in part["properties"].items()}
    own = schema.get("properties")
    if isinstance(own, dict):
        found |= {key: (member, resource) for key, member in own.items()}
    return found


def _named(schema: dict[str, Any], name: str) -> str:
    """Return an element's name with its prefix."""
    xml = _xml(schema)
    own = xml.get("name") if isinstance(xml.get("name"), str) else name
    prefix = xml.get("prefix")
    return f"{prefix}:{own}" if isinstance(prefix, str) and prefix else str(own)


def _xml(schema: dict[str, Any]) -> dict[str, Any]:
    xml = schema.get("xml")
    return xml if isinstance(xml, dict) else {}


def _tag(name: str, attributes: str, inner: str) -> str:
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"
