"""Servers, security schemes and security requirements of a document.

Spec: OpenAPI 3.1.2, sections 4.8.27 and 4.8.30; 3.2.0, sections 4.6 and 4.8.5; Swagger 2.0, `host`,
`basePath`, `schemes`, "Security Definitions Object".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from openapi_tools.errors import DocumentError
from openapi_tools.loading import versions
from openapi_tools.loading.keyword_values import as_text, is_text
from openapi_tools.loading.operations import OperationNode
from openapi_tools.model import SecurityScheme, Server, ServerVariable
from openapi_tools.visible_text import user_in, without_user

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


def servers(document: Document, declared: OperationNode) -> tuple[Server, ...]:
    """Return where an operation is served: its own servers, its path's, or the document's.

    Relative ones are resolved against the document's own address, where that is a URL.

    Spec: OpenAPI 3.2.0, sections 4.6 and 4.8.5; Swagger 2.0, "Swagger Object".
    """
    if document.dialect.swagger:
        return _listed(document, versions.servers(document.root, declared.node))
    levels = (declared.node, declared.item, document.root)
    listed = next((level["servers"] for level in levels if level.get("servers")), None)
    return _shared(document, listed) or (_server(document, {"url": "/"}),)


def root_servers(document: Document) -> tuple[Server, ...]:
    """Return the document's own servers, which its credentials belong to.

    Without them its own address counts, and without a URL the servers of its first operation.

    Spec: OpenAPI 3.2.0, sections 4.1.1 and 4.6; Swagger 2.0, "Swagger Object".
    """
    if document.dialect.swagger:
        return _listed(document, versions.servers(document.root, {}))
    if named := _shared(document, document.root.get("servers")):
        return named
    if _address(document):
        return (_server(document, {"url": "/"}),)
    operations = (found for found in document.operations() if isinstance(found, OperationNode))
    first = next(operations, None)
    return servers(document, first) if first is not None else ()


def _shared(document: Document, nodes: Any) -> tuple[Server, ...]:
    """Return the servers of a list that several operations may have in common."""
    if not isinstance(nodes, list):
        return ()
    found: tuple[Server, ...] = document.shared("servers", nodes, lambda n: _listed(document, n))
    return found


def _listed(document: Document, nodes: list[Any]) -> tuple[Server, ...]:
    return tuple(_server(document, node) for node in nodes if isinstance(node, dict))


def _address(document: Document) -> str:
    """Return the URL that the document was loaded from; empty when it was none."""
    uri = document.entry.uri
    return uri if uri.lower().startswith(("http://", "https://")) else ""


def _server(document: Document, node: dict[str, Any]) -> Server:
    url = as_text(node.get("url")).strip() or "/"
    base = _address(document)
    if url.startswith("//"):  # Swagger 2.0 without `schemes` may have no address to take it from
        url = f"{base.partition(':')[0] or 'https'}:{url}"
    elif base and "://" not in url.split("?", 1)[0] and not url.startswith("{"):
        url = urljoin(base, url)
    declared = node.get("variables")
    user = user_in(url)
    variables = {}
    for name, variable in declared.items() if isinstance(declared, dict) else ():
        if isinstance(variable, dict) and f"{{{name}}}" not in user:
            enum = variable.get("enum")
            allowed = (
                tuple(without_user(str(value)) for value in enum) if isinstance(enum, list) else ()
            )
            default = variable.get("default", allowed[0] if allowed else "")
            variables[name] = ServerVariable(without_user(_scalar(default)), allowed)
    return Server(without_user(url), variables)


def _scalar(value: Any) -> str:
    """Return a server variable's default as text; YAML makes a port a number."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def requirements(
    document: Document, node: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], ...]:
    """Return an operation's security requirements, by default those of the document."""
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


def security_schemes(document: Document) -> dict[str, SecurityScheme]:
    """Return the document's security schemes by name; those that cannot be read are left out."""
    return {name: _security_scheme(node) for name, node in _nodes(document)}


def key_prefixes(document: Document) -> dict[str, str]:
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
    """Return the standard's members of an OAuth Flow Object: others may be huge.

    Spec: OpenAPI 3.2.0, section 4.29, OAuth Flow Object.
    """
    flow: dict[str, Any] = {
        key: without_user(node[key]) for key in _FLOW_URLS if is_text(node.get(key))
    }
    scopes = node.get("scopes")
    if isinstance(scopes, dict):
        flow["scopes"] = {name: as_text(text) for name, text in scopes.items()}
    return flow
