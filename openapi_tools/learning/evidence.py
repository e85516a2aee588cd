"""Evidence of what an API does: recorded exchanges, and lines of a server's audit log."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import urlsplit

from openapi_tools.common.http_rules import essence, is_media_type
from openapi_tools.errors import SourceError, format_count
from openapi_tools.redaction import excerpt
from openapi_tools.transport.urls import read_url

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 64_000_000  # of a file
_MOST_FAULTS = 5
_STATUSES = range(100, 600)
_LONGEST_MEDIA_TYPE = 255  # two names of 127 characters (RFC 6838, section 4.2)
_CASSETTE, _LINES = ".json", (".jsonl", ".log")
NO_JSON: Any = object()
"""The body of a response whose content is not JSON."""


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """A request and its response, without credentials.

    Attributes:
        source: The file and the number of the entry in it, such as `orders.json:3`.
        method: Upper case.
        url: The URL with its query.
        request_body: JSON as data, a form as a dict, else a string or `{"base64": …}`.
        status: The status of the response.
        headers: The headers of the response, by name in lower case.
        media_type: The media type of the response without parameters; empty if it names none.
        body: JSON as data, or `NO_JSON`.
        tool: The name of the tool that was called; empty in cassettes.
    """

    source: str
    method: str
    url: str
    request_body: Any
    status: int
    headers: Mapping[str, str]
    media_type: str
    body: Any
    tool: str = ""


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """A call in an audit log.

    Attributes:
        source: The file and the number of the line in it, such as `audit.log:3`.
        tool: The name of the tool.
        status: The status of the response; 0 without one.
    """

    source: str
    tool: str
    status: int


@dataclass(slots=True)
class Evidence:
    """Recorded exchanges and audited calls.

    Attributes:
        files: The names of the files that they were read from.
        faults: Why lines were left out; the first of them.
        fault_count: How many lines were left out.
    """

    exchanges: list[RecordedExchange] = field(default_factory=list)
    audited_calls: list[AuditedCall] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    faults: list[SourceError] = field(default_factory=list)
    fault_count: int = 0

    def add_fault(self, error: SourceError) -> None:
        """Note why a line is left out."""
        self.fault_count += 1
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(error)


def read_evidence(place: Path) -> Evidence:
    """Return the evidence in a file, or in all files of a folder and its subfolders.

    Cassettes end in `.json`. Files with one exchange or audited call per line end in `.jsonl` or
    `.log`; one that is damaged, as after a crash, is left out and noted in `faults`.

    Raises:
        SourceError: No file was found, one cannot be read, or a cassette is damaged.
    """
    evidence = Evidence()
    for path in _list_files(place):
        name = path.name if path == place else path.relative_to(place).as_posix()
        name = name.encode(errors="replace").decode()  # a file's name may not be UTF-8
        data = _read_file(path)
        evidence.files.append(name)
        read = _read_cassette if path.suffix == _CASSETTE else _read_lines
        read(evidence, data, name)
    return evidence


def _list_files(place: Path) -> list[Path]:
    if place.is_dir():
        suffixes = (_CASSETTE, *_LINES)
        files = sorted(p for p in place.rglob("*") if p.suffix in suffixes and p.is_file())
        if files:
            return files
        reason = "contains no cassettes (.json) or recorded calls (.jsonl, .log)."
        raise SourceError(reason, source=str(place))
    if not place.exists():
        raise SourceError("does not exist.", source=str(place))
    return [place]


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror}).", source=str(path)) from None
    if len(data) > _MOST_BYTES:
        raise SourceError(f"is larger than {_MOST_BYTES:,} bytes.", source=str(path))
    return data


def _read_cassette(evidence: Evidence, data: bytes, name: str) -> None:
    entries = _parse_json(data, name)
    if not isinstance(entries, list):
        raise SourceError("is not a cassette, which must be a list of exchanges.", source=name)
    for number, entry in enumerate(entries, start=1):
        _add_entry(evidence, entry, f"{name}:{number}")


def _read_lines(evidence: Evidence, data: bytes, name: str) -> None:
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            try:
                _add_entry(evidence, _parse_json(line, f"{name}:{number}"), f"{name}:{number}")
            except SourceError as error:
                evidence.add_fault(error)


def _parse_json(data: bytes, source: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = f"is not JSON ({excerpt(str(error), 120)}); record it again or remove it."
        raise SourceError(reason, source=source) from None


def _add_entry(evidence: Evidence, entry: Any, source: str) -> None:
    if isinstance(entry, Mapping) and entry.get("event") == "call":
        status = entry.get("status")
        call = AuditedCall(
            source=source,
            tool=str(entry.get("tool", "")),
            status=status if _is_status(status) else 0,
        )
        evidence.audited_calls.append(call)
        return
    try:
        evidence.exchanges.append(_read_exchange(entry, source))
    except (AttributeError, LookupError, TypeError, ValueError):
        reason = "is neither a recorded exchange nor a call of an audit log; remove it."
        raise SourceError(reason, source=source) from None


def _read_exchange(entry: Any, source: str) -> RecordedExchange:
    request, response = entry["request"], entry["response"]
    headers = {str(name).lower(): str(text) for name, text in response["headers"].items()}
    media_type = essence(headers.get("content-type", ""))
    is_usable = is_media_type(media_type) and len(media_type) <= _LONGEST_MEDIA_TYPE
    urlsplit(request["url"])  # raises ValueError, also where `read_url` does not
    read_url(request["url"])
    if not _is_status(response["status"]):
        raise ValueError
    return RecordedExchange(
        source=source,
        method=request["method"].upper(),
        url=request["url"] + "",  # a TypeError unless it is a string
        request_body=request.get("body"),
        status=response["status"],
        headers=headers,
        media_type=media_type if is_usable else "",
        body=_read_body(response),
        tool=str(entry.get("tool", "")),
    )


def _is_status(value: Any) -> TypeGuard[int]:
    return type(value) is int and value in _STATUSES


def _read_body(response: Mapping[str, Any]) -> Any:
    if "json" in response:
        return response["json"]
    if "base64" in response:
        base64.b64decode(response["base64"], validate=True)
    return NO_JSON


def describe_size(evidence: Evidence) -> str:
    """Return how much evidence there is, such as `3 exchanges in 1 file`."""
    counts = format_count(len(evidence.exchanges), "exchange")
    if evidence.audited_calls:
        counts += f" and {format_count(len(evidence.audited_calls), 'audited call')}"
    return f"{counts} in {format_count(len(evidence.files), 'file')}"
