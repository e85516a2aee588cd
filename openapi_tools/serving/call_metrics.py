"""Metrics of calls for Prometheus; needs the extra `serve`.

Import it once `PROMETHEUS_MULTIPROC_DIR` is set: prometheus_client looks at it then.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import prometheus_client
from prometheus_client.multiprocess import MultiProcessCollector

from openapi_tools.search import costs
from openapi_tools.serving.refusals import REASONS
from openapi_tools.serving.server_records import FOLDER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from openapi_tools.observability.events import Event
    from openapi_tools.serving.refusals import Reason
    from openapi_tools.serving.served_apis import ServedApis

_NAMESPACE = "openapi_tools"
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_GAUGES = {
    "api_up": "Whether the tools of an API are served.",
    "tools": "Tools of an API.",
    "definition_tokens": "Tokens that the definitions of an API's tools take, estimated; "
    "0 if clients do not list these tools.",
    "document_loaded_timestamp_seconds": "When a document was last read.",
    "document_stale": "Whether the last reload of a document failed; "
    "its previous tools are still served.",
}


class CallMetrics:
    """Prometheus metrics of one server, or of one of its workers."""

    def __init__(self) -> None:
        self.content_type: str = prometheus_client.CONTENT_TYPE_LATEST
        self._registry = registry = prometheus_client.CollectorRegistry()
        counter = partial(prometheus_client.Counter, namespace=_NAMESPACE, registry=registry)
        self._calls = counter("calls", "Tool calls.", ["api", "tool", "outcome"])
        self._errors = counter("call_errors", "Calls that failed.", ["api", "kind"])
        self._seconds = prometheus_client.Histogram(
            "call_seconds",
            "Seconds that calls took.",
            ["api"],
            buckets=_BUCKETS,
            namespace=_NAMESPACE,
            registry=registry,
        )
        bytes_of_bodies = counter("http_bytes", "Bytes of bodies.", ["direction"])
        self._bytes = {name: bytes_of_bodies.labels(name) for name in ("in", "out")}
        self._refusals = counter("refusals", "Refused requests.", ["reason"])
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
        self._bytes[direction].inc(number)

    def update_gauges(self, served: ServedApis) -> None:
        """Set the gauges of the APIs, after their documents were loaded."""
        for api in served.apis:
            tools = list(api.toolset or ())
            # Nothing else needs the schemas of all tools where clients do not list them.
            listed = tools if served.lists_tools(api) else []
            definitions = "".join(f"{t.name}{t.description}{t.input_schema}" for t in listed)
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
        registry = self._registry
        if FOLDER in os.environ:
            registry = prometheus_client.CollectorRegistry()
            registry.register(_WorkerMetrics(Path(os.environ[FOLDER])))
        if names is not None:
            whole, registry = registry, prometheus_client.CollectorRegistry()
            registry.register(_VisibleMetrics(whole, names))
        return prometheus_client.generate_latest(registry)


class _WorkerMetrics:
    """A collector of the metrics that all processes write into the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Any]:
        # A worker that starts makes a file before it fills it, and reading an empty one fails.
        files = [str(file) for file in self._folder.glob("*.db") if file.stat().st_size]
        yield from MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call] # no types


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
