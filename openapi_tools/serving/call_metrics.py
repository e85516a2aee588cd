"""Figures of a server for Prometheus; needs the extra `serve`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import requiring
from openapi_tools.search import costs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.observability import Event
    from openapi_tools.serving.served_apis import ServedApi

with requiring("serve"):
    from prometheus_client import (
        CONTENT_TYPE_LATEST,
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        generate_latest,
    )
    from prometheus_client.multiprocess import MultiProcessCollector

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


class CallMetrics:
    """Counters, histograms and gauges of one server, or of one of its workers."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        more: Any = {"namespace": "openapi_tools", "registry": self._own}
        self._calls = Counter("calls", "Calls of tools.", ["api", "tool", "outcome"], **more)
        self._errors = Counter("call_errors", "Calls that failed.", ["api", "kind"], **more)
        about = "Seconds that calls took."
        self._seconds = Histogram("call_seconds", about, ["api"], buckets=_BUCKETS, **more)
        self._bytes = Counter("http_bytes", "Bytes of bodies.", ["direction"], **more)
        more["multiprocess_mode"] = "mostrecent"
        self._gauges = {name: Gauge(name, text, ["api"], **more) for name, text in _GAUGES.items()}

    def tell(self, api: str, event: Event) -> None:
        """Count a call that ended."""
        if event.kind not in ("completed", "error"):
            return
        outcome = "error" if event.kind == "error" else "ok"
        self._calls.labels(api, event.tool, outcome).inc()
        self._seconds.labels(api).observe(event.elapsed)
        if event.kind == "error":
            self._errors.labels(api, event.error_type).inc()

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

    def text(self) -> bytes:
        """Return the figures of all workers in Prometheus's format."""
        registry = self._own
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # it has no types
        return generate_latest(registry)
