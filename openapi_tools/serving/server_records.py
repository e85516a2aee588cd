"""Records of a server: its log, a line for each call of an API, and figures for Prometheus."""

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
from importlib import import_module
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.json_values import escape_controls
from openapi_tools.redaction import excerpt, redact_text
from openapi_tools.search import costs
from openapi_tools.serving.refusals import REASONS
from openapi_tools.validation.check_cost import is_large

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from openapi_tools.observability.events import Event
    from openapi_tools.result import ToolCall
    from openapi_tools.serving.refusals import Reason
    from openapi_tools.serving.served_apis import ServedApi
    from openapi_tools.tools.tool import OperationTool

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of prometheus_client for the folder in which several workers add up figures."""
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_GAUGES = {
    "api_up": "Whether the tools of an API are served.",
    "tools": "Tools of an API.",
    "definition_tokens": "Tokens that the definitions of an API's tools take, estimated.",
    "document_loaded_timestamp_seconds": "When a document was last read.",
    "document_stale": "Whether a document could not be read again; its older tools are served.",
}
caller: ContextVar[str] = ContextVar("openapi_tools_caller", default="")
"""The name of the user whose request is answered in this task."""
_arguments: ContextVar[Any] = ContextVar("openapi_tools_arguments", default=None)
_TEMPLATE = "%(levelname)s %(name)s: %(message)s"
_LONGEST_NAME = 64
_MOST = 10_000  # characters of arguments in a line

logger = logging.getLogger("openapi_tools.serving")


def _now() -> str:
    """Return the time in UTC (RFC 3339)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SafeFormatter(logging.Formatter):
    """Writes log records without known secrets, as text or as JSON.

    Nothing that a client or a document says begins a line of its own or steers a terminal: JSON is
    ASCII on one line; in text, control characters and line ends of a message are escaped, and the
    lines of a traceback are indented.
    """

    def __init__(self, *, as_json: bool, template: str = _TEMPLATE) -> None:
        super().__init__("%(message)s" if as_json else template)
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, and in text the lines of its traceback."""
        record = copy.copy(record)
        record.exc_text = None  # another handler may have formatted it in its own way
        text = super().format(record)
        if not self._as_json:
            return text
        line = {"time": _now(), "level": record.levelname.lower(), "logger": record.name}
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
    """Have records without a handler, which Python writes to standard error, formatted safely."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(SafeFormatter(as_json=False, template="%(message)s"))


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

    async def remember(self, tool: OperationTool, call: ToolCall, _: Any) -> None:
        """Keep the arguments of a call of a tool for its line, without secrets."""
        describe = partial(_without_secrets, tool, call.arguments)
        large = is_large(call.arguments)
        _arguments.set(await asyncio.to_thread(describe) if large else describe())

    def tell(self, api: str, event: Event) -> None:
        """Write the line of a call that ended."""
        if event.kind not in ("completed", "error"):
            return
        is_error = event.kind == "error"
        line = _begun(caller.get(), api, event.tool, "error" if is_error else "ok")
        line |= {"error": event.error_type} if is_error else {}
        line |= {} if event.status is None else {"status": event.status}
        line |= {"ms": round(event.elapsed * 1000), "call_id": event.call_id[:_LONGEST_NAME]}
        if (arguments := _arguments.get()) is not None:
            _arguments.set(None)
            if isinstance(arguments, str):  # the beginning of many
                arguments = excerpt(arguments, _MOST)
            line["arguments"] = arguments
        self._write(line)

    def refuse(self, user: str, tool: str, call_id: Any) -> None:
        """Write the line of a call that no tool of an API got."""
        line = _begun(user, "", tool[:_LONGEST_NAME], "error")
        self._write({**line, "error": "refused", "call_id": str(call_id or "")[:_LONGEST_NAME]})

    def _write(self, told: dict[str, Any]) -> None:
        """Write a line at once, so that the lines of several workers do not mix."""
        if self._file is None:
            return
        line = redact_text(json.dumps(told, default=str))
        try:
            os.write(self._file, f"{line}\n".encode())
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                reason = error.strerror or type(error).__name__
                logger.exception("the audit log cannot be written (%s); this is said once", reason)


def _without_secrets(tool: OperationTool, arguments: dict[str, Any]) -> Any:
    """Return the arguments of a call for a line; as the beginning of their JSON where it is long.

    Twice what a line takes is kept, so that a secret which is learned later is not cut.
    """
    masked = tool.marked_values.hide_arguments(arguments)
    text = json.dumps(masked, ensure_ascii=False, default=str)
    return masked if len(text) <= _MOST else text[: 2 * _MOST]


def _begun(user: str, api: str, tool: str, outcome: str) -> dict[str, Any]:
    told = {"time": _now(), "event": "call", "user": user, "api": api, "tool": tool}
    return {**told, "outcome": outcome}


class CallMetrics:
    """Figures for Prometheus of one server, or of one of its workers."""

    def __init__(self) -> None:
        self._package: Any = import_module("prometheus_client")
        self.content_type = self._package.CONTENT_TYPE_LATEST
        self._own = self._package.CollectorRegistry()
        counter = self._package.Counter
        more: Any = {"namespace": "openapi_tools", "registry": self._own}
        self._calls = counter("calls", "Calls of tools.", ["api", "tool", "outcome"], **more)
        self._errors = counter("call_errors", "Calls that failed.", ["api", "kind"], **more)
        about = "Seconds that calls took."
        self._seconds = self._package.Histogram(
            "call_seconds", about, ["api"], buckets=_BUCKETS, **more
        )
        self._bytes = counter("http_bytes", "Bytes of bodies.", ["direction"], **more)
        self._refusals = counter("refusals", "What was refused.", ["reason"], **more)
        self._restarts = counter("worker_restarts", "Workers that replaced another one.", **more)
        for reason in REASONS:  # a counter that appears with the first refusal hides its rise
            self._refusals.labels(reason)
        more["multiprocess_mode"] = "mostrecent"
        self._gauges = {
            name: self._package.Gauge(name, text, ["api"], **more) for name, text in _GAUGES.items()
        }

    def tell(self, api: str, event: Event) -> None:
        """Count a call that ended."""
        if event.kind not in ("completed", "error"):
            return
        outcome = "error" if event.kind == "error" else "ok"
        self._calls.labels(api, event.tool, outcome).inc()
        self._seconds.labels(api).observe(event.elapsed)
        if event.kind == "error":
            self._errors.labels(api, event.error_type).inc()

    def refuse(self, reason: Reason) -> None:
        """Count a refusal."""
        self._refusals.labels(reason).inc()

    def restart(self) -> None:
        """Count a worker that replaces another one."""
        self._restarts.inc()

    def count(self, direction: str, number: int) -> None:
        """Count bytes of a request (`in`) or of an answer (`out`)."""
        self._bytes.labels(direction).inc(number)

    def show(self, apis: Iterable[ServedApi]) -> None:
        """Set the figures of documents, after they were loaded."""
        for api in apis:
            tools = list(api.toolset or ())
            told = "".join(f"{t.name}{t.description}{t.input_schema}" for t in tools)
            values = (bool(tools), len(tools), costs.estimate(told), api.loaded, bool(api.stale))
            for gauge, value in zip(self._gauges.values(), values, strict=True):
                gauge.labels(api.name).set(value)

    def text(self, names: Collection[tuple[str, str]] | None = None) -> bytes:
        """Return the metrics of all workers in Prometheus's format.

        Args:
            names: API and name of each tool that the reader may know; None for all. Samples of
                other tools are added up, by API, under an empty name.
        """
        registry = self._own
        if FOLDER in os.environ:
            registry = self._package.CollectorRegistry()
            import_module("prometheus_client.multiprocess").MultiProcessCollector(registry)
        if names is not None:
            whole, registry = registry, self._package.CollectorRegistry()
            registry.register(_VisibleMetrics(whole, names))
        text: bytes = self._package.generate_latest(registry)
        return text


class _VisibleMetrics:
    """A collector of another registry's metrics for a reader who may not know all tools."""

    def __init__(self, registry: Any, names: Collection[tuple[str, str]]) -> None:
        self._registry, self._names = registry, names

    def collect(self) -> Iterator[Any]:
        for metric in self._registry.collect():
            metric.samples = self._add_up(metric.samples)
            yield metric

    def _add_up(self, samples: Iterable[Any]) -> list[Any]:
        sums: dict[Any, Any] = {}
        for sample in samples:
            labels = dict(sample.labels)
            if "tool" in labels and (labels.get("api", ""), labels["tool"]) not in self._names:
                labels["tool"] = ""
            key, value = (sample.name, *sorted(labels.items())), sample.value
            if key in sums:
                # When a series began (`_created`) is a time: the first one counts.
                is_time = sample.name.endswith("_created")
                value = min(sums[key].value, value) if is_time else sums[key].value + value
            sums[key] = sample._replace(labels=labels, value=value)
        return list(sums.values())
