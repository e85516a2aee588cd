"""Records of a server: its log, as text or as JSON lines, and a line for each call of an API."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.redaction import hidden, redacted

if TYPE_CHECKING:
    from openapi_tools.observability import Event
    from openapi_tools.result import ToolCall

caller: ContextVar[str] = ContextVar("openapi_tools_caller", default="")
"""The name of the user whose request is answered in this task."""
_arguments: ContextVar[Any] = ContextVar("openapi_tools_arguments", default=None)
_LONGEST_NAME = 64
_MOST = 10_000  # characters of arguments in a line

logger = logging.getLogger("openapi_tools.serving")


def stamp(parts: str = "milliseconds") -> str:
    """Return the time in UTC (RFC 3339)."""
    return datetime.now(UTC).isoformat(timespec=parts).replace("+00:00", "Z")


class SafeFormatter(logging.Formatter):
    """Writes log records without known secrets, as text or as JSON, each on one line."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__("%(message)s" if as_json else "%(levelname)s %(name)s: %(message)s")
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        text = redacted(super().format(record))
        if not self._as_json:
            return text
        told = {"time": stamp(), "level": record.levelname.lower(), "logger": record.name}
        return json.dumps({**told, "message": text}, ensure_ascii=False)


def write_logs(kind: str) -> None:
    """Write the log of this process to standard error, as `text` or as `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter(as_json=kind == "json"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logger.setLevel(logging.INFO)


class AuditLog:
    """A JSON line for each call of an API, on `stderr` or at the end of a file; `off`: none."""

    def __init__(self, place: str) -> None:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            known = {"stderr": 2, "off": None}
            self._file = known[place] if place in known else os.open(place, flags, 0o600)
        except OSError as error:
            raise SettingsError(f"audit: {place} cannot be written ({error.strerror}).") from None
        self._has_failed = False

    def remember(self, call: ToolCall, _: Any) -> None:
        """Keep the arguments of a call for its line; an input guardrail."""
        _arguments.set(call.arguments)

    def tell(self, api: str, event: Event) -> None:
        """Write the line of a call that ended."""
        if event.kind not in ("completed", "error"):
            return
        is_error = event.kind == "error"
        line = _begun(caller.get(), api, event.tool, "error" if is_error else "ok")
        line |= {"error": event.error_type} if is_error else {}
        line |= {} if event.status is None else {"status": event.status}
        line |= {"ms": round(event.elapsed * 1000), "call_id": event.call_id[:_LONGEST_NAME]}
        if (given := _arguments.get()) is not None:
            _arguments.set(None)
            shown = hidden(given)
            text = json.dumps(shown, ensure_ascii=False, default=str)
            line["arguments"] = shown if len(text) <= _MOST else f"{text[:_MOST]}…"
        self._write(line)

    def refuse(self, user: str, tool: str, call_id: Any) -> None:
        """Write the line of a call that no tool of an API got."""
        line = _begun(user, "", tool[:_LONGEST_NAME], "error")
        self._write({**line, "error": "refused", "call_id": str(call_id or "")[:_LONGEST_NAME]})

    def _write(self, told: dict[str, Any]) -> None:
        """Write a line at once, so that the lines of several workers do not mix."""
        if self._file is None:
            return
        line = redacted(json.dumps(told, ensure_ascii=False, default=str))
        try:
            os.write(self._file, line.encode(errors="replace") + b"\n")
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                reason = error.strerror or type(error).__name__
                logger.exception("the audit log cannot be written (%s); this is said once", reason)


def _begun(user: str, api: str, tool: str, outcome: str) -> dict[str, Any]:
    told = {"time": stamp(), "event": "call", "user": user, "api": api, "tool": tool}
    return {**told, "outcome": outcome}
