"""The data a generated package is written from; no file names and no formatting yet."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InvalidDocument
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.model import Operation, SecurityScheme, Server, Skipped
    from openapi_tools.settings import Settings
    from openapi_tools.tools.toolset import Toolset

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(frozen=True, slots=True)
class Record:
    """One tool as data.

    Attributes:
        name: The tool's name.
        description: The tool's description for the model.
        input_schema: JSON Schema 2020-12 of the input.
        operation: How the API is called.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    operation: Operation


@dataclass(frozen=True, slots=True)
class PackageData:
    """The data of one package.

    Attributes:
        api: Name of the API, for instance `"museum"`: it names packages and modules.
        records: The tools, in the document's order.
        title: The document's title.
        version: The document's own version, not OpenAPI's.
        document_hash: SHA-256 of the document's data, hexadecimal.
        schemes: The document's security schemes by name.
        servers: The document's servers; credentials are bound to their origins.
        skipped: Operations that did not become tools.
        counts: As `Toolset.counts`.
        settings: Settings that shape tools and differ from their defaults.
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


def package_data(
    toolset: Toolset, *, api: str, settings: Settings, servers: tuple[Server, ...] = ()
) -> PackageData:
    """Collect the package data of a loaded document's selected tools.

    Raises:
        InvalidDocument: Its components cannot be told apart by their JSON text.
    """
    _check_components(toolset.document)
    title, version = document_info(toolset.document)
    return PackageData(
        api,
        tuple(Record(t.name, t.description, t.input_schema, t.operation) for t in toolset),
        title=title,
        version=version,
        document_hash=document_hash(toolset.document),
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


def document_info(document: Any) -> tuple[str, str]:
    """Return title and version of a parsed document; empty where they are missing.

    Spec: OpenAPI 3.2.0, section 4.2, Info Object.
    """
    info = document.get("info") if isinstance(document, dict) else None
    known = info if isinstance(info, dict) else {}
    title, version = known.get("title"), known.get("version")
    return (
        visible(title) if isinstance(title, str) else "",
        str(version) if isinstance(version, str | int | float) else "",
    )


def document_hash(document: Any) -> str:
    """Return the SHA-256 of a parsed document: the same for JSON and YAML of the same data."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _check_components(document: Any) -> None:
    """Refuse surrogate pairs in components: JSON text joins them, and it identifies definitions."""
    root = document if isinstance(document, dict) else {}
    for key in ("components", "definitions"):
        if _SURROGATE_PAIR.search(json.dumps(root.get(key), ensure_ascii=False)):
            reason = "a text holds two halves of a character apart, which JSON text cannot say."
            raise InvalidDocument(reason, pointer=f"/{key}")
