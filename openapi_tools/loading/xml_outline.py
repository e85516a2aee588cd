"""An example outline of an XML body, for models that write one.

Spec: OpenAPI 3.1.2, section 4.8.26, XML Object.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from openapi_tools.loading.keyword_values import is_true
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from openapi_tools.loading.references import References, Resource

_DEEPEST = 6
_MOST = 80
_LONGEST = 1500


def outline(node: Any, resource: Resource, references: References) -> str:
    """Return a body's elements and attributes with the types of their values.

    For instance `<Pet id="integer"><name>string</name></Pet>`, cut where it is long; empty when the
    schema says nothing of its structure.
    """
    ref = node.get("$ref") if isinstance(node, dict) else None
    name = ref.rsplit("/", 1)[-1] if isinstance(ref, str) else ""
    text = visible(_Outline(references).element(node, resource, name, _DEEPEST))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


class _Outline:
    """Writes elements until there are too many to show."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._left = _MOST

    def element(self, node: Any, resource: Resource, name: str, depth: int) -> str:
        """Return one element with its content."""
        self._left -= 1
        schema, resource = _whole(node, resource, self._references)
        name = _named(schema, name)
        if schema.get("type") == "array":
            wrapped = is_true(_xml(schema).get("wrapped"))
            more = depth > 0 and self._left > 0
            item = self.element(schema.get("items"), resource, name, depth - 1) if more else "…"
            return _tag(name, "", item) if wrapped else item
        members = schema.get("properties")
        if not members:
            return _tag(name, "", escape(str(schema.get("type", "")), quote=False))
        return (
            _tag(name, *self._content(members, resource, depth)) if depth else _tag(name, "", "…")
        )

    def _content(self, members: dict[str, Any], resource: Resource, depth: int) -> tuple[str, str]:
        """Return the attributes and the elements inside an element."""
        attributes, inner = "", ""
        for key, member in members.items():
            plain, _ = _whole(member, resource, self._references)
            if self._left <= 0:
                return attributes, f"{inner}…"
            if is_true(_xml(plain).get("attribute")):
                attributes += f' {_named(plain, key)}="{escape(str(plain.get("type", "")))}"'
            else:
                inner += self.element(member, resource, key, depth - 1)
        return attributes, inner


def _whole(
    node: Any, resource: Resource, references: References
) -> tuple[dict[str, Any], Resource]:
    """Return a schema merged with the branches of its `allOf`, one level deep."""
    schema, resource, _ = references.follow(node, resource)
    if not isinstance(schema, dict):
        return {}, resource
    branches = schema.get("allOf")
    parts = [schema]
    for branch in branches if isinstance(branches, list) else ():
        part, owner, _ = references.follow(branch, resource)
        if isinstance(part, dict) and owner is resource:
            parts.insert(0, part)
    out: dict[str, Any] = {}
    for part in parts:
        members = part.get("properties")
        joined = {**out.get("properties", {}), **(members if isinstance(members, dict) else {})}
        out |= {**part, "properties": joined}
    return out, resource


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
    """Return an element; only its content where it has no name."""
    if not name:
        return inner
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"
