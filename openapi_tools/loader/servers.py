"""Where an operation is served.

Spec: OpenAPI 3.2.0, sections 4.6 and 4.8.5; Swagger 2.0, `host`, `basePath`, `schemes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from openapi_tools.loader import versions
from openapi_tools.loader.operations import as_text
from openapi_tools.loader.texts import user_in, without_user
from openapi_tools.model import Server, ServerVariable

if TYPE_CHECKING:
    from openapi_tools.loader.operations import Declared, Document


def servers(document: Document, declared: Declared) -> tuple[Server, ...]:
    """Return where an operation is served: its own servers, its path's, or the document's.

    Relative ones are resolved against the document's own address, where that is a URL.

    Spec: OpenAPI 3.2.0, sections 4.6 and 4.8.5; Swagger 2.0, "Swagger Object".
    """
    if document.dialect.swagger:
        listed: Any = versions.servers(document.root, declared.node)
    else:
        levels = (declared.node, declared.item, document.root)
        listed = next((level["servers"] for level in levels if level.get("servers")), None)
    nodes = listed if isinstance(listed, list) else ()
    servers = [_server(document, node) for node in nodes if isinstance(node, dict)]
    return tuple(server for server in servers if server) or (_server(document, {"url": "/"}),)


def _server(document: Document, node: dict[str, Any]) -> Server:
    url = as_text(node.get("url")).strip() or "/"
    base = (
        document.entry.uri if document.entry.uri.lower().startswith(("http://", "https://")) else ""
    )
    if base and "://" not in url.split("?", 1)[0] and not url.startswith("{"):
        url = urljoin(base, url)
    elif url.startswith("//"):  # Swagger 2.0 without `schemes`, and no address to take it from
        url = f"https:{url}"
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
