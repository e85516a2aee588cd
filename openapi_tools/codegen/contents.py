"""What a package is made from: data of a document, no file and no formatting yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.records import Record
from openapi_tools.errors import InvalidDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.model import SecurityScheme, Server, Skipped
    from openapi_tools.runtime.settings import Settings
    from openapi_tools.runtime.toolset import Toolset

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(frozen=True, slots=True)
class Contents:
    """What a package is made from.

    Attributes:
        api: Name of the API, for instance `"museum"`: it names packages and modules.
        records: The tools, in the document's order.
        title: The document's.
        version: The document's own version, not OpenAPI's.
        document_hash: SHA-256 of the document's data, hexadecimal.
        schemes: The document's security schemes by name.
        servers: The document's own servers, to whose origin credentials are bound.
        skipped: Operations that did not become tools.
        counts: As `Toolset.counts`.
        settings: Settings that shape tools and differ from the defaults.
    """

    api: str
    records: tuple[Record, ...]
    title: str = ""
    version: str = ""
    document_hash: str = ""
    schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)
    servers: tuple[Server, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def contents_of(
    toolset: Toolset,
    *,
    api: str,
    settings: Settings,
    servers: tuple[Server, ...] = (),
) -> Contents:
    """Return what the package of a loaded document is made from.

    Args:
        toolset: Its tools; already selected.
        api: Name of the API.
        settings: With which it was loaded.
        servers: The document's own.
    """
    records = tuple(
        Record(tool.name, tool.description, tool.input_schema, tool.operation) for tool in toolset
    )
    _check_components(toolset.document)
    title, version = info_of(toolset.document)
    return Contents(
        api,
        records,
        title=title,
        version=version,
        document_hash=hash_of(toolset.document),
        schemes=toolset.security_schemes,
        servers=servers,
        skipped=toolset.skipped,
        counts=toolset.counts,
        settings={
            name: getattr(settings, name)
            for name in sorted(settings.SHAPING & settings.model_fields_set)
            if getattr(settings, name) != type(settings).model_fields[name].get_default()
        },
    )


def info_of(document: Any) -> tuple[str, str]:
    """Return title and version of a parsed document; empty where it has none.

    Spec: OpenAPI 3.2.0, section 4.2, Info Object.
    """
    info = document.get("info") if isinstance(document, dict) else None
    known = info if isinstance(info, dict) else {}
    title, version = known.get("title"), known.get("version")
    return (
        title if isinstance(title, str) else "",
        str(version) if isinstance(version, str | int | float) else "",
    )


def _check_components(document: Any) -> None:
    """Raise where a component holds two halves of a character apart, which JSON text joins.

    Definitions are told apart by their JSON text.

    Raises:
        InvalidDocument: One does.
    """
    import json

    root = document if isinstance(document, dict) else {}
    for key in ("components", "definitions"):
        if _HALVES.search(json.dumps(root.get(key), ensure_ascii=False)):
            reason = "a text holds two halves of a character apart, which JSON text cannot say."
            raise InvalidDocument(reason, pointer=f"/{key}")


def hash_of(document: Any) -> str:
    """Return the SHA-256 of a parsed document: the same for JSON and YAML of the same data."""
    import hashlib
    import json

    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
