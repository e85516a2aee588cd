"""Read the bytes of a document, JSON or YAML, as plain data.

Spec: RFC 8259, section 4 (names should be unique); YAML 1.2.2, section 3.2.1.3 (keys are unique).
"""

from __future__ import annotations

import codecs
import gc
import json
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from openapi_tools import loading
from openapi_tools.errors import InvalidDocument
from openapi_tools.json_values import SCHEMA_MAP_KEYWORDS, Node, join_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DUPLICATES_BYTES = 1_000_000  # up to this size repeated keys are looked for by default

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
_EMPTY = "the document is empty."
_OPENAPI = "'openapi' or 'swagger'"
_MOST = 100  # repeated keys that are named
_SIGHT = 4096
_PAGE_BYTES = 100_000
_BRACKET = re.compile(rb"\s*[\[{]")
_FLOW_MAPPING = re.compile(rb"\s*\{\s*[^\"}\s]")
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")
_PAGE = (
    "looks like an HTML page; give the address of the document itself, or, if this is "
    "a login, credentials for it."
)
_DENSE_BYTES = 16 * 1024 * 1024  # no smaller text, of empty arrays say, exhausts the memory
_TO_DOCUMENT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rb"<link\b[^>]{0,300}\brel=[\"']?service-desc\b[^>]{0,300}\bhref=[\"']([!-~]{1,200}?)[\"']",
        rb"<link\b[^>]{0,300}\bhref=[\"']([!-~]{1,200}?)[\"'][^>]{0,300}\brel=[\"']?service-desc\b",
        rb"\bspec-url=[\"']([!-~]{1,200}?)[\"']",
        rb"\burl[\"']?\s*:\s*[\"']([!-~]{1,200}?)[\"']",
        rb"[\"'=]((?:https?:/)?[\w./:-]{0,150}(?:openapi|swagger|api-docs)[\w-]{0,40}\.(?:json|ya?ml))\b",
    )
)
"""Where a page names a document: RFC 8631, Redoc, Swagger UI, any other link."""

_NO_VALUES = bytes(code for code in range(256) if code not in b",[{")
"""Deleting these bytes leaves an upper bound on the number of values."""
_PLACE = re.compile(r"(.+) at line (\d+) column (\d+)", re.DOTALL)
_WORDS = {
    "EOF": "the text ends too early",
    "recursion limit": loading.TOO_DEEP,
    "number out of range": loading.TOO_LONG,
    "lone leading surrogate": "half of a surrogate pair",
    "unexpected end of hex escape": "half of a surrogate pair",
}
_DOCUMENTATION = frozenset({"description", "summary", "title", "example"})
_NAMED_BY_USERS = (
    SCHEMA_MAP_KEYWORDS
    | {"additionalOperations", "callbacks", "content", "dependencies", "dependentRequired"}
    | {"encoding", "examples", "headers", "links", "mapping", "mediaTypes", "parameters"}
    | {"pathItems", "paths", "requestBodies", "responses", "schemas", "scopes", "variables"}
    | {"securityDefinitions", "securitySchemes", "webhooks"}
)
"""Members whose value is a map: its keys are names that users chose, `description` among them."""


class NotJSON(InvalidDocument):
    """Text that breaks JSON's grammar, which YAML may still be able to read."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Plain data, and warnings; a tree shares no values, unlike YAML with aliases."""

    root: Any
    warnings: tuple[str, ...] = ()
    is_tree: bool = True


def parse(
    data: bytes,
    *,
    name: str,
    duplicates: bool | None = None,
    strict: bool = False,
    wanted: str = _OPENAPI,
) -> Parsed:
    """Read a document in UTF-8, or in UTF-16 or UTF-32 with a byte order mark.

    Repeated keys and numbers out of range are looked for if `duplicates` is True, or None and the
    document has up to 1 MB. Of a repeated key the last value counts, with a warning; if `strict`,
    one that hides more than words is refused. InvalidDocument says where a document is broken, or
    built to do harm.

    Spec: OpenAPI 3.2.0, section 4.3 (JSON, or YAML that amounts to JSON); RFC 8259; YAML 1.2.2.
    """
    check = len(data) <= DUPLICATES_BYTES if duplicates is None else duplicates
    try:
        text = _utf8(data)
        _refuse_other_files(text, name)
        found = _read(text, check=check or strict, strict=strict)
        _refuse_other_values(found.root, wanted)
    except InvalidDocument as error:
        error.source = name
        raise
    return found


def _utf8(data: bytes) -> bytes:
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode(data, encoding).encode()
    return data


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02x} at offset {error.start} (line {line})"
        reason = f"not valid {encoding}: {byte}; save the document as UTF-8."
        raise InvalidDocument(reason) from None


def _refuse_other_files(data: bytes, name: str) -> None:
    start = data[:_SIGHT].lstrip()
    if not start and not data.strip():
        raise InvalidDocument(_EMPTY)
    for magic, kind in _FILE_KINDS:
        if start.startswith(magic):
            raise InvalidDocument(f"looks like {kind}, not an OpenAPI document.")
    if b"\0" in data:
        alternating = data[:64:2].count(0) == 0 or data[1:64:2].count(0) == 0
        kind = "UTF-16 without a byte order mark" if alternating else "binary data"
        raise InvalidDocument(f"looks like {kind}; save the document as UTF-8 text.")
    if start.startswith(b"<") and not start.startswith(b"<<"):
        if any(tag in start.lower() for tag in _HTML):
            raise InvalidDocument(_page_reason(data[:_PAGE_BYTES], name))
        raise InvalidDocument("looks like XML; OpenAPI documents are JSON or YAML.")


def _page_reason(page: bytes, name: str) -> str:
    """Return why an HTML page cannot be read, with the document that it names, if any."""
    found = (match for pattern in _TO_DOCUMENT if (match := pattern.search(page)))
    if (match := next(found, None)) is None:
        return _PAGE
    address = match[1].decode()
    address = urljoin(name, address) if name.startswith(("http://", "https://")) else address
    return f"looks like an HTML page, which names the document {address}; give that address."


def _read(data: bytes, *, check: bool, strict: bool) -> Parsed:
    """Read JSON where the text begins like it, else YAML; JSON with comments is YAML, too."""
    if not _BRACKET.match(data) or _FLOW_MAPPING.match(data):
        return _read_as_yaml(data, check=check, strict=strict)
    try:
        root, warnings = _read_json(data, check=check, strict=strict)
    except NotJSON as fault:
        try:
            remark = f"{fault.reason} It was read as YAML."
            return _read_as_yaml(data, remark, check=check, strict=strict)
        except InvalidDocument as error:
            raise (error if error.reason.startswith("not valid UTF-8") else fault) from None
    return Parsed(root, _limit_warnings(warnings))


def _limit_warnings(warnings: list[str]) -> tuple[str, ...]:
    rest = len(warnings) - _MOST
    return (*warnings[:_MOST], *[f"{rest} further keys stand twice."] * (rest > 0))


def _read_as_yaml(data: bytes, *remarks: str, check: bool, strict: bool) -> Parsed:
    from openapi_tools.loading.parse_yaml import read_yaml

    try:
        root, warnings = read_yaml(data, check=check, strict=strict)
    except UnicodeDecodeError:
        _decode(data, "UTF-8")
        raise  # pragma: no cover -- the line before has raised
    return Parsed(root, (*_limit_warnings(warnings), *remarks), is_tree=False)


def _refuse_other_values(root: Any, wanted: str) -> None:
    if root is None:
        raise InvalidDocument(_EMPTY)
    if not isinstance(root, dict):
        kind = {list: "a list", str: "plain text", bool: "a boolean"}.get(type(root), "a number")
        reason = f"{kind} at the top level, not an object with {wanted} in it."
        raise InvalidDocument(reason)


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause the cyclic garbage collector while a parser builds its values.

    It finds nothing in new dicts and lists, and takes a third of the time of a parse. What was
    built then counts as old: it stays, and a young collection need not walk over all of it.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if not gc.get_freeze_count():  # else a program has frozen objects of its own
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _read_json(data: bytes, *, check: bool, strict: bool) -> tuple[Any, list[str]]:
    from pydantic_core import from_json

    if len(data) > _DENSE_BYTES and len(data.translate(None, _NO_VALUES)) > loading.MAX_NODES:
        raise InvalidDocument(f"{loading.TOO_MANY}.")
    try:
        with paused_gc():
            root = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise _complaint(data, str(error)) from None
    if not check:
        return root, []
    loading.plain(root, name="")  # raises for an infinite number, and names the place
    return root, list(_repeated(data, strict=strict))


def _complaint(data: bytes, message: str) -> InvalidDocument:
    from pydantic_core import from_json

    match = _PLACE.fullmatch(message)
    text, line, column = match.groups() if match else (message, "1", "1")
    row = data.split(b"\n")[int(line) - 1]
    column = len(row[: int(column)].decode(errors="replace"))
    place = f"line {line}, column {column}"
    for start, words in _WORDS.items():
        if text.startswith(start):
            return InvalidDocument(f"not valid JSON: {place}: {words}.")
    try:
        from_json(data)
    except ValueError:
        return NotJSON(f"not valid JSON: {place}: {text}.")
    return InvalidDocument(f"{place}: {loading.NOT_FINITE}.")


def _repeated(data: bytes, *, strict: bool) -> Iterator[str]:
    found: dict[int, tuple[Any, list[str]]] = {}

    def collect(pairs: list[tuple[str, Any]]) -> Node:
        made = dict(pairs)
        if len(made) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            found[id(made)] = made, [key for key, count in counts.items() if count > 1]
        return made

    root = json.loads(data, object_pairs_hook=collect)
    stack: list[tuple[Any, list[str | int]]] = [(root, [])] if found else []
    while stack:
        node, path = stack.pop()
        _, keys = found.get(id(node), (None, ()))
        yield from (repeated_key(path, key, strict=strict) for key in keys)
        members = list(node.items() if isinstance(node, dict) else enumerate(node))
        inner = [(item, [*path, key]) for key, item in members if isinstance(item, (dict, list))]
        stack += reversed(inner)


def repeated_key(
    path: Sequence[str | int], key: str, *, strict: bool, line: int | None = None
) -> str:
    """Return a warning for a repeated key; if strict, InvalidDocument where it hides a value."""
    place = "" if line is None else f" (again in line {line})"
    is_map = bool(path) and path[-1] in _NAMED_BY_USERS
    is_words = (key in _DOCUMENTATION or key.startswith("x-")) and not is_map
    if not strict or is_words:
        counts = "both are merged" if key == "<<" else "the last one counts"
        return f"{join_pointer([*path, key])}: {key!r} stands twice{place}; {counts}."
    raise InvalidDocument(
        f"{key!r} stands twice in one object{place} and hides the first; remove one of them.",
        pointer=join_pointer(path),
    )
