"""What a check finds in a document, and the form of its messages."""

from __future__ import annotations

from dataclasses import dataclass

from openapi_tools.redaction import redact_text

_LONGEST = 240


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a document, by JSON Pointer (`""` for the whole document; RFC 6901).

    `severity` is `"error"`, `"warning"`, `"hint"`, or `"note"` where something could not be
    checked; `rule` names the check. `details` is what differs between findings of one rule, such
    as the names of arguments.
    """

    pointer: str
    message: str
    severity: str = "error"
    rule: str = "openapi"
    details: tuple[str, ...] = ()


def elide_middle(text: str, limit: int = _LONGEST) -> str:
    """Return text on one line, without its middle where it is too long."""
    line = " ".join(redact_text(text).split())
    if len(line) <= limit:
        return line
    half = (limit - 3) // 2
    return f"{line[:half]} … {line[-half:]}"
