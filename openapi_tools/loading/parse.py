"""Read the bytes of a document: JSON or YAML, told apart by what they say, as plain data."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Any

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.document_limits import DUPLICATES_BYTES
from openapi_tools.loading.parse_json import NotJSON, read_json
from openapi_tools.loading.plain_data import plain

__all__ = ["Parsed", "parse", "plain"]

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_FILE_KINDS = (
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "an image"),
)
_SIGHT = 4096
_BRACKET = re.compile(rb"\s*[\[{]")
_FLOW_MAPPING = re.compile(rb"\s*\{\s*[^\"}\s]")
_AS_YAML = "It was read as YAML."
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a document says.

    Attributes:
        root: A dict of plain data: text keys, lists, text, integers, finite floats, booleans, None.
        warnings: What was read although it is doubtful, for instance
            `"/info/description: 'description' stands twice; the last one counts."`.
        is_tree: It was JSON, in which nothing stands in two places; YAML has aliases.
    """

    root: Any
    warnings: tuple[str, ...] = ()
    is_tree: bool = True


def parse(data: bytes, *, name: str, duplicates: bool | None = None) -> Parsed:
    """Read a document.

    Spec: OpenAPI 3.2.0, section 4.3 (JSON, or YAML that amounts to JSON); RFC 8259; YAML 1.2.2.

    Args:
        data: UTF-8 with or without a byte order mark, or UTF-16 or UTF-32 with one.
        name: What messages call the document: a path or URL; may be empty.
        duplicates: Look for keys that stand twice in an object, and in JSON for numbers out of
            range: True always, False never, None in documents of up to 1 MB.

    Returns:
        A mapping and warnings.

    Raises:
        InvalidDocument: It is something else, broken, or built to do harm; says where, and what
            was found instead.
    """
    check = len(data) <= DUPLICATES_BYTES if duplicates is None else duplicates
    try:
        text = _utf8(data)
        _refuse_other_files(text)
        root, warnings = _read(text, check=check)
        _refuse_other_values(root)
    except InvalidDocument as error:
        error.source = name
        raise
    is_tree = _begins_like_json(text) and not any(line.endswith(_AS_YAML) for line in warnings)
    return Parsed(root, tuple(warnings), is_tree)


def _utf8(data: bytes) -> bytes:
    """Return the text as UTF-8 without a byte order mark."""
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode(data, encoding).encode()
    return data


def _decode(data: bytes, encoding: str) -> str:
    """Return the text, or say which byte is not of the encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02x} at offset {error.start} (line {line})"
        raise InvalidDocument(
            f"not valid {encoding}: {byte}; save the document as UTF-8."
        ) from None


def _refuse_other_files(data: bytes) -> None:
    """Refuse what is no JSON or YAML at first sight, and say what it looks like."""
    start = data[:_SIGHT].lstrip()
    if not start and not data.strip():
        raise InvalidDocument("the document is empty.")
    for magic, kind in _FILE_KINDS:
        if start.startswith(magic):
            raise InvalidDocument(f"looks like {kind}, not an OpenAPI document.")
    if b"\0" in data:
        alternating = data[:64:2].count(0) == 0 or data[1:64:2].count(0) == 0
        kind = "UTF-16 without a byte order mark" if alternating else "binary data"
        raise InvalidDocument(f"looks like {kind}; save the document as UTF-8 text.")
    if start.startswith(b"<") and not start.startswith(b"<<"):
        if any(tag in start.lower() for tag in _HTML):
            raise InvalidDocument(
                "looks like an HTML page; give the address of the document itself, or, if this is "
                "a login, credentials for it."
            )
        raise InvalidDocument("looks like XML; OpenAPI documents are JSON or YAML.")


def _read(data: bytes, *, check: bool) -> tuple[Any, list[str]]:
    """Read JSON where the text begins like it, else YAML."""
    if not _begins_like_json(data):
        return _read_as_yaml(data, check=check)
    try:
        return read_json(data, check=check)
    except NotJSON as error:
        return _read_broken_json(data, error, check=check)


def _begins_like_json(data: bytes) -> bool:
    return _BRACKET.match(data) is not None and not _FLOW_MAPPING.match(data)


def _read_broken_json(data: bytes, fault: NotJSON, *, check: bool) -> tuple[Any, list[str]]:
    """Read JSON with trailing commas or comments as the YAML that it is."""
    try:
        root, warnings = _read_as_yaml(data, check=check)
    except InvalidDocument as error:
        raise (error if error.reason.startswith("not valid UTF-8") else fault) from None
    return root, [*warnings, f"{fault.reason} {_AS_YAML}"]


def _read_as_yaml(data: bytes, *, check: bool) -> tuple[Any, list[str]]:
    """Read YAML; what is wrong may be the encoding."""
    from openapi_tools.loading.parse_yaml import read_yaml

    try:
        return read_yaml(data, check=check)
    except UnicodeDecodeError:
        _decode(data, "UTF-8")
        raise  # pragma: no cover -- the line before has raised


def _refuse_other_values(root: Any) -> None:
    """Refuse a document that is not a mapping."""
    if root is None:
        raise InvalidDocument("the document is empty.")
    if not isinstance(root, dict):
        kind = {list: "a list", str: "plain text", bool: "a boolean"}.get(type(root), "a number")
        raise InvalidDocument(
            f"{kind} at the top level, not an object with 'openapi' or 'swagger' in it."
        )
