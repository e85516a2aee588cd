"""Security schemes and requirements of a document.

Spec: OpenAPI 3.1.2, sections 4.8.27 and 4.8.30; Swagger 2.0, "Security Definitions Object".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import DocumentError
from openapi_tools.loading import versions
from openapi_tools.loading.markdown import without_user
from openapi_tools.loading.operations import as_text, is_text
from openapi_tools.model import SecurityScheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.loading.operations import Document


_PLACEHOLDER = r"(?:[<{\[$`'\"…]|\.{3}|x{3}|[Yy]our_|YOUR|[\w-]*\d|[\w-]+\.[\w-]+\.)"
_PREFIX = re.compile(
    rf"\b((?i:bearer))\b|\b(Token|Basic|Bot|JWT|Api-?Key|Key|OAuth|SSWS) (?={_PLACEHOLDER})"
    r"|[`'\"]([A-Za-z][\w-]{1,20}) [`'\"]"
)
"""`Bearer` anywhere, another word before what stands for a key, a quoted word with a space."""
_FLOW_URLS = ("authorizationUrl", "deviceAuthorizationUrl", "tokenUrl", "refreshUrl")


def requirements(
    document: Document, node: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], ...]:
    """Return what an operation requires; the document's own when it says nothing."""
    listed = node.get("security", document.root.get("security"))
    if isinstance(listed, dict) and listed:  # meant as the only alternative
        return _requirements([listed])
    if not isinstance(listed, list):
        return ()
    found: tuple[dict[str, tuple[str, ...]], ...]
    found = document.shared("security", listed, _requirements)
    return found


def _requirements(listed: list[Any]) -> tuple[dict[str, tuple[str, ...]], ...]:
    return tuple(
        {
            name: tuple(filter(is_text, scopes)) if isinstance(scopes, list) else ()
            for name, scopes in requirement.items()
        }
        for requirement in listed
        if isinstance(requirement, dict)
    )


def schemes(document: Document) -> dict[str, SecurityScheme]:
    """Return the document's security schemes by name; those that cannot be read are left out."""
    return {name: _security_scheme(node) for name, node in _nodes(document)}


def prefixes(document: Document) -> dict[str, str]:
    """Return the word that a key in `Authorization` begins with, by the scheme's description.

    Returns:
        By scheme name, for instance `{"ApiKeyAuth": "Token"}`; only those that name one.
    """
    found = {}
    for name, node in _nodes(document):
        scheme, said = _security_scheme(node), _PREFIX.search(as_text(node.get("description")))
        if said and scheme.type == "apiKey" and scheme.name.lower() == "authorization":
            word = next(filter(None, said.groups()))
            found[name] = "Bearer" if word == "bearer" else word
    return found


def _nodes(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the security schemes as they are in OpenAPI 3, by name."""
    holder = document.root if document.dialect.swagger else document.root.get("components")
    key = "securityDefinitions" if document.dialect.swagger else "securitySchemes"
    listed = holder.get(key) if isinstance(holder, dict) else None
    for name, node in listed.items() if isinstance(listed, dict) else ():
        try:
            found = document.references.follow(node, document.entry).node
        except DocumentError:
            continue
        if isinstance(found, dict) and isinstance(found.get("type"), str):
            yield name, versions.security_scheme(found) if document.dialect.swagger else found


def _security_scheme(node: dict[str, Any]) -> SecurityScheme:
    flows = node.get("flows")
    return SecurityScheme(
        type=node["type"],
        name=as_text(node.get("name")),
        location=as_text(node.get("in")),
        scheme=as_text(node.get("scheme")).lower(),
        flows={key: _flow(flow) for key, flow in flows.items() if isinstance(flow, dict)}
        if isinstance(flows, dict)
        else {},
        openid_connect_url=without_user(as_text(node.get("openIdConnectUrl"))),
    )


def _flow(node: dict[str, Any]) -> dict[str, Any]:
    """Return an OAuth Flow Object with what the standard has: whatever else is in it may be huge.

    Spec: OpenAPI 3.2.0, section 4.29, OAuth Flow Object.
    """
    flow: dict[str, Any] = {
        key: without_user(node[key]) for key in _FLOW_URLS if is_text(node.get(key))
    }
    scopes = node.get("scopes")
    if isinstance(scopes, dict):
        flow["scopes"] = {name: as_text(text) for name, text in scopes.items()}
    return flow
