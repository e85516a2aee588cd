"""Recognise files that are not OpenAPI documents: an archive, an image, a page that names one.

Spec: RFC 8631, section 4 (`service-desc`).
"""

from __future__ import annotations

import re
from urllib.parse import urljoin

EMPTY = "the document is empty."
MAGIC = {
    b"\x1f\x8b": "a gzip archive; unpack it first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"%PDF-": "a PDF file",
    b"\x89PNG": "an image",
}
"""Kinds of files by their first bytes."""

_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")
_PAGE = (
    "looks like an HTML page; use the URL of the document itself, or, if this is "
    "a login, credentials for it."
)
_PAGE_BYTES = 100_000  # of a page that are searched
# Where a page names a document: RFC 8631, Redoc, Swagger UI, any other link.
_DOCUMENT_LINKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rb"<link\b[^>]{0,300}\brel=[\"']?service-desc\b[^>]{0,300}\bhref=[\"']([!-~]{1,200}?)[\"']",
        rb"<link\b[^>]{0,300}\bhref=[\"']([!-~]{1,200}?)[\"'][^>]{0,300}\brel=[\"']?service-desc\b",
        rb"\bspec-url=[\"']([!-~]{1,200}?)[\"']",
        rb"\burl[\"']?\s*:\s*[\"']([!-~]{1,200}?)[\"']",
        rb"[\"'=]((?:https?:/)?[\w./:-]{0,150}(?:openapi|swagger|api-docs)[\w-]{0,40}\.(?:json|ya?ml))\b",
    )
)


def describe_other_file(data: bytes, start: bytes, name: str) -> str:
    """Return why data is no document; empty if it may be one.

    Args:
        data: The whole file.
        start: Its first bytes, without leading space.
        name: Its URL or path, for links in a page.
    """
    if not start and not data.strip():
        return EMPTY
    for magic, kind in MAGIC.items():
        if start.startswith(magic):
            return f"looks like {kind}, not an OpenAPI document."
    if b"\0" in data:
        # ASCII in UTF-16 has a NUL at every second place.
        alternating = data[:64:2].count(0) == 0 or data[1:64:2].count(0) == 0
        kind = "UTF-16 without a byte order mark" if alternating else "binary data"
        return f"looks like {kind}; save the document as UTF-8 text."
    if not start.startswith(b"<"):
        return ""
    if any(tag in start.lower() for tag in _HTML):
        return _describe_page(data[:_PAGE_BYTES], name)
    return "looks like XML; OpenAPI documents are JSON or YAML."


def _describe_page(page: bytes, name: str) -> str:
    matches = (match for pattern in _DOCUMENT_LINKS if (match := pattern.search(page)))
    if (match := next(matches, None)) is None:
        return _PAGE
    address = match[1].decode()
    address = urljoin(name, address) if name.startswith(("http://", "https://")) else address
    return f"looks like an HTML page, which names the document {address}; use that URL."
