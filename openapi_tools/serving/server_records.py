"""Records of a server: its log, an audit log of calls, and metrics for Prometheus."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import escape_controls
from openapi_tools.errors import SettingsError
from openapi_tools.redaction import excerpt, redact_text
from openapi_tools.validation.check_cost import is_large

if TYPE_CHECKING:
    from openapi_tools.observability.events import Event
    from openapi_tools.result import ToolCall
    from openapi_tools.tools.tool import OperationTool

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of prometheus_client for the folder in which workers aggregate their metrics."""
caller: ContextVar[str] = ContextVar("openapi_tools_caller", default="")
"""The name of the user whose request this task handles."""
_arguments: ContextVar[Any] = ContextVar("openapi_tools_arguments", default=None)
_TEMPLATE = "%(levelname)s %(name)s: %(message)s"
_LONGEST_NAME = 64
_MOST = 10_000  # characters of arguments in a line

logger = logging.getLogger("openapi_tools.serving")


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SafeFormatter(logging.Formatter):
    """Formats log records without known secrets, as text or as JSON.

    Text from a client or a document cannot start a line of its own or control a terminal: JSON is
    ASCII on one line; in text, control characters and line ends of a message are escaped, and the
    lines of a traceback are indented.
    """

    def __init__(self, *, as_json: bool, template: str = _TEMPLATE) -> None:
        super().__init__("%(message)s" if as_json else template)
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, and in text the lines of its traceback."""
        record = copy.copy(record)
        record.exc_text = None  # another handler may have formatted it without escapes
        text = super().format(record)
        if not self._as_json:
            return text
        line = {"time": _utc_now(), "level": record.levelname.lower(), "logger": record.name}
        return json.dumps({**line, "message": redact_text(text)})

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- the base's name
        """Return the head of a record: one line of text."""
        text = super().formatMessage(record)
        return text if self._as_json else escape_controls(redact_text(text)).replace("\n", "\\n")

    def formatException(self, ei: Any) -> str:  # noqa: N802 -- the base's name
        """Return a traceback."""
        return self._indent(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 -- the base's name
        """Return a stack."""
        return self._indent(stack_info)

    def _indent(self, text: str) -> str:
        if self._as_json:
            return text
        return "\n".join(f"    {line}" for line in escape_controls(redact_text(text)).split("\n"))


def write_logs(kind: str) -> None:
    """Write the log of this process to standard error, as `text` or as `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter(as_json=kind == "json"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logger.setLevel(logging.INFO)


def escape_last_resort() -> None:
    """Format records without a handler, which Python writes to standard error, safely."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(SafeFormatter(as_json=False, template="%(message)s"))


class AuditLog:
    """Writes a JSON line for each call of an API, to `stderr` or to the end of a file; or `off`."""

    def __init__(self, destination: str) -> None:
        try:
            # With O_APPEND the lines of several processes come after one another (POSIX,
            # `write`).
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            descriptors = {"stderr": 2, "off": None}
            self._file = (
                descriptors[destination]
                if destination in descriptors
                else os.open(destination, flags, 0o600)
            )
        except OSError as error:
            raise SettingsError(
                f"audit: {destination} cannot be written ({error.strerror})."
            ) from None
        self._has_failed = False

    async def remember_arguments(self, tool: OperationTool, call: ToolCall, _: Any) -> None:
        """Store the arguments of a call for its line, without secrets."""
        mask = partial(_mask_arguments, tool, call.arguments)
        # Masking large arguments would block the event loop.
        _arguments.set(await asyncio.to_thread(mask) if is_large(call.arguments) else mask())

    def write_call(self, api: str, event: Event) -> None:
        """Write the line of a call that ended."""
        if self._file is None or event.kind not in ("completed", "error"):
            return
        is_error = event.kind == "error"
        line = _make_line(caller.get(), api, event.tool, "error" if is_error else "ok")
        line |= {"error": event.error_type} if is_error else {}
        line |= {} if event.status is None else {"status": event.status}
        line |= {"ms": round(event.elapsed * 1000), "call_id": event.call_id[:_LONGEST_NAME]}
        if (arguments := _arguments.get()) is not None:
            _arguments.set(None)
            if isinstance(arguments, str):  # the beginning of many
                arguments = excerpt(arguments, _MOST)
            line["arguments"] = arguments
        self._write(line)

    def write_refusal(self, user: str, tool: str, call_id: Any) -> None:
        """Write the line of a call that reached no tool of an API."""
        line = _make_line(user, "", tool[:_LONGEST_NAME], "error")
        self._write({**line, "error": "refused", "call_id": str(call_id or "")[:_LONGEST_NAME]})

    def _write(self, record: dict[str, Any]) -> None:
        # One write for each line, so that the lines of several workers do not mix.
        if self._file is None:
            return
        line = redact_text(json.dumps(record, default=str))
        try:
            os.write(self._file, f"{line}\n".encode())
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                reason = error.strerror or type(error).__name__
                logger.exception("the audit log cannot be written (%s); logged once", reason)


def _mask_arguments(tool: OperationTool, arguments: dict[str, Any]) -> Any:
    # Long arguments become the beginning of their JSON. It is twice as long as a line may be:
    # a secret that is learned before the line is written must not be cut, or it is not recognised.
    masked = tool.marked_values.hide_arguments(arguments)
    text = json.dumps(masked, ensure_ascii=False, default=str)
    return masked if len(text) <= _MOST else text[: 2 * _MOST]


def _make_line(user: str, api: str, tool: str, outcome: str) -> dict[str, Any]:
    line = {"time": _utc_now(), "event": "call", "user": user, "api": api, "tool": tool}
    return {**line, "outcome": outcome}
