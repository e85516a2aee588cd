"""Where an operation is served.

Spec: OpenAPI 3.2.0, sections 4.6 and 4.8.5; Swagger 2.0, `host`, `basePath`, `schemes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from openapi_tools.loading import versions
from openapi_tools.loading.markdown import user_in, without_user
from openapi_tools.loading.operations import Declared, as_text
from openapi_tools.model import Server, ServerVariable

if TYPE_CHECKING:
    from openapi_tools.loading.operations import Document


def servers(document: Document, declared: Declared) -> tuple[Server, ...]:
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

    Where it names none, that is the place it was loaded from; where that is no URL either, the
    servers of its first operation. Empty when there is nothing of all this.

    Spec: OpenAPI 3.2.0, sections 4.1.1 and 4.6; Swagger 2.0, "Swagger Object".
    """
    if document.dialect.swagger:
        return _listed(document, versions.servers(document.root, {}))
    if named := _shared(document, document.root.get("servers")):
        return named
    if _address(document):
        return (_server(document, {"url": "/"}),)
    operations = (found for found in document.operations() if isinstance(found, Declared))
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
