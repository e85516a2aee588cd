"""What a row of the tables of calls holds, and what rows share."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """One call."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    target: str = ""
    note: str = ""

    def __str__(self) -> str:
        return f"{self.tool}-{self.note}" if self.note else self.tool


def echoed(tool: str, arguments: dict[str, Any], target: str = "", note: str = "") -> Call:
    """Return a call whose result holds its arguments."""
    return Call(tool, arguments, arguments, target, note)


@dataclass(frozen=True)
class Failing:
    """One call that gives an error result; `error` holds members of `result.error`."""

    tool: str
    arguments: dict[str, Any]
    error: dict[str, Any]
    note: str = ""

    def __str__(self) -> str:
        return f"{self.tool}-{self.note}" if self.note else self.tool


def told(content: bytes, filename: str, content_type: str) -> dict[str, Any]:
    """Return what the server tells of a file."""
    digest = hashlib.sha256(content).hexdigest()
    return {
        "filename": filename,
        "content_type": content_type,
        "size": len(content),
        "sha256": digest,
    }


def as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


OCTETS = "application/octet-stream"
ARCHIVE = bytes(range(256)) * 4
PNG = b"\x89PNG\r\n\x1a\n\0"
