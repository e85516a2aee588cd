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
"""The variable of prometheus_client for the folder in which workers aggregate their metrics."""
_NAMESPACE = "openapi_tools"
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_GAUGES = {
    "api_up": "Whether the tools of an API are served.",
    "tools": "Tools of an API.",
    "definition_tokens": "Tokens that the definitions of an API's tools take, estimated.",
    "document_loaded_timestamp_seconds": "When a document was last read.",
    "document_stale": "Whether a document could not be read again; its older tools are served.",
}
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
        if event.kind not in ("completed", "error"):
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


class CallMetrics:
    """Prometheus metrics of one server, or of one of its workers."""

    def __init__(self) -> None:
        # Imported here: it needs the extra `serve`, and looks at FOLDER when it is imported.
        import prometheus_client

        self.content_type: str = prometheus_client.CONTENT_TYPE_LATEST
        self._registry = registry = prometheus_client.CollectorRegistry()
        counter = partial(prometheus_client.Counter, namespace=_NAMESPACE, registry=registry)
        self._calls = counter("calls", "Calls of tools.", ["api", "tool", "outcome"])
        self._errors = counter("call_errors", "Calls that failed.", ["api", "kind"])
        self._seconds = prometheus_client.Histogram(
            "call_seconds",
            "Seconds that calls took.",
            ["api"],
            buckets=_BUCKETS,
            namespace=_NAMESPACE,
            registry=registry,
        )
        self._bytes = counter("http_bytes", "Bytes of bodies.", ["direction"])
        self._refusals = counter("refusals", "What was refused.", ["reason"])
        self._restarts = counter("worker_restarts", "Workers that replaced another one.")
        # All reasons from the start: `rate()` does not see the rise of a new series from nothing.
        for reason in REASONS:
            self._refusals.labels(reason)
        self._gauges = {
            name: prometheus_client.Gauge(
                name,
                text,
                ["api"],
                namespace=_NAMESPACE,
                registry=registry,
                multiprocess_mode="mostrecent",
            )
            for name, text in _GAUGES.items()
        }

    def count_call(self, api: str, event: Event) -> None:
        """Count a call that ended."""
        if event.kind not in ("completed", "error"):
            return
        outcome = "error" if event.kind == "error" else "ok"
        self._calls.labels(api, event.tool, outcome).inc()
        self._seconds.labels(api).observe(event.elapsed)
        if event.kind == "error":
            self._errors.labels(api, event.error_type).inc()

    def count_refusal(self, reason: Reason) -> None:
        """Count a refusal."""
        self._refusals.labels(reason).inc()

    def count_restart(self) -> None:
        """Count a worker that replaces another one."""
        self._restarts.inc()

    def count_bytes(self, direction: str, number: int) -> None:
        """Count bytes of a request (`in`) or of a response (`out`)."""
        self._bytes.labels(direction).inc(number)

    def update_gauges(self, apis: Iterable[ServedApi]) -> None:
        """Set the gauges of the APIs, after their documents were loaded."""
        for api in apis:
            tools = list(api.toolset or ())
            definitions = "".join(f"{t.name}{t.description}{t.input_schema}" for t in tools)
            values = (
                bool(tools),
                len(tools),
                costs.estimate_tokens(definitions),
                api.loaded_at,
                bool(api.stale),
            )
            for gauge, value in zip(self._gauges.values(), values, strict=True):
                gauge.labels(api.name).set(value)

    def render(self, names: Collection[tuple[str, str]] | None = None) -> bytes:
        """Return the metrics of all workers in Prometheus's format.

        Args:
            names: API and name of each tool that the reader may see; None for all. Samples of
                other tools are summed by API, under an empty name.
        """
        # Imported here, as above.
        import prometheus_client
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = self._registry
        if FOLDER in os.environ:
            registry = prometheus_client.CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # it has no types
        if names is not None:
            whole, registry = registry, prometheus_client.CollectorRegistry()
            registry.register(_VisibleMetrics(whole, names))
        return prometheus_client.generate_latest(registry)


class _VisibleMetrics:
    """A collector of another registry's metrics for a reader who may not see all tools."""

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
                # `_created` is the time when a series began: the earliest is that of the sum.
                is_time = sample.name.endswith("_created")
                value = min(sums[key].value, value) if is_time else sums[key].value + value
            sums[key] = sample._replace(labels=labels, value=value)
        return list(sums.values())
