"""What HTTP says about methods."""

from __future__ import annotations

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
_IDEMPOTENT = _SAFE | {"PUT", "DELETE"}


def is_safe(method: str) -> bool:
    """Whether a method only reads (RFC 9110, section 9.2.1)."""
    return method in _SAFE


def is_idempotent(method: str) -> bool:
    """Whether two equal calls do no more than one (RFC 9110, section 9.2.2)."""
    return method in _IDEMPOTENT


def is_destructive(method: str) -> bool:
    """Whether a method changes or deletes what is there; POST adds, as clients of MCP see it."""
    return method not in _SAFE and method != "POST"
