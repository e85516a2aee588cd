"""`$ref` inside one document: what other documents would say is not asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

from openapi_tools.json_pointer import find

if TYPE_CHECKING:
    from jsonschema_path import SchemaPath

_LONGEST_CHAIN = 64


def follow(document: Mapping[str, Any], node: Any) -> Any:
    """Return what a node stands for: itself, or the end of its chain of `$ref`.

    A reference that leaves the document, leads nowhere or goes in a circle gives `{}`: a mock
    answers all the same, and a document's faults are told by `lint`. Members beside a `$ref` are
    laid over its target.

    Spec: RFC 6901; OpenAPI 3.1.2, section 4.23 (Reference Object).
    """
    beside: dict[str, Any] = {}
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
            return {**node, **beside} if beside and isinstance(node, Mapping) else node
        beside = {**{key: node[key] for key in node if key != "$ref"}, **beside}
        node = _at(document, node["$ref"])
    return {}


def closed_path(document: Mapping[str, Any]) -> SchemaPath:
    """Return a document as openapi-core walks it, unable to read any other.

    Left to itself, its resolver opens files and fetches URLs that a `$ref` names, even when it is
    given no handler for them.
    """
    from jsonschema_path import SchemaPath

    # Its usual separator, `#`, may stand in path templates and property names.
    return SchemaPath.from_dict(
        document, separator="\0", handlers=_Refusing(), resolved_cache_maxsize=128
    )


class _Refusing(dict[str, Any]):
    """Handlers by URL scheme: whatever the scheme, the answer is no."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return _refuse


def _refuse(uri: str) -> NoReturn:
    """Say that other documents are not read."""
    message = f"{uri!r} is another document, which is not read here"
    raise LookupError(message)


def _at(document: Mapping[str, Any], reference: str) -> Any:
    """Return the target of a reference into the same document, `{}` when there is none."""
    if reference[:1] != "#":
        return {}
    try:
        return find(document, unquote(reference[1:]))
    except LookupError:
        return {}
