"""Transcripts of runs as Markdown, without secrets and control characters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import escape_controls
from openapi_tools.redaction import redact_data, redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.testing.evaluation.runner import CaseRun


def write_transcript(run: CaseRun) -> str:
    """Return the faults of a run, then its conversation."""
    return escape_controls(redact_text("\n".join(_iter_lines(run)))) + "\n"


def _iter_lines(run: CaseRun) -> Iterator[str]:
    verdict = "passed" if run.passed else "failed"
    yield f"# {' '.join(run.name.split())}: {verdict}"
    yield ""
    yield f"Seed {run.seed}, calls {run.calls}, turns {run.turns}, {_list_tokens(run)}."
    for fault in run.faults:
        yield from ("", f"- `{fault.type}`: {' '.join(fault.message.split())}")
    for message in run.messages:
        yield from ("", f"## {_title(message)}", "")
        text = message.get("content") or ""
        yield from _indent(redact_data(_parse_json(text), names=run.secret_names))
        for call in message.get("tool_calls", ()):
            function = call["function"]
            arguments = redact_data(_parse_json(function["arguments"]), names=run.secret_names)
            yield from _indent(function["name"])
            yield from _indent(arguments)


def _list_tokens(run: CaseRun) -> str:
    definitions, read, written = run.tokens
    return f"tokens: {definitions} of definitions, {read} read, {written} written"


def _title(message: dict[str, Any]) -> str:
    titles = {"user": "Task", "assistant": "Model", "tool": "Result"}
    return titles[message["role"]]


def _parse_json(text: str) -> Any:
    # Secrets are recognised by the names of properties.
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _indent(value: Any) -> Iterator[str]:
    # Indented lines are code, so text of a response becomes no heading, link or fence.
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    yield from (f"    {line}" for line in text.splitlines())
