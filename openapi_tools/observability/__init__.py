"""Events, logs, spans and metrics of calls."""
