"""Read a document: its bytes from a path, a string or bytes, and plain data from JSON or YAML.

Spec: OpenAPI 3.2.0, section 4.3 (JSON, or YAML that amounts to JSON); RFC 8259; YAML 1.2.2.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import posixpath
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openapi_tools.common.http_rules import WEB_URL
from openapi_tools.common.json_values import PausedGC
from openapi_tools.errors import InvalidDocument, SourceError
from openapi_tools.loading import other_files
from openapi_tools.loading.parse_json import NotJSON, read_json

if TYPE_CHECKING:
    from openapi_tools.settings import Settings

DUPLICATES_BYTES = 1_000_000  # up to this size duplicate keys are looked for by default
MIN_CACHED_BYTES = 64 * 1024  # smaller local documents are not cached: a lookup takes as long

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=\S)")
# A host and a path. One on this machine, or with a port, most often speaks plain http.
_HOST = re.compile(
    r"(?P<local>localhost|\[[0-9A-Fa-f:.]+\]|[0-9.]+|[A-Za-z0-9.-]+(?=:))(?::[0-9]{1,5})?/\S*"
    r"|(?:[A-Za-z0-9-]+\.)+(?!(?:json|ya?ml)/)[A-Za-z]{2,}/\S*"
)

# In this order, as UTF-16's mark of little endian begins that of UTF-32.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_OPENAPI = "'openapi' or 'swagger'"
_MOST_WARNINGS = 100  # duplicate keys that are named
_MAGIC_BYTES = 4096  # in which the kind of a file is looked for
_BRACKET = re.compile(rb"\s*[\[{]")
# `{a: 1}` is YAML, as JSON wants quotes around keys. YAML's parser has to describe its faults.
_FLOW_MAPPING = re.compile(rb"\s*\{\s*[^\"}\s]")


@dataclass(frozen=True, slots=True)
class Source:
    """A document as it was read: bytes or a mapping, and where it came from.

    Attributes:
        data: The bytes; None for a mapping, and if the server says that they have not changed.
        value: The mapping; None for bytes.
        uri: The base of its references, without a user; empty if it has no address.
        name: How messages name it: the path, or the URL without its query.
        public: Whether it came from a public address.
        etag: The `ETag` of the response; empty if it has none.
        modified: The `Last-Modified` of the response; empty if it has none.
        can_store: Whether the server allows a copy in the cache: no `no-store`.
    """

    data: bytes | None
    value: Mapping[str, Any] | None = None
    uri: str = ""
    name: str = ""
    public: bool = False
    etag: str = ""
    modified: str = ""
    can_store: bool = True

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hexadecimal digits."""
        return hashlib.sha256(self.data or b"").hexdigest()


NO_SOURCE = Source(None)


def is_configuration(source: Any) -> bool:
    """Return whether a source names a configuration in place of a document."""
    return isinstance(source, str | os.PathLike) and os.fspath(source).endswith(".toml")


def read_source(
    source: str | os.PathLike[str] | bytes | bytearray | Mapping[str, Any], settings: Settings
) -> Source:
    """Read a document from anything but a URL; a string is a path, or else the document itself."""
    if isinstance(source, Mapping):
        return Source(None, source)
    place = address_of(source)
    if isinstance(place, Path):
        return read_file(place, settings)
    if not isinstance(source, str | bytes | bytearray):
        kind = type(source).__name__
        raise SourceError(f"a document is a URL, a path, a dict, a string or bytes, not {kind!r}.")
    try:
        data = source.encode() if isinstance(source, str) else bytes(source)
    except UnicodeEncodeError as error:
        raise SourceError(f"the string has a lone surrogate at offset {error.start}.") from None
    if len(data) > settings.max_document_bytes:
        raise too_large(settings.max_document_bytes, "")
    return Source(data)


def address_of(source: object) -> str | Path | None:
    """Return a source as a URL or a path; None if it is the document itself."""
    if isinstance(source, os.PathLike):
        return Path(os.fsdecode(source))
    if not isinstance(source, str):
        return None
    if WEB_URL.match(source):
        return source
    # No path of a document begins like JSON or a page, or has several lines.
    if "\n" in source or not source.strip() or source.lstrip()[0] in "{[<":
        return None
    check_host(source)
    if scheme := _SCHEME.match(source):
        raise SourceError(
            f"{scheme[1].lower()!r} addresses are not read; give the path instead, or http(s)."
        )
    return Path(source)


def is_small_file(source: object) -> bool:
    """Return whether a source is a file that is too small for the cache."""
    path = address_of(source)
    try:
        return isinstance(path, Path) and path.stat().st_size < MIN_CACHED_BYTES
    except (OSError, ValueError):  # the load that follows says why it cannot be read
        return False


def check_host(source: str) -> None:
    """Raise SourceError for an address without `http://` or `https://` that is no file either."""
    host = _HOST.fullmatch(source)
    if host is None or Path(source).exists():
        return
    scheme = "http" if host["local"] else "https"
    raise SourceError(f"no such file; did you mean {scheme}://{source}?", source=source)


def read_file(path: Path, settings: Settings) -> Source:
    """Read a file, after a check of its kind and size; devices and pipes may never end."""
    name, limit = str(path), settings.max_document_bytes
    try:
        _check_kind(path.stat().st_mode, name)
        # A pipe may take the place of the file after the check; without the flag `open` waits.
        at_once = getattr(os, "O_NONBLOCK", 0)
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
            status = os.fstat(file.fileno())
            _check_kind(status.st_mode, name)
            # One byte more than allowed shows that the file has grown.
            data = file.read(limit + 1) if status.st_size <= limit else None
        if data is None or len(data) > limit:
            raise too_large(limit, name)
    except FileNotFoundError:
        raise SourceError("no such file.", source=name) from None
    except PermissionError:
        raise SourceError(
            "may not be read; its permissions do not allow it.", source=name
        ) from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror or type(error).__name__})."
        raise SourceError(reason, source=name) from None
    except ValueError:
        raise SourceError("is not a valid path; name a file or a URL.", source=name) from None
    # References are relative to the path as given, not to where a link leads: no `resolve()`.
    return Source(data, uri=os.path.abspath(path), name=name)  # noqa: PTH100 -- see above


def too_large(limit: int, name: str) -> SourceError:
    """Return the error for a document over the limit, in bytes."""
    reason = f"larger than {limit:,} bytes; to allow it, raise Settings(max_document_bytes=…)."
    return SourceError(reason, source=name)


def _check_kind(mode: int, name: str) -> None:
    if stat.S_ISDIR(mode):
        raise SourceError("is a folder; name the document's file.", source=name)
    if not stat.S_ISREG(mode):
        raise SourceError("is not a regular file but a device, pipe or socket.", source=name)


def relative_address(uri: str, entry: str) -> str:
    """Return the path from the entry document to a resource; its URL if it is at another origin."""
    if uri == entry:
        return ""
    there, here = urlsplit(uri), urlsplit(entry)
    if (there.scheme, there.hostname, there.port) != (here.scheme, here.hostname, here.port):
        return f"{there.scheme}://{there.hostname}:{there.port or ''}{there.path}"
    return posixpath.relpath(there.path or "/", posixpath.dirname(here.path) or "/")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Plain data with warnings; `is_tree` is false if parts are shared, as by YAML's aliases."""

    root: Any
    warnings: tuple[str, ...] = ()
    is_tree: bool = True


def parse_document(
    data: bytes,
    *,
    name: str,
    find_duplicates: bool | None = None,
    strict: bool = False,
    expected: str = _OPENAPI,
) -> Parsed:
    """Parse a document in UTF-8, or in UTF-16 or UTF-32 with a byte order mark.

    Of a duplicate key the last value counts.

    Args:
        data: JSON or YAML.
        name: The document's name, for messages.
        find_duplicates: Whether to look for duplicate keys and numbers out of range; None for
            documents of up to 1 MB.
        strict: Refuse a duplicate key that hides more than documentation.
        expected: The keys that the document should have, for messages.

    Raises:
        InvalidDocument: It is broken or malicious; the message says where.
    """
    check = len(data) <= DUPLICATES_BYTES if find_duplicates is None else find_duplicates
    try:
        text = _decode_to_utf8(data)
        _refuse_other_files(text, name)
        with PausedGC():
            parsed = _parse(text, check=check or strict, strict=strict)
        _check_root(parsed.root, expected)
    except InvalidDocument as error:
        error.source = name
        raise
    return parsed


def _decode_to_utf8(data: bytes) -> bytes:
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
    start = data[:_MAGIC_BYTES].lstrip()
    is_markup = start.startswith(b"<") and not start.startswith(b"<<")  # a merge key of YAML
    is_other = not start or is_markup or start.startswith(tuple(other_files.MAGIC))
    if (is_other or b"\0" in data) and (
        reason := other_files.describe_other_file(data, start, name)
    ):
        raise InvalidDocument(reason)


def _parse(data: bytes, *, check: bool, strict: bool) -> Parsed:
    # JSON is YAML, too, but YAML is built in Python, many times more slowly.
    if not _BRACKET.match(data) or _FLOW_MAPPING.match(data):
        return _parse_yaml(data, check=check, strict=strict)
    try:
        root, warnings = read_json(data, check=check, strict=strict)
    except NotJSON as fault:
        try:
            remark = f"{fault.reason} It was read as YAML."
            return _parse_yaml(data, remark, check=check, strict=strict)
        except InvalidDocument as error:
            # Report the fault of JSON: whoever wrote braces meant JSON.
            raise (error if error.reason.startswith("not valid UTF-8") else fault) from None
    return Parsed(root, _limit_warnings(warnings))


def _parse_yaml(data: bytes, *remarks: str, check: bool, strict: bool) -> Parsed:
    # Start-up time: documents in JSON need no YAML.
    from openapi_tools.loading.parse_yaml import read_yaml

    try:
        root, warnings = read_yaml(data, check=check, strict=strict)
    except UnicodeDecodeError:
        _decode(data, "UTF-8")
        raise  # pragma: no cover -- the line before has raised
    return Parsed(root, (*_limit_warnings(warnings), *remarks), is_tree=False)


def _limit_warnings(warnings: list[str]) -> tuple[str, ...]:
    rest = len(warnings) - _MOST_WARNINGS
    if rest <= 0:
        return tuple(warnings)
    return (*warnings[:_MOST_WARNINGS], f"{rest} more duplicate keys.")


def _check_root(root: Any, expected: str) -> None:
    if root is None:
        raise InvalidDocument(other_files.EMPTY)
    if not isinstance(root, dict):
        kind = {list: "a list", str: "plain text", bool: "a boolean"}.get(type(root), "a number")
        reason = f"{kind} at the top level, not an object with {expected} in it."
        raise InvalidDocument(reason)
