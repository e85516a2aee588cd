"""OpenTelemetry's own implementation as a fixture."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from openapi_tools.observability import Observers

if TYPE_CHECKING:
    from openapi_tools import Toolset


class Watched(Observers):
    """Observers that report to given providers as to those of the process."""

    def __init__(self, providers, *arguments):
        super().__init__(*arguments)
        self.providers = providers

    def _find_telemetry(self):
        with ExitStack() as stack:
            for kind, provider in self.providers.items():
                if provider is not None:
                    module = trace if kind == "tracer_provider" else metrics
                    stack.enter_context(patch.object(module, f"get_{kind}", lambda p=provider: p))
            return super()._find_telemetry()


class Sdk:
    """Providers that are not those of the process, and their spans and measurements."""

    def __init__(self):
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader])

    def watch(self, toolset: Toolset, **options: Any) -> Toolset:
        """Have a toolset report here, or to others, as it reports to the providers of a process."""
        observers = toolset.session.observers
        toolset.session._observers = self.observers(
            observers._address, observers._redact, **options
        )
        return toolset

    def observers(self, *arguments: Any, **options: Any) -> Observers:
        """Return observers that report here."""
        providers = {"tracer_provider": self.tracers, "meter_provider": self.meters, **options}
        return Watched(providers, *arguments)

    @property
    def spans(self) -> list[Any]:
        return list(self._spans.get_finished_spans())

    @property
    def requests(self) -> list[Any]:
        return [span for span in self.spans if span.kind is SpanKind.CLIENT]

    @property
    def calls(self) -> list[Any]:
        return [span for span in self.spans if span.kind is SpanKind.INTERNAL]

    def outcomes(self) -> list[tuple[Any, Any]]:
        """Status and error type of each request."""
        names = ("http.response.status_code", "error.type")
        return [tuple(map(span.attributes.get, names)) for span in self.requests]

    @property
    def measured(self) -> list[Any]:
        data = self._reader.get_metrics_data()
        scopes = [
            scope for of in (data.resource_metrics if data else ()) for scope in of.scope_metrics
        ]
        metrics = [metric for scope in scopes for metric in scope.metrics]
        assert {metric.name for metric in metrics} <= {"http.client.request.duration"}
        return [point for metric in metrics for point in metric.data.data_points]

    def as_text(self) -> str:
        return "".join(span.to_json() for span in self.spans) + str(self.measured)


@pytest.fixture
def sdk():
    instance = Sdk()
    yield instance
    instance.tracers.shutdown()
    instance.meters.shutdown()
