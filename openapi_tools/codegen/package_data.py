"""The data a generated package is written from, and warnings about secrets in it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import InvalidDocument
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi_tools.model import Operation, SecurityScheme, Server, Skipped
    from openapi_tools.settings import Settings
    from openapi_tools.tools.toolset import Toolset

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SECRET_NAME = re.compile(r"(?i)passw|secret|token|api[_-]?key|credential|private[_-]?key")
_SECRET_VALUE = re.compile(
    r"(sk|pk|rk)[-_](live|test|proj)[-_]?[A-Za-z0-9]{8}|gh[pousr]_[A-Za-z0-9]{20}|AKIA[A-Z0-9]{16}"
    r"|xox[abposr]-[A-Za-z0-9-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
)
_MACHINE_MADE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])\S{8,}")
_HIDDEN = "//***@"
_EXAMPLES = ("default", "const", "example", "examples", "enum")


@dataclass(frozen=True, slots=True)
class Record:
    """One tool as data: what the model reads, and how the API is called."""

    name: str
    description: str
    input_schema: dict[str, Any]
    operation: Operation


@dataclass(frozen=True, slots=True)
class PackageData:
    """The data of one package; `settings` are those that shape tools and are not default."""

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
    """Collect the package data of a loaded document's selected tools."""
    # Surrogate pairs are refused: JSON text joins them, and it identifies definitions.
    root = toolset.document if isinstance(toolset.document, dict) else {}
    for key in ("components", "definitions"):
        if _SURROGATE_PAIR.search(json.dumps(root.get(key), ensure_ascii=False)):
            reason = "a text holds two halves of a character apart, which JSON text cannot say."
            raise InvalidDocument(reason, pointer=f"/{key}")
    title, version = document_info(root)
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
    """Return title and version of a parsed document; empty where they are missing."""
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


def secret_warnings(records: Iterable[Record]) -> Iterator[str]:
    """Yield a warning for each default, example or server that looks like a secret, without it."""
    records = tuple(records)
    servers = (server.url for record in records for server in record.operation.servers)
    for url in dict.fromkeys(url for url in servers if _HIDDEN in url):
        yield f"the server {url!r:.100} has a user and a password, which are not written."
    for record in records:
        for name in dict.fromkeys(_secret_properties(record.input_schema)):
            yield f"{record.name}: the default or example of {name!r} looks like a secret."


def _secret_properties(schema: Any) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, dict):
            examples = [node.get(keyword) for keyword in _EXAMPLES]
            values = [value for e in examples for value in (e if isinstance(e, list) else [e])]
            if any(isinstance(value, str) and _is_secret(name, value) for value in values):
                yield name
            for key, value in node.items():
                if key in ("properties", "$defs") and isinstance(value, dict):
                    waiting += value.items()
                elif key not in _EXAMPLES:
                    waiting.append((name, value))
        elif isinstance(node, list):
            waiting += [(name, value) for value in node]


def _is_secret(name: str, value: str) -> bool:
    is_telling = _SECRET_NAME.search(name) and _MACHINE_MADE.fullmatch(value)
    return bool(_SECRET_VALUE.search(value) or is_telling)
