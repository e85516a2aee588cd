"""Prove tools against a running API: call them, and compare responses with the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openapi_tools.auth.origin_policy import is_loopback
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.learning.evidence import Evidence, read_evidence
from openapi_tools.learning.learned_deviations import learn_deviations
from openapi_tools.learning.request_observer import REFUSAL_STATUSES
from openapi_tools.requests import server_url
from openapi_tools.testing.proving import Proof, sample_inputs
from openapi_tools.tools.exchange_records import CALLS_FILE
from openapi_tools.toolsets.document_info import document_pointer
from openapi_tools.transport.proxy_environment import find_proxy
from openapi_tools.transport.urls import read_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openapi_tools.learning.evidence import RecordedExchange
    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_ID_NAMES = ("id", "uuid", "key", "name", "slug", "number")
_SAFETIES = ("read-only", "additive", "destructive")


def check_is_local(toolset: Toolset) -> None:
    """Check that all calls stay on this machine, since writes are called, too.

    Raises:
        SettingsError: A tool has no server, or one on another machine.
    """
    for tool in toolset:
        try:
            url = server_url(tool.operation, toolset.session.settings)
        except CallError as error:
            raise SettingsError(f"{tool.name}: {error.reason}") from None
        reason = "every tool is called, writes too, so the API must be on this machine"
        if not is_loopback(urlsplit(url).hostname or ""):
            raise SettingsError(f"{reason}; set --base-url http://127.0.0.1:PORT.")
        if toolset.session.settings.trust_env and find_proxy(read_url(url)) is not None:
            raise SettingsError(f"{reason}, and not behind a proxy; add it to $NO_PROXY.")


async def prove_live(toolset: Toolset, folder: Path) -> list[Proof]:
    """Call every tool at its API, and compare the responses with the document.

    Reads come first, so that later calls can take arguments from their responses.

    Args:
        toolset: Loaded with `Settings(record=folder, check_responses=True)`.
        folder: Where that setting records the exchanges.

    Returns:
        A proof for each tool, in the toolset's order.
    """
    path = folder / CALLS_FILE
    # The file may have exchanges of earlier runs, which may no longer hold.
    earlier = len(_read_exchanges(path))
    caller = _LiveCaller(toolset)
    results = {tool.name: await caller.call(tool) for tool in _order_tools(toolset)}
    evidence = Evidence(exchanges=_read_exchanges(path)[earlier:])
    reasons: dict[str, str] = {}
    tool_names = {exchange.source: exchange.tool for exchange in evidence.exchanges}
    for deviation in learn_deviations(toolset, evidence).deviations:
        for source in deviation.sources if deviation.is_proposed else ():
            reasons.setdefault(tool_names[source], f"{deviation.kind}: {deviation.message}")
    return [_judge(tool, results[tool.name], reasons.get(tool.name, "")) for tool in toolset]


def _read_exchanges(path: Path) -> list[RecordedExchange]:
    return read_evidence(path).exchanges if path.exists() else []


def _order_tools(toolset: Toolset) -> list[OperationTool]:
    return sorted(
        toolset,
        key=lambda tool: (_SAFETIES.index(tool.safety), len(tool.input_schema.get("required", ()))),
    )


class _LiveCaller:
    """Calls tools with sampled input, in which ids come from earlier responses where possible."""

    def __init__(self, toolset: Toolset) -> None:
        self._toolset = toolset
        self._outputs: dict[str, Any] = {}

    async def call(self, tool: OperationTool) -> list[ToolResult]:
        """Call a tool with its required arguments, then with all; return the results."""
        results = []
        for arguments in sample_inputs(tool.input_schema, tool.operation.body):
            filled = arguments | dict(self._values_from_outputs(tool, arguments))
            results.append(await tool.execute(filled))
            if results[-1].success:
                self._outputs.setdefault(tool.name, results[-1].output)
        return results

    def _values_from_outputs(
        self, tool: OperationTool, arguments: dict[str, Any]
    ) -> Iterator[tuple[str, Any]]:
        for name, producers in self._toolset.producers(tool.name).items():
            outputs = (self._outputs.get(producer) for producer in producers)
            values = (_find_value(output, name) for output in outputs if output is not None)
            value = next((value for value in values if value is not None), None)
            if name in arguments and value is not None:
                yield name, value


def _find_value(output: Any, argument: str) -> Any:
    items = output if isinstance(output, list) else [output]
    if isinstance(output, dict):
        items = [
            output,
            *(item for part in output.values() if isinstance(part, list) for item in part[:1]),
        ]
    for item in items:
        for name in (argument, *_ID_NAMES):
            value = item.get(name) if isinstance(item, dict) else None
            if isinstance(value, str | int) and not isinstance(value, bool):
                return value
    return None


def _judge(tool: OperationTool, results: list[ToolResult], deviation: str) -> Proof:
    pointer = document_pointer(tool)
    statuses = [_find_status(result) for result in results]
    if not any(statuses):
        reason = str(results[0].output) if results else "no sampled input could be sent"
        return Proof(tool.name, "not judged", "not judged", reason, pointer)
    problems = [
        line
        for result in results
        for line in result.metadata.get("response_problems", ())
        if not line.startswith("not judged")
    ]
    if all(status in REFUSAL_STATUSES for status in statuses if status):
        reason = f"request: the API refuses input that the document allows: {results[0].output}"
        return Proof(tool.name, "failed", "ok", deviation or reason, pointer, "document")
    if problems or deviation:
        reason = f"response: {deviation or problems[0]}"
        return Proof(tool.name, "ok", "failed", reason, pointer, "document")
    return Proof(tool.name, pointer=pointer)


def _find_status(result: ToolResult) -> int:
    error = result.error or {}
    status = error.get("status", result.metadata.get("status", 0))
    return status if isinstance(status, int) else 0
